"""Arms whose axes 2, 3 and 4 are parallel and whose last two meet, such as Universal Robots'.

With the displacement ``D = E1 ... E6`` that is wanted, what the three parallel axes do together,

    G = E2 E3 E4 = E1^-1 D E6^-1 E5^-1,

turns about their direction h and moves nothing along it. So for the point x where axes 5 and 6 meet, which they leave
where it is, ``h . E1^-1 D x = h . x``: an equation for the first angle. That G leaves h as it is gives, with
``b = R_D* R1 h``,

    R6 b = R5* h,   hence   h6 . b = h6 . R5* h

for the fifth and then the sixth; what is left is a planar arm of three joints.
"""

from __future__ import annotations

import numpy as np

from recursa.reach.analytic import angles
from recursa.reach.analytic.angles import angle_between, angles_of, cross, dot, harmonic, moved, turned
from recursa.reach.analytic.axes import Axes
from recursa.sweeps.batching import Array

_OFFSETS = [sign * step * np.pi / 18 for step in range(1, 19) for sign in (1.0, -1.0)]  # rad, the nearest first


def solve(axes: Axes, rotation: Array, translation: Array, reference: Array, tolerance: float) -> tuple[Array, Array]:
    """All angles (B, 2, 2, 2, 6) for displacements (B, 3, 3), (B, 3): by shoulder, elbow and wrist; and (..., 3) flags.

    The flags say where the shoulder, the elbow, the wrist are singular. ``reference`` (B, 6) are the angles that are
    taken for those that mean nothing.
    """
    h1, h, h3, h4, h5, h6 = axes.directions
    r1, r2, r3, r4, r5, r6 = axes.points
    size, meeting = axes.size, axes.meeting_point((4, 5))
    rotation, translation = rotation[:, None, None, None], translation[:, None, None, None]
    like = reference[:, None, None, None]

    def displaced(x: Array) -> Array:
        return angles.times(rotation, x) + translation

    # shoulder: h . R1* (D x - r1) = h . (x - r1)
    c, s, constant = harmonic(h, -h1, displaced(meeting) - r1)
    two, on_axis = angles_of(c / size, s / size, (dot(h, meeting - r1) - constant) / size)  # (B, 1, 1, 1, 2)
    angle1 = np.moveaxis(two, -1, 1)[..., 0]  # (B, 2, 1, 1)
    at_shoulder = on_axis
    # wrist: h6 . b = h6 . R5* h
    b = angles.times(rotation.swapaxes(-1, -2), turned(h1, angle1, np.broadcast_to(h, (*angle1.shape, 3))))
    c, s, constant = harmonic(h6, -h5, h)
    two, _ = angles_of(c, s, dot(h6, b) - constant)
    angle5 = np.moveaxis(two, -1, 3)[..., 0]  # (B, 2, 1, 2)
    target = turned(h5, -angle5, np.broadcast_to(h, (*angle5.shape, 3)))
    across = cross(np.broadcast_to(h6, target.shape), target)
    sine = np.sqrt(dot(across, across))
    at_wrist = sine <= angles.SINGULAR
    angle6, _ = angle_between(h6, b, target, 0.0)

    def planar(x: Array, sixth: Array) -> Array:
        """``G x``."""
        x = moved(h6, r6, -sixth, moved(h5, r5, -angle5, np.broadcast_to(x, (*angle5.shape, 3))))
        return moved(h1, r1, -angle1, displaced(x))

    # elbow: |E3 r4 - r2| = |G r4 - r2|, seen along h
    def flat(x: Array) -> Array:
        return x - h * dot(h, x)[..., None]

    upper, lower = flat(r3 - r2), flat(r4 - r3)
    c, s, constant = harmonic(upper, h3, lower)

    def to_reach(sixth: Array) -> tuple[Array, Array]:
        """G r4 from axis 2, and what ``upper . R3 lower`` has to be."""
        goal = flat(planar(r4, sixth) - r2)
        return goal, 0.5 * (dot(goal, goal) - dot(upper, upper) - dot(lower, lower)) - constant

    if (
        at_wrist.any()
    ):  # any sixth angle will do that leaves joint 4 within reach: the first of these, from the reference
        free, beyond = np.broadcast_to(like[..., 5], angle6.shape), (1.0 + 1e-12) * np.hypot(c, s)
        sought = at_wrist & (np.abs(to_reach(free)[1]) > beyond)
        for offset in _OFFSETS:
            if not sought.any():
                break
            tried = np.where(sought, like[..., 5] + offset, free)
            free = np.where(sought & (np.abs(to_reach(tried)[1]) <= beyond), tried, free)
            sought = at_wrist & (np.abs(to_reach(free)[1]) > beyond)
        angle6 = np.where(at_wrist, free, angle6)
    goal, middle = to_reach(angle6)
    two, at_elbow = angles_of(c / size**2, s / size**2, middle / size**2)  # (B, 2, 1, 2, 2)
    angle3 = np.moveaxis(two, -1, 2)[:, :, :, 0]  # (B, 2, 2, 2)
    reached = upper + turned(h3, angle3, np.broadcast_to(lower, (*angle3.shape, 3)))
    angle2, folded = angle_between(h, reached / size, goal / size, like[..., 1])
    aside = cross(h4, np.eye(3)[np.abs(h4).argmin()])  # any vector that joint 4 turns
    seen = planar(aside, angle6) - planar(np.zeros(3), angle6)
    angle4, _ = angle_between(
        h4, np.broadcast_to(aside, seen.shape), turned(h3, -angle3, turned(h, -angle2, seen)), 0.0
    )
    shape = angle3.shape
    whole = np.stack([np.broadcast_to(x, shape) for x in (angle1, angle2, angle3, angle4, angle5, angle6)], axis=-1)
    flags = np.stack(
        [np.broadcast_to(x, shape) for x in (at_shoulder, at_elbow | folded, sine <= angles.NEAR)], axis=-1
    )
    return whole, flags
