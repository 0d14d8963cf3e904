"""Documentation of public names: every value that an option takes stands in it, in quotes."""

import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

import pytest

import recursa as rc
import recursa.simulation.influences  # names that robots know for type checkers alone


class Names(dict):
    """Names that modules import for type checkers alone."""

    def __missing__(self, name: str) -> Any:
        for module, found in list(sys.modules.items()):
            if module.startswith("recursa.") and name in vars(found):
                return vars(found)[name]
        raise KeyError(name)


def words(kind: Any) -> list[str]:
    """The texts among the values of a type."""
    if get_origin(kind) is Literal:
        return [value for value in get_args(kind) if isinstance(value, str)]
    if get_origin(kind) in (Union, types.UnionType):
        return [value for one in get_args(kind) for value in words(one)]
    return []


def public() -> Iterator[tuple[str, Any]]:
    """Functions and classes of the package and of its public modules, and their methods."""
    for name in dir(rc):
        found = getattr(rc, name)
        if inspect.isclass(found):
            yield name, found
            yield from ((f"{name}.{own}", inspect.getattr_static(found, own)) for own in dir(found) if own[0] != "_")
        elif inspect.ismodule(found):
            for own in dir(found):
                part = getattr(found, own)
                if own[0] != "_" and (getattr(part, "__module__", "") or "").startswith(found.__name__):
                    yield f"{name}.{own}", part
        else:
            yield name, found


def options() -> Iterator[tuple[str, Any, list[str], str]]:
    """Every parameter with values that are words: what it belongs to, its name, the words, the documentation."""
    for name, found in public():
        function = getattr(found, "__func__", found)
        if not callable(function):
            continue
        function = inspect.unwrap(function)
        called = function.__init__ if inspect.isclass(function) else function
        text = (inspect.getdoc(function) or "") + (inspect.getdoc(called) or "")
        module = sys.modules.get(getattr(called, "__module__", None) or "")
        for parameter, kind in getattr(called, "__annotations__", {}).items():
            if isinstance(kind, str):
                try:
                    kind = eval(kind, {}, Names(vars(module)))
                except (NameError, KeyError, AttributeError, TypeError):
                    continue  # a name of another library, which has no such values
            if parameter != "return" and words(kind):
                yield name, parameter, words(kind), text


OPTIONS = list(options())


@pytest.mark.parametrize("name, parameter, values, text", OPTIONS, ids=[f"{one[0]}-{one[1]}" for one in OPTIONS])
def test_every_value_of_an_option_is_documented(name, parameter, values, text) -> None:
    missing = [value for value in values if f'"{value}"' not in text and f"'{value}'" not in text]
    assert not missing, f"help(rc.{name}) says nothing of {parameter}={missing}"


def test_options_are_found() -> None:
    assert len(OPTIONS) > 80
    assert {"Robot.jacobian", "load", "rollout", "Robot.simulate", "inverse_kinematics"} <= {one[0] for one in OPTIONS}
