"""The verb ``recursa inverse``: torques for a motion, as a table, a file, a plot and a moving picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ACTUATED, BY_JOINT, METHOD, ROBOT
from recursa.cli.losses import WORDS, losses_options
from recursa.cli.root import open_robot, robot_options
from recursa.dynamics.wrenches import Losses
from recursa.errors import unknown_name
from recursa.model.columns import angular, coordinate_names, freedom_names
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Violation, violations
from recursa.trajectories.csv_files import write_torques
from recursa.trajectories.drives import Drive

_FINE = 501
_USUAL = "newton-euler"
_PANELS = ("angles", "speeds", "torques", "power")


@click.command()
@click.argument("robot", type=ROBOT)
@click.argument("trajectory", required=False, type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the torques as CSV.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw angles, speeds, torques, power (png, pdf, svg).")
@BY_JOINT(help="Draw the torques alone, a panel for each joint.")
@click.option("--gif", type=click.Path(path_type=Path), help="Draw the motion of the robot as an animated GIF.")
@click.option(
    "--method", type=METHOD, default="newton-euler", show_default=True, help="An algorithm of inverse dynamics."
)
@click.option("--samples", type=click.IntRange(2), help="Instants, evenly spread; else those of the file, or 201.")
@losses_options("Torques that cover damping and friction.  [default]", default=True)
@ACTUATED
@click.option("--to", "targets", multiple=True, metavar="NAME=VALUE", help="Instead of a file: a cycloid to there.")
@click.option("--from", "starts", multiple=True, metavar="NAME=VALUE", help="Where the cycloid starts, if not at zero.")
@click.option("--duration", type=float, help="Of the cycloid, s.  [default: 2]")
@robot_options
def inverse(
    robot: str,
    trajectory: Path | None,
    out: Path | None,
    plot: Path | None,
    by_joint: bool,
    gif: Path | None,
    method: Any,
    samples: int | None,
    losses: Losses,
    actuated: tuple[str, ...],
    targets: tuple[str, ...],
    starts: tuple[str, ...],
    duration: float | None,
    as_json: bool,
) -> None:
    """Torques for a motion: a CSV file, or a cycloid between two postures.

    \b
    Examples:
      recursa inverse arm.urdf moves.csv -o torque.csv --plot torque.png
      recursa inverse puma560 --to joint2=0.8 --to joint3=2.9 --duration 1.5 --gif arm.gif
      recursa inverse arm.dh.yaml moves.csv --method denoc --plot torque.png --by-joint
      recursa inverse stanford moves.csv --method tensor --no-losses --json

    TRAJECTORY has a column t and one by the name of each joint, in any order; joint:v and joint:a too, if they are
    known. What goes beyond a limit of the robot is told; the exit code stays 0. The torques are those of the drives,
    with which simulate --torque moves the robot along TRAJECTORY: they cover damping and friction unless --no-losses,
    and the first line of the CSV says which. A robot with constraints needs --actuated.
    """
    of = open_robot(robot)
    show.require_other_file(trajectory, out)
    motion = _motion(of, trajectory, targets, starts, duration)
    t = motion.times(samples or 201) if samples or trajectory is None else motion.knots
    q, v, a = motion.sample(t)
    torques = _torques(of, actuated, losses, method)
    tau = torques(q, v, a)
    fine = np.union1d(t, motion.times(_FINE))  # a file may have few instants, and its motion goes on between them
    between = motion.sample(fine)
    drawn = fine, *between[:2], torques(*between)
    files = _write(of, (t, tau), drawn, losses, out, plot, gif, by_joint=by_joint)
    beyond = violations(of, *drawn)
    rows = summary(of, t, v, tau)
    if as_json:
        show.print_json(_data(of, t, method, losses, rows, beyond, files))
        return
    shown = show.console()
    span = f"{t[0]:g} to {t[-1]:g} s, {len(t)} instants"
    shown.print(f"[bold]{escape(of.name)}[/]: {span}; method {method}, {WORDS[losses]}")
    show.put(shown, summary_table(rows))
    warn_of_limits(beyond)
    show.wrote(*files)


def _torques(robot: rc.Robot, actuated: tuple[str, ...], losses: Losses, method: Any) -> Callable[..., Array]:
    """Torques of all joints by a method, or of those that have motors."""
    if not (actuated or robot.constraints):
        return partial(robot.inverse_dynamics, losses=losses, method=method)
    if method != _USUAL:
        raise click.UsageError("--method is for robots whose joints all have motors; leave it out with --actuated.")
    return partial(Drive(robot, motors(robot, actuated)).torques, losses=losses)


def motors(robot: rc.Robot, actuated: tuple[str, ...]) -> tuple[str, ...] | None:
    """The joints of ``--actuated``; None for all, which a robot with constraints does not take."""
    if robot.constraints and not actuated:
        raise click.UsageError(
            f"robot '{robot.name}' has constraints: name each joint that has a motor, --actuated NAME. Its joints are "
            f"{', '.join(robot.joint_names)}"
        )
    return actuated or None


def _motion(
    robot: rc.Robot, file: Path | None, targets: tuple[str, ...], starts: tuple[str, ...], duration: float | None
) -> rc.Trajectory:
    if file is None and not targets:
        raise click.UsageError("which motion? Give a CSV file, or --to NAME=VALUE for a cycloid.")
    if file is not None:
        if targets or starts or duration is not None:
            raise click.UsageError("--to, --from and --duration are for a motion without a file.")
        return rc.Trajectory.from_csv(file, robot)
    start = entries(robot, starts, "--from", coordinates=True)
    end = entries(robot, targets, "--to", coordinates=True, others=start)
    return rc.Trajectory.cycloid(start, end, 2.0 if duration is None else duration, robot=robot)


def entries(
    robot: rc.Robot, texts: tuple[str, ...], option: str, *, coordinates: bool, others: Array | None = None
) -> Array:
    """``name=value`` as typed, as a q (``coordinates``) or v; what is not named is as in ``others``, or neutral or 0.

    Names are those of columns: a joint's, or for joints of several freedoms ``root.x`` (q), ``root.rx`` (v).
    """
    names = coordinate_names(robot.model) if coordinates else freedom_names(robot.model)
    result = np.array(others if others is not None else robot.neutral() if coordinates else np.zeros(robot.nv))
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise click.UsageError(
                f"{option} {text}: write NAME=VALUE, for example {names[-1] if names else 'joint2'}=0.8"
            )
        if name not in names:
            raise rc.UnknownNameError(f"{option} {text}: {_unknown_entry(robot, name, names)}")
        result[names.index(name)] = number
    return result


def _unknown_entry(robot: rc.Robot, name: str, names: tuple[str, ...]) -> str:
    own = [one for one in names if one.startswith(f"{name}.")]
    if own:
        return f"joint '{name}' has {len(own)} entries: {', '.join(own)}. Set each that is not 0, such as {own[0]}=0.1"
    return str(unknown_name("entry", name, names, owner=f"robot '{robot.name}'"))


def _write(
    robot: rc.Robot,
    torques: tuple[Any, Any],
    drawn: tuple[Any, Any, Any, Any],
    losses: Losses,
    out: Path | None,
    plot: Path | None,
    gif: Path | None,
    *,
    by_joint: bool,
) -> list[Path]:
    t, q, v, tau = drawn
    if out is not None:
        write_torques(out, robot, *torques, losses=losses)
    if plot is not None or gif is not None:
        from recursa.plotting import animate, plot_motion  # slow to import

        if plot is not None:
            panels = ("torques",) if by_joint else _PANELS
            plot_motion(robot, t, q, v, tau, panels=panels, path=plot, by_joint=by_joint)
        if gif is not None:
            animate(robot, t, q, gif)
    return [file for file in (out, plot, gif) if file is not None]


def summary(robot: rc.Robot, t: Any, v: Any, tau: Any) -> list[dict[str, Any]]:
    """Per freedom: the largest torque, when, the root of the mean square over time, speed, power, effort limit."""
    rows = []
    columns = zip(freedom_names(robot.model), angular(robot.model), robot.effort_limits.tolist(), strict=True)
    for k, (name, turns, effort) in enumerate(columns):
        torque, worst = tau[:, k], int(np.argmax(np.abs(tau[:, k])))
        limit = effort if math.isfinite(effort) else None
        rows.append(
            {
                "joint": name,
                "unit": "N m" if turns else "N",
                "peak": float(torque[worst]),
                "peak_time_s": float(t[worst]),
                "rms": math.sqrt(
                    float(np.diff(t) @ (torque[1:] ** 2 + torque[:-1] ** 2)) / (2.0 * float(t[-1] - t[0]))
                ),
                "peak_speed": float(np.abs(v[:, k]).max()),
                "peak_power_W": float(np.abs(torque * v[:, k]).max()),
                "effort_limit": limit,
                "exceeded": limit is not None and bool(np.abs(torque[worst]) > limit * (1 + 1e-9)),
            }
        )
    return rows


def summary_table(rows: list[dict[str, Any]]) -> Table:
    """The same for the eye."""
    level = 1e-13 * max((abs(row["peak"]) for row in rows), default=0.0)  # below it there is rounding only
    cells = []
    for row in rows:
        peak, rms, power = (x if abs(x) > level else 0.0 for x in (row["peak"], row["rms"], row["peak_power_W"]))
        when = f"{row['peak_time_s']:.4g}" if peak else "-"
        limit = "-" if row["effort_limit"] is None else f"{row['effort_limit']:g}"
        if row["exceeded"]:
            limit = f"[red]{limit} exceeded[/]"
        speed = f"{row['peak_speed']:.4g}"
        cells.append(
            (escape(row["joint"]), f"{peak:.4g}", when, f"{rms:.4g}", row["unit"], speed, f"{power:.4g}", limit)
        )
    columns = ("joint", "peak", "at, s", "rms", "unit", "speed", "power, W", "effort limit")
    caption = {"caption": "speed in rad/s or m/s; rms over the whole motion", "caption_justify": "left"}
    return show.table(columns, cells, left=("unit",), **caption)


def warn_of_limits(beyond: list[Violation]) -> None:
    """A line for each limit that a motion passes."""
    for one in beyond:
        click.echo(f"warning: {one}", err=True)


def limits_data(beyond: list[Violation]) -> list[dict[str, Any]]:
    """The same for scripts."""
    names = {"joint": "joint", "quantity": "quantity", "time_s": "time", "value": "value", "limit": "limit",
             "first_s": "first", "unit": "unit"}  # fmt: skip
    return [{key: getattr(one, name) for key, name in names.items()} for one in beyond]


def _data(
    robot: rc.Robot,
    t: Any,
    method: str,
    losses: Losses,
    rows: list[dict[str, Any]],
    beyond: list[Violation],
    files: Any,
) -> dict[str, Any]:
    return {
        "robot": robot.name,
        "start_s": float(t[0]),
        "end_s": float(t[-1]),
        "samples": len(t),
        "method": method,
        "losses": losses,
        "joints": rows,
        "beyond_limits": limits_data(beyond),
        "files": [str(file) for file in files],
    }
