#!/usr/bin/python3
"""Logistic regression on Criteo's and the census's data (P5): the AUC that a shard and a worker reach.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto CAPSTAN_DATA=data tests/bench/turns/logistic.py"""

from train import crew_of, tell, watch

import quality


def main():
    if not quality.data_is_there():
        raise SystemExit("the sets of docs/datasets.md are not there: deploy/datasets makes them")
    for name, example in (("lr-criteo", "criteo-lr"), ("lr-a9a", "a9a-lr")):
        with crew_of(quality.example(example), shards=1, workers=1) as crew:
            _, status = watch(crew)
        tell("P5", f"{name} AUC", "AUC", status.evaluations[-1].metrics["auc"])


if __name__ == "__main__":
    main()
