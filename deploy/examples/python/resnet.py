"""ResNet-18 (He et al., 2016) for colour images of any size. All parameters are on Capstan's shards, and training is synchronous:
capstan train resnet.yaml --worker 'python3 resnet.py'"""

from torch import nn

import capstan_ps.torch as ct


class Block(nn.Module):
    """Two convolutions, and a shortcut around them."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels))
        self.around = nn.Sequential() if stride == 1 and channels_in == channels else nn.Sequential(
            nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, images):
        return nn.functional.relu(self.body(images) + self.around(images))


def build(job):
    blocks, channels_in = [], 64
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(channels_in, channels, stride), Block(channels, channels, 1)]
        channels_in = channels
    return nn.Sequential(
        nn.Conv2d(job.channels, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, job.outputs))


def step(net, batch):
    return nn.functional.cross_entropy(net(batch.images), batch.labels.long(), reduction="none")


def predict(net, batch):
    return net(batch.images)


if __name__ == "__main__":
    ct.train(build, step, predict)
