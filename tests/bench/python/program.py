#!/usr/bin/python3
"""A worker of the benchmarks: program.py deepfm|resnet|tables, as docs/python.md has it.

Where CAPSTAN_BENCH_HAND_OVER names a folder, worker NAME tells there in NAME.json, as the median over all steps but the first ones,
what of a step is neither the program's own nor its backward pass: {"steps", "milliseconds", "bytes", "pass_milliseconds"}. That is CPU time
of the thread that trains, so that a wait for parameters is none of it: the step is taken, its arrays become tensors and the module's
parameters, gradients are handed back. `bytes`: of the gradients of a step. `pass_milliseconds`: of copying them by memmove, between the
backward pass and handing them over, in every fourth step, which then counts for nothing else."""

import ctypes
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
COPIED = 4  # One step of so many copies its gradients, so as to know what that takes.


class Meter:
    """What the training thread does between the program's own computations."""

    def __init__(self, to):
        self.to, self.mine, self.costs, self.bytes, self.steps = to, 0.0, [], 0, 0
        self.last, self.copies, self.passes, self.trained = None, {}, [], []

    def around(self, call):
        """As `call`, whose time is the program's own."""
        def timed(*arguments, **named):
            began = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                self.mine += time.thread_time() - began
        return timed

    def step(self, model, batch):
        """One has begun: the cost of that before is known."""
        now = time.thread_time()
        if self.last is not None and self.steps > FIRST and not self.copies_now():
            self.costs.append(now - self.last - self.mine)
        self.last, self.mine = now, 0.0
        self.steps += 1
        if self.copies_now():
            self.trained = [*model.parameters(), *batch.tables]
            self.bytes = 4 * sum(tensor.numel() for tensor in self.trained)

    def copies_now(self):
        return self.steps > FIRST and self.steps % COPIED == 0

    def copy(self):
        """The pass over the gradients, which nobody can hand over without. The memory it copies to has been written before."""
        gradients = [tensor.grad for tensor in self.trained if tensor.grad is not None]
        places = [(self.room(place, gradient), gradient.data_ptr(), 4 * gradient.numel()) for place, gradient in enumerate(gradients)]
        self.trained = []  # Views of the step's memory, which is to be let go of.
        began = time.thread_time()
        for place in places:
            ctypes.memmove(*place)
        self.passes.append(time.thread_time() - began)

    def room(self, place, gradient):
        """The address of memory for the gradient. Rows, and so their gradients, are of another size in each step."""
        if place not in self.copies or self.copies[place].numel() < gradient.numel():
            self.copies[place] = torch.ones(2 * gradient.numel())
        return self.copies[place].data_ptr()

    def tell(self):
        if self.costs and self.passes:
            found = {"steps": len(self.costs), "milliseconds": 1000 * statistics.median(self.costs), "bytes": self.bytes,
                     "pass_milliseconds": 1000 * statistics.median(self.passes)}
            self.to.write_text(json.dumps(found), encoding="ascii")


def metered(step):
    """`step`, measured if that is wanted."""
    folder = os.environ.get("CAPSTAN_BENCH_HAND_OVER")
    if not folder:
        return step
    meter = Meter(pathlib.Path(folder) / f"{os.environ['CAPSTAN_NAME']}.json")
    own, backward = meter.around(step), torch.Tensor.backward

    def backward_and_copy(*arguments, **named):
        backward(*arguments, **named)
        if meter.trained:
            meter.copy()
    torch.Tensor.backward = meter.around(backward_and_copy)

    def measured(model, batch):
        meter.step(model, batch)
        if meter.copies_now():  # The worker may be killed at any time.
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
