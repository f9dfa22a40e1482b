"""Seeds the generators of PyTorch, NumPy and Python, so that every process builds modules and computes steps with the same draws."""

import contextlib
import random
import sys

import torch

from capstan_ps import loop as _loop


def seed(number):
    """Seeds the generators. Seeds only the CPU of PyTorch: torch.manual_seed also records its caller for devices that nobody uses, which
    costs 0.1 ms in each step."""
    torch.default_generator.manual_seed(number & 0x7FFFFFFFFFFFFFFF)
    _loop.seed(number)


@contextlib.contextmanager
def seeded(number):
    """A context in which the generators are seeded with the number. Their state is restored afterwards, as the process belongs to somebody
    else."""
    numpy = sys.modules.get("numpy")
    of_torch, of_python, of_numpy = torch.default_generator.get_state(), random.getstate(), numpy and numpy.random.get_state()
    seed(number)
    try:
        yield
    finally:
        torch.default_generator.set_state(of_torch)
        random.setstate(of_python)
        if numpy:
            numpy.random.set_state(of_numpy)
