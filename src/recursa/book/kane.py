"""Inverse dynamics by Kane's equations: partial velocities times inertia forces, (5.2.36) and (5.2.37), base axes.

``tau_i = sum over links j outward of i of (dw_j/dqd_i . M_cj + drd_j/dqd_i . F_j)``. The partial velocities of a joint
that turns are z_i and ``z_i x r_{i,j}``, those of one that slides 0 and z_i, so that two sums over the links outward
do: of the forces, and of the moments about the base's origin.
"""

from __future__ import annotations

from collections.abc import Sequence

from recursa.book.newton_euler import LinkRates, behind_joint, resting
from recursa.book.on_axes import CENTRED, IN_BASE, Centred, in_base_axes, two_sweeps
from recursa.model.model import Joint
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Z_AXIS, ZERO, Vec3
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Step


def rates_in_base(
    joint: Joint, pose: Transform, above: Transform, parent: LinkRates, v: Sequence[Scalar], a: Sequence[Scalar]
) -> LinkRates:
    """(5.2.23a-c) in base axes."""
    (w, wd, sdd), z = parent, pose.rotation @ Z_AXIS
    s = pose.translation - above.translation
    sdd = sdd + wd.cross(s) + w.cross(w.cross(s))
    return behind_joint(joint, LinkRates(w, wd, sdd), z, v, a)


def inertia_forces(link: Centred, pose: Transform, here: LinkRates) -> tuple[Vec3, Vec3]:
    """``F_j = m rdd`` and ``M_cj + r_{0,j} x F_j``."""
    w, wd, sdd = here
    r, moment = pose.rotation @ link.r, pose.rotation.symmetric(link.moment)
    force = (sdd + wd.cross(r) + w.cross(w.cross(r))) * link.mass
    return force, moment @ wd + w.cross(moment @ w) + (pose.translation + r).cross(force)


def active_forces(force: Vec3, moment: Vec3, pose: Transform, external: Force) -> tuple[Vec3, Vec3]:
    """The same less a wrench on the link, its moment about the base's origin: Kane's active forces."""
    f, n = in_base_axes(pose, external)
    return force - f, moment - n - pose.translation.cross(f)


def partial_velocities(
    joint: Joint, pose: Transform, force: Vec3, moment: Vec3
) -> tuple[tuple[Scalar, ...], Vec3, Vec3]:
    """tau_i, and the sums as they are for the parent."""
    z = pose.rotation @ Z_AXIS
    if joint.kind.slides:
        return (z.dot(force),), force, moment  # (5.2.37)
    return (z.dot(moment - pose.translation.cross(force)),), force, moment  # (5.2.36)


KANE = two_sweeps(
    "kane",
    (Buffer("rates", LinkRates(ZERO, ZERO, ZERO), resting), Buffer("F", ZERO), Buffer("N", ZERO)),
    (
        IN_BASE,
        CENTRED,
        Step(rates_in_base, ("joint", "W", "W@parent", "rates@parent", "v", "a"), ("rates",), "omega, omegad, sdd"),
        Step(inertia_forces, ("link", "W", "rates"), ("F", "N"), "F_j = m rdd_j, M_cj + r_0j x F_j"),
        Step(active_forces, ("F", "N", "W", "E"), ("F", "N"), "F_j -= external force, N_j -= its moment about o_0"),
    ),
    Step(
        partial_velocities,
        ("joint", "W", "F", "N"),
        ("T", "F@parent", "N@parent"),
        "tau_i = z_i.sum(M_cj + r_ij x F_j) or z_i.sum F_j   (5.2.36), (5.2.37)",
    ),
)
