"""Functions of ``functions.py`` as an operator of PyTorch: one operator for all, told by number which one to call.

Its gradient is the same operator with the function differentiated in reverse, so gradients of gradients come by
themselves. Tensors on the processor are read and written where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from recursa.bridges.functions import GraphFunction

_FUNCTIONS: list[GraphFunction] = []  # by number; compiled programs have the numbers
_NUMBERS: dict[GraphFunction, int] = {}


def number_of(function: GraphFunction) -> int:
    """The number by which the operator knows a function."""
    if function not in _NUMBERS:
        _NUMBERS[function] = len(_FUNCTIONS)
        _FUNCTIONS.append(function)
    return _NUMBERS[function]


@torch.library.custom_op("recursa::call", mutates_args=(), device_types="cpu")  # type: ignore[untyped-decorator]
def call(function: int, size: int, arrays: list[torch.Tensor]) -> torch.Tensor:
    """A function of tensors (..., n) that have the same batch axes and type: (..., size)."""
    result = torch.empty((*arrays[0].shape[:-1], size), dtype=arrays[0].dtype)
    if result.numel():
        rows = [np.ascontiguousarray(x.detach().numpy()).reshape(-1, x.shape[-1]) for x in arrays]
        _FUNCTIONS[function](rows, result.numpy().reshape(-1, size))
    return result


@call.register_fake  # type: ignore[untyped-decorator]
def _(function: int, size: int, arrays: list[torch.Tensor]) -> torch.Tensor:
    return arrays[0].new_empty((*arrays[0].shape[:-1], size))


def _batched(
    info: Any, axes: Sequence[int | None], function: int, arrays: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, int]:
    """The batch axis first, and those before it in one call."""
    front = [
        x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0)
        for x, axis in zip(arrays, axes, strict=True)
    ]
    return called(function, front), 0


def _pulled(function: int, arrays: Sequence[torch.Tensor], needed: Sequence[bool], weight: torch.Tensor) -> list[Any]:
    """What a weight of every number of the result is worth of every number of the arrays that need it."""
    own = _FUNCTIONS[function]
    wanted = [name for name, one in zip(own.sizes, needed, strict=True) if one]
    if not wanted:
        return [None] * len(arrays)
    row = called(number_of(own.pulled(wanted)), [*arrays, weight])
    parts = dict(zip(wanted, torch.split(row, [own.sizes[name] for name in wanted], dim=-1), strict=True))
    return [parts.get(name) for name in own.sizes]


# ---- for autograd and programs that torch.compile makes --------------------------------------------------------------


def _kept(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.function, _, arrays = inputs
    ctx.needed = [x.requires_grad for x in arrays]
    ctx.save_for_backward(*arrays)


def _backward(ctx: Any, weight: torch.Tensor) -> Any:
    return None, None, _pulled(ctx.function, ctx.saved_tensors, ctx.needed, weight)


call.register_autograd(_backward, setup_context=_kept)
call.register_vmap(lambda info, axes, function, _, arrays: _batched(info, axes[2], function, arrays))


# ---- and for torch.func, which takes no operators whose gradients are registered -------------------------------------


class _Call(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(function: int, *arrays: torch.Tensor) -> torch.Tensor:
        return torch.ops.recursa.call(function, _FUNCTIONS[function].size, list(arrays))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.function, *arrays = inputs
        ctx.save_for_backward(*arrays)
        ctx.save_for_forward(*arrays)

    @staticmethod
    def backward(ctx: Any, weight: torch.Tensor) -> Any:
        return None, *_pulled(ctx.function, ctx.saved_tensors, ctx.needs_input_grad[1:], weight)

    @staticmethod
    def jvp(ctx: Any, _: None, *changes: torch.Tensor | None) -> Any:
        own, arrays = _FUNCTIONS[ctx.function], ctx.saved_tensors
        moving = {name: x for name, x in zip(own.sizes, changes, strict=True) if x is not None}
        return called(number_of(own.along(tuple(moving))), [*arrays, *moving.values()])

    @staticmethod
    def vmap(info: Any, axes: Any, function: int, *arrays: torch.Tensor) -> Any:
        return _batched(info, axes[1:], function, arrays)


def called(function: int, arrays: Sequence[torch.Tensor]) -> torch.Tensor:
    """A function, by its number, of tensors (..., n) that have the same batch axes and type."""
    if torch.compiler.is_compiling() or not _followed(arrays):
        return torch.ops.recursa.call(function, _FUNCTIONS[function].size, list(arrays))
    return _Call.apply(function, *arrays)


def _followed(arrays: Sequence[torch.Tensor]) -> bool:
    """Whether a gradient, a change or a transform goes through a call; if PyTorch cannot be asked, it may."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in arrays):
        return True
    return _TRANSFORMS is None or _TRANSFORMS() is not None or getattr(forward_ad, "_current_level", 0) >= 0


_TRANSFORMS = getattr(torch._C._functorch, "peek_interpreter_stack", None)
