#!/usr/bin/python3
"""Four times the load that a shard can take: what is answered, how long it takes, memory, health and metrics.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/overload.py [--seconds 10] [--times 4]

The shard runs on core 0, everything else on core 1. Calls are pulls of 16,384 keys that their sender gives up after
two seconds."""

import argparse
import os
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
# The end-to-end tests have an overload.py, too.
sys.path[:0] = [str(BENCH.parent / "e2e"), str(BENCH / "recorder")]
from overload import Load, Observer, lonely_shard
from results import percentile
from train import tell


def show(name, rate, load, observer):
    """What became of a phase."""
    tell("", f"{name}, answers", "answers/s", rate)
    tell("", f"{name}, refused", "calls", load.outcomes["RESOURCE_EXHAUSTED"])
    tell("", f"{name}, refused without a hint", "calls", load.outcomes["RESOURCE_EXHAUSTED"] - load.hints)
    for percent in (50, 99):
        tell("", f"{name}, answer p{percent}", "ms", 1e3 * percentile(load.seconds, percent))
    tell("", f"{name}, health p99", "ms", 1e3 * percentile(observer.health, 99))
    tell("", f"{name}, metrics p99", "ms", 1e3 * percentile(observer.metrics, 99))
    tell("", f"{name}, resident", "MB", max(observer.resident) / 1e6)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=10, help="of each phase")
    arguments.add_argument("--times", type=float, default=4, help="the peak is offered")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {1})
    with lonely_shard() as (crew, view):
        for task in os.listdir(f"/proc/{crew.processes['ps-0'].pid}/task"):
            os.sched_setaffinity(int(task), {0})
        with Load(view) as load:
            load.closed(2)  # Warm.
            with Observer(crew) as observer:
                peak = load.closed(options.seconds)
            show("peak", peak, load, observer)
            with Observer(crew) as observer:
                good = load.open(options.times * peak, options.seconds)
            show("overload", good, load, observer)
            with Observer(crew) as observer:
                after = load.closed(options.seconds / 2)
            show("afterwards", after, load, observer)
    tell("", "goodput by the peak", "ratio", good / peak)


if __name__ == "__main__":
    main()
