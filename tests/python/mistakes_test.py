"""What a program of the user's does wrong is told in the user's words, as far as that needs no job."""

import contextlib
import io
import os
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

import torch  # noqa: E402
import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import worker  # noqa: E402


class WordsTest(unittest.TestCase):

    def test_a_name_that_job_yaml_lacks_is_answered_with_those_it_has(self):
        features = ct.Named("feature", {"user": 1, "item": 2, "history": 3})
        self.assertEqual((features["user"], features.get("usr")), (1, None))
        with self.assertRaises(KeyError) as raised:
            features["usr"]
        self.assertEqual(str(raised.exception), "job.yaml has no feature 'usr'; it has user, item, history; did you mean user?")
        with self.assertRaises(KeyError) as raised:
            ct.Pooled({"user": 1})["xyz"]
        self.assertEqual(str(raised.exception), "job.yaml has no pooled feature 'xyz'; it has user")

    def test_shapes_that_do_not_fit_are_told_with_those_that_do(self):
        step = types.SimpleNamespace(
            examples=3, stream=0, seq=0, labels=lambda: torch.zeros(3, 1), weights=lambda: None, numbers=lambda: torch.zeros(3, 2),
            values=lambda: None, rows=lambda table: torch.zeros(0, 0), offsets=lambda: torch.zeros(4, dtype=torch.int32),
            index=lambda table: torch.zeros(0, dtype=torch.int32), keys=lambda table: torch.zeros(0, dtype=torch.int64))
        job = types.SimpleNamespace(labels=[], dims=[], features=[], image=(0, 0), channels=1, seed=1, sum_loss=False, outputs=1)
        tensors = types.SimpleNamespace(take=lambda taken: None)
        model = torch.nn.Linear(2, 1)
        with self.assertRaisesRegex(ValueError, r"step gives one loss an example, a tensor of \[3\], and gave \[\]; use reduction=\"none\""):
            ct._train(model, tensors, lambda net, batch: net(batch.numbers).mean(), step, job)
        with self.assertRaisesRegex(ValueError, r"predict gives one logit an example, a tensor of \[3\], and gave \[3, 2\]"):
            ct._logits(model, lambda net, batch: batch.numbers, step, job)
        self.assertEqual(list(ct._logits(model, lambda net, batch: net(batch.numbers), step, job).shape), [3, 1])
        job.outputs = 4
        with self.assertRaisesRegex(ValueError, r"predict gives 4 logits an example, a tensor of \[3, 4\], and gave \[3, 2\]"):
            ct._logits(model, lambda net, batch: batch.numbers, step, job)

    def test_a_parameter_without_a_gradient_is_named_once(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(2, 1))
        model[1].weight.requires_grad = False
        tensors, said = ct._Tensors(model), io.StringIO()
        with contextlib.redirect_stderr(said):
            for step in range(25):
                for parameter in model.parameters():
                    parameter.grad = None
                model[0](torch.ones(1, 2)).sum().backward()
                tensors.results()
                self.assertEqual(bool(said.getvalue()), step >= 9)
        self.assertEqual(said.getvalue(), "capstan_ps: 1.bias: no gradient in 10 steps; is it used? declare what is not trained frozen, with "
                                          "requires_grad=False\n")

    def test_a_fork_is_refused_with_what_to_do_instead(self):
        before = os.fork, os.forkpty
        self.addCleanup(lambda: (setattr(os, "fork", before[0]), setattr(os, "forkpty", before[1])))
        worker._refuse_forks()
        loader = torch.utils.data.DataLoader([1, 2], num_workers=1, multiprocessing_context="fork")
        for forks in (os.fork, lambda: list(loader)):
            with self.assertRaisesRegex(RuntimeError, "whose threads a fork does not copy.*multiprocessing_context=\"spawn\""):
                forks()


if __name__ == "__main__":
    unittest.main(verbosity=2)
