#!/usr/bin/python3
"""What one, two, four and eight shards can send and receive, each behind a network of its own that takes 400 Mbit a second.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/shards.py [--mebibytes 64]

One client without a limit pulls and pushes a dense part. Everything is in network namespaces which this program makes."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "chaos")]
import town
from serving import BINARIES, dense_job, describe
from train import tell

SHARDS = (1, 2, 4, 8)
MEGABITS = 400
LIMIT = ["tbf", "rate", f"{MEGABITS}mbit", "burst", "256k", "latency", "50ms"]


class NarrowTown(town.Town):
    """A town in whose houses of shards no more than LIMIT comes in, or goes out."""

    def add_shard(self, index):
        name = f"ps-{index}"
        self.house(name)
        town.run("tc", "qdisc", "replace", "dev", self.door(name), "root", *LIMIT)
        self.inside(name, "tc", "qdisc", "replace", "dev", "eth0", "root", *LIMIT)
        super().add_shard(index)


def rates(shards, mebibytes):
    """{"pull": MB/s, "push": MB/s} of so many shards together."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = dense_job(folder / "data.csv", mebibytes, adagrad=False)
        with NarrowTown(job, shards=shards, workers=0, name="shards", overrides=["partition_count=64"]) as crew:
            describe(crew, folder)
            said = subprocess.run([BINARIES / "dataplane", folder, "dense"], check=True, capture_output=True, text=True,
                                  env={**os.environ, "PEERS_PIN": "0"}).stdout
    results = [json.loads(line.removeprefix("RESULT ")) for line in said.splitlines() if line.startswith("RESULT ")]
    return {way: 1e3 * statistics.median(result["values"]) for result in results for way in ("pull", "push")
            if result["case"].startswith(f"dense {way}")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=int, default=64)
    options = parser.parse_args()
    if not town.enter():
        sys.exit("no network namespaces can be made here")
    measured = {shards: rates(shards, options.mebibytes) for shards in SHARDS}
    for shards, found in measured.items():
        for way, rate in found.items():
            tell("", f"{shards} shards: {way}", "MB/s", rate)
            tell("", f"{shards} shards: {way}, by as many times that of one", "ratio", rate / shards / measured[1][way])


if __name__ == "__main__":
    main()
