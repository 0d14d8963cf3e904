"""Derivatives of forward dynamics, and the state space, from those of inverse dynamics.

    d a/d tau = inv(mass),    d a/d x = -inv(mass) d tau/d x    at the accelerations that tau causes

Accelerations and the inverse come from the articulated recursion; in kernels, where there are few bodies, from the
factors of the mass matrix, whose entries the derivatives contain anyway (``composite_factor.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import add

from recursa.dynamics.articulated_bodies import (
    ACCELERATIONS,
    ARTICULATED_BUFFERS,
    BIAS_ACCELERATION,
    BIAS_FORCE,
    ELIMINATE,
    INNOVATIONS,
    UNIT_BUFFERS,
    UNIT_INNOVATIONS,
    UNIT_RESPONSES,
)
from recursa.dynamics.composite_factor import (
    ELIMINATED,
    FACTOR_BUFFERS,
    FACTOR_MASS,
    INVERSE_ROWS,
    MASS_ENTRIES,
    SUBSTITUTED,
)
from recursa.dynamics.derivatives import (
    CARRIED_FORCE,
    COLUMN_RATES,
    COMPOSITE_MOMENTUM,
    COMPOSITE_RATE,
    MATRICES,
    derivative_steps,
    named_matrix,
)
from recursa.dynamics.gathering import Entries
from recursa.dynamics.inverse import DRIFT, EXTERNAL, FORCE_BUFFERS, MOVING_FORCE, TORQUE, base_going_up, off, pushing
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.dynamics.wrenches import driving
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, fuse, tip_to_base


@cache
def forward_derivatives_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """Derivatives of inverse dynamics and the inverse of the mass matrix by the articulated recursion."""
    drive, torque = driving(False, springs)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    unit_innovations = replace(UNIT_INNOVATIONS, writes=("unit_nu", "z@parent"))
    return Plan(
        "forward_dynamics_derivatives",
        (
            *ARTICULATED_BUFFERS,
            *UNIT_BUFFERS,
            Buffer("unit_nu", ()),
            *MATRICES,
            Buffer("force", Force.zero()),
        ),
        (
            *bring,
            base_to_tip(RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE, *external),
            tip_to_base(ELIMINATE, *drive, INNOVATIONS.reading(tau=torque), unit_innovations),
            base_to_tip(
                ACCELERATIONS,
                UNIT_RESPONSES.reading(nu="unit_nu"),
                COLUMN_RATES,
                replace(MOVING_FORCE, writes=("force",)),
                *(off("force", step) for step in external),
            ),
            tip_to_base(
                COMPOSITE,
                COMPOSITE_RATE,
                COMPOSITE_MOMENTUM,
                replace(CARRIED_FORCE, reads=("X", "force"), writes=("force@parent",)),
                *(step.reading(f="force") for step in derivative_steps(springs=springs)),
            ),
        ),
    )


@cache
def forward_derivatives_by_factors_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """The same with the factors of the mass matrix, for kernels where there are few bodies."""
    drive, torque = driving(False, springs)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    return Plan(
        "forward_dynamics_derivatives by factors",
        (
            *FORCE_BUFFERS,
            *MATRICES,
            *FACTOR_BUFFERS,
            Buffer("eps", ()),
            Buffer("eps_below", ()),
            Buffer("taken", ()),
            Buffer("qdd", ()),
            Buffer("drift", Motion.zero(), base_going_up),
            Buffer("bias", Force.zero()),
        ),
        (
            *bring,
            base_to_tip(
                RELATIVE,
                VELOCITY,
                replace(DRIFT, reads=("joint", "X", "drift@parent", "V", "v"), writes=("drift",)),
                replace(MOVING_FORCE, reads=("inertia", "drift", "V"), writes=("bias",)),
                *(off("bias", step) for step in external),
            ),
            tip_to_base(
                COMPOSITE,
                MASS_ENTRIES,
                replace(TORQUE, reads=("joint", "X", "bias"), writes=("T", "bias@parent")),
                FACTOR_MASS,
                *drive,
                ELIMINATED.reading(tau=torque),
            ),
            base_to_tip(
                SUBSTITUTED,
                INVERSE_ROWS,
                replace(ACCELERATION, reads=("joint", "X", "alpha@parent", "V", "v", "qdd")),
                COLUMN_RATES,
                MOVING_FORCE,
                *external,
            ),
            tip_to_base(COMPOSITE_RATE, COMPOSITE_MOMENTUM, CARRIED_FORCE, *derivative_steps(springs=springs)),
        ),
    )


def forward_derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """d a/d q, d a/d v and d a/d tau, (3, nv, nv) row by row."""
    nv = model.nv
    inverse, by_q, by_v = (list(named_matrix(model, values, name)) for name in ("rows", "by_q", "by_v"))
    for by in (by_q, by_v):
        for row in range(nv):
            for column in range(nv):
                yield -reduce(add, (inverse[row * nv + k] * by[k * nv + column] for k in range(nv)))
    yield from inverse


# ---- state space: d/dt dq = dv - ad_v dq, since the coordinates of joints with several freedoms move along -----------


def moving_coordinates(joint: Joint, number: int, v: Sequence[Scalar]) -> Entries:
    """``-ad_v`` of a joint, ``-crm(H* v)`` along its own freedoms; nothing for a single one.

    The columns of joints with several freedoms are orthonormal, angular and linear parts each.
    """
    if joint.kind.nv == 1:
        return ()
    columns, own = joint.columns(), joint.motion(v)
    rates = [column.cross_motion(own) for column in columns]
    return tuple(
        (((number, k), (number, j)), column.angular.dot(rate.angular) + column.linear.dot(rate.linear))
        for k, column in enumerate(columns)
        for j, rate in enumerate(rates)
    )


_MOVING = Step(moving_coordinates, ("joint", "number", "v"), ("ad",), "-ad_v")
MOVING_COORDINATES = Plan("moving coordinates", (Buffer("ad", ()),), (base_to_tip(_MOVING),))


@cache
def state_space_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """All of A and B."""
    derivatives = forward_derivatives_plan(wrenches=wrenches, springs=springs)
    return fuse(derivatives, MOVING_COORDINATES, name="state_space")


@cache
def state_space_by_factors_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """The same with the factors of the mass matrix."""
    derivatives = forward_derivatives_by_factors_plan(wrenches=wrenches, springs=springs)
    return fuse(derivatives, MOVING_COORDINATES, name="state_space by factors")


def moving_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """``-ad_v`` of all joints, (nv, nv) row by row."""
    return named_matrix(model, values, "ad")


def state_space_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """A, then B, row by row."""
    nv = model.nv
    moving, lower = list(moving_entries(model, values)), list(forward_derivative_entries(model, values))
    for row in range(nv):
        yield from moving[row * nv : row * nv + nv]
        yield from (1.0 if column == row else 0.0 for column in range(nv))
    for start in range(0, nv * nv, nv):
        yield from lower[start : start + nv]
        yield from lower[nv * nv + start : nv * nv + start + nv]
    yield from (0.0,) * (nv * nv)
    yield from lower[2 * nv * nv :]
