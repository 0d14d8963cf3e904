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

from recursa.dynamics.hinges import ROUNDING, principal
from recursa.errors import NoSweepError, RecursaError, ShapeError, SingularMatrixError
from recursa.model.model import Model
from recursa.operators import steps
from recursa.operators.arithmetic import coefficient, factors_of, inverse, product, scaled, total, transpose
from recursa.operators.assembly import Assembly
from recursa.operators.constraint_sweeps import Constrained
from recursa.operators.cost import cost
from recursa.operators.expression import (
    ANY,
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Filter,
    Freedom,
    Functional,
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
from recursa.operators.functionals import lowered_functional
from recursa.operators.inverse_steps import (
    IN_BASIS,
    PutPartOn,
    block_times,
    diagonal_times,
    stacked,
)
from recursa.operators.inversion import Inversion, letter_of, link_of_compliance
from recursa.operators.leaves import Operators
from recursa.operators.rules import newton_euler
from recursa.operators.shapes import OF_ROBOT, ONE, Shape, Space
from recursa.operators.simplify import simplify
from recursa.operators.symbols import OF_CONSTRAINTS, Kind, Local, Structure
from recursa.operators.values import Lowered, Value, input_name, operand_of
from recursa.sweeps.input_kinds import has_own_name

# ---- -----------------------------------------------------------------------------------------------------------------
# What goes from body to body: phi, psi, their shifts, their transposes, and neighbours that are one recursion.


def is_leaf(expression: Expression, kind: Kind) -> bool:
    """Whether it is this letter."""
    return isinstance(expression, Leaf) and expression.kind is kind


class Propagation:
    """The propagations of one expression under way."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering

    def inward(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        """``phi operand``, ``psi operand`` or ``E_phi operand``, from tip to base."""
        meaning, local = self.lowering.meaning(expression, operand), kind.value.applied
        if kind is Kind.E_PHI and operand.gathered is not None:
            return Value(operand.gathered, operand.space, meaning)
        if local is None:
            raise self.lowering.refusal(expression)
        both = kind is Kind.PHI  # whose step finds E_phi phi x too
        reads = (*self.lowering.own_buffers(expression, local), operand.name)
        names = self.lowering.steps.gather(local.fn, reads, meaning.text(), outputs=2 if both else 1)
        return Value(names[0], operand.space, meaning, gathered=names[1] if both else None)

    def outward(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        """``phi* operand``, ``psi* operand`` or ``E_phi* operand``, from base to tip."""
        meaning, local = self.lowering.meaning(expression, operand), kind.value.transposed
        if kind is Kind.E_PHI and operand.carried is not None:
            return Value(operand.carried, operand.space, meaning)
        if local is None:
            raise self.lowering.refusal(expression)
        reads = self.lowering.own_buffers(expression, local)
        if Structure.STRICT in kind.value.structure:
            return self.lowering.new(expression, local.fn, (*reads, f"{operand.name}@parent"), operand.space, operand)
        result, carried = self.lowering.steps.spread(local.fn, (*reads, operand.name), meaning.text())
        return Value(result, operand.space, meaning, carried=carried)

    # ---- two in one ------------------------------------------------------------------------------------------------

    def articulated_shift(self, psi: Expression, operand: Value) -> Value:
        """``psi E_phi operand`` in one recursion."""
        known, key = self.lowering.known, (psi @ self.lowering.operators.E_phi, operand.name)
        if key not in known:
            meaning, reads = self.lowering.meaning(key[0], operand), (*self._reads(psi), operand.name)
            names = self.lowering.steps.gather(steps.gather_articulated_shifted, reads, meaning.text())
            known[key] = Value(names[0], operand.space, meaning)
        return known[key]

    def of_sum(self, left: Expression, terms: Sum, operand: Value | None) -> Value | None:
        """``phi (x + E_phi y)`` or ``psi (x + E_phi y)`` in one recursion; None if it is neither."""
        if not (is_leaf(left, Kind.PHI) or is_leaf(left, Kind.PSI)):
            return None
        spelled = [(term, *self._first_spelled_out(term)) for term in terms.terms]
        shifted = [rest for _, first, rest in spelled if is_leaf(first, Kind.E_PHI)]
        others = [term for term, first, _ in spelled if not is_leaf(first, Kind.E_PHI)]
        if not shifted or not others:
            return None
        known, key = self.lowering.known, (product((left, terms)), None if operand is None else operand.name)
        if key not in known:
            x, y = (self.lowering.apply(total(part), operand) for part in (others, shifted))
            articulated = is_leaf(left, Kind.PSI)
            fn = steps.gather_articulated_with_shifted if articulated else steps.gather_with_shifted
            meaning, reads = self.lowering.meaning(key[0], operand), (*self._reads(left), x.name, y.name)
            names = self.lowering.steps.gather(fn, reads, meaning.text())
            known[key] = Value(names[0], x.space, meaning)
        return known[key]

    def _reads(self, propagation: Expression) -> tuple[str, ...]:
        """What the step of phi or psi reads."""
        assert isinstance(propagation, Leaf) and propagation.kind.value.applied is not None
        return self.lowering.own_buffers(propagation, propagation.kind.value.applied)

    # ---- letters that are products ---------------------------------------------------------------------------------

    def spelled_out(self, factor: Expression) -> tuple[Expression, ...]:
        """K is ``E_phi G`` and E_psi is ``E_phi tau_bar``; other factors as they are."""
        leaf = factor.of if isinstance(factor, Transpose) else factor
        if not isinstance(leaf, Leaf) or not leaf.kind.value.factors:
            return (factor,)
        o = self.lowering.operators_of(leaf.filter)
        parts = [getattr(o, code) for code in leaf.kind.value.factors]
        return tuple(transpose(part) for part in reversed(parts)) if isinstance(factor, Transpose) else tuple(parts)

    def _first_spelled_out(self, term: Expression) -> tuple[Expression, Expression]:
        """The first factor of a term, spelled out, and the rest."""
        number, inner = coefficient(term)
        factors = factors_of(inner)
        first, *rest = (*self.spelled_out(factors[0]), *factors[1:])
        return first, scaled(number, product(rest))


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
        self.inverses, self.propagation, self.constrained = Inversion(self), Propagation(self), Constrained(self)

    def lowered(self) -> Lowered:
        """The whole expression, in the fewest sweeps."""
        result = self.apply(self.expression, None)
        by_links = has_own_name(result.name) or is_leaf(factors_of(self.expression)[0], Kind.B)
        if by_links:  # and not by bodies, one by one
            result = self.combined(self.expression, (1.0,), (result,), None)
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
                return self.combined(expression, (factor,), (self.apply(inner, operand),), operand)
            case Vector():
                return self._given(expression, input_name(expression), expression.space)
            case Constant(size=(_,)):
                return self._constant(expression)
            case Inverse(of=inner) if operand is None and known_shape(inner) == Shape(ONE, ONE):
                return self.inverses.number(expression, inner)
            case Functional():
                return lowered_functional(self, expression)
            case Zero() | Identity() if operand is None:
                return self._number(expression)
            case Leaf(kind=Kind.BIAS):
                return self.apply(newton_euler(self.operators)[0], None)
            case Leaf(kind=kind) if kind.value.is_vector:
                return self._local(expression, kind.value.applied, None)
        if operand is None:
            raise self.refusal(expression)
        return self._operator(expression, operand)

    def _operator(self, expression: Expression, operand: Value) -> Value:
        match expression:
            case Identity():
                return operand
            case Leaf(kind=kind) | Transpose(of=Leaf(kind=kind)) if kind.value.factors:
                return self._product((expression,), operand)
            case Inverse(of=Leaf(kind=kind)) if kind.value.inverted is not None:
                self._require_inverse(kind)
                return self._local(expression, kind.value.inverted, operand)
            case Inverse(of=Transpose(of=Leaf(kind=kind))) if kind.value.inverted_transposed is not None:
                self._require_inverse(kind)
                return self._local(expression, kind.value.inverted_transposed, operand)
            case Inverse(of=inner):
                return self.inverses.apply(expression, inner, operand)
            case Diagonal(of=vector):
                return self._diagonal(expression, vector, operand)
            case Blocks():
                columns = [self.apply(column, None).read for column in expression.columns()]
                return self.new(expression, block_times, (operand.read, *columns), operand.space, operand)
            case Leaf(kind=kind) if kind in OF_CONSTRAINTS:
                return self.constrained.pushed(expression, kind, operand)
            case Transpose(of=Leaf(kind=kind)) if kind in OF_CONSTRAINTS:
                return self.constrained.felt(expression, kind, operand)
            case Leaf(kind=Kind.B, links=links):
                return self._put_on(expression, links, operand)
            case Transpose(of=Leaf(kind=Kind.B, links=links)):
                return self._taken_from(expression, links, operand)
            case Leaf(kind=Kind.D, filter=Filter() as other):
                o = self.operators_of(other)
                return self.apply(total((o.H @ o.P @ o.H.T, o.A)), operand)
            case Leaf(kind=kind) if kind.value.is_block_diagonal:
                return self._local(expression, kind.value.applied, operand)
            case Transpose(of=Leaf(kind=kind)) if kind.value.is_block_diagonal:
                return self._local(expression, kind.value.transposed, operand)
            case Transpose(of=column) if known_shape(column).columns == ONE:
                return self._row_times(expression, column, operand)
            case Leaf(kind=kind):
                return self.propagation.inward(expression, kind, operand)
            case Transpose(of=Leaf(kind=kind)):
                return self.propagation.outward(expression, kind, operand)
        raise self.refusal(expression)

    def refusal(self, part: Expression) -> RecursaError:
        """What to raise for a part that no sweep applies."""
        match part:
            case Inverse(of=Zero()):
                return SingularMatrixError(f"0 has no inverse in {self.expression}: it is singular at every state")
            case Constant(size=size) | Transpose(of=Constant(size=size)):
                why = f"factor {part} is a full {' x '.join(map(str, size))} matrix"
            case Inverse(of=inner):
                why = f"no factors of {inner} are known" + self._advice(inner)
            case Leaf(kind=Kind.W_DOT) | Transpose(of=Leaf(kind=Kind.W_DOT)):
                why = f"{part} is a formula only where every joint has one freedom, ½ Ḋ W⁻¹*"
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
        of_inertias = kind in (Kind.M, Kind.M_ROOT)
        for joint, inertia in zip(self.model.joints, self.model.inertias, strict=True) if of_inertias else ():
            least, _, largest = principal([inertia.moment_about_com()])[0]
            if not inertia.mass > 0.0 or not least > ROUNDING * largest:
                raise SingularMatrixError(
                    f"M has no inverse: link '{joint.child}' has no mass or no rotational inertia about some axis "
                    f"(mass {inertia.mass:.3g} kg, principal moments {least:.3g} to {largest:.3g} kg m^2)"
                )

    # ---- combining -------------------------------------------------------------------------------------------------

    def _product(self, factors: tuple[Expression, ...], operand: Value | None) -> Value:
        pending = [part for factor in factors for part in self.propagation.spelled_out(factor)]
        while pending:
            last = pending.pop()
            if is_leaf(last, Kind.E_PHI) and pending and is_leaf(pending[-1], Kind.PSI) and operand is not None:
                operand = self.propagation.articulated_shift(pending.pop(), operand)
            elif is_leaf(last, Kind.E_PHI) and pending and is_leaf(pending[-1], Kind.PHI) and operand is not None:
                pending[-1], last = last, pending[-1]  # phi E_phi = E_phi phi, and phi's own step finds that
                operand = self.apply(last, operand)
            elif (at := self._compliance_at_link(pending, last)) is not None and operand is not None:
                del pending[-2:]
                operand = self.inverses.yielded(*at, operand)
            elif isinstance(last, Sum) and pending and (both := self.propagation.of_sum(pending[-1], last, operand)):
                pending.pop()
                operand = both
            else:
                operand = self.apply(last, operand)
        assert operand is not None
        return operand

    def _compliance_at_link(self, pending: list[Expression], last: Expression) -> tuple[Expression, Leaf, str] | None:
        """``B(link)* Upsilon B(link)`` with its block and link, if the last three factors are that."""
        if len(pending) < 2 or not is_leaf(last, Kind.B) or not is_leaf(pending[-1], Kind.UPSILON):
            return None
        whole = product((*pending[-2:], last))
        found = link_of_compliance(whole)
        return None if found is None else (whole, *found)

    def _sum(self, expression: Expression, terms: tuple[Expression, ...], operand: Value | None) -> Value:
        numbers, parts = zip(*map(coefficient, terms), strict=True)
        return self.combined(expression, numbers, tuple(self.apply(part, operand) for part in parts), operand)

    def combined(
        self, expression: Expression, numbers: tuple[float, ...], values: tuple[Value, ...], operand: Value | None
    ) -> Value:
        """The sum of values times numbers."""
        reads = tuple(value.read for value in values)
        return self.new(expression, steps.Combination(numbers), reads, values[0].space, operand)

    def _times(self, expression: Expression, number: Value) -> Value:
        """A vector times a number that was computed."""
        vector = self.apply(expression, None)
        return self.new(expression, steps.times_number, (vector.read, number.read), vector.space, number)

    def _row_times(self, row: Expression, column: Expression, operand: Value) -> Value:
        """``x* y``: one number."""
        meaning = self.meaning(row, operand)
        return self.dotted(self.apply(column, None), operand, meaning, meaning.text())

    def dotted(self, x: Value, y: Value, meaning: Expression, text: str) -> Value:
        """``x* y`` of two values."""
        reads, made = (x.read, y.read), self.steps
        name = made.at_link(steps.dot, reads, 0, ONE, text) if x.of_robot else made.summed(steps.dot, reads, text)
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
        if space.name in OF_ROBOT:
            return Value(name, space, vector)
        return self.new(vector, steps.same if space.name == "joint" else steps.six, (name,), space)

    def _number(self, expression: Zero | Identity) -> Value:
        """Zero, or the identity of numbers: one."""
        rows, columns = known_shape(expression)
        if columns != ONE or not rows.name:
            raise self.refusal(expression)
        if rows.name in OF_ROBOT:
            number = float(isinstance(expression, Identity))
            fixed = steps.Fixed("number", number if rows == ONE else (0.0,) * rows.size)
            return self.new(expression, fixed, ("offset",), rows)
        return self.new(expression, steps.rest if rows.name == "joint" else steps.still, ("joint",), rows)

    # ---- operators -------------------------------------------------------------------------------------------------

    def _local(self, expression: Expression, local: Local | None, operand: Value | None) -> Value:
        if local is None:
            raise self.refusal(expression)
        fn, reads = local.fn, self.own_buffers(expression, local)
        basis = self.inverses.basis(expression) if fn in IN_BASIS else None
        if basis is not None:
            fn, reads = IN_BASIS[fn], (basis, *reads)
        reads = reads if operand is None else (*reads, operand.read)
        return self.new(expression, fn, reads, known_shape(expression).rows, operand)

    def own_buffers(self, expression: Expression, local: Local) -> tuple[str, ...]:
        """What a step of a letter reads."""
        return tuple(self.own_buffer(expression, name) for name in local.reads)

    def own_buffer(self, expression: Expression, name: str) -> str:
        """The buffer of a letter's own matrix; a name in braces stands for the velocity along which a letter is meant,
        or for a buffer made with it.
        """
        leaf = letter_of(expression)
        if name in ("P", "elimination", "Upsilon") and isinstance(leaf, Leaf):
            return name + self.inverses.mark(leaf)
        if not name.startswith("{"):
            return name
        assert isinstance(leaf, Leaf)
        velocity = "v" if leaf.along is None else self._unit(leaf.along)
        return velocity if name == "{v}" else self.steps.rate(name[1:-1], velocity)

    def _unit(self, along: Freedom) -> str:
        """The input that holds the unit velocity of one freedom, or the free vector along which a letter is meant."""
        joint, freedom = along
        if freedom == ANY:
            return input_name(Vector(joint, Space("joint", self.model.nv)))
        at = next(x.v_start for x in self.model.joints if x.name == joint) + freedom
        name = self._free_name(f"unit{at}", Space("joint", self.model.nv))
        self.constants[name] = tuple(float(k == at) for k in range(self.model.nv))
        return name

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
                transpose(self.operators.B(link)),
                steps.taken_from,
                reads,
                self.model.link_index(link),
                six,
                operand,
            )
            for link in links
        ]
        return (
            parts[0] if len(parts) == 1 else self.new(expression, stacked, tuple(x.read for x in parts), rows, operand)
        )

    def _diagonal(self, expression: Expression, vector: Expression, operand: Value) -> Value:
        """``diag(d) x``."""
        reads = (self.apply(vector, None).read, operand.read)
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
        """A step with one result, at every body; of what the robot has once at one link, whichever."""
        if space.name in OF_ROBOT:
            return self.at_link(expression, fn, reads, 0, space, operand)
        meaning = self.meaning(expression, operand)
        return Value(self.steps.local(fn, reads, space, meaning.text()), space, meaning)

    def meaning(self, expression: Expression, operand: Value | None) -> Expression:
        """What a value is of the whole expression."""
        return expression if operand is None else product((expression, operand.meaning))
