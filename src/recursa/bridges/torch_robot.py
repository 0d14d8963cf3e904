"""``robot.torch()``: the robot's quantities as functions of PyTorch tensors on the processor."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from recursa.bridges.differentiable import Arguments, DifferentiableRobot, batches, differentiable
from recursa.bridges.torch_calls import called, number_of
from recursa.errors import StateError, unknown_name
from recursa.evaluation.evaluator import Evaluator


class TorchRobot:
    """Quantities of a robot as functions of tensors, through which autograd, ``vmap`` and ``torch.compile`` go.

    Attributes are the names of quantities: ``rt.forward_dynamics(q, v, tau)``; arrays come first, in the robot's
    order, with leading batch axes; optional arrays (``wrenches``, ``parameters``) and ``gravity`` are named.
    Made by :meth:`recursa.Robot.torch`.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._robot = DifferentiableRobot(evaluator)

    def __repr__(self) -> str:
        return f"<TorchRobot '{self._robot.model.name}'>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in differentiable() if "." not in name)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in differentiable():
            raise AttributeError(str(unknown_name("quantity", name, differentiable())))
        return partial(self.quantity, name)

    def quantity(self, name: str, /, *arrays: Any, **more: Any) -> torch.Tensor:
        """A quantity by name, such as "diagonal.total_rates", of tensors, optional tensors by name, and options."""
        asked = Arguments.of(name, arrays, more)
        facts = self._facts(name, tuple(asked.arrays), tuple(asked.options.items()))
        return _evaluated(name, asked.arrays, *facts)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _facts(self, name: str, given: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
        """The function by its number, its arrays with their axes and quaternions, the shape of its result.

        Plain numbers, which torch.compile takes as they are: it does not look into how a quantity is traced.
        """
        found = self._robot.asked(Arguments(name, dict.fromkeys(given), dict(options)))
        arrays = tuple((one, axes, found.turned.get(one, ())) for one, axes in found.axes.items())
        return number_of(found.function), arrays, found.shape

    def tangent_gradient(self, q: Any, gradient: Any) -> torch.Tensor:
        """A gradient by the coordinates q, as ``backward`` has it (..., nq), by small motions instead (..., nv).

        Entry k is the derivative along ``integrate(q, e_k s)`` at s = 0, places and units as in v. Without
        quaternions both are the same.
        """
        q = torch.as_tensor(q).detach()
        small = torch.zeros((*q.shape[:-1], self._robot.model.nv), dtype=q.dtype, requires_grad=True)
        (found,) = torch.autograd.grad(self.integrate(q, small), small, torch.as_tensor(gradient))
        return found


def _evaluated(
    name: str,
    given: dict[str, Any],
    function: int,
    facts: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...],
    shape: tuple[int, ...],
) -> torch.Tensor:
    arrays = {one: torch.as_tensor(given[one]) for one, _, _ in facts}
    dtype = torch.float32
    for one, array in arrays.items():
        dtype = torch.promote_types(dtype, array.dtype)
        if array.device.type not in ("cpu", "meta"):
            raise StateError(f"{name}: {one} is on {array.device}; the robot computes on the processor: {one}.cpu()")
    if dtype not in (torch.float32, torch.float64):
        raise StateError(f"{name} takes float32 and float64, not {dtype}")
    shapes = {one: tuple(array.shape) for one, array in arrays.items()}
    own = batches(name, shapes, {one: axes for one, axes, _ in facts})
    batch = torch.broadcast_shapes(*own)
    rows = []
    for (one, axes, starts), before in zip(facts, own, strict=True):
        row = arrays[one].to(dtype).reshape(*before, math.prod(axes))
        row = _unit(row, starts) if starts else row
        rows.append(row.expand(*batch, row.shape[-1]))
    return called(function, rows).reshape(*batch, *shape)


def _unit(row: torch.Tensor, starts: tuple[int, ...]) -> torch.Tensor:
    """Coordinates with quaternions of unit length: functions are of the configuration, not of their length."""
    parts, at = [], 0
    for start in starts:
        own = row[..., start : start + 4]
        parts += [row[..., at:start], own / own.square().sum(-1, keepdim=True).sqrt()]
        at = start + 4
    return torch.cat([*parts, row[..., at:]], dim=-1)
