"""Twists and shifts at mass centres: what all of DeNOC stands on. Saha (1)-(16).

A link's twist t_i = (w_i, v_i) has the velocity of its mass centre C_i; B_{i,i-1} carries twists outward, its transpose
wrenches inward, and p_i holds the joint's motions. The paper treats serial chains with joints that turn or slide; since
p_i is constant in link axes for every kind of joint, and since a link can add up what comes from several children, the
same steps do trees and joints with several freedoms. Components are in link axes, so B includes a rotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recursa.book.on_axes import CENTRED, Centred
from recursa.dynamics.inverse import base_going_up
from recursa.dynamics.kinematics import RELATIVE, base_moving, classical
from recursa.errors import NoSweepError
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, ScrewChain, Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO, Vec3
from recursa.sweeps import Buffer, Given, Step
from recursa.walks.jacobians import along

Hinge = tuple[Motion, ...]  # p_i: a twist per freedom


class Shift(NamedTuple):
    """``B_{i,i-1} = [[1, 0], [~c, 1]]`` (13) from the parent's axes to the link's; c leads from C_i to C_{i-1}."""

    turn: Transform | ScrewChain
    c: Vec3  # in the link's axes

    def twist(self, t: Motion) -> Motion:
        """``B t``: of the parent, as if the link were rigidly fixed to it."""
        w = self.turn.inverse_rotate(t.angular)
        return Motion(w, self.turn.inverse_rotate(t.linear) + self.c.cross(w))

    def wrench(self, w: Force) -> Force:
        """``B^T w``: about the parent's mass centre."""
        return Force(self.turn.rotate(w.moment - self.c.cross(w.force)), self.turn.rotate(w.force))

    def rigid(self, mass: RigidInertia) -> RigidInertia:
        """``B^T M B`` of a rigid body."""
        return self.turn.inertia(mass.shifted(-self.c))

    def articulated(self, mass: ArticulatedInertia) -> ArticulatedInertia:
        """``B^T M B`` of an articulated one."""
        return self.turn.articulated(mass.shifted(-self.c))

    def general(self) -> Transform:
        """The link's axes at C_i as a pose in the parent's axes at C_{i-1}."""
        rotation, _ = self.turn.general()
        return Transform(rotation, -(rotation @ self.c))


def shift(step: Transform | ScrewChain, link: Centred, parent: Centred) -> Shift:
    """``c_{i,i-1} = -(d_i + r_{i-1})``: back to the joint's origin O_i, and on to the parent's mass centre."""
    turn = step.turn()
    r = step.origin() - parent.r  # from C_{i-1} to O_i
    return Shift(turn, -(link.r + turn.inverse_rotate(r)))


def hinge(joint: Joint, link: Centred) -> Hinge:
    """p_i: ``(e, e x d)`` of a joint that turns (13), ``(0, e)`` of one that slides (15), and so on."""
    return tuple(Motion(w, v + w.cross(link.r)) for w, v in joint.columns())


def carried(w: Vec3, p: Motion) -> Motion:
    """``Omega p``: the rate of a motion that turns along with the link (2), (26)."""
    return Motion(w.cross(p.angular), w.cross(p.linear))


def twist(p: Hinge, B: Shift, parent: Motion, v: Sequence[Scalar]) -> Motion:
    """``t_i = B_{i,i-1} t_{i-1} + p_i qd_i`` (12)."""
    return B.twist(parent) + along(p, v)


def shift_rate(p: Hinge, B: Shift, parent: Motion, v: Sequence[Scalar]) -> Vec3:
    """The rate of c_{i,i-1}, ``v_{i-1} - v_i``, of which ``Bdot = [[0, 0], [~cdot, 0]]`` is made.

    The linear half of p qd has the joint's own share in it, sliding included, which the paper leaves out.
    """
    return -(B.c.cross(B.turn.inverse_rotate(parent.angular)) + along(p, v).linear)


def rigid(link: Centred) -> RigidInertia:
    """``M_i = diag(I_i, m_i 1)`` (2)."""
    return RigidInertia(link.mass, ZERO, link.moment)


def wrench_at_center(external: Force, link: Centred) -> Force:
    """A wrench at the link's origin, about its mass centre."""
    return Force(external.moment - link.r.cross(external.force), external.force)


SHIFT = Step(shift, ("X", "link", "link@parent"), ("B",), "B: c = -(d_i + r_{i-1})                     (13)")
HINGE = Step(hinge, ("joint", "link"), ("p",), "p = (e, e x d) or (0, e)                    (13), (15)")
TWIST = Step(twist, ("p", "B", "t@parent", "v"), ("t",), "t = B t(parent) + p qd                      (12)")
SHIFT_RATE = Step(shift_rate, ("p", "B", "t@parent", "v"), ("cdot",), "Bdot: cdot = v(parent) - v")
AT_CENTER = Step(wrench_at_center, ("E", "link"), ("w^E",), "w^E about C")

GEOMETRY = (RELATIVE, CENTRED, SHIFT, HINGE)
MOTION = (*GEOMETRY, TWIST, SHIFT_RATE)


def base_point_going_up(given: Given) -> Motion:
    """Acceleration of the base, of the point at its origin: that is what rates of twists are here."""
    return classical(base_going_up(given), given.base_twist)


BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("link", Centred(0.0, ZERO, SYM_ZERO)),
    Buffer("B", Shift(IDENTITY_TRANSFORM, ZERO)),
    Buffer("p", ()),
    Buffer("t", Motion.zero(), base_moving),
    Buffer("cdot", ZERO),
    Buffer("xi", Motion.zero(), base_point_going_up),
    Buffer("gam", Force.zero()),
    Buffer("E", Force.zero()),
    Buffer("w^E", Force.zero()),
    Buffer("T", ()),
)


def require_mass_centers(model: Model) -> None:
    """Raise where a body has a first moment but no mass, and so no mass centre."""
    for joint, inertia in zip(model.joints, model.inertias, strict=True):
        if inertia.mass == 0.0 and inertia.first != ZERO:
            raise NoSweepError(
                f"method 'denoc' takes twists at mass centres, and link '{joint.child}' has none: its masses add up to "
                "0, their moments do not. Use another method"
            )


def require_masses(model: Model, arguments: Mapping[str, Any]) -> None:
    """Bodies whose mass is given as 0 have no mass centre. Symbols have no values to look at."""
    parameters = np.asarray(arguments["parameters"])
    if parameters.dtype == object or parameters.shape[-1:] != (10 * model.nbodies,):
        return
    bare = (parameters[..., ::10] == 0.0).reshape(-1, model.nbodies).any(axis=0)
    for joint in np.asarray(model.joints, dtype=object)[bare][:1]:
        raise NoSweepError(
            f"method 'denoc' takes twists at mass centres, and parameters= gives link '{joint.child}' no mass. "
            "Use another method"
        )
