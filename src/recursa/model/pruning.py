"""What is left of a description when joints go or stand still: ties, relations, loops, actuators, named states.

What still means something stays, with the value of a joint that is held put in; what does not is left out and named in
a note, which the doctor prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from numpy.polynomial.polynomial import polyval

from recursa.errors import shortened
from recursa.model.constraints import WORLD_NAME, Constraint, JointRelation, called, joints_of, links_of
from recursa.model.description import (
    Actuator,
    Closure,
    Description,
    JointRecord,
    LinkRecord,
    NamedState,
    Note,
    Relation,
)

Values = tuple[tuple[str, tuple[float, ...]], ...]


def pruned(
    description: Description,
    links: Iterable[LinkRecord],
    joints: Iterable[JointRecord],
    held: Mapping[str, float] | None = None,
) -> Description:
    """The description with these links and joints; ``held``: values of joints of one freedom that no longer move."""
    kept_links, kept_joints = _without_lost_rotors(tuple(links), tuple(joints), held or {})
    moving = frozenset(joint.name for joint in kept_joints if joint.kind != "fixed")
    rest = _Rest(frozenset(link.name for link in kept_links), moving, held or {}, _bodies(kept_links, kept_joints))
    untied = tuple(rest.joint(joint) for joint in kept_joints)
    closures = tuple(closure for closure in description.closures if rest.closure(closure))
    constraints = tuple(new for old in description.constraints for new in rest.constraint(old))
    relations = (*(new for old in description.relations for new in rest.relation(old)), *rest.new_relations)
    actuators = tuple(new for old in description.actuators for new in rest.actuator(old))
    states = tuple(NamedState(state.name, rest.values(state.q), rest.values(state.v)) for state in description.states)
    return replace(
        description,
        links=kept_links,
        joints=untied,
        closures=closures,
        relations=relations,
        constraints=constraints,
        actuators=actuators,
        states=states,
        notes=(*description.notes, *rest.notes()),
    )


def _bodies(links: tuple[LinkRecord, ...], joints: tuple[JointRecord, ...]) -> dict[str, str]:
    """The links that move as one, each by the name of one of them."""
    inward = {joint.child: joint for joint in joints}
    found: dict[str, str] = {}
    for link in (link.name for link in links):
        way = [link]
        while way[-1] in inward and inward[way[-1]].kind == "fixed" and way[-1] not in found:
            way.append(inward[way[-1]].parent)
        body = found.get(way[-1], way[-1])
        found.update(dict.fromkeys(way, body))
    return found


def _without_lost_rotors(
    links: tuple[LinkRecord, ...], joints: tuple[JointRecord, ...], held: Mapping[str, float]
) -> tuple[tuple[LinkRecord, ...], tuple[JointRecord, ...]]:
    """A rotor that has a joint of its own goes with the joint that it drives."""
    there = {joint.name for joint in joints} | set(held)
    lost = {joint.child for joint in joints if joint.mimic and joint.mimic.rigid and joint.mimic.joint not in there}
    return (
        tuple(link for link in links if link.name not in lost),
        tuple(joint for joint in joints if joint.child not in lost),
    )


@dataclass
class _Rest:
    """Judges what can stay, and remembers what cannot."""

    links: frozenset[str]
    moving: frozenset[str]
    held: Mapping[str, float]
    bodies: Mapping[str, str]
    new_relations: list[Relation] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def joint(self, joint: JointRecord) -> JointRecord:
        """A joint that follows one which is held has a constant value; one that follows nothing is free."""
        tie = joint.mimic
        if tie is None or tie.joint in self.moving:
            return joint
        if tie.joint in self.held:
            value = tie.multiplier * self.held[tie.joint] + tie.offset
            self.new_relations.append(Relation(f"{joint.name}_mimic", joint.name, None, (value,)))
        else:
            self.left_out.append(f"the tie of joint '{joint.name}' to '{tie.joint}'")
        return replace(joint, mimic=None)

    def closure(self, closure: Closure) -> bool:
        stays = closure.first in self.links and closure.second in self.links
        if not stays:
            self.left_out.append(f"loop '{closure.name}' between '{closure.first}' and '{closure.second}'")
        return stays

    def relation(self, relation: Relation) -> tuple[Relation, ...]:
        joint, other = relation.joint, relation.other
        if joint in self.moving and (other is None or other in self.moving):
            return (relation,)
        if joint in self.moving and other is not None and other in self.held:
            return (replace(relation, other=None, polynomial=(_value(relation.polynomial, self.held[other]),)),)
        if joint in self.held and (other is None or other in self.held):
            return ()  # between constants
        linear = len(relation.polynomial) == 2 and relation.polynomial[1] != 0.0
        if joint in self.held and other is not None and other in self.moving and linear:
            constant, slope = relation.polynomial
            return (replace(relation, joint=other, other=None, polynomial=((self.held[joint] - constant) / slope,)),)
        self.left_out.append(f"relation '{relation.name}' of joint '{joint}'")
        return ()

    def constraint(self, constraint: Constraint) -> tuple[Constraint, ...]:
        """One whose links and joints are there; of a relation what is left of it, with values of held joints put in."""
        ends = set(links_of(constraint)) - {WORLD_NAME}
        if isinstance(constraint, JointRelation):
            moving = tuple(pair for pair in constraint.coefficients if pair[0] in self.moving)
            still = [(name, numbers) for name, numbers in constraint.coefficients if name not in self.moving]
            if all(name in self.held for name, _ in still):
                offset = sum((_value((0.0, *numbers), self.held[name]) for name, numbers in still), constraint.offset)
                return (replace(constraint, coefficients=moving, offset=offset),) if moving else ()
        elif ends <= self.links and all(name in self.moving or not name for name in joints_of(constraint)):
            together = {self.bodies.get(name, WORLD_NAME) for name in links_of(constraint)}
            if len(together) != 1:
                return (constraint,)
        self.left_out.append(called(constraint))
        return ()

    def actuator(self, actuator: Actuator) -> tuple[Actuator, ...]:
        gears = self.values(actuator.gears)
        if not gears and actuator.gears:
            self.left_out.append(f"actuator '{actuator.name}'")
            return ()
        return (replace(actuator, gears=gears),)

    def values(self, values: Values) -> Values:
        return tuple((name, numbers) for name, numbers in values if name in self.moving)

    def notes(self) -> tuple[Note, ...]:
        if not self.left_out:
            return ()
        reason = f"with joints or links that went, these went as well: {shortened(self.left_out)}."
        return (Note("left-out", reason, "Nothing, if they are not needed; else keep what they act on."),)


def _value(polynomial: tuple[float, ...], x: float) -> float:
    return float(polyval(x, polynomial))
