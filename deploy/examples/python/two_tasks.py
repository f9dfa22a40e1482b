"""Predicts who clicks and who buys by one model: capstan train two_tasks.yaml --worker 'python3 two_tasks.py'"""

import torch
from torch import nn

import capstan_ps.torch as ct


class TwoTasks(nn.Module):
    """Layers that both labels share and train, and one layer for each label on top of them."""

    def __init__(self, job):
        super().__init__()
        self.weights = {label.name: label.weight for label in job.labels}
        self.embeddings = ct.Embeddings(job)
        self.shared = nn.Sequential(nn.Linear(self.embeddings.width, 32), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(32, 1) for name in self.weights})

    def forward(self, batch):
        shared = self.shared(self.embeddings(batch).flatten(1))
        return {name: head(shared).squeeze(1) for name, head in self.heads.items()}


def step(model, batch):
    """Returns one loss for each example: the sum of the losses of its labels."""
    losses = [model.weights[name] * nn.functional.binary_cross_entropy_with_logits(logits, batch.labels[name], reduction="none")
              for name, logits in model(batch).items()]
    return torch.stack(losses).sum(0)


def predict(model, batch):
    """Returns the logits of each label for a held-out batch."""
    return model(batch)


if __name__ == "__main__":
    ct.train(TwoTasks, step, predict)
