"""Random well-formed plans, for properties that hold of every plan.

Those of whole numbers notice the order of sums; those of real ones can be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from recursa.kernels.observe import numbers_of
from recursa.model.model import Model
from recursa.spatial.vec3 import Vec3
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


@cache
def real_mixing(seed: int, arity: int, results: int) -> Callable[..., Any]:
    """The same for real numbers: bounded, so that sums over many bodies stay comparable; one entry is constant."""

    def mix(*arguments: Any) -> Any:
        total: Any = 0.3 * seed
        for at, argument in enumerate(arguments):
            for weight, number in zip((0.7, -0.4, 0.5), numbers_of(argument), strict=False):
                total = total + number * (weight + 0.1 * at)
        bounded = total / (total * total + 1.0)
        found = tuple(Vec3(bounded, total * bounded - 0.3 * k, 0.2 * seed) for k in range(results))
        return found[0] if results == 1 else found

    mix.__name__ = f"mix{seed}"
    return mix


class Numbers(NamedTuple):
    """What the steps of random plans compute with: functions, bases of buffers, what is given at bodies and links."""

    mixing: Callable[[int, int, int], Callable[..., Any]]
    buffer: Callable[[str, int], Buffer]
    given: Mapping[Direction, tuple[str, ...]]


def _real_buffer(name: str, k: int) -> Buffer:
    """Constant bases, and one that is only known when the plan runs."""
    base = Vec3(0.1 * k, 0.0, 1.0)
    return Buffer(name, base, (lambda given: given.gravity * 0.1 - given.base_acceleration.linear) if k == 3 else None)


_BODY_NUMBERS = ("q", "v", "inertia", "joint:w", "gravity")
WHOLE = Numbers(
    mixing,
    lambda name, k: Buffer(name, Mixed(7 * k + 1)),
    dict.fromkeys(Direction, ("number",)) | {Direction.EACH_PAIR: (), Direction.EACH_TWO_APART: ()},
)
REAL = Numbers(
    real_mixing,
    _real_buffer,
    {
        Direction.BASE_TO_TIP: _BODY_NUMBERS,
        Direction.TIP_TO_BASE: _BODY_NUMBERS,
        Direction.EACH_LINK: ("wrench", "offset", "tip:f"),
        Direction.EACH_PAIR: (),
        Direction.EACH_TWO_APART: (),
    },
)

READ_AT = {
    Direction.BASE_TO_TIP: ("", "", "@parent", "@elder", "@robot", "@target"),
    Direction.TIP_TO_BASE: ("", "", "@child", "@younger", "@robot", "@target"),
    Direction.EACH_LINK: ("", "@body", "@body", "@robot", "@target"),
    Direction.EACH_PAIR: ("", "@start", "@here", "@carried", "@carried", "@robot"),
    Direction.EACH_TWO_APART: ("", "@left", "@right", "@robot"),
}
WRITE_AT = {
    Direction.BASE_TO_TIP: ("", "@robot"),
    Direction.TIP_TO_BASE: ("", "@parent", "@robot"),
    Direction.EACH_LINK: ("", "@body", "@robot"),
    Direction.EACH_PAIR: ("", "", "@robot"),
    Direction.EACH_TWO_APART: ("", "", "@robot"),
}


@st.composite
def plans(
    draw: st.DrawFn,
    model: Model,
    name: str = "random",
    beginning: tuple[Sweep, ...] = (),
    target: int | None = None,
    results: tuple[str, ...] = NAMES,
    numbers: Numbers = WHOLE,
) -> Plan:
    """Some sweeps of some steps: those that would make it malformed are left out.

    They may come after a ``beginning``, whose buffers they read; they write to ``results``. Some sweeps go through a
    path, some through any bodies or links.
    """
    names = tuple(dict.fromkeys((*NAMES, *results)))
    buffers = tuple(
        replace(numbers.buffer(buffer, k), begins=names[k - 1] if k else None) for k, buffer in enumerate(names)
    )
    path = model.support(draw(st.integers(0, model.nbodies - 1)))
    restricted = {
        Direction.EACH_LINK: [draw(_some(len(model.links)))],
        Direction.EACH_PAIR: [draw(_some(len(model.pairs)))] if model.pairs else [],
        Direction.EACH_TWO_APART: [],
        Direction.BASE_TO_TIP: [path, path[len(path) // 2 :], draw(_some(model.nbodies))],
    }
    restricted[Direction.TIP_TO_BASE] = restricted[Direction.BASE_TO_TIP]
    target = draw(st.integers(0, len(model.links) - 1)) if target is None else target
    sweeps = list(beginning)
    for _ in range(draw(st.integers(1, 5))):
        direction = draw(st.sampled_from(Direction))
        only = draw(st.sampled_from((None, None, None, *restricted[direction])))
        sweeps.append(Sweep(direction, (), only))
        for _ in range(draw(st.integers(1, 4))):
            step = draw(_steps(direction, names, results, numbers))
            longer = [*sweeps[:-1], Sweep(direction, (*sweeps[-1].steps, step), only)]
            try:
                Plan(name, buffers, tuple(longer), target)
            except PlanError:
                continue
            sweeps = longer
    return Plan(name, buffers, tuple(sweep for sweep in sweeps if sweep.steps), target)


def _some(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Some of the numbers below ``count``, in order."""
    return st.sets(st.integers(0, count - 1), min_size=1).map(sorted).map(tuple)


@st.composite
def _steps(
    draw: st.DrawFn, direction: Direction, names: tuple[str, ...], results: tuple[str, ...], numbers: Numbers
) -> Step:
    read_names = [n + place for n in names for place in READ_AT[direction]]
    write_names = [n + place for n in results for place in WRITE_AT[direction]]
    given = numbers.given[direction]
    reads = tuple(draw(st.lists(st.sampled_from(read_names), max_size=2 if given else 3)))
    reads = (draw(st.sampled_from(given)), *reads) if given else reads
    writes = tuple(draw(st.lists(st.sampled_from(write_names), min_size=1, max_size=2, unique=True)))
    return Step(numbers.mixing(draw(st.integers(1, 3)), len(reads), len(writes)), reads, writes)


def assert_same(plan: Plan, values: Values, expected: Values) -> None:
    """Every buffer that the plan computes, to the bit."""
    for sweep in plan.sweeps:
        for name in {name.partition("@")[0] for step in sweep.steps for name in step.writes}:
            if name in expected.robot:
                assert values.robot[name] == expected.robot[name], name
            else:
                assert values[name] == expected[name], name
