#!/usr/bin/python3
"""The data path of a chief, a shard and a client, each a process of its own (P0 to P3 and P6).

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/dataplane.py [P0] [P1] [P2] [P3] [P6] [dtypes] [memory]

The shard runs on core 0, the client on core 1. PEERS_RUNS (5), PEERS_DENSE_MIB (256), PEERS_PIN=0 (nobody is bound to a core)."""

import os
import subprocess
import sys

from serving import BINARIES, dense_job, serving, sparse_job

MEBIBYTES = int(os.environ.get("PEERS_DENSE_MIB", "256"))


def dense(adagrad, part="dense"):
    with serving(lambda data: dense_job(data, MEBIBYTES, adagrad)) as served:
        served.measure(part)


def main():
    parts = sys.argv[1:] or ["P0", "P1", "P2", "P3", "P6"]
    if "P0" in parts:
        subprocess.run([BINARIES / "dataplane", "P0"], check=True)
    if "P1" in parts:
        dense(adagrad=False)
        dense(adagrad=True)
    sparse = [part for part in parts if part in ("P2", "P3", "P6")]
    if sparse:
        with serving(sparse_job) as served:
            served.measure(*sparse)
    if "dtypes" in parts:
        dense(adagrad=False, part="dtypes")
    if "memory" in parts:
        for dim in (64, 16):
            with serving(lambda data, dim=dim: sparse_job(data, dim)) as served:
                served.measure("memory")


if __name__ == "__main__":
    main()
