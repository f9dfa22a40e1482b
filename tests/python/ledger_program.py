"""A worker whose model is a ledger, in NumPy: by how much the row of a record's key has grown tells how often the record was trained, and by
how much `records` has, how many were trained in all. See program_ledger.py.

PACE=seconds        each step takes so much longer, asleep
"""

import os
import sys
import time

sys.modules["torch"] = None  # `import torch` raises ImportError.
import numpy as np

import capstan_ps.numpy as cn


def build(job):
    return {"records": np.zeros(1, np.float32)}


def step(params, batch):
    """The gradient is -1 a record, whatever the parameters are, so that SGD adds its rate."""
    time.sleep(float(os.environ.get("PACE", 0)))
    of_rows = batch.bags.each_grad(np.full((len(batch.index), 1), -1, np.float32))
    return np.zeros(len(batch), np.float32), cn.Gradients({"records": np.array([-len(batch)], np.float32)}, {"features": of_rows})


if __name__ == "__main__":
    cn.train(build, step)
