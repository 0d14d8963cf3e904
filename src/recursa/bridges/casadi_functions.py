"""Quantities of a robot as CasADi functions: our folded graph, node by node, as CasADi's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from recursa.bridges.casadi_c import Signature
from recursa.bridges.casadi_compiled import compiled, require_order
from recursa.bridges.differentiable import GRAVITY, TracingEvaluator
from recursa.bridges.replay import replay
from recursa.errors import RecursaError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.facade import Facade
from recursa.facade.export_questions import Asked, ExportFormula, ExportQuestion, asked
from recursa.kernels.c_loops import CText
from recursa.kernels.c_source import c_identifier
from recursa.kernels.function import Spelled
from recursa.kernels.graph import Graph
from recursa.operators.compiled import CompiledExpression
from recursa.quantities import Quantity
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    import casadi

CasadiForm = Literal["graph", "compiled"]
FORMS: tuple[str, ...] = get_args(CasadiForm)


class CasadiMethods(Facade):
    """The robot inside CasADi."""

    __slots__ = ()

    def casadi(
        self,
        quantity: str | Quantity | CompiledExpression,
        *,
        name: str | None = None,
        gravity: bool = False,
        form: CasadiForm = "graph",
        derivatives: Literal[1, 2] = 1,
        **options: Any,
    ) -> casadi.Function:
        """A quantity as a ``casadi.Function``, to be called on numbers, SX and MX, differentiated and optimised.

        ``quantity`` and ``options`` are as for :meth:`export_c`: the name of a quantity, your own record or a compiled
        formula; options such as ``link="flange"``, ``frame="world"``; arrays that are optional there become arguments
        with ``wrenches=True``, ``parameters=True``. ``gravity=True`` makes gravity an argument, too, three numbers in
        world axes, the last one. ``name`` is the function's own name.

        Arguments have the names that the method has, and their shapes: vectors are columns, wrenches a row per link.
        The result is named after the quantity, with underscores for dots. Vectors are dense columns; entries of
        matrices that are zero at every state are structural zeros. Of results with three axes, blocks stand below each
        other: ``poses`` is (4 nlinks, 4).

        Derivatives by q are by its coordinates. Where a joint has a quaternion, differentiate ``integrate`` for those
        by the rotation itself: f(integrate(q, dv)) by dv, at dv = 0.

        - ``form="graph"``: CasADi's own graph (SX), as our kernels have it, folded and shared, every body spelled out.
          CasADi interprets it, sees zeros in it, and differentiates it as often as it likes.
        - ``form="compiled"``: our C code with its Jacobians, compiled by the system's C compiler when it is first asked
          for, many times faster to call, on numbers and MX. All entries count as not zero. Large robots have loops over
          bodies.
        - ``derivatives``: of compiled code, the highest order there is: 1, or 2 for solvers with exact Hessians.

        Constraints come along, and joints that are tied: their linear systems are part of the graph. What is made of
        several answers is refused. Needs the extra ``recursa[casadi]``.

        >>> import recursa as rc
        >>> f = rc.robots.planar(2).casadi("forward_dynamics")
        >>> f.name_in(), f.name_out(), f.size_out(0)
        (['q', 'v', 'tau'], ['forward_dynamics'], (2, 1))
        >>> f([-1.5707963267948966, 0.0], [0.0, 0.0], [0.0, 0.0]).full().round(9).ravel() + 0.0   # it hangs
        array([0., 0.])
        """
        library = casadi_module()
        if form not in FORMS:
            raise unknown_name("form", form, FORMS)
        require_order(derivatives)
        question = asked(self.model, quantity, options)
        own = c_identifier(question.title if name is None else name)
        if isinstance(question, ExportQuestion):
            kind = _WithGravity if gravity else _InGraph
            question = kind(question.model, question.quantity, question.inputs, question.options)
        elif gravity:
            raise RecursaError("gravity=True is for quantities; a formula has the robot's own")
        if form == "graph":
            function = question.traced(own, "graph")
            return _function(library, _signature(own, question, function), function)
        spelled = _spelled(own, question)
        c_text = spelled or question.c_function(own, self.evaluator)
        return compiled(library, _signature(own, question, c_text), question, spelled, self.evaluator, derivatives)


# ---- questions that become graphs ------------------------------------------------------------------------------------


class _InGraph(ExportQuestion):
    """Linear systems are spelled out, too: those of robots whose joints are tied."""

    def asked(self, values: Mapping[str, Any], evaluator: Evaluator | None = None) -> Array:
        """On any scalars."""
        return super().asked(values, evaluator or TracingEvaluator(self.model))


class _WithGravity(_InGraph):
    """The same question where gravity is one of its arrays."""

    def sizes(self) -> dict[str, int]:
        """Numbers per input, gravity the last."""
        return {**super().sizes(), GRAVITY: 3}

    def traced_answer(self, graph: Graph) -> Array:
        """With the model's gravity replaced by three inputs."""
        x, y, z = graph.inputs(GRAVITY, 3)
        inputs = {name: graph.inputs(name, size) for name, size in super().sizes().items()}
        return self.asked(inputs, TracingEvaluator(self.model, (x, y, z)))


# ---- from a graph to CasADi ------------------------------------------------------------------------------------------


def _signature(name: str, question: Asked, function: Spelled | CText) -> Signature:
    """Names and shapes, as CasADi has them."""
    if isinstance(question, ExportFormula):
        return Signature(name, {one: (size, 1) for one, size in function.sizes.items()}, "value", (function.size, 1))
    shapes = {one: (3, 1) if one == GRAVITY else _rows_and_columns(question.axes(one)) for one in function.sizes}
    result = c_identifier(question.quantity.name)
    return Signature(name, shapes, f"{result}_out" if result in shapes else result, _rows_and_columns(question.shape()))


def _spelled(name: str, question: Asked) -> Spelled | None:
    """The graph with every body spelled out; None where that would be too long."""
    try:
        return question.traced(name, "c")
    except RecursaError:
        if isinstance(question, _WithGravity):
            raise
        return None  # loops over bodies say what is wrong, if they cannot be had either


def _function(library: ModuleType, of: Signature, function: Spelled) -> casadi.Function:
    arguments = {name: library.SX.sym(name, *shape) for name, shape in of.arguments.items()}
    scalars = {name: _row_by_row(symbol) for name, symbol in arguments.items()}
    found = replay(function, scalars, _operations(library))
    rows, columns = of.shape
    if columns == 1:
        answer = library.SX(rows, 1) if not found else library.vertcat(*found)
        answer = library.densify(library.SX(answer))
    else:
        answer = _matrix(library, found, rows, columns)
    return library.Function(of.name, list(arguments.values()), [answer], list(arguments), [of.result])


def _rows_and_columns(axes: Sequence[int]) -> tuple[int, int]:
    """Axes as CasADi has them: blocks of more than two axes below each other."""
    return (math.prod(axes[:-1]), axes[-1]) if len(axes) > 1 else (math.prod(axes), 1)


def _row_by_row(symbol: Any) -> list[Any]:
    """The scalars of a matrix as NumPy orders them; CasADi has columns after each other."""
    rows, columns = symbol.shape
    scalars = symbol.nz
    return [scalars[row + rows * column] for row in range(rows) for column in range(columns)]


def _matrix(library: ModuleType, entries: Sequence[Any], rows: int, columns: int) -> Any:
    """With what is the number 0 left out."""
    full = np.array([isinstance(x, float) and x == 0.0 for x in entries]).reshape(rows, columns)
    at = [(int(row), int(column)) for column, row in np.argwhere(~full.T)]
    pattern = library.Sparsity.triplet(rows, columns, [row for row, _ in at], [column for _, column in at])
    if not at:
        return library.SX(pattern)
    return library.SX(pattern, library.vertcat(*(entries[row * columns + column] for row, column in at)))


def _operations(library: ModuleType) -> dict[str, Callable[..., Any]]:
    return {
        "sin": library.sin,
        "cos": library.cos,
        "sqrt": library.sqrt,
        "atan2": library.atan2,
        "select": library.if_else,
    }


def casadi_module() -> ModuleType:
    """CasADi, if it is installed."""
    try:
        import casadi  # takes long
    except ImportError:
        raise RecursaError("this needs the package 'casadi': pip install 'recursa[casadi]'") from None
    module: ModuleType = casadi
    return module
