"""Levels as plain text, as Markdown for notebooks, and for a terminal with rich."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recursa.operators.seven_levels import Level, Part, Rows
from recursa.operators.symbols import Kind

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 116  # columns of plain text
_LETTERS = sorted((kind.value for kind in Kind), key=lambda letter: not letter.is_rate)  # dots before what they are on
_ASCII = {letter.text: letter.code for letter in _LETTERS if letter.text != letter.code} | {
    "⁻¹": "^-1", "Σ": "sum", "°": " deg", "·": "@",
}  # fmt: skip


def in_ascii(text: str) -> str:
    """As it is typed where Greek letters cannot be shown.

    >>> in_ascii("(I - H ψ K)* D⁻¹")
    '(I - H psi K)* D^-1'
    """
    for letter, typed in _ASCII.items():
        text = text.replace(letter, typed)
    return text.encode("ascii", "replace").decode()


def has_greek(encoding: str | None) -> bool:
    """Whether the letters of operators can be written in an encoding (of standard output, say).

    >>> has_greek("utf-8"), has_greek("latin-1")
    (True, False)
    """
    try:
        "".join(_ASCII).encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# ---- plain text ----------------------------------------------------------------------------------------------------


def plain_text(levels: Sequence[Level], *, ascii: bool = False) -> str:
    """One level under the other."""
    return "\n\n".join(_plain_level(_spelled(level) if ascii else level) for level in levels)


def _spelled(level: Level) -> Level:
    parts = [Part(in_ascii(part.title), tuple(tuple(map(in_ascii, row)) for row in part.rows)) for part in level.parts]
    return replace(level, about=in_ascii(level.about), parts=tuple(parts))


def wrapped(text: str) -> str:
    """A paragraph in lines."""
    return "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent="  "))


def _plain_level(level: Level) -> str:
    lines = [wrapped(f"{level.number} {level.name}: {level.about}")]
    for part in level.parts:
        if part.title:
            lines += textwrap.wrap(part.title, WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines += _table(part.rows, "    " if part.title else "  ")
    return "\n".join(lines)


def _table(rows: Rows, indent: str) -> list[str]:
    """Columns under each other; the last one is wrapped."""
    lines = []
    columns = max((len(row) for row in rows), default=0)
    widths = [max(_width(row[k]) for row in rows if len(row) > k) for k in range(columns)]
    for row in rows:
        *first, last = row
        start = indent + "".join(cell + " " * (widths[k] - _width(cell) + 2) for k, cell in enumerate(first))
        rest = " " * _width(start) + "  "
        lines += textwrap.wrap(last, max(WIDTH, 40), initial_indent=start, subsequent_indent=rest) or [start.rstrip()]
    return lines


def _width(text: str) -> int:
    return sum(not unicodedata.combining(letter) for letter in text)


# ---- Markdown ------------------------------------------------------------------------------------------------------


def markdown(levels: Sequence[Level]) -> str:
    """A heading per level and a table per part; what is a formula is set as code."""
    return "\n\n".join(_markdown_level(level) for level in levels)


def _markdown_level(level: Level) -> str:
    return "\n\n".join([f"**{level.number} {level.name}**: {level.about}", *map(_markdown_part, level.parts)])


def _markdown_part(part: Part) -> str:
    title = [f"*{_escaped(part.title)}*"] if part.title else []
    if not part.rows:
        return "\n".join(title)
    columns = max(len(row) for row in part.rows)
    head = ["|" + " |" * columns, "|" + "---|" * columns]
    rows = ["| " + " | ".join(_code(cell) for cell in (*row, *[""] * (columns - len(row)))) + " |" for row in part.rows]
    return "\n".join([*title, *([""] if title else []), *head, *rows])


def _code(cell: str) -> str:
    fence = "``" if "`" in cell else "`"
    return f"{fence}{cell}{fence}".replace("|", r"\|") if cell else ""


def _escaped(text: str) -> str:
    return "".join("\\" + letter if letter in r"\`*_[]<>|" else letter for letter in text)


# ---- rich ----------------------------------------------------------------------------------------------------------


def rich_text(levels: Sequence[Level]) -> RenderableType:
    """Coloured tables, as wide as the terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    found: list[RenderableType] = []
    for level in levels:
        found.append(Text.assemble((f"{level.number} {level.name}", "bold cyan"), ": ", level.about))
        for part in level.parts:
            if part.title:
                found.append(Padding(Text(part.title, style="yellow"), (0, 0, 0, 2), expand=False))
            if part.rows:
                table = Table.grid(padding=(0, 2))
                columns = max(len(row) for row in part.rows)
                for number in range(columns):
                    named = number == 0 and columns > 1
                    table.add_column(style="bold" if named else "", no_wrap=named, overflow="fold")
                for row in part.rows:
                    table.add_row(*(Text(cell) for cell in row))
                found.append(Padding(table, (0, 0, 0, 4 if part.title else 2), expand=False))
        found.append(Text(""))
    return Group(*found)
