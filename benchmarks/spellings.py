"""Every spelling of every method of a robot beside its kernel: ``python benchmarks/spellings.py [ROBOT] [METHOD ...]``.

A spelling is a way to write the same call: with lists, in single precision, with ``threads=1``, a batch whose arguments
broadcast. The table has microseconds per call for one state and for a batch of 64, and how much more that is than the
machine code takes by itself (in double or in single precision); a star marks what is over the limits, 5 us more for one
state and 20 us for a batch. ``--over`` prints the marked rows alone. Answers that are made of others have no machine
code of their own; their rows have times only.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import recursa as rc
from recursa.errors import RecursaError
from recursa.evaluation.answering import methods_of
from recursa.evaluation.resolved_quantity import Question, ResolvedQuantity
from recursa.quantities import Quantity, quantities, quantity

ROWS, TURNS, SLICE = 64, 5, 4e-4
LIMITS = {"single": 5e-6, "batch": 20e-6}
Call = Callable[[], object]


def seconds(call: Call) -> float:
    """Per call, the least of some slices; the first calls compile and learn."""
    for _ in range(3):
        call()
    start = perf_counter()
    call()
    count = max(1, int(SLICE / max(perf_counter() - start, 1e-7)))
    best = np.inf
    for _ in range(TURNS):
        start = perf_counter()
        for _ in range(count):
            call()
        best = min(best, (perf_counter() - start) / count)
    return best


def arguments(robot: rc.Robot, quantity: Quantity, rows: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Every array that a quantity needs."""
    rng = np.random.default_rng(0)
    found = {}
    for name in quantity.inputs:
        axes = quantity.kind(name).axes(robot.model, 0)
        found[name] = rng.normal(size=(*rows, *axes)) * 0.5
        if name in quantity.coordinates:
            states = [robot.random_state(k)[0] for k in range(int(np.prod(rows, dtype=int)))]
            found[name] = np.array(states).reshape(*rows, *axes)
        elif axes[-2:] == (4, 4):
            found[name] = np.broadcast_to(np.eye(4), (*rows, 4, 4)).copy()
    return found


def kernel_seconds(robot: rc.Robot, quantity: Quantity, options: dict[str, Any], rows: int, single: bool) -> float:
    """Of the machine code alone, without what surrounds it in Python; nan where an answer has no kernel of its own."""
    try:
        asked = robot.evaluator.resolve(Question.of(quantity, (), options))
        kernel = asked.kernel(single=single) if isinstance(asked, ResolvedQuantity) else None
    except (RecursaError, TypeError):
        return np.nan
    if kernel is None:
        return np.nan
    own = arguments(robot, quantity, (rows,))
    dtype = np.float32 if single else np.float64
    given = {
        quantity.reads.get(name, name): np.ascontiguousarray(x.reshape(rows, -1), dtype) for name, x in own.items()
    }
    out = np.empty((rows, int(np.prod(asked.recipe.shape))), dtype)
    if out.size == 0:
        return np.nan
    many = 64 * rows
    repeated = {name: np.tile(x, (64, 1)) for name, x in given.items()}
    whole = np.empty((many, out.shape[1]), dtype)
    if rows == 1:  # one state at a time takes other code than a batch
        kernel(given, out)
        native, _, extra = kernel.way_in(1)
        places = [x.ctypes.data for x in (*(repeated[name] for name in kernel.inputs), whole)]
        return seconds(lambda: native.function(many, *places, *(x.ctypes.data for x in extra))) / many
    return seconds(lambda: kernel(repeated, whole)) / 64


def spellings(
    method: Callable[..., object], arrays: dict[str, np.ndarray], options: dict[str, Any], rows: tuple[int, ...]
) -> Iterator[tuple[str, Call, bool]]:
    """The same call in several ways, and whether it is in single precision."""
    parameters = inspect.signature(method).parameters
    result = method(**arrays, **options)
    half = {name: x.astype(np.float32) for name, x in arrays.items()}
    lists = {name: x.tolist() for name, x in arrays.items()}
    yield "arrays", lambda: method(**arrays, **options), False
    if all(x.ndim == len(rows) + 1 for x in arrays.values()):
        yield "lists", lambda: method(**lists, **options), False
    yield "single precision", lambda: method(**half, **options), True
    strided = {name: np.repeat(x, 2, axis=-1)[..., ::2] for name, x in arrays.items()}
    yield "strided", lambda: method(**strided, **options), False
    if "threads" in parameters:
        yield "threads=1", lambda: method(**arrays, **options, threads=1), False
        yield "threads=2", lambda: method(**arrays, **options, threads=2), False
    if "out" in parameters and isinstance(result, np.ndarray):
        out = np.empty_like(result)
        yield "out=", lambda: method(**arrays, **options, out=out), False
        yield "out=, threads=1", lambda: method(**arrays, **options, out=out, threads=1), False
    if rows:
        one = {name: x[:1] for name, x in arrays.items()}
        yield "a batch of one", lambda: method(**one, **options), False
        column = {name: np.asfortranarray(x) for name, x in arrays.items()}
        yield "Fortran order", lambda: method(**column, **options), False
        if len(arrays) > 1:
            first = next(iter(arrays))
            broad = {name: x[0] if name != first else x for name, x in arrays.items()}
            yield "broadcast", lambda: method(**broad, **options), False
            narrow = {name: x[0] if name == first else x for name, x in arrays.items()}
            yield "broadcast the first", lambda: method(**narrow, **options), False


def questions(robot: rc.Robot) -> Iterator[tuple[str, Quantity, Callable[..., object], dict[str, Any]]]:
    """Methods with what they need beside arrays."""
    tip, joint = robot.link_names[-1], robot.joint_names[0]
    known = {"link": tip, "other": robot.link_names[1], "prescribed": (joint,), "links": (tip,)}
    methods = {one: getattr(robot, one.name) for one in quantities() if callable(getattr(robot, one.name, None))}
    methods |= methods_of(robot) | methods_of(robot.diagonal)
    yield (
        "forward_dynamics, links=True",
        quantity("forward_dynamics_with_links"),
        robot.forward_dynamics,
        {"links": True},
    )
    for record, method in methods.items():
        parameters = inspect.signature(method).parameters.values()
        needed = [x.name for x in parameters if x.default is x.empty and x.name not in record.inputs]
        if set(needed) <= known.keys() and set(record.inputs) <= {x.name for x in parameters}:
            yield record.name, record, method, {name: known[name] for name in needed}


def main() -> None:
    """Print the table of one robot."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("robot", nargs="?", default="panda_like")
    words.add_argument("methods", nargs="*")
    words.add_argument("--over", action="store_true", help="print only the spellings that are over the limits")
    chosen = words.parse_args()
    robot = getattr(rc.robots, chosen.robot)()
    print(f"| {robot.name} | spelling | one state, us | more than the kernel | {ROWS} states, us | more |")
    print("|---|---|---|---|---|---|")
    worst: dict[str, list[float]] = {}
    for name, record, method, options in questions(robot):
        if chosen.methods and name not in chosen.methods:
            continue
        found: dict[str, dict[str, tuple[float, float]]] = {}
        try:
            for kind, rows in (("single", ()), ("batch", (ROWS,))):
                arrays = arguments(robot, record, rows)
                count = int(np.prod(rows, dtype=int))
                alone = {half: kernel_seconds(robot, record, options, count, half) for half in (False, True)}
                for label, call, half in spellings(method, arrays, options, rows):
                    each = alone[half] if label != "a batch of one" else alone[half] / ROWS
                    time = seconds(call)
                    found.setdefault(label, {})[kind] = time, time - each
        except RecursaError as error:
            print(f"| {name} | left out: {str(error).splitlines()[0]} |")
            continue
        for label, times in found.items():
            cells, over = [], False
            for kind in LIMITS:
                time, more = times.get(kind, (np.nan, np.nan))
                star = "*" if more > LIMITS[kind] else ""
                over |= bool(star)
                worst.setdefault(f"{label}, {kind}", []).append(more)
                cells += [
                    "" if np.isnan(time) else f"{1e6 * time:.2f}",
                    "" if np.isnan(more) else f"{1e6 * more:.2f}{star}",
                ]
            if over or not chosen.over:
                print(f"| {name} | {label} | {' | '.join(cells)} |", flush=True)
    print("\n| spelling | median more, us | largest more, us |\n|---|---|---|")
    for label, more in worst.items():
        if not np.isnan(more).all():
            print(f"| {label} | {1e6 * np.nanmedian(more):.2f} | {1e6 * np.nanmax(more):.2f} |")


if __name__ == "__main__":
    main()
