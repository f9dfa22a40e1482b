#!/usr/bin/python3
"""What it takes to configure and build the quickstart's programs where nothing has been compiled before.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/build.py [--folder build/cold]

ccache is left out, and FOLDER is deleted before and after. The time of all processes counts: cmake, ninja, compilers, linker."""

import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

from train import tell

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ("capstan", "chief", "ps", "worker")


def cpu_seconds():
    """Of all descendants that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "cold")
    folder = parser.parse_args().folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    cpu, began = cpu_seconds(), time.monotonic()
    subprocess.run([ROOT / "deploy" / "lib" / "build_programs", folder], check=True, stdout=sys.stderr,
                   env={**os.environ, "CCACHE_DISABLE": "1"})
    cpu, wall = cpu_seconds() - cpu, time.monotonic() - began
    megabytes = sum((folder / "bin" / program).stat().st_size for program in PROGRAMS) / 1e6
    shutil.rmtree(folder)
    tell("", "quickstart's build, CPU", "core minutes", cpu / 60)
    tell("", "quickstart's build, from start to end", "minutes", wall / 60)
    tell("", "quickstart's programs", "MB", megabytes)


if __name__ == "__main__":
    main()
