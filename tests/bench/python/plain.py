#!/usr/bin/python3
"""Plain PyTorch, in one process, with the same models and optimizers as program.py: examples a second after the first steps.

    tests/bench/python/plain.py FOLDER     # what prepare.py has made

It does what is quickest in plain PyTorch, so that the comparison is not in our favour: the records are prepared arrays in memory,
read and numbered before anything is measured, while Capstan's worker parses the text of the same file (or decodes the PNGs) as it
trains; all columns share one table, whose gradient is sparse; nothing is shuffled, evaluated or saved, on either side."""

import json
import pathlib
import sys
import time
import types

import numpy
import torch
from torch import nn

import models

FIRST = 10  # Steps that do not count.


class Table(nn.Module):
    """One table for the ids of all columns, which are numbered together."""

    def __init__(self, count):
        super().__init__()
        self.rows = nn.Embedding(count, models.DIM, sparse=True)
        nn.init.normal_(self.rows.weight, std=0.01)

    def forward(self, batch):
        return self.rows(batch.ids)


def deepfm(arrays):
    """Model, losses, optimizers, batch size, and what makes a batch of records [begin, end)."""
    ids, labels = torch.from_numpy(arrays["ids"]), torch.from_numpy(arrays["labels"])
    table = Table(int(arrays["count"]))
    model = models.DeepFM(table)
    optimizers = [torch.optim.Adagrad(parameters, lr=rate, initial_accumulator_value=models.ACCUMULATOR)
                  for parameters, rate in ((table.parameters(), models.ROW_RATE), (model.mlp.parameters(), models.DENSE_RATE))]
    return model, models.click_losses, optimizers, 1024, lambda a, b: types.SimpleNamespace(ids=ids[a:b].long(), labels=labels[a:b])


def resnet(arrays):
    """Four lanes of 32 are a batch of 128."""
    pixels, labels = torch.from_numpy(arrays["pixels"]), torch.from_numpy(arrays["labels"])
    model = models.resnet18()
    optimizers = [torch.optim.SGD(model.parameters(), lr=models.RATE, momentum=models.MOMENTUM)]
    return model, models.image_losses, optimizers, 128, lambda a, b: types.SimpleNamespace(
        images=pixels[a:b].float().div(255), labels=labels[a:b])


def race(made, count, seconds):
    """Examples a second, and CPU seconds an example, over whole steps."""
    model, losses, optimizers, size, batch = made
    model.train()
    first = FIRST if size > 500 else 2
    steps, began = 0, None
    while began is None or time.monotonic() - began < seconds:
        if steps == FIRST:
            began, cpu = time.monotonic(), time.process_time()
        at = steps * size % (count // size * size)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        losses(model, batch(at, at + size)).mean().backward()
        for optimizer in optimizers:
            optimizer.step()
        steps += 1
    examples = (steps - FIRST) * size
    return examples / (time.monotonic() - began), (time.process_time() - cpu) / examples


def main():
    folder = pathlib.Path(sys.argv[1])
    for make, file, threads, seconds in ((deepfm, "clicks.npz", 1, 10), (deepfm, "clicks.npz", 2, 10), (resnet, "images.npz", 2, 18)):
        torch.manual_seed(1)
        torch.set_num_threads(threads)
        arrays = numpy.load(folder / file)
        rate, cpu = race(make(arrays), len(arrays["labels"]), seconds)
        case = f"{make.__name__}, {threads} thread{'s' * (threads > 1)}"
        print("RESULT", json.dumps({"peer": "torch", "case": case, "unit": "examples/s", "values": [rate], "cpu_per_unit": cpu}), flush=True)


if __name__ == "__main__":
    main()
