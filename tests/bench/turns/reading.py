#!/usr/bin/python3
"""How fast a core reads images in tar and TFRecord, and decodes the values of a Parquet file, from the page cache.

    CAPSTAN_BIN=build/bin tests/bench/turns/reading.py CELLS.parquet"""

import json
import os
import subprocess
import sys

from train import tell

from crew import BINARIES

IMAGES = {"BM_ReadTar": "tar", "BM_ReadTfRecord": "TFRecord"}


def rates(program, filter_, **environment):
    """{benchmark: bytes a second of CPU time of the whole process}"""
    said = subprocess.run([BINARIES / program, f"--benchmark_filter={filter_}", "--benchmark_format=json"], check=True, stdout=subprocess.PIPE,
                          text=True, env={**os.environ, **environment}).stdout
    return {run["name"].split("/")[0]: run["bytes_per_second"] for run in json.loads(said)["benchmarks"]}


def main():
    for name, rate in rates("image_bench", "BM_Read").items():
        tell("", IMAGES[name], "GB/s of CPU", rate / 1e9)
    (rate,) = rates("parquet_bench", "BM_DecodeParquet", CAPSTAN_BENCH_PARQUET=sys.argv[1]).values()
    tell("", "Parquet", "MB/s of CPU", rate / 1e6)


if __name__ == "__main__":
    main()
