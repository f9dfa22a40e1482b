"""Predicts who likes what from three features in two tables: capstan train recommender.yaml --worker 'python3 recommender.py'"""

import torch
from torch import nn

import capstan_ps.torch as ct


class Recommender(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.EmbeddingBagCollection(job)  # The features of recommender.yaml, by their names.
        self.mlp = nn.Sequential(nn.Linear(self.embeddings.width + job.numbers, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, batch):
        e = self.embeddings(batch)
        taste = (e["history"] * e["item"]).sum(1)  # The items that a user has liked and the offered item have rows in one table.
        return self.mlp(torch.cat([e.values(), batch.numbers], 1)).squeeze(1) + taste


def step(model, batch):
    """Returns one loss for each example. Capstan takes their mean or sum."""
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


def predict(model, batch):
    """Returns the logits of a held-out batch."""
    return model(batch)


if __name__ == "__main__":
    ct.train(Recommender, step, predict)
