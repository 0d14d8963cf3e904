"""A robot of another size: lengths times one factor, masses times another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recursa.model.constraints import Constraint, Contact, JointRelation, Loop, Prescribed
from recursa.model.description import Closure, Description, JointRecord, LinkRecord, NamedState, Relation
from recursa.model.joints import KINDS
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.transform import Transform

Values = tuple[tuple[str, tuple[float, ...]], ...]


def scaled(description: Description, length: float, mass: float) -> Description:
    """The description with lengths and masses scaled; losses, springs, efforts, speeds and gears as they are."""
    units = {
        joint.name: length if joint.kind in KINDS and KINDS[joint.kind].slides else 1.0 for joint in description.joints
    }
    kinds = {joint.name: joint.kind for joint in description.joints}
    return replace(
        description,
        links=tuple(_link(link, length, mass) for link in description.links),
        joints=tuple(_joint(joint, length, mass, units) for joint in description.joints),
        closures=tuple(_closure(closure, length) for closure in description.closures),
        relations=tuple(_relation(relation, units) for relation in description.relations),
        constraints=tuple(_constraint(one, length, units) for one in description.constraints),
        states=tuple(
            NamedState(
                state.name,
                _values(state.q, kinds, length, "q_units", "m"),
                _values(state.v, kinds, length, "angular", False),
            )
            for state in description.states
        ),
    )


def _link(link: LinkRecord, length: float, mass: float) -> LinkRecord:
    moment = mass * length * length
    moments = link.about_origin
    return replace(
        link,
        mass=link.mass * mass,
        com=link.com * length,
        inertia=link.inertia * moment,
        about_origin=moments
        and RigidInertia(moments.mass * mass, moments.first * (mass * length), moments.moment * moment),
        geometry=tuple(shape.scaled(length) for shape in link.geometry),
    )


def _joint(joint: JointRecord, length: float, mass: float, units: Mapping[str, float]) -> JointRecord:
    turning = KINDS[joint.kind].angular if joint.kind in KINDS else ()
    rotors = zip(joint.armature, turning, strict=False)
    unit, tie = units[joint.name], joint.mimic
    if tie is not None:
        ratio = unit / units.get(tie.joint, 1.0)
        tie = replace(tie, multiplier=tie.multiplier * ratio, offset=tie.offset * unit)
    return replace(
        joint,
        placement=_moved(joint.placement, length),
        after=_moved(joint.after, length),
        pitch=joint.pitch * length,
        armature=tuple(rotor * mass * (length * length if turns else 1.0) for rotor, turns in rotors),
        limits=joint.limits and (joint.limits[0] * unit, joint.limits[1] * unit),
        mimic=tie,
        rest=joint.rest * unit,
        rotor=joint.rotor
        and replace(joint.rotor, inertia=joint.rotor.inertia * mass * length * length, ratio=joint.rotor.ratio / unit),
    )


def _moved(pose: Transform, length: float) -> Transform:
    return Transform(pose.rotation, pose.translation * length)


def _closure(closure: Closure, length: float) -> Closure:
    return replace(
        closure,
        placement=_moved(closure.placement, length),
        placement_on_second=_moved(closure.placement_on_second, length),
        pitch=closure.pitch * length,
    )


def _relation(relation: Relation, units: Mapping[str, float]) -> Relation:
    """``q s = s p(q' / s')``: coefficient k times ``s / s'^k``."""
    own, other = units.get(relation.joint, 1.0), units.get(relation.other or "", 1.0)
    polynomial = tuple(own * x / other**power for power, x in enumerate(relation.polynomial))
    return replace(relation, polynomial=polynomial)


def _constraint(one: Constraint, length: float, units: Mapping[str, float]) -> Constraint:
    """Lengths scaled; coefficient k of a relation divided by ``s^k``."""
    if isinstance(one, JointRelation):
        pairs = (
            (name, tuple(x / units.get(name, 1.0) ** power for power, x in enumerate(numbers, 1)))
            for name, numbers in one.coefficients
        )
        return replace(one, coefficients=tuple(pairs))
    at = _longer(one.at, length)
    if isinstance(one, Loop):
        other = _longer(one.at_other, length)
        return replace(one, at=at, at_other=other, length=one.length * length, pitch=one.pitch * length)
    if isinstance(one, Contact):
        return replace(one, at=at, anchor=one.anchor and _moved(one.anchor, length))
    assert isinstance(one, Prescribed)
    return replace(one, at=at)


def _longer(at: tuple[float, float, float], length: float) -> tuple[float, float, float]:
    x, y, z = (c * length for c in at)
    return x, y, z


def _values(values: Values, kinds: Mapping[str, str], length: float, parts: str, metres: object) -> Values:
    def each(name: str, numbers: tuple[float, ...]) -> tuple[float, ...]:
        units = getattr(KINDS[kinds.get(name, "free")], parts)
        return tuple(x * length if unit == metres else x for x, unit in zip(numbers, units, strict=True))

    return tuple((name, each(name, numbers)) for name, numbers in values)
