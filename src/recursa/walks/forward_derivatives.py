"""Derivatives of forward dynamics: accelerations, then both sets of walks at these, and a product at the end.

d a/d tau = inv(mass),    d a/d x = -inv(mass) d tau/d x    at the accelerations that tau causes
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from recursa.dynamics.articulated import Elimination, bias_force, filtered, smoothed
from recursa.dynamics.inverse import off, pushing
from recursa.dynamics.springs import DRIVE, STIFFER_OWN, driving
from recursa.model.model import Model
from recursa.spatial.inertia import ArticulatedInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.derivatives import (
    AT_BODIES,
    DERIVATIVE_BUFFERS,
    OUTWARD_SUMS,
    PAIR_DERIVATIVES,
    state_entries,
)
from recursa.walks.mass_matrix_inverse import (
    COMPLIANCE,
    HINGE,
    INVERSE_BUFFERS,
    OUTWARD,
    inverse_entries,
    inverse_walks,
)
from recursa.walks.root_axes import BUFFERS, EXTERNAL, MOVING, PARENT_ACCELERATION, Motions, along


def bias_in_root(columns: Motions, velocity: Motion, v: Sequence[Scalar]) -> Motion:
    """``a = crm(V) s v``."""
    return velocity.cross_motion(along(columns, v))


def innovations_in_root(
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    bias: Motion,
    force: Force,
    torque: Sequence[Scalar],
) -> tuple[tuple[Scalar, ...], Force]:
    """``nu = inv(D) (T - H z)``, and z+ for the parent."""
    return filtered(done, torque, force + inertia @ bias)


def accelerations_in_root(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], bias: Motion, parent: Motion
) -> tuple[tuple[Scalar, ...], Motion]:
    """Accelerations of a joint, and its body's with them."""
    qdd, here = smoothed(done, nu, parent)
    return qdd, here + bias


BIAS = (
    Step(bias_in_root, ("S", "V", "v"), ("bias",), "a = crm(V) s v"),
    Step(bias_force, ("I", "V"), ("b",), "b = crf(V) I V"),
)
INNOVATIONS = Step(
    innovations_in_root,
    ("elimination", "P", "bias", "b", "tau"),
    ("nu", "b@parent"),
    "z = b + P a, nu = inv(D) (T - s.z), b(parent) += z + G eps",
)
ACCELERATIONS = Step(
    accelerations_in_root,
    ("elimination", "nu", "bias", "A"),
    ("qdd", "alpha"),
    "alpha = alpha(parent) + s qdd + a, qdd = nu - G* alpha(parent)",
)
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
    stiff = (STIFFER_OWN,) if springs else ()
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(*MOVING, *BIAS, *(off("b", step) for step in external)),
        tip_to_base(OUTWARD, *drive, INNOVATIONS.reading(tau=torque)),
        base_to_tip(PARENT_ACCELERATION, ACCELERATIONS, COMPLIANCE, HINGE, *AT_BODIES, *external),
        tip_to_base(*OUTWARD_SUMS, *stiff),
        from_each_inward(PAIR_DERIVATIVES),
        *inverse_walks(model),
    )
    buffers = (*BUFFERS, *FORWARD_BUFFERS, *INVERSE_BUFFERS, *DERIVATIVE_BUFFERS)
    return Plan("forward_dynamics_derivatives by walks", buffers, sweeps)


def factor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """inv(mass), d tau/d q and d tau/d v, (3, nv, nv) row by row: what the product is made of."""
    return chain(inverse_entries(model, values), state_entries(model, values))
