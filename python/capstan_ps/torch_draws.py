"""What PyTorch, NumPy and Python draw next: modules are built, and steps computed, with the same draws in every process."""

import contextlib
import random
import sys

import torch

from capstan_ps import loop as _loop


def seed(number):
    """Of the CPU alone: torch.manual_seed notes down where it was called from for devices that nobody uses, at .1 ms a step."""
    torch.default_generator.manual_seed(number & 0x7FFFFFFFFFFFFFFF)
    _loop.seed(number)


@contextlib.contextmanager
def seeded(number):
    """Draws begin with the number within, and go on afterwards as if nothing had been drawn: the process is somebody else's."""
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
