"""The verbs about motions: demo, inverse, simulate, plot."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from recursa.cli import show
from recursa.cli.group import METHOD, ROBOT
from recursa.cli.losses import losses_options
from recursa.cli.root import JSON, open_robot, robot_options
from recursa.integrators import names
from recursa.results import saved_run

BY_JOINT = partial(click.option, "--by-joint", is_flag=True)


@click.command()
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo-output"), show_default=True,
    help="The folder for pictures, animations and results.",
)  # fmt: skip
@click.option("--space", is_flag=True, help="A space robot instead: an arm moves, the bus turns, momentum stays.")
@click.option("--loops", is_flag=True, help="The bundled mechanisms instead: loops stay closed while they move.")
@JSON
def demo(out: Path, space: bool, loops: bool, as_json: bool) -> None:
    """The two arms of Saha's paper: torques along a motion, then let fall; pictures, animations, results.

    \b
    Examples:
      recursa demo
      recursa demo --out demo-output
      recursa demo --space
      recursa demo --loops
      recursa demo --json > summary.json
    """
    if space and loops:
        raise click.UsageError("--space and --loops are two demonstrations: take one of them")
    if loops:
        from recursa.cli.loops_demo import run_loops_demo

        run_loops_demo(out, as_json)
        return
    if space:
        from recursa.cli.space_demo import run_space_demo

        run_space_demo(out, as_json)
        return
    from recursa.cli.demo import run_demo

    run_demo(out, as_json)


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
@click.option("--to", "targets", multiple=True, metavar="NAME=VALUE", help="Instead of a file: a cycloid to there.")
@click.option("--from", "starts", multiple=True, metavar="NAME=VALUE", help="Where the cycloid starts, if not at zero.")
@click.option("--duration", type=float, help="Of the cycloid, s.  [default: 2]")
@robot_options
def inverse(robot: str, floating: bool | None, mimic: str, as_json: bool, **options: Any) -> None:
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
    and the first line of the CSV says which.
    """
    from recursa.cli.motion import run_inverse

    run_inverse(open_robot(robot, floating=floating, mimic=mimic), as_json, **options)


@click.command()
@click.argument("robot", required=False, type=ROBOT)
@click.option("--duration", type=float, help="Seconds.")
@click.option(
    "--torque", type=click.Path(path_type=Path), help="CSV: t, and a column per joint; the last row holds on."
)
@click.option("--between", type=click.Choice(["linear", "cubic", "hold"]), help="Its rows.  [default: linear]")
@click.option("--state", metavar="S.json", help='Where it starts, {"q": ..., "v": ...}; - is standard input.')
@click.option("--q0", multiple=True, metavar="NAME=VALUE", help="Where it starts; else neutral.")
@click.option("--v0", multiple=True, metavar="NAME=VALUE", help="How fast, such as root.rx=1; else at rest.")
@click.option("--integrator", help=f"{', '.join(names('simulate'))}.  [default: dop853]")
@click.option("--rtol", type=float, help="Of adaptive integrators.  [default: 1e-10]")
@click.option("--atol", type=float, help="Of adaptive integrators.  [default: 1e-12]")
@click.option("--step", type=float, help="Fixed, s (default 0.001); of adaptive integrators the longest.")
@click.option("--samples", type=int, help="So many, evenly spread; else one per step.")
@click.option("--save-every", type=int, help="Every so many steps one sample.")
@click.option("--stops", is_flag=True, help="Springs and dampers at joint limits.")
@losses_options("Damping and friction act.  [default: as --torque says, else they do]", default=None)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The result: .h5 (all of it), .csv or .npz.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw angles, speeds, torques, energy (png, pdf, svg).")
@BY_JOINT(help="Draw the positions alone, a panel for each joint.")
@click.option("--gif", type=click.Path(path_type=Path), help="Draw the motion of the robot as an animated GIF.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with a run that was cut short.")
@click.option("--restart", is_flag=True, help="Start again, although a run that was cut short could go on.")
@click.option("--checkpoint-every", type=float, metavar="SECONDS", help="By the clock; 0: every step.  [default: 10]")
@robot_options
def simulate(robot: str | None, floating: bool | None, mimic: str, as_json: bool, **options: Any) -> None:
    """How a robot moves from a state, under torques from a file, or none.

    \b
    Examples:
      recursa simulate stanford --duration 2 --q0 joint2=1.5708 -o fall.h5 --plot fall.png
      recursa simulate arm.urdf --duration 10 --torque torque.csv --state S.json -o run.h5
      recursa simulate --resume run.h5

    While it runs, what there is of it goes to RUN.part; after Ctrl-C or a crash --resume goes on from there, and the
    result is the same to the bit. Joints pass their limits unless --stops; which, when and how far is told. Exit code
    0: to the end, 1: interrupted or failed (what there is is written), 2: bad input.
    """
    from recursa.cli.simulate import run_simulate

    chosen = None if robot is None else partial(open_robot, robot, floating=floating, mimic=mimic)
    run_simulate(chosen, as_json, **options)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Angles, speeds, torques, energy (png, pdf, svg).")
@BY_JOINT(help="The positions alone, a panel for each joint.")
@click.option("--gif", type=click.Path(path_type=Path), help="The motion of the robot as an animated GIF.")
@JSON
def plot(run: Path, out: Path | None, by_joint: bool, gif: Path | None, as_json: bool) -> None:
    """Draw a result of recursa simulate.

    \b
    Examples:
      recursa plot run.h5 -o run.png
      recursa plot run.h5 --gif run.gif
    """
    from recursa.cli.runs import draw, require_drawable

    if out is None and gif is None:
        raise click.UsageError("where to? Add -o FILE.png or --gif FILE.gif.")
    require_drawable(out, gif)
    files = [str(file) for file in draw(saved_run(run), out, gif, by_joint=by_joint)]
    if as_json:
        click.echo(show.json_text({"wrote": files}))
        return
    for file in files:
        click.echo(f"wrote {file}")
