#!/usr/bin/python3
"""A small job with a hundred workers and ten shards: how soon they are ready, the pace, their memory; and again while a worker,
a shard and the chief are killed. Fails unless each record has been trained exactly once, both times (aggregated gradients are
means, which tell less: there all records are trained).

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/crowd.py POLICY [--shards 10] [--workers 100] [--tasks 32]"""

import argparse
import collections
import pathlib
import sys
import tempfile
import time

from resident import Resident, planned_memory, tell_memory
from train import Point, pace, tell

from crew import view_pb2
from ledger import ledger_times, write_ledger_file
from scale import POLICIES, crowd

TASK_RECORDS = 128
PATIENCE_SECONDS = 600


def until_over(crew, records, policy, data):
    """Until the job is completed; its records have been trained once each."""
    last = crew.until_state("COMPLETED", "FAILED", timeout=PATIENCE_SECONDS)
    if last.state != view_pb2.JOB_STATE_COMPLETED or last.examples != records:
        sys.exit(f"the job ended with {last.examples} examples of {records}: {last.reason}\n{crew.last_words()}")
    if policy == "aggregate":
        return
    times = collections.Counter(ledger_times(crew.predict(data)))
    if set(times) != {1}:
        sys.exit(f"records by how often they were trained: {dict(times)}")


def undisturbed(options, data, records):
    began = time.monotonic()
    with crowd(options.policy, data, options.shards, options.workers) as crew, Resident(crew) as resident:
        crew.until(lambda: len(crew.status().workers) == options.workers, "every worker", PATIENCE_SECONDS)
        ready = time.monotonic() - began
        first = Point(crew, crew.status().examples)
        crew.until_state("COMPLETED", "FAILED", timeout=PATIENCE_SECONDS)
        last = Point(crew, crew.status().examples)
        plan = planned_memory(crew)
        until_over(crew, records, options.policy, data)
    rate, cpu = pace(first, last)
    tell("", "all workers are ready after", "s", ready)
    tell("", "pace", "examples/s", rate, cpu_per_unit=sum(cpu.values()),
         **{f"cpu_{role}": seconds for role, seconds in cpu.items()})
    tell_memory(resident, plan)


def with_kills(options, data, records):
    began = time.monotonic()
    with crowd(options.policy, data, options.shards, options.workers, ["checkpoint.every=5s"]) as crew:
        crew.until(lambda: len(crew.status().workers) == options.workers, "every worker", PATIENCE_SECONDS)
        for part, name in ((0.2, f"worker-{min(7, options.workers - 1)}"), (0.4, f"ps-{min(3, options.shards - 1)}"), (0.6, "chief")):
            crew.until_examples(part * records, PATIENCE_SECONDS)
            crew.kill(name)
            crew.hang_up()
            crew.add_again(name)
        until_over(crew, records, options.policy, data)
    tell("", "completed with a worker, a shard and the chief killed after", "s", time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", choices=POLICIES)
    parser.add_argument("--shards", type=int, default=10)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=32, help="for each worker, of 128 records")
    options = parser.parse_args()
    records = options.tasks * options.workers * TASK_RECORDS
    with tempfile.TemporaryDirectory() as name:
        data = pathlib.Path(name) / "records.csv"
        write_ledger_file(data, records)
        undisturbed(options, data, records)
        with_kills(options, data, records)


if __name__ == "__main__":
    main()
