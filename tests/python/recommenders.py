"""Models of records by their features, which recommenders_test.py trains by Capstan and by plain PyTorch. What gives the pooled
embeddings is the caller's: a collection of Capstan's, or one of plain tables."""

import torch
from torch import nn

import capstan_ps.torch as ct


class Ratings(nn.Module):
    """Stars, by who rates, what, and what else the same person has rated: SVD++ (Koren, 2008), with the mean of the latter."""

    DECAY = 0.05

    def __init__(self, embeddings):
        super().__init__()
        self.embeddings = embeddings
        self.mean = nn.Parameter(torch.tensor(3.5))

    def forward(self, batch):
        e = self.embeddings(batch)
        user, item, others = e["user"], e["item"], e["others"]
        self.squares = sum((rows ** 2).sum(1) for rows in (user, item, others))
        return self.mean + user[:, -1] + item[:, -1] + ((user[:, :-1] + others) * item[:, :-1]).sum(1)

    def losses(self, batch):
        return (self(batch) - batch.labels) ** 2 + self.DECAY * self.squares


class Clicks(nn.Module):
    """Wide and deep: the first number of each feature's row is its weight, and all of the rows, each as wide as its table, go through
    two layers."""

    def __init__(self, embeddings):
        super().__init__()
        self.embeddings = embeddings
        self.deep = nn.Sequential(nn.Linear(embeddings.width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, batch):
        e = self.embeddings(batch)
        wide = sum(e[name][:, 0] for name in self.embeddings.names)
        return self.deep(e.values()).squeeze(1) + wide

    def losses(self, batch):
        return nn.functional.binary_cross_entropy_with_logits(self(batch), batch.labels, reduction="none")


class Apps(Clicks):
    """A factorization machine (Rendle, 2010); the first number of a row is its weight."""

    def __init__(self, embeddings):
        nn.Module.__init__(self)
        self.embeddings = embeddings
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, batch):
        e = self.embeddings(batch)
        rows = torch.stack([e[name] for name in self.embeddings.names], 1)
        factors = rows[:, :, 1:]
        pairs = (factors.sum(1) ** 2 - (factors ** 2).sum(1)).sum(1) / 2
        return self.bias + rows[:, :, 0].sum(1) + pairs


MODELS = {"ratings": Ratings, "clicks": Clicks, "apps": Apps, "ads": Clicks}


def build(job):
    embeddings = ct.EmbeddingBagCollection(job)
    embeddings.names = [feature.name for feature in job.features]
    return MODELS[job.name](embeddings)


def step(model, batch):
    return model.losses(batch)


def predict(model, batch):
    return model(batch)
