"""Which quantities can be differentiated in other frameworks, and how a question becomes a function of arrays.

Every quantity of the registry that can be traced is: those with ``exported``. Beside its own arrays each of them takes
``gravity``, three numbers in world axes, and those that read inertias ``parameters``, where the registry says so.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from recursa.bridges.functions import GraphFunction
from recursa.errors import RecursaError, StateError, UntraceableError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.resolved import Question, ResolvedQuantity
from recursa.evaluation.scalars import ScalarEvaluator, object_array
from recursa.facade.answers import Answers
from recursa.kernels.graph import Graph, code_name
from recursa.kernels.kernel import FEW_BODIES, Kernel
from recursa.kernels.plan_derivatives import PlanFunction
from recursa.model.model import Model
from recursa.quantities import Composed, Quantity, find, quantities, quantity
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import run
from recursa.sweeps.inputs import kind_of_input
from recursa.sweeps.shape_advice import shape_advice

GRAVITY = "gravity"
MAX_NODES = 600_000  # of a function and its derivatives; longer code takes minutes to compile


def differentiable() -> tuple[str, ...]:
    """The names of the quantities there are.

    >>> "forward_dynamics" in differentiable(), "interpolate" in differentiable()
    (True, False)
    """
    return tuple(one.name for one in quantities() if one.exported)


def is_differentiable(name: str) -> bool:
    """Whether there is such a quantity."""
    record = find(name)
    return record is not None and record.exported


@dataclass(frozen=True)
class Arguments:
    """What a call was given, sorted: arrays by name, and options."""

    name: str
    arrays: dict[str, Any]
    options: dict[str, Any]

    @staticmethod
    def of(name: str, arrays: tuple[Any, ...], more: Mapping[str, Any]) -> Arguments:
        """From a call with arrays in order, and the rest by name; what is None is not given."""
        if not is_differentiable(name):
            raise unknown_name("quantity", name, differentiable())
        record = quantity(name)
        ordered = _in_order(name, record)
        if len(arrays) > len(ordered):
            raise StateError(f"{name} takes {', '.join(ordered)}; {len(arrays)} arguments were given in order")
        found = dict(zip(ordered, arrays, strict=False))
        twice = [one for one in found if one in more]
        if twice:
            raise StateError(f"{name}: {twice[0]} was given twice")
        own = (*record.inputs, *record.optional, GRAVITY)
        more = {**more, **found}
        found = {one: more[one] for one in own if more.get(one) is not None}
        missing = [one for one in record.inputs if one not in found]
        if missing:
            raise StateError(f"{name} needs {', '.join(record.inputs)}; {missing[0]} is missing")
        options = {one: value for one, value in more.items() if one not in own}
        for one, value in options.items():
            if not isinstance(value, Hashable):
                raise StateError(f"{name}: {one} is an option, not an array; {type(value).__name__} was given")
        return Arguments(name, found, options)


def _in_order(name: str, record: Quantity) -> tuple[str, ...]:
    """What may be given without a name: what the robot's method of that name takes so, else the arrays."""
    method = getattr(Answers, name, None)
    if method is None:
        return record.inputs
    parameters = list(inspect.signature(method).parameters.values())[1:]
    ordered = tuple(one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD)
    return ordered if ordered[: len(record.inputs)] == record.inputs else record.inputs


@dataclass(frozen=True)
class Differentiable:
    """A quantity of one robot with certain options: a function of flat rows, and the shapes around them."""

    function: GraphFunction
    axes: Mapping[str, tuple[int, ...]]  # of every array, in order
    shape: tuple[int, ...]  # of the result
    turned: Mapping[str, tuple[int, ...]]  # where in coordinates quaternions start, which are made unit length


def batches(
    quantity: str, arrays: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]], model: Model
) -> list[tuple[int, ...]]:
    """The batch axes of every array, from its shape and the axes that it must end with."""
    found = []
    for name, (shape, wanted) in arrays.items():
        own = len(shape) - len(wanted)
        if own < 0 or shape[own:] != wanted:
            told = ", ".join(map(str, wanted))
            record = find(quantity)
            kind = kind_of_input(name) if record is None else record.kind(name)
            joint = kind.of_joint is not None
            advice = shape_advice(model, name, shape, coordinates=kind.coordinates) if joint else ""
            raise StateError(f"{quantity}: {name} must have the shape (..., {told}), not {shape}{advice}")
        found.append(shape[:own])
    if all(own == found[0] for own in found):
        return found
    for place in range(1, max(map(len, found)) + 1):
        if len({own[-place] for own in found if len(own) >= place} - {1}) > 1:
            told = ", ".join(f"{name} {own}" for name, own in zip(arrays, found, strict=True))
            raise StateError(f"{quantity}: batch axes do not fit each other: {told}")
    return found


class DifferentiableRobot:
    """All differentiable quantities of one robot, made when they are first asked for."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._made: dict[tuple[Question, bool], Differentiable] = {}

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._evaluator.model

    def asked(self, call: Arguments) -> Differentiable:
        """The quantity that a call asks for."""
        record, options = quantity(call.name), call.options
        names = tuple(one for one in call.arrays if one not in record.inputs)
        for one in options:
            if one not in record.options:
                raise unknown_name(f"option of {record.name}", one, (*record.optional, GRAVITY, *record.options))
        missing = [one for one in record.options if one not in {**record.defaults, **options}]
        if missing:
            raise RecursaError(f"{record.name} needs the option {missing[0]}=")
        question = Question.of(record, [one for one in names if one != GRAVITY], options)
        key = question, GRAVITY in names
        if key not in self._made:
            self._made[key] = self._make(question, with_gravity=GRAVITY in names)
        return self._made[key]

    def _make(self, question: Question, *, with_gravity: bool) -> Differentiable:
        record, model = question.quantity, self.model
        names = (*record.inputs, *question.given)
        axes = {name: record.kind(name).axes(model, 0) for name in names} | ({GRAVITY: (3,)} if with_gravity else {})
        sizes = {code_name(name): math.prod(own) for name, own in axes.items()}
        tracing = _Tracing(model, question, axes, with_gravity=with_gravity)
        asked = self._evaluator.required(record, question.given, dict(question.options))
        shape = tracing.shape() if isinstance(asked, Composed) else asked.recipe.shape
        own, sweeps = None, None
        if not with_gravity and not isinstance(asked, Composed):
            own = partial(_own_kernel, asked)
            sweeps = partial(_sweeps, asked) if model.nbodies > FEW_BODIES else None
        function = GraphFunction(record.name, sizes, math.prod(shape), tracing, own=own, sweeps=sweeps)
        turned = {name: model.quaternions for name in names if record.kind(name).coordinates and model.quaternions}
        return Differentiable(function, axes, shape, turned)


def _sweeps(asked: ResolvedQuantity) -> PlanFunction:
    """What a question is answered with, as a function that can be differentiated sweep by sweep."""
    recipe, model = asked.recipe, asked.kernels.compiled_model
    return PlanFunction(asked.compiled_plan, model, asked.sizes, recipe.gather, math.prod(recipe.shape))


def _own_kernel(asked: ResolvedQuantity, single: bool) -> Kernel | None:
    """The kernel with which the robot itself answers: the same bits, and loops for large robots."""
    return asked.kernel(single=single) if asked.compiles else None


class _Tracing:
    """Asks a question on tracing scalars."""

    def __init__(
        self, model: Model, question: Question, axes: Mapping[str, tuple[int, ...]], *, with_gravity: bool
    ) -> None:
        self.model, self.question, self.axes, self.with_gravity = model, question, axes, with_gravity

    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return self._answer()[1].shape

    def __call__(self) -> tuple[Graph, list[Scalar]]:
        graph, answer = self._answer()
        return graph, list(answer.ravel())

    def _answer(self) -> tuple[Graph, Array]:
        graph, record = Graph(MAX_NODES), self.question.quantity
        arrays = {
            name: object_array(graph.inputs(code_name(name), math.prod(axes))).reshape(axes)
            for name, axes in self.axes.items()
        }
        evaluator = TracingEvaluator(self.model, _three(arrays.pop(GRAVITY)) if self.with_gravity else None)
        try:
            with np.errstate(all="ignore"):
                return graph, evaluator.evaluate(record, arrays, dict(self.question.options))
        except UntraceableError as error:
            raise RecursaError(f"robot '{self.model.name}': {record.name} cannot be differentiated: {error}") from None


class TracingEvaluator(ScalarEvaluator):
    """Gravity may be scalars, too; linear systems are solved without pivots, as mass matrices allow it."""

    __slots__ = ("gravity",)

    gravity: tuple[Any, Any, Any] | None

    def __init__(self, model: Model, gravity: tuple[Any, Any, Any] | None = None) -> None:
        super().__init__(model)
        self.gravity = gravity

    def _of(self, model: Model) -> Self:
        return type(self)(model, self.gravity)

    def _run(self, asked: ResolvedQuantity, inputs: dict[str, list[Any]], *, symbols: bool) -> Array:
        if self.gravity is None:
            return super()._run(asked, inputs, symbols=symbols)
        own = asked.kernels.model  # as it is: what may be moved for a kernel takes the axes of gravity with it
        if own.gravity != self.model.gravity:
            raise UntraceableError("its method has gravity in other axes; another method takes gravity=")
        values = run(asked.recipe.plan, replace(own, gravity=self.gravity), inputs)
        return object_array(list(asked.recipe.gather(values)))

    def solve(self, mass: Array, columns: Array) -> Array:
        """``inv(mass) columns`` by ``L D L^T``."""
        return _solved(mass, columns)

    def inverse(self, mass: Array) -> Array:
        """``inv(mass)``."""
        return _solved(mass, np.eye(len(mass)).astype(object))


def _three(x: Array) -> tuple[Any, Any, Any]:
    return x[0], x[1], x[2]


def _solved(mass: Array, columns: Array) -> Array:
    """The solution for a symmetric positive definite matrix of any scalars: ``L D L^T x = columns``."""
    rest, x, n = [list(row) for row in mass], [list(np.atleast_1d(row)) for row in columns], len(mass)
    factor: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            factor[i][k] = rest[i][k] / rest[k][k]
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor[i][k] * rest[j][k]
    for i in range(n):
        x[i] = _less(x[i], ((factor[i][k], x[k]) for k in range(i)))
    x = [[value / rest[i][i] for value in row] for i, row in enumerate(x)]
    for i in reversed(range(n)):
        x[i] = _less(x[i], ((factor[k][i], x[k]) for k in range(i + 1, n)))
    return object_array([value for row in x for value in row]).reshape(columns.shape)


def _less(row: list[Scalar], others: Iterable[tuple[Scalar, list[Scalar]]]) -> list[Scalar]:
    """A row less multiples of others."""
    for factor, other in others:
        row = [value - factor * taken for value, taken in zip(row, other, strict=True)]
    return row
