"""Rows of G at the joints: what unit forces of the constraints do there while all other joints stand still."""

from __future__ import annotations

from recursa.constraints.ends import PLACED, POSE, put_down_ends
from recursa.constraints.rows import Felt, Pull, Response, marking, row_bodies, row_buffers, wrench_steps
from recursa.dynamics import kinematics
from recursa.dynamics.kinematics import RELATIVE
from recursa.model.model import Joint, Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, tip_to_base

LINK_POSES = Buffer("L", IDENTITY_TRANSFORM)


def posed(model: Model, *steps: Step) -> Sweep:
    """Poses of the bodies that ends are on, with further steps there."""
    return base_to_tip(PLACED, *steps, only=row_bodies(model))


def rigidly_passed(
    joint: Joint, rows: tuple[int, ...], felt: Felt, pull: tuple[Pull, ...], step: Transform
) -> tuple[tuple[Response, ...], Felt]:
    """What rows do at a joint of a robot whose other joints stand still: ``T + H phi w``, rows of G."""
    pulled = dict(pull)
    responses = []
    for row in rows:
        torque = pulled.get(row, (0.0,) * joint.kind.nv)
        across = joint.project(felt.forces[row])
        responses.append(Response(row, tuple(t + x for t, x in zip(torque, across, strict=True)), ()))
    onward = {row: step.force(felt.forces[row]) for row in rows}
    return tuple(responses), Felt.of(len(felt.forces), onward)


RIGIDLY_PASSED = Step(
    rigidly_passed,
    ("joint", "rows here", "felt", "pull", "X"),
    ("responses", "felt@parent"),
    "G = T + H phi w",
)


def rows_inward(model: Model) -> tuple[Sweep, ...]:
    """From the ends of the constraints to the joints."""
    return (*marking(model), *wrench_steps(model), tip_to_base(RIGIDLY_PASSED, only=row_bodies(model)))


def jacobian_plan(model: Model) -> Plan:
    """Rows of G at the joints."""
    ends, buffers = put_down_ends(model, POSE)
    sweeps = (base_to_tip(RELATIVE), posed(model), *ends, *rows_inward(model))
    own = (LINK_POSES, *buffers, *row_buffers(model.ncon))
    return Plan("constraint_jacobian", (*kinematics.BUFFERS, *own), sweeps)


def jacobian_rows(model: Model, values: Values) -> list[list[Scalar]]:
    """The rows of G; what a tied joint does counts for its source."""
    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.ncon)]
    for joint, responses in zip(model.joints, values.lists.get("responses", []), strict=False):
        factor = 1.0 if joint.tie is None else joint.tie.multiplier
        for row, eps, _ in responses:
            for i, x in enumerate(eps):
                own = rows[row]
                own[joint.v_start + i] = own[joint.v_start + i] + (x if joint.tie is None else x * factor)
    return rows
