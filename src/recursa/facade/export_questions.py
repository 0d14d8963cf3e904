"""What is exported, to any language: a quantity with its options, or a formula, evaluated on tracing scalars.

There is no second list of what there is and how it is computed: the records say it. Symbols give the graph, floats give
the results of test programs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from recursa.diagonal.diagonal_methods import Diagonal
from recursa.diagonal.unnormalized_equations import Unnormalized
from recursa.dynamics.configuration import random_input
from recursa.errors import RecursaError, StateError, UntraceableError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.resolved_quantity import Question
from recursa.facade.answers import Answers
from recursa.facade.asking import ScalarQuestion
from recursa.kernels.c_loops import CText, LoopedCFunction
from recursa.kernels.c_source import CFunction
from recursa.kernels.function import NODES_PER_OPERATION, Spelled
from recursa.kernels.graph import Graph, Traced, code_name
from recursa.kernels.kernel import SPELLED_OUT
from recursa.kernels.loop import Looped, LoopProgram
from recursa.model.model import Joint, Model
from recursa.operators.compiled_expression import CompiledExpression
from recursa.quantities import Composed, Quantity
from recursa.sweeps.batching import Array
from recursa.sweeps.input_kinds import kind_of_input

TEST_STATES = 4

Examples = tuple[dict[str, list[list[float]]], list[list[float]]]  # inputs by name, and the answers

_FRAMES = {
    "body": "link axes at the link origin",
    "mixed": "world axes at the link origin",
    "world": "world axes at the world origin",
}


def asked(model: Model, what: str | Quantity | CompiledExpression, options: Mapping[str, Any]) -> Asked:
    """The question that somebody wants as code; a mistake in it is an error that says what there is."""
    if not isinstance(what, CompiledExpression):
        return ExportQuestion.of(model, what, options)
    if options:
        raise unknown_name("option of a formula", next(iter(options)), ())
    if what.model.digest != model.digest:
        raise RecursaError(f"{what.expression} is a formula of robot '{what.model.name}', not of robot '{model.name}'")
    return ExportFormula(model, what)


# ---- quantities ------------------------------------------------------------------------------------------------------


class ExportQuestion(ScalarQuestion):
    """A quantity that is to become a function."""

    wanted = "exported"

    @property
    def title(self) -> str:
        """Robot, quantity and options, for the name of the function."""
        optional = [name for name in self.inputs if name in self.quantity.optional]
        extra = [name for name in optional if not self.quantity.kind(name).has_own_names]
        extra += [name if value is True else str(value) for name, value in self.options.items() if value is not False]
        return "_".join([self.model.name, self.quantity.name, *extra])

    @property
    def heading(self) -> str:
        """What the files are about, in a line."""
        return f"{self.quantity.name} of robot '{self.model.name}', written by Recursa."

    @property
    def all_options(self) -> dict[str, Any]:
        """The options in force, also those that were not given."""
        known = {**self.quantity.defaults, **self.options}
        return {name: known[name] for name in self.quantity.options if known[name] is not None}

    @property
    def units(self) -> str:
        """Units and axes of the answer."""
        return self.quantity.units.format(frame=_FRAMES.get(self.all_options.get("frame", ""), ""))

    def c_function(self, name: str, evaluator: Evaluator, *, most: int | None = None) -> CText:
        """The method as a C function: every body spelled out, or loops over bodies where that would be too long.

        Beyond ``most`` operations loops are preferred, where there are any.
        """
        try:
            found = self._spelled_out(name, "c")
        except UntraceableError as error:
            return self._looped(name, evaluator, error)
        assert isinstance(found, CFunction)
        if most is not None and found.operations.total > most:
            with suppress(RecursaError):
                return self._looped(name, evaluator, UntraceableError(f"over {most} operations"))
        return found

    def _looped(self, name: str, evaluator: Evaluator, error: UntraceableError) -> LoopedCFunction:
        asked = evaluator.resolve(Question.of(self.quantity, self.inputs[len(self.quantity.inputs) :], self.options))
        if isinstance(asked, Composed):
            raise self._refusal(f"{error}, and it has no loops over bodies") from None
        arguments = dict(zip(map(code_name, asked.sizes), self.inputs, strict=True))
        looped = asked.recipe.looped or Looped(asked.compiled_plan, asked.recipe.gather)
        try:
            return LoopedCFunction(name, LoopProgram(looped, asked.kernels.compiled_model, asked.sizes), arguments)
        except UntraceableError as why:
            raise self._refusal(f"{error}; as loops over bodies: {why}") from None

    def traced(self, name: str, kind: str) -> Spelled:
        """The method as a function in that language, every body spelled out."""
        try:
            return self._spelled_out(name, kind)
        except UntraceableError as error:
            raise self._refusal(str(error)) from None

    def _spelled_out(self, name: str, kind: str) -> Spelled:
        language = SPELLED_OUT[kind]
        graph = Graph(NODES_PER_OPERATION * language.most_operations)
        try:
            answer = self.traced_answer(graph)
        except StateError as error:  # arrays that want to be numbers
            raise UntraceableError("a robot of this size has it from several other answers") from error
        if answer.size == 0:
            raise self._refusal("the result has no entries")
        outputs = [x.number if isinstance(x, Traced) else float(x) for x in answer.ravel()]
        function = language(name, graph, outputs, self.sizes())
        if function.operations.total > language.most_operations:
            raise UntraceableError(f"over {language.most_operations} operations are too many for straight-line code")
        return function

    def traced_answer(self, graph: Graph) -> Array:
        """The answer in the nodes of a graph whose inputs are those of the question."""
        return self.asked({name: graph.inputs(name, size) for name, size in self.sizes().items()})

    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return self.ask(self._state(np.random.default_rng(0))).shape

    def _state(self, rng: np.random.Generator) -> dict[str, list[float]]:
        return {name: random_input(self.model, self.quantity.kind(name), rng) for name in self.inputs}

    def examples(self, function: CText | Spelled) -> Examples:
        """Random states and the answers there."""
        rng = np.random.default_rng(0)
        states = [self._state(rng) for _ in range(TEST_STATES)]
        answers = [[float(x) for x in self.ask(state).ravel()] for state in states]
        if not np.isfinite(answers).all():
            raise self._refusal("its results are not finite. robot.doctor() tells what is wrong with the data")
        return {name: [state[name] for state in states] for name in self.inputs}, answers

    def about(self, function: CText | Spelled) -> Iterator[str]:
        """Documentation, line by line."""
        yield from (self.heading, "", *_meaning(self.quantity.name), "")
        if self.all_options:
            yield "Options: " + ", ".join(f"{name} = {value}" for name, value in self.all_options.items())
        yield "Arguments, in order; matrices row by row; SI units, radians, six-vectors with the angular part first:"
        for name in self.inputs:
            yield f"  {name}[{function.sizes[name]}]: {_shaped(self.axes(name))}{self.quantity.says(name)}"
        yield f"  out[{function.size}]: {_shaped(self.shape())}{self.units}"
        yield "out may be the same array as an input."
        yield from ("", "Joints, base first:", *(_joint_line(self.model, joint) for joint in self.model.joints))
        yield from ("", "Links, by number: " + ", ".join(f"{k} {x.name}" for k, x in enumerate(self.model.links)))
        yield "Gravity in world axes, m/s^2: ({}, {}, {})".format(*self.model.gravity)
        counts = function.operations
        yield (
            f"Operations: {counts.mul} products, {counts.add} sums, {counts.div} divisions, {counts.sqrt} roots, "
            f"{counts.trig} sines and cosines"
        )


# ---- formulas --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExportFormula:
    """A compiled formula of the robot."""

    model: Model
    f: CompiledExpression

    @property
    def title(self) -> str:
        """For the name of the function."""
        return f"{self.model.name}_formula"

    @property
    def heading(self) -> str:
        """What the files are about, in a line."""
        return f"{self.f.expression.text(ascii=True)} of robot '{self.model.name}', written by Recursa."

    def c_function(self, name: str, evaluator: Evaluator, *, most: int | None = None) -> CText:
        """The formula as a C function, in the form of its kernel."""
        return self.f.c_function(name)

    def traced(self, name: str, kind: str) -> Spelled:
        """The formula as a function in that language, every body spelled out."""
        return self.f.spelled_out(name, kind)

    def examples(self, function: CText | Spelled) -> Examples:
        """Random states and the values there."""
        rng = np.random.default_rng(0)
        states: dict[str, list[list[float]]] = {argument: [] for argument in function.sizes}
        answers = []
        for _ in range(TEST_STATES):
            q, v = (random_input(self.model, kind_of_input(x), rng) for x in ("q", "v"))
            own = {"q": q, "v": v}
            row = [own.get(argument) or rng.normal(size=size).tolist() for argument, size in function.sizes.items()]
            for argument, numbers in zip(states, row, strict=True):
                states[argument].append(numbers)
            given = [numbers for argument, numbers in zip(states, row, strict=True) if argument not in own]
            answers.append([float(x) for x in np.ravel(self.f(q, v, *given))])
        return states, answers

    def about(self, function: CText | Spelled) -> Iterator[str]:
        """Documentation, line by line."""
        yield from (self.heading, "", f"It is computed as {self.f.simplified.text(ascii=True)}.", "")
        yield "Arguments, in order; SI units, radians; vectors of links have six numbers for each, angular part first:"
        words = {"q": "positions", "v": "speeds"}
        for argument, size in function.sizes.items():
            yield f"  {argument}[{size}]: {words.get(argument, 'a free vector of the formula')}"
        yield f"  out[{function.size}]: the value; blocks of links in link axes at the link origin, base first"
        yield from ("", "Joints, base first:", *(_joint_line(self.model, joint) for joint in self.model.joints))


Asked = ExportQuestion | ExportFormula


# ---- documentation ---------------------------------------------------------------------------------------------------


def _meaning(quantity: str) -> list[str]:
    """The first paragraph of the method's documentation, for one state; nothing where there is no method."""
    group, _, name = quantity.rpartition(".")
    method = getattr({"": Answers, "diagonal": Diagonal, "unnormalized": Unnormalized}.get(group), name, None)
    paragraph = (inspect.getdoc(method) or "").split("\n\n")[0].split("; with ``links``")[0]
    return paragraph.replace("(..., ", "(").replace(", (...)", "").replace("``", "").splitlines()


def _shaped(shape: tuple[int, ...]) -> str:
    return f"({' x '.join(str(n) for n in shape)}) " if len(shape) > 1 else ""


def _joint_line(model: Model, joint: Joint) -> str:
    if joint.tie is not None:
        source = model.joints[joint.tie.source].name
        return f"  {joint.name}: {joint.kind.name}, tied: q = {joint.tie.multiplier} q({source}) + {joint.tie.offset}"
    q_unit, v_unit = joint.kind.meaning
    q, v = _places("q", joint.q_start, joint.kind.nq), _places("v", joint.v_start, joint.kind.nv)
    return f"  {joint.name}: {joint.kind.name}, {q} {q_unit}, {v} {v_unit}"


def _places(name: str, start: int, count: int) -> str:
    return f"{name}[{start}]" if count == 1 else f"{name}[{start}..{start + count - 1}]"
