"""The verb ``recursa time``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ACTUATED, ROBOT
from recursa.cli.losses import losses_options
from recursa.cli.motion_commands import motors
from recursa.cli.root import open_robot, robot_options
from recursa.trajectories.csv_files import TIME, columns_of, read_table


@click.command()
@click.argument("robot", type=ROBOT)
@click.argument("points", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the motion as CSV: t, q, v, a.")
@click.option("--samples", type=click.IntRange(2), default=401, show_default=True, help="Instants in the CSV.")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw speed over place, and what holds it (png, pdf, svg)."
)
@click.option("--velocity", type=float, help="For all joints, rad/s or m/s; else the robot's limits.")
@click.option("--acceleration", type=float, help="For all joints, rad/s^2 or m/s^2; else none.")
@click.option("--jerk", type=float, help="For all joints, rad/s^3 or m/s^3; else none.")
@click.option("--lines", is_flag=True, help="Straight from point to point, rather than a spline.")
@click.option("--blend", type=float, default=0.0, help="How far before and after corners of lines these are left.")
@ACTUATED
@losses_options("Torques cover damping and friction.  [default]", default=True)
@robot_options
def time(
    robot: str,
    points: Path,
    out: Path | None,
    samples: int,
    plot: Path | None,
    lines: bool,
    blend: float,
    actuated: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """The fastest motion through points within the robot's limits, and which limit holds it where.

    \b
    Examples:
      recursa time arm.urdf points.csv -o moves.csv --plot speed.png
      recursa time panda_like points.csv --acceleration 15 --jerk 500
      recursa time arm.urdf moves.csv --lines --blend 0.1 --json

    POINTS has a column by the name of each joint and a row for each point. With a column t too it is a motion, whose
    way is kept and whose times are not. Limits of velocity and effort are the robot's. A robot with constraints and
    limits of effort needs --actuated.
    """
    chosen = open_robot(robot)
    limited = np.isfinite(chosen.effort_limits).any()
    driven = motors(chosen, actuated) if limited else actuated or None
    motion = rc.time_optimal(chosen, _path(chosen, points, lines, blend), actuated=driven, **options)
    if out is not None:
        motion.to_csv(out, motion.times(samples))
    if plot is not None:
        motion.timing.plot(plot)
    held = motion.timing.active
    if as_json:
        rows = [
            {"joint": one.joint, "quantity": one.quantity, "limit": one.limit, "times": one.times, "places": one.places}
            for one in held
        ]
        files = [str(file) for file in (out, plot) if file is not None]
        show.print_json({"robot": chosen.name, "duration": motion.duration, "active": rows, "files": files})
        return
    shown = show.console()
    shown.print(f"[bold]{escape(chosen.name)}[/]: {motion.duration:.6g} s", highlight=False)
    cells = (
        (*(f"{t:.4f}" for t in one.times), escape(f"{one.quantity} of {one.joint}"), f"{one.limit:g} {one.unit}")
        for one in held
    )
    table = show.table(("from t, s", "to t, s", "held by", "at"), cells, left=("held by",))
    show.put(shown, table)
    show.wrote(out, plot)


def _path(robot: rc.Robot, file: Path, lines: bool, blend: float) -> rc.Path:
    """Through the rows of a file; with times, the way of its motion."""
    table = read_table(file)
    if TIME in table.names and not lines:
        return rc.Path.of(rc.Trajectory.from_csv(file, robot))
    points = columns_of(table, "joints", robot.q_names, f"robot '{robot.name}'")
    return rc.Path(points, kind="lines" if lines else "spline", blend=blend, robot=robot)
