"""What PyTorch makes of bags of keys: beside PyTorch's own EmbeddingBag, values and gradients."""

import os
import sys
import types
import unittest

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()
    sys.path.insert(0, os.environ["PYTHONPATH"])

import torch  # noqa: E402

import capstan_ps.torch as ct  # noqa: E402

OFFSETS = torch.tensor([0, 2, 2, 5, 6], dtype=torch.int32)  # The second bag is empty.
INDEX = torch.tensor([0, 1, 1, 2, 1, 3], dtype=torch.int32)


def feature(name, pooling="sum", table=0, most=3, weighted=False):
    return types.SimpleNamespace(name=name, pooling=pooling, table=table, most=most, weighted=weighted)


def bags(rows, index=INDEX, offsets=OFFSETS):
    return ct.Bags(offsets, index, rows)


def leaf(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).requires_grad_()


class FeaturesTest(unittest.TestCase):

    def test_pooling_is_that_of_an_embedding_bag_with_its_gradients(self):
        for pooling in ("sum", "mean"):
            job = types.SimpleNamespace(features=[feature("seen", pooling)], dims=[5])
            rows, expected = leaf(4, 5), leaf(4, 5)
            found = ct.EmbeddingBagCollection(job)(types.SimpleNamespace(features={"seen": bags(rows)}))["seen"]
            wanted = torch.nn.functional.embedding_bag(INDEX, expected, OFFSETS[:-1], mode=pooling)
            torch.testing.assert_close(found, wanted)
            weights = torch.arange(20.0).view(4, 5)
            (found * weights).sum().backward()
            (wanted * weights).sum().backward()
            torch.testing.assert_close(rows.grad, expected.grad)

    def test_weights_of_keys_are_the_weights_per_sample_of_an_embedding_bag(self):
        weights = torch.tensor([0.5, -2.0, 1.0, 0.25, 3.0, -1.0])
        job = types.SimpleNamespace(features=[feature("tags")], dims=[5])
        rows, expected = leaf(4, 5), leaf(4, 5)
        batch = types.SimpleNamespace(features={"tags": ct.Bags(OFFSETS, INDEX, rows, weights=weights)})
        found = ct.EmbeddingBagCollection(job)(batch)["tags"]
        wanted = torch.nn.functional.embedding_bag(INDEX, expected, OFFSETS[:-1], mode="sum", per_sample_weights=weights)
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=0)
        of_outputs = torch.arange(20.0).view(4, 5) / 10
        (found * of_outputs).sum().backward()
        (wanted * of_outputs).sum().backward()
        torch.testing.assert_close(rows.grad, expected.grad, atol=1e-6, rtol=0)

    def test_a_weighted_mean_is_divided_by_the_sum_of_the_weights(self):
        weights = torch.tensor([0.5, 1.5, 1.0, 0.0, 3.0, 0.0], dtype=torch.float64)
        rows = leaf(4, 5).detach().double().requires_grad_()

        def means(rows):
            return ct.Bags(OFFSETS, INDEX, rows, weights=weights).means()

        found = means(rows)
        torch.testing.assert_close(found[0], 0.25 * rows[0] + 0.75 * rows[1])
        torch.testing.assert_close(found[2], rows[1])
        self.assertEqual(found[[1, 3]].tolist(), [[0.0] * 5] * 2, "no keys, and none that counts")
        self.assertTrue(torch.autograd.gradcheck(means, (rows,)), "the gradient is that of finite differences")

    def test_a_sequence_has_weights_of_its_own(self):
        weights = torch.tensor([0.5, -2.0, 1.0, 0.25, 3.0, -1.0])
        rows = torch.arange(4.0).unsqueeze(1)
        weighted = ct.Bags(OFFSETS, INDEX, rows, weights=weights)
        self.assertEqual(weighted.padded_weights(2).tolist(), [[0.5, -2.0], [0.0, 0.0], [1.0, 0.25], [-1.0, 0.0]])
        self.assertEqual(weighted.padded(2)[0][:, :, 0].tolist(), [[0, 1], [0, 0], [1, 2], [3, 0]], "rows are as they are")
        self.assertEqual(bags(rows).padded_weights(2).tolist(), [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])

    def test_features_of_one_table_add_to_one_gradient_and_stand_side_by_side(self):
        job = types.SimpleNamespace(features=[feature("item"), feature("seen", "mean"), feature("city", table=1)], dims=[5, 2])
        rows, cities = leaf(4, 5), leaf(3, 2)
        batch = types.SimpleNamespace(features={
            "item": bags(rows, torch.tensor([3, 3, 0, 0], dtype=torch.int32), torch.arange(5, dtype=torch.int32)),
            "seen": bags(rows), "city": bags(cities, torch.tensor([2, 1, 0, 0], dtype=torch.int32), torch.arange(5, dtype=torch.int32))})
        collection = ct.EmbeddingBagCollection(job)
        pooled = collection(batch)
        self.assertEqual(collection.width, 12)
        self.assertEqual(tuple(pooled.values().shape), (4, 12))
        torch.testing.assert_close(pooled.values()[:, 10:], pooled["city"])
        pooled.values().sum().backward()
        self.assertEqual(rows.grad[3].tolist(), [3.0] * 5, "twice an item, and alone in the last bag")
        with self.assertRaisesRegex(KeyError, "job.yaml has no pooled feature 'users'; it has item, seen, city"):
            pooled["users"]

    def test_of_records_with_more_keys_the_first_ones_are_a_sequence(self):
        rows, mask = bags(torch.arange(4.0).unsqueeze(1)).padded(2)
        self.assertEqual(rows[:, :, 0].tolist(), [[0, 1], [0, 0], [1, 2], [3, 0]])
        self.assertEqual(mask.tolist(), [[True, True], [False, False], [True, True], [True, False]])

    def test_a_batch_whose_records_have_no_keys_at_all_gives_zeros(self):
        none = torch.zeros(0, dtype=torch.int32)
        step = types.SimpleNamespace(labels=lambda: None, weights=lambda: None, numbers=lambda: torch.zeros(3, 0), values=lambda: None,
                                     examples=3, rows=lambda table: torch.zeros(0, 0), index=lambda table: none,
                                     feature_offsets=lambda place: torch.zeros(4, dtype=torch.int32), feature_begin=lambda place: 0, feature_weights=lambda place: None,
                                     negatives=lambda: None)
        job = types.SimpleNamespace(features=[feature("seen", "mean"), feature("recent", "none")], dims=[5], labels=[], image=[], channels=0)
        batch = ct.Batch(step, job)
        self.assertEqual(ct.EmbeddingBagCollection(job)(batch)["seen"].tolist(), [[0.0] * 5] * 3)
        sequence, mask = ct.Sequences(job, "recent")(batch)
        self.assertEqual(sequence.tolist(), [[[0.0] * 5] * 3] * 3)
        self.assertFalse(mask.any())

    def test_negatives_are_rows_of_their_features_table_and_gradients_flow_into_them(self):
        rows = torch.arange(8.0).view(4, 2)
        step = types.SimpleNamespace(labels=lambda: None, weights=lambda: None, numbers=lambda: torch.zeros(3, 0), values=lambda: None,
                                     examples=3, rows=lambda table: rows, index=lambda table: torch.tensor([0, 1, 0, 3, 2, 3], dtype=torch.int32),
                                     feature_offsets=lambda place: torch.arange(4, dtype=torch.int32), feature_begin=lambda place: 0, feature_weights=lambda place: None,
                                     negatives=lambda: (0, 3, torch.tensor([-1.0, -2.0, -1.0]), torch.tensor([-0.5, -3.0, -0.5])))
        item = feature("item")
        item.many = False
        batch = ct.Batch(step, types.SimpleNamespace(features=[item], dims=[2], labels=[], image=[], channels=0))
        of_table = batch.tables[0].requires_grad_()
        drawn = batch.negatives["item"]
        self.assertEqual(drawn.index.tolist(), [3, 2, 3])
        self.assertEqual(drawn.each().tolist(), [[6.0, 7.0], [4.0, 5.0], [6.0, 7.0]])
        self.assertEqual((drawn.log_share.tolist(), drawn.log_share_of_records.tolist()), ([-1.0, -2.0, -1.0], [-0.5, -3.0, -0.5]))
        drawn.each().sum().backward()
        self.assertEqual(of_table.grad[:, 0].tolist(), [0.0, 0.0, 1.0, 2.0])
        item.many = True
        self.assertIsNone(ct.Batch(step, types.SimpleNamespace(features=[item], dims=[2], labels=[], image=[], channels=0)).negatives["item"].log_share_of_records)

    def test_a_sequence_has_its_rows_in_order_and_a_mask(self):
        job = types.SimpleNamespace(features=[feature("recent", "none")], dims=[2])
        rows = leaf(4, 2)
        sequence, mask = ct.Sequences(job, "recent")(types.SimpleNamespace(features={"recent": bags(rows)}))
        self.assertEqual(mask.tolist(), [[True, True, False], [False] * 3, [True, True, True], [True, False, False]])
        torch.testing.assert_close(sequence[2], rows[[1, 2, 1]])
        self.assertEqual(sequence[1].tolist(), [[0.0, 0.0]] * 3)
        sequence.sum().backward()
        self.assertEqual(rows.grad[:, 0].tolist(), [1.0, 3.0, 1.0, 1.0])
        with self.assertRaisesRegex(ValueError, "data.features has no 'seen' with pooling: none; there are recent"):
            ct.Sequences(job, "seen")


if __name__ == "__main__":
    unittest.main(verbosity=2)
