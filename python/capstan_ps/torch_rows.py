"""Takes rows of a table by their places, and adds values by place, with gradients. The results have the same bits as those of PyTorch's
embedding and index_add. They cost less processor time, because PyTorch's functions go through dispatch and iterators for each key."""

import operator

import torch
from torch import nn
from torch.autograd import forward_ad

from capstan_ps import _capstan

_KIND = operator.attrgetter("dtype", "layout", "is_cpu")
_ROWS, _PLACES = (torch.float32, torch.strided, True), (torch.int64, torch.strided, True)
# These say whether something follows the program's operations: it has to see PyTorch's own functions. Not all versions of PyTorch have each
# of them. The compiler's is the first, as the compiler cannot follow the others.
_is_compiled, _is_transformed, _count_modes = (found or (lambda: False) for found in (
    getattr(getattr(torch, "compiler", None), "is_compiling", None), getattr(torch._C, "_are_functorch_transforms_active", None),
    getattr(torch._C, "_len_torch_dispatch_stack", None)))


def take(rows, places):
    """Returns rows[places]: [places, dim]."""
    if _is_followed() or not _is_quicker(rows, places):
        return nn.functional.embedding(places, rows)
    return _Take.apply(rows, places)


def add(values, places, count):
    """Returns, for each of `count` places, the sum of those of `values`, [places, dim], that have this place: [count, dim]. Adds them in
    their order."""
    if _is_followed() or not _is_quicker(values, places):
        return values.new_zeros(count, values.shape[1]).index_add(0, places, values)
    if len(values) != len(places):
        raise IndexError(f"there are {len(values)} values, and {len(places)} places for them")
    return _Add.apply(values, places, count)


def _is_followed():
    """Returns whether something records or changes the operations, and would not see those of this module: a compiler or a tracer, a
    transform such as vmap, a dispatch mode such as that of make_fx, or forward-mode differentiation."""
    return _is_compiled() or torch.jit.is_tracing() or _is_transformed() or _count_modes() > 0 or forward_ad._current_level >= 0


def _is_quicker(rows, places):
    """Returns whether the functions of this module are faster than PyTorch's. They use one thread. PyTorch takes some 50 ns for each row in
    addition to the time for copying it, and divides both among its threads. Tensors without memory of their own, such as batched
    gradients, are left to PyTorch as well."""
    if (_KIND(rows) != _ROWS or _KIND(places) != _PLACES or rows.dim() != 2 or places.dim() != 1
            or not (torch._C._has_storage(rows) and torch._C._has_storage(places))):
        return False
    dim = rows.shape[1]
    return torch.get_num_threads() * (dim + 10) < dim + 100


class _Take(torch.autograd.Function):

    @staticmethod
    def forward(ctx, rows, places):
        ctx.save_for_backward(places)
        ctx.count = len(rows)
        rows, places = _whole(rows), places.contiguous()
        found = rows.new_empty(len(places), rows.shape[1])
        _capstan.take_rows(rows.data_ptr(), rows.shape, places.data_ptr(), len(places), found.data_ptr())
        return found

    @staticmethod
    def backward(ctx, gradient):
        return add(gradient, *ctx.saved_tensors, ctx.count), None


class _Add(torch.autograd.Function):

    @staticmethod
    def forward(ctx, values, places, count):
        ctx.save_for_backward(places)
        values, places = _whole(values), places.contiguous()
        found = values.new_zeros(count, values.shape[1])
        _capstan.add_rows(values.data_ptr(), places.data_ptr(), len(places), found.data_ptr(), found.shape)
        return found

    @staticmethod
    def backward(ctx, gradient):
        return take(gradient, *ctx.saved_tensors), None, None


def _whole(tensor):
    return tensor.contiguous().resolve_neg()
