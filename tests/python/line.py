"""A program of the tests: what each number is worth, and what there is without any."""

from torch import nn


def build(job):
    return nn.Linear(job.numbers, 1)


def predict(model, batch):
    return model(batch.numbers).squeeze(1)


def step(model, batch):
    return (predict(model, batch) - batch.labels) ** 2
