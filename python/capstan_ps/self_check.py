"""Checks, for synchronous jobs, whether a program's step gives the same bits when it is computed again."""

import dataclasses

import numpy as np


def is_wanted(job):
    """Returns whether the job is synchronous. In other jobs the bits depend on the workers in any case."""
    return job.synchronous


class Lent:
    """A step whose arrays can be restored to what they were when they were handed out, as a program may write to them."""

    def __init__(self, taken):
        self._taken, self._lent = taken, []

    def __getattr__(self, name):
        found = getattr(self._taken, name)
        return (lambda *arguments: self._handed(found(*arguments))) if callable(found) else found

    def _handed(self, out):
        for part in out if isinstance(out, tuple) else (out,):
            if hasattr(part, "__dlpack__"):
                memory = np.asarray(part)
                self._lent.append((memory, memory.copy()))
        return out

    def put_back(self):
        for memory, before in self._lent:
            np.copyto(memory, before)
        self._lent.clear()


def twice(train, taken, tensors, job):
    """Computes the step by `train(taken)`, restores everything, and computes it again. Returns the first result, and the name of what has
    other bits the second time; None if nothing has."""
    kept, lent = tensors.kept(), Lent(taken)
    first = train(lent)
    # Copied, as the second computation may overwrite them.
    first = dataclasses.replace(first, rows=list(map(_copy, first.rows)), tensors=list(map(_copy, first.tensors)))
    tensors.put_back(kept)
    lent.put_back()
    return first, _difference(tensors.shapes(), job.tables, first, train(taken))


def warning(what):
    return (f"bits depend on who works: {what} differs where a batch is computed twice from the same parameters and seeds; the program "
            "keeps something between steps, or draws from a generator of its own, or reads a clock")


def _copy(array):
    return None if array is None else np.array(array)


def _difference(names, tables, first, second):
    for name, one, other in zip(names, first.tensors, second.tensors):
        if not _same(one, other):
            return name
    for table, one, other in zip(tables, first.rows, second.rows):
        if not _same(one, other):
            return f"the gradient of table {table}"
    return None if first.loss_sum.hex() == second.loss_sum.hex() else "the loss"


def _same(one, other):
    if one is None or other is None:
        return one is other
    one, other = (np.asarray(array).reshape(-1).view(np.uint32) for array in (one, other))
    return np.array_equal(one, other)
