"""Derivatives of inverse dynamics: the sums of ``derivatives.py`` in root axes, and five entries a pair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from recursa.dynamics.derivatives import (
    CARRIED_FORCE,
    COLUMN_RATES,
    COMPOSITE_MOMENTUM,
    COMPOSITE_RATE,
    REACHES,
    diagonal_steps,
    pair_derivatives,
)
from recursa.dynamics.gathering import matrices_of_pairs
from recursa.dynamics.inverse import MOVING_FORCE, pushing
from recursa.model.model import Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import ACCELERATING, BUFFERS, COMPOSITE, EXTERNAL, in_root

AT_BODIES = (in_root(COLUMN_RATES, S="rates"), in_root(MOVING_FORCE))
SUMS = (COMPOSITE, *map(in_root, (COMPOSITE_RATE, COMPOSITE_MOMENTUM, CARRIED_FORCE)))
PAIR_DERIVATIVES = Step(
    pair_derivatives,
    ("rates@here", "reach@start"),
    ("derivatives",),
    "s(j).(R s'' + 2B s' + crf(s) f)(i), s''(j).(R s)(i) + s'(j).(2B* s)(i)",
)
DERIVATIVE_BUFFERS = (
    Buffer("f", Force.zero()),
    Buffer("Rdot", RigidInertia.zero()),
    Buffer("h", Force.zero()),
    *(Buffer(name, ()) for name in ("rates", "own", "reach", "derivatives")),
)


def outward_sums(*, losses: bool = False, springs: bool = False) -> tuple[Step, ...]:
    """What adds up over everything outward, and what joints inward meet of it."""
    return (*SUMS, in_root(REACHES, S="rates"), *diagonal_steps(losses=losses, springs=springs))


@cache
def inverse_derivatives_pairs(*, wrenches: bool = False, losses: bool = False, springs: bool = False) -> Plan:
    """The three matrices; root axes are those of one instant, wrenches turn with their links."""
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(*ACCELERATING, *AT_BODIES, *external),
        tip_to_base(*outward_sums(losses=losses, springs=springs)),
        from_each_inward(PAIR_DERIVATIVES),
    )
    return Plan("inverse_dynamics_derivatives by walks", (*BUFFERS, *DERIVATIVE_BUFFERS), sweeps)


def state_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """d tau/d q and d tau/d v, (2, nv, nv) row by row."""
    return matrices_of_pairs(model, values.lists.get("own", []), values.lists.get("derivatives", []), (False, False))


def derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """d tau/d q, d tau/d v and d tau/d a, (3, nv, nv) row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("derivatives", [])
    return matrices_of_pairs(model, own, pairs, (False, False, True))
