"""``robot.torch()``: the robot's quantities as functions of PyTorch tensors on the processor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from recursa.bridges.differentiable import Arguments, Differentiable, DifferentiableRobot, differentiable
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
        return self._evaluated(name, self._found(name, tuple(asked.arrays), tuple(asked.options.items())), asked.arrays)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _found(self, name: str, given: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Differentiable:
        """What torch.compile need not look into."""
        found = self._robot.asked(Arguments(name, dict.fromkeys(given), dict(options)))
        number_of(found.function)
        return found

    def _evaluated(self, name: str, found: Differentiable, given: dict[str, Any]) -> torch.Tensor:
        arrays = {one: torch.as_tensor(given[one]) for one in found.axes}
        dtype = torch.float32
        for array in arrays.values():
            dtype = torch.promote_types(dtype, array.dtype)
        if dtype not in (torch.float32, torch.float64):
            raise StateError(f"{name} takes float32 and float64, not {dtype}")
        for one, array in arrays.items():
            if array.device.type not in ("cpu", "meta"):
                raise StateError(
                    f"{name}: {one} is on {array.device}; the robot computes on the processor: {one}.cpu()"
                )
        batches = found.batches(name, {one: tuple(array.shape) for one, array in arrays.items()})
        batch = torch.broadcast_shapes(*batches)
        rows = []
        for (one, array), own in zip(arrays.items(), batches, strict=True):
            row = array.to(dtype).reshape(*own, found.size(one))
            row = _unit(row, found.turned[one]) if one in found.turned else row
            rows.append(row.expand(*batch, row.shape[-1]))
        result = called(number_of(found.function), rows)
        return result.reshape(*batch, *found.shape)

    def tangent_gradient(self, q: Any, gradient: Any) -> torch.Tensor:
        """A gradient by the coordinates q, as ``backward`` has it (..., nq), by small motions instead (..., nv).

        Entry k is the derivative along ``integrate(q, e_k s)`` at s = 0, places and units as in v. Without
        quaternions both are the same.
        """
        q = torch.as_tensor(q).detach()
        small = torch.zeros((*q.shape[:-1], self._robot.model.nv), dtype=q.dtype, requires_grad=True)
        (found,) = torch.autograd.grad(self.integrate(q, small), small, torch.as_tensor(gradient))
        return found


def _unit(row: torch.Tensor, starts: tuple[int, ...]) -> torch.Tensor:
    """Coordinates with quaternions of unit length: functions are of the configuration, not of their length."""
    parts, at = [], 0
    for start in starts:
        own = row[..., start : start + 4]
        parts += [row[..., at:start], own / own.square().sum(-1, keepdim=True).sqrt()]
        at = start + 4
    return torch.cat([*parts, row[..., at:]], dim=-1)
