"""A shard that is much busier than the other, because the popular keys are its, is relieved while the job trains: by `capstan rebalance`, and with
`rebalance: auto` by nobody's command."""

import contextlib
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "services/cli/model")]
import numpy as np
import score
from crew import BINARIES, Crew, chief_pb2

PARTITIONS, SHARDS, SEED = 32, 2, 1
KEYS, KEYS_OF_A_RECORD, RECORDS = 4000, 24, 4000  # A step has a record, for it pulls a key once however many of its records have it.
POPULAR = 400  # Of the keys, by how often they occur: all of them are shard 0's as the job begins.
EVEN = 1.2     # The busiest shard's load by the mean, below which shards are even enough.
# Seconds, as docs/job-yaml.md says: how long a shard has to be busy before partitions move by themselves, and how long none do after that.
BUSY_FOR, NOT_WITHIN = 30, 120
JOB = """
job: popular
data: {{format: libsvm, train: ["{data}"], task_bytes: 16KiB}}
model: {{towers: [{{kind: linear}}], loss: logistic}}
optimizer: {{sparse: {{kind: sgd, learning_rate: 0.01}}, dense: {{kind: sgd, learning_rate: 0.01}}}}
update: {{sparse: {{policy: async}}, dense: {{policy: async}}}}
train: {{batch_size: 1, epochs: 100000}}
seed: {seed}
partition_count: {partitions}
rebalance: {rebalance}
"""


def owner(key):
    """The shard that has the key as the job begins: services/capstan/placement."""
    name = np.array([score.hash_text(b"features")], np.uint64)
    table_seed = int(score.draw(SEED, name, np.zeros(1, np.uint64))[0])
    return score.mix64(key ^ table_seed) % PARTITIONS % SHARDS


def keys_by_popularity():
    """The most popular first; those of shard 0 come before all others until there are POPULAR of them."""
    first = [key for key in range(KEYS) if owner(key) == 0][:POPULAR]
    chosen = set(first)
    return first + [key for key in range(KEYS) if key not in chosen]


def write_records(path):
    """The r-th most popular key occurs as often as 1 / r says (Zipf)."""
    draw = random.Random(7)
    keys = keys_by_popularity()
    weights = [1 / rank for rank in range(1, len(keys) + 1)]
    with open(path, "w", encoding="ascii") as out:
        for _ in range(RECORDS):
            of = sorted(set(draw.choices(keys, weights, k=KEYS_OF_A_RECORD)))
            out.write(f"{draw.randrange(2)} {' '.join(f'{key}:1' for key in of)}\n")


class RebalanceTest(unittest.TestCase):

    def plan(self, crew):
        return crew.call("Rebalance", chief_pb2.RebalanceRequest(plan_only=True), chief_pb2.RebalanceReply)

    @contextlib.contextmanager
    def unevenly_busy(self, rebalance):
        """A job that trains, one of whose shards is much busier than the other."""
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "records.svm"
            write_records(data)
            job = JOB.format(data=data, seed=SEED, partitions=PARTITIONS, rebalance=rebalance)
            with Crew(job, shards=SHARDS, workers=2, pace=5, name="popular") as crew:
                crew.until_examples(500)
                # Loads are known from what shards report over some seconds.
                crew.until(lambda: self.plan(crew).load_skew_before > 1.5, "a shard that is much busier than the other", 30)
                yield crew

    def until_even(self, crew, before, patience):
        """Partitions move, and make the loads even; nobody returns to a checkpoint. How many have moved."""
        crew.until(lambda: crew.status().moves.moved > 0 and not crew.status().moves.under_way, "partitions that have moved", patience)
        crew.until(lambda: self.plan(crew).load_skew_before < EVEN, f"shards whose loads differ by less than {EVEN}", 60)
        after = crew.status()
        self.assertEqual(after.timeline, before.timeline)
        self.assertEqual(list(after.losses), [])
        crew.until_examples(after.examples + 1000)
        print(f"moved {after.moves.moved} of {PARTITIONS} partitions", file=sys.stderr)
        return after.moves.moved

    def test_a_shard_whose_keys_are_popular_is_relieved_by_a_command(self):
        with self.unevenly_busy("manual") as crew:
            before = crew.status()
            said = subprocess.run([BINARIES / "capstan", "rebalance", "--chief", crew.address], check=True,
                                  capture_output=True, text=True).stdout
            self.assertIn("begun", said)
            self.until_even(crew, before, patience=30)

    def test_a_shard_whose_keys_are_popular_is_relieved_by_itself_and_then_nothing_moves_any_more(self):
        with self.unevenly_busy("auto") as crew:
            before = crew.status()
            self.assertEqual(before.moves.moved, 0, "a shard that is busy for a moment is let be")
            moved = self.until_even(crew, before, patience=2 * BUSY_FOR)
            # Beyond the time in which no more may move: were the loads not even enough, others would now.
            quiet = time.monotonic() + NOT_WITHIN
            crew.until(lambda: time.monotonic() > quiet, "the end of the time in which none may move", 2 * NOT_WITHIN)
            crew.until_examples(crew.status().examples + 1000)
            self.assertEqual(crew.status().moves.moved, moved)
            self.assertLess(self.plan(crew).load_skew_before, 1.3, "of the mean load, from which on partitions would move")


if __name__ == "__main__":
    unittest.main(verbosity=2)
