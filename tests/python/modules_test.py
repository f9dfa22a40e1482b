"""What modules of PyTorch do that no job can follow is refused by name, and what a job can follow is left as build has made it."""

import contextlib
import io
import os
import sys
import types
import unittest

from python_data import EXAMPLES, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()
    sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import worker  # noqa: E402


def take(tensors, value=1.):
    """What a step pulls: each number is the same."""
    count = sum(tensors._sizes)
    tensors.take(types.SimpleNamespace(parameters=lambda: torch.full((count,), value)))
    tensors.set_training()


class SharedMemoryTest(unittest.TestCase):

    def test_parameters_in_one_memory_are_refused_with_both_names(self):
        for tie in (lambda encoder, decoder: setattr(decoder, "weight", nn.Parameter(encoder.weight)),
                    lambda encoder, decoder: setattr(decoder.weight, "data", encoder.weight.data),
                    lambda encoder, decoder: setattr(decoder.weight, "data", encoder.weight.data.t()),
                    lambda encoder, decoder: decoder.register_buffer("view", encoder.weight.detach()[1:])):
            model = nn.ModuleDict({"encoder": nn.Linear(3, 3), "decoder": nn.Linear(3, 3)})
            tie(model["encoder"], model["decoder"])
            with self.assertRaisesRegex(worker.Refused, r"^(decoder|encoder)\.\w+ and (decoder|encoder)\.\w+ share memory.*same Parameter"):
                ct._Tensors(model)

    def test_one_parameter_under_two_names_and_parts_of_one_memory_are_welcome(self):
        model = nn.ModuleDict({"encoder": nn.Linear(3, 3), "decoder": nn.Linear(3, 3)})
        model["decoder"].weight = model["encoder"].weight
        self.assertEqual(list(ct._Tensors(model).shapes()), ["decoder.bias", "encoder.bias", "encoder.weight"])
        pretrained = torch.zeros(4, 6)
        model = nn.ParameterDict({"upper": nn.Parameter(pretrained[:2]), "lower": nn.Parameter(pretrained[2:]), })
        ct._Tensors(model)
        model = nn.ParameterDict({"left": nn.Parameter(pretrained[:, :2]), "right": nn.Parameter(pretrained[:, 2:]), })
        ct._Tensors(model)

    def test_a_view_of_a_parameter_made_in_build_is_refused_after_the_first_step(self):
        for name, make in (("wt", lambda w: w.t()), ("wt", lambda w: w[:1]), ("wt", lambda w: [w.detach()]), ("wt", lambda w: {"a": w.data})):
            model = nn.Sequential(nn.Linear(2, 1))
            model[0].wt = make(model[0].weight)
            tensors = ct._Tensors(model)
            take(tensors)
            with self.assertRaisesRegex(TypeError, rf"^0\.{name} is a view of parameter 0\.weight, made in build: .*make the view in forward"):
                tensors.results()

    def test_what_is_made_anew_in_each_step_or_is_the_parameter_itself_is_no_such_view(self):
        model = nn.Sequential(nn.utils.spectral_norm(nn.Linear(2, 2)), nn.utils.weight_norm(nn.Linear(2, 2)), nn.Linear(2, 1))
        model.all = list(model.parameters())
        model.copy = model[2].weight.detach().clone()
        tensors = ct._Tensors(model)
        for _ in range(2):
            take(tensors)
            model(torch.ones(3, 2)).sum().backward()
            tensors.results()


class AppearedTest(unittest.TestCase):

    def check(self, model, change, told):
        tensors = ct._Tensors(model)
        take(tensors)
        change(model)
        with self.assertRaisesRegex(TypeError, f"^{told} has appeared after build, .*make it in build$"):
            tensors.results()

    def test_what_appears_after_build_is_named(self):
        self.check(nn.Sequential(nn.Linear(2, 1)), lambda model: model.add_module("proj", nn.Linear(2, 1)), r"parameter proj\.bias")
        self.check(nn.Sequential(nn.Linear(2, 1)), lambda model: model[0].register_buffer("state", torch.zeros(1)), r"buffer 0\.state")
        later = nn.Linear(2, 1)
        later.register_buffer("state", None)
        self.check(later, lambda model: setattr(model, "state", torch.zeros(1)), "buffer state")


class EvaluatedTest(unittest.TestCase):

    def test_what_build_has_put_into_evaluation_stays_so_in_each_step(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Sequential(nn.Dropout(), nn.Dropout()), nn.Dropout())
        model[1].requires_grad_(False).eval()
        model[2].eval()
        model[2][1].train()
        tensors = ct._Tensors(model)
        for _ in range(2):
            take(tensors)
            self.assertEqual([model.training, *(part.training for part in model), *(part.training for part in model[2])],
                             [True, True, False, False, True, False, True])
            model(torch.rand(4, 2)).sum().backward()
            self.assertEqual(model[1].running_mean.tolist(), [1., 1.], "as it was pulled")
            tensors.results()
            model.eval()  # As predict has it.


class StepTest(unittest.TestCase):

    def train(self, model, step, tensors=None):
        taken = types.SimpleNamespace(
            examples=3, stream=0, seq=0, labels=lambda: torch.zeros(3, 1), weights=lambda: None, numbers=lambda: torch.ones(3, 2),
            values=lambda: None, rows=lambda table: torch.zeros(0, 0), offsets=lambda: torch.zeros(4, dtype=torch.int32),
            index=lambda table: torch.zeros(0, dtype=torch.int32), keys=lambda table: torch.zeros(0, dtype=torch.int64),
            parameters=lambda: torch.ones(sum(tensors._sizes)))
        job = types.SimpleNamespace(labels=[], dims=[], features=[], image=(0, 0), channels=1, seed=1, sum_loss=False, outputs=1)
        tensors = ct._Tensors(model)
        return ct._train(model, tensors, step, taken, job)

    def test_gradients_that_a_step_has_computed_itself_are_refused(self):
        def step(model, batch):
            losses = model(batch.numbers).squeeze(1)
            losses.mean().backward(retain_graph=True)
            return losses
        with self.assertRaisesRegex(ValueError, r"^step has computed a gradient itself, of bias, .*leave backward\(\) out"):
            self.train(nn.Linear(2, 1), step)

    def test_a_complaint_about_what_a_step_gave_is_at_the_users_function(self):
        def step(model, batch):
            return torch.zeros(3)
        try:
            self.train(nn.Linear(2, 1), step)
        except ValueError as error:
            self.assertIn("losses * 0", str(error))
            self.assertEqual(worker.place(error.with_traceback(error.__traceback__.tb_next.tb_next), step), f"modules_test.py:{step.__code__.co_firstlineno}")
        computed = self.train(nn.Linear(2, 1), lambda model, batch: model(batch.numbers).squeeze(1) * 0)
        self.assertEqual((computed.loss_sum, [gradient.tolist() for gradient in computed.tensors]), (0, [[0.0], [[0.0, 0.0]]]))

    def test_modules_of_torchscript_are_trained(self):
        model = nn.Sequential(torch.jit.script(nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))))
        computed = self.train(model, lambda net, batch: net(batch.numbers).squeeze(1))
        self.assertEqual(len(computed.tensors), 6)
        self.assertAlmostEqual(computed.tensors[3].item(), 1.2, 5, "the running mean, of which a tenth is new: 3")

    def test_places_in_rows_are_such_as_rows_can_be_indexed_by(self):
        taken = types.SimpleNamespace(
            examples=2, labels=lambda: torch.zeros(2, 1), weights=lambda: None, numbers=lambda: torch.ones(2, 2), values=lambda: None,
            rows=lambda table: torch.tensor([[1.], [2.]]), offsets=lambda: torch.tensor([0, 1, 3], dtype=torch.int32),
            index=lambda table: torch.tensor([1, 0, 1], dtype=torch.int32), keys=lambda table: torch.tensor([5, 7]))
        batch = ct.Batch(taken, types.SimpleNamespace(labels=[], dims=[1], features=[], image=(0, 0), channels=1))
        self.assertEqual(batch.rows[batch.index[batch.offsets[1]:batch.offsets[2]]].tolist(), [[1.], [2.]])
        self.assertEqual(batch.rows[batch.bags.first()].tolist(), [[2.], [1.]])

    def test_numbers_and_keys_are_made_tensors_where_a_program_asks_for_them(self):
        asked = []
        taken = types.SimpleNamespace(
            examples=2, labels=lambda: torch.zeros(2, 1), weights=lambda: None, numbers=lambda: asked.append("numbers") or torch.ones(2, 2),
            values=lambda: None, rows=lambda table: torch.tensor([[1.], [2.]]), offsets=lambda: torch.tensor([0, 1, 3], dtype=torch.int32),
            index=lambda table: torch.tensor([1, 0, 1], dtype=torch.int32), keys=lambda table: asked.append("keys") or torch.tensor([5, 7]))
        batch = ct.Batch(taken, types.SimpleNamespace(labels=[], dims=[1], features=[], image=(0, 0), channels=1))
        self.assertEqual(batch.bags.sums().tolist(), [[2.], [3.]])
        self.assertEqual(asked, [])
        self.assertEqual((batch.numbers.tolist(), batch.keys.tolist()), ([[1., 1.], [1., 1.]], [5, 7]))
        self.assertIs(batch.numbers, batch.numbers)
        self.assertEqual(asked, ["numbers", "keys"])

    def test_what_build_gives_is_a_module(self):
        job = types.SimpleNamespace(step_threads=1, synchronous=False, seed=1)
        with self.assertRaisesRegex(worker.Refused, r"^build gives a torch\.nn\.Module, and gave NoneType$"), contextlib.redirect_stderr(io.StringIO()):
            ct._begin(lambda job: None, job)

    def test_threads_that_the_program_has_set_are_its_facts(self):
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        torch.set_num_threads(before + 1)
        self.assertEqual(ct._facts(types.SimpleNamespace(step_threads=before))["threads"], str(before + 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
