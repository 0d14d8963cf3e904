"""Events: instants at which a function of time and state crosses zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import brentq

from recursa.errors import StateError, unknown_name
from recursa.integrators.mechanics import told_when
from recursa.sweeps.batching import Array

Direction = Literal["both", "rising", "falling"]
_DIRECTIONS: tuple[str, ...] = get_args(Direction)


@dataclass(frozen=True)
class Event:
    """Something to look out for: ``function(t, q, v)`` crosses zero.

    ``stop`` ends the run there; ``direction`` "rising" or "falling" counts only crossings of that kind, "both" all. The
    time is found to rounding, from the integrator's own interpolation of the step; a function that crosses zero twice
    within an eighth of an adaptive step, or within a fixed step, goes unseen.

    >>> Event(lambda t, q, v: q[0] - 1.0, stop=True, direction="rising").name
    ''
    """

    function: Callable[[float, Array, Array], Any]
    stop: bool = False
    direction: Direction = "both"
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise StateError(f"an event is a function of (t, q, v), not {self.function!r}")
        if self.direction not in _DIRECTIONS:
            raise unknown_name("direction of an event", self.direction, _DIRECTIONS)

    def value(self, t: float, q: Array, v: Array) -> float:
        """The function's value, checked."""
        given = told_when(self.function, f"event '{self.name}'", t, q, v)
        try:
            number = float(given)
        except (TypeError, ValueError):
            raise StateError(
                f"event '{self.name}' at t = {t:.6g} s: the function must return one number, not {given!r}"
            ) from None
        if number != number:
            raise StateError(f"event '{self.name}' at t = {t:.6g} s: the function returned nan")
        return number

    def crosses(self, before: float, after: float) -> bool:
        """Whether it happens between two values; an event that is on zero at the start of a step has happened."""
        rises, falls = before < 0.0 <= after, before > 0.0 >= after
        return (rises and self.direction != "falling") or (falls and self.direction != "rising")


def events_of(given: Any) -> tuple[Event, ...]:
    """One event, several, or several by name; plain functions are events that are recorded."""
    if given is None:
        return ()
    if isinstance(given, Event) or callable(given):
        given = [given]
    if isinstance(given, Mapping):
        named = list(given.items())
    elif isinstance(given, Iterable):
        named = [(getattr(one, "name", ""), one) for one in given]
    else:
        raise StateError(f"events must be functions of (t, q, v) or rc.Event, not {given!r}")
    found = []
    for number, (name, one) in enumerate(named):
        event = one if isinstance(one, Event) else Event(one)
        label = str(name or event.name or f"event{number + 1}")
        found.append(Event(event.function, event.stop, event.direction, label))
    return tuple(found)


def crossing(value: Callable[[float], float], start: float, end: float, before: float, after: float) -> float:
    """Where a function goes through zero, to rounding; ``before`` and ``after`` are its values at the ends.

    >>> round(crossing(lambda t: t * t - 2.0, 1.0, 2.0, -1.0, 2.0), 12)
    1.414213562373
    """
    if after == 0.0:
        return end
    ends = {start: before, end: after}
    tolerance = 4.0 * np.finfo(float).eps
    return float(brentq(lambda t: ends[t] if t in ends else value(t), start, end, xtol=1e-300, rtol=tolerance))
