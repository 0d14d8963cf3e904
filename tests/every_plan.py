"""Every plan that the library makes, found by looking: a new one is tested without being entered anywhere."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import recursa as rc
from recursa import diagonal, dynamics, free, operational, walks
from recursa.sweeps import Plan
from zoo import mixed_tree

LINK = "link12"  # at the end of a branch, behind a free joint

# What the arguments of plan-making functions can be; one with an argument not listed here has to be entered.
CHOICES: dict[str, tuple[Any, ...]] = {
    "wrenches": (False, True),
    "links": (False, True),
    "losses": (False, True),
    "springs": (False, True),
    "frame": ("body", "mixed", "world"),
    "only": ((1, 10), (6,)),
    "held": ((), (0, 4, 10), (5, 6)),
    "kind": ("spatial", "classical"),
    "task": ("pose", "position", "orientation"),
    "branching": (False, True),
    "vector": ("joint:left", "joint:right"),
    "rows": ({5: (0, 1, 2, 3, 4, 5), 12: (3, 4, 5)},),
}


@cache
def robot() -> rc.Robot:
    """The robot that plans about one link are made for."""
    return mixed_tree()


@cache
def every_plan() -> dict[str, Plan]:
    """Plans of ``recursa.dynamics`` and of the topics by name."""
    found: dict[str, Plan] = {}
    for place in _modules():
        module = importlib.import_module(f"recursa.{place}")
        for name, item in vars(module).items():
            if isinstance(item, Plan):
                found[f"{place}.{name}"] = item
            elif _makes_plans(item, module.__name__):
                found.update((f"{place}.{name}({text})", plan) for text, plan in _made(item))
    return found


def _modules() -> Iterator[str]:
    """Those with plans for any robot; others of ``book/`` need frames on joint axes."""
    for package in (dynamics, walks, diagonal, free, operational):
        home = package.__name__.partition(".")[2]
        yield from (f"{home}.{info.name}" for info in pkgutil.iter_modules(package.__path__))
    yield from ("book.augmented_recursion", "book.linear_model")


def _makes_plans(item: object, module: str) -> bool:
    plain = inspect.unwrap(item) if callable(item) else None
    return (
        inspect.isfunction(plain)
        and plain.__module__ == module
        and plain.__annotations__.get("return") in ("Plan", Plan)
        and plain.__name__[0] != "_"
        and not {"plan", "outward", "first"} & set(inspect.signature(plain).parameters)  # given plans, or all steps
    )


def _made(make: Callable[..., Plan]) -> Iterator[tuple[str, Plan]]:
    model = robot().model
    names = [name for name in inspect.signature(make).parameters if name not in ("model", "link")]
    about_link = {"model": model, "link": model.link_index(LINK)}
    with_link = {name: about_link[name] for name in inspect.signature(make).parameters if name in about_link}
    for values in itertools.product(*(CHOICES[name] for name in names)):
        options = dict(zip(names, values, strict=True))
        words = [str(value) if isinstance(value, str) else f"{name}={value}" for name, value in options.items()]
        yield ", ".join((["link"] if with_link else []) + words), make(**with_link, **options)
    if with_link and all(p.default is not p.empty for p in inspect.signature(make).parameters.values()):
        yield "", make()
