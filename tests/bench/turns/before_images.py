#!/usr/bin/python3
"""What a checkpoint costs while rows change, under one update policy: the rows as they were, which are kept until they are
copied, and the pace.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/before_images.py sync|async [--seconds 8] [--pairs 3]"""

import argparse
import statistics
import threading
import time

from checkpoint import MIB, of_chief, save
from train import Point, crew_of, pace, tell

from crew import series

WORKERS = 2
POLICIES = {"async": "{policy: async}", "sync": f"{{policy: sync, lanes: {WORKERS}}}"}
# Of the click log's million keys a batch touches some thousands. Shards tell what they keep with each heartbeat.
JOB = """
job: before-images
heartbeat: 100ms
data: {{format: synthetic, synthetic: {{train_rows: 500M, eval_rows: 0}}}}
model: {{preset: deepfm, embedding_dim: 64, hidden: [32]}}
optimizer: {{sparse: {{kind: adagrad, learning_rate: 0.02}}, dense: {{kind: adam, learning_rate: 0.001}}}}
update: {{sparse: {policy}, dense: {policy}}}
train: {{batch_size: 256}}
checkpoint: {{every: 0s}}
"""
SHARDS = ("ps-0", "ps-1")


class Kept(threading.Thread):
    """The most that the shards kept at once, until it is left. It looks in phases without a checkpoint as well: looking costs
    a little of the pace."""

    def __init__(self, crew):
        super().__init__()
        self.crew, self.most, self.ended = crew, 0, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def run(self):
        while not self.ended.wait(0.05):
            self.most = max(self.most, sum(sum(series(self.crew.scrape(name), "capstan_checkpoint_kept_bytes").values())
                                           for name in SHARDS))


def held_back(crew):
    return sum(sum(series(crew.scrape(name), "capstan_checkpoint_held_back_partitions_total").values()) for name in SHARDS)


def paced(crew, do):
    """Examples a second, and CPU seconds an example, while `do` lasts."""
    first = Point(crew, crew.status().examples)
    do()
    return pace(first, Point(crew, crew.status().examples))


def save_for(crew, seconds):
    """Checkpoints one after the other, for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        save(crew)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", choices=POLICIES)
    parser.add_argument("--seconds", type=float, default=8, help="of each phase")
    parser.add_argument("--pairs", type=int, default=3, help="of phases")
    options = parser.parse_args()
    with crew_of(JOB.format(policy=POLICIES[options.policy]), shards=len(SHARDS), workers=WORKERS) as crew:
        crew.until_examples(200_000, timeout=300)
        alone, beside = [], []
        with Kept(crew) as kept:
            for _ in range(options.pairs):
                alone.append(paced(crew, lambda: time.sleep(options.seconds)))
                beside.append(paced(crew, lambda: save_for(crew, options.seconds)))
        checkpoints = of_chief(crew, "capstan_checkpoint_commits_total")
        last = of_chief(crew, "capstan_checkpoint_last_duration_seconds")
        size = of_chief(crew, "capstan_checkpoint_last_bytes") / MIB
        held = held_back(crew)
    for what, found in (("otherwise", alone), ("while saving", beside)):
        tell("", f"examples/s {what}", "examples/s", statistics.median(rate for rate, _ in found),
             cpu_per_unit=statistics.median(sum(cpu.values()) for _, cpu in found))
    tell("", "pace while saving by that otherwise", "ratio",
         statistics.median(with_save[0] / without[0] for with_save, without in zip(beside, alone)))
    tell("", "before-images kept at most", "MiB", kept.most / MIB)
    tell("", "partitions held back", "partitions", held)
    tell("", "checkpoints taken", "checkpoints", checkpoints)
    tell("", "the last checkpoint took", "s", last)
    tell("", "the last checkpoint has", "MiB", size)


if __name__ == "__main__":
    main()
