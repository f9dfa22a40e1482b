"""Synchronous training does not depend on who works, and equals one process with the whole round as batch."""

import math
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, run_to_end, series, view_pb2
from largest import most_resident_bytes

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

    def trained(self, name, *settings, **more):
        """The finished model of a job of ROUNDS rounds."""
        with Crew(job(*settings), name=name, **more) as crew:
            self.assertEqual(crew.wait().round, ROUNDS)
            return shutil.copytree(crew.manifest().parent, self.folder / name)

    def differences(self, one, other):
        """{part: (parameters or rows of both, of one of them alone, the largest difference of a weight)}"""
        code, said = run_to_end("capstan", "checkpoint", "diff", one, other)
        self.assertEqual(code, 0, said)
        parts = {}
        for part, _, common, _, added, removed, _, largest in (line.split() for line in said.splitlines()[1:]):
            parts[part] = (int(common), int(added) + int(removed), 0.0 if largest == "-" else float(largest))
        return parts

    def test_lanes_equal_one_process_with_the_whole_round_as_batch(self):
        files, whole = self.write_lanes(LANES, BATCH * ROUNDS)
        for name, optimizer in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                many = self.trained(f"{name}-lanes", files, optimizer, LANES, BATCH, workers=2)
                one = self.trained(f"{name}-one", [whole], optimizer, 1, LANES * BATCH, shards=1, workers=1)
                scores = [float(line) for line in run_to_end("capstan", "predict", one, whole)[1].splitlines()]
                self.assertGreater(max(scores) - min(scores), 0.005, "nothing was learnt")
                parts = self.differences(many, one)
                self.assertEqual({part: of[:2] for part, of in parts.items()}, {"features": (3 * KEYS, 0), "bias/bias": (1, 0)})
                for part, (_, _, largest) in parts.items():
                    self.assertLess(largest, 1e-6, part)  # The order of a sum: 1e-8 was seen.

    def test_a_job_of_so_many_steps_closes_exactly_so_many_rounds(self):
        files, _ = self.write_lanes(LANES, BATCH * ROUNDS)
        with Crew(job(files, OPTIMIZERS["sgd"], LANES, BATCH), workers=2,
                  overrides=["train.max_steps=7"]) as crew:
            last = crew.wait()
            self.assertEqual((last.round, last.examples), (7, 7 * LANES * BATCH))

    def test_a_round_of_gradients_above_a_gibibyte_ends_and_a_worker_holds_a_few_of_them(self):
        # Beyond what gRPC may hold for the messages of a shard. Each of 4 workers has 16 of the lanes.
        lanes, model_bytes = 64, 18 << 20
        files, _ = self.write_lanes(lanes, BATCH)
        model = "{preset: deepfm, embedding_dim: 4, hidden: [2200, 2200]}"
        with Crew(job(files, OPTIMIZERS["sgd"], lanes, BATCH, model), shards=1, workers=4,
                  overrides=["worker_lease=60s", "heartbeat=1s"], exit_when_done=False) as crew:
            largest = largest_shard = 0
            def is_over():
                nonlocal largest, largest_shard
                largest = max([largest, *(crew.resident_bytes(f"worker-{index}") for index in range(4))])
                largest_shard = max(largest_shard, crew.resident_bytes("ps-0"))
                return crew.status().state == view_pb2.JOB_STATE_COMPLETED
            crew.until(is_over, "the end of the job", 200)
            status = crew.status()
            self.assertEqual((status.round, status.examples), (1, lanes * BATCH))
            self.assertGreater(sum(series(crew.scrape("ps-0"), "capstan_parameters").values()), model_bytes / 4)
            # Two models a lane at work, some lanes at a time, and the network's own.
            self.assertLess(largest, 16 * model_bytes, "as many copies as lanes")
            # The model, the sum, and the gradients that came before their turn.
            self.assertLess(largest_shard, lanes * model_bytes / 2, "the gradients of all lanes")

    def test_a_worker_of_many_lanes_of_a_small_model_is_little_larger_than_of_one(self):
        lanes = 25
        files, _ = self.write_lanes(lanes, BATCH * ROUNDS)
        largest = {}
        for count in (1, lanes):
            with Crew(job(files[:count], OPTIMIZERS["sgd"], count, BATCH), shards=1, workers=1, exit_when_done=False) as crew:
                self.assertEqual(crew.until_state("COMPLETED").examples, count * BATCH * ROUNDS)
                largest[count] = most_resident_bytes(crew, "worker-0")
        self.assertLess(largest[lanes], 1.6 * largest[1], "memory of a worker")

    def test_a_worker_may_have_more_lanes_than_calls_fit_on_its_connections(self):
        # 128 calls fit on one. Were those of all lanes that are done with a round to wait there for the next, the pushes of
        # the others would come when a wait is over, after five seconds, and a round take as long.
        lanes, batch, rounds = 400, 2, 15
        files, _ = self.write_lanes(lanes, batch * rounds)
        with Crew(job(files, OPTIMIZERS["sgd"], lanes, batch), shards=1, workers=1) as crew:
            last = crew.wait(timeout=45)
            self.assertEqual((last.round, last.examples), (rounds, rounds * lanes * batch))

    def fingerprint(self, files, shards, workers, kill=False):
        text = job(files, OPTIMIZERS["adam"], 8, BATCH, "{preset: deepfm, embedding_dim: 4, hidden: [16]}")
        with Crew(text, shards=shards, workers=workers, pace=5 if kill else 0) as crew:
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
