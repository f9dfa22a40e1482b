"""The models that are raced: the same modules on Capstan's shards and in plain PyTorch, which differ in where embeddings come from."""

import torch
from torch import nn

FIELDS, DIM, HIDDEN = 39, 16, 400
CLASSES, SIDE, WIDTH = 10, 32, 32
# Of both sides: Adagrad of DeepFM's rows and tensors, momentum of the residual network.
ROW_RATE, DENSE_RATE, ACCUMULATOR = 0.02, 0.01, 0.1
RATE, MOMENTUM = 0.05, 0.9


class DeepFM(nn.Module):
    """`embeddings(batch)` gives [examples, FIELDS, DIM]. Two layers of HIDDEN."""

    def __init__(self, embeddings):
        super().__init__()
        self.embeddings = embeddings
        self.mlp = nn.Sequential(nn.Linear(FIELDS * DIM, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def forward(self, batch):
        e = self.embeddings(batch)
        pairs = (e.sum(1).square() - e.square().sum(1)).sum(1) / 2
        return self.mlp(e.flatten(1)).squeeze(1) + pairs


class Block(nn.Module):
    """Two convolutions, and the way around them (He et al., 2016)."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.around = nn.Sequential()
        if stride != 1 or before != width:
            self.around = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + self.around(x))


def resnet18():
    """ResNet-18 of half the width, for images of 32 x 32: a first convolution of 3 x 3 and no pooling behind it. 2.8 M parameters in 62
    tensors: compute and what travels shrink alike, and a step takes a second or so of two cores."""
    blocks, before = [], WIDTH
    for width, stride in ((WIDTH, 1), (2 * WIDTH, 2), (4 * WIDTH, 2), (8 * WIDTH, 2)):
        blocks += [Block(before, width, stride), Block(width, width, 1)]
        before = width
    return nn.Sequential(nn.Conv2d(3, WIDTH, 3, 1, 1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, CLASSES))


def click_losses(model, batch):
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")


def image_losses(net, batch):
    return nn.functional.cross_entropy(net(batch.images), batch.labels.long(), reduction="none")
