"""Rotors, gears and elastic joints as what a tree of bodies already has: inertias, armature, ties, springs.

A rotor of inertia J about its axis s, carried by link p, spins at ``N v`` against it. Beside what p's own data say of a
rotor that does not spin, its kinetic energy is ``J N (s.w_p) v + J N^2 v^2 / 2``. Where s is the axis h of the turning
joint itself, whose child k has ``h.w_k = h.w_p + v``, the first term is

    J N (h.w_p) v = J N (h.w_k)^2 / 2  -  J N (h.w_p)^2 / 2  -  J N v^2 / 2

so a moment of inertia J N about h given to the child and taken from the parent, and an armature ``J N (N - 1)``, are
the same mechanism, in every configuration, for the turn about h changes none of the three. A rotor about another axis,
or of a sliding joint, is a link of its own with J about its axis, on a joint tied to the one that it drives; an elastic
joint is two, the gear's and the spring's, with a massless shaft between. docs/decisions/0016-rotors.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.errors import ModelError, did_you_mean
from recursa.model.canonical import added_inertia
from recursa.model.description import DRIVEN, MOUNTS, TURNING, Description, JointRecord, LinkRecord, Mimic, Rotor
from recursa.model.joints import KINDS
from recursa.model.model import WORLD, Couple, Joint, Model
from recursa.spatial.constants import unit_axis
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3

_PARALLEL = 1e-12  # sine of the angle between axes that are one


# ---- a rotor about the axis of its joint -----------------------------------------------------------------------------


class Shares(NamedTuple):
    """What stands for a rotor: moments about the joint's axis for both links, and armature."""

    parent: float
    child: float
    armature: float


def shares_of(rotor: Rotor) -> Shares:
    """The moments and the armature of a rotor about the axis of its joint.

    >>> shares_of(Rotor(0.001, ratio=50.0))
    Shares(parent=-0.05, child=0.05, armature=2.45)
    """
    J, N = rotor.inertia, rotor.ratio
    own = 0.0 if rotor.included else J  # of a rotor that does not spin
    at_parent, at_child = (0.0, own) if rotor.mount == "child" else (own, 0.0)
    if not rotor.coupled:
        return Shares(at_parent, at_child, J * N * N)
    return Shares(at_parent - J * N, at_child + J * N, J * N * (N + 1.0 if rotor.mount == "child" else N - 1.0))


def rotor_inertias(joints: Sequence[Joint]) -> list[RigidInertia]:
    """What the rotors of all joints give to every body."""
    found = [RigidInertia.zero() for _ in joints]
    for number, joint in enumerate(joints):
        if joint.rotor is not None:
            shares = shares_of(joint.rotor)
            own = joint.hinge.axis if joint.after is None else joint.after.rotation.inverse_times(joint.hinge.axis)
            found[number] = _added(found[number], own, shares.child)
            if joint.parent != WORLD:
                axis = joint.placement.rotation @ joint.hinge.axis
                found[joint.parent] = _added(found[joint.parent], axis, shares.parent)
    return found


def _added(total: RigidInertia, axis: Vec3, moment: float) -> RigidInertia:
    """A body with a moment of inertia about an axis more: no mass, no moment across it."""
    share = RigidInertia(0.0, ZERO, SymMat3.dyad(axis, moment))
    return added_inertia(total, share, IDENTITY_TRANSFORM) if moment else total


def link_inertias(model: Model) -> tuple[RigidInertia, ...]:
    """What links give to every body, without the shares of rotors."""
    if not any(joint.rotor for joint in model.joints):
        return model.inertias
    both = zip(model.inertias, rotor_inertias(model.joints), strict=True)
    return tuple(all_of._replace(moment=all_of.moment - rotor.moment) for all_of, rotor in both)


def own_armature(joint: Joint) -> tuple[float, ...]:
    """The armature of a joint beside that of its rotor."""
    return joint.armature if joint.rotor is None else (joint.armature[0] - shares_of(joint.rotor).armature,)


def with_rotors(
    joints: tuple[Joint, ...], inertias: Sequence[RigidInertia]
) -> tuple[tuple[Joint, ...], tuple[RigidInertia, ...]]:
    """Joints with the armature of their rotors, and bodies with their inertias."""
    if not any(joint.rotor for joint in joints):
        return joints, tuple(inertias)
    shares = zip(inertias, rotor_inertias(joints), strict=True)
    return tuple(map(_geared, _coupled(joints))), tuple(
        added_inertia(own, share, IDENTITY_TRANSFORM) for own, share in shares
    )


def _coupled(joints: tuple[Joint, ...]) -> list[Joint]:
    """Joints that drive rotors with joints of their own, beside them or on their child, know these."""
    found = list(joints)
    for joint in joints:
        rotor, tie = joint.rotor, joint.tie
        if rotor is None or tie is None or rotor.mount != "itself" or not rotor.coupled:
            continue
        source = found[tie.source]
        couple = source.couple or Couple(ZERO, ZERO, 0.0)
        moment = joint.placement.rotation @ joint.hinge.axis * (rotor.inertia * tie.multiplier)
        if joint.parent == tie.source:
            couple = replace(couple, carried=couple.carried + moment)
        elif joint.parent == source.parent:
            couple = replace(couple, beside=couple.beside + moment)
        else:
            continue
        reflected = couple.reflected + rotor.inertia * tie.multiplier**2
        found[tie.source] = replace(source, couple=replace(couple, reflected=reflected))
    return found


def _geared(joint: Joint) -> Joint:
    if joint.rotor is None:
        return joint
    return replace(joint, armature=(joint.armature[0] + shares_of(joint.rotor).armature,))


def with_still_rotors(
    links: tuple[LinkRecord, ...], joints: Iterable[JointRecord], world: str | None
) -> tuple[LinkRecord, ...]:
    """The links with the inertias of rotors that spin no more, where data of carriers, but the world, are without."""
    found = {link.name: link for link in links}
    for joint in joints:
        rotor, axis = joint.rotor, unit_axis(joint.axis)
        if rotor is None or rotor.included:
            continue
        on_child = rotor.mount == "child"
        axis = joint.after.rotation.inverse_times(axis) if on_child else joint.placement.rotation @ axis
        carrier = joint.child if on_child else joint.parent
        if carrier != world:
            found[carrier] = _heavier(found[carrier], SymMat3.dyad(axis, rotor.inertia))
    return tuple(found.values())


def _heavier(link: LinkRecord, moment: SymMat3) -> LinkRecord:
    given = link.about_origin and link.about_origin._replace(moment=link.about_origin.moment + moment)
    return replace(link, inertia=link.inertia + moment, inertial=True, frame=False, about_origin=given)


def turned_rotor(rotor: Rotor) -> Rotor:
    """The same rotor of the same joint turned round, whose axis then points the other way."""
    return replace(rotor, ratio=-rotor.ratio, mount="child" if rotor.mount == "parent" else "parent")


# ---- what becomes links and joints of its own ------------------------------------------------------------------------


def expanded(description: Description) -> Description:
    """The description with elastic joints, and rotors about other axes than their joints', written out."""
    if not any(joint.rotor or joint.elastic or joint.stiffness for joint in description.joints):
        return description
    links, joints = list(description.links), list[JointRecord]()
    for joint in description.joints:
        _check(joint, description)
        for one in _elastic(joint, links):
            joints += _with_rotor(one, links)
    return replace(description, links=tuple(links), joints=tuple(joints))


def _elastic(joint: JointRecord, links: list[LinkRecord]) -> tuple[JointRecord, ...]:
    """The gear's joint, which keeps the name, and the spring's behind it."""
    if joint.elastic is None:
        return (joint,)
    shaft = LinkRecord(f"{joint.name}.shaft", frame=True, line=joint.line)
    links.append(shaft)
    spring = JointRecord(
        f"{joint.name}.spring",
        KINDS[joint.kind].unlimited or joint.kind,  # type: ignore[arg-type]
        shaft.name,
        joint.child,
        after=joint.after,
        axis=joint.axis,
        pitch=joint.pitch,
        armature=(0.0,),
        damping=(joint.elastic.damping,),
        friction=(0.0,),
        stiffness=joint.elastic.stiffness,
        line=joint.line,
    )
    return replace(joint, child=shaft.name, after=IDENTITY_TRANSFORM, elastic=None), spring


def _with_rotor(joint: JointRecord, links: list[LinkRecord]) -> tuple[JointRecord, ...]:
    """The joint with a rotor about its own axis, or with one beside it that has a joint of its own."""
    rotor = joint.rotor
    if rotor is None:
        return (joint,)
    turning, own = joint.kind in TURNING, unit_axis(joint.axis)
    axis = own if rotor.axis is None else unit_axis(rotor.axis)
    if not rotor.coupled and rotor.included:
        return (replace(joint, rotor=replace(rotor, axis=None)),)
    elsewhere = rotor.mount not in MOUNTS
    if turning and not elsewhere and axis.cross(own).norm() <= _PARALLEL:
        ratio = math.copysign(rotor.ratio, rotor.ratio * axis.dot(own))
        return (replace(joint, rotor=replace(rotor, axis=None, ratio=ratio)),)
    parent, place = {
        "parent": (joint.parent, joint.placement),
        "child": (joint.child, joint.after.inverse),
    }.get(rotor.mount, (rotor.mount, IDENTITY_TRANSFORM))
    link = LinkRecord(f"{joint.name}.rotor", frame=True, line=joint.line)
    links.append(link)
    beside = JointRecord(
        link.name,
        "continuous",
        parent,
        link.name,
        placement=place,
        axis=axis,
        armature=(0.0,),
        damping=(0.0,),
        friction=(0.0,),
        mimic=Mimic(joint.name, rotor.ratio, rigid=True),
        rotor=replace(rotor, axis=None, ratio=1.0, mount="itself"),
        line=joint.line,
    )
    return replace(joint, rotor=None), beside


def _check(joint: JointRecord, description: Description) -> None:
    """Refuse what means nothing; numbers that users hand in are looked at before, those of files here."""

    def fail(reason: str) -> ModelError:
        return ModelError(f"joint '{joint.name}': {reason}", line=joint.line, source=description.source)

    for what, value in (("rotor", joint.rotor), ("elasticity", joint.elastic), ("spring", joint.stiffness)):
        if value and joint.kind not in DRIVEN:
            raise fail(f"a {joint.kind} joint has no {what}; {', '.join(DRIVEN)} joints do")
    rotor, elastic = joint.rotor, joint.elastic
    if rotor is not None:
        if not (math.isfinite(rotor.inertia) and rotor.inertia >= 0.0):
            raise fail(f"the rotor's inertia must be a finite number that is not negative, not {rotor.inertia:g}")
        if not math.isfinite(rotor.ratio) or rotor.ratio == 0.0:
            raise fail(f"the rotor's ratio must be a finite number other than zero, not {rotor.ratio:g}")
        if not math.isfinite(rotor.inertia * rotor.ratio * rotor.ratio):
            raise fail(
                f"the rotor's inertia, {rotor.inertia:g}, times its ratio of {rotor.ratio:g} squared is too large"
            )
        if rotor.axis is not None and not (any(rotor.axis) and all(map(math.isfinite, rotor.axis))):
            raise fail(f"the rotor's axis must have a direction, not {tuple(rotor.axis)}")
        if rotor.mount == "itself" and rotor.ratio != 1.0:
            raise fail(
                f"a rotor that is a link of its own, mounted on 'itself', turns with its joint, at a ratio of 1, not "
                f"{rotor.ratio:g}. Mount it on the parent, the child or another link"
            )
        links = [link.name for link in description.links]
        if rotor.mount not in MOUNTS:
            if rotor.mount not in links:
                hint = did_you_mean(rotor.mount, ("parent", "child", *links))
                raise fail(f"the rotor is mounted on '{rotor.mount}', which is no link. {hint}")
            if rotor.axis is None:
                raise fail(f"a rotor on link '{rotor.mount}' needs its axis there: rc.Rotor(..., axis=(0, 0, 1))")
    if elastic is not None:
        if not (math.isfinite(elastic.stiffness) and elastic.stiffness > 0.0):
            raise fail(f"the elasticity's stiffness must be a positive number, not {elastic.stiffness:g}")
        if rotor is not None and rotor.mount == "child":
            raise fail("a rotor on the far side of an elastic joint is not modelled. Mount it on the parent")
        if not any(joint.armature) and (rotor is None or rotor.inertia == 0.0):
            raise fail(
                "an elastic joint needs something that moves on the motor's side of the spring. Give it a rotor, "
                "rotor=rc.Rotor(inertia, ratio), or an armature"
            )
