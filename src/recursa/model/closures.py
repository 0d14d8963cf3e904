"""What a source has beside its tree, closures, relations and ties, as constraints that are obeyed; and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recursa.errors import ModelError
from recursa.model.constraints import LOOP_KINDS, Constraint, JointRelation, Loop, called
from recursa.model.description import Closure, Description, MimicMode, Relation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3


def obeyed(description: Description, mimic: MimicMode) -> Description:
    """The description with its closures, relations and, where joints stay free, ties among its constraints."""
    found: list[Constraint] = [_loop(closure, description) for closure in description.closures]
    found += [_relation(relation) for relation in description.relations]
    joints = list(description.joints)
    for k, joint in enumerate(joints if mimic == "free" else ()):
        tie = joint.mimic
        if tie is not None and not tie.rigid:
            coefficients = {joint.name: 1.0, tie.joint: -tie.multiplier}
            found.append(JointRelation(coefficients, -tie.offset, f"{joint.name}_mimic"))
            joints[k] = replace(joint, mimic=None)
    return replace(
        description,
        joints=tuple(joints),
        closures=(),
        relations=(),
        constraints=(*description.constraints, *found),
        notes=tuple(note for note in description.notes if note.code != "loop"),  # that loops are not obeyed
    )


def _loop(closure: Closure, description: Description) -> Loop:
    if closure.kind not in LOOP_KINDS:
        raise ModelError(
            f"the loop '{closure.name}' is closed by a {closure.kind} joint, for which there is no loop",
            line=closure.line,
            source=description.source,
        )
    (at, rpy), (at_other, rpy_other) = (_placed(x) for x in (closure.placement, closure.placement_on_second))
    axis, kind = tuple(closure.axis), closure.kind
    return Loop(
        kind,  # type: ignore[arg-type]
        closure.first,
        closure.second,
        axis if any(axis) else (1.0, 0.0, 0.0),
        at,
        at_other,
        rpy,
        rpy_other,
        pitch=closure.pitch,
        name=closure.name,
    )


def _placed(place: Transform) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    x, y, z = (float(c) for c in place.translation)
    return (x, y, z), place.rotation.constant_rpy()


def _relation(relation: Relation) -> JointRelation:
    constant, *powers = relation.polynomial
    coefficients: dict[str, tuple[float, ...]] = {relation.joint: (1.0,)}
    if relation.other is not None and powers:
        coefficients[relation.other] = tuple(-x for x in powers)
    return JointRelation(coefficients, -constant, relation.name)


# ---- and back, for formats that have words for some of them ----------------------------------------------------------


def as_told(description: Description, format: str) -> Description:
    """Constraints as closures and relations beside the tree; what these cannot say is a ModelError."""
    closures, relations = list(description.closures), list(description.relations)
    for number, one in enumerate(description.constraints, 1):
        name = one.name or f"constraint{number}"
        if isinstance(one, Loop) and one.kind not in ("rod", "point-on-plane", "cylindrical", "universal"):
            first, second = (Transform.from_xyz_rpy(*two) for two in ((one.at, one.rpy), (one.at_other, one.rpy_other)))
            closures.append(Closure(name, one.kind, one.link, one.other, first, second, Vec3(*one.axis), one.pitch))
        elif isinstance(one, JointRelation) and (found := _polynomial(one)) is not None:
            relations.append(Relation(name, *found))
        else:
            raise ModelError(f"{format} has no words for the {called(one)}. robot.without_constraints() leaves it out")
    return replace(description, closures=tuple(closures), relations=tuple(relations), constraints=())


def _polynomial(one: JointRelation) -> tuple[str, str | None, tuple[float, ...]] | None:
    """``q = p(q')``, where a relation can be solved for one of at most two joints."""
    if len(one.coefficients) > 2:
        return None
    for joint, numbers in one.coefficients:
        if len(numbers) == 1:
            (slope,) = numbers
            others = [pair for pair in one.coefficients if pair[0] != joint]
            powers: Iterator[float] = (-x / slope for _, own in others for x in own)
            return joint, others[0][0] if others else None, (-one.offset / slope, *powers)
    return None
