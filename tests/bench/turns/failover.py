#!/usr/bin/python3
"""A shard of three ends, with replicas: how long each of its partitions is served by nobody, and the others.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/failover.py killed|vanished [--times 10]

Two workers train meanwhile, five milliseconds a step, and a client pulls a row of each of the 16 partitions every ten
milliseconds. `killed`: SIGKILL. `vanished`: the shard's machine is gone without a word, that is, its packets are lost from one
moment on; everything is in network namespaces which this program makes. The lease of a shard is a second."""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "chaos")]
import town
from crew import Crew
from ledger import ledger_job, write_ledger_file
from serving import BINARIES, describe, paired
from train import tell

SHARDS, PARTITIONS, RECORDS = 3, 16, 100_000
OVERRIDES = [f"partition_count={PARTITIONS}", "replicas=1", "shard_lease=1s", "heartbeat=200ms", "train.epochs=1000"]


class Probes:
    """The client; see tests/bench/dataplane/probes.h."""

    def __init__(self, crew, folder, pause_ms=10, pushes=False):
        command = [BINARIES / "dataplane", folder, "probes", crew.address] + ["pushes"] * pushes
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PEERS_PIN": "0", "CAPSTAN_BENCH_PAUSE_MS": str(pause_ms)})
        if self.process.stdout.readline() != "probing\n":
            sys.exit("the client could not pull a row of each partition")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def after(self, began, over, shard):
        """Milliseconds for each partition that the shard had, and the longest waits for the others'."""
        found = self._ask(f"{began} {over} {shard}")
        return found["moved"], found["others"]

    def since(self, began):
        """How long pulls of partitions have taken that moved since, and of the others; and pushes to them."""
        return self._ask(f"{began}")

    def _ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def kill(crew, name):
    crew.kill(name)


def vanish(crew, name):
    crew.cut(name)


def clear(crew, name):
    """What is left of the shard and its machine."""
    crew.kill(name)
    if isinstance(crew, town.Town):
        crew.heal(name)


def until_whole(crew):
    """Until every partition has a backup again, and each shard its share."""
    def whole():
        status = crew.status()
        owning = sum(shard.partitions > 0 for shard in status.shards)
        return paired(status) and owning == SHARDS and not status.moves.under_way
    crew.until(whole, f"a backup of each partition on {SHARDS} shards", 60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("how", choices=["killed", "vanished"])
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    kind, strike = (Crew, kill) if options.how == "killed" else (town.Town, vanish)
    if kind is town.Town and not town.enter():
        sys.exit("no network namespaces can be made here")
    served, waits = [], []
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = folder / "records.csv"
        write_ledger_file(data, RECORDS)
        crew = stack.enter_context(kind(ledger_job([data], update="sparse: {policy: async}", epochs=1, batch=4), shards=SHARDS,
                                        workers=2, pace=5, name="failover", overrides=OVERRIDES))
        crew.until_examples(100)
        until_whole(crew)
        describe(crew, folder)
        probes = stack.enter_context(Probes(crew, folder))
        timeline = crew.status().timeline
        for turn in range(options.times):
            victim = turn % SHARDS
            until_whole(crew)
            began = time.monotonic()
            strike(crew, f"ps-{victim}")
            moved, others = probes.after(began, time.monotonic(), victim)
            if not moved:
                sys.exit(f"shard {victim} had no partition")
            print(f"shard {victim} {options.how}: its {len(moved)} partitions are served after {min(moved):.0f} to "
                  f"{max(moved):.0f} ms, others are waited for {max(others):.1f} ms at most", file=sys.stderr)
            served.append(max(moved))
            waits.append(max(others))
            clear(crew, f"ps-{victim}")
            crew.add_again(f"ps-{victim}")
        if crew.status().timeline != timeline:
            sys.exit("the job has returned to a checkpoint")
    tell("", f"{options.how}: the last partition is served again after, median", "ms", statistics.median(served))
    tell("", f"{options.how}: the last partition is served again after, at most", "ms", max(served))
    tell("", f"{options.how}: the longest wait for another partition, median", "ms", statistics.median(waits))
    tell("", f"{options.how}: the longest wait for another partition, at most", "ms", max(waits))


if __name__ == "__main__":
    main()
