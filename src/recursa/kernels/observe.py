"""What a plan's steps read at each body, told apart into structure, known numbers and numbers known only at run time.

Code that loops over bodies needs one piece of code for many bodies. Running the plan once on a scalar that only says
"unknown" shows which numbers each step gets as constants; bodies whose steps get values of the same structure can then
share code, with their constants in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, NamedTuple

from recursa.errors import UntraceableError
from recursa.kernels.graph import Traced
from recursa.model.joint_kind import JointKind
from recursa.model.model import Model
from recursa.spatial.scalars import Subtraction
from recursa.sweeps.engine import Values, run, visiting_order
from recursa.sweeps.plan import Plan


class Unknown(Subtraction):
    """A number that will be known at run time. What is computed from it is unknown too, except its zero multiple."""

    __array_ufunc__ = None
    __slots__ = ()

    def _other(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, tuple) else self

    __add__ = __radd__ = __truediv__ = _other

    def __neg__(self) -> Unknown:
        return self

    def __mul__(self, other: Any) -> Any:
        return 0.0 if isinstance(other, float) and other == 0.0 else self._other(other)

    __rmul__ = __rtruediv__ = __mul__

    def sin(self) -> Unknown:
        """Unknown."""
        return self

    cos = sqrt = sin

    def atan2(self, y: Any, x: Any) -> Unknown:
        """Unknown."""
        return self

    def __lt__(self, other: Any) -> Unknown:
        return self

    __gt__ = __lt__

    def select(self, if_true: Any, if_false: Any) -> Unknown:
        """An unknown choice."""
        return self

    def __bool__(self) -> bool:
        raise UntraceableError("an unknown number has no truth value")

    __float__ = __bool__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()


# ---- values as structure and numbers ---------------------------------------------------------------------------------

_NUMBERS = float, Unknown, Traced
_AS_IT_IS = int, str, type(None)


def structure(value: Any, numbers: list[Any]) -> Hashable:
    """The structure of a value; its numbers are appended to ``numbers``, in order.

    >>> numbers = []
    >>> structure((1.0, ("x", 2.0), None), numbers) == structure((3.0, ("x", 4.0), None), numbers)
    True
    >>> numbers
    [1.0, 2.0, 3.0, 4.0]
    """
    if isinstance(value, _NUMBERS):
        numbers.append(value)
        return "number"
    if isinstance(value, tuple):
        return type(value), *[structure(item, numbers) for item in value]
    if isinstance(value, _AS_IT_IS):
        return "as it is", value
    if is_dataclass(value) and not isinstance(value, type):
        fields = [getattr(value, name) for name in value.constants]  # type: ignore[attr-defined]
        kind: JointKind | None = getattr(value, "kind", None)
        return type(value), kind and kind.name, *[structure(item, numbers) for item in fields]
    if _is_number(value):
        numbers.append(value)
        return "number"
    raise UntraceableError(f"a loop over bodies cannot hold a {type(value).__name__}")


def _is_number(value: Any) -> bool:
    """Whether a value that is neither a tuple nor whole is a scalar of any other kind: an array, a symbol."""
    return hasattr(type(value), "__truediv__")


def rebuilt(template: Any, numbers: Iterator[Any]) -> Any:
    """A value like the template, with other numbers."""
    if isinstance(template, _NUMBERS):
        return next(numbers)
    if isinstance(template, tuple):
        parts = [rebuilt(item, numbers) for item in template]
        return type(template)._make(parts) if hasattr(template, "_make") else tuple(parts)  # type: ignore[attr-defined]
    if isinstance(template, _AS_IT_IS):
        return template
    if not hasattr(template, "constants"):
        return next(numbers)
    return replace(template, **{name: rebuilt(getattr(template, name), numbers) for name in template.constants})


def numbers_of(value: Any) -> list[Any]:
    """The numbers of a value, in order."""
    numbers: list[Any] = []
    structure(value, numbers)
    return numbers


# ---- one run on unknown numbers --------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a step was given at one body: per argument the value, its structure, its numbers."""

    values: tuple[Any, ...]
    structures: tuple[Hashable, ...]
    numbers: list[list[Any]]


@dataclass(frozen=True)
class Observation:
    """What each step was given, ``given[sweep][step][body or link]``, and what came out in the end."""

    given: list[list[dict[int, Seen]]]
    values: Values


def observe(plan: Plan, model: Model, sizes: Mapping[str, int]) -> Observation:
    """Run a plan on unknown inputs and write down what its steps read."""
    calls: list[list[list[tuple[Any, ...]]]] = [[[] for _ in sweep.steps] for sweep in plan.sweeps]

    def listening(fn: Callable[..., Any], log: list[tuple[Any, ...]]) -> Callable[..., Any]:
        def step(*args: Any) -> Any:
            log.append(args)
            return fn(*args)

        return step

    sweeps = tuple(
        replace(
            sweep,
            steps=tuple(replace(step, fn=listening(step.fn, log)) for step, log in zip(sweep.steps, logs, strict=True)),
        )
        for sweep, logs in zip(plan.sweeps, calls, strict=True)
    )
    values = run(replace(plan, sweeps=sweeps), model, {name: [UNKNOWN] * size for name, size in sizes.items()})
    seen: dict[int, tuple[Hashable, list[Any]]] = {}  # values that several steps were given, by identity

    def taken_apart(args: tuple[Any, ...]) -> Seen:
        for arg in args:
            if id(arg) not in seen:
                numbers: list[Any] = []
                seen[id(arg)] = structure(arg, numbers), numbers
        parts = [seen[id(arg)] for arg in args]
        return Seen(args, tuple(part[0] for part in parts), [part[1] for part in parts])

    given = [
        [dict(zip(visiting_order(sweep, model), map(taken_apart, log), strict=True)) for log in logs]
        for sweep, logs in zip(plan.sweeps, calls, strict=True)
    ]
    return Observation(given, values)
