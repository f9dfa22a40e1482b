"""DeepFM in PyTorch, trained on Capstan's shards: capstan train deepfm.yaml --worker 'python3 deepfm.py'"""

import torch
from torch import nn

import capstan_ps.torch as ct


class DeepFM(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.Embeddings(job)  # No num_embeddings: a row appears when its key does.
        self.mlp = nn.Sequential(nn.Linear(self.embeddings.width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, batch):
        e = self.embeddings(batch)  # [examples, fields, dim]
        pairs = (e.sum(1).square() - e.square().sum(1)).sum(1) / 2
        return self.mlp(e.flatten(1)).squeeze(1) + pairs


def step(model, batch):
    """One loss an example: their mean, or sum, is Capstan's."""
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


def predict(model, batch):
    """The logits of a batch that is held out."""
    return model(batch)


if __name__ == "__main__":
    ct.train(DeepFM, step, predict)
