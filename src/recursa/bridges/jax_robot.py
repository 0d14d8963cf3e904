"""``robot.jax()``: the robot's quantities as pure functions of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from recursa.bridges.differentiable import Arguments, Differentiable, DifferentiableRobot, batches, differentiable
from recursa.bridges.jax_calls import IMPLEMENTATIONS, called
from recursa.errors import StateError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.integrators.mechanics import weighted
from recursa.integrators.table import named


class JaxRobot:
    """Quantities of a robot as functions that ``jit``, ``vmap``, ``grad``, ``jvp``, ``hessian`` and ``scan`` take.

    Attributes are the names of quantities: ``rj.forward_dynamics(q, v, tau)``, ``rj.pose(q, link="flange")``; arrays
    come first, in the robot's order, and have leading batch axes as everywhere; optional arrays (``wrenches``,
    ``parameters``) and ``gravity`` are named. Made by :meth:`recursa.Robot.jax`.
    """

    def __init__(self, evaluator: Evaluator, implementation: str = "native") -> None:
        if implementation not in IMPLEMENTATIONS:
            raise unknown_name("implementation", implementation, IMPLEMENTATIONS)
        self._robot = DifferentiableRobot(evaluator)
        self.implementation = implementation

    def __repr__(self) -> str:
        return f"<JaxRobot '{self._robot.model.name}', {self.implementation}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in differentiable() if "." not in name)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in differentiable():
            raise AttributeError(str(unknown_name("quantity", name, differentiable())))
        return partial(self.quantity, name)

    def quantity(self, name: str, /, *arrays: Any, **more: Any) -> jax.Array:
        """A quantity by name, such as "diagonal.total_rates", of arrays, optional arrays by name, and options."""
        asked = Arguments.of(name, arrays, more)
        return self._evaluated(name, self._robot.asked(asked), asked.arrays)

    def _evaluated(self, name: str, found: Differentiable, given: dict[str, Any]) -> jax.Array:
        arrays = {one: jnp.asarray(given[one]) for one in found.axes}
        dtype = jnp.result_type(*arrays.values(), jnp.float32)
        if dtype not in (jnp.float32, jnp.float64):
            raise StateError(f"{name} takes float32 and float64, not {dtype}")
        own_batches = batches(name, {one: array.shape for one, array in arrays.items()}, found.axes)
        batch = jnp.broadcast_shapes(*own_batches)
        rows = []
        for (one, array), own in zip(arrays.items(), own_batches, strict=True):
            row = array.astype(dtype).reshape(*own, found.size(one))
            row = _unit(row, found.turned[one]) if one in found.turned else row
            rows.append(jnp.broadcast_to(row, (*batch, row.shape[-1])))
        result = called(found.function, *rows, implementation=self.implementation)
        return result.reshape(*batch, *found.shape)

    # ---- coordinates and tangents ------------------------------------------------------------------------------------

    def tangent_gradient(self, q: Any, gradient: Any) -> jax.Array:
        """A gradient by the coordinates q, as ``jax.grad`` has it (..., nq), by small motions instead (..., nv).

        Entry k is the derivative along ``integrate(q, e_k s)`` at s = 0, places and units as in v. Without
        quaternions both are the same.
        """
        q, gradient = jnp.asarray(q), jnp.asarray(gradient)
        zero = jnp.zeros((*q.shape[:-1], self._robot.model.nv), q.dtype)
        _, pull = jax.vjp(lambda small: self.integrate(q, small), zero)
        return pull(gradient)[0]

    # ---- motions -----------------------------------------------------------------------------------------------------

    def step(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: float,
        *,
        integrator: str = "semi-implicit",
        **options: Any,
    ) -> tuple[jax.Array, jax.Array]:
        """(q, v) one step of length dt later, with constant joint forces tau.

        ``integrator``: "semi-implicit", "rk4" or "euler", as of :func:`recursa.rollout`. ``options`` are those of
        ``forward_dynamics``: parameters, gravity, wrenches, losses.
        """
        scheme = named(integrator, "rollout").scheme
        assert scheme is not None
        found: tuple[jax.Array, jax.Array] = scheme(_Mechanics(self, tau, dt, options), jnp.asarray(q), jnp.asarray(v))
        return found

    def rollout(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: float,
        *,
        integrator: str = "semi-implicit",
        **options: Any,
    ) -> tuple[jax.Array, jax.Array]:
        """A motion as one differentiable scan: (T + 1, ..., nq) and (T + 1, ..., nv), the start first.

        ``tau`` (T, ..., nv) are the joint forces of every step. Gradients by the start, the forces, dt and inertial
        parameters flow through it. Options as of :meth:`step`.
        """
        q, v, tau = jnp.asarray(q), jnp.asarray(v), jnp.asarray(tau)
        if tau.ndim < 1 or tau.shape[-1:] != (self._robot.model.nv,) or tau.ndim < 2:
            raise StateError(f"tau must have shape (T, ..., {self._robot.model.nv}), not {tau.shape}")
        dtype = jnp.result_type(q, v, tau, jnp.float32)
        batch = jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[1:-1])
        start = tuple(jnp.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for x in (q, v))

        def advance(state: Any, force: Any) -> tuple[Any, Any]:
            at, speed = state
            after = self.step(at, speed, force, dt, integrator=integrator, **options)
            return after, after

        _, (qs, vs) = lax.scan(advance, start, tau.astype(dtype))
        first_q, first_v = start
        return jnp.concatenate([first_q[None], qs]), jnp.concatenate([first_v[None], vs])


class _Mechanics:
    """What a step of an integrator asks for (integrators/mechanics.py), on JAX arrays."""

    def __init__(self, robot: JaxRobot, tau: Any, dt: float, options: dict[str, Any]) -> None:
        self.robot, self.tau, self.dt, self.options = robot, tau, dt, options

    def slope(self, q: Any, v: Any, at: float) -> tuple[Any, Any]:
        return v, self.robot.quantity("forward_dynamics", q, v, self.tau, **self.options)

    def moved(self, q: Any, u: Any) -> Any:
        return self.robot.quantity("integrate", q, u)

    def local_rate(self, u: Any, speeds: Any) -> Any:
        return self.robot.quantity("configuration.chart_rates", u, speeds)

    def combined(self, start: Any, *terms: tuple[float, Any]) -> Any:
        return weighted(self.dt, start, *terms)

    def settled(self, q: Any, v: Any) -> tuple[Any, Any]:
        return v, v


def _unit(row: jax.Array, starts: tuple[int, ...]) -> jax.Array:
    """Coordinates with quaternions of unit length: functions are of the configuration, not of their length."""
    for start in starts:
        own = row[..., start : start + 4]
        row = row.at[..., start : start + 4].set(own / jnp.sqrt(jnp.sum(own * own, axis=-1, keepdims=True)))
    return row
