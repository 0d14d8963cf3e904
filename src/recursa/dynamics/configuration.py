"""Configurations: neutral, random, moving along a velocity, and the difference of two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from recursa.errors import StateError
from recursa.model.model import Joint, Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip
from recursa.sweeps.batching import Array


def neutral(model: Model) -> Array:
    """Every joint at zero, quaternions at identity."""
    return np.array([x for joint in model.joints if joint.independent for x in joint.kind.neutral()], dtype=float)


def random_state(model: Model, seed: int | np.random.Generator | None) -> tuple[Array, Array]:
    """q within the limits, v standard normal."""
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise StateError(f"a seed is a whole number of at least 0, a generator or None, not {seed!r}") from None
    q = [x for joint in model.joints if joint.independent for x in joint.kind.random(rng, joint.limits)]
    return np.array(q, dtype=float), rng.normal(size=model.nv)


def next_coordinates(joint: Joint, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``q`` composed with ``exp(v)``; nothing for a tied joint, which has no coordinates of its own."""
    return joint.kind.integrate(q, v) if joint.independent else ()


def step_between(joint: Joint, q: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The v that leads from q to q1."""
    return joint.kind.difference(q, q1) if joint.independent else ()


def local_rates(joint: Joint, u: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``u'`` where ``q exp(u)`` moves with the speeds v: ``v + [u, v]/2 + [u, [u, v]]/12``.

    The inverse of the derivative of exp, up to terms of fourth order in u: enough for integrators of order four. The
    columns of joints with several freedoms are orthonormal, angular and linear parts each, and closed under brackets.
    """
    if not joint.independent:
        return ()
    if joint.kind.nv == 1:
        return tuple(v)
    kind, hinge = joint.kind, joint.hinge
    local = kind.motion(hinge, u)
    once = local.cross_motion(kind.motion(hinge, v))
    change = once * 0.5 + local.cross_motion(once) * (1.0 / 12.0)
    return tuple(
        x + column.angular.dot(change.angular) + column.linear.dot(change.linear)
        for x, column in zip(v, kind.columns(hinge), strict=True)
    )


INTEGRATE = Plan(
    "integrate",
    (Buffer("next", ()),),
    (base_to_tip(Step(next_coordinates, ("joint", "q", "v"), ("next",), "q exp(dv)")),),
)
DIFFERENCE = Plan(
    "difference",
    (Buffer("step", ()),),
    (base_to_tip(Step(step_between, ("joint", "q", "q1"), ("step",), "log(q0^-1 q1)")),),
)
LOCAL_RATES = Plan(
    "local_rates",
    (Buffer("step", ()),),
    (base_to_tip(Step(local_rates, ("joint", "joint:u", "v"), ("step",), "u' = dexp^-1(u) v")),),
)


def next_entries(values: Values) -> Iterator[Scalar]:
    """The coordinates of all joints, flat."""
    for part in values["next"]:
        yield from part


def step_entries(values: Values) -> Iterator[Scalar]:
    """The speeds of all joints, flat."""
    for part in values["step"]:
        yield from part
