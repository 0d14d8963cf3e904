"""Export to C: quantities of a robot, evaluated on tracing scalars, become files that need no Python.

There is no second list of what there is and how it is computed: the records say it. Symbols give the graph, floats give
the results of the test program.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recursa.diagonal.robot_methods import Diagonal
from recursa.diagonal.unnormalized import Unnormalized
from recursa.dynamics.configuration import random_input
from recursa.errors import ModelError, RecursaError, SingularHingeError, StateError, UntraceableError, unknown_name
from recursa.evaluation.evaluator import Evaluator, Question
from recursa.evaluation.facade import Facade
from recursa.evaluation.scalars import ScalarEvaluator, object_array
from recursa.facade.answers import Answers
from recursa.files import write_together
from recursa.kernels.c_loops import LoopedCFunction
from recursa.kernels.c_source import (
    MAX_NODES,
    MAX_OPERATIONS,
    CFunction,
    CText,
    c_header,
    c_identifier,
    c_test,
    c_unit,
)
from recursa.kernels.graph import Graph, Traced, code_name
from recursa.kernels.loop import Looped, LoopProgram
from recursa.model.model import Joint, Model
from recursa.operators.compiled import CompiledExpression
from recursa.quantities import Composed, Quantity, quantities
from recursa.spatial.counting import Counts
from recursa.sweeps.batching import Array
from recursa.sweeps.inputs import kind_of_input

TEST_STATES = 4
TEST_TOLERANCE = 1e-9

_FRAMES = {
    "body": "link axes at the link origin",
    "mixed": "world axes at the link origin",
    "world": "world axes at the world origin",
}


@dataclass(frozen=True)
class CExport:
    """What :meth:`Robot.export_c` wrote: the files (source, header, test program), the C function, its cost."""

    files: tuple[Path, Path, Path]
    function: str
    operations: Counts


# ---- the method ------------------------------------------------------------------------------------------------------


class ExportMethods(Facade):
    """Code that runs without Python."""

    __slots__ = ()

    def export_c(
        self,
        quantity: str | Quantity | CompiledExpression,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        **options: Any,
    ) -> CExport:
        """Write a quantity as self-contained C99: ``id.c``, ``id.h`` and a test program ``id_test.c``.

        ``quantity`` is the name of a quantity, your own record (:class:`recursa.quantities.Quantity`), or a compiled
        formula (:func:`recursa.compile`), whose arguments are q, v if it needs it, and its vectors. ``options`` are a
        quantity's options (``link="flange"``, ``frame="world"``, ``losses=True``); arrays that are optional there
        become arguments of the C function with ``wrenches=True``, ``base_acceleration=True``, ``parameters=True``. The
        header tells the order of arguments and joints, shapes, units and frames. No allocation, no state, nothing but
        ``math.h``. Existing files are replaced.

        >>> import recursa as rc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export = rc.robots.planar(2).export_c("gravity_forces", folder + "/gravity.c")
        >>> export.function, [file.name for file in export.files]
        ('planar2_gravity_forces', ['gravity.c', 'gravity.h', 'gravity_test.c'])
        """
        source = _source_path(path)
        if isinstance(quantity, CompiledExpression):
            if options:
                raise unknown_name("option of a formula", next(iter(options)), ())
            function, states, expected = _of_formula(quantity, self.model, name)
            title = f"{quantity.expression.text(ascii=True)} of robot '{self.model.name}', written by Recursa."
            about = _about_formula(quantity, function, title)
        else:
            question = ExportQuestion.of(self.model, quantity, options)
            function = question.function(c_identifier(question.title if name is None else name), self.evaluator)
            states, expected = question.examples()
            title = f"{question.quantity.name} of robot '{self.model.name}', written by Recursa."
            about = _about(question, function, title)
        texts = (
            c_unit(function, title, source.stem),
            c_header(function, about),
            c_test(function, f"Test of {title}", source.stem, states, expected, TEST_TOLERANCE),
        )
        files = (source, source.with_suffix(".h"), source.with_name(f"{source.stem}_test.c"))
        write_together(dict(zip(files, texts, strict=True)))
        return CExport(files, function.name, function.operations)


# ---- asking ----------------------------------------------------------------------------------------------------------


def quantity_named(name: str) -> Quantity:
    """The record of that name, if it can be exported."""
    found = {one.name: one for one in quantities() if one.exported}
    if name not in found:
        raise unknown_name("quantity to export", name, found)
    return found[name]


def exported() -> tuple[str, ...]:
    """The quantities that can be exported."""
    return tuple(one.name for one in quantities() if one.exported)


@dataclass(frozen=True)
class ExportQuestion:
    """A quantity, the arrays that it is given, and its other options."""

    model: Model
    quantity: Quantity
    inputs: tuple[str, ...]
    options: dict[str, Any]

    @classmethod
    def of(cls, model: Model, quantity: str | Quantity, options: Mapping[str, Any]) -> ExportQuestion:
        """Checked: the quantity exists, its options too, and none is missing."""
        record = quantity if isinstance(quantity, Quantity) else quantity_named(quantity)
        given = {name: value for name, value in options.items() if value is not None}
        choices = (*record.optional, *record.options)
        for name, value in given.items():
            if name not in choices:
                raise unknown_name(f"option of {record.name}", name, choices)
            if name in record.optional and not isinstance(value, bool):
                raise RecursaError(f"{name}=True makes {name} an argument of the C function; it cannot be given here")
        missing = [name for name in record.options if name not in {**record.defaults, **given}]
        if missing:
            raise RecursaError(f"{record.name} needs the option {missing[0]}=")
        inputs = (*record.inputs, *(name for name in record.optional if given.get(name)))
        return cls(model, record, inputs, {name: x for name, x in given.items() if name not in record.optional})

    @property
    def title(self) -> str:
        """Robot, quantity and options, for the name of the function."""
        optional = [name for name in self.inputs if name in self.quantity.optional]
        extra = [name for name in optional if not self.quantity.kind(name).has_own_names]
        extra += [name if value is True else str(value) for name, value in self.options.items() if value is not False]
        return "_".join([self.model.name, self.quantity.name, *extra])

    @property
    def all_options(self) -> dict[str, Any]:
        """The options in force, also those that were not given."""
        known = {**self.quantity.defaults, **self.options}
        return {name: known[name] for name in self.quantity.options if known[name] is not None}

    @property
    def units(self) -> str:
        """Units and axes of the answer."""
        return self.quantity.units.format(frame=_FRAMES.get(self.all_options.get("frame", ""), ""))

    def axes(self, name: str) -> tuple[int, ...]:
        """The shape of one of the inputs."""
        return self.quantity.kind(name).axes(self.model, 0)

    def sizes(self) -> dict[str, int]:
        """Numbers per input."""
        return {name: math.prod(self.axes(name)) for name in self.inputs}

    def ask(self, values: Mapping[str, Any]) -> Array:
        """The answer for flat inputs, as an array of scalars."""
        arrays = {name: object_array(list(values[name])).reshape(self.axes(name)) for name in self.inputs}
        try:
            with np.errstate(all="ignore"):
                return ScalarEvaluator(self.model).evaluate(self.quantity, arrays, self.options)
        except (SingularHingeError, ModelError) as error:
            raise self._refusal(str(error)) from None

    def _refusal(self, why: str) -> RecursaError:
        return RecursaError(f"robot '{self.model.name}': {self.quantity.name} cannot be exported: {why}")

    def function(self, name: str, evaluator: Evaluator) -> CText:
        """The method as a C function: every body spelled out, or loops over bodies where that would be too long."""
        try:
            return self._spelled_out(name)
        except UntraceableError as error:
            way = evaluator.way(Question.of(self.quantity, self.inputs[len(self.quantity.inputs) :], self.options))
            if isinstance(way, Composed):
                raise self._refusal(f"{error}, and it has no loops over bodies") from None
            internal = [self.quantity.reads.get(one, one) for one in self.inputs]
            sizes = dict(zip(internal, self.sizes().values(), strict=True))
            arguments = dict(zip(map(code_name, internal), self.inputs, strict=True))
            looped = way.recipe.looped or Looped(way.compiled_plan, way.recipe.gather)
            try:
                return LoopedCFunction(name, LoopProgram.of(looped, way.kernels.compiled_model, sizes), arguments)
            except UntraceableError as why:
                raise self._refusal(f"{error}; as loops over bodies: {why}") from None

    def traced(self, name: str) -> CFunction:
        """The method with every body spelled out."""
        try:
            return self._spelled_out(name)
        except UntraceableError as error:
            raise self._refusal(str(error)) from None

    def _spelled_out(self, name: str) -> CFunction:
        graph = Graph(MAX_NODES)
        try:
            answer = self.ask({name: graph.inputs(name, size) for name, size in self.sizes().items()})
        except StateError as error:  # arrays that want to be numbers
            raise UntraceableError("a robot of this size has it from several other answers") from error
        if answer.size == 0:
            raise self._refusal("the result has no entries")
        outputs = [x.number if isinstance(x, Traced) else float(x) for x in answer.ravel()]
        function = CFunction(name, graph, outputs, self.sizes())
        if function.operations.total > MAX_OPERATIONS:
            raise UntraceableError(f"over {MAX_OPERATIONS} operations are too many for straight-line code")
        return function

    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return self.ask(self._state(np.random.default_rng(0))).shape

    def _state(self, rng: np.random.Generator) -> dict[str, list[float]]:
        return {name: random_input(self.model, self.quantity.kind(name), rng) for name in self.inputs}

    def examples(self) -> tuple[dict[str, list[list[float]]], list[list[float]]]:
        """Random states and the answers there."""
        rng = np.random.default_rng(0)
        states = [self._state(rng) for _ in range(TEST_STATES)]
        answers = [[float(x) for x in self.ask(state).ravel()] for state in states]
        if not np.isfinite(answers).all():
            raise self._refusal("its results are not finite. robot.doctor() tells what is wrong with the data")
        return {name: [state[name] for state in states] for name in self.inputs}, answers


# ---- formulas --------------------------------------------------------------------------------------------------------


def _of_formula(
    f: CompiledExpression, model: Model, name: str | None
) -> tuple[CText, dict[str, list[list[float]]], list[list[float]]]:
    """The C function of a formula, with random states and its values there."""
    if f.model.digest != model.digest:
        raise RecursaError(f"{f.expression} is a formula of robot '{f.model.name}', not of robot '{model.name}'")
    function = f.c_function(c_identifier(f"{model.name}_formula" if name is None else name))
    rng = np.random.default_rng(0)
    states: dict[str, list[list[float]]] = {argument: [] for argument in function.sizes}
    answers = []
    for _ in range(TEST_STATES):
        q, v = (random_input(model, kind_of_input(x), rng) for x in ("q", "v"))
        own = {"q": q, "v": v}
        row = [own.get(argument) or rng.normal(size=size).tolist() for argument, size in function.sizes.items()]
        for argument, numbers in zip(states, row, strict=True):
            states[argument].append(numbers)
        given = [numbers for argument, numbers in zip(states, row, strict=True) if argument not in own]
        answers.append([float(x) for x in np.ravel(f(q, v, *given))])
    return function, states, answers


def _about_formula(f: CompiledExpression, function: CText, title: str) -> Iterator[str]:
    yield from (title, "", f"It is computed as {f.simplified.text(ascii=True)}.", "")
    yield "Arguments, in order; SI units, radians; vectors of links have six numbers for each, angular part first:"
    words = {"q": "positions", "v": "speeds"}
    for argument, size in function.sizes.items():
        yield f"  {argument}[{size}]: {words.get(argument, 'a free vector of the formula')}"
    yield f"  out[{function.size}]: the value; blocks of links in link axes at the link origin, base first"
    yield from _stack(function)
    yield from ("", "Joints, base first:", *(_joint_line(f.model, joint) for joint in f.model.joints))


# ---- documentation ---------------------------------------------------------------------------------------------------


def _about(question: ExportQuestion, function: CText, title: str) -> Iterator[str]:
    """The lines of the header's comment."""
    model = question.model
    yield from (title, "", *_meaning(question.quantity.name), "")
    if question.all_options:
        yield "Options: " + ", ".join(f"{name} = {value}" for name, value in question.all_options.items())
    yield "Arguments, in order; matrices row by row; SI units, radians, six-vectors with the angular part first:"
    for name in question.inputs:
        yield f"  {name}[{function.sizes[name]}]: {_shaped(question.axes(name))}{question.quantity.says(name)}"
    yield f"  out[{function.size}]: {_shaped(question.shape())}{question.units}"
    yield "out may be the same array as an input. The function keeps no state and allocates nothing."
    yield from _stack(function)
    yield from ("", "Joints, base first:", *(_joint_line(model, joint) for joint in model.joints))
    yield from ("", "Links, by number: " + ", ".join(f"{k} {link.name}" for k, link in enumerate(model.links)))
    yield "Gravity in world axes, m/s^2: ({}, {}, {})".format(*model.gravity)
    counts = function.operations
    yield (
        f"Operations: {counts.mul} products, {counts.add} sums, {counts.div} divisions, {counts.sqrt} roots, "
        f"{counts.trig} sines and cosines"
    )


def _stack(function: CText) -> Iterator[str]:
    if isinstance(function, LoopedCFunction):
        yield f"It loops over bodies and keeps their numbers on the stack, {8 * function.places['end']} bytes."


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


# ---- files -----------------------------------------------------------------------------------------------------------


def _source_path(path: str | os.PathLike[str]) -> Path:
    """Where the source goes; its name must fit an ``#include`` line."""
    source = Path(path)
    if source.suffix == "" and not source.is_dir():
        source = source.with_name(f"{source.name}.c")
    if source.suffix != ".c" or not source.stem.isprintable() or set('"\\') & set(source.stem):
        raise RecursaError(f"cannot export to '{source}': give the path of a C file, such as 'id.c'")
    return source
