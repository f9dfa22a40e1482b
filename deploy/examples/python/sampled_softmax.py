"""Predicts which of many items a user chooses next, in PyTorch: capstan train sampled_softmax.yaml --worker 'python3 sampled_softmax.py'

A record is what somebody chose before and what was chosen then. Beside that, each batch has items that Capstan has drawn from a file of all
of them (data.negatives), and the loss is that of a softmax over the chosen item and these, corrected for how often each is drawn: sampled
softmax, Jean et al., "On Using Very Large Target Vocabulary for Neural Machine Translation", ACL 2015."""

import torch
from torch import nn

import capstan_ps.torch as ct


class SampledSoftmax(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.EmbeddingBagCollection(job)
        self.wanted = nn.Linear(job.dims[0], job.dims[0])

    def forward(self, batch):
        """Returns a vector of what a user with this history wants, and the vector of the chosen item. Their product is the choice's logit."""
        e = self.embeddings(batch)
        return self.wanted(e["history"]), e["item"]


def step(model, batch):
    """Returns one loss for each example: this item was chosen, and none of the drawn ones."""
    wanted, chosen = model(batch)
    drawn = batch.negatives["item"]
    own = (wanted * chosen).sum(1) - drawn.log_share_of_records
    others = wanted @ drawn.each().T - drawn.log_share
    item = batch.features["item"].first()
    same = item.unsqueeze(1) == drawn.index  # The chosen item itself may be drawn.
    logits = torch.cat([own.unsqueeze(1), others.masked_fill(same, float("-inf"))], 1)
    losses = nn.functional.cross_entropy(logits, torch.zeros(len(batch), dtype=torch.long), reduction="none")
    return losses.masked_fill(item < 0, 0)  # A record without an item has no loss.


if __name__ == "__main__":
    ct.train(SampledSoftmax, step)
