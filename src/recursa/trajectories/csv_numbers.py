"""Tables of numbers in CSV files, read with every mistake named by its line and column, written all or nothing."""

from __future__ import annotations

import csv
import io
import math
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

from recursa.errors import TableError
from recursa.files import named_file, write_together
from recursa.sweeps.batching import Array

LARGEST = 2**30
"""Characters of a file that are read; more are an error."""

LONGEST = 2**24
"""Characters of a line, likewise."""


@dataclass(frozen=True)
class NumberTable:
    """Columns by name; ``lines`` are the lines of the file that the rows stand on."""

    source: str
    names: tuple[str, ...]
    rows: Array  # (rows, columns)
    lines: tuple[int, ...]
    notes: Mapping[str, str] = field(default_factory=dict)  # lines "# name: text" above the header

    def column(self, name: str) -> Array:
        """One column."""
        return self.rows[:, self.names.index(name)]

    def columns(self, names: Sequence[str]) -> Array:
        """Several, in this order: (rows, len(names))."""
        places = {name: number for number, name in enumerate(self.names)}
        return self.rows[:, [places[name] for name in names]]

    def error(self, message: str, row: int | None = None, column: str | None = None) -> TableError:
        """What is wrong, and where."""
        line = None if row is None else self.lines[row]
        return _error(self.source, message, line, column)


def read_table(path: str | os.PathLike[str]) -> NumberTable:
    """A CSV file: a header of names, then rows of finite numbers. Blank lines and lines that start with # are skipped,
    but for notes above the header, ``# name: text``.

    Anything else is a :class:`~recursa.TableError` that names line and column.
    """
    source = str(path)
    names: tuple[str, ...] = ()
    numbers, lines = array("d"), array("q")
    notes: dict[str, str] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(_bounded(file, source), skipinitialspace=True)
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                if cells[0].startswith("#"):
                    name, colon, said = ",".join(cells)[1:].partition(":")
                    notes |= {name.strip(): said.strip()} if colon and not names else {}
                    continue
                if not names:
                    names = _header(source, cells, reader.line_num)
                else:
                    numbers.extend(_row(source, names, cells, reader.line_num))
                    lines.append(reader.line_num)
    except OSError as error:
        raise _error(source, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _error(source, "is not text in UTF-8") from None
    except csv.Error as error:
        raise _error(source, f"is not a table: {error}", reader.line_num) from None
    if not names:
        raise _error(source, "is empty; the first line names the columns, such as t,joint1,joint2")
    return NumberTable(source, names, np.array(numbers).reshape(-1, len(names)), tuple(lines), notes)


def _bounded(file: TextIO, source: str) -> Iterator[str]:
    """Yield the lines of a file; one without an end, or without ends of lines, is an error and fills no memory."""
    remaining, number = LARGEST, 0
    while line := file.readline(LONGEST + 1):
        remaining, number = remaining - len(line), number + 1
        if len(line) > LONGEST:
            raise _error(source, f"has a line of more than {LONGEST:,} characters; rows end with a line break", number)
        if remaining < 0:
            raise _error(
                source, f"has more than {LARGEST:,} characters. Split it, or read it yourself and pass arrays", number
            )
        yield line


def _header(source: str, cells: list[str], line: int) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    if "" in names:
        raise _error(source, f"column {names.index('') + 1} has no name", line)
    twice = _first_twice(names)
    if twice is not None:
        raise _error(source, f"two columns are called '{twice}'", line, twice)
    if all(_is_number(name) for name in names):
        raise _error(source, "starts with numbers; the first line names the columns, such as t,joint1,joint2", line)
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise _error(source, f"has one column, '{names[0]}'; columns are separated by commas", line)
    return names


def _first_twice(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _row(source: str, names: tuple[str, ...], cells: list[str], line: int) -> list[float]:
    if len(cells) != len(names):
        raise _error(source, f"has {len(cells)} cell{'s' * (len(cells) != 1)}, the header has {len(names)}", line)
    row = []
    for name, cell in zip(names, cells, strict=True):
        shown = cell.strip() if len(cell.strip()) <= 40 else cell.strip()[:37] + "..."
        if not _is_number(cell):
            what = f"'{shown}' is not a number" if shown else "the cell is empty"
            raise _error(source, what, line, name)
        row.append(float(cell))
        if not math.isfinite(row[-1]):
            raise _error(source, f"'{shown}' is not a finite number", line, name)
    return row


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python's digit groups are nobody else's


def _error(source: str, message: str, line: int | None = None, column: str | None = None) -> TableError:
    where = f"file '{source}'"
    where += f", line {line}" if line is not None else ""
    where += f", column '{column}'" if column is not None else ""
    return TableError(f"{where}{':' if line is not None or column is not None else ''} {message}", line, column)


def table_text(names: Sequence[str], rows: Array, notes: Mapping[str, str] | None = None) -> str:
    """A table as CSV, below its notes; every number reads back to the same bits."""
    text = io.StringIO(newline="")
    for name, said in (notes or {}).items():
        text.write(f"# {name}: {said}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([repr(x) for x in row] for row in np.asarray(rows, dtype=float).tolist())
    return text.getvalue()


def require_distinct(names: Sequence[str]) -> None:
    """Columns are told apart by name; joints called ``t``, or ``root.x`` beside a free joint ``root``, prevent it."""
    twice = _first_twice(names)
    if twice is not None:
        raise TableError(f"two columns would be called '{twice}'; rename that joint of the robot", column=twice)


def write_table(
    path: str | os.PathLike[str], names: Sequence[str], rows: Array, notes: Mapping[str, str] | None = None
) -> None:
    """Write a table as CSV, all of it or nothing."""
    require_distinct(names)
    write_together({named_file(path): table_text(names, rows, notes)})
