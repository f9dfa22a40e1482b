"""Workers of small models: small_programs.py NAME."""

import random
import sys

import torch
from torch import nn

import capstan_ps.torch as ct


class Normalized(nn.Module):
    """Batch norm over the examples of a batch, which PyTorch refuses in a batch of one."""

    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.Embeddings(job)
        self.norm = nn.BatchNorm1d(self.embeddings.width)
        self.head = nn.Linear(self.embeddings.width, 1)

    def forward(self, batch):
        return self.head(self.norm(self.embeddings(batch).flatten(1))).squeeze(1)


class Factorized(nn.Module):
    """The product of a user's row and an item's: nothing but rows is trained."""

    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.EmbeddingBagCollection(job)

    def forward(self, batch):
        e = self.embeddings(batch)
        return (e["user"] * e["item"]).sum(1)


class Permuted(nn.Module):
    """Its inputs are in an order, and have signs, that are drawn in build and are no tensors of the job."""

    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.EmbeddingBagCollection(job)
        self.register_buffer("order", torch.randperm(self.embeddings.width))
        self.signs = [random.choice((-1., 1.)) for _ in range(self.embeddings.width)]
        self.head = nn.Linear(self.embeddings.width, 1)

    def forward(self, batch):
        return self.head(self.embeddings(batch).values()[:, self.order] * torch.tensor(self.signs)).squeeze(1)


def step(model, batch):
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


if __name__ == "__main__":
    ct.train({"normalized": Normalized, "factorized": Factorized, "permuted": Permuted}[sys.argv[1]], step, lambda model, batch: model(batch))
