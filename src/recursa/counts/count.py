"""How many operations a quantity of a robot takes: it is evaluated on scalars that record their arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from recursa.counts.arms import generalized
from recursa.counts.polynomials import ExactGraph
from recursa.errors import RecursaError, UntraceableError, unknown_name
from recursa.evaluation.formulas import ScalarEvaluator, object_array, solved_by_columns
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.facade.asking import exported
from recursa.facade.export_questions import ExportQuestion
from recursa.kernels.dispatch import KernelStore
from recursa.kernels.graph import Traced
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.quantities import Quantity, Subject, quantities
from recursa.robot import Robot
from recursa.spatial.counter import Counts
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Plan
from recursa.waits import now

RULES = ("specialised", "table")
_LONGEST = 400_000  # nodes


def count(
    robot: Robot, quantity: str | Quantity, *, rules: str = "specialised", regroup: bool = True, **options: Any
) -> Counts:
    """Operations of one evaluation: multiplications, additions, divisions, roots, sines and cosines.

    ``quantity`` and ``options`` are as in :meth:`Robot.export_c`, and besides ``forward_dynamics(method="composite")``,
    whose solve is counted as ``M = L D L^T``.

    - ``rules="specialised"``: of the code generated for this robot. Its constants are known, so what multiplies 0, 1 or
      -1 and what depends on constants alone is free, equal expressions are computed once, and changes of sign are
      free. ``regroup=False``: inertial parameters stay where they are.
    - ``rules="table"``: as the tables of Balafoutis & Patel count (their Table 5.2), for quantities in joint space. The
      same, but for a robot of which only the tree, the kinds of joints and the twists of 0 and 90 degrees are special:
      every other number is general, frames sit on the joint axes, there are no rotors, nothing is regrouped, and each
      method runs its own equations. See :func:`recursa.tables`.

    >>> import recursa as rc
    >>> rc.count(rc.robots.stanford(), "inverse_dynamics")
    Counts(mul=104, add=82, div=0, sqrt=0, trig=8)
    >>> rc.count(rc.robots.chain(6), "inverse_dynamics", method="augmented", rules="table")
    Counts(mul=447, add=383, div=0, sqrt=0, trig=12)
    """
    if rules not in RULES:
        raise unknown_name("set of counting rules", rules, RULES)
    _say(robot.model, quantity, options)
    if isinstance(quantity, Quantity):
        return ExportQuestion.of(robot.model, quantity, options).traced("kernel", "c").operations
    if rules == "table":
        return counted(generalized(robot.model), quantity, options)
    if quantity not in exported():
        raise unknown_name("quantity to count", quantity, exported())
    usual = "composite" if robot.evaluator.subject.tied else None
    solved = quantity == "forward_dynamics" and (options.get("method") or usual) == "composite"
    if quantity == "linearize" or solved or not regroup:
        return _counted(_CountingEvaluator(robot.model, regroup=regroup), quantity, options)
    return ExportQuestion.of(robot.model, quantity, options).traced("kernel", "c").operations


def counted(model: Model, quantity: str, options: dict[str, Any], *, at_rest: bool = False) -> Counts:
    """Operations for a model with its frames on the axes, of the method's own equations.

    ``at_rest``: speeds and gravity are zero, so that what they need is left out: the bias.
    """
    if at_rest:
        model = replace(model, gravity=(0.0, 0.0, 0.0))
    _say(model, quantity, options)
    return _counted(_TableEvaluator(model), quantity, options, at_rest=at_rest)


def _say(model: Model, quantity: str | Quantity, options: dict[str, Any]) -> None:
    name = quantity.name if isinstance(quantity, Quantity) else quantity
    by = f" by '{options['method']}'" if options.get("method") else ""
    now(f"{str(name).replace('_', ' ')}{by}, '{model.name}' with {model.nv} freedoms")


class _CountingEvaluator(ScalarEvaluator):
    """With the linear solve; ``regroup=False`` leaves inertial parameters where they are."""

    __slots__ = ("_regroup",)

    def __init__(self, model: Model, subject: Subject | None = None, *, regroup: bool = True) -> None:
        super().__init__(model, subject)
        self._regroup = regroup

    def _of(self, model: Model) -> Self:
        return type(self)(model, regroup=self._regroup)

    def store(self, may_move: MayMove = MayMove.NOTHING, form: str | None = None) -> KernelStore:
        """Kernels for results that do not depend on what may move."""
        stays = not self._regroup and may_move is not MayMove.NOTHING
        return super().store(MayMove.FRAMES if stays else may_move, form)

    def solve(self, mass: Array, columns: Array) -> Array:
        """As ``M = L D L^T``, column by column."""
        return solved_by_columns(mass, columns)


class _TableEvaluator(_CountingEvaluator):
    """For a model with its frames on the axes: every method runs its own plan on it."""

    __slots__ = ()

    def __init__(self, model: Model) -> None:
        super().__init__(model, Subject(model, on_axes=model))

    def _run(self, asked: ResolvedQuantity, inputs: dict[str, list[Any]], *, symbols: bool) -> Array:
        return super()._run(asked, inputs, symbols=False)

    def require_inertia(self, plan: Plan, arguments: Mapping[str, Any] | tuple[str, ...]) -> None:
        """Its numbers are symbols, and general."""

    def require_hinges(self, arguments: Mapping[str, Any]) -> None:
        """Likewise."""


def _counted(evaluator: _CountingEvaluator, quantity: str, options: dict[str, Any], *, at_rest: bool = False) -> Counts:
    about_joints = {one.name: one for one in quantities() if one.of_joints}
    if quantity not in about_joints:
        raise unknown_name("quantity in joint space", quantity, about_joints)
    record, model, graph = about_joints[quantity], evaluator.model, ExactGraph(limit=_LONGEST)
    for name in options:
        if name not in record.options:
            raise unknown_name(f"option for counting {quantity}", name, record.options)
    sizes = {name: record.kind(name).size(model) for name in record.inputs}
    arrays = {
        name: object_array([0.0] * size if at_rest and name == "v" else list(graph.inputs(name, size)))
        for name, size in sizes.items()
    }
    try:
        answer = evaluator.evaluate(record, arrays, options)
    except UntraceableError as error:
        raise RecursaError(f"robot '{model.name}': {quantity} cannot be counted: {error}") from None
    return graph.counts([x.number for x in answer.ravel() if isinstance(x, Traced)])


def with_divisions(counts: Counts) -> Counts:
    """Divisions counted as multiplications, as the tables do."""
    return replace(counts, mul=counts.mul + counts.div, div=0)
