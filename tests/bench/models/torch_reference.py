"""What plain PyTorch reaches with the settings of the deep Criteo examples, in one process.

    python tests/bench/models/torch_reference.py data/criteo [deepfm dlrm ...]      # needs torch and numpy

A line each: the model, and the held-out AUC of seeds 1, 2 and 3. The same towers, optimizers, schedule
and batches as deploy/examples; a feature is a pair of column and value, without hashing."""

import gzip
import math
import pathlib
import sys

import numpy
import torch
from torch import nn

# Width of the embedding, its stddev, the hidden layers, and the two rates of Adagrad.
SETTINGS = {
    "wide_deep": dict(dim=8, stddev=0.01, hidden=[64, 32], linear_rate=0.02, embedding_rate=0.01),
    "deepfm": dict(dim=8, stddev=0.01, hidden=[64, 32], linear_rate=0.02, embedding_rate=0.01),
    "dcn_v2": dict(dim=8, stddev=0.01, hidden=[64, 32], linear_rate=0, embedding_rate=0.015),
    "dlrm": dict(dim=4, stddev=0.02, hidden=[64], linear_rate=0, embedding_rate=0.04),
}
BATCH, EPOCHS, DENSE_RATE, CROSS_LAYERS = 50, 2, 0.001, 3


def load(folder):
    """(ids, labels) of the two files, and the number of ids."""
    known, parts = {}, []
    for name in ("train.csv.gz", "test.csv.gz"):
        with gzip.open(folder / name, "rt") as file:
            rows = [line.strip().split(",") for line in file]
        ids = [[known.setdefault((c, v), len(known)) for c, v in enumerate(row[1:])] for row in rows]
        parts.append((torch.tensor(ids), torch.tensor([float(row[0]) for row in rows])))
    return *parts, len(known)


def stack(*widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
        nn.init.xavier_uniform_(layers[-2].weight)
        nn.init.zeros_(layers[-2].bias)
    return nn.Sequential(*layers[:-1])


class Model(nn.Module):

    def __init__(self, kind, ids, fields, dim, stddev, hidden):
        super().__init__()
        self.kind = kind
        self.linear, self.embedding = nn.Embedding(ids, 1), nn.Embedding(ids, dim)
        nn.init.zeros_(self.linear.weight)
        nn.init.normal_(self.embedding.weight, 0, stddev)
        self.bias = nn.Parameter(torch.zeros(1))
        width = fields * dim
        self.deep = stack(fields * (fields - 1) // 2 if kind == "dlrm" else width, *hidden, 1)
        if kind == "dcn_v2":
            self.cross = nn.ModuleList(stack(width, width) for _ in range(CROSS_LAYERS))
            self.head = stack(width, 1)
        self.pairs = torch.tril_indices(fields, fields, -1)

    def forward(self, ids):
        e = self.embedding(ids)
        flat = e.flatten(1)
        if self.kind == "dlrm":
            products = torch.bmm(e, e.transpose(1, 2))
            return self.bias + self.deep(products[:, self.pairs[0], self.pairs[1]])[:, 0]
        logit = self.bias + self.deep(flat)[:, 0]
        if self.kind == "dcn_v2":
            x = flat
            for layer in self.cross:
                x = flat * layer(x) + x
            return logit + self.head(x)[:, 0]
        logit = logit + self.linear(ids).sum((1, 2))
        if self.kind == "deepfm":
            logit = logit + 0.5 * (e.sum(1) ** 2 - (e ** 2).sum(1)).sum(1)
        return logit


def auc(scores, labels):
    ranks = numpy.empty(len(scores))
    ranks[numpy.argsort(scores, kind="stable")] = numpy.arange(1, len(scores) + 1)
    positive = labels.sum()
    return (ranks[labels > 0].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))


def train(kind, data, seed):
    (ids, labels), (held_out, truth), count = data
    settings = dict(SETTINGS[kind])
    rates = settings.pop("linear_rate"), settings.pop("embedding_rate")
    torch.manual_seed(seed)
    model = Model(kind, count, ids.shape[1], **settings)
    tables = [model.linear.weight, model.embedding.weight]
    dense = [p for p in model.parameters() if all(p is not table for table in tables)]
    optimizers = [
        torch.optim.Adagrad([{"params": [p], "lr": rate} for p, rate in zip(tables, rates)],
                            initial_accumulator_value=0.1),
        torch.optim.Adam(dense, lr=DENSE_RATE),
    ]
    steps = EPOCHS * math.ceil(len(ids) / BATCH)
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(each, steps) for each in optimizers]
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(ids)).split(BATCH):
            model.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(model(ids[rows]), labels[rows],
                                                           reduction="sum").backward()
            for each in (*optimizers, *schedules):
                each.step()
    with torch.no_grad():
        return auc(model(held_out).numpy(), truth.numpy())


def main():
    torch.set_num_threads(1)
    data = load(pathlib.Path(sys.argv[1]))
    for kind in sys.argv[2:] or SETTINGS:
        print(kind, *(f"{train(kind, data, seed):.4f}" for seed in (1, 2, 3)), flush=True)


if __name__ == "__main__":
    main()
