#!/usr/bin/python3
"""DeepFM on the click log (P4), in the order of the file, and its AUC after one epoch.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/deepfm.py FOLDER

FOLDER holds train.csv and test.csv of `capstan data generate`."""

import sys

from train import crew_of, tell, tell_pace, watch

JOB = """
job: race-deepfm
data:
  format: csv
  train: {data}/train.csv
  eval: {data}/test.csv
  schema: {{label: 0, categorical: "1-39"}}
  shuffle: false
model: {{preset: deepfm, embedding_dim: 16, hidden: [400, 400]}}
optimizer:
  sparse: {{kind: adagrad, learning_rate: 0.02, initial_accumulator: 0.1}}
  dense: {{kind: adam, learning_rate: 0.001}}
train: {{batch_size: 1024, epochs: 1}}
"""
# Shards, workers, threads of a step.
SETTINGS = [(1, 1, 1), (1, 1, 2), (2, 2, 1)]


def main():
    for shards, workers, threads in SETTINGS:
        case = f"DeepFM {shards} PS + {workers} worker{'s' * (workers > 1)}, {threads} thread{'s' * (threads > 1)} a step"
        with crew_of(JOB.format(data=sys.argv[1]), shards=shards, workers=workers,
                     overrides=[f"train.step_threads={threads}"]) as crew:
            points, status = watch(crew)
        tell_pace("P4", case, points)
        tell("P4", f"test AUC, {case}", "AUC", status.evaluations[-1].metrics["auc"])


if __name__ == "__main__":
    main()
