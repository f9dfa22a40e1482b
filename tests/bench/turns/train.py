#!/usr/bin/python3
"""Trains a job with processes and tells examples a second, and CPU seconds of all of them, after the warm-up.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/train.py JOB.yaml --case NAME [--shards 1] [--workers 1]
        [--data FROM=TO] [--set KEY=VALUE ...] [--tls] [--until EXAMPLES]"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from authority import Authority
from crew import Crew, view_pb2
from tls_crew import TlsCrew

POLL_SECONDS = 0.1
WARM_UP_EXAMPLES = 50 * 1024
TICKS = os.sysconf("SC_CLK_TCK")
ENDED = (view_pb2.JOB_STATE_COMPLETED, view_pb2.JOB_STATE_FAILED)


def cpu_seconds(process):
    """User and system time of a process so far, threads that have ended included."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Point:
    """Where the job stands at a moment, and what its processes have used."""

    def __init__(self, crew, examples):
        self.time, self.examples, self.cpu = time.monotonic(), examples, {}
        for name, process in crew.processes.items():
            role = {"ps": "servers", "chief": "chief"}.get(name.split("-")[0], "client")
            with contextlib.suppress(OSError, IndexError):  # It has just ended.
                self.cpu[role] = self.cpu.get(role, 0) + cpu_seconds(process)


def pace(first, last):
    """Examples a second, and CPU seconds an example by role, between two points."""
    examples = last.examples - first.examples
    cpu = {role: (last.cpu[role] - first.cpu[role]) / examples for role in last.cpu}
    return examples / (last.time - first.time), cpu


def watch(crew, until=None, warm_up=WARM_UP_EXAMPLES):
    """Points after the warm-up, while all are at work, each taken when the chief had just heard of progress; and the
    status at the end."""
    points, before = [], 0
    while True:
        status = crew.status()
        if status.state in ENDED or (until and status.examples >= until):
            break
        if ended := [name for name, process in crew.processes.items() if process.poll() not in (None, 0)]:
            sys.exit(f"{', '.join(ended)} ended while the job went on\n{crew.last_words()}")
        if warm_up <= status.examples < status.examples_expected and status.examples != before:
            points.append(Point(crew, status.examples))
        before = status.examples
        time.sleep(POLL_SECONDS)
    if status.state == view_pb2.JOB_STATE_FAILED:
        sys.exit(f"the job failed: {status}\n{crew.last_words()}")
    return points, status


def tell(workload, case, unit, value, **more):
    print("RESULT", json.dumps({"peer": "capstan", "workload": workload, "case": case, "unit": unit,
                                "values": [value], **more}), flush=True)


def tell_pace(workload, case, points):
    if len(points) < 2:
        sys.exit(f"{case}: too short to be measured: {len(points)} reports after the warm-up")
    rate, cpu = pace(points[0], points[-1])
    tell(workload, case, "examples/s", rate, cpu_per_unit=sum(cpu.values()),
         **{f"cpu_{role}": seconds for role, seconds in cpu.items()})


@contextlib.contextmanager
def crew_of(job, tls=False, **settings):
    """A crew whose chief stays when the job is over. `tls`: each process with a certificate of its role."""
    settings = {"name": "bench", "exit_when_done": False, **settings}
    with contextlib.ExitStack() as stack:
        if tls:
            name = next(line.split(":")[1].strip() for line in job.splitlines() if line.startswith("job:"))
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            yield stack.enter_context(TlsCrew(job, Authority(folder / "authority"), job_name=name, **settings))
        else:
            yield stack.enter_context(Crew(job, **settings))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("job", type=pathlib.Path)
    parser.add_argument("--case", required=True)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--data", help="FROM=TO: a path in the job, and where that is")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--until", type=int, help="examples; default: to the end")
    options = parser.parse_args()
    job = options.job.read_text(encoding="utf-8")
    if options.data:
        job = job.replace(*options.data.split("=", 1))
    with crew_of(job, options.tls, shards=options.shards, workers=options.workers, overrides=options.set) as crew:
        points, _ = watch(crew, options.until)
    tell_pace("", options.case, points)


if __name__ == "__main__":
    main()
