"""Configurations: neutral, random, moving along a velocity, and the difference of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from recursa.dynamics.gathering import listed
from recursa.errors import StateError
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.quantities.quantity import Gather
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, base_to_tip
from recursa.sweeps.batching import Array
from recursa.sweeps.input_kinds import InputKind

Bracket = Callable[[Sequence[Scalar], Sequence[Scalar]], tuple[Scalar, ...] | None]


def neutral(model: Model) -> Array:
    """Every joint at zero, quaternions at identity."""
    return np.array([x for joint in model.joints if joint.independent for x in joint.kind.neutral()], dtype=float)


def random_state(
    model: Model, seed: int | np.random.Generator | None, within_limits: bool | None = None
) -> tuple[Array, Array]:
    """q within the limits (False: in the same ranges as without), v standard normal (True: within the limits)."""
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise StateError(f"a seed is a whole number of at least 0, a generator or None, not {seed!r}") from None
    joints = [joint for joint in model.joints if joint.independent]
    q = [x for joint in joints for x in joint.kind.random(rng, None if within_limits is False else joint.limits)]
    v = rng.normal(size=model.nv)
    if within_limits:
        for joint in joints:
            if joint.velocity is not None and math.isfinite(joint.velocity):
                v[joint.v_start] = rng.uniform(-joint.velocity, joint.velocity)
    return np.array(q, dtype=float), v


def random_input(model: Model, kind: InputKind, rng: np.random.Generator) -> list[float]:
    """Numbers of one state for an input; where it takes the place of something in the model, the model's own."""
    if kind.own is not None:
        return kind.own(model)
    return (random_state(model, rng)[0] if kind.coordinates else rng.normal(size=kind.size(model))).tolist()  # type: ignore[no-any-return]


def next_coordinates(joint: Joint, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``q`` composed with ``exp(v)``; nothing for a tied joint, which has no coordinates of its own."""
    return joint.kind.integrate(q, v) if joint.independent else ()


def step_between(joint: Joint, q: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The v that leads from q to q1."""
    return joint.kind.difference(q, q1) if joint.independent else ()


def coordinate_rates(joint: Joint, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """dq/dt at speed v; nothing for a tied joint."""
    return joint.kind.rates(q, v) if joint.independent else ()


def chart_rates(joint: Joint, x: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """dx/dt at speed v, for coordinates x about some q: ``q exp(x)``; nothing for a tied joint."""
    return series_of_rates(joint.kind.bracket, x, v) if joint.independent else ()


def series_of_rates(bracket: Bracket, x: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """dx/dt at speed v for ``q exp(x)``, to what x itself needs: order |x|^3.

    The inverse of the exponential's differential in moving axes is ``ad_x / (1 - exp(-ad_x)) = 1 + ad_x/2 +
    ad_x^2/12 - ad_x^4/720 ...``: Bernoulli numbers, the odd ones zero (Hairer, Lubich & Wanner, III.4 and IV.8).
    """
    once = bracket(x, v)
    twice = None if once is None else bracket(x, once)
    if once is None or twice is None:
        return tuple(v)
    return tuple(u + 0.5 * a + b * (1.0 / 12.0) for u, a, b in zip(v, once, twice, strict=True))


INTEGRATE_PLAN = Plan(
    "integrate",
    (Buffer("next", ()),),
    (base_to_tip(Step(next_coordinates, ("joint", "q", "v"), ("next",), "q exp(dv)")),),
)
DIFFERENCE_PLAN = Plan(
    "difference",
    (Buffer("step", ()),),
    (base_to_tip(Step(step_between, ("joint", "q", "q1"), ("step",), "log(q0^-1 q1)")),),
)
COORDINATE_RATES_PLAN = Plan(
    "coordinate_rates",
    (Buffer("qdot", ()),),
    (base_to_tip(Step(coordinate_rates, ("joint", "q", "v"), ("qdot",), "dq/dt")),),
)
CHART_RATES_PLAN = Plan(
    "chart_rates",
    (Buffer("xdot", ()),),
    (base_to_tip(Step(chart_rates, ("joint", "joint:x", "v"), ("xdot",), "dx/dt = v + [x, v]/2 + [x, [x, v]]/12")),),
)


next_entries = listed("next")
rate_entries = listed("qdot")

# ---- quantities ----------------------------------------------------------------------------------------------------


def _along(plan: Plan, gather: Gather, size: str, of: Subject, given: Names) -> Recipe:
    return Recipe(plan, gather, (getattr(of.model, size),))


def moves_by_adding(model: Model) -> bool:
    """Whether ``q exp(x) = q + x``: no joint turns about more than one axis, or turns and slides."""
    kinds = [joint.kind for joint in model.joints if joint.independent]
    return all(kind.bracket([0.0] * kind.nv, [0.0] * kind.nv) is None for kind in kinds)


def is_flat(model: Model) -> bool:
    """Whether speeds are the time derivatives of the coordinates: every joint has one freedom."""
    return all(joint.kind.nv == 1 for joint in model.joints)


INTEGRATE = Quantity(
    "integrate",
    ("q", "dv"),
    partial(_along, INTEGRATE_PLAN, next_entries, "nq"),
    "coordinates; places as in q",
    reads={"dv": "v"},
    words={"dv": "a motion: speeds for unit time, places as in v"},
)
COORDINATE_RATES = Quantity(
    "configuration.coordinate_rates",
    ("q", "v"),
    partial(_along, COORDINATE_RATES_PLAN, rate_entries, "nq"),
    "per second; places as in q",
)
CHART_RATES = Quantity(
    "configuration.chart_rates",
    ("x", "v"),
    partial(_along, CHART_RATES_PLAN, listed("xdot"), "nv"),
    "rates of x in ``q exp(x)``; places as in v",
    reads={"x": "joint:x"},
)
DIFFERENCE = Quantity(
    "difference",
    ("q0", "q1"),
    partial(_along, DIFFERENCE_PLAN, listed("step"), "nv"),
    "a motion: speeds for unit time, places as in v",
    reads={"q0": "q"},
)
