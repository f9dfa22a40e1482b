"""A trained module of PyTorch as a graph of ONNX, which begins behind the rows of keys. Model.to_onnx tells its inputs."""

import warnings

import numpy as np
import torch
from torch import nn

from capstan_ps import score as _score
from capstan_ps.torch import Batch

OPSET = 13


class PaddedBags:
    """What capstan_ps.torch.Bags gives, of rows that the graph is handed: [examples, keys, dim], zeros behind a record's last
    key. Operators of ONNX know no sum over a varying number of neighbours."""

    def __init__(self, rows, counts):
        self._rows, self._counts = rows, counts

    def each(self):
        return self._rows.flatten(0, 1)

    def counts(self):
        return self._counts

    def sums(self):
        return self._rows.sum(1)

    def means(self):
        return self.sums() / self.counts().clamp(min=1).unsqueeze(1)

    def padded(self, most):
        return self._rows, torch.arange(most).unsqueeze(0) < self.counts().unsqueeze(1)


class GraphBatch(Batch):
    """A batch whose arrays are the inputs of a graph, by their names."""

    def __init__(self, job, inputs):
        self._image = tuple(job.image)
        self.labels = self.weights = None
        self.numbers, self.values = inputs.get("numbers"), inputs.get("values")
        self.examples = next(iter(inputs.values())).shape[0]
        self.features = {feature.name: PaddedBags(inputs[feature.name], inputs.get(counts_of(feature))) for feature in job.features}
        self.bags = None
        if "embedding" in inputs:
            rows = inputs["embedding"]
            self.bags = PaddedBags(rows if self.values is None else rows * self.values.unsqueeze(2), None)

    def __getattr__(self, name):
        if name in ("rows", "index", "offsets", "keys", "tables"):
            raise AttributeError(f"batch.{name} is not there in a graph of ONNX: use capstan_ps.torch.Embeddings, EmbeddingBag, "
                                 "EmbeddingBagCollection or Sequences, or batch.bags, which know how rows come there")
        raise AttributeError(name)


def counts_of(feature):
    """The name of the input that says how many keys a record has."""
    return f"{feature.name}.count"


def needs_counts(feature):
    return feature.pooling in ("mean", "none")


def inputs_of(exported, job, records):
    """The arrays that the graph takes of these records, by the names of its inputs."""
    inputs, data, tables = {}, exported.data, list(exported.tables.values())
    for place, feature in enumerate(job.features):
        keys, offsets = records.bags[place]
        fixed = feature.most if feature.pooling == "none" else None if feature.many else 1
        inputs[feature.name] = _score.padded(tables[feature.table].rows_of(keys), offsets, fixed)
        if needs_counts(feature):
            inputs[counts_of(feature)] = np.diff(offsets).astype("int64")
    if not job.features and tables:
        inputs["embedding"] = _score.padded(tables[0].rows_of(records.keys), records.offsets, data.get("fields"))
        if data["format"] in ("DATA_FORMAT_LIBSVM", "DATA_FORMAT_LIBFM"):
            inputs["values"] = _score.padded(np.array(records.values, "float32"), records.offsets, data.get("fields"))
    if job.numbers:
        inputs["numbers"] = np.array(records.dense, "float32").reshape(len(records), -1)
    return inputs


class _Graph(nn.Module):

    def __init__(self, net, predict, job, names):
        super().__init__()
        self.net, self._predict, self._job, self._names = net, predict, job, names
        self.outputs = []

    def forward(self, *inputs):
        logits = self._predict(self.net, GraphBatch(self._job, dict(zip(self._names, inputs))))
        named = logits if isinstance(logits, dict) else {"logits": logits}
        self.outputs = list(named)
        return tuple(named.values())


def _example(job):
    """Two records with a few keys: what is computed of them is what the graph becomes."""
    records = _score.Records()
    for _ in range(2):
        records.add([0] * (job.fields or 3), [1.0] * (job.fields or 3), [0.0] * job.numbers)
    for feature in job.features:
        keys = 2 if feature.many else 1
        records.bags.append(([0] * 2 * keys, [0, keys, 2 * keys]))
    return records


def export(exported, job, net, predict, path):
    """Writes what `predict` computes of `net` to `path`."""
    records = _example(job)
    inputs = {name: torch.from_numpy(array) for name, array in inputs_of(exported, job, records).items()}
    graph = _Graph(net, predict, job, list(inputs))
    with torch.no_grad():
        graph(*inputs.values())  # What goes wrong in the program is told as it is, and not by the tracer.
    if both := sorted(set(inputs) & set(graph.outputs)):
        raise ValueError(f"predict gives an output {both[0]!r}, and the graph has an input of this name; give the output another one")
    axes = {name: {0: "records"} for name in [*inputs, *graph.outputs]}
    for feature in job.features:
        if feature.many and feature.pooling != "none":
            axes[feature.name][1] = f"{feature.name}.keys"
    if "embedding" in inputs and not job.fields:
        axes |= {name: {0: "records", 1: "keys"} for name in ("embedding", "values") if name in inputs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch 1.13 warns of its own constants.
        torch.onnx.export(graph, tuple(inputs.values()), str(path), opset_version=OPSET, input_names=list(inputs),
                          output_names=graph.outputs, dynamic_axes=axes)
