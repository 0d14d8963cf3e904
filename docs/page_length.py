"""How long a page is, in screens of 1280 by 800, without a browser: for the test that none is longer than ten.

Lines of text, code and tables are counted as they would be wrapped, and weighed with heights that were fitted to what
Chromium shows; for most pages the estimate is right to a tenth. ``tools/pages_in_a_browser.py`` measures.
"""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from math import ceil
from pathlib import Path

import make_reference as reference
from make_dictionary import filled as with_dictionaries
from make_quantities import filled as with_quantities
from make_speeds import filled as with_speeds

SCREEN = 800.0  # pixels
TOP, HEADING, PICTURE, CARD = 124.0, 111.0, 480.0, 45.0
SET_IN = 1.22  # entries are narrower than pages
PARAGRAPH, LINE, BLOCK, CODE_LINE, ROW, ROW_LINE = 14.0, 18.5, 18.0, 19.0, 11.6, 26.5
WIDTH, CODE_WIDTH, TABLE_WIDTH, SIGNATURE_WIDTH = 97, 92, 75, 72  # characters


MADE = property | cached_property | classmethod | staticmethod


def screens(page: Path) -> float:
    """The estimate for a page in Markdown."""
    text = page.read_text("utf-8")
    if page.parent.name == "reference":
        return (TOP + SET_IN * _entries(text)) / SCREEN
    for fill in (with_quantities, with_dictionaries, with_speeds, reference.with_table):
        text = fill(text)
    return (TOP + _markdown(text)) / SCREEN


def _markdown(text: str) -> float:
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    height, paragraph, fence = 0.0, "", ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            fence = "" if fence else line
            height += BLOCK * bool(fence)
        elif fence:
            height += CODE_LINE * ceil(max(1, len(line)) / CODE_WIDTH) * (not fence.startswith("```{"))
        elif line.startswith("#"):
            height += HEADING
        elif line.startswith("!["):
            height += PICTURE
        elif line.startswith(":"):
            height += CARD * line.startswith("::::{grid-item-card}")
        elif line.startswith("|"):
            height += 0.0 if set(line) <= set("|-: ") else ROW + ROW_LINE * ceil(len(_shown(line)) / TABLE_WIDTH)
        else:
            if not line.strip() or re.match(r"\s*(-|\d+\.) ", line):
                height += (PARAGRAPH if not line.strip() else 0.0) * bool(paragraph) + _wrapped(paragraph)
                paragraph = ""
            paragraph += f"{line} " if line.strip() else ""
    return height


def _shown(line: str) -> str:
    """A row of a table without the targets of links."""
    return re.sub(r"\]\([^)]*\)| <[\w.]+>|\{py:obj\}|[`|]", "", line)


def _wrapped(paragraph: str) -> float:
    return LINE * ceil(len(paragraph) / WIDTH)


def _entries(text: str) -> float:
    height = 0.0
    for sort, name, options in reference.LINE.findall(reference.filled(text)):
        value = reference.thing(name)
        if sort == "module":
            only = re.search(r":members: (.+)", options)
            names = re.split(r",\s*", only[1]) if only else list(reference.defined(value))
            names = [] if ":no-members:" in options else names
            height += _described(value) + sum(_entry(getattr(value, own), ":members:") for own in names)
        else:
            height += _entry(value, options)
    return height


def _entry(value: object, options: str) -> float:
    """An entry, with its members where they are shown."""
    height = _signature(value) + _described(value)
    if inspect.isclass(value) and ":members:" in options:
        members = vars(value).items()
        if ":inherited-members:" in options:
            members = [(name, inspect.getattr_static(value, name)) for name in dir(value)]
        for name, member in members:
            if not name.startswith("_") and (callable(member) or isinstance(member, MADE)):
                member = getattr(member, "__func__", member)
                height += _signature(member) + _described(member)
    return height


def _signature(value: object) -> float:
    try:
        length = len(str(inspect.signature(value))) if callable(value) else 20  # type: ignore[arg-type]
    except (TypeError, ValueError):
        length = 20
    return 12.0 + 20.0 * ceil((length + 20) / SIGNATURE_WIDTH)


def _described(value: object) -> float:
    text = inspect.getdoc(value) or ""
    if text.startswith(("Alias for field number", "dict(")):
        return 0.0
    shown = re.sub(r":\w+:`~?([^`]*)`", r"\1", text)
    code = [line for line in shown.splitlines() if line.startswith((">>>", "..."))]
    return _markdown(shown) + 2.0 * len(code)
