"""The verb ``recursa ik``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from rich.markup import escape

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT
from recursa.cli.root import open_robot, robot_options
from recursa.errors import StateError, unknown_name
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.sweeps.batching import Array

# ---- goals of ``recursa ik`` from text: "position flange 0.3 0.2 0.4 priority=1" -------------------------------------


_QUATERNION = 1e-3  # by which the norm of one that was typed may miss 1
Numbers = Sequence[float]


@dataclass(frozen=True)
class Form:
    """How a kind of goal is written: how many links, how many numbers (one of these), and what they make."""

    links: int
    counts: tuple[int, ...]
    make: Callable[..., rc.reach.Goal]


FORMS: dict[str, Form] = {
    "pose": Form(1, (7,), lambda link, x, **more: rc.reach.Pose(link, _pose(x), **more)),
    "orientation": Form(1, (4,), lambda link, x, **more: rc.reach.Orientation(link, _rotation(x), **more)),
    "position": Form(1, (3,), lambda link, x, **more: rc.reach.Position(link, x, **more)),
    "plane": Form(1, (6,), lambda link, x, **more: rc.reach.Plane(link, x[:3], x[3:], **more)),
    "line": Form(1, (6,), lambda link, x, **more: rc.reach.Line(link, x[:3], x[3:], **more)),
    "look-at": Form(1, (3, 6), lambda link, x, **more: rc.reach.LookAt(link, x[:3], _axis(x), **more)),
    "along": Form(1, (3, 6), lambda link, x, **more: rc.reach.Along(link, x[:3], _axis(x), **more)),
    "center-of-mass": Form(0, (3,), lambda x, **more: rc.reach.CenterOfMass(x, **more)),
    "relative": Form(2, (7,), lambda link, to, x, **more: rc.reach.Relative(link, to, _pose(x), **more)),
}


def goal(text: str) -> rc.reach.Goal:
    """A goal as it is typed: kind, links, numbers, and perhaps priority= and weight=."""
    kind, *words = text.replace(",", " ").split() or [""]
    if kind not in FORMS:
        raise unknown_name("kind of goal", kind, FORMS)
    form = FORMS[kind]
    options = [word for word in words if "=" in word]
    words = [word for word in words if "=" not in word]
    if len(words) < form.links:
        raise StateError(f'goal "{text}": expected {form.links} name{"s" * (form.links > 1)} of links and numbers')
    links, numbers = words[: form.links], _numbers(text, words[form.links :], form.counts)
    return form.make(*links, numbers, **dict(_option(text, option) for option in options))


def _option(text: str, option: str) -> tuple[str, Any]:
    name, _, value = option.partition("=")
    if name not in ("priority", "weight"):
        raise unknown_name("option of a goal", name, ("priority", "weight"))
    try:
        return name, int(value) if name == "priority" else float(value)
    except ValueError:
        raise StateError(f'goal "{text}": {name} must be a number, not "{value}"') from None


def _numbers(text: str, words: Sequence[str], counts: tuple[int, ...]) -> Numbers:
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise StateError(f'goal "{text}": these are not all numbers') from None
    if len(values) not in counts or not np.isfinite(values).all():
        raise StateError(f'goal "{text}": expected {" or ".join(map(str, counts))} finite numbers')
    return values


def _axis(numbers: Numbers) -> Numbers:
    return numbers[3:] or (0.0, 0.0, 1.0)


def _pose(numbers: Numbers) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = _rotation(numbers[3:]), numbers[:3]
    return matrix


def _rotation(numbers: Numbers) -> Array:
    x, y, z, w = numbers
    norm = float(np.sqrt(x * x + y * y + z * z + w * w))
    if abs(norm - 1.0) > _QUATERNION:
        raise StateError(
            f"the quaternion (x, y, z, w) = ({x:g}, {y:g}, {z:g}, {w:g}) has length {norm:.6g}, expected 1"
        )
    return np.array([tuple(row) for row in Rotation.from_quaternion(Quaternion(x, y, z, w)).rows()])


@click.command()
@click.argument("robot", type=ROBOT)
@click.option("--link", help="The link or frame to be moved by --pose or --position.")
@click.option("--pose", metavar='"x y z qx qy qz qw"', help="Where to: position in m, quaternion, world axes.")
@click.option("--position", metavar='"x y z"', help="Instead: only where to; its axes may point anywhere.")
@click.option("--goal", "goals", multiple=True, metavar='"KIND LINK NUMBERS"', help="A goal, as below; any number.")
@click.option("--from", "starts", multiple=True, metavar="NAME=VALUE", help="Where the joints are; else anywhere.")
@click.option("--hold", multiple=True, metavar="JOINT", help="A joint that stays where --from says (or at zero).")
@click.option("--posture", "likings", multiple=True, metavar="NAME=VALUE", help="Positions preferred among solutions.")
@click.option("--restarts", type=click.IntRange(0, 63), default=47, show_default=True, help="Further starts to try.")
@click.option("--tolerance", type=float, default=1e-8, show_default=True, help="In m and rad.")
@robot_options
def ik(
    robot: str,
    link: str | None,
    pose: str | None,
    position: str | None,
    goals: tuple[str, ...],
    starts: tuple[str, ...],
    hold: tuple[str, ...],
    likings: tuple[str, ...],
    restarts: int,
    tolerance: float,
    as_json: bool,
) -> None:
    """Inverse kinematics: joint positions that put links where they are wanted, within the limits.

    \b
    Examples:
      recursa ik panda_like --link flange --pose "0.4 0.1 0.5 1 0 0 0"
      recursa ik puma560 --link link6 --position "0.3 0.2 0.4" --from joint2=0.5
      recursa ik arm.urdf --link tool --position "0.3 0 0.4" --json
      recursa ik panda_like --goal "look-at flange 0.5 0 0" --goal "plane flange 0 0 0.5 0 0 1"

    \b
    Goals (points and directions in world axes; append priority=1 or weight=2 where wanted):
      pose LINK x y z qx qy qz qw          orientation LINK qx qy qz qw
      position LINK x y z                  plane LINK x y z nx ny nz
      line LINK x y z dx dy dz             along LINK dx dy dz [ax ay az]
      look-at LINK x y z [ax ay az]        center-of-mass x y z
      relative LINK OTHER x y z qx qy qz qw

    The axis (ax, ay, az) is the link's own, its z unless told. Exit code 0 where all was reached, 1 where not: the
    answer is then the nearest that was found. 2 for bad input.
    """
    from recursa.cli.motion_commands import entries

    wanted = [goal(text) for text in (*_short_forms(link, pose, position), *goals)]
    if not wanted:
        raise click.UsageError("say where to: either --pose or --position of a --link, or a --goal")
    chosen = open_robot(robot)
    start = entries(chosen, starts, "--from", coordinates=True) if starts or hold else None
    posture = entries(chosen, likings, "--posture", coordinates=True) if likings else None
    found = rc.inverse_kinematics(
        chosen, wanted, q0=start, hold=hold, posture=posture, restarts=restarts, tolerance=tolerance
    )
    if as_json:
        show.print_json(_told(chosen, link, found))
    else:
        _show(chosen, found)
    sys.exit(0 if found.solved else 1)


def _short_forms(link: str | None, pose: str | None, position: str | None) -> list[str]:
    """What --link, --pose and --position say, as goals."""
    if (pose is None) == (position is None) and (link is not None or pose is not None):
        raise click.UsageError("say where to: either --pose or --position")
    if pose is None and position is None:
        return []
    if link is None:
        raise click.UsageError("say with --link what is to be there")
    return [f"pose {link} {pose}" if pose is not None else f"position {link} {position}"]


def _told(robot: rc.Robot, link: str | None, found: rc.InverseKinematics) -> dict[str, Any]:
    """The answer as data."""
    names = dict(zip(robot.q_names, found.q.tolist(), strict=True))
    held = [name for name, one in zip(robot.v_names, found.held_by, strict=True) if one]
    goals = [
        {"goal": repr(one), "met": bool(met), "error": error.tolist()}
        for one, met, error in zip(found.goals, found.met, found.errors, strict=True)
    ]
    return {
        "robot": robot.name, "link": link, "solved": bool(found.solved), "q": names, "error": found.error.tolist(),
        "distance": float(found.distance), "angle": float(found.angle), "iterations": int(found.iterations),
        "held_by": held, "goals": goals,
    }  # fmt: skip


def _show(robot: rc.Robot, found: rc.InverseKinematics) -> None:
    out = show.console()
    out.print(escape(str(found)), highlight=False)
    low, high = robot.position_limits
    rows = []
    for name, value, unit, *limits in zip(robot.q_names, found.q, robot.q_units, low, high, strict=True):
        shown = (f"{limit:.6g}" if np.isfinite(limit) else "" for limit in limits)
        rows.append((escape(name), f"{value:.8f} {unit}", *shown))
    table = show.table(("coordinate", "q", "lowest", "highest"), rows)
    show.put(out, table)
