"""Lengths and masses that are valid numbers and look as if another unit was meant: millimetres, grams.

Like the hints on angles and quaternions these are a :class:`recursa.ConventionWarning`: nothing is refused, nothing
converted.
"""

from __future__ import annotations

import math
import warnings

from recursa.errors import ConventionWarning
from recursa.evaluation.hints import user_level
from recursa.model.model import Model

_BEYOND = 30.0  # times the size of the robot; what is meant in millimetres is a thousand times as far
_HEAVY = 5.0  # times the mass of the robot


def warn_of_millimetres(model: Model, distance: float, what: str) -> None:
    """Hint at millimetres where something lies far outside all that the robot reaches."""
    size = size_of(model)
    if 0.0 < _BEYOND * size < distance:
        warnings.warn(
            f"{what} is {distance:.4g} m away, and the robot '{model.name}' measures about {size:.2g} m from end to "
            f"end. Are these millimetres? Lengths are in metres here: divide them by 1000",
            ConventionWarning,
            stacklevel=user_level(),
        )


def warn_of_grams(model: Model, mass: float, what: str) -> None:
    """Hint at grams where something is much heavier than the robot that carries it."""
    own = sum(inertia.mass for inertia in model.inertias)
    if 0.0 < _HEAVY * own < mass:
        warnings.warn(
            f"{what} weighs {mass:.4g} kg, and the moving parts of the robot '{model.name}' {own:.3g} kg together. Are "
            f"these grams? Masses are in kilograms here: {mass:.4g} g are {mass / 1000.0:.4g} kg",
            ConventionWarning,
            stacklevel=user_level(),
        )


def size_of(model: Model) -> float:
    """How long the robot is if all of its joints and frames lie in a line, with the ways of joints that slide, in m."""
    lengths = [link.offset.translation.norm() for link in model.links]
    size = max((float(length) for length in lengths), default=0.0)
    for joint in model.joints:
        size += float(joint.placement.translation.norm())
        size += 0.0 if joint.after is None else float(joint.after.translation.norm())
        if joint.kind.slides:
            size += max((abs(x) for x in joint.limits or ()), default=math.inf)
    return size if math.isfinite(size) else 0.0
