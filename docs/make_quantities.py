"""The tables of quantities.md and parts-of-quantities.md, from the registry: conf.py puts them in when the docs are built.

``python docs/make_quantities.py`` prints the pages.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import typing
from collections.abc import Callable, Iterable
from inspect import unwrap
from pathlib import Path
from typing import Any

import recursa as rc
from recursa.diagonal.unnormalized_equations import Unnormalized
from recursa.interop.offers import OFFERS
from recursa.interop.timing import plain_quantities
from recursa.quantities import Quantity, quantities

PAGES = [Path(__file__).with_name(f"{name}.md") for name in ("quantities", "parts-of-quantities")]
MARK = re.compile(r"<!-- (quantities|parts|arrays) -->")
OWNERS = {"": ("robot", rc.Robot), "diagonal": ("robot.diagonal", rc.Diagonal)}
OWNERS["unnormalized"] = ("robot.diagonal.unnormalized", Unnormalized)
PROGRAMS = "recursa.bridges.jax_", "recursa.bridges.torch_", "recursa.examples."  # no records; need frameworks
COLUMNS = ("quantity", "takes", "result", "also")


def records() -> tuple[Quantity, ...]:
    """All there are: a record is known once its module is imported."""
    for info in pkgutil.walk_packages(rc.__path__, "recursa."):
        if not info.name.endswith("__main__") and not info.name.startswith(PROGRAMS):
            importlib.import_module(info.name)
    return quantities()


def row(one: Quantity) -> dict[str, str]:
    """The cells of a quantity."""
    arrays = (*(f"`{name}`" for name in one.inputs), *(f"`{name}=`" for name in one.optional))
    options = [
        f"`{name}`" if item.default is item.empty else f"`{name}={item.default!r}`"
        for name, item in one.options.items()
        if name != "method"
    ]
    if "method" in one.options:
        _, method = answered_by(one)
        options.append(" ".join(["`method=`", ", ".join(_choices(method))]).strip())
    return {
        "quantity": f"`{one.name}`",
        "takes": "; ".join(", ".join(some) for some in (arrays, options) if some),
        "result": one.units.replace("{frame}", "in the frame"),
        "also": ", ".join([*(["C"] if one.exported else []), *OFFERS.get(one.name, ())]),
    }


def answered_by(one: Quantity) -> tuple[str, Callable[..., Any] | None]:
    """The method that people call, and how they write it; nothing for parts of other answers."""
    group, _, name = one.name.rpartition(".")
    if group not in OWNERS or not hasattr(OWNERS[group][1], name):
        return "", None
    return f"{OWNERS[group][0]}.{name}", unwrap(getattr(OWNERS[group][1], name))


def _choices(method: Callable[..., Any] | None) -> tuple[str, ...]:
    """The values of ``method=``, as its signature has them."""
    hint = None if method is None else typing.get_type_hints(method, localns={"Robot": rc.Robot}).get("method")
    found = (one for one in (hint, *typing.get_args(hint)) if typing.get_origin(one) is typing.Literal)
    return tuple(name for one in found for name in typing.get_args(one))


def table(columns: Iterable[str], rows: Iterable[dict[str, str]]) -> str:
    """In Markdown."""
    names = list(columns)
    lines = [names, ["---"] * len(names), *([one[name] for name in names] for one in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def quantity_table() -> str:
    """A line per quantity that is a method."""
    return table(COLUMNS, [row(one) for one in records() if answered_by(one)[0]])


def part_table() -> str:
    """A line per quantity that is a part of other answers."""
    return table(COLUMNS, [row(one) for one in records() if not answered_by(one)[0]])


def array_table() -> str:
    """What the numbers of arrays are, by the names of arguments."""
    records()
    found = {(name, one.says(name)): None for one in plain_quantities() for name in one.arrays}
    return table(("array", "numbers"), ({"array": f"`{name}`", "numbers": words} for name, words in sorted(found)))


def filled(text: str) -> str:
    """The page with its tables."""
    make = {"quantities": quantity_table, "parts": part_table, "arrays": array_table}
    return MARK.sub(lambda found: make[found[1]](), text)


if __name__ == "__main__":
    for page in PAGES:
        print(filled(page.read_text("utf-8")))
