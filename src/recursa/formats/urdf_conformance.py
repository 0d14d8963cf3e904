"""What URDF cannot hold: the parts of a robot that make other programs refuse the file, and those that they ignore."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from recursa.errors import ModelError, ModelWarning, shortened
from recursa.formats.urdf_shapes import SIZE_ATTRIBUTES
from recursa.model.assemble import STANDARD_GRAVITY
from recursa.model.constraints import called
from recursa.model.description import Description, JointRecord, JointType
from recursa.model.model import Model

_OUR_TYPES: tuple[JointType, ...] = ("spherical", "translation", "helical")
"""Joint types that only Recursa reads: other programs refuse a file that has one."""


def require_standard(description: Description) -> None:
    """Refuse what other programs cannot read at all, with the joint and the alternatives."""
    for joint in description.joints:
        reason = _unreadable(joint)
        if reason:
            raise ModelError(
                f"joint '{joint.name}' {reason}, which URDF does not have: other programs refuse the whole file. "
                "Write it for Recursa alone with robot.to_urdf(extensions=True), keep everything with "
                "robot.save('robot.json'), or write robot.to_mjcf()"
            )


def _unreadable(joint: JointRecord) -> str:
    if joint.kind in _OUR_TYPES:
        return f"is {joint.kind}"
    friction = [one[0] if isinstance(one, tuple) else one for one in joint.friction]
    for name, values in (("damping", joint.damping), ("friction", friction)):
        if len(set(values)) > 1:
            return f"has a different {name} along each of its axes"
    return ""


def warn_of_losses(model: Model, description: Description, *, stacklevel: int) -> None:
    """Give one warning that lists what the robot has and readers of its URDF will not find there."""
    losses = list(_losses(model, description))
    if losses:
        warnings.warn(
            f"the URDF of robot '{model.name}' does not hold all of it. Readers will miss {'; '.join(losses)}. "
            "robot.save('robot.json') keeps everything",
            ModelWarning,
            stacklevel=stacklevel + 1,
        )


def _losses(model: Model, description: Description) -> Iterator[str]:
    if tuple(model.gravity) != STANDARD_GRAVITY:
        vector = ", ".join(f"{x:g}" for x in model.gravity)
        yield f"gravity ({vector}), which other programs take as (0, 0, -9.81); pass gravity=({vector}) to rc.load"
    beside = [called(one) for one in description.constraints]
    beside += [f"closure '{one.name}'" for one in description.closures]
    beside += [f"relation '{one.name}'" for one in description.relations]
    if beside:
        yield f"constraints: {shortened(beside)}"
    for records, what in ((description.actuators, "motors"), (description.states, "named states")):
        if records:
            yield f"{what}: {shortened([repr(one.name) for one in records])}"
    shapes = {
        f"{shape.shape} on link '{link.name}'"
        for link in description.links
        for shape in link.geometry
        if shape.shape != "mesh" and shape.shape not in SIZE_ATTRIBUTES
    }
    if shapes:
        yield f"shapes: {shortened(sorted(shapes))}"
    for what, has in _IGNORED.items():
        names = [repr(joint.name) for joint in description.joints if has(joint)]
        if names:
            yield f"{what} of {shortened(names)}, which only Recursa reads"
    still = [repr(joint.name) for joint in description.joints if 0.0 in (joint.effort, joint.velocity)]
    if still:
        yield f"a largest effort or speed of zero of {shortened(still)}, which Recursa itself reads as unknown"


_IGNORED: dict[str, Callable[[JointRecord], bool]] = {
    "armature": lambda joint: any(joint.armature),
    "rotors": lambda joint: joint.rotor is not None,
    "springs": lambda joint: bool(joint.stiffness),
    "friction by direction": lambda joint: any(isinstance(one, tuple) for one in joint.friction),
}
"""Attributes of joints that we add to the format, which other programs pass over."""
