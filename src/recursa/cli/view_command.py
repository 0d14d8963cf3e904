"""The verb that shows: a robot, a run or a trajectory as a page, opened in the browser."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import click

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT
from recursa.cli.motion_commands import entries
from recursa.cli.root import open_robot, robot_options
from recursa.files import known_suffix, named_file, write_together
from recursa.results import saved_run
from recursa.view.page import ENDINGS, open_in_browser


@click.command()
@click.argument("what", type=ROBOT)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The page.  [default: the name of WHAT, .html]")
@click.option("--open/--no-open", "opening", default=True, help="Open it in the browser.  [default: open]")
@click.option("--robot", type=ROBOT, help="For a trajectory in a CSV file: the robot that moves.")
@click.option("--ghost", type=click.Path(path_type=Path), metavar="RUN.npz", help="With a run: another one beside it.")
@click.option("--q0", multiple=True, metavar="NAME=VALUE", help="With a robot: where it begins; else neutral.")
@click.option("--meshes/--no-meshes", default=True, help="Meshes as part of the page.  [default: with them]")
@click.option("--serve", is_flag=True, help="Serve it to this machine, until Ctrl-C; formulas can be typed.")
@robot_options
def view(
    what: str,
    out: Path | None,
    opening: bool,
    robot: str | None,
    ghost: Path | None,
    q0: tuple[str, ...],
    meshes: bool,
    serve: bool,
    as_json: bool,
) -> None:
    """Show a robot, a run or a trajectory in the browser: one page that needs no network and can be mailed.

    \b
    Examples:
      recursa view puma560
      recursa view arm.urdf --assets meshes/ --q0 elbow=0.5 -o arm.html --no-open
      recursa view run.npz --ghost other.npz
      recursa view moves.csv --robot puma560

    In the page the robot can be turned, posed, let go and pulled: its own dynamics run in it. WHAT is a robot, a
    result of recursa simulate (.npz), or a trajectory (.csv) with --robot.
    """
    place = Path(f"{Path(what).stem}.html") if out is None else out
    kind = Path(what).suffix.lower()
    if ghost is not None and kind != ".npz":
        raise click.UsageError("--ghost goes with a run, such as run.npz")
    if serve and (out is not None or ghost is not None):
        raise click.UsageError("--serve writes no page and shows one motion: leave out -o and --ghost")
    if robot is not None and kind != ".csv":
        raise click.UsageError("--robot goes with a trajectory, such as moves.csv")
    motion: rc.Run | rc.Trajectory | None = None
    q = None
    if kind == ".npz":
        motion = saved_run(what)
        of = motion.robot
    else:
        of = open_robot(robot or what, strict=False)
        if robot is not None:
            motion = rc.Trajectory.from_csv(what, of)
        elif q0:
            q = entries(of, q0, "--q0", coordinates=True)
    if serve:
        _serve(of, motion, q, meshes, opening)
        return
    if motion is None:
        file = of.to_html(place, q, meshes=meshes)
    elif isinstance(motion, rc.Run):
        file = motion.to_html(place, ghost=None if ghost is None else saved_run(ghost), meshes=meshes)
    else:
        file = motion.to_html(place, meshes=meshes)
    _told(file, opening and open_in_browser(file.resolve().as_uri()), as_json)


def _serve(robot: rc.Robot, motion: Any, q: Any, meshes: bool, opening: bool) -> None:
    """Until the keyboard says stop."""
    with robot.view(q, meshes=meshes, open=opening) as page:
        if motion is not None:
            page.play(motion)
        click.echo(f"{page.url} (on this machine only; Ctrl-C ends it)")
        wait_for_the_keyboard()


def wait_for_the_keyboard() -> None:
    """Until Ctrl-C."""
    threading.Event().wait()


def write_formulas(robot: rc.Robot, told: list[rc.Explanation], out: Path, as_json: bool) -> None:
    """The page of formulas, which ``recursa explain -o`` writes."""
    from recursa.view.formula_desk import formula_page

    file = known_suffix(named_file(out), ENDINGS)
    write_together({file: formula_page(robot, told)})
    _told(file, False, as_json)


def _told(file: Path, opened: bool, as_json: bool) -> None:
    size = file.stat().st_size
    data: dict[str, Any] = {"wrote": str(file), "bytes": size, "opened": opened}
    if as_json:
        show.print_json(data)
        return
    click.echo(f"wrote {file} ({size / 1e6:.1f} MB){'' if opened else '; open it in a browser'}")
