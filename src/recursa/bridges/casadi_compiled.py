"""CasADi functions of compiled C: our kernels with their derivatives, loaded as an external function."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from recursa.bridges.casadi_c import Kernels, Signature, c_unit_for_casadi
from recursa.bridges.differentiable import GRAVITY
from recursa.bridges.functions import GraphFunction
from recursa.bridges.shared_library import library
from recursa.dynamics.configuration import moves_by_adding
from recursa.errors import RecursaError, UntraceableError
from recursa.evaluation.evaluator import Evaluator
from recursa.facade.export_questions import Asked, ExportQuestion
from recursa.kernels.c_loops import CText
from recursa.kernels.c_source import CFunction
from recursa.kernels.function import Spelled
from recursa.kernels.graph import Traced
from recursa.model.model import Model

if TYPE_CHECKING:
    import casadi

MOST = 3_000  # operations of a function that is spelled out with its derivatives; compilers take seconds for those
LONGEST = 10_000  # operations of one function that is

DERIVATIVES = {
    "forward_dynamics": "forward_dynamics_derivatives",
    "inverse_dynamics": "inverse_dynamics_derivatives",
}
"""Quantities whose derivatives by all their arrays are quantities, too."""


def compiled(
    casadi_library: ModuleType,
    of: Signature,
    question: Asked,
    spelled: Spelled | None,
    evaluator: Evaluator,
    order: int,
) -> casadi.Function:
    """The function with derivatives up to an order; ``spelled`` is its graph, if it is not too long for one."""
    kernels = _kernels(of, question, spelled, evaluator, order)
    path = library(c_unit_for_casadi(of, kernels), of.name)
    function: casadi.Function = casadi_library.external(of.name, str(path))
    return function


def _kernels(of: Signature, question: Asked, spelled: Spelled | None, evaluator: Evaluator, order: int) -> Kernels:
    name = f"{of.name}_value"
    blocks = _blocks(f"{of.name}_blocks", question, evaluator)
    chart = None if blocks is None or moves_by_adding(question.model) else _chart(f"{of.name}_chart", question.model)
    if spelled is None or spelled.operations.total > MOST:
        if order > 1:
            raise RecursaError(
                f"{of.name} is too long for second derivatives in compiled code: every body would be spelled out in "
                'them. derivatives=1 has first ones; leave form="compiled" out for all orders'
            )
        return Kernels(question.c_function(name, evaluator, most=LONGEST), blocks=blocks, chart=chart)
    graph = _graph_function(of.name, spelled)
    arguments = tuple(spelled.sizes)
    along, pulled = graph.along(arguments), graph.pulled(arguments)
    further = pulled.along(tuple(pulled.sizes)) if order > 1 else None
    return Kernels(
        _c_function(name, graph, spelled),
        _c_function(f"{of.name}_along", along, spelled),
        _c_function(f"{of.name}_pulled", pulled, spelled),
        None if further is None else _c_function(f"{of.name}_pulled_along", further, spelled),
        blocks,
        chart,
    )


def _graph_function(name: str, spelled: Spelled) -> GraphFunction:
    """The graph of a function, which can be differentiated."""
    outputs = [Traced(spelled.graph, x) if isinstance(x, int) else x for x in spelled.outputs]
    return GraphFunction(name, spelled.sizes, spelled.size, lambda: (spelled.graph, outputs))


def _c_function(name: str, function: GraphFunction, spelled: Spelled) -> CFunction:
    return CFunction(name, function.graph, function.outputs, function.sizes, spelled.constants)


def _blocks(name: str, question: Asked, evaluator: Evaluator) -> CText | None:
    """Our own derivatives, by small motions, which are shorter than those of the graph."""
    if not isinstance(question, ExportQuestion) or GRAVITY in question.sizes():
        return None
    record = question.quantity
    plain = not question.options and question.inputs == record.inputs and not question.model.equations
    if record.name not in DERIVATIVES or not plain or any(joint.tie for joint in question.model.joints):
        return None
    try:
        return ExportQuestion.of(question.model, DERIVATIVES[record.name], {}).c_function(name, evaluator, most=LONGEST)
    except (RecursaError, UntraceableError):
        return None


def _chart(name: str, model: Model) -> CFunction:
    """How a small motion changes with coordinates: ``difference(q, q + dq)`` along dq."""
    spelled = ExportQuestion.of(model, "difference", {}).traced(name, "graph")
    graph = _graph_function(name, spelled)
    return _c_function(name, graph.along(tuple(spelled.sizes)[1:]), spelled)


def require_order(order: Any) -> None:
    """First derivatives, or second ones, too."""
    if order not in (1, 2) or isinstance(order, bool):
        raise RecursaError(f"derivatives must be 1 or 2, the highest order in compiled code, not {order!r}")
