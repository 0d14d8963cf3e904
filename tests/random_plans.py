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
from recursa.sweeps import Buffer, Direction, Plan, PlanError, Step, Sweep, Values, base_to_tip, from_each_inward
from recursa.sweeps.plan import kind_of

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
    Direction.EACH_PAIR: ("", "@start", "@here", "@carried", "@carried", "@robot", "@target"),
    Direction.EACH_TWO_APART: ("", "@left", "@right", "@robot", "@target"),
}
READ_FIRST = {  # also of what nobody has written so far, if this sweep does
    Direction.BASE_TO_TIP: ("@parent", "@elder"),
    Direction.TIP_TO_BASE: ("", "@child", "@younger"),
    Direction.EACH_LINK: (),
    Direction.EACH_PAIR: ("@carried",),
    Direction.EACH_TWO_APART: (),
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
    path, some through any bodies or links. Half of them begin with walks, which would hardly ever come about by chance.
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
    if not beginning and NAMES[0] in results and draw(st.booleans()):
        sweeps = _walking(numbers)
    for _ in range(draw(st.integers(1, 5))):
        direction = draw(st.sampled_from(Direction))
        only = draw(st.sampled_from((None, None, None, *restricted[direction])))
        sweeps.append(Sweep(direction, (), only))
        for _ in range(draw(st.integers(1, 4))):
            step = draw(_steps(sweeps, names, results, numbers))
            longer = [*sweeps[:-1], Sweep(direction, (*sweeps[-1].steps, step), only)]
            try:
                Plan(name, buffers, tuple(longer), target)
            except PlanError:
                continue
            sweeps = longer
    return Plan(name, buffers, tuple(sweep for sweep in sweeps if sweep.steps), target)


def _walking(numbers: Numbers) -> list[Sweep]:
    """A value per body, and one that walks carry on from it."""
    body, pair = NAMES[:2]
    given = numbers.given[Direction.BASE_TO_TIP][:1]
    return [
        base_to_tip(Step(numbers.mixing(1, 1, 1), given, (body,))),
        from_each_inward(Step(numbers.mixing(2, 2, 1), (f"{pair}@carried", f"{body}@here"), (pair,))),
    ]


def _some(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Some of the numbers below ``count``, in order."""
    return st.sets(st.integers(0, count - 1), min_size=1).map(sorted).map(tuple)


@st.composite
def _steps(
    draw: st.DrawFn, sweeps: list[Sweep], names: tuple[str, ...], results: tuple[str, ...], numbers: Numbers
) -> Step:
    direction = sweeps[-1].direction
    readable, given = _readable(sweeps, names), numbers.given[direction]
    write_names = [n + place for n in results for place in WRITE_AT[direction]]
    reads = tuple(draw(st.lists(st.sampled_from(readable), max_size=2 if given else 3))) if readable else ()
    reads = (draw(st.sampled_from(given)), *reads) if given else reads
    writes = tuple(draw(st.lists(st.sampled_from(write_names), min_size=1, max_size=2, unique=True)))
    return Step(numbers.mixing(draw(st.integers(1, 3)), len(reads), len(writes)), reads, writes)


def _readable(sweeps: list[Sweep], names: tuple[str, ...]) -> list[str]:
    """What a further step of the last sweep may be able to read: most names mean nothing at most points."""
    kinds = {name.partition("@")[0]: kind_of(name, s) for s in sweeps for step in s.steps for name in step.writes}
    sweep = sweeps[-1]
    every = [(name, name + place, place) for name in names for place in READ_AT[sweep.direction]]
    return [
        text
        for name, text, place in every
        if (name in kinds or place in READ_FIRST[sweep.direction])
        and kinds.get(name, kind_of(text, sweep)) is kind_of(text, sweep)
    ]


def assert_same(plan: Plan, values: Values, expected: Values) -> None:
    """Every buffer that the plan computes, to the bit."""
    for sweep in plan.sweeps:
        for name in {name.partition("@")[0] for step in sweep.steps for name in step.writes}:
            if name in expected.robot:
                assert values.robot[name] == expected.robot[name], name
            else:
                assert values[name] == expected[name], name
