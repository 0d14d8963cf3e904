"""``robot.torch()``: the robot's quantities as functions of PyTorch tensors on the processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from recursa.bridges.differentiable import Facts
from recursa.bridges.framework import FrameworkRobot
from recursa.bridges.functions import GraphFunction
from recursa.bridges.torch_calls import called, number_of
from recursa.errors import StateError


class TorchRobot(FrameworkRobot[torch.Tensor]):
    """Quantities of a robot as functions of tensors, through which autograd, ``vmap`` and ``torch.compile`` go.

    Made by :meth:`recursa.Robot.torch`; :class:`FrameworkRobot` says how they are called.
    """

    # ---- what PyTorch has of its own ---------------------------------------------------------------------------------

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _facts(self, name: str, given: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Facts:
        """Found out once; torch.compile does not look into how a quantity is traced."""
        return super()._facts(name, given, options)

    def _array(self, quantity: str, name: str, value: Any) -> Any:
        array = torch.as_tensor(value)
        if array.device.type not in ("cpu", "meta"):
            on = array.device
            raise StateError(f"{quantity}: {name} is on {on}; the robot computes on the processor: {name}.cpu()")
        return array

    def _type(self, quantity: str, arrays: list[Any]) -> Any:
        dtype = torch.float32
        for array in arrays:
            if array.dtype != dtype:
                dtype = torch.promote_types(dtype, array.dtype)
        if dtype not in (torch.float32, torch.float64):
            raise StateError(f"{quantity} takes float32 and float64, not {dtype}")
        return dtype

    def _as(self, array: Any, dtype: Any, shape: tuple[int, ...] | None) -> Any:
        array = array if array.dtype == dtype else array.to(dtype)
        return array if shape is None else array.expand(shape)

    def _unit(self, row: Any, starts: tuple[int, ...]) -> Any:
        parts, at = [], 0
        for start in starts:
            own = row[..., start : start + 4]
            parts += [row[..., at:start], own / own.square().sum(-1, keepdim=True).sqrt()]
            at = start + 4
        return torch.cat([*parts, row[..., at:]], dim=-1)

    def _function(self, function: GraphFunction) -> Any:
        return number_of(function)

    def _called(self, function: Any, rows: list[Any]) -> Any:
        return called(function, rows)

    def _spread(self, own: list[tuple[int, ...]]) -> tuple[int, ...]:
        return tuple(torch.broadcast_shapes(*own))

    def _pulled(self, function: Callable[..., Any], q: Any, shape: tuple[int, ...], weight: Any) -> Any:
        small = torch.zeros(shape, dtype=q.dtype, requires_grad=True)
        (found,) = torch.autograd.grad(function(q.detach(), small), small, torch.as_tensor(weight))
        return found

    def _repeated(self, advance: Callable[[Any, Any], Any], state: Any, forces: Any) -> tuple[Any, Any]:
        states = [state]
        for force in forces:
            states.append(advance(states[-1], force))
        return torch.stack([q for q, _ in states]), torch.stack([v for _, v in states])
