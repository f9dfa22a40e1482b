#!/usr/bin/python3
"""What `capstan plan` says of the pace of jobs on this machine, beside their pace. What a batch costs `capstan plan --measure`
has measured with one worker and one shard; everything else is the plan's own arithmetic.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/planned.py FOLDER [--seconds 8] [--model NAME ...]

FOLDER holds train.csv of `capstan data generate`."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

from train import POLL_SECONDS, Point, crew_of, pace, tell

from crew import BINARIES

CLICKS = """
job: {name}
data: {{format: csv, train: {data}/train.csv, schema: {{label: 0, categorical: "1-39"}}}}
model: {model}
optimizer:
  sparse: {{kind: adagrad, learning_rate: 0.02, initial_accumulator: 0.1}}
  dense: {{kind: sgd, learning_rate: 0.01}}
train: {{batch_size: {batch}, epochs: 20}}
"""
NUMBERS = """
job: {name}
data: {{format: csv, train: {data}/numbers.csv, schema: {{label: 0, numeric: "1-64"}}}}
model: {model}
optimizer: {{dense: {{kind: sgd, learning_rate: 0.01}}}}
update: {{dense: {{policy: sync, lanes: 8}}}}
train: {{batch_size: {batch}, epochs: 100}}
"""
# A model of wide rows and a tower, one of narrow rows that computes next to nothing, and a dense one in rounds.
MODELS = {"deepfm": (CLICKS, "{preset: deepfm, embedding_dim: 16, hidden: [400, 400]}", 1024),
          "fm": (CLICKS, "{preset: fm, embedding_dim: 8}", 512),
          "mlp": (NUMBERS, "{towers: [{kind: mlp, hidden: [768, 768]}], loss: logistic}", 64)}
SETTINGS = [(1, 1), (2, 2), (4, 4), (2, 8)]  # Shards, workers.
WARM_UP_SECONDS = 3
START_SECONDS = 60


def write_numbers(folder):
    draw = random.Random(64)
    with open(folder / "numbers.csv", "w", encoding="ascii") as out:
        for _ in range(40_000):
            out.write(f"{draw.randrange(2)}," + ",".join(f"{draw.gauss(0, 1):.3f}" for _ in range(64)) + "\n")


def run(job, shards, workers, seconds):
    """Examples a second, once all have been at work for a while."""
    with crew_of(job, shards=shards, workers=workers) as crew:
        crew.until_examples(1, START_SECONDS)
        time.sleep(WARM_UP_SECONDS)
        points, before = [], 0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            examples = crew.status().examples
            if examples != before:
                points.append(Point(crew, examples))
            before = examples
            time.sleep(POLL_SECONDS)
    return pace(points[0], points[-1])[0]


def plan(job_file, *options):
    said = subprocess.run([BINARIES / "capstan", "plan", job_file, "--one-machine", "--cores", str(os.cpu_count()), "--json", *options],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(said)["examples_per_second"]


def compare(name, data, folder, seconds):
    text, model, batch = MODELS[name]
    job = text.format(name=name, data=data if text is CLICKS else folder, model=model, batch=batch)
    job_file, rates = folder / "job.yaml", folder / "rates"
    job_file.write_text(job, encoding="utf-8")
    plan(job_file, "--measure", "--save-rates", rates)
    for shards, workers in SETTINGS:
        rate = run(job, shards, workers, seconds)
        told = plan(job_file, "--rates", rates, "--shards", str(shards), "--workers", str(workers))
        case = f"{name} {shards} + {workers}"
        tell("", f"{case}: pace", "examples/s", rate)
        tell("", f"{case}: planned", "examples/s", told)
        tell("", f"{case}: off by the factor", "ratio", max(told / rate, rate / told))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=8, help="of each run that are measured")
    parser.add_argument("--model", nargs="*", choices=[*MODELS], default=[*MODELS])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_numbers(folder)
        for model in options.model:
            compare(model, options.data.resolve(), folder, options.seconds)


if __name__ == "__main__":
    main()
