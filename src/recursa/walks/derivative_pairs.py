"""Derivatives of inverse dynamics: the sums of ``derivatives.py`` in root axes, and five entries a pair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

from recursa.dynamics import articulated_bodies
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
from recursa.dynamics.inverse import MOVING_FORCE, off, pushing
from recursa.dynamics.wrenches import DRIVE, driving
from recursa.model.model import Model
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.jacobians import ACCELERATING, BUFFERS, COMPOSITE, EXTERNAL, MOVING, PARENT_ACCELERATION, in_root
from recursa.walks.mass_matrix_inverse import (
    COMPLIANCE,
    HINGE,
    INVERSE_BUFFERS,
    OUTWARD,
    inverse_entries,
    inverse_walks,
)

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


# ---- -----------------------------------------------------------------------------------------------------------------
# Derivatives of forward dynamics: accelerations, then both sets of walks at these, and a product at the end.
# d a/d tau = inv(mass),    d a/d x = -inv(mass) d tau/d x    at the accelerations that tau causes


BIAS = (in_root(articulated_bodies.BIAS_ACCELERATION, c="bias"), in_root(articulated_bodies.BIAS_FORCE, f="b"))
INNOVATIONS = in_root(articulated_bodies.INNOVATIONS, c="bias", f="b")
ACCELERATIONS = in_root(articulated_bodies.ACCELERATIONS, c="bias")
FORWARD_BUFFERS = (
    Buffer("bias", Motion.zero()),
    Buffer("b", Force.zero()),
    Buffer("nu", ()),
    Buffer("qdd", ()),
    DRIVE,
)


def forward_derivatives_pairs(model: Model, *, wrenches: bool = False, springs: bool = False) -> Plan:
    """The plan for a robot: it depends on where the tree branches."""
    drive, torque = driving(False, springs)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(*MOVING, *BIAS, *(off("b", step) for step in external)),
        tip_to_base(OUTWARD, *drive, INNOVATIONS.reading(tau=torque)),
        base_to_tip(PARENT_ACCELERATION, ACCELERATIONS, COMPLIANCE, HINGE, *AT_BODIES, *external),
        tip_to_base(*outward_sums(springs=springs)),
        from_each_inward(PAIR_DERIVATIVES),
        *inverse_walks(model),
    )
    buffers = (*BUFFERS, *FORWARD_BUFFERS, *INVERSE_BUFFERS, *DERIVATIVE_BUFFERS)
    return Plan("forward_dynamics_derivatives by walks", buffers, sweeps)


def factor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """inv(mass), d tau/d q and d tau/d v, (3, nv, nv) row by row: what the product is made of."""
    return chain(inverse_entries(model, values), state_entries(model, values))
