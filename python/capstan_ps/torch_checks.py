"""Refuses modules that do what works in PyTorch alone but not in a job. The error names the tensor, and says what to write instead."""

import itertools

import torch

from capstan_ps import worker as _worker

_COUNTER = "num_batches_tracked"  # Steps may change this buffer, but the change is not kept.


def refuse_shared(tensors, parameters):
    """Refuses two of `tensors`, {name: tensor}, that share memory if at least one is a parameter, named in `parameters`. In PyTorch a write
    to one changes the other; in a job each has memory of its own."""
    for names in _by_storage(tensors).values():
        for other, name in itertools.combinations(names, 2):
            if (name in parameters or other in parameters) and _overlap(tensors[name], tensors[other]):
                raise _worker.Refused(f"{other} and {name} share memory, which they would not in a job: to tie them, give both names the same "
                                      f"Parameter (self.b.weight = self.a.weight), or else clone() one of them")


class Aftermath:
    """Checks a module after its first step. What it refuses is a TypeError."""

    def __init__(self, module, parameters):
        """`parameters`: the parameters of the module, {name: tensor}."""
        self._names = _names_in(module)
        # Some of PyTorch's functions, such as spectral_norm, set an attribute to a view, and replace it before it is used. So
        # views are refused only if they are still there after the first step.
        of_storage = _by_storage(parameters)
        self._views = [(view, name) for _, view in _attributes(module) for name in of_storage.get(_storage(view), ())
                       if view is not parameters[name] and _overlap(view, parameters[name])]

    def check(self, module):
        for kind, name in sorted(_names_in(module) - self._names):
            raise TypeError(f"{kind} {name} has appeared after build, so that it is no part of the job: no shard has it, and it is another one in "
                            "each worker; make it in build")
        for where, tensor in _attributes(module):
            for view, name in self._views:
                if tensor is view:
                    raise TypeError(f"{where} is a view of parameter {name}, made in build: it stays as it began, while the parameter is trained; make the "
                                    "view in forward, or clone() it in build")


def _names_in(module):
    buffers = (name for name, _ in module.named_buffers() if name.rpartition(".")[2] != _COUNTER)
    return {*(("parameter", name) for name, _ in module.named_parameters()), *(("buffer", name) for name in buffers)}


def _attributes(module):
    """Yields (name, tensor) for all tensors that are plain attributes of a module, also in lists, tuples and dictionaries."""
    for where, child in module.named_modules():
        for name, value in vars(child).items():
            if name in ("_parameters", "_buffers", "_modules"):
                continue
            values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,)
            for tensor in values:
                if isinstance(tensor, torch.Tensor):
                    yield f"{where}.{name}".lstrip("."), tensor


def _by_storage(tensors):
    """Returns the names of `tensors`, {name: tensor}, by the address of their memory."""
    found = {}
    for name, tensor in tensors.items():
        if address := _storage(tensor):
            found.setdefault(address, []).append(name)
    return found


def _overlap(one, other):
    """Returns whether two tensors in the same storage have an element in common."""
    (begin, end), (other_begin, other_end) = _range(one), _range(other)
    if end <= other_begin or other_end <= begin:
        return False
    if one.is_contiguous() and other.is_contiguous():
        return True
    return bool(torch.isin(_places(one), _places(other)).any())  # Two columns of a matrix have interleaved elements, but none in common.


def _range(tensor):
    """Returns the offsets in the storage, in bytes, of the tensor's first element and of the end of its last."""
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    begin = tensor.storage_offset() * tensor.element_size()
    return begin, begin + (last + 1) * tensor.element_size()


def _places(tensor):
    """Returns the offsets in bytes of all elements."""
    found = torch.full((1,), tensor.storage_offset())
    for extent, stride in zip(tensor.shape, tensor.stride(), strict=True):
        found = (found.unsqueeze(1) + torch.arange(extent) * stride).reshape(-1)
    return found * tensor.element_size()


def _storage(tensor):
    """Returns the address of the tensor's memory; 0 if it has none."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or not tensor.numel():
        return 0
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()
