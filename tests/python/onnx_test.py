"""A module of one's own becomes a graph of ONNX: ONNX Runtime computes of it what PyTorch computes of the module, for every way in
which keys reach a module, and for more records and keys than the graph was traced with."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import onnx_runtime
from python_data import EXAMPLES, SKIPPED, idx, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()
    if onnx_runtime.lack():
        print(f"SKIPPED: {onnx_runtime.lack()}")
        sys.exit(SKIPPED)

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES), str(onnx_runtime.FOLDER)]
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402

import capstan_ps  # noqa: E402
import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import onnx  # noqa: E402
from capstan_ps.torch_tensors import declared  # noqa: E402

CLICKS = {"format": "DATA_FORMAT_CSV", "columns": 5, "fields": 3, "dense_width": 1, "categorical": [{"column": c} for c in (1, 2, 3)],
          "numeric": [{"column": 4}]}
PAIRS = {"format": "DATA_FORMAT_LIBSVM"}
IMAGES = {"format": "DATA_FORMAT_IDX", "dense_width": 64, "image_shape": [8, 8]}


def feature(name, column, table, **more):
    return {"name": name, "column": column, "table": table, "kind": "KEY_KIND_ID", **more}


def many(pooling):
    return {"many": True, "separator": "|", "most": 4, "pooling": f"POOLING_{pooling}"}


FEATURES = {"format": "DATA_FORMAT_CSV", "columns": 6, "dense_width": 1, "numeric": [{"column": 5}],
            "features": [feature("user", 1, "user"), feature("item", 2, "item"), feature("history", 3, "item", **many("MEAN")),
                         feature("basket", 4, "item", **many("SUM")), feature("recent", 3, "item", **many("NONE"))]}
LINES_OF_FEATURES = ["0,7,1,2|3,1|2|3|9,0.5", "1,8,2,,,2", "0,,9,5|6|7|8|1,4,-1", "1,7,1,1,1|1,0"]


class OfFeatures(torch.nn.Module):

    def __init__(self, job):
        super().__init__()
        self.embeddings, self.recent = ct.EmbeddingBagCollection(job), ct.Sequences(job, "recent")
        self.head = torch.nn.Linear(self.embeddings.width + 3 + job.numbers, 2)

    def forward(self, batch):
        pooled = self.embeddings(batch)
        rows, mask = self.recent(batch)
        attention = ((rows * pooled["item"].unsqueeze(1)).sum(2) * 3).masked_fill(~mask, -9).softmax(1)
        out = self.head(torch.cat([pooled.values(), (rows * attention.unsqueeze(2)).sum(1), batch.numbers], 1))
        return {"click": out[:, 0], "buy": out[:, 1]}


WEIGHED = {"weights": {"column": 2}}
TAGS = {"format": "DATA_FORMAT_CSV", "columns": 3,
        "features": [feature("sum", 1, "tags", **many("SUM"), **WEIGHED), feature("mean", 1, "tags", **many("MEAN"), **WEIGHED),
                     feature("recent", 1, "tags", **many("NONE"), **WEIGHED)]}


class OfTags(torch.nn.Module):

    def __init__(self, job):
        super().__init__()
        self.embeddings, self.recent = ct.EmbeddingBagCollection(job), ct.Sequences(job, "recent")
        self.head = torch.nn.Linear(9, 1)

    def forward(self, batch):
        rows, _ = self.recent(batch)
        weights = batch.features["recent"].padded_weights(self.recent.most)
        return self.head(torch.cat([self.embeddings(batch).values(), (rows * weights.unsqueeze(2)).sum(1)], 1)).squeeze(1)


class OfPairs(torch.nn.Module):

    def __init__(self, job):
        super().__init__()
        self.bag, self.head = ct.EmbeddingBag(job), torch.nn.Linear(job.dim, 1)

    def forward(self, batch):
        return self.head(self.bag(batch)).squeeze(1)


class WithPositions(OfPairs):
    """Its positions are integers, which the job has not."""

    def __init__(self, job):
        super().__init__(job)
        self.position = torch.nn.Embedding(3, job.dim)
        self.register_buffer("position_ids", torch.arange(3))

    def forward(self, batch):
        return self.head(self.bag(batch) * self.position(self.position_ids).sum(0)).squeeze(1)


class Tied(OfPairs):
    """One matrix under two names."""

    def __init__(self, job):
        super().__init__(job)
        self.there, self.back = torch.nn.Linear(job.dim, job.dim), torch.nn.Linear(job.dim, job.dim)
        self.back.weight = self.there.weight

    def forward(self, batch):
        return self.head(self.back(self.there(self.bag(batch)).tanh())).squeeze(1)


class Masked(OfPairs):
    """A buffer that state_dict() leaves out and the job has, and a mask of infinities, which it has not."""

    def __init__(self, job):
        super().__init__(job)
        self.register_buffer("scale", torch.rand(job.dim), persistent=False)
        self.register_buffer("mask", torch.tensor([0, 0, 0, float("-inf")]))

    def forward(self, batch):
        pooled = self.bag(batch)
        return self.head((pooled + self.mask).softmax(1) * pooled * self.scale).squeeze(1)


class OnnxTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        torch.manual_seed(1)

    def model_of(self, data, build, tables, **model):
        """As `capstan checkpoint export` writes it, with the parameters with which the module begins."""
        tables = [{"id": i, "name": name, "dim": dim, "seed": "3",
                   "segments": [{"name": "embedding", "width": dim, "initializer": {"kind": "INITIALIZER_KIND_NORMAL", "scale": 0.5}}]}
                  for i, (name, dim) in enumerate(tables.items())]
        arrays = {}
        for table in tables:
            keys = np.arange(2, 8, dtype=np.uint64)
            arrays[f"{table['name']}.keys"] = keys
            arrays[f"{table['name']}.weights"] = torch.randn(len(keys), table["dim"]).numpy()
        job = {"job": "j", "data": {"label_column": 0, "numeric_scale": 1, **data}, "model": {"user": "mine.py", **model},
               "tables": tables, "tensors": []}
        path = self.folder / "job.json"
        path.write_text(json.dumps(job))
        net = build(capstan_ps._capstan.Job.from_json(path.read_text()))
        for name, tensor in declared(net).items():
            arrays[name] = tensor.detach().numpy()
            job["tensors"].append({"name": name, "shape": list(tensor.shape)})
        path.write_text(json.dumps(job))
        header, body = {}, b""
        for name, array in arrays.items():
            begin, body = len(body), body + array.tobytes()
            header[name] = {"dtype": "U64" if array.dtype == np.uint64 else "F32", "shape": array.shape, "data_offsets": [begin, len(body)]}
        text = json.dumps(header).encode()
        (self.folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
        return capstan_ps.load(self.folder)

    def compare(self, model, build, lines, alike=False):
        """The outputs of the graph are those of the module. `alike`: all records', too."""
        path = self.folder / "model.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # What is ours is not frozen by the tracer.
            model.to_onnx(build, path)
        session, inputs = onnxruntime.InferenceSession(str(path)), model.onnx_inputs(lines)
        inputs = {of.name: inputs[of.name] for of in session.get_inputs()}  # A graph has none that its module does not read.
        with torch.no_grad():
            wanted = model.torch(build)(model.batch(lines))
        wanted = wanted if isinstance(wanted, dict) else {"logits": wanted}
        self.assertEqual([of.name for of in session.get_outputs()], list(wanted))
        for found, want in zip(session.run(None, inputs), wanted.values(), strict=True):
            np.testing.assert_allclose(found, want.numpy(), rtol=1e-5, atol=1e-6)
        self.assertEqual(len({float(x) for x in next(iter(wanted.values()))}) < 3, alike)

    def test_features_that_are_pooled_and_a_sequence_with_its_mask(self):
        model = self.model_of(FEATURES, OfFeatures, {"user": 2, "item": 3})
        self.compare(model, OfFeatures, LINES_OF_FEATURES)
        self.compare(model, OfFeatures, LINES_OF_FEATURES[:3] * 20)
        self.assertEqual({name: array.shape for name, array in model.onnx_inputs(LINES_OF_FEATURES).items() if ".count" not in name},
                         {"user": (4, 1, 2), "item": (4, 1, 3), "history": (4, 4, 3), "basket": (4, 4, 3), "recent": (4, 4, 3),
                          "numbers": (4, 1)})
        self.compare(model, OfFeatures, ["0,,2,,,1", "1,,,,,2", "1,7,,,,3"])

    def test_weights_of_keys_are_inputs_of_their_own(self):
        model = self.model_of(TAGS, OfTags, {"tags": 3})
        lines = ["1,2|3,0.5|2", "0,,", "1,4|5|6,1|0|0.25", "0,7,0", "1,2|3|4|5|6,1|2|3|4|5"]
        self.compare(model, OfTags, lines)
        self.compare(model, OfTags, lines[:3] * 20)
        self.assertEqual(model.onnx_inputs(lines)["mean.weights"].tolist()[:2], [[0.5, 2.0, 0.0, 0.0], [0.0] * 4])
        with self.assertRaisesRegex(ValueError, "1 weights for 2 values of sum; expected one each"):
            model.batch(["1,2|3,0.5"])
        with self.assertRaisesRegex(ValueError, "weight -1.0 of mean is not a number from 0 on"):
            model.batch(["1,2,-1"])

    def test_keys_of_whole_records(self):
        from deepfm import DeepFM
        model = self.model_of(CLICKS, DeepFM, {"features": 4})
        self.compare(model, DeepFM, [f"0,a{i % 3},b,c{i % 5},{i}" for i in range(30)])

    def test_pairs_of_index_and_value_as_many_as_there_are(self):
        model = self.model_of(PAIRS, OfPairs, {"features": 4})
        self.compare(model, OfPairs, ["1 2:0.5 3:-1 9:2", "0 4:1", "0", "1 2:1 3:1 4:1 5:1 6:1"])
        self.compare(model, OfPairs, ["0", "1"], alike=True)

    def test_modules_whose_state_dict_has_other_names_than_the_job(self):
        for build, names in ((WithPositions, {"position.weight"}), (Tied, {"there.weight", "there.bias", "back.bias"}), (Masked, {"scale"})):
            with self.subTest(build.__name__):
                model = self.model_of(PAIRS, build, {"features": 4})
                self.assertEqual(set(model.state_dict()), {"head.weight", "head.bias", *names})
                self.compare(model, build, ["1 2:0.5 3:-1 9:2", "0 4:1", "1 2:1 3:1 4:1 5:1 6:1"])
        net = self.model_of(PAIRS, Tied, {"features": 4}).torch(Tied)
        self.assertIs(net.back.weight, net.there.weight)

    def test_a_tensor_of_another_shape_is_told(self):
        model = self.model_of(PAIRS, OfPairs, {"features": 4})
        def build(job):
            net = OfPairs(job)
            net.head = torch.nn.Linear(job.dim, 2)
            return net
        with self.assertRaisesRegex(ValueError, r"^head\.weight is \[2, 4\] in the program, and \[1, 4\] in the model; the model was trained by mine\.py$"):
            model.torch(build)

    def test_no_records_are_no_rows(self):
        for data, build, tables in ((PAIRS, OfPairs, {"features": 4}), (FEATURES, OfFeatures, {"user": 2, "item": 3})):
            model = self.model_of(data, build, tables)
            self.assertEqual(len(model.batch([])), 0)
            inputs = model.onnx_inputs([])
            self.assertEqual({name: array.shape[0] for name, array in inputs.items()}, dict.fromkeys(inputs, 0))

    def test_bags_of_whole_records_have_all_that_those_of_features_have(self):
        class OfBags(OfPairs):
            def forward(self, batch):
                rows, mask = batch.bags.padded(2)
                return self.head(batch.bags.means() + rows.sum(1) * mask.sum(1, keepdim=True)).squeeze(1)
        model = self.model_of(PAIRS, OfBags, {"features": 4})
        self.compare(model, OfBags, ["1 2:0.5", "0 4:1", "0", "1 2:1 3:1 4:1 5:1 6:1"])
        self.compare(model, OfBags, ["1 2:0.5", "0 4:1", "1 6:2"])

    def test_a_module_that_reads_numbers_where_there_are_none(self):
        from recommender import Recommender
        data = {**FEATURES, "features": FEATURES["features"][:3], "numeric": [], "dense_width": 0}
        model = self.model_of(data, Recommender, {"user": 2, "item": 3})
        self.compare(model, Recommender, LINES_OF_FEATURES)

    def test_what_a_graph_cannot_be_is_told(self):
        def build(job):
            return OfPairs(job)
        model = self.model_of(PAIRS, build, {"features": 4})
        for predict, said in ((lambda net, batch: (net(batch), net(batch)), "predict gave tuple"),
                              (lambda net, batch: net.head(batch.bags.each()), r"each\(\) is not there in a graph of ONNX")):
            with self.assertRaisesRegex((ValueError, AttributeError), said):
                model.to_onnx(build, self.folder / "model.onnx", predict)
        with self.assertWarns(torch.jit.TracerWarning):
            model.to_onnx(build, self.folder / "model.onnx", lambda net, batch: net(batch) if float(batch.values.sum()) > 0 else net(batch) * 2)
        data = {**FEATURES, "features": [feature("numbers", 1, "user")]}
        model = self.model_of(data, lambda job: torch.nn.Linear(1, 1), {"user": 2})
        with self.assertRaisesRegex(ValueError, "^a feature has the name numbers, which another input of the graph has"):
            model.onnx_inputs(LINES_OF_FEATURES)

    def test_two_towers_are_two_outputs(self):
        from two_tower import TwoTower
        data = {**FEATURES, "features": FEATURES["features"][:2]}
        model = self.model_of(data, TwoTower, {"user": 3, "item": 3})
        with self.assertRaisesRegex(ValueError, "^predict gives an output 'item', and the graph has an input of this name"):
            model.to_onnx(TwoTower, self.folder / "model.onnx", lambda net, batch: dict(zip(("user", "item"), net(batch))))
        model.to_onnx(TwoTower, self.folder / "model.onnx", lambda net, batch: dict(zip(("of_user", "of_item"), net(batch))))
        session, inputs = onnxruntime.InferenceSession(str(self.folder / "model.onnx")), model.onnx_inputs(LINES_OF_FEATURES)
        with torch.no_grad():
            wanted = model.torch(TwoTower)(model.batch(LINES_OF_FEATURES))
        for name, want in zip(("of_user", "of_item"), wanted):
            found, = session.run([name], {name: inputs[name] for name in ("user", "item")})
            np.testing.assert_allclose(found, want.numpy(), rtol=1e-5, atol=1e-6)

    def test_images_with_batch_norm(self):
        from cnn import build, predict
        model = self.model_of(IMAGES, build, {}, loss="LOSS_SOFTMAX", outputs=3)
        model.to_onnx(build, self.folder / "model.onnx", predict)
        (self.folder / "images").write_bytes(idx((5, 8, 8), [i * 37 % 256 for i in range(5 * 64)]))
        batch, = model.batches(self.folder / "images")
        session = onnxruntime.InferenceSession(str(self.folder / "model.onnx"))
        found, = session.run(["logits"], {"numbers": batch.numbers.numpy()})
        with torch.no_grad():
            np.testing.assert_allclose(found, model.torch(build)(batch.images).numpy(), rtol=1e-5, atol=1e-4)

    def test_a_module_that_looks_rows_up_by_itself_is_told_what_to_use(self):
        class Own(OfPairs):
            def forward(self, batch):
                return self.head(batch.rows[batch.index.long()]).squeeze(1)
        model = self.model_of(PAIRS, Own, {"features": 4})
        with self.assertRaisesRegex(AttributeError, r"^batch\.rows is not there in a graph of ONNX: use capstan_ps\.torch\.Embeddings"):
            model.to_onnx(Own, self.folder / "model.onnx")

    def test_what_bags_of_a_graph_lack_is_told_with_what_to_use(self):
        bags = onnx.PaddedBags(torch.zeros(2, 3, 4), torch.tensor([1, 3]), full=False)
        for name in ("rows", "index", "offsets", "first"):
            with self.assertRaisesRegex(AttributeError, rf"^{name} of a batch's bags is not there in a graph of ONNX: use sums\(\)"):
                getattr(bags, name)
        self.assertFalse(hasattr(bags, "anything"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
