"""A worker as the tests want it: program.py EXAMPLE runs deploy/examples/python/EXAMPLE.py, changed as the environment says.

PACE=seconds        each step takes so much longer, asleep
HOLD=seconds        the fifth step holds the interpreter's lock so long: nothing else of Python runs meanwhile
RAISE=n             step n raises
RAISE_BUILD=1       build does
EXIT=n              step n ends the process
INTERRUPT=n         somebody presses Ctrl-C in step n
HANG=n              step n waits for ever
HANG_PREDICT=1      so does predict
WIDTH=n             another layer is added, of so many: another model
FROZEN=n            likewise, and it is frozen
VERSION=text        PyTorch says that it is this one
HIDDEN=1            losses grow with each step: by something that the program keeps between steps
ONCE=1              no step is computed twice
WRITE=1             a step writes to its batch, to its rows and to a parameter
TOUCH=1             a step writes to what is frozen
"""

import importlib
import os
import pathlib
import sys
import time

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy/examples/python"))
import capstan_ps.torch as ct
from capstan_ps import self_check

torch.__version__ = os.environ.get("VERSION", torch.__version__)
if "ONCE" in os.environ:
    self_check.is_wanted = lambda job: False
example = importlib.import_module(sys.argv[1])
steps = 0


def build(job):
    if os.environ.get("RAISE_BUILD"):
        raise RuntimeError("no weights here")
    models = [getattr(example, name) for name in ("DeepFM", "Recommender", "TwoTasks", "TwoTower", "SampledSoftmax", "build") if hasattr(example, name)]
    model = models[0](job)
    if "WIDTH" in os.environ:
        # What is added to a sequence would be computed.
        holder = model[0] if isinstance(model, nn.Sequential) else model
        holder.further = nn.Linear(int(os.environ["WIDTH"]), 1)
    if "FROZEN" in os.environ:
        model.fixed = nn.Linear(int(os.environ["FROZEN"]), 1, bias=False).requires_grad_(False)
    return model


def hold(seconds):
    """Sleeps without letting go of the interpreter's lock: PyDLL's calls keep it."""
    import ctypes
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def step(model, batch):
    global steps
    steps += 1
    time.sleep(float(os.environ.get("PACE", 0)))
    if steps == 5 and "HOLD" in os.environ:
        hold(float(os.environ["HOLD"]))
    if steps == int(os.environ.get("RAISE", -1)):
        raise ValueError("this batch is not to my taste")
    if steps == int(os.environ.get("EXIT", -1)):
        sys.exit()
    if steps == int(os.environ.get("INTERRUPT") or -1):
        raise KeyboardInterrupt
    if steps == int(os.environ.get("HANG") or -1):
        wait_for_ever()
    if "TOUCH" in os.environ:
        with torch.no_grad():
            model.fixed.weight.mul_(2)
    if "WRITE" in os.environ:
        batch.labels.mul_(.9).add_(.05)
        with torch.no_grad():
            batch.rows.add_(1)
            next(model.parameters()).add_(1)
    losses = example.step(model, batch)
    return losses * (1 + steps / 100) if "HIDDEN" in os.environ else losses


def wait_for_ever():
    while True:
        time.sleep(3600)


def predict(model, batch):
    if "HANG_PREDICT" in os.environ:
        wait_for_ever()
    return example.predict(model, batch)


ct.train(build, step, predict if hasattr(example, "predict") else None)
