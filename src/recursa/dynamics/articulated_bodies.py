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
from recursa.dynamics.inverse import EXTERNAL, FORCE_BUFFERS, pushing, static_acceleration
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.needs import divides_by_hinges
from recursa.dynamics.wrenches import Losses, driving
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar, reciprocal
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Z_AXIS, ZERO
from recursa.sweeps import Buffer, Given, Plan, Step, Sweep, base_to_tip, each_link, tip_to_base


class Elimination(NamedTuple):
    """What eliminating one freedom leaves for later: its motion s, U = P s, and 1/D."""

    column: Motion
    u: Force
    inverse_d: Scalar


@divides_by_hinges
def eliminate(
    joint: Joint, children: ArticulatedInertia, inertia: RigidInertia, step: Transform
) -> tuple[ArticulatedInertia, tuple[Elimination, ...], ArticulatedInertia]:
    """P, the eliminations of the joint's freedoms in order, and ``phi P+ phi*``, which the parent feels."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    done, rest = reduced(joint, own)
    return own, done, step.articulated(rest)


def reduced(joint: Joint, own: ArticulatedInertia) -> tuple[tuple[Elimination, ...], ArticulatedInertia]:
    """The eliminations of the joint's freedoms in order, and ``P+``, what is left of P behind the free hinge."""
    return eliminated(joint.columns(), joint.armature, own)


def eliminated(
    columns: Sequence[Motion], rotors: Sequence[Scalar], own: ArticulatedInertia
) -> tuple[tuple[Elimination, ...], ArticulatedInertia]:
    """The same of freedoms by their motions, each with its armature."""
    done, rest = [], own
    for column, rotor in zip(columns, rotors, strict=True):
        u = rest @ column
        inverse_d = reciprocal(column.dot(u) + rotor)  # D = H P H* + A
        done.append(Elimination(column, u, inverse_d))
        rest = without_hinge(rest.minus_dyad(u, u * inverse_d), column, rotor)  # P+ = P - U inv(D) U*
    return tuple(done), rest


def without_hinge(rest: ArticulatedInertia, column: Motion, rotor: Scalar) -> ArticulatedInertia:
    """The same behind a hinge: without rotor ``H P+ = 0``, exactly and not only to rounding.

    Columns that depend on the state, as in axes of the root, are left to rounding: in a batch they are arrays.
    """
    if isinstance(rotor, float) and rotor == 0.0 and all(isinstance(x, float) for x in column.components()):
        return rest.without_z(turning=column == _TURN_Z, sliding=column == _SLIDE_Z)
    return rest


_TURN_Z, _SLIDE_Z = Motion(Z_AXIS, ZERO), Motion(ZERO, Z_AXIS)


def filtered(done: tuple[Elimination, ...], torque: Sequence[Scalar], z: Force) -> tuple[tuple[Scalar, ...], Force]:
    """Across a hinge going in: ``nu = inv(D) eps``, ``eps = T - H z``, and ``z+ = z + G eps``.

    Freedom by freedom, so that nu is what it is in the coordinates in which D is diagonal; :func:`smoothed` takes it
    as such.
    """
    _, nu, z = innovated(done, torque, z)
    return nu, z


def innovated(
    done: tuple[Elimination, ...], torque: Sequence[Scalar], z: Force
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...], Force]:
    """As :func:`filtered`, with eps in front of nu."""
    eps: list[Scalar] = []
    nu: list[Scalar] = []
    for (column, u, inverse_d), t in zip(done, torque, strict=True):
        eps.append(t - column.dot(z))
        nu.append(eps[-1] * inverse_d)
        z = z + u * nu[-1]
    return tuple(eps), tuple(nu), z


def smoothed(done: tuple[Elimination, ...], nu: Sequence[Scalar], up: Motion) -> tuple[tuple[Scalar, ...], Motion]:
    """Across a hinge going out: ``qdd = nu - G* up``, the last eliminated freedom first, and ``up + H* qdd``."""
    accelerations = []
    for (column, u, inverse_d), value in zip(reversed(done), reversed(nu), strict=True):
        accelerations.append(value - up.dot(u) * inverse_d)
        up = up + column * accelerations[-1]
    return tuple(reversed(accelerations)), up


ELIMINATE = Step(
    eliminate,
    ("joint", "P", "inertia", "X"),
    ("P", "elimination", "P@parent"),
    "P = M + sum of phi P+ phi*, D = H P H* + A, P+ = P - P H* inv(D) H P    (34)-(36)",
)

# ---- forward dynamics: three sweeps, Algorithm 4 as Jain & Rodriguez arrange it (Algorithm 2.3) ----------------------
# Algorithm 4 itself is in four_algorithms.py; here z has P a in it, so that the last sweep adds a behind the hinge.


def bias_acceleration(joint: Joint, velocity: Motion, v: Sequence[Scalar]) -> Motion:
    """``a = crm(V) H* v``."""
    return velocity.cross_motion(joint.motion(v))


def bias_force(inertia: RigidInertia, velocity: Motion) -> Force:
    """``b = crf(V) M V``."""
    return velocity.cross_force(inertia @ velocity)


def innovations(
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    bias: Motion,
    force: Force,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[tuple[Scalar, ...], Force]:
    """``nu = inv(D) (T - H z)`` with ``z`` the bias force seen at the joint, and z+ carried to the parent."""
    nu, z = filtered(done, torque, force + inertia @ bias)
    return nu, step.force(z)


def joint_accelerations(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], bias: Motion, step: Transform, parent: Motion
) -> tuple[tuple[Scalar, ...], Motion]:
    """``qdd = nu - G* phi* alpha(parent)``, and the body's own acceleration."""
    accelerations, here = smoothed(done, nu, step.inverse_motion(parent))
    return accelerations, here + bias


def falling(given: Given) -> Motion:
    """What the recursions leave out of accelerations, since they let the base rise instead of bodies fall."""
    return Motion(ZERO, given.gravity)


def true_acceleration(body: Motion, fall: Motion, offset: Transform) -> Motion:
    """Acceleration of a link from that of its body relative to free fall."""
    return offset.inverse_motion(body + fall)


BIAS_ACCELERATION = Step(bias_acceleration, ("joint", "V", "v"), ("c",), "a = crm(V) H* v")
BIAS_FORCE = Step(bias_force, ("inertia", "V"), ("f",), "b = crf(V) M V")
INNOVATIONS = Step(
    innovations,
    ("elimination", "P", "c", "f", "tau", "X"),
    ("nu", "f@parent"),
    "z = b + P a + sum of phi z+, nu = inv(D)(T - H z), z+ = z + G D nu    Jain & Rodriguez (13a)",
)
ACCELERATIONS = Step(
    joint_accelerations,
    ("elimination", "nu", "c", "X", "alpha@parent"),
    ("qdd", "alpha"),
    "qdd = nu - G* phi* alpha(parent), alpha = phi* alpha(parent) + H* qdd + a    Jain & Rodriguez (13b)",
)
FALL = Step(static_acceleration, ("X", "fall@parent"), ("fall",), "gravity in body axes")
TRUE_ACCELERATION = Step(
    true_acceleration,
    ("alpha@body", "fall@body", "offset"),
    ("AL",),
    "alpha(link) = phi* (alpha(body) + gravity)  (57)",
)

ARTICULATED_BUFFERS = (
    *FORCE_BUFFERS,
    Buffer("P", ArticulatedInertia.zero()),
    Buffer("elimination", ()),
    Buffer("c", Motion.zero()),
    Buffer("nu", ()),
    Buffer("qdd", ()),
    Buffer("fall", Motion.zero(), falling),
    Buffer("AL", Motion.zero()),
)


@cache
def forward_plan(*, wrenches: bool = False, links: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Accelerations for given torques; with ``links`` also those of all links, AL."""
    drive, torque = driving(losses, springs)
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE),
        tip_to_base(ELIMINATE, *drive, INNOVATIONS.reading(tau=torque)),
        base_to_tip(ACCELERATIONS),
    )
    return Plan("forward_dynamics", ARTICULATED_BUFFERS, completed(sweeps, wrenches=wrenches, links=links))


def completed(sweeps: tuple[Sweep, ...], *, wrenches: bool, links: bool) -> tuple[Sweep, ...]:
    """The sweeps of an algorithm of forward dynamics, with what is optional: the first makes f, the last alpha.

    Wrenches are taken off f where it is made; the links' accelerations follow from alpha.
    """
    first, *middle, last = sweeps
    before, external = pushing(EXTERNAL, wrenches=wrenches)
    first = replace(first, steps=(*first.steps, *external))
    if links:
        last = replace(last, steps=(*last.steps, FALL))
    after = (each_link(TRUE_ACCELERATION),) if links else ()
    return (*before, first, *middle, last, *after)


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


UNIT_INNOVATIONS = Step(
    unit_innovations, ("number", "elimination", "z", "X"), ("nu", "z@parent"), "nu = inv(D) (I - H psi K)"
)
UNIT_RESPONSES = Step(
    unit_responses,
    ("number", "elimination", "nu", "X", "responses@parent"),
    ("rows", "responses"),
    "(I - H psi K)* inv(D) (I - H psi K)        (46)",
)
UNIT_BUFFERS = tuple(Buffer(name, ()) for name in ("z", "rows", "responses"))
MASS_MATRIX_INVERSE_PLAN = Plan(
    "mass_matrix_inverse",
    (*ARTICULATED_BUFFERS, *UNIT_BUFFERS),
    (base_to_tip(RELATIVE), tip_to_base(ELIMINATE, UNIT_INNOVATIONS), base_to_tip(UNIT_RESPONSES)),
)
