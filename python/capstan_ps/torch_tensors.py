"""Which tensors of a module are its job's, and how the worker reads them."""

import operator

import numpy as np
import torch

_DTYPE, _LAYOUT, _IS_CPU = map(operator.attrgetter, ("dtype", "layout", "is_cpu"))


def declared(module):
    """{name: tensor}: the parameters, of which one that has several names has the first, and the buffers that are held."""
    found = dict(module.named_parameters())
    found.update((name, buffer) for name, buffer in module.named_buffers() if is_held(buffer))
    return found


def is_held(buffer):
    """Whether the job holds a buffer: one of floats, which shards can hold. What is left is as `build` makes it: integers, such as
    positions, and infinities, such as the mask that is added to attention."""
    return buffer.is_floating_point() and not bool(buffer.isinf().any())


def fill(module, values):
    """Gives the tensors of the module that are its job's these values, {name: tensor}, and tells which of them do not fit."""
    own = declared(module)
    if set(own) != set(values):
        name = min(set(own) ^ set(values))
        whose, other = ("the program", "the model") if name in own else ("the model", "the program")
        raise ValueError(f"{whose} has {name}, and {other} does not")
    with torch.no_grad():
        for name, tensor in own.items():
            if tensor.shape != values[name].shape:
                raise ValueError(f"{name} is {list(tensor.shape)} in the program, and {list(values[name].shape)} in the model")
            tensor.copy_(values[name])


def readable(tensors, names):
    """The tensors, or copies of them, each with its elements in memory in their order and as they are; None stays None. TypeError, with the
    name of `names`: one is not of float32 on the CPU."""
    there = [tensor for tensor in tensors if tensor is not None]
    # For all at once, as a step's time is the program's: one by one that takes twice as long.
    if ({*map(_DTYPE, there)} <= {torch.float32} and {*map(_LAYOUT, there)} <= {torch.strided} and all(map(_IS_CPU, there))
            and all(map(torch.Tensor.is_contiguous, there)) and not any(map(torch.Tensor.is_neg, there))):
        return tensors
    return [None if tensor is None else _readable(tensor, name) for tensor, name in zip(tensors, names)]


def _readable(tensor, name):
    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    if dense.dtype != torch.float32 or not dense.is_cpu:
        raise TypeError(f"{name} is {dense.dtype} on {dense.device}; expected torch.float32 on the CPU: what is held stays as it was built, and "
                        "forward may compute in another type, as under torch.autocast")
    return dense.contiguous().resolve_neg()  # What is a part of something conjugated is negated as it is read, and not before.


def memory(arrays):
    """Where each of what is `readable` begins, and its number of elements, as Step.finish_at takes them: a capsule of DLPack would take
    four times as long. None stays None. What a self-check has copied is NumPy's."""
    tensors = (torch.from_numpy(array) if isinstance(array, np.ndarray) else array for array in arrays)
    return [None if tensor is None else (tensor.data_ptr(), tensor.numel()) for tensor in tensors]
