"""Functions of ``functions.py`` as an operator of PyTorch: one operator for all, told by number which one to call.

Its gradient is the same operator with the function differentiated in reverse, so gradients of gradients come by
themselves. Tensors on the processor are read and written where they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from recursa.bridges.functions import GraphFunction

_FUNCTIONS: list[GraphFunction] = []  # by number; compiled programs have the numbers
_NUMBERS: dict[GraphFunction, int] = {}


def number_of(function: GraphFunction) -> int:
    """The number by which the operator knows a function."""
    if function not in _NUMBERS:
        _NUMBERS[function] = len(_FUNCTIONS)
        _FUNCTIONS.append(function)
    return _NUMBERS[function]


@torch.library.custom_op("recursa::call", mutates_args=(), device_types="cpu")
def call(function: int, size: int, arrays: list[torch.Tensor]) -> torch.Tensor:
    """A function of tensors (..., n) that have the same batch axes and type: (..., size)."""
    own, batch = _FUNCTIONS[function], arrays[0].shape[:-1]
    result = torch.empty((*batch, size), dtype=arrays[0].dtype)
    if result.numel():
        rows = [np.ascontiguousarray(x.detach().reshape(-1, x.shape[-1]).numpy()) for x in arrays]
        own(rows, result.numpy().reshape(-1, size))
    return result


@call.register_fake
def _(function: int, size: int, arrays: list[torch.Tensor]) -> torch.Tensor:
    return arrays[0].new_empty((*arrays[0].shape[:-1], size))


def _kept(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.function, _, arrays = inputs
    ctx.save_for_backward(*arrays)


def _backward(ctx: Any, weight: torch.Tensor) -> Any:
    own, arrays = _FUNCTIONS[ctx.function], ctx.saved_tensors
    wanted = (
        [name for name, array, needed in zip(own.sizes, arrays, ctx.needs_input_grad[2], strict=True) if needed]
        if isinstance(ctx.needs_input_grad[2], list | tuple)
        else list(own.sizes)
    )
    if not wanted:
        return None, None, [None] * len(arrays)
    reverse = own.pulled(wanted)
    row = torch.ops.recursa.call(number_of(reverse), reverse.size, [*arrays, weight.contiguous()])
    parts = dict(zip(wanted, torch.split(row, [own.sizes[name] for name in wanted], dim=-1), strict=True))
    return None, None, [parts.get(name) for name in own.sizes]


call.register_autograd(_backward, setup_context=_kept)


@call.register_vmap
def _(info: Any, in_dims: Any, function: int, size: int, arrays: list[torch.Tensor]) -> tuple[torch.Tensor, int]:
    axes = in_dims[2] if isinstance(in_dims[2], list | tuple) else [in_dims[2]] * len(arrays)
    front = [
        x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0)
        for x, axis in zip(arrays, axes, strict=True)
    ]
    return torch.ops.recursa.call(function, size, front), 0
