"""What the parts of an expression do when it is evaluated: each is given what it was made of, and then the names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from recursa.errors import ModelError, did_you_mean
from recursa.formats.expression_values import (
    BINARY,
    Function,
    Namespace,
    apply,
    bounded,
    cost,
    item_of,
    member_of,
)


class Names(Protocol):
    """What an expression is evaluated in."""

    def lookup(self, name: str) -> Any:
        """The value of a name; KeyError if there is none."""
        ...

    def known(self) -> list[str]:
        """All names, for proposals."""
        ...

    def spend(self, steps: int) -> None:
        """Count work; an error once there is too much of it."""
        ...


Evaluator = Callable[[Names], Any]


def constant(value: Any, names: Names) -> Any:
    """A number or text."""
    return value


def lookup(name: str, names: Names) -> Any:
    """The value of a name."""
    names.spend(1)
    try:
        return names.lookup(name)
    except KeyError:
        hint = did_you_mean(name, [known for known in names.known() if known.isidentifier()])
        raise ModelError(f"the name '{name[:60]}' is not defined. {hint}") from None


def chosen(condition: Evaluator, yes: Evaluator, no: Evaluator, names: Names) -> Any:
    """``yes if condition else no``."""
    return yes(names) if condition(names) else no(names)


def first(parts: list[Evaluator], truth: bool, names: Names) -> Any:
    """The first that is true (of an ``or``) or false (of an ``and``), else the last."""
    found = None
    for part in parts:
        found = part(names)
        if bool(found) is truth:
            break
    return found


def negated(part: Evaluator, odd: bool, names: Names) -> bool:
    """``not part``, or its truth after an even number of them."""
    return bool(part(names)) is not odd


def compared(first: Evaluator, rest: list[tuple[str, Evaluator]], names: Names) -> Any:
    """``first < second < third``, each asked only if those before hold."""
    left, truth = first(names), True
    for op, operand in rest:
        right = operand(names)
        names.spend(1 + cost(left) + cost(right))
        truth = apply(op, BINARY[op], left, right)
        if not truth:
            break
        left = right
    return truth


def folded(first: Evaluator, rest: list[tuple[str, Evaluator]], names: Names) -> Any:
    """``first + second - third``, from the left."""
    value = first(names)
    for op, operand in rest:
        value = apply(op, BINARY[op], value, operand(names))
        names.spend(1 + cost(value))
    return value


def signed(part: Evaluator, minus: bool, names: Names) -> Any:
    """``-part`` or ``+part``."""
    value = part(names)
    if not isinstance(value, int | float):
        raise ModelError("a sign stands before what is no number")
    return -value if minus else +value


def followed(first: Evaluator, steps: list[Callable[[Any, Names], Any]], names: Names) -> Any:
    """A value with members, calls and items behind it."""
    value = first(names)
    for step in steps:
        names.spend(1)
        value = step(value, names)
    return value


def member(name: str, owner: Any, names: Names) -> Any:
    """``owner.name``."""
    names.spend(0 if isinstance(owner, Namespace) else cost(owner))
    return member_of(owner, name)


def called(given: list[Evaluator], named: dict[str, Evaluator], function: Any, names: Names) -> Any:
    """``function(given, key=named)``."""
    if not isinstance(function, Function):
        raise ModelError("what stands before the bracket is no function")
    values = [part(names) for part in given]
    names.spend(1 + sum(map(cost, values)))
    return apply(function.name, function.call, *values, **{key: part(names) for key, part in named.items()})


def item(part: Evaluator, owner: Any, names: Names) -> Any:
    """``owner[part]``."""
    return item_of(owner, part(names))


def slice_of(parts: list[Evaluator | None], owner: Any, names: Names) -> Any:
    """``owner[begin:end:step]``."""
    if not isinstance(owner, str | list):
        raise ModelError("a part with ':' can be taken of text and lists only")
    bounds = [None if part is None else part(names) for part in parts]
    names.spend(cost(owner))
    return apply(":", lambda one, *ends: one[slice(*ends)], owner, *bounds)


def list_of(parts: list[Evaluator], names: Names) -> list[Any]:
    """``[part, part]``."""
    names.spend(len(parts))
    return bounded([part(names) for part in parts])


def dict_of(pairs: list[tuple[Evaluator, Evaluator]], names: Names) -> dict[Any, Any]:
    """``{key: value}``."""
    names.spend(len(pairs))
    keys = [key(names) for key, _ in pairs]
    if not all(isinstance(key, str | int | float) for key in keys):
        raise ModelError("the keys of a dictionary must be text or numbers")
    return bounded(dict(zip(keys, (value(names) for _, value in pairs), strict=True)))
