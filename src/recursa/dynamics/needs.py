"""What a plan needs of a robot's inertias: steps that divide by hinge inertias are marked, masses are read by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from recursa.sweeps.plan import Plan

_Function = TypeVar("_Function", bound=Callable[..., object])


def divides_by_hinges(function: _Function) -> _Function:
    """Decorator: a step that divides by hinge inertias D, and so needs them to be there."""
    function.divides_by_hinges = True  # type: ignore[attr-defined]
    return function


def spares_hinges(function: _Function) -> _Function:
    """Decorator: a step done at joints by whose hinge inertias the plan does not divide."""
    function.spares_hinges = True  # type: ignore[attr-defined]
    return function


def spared_hinges(plan: Plan) -> frozenset[int]:
    """The joints by whose hinge inertias a plan does not divide, though it does so by those of others."""
    marked = (sweep for sweep in plan.sweeps if any(getattr(s.fn, "spares_hinges", False) for s in sweep.steps))
    return frozenset(k for sweep in marked for k in sweep.only or ())


def needs_hinges(plan: Plan) -> bool:
    """Whether a plan divides by hinge inertias."""
    return any(getattr(step.fn, "divides_by_hinges", False) for sweep in plan.sweeps for step in sweep.steps)


def needs_inertia(plan: Plan) -> bool:
    """Whether a plan reads masses and moments of inertia at all."""
    return any("inertia" in step.reads for sweep in plan.sweeps for step in sweep.steps)
