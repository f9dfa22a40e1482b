"""When and where something was measured, in a line."""

import datetime
import os
import pathlib
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False).stdout.strip()

    name = git("rev-parse", "--short", "HEAD") or "none"
    return name + (" with changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def model_name(cpuinfo):
    """Of /proc/cpuinfo; some architectures do not tell."""
    for line in cpuinfo.splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "a processor without a name"


def conditions(section, options, peers):
    """`peers`: those that could be raced."""
    cpu = model_name(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    memory = int(pathlib.Path("/proc/meminfo").read_text(encoding="ascii").split()[1]) / (1 << 20)
    command = shlex.join(["tests/bench/record", section.name])
    runs = f", {options.runs} runs a turn" if section.quiet < 1 else ""
    raced = {side.name for side in section.sides}.intersection(peers)
    beside = f" Raced beside: {', '.join(sorted(raced))}." if raced else ""
    rule = (f"{section.wanted} quiet turns a side{runs}; a turn is left out, on any side, if others had more than "
            f"{100 * section.quiet:g} % of the processors, or if it found what cannot be"
            if section.quiet < 1 else "a turn counts however busy the machine is, since that makes no bar easier to meet")
    return (f"`{command}`, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, commit {commit()}; {cpu}, "
            f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {os.uname().release.split('-')[0]}. {rule[0].upper()}{rule[1:]}.{beside}")
