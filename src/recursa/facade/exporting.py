"""Export to C: the methods of a robot, run on tracing scalars, become files that need no Python.

There is no second list of how a quantity is computed: the public method itself runs, on a robot whose evaluations are
single runs on whatever scalars it is given. Symbols give the graph, floats give the results of the test program.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from recursa.diagonal.robot_methods import Diagonal
from recursa.dynamics.configuration import random_state
from recursa.dynamics.joint_space import FORCES
from recursa.errors import ModelError, RecursaError, SingularHingeError, UntraceableError, unknown_name
from recursa.evaluation.facade import Facade
from recursa.evaluation.scalars import ScalarEvaluator
from recursa.facade.answers import Answers
from recursa.files import write_together
from recursa.kernels.c_source import MAX_NODES, MAX_OPERATIONS, CFunction, c_header, c_identifier, c_test, c_unit
from recursa.kernels.graph import Graph, Traced
from recursa.model.model import Joint, Model
from recursa.quantities import Quantity, quantities
from recursa.spatial.counting import Counts
from recursa.sweeps.batching import Array

TEST_STATES = 4
TEST_TOLERANCE = 1e-9
_NOT_OPTIONS = ("self", "out", "threads", "links", "direction")

_FRAMES = {
    "body": "link axes at the link origin",
    "mixed": "world axes at the link origin",
    "world": "world axes at the world origin",
}

_NOT_EXPORTED = (
    *("difference", "d_difference", "interpolate", "rebase_forces"),  # arguments that C does not have yet
    *("equations_of_motion", "forward_dynamics_with_links"),  # no methods
    *("forward_dynamics_derivatives", "state_space"),  # several matrices
    *("diagonal.sensitivity", "diagonal.articulated_rates", "operational_compliance_between", "delassus"),
    *("rebase_state", "base_transform", "base_transform_derivative", "rebase_acceleration"),
)


def _exported(name: str) -> bool:
    """Methods of a robot and of its diagonal equations, by the names that :func:`_method` knows."""
    return name not in _NOT_EXPORTED and ("." not in name or name.startswith("diagonal."))


QUANTITIES: dict[str, str] = {one.name: one.units for one in quantities() if _exported(one.name)}
"""The methods that can be exported, with the units of what they return."""


@dataclass(frozen=True)
class CExport:
    """What :meth:`Robot.export_c` wrote: the files (source, header, test program), the C function, its cost."""

    files: tuple[Path, Path, Path]
    function: str
    operations: Counts


@dataclass(frozen=True)
class _Input:
    """What an argument of a method is in C."""

    shape: Callable[[Model], tuple[int, ...]]
    meaning: str
    sample: Callable[[Model, np.random.Generator], Any]


def _coordinates(model: Model, rng: np.random.Generator) -> Array:
    return random_state(model, rng)[0]


def _speeds(model: Model, rng: np.random.Generator) -> Array:
    return rng.normal(size=model.nv)


def _inertial(model: Model, rng: np.random.Generator) -> list[float]:
    return [float(x) for inertia in model.inertias for x in inertia.components()]


_INPUTS: dict[str, _Input] = {
    "q": _Input(lambda model: (model.nq,), "coordinates, joint by joint as below", _coordinates),
    "v": _Input(lambda model: (model.nv,), "speeds, joint by joint as below", _speeds),
    "a": _Input(lambda model: (model.nv,), "accelerations: componentwise rates of v, places as in v", _speeds),
    "tau": _Input(lambda model: (model.nv,), f"joint forces: {FORCES}", _speeds),
    "nu": _Input(lambda model: (model.nv,), "total joint rates in sqrt(J), places as in v", _speeds),
    "eps": _Input(lambda model: (model.nv,), "working moments in sqrt(J)/s, places as in v", _speeds),
    "dv": _Input(lambda model: (model.nv,), "a motion: speeds for unit time, places as in v", _speeds),
    "wrenches": _Input(
        lambda model: (len(model.links), 6),
        "per link (moment, force) in N m and N that act on it, link axes at the link origin",
        lambda model, rng: rng.normal(size=6 * len(model.links)),
    ),
    "base_acceleration": _Input(
        lambda model: (6,),
        "(angular, linear) of the base in rad/s^2 and m/s^2, world axes",
        lambda _, rng: rng.normal(size=6),
    ),
    "contract": _Input(lambda model: (model.nv,), "weights of the torques, places as in v", _speeds),
    "parameters": _Input(
        lambda model: (10 * model.nbodies,),
        "per body (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the link origin in link axes",
        _inertial,
    ),
}


# ---- the method ------------------------------------------------------------------------------------------------------


class ExportMethods(Facade):
    """Code that runs without Python."""

    __slots__ = ()

    def export_c(
        self, quantity: str | Quantity, path: str | os.PathLike[str], *, name: str | None = None, **options: Any
    ) -> CExport:
        """Write a quantity as self-contained C99: ``id.c``, ``id.h`` and a test program ``id_test.c``.

        ``quantity`` is the name of a method, or your own record (:class:`recursa.quantities.Quantity`), ``options``
        are its options (``link="flange"``, ``frame="world"``, ``losses=True``); arrays that are optional there become
        arguments of the C function with ``wrenches=True``, ``base_acceleration=True``, ``parameters=True``. The header
        tells the order of arguments and joints, shapes, units and frames. No allocation, no state, nothing but
        ``math.h``. Existing files are replaced.

        >>> import recursa as rc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export = rc.robots.planar(2).export_c("gravity_forces", folder + "/gravity.c")
        >>> export.function, [file.name for file in export.files]
        ('planar2_gravity_forces', ['gravity.c', 'gravity.h', 'gravity_test.c'])
        """
        question = ExportQuestion.of(self.model, quantity, options)
        source = _source_path(path)
        function = question.traced(c_identifier(question.title if name is None else name))
        states, expected = question.examples()
        title = f"{question.quantity} of robot '{self.model.name}', written by Recursa."
        texts = (
            c_unit(function, title, source.stem),
            c_header(function, _about(question, function, title)),
            c_test(function, f"Test of {title}", source.stem, states, expected, TEST_TOLERANCE),
        )
        files = (source, source.with_suffix(".h"), source.with_name(f"{source.stem}_test.c"))
        write_together(dict(zip(files, texts, strict=True)))
        return CExport(files, function.name, function.operations)


# ---- asking ----------------------------------------------------------------------------------------------------------


def _method(quantity: str) -> Callable[..., Any]:
    """The method that a quantity is."""
    group, _, name = quantity.rpartition(".")
    return getattr(Diagonal if group else Answers, name)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ExportQuestion:
    """A method of a robot, the arrays it takes, and its other options."""

    model: Model
    quantity: str
    inputs: tuple[str, ...]
    options: dict[str, Any]
    record: Quantity | None = None  # of a quantity that has no method

    @classmethod
    def of(cls, model: Model, quantity: str | Quantity, options: Mapping[str, Any]) -> ExportQuestion:
        """Checked: the quantity exists, its options too, and none is missing."""
        if isinstance(quantity, Quantity):
            arrays = (*quantity.inputs, *(name for name in quantity.optional if options.get(name)))
            others = {name: value for name, value in options.items() if name not in quantity.optional}
            return cls(model, quantity.name, arrays, others, quantity)
        if quantity not in QUANTITIES:
            raise unknown_name("quantity to export", quantity, QUANTITIES)
        parameters = inspect.signature(_method(quantity)).parameters
        known = {name: item for name, item in parameters.items() if name not in _NOT_OPTIONS}
        given = {name: value for name, value in options.items() if value is not None}
        required = {name for name, item in known.items() if item.default is item.empty}
        for name, value in given.items():
            if name not in known or name in required & _INPUTS.keys():
                choices = [other for other in known if other not in required & _INPUTS.keys()]
                raise unknown_name(f"option of {quantity}", name, choices)
            if name in _INPUTS and not isinstance(value, bool):
                raise RecursaError(f"{name}=True makes {name} an argument of the C function; it cannot be given here")
        inputs = tuple(name for name in known if name in _INPUTS and (name in required or given.get(name)))
        missing = [name for name in required if name not in inputs and name not in given]
        if missing:
            raise RecursaError(f"{quantity} needs the option {missing[0]}=")
        return cls(model, quantity, inputs, {name: x for name, x in given.items() if name not in _INPUTS})

    @property
    def title(self) -> str:
        """Robot, quantity and options, for the name of the function."""
        extra = [name for name in self.inputs if name in ("wrenches", "base_acceleration", "parameters")]
        extra += [name if value is True else str(value) for name, value in self.options.items() if value is not False]
        return "_".join([self.model.name, self.quantity, *extra])

    @property
    def all_options(self) -> dict[str, Any]:
        """The options in force, also those that were not given."""
        if self.record is not None:
            return self.options
        parameters = inspect.signature(_method(self.quantity)).parameters
        usual = {name: item.default for name, item in parameters.items() if name not in (*_NOT_OPTIONS, *_INPUTS)}
        return {name: value for name, value in (usual | self.options).items() if value is not None}

    @property
    def units(self) -> str:
        """Units and axes of the answer."""
        units = QUANTITIES[self.quantity] if self.record is None else self.record.units
        return units.format(frame=_FRAMES.get(self.all_options.get("frame", ""), ""))

    def sizes(self) -> dict[str, int]:
        """Numbers per input."""
        return {name: math.prod(_INPUTS[name].shape(self.model)) for name in self.inputs}

    def ask(self, values: Mapping[str, Any]) -> Array:
        """The method's answer for flat inputs, as an array of scalars."""
        arrays = {}
        for name in self.inputs:
            arrays[name] = np.empty(len(values[name]), dtype=object)
            arrays[name][:] = list(values[name])
            arrays[name] = arrays[name].reshape(_INPUTS[name].shape(self.model))
        try:
            with np.errstate(all="ignore"):
                evaluator = ScalarEvaluator(self.model)
                if self.record is not None:
                    return evaluator.evaluate(self.record, arrays, self.options)
                robot = Answers(self.model, evaluator)
                answer = attrgetter(self.quantity)(robot)(**arrays, **self.options)
                return np.stack(answer) if isinstance(answer, tuple) else answer
        except (UntraceableError, SingularHingeError, ModelError) as error:
            raise self._refusal(str(error)) from None

    def _refusal(self, why: str) -> RecursaError:
        return RecursaError(f"robot '{self.model.name}': {self.quantity} cannot be exported: {why}")

    def traced(self, name: str) -> CFunction:
        """The method as a C function."""
        graph = Graph(MAX_NODES)
        answer = self.ask({name: graph.inputs(name, size) for name, size in self.sizes().items()})
        if answer.size == 0:
            raise self._refusal("the result has no entries")
        outputs = [x.number if isinstance(x, Traced) else float(x) for x in answer.ravel()]
        function = CFunction(name, graph, outputs, self.sizes())
        if function.operations.total > MAX_OPERATIONS:
            raise self._refusal(f"over {MAX_OPERATIONS} operations are too many for straight-line code")
        return function

    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return self.ask(self._state(np.random.default_rng(0))).shape

    def _state(self, rng: np.random.Generator) -> dict[str, list[float]]:
        return {name: [float(x) for x in _INPUTS[name].sample(self.model, rng)] for name in self.inputs}

    def examples(self) -> tuple[dict[str, list[list[float]]], list[list[float]]]:
        """Random states and the answers there."""
        rng = np.random.default_rng(0)
        states = [self._state(rng) for _ in range(TEST_STATES)]
        answers = [[float(x) for x in self.ask(state).ravel()] for state in states]
        if not np.isfinite(answers).all():
            raise self._refusal("its results are not finite. robot.doctor() tells what is wrong with the data")
        return {name: [state[name] for state in states] for name in self.inputs}, answers


# ---- documentation ---------------------------------------------------------------------------------------------------


def _about(question: ExportQuestion, function: CFunction, title: str) -> Iterator[str]:
    """The lines of the header's comment."""
    model = question.model
    meaning = _meaning(question.quantity) if question.record is None else ()
    yield from (title, "", *meaning, "")
    if question.all_options:
        yield "Options: " + ", ".join(f"{name} = {value}" for name, value in question.all_options.items())
    yield "Arguments, in order; matrices row by row; SI units, radians, six-vectors with the angular part first:"
    for name in question.inputs:
        yield f"  {name}[{function.sizes[name]}]: {_shaped(_INPUTS[name].shape(model))}{_INPUTS[name].meaning}"
    yield f"  out[{len(function.outputs)}]: {_shaped(question.shape())}{question.units}"
    yield "out may be the same array as an input. The function keeps no state and allocates nothing."
    yield from ("", "Joints, base first:", *(_joint_line(model, joint) for joint in model.joints))
    yield from ("", "Links, by number: " + ", ".join(f"{k} {link.name}" for k, link in enumerate(model.links)))
    yield "Gravity in world axes, m/s^2: ({}, {}, {})".format(*model.gravity)
    counts = function.operations
    yield (
        f"Operations: {counts.mul} products, {counts.add} sums, {counts.div} divisions, {counts.sqrt} roots, "
        f"{counts.trig} sines and cosines"
    )


def _meaning(quantity: str) -> list[str]:
    """The first paragraph of the method's documentation, for one state."""
    paragraph = inspect.getdoc(_method(quantity)) or quantity
    paragraph = paragraph.split("\n\n")[0].split("; with ``links``")[0]
    text = paragraph.replace("(..., ", "(").replace(", (...)", "").replace("``", "")
    return text.splitlines()


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
