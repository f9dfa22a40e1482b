"""A worker in NumPy as the tests want it, where no PyTorch can be imported: numpy_program.py EXAMPLE runs deploy/examples/python/EXAMPLE.py
or one beside this file, changed as the environment says.

PACE=seconds        each step takes so much longer, asleep
WIDTH=n             another tensor is added, of so many numbers
ROLES=1             two more tensors: a frozen one, and the running mean of the labels
MISTAKE=text        an expression in place of what step gives; it may name `losses`, `gradients`, `params` and `batch`
"""

import importlib
import os
import pathlib
import sys
import time

sys.modules["torch"] = None  # `import torch` raises ImportError.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy/examples/python"))
import numpy as np

import capstan_ps.numpy as cn

example = importlib.import_module(sys.argv[1])


def build(job):
    further = {"further": np.zeros(int(os.environ["WIDTH"]), np.float32)} if "WIDTH" in os.environ else {}
    if "ROLES" in os.environ:
        further |= {"fixed": cn.frozen(np.arange(3, dtype=np.float32)), "rate": cn.running(np.zeros(1, np.float32))}
    return {**example.build(job), **further}


def step(params, batch):
    time.sleep(float(os.environ.get("PACE", 0)))
    losses, gradients = example.step(params, batch)
    if "WIDTH" in os.environ:
        gradients.tensors["further"] = np.ones_like(params["further"])
    if "ROLES" in os.environ:
        gradients = gradients._replace(running={"rate": 0.9 * params["rate"] + 0.1 * batch.labels.mean(keepdims=True)})
    if "MISTAKE" in os.environ:
        return eval(os.environ["MISTAKE"], {"np": np, "cn": cn}, {"losses": losses, "gradients": gradients, "params": params, "batch": batch})
    return losses, gradients


cn.train(build, step, example.predict)
