#!/usr/bin/python3
"""A checkpoint of a large table under load, a delta, and restores, with a real chief and shard.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/checkpoint.py [--s3] [--mib 2048] [--seconds 10]

The shard runs on core 0; a client on core 1 pulls and pushes 1000 keys at half of its full rate. `--s3`: a MinIO on
loopback, its data in memory, takes what they leave of the cores; the table then has 512 MiB, and training data are read as
well. Seconds are the chief's: from the order to the manifest; those of a restore the shards' own."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import time

import grpc

from serving import BINARIES, pin, serving, sparse_job
from train import tell

from crew import series
from s3 import BUCKET, S3Server, find_program

DIM = 32
ROW_BYTES = 8 + 8 + 2 * 4 * DIM  # Key, age, and for each float its weight and Adagrad's sum.
PARTITIONS = 256
SAVE_SECONDS = 600  # After that it is given up.
HOT = 20  # A twentieth of the rows changes before the delta.
MIB = 1 << 20


class Load:
    """The client's process; see tests/bench/dataplane/paced_load.h."""

    def __init__(self, served, rows):
        environment = {**served.environment(), "CAPSTAN_BENCH_ROWS": str(rows)}
        self.process = subprocess.Popen(served.command("load"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        if self.process.stdout.readline() != "filled\n":
            sys.exit("the load could not fill the table")

    def enter(self, phase):
        self.process.stdin.write(phase + "\n")
        self.process.stdin.flush()

    def results(self):
        self.process.stdin.close()
        lines = self.process.stdout.read()
        if self.process.wait() != 0:
            sys.exit("the load failed")
        return lines


class HighWater(threading.Thread):
    """The most that a process had in memory above what it had at first, until it is left."""

    def __init__(self, crew, name="ps-0"):
        super().__init__()
        self.crew, self.name, self.ended = crew, name, threading.Event()
        self.first = self.most = crew.resident_bytes(name)

    def run(self):
        while not self.ended.wait(0.005):
            self.most = max(self.most, self.crew.resident_bytes(self.name))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.extra_mib = max(0, self.most - self.first) / MIB


def of_chief(crew, metric):
    return sum(series(crew.scrape("chief"), metric).values())


def save(crew):
    """Orders a checkpoint, which the chief answers when it is committed, and waits until its metrics tell of it: seconds,
    and MiB."""
    told = of_chief(crew, "capstan_checkpoint_commits_total")
    with grpc.insecure_channel(crew.address) as channel:
        channel.unary_unary("/capstan.v1.Chief/TakeCheckpoint")(b"", timeout=SAVE_SECONDS)
    crew.until(lambda: of_chief(crew, "capstan_checkpoint_commits_total") > told, "the metrics of a checkpoint")
    return (of_chief(crew, "capstan_checkpoint_last_duration_seconds"),
            of_chief(crew, "capstan_checkpoint_last_bytes") / MIB)


def loaded(crew):
    """MB, and seconds of the slowest shard, that the present shards took to load; None before all have."""
    megabytes, slowest = 0, 0
    for index in range(crew.shards):
        text = crew.scrape(f"ps-{index}")
        if sum(series(text, "capstan_checkpoint_loads_total").values()) == 0:
            return None
        megabytes += sum(series(text, "capstan_checkpoint_load_bytes_total").values()) / 1e6
        slowest = max(slowest, sum(series(text, "capstan_checkpoint_load_duration_seconds_sum").values()))
    return megabytes, slowest


def restore(crew, case):
    crew.until(lambda: loaded(crew) is not None, case, 300)
    crew.until_state("RUNNING", timeout=300)
    megabytes, seconds = loaded(crew)
    tell("", case, "MB/s", megabytes / seconds)
    tell("", f"{case}, seconds of the slowest shard", "s", seconds)


def measure_saves(served, rows, seconds):
    crew = served.crew
    load = Load(served, rows)
    pin(load.process.pid, 1)
    load.enter("full")
    time.sleep(seconds)
    load.enter("idle")
    time.sleep(seconds)
    load.enter("save")
    with HighWater(crew) as memory:
        under_load, _ = save(crew)
    load.enter("wait")
    save(crew)  # A delta of what changed under load, so that the next is a full one.
    without, mib = save(crew)
    load.enter(f"delta {HOT}")
    time.sleep(seconds)
    load.enter("wait")
    delta, delta_mib = save(crew)
    lines = load.results()
    print(lines, flush=True)
    steps = {fields["case"]: fields["values"][0] for fields in map(json.loads, (line.removeprefix("RESULT ") for line in
                                                                               lines.splitlines() if line))}
    tell("", "pace while saving by idle", "ratio", steps["save, steps"] / steps["idle, steps"])
    tell("", "a full checkpoint", "MiB", mib)
    tell("", "save under load", "s", under_load)
    tell("", "save without load", "s", without)
    tell("", "extra memory of a save", "MiB", memory.extra_mib)
    tell("", "extra memory of a save by the size of a partition", "ratio", memory.extra_mib / (mib / PARTITIONS))
    tell("", "delta of 5 % of the rows", "s", delta)
    tell("", "delta bytes by those of a full one", "ratio", delta_mib / mib)
    tell("", "delta time by that of a full one", "ratio", delta / without)


def read_training_data():
    """What s3_bench measures, in its own words."""
    done = subprocess.run([BINARIES / "s3_bench", "--benchmark_format=json"], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "CAPSTAN_TEST_S3_SERVER": find_program()})
    for one in json.loads(done.stdout)["benchmarks"]:
        tell("", one["name"].removesuffix("/real_time"), "MB/s", one["bytes_per_second"] / 1e6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--mib", type=int, help="of the table")
    parser.add_argument("--seconds", type=float, default=10, help="of each phase")
    options = parser.parse_args()
    if options.s3 and find_program() is None:
        sys.exit("CAPSTAN_TEST_S3_SERVER names no MinIO")
    rows = (options.mib or (512 if options.s3 else 2048)) * MIB // ROW_BYTES
    uri = f"s3://{BUCKET}/checkpoints" if options.s3 else None
    with contextlib.ExitStack() as stack:
        if options.s3:
            stack.enter_context(S3Server())
        served = stack.enter_context(serving(lambda data: sparse_job(data, DIM),
                                             ["checkpoint.every=0s", "checkpoint.max_deltas=1"], uri))
        measure_saves(served, rows, options.seconds)
        crew = served.crew
        crew.restart_shard(0)
        restore(crew, "restore")
        crew.kill_all()
        crew.shards = 2
        crew.begin_again()
        restore(crew, "restore, 1 -> 2 shards")
    if options.s3:
        read_training_data()


if __name__ == "__main__":
    main()
