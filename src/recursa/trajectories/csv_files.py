"""Trajectories as CSV files: which columns there are, for a robot or without one."""

from __future__ import annotations

import csv
import io
import math
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from recursa.dynamics.wrenches import Losses
from recursa.errors import TableError, did_you_mean, shortened
from recursa.files import named_file, write_together
from recursa.model.columns import coordinate_names, freedom_names
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- -----------------------------------------------------------------------------------------------------------------
# Tables of numbers in CSV files, read with every mistake named by its line and column, written all or nothing.


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


TIME = "t"
_NAMES = "names of columns"
_SPEED, _ACCELERATION = ":v", ":a"
TORQUE = ":tau"  # in files of runs; no part of a motion, and passed over

Read = tuple[tuple[str, ...], Array, Array, Array | None, Array | None]


def names_of(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of q and of v."""
    kept = robot.evaluator.kept  # looked up once: a robot does not change
    if _NAMES not in kept:
        kept[_NAMES] = coordinate_names(robot.model), freedom_names(robot.model)
    return kept[_NAMES]  # type: ignore[no-any-return]


def read(path: str | os.PathLike[str], robot: Robot | None) -> Read:
    """Names of the coordinates, t, q, and v and a where the file has them."""
    table = read_table(path)
    require_times(table)
    if robot is None:
        suffixes = (_SPEED, _ACCELERATION, TORQUE)
        coordinates = freedoms = tuple(name for name in table.names if name != TIME and not name.endswith(suffixes))
        owner = "the file's other columns"
    else:
        coordinates, freedoms = names_of(robot)
        owner = f"robot '{robot.name}'"
    speeds, accelerations = ([name + suffix for name in freedoms] for suffix in (_SPEED, _ACCELERATION))
    known = [TIME, *coordinates, *speeds, *accelerations, *(name + TORQUE for name in freedoms)]
    require_distinct(known)
    require_known(table, table.names, known, owner)
    q = columns_of(table, "coordinates", coordinates, owner)
    if not coordinates:
        raise table.error("has no column but the time")
    v = _part(table, "speeds", speeds, owner)
    a = _part(table, "accelerations", accelerations, owner)
    if a is not None and v is None:
        raise table.error("has accelerations but no speeds; give both, or neither")
    return coordinates, table.column(TIME), q, v, a


def require_known(table: NumberTable, names: Iterable[str], known: Sequence[str], owner: str) -> None:
    """Columns that are meant for joints have to be those of some."""
    owned = set(known)
    for name in names:
        if name not in owned:
            raise table.error(f"belongs to no joint of {owner}. {did_you_mean(name, known)}", column=name)


def columns_of(table: NumberTable, what: str, names: Sequence[str], owner: str) -> Array:
    """The columns of these names (rows, n), all of which have to be there."""
    there = set(table.names)
    missing = [name for name in names if name not in there]
    if missing:
        hint = did_you_mean(missing[0], table.names)
        raise table.error(f"lacks columns for {what} of {owner}: {shortened(missing)}. {hint}")
    return table.columns(names)


def require_times(table: NumberTable) -> None:
    """A column of at least two instants, which rise."""
    if TIME not in table.names:
        raise table.error(f"has no column '{TIME}' for the time in seconds; its columns are {shortened(table.names)}")
    t = table.column(TIME)
    if len(t) < 2:
        raise table.error(f"has {len(t)} row{'s' * (len(t) != 1)} of numbers; a motion needs at least two")
    stuck = np.flatnonzero(~(np.diff(t) > 0.0))
    if len(stuck):
        row = int(stuck[0]) + 1
        raise table.error(f"the time {t[row]:.9g} does not come after {t[row - 1]:.9g}; it must increase", row, TIME)


def _part(table: NumberTable, what: str, names: Sequence[str], owner: str) -> Array | None:
    """The columns of v or a, all or none."""
    return None if set(table.names).isdisjoint(names) else columns_of(table, what, names, owner)


def write(
    path: str | os.PathLike[str],
    robot: Robot | None,
    names: Sequence[str] | None,
    t: Array,
    states: tuple[Array, Array, Array],
    tau: Array | None = None,
    losses: Losses | None = None,
) -> None:
    """t, q, v, a, and tau if there is one, with their columns named; ``losses``: which of them tau covers."""
    q, v, a = states
    coordinates = tuple(names) if names is not None else tuple(f"q{k + 1}" for k in range(q.shape[1]))
    freedoms = coordinates if robot is None else names_of(robot)[1]
    header = (TIME, *coordinates, *(n + _SPEED for n in freedoms), *(n + _ACCELERATION for n in freedoms))
    torques = [] if tau is None else [tau]
    header += tuple(n + TORQUE for n in freedoms) if torques else ()
    write_table(path, header, np.column_stack([t, q, v, a, *torques]), losses_note(losses))


def write_torques(path: str | os.PathLike[str], robot: Robot, t: Array, tau: Array, *, losses: Losses) -> None:
    """t and a column per freedom; ``losses``: whether the torques cover damping and friction, or one of them."""
    write_table(path, [TIME, *names_of(robot)[1]], np.column_stack([t, tau]), losses_note(losses))


_LOSSES = "losses"
_WORDS: dict[Losses, str] = {True: "included", False: "excluded", "damping": "damping", "friction": "friction"}


def losses_note(losses: Losses | None) -> dict[str, str]:
    """What a file of torques says above its header, where that is known."""
    return {} if losses is None else {_LOSSES: _WORDS[losses]}


def losses_in(table: NumberTable) -> Losses | None:
    """Whether the torques of a file cover damping and friction, or one of them, if it says so."""
    said = table.notes.get(_LOSSES)
    if said is None:
        return None
    for losses, word in _WORDS.items():
        if said == word:
            return losses
    raise table.error(f"has the note '# {_LOSSES}: {said}'; it has to be one of {', '.join(_WORDS.values())}")
