"""A user's program, run for what it hands to train(), where nothing is trained: its model is to be computed elsewhere."""

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
    """What the program has handed to train(), which ends the program there. No `except Exception` of the program catches it."""


class Refused(Exception):
    """What was asked for cannot be done, in a line."""


def take(front, step, predict):
    """Called by train(): ends the program where it was run for what it hands over, and does nothing elsewhere."""
    if _asked:
        raise _Handed(front, step, predict)


class Program:
    """The program at the path that the first word of `words` names; the others are its arguments."""

    def __init__(self, words):
        path, *arguments = shlex.split(words) or [""]
        if not pathlib.Path(path).is_file():
            raise Refused(f"--program {words}: there is no file {path!r}; expected the Python file of the model, and its arguments if it has any")
        self.name = pathlib.Path(path).name
        self._front, _, self.predict = _handed_by(path, arguments)

    def model_of(self, model):
        """What the program's build gives, with the values that `model` (capstan_ps.model.Model) has."""
        built, tensors = self._front.begin(model.job)
        values = model.parameters()
        _serving.fit(tensors.shapes(), {name: list(array.shape) for name, array in values.items()})
        flat = [values[name].ravel() for name in sorted(values, key=str.encode)]
        tensors.take(_serving.Parameters(bytearray(np.concatenate(flat)) if flat else b""))  # A bytearray: PyTorch wants memory that can be written.
        return built

    def logits(self, built, records, job):
        """What the program's predict gives: [records] or [records, outputs]."""
        return np.asarray(self._front.logits(built, records, job))


def _handed_by(path, arguments):
    """As `python3 path arguments` runs it: by the name __main__, and with its own folder first in the path of modules."""
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
    """A program that goes over a set of names builds the model that was trained only where texts have the hashes that they had there, which
    Python takes from its environment as it starts."""
    if "PYTHONHASHSEED" not in os.environ:
        os.environ["PYTHONHASHSEED"] = "0"  # As `capstan train` sets it.
        sys.stdout.flush()
        os.execv(sys.executable, sys.orig_argv)


def parser(name, doc):
    """Arguments that name a model and its program. `doc`: of the module, whose first line says what it does."""
    arguments = argparse.ArgumentParser(prog=f"python3 -m {name}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True, metavar="FILE",
                           help="the program that has trained the model: model.py, or 'model.py --its arguments'")
    return arguments


def main(name, run):
    """Ends the process with what `run` comes to: 0; 2: what was asked for cannot be done; 3: the program has failed."""
    _hash_as_in_training()
    def tell(why):
        print(f"{name}: {why}", file=sys.stderr)

    try:
        run()
        sys.stdout.flush()
    except BrokenPipeError:  # Whoever reads has enough, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Refused, _worker.Refused) as error:
        tell(error)
        raise SystemExit(2) from None
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        tell(f"{_worker.place(error)}: {type(error).__name__}: {error}")
        raise SystemExit(3) from None
