"""Decides which tensors of a module belong to its job, and prepares them for the worker to read."""

import operator

import numpy as np
import torch

_DTYPE, _LAYOUT, _IS_CPU = map(operator.attrgetter, ("dtype", "layout", "is_cpu"))


def declared(module):
    """Returns the tensors of the job as {name: tensor}: the parameters, each under its first name if it has several, and the held
    buffers."""
    found = dict(module.named_parameters())
    found.update((name, buffer) for name, buffer in module.named_buffers() if is_held(buffer))
    return found


def is_held(buffer):
    """Returns whether the job holds a buffer: one of finite floats, which shards can hold. All others stay as `build` makes them: integers,
    such as positions, and buffers with infinities, such as the mask that is added to attention scores."""
    return buffer.is_floating_point() and not bool(buffer.isinf().any())


def fill(module, values):
    """Sets the tensors of the module that belong to its job to `values`, {name: tensor}. ValueError: names or shapes do not fit."""
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
    """Returns the tensors, or contiguous copies of them with the elements as they are in memory; None stays None. TypeError, with the name
    from `names`: a tensor is not of float32 on the CPU."""
    there = [tensor for tensor in tensors if tensor is not None]
    # Checked for all tensors at once: one by one takes twice as long, in every step of the program.
    if ({*map(_DTYPE, there)} <= {torch.float32} and {*map(_LAYOUT, there)} <= {torch.strided} and all(map(_IS_CPU, there))
            and all(map(torch.Tensor.is_contiguous, there)) and not any(map(torch.Tensor.is_neg, there))):
        return tensors
    return [None if tensor is None else _readable(tensor, name) for tensor, name in zip(tensors, names)]


def _readable(tensor, name):
    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    if dense.dtype != torch.float32 or not dense.is_cpu:
        raise TypeError(f"{name} is {dense.dtype} on {dense.device}; expected torch.float32 on the CPU: what is held stays as it was built, and "
                        "forward may compute in another type, as under torch.autocast")
    return dense.contiguous().resolve_neg()  # The imaginary part of a conjugate is negated only when it is read.


def memory(arrays):
    """Returns the address and the number of elements of each of the `readable` arrays, as Step.finish_at takes them; None stays None. A
    DLPack capsule would take four times as long. Arrays that a self-check has copied are NumPy's."""
    tensors = (torch.from_numpy(array) if isinstance(array, np.ndarray) else array for array in arrays)
    return [None if tensor is None else (tensor.data_ptr(), tensor.numel()) for tensor in tensors]
