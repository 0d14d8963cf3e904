"""Why there is no motion along a path: which joint, which limit, where, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recursa.errors import PathError
from recursa.model.columns import angular
from recursa.paths.limit_rows import NODES, Along, Kind, kinds, rows_of
from recursa.paths.passes import CAP, Rows
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

if TYPE_CHECKING:
    from recursa.robot import Robot

UNITS = {
    "effort": ("N m", "N"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s^2", "m/s^2"),
    "jerk": ("rad/s^3", "m/s^3"),
}
_ROUNDING = 1e-9
_OUTSIDE = 1e-9  # rad, m
_POSITIONS = "position limits"


def unit_of(robot: Robot, kind: Kind) -> str:
    """The unit of what a row limits."""
    return UNITS[kind.quantity][0 if angular(robot.model)[kind.freedom] else 1]


def require_positions(robot: Robot, along: Along, names: Sequence[str] = ("",)) -> None:
    """That the paths stay where the joints can be; names of the paths go before what is said of them."""
    kept = robot.evaluator.kept  # looked up once: a robot does not change
    if _POSITIONS not in kept:
        kept[_POSITIONS] = robot.position_limits
    low, high = kept[_POSITIONS]
    beyond = np.maximum(low - along.q, along.q - high)
    if not (beyond > _OUTSIDE).any():
        return
    _, row, k = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    path = int(np.searchsorted(np.cumsum(along.counts), row, side="right"))
    found = along.q[:, row, k]
    q = float(found[int(np.argmax(beyond[:, row, k]))])
    limit, place = float(low[k] if q < low[k] else high[k]), float(along.grid[along.starts[row]])
    raise PathError(
        f"{names[path]}joint '{robot.q_names[k]}': position {q:.6g} {robot.q_units[k]} near s = {place:.6g} is beyond "
        f"its limit {limit:.6g}; no timing helps, the path has to go elsewhere",
        robot.q_names[k], "position", place, q, limit,
    )  # fmt: skip


def unreachable(
    robot: Robot, along: Along, limits: Limits, bounds: Array, sets: Array, i: int, name: str = ""
) -> PathError:
    """The error for the interval of a path at which the controllable set is empty, or none moves."""
    rows = rows_of(along, limits, bounds, kept=True)
    low, high = rows.bounds[:, i]
    alone, _ = _least_excess(rows, i, (0.0, CAP), (0.0, CAP))
    given, row = _least_excess(rows, i, (low, high), sets[:, i + 1])
    because = ""
    if alone <= _ROUNDING:
        because = " at the speeds that the rest of the path leaves"
        if i == 0 and low == high > 0.0:
            because = f" with the start_speed {np.sqrt(low):.6g}"
    else:
        given, row = _least_excess(rows, i, (0.0, CAP), (0.0, CAP))
    columns = kinds(limits)
    kind = columns[row // NODES]
    limit = float(getattr(limits, kind.quantity)[kind.freedom])
    value = limit * (np.sqrt(1.0 + given) if kind.quantity == "velocity" else 1.0 + given)
    place, joint, unit = float(along.grid[i]), robot.v_names[kind.freedom], unit_of(robot, kind)
    text = (
        f"{name}no motion along the path is within the limits{because}: near s = {place:.6g} (from "
        f"{along.grid[0]:g} to {along.grid[-1]:g}) joint '{joint}' needs {kind.quantity} of at least {value:.6g} "
        f"{unit}, its limit is {limit:.6g} {unit}."
    )
    return PathError(text + _at_rest(robot, along, limits, i), joint, kind.quantity, place, float(value), limit)


def _at_rest(robot: Robot, along: Along, limits: Limits, i: int) -> str:
    """What holding still takes there, where that alone is too much."""
    held = np.abs(along.held[:, i]).max(axis=0)
    over = held / limits.effort
    k = int(np.argmax(over))
    if over[k] <= 1.0:
        return " A slower start or end, other points or larger limits may help"
    unit = unit_of(robot, Kind("effort", k, 1))
    return (
        f" Joint '{robot.v_names[k]}' would need {held[k]:.6g} {unit} merely to hold still there (limit "
        f"{limits.effort[k]:.6g}): a lighter load or another posture is needed"
    )


def _least_excess(
    rows: Rows, i: int, bounds: tuple[float, float] | Array, after: tuple[float, float] | Array
) -> tuple[float, int]:
    """The least part of a limit by which some row must be exceeded, and the row: a small linear program."""
    from scipy.optimize import linprog

    A, B, C, d = rows.A[i], rows.B[i], rows.C[i], rows.doubled[i]
    scale = 1.0 / max(float(np.abs(B).max()), 1e-300)  # of x
    real = np.abs(A) + np.abs(B) + np.abs(C + 1.0) > 0.0
    table = np.stack([A * scale / d, B * scale, -np.ones(len(A))], axis=1)[real]
    ends = np.array([[scale, scale, 0.0], [-scale, -scale, 0.0]])
    sides = np.array([min(after[1], CAP), -after[0]])
    keep = np.abs(sides) < CAP
    found = linprog(
        [0.0, 0.0, 1.0],
        A_ub=np.concatenate([table, ends[keep]]),
        b_ub=np.concatenate([-C[real], sides[keep]]),
        bounds=[(None, None), (bounds[0] / scale, None if bounds[1] >= CAP else bounds[1] / scale), (-1.0, None)],
    )
    if not found.success:
        return 0.0, 0
    u, x = found.x[0] * scale / d, found.x[1] * scale
    excess = np.where(real, A * u + B * x + C, -np.inf)
    return float(found.x[2]), int(np.argmax(excess))
