"""From an expression to sweeps: what ``H phi M phi* H* x`` means, body by body, in O(n).

A product is applied from the right, factor by factor. What gathers becomes part of a tip-to-base sweep, its transpose
part of a base-to-tip sweep, what is block diagonal a step in whichever sweep its operand is ready; each as early as
possible, equal parts once. P, D, G, K, tau_bar and psi bring in the articulated-body recursion. Both starting
directions are tried and the shorter plan is kept (Rodriguez & Kreutz-Delgado, section IX).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    known_shape,
    product,
    transpose,
)
from recursa.operators.leaves import Operators
from recursa.operators.rules import newton_euler
from recursa.operators.shapes import ONE, Space
from recursa.operators.symbols import Kind
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

OPERAND = "x"
"""The name of the vector that a matrix is applied to."""


@dataclass(frozen=True)
class Lowered:
    """A plan, and where its result is: ``inputs`` are the free vectors in order of first appearance."""

    plan: Plan
    inputs: tuple[Vector, ...]
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
          x3, x4 <- spread(x2, X, x3@parent)    φ* H* x
    """
    shape = known_shape(expression)
    if shape.columns != ONE:
        expression = product((expression, Vector(OPERAND, shape.columns)))
    elif shape.rows == ONE:
        raise NoSweepError(f"cannot lower {expression}: it is a single number. Use dense(expression, q)")
    if expression.model is None:
        raise NoSweepError(f"cannot lower {expression}: it has no operator of a robot in it")
    plans = [_Lowering(expression, expression.model, inward_first).lowered() for inward_first in (False, True)]
    return min(plans, key=lambda lowered: len(lowered.plan.sweeps))


@dataclass(frozen=True)
class _Value:
    """Something computed: its buffer, the sweep that computes it, its space, the part of the expression it is."""

    name: str
    level: int
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


class _Lowering:
    """One expression, one starting direction: steps by sweep, equal parts found again."""

    def __init__(self, expression: Expression, model: Model, inward_first: bool) -> None:
        self.expression, self.model = expression, model
        self.first_inward, self.first_outward = (0, 1) if inward_first else (1, 0)
        self.sweeps: dict[int, list[Step]] = {}
        self.buffers: list[Buffer] = []
        self.known: dict[tuple[Expression, str | None], _Value] = {}
        self.inputs: dict[Vector, None] = {}

    def lowered(self) -> Lowered:
        result = self.apply(self.expression, None)
        last = max(self.sweeps, default=-1)
        sweeps = [
            (tip_to_base if (level - self.first_inward) % 2 == 0 else base_to_tip)(*self.sweeps.get(level, ()))
            for level in range(last + 1)
        ]
        buffers = (*ARTICULATED_BUFFERS, Buffer("R", RigidInertia.zero()), *self.buffers)
        plan = Plan(self.expression.text(), buffers, tuple(sweep for sweep in sweeps if sweep.steps))
        return Lowered(plan, tuple(self.inputs), result.space, result.name)

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
                why = f"no factors of {inner} are known" + self._about_armature(inner)
            case _:
                why = f"there is no sweep for {part}"
        return NoSweepError(f"cannot lower {self.expression}: {why}. Use dense(expression, q)")

    def _about_armature(self, inner: Expression) -> str:
        o = Operators(self.model)
        if o.has_armature and inner.shape == o.A.shape and inner + o.A == o.mass:
            return " (the robot has armature: its mass matrix is H phi M phi* H* + A)"
        return " (lower what simplify() makes of it)"

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
            else:
                operand = self.apply(last, operand)
        assert operand is not None
        return operand

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
        level, space = max(value.level for value in values), values[0].space
        if space.name == "tip":
            reads = ("number", *(_total(value) for value in values))
            return self._total(expression, steps.combination_of_totals(numbers), reads, level, space, operand)
        reads = tuple(value.name for value in values)
        return self._new(expression, steps.combination(numbers), reads, level, space, operand)

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _free(self, vector: Vector) -> _Value:
        self.inputs[vector] = None
        if vector.space.name == "tip":
            return _Value(input_name(vector), 0, vector.space, vector)
        fn = steps.same if vector.space.name == "joint" else steps.six
        return self._new(vector, fn, (input_name(vector),), 0, vector.space)

    def _constant(self, numbers: Constant) -> _Value:
        values, model = numbers.values, self.model
        if len(values) == 6 * model.nbodies and len(values) != model.nv:
            parts: tuple[Any, ...] = tuple(Motion.of(values[6 * k : 6 * k + 6]) for k in range(model.nbodies))
            space = Space("link", len(values))
        elif len(values) == model.nv and len(values) not in (6, 6 * model.nbodies):
            parts = tuple(joint.rates(values) for joint in model.joints)
            space = Space("joint", len(values))
        else:
            raise ShapeError(f"{numbers} fits more than one space: use a free vector, o.vector(name, space)")
        return self._new(numbers, steps.constant(parts), ("number",), 0, space)

    def _state(self, leaf: Leaf, kind: Kind) -> _Value:
        buffer, prepared = _STATE[kind]
        for step in prepared:
            self._once(step, self.first_outward if step is not RELATIVE else 0)
        return self._new(leaf, steps.same, (buffer,), self.first_outward, known_shape(leaf).rows)

    def _definition(self, rule: Callable[[Operators], tuple[Expression, Expression] | None]) -> _Value:
        sides = rule(Operators(self.model))
        assert sides is not None
        return self.apply(sides[0], None)

    # ---- operators -------------------------------------------------------------------------------------------------

    def _local(self, expression: Expression, fn: Callable[..., Any], reads: tuple[str, ...], operand: _Value) -> _Value:
        level = max([operand.level, *(self._prepare(name) for name in reads)])
        return self._new(expression, fn, (*reads, operand.name), level, known_shape(expression).rows, operand)

    def _inward(self, expression: Expression, kind: Kind, operand: _Value) -> _Value:
        if kind is Kind.E_PHI and operand.gathered is not None:
            return _Value(operand.gathered, operand.level, operand.space, self._meaning(expression, operand))
        level = self._next(max(operand.level, self._prepare("X")), self.first_inward)
        if kind is Kind.PHI:
            names = self._gather(expression, steps.gather, (), level, operand, outputs=2)
            return _Value(names[0], level, operand.space, self._meaning(expression, operand), gathered=names[1])
        if kind is Kind.E_PHI:
            names = self._gather(expression, steps.shift, (), level, operand)
        elif kind is Kind.PSI:
            level = max(level, self._prepare("G"))
            names = self._gather(expression, steps.gather_articulated, ("G",), level, operand)
        else:
            raise self._refusal(expression)
        return _Value(names[0], level, operand.space, self._meaning(expression, operand))

    def _gather(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        level: int,
        operand: _Value,
        outputs: int = 1,
    ) -> list[str]:
        """A step that also hands something to the parent, in a buffer of sums."""
        sums = self._buffer(Force.zero())
        names = [self._buffer(Force.zero()) for _ in range(outputs)]
        writes = (*names, f"{sums}@parent")
        meaning = self._meaning(expression, operand)
        self._append(level, Step(fn, (*reads, operand.name, sums, "X"), writes, meaning.text()))
        return names

    def _articulated_shift(self, operand: _Value) -> _Value:
        """``psi E_phi`` in one recursion."""
        o = Operators(self.model)
        key = (o.psi @ o.E_phi, operand.name)
        if key not in self.known:
            level = self._next(max(operand.level, self._prepare("X"), self._prepare("G")), self.first_inward)
            names = self._gather(key[0], steps.gather_articulated_shifted, ("G",), level, operand)
            self.known[key] = _Value(names[0], level, operand.space, self._meaning(key[0], operand))
        return self.known[key]

    def _outward(self, expression: Expression, kind: Kind, operand: _Value) -> _Value:
        meaning = self._meaning(expression, operand)
        if kind is Kind.E_PHI and operand.carried is not None:
            return _Value(operand.carried, operand.level, operand.space, meaning)
        level = self._next(max(operand.level, self._prepare("X")), self.first_outward)
        if kind is Kind.E_PHI:
            reads: tuple[str, ...] = ("X", f"{operand.name}@parent")
            return self._new(expression, steps.shift_transposed, reads, level, operand.space, operand)
        if kind not in (Kind.PHI, Kind.PSI):
            raise self._refusal(expression)
        result, carried = self._buffer(Motion.zero()), self._buffer(Motion.zero())
        reads = (operand.name, "X", f"{result}@parent")
        fn: Callable[..., Any] = steps.spread
        if kind is Kind.PSI:
            level = self._next(max(level, self._prepare("G")), self.first_outward)
            fn, reads = steps.spread_articulated, ("G", *reads)
        self._append(level, Step(fn, reads, (result, carried), meaning.text()))
        return _Value(result, level, operand.space, meaning, carried=carried)

    def _put_on(self, expression: Expression, link: str, operand: _Value) -> _Value:
        place = self.model.links[self.model.link_index(link)]
        fn, rows = steps.put_on(place.body, place.offset), known_shape(expression).rows
        return self._new(expression, fn, ("number", _total(operand)), operand.level, rows, operand)

    def _taken_from(self, expression: Expression, link: str, operand: _Value) -> _Value:
        place = self.model.links[self.model.link_index(link)]
        fn, rows = steps.taken_from(place.body, place.offset), known_shape(expression).rows
        return self._total(expression, fn, ("number", operand.name), operand.level, rows, operand)

    def _total(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        level: int,
        space: Space,
        operand: _Value | None,
    ) -> _Value:
        """A step whose results are added up over the robot: known when the sweep is over."""
        name, meaning = self._buffer(Motion.zero()), self._meaning(expression, operand)
        self._append(level, Step(fn, reads, (f"{name}@robot",), meaning.text()))
        return _Value(name, level + 1, space, meaning)

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _prepare(self, name: str) -> int:
        """See to it that a buffer of the state is computed; the sweep in which it is."""
        if name == "X":
            return self._once(RELATIVE, 0)
        if name in ("P", "G"):
            self._once(RELATIVE, 0)
            return self._once(ELIMINATE, self.first_inward)
        if name == "R":
            self._once(RELATIVE, 0)
            return self._once(COMPOSITE, self.first_inward)
        return 0

    def _once(self, step: Step, level: int) -> int:
        if not any(step in found for found in self.sweeps.values()):
            self._append(level, step)
        return level

    def _append(self, level: int, step: Step) -> None:
        self.sweeps.setdefault(level, []).append(step)

    def _buffer(self, base: Any) -> str:
        name = f"x{len(self.buffers) + 1}"
        self.buffers.append(Buffer(name, base))
        return name

    def _new(
        self,
        expression: Expression,
        fn: Callable[..., Any],
        reads: tuple[str, ...],
        level: int,
        space: Space,
        operand: _Value | None = None,
    ) -> _Value:
        """A step with one result."""
        name, meaning = self._buffer(() if space.name == "joint" else Motion.zero()), self._meaning(expression, operand)
        self._append(level, Step(fn, reads, (name,), meaning.text()))
        return _Value(name, level, space, meaning)

    def _meaning(self, expression: Expression, operand: _Value | None) -> Expression:
        return expression if operand is None else product((expression, operand.meaning))

    def _next(self, ready: int, first: int) -> int:
        """The first sweep from ``ready`` on in the direction of sweep ``first``."""
        ready = max(ready, first)
        return ready if (ready - first) % 2 == 0 else ready + 1


def _is(expression: Expression, kind: Kind) -> bool:
    return isinstance(expression, Leaf) and expression.kind is kind


def _total(value: _Value) -> str:
    """How a step reads six numbers that the robot has once."""
    return value.name if value.name.startswith("tip:") else f"{value.name}@robot"
