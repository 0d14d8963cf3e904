"""Properties and macros of a xacro file by name: scopes that see those they stand in, values found when first asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recursa.errors import ModelError
from recursa.formats.expression_values import Dotted

Evaluate = Callable[[str, "Scope"], Any]
"""What makes a value of a property's text, in the scope that it was defined in."""


class Scope(Dotted):
    """Names and values of one scope; what it does not have is asked of the scope that it stands in.

    The scope of a macro stands in that of its caller. A ``namespace`` is what ``<xacro:include ns=...>`` makes.
    """

    def __init__(self, outer: Scope | None, evaluate: Evaluate, *, namespace: bool = False) -> None:
        self.outer = outer
        self.namespace = namespace
        self._evaluate = evaluate
        self._values: dict[str, Any] = {}
        self._lazy: set[str] = set()
        self._open: set[str] = set()

    def holder(self, name: str) -> Scope | None:
        """The nearest scope that has a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope._values:
            scope = scope.outer
        return scope

    def __contains__(self, name: str) -> bool:
        return self.holder(name) is not None

    def __getitem__(self, name: str) -> Any:
        """The value of a name, evaluated now if it has not been; KeyError if there is none."""
        holder = self.holder(name)
        if holder is None:
            raise KeyError(name)
        return holder._own(name)

    def set(self, name: str, value: Any, *, lazy: bool) -> None:
        """Define a name here; text that is no literal is evaluated when it is first asked for, if ``lazy``."""
        value = literal(value)
        self._values[name] = value
        if lazy and isinstance(value, str):
            self._lazy.add(name)
        else:
            self._lazy.discard(name)

    def remove(self, name: str) -> None:
        """Forget a name, here and in all scopes around, but for the outermost, which has the functions."""
        scope: Scope | None = self
        while scope is not None and scope.outer is not None:
            scope._values.pop(name, None)
            scope._lazy.discard(name)
            scope = scope.outer

    def top(self) -> Scope:
        """The scope of the file: the one inside the outermost."""
        scope = self
        while scope.outer is not None and scope.outer.outer is not None:
            scope = scope.outer
        return scope

    def names(self) -> list[str]:
        """All names that can be seen from here."""
        found: dict[str, None] = {}
        scope: Scope | None = self
        while scope is not None:
            found.update(dict.fromkeys(scope._values))
            scope = scope.outer
        return list(found)

    def _own(self, name: str) -> Any:
        if name in self._lazy:
            if name in self._open:
                raise ModelError(f"the property '{name[:60]}' is defined by itself; lazy_eval=\"false\" may help")
            self._open.add(name)
            try:
                value = literal(self._evaluate(self._values[name], self))
            except RecursionError:
                raise ModelError("properties refer to each other in too long a chain") from None
            finally:
                self._open.discard(name)
            self._values[name] = value
            self._lazy.discard(name)
        return self._values[name]


def literal(value: Any) -> Any:
    """Text that spells a number or a boolean, or stands in single quotes, as what it means.

    >>> literal("12"), literal("0.5"), literal("true"), literal("'12'"), literal("1_000")
    (12, 0.5, True, '12', '1_000')
    """
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value:
        return value
    for meaning in (int, float):
        try:
            return meaning(value)
        except ValueError:
            pass
    return {"true": True, "True": True, "false": False, "False": False}.get(value, value)


def truth(value: Any, condition: str) -> bool:
    """What a condition came to: a boolean, a number, or text that spells one."""
    if not isinstance(value, str):
        return bool(value)
    found = {"true": True, "True": True, "false": False, "False": False}.get(value)
    if found is not None:
        return found
    try:
        return bool(int(value))
    except ValueError:
        shown = value[:60]
        raise ModelError(f"the condition '{condition[:60]}' is '{shown}', neither true nor false") from None
