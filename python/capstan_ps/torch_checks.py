"""What modules do that is right in PyTorch alone, and that no job can follow: it is refused by name, with what to write instead."""

import itertools

import torch

from capstan_ps import worker as _worker

_COUNTER = "num_batches_tracked"  # Steps may change it: it stays what it was.


def refuse_shared(tensors, parameters):
    """Refuses parameters and buffers, {name: tensor}, that share memory where one of them is among the names `parameters`: each has memory
    of its own in a job, and in PyTorch what is written to one is written to the other."""
    for names in _by_storage(tensors).values():
        for other, name in itertools.combinations(names, 2):
            if (name in parameters or other in parameters) and _overlap(tensors[name], tensors[other]):
                raise _worker.Refused(f"{other} and {name} share memory, which they would not in a job: to tie them, give both names the same "
                                      f"Parameter (self.b.weight = self.a.weight), or else clone() one of them")


class Aftermath:
    """What a module has become when its first step is over. Each complaint is a TypeError."""

    def __init__(self, module, parameters):
        """`parameters`: those of the module, {name: tensor}."""
        self._names = _names_in(module)
        # Some of PyTorch's own, such as spectral_norm, put a view there, and another tensor in its place before it is used.
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
    """(name, tensor) of all that are plain attributes of a module, also in lists, tuples and dictionaries."""
    for where, child in module.named_modules():
        for name, value in vars(child).items():
            if name in ("_parameters", "_buffers", "_modules"):
                continue
            values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,)
            for tensor in values:
                if isinstance(tensor, torch.Tensor):
                    yield f"{where}.{name}".lstrip("."), tensor


def _by_storage(tensors):
    """The names of {name: tensor} by the address of their memory."""
    found = {}
    for name, tensor in tensors.items():
        if address := _storage(tensor):
            found.setdefault(address, []).append(name)
    return found


def _overlap(one, other):
    """Whether an element of one is an element of the other, where both have the same memory."""
    (begin, end), (other_begin, other_end) = _range(one), _range(other)
    if end <= other_begin or other_end <= begin:
        return False
    if one.is_contiguous() and other.is_contiguous():
        return True
    return bool(torch.isin(_places(one), _places(other)).any())  # Such as two columns of a matrix, which lie between each other.


def _range(tensor):
    """The places in memory, in bytes, of its first element and behind its last."""
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    begin = tensor.storage_offset() * tensor.element_size()
    return begin, begin + (last + 1) * tensor.element_size()


def _places(tensor):
    """Those of all elements."""
    found = torch.full((1,), tensor.storage_offset())
    for extent, stride in zip(tensor.shape, tensor.stride(), strict=True):
        found = (found.unsqueeze(1) + torch.arange(extent) * stride).reshape(-1)
    return found * tensor.element_size()


def _storage(tensor):
    """The address of its memory; 0: it has none."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or not tensor.numel():
        return 0
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()
