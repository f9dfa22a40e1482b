"""Converts the keys that a program passes."""

import collections.abc
import operator

import numpy as np

MOST_KEY = (1 << 64) - 1


def keys_of(table, keys):
    """Returns the keys, a list, a NumPy array or a PyTorch tensor of whole numbers, as an array of uint64. In arrays and tensors of int64
    the negative numbers are the keys from 2^63 on, as in `batch.keys`. ValueError: a key or the type of the array is wrong."""
    array = np.asarray(keys) if hasattr(keys, "__array__") else None
    if array is None:
        if not isinstance(keys, collections.abc.Iterable) or isinstance(keys, (str, bytes)):
            raise ValueError(f"the keys of table {table} are a list of whole numbers, not {keys!r}")
        keys = list(keys)
        if all(_is_key(key) for key in keys):
            return np.array([operator.index(key) for key in keys], np.uint64)
        wrong = next(key for key in keys if not _is_key(key))
        raise ValueError(f"a key of table {table} is a whole number from 0 to 2^64-1, not {wrong!r}")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"the keys of table {table} are whole numbers in one dimension, not {array.dtype} of shape {array.shape}")
    if array.dtype == np.int64:
        return np.ascontiguousarray(array).view(np.uint64)
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ValueError(f"a key of table {table} is a whole number from 0 to 2^64-1, not {array.min()}")
    return np.ascontiguousarray(array, np.uint64)


def _is_key(key):
    try:
        return 0 <= operator.index(key) <= MOST_KEY
    except TypeError:
        return False
