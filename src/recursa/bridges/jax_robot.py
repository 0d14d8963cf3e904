"""``robot.jax()``: the robot's quantities as pure functions of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from recursa.bridges.framework import FrameworkRobot
from recursa.bridges.functions import GraphFunction
from recursa.bridges.jax_calls import IMPLEMENTATIONS, called
from recursa.errors import StateError, unknown_name
from recursa.evaluation.evaluator import Evaluator


class JaxRobot(FrameworkRobot[jax.Array]):
    """Quantities of a robot as functions that ``jit``, ``vmap``, ``grad``, ``jvp``, ``hessian`` and ``scan`` take.

    Made by :meth:`recursa.Robot.jax`; :class:`FrameworkRobot` says how they are called.
    """

    def __init__(self, evaluator: Evaluator, implementation: str = "native") -> None:
        if implementation not in IMPLEMENTATIONS:
            raise unknown_name("implementation", implementation, IMPLEMENTATIONS)
        super().__init__(evaluator)
        self.implementation = implementation

    def _settings(self) -> tuple[Any, ...]:
        return (self.implementation,)

    def __repr__(self) -> str:
        return f"<JaxRobot '{self._robot.model.name}', {self.implementation}>"

    # ---- what JAX has of its own -------------------------------------------------------------------------------------

    def _array(self, quantity: str, name: str, value: Any) -> Any:
        return jnp.asarray(value)

    def _type(self, quantity: str, arrays: list[Any]) -> Any:
        dtype = jnp.result_type(*arrays, jnp.float32)
        if dtype not in (jnp.float32, jnp.float64):
            raise StateError(f"{quantity} takes float32 and float64, not {dtype}")
        return dtype

    def _as(self, array: Any, dtype: Any, shape: tuple[int, ...] | None) -> Any:
        array = array.astype(dtype)
        return array if shape is None else jnp.broadcast_to(array, shape)

    def _unit(self, row: Any, starts: tuple[int, ...]) -> Any:
        for start in starts:
            own = row[..., start : start + 4]
            own = own / jnp.sqrt(jnp.sum(own * own, axis=-1, keepdims=True))
            row = row.at[..., start : start + 4].set(own)
        return row

    def _function(self, function: GraphFunction) -> Any:
        return function

    def _called(self, function: Any, rows: list[Any]) -> Any:
        return called(function, *rows, implementation=self.implementation)

    def _spread(self, own: list[tuple[int, ...]]) -> tuple[int, ...]:
        return jnp.broadcast_shapes(*own)

    def _pulled(self, function: Callable[..., Any], q: Any, shape: tuple[int, ...], weight: Any) -> Any:
        _, pull = jax.vjp(partial(function, q), jnp.zeros(shape, q.dtype))
        return pull(jnp.asarray(weight))[0]

    def _repeated(self, advance: Callable[[Any, Any], Any], state: Any, forces: Any) -> tuple[Any, Any]:
        def scanned(now: Any, force: Any) -> tuple[Any, Any]:
            after = advance(now, force)
            return after, after

        _, (qs, vs) = lax.scan(scanned, state, forces)
        return jnp.concatenate([state[0][None], qs]), jnp.concatenate([state[1][None], vs])
