#!/usr/bin/python3
"""Trains one example with processes and tells its metric at the end.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto CAPSTAN_DATA=data tests/bench/turns/quality.py EXAMPLE POLICY SEED

POLICY: one of tests/e2e/quality.py, `as it is`, or `one worker`, which is the example's own with one worker."""

import pathlib
import sys

# The end-to-end tests have a quality.py, too.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import quality
from train import tell


def main():
    example, policy, seed = sys.argv[1:]
    if not quality.data_is_there():
        sys.exit("the sets of docs/datasets.md are not there: deploy/datasets makes them")
    metric, _ = quality.BARS[example]
    workers = 1 if policy == "one worker" else quality.WORKERS
    own = policy in ("one worker", "as it is")
    outcome = quality.train(example, None if own else policy, int(seed), workers, timeout=1100)
    tell("", metric, metric, outcome.metrics[metric])


if __name__ == "__main__":
    main()
