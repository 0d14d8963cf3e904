"""Quantities of a robot as CasADi functions: our folded graph, node by node, as CasADi's own."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from recursa.bridges.casadi_c import Signature, compiled, require_order
from recursa.bridges.differentiable import InGraph, WithGravity
from recursa.errors import RecursaError, UntraceableError, not_installed, unknown_name
from recursa.evaluation.answering import Facade
from recursa.facade.export_questions import Asked, ExportFormula, ExportQuestion, asked
from recursa.kernels.c_loops import CText
from recursa.kernels.c_source import c_identifier
from recursa.kernels.function import Spelled
from recursa.operators.compiled_expression import CompiledExpression
from recursa.quantities import Quantity

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
            kind = WithGravity if gravity else InGraph
            question = kind(question.model, question.quantity, question.inputs, question.options)
        elif gravity:
            raise RecursaError("gravity=True is for quantities; a formula has the robot's own")
        if form == "graph":
            function = question.traced(own, "graph")
            return _function(library, _signature(own, question, function), function)
        spelled = _spelled(own, question)
        c_text = spelled or question.c_function(own, self.evaluator)
        return compiled(library, _signature(own, question, c_text), question, spelled, self.evaluator, derivatives)


# ---- from a graph to CasADi ------------------------------------------------------------------------------------------


def _signature(name: str, question: Asked, function: Spelled | CText) -> Signature:
    """Names and shapes, as CasADi has them."""
    if isinstance(question, ExportFormula):
        return Signature(name, {one: (size, 1) for one, size in function.sizes.items()}, "value", (function.size, 1))
    shapes = {one: _rows_and_columns(question.axes(one)) for one in function.sizes}
    result = c_identifier(question.quantity.name)
    return Signature(name, shapes, f"{result}_out" if result in shapes else result, _rows_and_columns(question.shape()))


def _spelled(name: str, question: Asked) -> Spelled | None:
    """The graph with every body spelled out; None where that would be too long."""
    try:
        return question.traced(name, "c")
    except RecursaError:
        if isinstance(question, WithGravity):
            raise
        return None  # loops over bodies say what is wrong, if they cannot be had either


def _function(library: ModuleType, of: Signature, function: Spelled) -> casadi.Function:
    arguments = {name: library.SX.sym(name, *shape) for name, shape in of.arguments.items()}
    scalars = {name: _row_by_row(symbol) for name, symbol in arguments.items()}
    found = _replayed(library, function, scalars)
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


def _replayed(library: ModuleType, function: Spelled, inputs: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The outputs as CasADi's scalars; every node is made once, so what the graph shares is shared."""
    known: dict[str, Callable[..., Any]] = {
        **{op: getattr(operator, op) for op in ("add", "sub", "mul", "neg", "lt")},
        **{op: getattr(library, op) for op in ("sin", "cos", "sqrt", "atan2")},
        "div": operator.truediv,
        "select": library.if_else,
    }
    nodes, values = function.graph.nodes, dict[int, Any]()
    tables = {**inputs, **function.constants}
    for number in function.graph.reachable(function.nodes):
        op, operands = nodes[number]
        if op == "const":
            values[number] = operands[0]
        elif op == "input":
            name, place = operands
            values[number] = tables[name][place]
        elif op in known:
            values[number] = known[op](*(values[k] for k in operands))
        else:
            raise UntraceableError(f"the operation {op!r} has no counterpart in CasADi")
    return [values[x] if isinstance(x, int) else x for x in function.outputs]


def casadi_module() -> ModuleType:
    """CasADi, if it is installed."""
    try:
        import casadi  # takes long
    except ImportError:
        raise not_installed("casadi", "casadi") from None
    return casadi
