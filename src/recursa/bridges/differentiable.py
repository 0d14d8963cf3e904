"""Which quantities can be differentiated in other frameworks, and how a question becomes a function of arrays.

Every quantity of the registry that can be traced is: those with ``exported``. Beside its own arrays each of them takes
``gravity``, three numbers in world axes, and those that read inertias ``parameters``, where the registry says so.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from recursa.bridges.functions import GraphFunction
from recursa.errors import RecursaError, StateError, UntraceableError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.formulas import ScalarEvaluator, object_array, solved_by_columns
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.facade.answers import Answers
from recursa.facade.export_questions import ExportQuestion
from recursa.kernels.graph import Graph
from recursa.kernels.kernel import FEW_BODIES, Kernel
from recursa.kernels.plan_derivatives import PlanFunction
from recursa.model.model import Model
from recursa.quantities import Composed, Quantity, find, quantities, quantity
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, shape_advice
from recursa.sweeps.engine import run
from recursa.sweeps.input_kinds import kind_of_input

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


class ArrayFacts(NamedTuple):
    """An array that a function takes: its axes after the batch, and where quaternions start among its numbers."""

    name: str
    axes: tuple[int, ...]
    quaternions: tuple[int, ...]


class Facts(NamedTuple):
    """A question as a function of rows, told in plain numbers: programs that frameworks make take these as they are."""

    name: str
    function: Any  # a GraphFunction, or what a framework has in its place
    arrays: tuple[ArrayFacts, ...]
    shape: tuple[int, ...]


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
        self._made: dict[Hashable, Facts] = {}

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._evaluator.model

    def asked(self, call: Arguments) -> Facts:
        """The quantity that a call asks for."""
        record = quantity(call.name)
        kind = WithGravity if GRAVITY in call.arrays else InGraph
        given = {name: True for name in call.arrays if name in record.optional}
        question = kind.of(self.model, record, {**given, **call.options})
        key = kind, record.name, question.inputs, *question.options.items()
        if key not in self._made:
            self._made[key] = self._make(question)
        return self._made[key]

    def _make(self, question: InGraph) -> Facts:
        record, model, sizes = question.quantity, self.model, question.sizes()
        asked = self._evaluator.required(record, question.inputs[len(record.inputs) :], question.options)
        shape = question.shape() if isinstance(asked, Composed) else asked.recipe.shape
        own, sweeps = None, None
        if GRAVITY not in sizes and not isinstance(asked, Composed):
            own = partial(_own_kernel, asked)
            sweeps = partial(_sweeps, asked) if model.nbodies > FEW_BODIES else None
        function = GraphFunction(record.name, sizes, math.prod(shape), question.graph, own=own, sweeps=sweeps)
        quaternions = {name: model.quaternions for name in question.inputs if record.kind(name).coordinates}
        arrays = tuple(ArrayFacts(name, question.axes(name), quaternions.get(name, ())) for name in sizes)
        return Facts(record.name, function, arrays, shape)


def _sweeps(asked: ResolvedQuantity) -> PlanFunction:
    """What a question is answered with, as a function that can be differentiated sweep by sweep."""
    recipe, model = asked.recipe, asked.kernels.compiled_model
    return PlanFunction(asked.compiled_plan, model, asked.sizes, recipe.gather, math.prod(recipe.shape))


def _own_kernel(asked: ResolvedQuantity, single: bool) -> Kernel | None:
    """The kernel with which the robot itself answers: the same bits, and loops for large robots."""
    return asked.kernel(single=single) if asked.compiles else None


class InGraph(ExportQuestion):
    """A question for other frameworks: linear systems are spelled out, too, those of robots whose joints are tied."""

    def asked(self, values: Mapping[str, Any], evaluator: Evaluator | None = None) -> Array:
        """On any scalars."""
        return super().asked(values, evaluator or TracingEvaluator(self.model))

    def graph(self) -> tuple[Graph, list[Scalar]]:
        """A graph, and every number of the answer in it."""
        graph = Graph(MAX_NODES)
        try:
            return graph, list(self.traced_answer(graph).ravel())
        except UntraceableError as error:
            name = self.quantity.name
            raise RecursaError(f"robot '{self.model.name}': {name} cannot be differentiated: {error}") from None


class WithGravity(InGraph):
    """The same question where gravity is the last of its arrays."""

    def axes(self, name: str) -> tuple[int, ...]:
        """The shape of one of the arrays."""
        return (3,) if name == GRAVITY else super().axes(name)

    def sizes(self) -> dict[str, int]:
        """Numbers per input, gravity the last."""
        return {**super().sizes(), GRAVITY: 3}

    def traced_answer(self, graph: Graph) -> Array:
        """With the model's gravity replaced by three inputs."""
        inputs = {name: graph.inputs(name, size) for name, size in self.sizes().items()}
        return self.asked(inputs, TracingEvaluator(self.model, tuple(inputs[GRAVITY])))


class TracingEvaluator(ScalarEvaluator):
    """Gravity may be scalars, too; linear systems are solved without pivots, as mass matrices allow it."""

    __slots__ = ("gravity",)

    gravity: tuple[Any, ...] | None

    def __init__(self, model: Model, gravity: tuple[Any, ...] | None = None) -> None:
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
        return solved_by_columns(mass, columns)

    def inverse(self, mass: Array) -> Array:
        """``inv(mass)``."""
        return solved_by_columns(mass, np.eye(len(mass)).astype(object))
