"""Whether a program's step gives the same bits when it is computed again: what a synchronous job is told of its program."""

import dataclasses

import numpy as np


def is_wanted(job):
    return job.synchronous and job.self_check != "off"


def twice(train, tensors, job):
    """Computes a step by `train()`, and then again as it was begun. Returns what came out first, and what of it has other bits the second
    time; None: nothing."""
    kept = tensors.kept()
    first = train()
    # What comes later may be written over them.
    first = dataclasses.replace(first, rows=list(map(_copy, first.rows)), tensors=list(map(_copy, first.tensors)))
    tensors.put_back(kept)
    return first, _difference(tensors.shapes(), job.tables, first, train())


def warning(what):
    return (f"bits depend on who works: {what} differs where a batch is computed twice from the same parameters and seeds; the program "
            "keeps something between steps, or draws from a generator of its own, or reads a clock (train.self_check)")


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
