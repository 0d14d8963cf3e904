"""Constraints in sweeps: ``B_c``, the wrenches of loops and contacts on bodies, ``T_c``, the torques of relations.

A wrench of an equation is made of the poses of the two links that it is about, which a sweep puts down for the robot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recursa.constraints.ends import PLACED, POSE, put_down_ends, read_ends
from recursa.constraints.rows import NOTHING_PULLS, Pull, pull_steps, row_bodies, wrenches_on_link
from recursa.model.constraint_equations import NO_LINK, Closing
from recursa.model.model import WORLD, Joint
from recursa.operators import steps
from recursa.operators.expression import Expression, known_shape
from recursa.operators.steps import Freedoms, Six, Stacked, Total, as_motion, entries_of
from recursa.operators.symbols import Kind
from recursa.operators.values import Value
from recursa.spatial.inertia import Force
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import Buffer, base_to_tip

if TYPE_CHECKING:
    from recursa.operators.lower import Lowering


class Constrained:
    """The constraints of one expression under way."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self._known = lowering, set[Kind]()

    def pushed(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        """``B_c f`` on bodies, or ``T_c f`` at joints."""
        self._prepare(kind)
        lowering, meaning = self.lowering, self.lowering.meaning(expression, operand)
        space = known_shape(expression).rows
        if kind is Kind.T_CONSTRAINT:
            return lowering.new(expression, torques, ("joint", "pull", operand.read), space, operand)
        ends = [
            lowering.steps.on_body(fn, ("offset", operand.read, *reads), link, meaning.text())
            for link, reads, fn in self._ends(_pushing)
        ]
        if not ends:
            return lowering.new(expression, steps.still, ("joint",), space, operand)
        return lowering.new(expression, steps.Combination((1.0,) * len(ends)), tuple(ends), space, operand)

    def felt(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        """``B_c* x`` of motions of bodies, or ``T_c* x`` of motions of joints: a number for every equation."""
        self._prepare(kind)
        lowering, meaning = self.lowering, self.lowering.meaning(expression, operand)
        space = known_shape(expression).rows
        if kind is Kind.T_CONSTRAINT:
            count = space.size

            def along(pull: tuple[Pull, ...], x: Freedoms) -> Stacked:
                return Stacked(_placed(count, {row: steps.dot(torque, x) for row, torque in pull}))

            name = lowering.steps.summed(along, ("pull", operand.read), meaning.text(), Stacked((0.0,) * count))
            return Value(name, space, meaning)
        ends = tuple(
            lowering.at_link(expression, fn, ("offset", f"{operand.name}@body", *reads), link, space, operand).read
            for link, reads, fn in self._ends(_feeling)
        )
        if not ends:
            return lowering.new(expression, steps.Fixed("nothing", (0.0,) * space.size), ("offset",), space, operand)
        return lowering.new(expression, steps.Combination((1.0,) * len(ends)), ends, space, operand)

    def _ends(self, make: Callable[..., Any]) -> list[tuple[int, tuple[str, ...], Callable[..., Any]]]:
        """Of every closing and side: the link, what is read there of both ends, and what is done."""
        model, found = self.lowering.model, []
        for of in (one for one in model.equations if isinstance(one, Closing)):
            reads, both = read_ends(model, of)
            for side, link in enumerate(of.links):
                if link != NO_LINK and model.links[link].body != WORLD:
                    found.append((link, reads, make(model.ncon, of, side, both)))
        return found

    def _prepare(self, kind: Kind) -> None:
        """Poses of the ends, or what equations do to joints, once."""
        if kind in self._known:
            return
        self._known.add(kind)
        assembly, model = self.lowering.steps, self.lowering.model
        assembly.prepare("X")
        if kind is Kind.T_CONSTRAINT:
            assembly.given((base_to_tip(NOTHING_PULLS), *pull_steps(model)), (Buffer("pull", ()),))
            return
        ends, buffers = put_down_ends(model, POSE)
        placed = base_to_tip(PLACED, only=row_bodies(model))
        assembly.given((placed, *ends), (*buffers, Buffer("L", IDENTITY_TRANSFORM)))


def _pushing(count: int, of: Closing, side: int, both: Callable[..., Any]) -> Callable[..., Force]:
    def push(offset: Transform, f: Total, *put: Any) -> Force:
        total, forces = Force.zero(), entries_of(f)
        for k, wrench in enumerate(wrenches_on_link(of, side, *both(*put))):
            total = total + wrench * forces[of.start + k]
        return offset.force(total)

    return push


def _feeling(count: int, of: Closing, side: int, both: Callable[..., Any]) -> Callable[..., Total]:
    def feel(offset: Transform, x: Six, *put: Any) -> Total:
        motion = offset.inverse_motion(as_motion(x))
        rows = wrenches_on_link(of, side, *both(*put))
        return _placed(count, {of.start + k: motion.dot(wrench) for k, wrench in enumerate(rows)})

    return feel


def torques(joint: Joint, pull: tuple[Pull, ...], f: Total) -> Freedoms:
    """``T_c f``: what constraint forces do to a joint by themselves."""
    total: list[Scalar] = [0.0] * joint.kind.nv
    for row, torque in pull:
        total = [x + t * entries_of(f)[row] for x, t in zip(total, torque, strict=True)]
    return tuple(total)


def _placed(count: int, entries: dict[int, Scalar]) -> Total:
    return tuple(entries.get(k, 0.0) for k in range(count))
