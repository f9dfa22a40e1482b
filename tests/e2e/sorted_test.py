"""A file that is sorted by its label trains as good a model as a shuffled one, under any update policy.

Reads the set a9a: census records of which about a quarter are positive."""

import functools
import gzip
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import quality
from crew import DATA, Crew, run_to_end

A9A = DATA / "a9a"
COST = 0.003  # AUC that sorted data may lose.
SEVERAL = ("async", "ssp 4", "sync")  # Tried with one, two and three workers; the other policies with three.
JOB = """
job: sorted
data: {{format: libsvm, train: {train}, eval: {eval}, label_threshold: 0}}
model: {{preset: lr}}
optimizer:
  sparse: {{kind: sgd, learning_rate: 0.005}}
  dense: {{kind: sgd, learning_rate: 0.005}}
train: {{batch_size: 50, epochs: 1, gradient: sum}}
"""


def label(line):
    return float(line.split(maxsplit=1)[0])


class SortedTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        with gzip.open(A9A / "train.libsvm.gz", "rt") as data:
            lines = data.readlines()
        random.Random(1).shuffle(lines)
        cls.shuffled, cls.sorted, cls.packed = folder / "shuffled", folder / "sorted", folder / "sorted.gz"
        cls.shuffled.write_text("".join(lines))
        text = "".join(sorted(lines, key=label))
        cls.sorted.write_text(text)
        cls.packed.write_bytes(gzip.compress(text.encode()))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def auc(self, train, policy="async", workers=1, overrides=()):
        """Of a job of these settings, which is trained once, whoever asks."""
        return self.measured(train, policy, workers, tuple(overrides))

    @classmethod
    @functools.cache
    def measured(cls, train, policy, workers, overrides):
        job = JOB.format(train=train, eval=A9A / "test.libsvm.gz")
        with Crew(job, 1, workers, [f"update={quality.POLICIES[policy]}", *overrides], name="sorted") as crew:
            crew.until(lambda: quality.completed(crew), "the end of the job", 120)
            value = crew.status().evaluations[-1].metrics["auc"]
            print(f"{train.name}, {policy}, {workers} workers, {list(overrides)}: auc {value:.4f}", flush=True)
            return value

    def test_a_sorted_file_is_as_good_as_a_shuffled_one(self):
        for policy in quality.POLICIES:
            for workers in (1, 2, 3) if policy in SEVERAL else (3,):
                with self.subTest(policy=policy, workers=workers):
                    self.assertGreater(self.auc(self.sorted, policy, workers),
                                       self.auc(self.shuffled, policy, workers) - COST)

    def test_a_sorted_compressed_file_is_as_good_as_a_shuffled_one(self):
        self.assertGreater(self.auc(self.packed, workers=3), self.auc(self.shuffled, workers=3) - COST)

    def test_without_pieces_the_order_of_a_sorted_file_costs_much(self):
        # What the other tests are worth.
        self.assertLess(self.auc(self.sorted, overrides=["data.pieces=1"]), self.auc(self.shuffled) - 3 * COST)

    def test_the_status_and_config_check_tell_of_the_order(self):
        job = JOB.format(train=self.sorted, eval=A9A / "test.libsvm.gz")
        with Crew(job, 1, 1, name="sorted", exit_when_done=False) as crew:
            crew.until(lambda: quality.completed(crew), "the end of the job", 120)
            told = list(crew.status().warnings)
            self.assertTrue(any("lie in the order of their labels" in warning for warning in told), told)
            code, said = run_to_end("capstan", "config", "check", crew.job_file)
            self.assertEqual(code, 0, said)
            self.assertIn("each task therefore mixes pieces from all over them", said)


if __name__ == "__main__":
    if not A9A.is_dir():
        print(f"SKIPPED: no a9a in {DATA} (deploy/datasets makes it, or CAPSTAN_DATA names its folder)")
        sys.exit(quality.SKIPPED)
    unittest.main(verbosity=2)
