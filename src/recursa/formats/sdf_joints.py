"""The joints of SDF, as joints from one link to another in the file's own sense of parent and child."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from recursa.errors import did_you_mean
from recursa.formats.sdf_scope import WORLD, Node, Scope
from recursa.formats.sdf_values import bound, number, strength, vector, word
from recursa.formats.xml import Element, clipped
from recursa.model.canonical import Weighed, weighed_transform
from recursa.model.description import DRIVEN, LIMITED, JointRecord, JointType, LinkRecord, Mimic, Relation
from recursa.model.joint_inputs import chained
from recursa.model.joints import KINDS
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform, composed
from recursa.spatial.vec3 import X_AXIS, Z_AXIS, Vec3

# ---- gearboxes of SDF, as relations between the joints on which their wheels turn ------------------------------------


_PARALLEL = 0.999999  # cosine of the angle between axes that are the same


class Wheel(NamedTuple):
    """A link that a gearbox turns, and the axis, in the model, about which its angle is counted."""

    link: str
    axis: Vec3


class Gear(NamedTuple):
    """A gearbox: ``angle of second = -ratio * angle of first``, both seen from the reference."""

    name: str
    ratio: float
    reference: str
    first: Wheel
    second: Wheel
    element: Element


def relations_of(
    gears: Iterable[Gear], joints: Iterable[JointRecord], poses: Mapping[str, Transform]
) -> tuple[Relation, ...]:
    """The relations between joints; a gearbox whose wheels do not turn on its reference body is noted and left out."""
    turning: dict[frozenset[str], list[JointRecord]] = {}
    for joint in joints:
        if joint.kind in ("revolute", "continuous"):
            turning.setdefault(frozenset((joint.parent, joint.child)), []).append(joint)
    found = []
    for gear in gears:
        first, second = (
            _holder(wheel, turning.get(frozenset((gear.reference, wheel.link)), ()), poses)
            for wheel in (gear.first, gear.second)
        )
        if first is None or second is None:
            reason = f"gearbox '{clipped(gear.name)}' was left out: its wheels do not turn on its reference body."
            gear.element.forgive("gearbox", reason, "Hang both on that body by revolute joints along the axes.")
            continue
        ratio = -gear.ratio * first[1] * second[1]
        found.append(Relation(gear.name, second[0], first[0], (0.0, ratio), line=gear.element.own_line))
    return tuple(found)


def _holder(wheel: Wheel, joints: Iterable[JointRecord], poses: Mapping[str, Transform]) -> tuple[str, float] | None:
    """The joint on which a wheel turns, and 1 if it counts as the gearbox does, -1 if the other way."""
    for joint in joints:
        axis = poses[joint.parent].rotation @ (joint.placement.rotation @ joint.axis)
        size = math.sqrt(axis.norm_squared() * wheel.axis.norm_squared())
        cosine = axis.dot(wheel.axis) / size if size else 0.0
        if abs(cosine) > _PARALLEL:
            return joint.name, math.copysign(1.0, cosine if joint.child == wheel.link else -cosine)
    return None


_TYPES: dict[str, JointType] = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "spherical",
    "screw": "helical",
    "fixed": "fixed",
    "universal": "revolute",
    "revolute2": "revolute",
    "gearbox": "fixed",
}
_TWO_AXES = ("universal", "revolute2")
_TWO_PARTS = {"axis": "1", "axis2": "2"}


class Joints:
    """The joints of all scopes of a model. ``poses`` are those of links in the frame of the model, "world" included."""

    def __init__(self, poses: Mapping[str, Transform]) -> None:
        self.poses = poses
        self.records: list[JointRecord] = []
        self.between: list[LinkRecord] = []
        self.gears: list[Gear] = []

    def add(self, scope: Scope, stand: Transform, name: str, node: Node) -> None:
        """Take in a joint of a scope whose frame stands at ``stand`` in that of the model."""
        element = node.element
        full = scope.path + name
        owner = f"joint '{clipped(full)}'"
        type_ = element.attributes.get("type", "").strip()
        if type_ not in _TYPES:
            raise element.error(
                f"{owner}: unknown joint type '{clipped(type_)}'. {did_you_mean(clipped(type_), _TYPES)}"
            )
        parent, child = (self._end(scope, element, tag, owner) for tag in ("parent", "child"))
        if child in (WORLD, parent):
            hint = "the child must be a link" if child == WORLD else "it connects a link to itself"
            raise element.error(f"{owner}: {hint}")
        pose = composed(stand, scope.pose(name))
        if type_ == "gearbox":
            self._gear(scope, stand, full, element, pose, (parent, child))
            return
        place = relative(self.poses[parent], pose), relative(pose, self.poses[child])
        kind = _TYPES[type_]
        made = _Joint(scope, stand, pose, owner, element)
        if type_ in _TWO_AXES:
            nowhere = IDENTITY_TRANSFORM, IDENTITY_TRANSFORM
            parts = [made.record(part, kind, ("", ""), nowhere, tag) for tag, part in _TWO_PARTS.items()]
            whole = JointRecord(full, kind, parent, child, *place, line=element.own_line)
            between, records = chained(whole, parts)
            self.between += between
            self.records += records
        else:
            self.records.append(made.record(full, kind, (parent, child), place, "axis"))

    def _end(self, scope: Scope, element: Element, tag: str, owner: str) -> str:
        named = word(element, tag)
        if not named:
            raise element.error(f"{owner} has no <{tag}>; every joint needs a parent and a child")
        found = scope.link(named)
        if found not in self.poses:
            raise element.error(f"{owner}: its {tag} '{clipped(named)}' is not a link of this model")
        return found

    def _gear(
        self, scope: Scope, stand: Transform, full: str, element: Element, pose: Transform, ends: tuple[str, str]
    ) -> None:
        owner = f"joint '{clipped(full)}'"
        made = _Joint(scope, stand, pose, owner, element)
        axes = [pose.rotation @ made.axis(tag) for tag in ("axis", "axis2")]
        reference = self._end(scope, element, "gearbox_reference_body", owner)
        ratio = number(element, "gearbox_ratio", owner, 1.0)
        first, second = map(Wheel, ends, axes)
        self.gears.append(Gear(full, ratio, reference, first, second, element))


class _Joint(NamedTuple):
    """A joint while it is read: its scope, where that stands, the joint's own frame in the model."""

    scope: Scope
    stand: Transform
    pose: Transform
    owner: str
    element: Element

    def record(
        self, name: str, kind: JointType, ends: tuple[str, str], place: tuple[Transform, Transform], tag: str
    ) -> JointRecord:
        axis, nv = self.element.child(tag), KINDS[kind].nv if kind in KINDS else 0
        dynamics = None if axis is None else axis.child("dynamics")
        limit = None if axis is None else axis.child("limit")
        stiffness, rest = (number(dynamics, f"spring_{what}", self.owner, 0.0) for what in ("stiffness", "reference"))
        if stiffness and nv > 1:
            reason = f"{self.owner} has a spring, and joints of several freedoms have none here."
            self.element.forgive("spring", reason, "Add its force to tau.")
        damping, friction = (number(dynamics, what, self.owner, 0.0) for what in ("damping", "friction"))
        driven = kind in DRIVEN
        return JointRecord(
            name,
            kind,
            *ends,
            placement=place[0],
            after=place[1],
            axis=self.axis(tag) if driven else X_AXIS,
            pitch=self.pitch() if kind == "helical" else 0.0,
            armature=(0.0,) * nv,
            damping=(damping,) * nv,
            friction=(friction,) * nv,
            limits=self.limits(limit) if kind in LIMITED else None,
            effort=strength(limit, "effort", self.owner) if driven else None,
            velocity=strength(limit, "velocity", self.owner) if driven else None,
            mimic=self.mimic(axis) if driven else None,
            stiffness=stiffness if driven else 0.0,
            rest=rest if driven and stiffness else 0.0,
            line=self.element.own_line,
        )

    def axis(self, tag: str) -> Vec3:
        """The axis in the frame of the joint."""
        holder = self.element.child(tag)
        if holder is None:
            raise self.element.error(f"{self.owner} has no <{tag}>, along which it would move")
        given = vector(holder, "xyz", self.owner, Z_AXIS)
        xyz = holder.child("xyz")
        frame = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        if not frame:
            return given
        turn = relative(self.pose, composed(self.stand, self.scope.pose(frame))).rotation
        return Vec3(
            *(x.settled() for x in weighed_transform(Transform(turn, X_AXIS)).rotation @ Vec3(*map(Weighed, given)))
        )

    def pitch(self) -> float:
        """Metres per radian: a right-handed thread is positive, also where the older element counts the other way."""
        if self.element.child("screw_thread_pitch") is None and self.element.child("thread_pitch") is not None:
            turns = number(self.element, "thread_pitch", self.owner, 1.0)  # radians per metre, left-handed
            if turns == 0.0:
                raise self.element.error(f"{self.owner}: <thread_pitch> is 0, an endless pitch")
            return -1.0 / turns
        return number(self.element, "screw_thread_pitch", self.owner, 1.0) / (2.0 * math.pi)

    def limits(self, limit: Element | None) -> tuple[float, float] | None:
        span = bound(limit, "lower", self.owner, -math.inf), bound(limit, "upper", self.owner, math.inf)
        return None if span == (-math.inf, math.inf) else span

    def mimic(self, axis: Element | None) -> Mimic | None:
        """``q = multiplier * (q[joint] - reference) + offset``."""
        element = None if axis is None else axis.child("mimic")
        if element is None:
            return None
        named = element.attributes.get("joint", "")
        leader = self.scope.joints.get(named)
        if leader is None:
            hint = did_you_mean(clipped(named), self.scope.joints)
            raise element.error(f"{self.owner} mimics the joint '{clipped(named)}', which does not exist. {hint}")
        full = self.scope.path + named
        if leader.element.attributes.get("type") in _TWO_AXES:
            full += "." + _TWO_PARTS.get(element.attributes.get("axis", "axis"), "1")
        multiplier = number(element, "multiplier", self.owner, 1.0)
        reference = number(element, "reference", self.owner, 0.0)
        return Mimic(full, multiplier, number(element, "offset", self.owner, 0.0) - multiplier * reference)


def relative(base: Transform, frame: Transform) -> Transform:
    """The pose of a frame in another, remainders of rounding being zero."""
    if frame == base:
        return IDENTITY_TRANSFORM
    if base == IDENTITY_TRANSFORM:
        return frame
    back = weighed_transform(base)
    moved = back.rotation.inverse_times(Vec3(*(Weighed(x) for x in frame.translation)) - back.translation)
    turn = (base.rotation.T @ frame.rotation).snapped()
    return Transform(turn, Vec3(*(x.settled() for x in moved)))
