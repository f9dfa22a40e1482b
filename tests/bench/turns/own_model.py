#!/usr/bin/python3
"""Workers that are a program of PyTorch: examples a second of DeepFM and of a residual network, what handing steps over takes, how long
it is until a program knows its job, and the same keys in one table and in forty.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto CAPSTAN_PYTHON_PACKAGE=build/python tests/bench/turns/own_model.py CLICKS.csv FOLDER

FOLDER is what tests/bench/python/prepare.py has made of CLICKS.csv."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from train import tell, tell_pace, watch

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH.parent / "python"), str(BENCH / "python")]
from python_crew import PythonCrew
from python_data import PYTHON, lack

RUNS = 3
OPTIMIZERS = """{sparse: {kind: adagrad, learning_rate: 0.02, initial_accumulator: 0.1, epsilon: 1e-10},
            dense: {kind: adagrad, learning_rate: 0.01, initial_accumulator: 0.1, epsilon: 1e-10}}"""
DEEPFM = """
job: own-deepfm
data: {format: csv, train: %s, schema: {label: 0, categorical: "1-39"}, shuffle: false}
model: {user: program.py, embedding_dim: 16, embedding_stddev: 0.01}
optimizer: %s
train: {batch_size: 1024, step_threads: %d}
heartbeat: 200ms
"""
RESNET = """
job: own-resnet
data: {format: tar, train: "%s/images/*.tar", image: {height: 32, width: 32}}
model: {user: program.py, loss: softmax, outputs: 10}
optimizer: {dense: {kind: momentum, learning_rate: 0.05, momentum: 0.9}}
update: {dense: {policy: sync, lanes: 4}}
train: {batch_size: 32, epochs: 100}
heartbeat: 200ms
"""
TABLES = """
job: own-tables
data: {format: csv, header: true, train: %s/columns.csv, schema: {label: label}, features: {%s}, shuffle: false}
tables: {%s}
model: {user: program.py}
optimizer: %s
train: {batch_size: 1024, epochs: 10}
heartbeat: 200ms
"""
COLUMNS, TABLE_DIM = 40, 16
WARM_UP, UNTIL = 60_000, 260_000  # Examples of a race of tables.


class Crew(PythonCrew):
    """One shard, and workers that are tests/bench/python/program.py. The chief stays when the job is over."""

    def __init__(self, job, model, workers, **environment):
        super().__init__(job, example=model, program=BENCH / "python/program.py", environment=environment, shards=1, workers=workers,
                         name=model, exit_when_done=False)


def race(job, model, workers, warm_up, until, case=None):
    """The points of a job's pace, and what its first worker says of handing over."""
    with tempfile.TemporaryDirectory() as folder, Crew(job, model, workers, CAPSTAN_BENCH_HAND_OVER=folder) as crew:
        points, _ = watch(crew, until, warm_up)
        handed = json.loads((pathlib.Path(folder) / "worker-0.json").read_text(encoding="ascii"))
    if case:
        tell_pace("", case, points)
    return points, handed


def tell_handing_over(case, handed):
    tell("", f"{case}, handing a step over", "ms", handed["milliseconds"])
    tell("", f"{case}, gradients of a step", "MB", handed["bytes"] / 1e6)
    tell("", f"{case}, copying these gradients", "ms", handed["pass_milliseconds"])
    tell("", f"{case}, handing over beyond copying the gradients", "ms", handed["milliseconds"] - handed["pass_milliseconds"])


def connections(clicks):
    """Of programs beside a job that nobody trains."""
    with Crew(DEEPFM % (clicks, OPTIMIZERS, 1), "deepfm", workers=0) as crew:
        for kind, case in (("client", "connect"), ("worker", "be told the job")):
            variables = {"CAPSTAN_CHIEF": crew.address, "CAPSTAN_NAME": kind, "CAPSTAN_HOST": "127.0.0.1", "CAPSTAN_HEALTH_PORT": "0",
                         "CAPSTAN_METRICS_PORT": "0"}
            found = [float(subprocess.run([PYTHON, "-B", BENCH / "python/connect.py", kind], env={**os.environ, **variables}, check=True,
                                          stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]) for _ in range(RUNS)]
            tell("", f"import and {case}", "s", statistics.median(found))


def tables(folder):
    """The same keys, which no two columns share, in one table and in one for each column."""
    rates = {}
    for name, table_of in (("one table", lambda i: "all"), ("40 tables", lambda i: f"t{i}")):
        features = ", ".join(f"c{i}: {{column: c{i}, kind: id, table: {table_of(i)}}}" for i in range(COLUMNS))
        settings = ", ".join(f"{table}: {{dim: {TABLE_DIM}}}" for table in dict.fromkeys(map(table_of, range(COLUMNS))))
        job = TABLES % (folder, features, settings, OPTIMIZERS)
        points, _ = race(job, "tables", 1, warm_up=WARM_UP, until=UNTIL, case=f"tables, {name}")
        rates[name] = (points[-1].examples - points[0].examples) / (points[-1].time - points[0].time)
    tell("", "40 tables by one", "ratio", rates["40 tables"] / rates["one table"])


def main():
    clicks, folder = map(pathlib.Path, sys.argv[1:])
    if lacks := lack():
        sys.exit(lacks)
    for threads in (1, 2):
        case = f"deepfm, {threads} thread{'s' * (threads > 1)}"
        _, handed = race(DEEPFM % (clicks, OPTIMIZERS, threads), "deepfm", 1, warm_up=15 * 1024, until=75 * 1024, case=case)
        if threads == 1:
            tell_handing_over("deepfm", handed)
    _, handed = race(RESNET % folder, "resnet", 2, warm_up=2 * 128, until=18 * 128, case="resnet, 2 workers of 1 thread")
    tell_handing_over("resnet", handed)
    connections(clicks)
    tables(folder)


if __name__ == "__main__":
    main()
