"""Runs a user's program only up to its call of train(), to get the functions that it passes. Nothing is trained; the caller uses the
functions to compute the program's model."""

import argparse
import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import sys

import numpy as np

from capstan_ps import serving as _serving
from capstan_ps import worker as _worker

_asked = False


class _Handed(BaseException):
    """The arguments that the program has passed to train(). Raising it ends the program there. It is no Exception, so that no
    `except Exception` of the program catches it."""


class Refused(Exception):
    """The request cannot be carried out; the message is one line."""


def take(front, step, predict):
    """Called by train(). Ends the program if it was run only for the arguments of train(), and otherwise does nothing."""
    if _asked:
        raise _Handed(front, step, predict)


class Program:
    """A user's program. The first of `words` is its path, and the others are its arguments."""

    def __init__(self, words):
        path, *arguments = shlex.split(words) or [""]
        if not pathlib.Path(path).is_file():
            raise Refused(f"--program {words}: there is no file {path!r}; expected the Python file of the model, and its arguments if it has any")
        self.name = pathlib.Path(path).name
        self._front, _, self.predict = _handed_by(path, arguments)

    def model_of(self, model):
        """Returns the model that the program's build returns, with the values of `model` (capstan_ps.model.Model)."""
        built, tensors = self._front.begin(model.job)
        values = model.parameters()
        _serving.fit(tensors.shapes(), {name: list(array.shape) for name, array in values.items()})
        flat = [values[name].ravel() for name in sorted(values, key=str.encode)]
        # A bytearray, as PyTorch requires writable memory.
        tensors.take(_serving.Parameters(bytearray(np.concatenate(flat)) if flat else b""))
        return built

    def logits(self, built, records, job):
        """Returns the logits that the program's predict computes: [records] or [records, outputs]."""
        return np.asarray(self._front.logits(built, records, job))


def _handed_by(path, arguments):
    """Runs the program as `python3 path arguments` would, with the name __main__ and its own folder first in sys.path. Returns the
    arguments of its call of train()."""
    global _asked
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("__main__", loader))
    sys.modules["__main__"] = module
    _asked = True
    try:
        loader.exec_module(module)
    except _Handed as handed:
        return handed.args
    finally:
        _asked = False
    raise Refused(f"{path} has ended without calling train() of capstan_ps.torch or capstan_ps.numpy, so there is no model in it")


def _hash_as_in_training():
    """Restarts Python with the seed for hashes that training has used, unless the environment sets one. A program that iterates over a set
    of names builds the trained model only with the same hashes, and Python reads the seed from its environment when it starts."""
    if "PYTHONHASHSEED" not in os.environ:
        os.environ["PYTHONHASHSEED"] = "0"  # The value that `capstan train` sets.
        sys.stdout.flush()
        os.execv(sys.executable, sys.orig_argv)


def parser(name, doc):
    """Returns a parser with the option --program. `name` and `doc` are the name and the docstring of the module that is run."""
    arguments = argparse.ArgumentParser(prog=f"python3 -m {name}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True, metavar="FILE",
                           help="the program that has trained the model: model.py, or 'model.py --its arguments'")
    return arguments


def main(name, run):
    """Calls `run`, and ends the process: with 0, with 2 if the request cannot be carried out, or with 3 if the program has failed."""
    _hash_as_in_training()
    def tell(why):
        print(f"{name}: {why}", file=sys.stderr)

    try:
        run()
        sys.stdout.flush()
    except BrokenPipeError:  # The reader has closed the pipe, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Refused, _worker.Refused) as error:
        tell(error)
        raise SystemExit(2) from None
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        tell(f"{_worker.place(error)}: {type(error).__name__}: {error}")
        raise SystemExit(3) from None
