"""Trajectories as CSV files: which columns there are, for a robot or without one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.losses import Losses
from recursa.errors import did_you_mean, shortened
from recursa.model.columns import coordinate_names, freedom_names
from recursa.sweeps.batching import Array
from recursa.trajectories.csv_numbers import NumberTable, read_table, require_distinct, write_table

if TYPE_CHECKING:
    from recursa.robot import Robot

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
