"""Runs the worker in this process, from reading the environment to the exit code. Nothing here depends on PyTorch."""

import contextlib
import math
import os
import pathlib
import socket
import sys
import threading
import time
import traceback

from capstan_ps import _capstan
from capstan_ps.user_frames import place_in

GLANCE = 0.2  # The most seconds between two checks for Python's signals.
HOW_TO_START = """\
{program}: this program is a worker of a job, and is started by one:

  capstan train job.yaml --worker 'python {program}'

where job.yaml says `model: {{user: {program}}}`. To try it on three batches of the job's data, in this process alone:

  python {program} --try job.yaml

Beside a chief that runs already:

  CAPSTAN_CHIEF=host:port CAPSTAN_NAME=worker-0 python {program}"""


class Refused(Exception):
    """The program does not fit the job, or the model that is served."""


def from_environment():
    """Starts and returns the worker that the environment describes. Without CAPSTAN_CHIEF this prints how to start the program, and ends
    the process. It also ends the process if a variable has an invalid value, and prints which one."""
    variables = os.environ
    if not variables.get("CAPSTAN_CHIEF"):
        print(HOW_TO_START.format(program=pathlib.Path(sys.argv[0]).name or "model.py"), file=sys.stderr)
        raise SystemExit(2)
    try:
        worker = _capstan.Worker(
            chief=_address("CAPSTAN_CHIEF"),
            name=name(),
            host=variables.get("CAPSTAN_HOST", "0.0.0.0"),
            health_port=_port("CAPSTAN_HEALTH_PORT", 7001),
            metrics_port=_port("CAPSTAN_METRICS_PORT", 9090),
            ports_file=variables.get("CAPSTAN_PORTS_FILE", ""),
            log_format=variables.get("CAPSTAN_LOG_FORMAT", "text"),
            tls=variables.get("CAPSTAN_TLS", ""),
            chief_deadline=_number("CAPSTAN_CHIEF_DEADLINE", 300, float, lambda seconds: 0 < seconds < math.inf, "a number of seconds above 0"),
            drain=_number("CAPSTAN_DRAIN", 4, float, lambda seconds: 1 <= seconds <= 86400, "a number of seconds from 1 to 86400"))
    except ValueError as error:
        print(f"capstan_ps: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    _refuse_forks()
    return worker


def _address(variable):
    if mistake := _capstan.address_mistake(os.environ[variable]):
        raise ValueError(f"{variable}: {mistake}")
    return os.environ[variable]


def _port(variable, default):
    return _number(variable, default, int, lambda port: 0 <= port <= 65535, "a port, from 0 to 65535")


def _number(variable, default, read, fits, expected):
    """Returns the number in a variable of the environment, or the default if it is not set. ValueError: the value does not fit."""
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        number = read(text)
    except ValueError:
        number = None
    if number is None or not fits(number):
        raise ValueError(f"{variable}: {text!r} is not {expected}")
    return number


def _refuse_forks():
    """Makes os.fork fail. A forked child would have none of the worker's threads but all of their locks: it would hang, or answer in the
    worker's name."""
    def fork():
        raise RuntimeError("this process is a worker of Capstan, whose threads a fork does not copy, so that the child would hang; "
                           "start processes by spawn: DataLoader(..., multiprocessing_context=\"spawn\"), or before train() is called")
    os.fork = os.forkpty = fork


def name():
    return os.environ.get("CAPSTAN_NAME") or socket.gethostname()


def await_job(worker):
    """Waits for the chief to send the job, and returns it; None if the worker has ended before."""
    while not worker.over:
        job = worker.await_job(GLANCE)
        if job is not None:
            return job
    return None


def steps(worker):
    """Yields the steps as they come, until the worker ends. The caller computes them on its own thread."""
    beside = threading.Thread(target=_tell_hangs, args=(worker, threading.get_ident()), name="capstan_ps")
    beside.start()
    try:
        while not worker.over:
            step = worker.take(GLANCE)
            if step is not None:
                yield step
    except GeneratorExit:  # The caller has ended, and has reported why.
        raise
    except BaseException:  # Ctrl-C while there is nothing to compute: the work of this worker goes to others.
        worker.stop()
        worker.end()
        raise


def _tell_hangs(worker, thread):
    """Reports where the thread is if its step does not come back in time."""
    while not worker.over and threading.main_thread().is_alive():
        if worker.await_hang(GLANCE):
            frame = sys._current_frames().get(thread)  # None if the thread has ended while something else keeps its step.
            stack = traceback.extract_stack(frame) if frame else []
            worker.tell_hang(place_in(stack) if stack else "", _unicode("".join(traceback.format_list(stack))[-2000:]))


def refuse(worker, why):
    """Reports that the program and the job do not fit, and ends the process with 2. Starting it again would not help."""
    worker.fail("", "", _unicode(str(why)[:500]))
    worker.end()
    print(f"capstan_ps: {why}", file=sys.stderr)
    raise SystemExit(2)


def hand_back(step, interrupt):
    """Gives the step to another worker after an interrupt (Ctrl-C). The chief takes repeated failures at one place for a mistake of the
    program, so the place includes the name of this worker and the time."""
    with contextlib.suppress(ValueError):  # The step was just finished.
        step.fail("KeyboardInterrupt", f"{place(interrupt)} of {name()} at {time.strftime('%H:%M:%S')}", "the worker was interrupted", "")


def fail(worker, step, error, function=None):
    """Reports to the chief that the program has failed, at `step` unless that is None, and ends the process with 3. The last line of the
    log says why, because a pod's termination message ends with that line. `function`: the user's function, whose result may be wrong."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print(text, end="", file=sys.stderr)
    where = place(error, function)
    told = type(error).__name__, where, _unicode(str(error)[:500])
    if step is None:
        worker.fail(*told)
    else:
        step.fail(*told, _unicode(text[-2000:]))
    worker.end()
    print(f"capstan_ps: {where}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)
    raise SystemExit(3)


def _unicode(text):
    """Returns the text as valid Unicode. Lone surrogates, which names of files may contain, become question marks."""
    return text.encode("utf-8", "replace").decode()


def place(error, function=None):
    """Returns the file.py:line of the innermost frame of the user's own code; if there is none, that of `function`, which the user has
    written."""
    return place_in(traceback.extract_tb(error.__traceback__), function)
