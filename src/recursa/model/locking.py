"""Joints that no longer move: each a fixed joint at the value that it is locked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recursa.errors import ModelError
from recursa.model.description import Description, JointRecord
from recursa.model.inputs import finite, floats
from recursa.model.model import Joint, Model
from recursa.model.model_variations import with_free_base
from recursa.model.naming import root_of
from recursa.model.pruning import pruned
from recursa.model.transmissions import with_still_rotors
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform

_UNIT = 1e-6  # how far a quaternion may be from unit length


def reduced(model: Model, lock: Mapping[str, Any] | Iterable[str]) -> tuple[Description, bool]:
    """The description with joints locked, and whether there is still a free base by option.

    Joints that are tied to a locked one are locked with it.
    """
    values = _values(model, lock)
    free_base = model.floating and model.joints[0].name in values
    description = with_free_base(model) if free_base else model.description
    poses = {name: _pose(model.joints[model.joint_index(name)], q) for name, q in values.items()}
    joints = tuple(_locked(joint, poses[joint.name]) if joint.name in poses else joint for joint in description.joints)
    held = {name: q[0] for name, q in values.items() if len(q) == 1}
    still = (joint for joint in description.joints if joint.name in poses)
    links = with_still_rotors(description.links, still, None if model.floating else root_of(description))
    return pruned(description, links, joints, held), model.floating and not free_base


def _values(model: Model, lock: Mapping[str, Any] | Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Coordinates of all joints that stand still, by name."""
    if isinstance(lock, str):
        lock = [lock]
    if not isinstance(lock, Iterable):
        raise ModelError(f"lock must be values by joint names, as in {{'finger': 0.02}}, or names, not {lock!r}")
    given = lock if isinstance(lock, Mapping) else dict.fromkeys(lock)
    found: dict[str, tuple[float, ...]] = {}
    for name, value in given.items():
        joint = model.joints[model.joint_index(name)]
        if joint.tie is not None:
            source = model.joints[joint.tie.source].name
            raise ModelError(f"joint '{name}' is tied to '{source}' and has no value of its own: lock '{source}'")
        found[name] = _coordinates(joint, value)
    for joint in model.joints:
        if joint.tie is not None and model.joints[joint.tie.source].name in found:
            (value,) = found[model.joints[joint.tie.source].name]
            found[joint.name] = (value * joint.tie.multiplier + joint.tie.offset,)
    return found


def _coordinates(joint: Joint, value: Any) -> tuple[float, ...]:
    if value is None:
        return joint.kind.neutral()
    what = f"lock['{joint.name}']"
    numbers = tuple(finite(x, what) for x in floats(value, joint.kind.nq, f"{what}, {joint.kind.meaning[0]},"))
    start = joint.kind.quaternion
    if start is not None:
        length = sum(x * x for x in numbers[start : start + 4]) ** 0.5
        if abs(length - 1.0) > _UNIT:
            raise ModelError(f"{what}: the quaternion (x, y, z, w) must have length 1, not {length:g}")
    return numbers


def _pose(joint: Joint, q: tuple[float, ...]) -> Transform:
    if q == joint.kind.neutral():
        return IDENTITY_TRANSFORM
    pose = joint.kind.transform(joint.hinge, q)
    return Transform(pose.rotation.snapped(), pose.translation)


def _locked(record: JointRecord, pose: Transform) -> JointRecord:
    placed = record.placement @ pose
    return JointRecord(record.name, "fixed", record.parent, record.child, placed, record.after, line=record.line)
