"""deploy/examples/python/factorization_machine.py in PyTorch."""

import torch
from torch import nn

import capstan_ps.torch as ct


class Machine(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.Embeddings(job)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, batch):
        rows = self.embeddings(batch)
        factors = rows[:, :, 1:]
        pairs = (factors.sum(1).square() - factors.square().sum(1)).sum(1) / 2
        return self.bias + rows[:, :, 0].sum(1) + pairs


def build(job):
    return Machine(job)


def step(model, batch):
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


def predict(model, batch):
    return model(batch)
