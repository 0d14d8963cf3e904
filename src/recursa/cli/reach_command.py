"""The verb ``recursa ik``."""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT
from recursa.cli.root import open_robot, robot_options
from recursa.errors import StateError
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.sweeps.batching import Array

_QUATERNION = 1e-3  # by which the norm of one that was typed may miss 1


@click.command()
@click.argument("robot", type=ROBOT)
@click.option("--link", required=True, help="The link or frame to be moved.")
@click.option("--pose", metavar='"x y z qx qy qz qw"', help="Where to: position in m, quaternion, world axes.")
@click.option("--position", metavar='"x y z"', help="Instead: only where to; its axes may point anywhere.")
@click.option("--from", "starts", multiple=True, metavar="NAME=VALUE", help="Where the joints are; else anywhere.")
@click.option("--restarts", type=click.IntRange(0, 63), default=47, show_default=True, help="Further starts to try.")
@click.option("--tolerance", type=float, default=1e-8, show_default=True, help="In m and rad.")
@robot_options
def ik(
    robot: str,
    link: str,
    pose: str | None,
    position: str | None,
    starts: tuple[str, ...],
    restarts: int,
    tolerance: float,
    floating: bool | None,
    mimic: str,
    as_json: bool,
) -> None:
    """Inverse kinematics: joint positions that put a link where it is wanted, within the limits.

    \b
    Examples:
      recursa ik panda_like --link flange --pose "0.4 0.1 0.5 1 0 0 0"
      recursa ik puma560 --link link6 --position "0.3 0.2 0.4" --from joint2=0.5
      recursa ik arm.urdf --link tool --position "0.3 0 0.4" --json

    Exit code 0 where it was reached, 1 where not: the answer is then the nearest that was found. 2 for bad input.
    """
    from recursa.cli.motion import entries

    if (pose is None) == (position is None):
        raise click.UsageError("say where to: either --pose or --position")
    chosen = open_robot(robot, floating=floating, mimic=mimic)
    target = _point(position) if position is not None else _pose(str(pose))
    task: Any = "pose" if position is None else "position"
    start = entries(chosen, starts, "--from", coordinates=True) if starts else None
    found = rc.inverse_kinematics(chosen, link, target, start, task=task, restarts=restarts, tolerance=tolerance)
    if as_json:
        names = dict(zip(chosen.q_names, found.q.tolist(), strict=True))
        held = [name for name, one in zip(chosen.v_names, found.held_by, strict=True) if one]
        told = {"solved": bool(found.solved), "q": names, "error": found.error.tolist(), "held_by": held}
        show.print_json({"robot": chosen.name, "link": link, **told})
    else:
        _show(chosen, found)
    sys.exit(0 if found.solved else 1)


def _numbers(option: str, text: str, count: int) -> list[float]:
    try:
        values = [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise StateError(f'{option} "{text}": these are not all numbers') from None
    if len(values) != count or not np.isfinite(values).all():
        raise StateError(f'{option} "{text}": expected {count} finite numbers')
    return values


def _point(text: str) -> Array:
    return np.array(_numbers("--position", text, 3))


def _pose(text: str) -> Array:
    *position, x, y, z, w = _numbers("--pose", text, 7)
    norm = float(np.sqrt(x * x + y * y + z * z + w * w))
    if abs(norm - 1.0) > _QUATERNION:
        raise StateError(f'--pose "{text}": the quaternion (x, y, z, w) has length {norm:.6g}, expected 1')
    matrix = np.eye(4)
    matrix[:3, :3] = [tuple(row) for row in Rotation.from_quaternion(Quaternion(x, y, z, w)).rows()]
    matrix[:3, 3] = position
    return matrix


def _show(robot: rc.Robot, found: rc.InverseKinematics) -> None:
    out = show.console()
    out.print(escape(str(found)), highlight=False)
    table = Table()
    table.add_column("coordinate")
    for title in ("q", "lowest", "highest"):
        table.add_column(title, justify="right")
    low, high = robot.position_limits
    for row in zip(robot.q_names, found.q, robot.q_units, low, high, strict=True):
        name, value, unit, least, most = row
        limits = ("" if not np.isfinite(limit) else f"{limit:.6g}" for limit in (least, most))
        table.add_row(escape(name), f"{value:.8f} {unit}", *limits)
    show.put(out, table)
