"""Which items to offer to whom, by two towers in PyTorch: capstan train two_tower.yaml --worker 'python3 two_tower.py'

A record is a user and an item that this user liked. One tower makes a vector of the user, the other one of the item, so that all items'
vectors can be made beforehand and the nearest ones looked up. The items of the other records of a batch are what the user did not choose,
corrected for how often they occur: sampled softmax, Yi et al., "Sampling-bias-corrected neural modeling", RecSys 2019."""

import torch
from torch import nn

import capstan_ps.torch as ct

TEMPERATURE = 0.1


class TwoTower(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.EmbeddingBagCollection(job)
        self.user = nn.Linear(job.dims[0], 32)
        self.item = nn.Linear(job.dims[1], 32)

    def forward(self, batch):
        """The vectors of users and of items, each of length 1."""
        e = self.embeddings(batch)
        return nn.functional.normalize(self.user(e["user"])), nn.functional.normalize(self.item(e["item"]))


def step(model, batch):
    """One loss an example: that the user chose this item, and none of the other records'."""
    users, items = model(batch)
    log_share = batch.numbers[:, 0]  # Of the item among all records: how probable it is to be somebody's other item.
    logits = users @ items.T / TEMPERATURE - log_share
    user, item = (batch.features[name].first() for name in ("user", "item"))
    hidden = same(user) | same(item) | (item < 0)  # What is no item is nobody's other one.
    logits = logits.masked_fill(hidden.fill_diagonal_(False), float("-inf"))
    losses = nn.functional.cross_entropy(logits, torch.arange(len(batch)), reduction="none")
    return losses.masked_fill((user < 0) | (item < 0), 0)  # A record without one of both says nothing of a choice.


def same(index):
    """Which records have the same row: another record of the same user, or of the same item, is none that was not chosen."""
    return index.unsqueeze(0) == index.unsqueeze(1)


if __name__ == "__main__":
    ct.train(TwoTower, step)
