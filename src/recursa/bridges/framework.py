"""What a robot offers inside a framework that differentiates: the same for JAX and PyTorch, written once.

A framework says how it makes an array of something, which number types it joins, and how it repeats a step; all else,
the names there are, arguments, shapes, quaternions, steps and motions, is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from recursa.bridges.differentiable import (
    Arguments,
    DifferentiableRobot,
    Facts,
    batches,
    differentiable,
    is_differentiable,
)
from recursa.bridges.functions import GraphFunction
from recursa.errors import StateError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.integrators import ArrayStep
from recursa.integrators.explicit import named
from recursa.model.model import Model

Tensor = TypeVar("Tensor")  # what the framework calls an array


class FrameworkRobot(Generic[Tensor]):
    """What ``robot.jax()`` and ``robot.torch()`` return: the robot's quantities as functions of a framework's arrays.

    Attributes are the names of quantities, as in ``rj.forward_dynamics(q, v, tau)`` and ``rj.pose(q, link="flange")``.
    Arrays come first, in the robot's order, with leading batch axes; optional arrays (``wrenches``, ``parameters``) and
    ``gravity``, three numbers in world axes, are named, and so are options. The guide is *JAX and PyTorch*.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._robot = DifferentiableRobot(evaluator)
        self._known: dict[Any, Facts] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._robot.model.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        """The robot's data; functions are made again where they are needed."""
        return _restored, (type(self), self._robot.model, *self._settings())

    def _settings(self) -> tuple[Any, ...]:
        """What else the constructor takes."""
        return ()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in differentiable() if "." not in name)]

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        if name.startswith("_"):
            raise AttributeError(name)
        if not is_differentiable(name):
            raise AttributeError(str(unknown_name("quantity", name, differentiable())))
        return partial(self.quantity, name)

    # ---- what a framework has of its own -----------------------------------------------------------------------------

    def _array(self, quantity: str, name: str, value: Any) -> Any:
        """An array of the framework."""
        raise NotImplementedError

    def _type(self, quantity: str, arrays: list[Any]) -> Any:
        """The number type that all are taken in; raises where it is none that the robot takes."""
        raise NotImplementedError

    def _as(self, array: Any, dtype: Any, shape: tuple[int, ...] | None) -> Any:
        """The array in a type, spread to a shape."""
        raise NotImplementedError

    def _unit(self, row: Any, starts: tuple[int, ...]) -> Any:
        """Coordinates with quaternions of unit length: functions are of the configuration, not of their length."""
        raise NotImplementedError

    def _function(self, function: GraphFunction) -> Any:
        """A function as the framework's calls name it."""
        raise NotImplementedError

    def _called(self, function: Any, rows: list[Any]) -> Any:
        """The function of rows that have the same batch axes and type."""
        raise NotImplementedError

    def _spread(self, own: list[tuple[int, ...]]) -> tuple[int, ...]:
        """The batch axes of all."""
        raise NotImplementedError

    def _pulled(self, function: Callable[..., Any], q: Any, shape: tuple[int, ...], weight: Any) -> Any:
        """The weighted ``function(q, x)`` differentiated by x, zeros of that shape."""
        raise NotImplementedError

    def _repeated(self, advance: Callable[[Any, Any], Any], state: Any, forces: Any) -> tuple[Any, Any]:
        """All states of a motion, the first one first."""
        raise NotImplementedError

    # ---- quantities --------------------------------------------------------------------------------------------------

    def quantity(self, name: str, /, *arrays: Any, **more: Any) -> Tensor:
        """A quantity by name, such as "diagonal.total_rates", of arrays, optional arrays by name, and options."""
        asked = Arguments.of(name, arrays, more)
        facts = self._facts(name, tuple(asked.arrays), tuple(asked.options.items()))
        return self._evaluated(facts, asked.arrays)

    def _facts(self, name: str, given: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Facts:
        key = name, given, options
        if key not in self._known:
            facts = self._robot.asked(Arguments(name, dict.fromkeys(given), dict(options)))
            self._known[key] = facts._replace(function=self._function(facts.function))
        return self._known[key]

    def _evaluated(self, facts: Facts, given: dict[str, Any]) -> Any:
        arrays = [self._array(facts.name, one.name, given[one.name]) for one in facts.arrays]
        dtype = self._type(facts.name, arrays)
        own = batches(
            facts.name,
            {one.name: (tuple(x.shape), one.axes) for one, x in zip(facts.arrays, arrays, strict=True)},
            self._robot.model,
        )
        batch = own[0] if all(x == own[0] for x in own) else self._spread(own)
        rows = []
        for one, array, before in zip(facts.arrays, arrays, own, strict=True):
            row = array if len(one.axes) == 1 else array.reshape(*before, math.prod(one.axes))
            row = self._as(row, dtype, None if before == batch else (*batch, row.shape[-1]))
            rows.append(self._unit(row, one.quaternions) if one.quaternions else row)
        result = self._called(facts.function, rows)
        return result if len(facts.shape) == 1 else result.reshape(*batch, *facts.shape)

    # ---- coordinates and tangents ------------------------------------------------------------------------------------

    def tangent_gradient(self, q: Any, gradient: Any) -> Tensor:
        """A gradient by the coordinates q, as the framework has it (..., nq), by small motions instead (..., nv).

        Entry k is the derivative along ``integrate(q, e_k s)`` at s = 0, places and units as in v. Without
        quaternions both are the same.
        """
        at = self._array("tangent_gradient", "q", q)
        shape = (*at.shape[:-1], self._robot.model.nv)
        found: Tensor = self._pulled(partial(self.quantity, "integrate"), at, shape, gradient)
        return found

    # ---- motions -----------------------------------------------------------------------------------------------------

    def step(
        self, q: Any, v: Any, tau: Any, dt: Any, *, integrator: str = "semi-implicit", **options: Any
    ) -> tuple[Tensor, Tensor]:
        """(q, v) one step of length dt later, with constant joint forces tau.

        ``integrator``: "semi-implicit", "rk4" or "euler", as of :func:`recursa.rollout`. ``options`` are those of
        ``forward_dynamics``: parameters, gravity, wrenches, losses.
        """
        scheme = named(integrator, "rollout").scheme
        assert scheme is not None
        state = (self._array("step", name, x) for name, x in (("q", q), ("v", v)))
        found: tuple[Tensor, Tensor] = scheme(_Mechanics(self, tau, dt, options), *state)
        return found

    def rollout(
        self, q: Any, v: Any, tau: Any, dt: Any, *, integrator: str = "semi-implicit", **options: Any
    ) -> tuple[Tensor, Tensor]:
        """A motion that can be differentiated: (T + 1, ..., nq) and (T + 1, ..., nv), the start first.

        ``tau`` (T, ..., nv) are the joint forces of every step. Gradients by the start, the forces, dt and inertial
        parameters flow through it. Options as of :meth:`step`.
        """
        model = self._robot.model
        arrays = {name: self._array("rollout", name, x) for name, x in (("q", q), ("v", v), ("tau", tau))}
        if arrays["tau"].ndim < 2 or tuple(arrays["tau"].shape[-1:]) != (model.nv,):
            raise StateError(f"tau must have shape (T, ..., {model.nv}), not {tuple(arrays['tau'].shape)}")
        dtype = self._type("rollout", list(arrays.values()))
        axes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
        shapes = {name: tuple(x.shape) for name, x in arrays.items()}
        shapes["tau"] = shapes["tau"][1:]
        own = batches("rollout", {name: (shapes[name], wanted) for name, wanted in axes.items()}, model)
        batch = self._spread(own)
        start = tuple(self._as(arrays[name], dtype, (*batch, arrays[name].shape[-1])) for name in ("q", "v"))

        def advance(state: Any, force: Any) -> Any:
            at, speed = state
            return self.step(at, speed, force, dt, integrator=integrator, **options)

        return self._repeated(advance, start, self._as(arrays["tau"], dtype, None))


def _restored(kind: type[FrameworkRobot[Any]], model: Model, *settings: Any) -> FrameworkRobot[Any]:
    """The function that pickles name."""
    return kind(Evaluator(model), *settings)


class _Mechanics(ArrayStep):
    """What a step of an integrator asks for (integrators/mechanics.py), on a framework's arrays."""

    def __init__(self, robot: FrameworkRobot[Any], tau: Any, dt: Any, options: dict[str, Any]) -> None:
        self.robot, self.tau, self.h, self.options = robot, tau, dt, options

    def slope(self, q: Any, v: Any, at: float) -> tuple[Any, Any]:
        return v, self.robot.quantity("forward_dynamics", q, v, self.tau, **self.options)

    def moved(self, q: Any, u: Any) -> Any:
        return self.robot.quantity("integrate", q, u)

    def local_rate(self, u: Any, speeds: Any) -> Any:
        return self.robot.quantity("configuration.chart_rates", u, speeds)
