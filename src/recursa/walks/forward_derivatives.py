"""Derivatives of forward dynamics: accelerations, then both sets of walks at these, and a product at the end.

d a/d tau = inv(mass),    d a/d x = -inv(mass) d tau/d x    at the accelerations that tau causes
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from recursa.dynamics import articulated
from recursa.dynamics.inverse import off, pushing
from recursa.dynamics.springs import DRIVE, driving
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.derivatives import (
    AT_BODIES,
    DERIVATIVE_BUFFERS,
    PAIR_DERIVATIVES,
    outward_sums,
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
from recursa.walks.root_axes import BUFFERS, EXTERNAL, MOVING, PARENT_ACCELERATION, in_root

BIAS = (in_root(articulated.BIAS_ACCELERATION, c="bias"), in_root(articulated.BIAS_FORCE, f="b"))
INNOVATIONS = in_root(articulated.INNOVATIONS, c="bias", f="b")
ACCELERATIONS = in_root(articulated.ACCELERATIONS, c="bias")
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
