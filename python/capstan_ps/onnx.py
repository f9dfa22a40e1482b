"""Writes a trained PyTorch module as an ONNX graph, which takes the rows of keys as inputs. Model.to_onnx describes the inputs."""

import warnings

import numpy as np
import torch
from torch import nn

from capstan_ps import score as _score
from capstan_ps.torch_batch import Batch

OPSET = 13


class PaddedBags:
    """The interface of capstan_ps.torch.Bags for rows that the graph gets as an input: [examples, keys, dim], with zeros after a record's
    last key, as no ONNX operator sums over a varying number of neighbours. `full`: all records have all keys, so there are no such zeros.
    `weights`: [examples, keys], padded in the same way; None: all are 1."""

    def __init__(self, rows, counts, full, weights=None):
        self._rows, self._counts, self._full, self._weights = rows, counts, full, weights

    def each(self):
        if not self._full:
            raise AttributeError("each() is not there in a graph of ONNX where records have any number of keys: use sums(), means() or "
                                 "padded(most)")
        return self._rows.flatten(0, 1)

    def __getattr__(self, name):
        if name in ("rows", "index", "offsets", "first", "weights"):
            raise AttributeError(f"{name} of a batch's bags is not there in a graph of ONNX: use sums(), means() or padded(most), whose row of place 0 is "
                                 "that of a record's first key, and counts() or padded_weights(most), which know how rows come there")
        raise AttributeError(name)

    def counts(self):
        return self._counts

    def sums(self):
        return (self._rows if self._weights is None else self._rows * self._weights.unsqueeze(2)).sum(1)

    def means(self):
        if self._weights is None:
            return self.sums() / self.counts().clamp(min=1).unsqueeze(1)
        total = self._weights.sum(1, keepdim=True)
        return self.sums() / torch.where(total > 0, total, torch.ones_like(total))

    def padded(self, most):
        mask = torch.arange(most).unsqueeze(0) < self.counts().unsqueeze(1)
        return self._to(most, self._rows), mask

    def padded_weights(self, most):
        if self._weights is None:
            return self.padded(most)[1].float()
        return self._to(most, self._weights)

    @staticmethod
    def _to(most, array):
        zeros = array.new_zeros(array.shape[0], most, *array.shape[2:])
        return torch.cat([array, zeros], 1)[:, :most]


class GraphBatch(Batch):
    """A batch whose arrays are the inputs of a graph."""

    def __init__(self, job, inputs):
        self._image = (*job.image, job.channels)
        self.labels = self.weights = None
        self.examples = next(iter(inputs.values())).shape[0]
        self.values = inputs.get("values")
        self.numbers = inputs["numbers"] if job.numbers else torch.zeros(self.examples, 0)
        self.features = {feature.name: PaddedBags(inputs[feature.name], inputs[counts_of(feature.name)], full=False,
                                                  weights=inputs.get(weights_of(feature.name)))
                         for feature in job.features}
        self.bags = None
        if "embedding" in inputs and not job.features:
            rows = inputs["embedding"]
            self.bags = PaddedBags(rows if self.values is None else rows * self.values.unsqueeze(2), inputs[counts_of("embedding")],
                                   full=job.fields > 0)

    def __getattr__(self, name):
        if name in ("rows", "index", "offsets", "keys", "tables"):
            raise AttributeError(f"batch.{name} is not there in a graph of ONNX: use capstan_ps.torch.Embeddings, EmbeddingBag, "
                                 "EmbeddingBagCollection or Sequences, or batch.bags, which know how rows come there")
        raise AttributeError(name)


def counts_of(name):
    """Returns the name of the input with the number of keys that each record has in the input `name`."""
    return f"{name}.count"


def weights_of(name):
    """Returns the name of the input with the weights of the keys in the input `name`."""
    return f"{name}.weights"


def inputs_of(exported, job, records):
    """Returns the inputs of the graph for these records: {name: array}."""
    inputs, tables = {}, list(exported.tables.values())

    def add(name, array):
        if name in inputs:
            raise ValueError(f"a feature has the name {name}, which another input of the graph has: rename the feature")
        inputs[name] = array

    def add_keys(name, table, keys, offsets, most):
        add(name, _score.padded(table.rows_of(keys), offsets, most))
        add(counts_of(name), np.diff(offsets).astype(np.int64))

    for feature, (keys, offsets, weights) in zip(job.features, records.bags or [([], [0], [])] * len(job.features)):
        most = feature.most if feature.pooling == "none" else None if feature.many else 1
        add_keys(feature.name, tables[feature.table], keys, offsets, most)
        if feature.weighted:
            add(weights_of(feature.name), _score.padded(np.array(weights, np.float32), offsets, most))
    if not job.features and tables:
        add_keys("embedding", tables[0], records.keys, records.offsets, job.fields)
        if exported.pairs:
            add("values", _score.padded(np.array(records.values, np.float32), records.offsets, job.fields))
    if job.numbers:
        add("numbers", records.numbers(job.numbers))
    return inputs


class _Graph(nn.Module):

    def __init__(self, net, predict, job, names):
        super().__init__()
        self.net, self._predict, self._job, self._names = net, predict, job, names
        self.outputs = []

    def forward(self, *inputs):
        found = self._predict(self.net, GraphBatch(self._job, dict(zip(self._names, inputs))))
        named = {"logits": found} if isinstance(found, torch.Tensor) else found
        if not isinstance(named, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in named.values()):
            raise ValueError(f"an output of the graph is a tensor, or some are a dictionary of them, and predict gave {type(found).__name__}")
        self.outputs = list(named)
        return tuple(named.values())


def _example(job):
    """Returns two records with a few keys. The tracer records what is computed of them as the graph."""
    records = _score.Records()
    for _ in range(2):
        records.add([0] * (job.fields or 3), [1.0] * (job.fields or 3), [0.0] * job.numbers)
    for feature in job.features:
        keys = 2 if feature.many else 1
        records.bags.append(([0] * 2 * keys, [0, keys, 2 * keys], [1.0] * 2 * keys))
    return records


def _axes(job, inputs, outputs):
    """Returns the names of the dimensions whose sizes are known only when the graph runs: {input or output: {dimension: name}}."""
    axes = {name: {0: "records"} for name in [*inputs, *outputs]}
    for feature in job.features:
        if feature.many and feature.pooling != "none":
            axes[feature.name][1] = f"{feature.name}.keys"
            if feature.weighted:
                axes[weights_of(feature.name)][1] = f"{feature.name}.keys"
    if not job.features and not job.fields:
        for name in ("embedding", "values"):
            if name in inputs:
                axes[name][1] = "keys"
    return axes


def export(exported, job, net, predict, path):
    """Writes what `predict` computes with `net` to `path`, as a graph."""
    inputs = {name: torch.from_numpy(array) for name, array in inputs_of(exported, job, _example(job)).items()}
    graph = _Graph(net, predict, job, list(inputs))
    with torch.no_grad():
        graph(*inputs.values())  # An error of the program is raised here as it is, and not by the tracer.
    if both := sorted(set(inputs) & set(graph.outputs)):
        raise ValueError(f"predict gives an output {both[0]!r}, and the graph has an input of this name; give the output another one")
    with warnings.catch_warnings():
        # PyTorch 1.13 warns of constants of its own. The tracer's warnings stay: they name what the graph freezes of the program.
        warnings.simplefilter("ignore", UserWarning)
        torch.onnx.export(graph, tuple(inputs.values()), str(path), opset_version=OPSET, input_names=list(inputs),
                          output_names=graph.outputs, dynamic_axes=_axes(job, inputs, graph.outputs))
