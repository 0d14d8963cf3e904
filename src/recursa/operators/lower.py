"""From an expression to sweeps: what ``H phi M phi* H* x`` means, body by body, in O(n).

A product is applied from the right, factor by factor, each a step of its own: what gathers goes from tip to base, its
transpose from base to tip, what is block diagonal stays at the body, pick-offs are at their link, a row adds up over
the robot. P, D, G, K, tau_bar and psi bring in the articulated-body recursion, derivatives that of their rate. Equal
parts are computed once, and :func:`recursa.sweeps.fuse` puts the steps into the fewest sweeps (Rodriguez &
Kreutz-Delgado, section IX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recursa.errors import NoSweepError, ShapeError, SingularMatrixError
from recursa.model.model import Model
from recursa.operators import steps
from recursa.operators.arithmetic import coefficient, inverse, product, scaled, total, transpose
from recursa.operators.assembly import Assembly
from recursa.operators.blocks import SAME_BODY, SAME_BODY_INVERSE, SAME_BODY_TRANSPOSED, STATE, Local
from recursa.operators.cost import cost
from recursa.operators.expression import (
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Filter,
    Freedom,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
    free_vectors,
    known_shape,
)
from recursa.operators.inverse_steps import (
    IN_BASIS,
    PutPartOn,
    block_times,
    diagonal_times,
    diagonal_times_total,
    stacked,
)
from recursa.operators.inversion import Inversion, link_of_compliance
from recursa.operators.leaves import Operators
from recursa.operators.rules import newton_euler
from recursa.operators.shapes import ONE, Shape, Space
from recursa.operators.simplify import simplify
from recursa.operators.symbols import Kind
from recursa.operators.values import Lowered, Value, input_name, operand_of
from recursa.sweeps.inputs import has_own_name


def lower(expression: Expression, model: Model | None = None, operand: Vector | None = None) -> Lowered:
    """The sweeps that compute an expression; of a matrix, those that apply it to a free vector x.

    Lower what :func:`simplify` returns: the inverse of a mass matrix has no sweeps, its factors have. ``model`` is
    needed where no operator says which robot it is, ``operand`` where x should be another vector.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> print(lower(o.phi.T @ o.H.T).plan)
    plan φ* H* x
      base to tip:
          x1 <- same(joint:x)    x
          x2 <- hinge_transposed(joint, x1)    H* x
          X <- relative(joint, q)    X = placement J(q)
          x3, x4 <- spread(X, x2, x3@parent)    φ* H* x
    """
    model = expression.model if model is None else model
    operand = operand_of(expression) if operand is None else operand
    vectors = free_vectors(expression)
    if operand is not None:
        expression, vectors = product((expression, operand)), (*vectors, operand)
    if model is None:
        raise NoSweepError(f"cannot lower {expression}: it has no operator of a robot in it")
    return Lowering(expression, model, vectors).lowered()


class Lowering:
    """One expression, part by part; equal parts are found again."""

    def __init__(self, expression: Expression, model: Model, vectors: tuple[Vector, ...]) -> None:
        self.expression, self.model, self.operators = expression, model, Operators(model)
        self.steps = Assembly()
        self.known: dict[tuple[Expression, str | None], Value] = {}
        self.vectors = vectors
        self.constants: dict[str, tuple[float, ...]] = {}
        self.inverses = Inversion(self)

    def lowered(self) -> Lowered:
        """The whole expression, in the fewest sweeps."""
        result = self.apply(self.expression, None)
        if has_own_name(result.name) or _is(_first(self.expression), Kind.B):  # made by links, not by bodies
            result = self._combined(self.expression, (1.0,), (result,), None)
        plan = self.steps.plan(self.expression.text(), result.name)
        return Lowered(plan, self.vectors, self.constants, result.space, result.name)

    def operators_of(self, filter: Filter | None) -> Operators:
        """The operators of the mass matrix, or of another of its form."""
        return self.operators if filter is None else Operators(self.model, filter=filter)

    # ---- values ----------------------------------------------------------------------------------------------------

    def apply(self, expression: Expression, operand: Value | None) -> Value:
        """The value of an operator applied to one; a vector needs none."""
        key = expression, None if operand is None else operand.name
        if key not in self.known:
            self.known[key] = self._apply(expression, operand)
        return self.known[key]

    def _apply(self, expression: Expression, operand: Value | None) -> Value:
        if operand is not None and expression.shape is not None and expression.shape.columns == ONE:
            return self._times(expression, operand)
        match expression:
            case Product(factors=factors):
                return self._product(factors, operand)
            case Sum(terms=terms):
                return self._sum(expression, terms, operand)
            case Scaled(factor=factor, of=inner):
                return self._combined(expression, (factor,), (self.apply(inner, operand),), operand)
            case Vector():
                return self._given(expression, input_name(expression), expression.space)
            case Constant(size=(_,)):
                return self._constant(expression)
            case Inverse(of=inner) if operand is None and known_shape(inner) == Shape(ONE, ONE):
                return self.inverses.number(expression, inner)
            case Zero() | Identity() if operand is None:
                return self._number(expression)
            case Leaf(kind=Kind.BIAS):
                return self._definition(newton_euler)
            case Leaf(kind=kind) if kind in STATE:
                return self._local(expression, (steps.same, (STATE[kind],)), None)
        if operand is None:
            raise self.refusal(expression)
        return self._operator(expression, operand)

    def _operator(self, expression: Expression, operand: Value) -> Value:
        match expression:
            case Identity():
                return operand
            case Leaf(kind=Kind.K | Kind.E_PSI) | Transpose(of=Leaf(kind=Kind.K | Kind.E_PSI)):
                return self._product((expression,), operand)
            case Inverse(of=Leaf(kind=kind)) if kind in SAME_BODY_INVERSE:
                self._require_inverse(kind)
                return self._local(expression, SAME_BODY_INVERSE[kind], operand)
            case Inverse(of=inner):
                return self.inverses.apply(expression, inner, operand)
            case Diagonal(of=vector):
                return self._diagonal(expression, vector, operand)
            case Blocks():
                columns = [self.apply(column, None).read for column in expression.columns()]
                return self.new(expression, block_times, (operand.read, *columns), operand.space, operand)
            case Leaf(kind=Kind.B, links=links):
                return self._put_on(expression, links, operand)
            case Transpose(of=Leaf(kind=Kind.B, links=links)):
                return self._taken_from(expression, links, operand)
            case Leaf(kind=Kind.D, filter=Filter() as other):
                o = self.operators_of(other)
                return self.apply(total((o.H @ o.P @ o.H.T, o.A)), operand)
            case Leaf(kind=kind) if kind in SAME_BODY:
                return self._local(expression, SAME_BODY[kind], operand)
            case Transpose(of=Leaf(kind=kind)) if kind in SAME_BODY_TRANSPOSED:
                return self._local(expression, SAME_BODY_TRANSPOSED[kind], operand)
            case Transpose(of=column) if known_shape(column).columns == ONE:
                return self._row_times(expression, column, operand)
            case Leaf(kind=kind):
                return self._inward(expression, kind, operand)
            case Transpose(of=Leaf(kind=kind)):
                return self._outward(expression, kind, operand)
        raise self.refusal(expression)

    def refusal(self, part: Expression) -> NoSweepError:
        """What to raise for a part that no sweep applies."""
        match part:
            case Constant(size=size) | Transpose(of=Constant(size=size)):
                why = f"factor {part} is a full {' x '.join(map(str, size))} matrix"
            case Inverse(of=inner):
                why = f"no factors of {inner} are known" + self._advice(inner)
            case _:
                why = f"there is no sweep for {part}"
        return NoSweepError(f"cannot lower {self.expression}: {why}. Use dense(expression, q)", part)

    def _advice(self, inner: Expression) -> str:
        o = self.operators
        if cost(simplify(inverse(inner))).dense == 0:
            return " (lower what simplify() makes of it)"
        in_joint_space = inner.shape == o.A.shape
        return " (H phi X phi* H* + Y has some, X block diagonal and Y diagonal)" if in_joint_space else ""

    def _require_inverse(self, kind: Kind) -> None:
        """Of what does not depend on the state; the rest is not finite where it is singular."""
        for joint in self.model.joints if kind is Kind.A else ():
            if 0.0 in joint.armature:
                raise SingularMatrixError(f"A has no inverse: joint '{joint.name}' has a freedom without armature")
        for joint, inertia in zip(self.model.joints, self.model.inertias, strict=True) if kind is Kind.M else ():
            if not inertia.mass > 0.0 or not inertia.moment_about_com().trace() > 0.0:
                raise SingularMatrixError(f"M has no inverse: link '{joint.child}' has no mass or no inertia")

    # ---- combining -------------------------------------------------------------------------------------------------

    def _product(self, factors: tuple[Expression, ...], operand: Value | None) -> Value:
        pending = [part for factor in factors for part in self._spelled_out(factor)]
        while pending:
            last = pending.pop()
            if _is(last, Kind.E_PHI) and pending and _is(pending[-1], Kind.PSI) and operand is not None:
                operand = self._articulated_shift(pending.pop(), operand)
            elif _is(last, Kind.E_PHI) and pending and _is(pending[-1], Kind.PHI) and operand is not None:
                pending[-1], last = last, pending[-1]  # phi E_phi = E_phi phi, and phi's own step finds that
                operand = self.apply(last, operand)
            elif (at := self._compliance_at_link(pending, last)) is not None and operand is not None:
                del pending[-2:]
                operand = self.inverses.yielded(*at, operand)
            elif isinstance(last, Sum) and pending and (both := self._with_shifted(pending[-1], last, operand)):
                pending.pop()
                operand = both
            else:
                operand = self.apply(last, operand)
        assert operand is not None
        return operand

    def _compliance_at_link(self, pending: list[Expression], last: Expression) -> tuple[Expression, Leaf, str] | None:
        """``B(link)* Upsilon B(link)`` with its block and link, if the last three factors are that."""
        if len(pending) < 2 or not _is(last, Kind.B) or not _is(pending[-1], Kind.UPSILON):
            return None
        whole = product((*pending[-2:], last))
        found = link_of_compliance(whole)
        return None if found is None else (whole, *found)

    def _with_shifted(self, left: Expression, terms: Sum, operand: Value | None) -> Value | None:
        """``phi (x + E_phi y)`` or ``psi (x + E_phi y)`` in one recursion, if it is one of these."""
        if not (_is(left, Kind.PHI) or _is(left, Kind.PSI)):
            return None
        spelled = [(term, *self._first_spelled_out(term)) for term in terms.terms]
        shifted = [rest for _, first, rest in spelled if _is(first, Kind.E_PHI)]
        others = [term for term, first, _ in spelled if not _is(first, Kind.E_PHI)]
        if not shifted or not others:
            return None
        key = product((left, terms)), None if operand is None else operand.name
        if key not in self.known:
            x, y = self.apply(total(others), operand), self.apply(total(shifted), operand)
            articulated = _is(left, Kind.PSI)
            fn = steps.gather_articulated_with_shifted if articulated else steps.gather_with_shifted
            reads = ("X", self._gain(left)) if articulated else ("X",)
            meaning = self.meaning(key[0], operand)
            names = self.steps.gather(fn, (*reads, x.name, y.name), meaning.text())
            self.known[key] = Value(names[0], x.space, meaning)
        return self.known[key]

    def _first_spelled_out(self, term: Expression) -> tuple[Expression, Expression]:
        """The first factor of a term, spelled out, and the rest."""
        number, inner = coefficient(term)
        factors = inner.factors if isinstance(inner, Product) else (inner,)
        first, *rest = (*self._spelled_out(factors[0]), *factors[1:])
        return first, scaled(number, product(rest))

    def _spelled_out(self, factor: Expression) -> tuple[Expression, ...]:
        """K is ``E_phi G`` and E_psi is ``E_phi tau_bar``."""
        leaf = factor.of if isinstance(factor, Transpose) else factor
        if not isinstance(leaf, Leaf) or leaf.kind not in (Kind.K, Kind.E_PSI):
            return (factor,)
        o = self.operators_of(leaf.filter)
        for kind, parts in ((Kind.K, (o.E_phi, o.G)), (Kind.E_PSI, (o.E_phi, o.tau_bar))):
            if _is(factor, kind):
                return parts
            if _is(transpose(factor), kind):
                return tuple(transpose(part) for part in reversed(parts))
        return (factor,)

    def _sum(self, expression: Expression, terms: tuple[Expression, ...], operand: Value | None) -> Value:
        numbers, parts = zip(*map(coefficient, terms), strict=True)
        return self._combined(expression, numbers, tuple(self.apply(part, operand) for part in parts), operand)

    def _combined(
        self, expression: Expression, numbers: tuple[float, ...], values: tuple[Value, ...], operand: Value | None
    ) -> Value:
        space, reads = values[0].space, tuple(value.read for value in values)
        if values[0].of_robot:  # what the robot has once: done at one link, whichever
            fn = steps.CombinationOfNumbers if space == ONE else steps.CombinationOfTotals
            return self.at_link(expression, fn(numbers), reads, 0, space, operand)
        return self.new(expression, steps.Combination(numbers), reads, space, operand)

    def _times(self, expression: Expression, number: Value) -> Value:
        """A vector times a number that was computed."""
        vector = self.apply(expression, None)
        reads = (vector.read, number.read)
        if vector.of_robot:
            fn = steps.number_times_number if vector.space == ONE else steps.total_times_number
            return self.at_link(expression, fn, reads, 0, vector.space, number)
        return self.new(expression, steps.times_number, reads, vector.space, number)

    def _row_times(self, row: Expression, column: Expression, operand: Value) -> Value:
        """``x* y``: one number."""
        vector = self.apply(column, None)
        meaning, reads = self.meaning(row, operand), (vector.read, operand.read)
        if vector.of_robot:
            name = self.steps.at_link(steps.dot, reads, 0, ONE, meaning.text())
        else:
            name = self.steps.summed(steps.dot, reads, meaning.text())
        return Value(name, ONE, meaning)

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _constant(self, numbers: Constant) -> Value:
        space = known_shape(numbers).rows
        if not space.name:
            raise ShapeError(f"{numbers} could be a vector of several kinds: use a free vector, o.vector(name, space)")
        name = self._free_name(f"constant{len(self.constants)}", space)
        self.constants[name] = numbers.values
        return self._given(numbers, name, space)

    def _free_name(self, name: str, space: Space) -> str:
        """A name for an input that no free vector has."""
        name = input_name(Vector(name, space))
        while name in map(input_name, self.vectors):
            name += "_"
        return name

    def _given(self, vector: Expression, name: str, space: Space) -> Value:
        if space.name == "tip":
            return Value(name, space, vector)
        return self.new(vector, steps.same if space.name == "joint" else steps.six, (name,), space)

    def _number(self, expression: Zero | Identity) -> Value:
        """Zero, or the identity of numbers: one."""
        rows, columns = known_shape(expression)
        if columns != ONE or not rows.name:
            raise self.refusal(expression)
        if rows == ONE:
            one = isinstance(expression, Identity)
            return self.at_link(expression, steps.one if one else steps.nought, ("offset",), 0, ONE, None)
        if rows.name == "tip":
            return self.at_link(expression, steps.still, ("offset",), 0, rows, None)
        return self.new(expression, steps.rest if rows.name == "joint" else steps.still, ("joint",), rows)

    def _definition(self, rule: Callable[[Operators], tuple[Expression, Expression] | None]) -> Value:
        sides = rule(self.operators)
        assert sides is not None
        return self.apply(sides[0], None)

    # ---- operators -------------------------------------------------------------------------------------------------

    def _local(self, expression: Expression, local: Local, operand: Value | None) -> Value:
        fn, reads = local
        reads = tuple(self._own_buffer(expression, name) for name in reads)
        basis = self.inverses.basis(expression) if fn in IN_BASIS else None
        if basis is not None:
            fn, reads = IN_BASIS[fn], (basis, *reads)
        reads = reads if operand is None else (*reads, operand.read)
        return self.new(expression, fn, reads, known_shape(expression).rows, operand)

    def _own_buffer(self, expression: Expression, name: str) -> str:
        """The buffer of a letter's own matrix; a name in braces stands for the velocity along which a letter is meant,
        or for a buffer made with it.
        """
        leaf = expression.of if isinstance(expression, Transpose | Inverse) else expression
        if name in ("P", "G", "Upsilon") and isinstance(leaf, Leaf):
            return name + self.inverses.mark(leaf)
        if not name.startswith("{"):
            return name
        assert isinstance(leaf, Leaf)
        velocity = "v" if leaf.along is None else self._unit(leaf.along)
        return velocity if name == "{v}" else self.steps.rate(name[1:-1], velocity)

    def _unit(self, along: Freedom) -> str:
        """The input that holds the unit velocity of one freedom."""
        joint, freedom = along
        at = next(x.v_start for x in self.model.joints if x.name == joint) + freedom
        name = self._free_name(f"unit{at}", Space("joint", self.model.nv))
        self.constants[name] = tuple(float(k == at) for k in range(self.model.nv))
        return name

    def _inward(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        meaning = self.meaning(expression, operand)
        if kind is Kind.E_PHI and operand.gathered is not None:
            return Value(operand.gathered, operand.space, meaning)
        if kind is Kind.PHI:
            names = self.steps.gather(steps.gather, ("X", operand.name), meaning.text(), outputs=2)
            return Value(names[0], operand.space, meaning, gathered=names[1])
        if kind is Kind.E_PHI:
            names = self.steps.gather(steps.shift, ("X", operand.name), meaning.text())
        elif kind is Kind.PSI:
            names = self.steps.gather(
                steps.gather_articulated, ("X", self._gain(expression), operand.name), meaning.text()
            )
        else:
            raise self.refusal(expression)
        return Value(names[0], operand.space, meaning)

    def _gain(self, psi: Expression) -> str:
        """The buffer with the eliminations that psi is made of."""
        return self._own_buffer(psi, "G")

    def _articulated_shift(self, psi: Expression, operand: Value) -> Value:
        """``psi E_phi`` in one recursion."""
        key = (psi @ self.operators.E_phi, operand.name)
        if key not in self.known:
            meaning = self.meaning(key[0], operand)
            reads = ("X", self._gain(psi), operand.name)
            names = self.steps.gather(steps.gather_articulated_shifted, reads, meaning.text())
            self.known[key] = Value(names[0], operand.space, meaning)
        return self.known[key]

    def _outward(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        meaning = self.meaning(expression, operand)
        if kind is Kind.E_PHI and operand.carried is not None:
            return Value(operand.carried, operand.space, meaning)
        if kind is Kind.E_PHI:
            reads = ("X", f"{operand.name}@parent")
            return self.new(expression, steps.shift_transposed, reads, operand.space, operand)
        if kind is Kind.PHI:
            result, carried = self.steps.spread(steps.spread, ("X", operand.name), meaning.text())
        elif kind is Kind.PSI:
            filtered = ("X", self._gain(expression), operand.name)
            result, carried = self.steps.spread(steps.spread_articulated, filtered, meaning.text())
        else:
            raise self.refusal(expression)
        return Value(result, operand.space, meaning, carried=carried)

    def _put_on(self, expression: Expression, links: tuple[str, ...], operand: Value) -> Value:
        """``B f``: what acts at links, on their bodies."""
        space, meaning = known_shape(expression).rows, self.meaning(expression, operand)
        if len(links) == 1:
            number = self.model.link_index(links[0])
            name = self.steps.on_body(steps.put_on, ("offset", operand.read), number, meaning.text())
            return Value(name, space, meaning)
        parts = [
            self.steps.on_body(PutPartOn(at), ("offset", operand.read), self.model.link_index(link), meaning.text())
            for at, link in enumerate(links)
        ]
        return self.new(expression, steps.Combination((1.0,) * len(parts)), tuple(parts), space, operand)

    def _taken_from(self, expression: Expression, links: tuple[str, ...], operand: Value) -> Value:
        """``B* x``: what links have of their bodies'."""
        reads, rows = ("offset", f"{operand.name}@body"), known_shape(expression).rows
        six = Space("tip", 6)
        parts = [
            self.at_link(
                transpose(self.operators.B(link)), steps.taken_from, reads, self.model.link_index(link), six, operand
            )
            for link in links
        ]
        return (
            parts[0]
            if len(parts) == 1
            else self.at_link(expression, stacked, tuple(x.read for x in parts), 0, rows, operand)
        )

    def _diagonal(self, expression: Expression, vector: Expression, operand: Value) -> Value:
        """``diag(d) x``."""
        reads = (self.apply(vector, None).read, operand.read)
        if operand.of_robot:
            return self.at_link(expression, diagonal_times_total, reads, 0, operand.space, operand)
        return self.new(expression, diagonal_times, reads, operand.space, operand)

    # ---- steps -----------------------------------------------------------------------------------------------------

    def at_link(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        link: int,
        space: Space,
        operand: Value | None,
    ) -> Value:
        """A step at one link whose result the whole robot has."""
        meaning = self.meaning(expression, operand)
        return Value(self.steps.at_link(fn, reads, link, space, meaning.text()), space, meaning)

    def new(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        space: Space,
        operand: Value | None = None,
    ) -> Value:
        """A step with one result."""
        meaning = self.meaning(expression, operand)
        return Value(self.steps.local(fn, reads, space, meaning.text()), space, meaning)

    def meaning(self, expression: Expression, operand: Value | None) -> Expression:
        """What a value is of the whole expression."""
        return expression if operand is None else product((expression, operand.meaning))


def _first(expression: Expression) -> Expression:
    return expression.factors[0] if isinstance(expression, Product) else expression


def _is(expression: Expression, kind: Kind) -> bool:
    return isinstance(expression, Leaf) and expression.kind is kind
