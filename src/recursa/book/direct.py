"""Linearised dynamics without recursion over pairs of joints: (7.3.2)-(7.3.4) as they stand, in base axes.

Every entry comes from what joint i has at its own link and from s_{j,i} and its rate, which two origins and their
speeds give; Algorithm 7.1 (``linearized.py``) carries the same vectors from link to link instead. For joints that
turn, ``d_ij = z_i.[E_i - ~U_i ~s_ji].z_j`` and so on; with the vectors ``B = z_i.E_i - (z_i x U_i) x s_ji`` (7.3.11)
that is ``B.z_j``. Steps need the joints inward of a link as a list, so that this makes straight-line code only.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from recursa.book.linearized import Axis, Outward, Row, about_parent, entries, own_share, start_of_row
from recursa.book.on_axes import BUFFERS, IN_BASE
from recursa.book.six_vectors import CoState, InBase, LinkState, base_state, costate, in_base, state
from recursa.dynamics.gathering import Entries
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.losses import DAMPED_ROWS
from recursa.dynamics.springs import STIFFER_ROWS
from recursa.model.model import Joint
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


class OnPath(NamedTuple):
    """A joint as those outward of it meet it, base axes: its axis in motion, its origin and the speed of that."""

    joint: Joint
    number: int
    axis: Axis
    origin: Vec3
    speed: Vec3


def path(
    joint: Joint, number: int, pose: Transform, here: InBase, x: LinkState, above: tuple[OnPath, ...]
) -> tuple[OnPath, ...]:
    """The joints from the base to this one."""
    zdot = x.w.cross(here.z)
    axis = Axis(here.z, zdot, x.wd.cross(here.z) + x.w.cross(zdot), x.sdd)
    return (*above, OnPath(joint, number, axis, pose.translation, x.v))


def offset_rate(x: LinkState, parent: LinkState) -> Vec3:
    """sdot_{i-1,i}."""
    return x.v - parent.v


def generalized(
    below: RigidInertia, more: Outward, force: CoState, here: InBase, x: LinkState, sdot: Vec3
) -> tuple[RigidInertia, Outward, RigidInertia, Outward, CoState]:
    """mbar, U, E and Udot, L of everything outward (6.3.3), (6.3.4), (C.15), and their shares at the parent."""
    total, s = below + here.inertia, here.s
    moving = more + own_share(here.inertia, x.w)
    handed = CoState(force.moment + s.cross(force.force), force.force)
    return total, moving, total.shifted(s), about_parent(moving, total.mass, total.first, s, sdot), handed


def rows_of_last(
    inward: tuple[OnPath, ...], total: RigidInertia, more: Outward, force: CoState
) -> tuple[Entries, Entries, Entries]:
    """Rows and columns of the last joint on the path, the outer one of every pair, in P, V and D (7.3.2)-(7.3.4)."""
    outer = inward[-1]
    row: Row = start_of_row(outer.joint, outer.axis, total, more, Force(*force))
    return entries(
        (
            one.joint,
            (one.number, 0),
            one.axis,
            (outer.number, 0),
            row if one is outer else row.about(outer.origin - one.origin, outer.speed - one.speed),
        )
        for one in inward
    )


_STILL = LinkState(ZERO, ZERO, ZERO, ZERO)


@cache
def direct_plan(*, losses: bool = False, springs: bool = False) -> Plan:
    """The closed form (7.3.2)-(7.3.4)."""
    return Plan(
        "linearize, direct",
        (
            *BUFFERS,
            Buffer("base", InBase(ZERO, ZERO, RigidInertia.zero())),
            Buffer("x", _STILL, base_state),
            Buffer("sdot", ZERO),
            Buffer("path", ()),
            Buffer("f^", CoState(ZERO, ZERO)),
            Buffer("R", RigidInertia.zero()),
            Buffer("UL", Outward(ZERO, Mat3.zero())),
            Buffer("by_q", ()),
            Buffer("by_v", ()),
            Buffer("by_a", ()),
        ),
        (
            base_to_tip(
                RELATIVE,
                IN_BASE,
                Step(in_base, ("W", "W@parent", "X", "inertia"), ("base",), "z, s, I in base axes"),
                Step(state, ("joint", "base", "x@parent", "v", "a"), ("x",), "w, sdot, wdot, sddot"),
                Step(costate, ("base", "x"), ("f^",), "force and moment of a link"),
                Step(offset_rate, ("x", "x@parent"), ("sdot",), "sdot = difference of the origins' speeds"),
                Step(path, ("joint", "number", "W", "base", "x", "path@parent"), ("path",), "z, zdot, zddot, sddot"),
            ),
            tip_to_base(
                Step(
                    generalized,
                    ("R", "UL", "f^", "base", "x", "sdot"),
                    ("R", "UL", "R@parent", "UL@parent", "f^@parent"),
                    "U, E, Udot, L, F, eta    (6.3.3), (6.3.4), (C.15)",
                ),
                Step(rows_of_last, ("path", "R", "UL", "f^"), ("by_q", "by_v", "by_a"), "D, V, P    (7.3.2)-(7.3.4)"),
                *((DAMPED_ROWS,) if losses else ()),
                *((STIFFER_ROWS,) if springs else ()),
            ),
        ),
    )
