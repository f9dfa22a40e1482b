"""Rows by their places, and sums by place, as a program's bags compute them: the bits are those of PyTorch's own operations."""

import os
import sys
import unittest
from unittest import mock

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()
    sys.path.insert(0, os.environ["PYTHONPATH"])

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

try:
    from torch.func import grad as grad_of
except ImportError:  # Before PyTorch 2.
    from functorch import grad as grad_of

import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import torch_rows  # noqa: E402


def bits(tensor):
    return tensor.detach().contiguous().view(torch.int32).tolist()


def draw(*shape):
    """Numbers of which some are -0, and whose sums depend on their order."""
    found = torch.randn(*shape) * torch.logspace(-6, 6, shape[0]).unsqueeze(1)
    return torch.where(found.abs() < 1e-5, torch.tensor(-0.), found)


def index_add(values, places, count):
    return values.new_zeros(count, values.shape[1]).index_add(0, places, values)


class RowsTest(unittest.TestCase):

    def setUp(self):
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        torch.manual_seed(1)

    def check(self, ours, theirs, given, **more):
        """Both of the same function: what they give, its gradient, and the gradient of that."""
        found = []
        for function in (ours, theirs):
            leaf = given.clone().requires_grad_()
            out = function(leaf)
            weights = draw(*out.shape) if not found else found[0][-1]
            gradient, = torch.autograd.grad((out * weights * out).sum(), leaf, create_graph=True)
            twice, = torch.autograd.grad((gradient * gradient).sum(), leaf)
            found.append([out, gradient, twice, weights])
        for name, our, their in zip(("the result", "the gradient", "its gradient"), *found):
            self.assertEqual(our.shape, their.shape, (name, more))
            self.assertEqual(bits(our), bits(their), (name, more))

    def test_rows_and_their_gradients_are_those_of_an_embedding(self):
        for dim in (1, 3, 16, 33):
            places = torch.randint(0, 7, (50,))
            self.assertTrue(torch_rows._is_quicker(draw(9, dim), places))
            self.check(lambda rows, places=places: torch_rows.take(rows, places), lambda rows, places=places: nn.functional.embedding(places, rows),
                       draw(9, dim), dim=dim)

    def test_sums_and_their_gradients_are_those_of_index_add(self):
        for dim in (1, 3, 16, 33):
            places = torch.randint(0, 7, (50,))
            self.check(lambda values, places=places: torch_rows.add(values, places, 9), lambda values, places=places: index_add(values, places, 9),
                       draw(50, dim), dim=dim)

    def test_there_may_be_no_places_and_rows_without_numbers(self):
        self.assertEqual(torch_rows.take(torch.ones(3, 2), torch.zeros(0, dtype=torch.int64)).shape, (0, 2))
        self.assertEqual(torch_rows.add(torch.ones(0, 2), torch.zeros(0, dtype=torch.int64), 3).tolist(), [[0, 0]] * 3)
        self.assertEqual(torch_rows.take(torch.ones(3, 0), torch.tensor([2, 1])).shape, (2, 0))

    def test_rows_and_gradients_may_lie_in_memory_as_they_like(self):
        places = torch.tensor([2, 0, 2, 1, 2, 0])[::2]
        rows = torch.arange(12.).view(4, 3).t().requires_grad_()
        out = torch_rows.take(rows, places)
        self.assertEqual(out.tolist(), [[2, 5, 8, 11], [2, 5, 8, 11], [2, 5, 8, 11]])
        out.sum().backward()  # Its gradient is one number, expanded.
        self.assertEqual(rows.grad.tolist(), [[0] * 4, [0] * 4, [3] * 4])
        negated = torch.complex(torch.zeros(2, 1), torch.ones(2, 1)).conj().imag
        self.assertEqual(torch_rows.take(negated, torch.tensor([0])).tolist(), [[-1]])

    def test_a_place_that_has_no_row_is_an_index_error(self):
        for place in (3, -1):
            with self.assertRaises(IndexError):
                torch_rows.take(torch.ones(3, 2), torch.tensor([0, place]))
            with self.assertRaises(IndexError):
                torch_rows.add(torch.ones(2, 2), torch.tensor([0, place]), 3)

    def test_other_types_many_threads_and_tracers_have_pytorchs_own_operations(self):
        places = torch.tensor([1, 1, 0])
        self.assertEqual(torch_rows.take(torch.ones(2, 2, dtype=torch.float64), places).dtype, torch.float64)
        self.assertEqual(torch_rows.add(torch.ones(3, 2), places.int(), 2).tolist(), [[1, 1], [2, 2]])
        traced = torch.jit.trace(torch_rows.take, (torch.rand(2, 2), places))
        self.assertIn("aten::embedding", str(traced.graph))
        self.assertEqual(grad_of(lambda weight: (torch_rows.take(torch.ones(2, 2), places) * weight).sum())(torch.tensor(3.)), 6)
        torch.set_num_threads(2)
        self.assertTrue(torch_rows._is_quicker(torch.ones(2, 64), places))
        self.assertFalse(torch_rows._is_quicker(torch.ones(2, 128), places))

    def test_a_compiler_is_asked_about_before_what_it_cannot_follow(self):
        def unknown(*_):
            raise AssertionError("a compiler would give up here")
        with mock.patch.multiple(torch_rows, _is_compiled=lambda: True, _is_transformed=unknown, _count_modes=unknown, _KIND=unknown):
            self.assertEqual(torch_rows.take(torch.ones(2, 2), torch.tensor([1])).tolist(), [[1, 1]])
            self.assertEqual(torch_rows.add(torch.ones(1, 2), torch.tensor([1]), 2).tolist(), [[0, 0], [1, 1]])

    def test_what_a_mode_notes_are_pytorchs_own_operations(self):
        graph = make_fx(lambda rows: torch_rows.add(torch_rows.take(rows, torch.tensor([1, 0])), torch.tensor([0, 0]), 1))(torch.rand(2, 2))
        self.assertRegex(graph.code, r"aten\.embedding(?s:.)*aten\.index_add")
        self.assertEqual(graph(torch.tensor([[1., 2.], [3., 4.]])).tolist(), [[4, 6]])

    def test_derivatives_may_be_computed_forward(self):
        places = torch.tensor([1, 1, 0])
        with forward_ad.dual_level():
            rows = forward_ad.make_dual(torch.ones(2, 2), torch.tensor([[1., 2.], [3., 4.]]))
            out = torch_rows.add(torch_rows.take(rows, places), torch.tensor([0, 0, 1]), 2)
            self.assertEqual(forward_ad.unpack_dual(out).tangent.tolist(), [[6, 8], [1, 2]])

    def test_many_gradients_may_be_computed_at_once(self):
        places, rows = torch.tensor([1, 1, 0]), torch.ones(2, 2, requires_grad=True)
        taken = torch_rows.take(rows, places)
        added = torch_rows.add(taken, torch.tensor([0, 0, 1]), 2)
        for out in (taken.sum(0), added[0]):
            gradient, = torch.autograd.grad(out, rows, torch.eye(2), is_grads_batched=True, retain_graph=True)
            for weights, found in zip(torch.eye(2), gradient):
                self.assertEqual(found.tolist(), torch.autograd.grad(out, rows, weights, retain_graph=True)[0].tolist())

    def test_bags_of_other_sizes_than_their_offsets_say_are_an_index_error(self):
        index, rows = torch.tensor([0, 1, 2]), torch.ones(3, 2)
        for offsets in ([0, 2, 200], [0, 2], [1, 3]):
            with self.assertRaises(IndexError):
                ct.Bags(torch.tensor(offsets, dtype=torch.int32), index, rows).sums()
        with self.assertRaises(IndexError):
            ct.Bags(torch.tensor([0, 4], dtype=torch.int32), index[:0], rows).sums()

    def test_bags_share_the_rows_of_a_table_with_all_others_of_it(self):
        rows, others = (draw(5, 4).requires_grad_() for _ in range(2))
        others.data.copy_(rows.data)
        offsets, index = torch.tensor([0, 2, 2, 5], dtype=torch.int32), torch.tensor([4, 0, 4, 4, 1])
        example = torch.tensor([0, 0, 2, 2, 2])
        weights = draw(3, 4)
        (ct.Bags(offsets, index, rows).sums() * weights).sum().backward()
        (index_add(nn.functional.embedding(index, others), example, 3) * weights).sum().backward()
        self.assertEqual(bits(rows.grad), bits(others.grad))


if __name__ == "__main__":
    unittest.main(verbosity=2)
