"""Joints as MuJoCo has them: hinges, slides, balls and free ones, several of them on one body.

A chain of joints with links without mass between them is one body there. Its pose in its parent is
``P1 J1 A1 P2 J2 A2 ... = (P1 A1 P2 A2 ...) (C1^-1 J1 C1) (C2^-1 J2 C2) ...`` with ``Ci = Ai P(i+1) A(i+1) ...``: that
where all coordinates are zero, then every joint in the axes of the body, at ``-Ci``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.errors import ModelError
from recursa.model.description import JointRecord, LinkRecord, Rotor
from recursa.model.inputs import unused
from recursa.model.joints import KINDS
from recursa.spatial.constants import unit_axis
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, ZERO, Vec3

_FREEDOMS = 6  # that MuJoCo allows for one body
_TURNING = ("revolute", "continuous", "spherical", "planar", "free")


class Spelled(NamedTuple):
    """One joint of MuJoCo, and which part of ours it is: all of it, or the coordinates from ``part`` on.

    ``axis`` and ``position`` are in the axes of its body.
    """

    name: str
    kind: str
    joint: JointRecord
    part: int = 0
    axis: Vec3 = X_AXIS
    position: Vec3 = ZERO
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0

    def coordinates(self, q: Sequence[float]) -> list[float]:
        """Its part of qpos, from the coordinates of our joint."""
        if self.kind in ("hinge", "slide"):
            return [q[self.part]]
        *place, x, y, z, w = q[self.part :]
        return [*place, w, x, y, z]

    def speeds(self, q: Sequence[float], v: Sequence[float]) -> list[float]:
        """Its part of qvel, from the coordinates and speeds of our joint."""
        kind = self.joint.kind
        if kind == "planar":
            turn = Rotation.from_axis_angle(Z_AXIS, q[2])
            x, y, _ = turn @ Vec3(v[1], v[2], 0.0)
            return [(x, y, v[0])[self.part]]
        if kind == "free":
            linear = Rotation.from_quaternion(Quaternion(*q[3:7])) @ Vec3(*v[3:6])
            return [linear[self.part]] if self.kind == "slide" else [*(linear if self.kind == "free" else ()), *v[:3]]
        return list(v)


def chains(
    first: JointRecord,
    links: Mapping[str, LinkRecord],
    below: Mapping[str, Sequence[JointRecord]],
    pinned: Collection[str],
) -> list[JointRecord]:
    """The joints from the first on that can be those of one body: between them are only links without anything."""
    joints = [first]
    while first.kind != "fixed":
        link = links[joints[-1].child]
        empty = not (link.mass or any(link.inertia) or link.geometry) and link.name not in pinned
        following = below[link.name]
        if not empty or len(following) != 1 or not _together(joints, following[0]):
            break
        joints.append(following[0])
    return joints


def _together(joints: Sequence[JointRecord], following: JointRecord) -> bool:
    """Whether MuJoCo lets one more joint onto the same body."""
    if following.kind not in KINDS or any(joint.kind == "free" for joint in (*joints, following)):
        return False
    freedoms = sum(KINDS[joint.kind].nv for joint in (*joints, following))
    askew = any(turn != IDENTITY for turn in (following.placement.rotation, following.after.rotation))
    ball = any(joint.kind == "spherical" for joint in joints)
    return freedoms <= _FREEDOMS and not (ball and (following.kind in _TURNING or askew))


def spelled(
    joints: Sequence[JointRecord], taken: Collection[str], world: str | None
) -> tuple[Transform, list[Spelled], Transform]:
    """The pose of the body at zero, its joints, and where the link stands on it, if that is not the body itself.

    ``world`` is the link that is the world, if any: free joints on it are MuJoCo's own.
    """
    tail = IDENTITY_TRANSFORM
    last = joints[-1]
    if last.kind in ("spherical", "free") and last.after.rotation != IDENTITY:
        tail = last.after  # the axes of a quaternion are those of the body: the link stands askew on it
    rest, found = IDENTITY_TRANSFORM, list[Spelled]()
    for joint in reversed(joints):
        after = IDENTITY_TRANSFORM if joint is last and tail != IDENTITY_TRANSFORM else joint.after
        rest = after @ rest
        found[:0] = _spell(joint, rest, taken, world)
        rest = joint.placement @ rest
    return rest, found, tail


def _spell(joint: JointRecord, rest: Transform, taken: Collection[str], world: str | None) -> list[Spelled]:
    """The joints of MuJoCo that one of ours is; ``rest`` is C, from its moving frame to the body."""
    name, kind = joint.name, joint.kind
    at = rest.inverse_point(ZERO)
    axis = rest.inverse_rotate(unit_axis(joint.axis))
    if kind == "fixed":
        return []
    if kind in ("revolute", "continuous"):
        return [Spelled(name, "hinge", joint, 0, axis, at, *_losses(joint, 0, 1))]
    if kind == "prismatic":
        return [Spelled(name, "slide", joint, 0, axis, ZERO, *_losses(joint, 0, 1))]
    if kind == "spherical":
        return [Spelled(name, "ball", joint, 0, X_AXIS, at, *_losses(joint, 0, 3))]
    if kind == "planar":
        plane = Rotation.z_to(unit_axis(joint.axis)).snapped().columns()
        x, y = (rest.inverse_rotate(one) for one in plane[:2])
        sliding = _sliding(joint, 1, 3)
        return [
            Spelled(name, "slide", joint, 0, x, ZERO, *sliding),
            Spelled(unused(f"{name}_y", taken), "slide", joint, 1, y, ZERO, *sliding),
            Spelled(unused(f"{name}_theta", taken), "hinge", joint, 2, axis, at, *_losses(joint, 0, 1)),
        ]
    if kind == "translation":
        losses = _losses(joint, 0, 3)
        names = [name, *(unused(f"{name}_{part}", taken) for part in ("y", "z"))]
        along = [rest.inverse_rotate(one) for one in (X_AXIS, Y_AXIS, Z_AXIS)]
        return [Spelled(names[k], "slide", joint, k, axis, ZERO, *losses) for k, axis in enumerate(along)]
    if kind == "free":
        return _spell_free(joint, at, taken, joint.parent == world)
    raise ModelError(f"joint '{name}': MuJoCo has no {kind} joints")


def _spell_free(joint: JointRecord, at: Vec3, taken: Collection[str], in_world: bool) -> list[Spelled]:
    """MuJoCo's own stands in the world, counted from its origin; else three slides and a ball."""
    sliding, turning = _sliding(joint, 3, 6), _losses(joint, 0, 3)
    plain = in_world and joint.placement == IDENTITY_TRANSFORM and joint.after == IDENTITY_TRANSFORM
    if plain and sliding == turning:
        return [Spelled(joint.name, "free", joint, 0, X_AXIS, ZERO, *sliding)]
    names = [joint.name, *(unused(f"{joint.name}_{part}", taken) for part in ("y", "z", "ball"))]
    slides = [
        Spelled(names[k], "slide", joint, k, axis, ZERO, *sliding) for k, axis in enumerate((X_AXIS, Y_AXIS, Z_AXIS))
    ]
    return [*slides, Spelled(names[3], "ball", joint, 3, X_AXIS, at, *turning)]


def _losses(joint: JointRecord, start: int, end: int) -> tuple[float, float, float]:
    """Armature, damping and friction of some freedoms, which MuJoCo gives one number each."""
    found = []
    if joint.rotor is not None:
        joint = _with_armature(joint, joint.rotor)
    for what in ("armature", "damping", "friction"):
        values = set(getattr(joint, what)[start:end] or (0.0,))
        if any(isinstance(value, tuple) for value in values):
            raise ModelError(f"joint '{joint.name}': its friction differs by direction; MuJoCo has one number for both")
        if len(values) > 1:
            raise ModelError(f"joint '{joint.name}' has a different {what} along each axis; MuJoCo has one number")
        found.append(values.pop())
    return found[0], found[1], found[2]


def _with_armature(joint: JointRecord, rotor: Rotor) -> JointRecord:
    """The joint with its rotor as armature, if that is all that the rotor is."""
    if rotor.coupled or not rotor.included:
        armature = f"with_joint('{joint.name}', rotor=rc.Rotor({rotor.inertia:g}, {rotor.ratio:g}, coupled=False))"
        fix = f"without('{joint.name}')" if rotor.mount == "itself" else armature
        raise ModelError(f"joint '{joint.name}': MuJoCo has no rotors that spin on a link. Write robot.{fix}")
    return replace(joint, armature=(sum(joint.armature) + rotor.inertia * rotor.ratio**2,), rotor=None)


def _sliding(joint: JointRecord, start: int, end: int) -> tuple[float, float, float]:
    """Those of freedoms that slide along link axes here, and along axes that stand still there."""
    armature, damping, friction = _losses(joint, start, end)
    if armature or friction:
        what = "armature" if armature else "friction"
        raise ModelError(f"joint '{joint.name}': MuJoCo has no {what} along axes of the link, only along fixed ones")
    return armature, damping, friction
