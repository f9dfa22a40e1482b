"""Which tensors of a module are its job's."""

import torch


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
