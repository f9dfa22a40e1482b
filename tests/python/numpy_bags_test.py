"""What NumPy makes of bags of keys, beside PyTorch's autograd; and the mistakes of a step's gradients."""

import os
import sys
import types
import unittest

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()
    sys.path.insert(0, os.environ["PYTHONPATH"])

import numpy as np  # noqa: E402
import torch  # noqa: E402

import capstan_ps.numpy as cn  # noqa: E402
import capstan_ps.torch as ct  # noqa: E402

OFFSETS = np.array([0, 2, 2, 5, 6, 6], np.int32)  # The second and the last bag are empty.
INDEX = np.array([0, 1, 1, 3, 1, 0], np.int32)    # Nobody has the row 2.
WEIGHTS = np.array([0.5, 1.5, 1, 0.25, 3, 0], np.float32)
ROWS = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)


class BagsTest(unittest.TestCase):

    def check(self, function, *arguments, index=INDEX, offsets=OFFSETS, **more):
        """The function and its gradient are those of PyTorch."""
        rows = torch.tensor(ROWS, requires_grad=True)
        expected = getattr(ct.Bags(*map(torch.from_numpy, (offsets, index)), rows, **{name: torch.from_numpy(of) for name, of in more.items()}), function)(*arguments)
        bags = cn.Bags(offsets, index, ROWS, **more)
        found = getattr(bags, function)(*arguments)
        if function == "padded":
            np.testing.assert_array_equal(found[1], expected[1].numpy())
            found, expected = found[0], expected[0]
        self.assertEqual(found.dtype, np.float32)
        np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-6)
        gradient = np.random.default_rng(2).normal(size=found.shape).astype(np.float32)
        if len(index):
            (expected * torch.from_numpy(gradient)).sum().backward()
        expected = rows.grad.numpy() if len(index) else np.zeros_like(ROWS)
        np.testing.assert_allclose(getattr(bags, f"{function}_grad")(gradient), expected, atol=1e-6)

    def test_functions_and_their_gradients_are_those_of_pytorch(self):
        for more in ({}, {"weights": WEIGHTS}, {"values": WEIGHTS + 1}):
            for function, *arguments in (("each",), ("sums",), ("means",), ("padded", 2), ("padded", 4)):
                with self.subTest(function, more=list(more)):
                    self.check(function, *arguments, **more)
        np.testing.assert_array_equal(cn.Bags(OFFSETS, INDEX, ROWS, weights=WEIGHTS).padded_weights(2), [[.5, 1.5], [0, 0], [1, .25], [0, 0], [0, 0]])

    def test_records_without_any_keys(self):
        for function, *arguments in (("each",), ("sums",), ("means",), ("padded", 2)):
            with self.subTest(function):
                self.check(function, *arguments, index=INDEX[:0], offsets=np.zeros(4, np.int32))

    def test_a_gradient_of_another_shape_is_told(self):
        bags = cn.Bags(OFFSETS, INDEX, ROWS)
        for function, shape, wanted in (("sums", (4, 5), "[5, 5]"), ("each", (5, 5), "[6, 5]"), ("padded", (5, 5), "[5, 0, 5]")):
            with self.assertRaises(ValueError) as raised:
                getattr(bags, f"{function}_grad")(np.zeros(shape))
            self.assertEqual(str(raised.exception), f"a gradient has the shape of what it is of, {wanted}, and is {list(shape)}")


class StepTest(unittest.TestCase):

    def setUp(self):
        self.finished = []
        self.labels, self.weights = np.array([[1], [0], [1]], np.float32), np.array([1, 2, 3], np.float32)
        self.taken = types.SimpleNamespace(
            examples=3, stream=0, seq=0, labels=lambda: self.labels, weights=lambda: self.weights, numbers=lambda: np.zeros((3, 0), np.float32),
            values=lambda: None, rows=lambda table: ROWS, offsets=lambda: np.array([0, 1, 2, 4], np.int32), index=lambda table: INDEX[:4],
            keys=lambda table: np.arange(4), parameters=lambda: np.arange(7, dtype=np.float32))
        self.job = types.SimpleNamespace(labels=[], dims=[5], tables=["features"], features=[], image=(), channels=0, seed=1, sum_loss=False,
                                         outputs=1)
        self.tensors = cn._Tensors({"w": np.zeros((2, 3), np.float32), "bias": np.zeros((), np.float32)})

    def train(self, step):
        computed = cn._train(self.tensors.params, self.tensors, step, self.taken, self.job)
        self.finished.append((computed.loss_sum, computed.rows, computed.tensors))

    def refusal(self, given):
        with self.assertRaises((ValueError, KeyError)) as raised:
            self.train(lambda params, batch: given)
        self.assertEqual(self.finished, [])
        return str(raised.exception)

    def test_gradients_reach_their_places_and_what_has_none_is_left_out(self):
        def step(params, batch):
            self.assertEqual((params["bias"].shape, float(params["bias"])), ((), 0), "sorted by name: bias, w")
            np.testing.assert_array_equal(params["w"], [[1, 2, 3], [4, 5, 6]])
            np.testing.assert_allclose(batch.scale, [1 / 3, 2 / 3, 1])
            for array in (params["w"], batch.labels, batch.rows, batch.tables["features"], batch.weights):
                with self.assertRaisesRegex(ValueError, "read-only"):
                    array[0] = 7
            return np.array([1, 10, 100.0]), cn.Gradients({"w": np.full((2, 3), 0.5)})
        self.train(step)
        (loss, rows, tensors), = self.finished
        self.assertEqual((loss, rows), (321, [None]))
        self.assertIsNone(tensors[0])
        self.assertEqual(tensors[1].dtype, np.float32, "converted")
        np.testing.assert_array_equal(tensors[1], np.full((2, 3), 0.5))
        self.job.sum_loss = True
        self.weights = None
        self.train(lambda params, batch: (batch.scale, ({}, {"features": batch.bags.sums_grad(np.ones((3, 5)))})))
        self.assertEqual(self.finished[1][0], 3)
        np.testing.assert_array_equal(self.finished[1][1][0][:, 0], [1, 2, 0, 1])

    def test_what_does_not_fit_is_told(self):
        one, none = np.zeros(3), cn.Gradients({})
        for given, said in (
                (one, "step gives the losses and their gradients, (losses, cn.Gradients(tensors, tables)), and gave ndarray"),
                ((one, {"w": one}), "step gives the losses and their gradients, (losses, cn.Gradients(tensors, tables)), and gave (ndarray, dict)"),
                ((one.mean(), none), "step gives one loss an example, an array of [3], and gave [] of float64; they are weighted and summed afterwards"),
                ((one.astype(int), none), "step gives one loss an example, an array of [3], and gave [3] of int64; they are weighted and summed afterwards"),
                ((one, cn.Gradients({"v": one})), "step gives a gradient of tensor 'v'; build gave bias, w"),
                ((one, cn.Gradients({}, {"feature": ROWS})),
                 "step gives a gradient of the rows of table 'feature'; job.yaml has features; did you mean features?"),
                ((one, cn.Gradients({"w": np.zeros((3, 2), np.float32)})),
                 "the gradient of tensor w is made of floats in its shape, [2, 3], and is [3, 2] of float32"),
                ((one, cn.Gradients({"w": np.zeros((2, 3), int)})), "the gradient of tensor w is made of floats in its shape, [2, 3], and is [2, 3] of int64"),
                ((one, cn.Gradients({}, {"features": ROWS[:3]})),
                 "the gradient of the rows of table features is made of floats in its shape, [4, 5], and is [3, 5] of float32"),
                ((one, cn.Gradients([one])), "the gradients of tensors are a dictionary, by name, and are list")):
            with self.subTest(said):
                self.assertEqual(self.refusal(given), said)

    def test_running_tensors_are_told_by_what_they_have_become_and_frozen_ones_not_at_all(self):
        self.tensors = cn._Tensors({"w": np.zeros((2, 2), np.float32), "mean": cn.running(np.zeros(1, np.float32)),
                                    "fixed": cn.frozen(np.zeros(2, np.float32))})
        self.assertEqual([(name, role) for name, role, *_ in self.tensors.declaration()],
                         [("fixed", "frozen"), ("mean", "running"), ("w", "trained")])
        one = np.zeros(3)
        self.train(lambda params, batch: (one, cn.Gradients({"w": np.ones((2, 2))}, running={"mean": params["mean"] / 4})))
        self.train(lambda params, batch: (one, cn.Gradients({})))
        (_, _, told), (_, _, untold) = self.finished
        self.assertIsNone(told[0])
        np.testing.assert_array_equal(told[1], np.float32([0.5]))
        np.testing.assert_array_equal(told[2], np.ones((2, 2)))
        self.assertEqual(untold, [None] * 3, "it is as it was")
        self.finished.clear()
        for given, said in (
                (cn.Gradients({"fixed": np.ones(2)}), "step gives a gradient of tensor 'fixed'; those that are trained are w"),
                (cn.Gradients({}, running={"w": np.ones((2, 2))}), "step gives a value of running tensor 'w'; those that are running are mean"),
                (cn.Gradients({}, running={"mean": np.ones(2)}),
                 "the value of running tensor mean is made of floats in its shape, [1], and is [2] of float64")):
            with self.subTest(said):
                self.assertEqual(self.refusal((one, given)), said)

    def test_logits_have_the_shape_that_the_job_asks_for(self):
        def logits(given):
            return cn._logits(self.tensors.params, lambda params, batch: given, self.taken, self.job)
        self.assertEqual((logits(np.zeros((3, 1))).shape, logits([1.0, 2, 3]).dtype), ((3, 1), np.float32))
        with self.assertRaisesRegex(ValueError, r"predict gives one logit an example, an array of \[3\], and gave \[2\]"):
            logits(np.zeros(2))
        self.job.labels = [types.SimpleNamespace(name="click"), types.SimpleNamespace(name="buy")]
        self.labels = np.zeros((3, 2), np.float32)
        np.testing.assert_array_equal(logits({"buy": np.ones(3), "click": np.zeros(3)}), [[0, 1]] * 3)
        with self.assertRaisesRegex(ValueError, "predict gives the logits of click, buy, by name, and gave of click"):
            logits({"click": np.ones(3)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
