#!/usr/bin/python3
"""What a backup of each partition costs: pulls, pushes and steps of one client of two shards, and their memory.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/replicas.py 0|1

The shards run on core 0, the client on core 1. A million rows of 64 floats, with Adagrad."""

import sys

from serving import serving, sparse_job
from train import tell


def main():
    with serving(sparse_job, [f"replicas={sys.argv[1]}"], shards=2) as served:
        served.measure("P2", "P3")
        served.measure("steps")
        resident = sum(served.crew.resident_bytes(f"ps-{shard}") for shard in range(2))
        tell("", "resident, both shards", "MB", resident / 1e6)


if __name__ == "__main__":
    main()
