"""What public functions, methods and properties return is said by their annotations: precisely, and never Any."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recursa as rc

EXCEPTIONS = {  # what they return may hold whatever JSON does
    "Report.as_dicts",
    "Explanation.as_dict",
    "Table.as_dict",
    "Study.as_data",
    "Reduction.as_data",
}
FRAMEWORKS = ("jax", "torch")
INSIDE = ("recursa.spatial", "recursa.kernels", "recursa.evaluation", "recursa.operators.values")
"""What results of public functions lead to and is not public itself: spatial types over any scalar, native code."""


def ours(item: Any) -> bool:
    return str(getattr(item, "__module__", "")).startswith("recursa")


def public_members(item: Any) -> Iterator[tuple[str, Any]]:
    """Of a module what it defines, or imports by ``from ... import name as name``; of a class also what it inherits."""
    if isinstance(item, ModuleType):
        imports = [node for node in ast.walk(ast.parse(inspect.getsource(item))) if isinstance(node, ast.ImportFrom)]
        offered = {alias.name for node in imports for alias in node.names if alias.asname == alias.name}
        offered |= {name for name, own in vars(item).items() if getattr(own, "__module__", "") == item.__name__}
        yield from ((name, getattr(item, name)) for name in sorted(offered) if name[0] != "_")
    else:
        for part in filter(ours, item.__mro__):
            yield from ((name, member) for name, member in vars(part).items() if name[0] != "_")


def functions() -> dict[str, Callable[..., Any]]:
    """All that can be called or looked up, by name; members of classes that others return included."""
    found: dict[str, Callable[..., Any]] = {}
    seen: set[type] = set()

    def visit(name: str, item: Any) -> None:
        if isinstance(item, ModuleType) or (isinstance(item, type) and ours(item)):
            if item not in seen:
                seen.add(item)
                for own, member in public_members(item):
                    visit(f"{name}.{own}".removeprefix("rc."), member)
            return
        function = _function(item)
        if function is not None and ours(function):
            found[name] = function
            for kind in classes_in(returned(function)):
                visit(kind.__qualname__, kind)

    visit("rc", rc)
    return found


def _function(member: Any) -> Callable[..., Any] | None:
    """The Python function behind a method, a property or a native method."""
    for attribute in ("fget", "func", "__func__", "__wrapped__"):
        member = getattr(member, attribute, member)
    return member if inspect.isfunction(member) else None


@cache
def names_for_type_checkers(module: str) -> dict[str, Any]:
    """What a module imports for type checkers alone."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    names: dict[str, Any] = {}
    for node in guarded:
        for one in node.body:
            try:
                exec(compile(ast.Module([one], []), module, "exec"), names)
            except ModuleNotFoundError as error:  # a framework that tests do without
                assert error.name in FRAMEWORKS and isinstance(one, ast.ImportFrom), error
                names |= {alias.name: type(alias.name, (), {"__module__": str(error.name)}) for alias in one.names}
    return names


def returned(function: Callable[..., Any]) -> list[Any]:
    """Types of the result, one per overload."""
    variants = typing.get_overloads(function) or [function]
    known = {**names_for_type_checkers(function.__module__), **vars(sys.modules[function.__module__])}
    assert all("return" in one.__annotations__ for one in variants), f"{function.__qualname__}: no type is given"
    return [typing.get_type_hints(one, known, known)["return"] for one in variants]


def parts(kind: Any) -> Iterator[Any]:
    """A type and all that it is made of; what an array holds does not count."""
    yield kind
    origin = typing.get_origin(kind)
    # NDArray[Any] itself has this origin from NumPy 2.5 on, where it is a name of its own
    if origin is not NDArray and not (isinstance(origin, type) and issubclass(origin, np.ndarray)):
        for part in typing.get_args(kind):
            yield from parts(part)


def classes_in(kinds: list[Any]) -> list[type]:
    named = [part for kind in kinds for part in parts(kind) if isinstance(part, type) and ours(part)]
    return [kind for kind in named if not kind.__module__.startswith(INSIDE)]


FUNCTIONS = functions()


def test_methods_functions_properties_and_classes_that_are_returned_are_found() -> None:
    assert {
        "Robot.forward_dynamics",
        "Robot.nv",
        "Run.plot",
        "Violation.error",
        "free.simulate_links",
    } <= FUNCTIONS.keys()
    assert len(returned(FUNCTIONS["Robot.forward_dynamics"])) == 2  # with and without links=True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_type_of_the_result_is_precise(name: str) -> None:
    vague = any(part is Any for kind in returned(FUNCTIONS[name]) for part in parts(kind))
    assert vague == (name in EXCEPTIONS)
