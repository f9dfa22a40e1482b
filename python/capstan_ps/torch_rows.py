"""Rows of a table by their places, and sums by place, with gradients: the same bits as PyTorch's embedding and index_add, which go by dispatch and
iterators for each key, in less of a processor's time."""

import operator

import torch
from torch import nn
from torch.autograd import forward_ad

from capstan_ps import _capstan

_KIND = operator.attrgetter("dtype", "layout", "is_cpu")
_ROWS, _PLACES = (torch.float32, torch.strided, True), (torch.int64, torch.strided, True)
# What follows a program's operations has to find PyTorch's own; not all versions can tell of each. The compiler's is the first, as it cannot follow
# the others.
_is_compiled, _is_transformed, _count_modes = (found or (lambda: False) for found in (
    getattr(getattr(torch, "compiler", None), "is_compiling", None), getattr(torch._C, "_are_functorch_transforms_active", None),
    getattr(torch._C, "_len_torch_dispatch_stack", None)))


def take(rows, places):
    """rows[places]: [places, dim]."""
    if _is_followed() or not _is_quicker(rows, places):
        return nn.functional.embedding(places, rows)
    return _Take.apply(rows, places)


def add(values, places, count):
    """Of each of `count` places the sum of the values there, [places, dim], in their order: [count, dim]."""
    if _is_followed() or not _is_quicker(values, places):
        return values.new_zeros(count, values.shape[1]).index_add(0, places, values)
    if len(values) != len(places):
        raise IndexError(f"there are {len(values)} values, and {len(places)} places for them")
    return _Add.apply(values, places, count)


def _is_followed():
    """Whether something notes or changes what operations do, which would see nothing of ours: a compiler or tracer, a transform as vmap, a mode as that of
    make_fx, or derivatives that are computed forward."""
    return _is_compiled() or torch.jit.is_tracing() or _is_transformed() or _count_modes() > 0 or forward_ad._current_level >= 0


def _is_quicker(rows, places):
    """Ours is one thread's: PyTorch takes some 50 ns a row beside what copying it takes, and shares both among its threads. What has no memory of its own,
    as many gradients that are computed at once, is PyTorch's, too."""
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
