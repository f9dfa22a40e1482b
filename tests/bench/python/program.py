#!/usr/bin/python3
"""A worker of the benchmarks: program.py deepfm|resnet|tables, as docs/python.md has it.

Where CAPSTAN_BENCH_HAND_OVER names a folder, worker NAME tells there in NAME.json, as the median over all steps but the first ones,
what of a step is neither the program's own nor its backward pass: {"steps", "milliseconds", "bytes"}. That is CPU time of the thread that
trains, so that a wait for parameters is none of it: the step is taken, its arrays become tensors and the module's parameters, gradients are
handed back. `bytes`: of the gradients of a step."""

import json
import os
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

import capstan_ps.torch as ct
import models

FIRST = 8  # Steps that do not count.


class Meter:
    """What the training thread does between the program's own computations."""

    def __init__(self, to):
        self.to, self.mine, self.costs, self.bytes = to, 0.0, [], 0
        self.last = None

    def around(self, call):
        """As `call`, whose time is the program's own."""
        def timed(*arguments, **named):
            began = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                self.mine += time.thread_time() - began
        return timed

    def step(self):
        """One has begun: the cost of that before is known."""
        now = time.thread_time()
        if self.last is not None:
            self.costs.append(now - self.last - self.mine)
        self.last, self.mine = now, 0.0

    def tell(self):
        costs = self.costs[FIRST:]
        if costs:
            found = {"steps": len(costs), "milliseconds": 1000 * statistics.median(costs), "bytes": self.bytes}
            self.to.write_text(json.dumps(found), encoding="ascii")


def metered(step):
    """`step`, measured if that is wanted."""
    folder = os.environ.get("CAPSTAN_BENCH_HAND_OVER")
    if not folder:
        return step
    meter = Meter(pathlib.Path(folder) / f"{os.environ['CAPSTAN_NAME']}.json")
    own = meter.around(step)
    torch.Tensor.backward = meter.around(torch.Tensor.backward)

    def measured(model, batch):
        meter.step()
        if len(meter.costs) == FIRST:
            meter.bytes = 4 * sum(tensor.numel() for tensor in [*model.parameters(), *batch.tables])
        if len(meter.costs) % 5 == 0:  # The worker may be killed at any time.
            meter.tell()
        return own(model, batch)
    return measured


class Tables(nn.Module):
    """As little computing as there can be beside pulls and pushes: the sum of all pooled embeddings."""

    def __init__(self, job):
        super().__init__()
        self.embeddings = ct.EmbeddingBagCollection(job)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, batch):
        return self.bias + self.embeddings(batch).values().sum(1)


PROGRAMS = {"deepfm": (lambda job: models.DeepFM(ct.Embeddings(job)), models.click_losses),
            "resnet": (lambda job: models.resnet18(), models.image_losses),
            "tables": (Tables, models.click_losses)}


if __name__ == "__main__":
    build, losses = PROGRAMS[sys.argv[1]]
    ct.train(build, metered(losses))
