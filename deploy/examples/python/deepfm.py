"""DeepFM in PyTorch, trained on Capstan's shards: capstan train deepfm.yaml --worker 'python3 deepfm.py'"""

import torch
from torch import nn

import capstan_ps.torch as ct


class DeepFM(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.Embeddings(job)  # No num_embeddings: the shards create a row when its key is first trained.
        self.mlp = nn.Sequential(nn.Linear(self.embeddings.width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, batch):
        e = self.embeddings(batch)  # [examples, fields, dim]
        pairs = (e.sum(1).square() - e.square().sum(1)).sum(1) / 2
        return self.mlp(e.flatten(1)).squeeze(1) + pairs


def step(model, batch):
    """Returns one loss for each example. Capstan takes their mean or sum."""
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


def predict(model, batch):
    """Returns the logits of a held-out batch."""
    return model(batch)


if __name__ == "__main__":
    ct.train(DeepFM, step, predict)
