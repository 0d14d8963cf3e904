"""Checks of joints, and of numbers that are none."""

from __future__ import annotations

import math
from collections.abc import Iterator

from recursa.doctor.patient import UNIT_AXIS, Patient, finite_link, floats_the_world, length, non_finite_data
from recursa.doctor.report import Finding, about
from recursa.dynamics.requirements import has_negative_data, hinge_words
from recursa.errors import did_you_mean
from recursa.model.description import numbers_of
from recursa.model.joints import has_axis


def non_finite(patient: Patient) -> Iterator[Finding]:
    """Numbers that are not numbers."""
    if patient.finite:
        return
    fix = "Replace them by finite numbers."
    for link in patient.links.values():
        if not finite_link(link):
            reason = (
                f"its inertial data contain nan or infinity: mass {link.mass:g}, centre of mass {tuple(link.com)}, "
                f"inertia {tuple(link.inertia)}."
            )
            yield about(link, "non-finite", None, reason, fix, error=True)
    for joint in patient.doubtful:
        for name in non_finite_data(joint):
            yield about(joint, "non-finite", None, f"its {name} contains nan or infinity.", fix, error=True)


def hinges(patient: Patient) -> Iterator[Finding]:
    """Joints that have nothing to move."""
    negative = any(found.pivot < 0.0 for found in patient.singular) and has_negative_data(patient.model)
    for found in patient.singular:
        if found.joint == 0 and floats_the_world(patient.model):
            continue  # said better
        joint = patient.model.joints[found.joint]
        reason, fix = hinge_words(patient.model, found, negative=negative)
        line = patient.links[joint.child].line
        yield Finding("error", "hinge", "joint", joint.name, found.pivot, f"its {reason}", fix, line)


def axes(patient: Patient) -> Iterator[Finding]:
    """Axes of zero or other than unit length."""
    for joint in patient.doubtful:
        if not has_axis(joint.kind) or not all(math.isfinite(x) for x in joint.axis):
            continue
        size = length(joint.axis)
        if size == 0.0:
            reason, fix = "its axis is (0, 0, 0), which has no direction.", "Say along which axis it turns or slides."
            yield about(joint, "axis", 0.0, reason, fix, error=True)
        elif abs(size - 1.0) > UNIT_AXIS:
            reason = f"its axis {tuple(joint.axis)} has length {size:.6g}; it was normalised."
            yield about(joint, "axis", size, reason, "Give a unit vector.")


def limits(patient: Patient) -> Iterator[Finding]:
    """Limits the wrong way round, a range of zero width, or a negative effort or speed."""
    for joint in patient.doubtful:
        if joint.limits is not None and joint.limits[0] > joint.limits[1]:
            lower, upper = joint.limits
            reason = f"its lower limit {lower:g} is above its upper limit {upper:g}."
            yield about(joint, "limits", lower - upper, reason, "Exchange them.")
        elif joint.limits is not None and joint.limits[0] == joint.limits[1]:
            reason = f"its lower and upper limit are both {joint.limits[0]:g}: within its limits it cannot move."
            fix = "Give it a range, remove its limits, or make it a fixed joint."
            yield about(joint, "limits", 0.0, reason, fix)
        for name in ("effort", "velocity", "acceleration", "jerk"):
            value = getattr(joint, name)
            if value is not None and value < 0.0:
                yield about(joint, "limits", value, f"its {name} limit is {value:g}.", "Make it positive.")


def losses(patient: Patient) -> Iterator[Finding]:
    """Armature, damping or friction of the wrong sign."""
    for joint in patient.doubtful:
        coulomb = numbers_of(joint.friction)
        if min((0.0, *joint.armature, *joint.damping, *coulomb)) == 0.0:
            continue
        for name, values in (("armature", joint.armature), ("damping", joint.damping), ("friction", coulomb)):
            if values and min(values) < 0.0:
                least = min(values)
                reason = f"its {name} is {least:g}, which would add energy."
                yield about(joint, name, least, reason, "Make it zero or positive.")


def springs(patient: Patient) -> Iterator[Finding]:
    """Springs that push away from where they rest."""
    for joint in patient.doubtful:
        if joint.stiffness < 0.0:
            reason = f"its stiffness is {joint.stiffness:g}: the spring pushes away from where it rests."
            yield about(joint, "stiffness", joint.stiffness, reason, "Make it positive, if that is not meant.")


def mimics(patient: Patient) -> Iterator[Finding]:
    """Ties to joints that do not exist or do not move, and ties that go round in a circle."""
    ties = {joint.name: joint.mimic.joint for joint in patient.doubtful if joint.mimic and joint.kind != "fixed"}
    if not ties:
        return
    names = {joint.name for joint in patient.joints}
    moving = {joint.name for joint in patient.model.joints}
    circling = _circling(ties)
    for joint in patient.doubtful:
        if joint.mimic is None or joint.kind == "fixed":
            continue
        source = joint.mimic.joint
        if source == joint.name or source not in moving:
            why = "is itself" if source == joint.name else "does not move" if source in names else "does not exist"
            reason = f"it mimics '{source}', which {why}."
            yield about(joint, "mimic", None, reason, did_you_mean(source, moving - {joint.name}))
            continue
        if joint.name in circling:
            reason = f"its ties go round in a circle: {_followed(joint.name, ties)}."
            yield about(joint, "mimic", None, reason, "Leave one of these joints without a tie.")


def _circling(ties: dict[str, str]) -> set[str]:
    """Joints from which ties lead into a circle; each is followed once."""
    round_about: dict[str, bool] = {}
    for name in ties:
        path = []
        while name in ties and name not in round_about:
            round_about[name] = True  # for whoever comes back here
            path.append(name)
            name = ties[name]
        round_about |= dict.fromkeys(path, round_about.get(name, False))
    return {name for name, circles in round_about.items() if circles}


_SHOWN = 12  # joints of a circle


def _followed(name: str, ties: dict[str, str]) -> str:
    """The joints that one comes to by following ties, up to the first that comes twice."""
    path = [name]
    while path[-1] not in path[:-1] and len(path) < _SHOWN:
        path.append(ties[path[-1]])
    return " -> ".join([*path, *([] if path[-1] in path[:-1] else ["..."])])
