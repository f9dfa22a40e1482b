"""A convolutional network with BatchNorm in PyTorch. All parameters are on Capstan's shards, and training is synchronous:
capstan train cnn.yaml --worker 'python3 cnn.py'"""

import torch
from torch import nn

import capstan_ps.torch as ct


def build(job):
    height, width = job.image
    return nn.Sequential(
        nn.Conv2d(job.channels, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8 * (height // 2) * (width // 2), job.outputs))


def step(net, batch):
    return nn.functional.cross_entropy(net(batch.images), batch.labels.long(), reduction="none")


def predict(net, batch):
    return net(batch.images)


if __name__ == "__main__":
    ct.train(build, step, predict)
