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
from capstan_ps import loop, self_check  # noqa: E402

ODD = "bits depend on who works: mlp.0.bias differs where a batch is computed twice from the same parameters and seeds"
JOB = CLICKS % (4000, "user: deepfm.py") + SYNC


class SelfCheckTest(unittest.TestCase):

    def test_a_program_that_keeps_something_between_steps_is_told_of_by_its_first_tensor(self):
        with PythonCrew(JOB, workers=1, name="warn", environment={"HIDDEN": "1", "PACE": "0.1"}) as crew:
            crew.until_examples(500)
            warning, = crew.status().warnings
            self.assertIn(f"worker-0: {ODD}", warning)
            self.assertIn(ODD, crew.log("worker-0"))
            self.assertEqual(crew.log("worker-0").count(ODD), 1)

    def test_it_may_be_refused(self):
        with PythonCrew(JOB, workers=1, name="refuse", environment={"HIDDEN": "1"}, overrides=["train.self_check=refuse"]) as crew:
            self.assertEqual(crew.end_of("worker-0"), 2)
            self.assertIn(f"capstan_ps: {ODD}", crew.log("worker-0").splitlines()[-1])
            warning, = crew.status().warnings
            self.assertIn(f"worker worker-0's program fails: {ODD}", warning)
            self.assertEqual(crew.status().examples, 0)

    def test_a_worker_with_another_pytorch_is_named_and_works(self):
        with PythonCrew(JOB, workers=1, name="versions", environment={"PACE": "0.1"}) as crew:
            crew.until_examples(250)
            crew.add_worker("other", VERSION="0.9")
            crew.until(lambda: list(crew.status().warnings), "the warning")
            warning, = crew.status().warnings
            self.assertRegex(warning, "^other: bits depend on who works: torch is 0.9 here, and 1.* in the job, as declared by worker-0$")
            crew.processes["worker-0"].terminate()
            crew.until_examples(1500)

    def test_an_asynchronous_job_and_one_that_does_not_want_it_are_not_looked_at(self):
        for name, job in (("async", CLICKS % (1000, "user: deepfm.py")), ("off", CLICKS % (1000, "user: deepfm.py") + SYNC)):
            with PythonCrew(job, workers=1, name=name, environment={"HIDDEN": "1"}, overrides=["train.self_check=off"] * (name == "off")) as crew:
                self.assertEqual(list(crew.wait().warnings), [])

    def test_what_is_computed_twice_leaves_no_trace(self):
        """Statistics of BatchNorm, too, move once."""
        with tempfile.TemporaryDirectory() as folder:
            kept, job = [], job_of_images(pathlib.Path(folder)) + SYNC
            for check in ("off", "warn"):
                with PythonCrew(job, example="cnn", workers=1, name=check, overrides=["train.max_steps=3", f"train.self_check={check}"]) as crew:
                    self.assertEqual(list(crew.wait().warnings), [])
                    kept.append(shutil.copytree(crew.manifest().parent, pathlib.Path(folder) / check))
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
        return self_check.twice(lambda: next(computed), tensors, types.SimpleNamespace(tables=["user", "item"]))

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

    def test_what_came_out_first_is_kept_though_its_memory_is_used_again(self):
        memory = np.float32([1, 2])

        def compute():
            memory[0] += 1
            return loop.Computed(1.0, [None], [memory, None])
        tensors = types.SimpleNamespace(kept=lambda: None, put_back=lambda kept: None, shapes=lambda: {"a": [2], "b": [2]})
        first, differs = self_check.twice(compute, tensors, types.SimpleNamespace(tables=["user"]))
        self.assertEqual((differs, first.tensors[0].tolist()), ("a", [2, 2]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
