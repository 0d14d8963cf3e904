"""From an expression to sweeps: what ``H phi M phi* H* x`` means, body by body, in O(n).

A product is applied from the right, factor by factor, each a step of its own: what gathers goes from tip to base, its
transpose from base to tip, what is block diagonal stays at the body, pick-offs are at their link. P, D, G, K, tau_bar
and psi bring in the articulated-body recursion. Equal parts are computed once, and :func:`recursa.sweeps.fuse` puts the
steps into the fewest sweeps (Rodriguez & Kreutz-Delgado, section IX).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from recursa.dynamics.articulated import ARTICULATED_BUFFERS, BIAS_ACCELERATION, BIAS_FORCE, ELIMINATE
from recursa.dynamics.inertia import COMPOSITE
from recursa.dynamics.inverse import STATIC
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.errors import NoSweepError, ShapeError
from recursa.model.model import Model
from recursa.operators import steps
from recursa.operators.expression import (
    Constant,
    Expression,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    coefficient,
    inverse,
    known_shape,
    product,
    scaled,
    total,
    transpose,
)
from recursa.operators.leaves import Operators
from recursa.operators.rules import newton_euler
from recursa.operators.shapes import ONE, Space
from recursa.operators.simplify import simplify
from recursa.operators.symbols import Kind
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_link, fuse, tip_to_base
from recursa.sweeps.plan import NAMED_INPUTS

OPERAND = "x"
"""The name of the vector that a matrix is applied to."""


@dataclass(frozen=True)
class Lowered:
    """A plan, and where its result is: ``inputs`` are the free vectors in order of first appearance."""

    plan: Plan
    inputs: tuple[Vector, ...]
    constants: Mapping[str, tuple[float, ...]]  # vectors of numbers in the expression, by name of input
    space: Space
    buffer: str

    def entries(self, values: Values) -> Iterator[Scalar]:
        """The result as numbers, base first, from the values of a run."""
        if self.space.name == "tip":
            yield from values.robot[self.buffer].components()
        else:
            for part in values.lists.get(self.buffer, []):
                yield from (part.components() if isinstance(part, Motion | Force) else part)


def input_name(vector: Vector) -> str:
    """What a free vector is called among the inputs of a plan."""
    return {"link": "body"}.get(vector.space.name, vector.space.name) + ":" + vector.name


def lower(expression: Expression) -> Lowered:
    """The sweeps that compute an expression; of a matrix, those that apply it to a free vector x.

    Lower what :func:`simplify` returns: the inverse of a mass matrix has no sweeps, its factors have.

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
    shape = known_shape(expression)
    if shape.columns != ONE:
        expression = product((expression, Vector(OPERAND, shape.columns)))
    elif shape.rows == ONE:
        raise NoSweepError(f"cannot lower {expression}: it is a single number. Use dense(expression, q)")
    if expression.model is None:
        raise NoSweepError(f"cannot lower {expression}: it has no operator of a robot in it")
    return _Lowering(expression, expression.model).lowered()


@dataclass(frozen=True)
class _Value:
    """Something computed: its buffer (or input), its space, the part of the expression it is."""

    name: str
    space: Space
    meaning: Expression
    gathered: str | None = None  # where E_phi of it is, if its own step found that too
    carried: str | None = None  # where E_phi* of it is, likewise


_SAME_BODY: dict[Kind, tuple[Callable[..., Any], tuple[str, ...]]] = {
    Kind.H: (steps.hinge, ("joint",)),
    Kind.M: (steps.inertia_times, ("inertia",)),
    Kind.R: (steps.inertia_times, ("R",)),
    Kind.P: (steps.inertia_times, ("P",)),
    Kind.D: (steps.hinge_inertia_times, ("joint", "P")),
    Kind.A: (steps.armature_times, ("joint",)),
    Kind.G: (steps.gain_times, ("G",)),
    Kind.TAU_BAR: (steps.projected, ("G",)),
}
_SAME_BODY_TRANSPOSED: dict[Kind, tuple[Callable[..., Any], tuple[str, ...]]] = {
    Kind.H: (steps.hinge_transposed, ("joint",)),
    Kind.G: (steps.gain_transposed, ("G",)),
    Kind.TAU_BAR: (steps.projected_transposed, ("G",)),
}
_STATE = {
    Kind.VELOCITY: ("V", (RELATIVE, VELOCITY)),
    Kind.BIAS_ACCELERATION: ("c", (RELATIVE, VELOCITY, BIAS_ACCELERATION)),
    Kind.BIAS_FORCE: ("f", (RELATIVE, VELOCITY, BIAS_FORCE)),
    Kind.GRAVITY: ("alpha", (RELATIVE, STATIC)),
}


_PREPARED: dict[str, tuple[Step, ...]] = {
    "X": (RELATIVE,),
    "P": (RELATIVE, ELIMINATE),
    "G": (RELATIVE, ELIMINATE),
    "R": (RELATIVE, COMPOSITE),
}


class _Lowering:
    """One expression: steps in order, each in a sweep of its own; equal parts found again."""

    def __init__(self, expression: Expression, model: Model) -> None:
        self.expression, self.model = expression, model
        self.sweeps: dict[Sweep, None] = {}
        self.buffers: list[Buffer] = []
        self.known: dict[tuple[Expression, str | None], _Value] = {}
        self.inputs: dict[Vector, None] = {}
        self.constants: dict[str, tuple[float, ...]] = {}

    def lowered(self) -> Lowered:
        result = self.apply(self.expression, None)
        if result.name.startswith(NAMED_INPUTS):  # a free vector at a link, nothing else
            result = self._combined(self.expression, (1.0,), (result,), None)
        buffers = (*ARTICULATED_BUFFERS, Buffer("R", RigidInertia.zero()), *self.buffers)
        name = self.expression.text()
        plan = fuse(Plan(name, buffers, tuple(self.sweeps)), name=name, keep=(result.name,))
        return Lowered(plan, tuple(self.inputs), self.constants, result.space, result.name)

    # ---- values ----------------------------------------------------------------------------------------------------

    def apply(self, expression: Expression, operand: _Value | None) -> _Value:
        """The value of an operator applied to one; a vector needs none."""
        key = expression, None if operand is None else operand.name
        if key not in self.known:
            self.known[key] = self._apply(expression, operand)
        return self.known[key]

    def _apply(self, expression: Expression, operand: _Value | None) -> _Value:
        match expression:
            case Product(factors=factors):
                return self._product(factors, operand)
            case Sum(terms=terms):
                return self._sum(expression, terms, operand)
            case Scaled(factor=factor, of=inner):
                return self._combined(expression, (factor,), (self.apply(inner, operand),), operand)
            case Vector():
                return self._free(expression)
            case Constant(size=(_,)):
                return self._constant(expression)
            case Leaf(kind=Kind.BIAS):
                return self._definition(newton_euler)
            case Leaf(kind=kind) if kind in _STATE:
                return self._state(expression, kind)
        if operand is None:
            raise self._refusal(expression)
        match expression:
            case Identity():
                return operand
            case Inverse(of=Leaf(kind=Kind.D)):
                return self._local(expression, steps.hinge_inertia_solve, ("G",), operand)
            case Leaf(kind=Kind.B, link=str(link)):
                return self._put_on(expression, link, operand)
            case Transpose(of=Leaf(kind=Kind.B, link=str(link))):
                return self._taken_from(expression, link, operand)
            case Leaf(kind=kind) if kind in _SAME_BODY:
                return self._local(expression, *_SAME_BODY[kind], operand)
            case Transpose(of=Leaf(kind=kind)) if kind in _SAME_BODY_TRANSPOSED:
                return self._local(expression, *_SAME_BODY_TRANSPOSED[kind], operand)
            case Leaf(kind=kind):
                return self._inward(expression, kind, operand)
            case Transpose(of=Leaf(kind=kind)):
                return self._outward(expression, kind, operand)
        raise self._refusal(expression)

    def _refusal(self, part: Expression) -> NoSweepError:
        match part:
            case Constant(size=size) | Transpose(of=Constant(size=size)):
                why = f"factor {part} is a full {' x '.join(map(str, size))} matrix"
            case Inverse(of=inner):
                why = f"no factors of {inner} are known" + self._advice(inner)
            case _:
                why = f"there is no sweep for {part}"
        return NoSweepError(f"cannot lower {self.expression}: {why}. Use dense(expression, q)", part)

    def _advice(self, inner: Expression) -> str:
        o = Operators(self.model)
        if o.has_armature and inner.shape == o.A.shape and inner + o.A == o.mass:
            return " (the robot has armature: its mass matrix is H phi M phi* H* + A, or mass for short)"
        return " (lower what simplify() makes of it)" if simplify(inverse(inner)) != inverse(inner) else ""

    # ---- combining -------------------------------------------------------------------------------------------------

    def _product(self, factors: tuple[Expression, ...], operand: _Value | None) -> _Value:
        pending = [part for factor in factors for part in self._spelled_out(factor)]
        while pending:
            last = pending.pop()
            if _is(last, Kind.E_PHI) and pending and _is(pending[-1], Kind.PSI) and operand is not None:
                pending.pop()
                operand = self._articulated_shift(operand)
            elif _is(last, Kind.E_PHI) and pending and _is(pending[-1], Kind.PHI) and operand is not None:
                pending[-1], last = last, pending[-1]  # phi E_phi = E_phi phi, and phi's own step finds that
                operand = self.apply(last, operand)
            elif isinstance(last, Sum) and pending and (both := self._with_shifted(pending[-1], last, operand)):
                pending.pop()
                operand = both
            else:
                operand = self.apply(last, operand)
        assert operand is not None
        return operand

    def _with_shifted(self, left: Expression, terms: Sum, operand: _Value | None) -> _Value | None:
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
            reads = ("X", "G") if articulated else ("X",)
            names = self._gather(self._meaning(key[0], operand), fn, reads, x, further=(y.name,))
            self.known[key] = _Value(names[0], x.space, self._meaning(key[0], operand))
        return self.known[key]

    def _first_spelled_out(self, term: Expression) -> tuple[Expression, Expression]:
        """The first factor of a term, spelled out, and the rest."""
        number, inner = coefficient(term)
        factors = inner.factors if isinstance(inner, Product) else (inner,)
        first, *rest = (*self._spelled_out(factors[0]), *factors[1:])
        return first, scaled(number, product(rest))

    def _spelled_out(self, factor: Expression) -> tuple[Expression, ...]:
        """K is ``E_phi G`` and E_psi is ``E_phi tau_bar``."""
        o = Operators(self.model)
        for kind, parts in ((Kind.K, (o.E_phi, o.G)), (Kind.E_PSI, (o.E_phi, o.tau_bar))):
            if _is(factor, kind):
                return parts
            if _is(transpose(factor), kind):
                return tuple(transpose(part) for part in reversed(parts))
        return (factor,)

    def _sum(self, expression: Expression, terms: tuple[Expression, ...], operand: _Value | None) -> _Value:
        numbers, parts = zip(*map(coefficient, terms), strict=True)
        return self._combined(expression, numbers, tuple(self.apply(part, operand) for part in parts), operand)

    def _combined(
        self, expression: Expression, numbers: tuple[float, ...], values: tuple[_Value, ...], operand: _Value | None
    ) -> _Value:
        space = values[0].space
        if space.name == "tip":  # six numbers of the robot: done at one link, whichever
            fn, reads = steps.CombinationOfTotals(numbers), tuple(_total(value) for value in values)
            return self._at_link(expression, fn, reads, 0, space, operand)
        return self._new(expression, steps.Combination(numbers), tuple(x.name for x in values), space, operand)

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _free(self, vector: Vector) -> _Value:
        self.inputs[vector] = None
        return self._given(vector, input_name(vector), vector.space)

    def _constant(self, numbers: Constant) -> _Value:
        space = known_shape(numbers).rows
        if not space.name:
            raise ShapeError(f"{numbers} could be a vector of several kinds: use a free vector, o.vector(name, space)")
        name = input_name(Vector(f"constant{len(self.constants)}", space))
        self.constants[name] = numbers.values
        return self._given(numbers, name, space)

    def _given(self, vector: Expression, name: str, space: Space) -> _Value:
        if space.name == "tip":
            return _Value(name, space, vector)
        return self._new(vector, steps.same if space.name == "joint" else steps.six, (name,), space)

    def _state(self, leaf: Leaf, kind: Kind) -> _Value:
        buffer, prepared = _STATE[kind]
        self._once(*prepared)
        return self._new(leaf, steps.same, (buffer,), known_shape(leaf).rows)

    def _definition(self, rule: Callable[[Operators], tuple[Expression, Expression] | None]) -> _Value:
        sides = rule(Operators(self.model))
        assert sides is not None
        return self.apply(sides[0], None)

    # ---- operators -------------------------------------------------------------------------------------------------

    def _local(self, expression: Expression, fn: Callable[..., Any], reads: tuple[str, ...], operand: _Value) -> _Value:
        self._prepare(*reads)
        return self._new(expression, fn, (*reads, operand.name), known_shape(expression).rows, operand)

    def _inward(self, expression: Expression, kind: Kind, operand: _Value) -> _Value:
        meaning = self._meaning(expression, operand)
        if kind is Kind.E_PHI and operand.gathered is not None:
            return _Value(operand.gathered, operand.space, meaning)
        if kind is Kind.PHI:
            names = self._gather(expression, steps.gather, ("X",), operand, outputs=2)
            return _Value(names[0], operand.space, meaning, gathered=names[1])
        if kind is Kind.E_PHI:
            names = self._gather(expression, steps.shift, ("X",), operand)
        elif kind is Kind.PSI:
            names = self._gather(expression, steps.gather_articulated, ("X", "G"), operand)
        else:
            raise self._refusal(expression)
        return _Value(names[0], operand.space, meaning)

    def _gather(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        operand: _Value,
        *,
        outputs: int = 1,
        further: tuple[str, ...] = (),
    ) -> list[str]:
        """A step that also hands something to the parent, in a buffer of sums."""
        self._prepare(*reads)
        sums = self._buffer(Force.zero())
        names = [self._buffer(Force.zero()) for _ in range(outputs)]
        reads = (*reads, operand.name, *further, sums)
        meaning = expression if further else self._meaning(expression, operand)
        self._append(tip_to_base(Step(fn, reads, (*names, f"{sums}@parent"), meaning.text())))
        return names

    def _articulated_shift(self, operand: _Value) -> _Value:
        """``psi E_phi`` in one recursion."""
        o = Operators(self.model)
        key = (o.psi @ o.E_phi, operand.name)
        if key not in self.known:
            names = self._gather(key[0], steps.gather_articulated_shifted, ("X", "G"), operand)
            self.known[key] = _Value(names[0], operand.space, self._meaning(key[0], operand))
        return self.known[key]

    def _outward(self, expression: Expression, kind: Kind, operand: _Value) -> _Value:
        meaning = self._meaning(expression, operand)
        if kind is Kind.E_PHI and operand.carried is not None:
            return _Value(operand.carried, operand.space, meaning)
        if kind is Kind.E_PHI:
            self._prepare("X")
            return self._new(
                expression, steps.shift_transposed, ("X", f"{operand.name}@parent"), operand.space, operand
            )
        if kind not in (Kind.PHI, Kind.PSI):
            raise self._refusal(expression)
        fn, reads = (steps.spread, ("X",)) if kind is Kind.PHI else (steps.spread_articulated, ("X", "G"))
        self._prepare(*reads)
        result, carried = self._buffer(Motion.zero()), self._buffer(Motion.zero())
        reads = (*reads, operand.name, f"{result}@parent")
        self._append(base_to_tip(Step(fn, reads, (result, carried), meaning.text())))
        return _Value(result, operand.space, meaning, carried=carried)

    def _put_on(self, expression: Expression, link: str, operand: _Value) -> _Value:
        """``B f``: what acts at a link, on its body."""
        name, meaning = self._buffer(Force.zero()), self._meaning(expression, operand)
        step = Step(steps.put_on, ("offset", _total(operand)), (f"{name}@body",), meaning.text())
        self._append(each_link(step, only=(self.model.link_index(link),)))
        return _Value(name, known_shape(expression).rows, meaning)

    def _taken_from(self, expression: Expression, link: str, operand: _Value) -> _Value:
        """``B* x``: what a link has of its body's."""
        number, rows = self.model.link_index(link), known_shape(expression).rows
        return self._at_link(expression, steps.taken_from, ("offset", f"{operand.name}@body"), number, rows, operand)

    def _at_link(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        link: int,
        space: Space,
        operand: _Value | None,
    ) -> _Value:
        """A step at one link whose result the whole robot has."""
        name, meaning = self._buffer(Motion.zero()), self._meaning(expression, operand)
        self._append(each_link(Step(fn, reads, (f"{name}@robot",), meaning.text()), only=(link,)))
        return _Value(name, space, meaning)

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _prepare(self, *names: str) -> None:
        """See to it that buffers of the state are computed."""
        for name in names:
            self._once(*_PREPARED.get(name, ()))

    def _once(self, *prepared: Step) -> None:
        for step in prepared:
            self._append(tip_to_base(step) if step in (ELIMINATE, COMPOSITE) else base_to_tip(step))

    def _append(self, sweep: Sweep) -> None:
        self.sweeps.setdefault(sweep)

    def _buffer(self, base: Any) -> str:
        name = f"x{len(self.buffers) + 1}"
        self.buffers.append(Buffer(name, base))
        return name

    def _new(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        space: Space,
        operand: _Value | None = None,
    ) -> _Value:
        """A step with one result."""
        name, meaning = self._buffer(() if space.name == "joint" else Motion.zero()), self._meaning(expression, operand)
        self._append(base_to_tip(Step(fn, reads, (name,), meaning.text())))
        return _Value(name, space, meaning)

    def _meaning(self, expression: Expression, operand: _Value | None) -> Expression:
        return expression if operand is None else product((expression, operand.meaning))


def _is(expression: Expression, kind: Kind) -> bool:
    return isinstance(expression, Leaf) and expression.kind is kind


def _total(value: _Value) -> str:
    """How a step reads six numbers that the robot has once."""
    return value.name if value.name.startswith("tip:") else f"{value.name}@robot"
