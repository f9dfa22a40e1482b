#!/usr/bin/python3
"""Two shards become four while a worker trains: how long that takes, and how long pulls and pushes wait meanwhile.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/moves.py [--rows 7700000]

The shards hold some 4 GiB of rows: 65 floats each, with Adagrad. The worker pushes a thousand rows every 50 ms, so rows change
while they are copied; a client pulls a row of each of the 32 partitions every 20 ms, and pushes to one as often. All processes
share the machine's cores."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from failover import Probes
from serving import ADAGRAD, BINARIES, SPARSE, Crew, describe
from train import Point, pace, tell

from ledger import write_ledger_file

PARTITIONS, DIM, RECORDS = 32, 64, 200_000
OVERRIDES = [f"partition_count={PARTITIONS}", "train.epochs=100000", "train.batch_size=1024"]
SECONDS_BEFORE = 5
PATIENCE_SECONDS = 300


def owned(status):
    """{shard: bytes of the partitions that it owns}, of those that own any."""
    return {shard.index: shard.report.parameter_bytes for shard in status.shards if shard.partitions > 0}


def fill(crew, folder, rows):
    """Creates so many rows, by a client that pushes gradients."""
    describe(crew, folder)
    subprocess.run([BINARIES / "dataplane", folder, "load"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
                   env={**os.environ, "PEERS_PIN": "0", "CAPSTAN_BENCH_ROWS": str(rows)})


def grow(crew):
    """Two shards more, until each has its share; the last status."""
    crew.add_shard(2)
    crew.add_shard(3)

    def even():
        status = crew.status()
        shares = [shard.partitions for shard in status.shards]
        return not status.moves.under_way and len(shares) == 4 and min(shares) >= PARTITIONS // 4 - 1
    crew.until(even, "partitions on four shards", PATIENCE_SECONDS)
    return crew.status()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=7_700_000)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = folder / "records.csv"
        write_ledger_file(data, RECORDS)
        job = SPARSE.format(data=data, dim=DIM, optimizer=ADAGRAD.format(rate=0.02))
        crew = stack.enter_context(Crew(job, shards=2, workers=1, pace=50, name="moves", overrides=OVERRIDES))
        fill(crew, folder, options.rows)
        # The chief hears of what shards hold with their next reports.
        crew.until(lambda: sum(shard.report.rows for shard in crew.status().shards) >= options.rows, "the rows")
        timeline, before = crew.status().timeline, sum(owned(crew.status()).values())
        probes = stack.enter_context(Probes(crew, folder, pause_ms=20, pushes=True))
        alone = Point(crew, crew.status().examples)
        time.sleep(SECONDS_BEFORE)
        began = Point(crew, crew.status().examples)
        status = grow(crew)
        ended = Point(crew, status.examples)
        waits = probes.since(began.time)
        if status.timeline != timeline or status.moves.cancelled:
            sys.exit(f"the job has returned to a checkpoint, or a move was cancelled: {status}")
    tell("", "what two shards hold", "GiB", before / (1 << 30))
    tell("", "two shards more have their share after", "s", ended.time - began.time)
    tell("", "what has moved", "GiB", before / (1 << 30) * status.moves.moved / PARTITIONS)
    tell("", "the last switch took", "ms", 1e3 * status.moves.seconds)
    tell("", "examples/s meanwhile, by those before", "ratio", pace(began, ended)[0] / pace(alone, began)[0])
    for calls, way in (("pulls", "pulls of"), ("pushes", "pushes to")):
        for which, of in (("moved", "partitions that moved"), ("others", "the other partitions")):
            tell("", f"{way} {of}, p99.9", "ms", waits[calls][which]["p99.9"])
            tell("", f"{way} {of}, longest", "ms", waits[calls][which]["longest"])


if __name__ == "__main__":
    main()
