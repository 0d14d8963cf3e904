"""The pages of the reference: lists of names written out, and the table of all names on the first of them.

In an ``eval-rst`` block of a page of ``docs/reference/`` two lines of our own may stand beside those of autodoc:

- ``.. robot-methods:: recursa.facade.dynamics.DynamicsMethods``: what robots have from this class, as ``Robot.name``;
- ``.. names-of:: recursa.free.momentum as recursa.free``: what a module defines, under the name by which it is called.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

DOCS = Path(__file__).parent
FOLDER = DOCS / "reference"
TABLE = "<!-- table of all names -->"
_OWN = re.compile(r"^\.\. (robot-methods|names-of):: (\S+)(?: as (\S+))?$", flags=re.MULTILINE)
LINE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   :.*\n?)*)", flags=re.MULTILINE)
_SPACES = ("robots", "plotting", "control", "operational", "cartesian", "free", "denoc")  # modules of rc with functions


class Entry(NamedTuple):
    """A name as users write it, and what it is anchored by on its page."""

    called: str
    anchor: str


def filled(text: str) -> str:
    """A page with our own lines written out as autodoc's."""
    return _OWN.sub(lambda found: "\n".join(_written_out(*found.groups())), text)


def _written_out(kind: str, name: str, prefix: str | None) -> Iterator[str]:
    if kind == "robot-methods":
        for own in _own_names(thing(name)):
            computed = isinstance(inspect.getattr_static(thing(name), own), property | cached_property)
            yield f".. auto{'property' if computed else 'method'}:: recursa.Robot.{own}"
        return
    module = import_module(name)
    for own, value in defined(module).items():
        home = prefix if prefix and hasattr(import_module(prefix), own) else name
        yield f".. auto{'class' if inspect.isclass(value) else 'function'}:: {home}.{own}"
        if inspect.isclass(value):
            yield "   :members:"


def _own_names(cls: type) -> list[str]:
    return [name for name in vars(cls) if not name.startswith("_")]


def defined(module: ModuleType) -> dict[str, object]:
    """Public functions and classes of a module, those that it lists or else those of its source, in that order."""
    listed = getattr(module, "__all__", None)
    found = {name: getattr(module, name) for name in listed or vars(module) if not name.startswith("_")}
    return {
        name: value
        for name, value in found.items()
        if callable(value) and (listed or getattr(value, "__module__", "") == module.__name__)
    }


def thing(path: str) -> object:
    """What stands under a dotted name."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
        return value
    raise ModuleNotFoundError(path)


def pages() -> list[Path]:
    """In the order of the table of contents."""
    order = re.findall(r"^reference/(\S+)$", (DOCS / "api.md").read_text("utf-8"), flags=re.MULTILINE)
    return [FOLDER / f"{name}.md" for name in order]


def entries(page: Path) -> list[Entry]:
    """All names that a page has, members of classes not counted."""
    found = []
    for sort, name, options in LINE.findall(filled(page.read_text("utf-8"))):
        if sort == "module":
            if ":no-members:" not in options:
                module = import_module(name)
                only = re.search(r":members: (.+)", options)
                names = re.split(r",\s*", only[1]) if only else defined(module)
                found += [_entry(f"{name}.{own}") for own in names]
        else:
            found.append(_entry(name))
    return found


def _entry(anchor: str) -> Entry:
    home, _, own = anchor.rpartition(".")
    return Entry(_called(home, own), anchor)


def _called(home: str, own: str) -> str:
    """As users write it, ``rc.`` left out; names that one only gets from calls stand alone."""
    if home == "recursa.Robot":
        return f"robot.{own}"
    space = home.removeprefix("recursa.")
    return f"{space}.{own}" if space in _SPACES else own


def heading(page: Path) -> str:
    """The title of a page."""
    return page.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def table() -> str:
    """A row for every page, with all its names as links."""
    lines = ["| page | names |", "|---|---|"]
    for page in pages():
        names = ", ".join(f"{{py:obj}}`{one.called} <{one.anchor}>`" for one in entries(page))
        lines.append(f"| [{heading(page)}](reference/{page.name}) | {names} |")
    return "\n".join(lines)


def with_table(text: str) -> str:
    """The first page of the reference."""
    return text.replace(TABLE, table())


if __name__ == "__main__":
    sys.stdout.write(table())
