"""What PyTorch's tensors are given of a step, and what of them goes back to the worker, whatever modules do with them."""

import ctypes
import math
import os
import pathlib
import sys
import tempfile
import types
import unittest
import weakref

from python_data import CLICKS, SYNC, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()
    sys.path.insert(0, os.environ["PYTHONPATH"])

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import _capstan, loop, torch_tensors, trial  # noqa: E402


class Mixed(nn.Module):
    """Tensors of each role, made in another order than that of their names; forward uses all but `unused`."""

    def __init__(self, width=2):
        super().__init__()
        self.unused = nn.Linear(1, 2)
        self.norm = nn.BatchNorm1d(width)
        self.fixed = nn.Linear(width, 3).requires_grad_(False)
        self.head = nn.Linear(3, 1)

    def forward(self, numbers):
        return self.head(self.fixed(self.norm(numbers))).squeeze(1)


def take(tensors, values):
    tensors.take(types.SimpleNamespace(parameters=lambda: torch.tensor(values)))


def handed(tensors):
    """Of each tensor that goes back the numbers that lie where the worker reads them; None: none."""
    found = tensors.results()
    return [place and np.ctypeslib.as_array(ctypes.cast(place[0], ctypes.POINTER(ctypes.c_float)), (place[1],)).tolist()
            for place in torch_tensors.memory(found)]


def counted(tensors):
    """A number for each element of all tensors, in their order."""
    values = [float(place) for place in range(1, 1 + sum(tensors._sizes))]
    take(tensors, values)
    return values


class TensorsTest(unittest.TestCase):

    def check_parts(self, model, tensors):
        """Each tensor has its part of what was pulled, in the order of the names."""
        values = counted(tensors)
        held = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        for name, shape in tensors.shapes().items():
            part, values = values[:math.prod(shape)], values[math.prod(shape):]
            self.assertEqual((list(held[name].shape), held[name].flatten().tolist()), (shape, part), name)
        self.assertEqual(values, [])

    def test_each_tensor_has_its_own_part_and_what_comes_back_is_in_the_order_of_names(self):
        model = Mixed()
        tensors = ct._Tensors(model)
        self.check_parts(model, tensors)
        model(torch.tensor([[1., 2.], [3., 5.]])).sum().backward()
        found = dict(zip(tensors.shapes(), tensors.results(), strict=True))
        self.assertEqual(list(found), sorted(found, key=str.encode))
        for name, result in found.items():
            if name.startswith(("fixed", "unused")):
                self.assertIsNone(result, name)
            elif "running" in name:
                self.assertEqual(result.tolist(), model.get_buffer(name).tolist(), name)
            else:
                self.assertEqual(result.tolist(), model.get_parameter(name).grad.tolist(), name)
        self.check_parts(model, tensors)
        self.assertTrue(all(parameter.grad is None for parameter in model.parameters()), "a step begins without gradients")

    def test_what_was_pulled_is_read_where_it_lies_and_the_worker_keeps_what_buffers_were(self):
        model = Mixed()
        tensors = ct._Tensors(model)
        pulled = torch.ones(sum(tensors._sizes))
        tensors.take(types.SimpleNamespace(parameters=lambda: pulled))
        begin, end = pulled.data_ptr(), pulled.data_ptr() + 4 * pulled.numel()
        for name, parameter in model.named_parameters():
            self.assertTrue(begin <= parameter.data_ptr() < end, name)
        model.norm.running_mean.add_(1)
        self.assertEqual(pulled.sum().item(), pulled.numel())

    def test_weights_that_lie_otherwise_than_rows_of_rows_are_pulled_and_pushed_as_those_are(self):
        model = nn.Sequential(nn.Conv2d(3, 2, 2)).to(memory_format=torch.channels_last)
        tensors = ct._Tensors(model)
        for _ in range(2):
            self.check_parts(model, tensors)
            image = torch.rand(1, 3, 4, 4).to(memory_format=torch.channels_last)
            model(image).square().sum().backward()
            bias, weight = tensors.results()
            self.assertEqual((weight.shape, weight.is_contiguous()), ((2, 3, 2, 2), True))
            self.assertTrue(torch.equal(weight, model[0].weight.grad))
            self.assertTrue(torch.equal(bias, model[0].bias.grad))
            model.to(memory_format=torch.channels_last)  # As a program may in each step.

    def test_a_gradient_that_is_sparse_or_a_part_of_another_tensor_goes_back_whole(self):
        model = nn.ModuleDict({"rows": nn.Embedding(4, 2, sparse=True), "turned": nn.Linear(2, 3, bias=False)})
        tensors = ct._Tensors(model)
        counted(tensors)
        model["rows"](torch.tensor([1, 1, 3])).sum().backward()
        model["turned"].weight.grad = torch.arange(6.).view(2, 3).t()
        rows, turned = tensors.results()
        self.assertEqual(rows.tolist(), [[0, 0], [2, 2], [0, 0], [1, 1]])
        self.assertEqual((turned.tolist(), turned.is_contiguous()), ([[0, 3], [1, 4], [2, 5]], True))

    def test_what_the_worker_reads_are_the_elements_of_a_gradient_however_they_lie(self):
        image = torch.arange(12.).view(1, 2, 3, 2)
        for gradient, wanted in ((torch.arange(6.), [0, 1, 2, 3, 4, 5]), (torch.arange(12.)[3:9], [3, 4, 5, 6, 7, 8]), (torch.arange(12.)[::2], [0, 2, 4, 6, 8, 10]),
                                 (torch.arange(6.).view(2, 3).t(), [0, 3, 1, 4, 2, 5]), (torch.tensor(7.).expand(6), [7] * 6),
                                 (image.contiguous(memory_format=torch.channels_last)[:, :1], [0, 1, 2, 3, 4, 5]),
                                 (torch.sparse_coo_tensor([[1, 1, 4]], [1., 2., 5.], (6,)), [0, 3, 0, 0, 5, 0]),
                                 (torch.arange(6.).requires_grad_(), [0, 1, 2, 3, 4, 5]), (torch.complex(torch.ones(6), torch.arange(6.)).conj().imag, [0, -1, -2, -3, -4, -5])):
            model = nn.ParameterDict({"p": nn.Parameter(torch.zeros(gradient.shape))})
            tensors = ct._Tensors(model)
            counted(tensors)
            model["p"].grad = gradient
            self.assertEqual(handed(tensors), [wanted])
            self.assertIs(model["p"].grad, gradient, "what the program has is left alone")

    def test_the_gradient_of_a_part_of_something_conjugated_keeps_its_sign(self):
        model = nn.ParameterDict({"phase": nn.Parameter(torch.zeros(1))})
        tensors = ct._Tensors(model)
        take(tensors, [0.5])
        (torch.complex(torch.zeros(1), model["phase"]).conj() * torch.tensor([3 + 4j])).imag.sum().backward()
        self.assertTrue(model["phase"].grad.is_neg(), "PyTorch no longer puts off a negation here: this test is to find another one")
        self.assertEqual(handed(tensors), [model["phase"].grad.tolist()])

    def test_gradients_that_are_one_tensor_or_the_parameter_itself_each_go_back(self):
        model = nn.ParameterDict({name: nn.Parameter(torch.zeros(2)) for name in "abc"})
        tensors = ct._Tensors(model)
        take(tensors, [1., 2., 3., 4., 5., 6.])
        model["a"].grad = model["b"].grad = torch.tensor([7., 8.])
        model["c"].grad = model["c"].detach()
        self.assertEqual(handed(tensors), [[7, 8], [7, 8], [5, 6]])

    def test_a_buffer_may_become_a_part_of_another_tensor(self):
        model = nn.BatchNorm1d(2, affine=False)
        tensors = ct._Tensors(model)
        counted(tensors)
        model.running_mean = torch.arange(6.).view(3, 2)[:, 1][1:]
        model.running_var = torch.tensor(4.).expand(2)
        self.assertEqual(handed(tensors), [[3, 5], [4, 4]])

    def test_a_gradient_of_another_type_is_told_with_its_parameter(self):
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            model = nn.ParameterDict({"p": nn.Parameter(torch.zeros(2))})
            tensors = ct._Tensors(model)
            for _ in range(2):
                counted(tensors)
                model.to(dtype)["p"].double().sum().backward()
                with self.assertRaisesRegex(TypeError, rf"^the gradient of parameter p is {dtype} on cpu; expected torch.float32 on the CPU: "
                                                       "what is held stays as it was built, and forward may compute in another type"):
                    tensors.results()

    def test_no_gradient_and_a_gradient_of_zeros_are_told_apart(self):
        for to_none in (True, False):
            model = nn.Linear(2, 1)
            tensors = ct._Tensors(model)
            counted(tensors)
            model(torch.ones(1, 2)).sum().backward()
            model.zero_grad(set_to_none=to_none)
            bias, weight = tensors.results()
            if to_none:
                self.assertEqual((bias, weight), (None, None))
            else:
                self.assertEqual((bias.tolist(), weight.tolist()), ([0], [[0, 0]]))

    def test_memory_that_a_program_puts_in_a_parameters_place_is_gone_at_the_next_step(self):
        model = nn.Linear(2, 1)
        tensors = ct._Tensors(model)
        for _ in range(2):
            self.check_parts(model, tensors)
            model.weight.data = torch.zeros(1, 2)
            model(torch.ones(1, 2)).sum().backward()
            self.assertEqual([gradient.tolist() for gradient in tensors.results()], [[1], [[1, 1]]])

    def test_a_tied_parameter_has_one_part_and_the_sum_of_its_gradients(self):
        model = nn.ModuleDict({"b": nn.Linear(2, 2, bias=False), "a": nn.Linear(2, 2, bias=False)})
        model["b"].weight = model["a"].weight
        tensors = ct._Tensors(model)
        take(tensors, [1., 2., 3., 4.])
        self.assertEqual((model["a"].weight.tolist(), model["b"].weight.tolist()), ([[1, 2], [3, 4]],) * 2)
        (model["a"](torch.ones(1, 2)) + model["b"](torch.ones(1, 2))).sum().backward()
        self.assertEqual([gradient.tolist() for gradient in tensors.results()], [[[2, 2], [2, 2]]])

    def test_a_buffer_that_has_become_of_another_kind_in_its_own_place_is_refused(self):
        for became, change in ((r"\[2\] of torch.float64", lambda mean: setattr(mean, "data", mean.double())),
                               (r"\[3\] of torch.float32", lambda mean: mean.resize_(3))):
            model = nn.BatchNorm1d(2)
            tensors = ct._Tensors(model)
            counted(tensors)
            change(model.running_mean)
            with self.assertRaisesRegex(TypeError, rf"^buffer running_mean has become {became}, and was \[2\] of torch.float32$"):
                tensors.results()


class Net(Mixed):
    def __init__(self, job):
        super().__init__(job.fields * job.dim)
        self.embeddings = ct.Embeddings(job)

    def forward(self, batch):
        return super().forward(self.embeddings(batch).flatten(1))


def step(model, batch):
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


def predict(model, batch):
    return model(batch)


class WorkerTest(unittest.TestCase):
    """Of a step as the worker hands it out, and takes it back."""

    def begin(self, policy="", step=step):
        """A job that is tried, and its work by Net."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "job.yaml"
        path.write_text(CLICKS % (1000, "user: net.py") + policy, encoding="ascii")
        tried = _capstan.Trial(str(path))
        work = loop.Work(trial._Nobody, ct._front(Net, step, predict), tried.job, step, predict)
        tried.declare(work.tensors.declaration(), loop.outputs(tried.job))
        return tried, work

    def check(self, policy, step=step):
        tried, work = self.begin(policy, step)
        for _ in range(2):
            taken = tried.take(held_out=False)
            computed = work.do(taken)
            trained = [gradient for name, gradient in zip(work.tensors.shapes(), computed.tensors, strict=True)
                       if gradient is not None and "running" not in name]
            self.assertEqual(len(trained), 4)
            squares = sum(torch.as_tensor(gradient).double().square().sum().item() for gradient in [*trained, *computed.rows])
            self.assertGreater(squares, 0)
            self.assertAlmostEqual(taken.gradient_norm / math.sqrt(squares), 1, 9)
            self.assertFalse(taken.nonfinite)

    def test_the_worker_is_handed_the_gradients_that_were_computed(self):
        threads, exact = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
        self.addCleanup(lambda: (torch.set_num_threads(threads), torch.use_deterministic_algorithms(exact)))
        self.check("")
        self.check(SYNC)  # Its first step is computed twice.

    def test_a_sparse_gradient_of_rows_is_handed_whole(self):
        def sparse(model, batch):
            rows = nn.functional.embedding(batch.index, batch.rows, sparse=True).view(batch.examples, -1)
            return nn.functional.binary_cross_entropy_with_logits(Mixed.forward(model, rows), batch.labels, reduction="none")
        self.check("", sparse)

    def test_each_way_of_handing_over_gives_the_same_bits_and_names_what_does_not_fit(self):
        tried, work = self.begin()
        draw = np.random.default_rng(1)
        tensors = [draw.standard_normal(shape, np.float32) for shape in work.tensors.shapes().values()]
        norms = []
        def finish_at(taken, loss_sum, rows, of_tensors):
            taken.finish_at(loss_sum, rows, of_tensors, tensors)
        for finish, of in ((_capstan.Step.finish, list), (finish_at, torch_tensors.memory)):
            taken = tried.take(held_out=False)
            fewer = np.ones(memoryview(taken.rows(0)).shape, np.float32)[1:]
            for wrong_rows, wrong_tensors, why in (([None], tensors[1:], "a gradient a tensor, or None"),
                                                   ([None], [tensors[1], *tensors[1:]], "a gradient is of another size than its tensor"),
                                                   ([], tensors, "a gradient a table, or None"),
                                                   ([fewer], tensors, "the gradient of a table's rows is of another size than the rows")):
                with self.assertRaisesRegex(ValueError, f"^{why}$"):
                    finish(taken, 1., of(wrong_rows), of(wrong_tensors))
            finish(taken, 1., of([None]), of(tensors))
            norms.append(taken.gradient_norm.hex())
            with self.assertRaisesRegex(ValueError, "^this step is finished already$"):
                finish(taken, 1., of([None]), of(tensors))
        self.assertEqual(*norms)

    def test_gradients_are_kept_until_they_are_read_and_may_change_once_the_step_is_settled(self):
        tried, work = self.begin()
        gradients = [np.ones(shape, np.float32) for shape in work.tensors.shapes().values()]
        trained = sum(gradient.size for name, gradient in zip(work.tensors.shapes(), gradients, strict=True)
                      if not name.startswith("fixed") and "running" not in name)
        for settle in (_capstan.Step.settle, lambda taken: tried.take(held_out=False)):  # The trial's event loop reads them, too.
            taken = tried.take(held_out=False)
            kept = [gradient.copy() for gradient in gradients]
            given = weakref.ref(kept[0])
            taken.finish_at(0., [None], torch_tensors.memory(kept), list(kept))
            settle(taken)
            for gradient in kept:
                gradient.fill(math.nan)
            self.assertEqual((taken.gradient_norm, taken.nonfinite), (math.sqrt(trained), False))
            del kept, gradient
            self.assertIsNone(given(), "a step that is settled keeps no gradient")

    def test_a_step_that_nobody_has_settled_keeps_its_gradients_and_reads_them_at_its_end(self):
        tried, work = self.begin()
        taken = tried.take(held_out=False)
        kept = [np.ones(shape, np.float32) for shape in work.tensors.shapes().values()]
        given = weakref.ref(kept[0])
        taken.finish_at(0., [None], torch_tensors.memory(kept), list(kept))
        del kept
        self.assertIsNotNone(given())
        del taken
        self.assertIsNone(given())

    def test_what_the_program_handed_over_is_read_before_its_next_step_or_prediction_begins(self):
        noted = []

        class Settled:
            """A step that notes when it is settled, and that the program's function is called."""

            def __init__(self, taken):
                self.taken = taken

            def __getattr__(self, name):
                return getattr(self.taken, name)

            def settle(self):
                noted.append("settled")
                self.taken.settle()

        def noting(model, batch):
            noted.append("step")
            return step(model, batch)
        tried, work = self.begin(step=noting)
        for _ in range(2):
            work.do(Settled(tried.take(held_out=False)))
        self.assertEqual(noted, ["step", "settled", "step"])
        noted.clear()
        work.predict(Settled(tried.take(held_out=False)))
        self.assertEqual(noted, ["settled"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
