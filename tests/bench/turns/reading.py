#!/usr/bin/python3
"""How fast a core reads images in tar and TFRecord, and decodes the values of a Parquet file, from the page cache; and what the
shuffled tasks of one large .gz cost beside those of the same file as it is.

    CAPSTAN_BIN=build/bin tests/bench/turns/reading.py CELLS.parquet CLICKS.csv CLICKS.csv.gz"""

import json
import os
import subprocess
import sys

from train import tell

from crew import BINARIES

IMAGES = {"BM_ReadTar": "tar", "BM_ReadTfRecord": "TFRecord"}


def rates(program, filter_, of="bytes", **environment):
    """{benchmark: bytes, or items, a second of CPU time of the whole process}"""
    said = subprocess.run([BINARIES / program, f"--benchmark_filter={filter_}", "--benchmark_format=json"], check=True, stdout=subprocess.PIPE,
                          text=True, env={**os.environ, **environment}).stdout
    return {run["name"].split("/")[0]: run[f"{of}_per_second"] for run in json.loads(said)["benchmarks"]}


def main():
    for name, rate in rates("image_bench", "BM_Read").items():
        tell("", IMAGES[name], "GB/s of CPU", rate / 1e9)
    cells, plain, packed = sys.argv[1:]
    (rate,) = rates("parquet_bench", "BM_DecodeParquet", CAPSTAN_BENCH_PARQUET=cells).values()
    tell("", "Parquet", "MB/s of CPU", rate / 1e6)
    shuffled = [next(iter(rates("data_bench", "BM_ReadShuffledTasks", of="items", CAPSTAN_BENCH_TEXT=file).values())) for file in (plain, packed)]
    for kind, rate in zip(("a csv", "one .gz"), shuffled):
        tell("", f"shuffled tasks of {kind}", "records/s of CPU", rate)
    tell("", "shuffled tasks of one .gz by those of the csv", "ratio", shuffled[0] / shuffled[1])


if __name__ == "__main__":
    main()
