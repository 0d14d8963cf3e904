"""Logs: what was measured on a robot over time, from arrays, runs or CSV files, with every doubt named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import StateError, unknown_name
from recursa.model.columns import freedom_names
from recursa.runs.run import Run
from recursa.sweeps.batching import Array
from recursa.trajectories import checks
from recursa.trajectories.coordinates import aligned, coordinate_rates
from recursa.trajectories.csv_files import (
    TIME,
    TORQUE,
    NumberTable,
    columns_of,
    names_of,
    read_table,
    require_known,
    require_times,
)

if TYPE_CHECKING:
    from recursa.robot import Robot

CURRENT = ":current"
KEYS = ("t", "q", "v", "a", "tau", "current", "payload")
"""What a log given as a mapping may have."""

GAP = 5.0
"""A step so many times the usual one is a gap."""

FEWEST = 20
"""Samples: with fewer nothing can be filtered, let alone identified."""

LARGEST = 1e50
"""Of any number in a log: squares of products of larger ones overflow."""

_DEGREES, _MILLIMETRES = 180.0 / np.pi, 1000.0
_PAYLOAD = ("link", "mass", "com", "inertia")


@dataclass(frozen=True, eq=False)
class Log:
    """Samples of one motion: t (n,), q (n, nq), and tau or current (n, nv); v, a (n, nv) where they were measured.

    ``payload``: a load of known mass that the robot carried, as the arguments of :meth:`recursa.Robot.with_payload`.
    """

    t: Array
    q: Array
    tau: Array
    v: Array | None = None
    a: Array | None = None
    current: bool = False  # whether tau is in ampere
    payload: Mapping[str, Any] = field(default_factory=dict)
    source: str = "the log"

    def __len__(self) -> int:
        return len(self.t)

    def loaded(self, robot: Robot) -> Robot:
        """The robot with the load that it carried."""
        return robot.with_payload(**self.payload) if self.payload else robot


Given = Any
"""A log as users have it: a mapping of arrays, a run, a DataFrame, the path of a CSV file, or a list of these."""


def logs_of(robot: Robot, given: Given) -> list[Log]:
    """One log or several, checked."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        found = [_log(robot, one, f"log {k}") for k, one in enumerate(given, 1)]
    else:
        found = [_log(robot, given, "the log")]
    if not found:
        raise StateError("there is no log: an empty list was given")
    if len({log.current for log in found}) > 1:
        raise StateError("some logs have torques and some have currents; give one or the other")
    for log in found:
        _require_sound(robot, log)
    return found


def _log(robot: Robot, given: Given, source: str) -> Log:
    if isinstance(given, Log):
        return given
    if isinstance(given, str | os.PathLike):
        return _from_table(robot, read_table(given), f"file '{os.fspath(given)}'")
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        return _from_table(robot, _frame(given, source), source)
    if isinstance(given, Run):
        if given.base is not None:
            raise StateError(f"{source}: its base was moved, which identification does not follow. Hold the base")
        given = {"t": given.t, "q": given.q, "v": given.v, "a": given.a, "tau": given.tau}
    if isinstance(given, Mapping):
        return _from_arrays(robot, given, source)
    raise StateError(
        f"{source} must be a mapping of arrays t, q and tau, a run, a DataFrame, the path of a CSV file, or a list "
        f"of these, not {type(given).__name__}"
    )


def _from_arrays(robot: Robot, given: Mapping[str, Any], source: str) -> Log:
    for key in given:
        if key not in KEYS:
            raise unknown_name("entry of a log", key, KEYS)
    current = "current" in given
    drive = "current" if current else "tau"
    if current and "tau" in given:
        raise StateError(f"{source} has both tau and current; give one of them")
    for key in ("t", "q", drive):
        if key not in given:
            raise StateError(f"{source} has no '{key}'; it needs t, q and tau (or current), and has {', '.join(given)}")
    q = checks.coordinates("q", given["q"], robot, rows=True)
    t = checks.instants(given["t"], len(q), "samples")
    rest = {
        key: checks.freedoms(key, given[key], robot, q, rows=True)
        for key in (drive, "v", "a")
        if given.get(key) is not None
    }
    payload = _payload(given.get("payload"), source)
    return Log(t, q, rest[drive], rest.get("v"), rest.get("a"), current, payload, source)


def _payload(given: Any, source: str) -> Mapping[str, Any]:
    """Return the load that the robot carried as arguments of ``with_payload``, empty where there is none."""
    if not given and given is not False:
        return {}
    if not isinstance(given, Mapping) or not {"link", "mass"} <= set(given) or not set(given) <= set(_PAYLOAD):
        got = ", ".join(map(repr, given)) if isinstance(given, Mapping) else repr(given)
        raise StateError(
            f"payload of {source} must be a mapping with 'link' and 'mass', and 'com' and 'inertia' where they are "
            f"known, not {got[:80]}"
        )
    return given


def _frame(frame: Any, source: str) -> NumberTable:
    """A DataFrame of pandas, over t or with a column of it, such as :meth:`recursa.Run.to_pandas` makes."""
    names = [str(name) for name in frame.columns]
    try:
        rows = np.asarray(frame.to_numpy(), float)
        if TIME not in names:
            names, rows = [TIME, *names], np.column_stack([np.asarray(frame.index, float), rows])
    except (TypeError, ValueError):
        raise StateError(f"{source} is a table whose columns, or index of times, are not all numbers") from None
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = wrong[0]
        raise StateError(f"{source} contains {rows[row, column]} (row {row}, '{names[column]}'); it must be finite")
    return NumberTable(source, tuple(names), rows, tuple(range(len(rows))))


def _from_table(robot: Robot, table: NumberTable, source: str) -> Log:
    """Columns t, one per coordinate, ``name:tau`` or ``name:current``, and ``name:v``, ``name:a`` where there are any.

    Other columns are left alone, unless their ending says that they are meant. The base of a floating robot needs no
    torques: without them nothing pushes it.
    """
    require_times(table)
    coordinates, freedoms = names_of(robot)
    owner = f"robot '{robot.name}'"
    q = columns_of(table, "coordinates", coordinates, owner)
    current = any(name.endswith(CURRENT) for name in table.names)
    ending = CURRENT if current else TORQUE
    endings = (":v", ":a", TORQUE, CURRENT)
    known = sorted(name + end for name in freedoms for end in endings)
    require_known(table, [name for name in table.names if name.endswith(endings)], known, owner)
    undriven = [k for k, name in enumerate(freedoms) if not driven(robot)[k] and name + ending not in table.names]
    wanted = [name + ending for k, name in enumerate(freedoms) if k not in undriven]
    tau = np.zeros((len(table.rows), robot.nv))
    tau[:, [k for k in range(robot.nv) if k not in undriven]] = columns_of(table, "torques", wanted, owner)
    parts = [
        columns_of(table, what, [name + end for name in freedoms], owner)
        if any(name.endswith(end) for name in table.names)
        else None
        for end, what in ((":v", "speeds"), (":a", "accelerations"))
    ]
    checked = checks.coordinates("q", q, robot, rows=True)
    return Log(table.column(TIME), checked, tau, parts[0], parts[1], current, {}, source)


def driven(robot: Robot) -> Array:
    """Which freedoms (nv,) have a drive, friction and armature: all but those of free joints."""
    joints = (joint for joint in robot.model.joints if joint.independent)
    return np.array([not joint.kind.is_free for joint in joints for _ in range(joint.kind.nv)], bool)


# ---- doubts ----------------------------------------------------------------------------------------------------------


def _require_sound(robot: Robot, log: Log) -> None:
    """Refuse what filters would turn into numbers that look fine: too few samples, gaps, wrong units."""
    if len(log) < FEWEST:
        raise StateError(f"{log.source} has {len(log)} samples; at least {FEWEST} are needed, and thousands are usual")
    steps = np.diff(log.t)
    usual = float(np.median(steps))
    widest = int(np.argmax(steps))
    if steps[widest] > GAP * usual:
        raise StateError(
            f"{log.source} has a gap of {steps[widest]:.4g} s after t = {log.t[widest]:.6g} s, where samples are "
            f"{usual:.4g} s apart. Give the parts before and after it as two logs, in a list"
        )
    _require_sizes(robot, log)
    _require_units(robot, log)
    _require_rates(robot, log)


def _require_sizes(robot: Robot, log: Log) -> None:
    """Refuse numbers with which no least-squares fit can calculate."""
    drive = "current" if log.current else "tau"
    for name, array in (("q", log.q), ("v", log.v), ("a", log.a), (drive, log.tau)):
        if array is not None and not np.abs(array).max(initial=0.0) <= LARGEST:
            column = int(np.argmax(np.abs(array).max(axis=0)))
            owner = (robot.q_names if name == "q" else robot.v_names)[column]
            raise StateError(
                f"{log.source}: {name} of '{owner}' reaches {np.abs(array[:, column]).max():.4g}, and numbers up to "
                f"{LARGEST:g} can be fitted. Is its unit right, and is the log undamaged?"
            )


def _require_units(robot: Robot, log: Log) -> None:
    """Positions far out of limits that degrees or millimetres would explain."""
    low, high = robot.position_limits
    for k, (name, unit) in enumerate(zip(robot.q_names, robot.q_units, strict=True)):
        least, most = float(log.q[:, k].min()), float(log.q[:, k].max())
        width = high[k] - low[k]
        if not np.isfinite(width) or (least >= low[k] - width and most <= high[k] + width):
            continue
        factor, word, right = (_DEGREES, "degrees", "rad") if unit == "rad" else (_MILLIMETRES, "millimetres", "m")
        hint = f"They look like {word}; give {right}" if _inside(least, most, low[k], high[k], factor) else "Is it q?"
        raise StateError(
            f"{log.source}: '{name}' goes from {least:.4g} to {most:.4g} {unit}, and its limits are {low[k]:.4g} and "
            f"{high[k]:.4g}. {hint}"
        )


def _inside(least: float, most: float, low: float, high: float, factor: float) -> bool:
    slack = 0.1 * (high - low)
    return bool(least / factor >= low - slack and most / factor <= high + slack)


def _require_rates(robot: Robot, log: Log) -> None:
    """Speeds that do not add up to the positions: other units, another order of joints."""
    if log.v is None:
        return
    q = aligned(robot.model, log.q)
    rates = coordinate_rates(robot.model, q, log.v, np.zeros_like(log.v))[0]
    steps = np.diff(log.t)[:, None]
    summed = np.concatenate([np.zeros((1, robot.nq)), np.cumsum(0.5 * steps * (rates[1:] + rates[:-1]), axis=0)])
    ways, sums = q - q.mean(axis=0), summed - summed.mean(axis=0)
    for name, way, total in zip(robot.q_names, ways.T, sums.T, strict=True):
        moved = max(_rms(way), _rms(total))
        if moved < _MOVED or _rms(way - total) <= _APART * moved:
            continue
        factor = _rms(total) / max(_rms(way), 1e-12)
        guess = "degrees per second" if abs(factor / _DEGREES - 1.0) < 0.2 else "another unit, or another joint's"
        raise StateError(
            f"{log.source}: the speeds of '{name}' do not add up to its positions: they come to {factor:.3g} times the "
            f"way. They look like {guess}; leave v out, and it is found from q"
        )


_MOVED = 1e-2  # rad or m: a joint that moves less stands still
_APART = 0.5  # of the way: by so much speeds and positions may disagree


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def still_joints(robot: Robot, logs: Sequence[Log]) -> list[str]:
    """Freedoms that no log moves."""
    ranges = []
    for log in logs:
        q = aligned(robot.model, log.q)
        ranges.append(np.abs(robot.difference(np.broadcast_to(q[0], q.shape), q)).max(axis=0))
    widest = np.max(ranges, axis=0)
    return [name for name, size in zip(freedom_names(robot.model), widest, strict=True) if size < _MOVED]
