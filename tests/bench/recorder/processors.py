"""Who used the processors while a benchmark ran: its own processes, or others."""

import collections
import contextlib
import ctypes
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from ending import held

TICKS = os.sysconf("SC_CLK_TCK")
STRAGGLERS_SECONDS = 10  # A turn's processes may outlive its command so long; then they are ended.
PR_SET_CHILD_SUBREAPER = 36

Busy = collections.namedtuple("Busy", "busy all")  # Seconds of all processors since the machine started.


def parse_stat(text):
    """Of /proc/stat. Busy is the time of processes, of whatever niceness, and what the host took away (steal). Interrupts
    are nobody's: they are the network's work for us as much as for others."""
    fields = next(line for line in text.splitlines() if line.startswith("cpu ")).split()[1:9]
    user, nice, system, idle, wait, irq, softirq, steal = (int(field) / TICKS for field in fields)
    busy = user + nice + system + steal
    return Busy(busy, busy + idle + wait + irq + softirq)


def machine():
    return parse_stat(pathlib.Path("/proc/stat").read_text(encoding="ascii"))


def disturbance(before, after, own):
    """The share of the machine that others had between two looks at /proc/stat, when `own` seconds were our own."""
    everything = after.all - before.all
    return max(0.0, after.busy - before.busy - own) / everything if everything > 0 else 0.0


def adopt_orphans():
    """From now on the descendants of this process whose parents have ended are its own children, so that the CPU time of
    daemons counts as well."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children():
    """Process ids of the present children."""
    text = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def reap_stragglers(patience):
    """Waits for adopted processes, and ends those that do not end by themselves: their time counts once they are reaped."""
    deadline = time.monotonic() + patience
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid != 0:
            continue
        if time.monotonic() > deadline:
            for child in children():
                os.kill(child, signal.SIGKILL)
        time.sleep(0.02)


def own_seconds():
    """CPU seconds, user and system, of this process and of all its descendants that have ended."""
    total = 0.0
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(whose)
        total += used.ru_utime + used.ru_stime
    return total


# Wall seconds, CPU seconds of all processes of the command, the share of the machine that others had, and what it printed.
Ran = collections.namedtuple("Ran", "code wall cpu others output log")


def run(command, environment=None, timeout=None, patience=STRAGGLERS_SECONDS):
    """Runs a command to its end and looks who used the processors meanwhile. Needs adopt_orphans(), and no other children
    of this process. What it leaves behind may run for `patience` seconds."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as log:
        begin, before, own = time.monotonic(), machine(), own_seconds()
        process = None
        try:
            with held():
                process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=log, stdin=subprocess.DEVNULL,
                                           env={**os.environ, **(environment or {})}, start_new_session=True)
            code = process.wait(timeout)
        except BaseException as error:
            if process is None:
                raise
            with contextlib.suppress(ProcessLookupError):  # All of it may have ended by itself.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            reap_stragglers(0)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            code = -signal.SIGKILL
        reap_stragglers(patience)
        wall, cpu = time.monotonic() - begin, own_seconds() - own
        others = disturbance(before, machine(), cpu)
        for file in (output, log):
            file.seek(0)
        return Ran(code, wall, cpu, others, output.read(), log.read())
