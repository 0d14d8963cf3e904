"""The regressor: torques are linear in the inertial parameters, ``tau = Y pi``.

Ten parameters per body, in the order of :meth:`RigidInertia.components`. Each is a body of its own in the force balance
``f = M alpha + crf(V) M V``; the forces of a subtree travel inward together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recursa.dynamics.gathering import flat, speed_index
from recursa.dynamics.inverse import FORCE_BUFFERS, moving_force
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base

UNIT_BODIES = tuple(RigidInertia.from_components([1.0 if i == k else 0.0 for i in range(10)]) for k in range(10))
Columns = tuple[tuple[int, Force], ...]  # (parameter number, force)
Rows = tuple[tuple[int, int, Scalar], ...]  # (freedom, parameter number, torque)


def parameter_forces(number: int, acceleration: Motion, velocity: Motion) -> Columns:
    """Force per unit of each of the body's ten parameters."""
    return tuple((10 * number + k, moving_force(unit, acceleration, velocity)) for k, unit in enumerate(UNIT_BODIES))


def regressor_rows(joint: Joint, own: Columns, below: Columns, step: Transform) -> tuple[Rows, Columns]:
    """The joint's rows, and the subtree's forces carried to the parent."""
    columns = joint.columns()
    rows = tuple(
        (i, parameter, column.dot(force)) for parameter, force in (*own, *below) for i, column in enumerate(columns)
    )
    return rows, tuple((parameter, step.force(force)) for parameter, force in (*own, *below))


REGRESSOR_PLAN = Plan(
    "regressor",
    (*FORCE_BUFFERS, Buffer("own", ()), Buffer("below", ()), Buffer("rows", ())),
    (
        base_to_tip(
            RELATIVE,
            VELOCITY,
            ACCELERATION,
            Step(parameter_forces, ("number", "alpha", "V"), ("own",), "f = M alpha + crf(V) M V per parameter"),
        ),
        tip_to_base(Step(regressor_rows, ("joint", "own", "below", "X"), ("rows", "below@parent"), "Y = H phi f")),
    ),
)


def regressor_entries(model: Model, per_joint: Sequence[Rows]) -> Iterator[Scalar]:
    """The nv x 10 nbodies matrix, row by row."""
    rows: list[list[Scalar]] = [[0.0] * (10 * model.nbodies) for _ in range(model.nv)]
    for joint, entries in zip(model.joints, per_joint, strict=True):
        for freedom, parameter, value in entries:
            at, factor = speed_index(joint, freedom)
            share = value if factor is None else value * factor
            rows[at][parameter] = rows[at][parameter] + share
    return flat(rows)
