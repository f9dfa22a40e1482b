#!/usr/bin/python3
"""What a worker has in memory that holds all lanes of a small synchronous job, beside one that holds the single lane of another,
and beside what `capstan plan` says of both: DeepFM of the quickstart. Each lane holds a task that is parsed, so once the tasks are
small, and once those of the quickstart, which have 2 MiB of text.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/lanes.py FOLDER [--lanes 25] [--rounds 80]

FOLDER holds train.csv of `capstan data generate`, of at least 2 MiB a lane."""

import argparse
import pathlib

from resident import MIB, planned_memory
from train import crew_of, tell

from largest import most_resident_bytes

JOB = """
job: lanes
data: {{format: csv, train: {folder}/train.csv, schema: {{label: 0, categorical: "1-39"}}, task_bytes: {task}}}
model: {{preset: deepfm, embedding_dim: 8, hidden: [64, 32]}}
optimizer:
  sparse: {{kind: adagrad, learning_rate: 0.02}}
  dense: {{kind: adam, learning_rate: 0.001}}
update:
  sparse: {{policy: sync, lanes: {lanes}}}
  dense: {{policy: sync, lanes: {lanes}}}
train: {{batch_size: 256, epochs: 1}}
"""
PATIENCE_SECONDS = 300


def memory(folder, task, lanes, rounds):
    """Bytes of the worker at its largest, and what the plan says."""
    with crew_of(JOB.format(folder=folder, task=task, lanes=lanes), workers=1) as crew:
        crew.until(lambda: crew.status().round >= rounds, f"{rounds} rounds", PATIENCE_SECONDS)
        return most_resident_bytes(crew, "worker-0"), planned_memory(crew)["worker"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--lanes", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=80, help="each takes 256 records of each lane")
    options = parser.parse_args()
    for task in ("64KiB", "2MiB"):
        found = {}
        for what, lanes in (("one lane", 1), ("many lanes", options.lanes)):
            case = f"tasks of {task}: memory of a worker of {what}"
            resident, planned = memory(options.data.resolve(), task, lanes, options.rounds)
            found[what] = resident
            tell("", case, "MiB", resident / MIB)
            tell("", f"{case}, planned", "MiB", planned / MIB)
            tell("", f"{case} by the plan", "ratio", resident / planned)
        tell("", f"tasks of {task}: memory of a worker of many lanes by that of one", "ratio", found["many lanes"] / found["one lane"])


if __name__ == "__main__":
    main()
