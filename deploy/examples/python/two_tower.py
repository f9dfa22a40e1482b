"""Finds the items to offer to a user by two towers in PyTorch: capstan train two_tower.yaml --worker 'python3 two_tower.py'

A record is a user and an item that this user liked. One tower computes a vector of the user, and the other a vector of the item. So the
vectors of all items can be computed beforehand, and the nearest ones looked up. The items of the other records of a batch serve as items
that the user did not choose, with a correction for how often they occur: sampled softmax, Yi et al.,
"Sampling-bias-corrected neural modeling", RecSys 2019."""

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
        """Returns the vectors of the users and of the items, each of length 1."""
        e = self.embeddings(batch)
        return nn.functional.normalize(self.user(e["user"])), nn.functional.normalize(self.item(e["item"]))


def step(model, batch):
    """Returns one loss for each example: the user chose this item, and none of the items of the other records."""
    users, items = model(batch)
    log_share = batch.numbers[:, 0]  # The logarithm of the item's share in all records: how often it is another record's item.
    logits = users @ items.T / TEMPERATURE - log_share
    user, item = (batch.features[name].first() for name in ("user", "item"))
    hidden = same(user) | same(item) | (item < 0)  # A missing item is not used as another record's item.
    logits = logits.masked_fill(hidden.fill_diagonal_(False), float("-inf"))
    losses = nn.functional.cross_entropy(logits, torch.arange(len(batch)), reduction="none")
    return losses.masked_fill((user < 0) | (item < 0), 0)  # A record without a user or an item has no loss.


def same(index):
    """Returns which pairs of records have the same row. Records of the same user or the same item are no examples of items not chosen."""
    return index.unsqueeze(0) == index.unsqueeze(1)


if __name__ == "__main__":
    ct.train(TwoTower, step)
