"""Goals of ``recursa ik`` from text: "position flange 0.3 0.2 0.4 priority=1"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import recursa as rc
from recursa.errors import StateError, unknown_name
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.sweeps.batching import Array

_QUATERNION = 1e-3  # by which the norm of one that was typed may miss 1
Numbers = Sequence[float]


@dataclass(frozen=True)
class Form:
    """How a kind of goal is written: how many links, how many numbers (one of these), and what they make."""

    links: int
    counts: tuple[int, ...]
    make: Callable[..., rc.reach.Goal]


FORMS: dict[str, Form] = {
    "pose": Form(1, (7,), lambda link, x, **more: rc.reach.Pose(link, _pose(x), **more)),
    "orientation": Form(1, (4,), lambda link, x, **more: rc.reach.Orientation(link, _rotation(x), **more)),
    "position": Form(1, (3,), lambda link, x, **more: rc.reach.Position(link, x, **more)),
    "plane": Form(1, (6,), lambda link, x, **more: rc.reach.Plane(link, x[:3], x[3:], **more)),
    "line": Form(1, (6,), lambda link, x, **more: rc.reach.Line(link, x[:3], x[3:], **more)),
    "look-at": Form(1, (3, 6), lambda link, x, **more: rc.reach.LookAt(link, x[:3], _axis(x), **more)),
    "along": Form(1, (3, 6), lambda link, x, **more: rc.reach.Along(link, x[:3], _axis(x), **more)),
    "center-of-mass": Form(0, (3,), lambda x, **more: rc.reach.CenterOfMass(x, **more)),
    "relative": Form(2, (7,), lambda link, to, x, **more: rc.reach.Relative(link, to, _pose(x), **more)),
}


def goal(text: str) -> rc.reach.Goal:
    """A goal as it is typed: kind, links, numbers, and perhaps priority= and weight=."""
    kind, *words = text.replace(",", " ").split() or [""]
    if kind not in FORMS:
        raise unknown_name("kind of goal", kind, FORMS)
    form = FORMS[kind]
    options = [word for word in words if "=" in word]
    words = [word for word in words if "=" not in word]
    if len(words) < form.links:
        raise StateError(f'goal "{text}": expected {form.links} name{"s" * (form.links > 1)} of links and numbers')
    links, numbers = words[: form.links], _numbers(text, words[form.links :], form.counts)
    return form.make(*links, numbers, **dict(_option(text, option) for option in options))


def _option(text: str, option: str) -> tuple[str, Any]:
    name, _, value = option.partition("=")
    if name not in ("priority", "weight"):
        raise unknown_name("option of a goal", name, ("priority", "weight"))
    try:
        return name, int(value) if name == "priority" else float(value)
    except ValueError:
        raise StateError(f'goal "{text}": {name} must be a number, not "{value}"') from None


def _numbers(text: str, words: Sequence[str], counts: tuple[int, ...]) -> Numbers:
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise StateError(f'goal "{text}": these are not all numbers') from None
    if len(values) not in counts or not np.isfinite(values).all():
        raise StateError(f'goal "{text}": expected {" or ".join(map(str, counts))} finite numbers')
    return values


def _axis(numbers: Numbers) -> Numbers:
    return numbers[3:] or (0.0, 0.0, 1.0)


def _pose(numbers: Numbers) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = _rotation(numbers[3:]), numbers[:3]
    return matrix


def _rotation(numbers: Numbers) -> Array:
    x, y, z, w = numbers
    norm = float(np.sqrt(x * x + y * y + z * z + w * w))
    if abs(norm - 1.0) > _QUATERNION:
        raise StateError(
            f"the quaternion (x, y, z, w) = ({x:g}, {y:g}, {z:g}, {w:g}) has length {norm:.6g}, expected 1"
        )
    return np.array([tuple(row) for row in Rotation.from_quaternion(Quaternion(x, y, z, w)).rows()])
