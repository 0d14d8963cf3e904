"""Linearised dynamics in Cartesian tensors: Algorithm 7.1 of Balafoutis & Patel, for joints that turn or slide.

``d tau = D da + V dv + P dq`` with D, V, P from (7.3.18)-(7.3.19), the dots that print loses restored. Per link, in its
axes: w and ``O = ~wdot + ~w ~w``, the acceleration sddot of its origin (gravity included), and of everything outward

    m, U, E     mass, first moment and inertia about the origin     composite bodies
    Udot, Uddot absolute derivatives of the vector U
    L           sum of ~w J + m ~r ~rdot, J the Euler tensor of a body about its centre, r from the origin there (C.15)
    F, eta      force and moment about the origin

The extension to sliding joints and to trees is ours: sums over children, and ``sdot = w x s + H* v`` for the vector s
from a link's origin to its child's. Frames sit on the joint axes (``model/canonical.py``): vectors and tensors are
turned axis by axis, as the book counts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from recursa.book.rigid_body import euler_from_inertia
from recursa.dynamics.derivatives import CARRIED_FORCE
from recursa.dynamics.gathering import Entries, Entry
from recursa.dynamics.inverse import FORCE_BUFFERS, MOVING_FORCE
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.dynamics.wrenches import DAMPED_ROWS, STIFFER_ROWS
from recursa.errors import NoSweepError
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import ScrewChain
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


def require_suited(model: Model, what: str) -> None:
    """Raise where a joint neither turns nor slides."""
    for joint in model.joints:
        if not (joint.kind.turns or joint.kind.slides):
            raise NoSweepError(
                f"joint '{joint.name}' is {joint.kind.name}: {what} is for revolute and prismatic joints. "
                'Use method="spatial"'
            )


def offset_rate(joint: Joint, step: ScrewChain, parent: Motion, v: Sequence[Scalar]) -> Vec3:
    """``sdot = w x s + H* v``: absolute rate of the vector from the parent's origin to this one, in parent axes."""
    return parent.angular.cross(step.origin()) + step.rotate(joint.motion(v).linear)


class Outward(NamedTuple):
    """What a link's motion adds to the moments of everything outward: Udot and L."""

    rate: Vec3
    tensor: Mat3

    def __add__(self, other: Outward) -> Outward:  # type: ignore[override]
        return Outward(self.rate + other.rate, self.tensor + other.tensor)


def outward(
    children: Outward, inertia: RigidInertia, total: RigidInertia, velocity: Motion, step: ScrewChain, sdot: Vec3
) -> tuple[Outward, Outward]:
    """``Udot = w x u + ...`` (7.3.18b), ``L = ~w Khat + ...`` (7.3.18d), and their shares at the parent."""
    udot, tensor = here = children + own_share(inertia, velocity.angular)
    turned = Outward(step.rotate(udot), step.tensor(tensor))
    return here, about_parent(turned, total.mass, step.rotate(total.first), step.origin(), sdot)


def own_share(inertia: RigidInertia, w: Vec3) -> Outward:
    """``~w u`` and ``~w Khat`` of one link."""
    return Outward(w.cross(inertia.first), Mat3.of(euler_from_inertia(inertia.moment)).cross_columns(w))


def about_parent(here: Outward, mass: Scalar, first: Vec3, s: Vec3, sdot: Vec3) -> Outward:
    """Udot and L about an origin from which s leads here; L gains ``m ~s ~sdot + ~s ~Udot + ~U ~sdot``."""
    rate, tensor = here
    lever = Mat3.skew(sdot * mass + rate).cross_columns(s) + Mat3.skew(sdot).cross_columns(first)
    return Outward(rate + sdot * mass, tensor + lever)


class Row(NamedTuple):
    """The vectors of one joint i that every joint inward meets (7.3.18e-k)."""

    f: Vec3
    fhat: Vec3
    fbar: Vec3
    B: Vec3
    C: Vec3
    H: Vec3
    G: Vec3

    def about(self, s: Vec3, sdot: Vec3) -> Row:
        """The same about the origin of a joint inward, from which s with its rate sdot leads here (7.3.11)-(7.3.13)."""
        f, fhat, fbar, b, c, h, g = self
        return Row(f, fhat, fbar, b - f.cross(s), c + f.cross(sdot), h - s.cross(fhat), g - s.cross(fbar))

    def carried(self, step: ScrewChain, sdot: Vec3) -> Row:
        """To the parent, in its axes (7.3.19a-g)."""
        return Row(*(step.rotate(vector) for vector in self)).about(step.origin(), sdot)


class Axis(NamedTuple):
    """The joint's axis z in motion: ``zdot = ~w z``, ``zddot = O z``, and sddot of the link's origin."""

    z: Vec3
    zdot: Vec3
    zddot: Vec3
    rise: Vec3


def moving_axis(joint: Joint, velocity: Motion, acceleration: Motion) -> Axis:
    """z, zdot, zddot and sddot from the link's velocity and acceleration."""
    (column,) = joint.columns()
    z = column.linear if joint.kind.slides else column.angular
    w = velocity.angular
    zdot = w.cross(z)
    zddot = acceleration.angular.cross(z) + w.cross(zdot)  # O z
    return Axis(z, zdot, zddot, acceleration.linear + w.cross(velocity.linear))


def start_of_row(joint: Joint, axis: Axis, total: RigidInertia, more: Outward, force: Force) -> Row:
    """The vectors of a joint at its own link (7.3.18e-k)."""
    z, zdot, zddot, rise = axis
    mass, first, moment = total
    udot, tensor = more
    if joint.kind.slides:
        return Row(
            f=z * mass,
            fhat=zdot * -mass,
            fbar=zddot * -mass,
            B=first.cross(z),
            C=z.cross(udot),
            H=first.cross(zdot),
            G=first.cross(zddot) - force.force.cross(z),
        )
    uddot = force.force - rise * mass
    return Row(
        f=z.cross(first),
        fhat=first.cross(zdot) + udot.cross(z),
        fbar=first.cross(zddot) + udot.cross(zdot) * 2.0 + uddot.cross(z),
        B=moment @ z,
        C=tensor.transpose_times(z),
        H=moment @ zdot - tensor @ z,
        G=moment @ zddot - (tensor @ zdot) * 2.0 + first.cross(rise.cross(z)) - force.moment.cross(z),
    )


def met(joint: Joint, axis: Axis, one: Row) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """What a joint j meets of the vectors of a joint i outward: d_ij, v_ij, p_ij, v_ji, p_ji (7.3.19h-m)."""
    z, zdot, zddot, rise = axis
    if joint.kind.slides:
        d, v, p = one.f.dot(z), 2.0 * one.f.dot(zdot), one.f.dot(zddot)
        return d, v, p, -2.0 * one.fhat.dot(z), -one.fbar.dot(z)
    d, v = one.B.dot(z), 2.0 * (one.B.dot(zdot) - one.C.dot(z))
    p = one.B.dot(zddot) - 2.0 * one.C.dot(zdot) + one.f.dot(rise.cross(z))
    return d, v, p, 2.0 * one.H.dot(z), one.G.dot(z)


def entries(
    meetings: Iterable[tuple[Joint, Entry, Axis, Entry, Row]],
) -> tuple[Entries, Entries, Entries]:
    """Entries of P, V and D for joints, each with its axis, that meet the vectors of a joint outward, or their own."""
    by_q, by_v, by_a = [], [], []
    for joint, key, axis, outer, row in meetings:
        d, v, p, back_v, back_p = met(joint, axis, row)
        by_a.append(((key, outer), d + joint.armature[0] if outer == key else d))
        by_v.append(((outer, key), v))
        by_q.append(((outer, key), p))
        if outer != key:
            by_v.append(((key, outer), back_v))
            by_q.append(((key, outer), back_p))
    return tuple(by_q), tuple(by_v), tuple(by_a)


Rows = tuple[tuple[Entry, Row], ...]


def linearized_rows(
    joint: Joint, number: int, axis: Axis, row: Row, below: Rows, step: ScrewChain, sdot: Vec3
) -> tuple[Entries, Entries, Entries, Rows]:
    """Entries of P, V and D that pair this joint with itself and the joints outward; the vectors for the parent."""
    key = (number, 0)
    by_q, by_v, by_a = entries((joint, key, axis, outer, one) for outer, one in ((key, row), *below))
    passed_on = tuple((outer, one.carried(step, sdot)) for outer, one in ((key, row), *below))
    return by_q, by_v, by_a, passed_on


@cache
def algorithm_7_1(*, losses: bool = False, springs: bool = False) -> Plan:
    """Algorithm 7.1 of the book."""
    return Plan(
        "linearize, Algorithm 7.1",
        (
            *FORCE_BUFFERS,
            Buffer("sdot", ZERO),
            Buffer("R", RigidInertia.zero()),
            Buffer("UL", Outward(ZERO, Mat3.zero())),
            Buffer("axis", Axis(ZERO, ZERO, ZERO, ZERO)),
            Buffer("row", Row(*(ZERO,) * 7)),
            Buffer("F", ()),
            Buffer("by_q", ()),
            Buffer("by_v", ()),
            Buffer("by_a", ()),
        ),
        (
            base_to_tip(
                RELATIVE,
                VELOCITY,
                ACCELERATION,
                MOVING_FORCE,
                Step(offset_rate, ("joint", "X", "V@parent", "v"), ("sdot",), "sdot = w x s + H* v"),
            ),
            tip_to_base(
                COMPOSITE,
                Step(outward, ("UL", "inertia", "R", "V", "X", "sdot"), ("UL", "UL@parent"), "Udot, L    (7.3.18b, d)"),
                CARRIED_FORCE,
                Step(moving_axis, ("joint", "V", "alpha"), ("axis",), "zdot = ~w z, zddot = O z, sddot"),
                Step(
                    start_of_row,
                    ("joint", "axis", "R", "UL", "f"),
                    ("row",),
                    "f, fhat, fbar, B, C, H, G    (7.3.18e-k)",
                ),
                Step(
                    linearized_rows,
                    ("joint", "number", "axis", "row", "F", "X", "sdot"),
                    ("by_q", "by_v", "by_a", "F@parent"),
                    "D, V, P    (7.3.18l-n), (7.3.19)",
                ),
                *((DAMPED_ROWS,) if losses else ()),
                *((STIFFER_ROWS,) if springs else ()),
            ),
        ),
    )
