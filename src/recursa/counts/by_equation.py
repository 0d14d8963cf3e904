"""Counts equation by equation: an algorithm's plan runs on tracing scalars, and every operation is entered under the
first equation, in the book's order, whose result needs it.

An equation's results are read from the plan's buffers; those that no buffer keeps are computed once more with the
function that the plan uses, which gives the same nodes of the graph and so costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recursa.book.augmented_recursion import augmented_plan
from recursa.book.direct import direct_plan
from recursa.book.inertia_matrix import AUGMENTED
from recursa.book.linear_model import algorithm_7_1
from recursa.book.rigid_body import torque_from_euler
from recursa.counts.polynomials import ExactGraph
from recursa.kernels.graph import Traced
from recursa.model.model import Model
from recursa.spatial.counter import Counts
from recursa.spatial.transform import ScrewChain
from recursa.sweeps import Direction, Plan, Step, Values, run
from recursa.sweeps.plan import split

Equations = Callable[[Values], Iterator[tuple[str, Any]]]
GIVEN = "given"  # the label of what another algorithm has computed already


@dataclass(frozen=True)
class Algorithm:
    """A plan, the buffers that are its results, and the book's equations in order; the last takes what is left."""

    plan: Plan
    results: tuple[str, ...]
    equations: Equations


def counts_by_equation(algorithm: Algorithm, model: Model, *, dense: bool = False) -> dict[str, Counts]:
    """Operations of every equation that the results need, ``GIVEN`` left out.

    ``dense``: link 1 is like any other (what is not constant at link 2 is not at link 1), and its vectors are computed
    in full, though the first torque needs only a part of them.
    """
    graph = ExactGraph()
    inputs = {name: graph.inputs(name, model.nv) for name in algorithm.plan.inputs}
    plan = algorithm.plan
    kept: list[Any] = []
    if dense:
        plan = _dense(plan, model, graph, run(plan, model, inputs), kept)
    values = run(plan, model, inputs)
    needed = set(graph.reachable(_numbers([*(values[name] for name in algorithm.results), kept])))
    found: dict[str, Counts] = {}
    entered: set[int] = set()
    for label, results in algorithm.equations(values):
        own = needed if results is None else needed & set(graph.reachable(_numbers(results)))
        if label != GIVEN:
            found[label] = found.get(label, Counts()) + graph.tally(own - entered)
        entered |= own
    return found


def _numbers(results: Any) -> list[int]:
    """The nodes among nested tuples and lists."""
    if isinstance(results, Traced):
        return [results.number]
    if isinstance(results, tuple | list):
        return [number for item in results for number in _numbers(item)]
    return []


# ---- link 1 like any other -------------------------------------------------------------------------------------------


def _dense(plan: Plan, model: Model, graph: ExactGraph, values: Values, kept: list[Any]) -> Plan:
    """The plan with steps that treat body 0 as all others; what it hands to the base is kept, not carried there."""
    if model.nbodies < 2:
        return plan
    fresh = iter(graph.inputs("link1", 10_000))

    def online(own: Any, other: Any) -> Any:
        if isinstance(own, tuple):
            parts = (online(a, b) for a, b in zip(own, other, strict=True))
            return type(own)(*parts) if hasattr(own, "_fields") else tuple(parts)
        return next(fresh) if isinstance(other, Traced) and not isinstance(own, Traced) else own

    def outward(step: Step) -> Step:
        def fn(number: int, *arguments: Any) -> Any:
            result = step.fn(*arguments)
            if number:
                return result
            if len(step.writes) == 1:
                return online(result, values[step.writes[0]][1])
            return tuple(online(r, values[name][1]) for r, name in zip(result, step.writes, strict=True))

        return replace(step, fn=fn, reads=("number", *step.reads))

    def inward(step: Step) -> Step:
        def fn(number: int, *arguments: Any) -> Any:
            if number:
                return step.fn(*arguments)
            at_rest = (ScrewChain(()) if name == "X" else a for name, a in zip(step.reads, arguments, strict=True))
            result = step.fn(*at_rest)
            kept.append(result)
            return result

        return replace(step, fn=fn, reads=("number", *step.reads))

    sweeps = []
    for sweep in plan.sweeps:
        change = outward if sweep.direction is Direction.BASE_TO_TIP else inward
        carries = [any(split(name)[1] == "parent" for name in step.writes) for step in sweep.steps]
        changed = [
            change(step) if change is outward or carried else step
            for step, carried in zip(sweep.steps, carries, strict=True)
        ]
        sweeps.append(replace(sweep, steps=tuple(changed)))
    return Plan(f"{plan.name}, dense", plan.buffers, tuple(sweeps))


# ---- the algorithms --------------------------------------------------------------------------------------------------


def _equations_5_7(values: Values) -> Iterator[tuple[str, Any]]:
    rates = values["rates"]
    yield "45a", [r.w for r in rates]
    yield "45b", [r.wd for r in rates]
    yield "45c", [r.omega for r in rates]
    yield "45e", [r.sdd for r in rates]
    yield "45f", [torque_from_euler(K, r.omega) for K, r in zip(values["K"], rates, strict=True)]
    yield "46a", [(h, r.omega @ u + h) for u, r, h in zip(values["u"], rates, values["U"], strict=True)]
    yield "46b", None


ALGORITHM_5_7 = Algorithm(augmented_plan(), ("T",), _equations_5_7)


def _equations_6_2(values: Values) -> Iterator[tuple[str, Any]]:
    yield "6.3.29a", values["U"]
    yield "6.3.29b", values["s'"]
    yield "6.3.29c", values["E"]
    yield "6.3.30a", [column.f for columns in values["F"] for column in columns]
    yield "6.3.30b", None


ALGORITHM_6_2 = Algorithm(AUGMENTED, ("rows",), _equations_6_2)


def _equations_7_1(values: Values) -> Iterator[tuple[str, Any]]:
    """Step 1 (Table 7.1), then step 2 (Table 7.2); the nominal pass and sdot are given."""
    yield GIVEN, [values[name] for name in ("X", "V", "alpha", "f", "sdot")]
    totals, more, rows = values["R"], values["UL"], values["row"]
    yield "Omega z, sddot", values["axis"]
    yield "18a", [total.first for total in totals]
    yield "18b", [one.rate for one in more]
    yield "18c", [total.moment for total in totals]
    yield "18d", [one.tensor for one in more]
    for label, name in (("18f", "fhat"), ("18g", "fbar"), ("18j", "H"), ("18k", "G")):
        yield label, [getattr(row, name) for row in rows]
    yield "18m", _entries(values["by_v"], lambda i, j: i == j)
    yield "18n", _entries(values["by_q"], lambda i, j: i == j)
    carried = [row for rows in values["F"] for _, row in rows]
    for label, name in zip(("19a", "19b", "19c", "19d", "19e", "19f", "19g"), rows[0]._fields, strict=True):
        yield label, [getattr(row, name) for row in carried]
    yield "19j", _entries(values["by_v"], lambda i, j: i > j)
    yield "19k", _entries(values["by_v"], lambda i, j: i < j)
    yield "19l", None


def _entries(per_body: Sequence[Any], wanted: Callable[[int, int], bool]) -> list[Any]:
    """The entries of a matrix in some of its places."""
    return [value for entries in per_body for ((i, _), (j, _)), value in entries if wanted(i, j)]


ALGORITHM_7_1_BY_EQUATION = Algorithm(algorithm_7_1(), ("by_q", "by_v", "by_a"), _equations_7_1)


def _equations_direct(values: Values) -> Iterator[tuple[str, Any]]:
    """The nominal pass, here in base axes, is given."""
    yield GIVEN, [values[name] for name in ("X", "W", "base", "x", "f^", "sdot")]
    yield "7.3.2-7.3.4", None


DIRECT_BY_EQUATION = Algorithm(direct_plan(), ("by_q", "by_v", "by_a"), _equations_direct)
