"""The verbs ``recursa excite`` and ``recursa identify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT
from recursa.cli.root import open_robot, robot_options
from recursa.errors import printable

TERMS = ("inertia", "viscous", "coulomb", "armature", "offset", "stribeck", "torque constant")


@click.command()
@click.argument("robot", type=ROBOT)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the motion as CSV, 100 rows a second.")
@click.option("--duration", type=float, default=10.0, show_default=True, help="Of a period, s.")
@click.option("--harmonics", type=click.IntRange(2), default=5, show_default=True, help="Of the Fourier series.")
@click.option("--criterion", type=click.Choice(["condition", "determinant"]), default="condition", show_default=True)
@click.option("--velocity", type=float, help="The largest speed of every joint, rad/s or m/s.  [default: its limit]")
@click.option(
    "--acceleration", type=float, help="The largest acceleration.  [default: four times the speed per second]"
)
@click.option("--margin", type=float, default=0.05, show_default=True, help="The share of every limit kept free.")
@click.option("--rounds", type=click.IntRange(0), default=30, show_default=True, help="Steps of the search.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random motions it starts from.")
@robot_options
def excite(robot: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """A motion that excites all parameters of a robot, for identification; within its limits, from rest to rest.

    \b
    Examples:
      recursa excite panda_like --duration 10 -o excite.csv
      recursa excite arm.urdf --velocity 0.8 --criterion determinant -o excite.csv

    Obstacles and the robot's own body are not looked at: watch it first, recursa view excite.csv.
    """
    chosen = open_robot(robot)
    motion = rc.excitation(chosen, **options)
    if out is not None:
        motion.to_csv(out, motion.times(max(2, round(100 * motion.duration) + 1)))
    if as_json:
        names = ("condition", "log_determinant", "random_condition", "random_log_determinant")
        show.print_json({"robot": chosen.name, "duration": motion.duration, **{n: getattr(motion, n) for n in names}})
        return
    click.echo(click.wrap_text(str(motion), show.line_width()))
    show.wrote(out)


@click.command()
@click.argument("robot", type=ROBOT)
@click.argument("logs", type=click.Path(), nargs=-1, required=True, metavar="LOG.csv...")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the identified robot, as JSON of our own.")
@click.option("--fit", "terms", multiple=True, type=click.Choice(TERMS), help="What to identify; can be repeated.")
@click.option("--payload-at", metavar="LINK", help="Identify a load at this link alone; the robot is known.")
@click.option(
    "--method", type=click.Choice(["entropic", "conic", "base"]), default="entropic", show_default=True,
    help="How parameters become those of a real robot; base: not at all.",
)  # fmt: skip
@click.option("--prior", type=float, default=1.0, show_default=True, help="How well the file is known, relative.")
@click.option("--cutoff", type=float, help="Of the filters, Hz.  [default: where noise begins]")
@click.option("--holdout", type=float, default=0.2, show_default=True, help="The share of a log to check with.")
@click.option("--unexcited", type=click.Choice(["refuse", "prior"]), default="refuse", show_default=True,
              help="Where the motion does not tell parameters apart.")  # fmt: skip
@click.option("--torque-constant", type=float, help="Of currents in the log, N m/A, the same for all joints.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Draw measured and told torques (png, pdf).")
@click.option("--base", "show_base", is_flag=True, help="List the base parameters with their deviations, too.")
@robot_options
def identify(
    robot: str,
    logs: tuple[str, ...],
    out: Path | None,
    terms: Any,
    torque_constant: float | None,
    picture: Path | None,
    show_base: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Masses, inertias, friction and armature of a robot from logs of its motion.

    \b
    Examples:
      recursa identify arm.urdf log.csv -o arm.robot.json --plot torques.png
      recursa identify arm.urdf log.csv --payload-at hand
      recursa identify arm.urdf log1.csv log2.csv --fit inertia --fit viscous --json

    LOG.csv has a column t, one by the name of each joint, and joint:tau (or joint:current); joint:v and joint:a too, if
    they were measured. The file itself stays as it is.
    """
    chosen = open_robot(robot)
    for log in logs:
        show.require_other_file(Path(log), out)
    found = rc.identify(chosen, list(logs), fit=terms or None, torque_constants=torque_constant, **options)
    if out is not None:
        found.robot.save(out)
    if picture is not None:
        found.plot(picture)
    if as_json:
        show.print_json(_as_data(found))
        return
    click.echo(printable(f"{found:{show.line_width()}}"))
    if show_base:
        click.echo(printable(str(found.base)))
    report = found.robot.doctor()
    show.report_line(report)
    show.wrote(out, picture)


def _as_data(found: rc.Identification) -> dict[str, Any]:
    names = found.robot.v_names
    load = found.payload
    return {
        "robot": found.robot.name,
        "condition": found.score.condition,
        "cutoff": found.cutoff,
        "residual": dict(zip(names, found.residual.tolist(), strict=True)),
        "held_out": None if found.held_out is None else dict(zip(names, found.held_out.after.tolist(), strict=True)),
        "joints": found.joints,
        "deviations": found.deviations,
        "parameters": found.parameters.tolist(),
        "payload": None if load is None else {
            "link": load.link, "mass": load.mass, "com": load.com.tolist(), "inertia": load.inertia.tolist(),
        },
        "base": {
            name: {"value": value, "deviation": deviation, "stands_for": relation}
            for name, value, deviation, relation in zip(
                found.base.names, found.base.values.tolist(), found.base.deviations.tolist(), found.base.relations,
                strict=True,
            )
        },
        "notes": list(found.notes),
    }  # fmt: skip
