"""Random well-formed plans of whole numbers, for properties that hold of every plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from recursa.model.model import Model
from recursa.sweeps import Buffer, Direction, Plan, PlanError, Step, Sweep, Values

MODULUS = 1_000_003
NAMES = ("a1", "a2", "a3", "a4")  # few, so that steps get in each other's way


class Mixed(int):
    """A number whose sums depend on their order, so that adding in another order is noticed."""

    def __add__(self, other: int) -> Mixed:
        return Mixed((31 * int(self) + int(other) + 7) % MODULUS)


@cache
def mixing(seed: int, arity: int, results: int) -> Callable[..., Any]:
    """A function that depends on all its arguments; the same one for the same numbers."""

    def mix(*arguments: int) -> Any:
        total = seed
        for argument in arguments:
            total = (total * 1009 + int(argument) + 17) % MODULUS
        found = tuple(Mixed((total * (k + 3)) % MODULUS) for k in range(results))
        return found[0] if results == 1 else found

    mix.__name__ = f"mix{seed}"
    return mix


READ_AT = {
    Direction.BASE_TO_TIP: ("", "", "@parent", "@robot", "@target"),
    Direction.TIP_TO_BASE: ("", "", "@child", "@robot", "@target"),
    Direction.EACH_LINK: ("", "@body", "@body", "@robot", "@target"),
}
WRITE_AT = {
    Direction.BASE_TO_TIP: ("", "@robot"),
    Direction.TIP_TO_BASE: ("", "@parent", "@robot"),
    Direction.EACH_LINK: ("", "@body", "@robot"),
}


@st.composite
def plans(
    draw: st.DrawFn,
    model: Model,
    name: str = "random",
    beginning: tuple[Sweep, ...] = (),
    target: int | None = None,
    results: tuple[str, ...] = NAMES,
) -> Plan:
    """Some sweeps of some steps: those that would make it malformed are left out.

    They may come after a ``beginning``, whose buffers they read; they write to ``results``.
    """
    names = tuple(dict.fromkeys((*NAMES, *results)))
    buffers = tuple(Buffer(buffer, Mixed(7 * k + 1)) for k, buffer in enumerate(names))
    path = model.support(draw(st.integers(0, model.nbodies - 1)))
    target = draw(st.integers(0, len(model.links) - 1)) if target is None else target
    sweeps = list(beginning)
    for _ in range(draw(st.integers(1, 5))):
        direction = draw(st.sampled_from(Direction))
        only = None if direction is Direction.EACH_LINK else draw(st.sampled_from((None, None, None, path)))
        sweeps.append(Sweep(direction, (), only))
        for _ in range(draw(st.integers(1, 4))):
            step = draw(_steps(direction, names, results))
            longer = [*sweeps[:-1], Sweep(direction, (*sweeps[-1].steps, step), only)]
            try:
                Plan(name, buffers, tuple(longer), target)
            except PlanError:
                continue
            sweeps = longer
    return Plan(name, buffers, tuple(sweep for sweep in sweeps if sweep.steps), target)


@st.composite
def _steps(draw: st.DrawFn, direction: Direction, names: tuple[str, ...], results: tuple[str, ...]) -> Step:
    read_names = [n + place for n in names for place in READ_AT[direction]]
    write_names = [n + place for n in results for place in WRITE_AT[direction]]
    reads = ("number", *draw(st.lists(st.sampled_from(read_names), max_size=2)))
    writes = tuple(draw(st.lists(st.sampled_from(write_names), min_size=1, max_size=2, unique=True)))
    return Step(mixing(draw(st.integers(1, 3)), len(reads), len(writes)), reads, writes)


def assert_same(plan: Plan, values: Values, expected: Values) -> None:
    """Every buffer that the plan computes, to the bit."""
    for sweep in plan.sweeps:
        for name in {name.partition("@")[0] for step in sweep.steps for name in step.writes}:
            if name in expected.robot:
                assert values.robot[name] == expected.robot[name], name
            else:
                assert values[name] == expected[name], name
