"""A worker of a synchronous job computes its first batch twice: a program whose bits depend on more than its batch, its parameters and
seeds is told of, and one whose bits do not learns the same with and without."""

import pathlib
import shutil
import tempfile
import types
import unittest

from python_data import CLICKS, SYNC, job_of_images, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

import os  # noqa: E402
import sys  # noqa: E402

from crew import run_to_end  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

if __name__ == "__main__":
    sys.path.insert(0, os.environ["PYTHONPATH"])

import numpy as np  # noqa: E402
import torch  # noqa: E402

import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import loop, self_check  # noqa: E402

ODD = "bits depend on who works: mlp.0.bias differs where a batch is computed twice from the same parameters and seeds"
JOB = CLICKS % (4000, "user: deepfm.py") + SYNC


class SelfCheckTest(unittest.TestCase):

    def test_a_program_that_keeps_something_between_steps_is_told_of_by_its_first_tensor(self):
        with PythonCrew(JOB, workers=1, name="warn", environment={"HIDDEN": "1"}) as crew:
            crew.wait()
            self.assertEqual(crew.log("worker-0").count(f"capstan_ps: {ODD}"), 1)

    def test_a_worker_with_another_pytorch_is_named_and_works(self):
        with PythonCrew(JOB, workers=1, name="versions", environment={"PACE": "0.1"}) as crew:
            crew.until_examples(250)
            crew.add_worker("other", VERSION="0.9")
            crew.until(lambda: list(crew.status().warnings), "the warning")
            warning, = crew.status().warnings
            self.assertRegex(warning, "^other: bits depend on who works: torch is 0.9 here, and 1.* in the job, as declared by worker-0$")
            crew.processes["worker-0"].terminate()
            crew.until_examples(1500)

    def test_a_program_that_writes_to_its_batch_is_not_suspected(self):
        with PythonCrew(JOB, workers=1, name="writes", environment={"WRITE": "1"}, overrides=["train.max_steps=2"]) as crew:
            crew.wait()
            self.assertNotIn("bits depend", crew.log("worker-0"))

    def test_an_asynchronous_job_is_not_looked_at(self):
        with PythonCrew(CLICKS % (1000, "user: deepfm.py"), workers=1, name="async", environment={"HIDDEN": "1"}) as crew:
            crew.wait()
            self.assertNotIn("computed twice", crew.log("worker-0"))

    def test_what_is_computed_twice_leaves_no_trace(self):
        """Statistics of BatchNorm, too, move once."""
        with tempfile.TemporaryDirectory() as folder:
            kept, job = [], job_of_images(pathlib.Path(folder)) + SYNC
            for name, environment in (("once", {"ONCE": "1"}), ("twice", {})):
                with PythonCrew(job, example="cnn", workers=1, name=name, environment=environment, overrides=["train.max_steps=3"]) as crew:
                    crew.wait()
                    self.assertNotIn("computed twice", crew.log("worker-0"))
                    kept.append(shutil.copytree(crew.manifest().parent, pathlib.Path(folder) / name))
            code, said = run_to_end("capstan", "checkpoint", "diff", *kept)
            self.assertEqual(code, 0, said)
            parts = {line.split()[0]: [int(n.replace(",", "")) for n in line.split()[2:7]] for line in said.splitlines()[1:]}
            self.assertIn("1.running_var", parts)
            for part, (common, *changes) in parts.items():
                self.assertGreater(common, 0, part)
                self.assertEqual(changes, [0, 0, 0, 0], part)


class TwiceTest(unittest.TestCase):
    """A program of which each computation gives the next of these."""

    def twice(self, *computed):
        computed = iter(computed)
        self.put_back = []
        tensors = types.SimpleNamespace(kept=lambda: "kept", put_back=self.put_back.append, shapes=lambda: {"a": [2], "b": [2]})
        return self_check.twice(lambda taken: next(computed), None, tensors, types.SimpleNamespace(tables=["user", "item"]))

    def test_the_first_difference_is_named_tensors_before_tables_before_the_loss(self):
        one = np.float32([1, np.nan])
        other = np.float32([1, 2])

        def computed(loss=1.0, rows=(None, None), tensors=(None, None)):
            return loop.Computed(loss, list(rows), list(tensors))
        for first, second, said in (
                (computed(tensors=(one, other)), computed(tensors=(one.copy(), other)), None),
                (computed(tensors=(one, one)), computed(tensors=(one, other)), "b"),
                (computed(tensors=(one, None)), computed(tensors=(None, None)), "a"),
                (computed(tensors=(np.float32([0, 0]), None)), computed(tensors=(np.float32([0, -0.0]), None)), "a"),
                (computed(rows=(None, one), loss=1.0), computed(rows=(None, other), loss=2.0), "the gradient of table item"),
                (computed(loss=float("nan")), computed(loss=float("nan")), None),
                (computed(loss=1.0), computed(loss=1.5), "the loss")):
            kept, differs = self.twice(first, second)
            self.assertEqual(differs, said)
            self.assertEqual((kept.loss_sum.hex(), self.put_back), (first.loss_sum.hex(), ["kept"]))

    def test_what_the_first_computation_writes_to_what_it_was_handed_is_put_back(self):
        labels, drawn = np.float32([1, 2]), np.float32([3])
        taken = types.SimpleNamespace(examples=2, labels=lambda: labels, weights=lambda: None, negatives=lambda: (7, 0, drawn, drawn))

        def compute(step):
            self.assertEqual(step.examples, 2)
            self.assertIsNone(step.weights())
            for array in (step.labels(), step.negatives()[2]):
                array *= 2
            return loop.Computed(float(labels.sum() + drawn.sum()), [None], [None, None])
        tensors = types.SimpleNamespace(kept=lambda: None, put_back=lambda kept: None, shapes=lambda: {"a": [2], "b": [2]})
        first, differs = self_check.twice(compute, taken, tensors, types.SimpleNamespace(tables=["user"]))
        self.assertEqual((differs, first.loss_sum), (None, 12.0))

    def test_buffers_that_no_shard_has_are_put_back(self):
        norm = torch.nn.BatchNorm1d(2)
        tensors = ct._Tensors(norm)
        kept = tensors.kept()
        norm(torch.ones(3, 2))
        self.assertEqual(norm.num_batches_tracked.item(), 1)
        tensors.put_back(kept)
        self.assertEqual(norm.num_batches_tracked.item(), 0)

    def test_what_came_out_first_is_kept_though_its_memory_is_used_again(self):
        memory = np.float32([1, 2])

        def compute(taken):
            memory[0] += 1
            return loop.Computed(1.0, [None], [memory, None])
        tensors = types.SimpleNamespace(kept=lambda: None, put_back=lambda kept: None, shapes=lambda: {"a": [2], "b": [2]})
        first, differs = self_check.twice(compute, None, tensors, types.SimpleNamespace(tables=["user"]))
        self.assertEqual((differs, first.tensors[0].tolist()), ("a", [2, 2]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
