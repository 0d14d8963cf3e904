"""Inverse dynamics by six-vectors: Algorithm 5.4 (Featherstone, link frames) and 5.5 (Rodriguez, base axes).

Their force vectors are (force; moment) and (moment; force), and their accelerations differ by omega x v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.book.on_axes import IN_BASE, in_base_axes, two_sweeps
from recursa.model.model import Joint
from recursa.spatial.inertia import Force, RigidInertia
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.transform import ScrewChain, Transform
from recursa.spatial.vec3 import Z_AXIS, ZERO, Vec3
from recursa.sweeps import Buffer, Given, Step

# ---- Algorithm 5.4: Featherstone ("featherstone") --------------------------------------------------------------------


@one_operand
class Hat(NamedTuple):
    """``(a; b)``: a motion (angular; linear at o_i) or a force (force; moment about o_i). Their rules are the same."""

    a: Vec3
    b: Vec3

    def __add__(self, other: Hat) -> Hat:  # type: ignore[override]
        return Hat(self.a + other.a, self.b + other.b)

    def __mul__(self, factor: Scalar) -> Hat:
        return Hat(self.a * factor, self.b * factor)

    def cross(self, other: Hat) -> Hat:
        """The spatial cross product ``[[~a, 0], [~b, ~a]]`` (5.2.29)."""
        return Hat(self.a.cross(other.a), self.b.cross(other.a) + self.a.cross(other.b))

    def dot(self, other: Hat) -> Scalar:
        """The spatial scalar product ``a.d + b.c`` (5.2.28)."""
        return self.a.dot(other.b) + self.b.dot(other.a)

    def outward(self, step: ScrewChain) -> Hat:
        """``X(i-1 -> i) = [[A^T, 0], [(~s A)^T, A^T]]``; the book leaves out the block with s (5.2.30)."""
        return Hat(step.inverse_rotate(self.a), step.inverse_rotate(self.b - step.origin().cross(self.a)))

    def inward(self, step: ScrewChain) -> Hat:
        """``X(i -> i-1) = [[A, 0], [~s A, A]]`` (5.2.30)."""
        a = step.rotate(self.a)
        return Hat(a, step.origin().cross(a) + step.rotate(self.b))


_ZERO = Hat(ZERO, ZERO)


def upward(given: Given) -> Hat:
    """``(0; -g)``; the book has 0 here, which leaves out gravity."""
    return Hat(ZERO, -given.gravity)


def axis(joint: Joint) -> Hat:
    """``(z; 0)`` or ``(0; z)``."""
    return Hat(ZERO, Z_AXIS) if joint.kind.slides else Hat(Z_AXIS, ZERO)


def momentum(inertia: RigidInertia, v: Hat) -> Hat:
    """``[[-m ~r, m 1], [I_o, m ~r]]`` times a motion (5.2.25)."""
    h = inertia.first
    return Hat(v.b * inertia.mass - h.cross(v.a), inertia.moment @ v.a + h.cross(v.b))


def spatial_motion(
    joint: Joint, step: ScrewChain, v_above: Hat, a_above: Hat, v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[Hat, Hat]:
    """Spatial velocity and acceleration of a link."""
    s = axis(joint)
    velocity = v_above.outward(step) + s * v[0]  # (5.2.26a)
    return velocity, a_above.outward(step) + velocity.cross(s * v[0]) + s * a[0]  # (5.2.26b)


def spatial_force(inertia: RigidInertia, velocity: Hat, acceleration: Hat) -> Hat:
    """``F = I a + v x I v`` (5.2.26c)."""
    return momentum(inertia, acceleration) + velocity.cross(momentum(inertia, velocity))


def spatial_torque(joint: Joint, step: ScrewChain, force: Hat) -> tuple[tuple[Scalar, ...], Hat]:
    """``tau = s . f`` (5.2.27b), and the force in the parent's frame (5.2.27a)."""
    return (axis(joint).dot(force),), force.inward(step)


def spatial_less(f: Hat, external: Force) -> Hat:
    """What is left for the joint where a wrench acts on the link."""
    return f + Hat(-external.force, -external.moment)


FEATHERSTONE = two_sweeps(
    "featherstone",
    (Buffer("v^", _ZERO), Buffer("a^", _ZERO, upward), Buffer("f^", _ZERO)),
    (
        Step(spatial_motion, ("joint", "X", "v^@parent", "a^@parent", "v", "a"), ("v^", "a^"), "v, a   (5.2.26a, b)"),
        Step(spatial_force, ("inertia", "v^", "a^"), ("f^",), "F = I a + v x I v   (5.2.26c)"),
        Step(spatial_less, ("f^", "E"), ("f^",), "f -= external"),
    ),
    Step(spatial_torque, ("joint", "X", "f^"), ("T", "f^@parent"), "f = F + X f, tau = s.f   (5.2.27)"),
)
"""Algorithm 5.4, completed."""


# ---- Algorithm 5.5: Rodriguez ("rodriguez") --------------------------------------------------------------------------


class InBase(NamedTuple):
    """A link in base axes: z of its joint, s from its parent's origin, its inertia."""

    z: Vec3
    s: Vec3
    inertia: RigidInertia


class LinkState(NamedTuple):
    """``v^ = (omega; v)`` and ``a^ = (omegad; sdd)`` of a link's origin, base axes; sdd is the point's acceleration."""

    w: Vec3
    v: Vec3
    wd: Vec3
    sdd: Vec3


@one_operand
class CoState(NamedTuple):
    """``f^ = (moment; force)``, base axes."""

    moment: Vec3
    force: Vec3

    def __add__(self, other: CoState) -> CoState:  # type: ignore[override]
        return CoState(self.moment + other.moment, self.force + other.force)


def in_base(pose: Transform, parent: Transform, step: ScrewChain, inertia: RigidInertia) -> InBase:
    """z_i, s_{i-1,i} and I^ (5.2.31) in base axes."""
    turn = pose.rotation
    return InBase(turn @ Z_AXIS, parent.rotation @ step.origin(), inertia.rotated(turn))


def base_state(given: Given) -> LinkState:
    """At rest, ``a^ = (0; -g)``; the book has 0 here, which leaves out gravity."""
    return LinkState(ZERO, ZERO, ZERO, -given.gravity)


def state(joint: Joint, here: InBase, parent: LinkState, v: Sequence[Scalar], a: Sequence[Scalar]) -> LinkState:
    """``x(i+1) = Phi^T x(i) + h ...``; alpha, which the book does not give, is what has two factors w or w and qd."""
    (w, speed, wd, sdd), z, s = parent, here.z, here.s
    speed = speed + w.cross(s)  # Phi^T = [[1, 0], [-~s, 1]]    (5.2.32), (5.2.34a)
    sdd = sdd + wd.cross(s) + w.cross(w.cross(s))  # (5.2.34b), alpha
    if joint.kind.slides:
        return LinkState(w, speed + z * v[0], wd, sdd + z * a[0] + w.cross(z * v[0]) * 2.0)
    return LinkState(w + z * v[0], speed, wd + z * a[0] + w.cross(z * v[0]), sdd)


def costate(here: InBase, x: LinkState) -> CoState:
    """``I^ a^ + beta`` of one link, ``beta = (w x I w; w x (w x m r))``, which the book does not give."""
    m, h, i = here.inertia
    return CoState(
        i @ x.wd + h.cross(x.sdd) + x.w.cross(i @ x.w),
        x.sdd * m - h.cross(x.wd) + x.w.cross(x.w.cross(h)),
    )


def costate_torque(joint: Joint, here: InBase, f: CoState) -> tuple[tuple[Scalar, ...], CoState]:
    """``tau = h.f^`` (5.2.35b), and ``Phi(i-1, i) f^`` (5.2.35a)."""
    torque = here.z.dot(f.force if joint.kind.slides else f.moment)
    return (torque,), CoState(f.moment + here.s.cross(f.force), f.force)


def costate_less(f: CoState, pose: Transform, external: Force) -> CoState:
    """What is left for the joint where a wrench acts on the link."""
    force, moment = in_base_axes(pose, external)
    return f + CoState(-moment, -force)


RODRIGUEZ = two_sweeps(
    "rodriguez",
    (
        Buffer("base", InBase(ZERO, ZERO, RigidInertia.zero())),
        Buffer("x", LinkState(ZERO, ZERO, ZERO, ZERO), base_state),
        Buffer("f^", CoState(ZERO, ZERO)),
    ),
    (
        IN_BASE,
        Step(in_base, ("W", "W@parent", "X", "inertia"), ("base",), "z, s, I^ in base axes   (5.2.31)"),
        Step(state, ("joint", "base", "x@parent", "v", "a"), ("x",), "v^ = Phi^T v^ + h qd, a^ = ...   (5.2.34)"),
        Step(costate, ("base", "x"), ("f^",), "I^ a^ + beta   (5.2.35a)"),
        Step(costate_less, ("f^", "W", "E"), ("f^",), "f^ -= external"),
    ),
    Step(costate_torque, ("joint", "base", "f^"), ("T", "f^@parent"), "f^ += Phi f^, tau = h.f^   (5.2.35)"),
)
"""Algorithm 5.5, with its bias terms."""
