"""The articulated-body recursion: forward dynamics and the inverse of the mass matrix.

Rodriguez & Kreutz-Delgado (34)-(36): D = H P H* + A, G = P H* inv(D), P+ = P - P H* inv(D) H P. A joint with several
freedoms is eliminated freedom by freedom, which is the same with D in its L D L* factors: no matrix is inverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from recursa.dynamics.gathering import Entries, Entry
from recursa.dynamics.inverse import EXTERNAL, FORCE_BUFFERS, WRENCH, losses
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, RigidInertia
from recursa.spatial.scalars import Scalar, reciprocal
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Z_AXIS, ZERO
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, each_link, tip_to_base


class Elimination(NamedTuple):
    """What eliminating one freedom leaves for later: its motion s, U = P s, and 1/D."""

    column: Motion
    u: Force
    inverse_d: Scalar


def eliminate(
    joint: Joint, children: ArticulatedInertia, inertia: RigidInertia, step: Transform
) -> tuple[ArticulatedInertia, tuple[Elimination, ...], ArticulatedInertia]:
    """P, the eliminations of the joint's freedoms in order, and ``phi P+ phi*``, which the parent feels."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    done, rest = [], own
    for column, rotor in zip(joint.columns(), joint.armature, strict=True):
        u = rest @ column
        inverse_d = reciprocal(column.dot(u) + rotor)  # D = H P H* + A
        done.append(Elimination(column, u, inverse_d))
        rest = rest.minus_dyad(u, u * inverse_d)  # P+ = P - U inv(D) U*
        if isinstance(rotor, float) and rotor == 0.0:  # then H P+ = 0, exactly and not only to rounding
            rest = rest.without_z(turning=column == _TURN_Z, sliding=column == _SLIDE_Z)
    return own, tuple(done), step.articulated(rest)


_TURN_Z, _SLIDE_Z = Motion(Z_AXIS, ZERO), Motion(ZERO, Z_AXIS)


# ---- forward dynamics: Algorithm 4 (66)-(73), three sweeps -----------------------------------------------------------


def bias_acceleration(joint: Joint, velocity: Motion, v: Sequence[Scalar]) -> Motion:
    """``a = crm(V) H* v``."""
    return velocity.cross_motion(joint.motion(v))


def bias_force(inertia: RigidInertia, velocity: Motion) -> Force:
    """``b = crf(V) M V``."""
    return velocity.cross_force(inertia @ velocity)


def less_losses(joint: Joint, torque: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """What damping and friction leave of a torque."""
    return tuple(t - lost for t, lost in zip(torque, losses(joint, v), strict=True))


def innovations(
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    bias: Motion,
    force: Force,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[tuple[Scalar, ...], Force]:
    """``nu = inv(D) (T - H z)`` with ``z`` the bias force seen at the joint, and z+ carried to the parent."""
    z = force + inertia @ bias
    nu = []
    for (column, u, inverse_d), t in zip(done, torque, strict=True):
        nu.append((t - column.dot(z)) * inverse_d)
        z = z + u * nu[-1]
    return tuple(nu), step.force(z)


def joint_accelerations(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], bias: Motion, step: Transform, parent: Motion
) -> tuple[tuple[Scalar, ...], Motion]:
    """``qdd = nu - G* phi* alpha(parent)``, the last eliminated freedom first, and the body's own acceleration."""
    here, accelerations = step.inverse_motion(parent), []
    for (column, u, inverse_d), value in zip(reversed(done), reversed(nu), strict=True):
        accelerations.append(value - here.dot(u) * inverse_d)
        here = here + column * accelerations[-1]
    return tuple(reversed(accelerations)), here + bias


ELIMINATE = Step(
    eliminate,
    ("joint", "P", "inertia", "X"),
    ("P", "G", "P@parent"),
    "P = M + sum of phi P+ phi*, D = H P H* + A, P+ = P - P H* inv(D) H P    (34)-(36)",
)
BIAS_ACCELERATION = Step(bias_acceleration, ("joint", "V", "v"), ("c",), "a = crm(V) H* v")
BIAS_FORCE = Step(bias_force, ("inertia", "V"), ("f",), "b = crf(V) M V")
LESS_LOSSES = Step(less_losses, ("joint", "tau", "v"), ("T",), "T = tau - d v - f sign(v)")
INNOVATIONS = Step(
    innovations,
    ("G", "P", "c", "f", "tau", "X"),
    ("nu", "f@parent"),
    "z = b + P a + sum, nu = inv(D)(T - H z)   (70)-(72)",
)
LOSSY_INNOVATIONS = replace(INNOVATIONS, reads=("G", "P", "c", "f", "T", "X"))
ACCELERATIONS = Step(
    joint_accelerations,
    ("G", "nu", "c", "X", "alpha@parent"),
    ("qdd", "alpha"),
    "qdd = nu - G* phi* alpha(parent)   (73)",
)

ARTICULATED_BUFFERS = (
    *FORCE_BUFFERS,
    Buffer("P", ArticulatedInertia.zero()),
    Buffer("G", ()),
    Buffer("c", Motion.zero()),
    Buffer("nu", ()),
    Buffer("qdd", ()),
)


@cache
def forward_plan(*, wrenches: bool = False, losses: bool = False) -> Plan:
    """Accelerations for given torques."""
    bring = (each_link(WRENCH),) if wrenches else ()
    out = (RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE, *((EXTERNAL,) if wrenches else ()))
    torque = (LESS_LOSSES, LOSSY_INNOVATIONS) if losses else (INNOVATIONS,)
    sweeps = (*bring, base_to_tip(*out), tip_to_base(ELIMINATE, *torque), base_to_tip(ACCELERATIONS))
    return Plan("forward_dynamics", ARTICULATED_BUFFERS, sweeps)


# ---- inverse of the mass matrix: Identity 6 (46), unit torques through the same recursion ----------------------------

Columns = tuple[tuple[Entry, Force], ...]
Innovations = tuple[tuple[Entry, tuple[Scalar, ...]], ...]
Responses = tuple[tuple[Entry, Motion], ...]


def unit_innovations(
    number: int, done: tuple[Elimination, ...], below: Columns, step: Transform
) -> tuple[Innovations, Columns]:
    """For a unit torque at each freedom of the subtree: nu at this joint, and the force that reaches the parent."""
    found, passed_on = [], []
    own = tuple(((number, i), Force.zero()) for i in range(len(done)))
    for key, z in (*own, *below):
        nu = []
        for i, (column, u, inverse_d) in enumerate(done):
            unit = 1.0 if key == (number, i) else 0.0
            silent = key[0] == number and i < key[1]  # its own torque is not felt before its turn
            nu.append(0.0 if silent else (unit - column.dot(z)) * inverse_d)
            z = z if silent else z + u * nu[-1]
        found.append((key, tuple(nu)))
        passed_on.append((key, step.force(z)))
    return tuple(found), tuple(passed_on)


def unit_responses(
    number: int, done: tuple[Elimination, ...], found: Innovations, step: Transform, parent: Responses
) -> tuple[Entries, Responses]:
    """Accelerations of this joint per unit torque at itself and at the joints after it: rows of the inverse."""
    at_parent = dict(parent)
    innovations_here = dict(found)
    entries, responses = [], []
    for key in dict.fromkeys((*innovations_here, *(key for key in at_parent if key[0] > number))):
        here = step.inverse_motion(at_parent[key]) if key in at_parent else Motion.zero()
        nu = innovations_here.get(key, (0.0,) * len(done))
        for i, (column, u, inverse_d) in reversed(list(enumerate(done))):
            value = nu[i] - here.dot(u) * inverse_d
            here = here + column * value
            if key >= (number, i):
                entries.append((((number, i), key), value))
        responses.append((key, here))
    return tuple(entries), tuple(responses)


MASS_MATRIX_INVERSE = Plan(
    "mass_matrix_inverse",
    (*ARTICULATED_BUFFERS, Buffer("z", ()), Buffer("rows", ()), Buffer("responses", ())),
    (
        base_to_tip(RELATIVE),
        tip_to_base(
            ELIMINATE,
            Step(unit_innovations, ("number", "G", "z", "X"), ("nu", "z@parent"), "nu = inv(D) (I - H psi K)"),
        ),
        base_to_tip(
            Step(
                unit_responses,
                ("number", "G", "nu", "X", "responses@parent"),
                ("rows", "responses"),
                "(I - H psi K)* inv(D) (I - H psi K)        (46)",
            )
        ),
    ),
)
