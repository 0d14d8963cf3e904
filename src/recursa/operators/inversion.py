"""Inverses in sweeps: of blocks at each body, and of small matrices that the whole robot has once.

The inverse of the mass matrix, and of others of its form, is a matter of identities: ``simplify`` puts its factors in
its place. What remains has an inverse in O(n) if it is block diagonal, or if it takes the wrenches at a few links to
motions there: sweeps apply it to unit vectors, and a small system is solved. The operational inertia
``inv(J inv(mass) J*)`` is one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recursa.operators import inverse_steps
from recursa.operators.expression import (
    Expression,
    Filter,
    Identity,
    Inverse,
    Leaf,
    Product,
    Transpose,
    Vector,
    Zero,
    known_shape,
)
from recursa.operators.shapes import OF_ROBOT, ONE, Shape, Space, alike
from recursa.operators.structure import is_diagonal, structure
from recursa.operators.symbols import Kind, Structure
from recursa.operators.values import Value
from recursa.spatial.inertia import ArticulatedInertia

if TYPE_CHECKING:
    from recursa.operators.lower import Lowering


def has_inverse(inner: Expression) -> bool:
    """Whether sweeps apply the inverse of a matrix that they apply: of blocks, of what is at pick-offs, of a number.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> has_inverse(o.H @ o.M @ o.H.T), has_inverse(o.B("tip").T @ o.R @ o.B("tip")), has_inverse(o.mass)
    (True, True, False)
    """
    shape = inner.shape
    if shape is None or isinstance(inner, Zero):
        return False
    if isinstance(inner, Leaf) and inner.kind.value.inverted is None:
        return False  # rates, projections, cross operators: singular, or for one state only
    return is_of_robot(shape) or Structure.BLOCK_DIAGONAL in structure(inner)


def letter_of(expression: Expression) -> Expression:
    """A letter, whether it stands there transposed, inverted, or both."""
    while isinstance(expression, Transpose | Inverse):
        expression = expression.of
    return expression


def is_of_robot(shape: Shape) -> bool:
    """Whether a square matrix is between what the robot has once: numbers at pick-offs, of constraints, or one."""
    return shape.rows.name in OF_ROBOT and shape.columns.name in OF_ROBOT


def link_of_compliance(inner: Expression) -> tuple[Leaf, str] | None:
    """Upsilon and the link where a matrix is ``B(link)* Upsilon B(link)``, which is inverted at the link; else None."""
    match inner:
        case Product(
            factors=(Transpose(of=Leaf(kind=Kind.B, links=(link,)) as pick), Leaf(kind=Kind.UPSILON) as of, last)
        ):
            return (of, link) if last == pick else None
    return None


class Inversion:
    """The inverses of one expression under way."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.marks: dict[Filter, str] = {}
        self._bases: dict[Filter, str] = {}

    def apply(self, expression: Expression, inner: Expression, operand: Value) -> Value:
        """``inv(inner) operand``."""
        space = known_shape(inner).columns
        if not has_inverse(inner):
            raise self.lowering.refusal(expression)
        positive = Structure.SEMIDEFINITE in structure(inner)
        at_link = link_of_compliance(inner)
        if at_link is not None and positive:
            return self.yielded(expression, *at_link, operand, inverse_steps.compliance_solve_at_link)
        columns = tuple(self.lowering.apply(inner, unit).read for unit in self.units(space))
        fn, reads = inverse_steps.Solve(positive, alike(space)), (operand.read, *columns)
        return self.lowering.new(expression, fn, reads, space, operand)

    def number(self, expression: Expression, inner: Expression) -> Value:
        """``inv(inner)`` of a single number."""
        one = self.lowering.apply(Identity(ONE), None)
        by = self.lowering.apply(inner, None)
        return self.lowering.new(expression, inverse_steps.divide, (one.read, by.read), ONE)

    def yielded(
        self,
        expression: Expression,
        of: Leaf,
        link: str,
        operand: Value,
        fn: Callable[..., Any] = inverse_steps.compliance_times_at_link,
    ) -> Value:
        """``B* Upsilon B operand`` at the link, or what else is done there with that block."""
        reads, at = ("offset", f"Upsilon{self.mark(of)}@body", operand.read), self.lowering.model.link_index(link)
        return self.lowering.at_link(expression, fn, reads, at, operand.space, operand)

    # ---- unit vectors ----------------------------------------------------------------------------------------------

    def units(self, space: Space) -> list[Value]:
        """The unit vectors of a space; of joints and bodies one for each entry of a block, at all of them at once."""
        if space.name in OF_ROBOT:
            return [self._unit(inverse_steps.unit_of_tip(k, space.size), k, space) for k in range(space.size)]
        if space.name == "link":
            return [self._unit(inverse_steps.unit_of_body(k), k, space) for k in range(6)]
        widest = max(joint.kind.nv for joint in self.lowering.model.joints)
        return [self._unit(inverse_steps.UnitOfJoint(k), k, space) for k in range(widest)]

    def _unit(self, fn: Callable[..., Any], number: int, space: Space) -> Value:
        reads = ("offset" if space.name in OF_ROBOT else "joint",)
        return self.lowering.new(Vector(f"e{number + 1}", space), fn, reads, space)

    # ---- other matrices than the mass matrix -----------------------------------------------------------------------

    def mark(self, leaf: Leaf) -> str:
        """What stands behind the names of buffers that belong to a leaf's matrix: nothing for the mass matrix."""
        if leaf.filter is None:
            return ""
        if leaf.filter not in self.marks:
            self.marks[leaf.filter] = f"_{len(self.marks) + 1}"
            self._prepare(leaf.filter, self.marks[leaf.filter])
        return self.marks[leaf.filter]

    def _prepare(self, filter: Filter, mark: str) -> None:
        lowering, space = self.lowering, known_shape(filter.rotors).rows
        if isinstance(filter.rotors, Zero):
            rotors = lowering.apply(Zero(Shape(space, ONE)), None).read
        elif is_diagonal(filter.rotors, lowering.operators):
            ones = lowering.new(Vector("ones", space), inverse_steps.ones, ("joint",), space)
            rotors = lowering.apply(filter.rotors, ones).read
        else:
            columns = tuple(lowering.apply(filter.rotors, unit).read for unit in self.units(space))
            rotors = lowering.steps.at_body(inverse_steps.joint_basis, columns, (), f"freedoms of {filter.rotors}")
            self._bases[filter] = rotors
        meaning = f"P, D and G of {lowering.operators_of(filter).mass}"
        lowering.steps.filter(mark, self._inertia(filter.inertia), rotors, meaning, in_basis=filter in self._bases)

    def basis(self, expression: Expression) -> str | None:
        """The buffer with freedoms of the joints in which the matrix of a letter does not couple them, if it does."""
        leaf = letter_of(expression)
        return self._bases.get(leaf.filter) if isinstance(leaf, Leaf) and leaf.filter is not None else None

    def _inertia(self, inertia: Expression) -> str:
        """The buffer, or input, that holds the blocks of an inertia."""
        match inertia:
            case Leaf(kind=Kind.M | Kind.P | Kind.R as kind) if kind.value.buffer is not None:
                name = self.lowering.own_buffer(inertia, kind.value.buffer)
                self.lowering.steps.prepare(name)
                return name
        space = known_shape(inertia).rows
        columns = [self.lowering.apply(inertia, unit).read for unit in self.units(space)]
        base = ArticulatedInertia.zero()
        return self.lowering.steps.at_body(inverse_steps.block_of, tuple(columns), base, f"blocks of {inertia}")
