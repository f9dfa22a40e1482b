"""Synchronous training does not depend on who works, and equals one process with the whole round as batch."""

import math
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew

LANES, BATCH, ROUNDS, KEYS = 4, 25, 20, 60


def rows(seed, count):
    """Records of three categorical columns whose keys are shared by all lanes."""
    draw = random.Random(seed)
    for _ in range(count):
        values = [draw.randrange(KEYS) for _ in range(3)]
        label = int(draw.random() < 1 / (1 + math.exp(-(values[0] - values[1]) / 20)))
        yield f"{label},{values[0]},{values[1]},{values[2]}\n"


def job(files, optimizer, lanes, batch, model="{preset: fm, embedding_dim: 4}"):
    return f"""
job: sync
seed: 7
data:
  format: csv
  train: [{", ".join(str(f) for f in files)}]
  schema: {{label: 0, categorical: "1-3"}}
  shuffle: false
  task_bytes: 1MiB
model: {model}
optimizer: {{sparse: {optimizer}, dense: {optimizer}}}
update:
  sparse: {{policy: sync, lanes: {lanes}}}
  dense: {{policy: sync, lanes: {lanes}}}
train: {{batch_size: {batch}, epochs: 1}}
worker_lease: 2s
heartbeat: 200ms
"""


OPTIMIZERS = {
    "sgd": "{kind: sgd, learning_rate: 0.5}",
    "momentum": "{kind: momentum, learning_rate: 0.1, momentum: 0.9}",
    "adagrad": "{kind: adagrad, learning_rate: 0.1}",
    "adam": "{kind: adam, learning_rate: 0.01}",
}


class SyncTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def write_lanes(self, lanes, count):
        """A file a lane, and one whose batches are the rounds."""
        parts = [list(rows(lane, count)) for lane in range(lanes)]
        files = []
        for lane, part in enumerate(parts):
            files.append(self.folder / f"lane-{lane}.csv")
            files[-1].write_text("".join(part))
        whole = self.folder / "whole.csv"
        with open(whole, "w") as out:
            for begin in range(0, count, BATCH):
                for part in parts:
                    out.writelines(part[begin:begin + BATCH])
        return files, whole

    def probe(self):
        """One record for each key of each column and one for pairs: they show every parameter."""
        path = self.folder / "probe.csv"
        draw = random.Random(1)
        with open(path, "w") as out:
            for key in range(KEYS):
                out.write(f"0,{key},{draw.randrange(KEYS)},{draw.randrange(KEYS)}\n")
        return path

    def logits(self, crew):
        return [math.log(p / (1 - p)) for p in crew.predict(self.probe())]

    def test_lanes_equal_one_process_with_the_whole_round_as_batch(self):
        files, whole = self.write_lanes(LANES, BATCH * ROUNDS)
        for name, optimizer in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                with Crew(job(files, optimizer, LANES, BATCH), workers=2, name=name) as crew:
                    self.assertEqual(crew.wait().round, ROUNDS)
                    many = self.logits(crew)
                with Crew(job([whole], optimizer, 1, LANES * BATCH), shards=1, workers=1) as crew:
                    self.assertEqual(crew.wait().round, ROUNDS)
                    one = self.logits(crew)
                largest = max(abs(x) for x in one)
                self.assertGreater(largest, 0.01, "nothing was learnt")
                for a, b in zip(many, one):
                    self.assertLess(abs(a - b), 1e-4 * largest)

    def test_a_job_of_so_many_steps_closes_exactly_so_many_rounds(self):
        files, _ = self.write_lanes(LANES, BATCH * ROUNDS)
        with Crew(job(files, OPTIMIZERS["sgd"], LANES, BATCH), workers=2,
                  overrides=["train.max_steps=7"]) as crew:
            last = crew.wait()
            self.assertEqual((last.round, last.examples), (7, 7 * LANES * BATCH))

    def fingerprint(self, files, shards, workers, kill=False):
        slow = {f"worker-{i}": 30 for i in range(workers)} if kill else None
        text = job(files, OPTIMIZERS["adam"], 8, BATCH, "{preset: deepfm, embedding_dim: 4, hidden: [16]}")
        with Crew(text, shards=shards, workers=workers, slow=slow) as crew:
            if kill:
                crew.until_examples(8 * BATCH * 3)
                crew.kill("worker-1")
            crew.wait()
            return crew.fingerprint()

    def test_eight_lanes_are_bit_equal_on_any_number_of_workers_and_shards(self):
        files, _ = self.write_lanes(8, BATCH * ROUNDS)
        expected = self.fingerprint(files, shards=1, workers=1)
        for shards, workers in ((1, 3), (3, 3), (3, 8)):
            with self.subTest(shards=shards, workers=workers):
                self.assertEqual(self.fingerprint(files, shards, workers), expected)
        with self.subTest("a worker is killed in the middle"):
            self.assertEqual(self.fingerprint(files, 2, 3, kill=True), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
