#!/usr/bin/python3
"""Some rounds of a synchronous job with a model of 102 MB, a hundred lanes, ten shards and a data set of very many objects: how
soon it begins, seconds a round, and what all processes have in memory, beside what `capstan plan` says. Then the same job with a
worker, a shard and the chief killed: fails unless both end with the same bits. Each shard may use as much memory as it is told, as
in a container: what it cannot take of a round's gradients it refuses until there is room.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/large.py [--objects 100000] [--lanes 100] [--shards 10]
        [--workers 10] [--rounds 5] [--shard-memory 384] [--width 5040]

At least two workers and four rounds: a worker, a shard and the chief are killed in the first three."""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from resident import MIB, Resident, planned_memory, tell_memory
from train import tell

from crew import BINARIES, Crew, view_pb2

JOB = """
job: large
data: {{format: csv, train: ["{files}"], schema: {{label: 0, numeric: "1-16"}}}}
model: {{towers: [{{kind: mlp, hidden: [{width}, {width}]}}], loss: logistic}}
optimizer: {{dense: {{kind: sgd, learning_rate: 0.01}}}}
update: {{dense: {{policy: sync, lanes: {lanes}}}}}
train: {{batch_size: 1, epochs: 1}}
checkpoint: {{every: 30s}}
worker_lease: 30s
heartbeat: 1s
"""
PATIENCE_SECONDS = 1800


def write_objects(folder, count):
    """Objects of one record each: a lane trains one a round."""
    draw = random.Random(count)
    for index in range(count):
        numbers = ",".join(f"{draw.gauss(0, 1):.4f}" for _ in range(16))
        (folder / f"part-{index:06d}.csv").write_text(f"{draw.randrange(2)},{numbers}\n", encoding="ascii")


def job_of(options, folder):
    return JOB.format(files=folder / "*.csv", width=options.width, lanes=options.lanes)


def crew_of(options, folder, name):
    return Crew(job_of(options, folder), shards=options.shards, workers=options.workers, name=name, exit_when_done=False,
                overrides=[f"train.max_steps={options.rounds}"], shard_flags=["--memory", f"{options.shard_memory}MiB"])


def until_over(options, crew, name):
    last = crew.until_state("COMPLETED", "FAILED", timeout=PATIENCE_SECONDS)
    if last.state != view_pb2.JOB_STATE_COMPLETED or (last.round, last.examples) != (options.rounds, options.rounds * options.lanes):
        sys.exit(f"{name} ended after {last.round} rounds of {options.rounds}: {last.reason}\n{crew.last_words()}")


def undisturbed(options, folder, model):
    began = time.monotonic()
    with crew_of(options, folder, "undisturbed") as crew, Resident(crew) as resident:
        plan = planned_memory(crew, "--shard-memory", f"{options.shard_memory}MiB")
        crew.until_examples(options.lanes, PATIENCE_SECONDS)
        tell("", f"the first round of {options.objects:,} objects is over after", "s", time.monotonic() - began)
        began = time.monotonic()
        until_over(options, crew, "undisturbed")
        tell("", "a round", "s", (time.monotonic() - began) / (options.rounds - 1))
        shutil.copytree(crew.manifest().parent, model)
    tell_memory(resident, plan)
    tell("", "memory of all shards together", "MiB", resident.together["ps"] / MIB)


def with_kills(options, folder, model):
    """A worker, a shard and the chief are killed, each in a round of its own, and started again."""
    began = time.monotonic()
    with crew_of(options, folder, "killed") as crew, Resident(crew) as resident:
        for round_, who in enumerate(("worker-1", f"ps-{min(4, options.shards - 1)}", "chief"), start=1):
            crew.until_examples(round_ * options.lanes, PATIENCE_SECONDS)
            crew.kill(who)
            crew.hang_up()
            crew.add_again(who)
        until_over(options, crew, "killed")
        shutil.copytree(crew.manifest().parent, model)
    tell("", "completed with a worker, a shard and the chief killed after", "s", time.monotonic() - began)
    tell("", "memory of all shards together, with a worker, a shard and the chief killed", "MiB", resident.together["ps"] / MIB)


def check_same_bits(one, other):
    said = subprocess.run([BINARIES / "capstan", "checkpoint", "diff", one, other], check=True, capture_output=True, text=True).stdout
    parts = [line.split() for line in said.splitlines()[1:]]
    if not parts or any(part[3:6] != ["0", "0", "0"] for part in parts):
        sys.exit(f"with a worker, a shard and the chief killed the model has other bits:\n{said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("objects", 100_000), ("lanes", 100), ("shards", 10), ("workers", 10), ("rounds", 5), ("shard-memory", 384)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--width", type=int, default=5040, help="of two layers on 16 numbers: 25.5 M parameters, 102 MB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data, alone, killed = folder / "data", folder / "alone", folder / "killed"
        data.mkdir()
        write_objects(data, options.objects)
        undisturbed(options, data, alone)
        with_kills(options, data, killed)
        check_same_bits(alone, killed)


if __name__ == "__main__":
    main()
