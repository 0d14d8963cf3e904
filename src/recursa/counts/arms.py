"""The arm that the papers' tables count for: general numbers, and nothing of it special but what is declared.

Frames sit on the joint axes, modified Denavit-Hartenberg: a link is reached by ``Rx(alpha) Tx(a) Rz(q) Tz(d)``, the
first one too. Twists, lengths, offsets, masses, mass centres and full inertias are general numbers, none of them 0 or
1, and rational, so that nothing is rounded (``exact.py``); gravity lies along the base's z axis, and there are no
rotors. Special geometry: twists are 0 or 90 degrees.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from recursa.counts.polynomials import Exact
from recursa.model.assemble import assemble
from recursa.model.canonical import CanonicalJoint, canonical
from recursa.model.dh import DHLink, describe_dh
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.transform import Screw
from recursa.spatial.vec3 import SymMat3, Vec3

Geometry = Literal["general", "0/90"]
GEOMETRIES: tuple[Geometry, ...] = get_args(Geometry)
_TWIST: dict[Geometry, float] = {"general": 1.0, "0/90": math.pi / 2}
_GRAVITY = (0.0, 0.0, -9.81)


@cache
def table_arm(n: int, geometry: Geometry = "general") -> Model:
    """n revolute joints; where twists are special, all of them are right angles."""
    row = DHLink(a=0.3, alpha=_TWIST[geometry], d=0.2, mass=1.0, inertia=(0.02, 0.03, 0.04))
    description = describe_dh([row] * n, convention="modified", name=f"arm of {n} joints")
    return generalized(assemble(description, gravity=_GRAVITY))


def generalized(model: Model) -> Model:
    """The same tree with the same kinds of joints, frames on the axes, and general numbers; twists of 0 or 90 stay.

    The first twist, from the base, is general too, or a right angle where all others are 0 or 90 degrees.
    """
    rng = np.random.default_rng(model.nbodies)
    moved = canonical(model)
    twists = [screw for joint in moved.joints if joint.parent != WORLD for screw in _twists(joint)]
    special = bool(twists) and all(_right(screw) for screw in twists)
    joints = tuple(_general_joint(joint, rng, special=special) for joint in moved.joints)
    return replace(moved, joints=joints, inertias=tuple(_general_inertia(rng) for _ in joints), gravity=_GRAVITY)


def _twists(joint: Joint) -> list[Screw]:
    """The screws about x before the joint."""
    return [screw for screw in joint.before if screw.axis == 0] if isinstance(joint, CanonicalJoint) else []


def _right(screw: Screw) -> bool:
    return screw.c * screw.s == 0.0


def _number(rng: np.random.Generator) -> Exact:
    """Between 0.2 and 0.6, from so many that no two are alike."""
    return Exact(int(rng.integers(200_000_000, 600_000_000)), 1_000_000_007)


def _angle(rng: np.random.Generator) -> tuple[Exact, Exact]:
    """Cosine and sine of an angle between 17 and 67 degrees, both rational."""
    half = Fraction(int(rng.integers(150_000, 660_000)), 1_000_003)  # the tangent of half the angle
    return Exact((1 - half * half) / (1 + half * half)), Exact(2 * half / (1 + half * half))


def _general_joint(joint: Joint, rng: np.random.Generator, *, special: bool) -> Joint:
    still = (0.0,) * joint.kind.nv
    joint = replace(joint, armature=still, damping=still, friction=still)
    if not isinstance(joint, CanonicalJoint):  # several freedoms: its frame is not on an axis
        return joint
    if joint.parent == WORLD:
        cosine, sine = (0.0, 1.0) if special else _angle(rng)
        before = [Screw(0, cosine, sine, 0.0)]
    elif not _twists(joint):  # parallel axes
        before = [*joint.before, Screw(0, 1.0, 0.0, 0.0)]
    else:
        before = [screw if screw.axis or _right(screw) else Screw(0, *_angle(rng), 0.0) for screw in joint.before]
    before = [screw if screw.axis else screw._replace(d=_number(rng)) for screw in before]
    turn: tuple[Any, Any] = _angle(rng) if joint.kind.slides else (1.0, 0.0)
    return replace(joint, before=tuple(before), angle=0.0, turn=turn, shift=_number(rng))  # type: ignore[arg-type]


def _general_inertia(rng: np.random.Generator) -> RigidInertia:
    """About the mass centre, then moved to the frame: a body that could be built."""
    x, y, z = (_number(rng) for _ in range(3))
    products = [_number(rng) / 8 for _ in range(3)]
    moment = SymMat3(y + z, x + z, x + y, *products)
    return RigidInertia(1.0 + _number(rng), Vec3.zero(), moment).shifted(Vec3(*(_number(rng) for _ in range(3))))
