"""The verbs of ``recursa``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

import recursa as rc
from recursa.cli import show

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rc.__version__, prog_name="recursa")
def recursa() -> None:
    """Dynamics of robot manipulators and other trees of rigid bodies.

    \b
    Examples:
      recursa demo
      recursa info puma560
      recursa doctor my_robot.urdf

    ROBOT is a URDF file or the name of a bundled robot (recursa info --list).
    """


def _robot_options(command: _Function) -> _Function:
    for option in (
        click.option("--floating", is_flag=True, help="Put a free joint under the root link."),
        click.option("--mimic", type=click.Choice(["free", "tie"]), default="free", show_default=True),
        click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts."),
    ):
        command = option(command)
    return command


def open_robot(name: str, *, floating: bool = False, mimic: Any = "free", strict: bool = True) -> rc.Robot:
    """A robot by file or bundled name."""
    if name in rc.robots.names() and not Path(name).is_file():
        return rc.robots.by_name(name, floating=floating, mimic=mimic)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)  # the commands print the findings themselves
        return rc.load(name, floating=floating, mimic=mimic, strict=strict)


@recursa.command()
@click.argument("robot", required=False)
@click.option("--list", "list_robots", is_flag=True, help="List the bundled robots.")
@_robot_options
def info(robot: str | None, list_robots: bool, floating: bool, mimic: str, as_json: bool) -> None:
    """Show a robot: tree, joints, masses, conventions, provenance.

    \b
    Examples:
      recursa info stanford
      recursa info go2.urdf --floating
      recursa info arm.urdf --json
      recursa info --list
    """
    if list_robots:
        show.robot_list(as_json)
        return
    if robot is None:
        raise click.UsageError("which robot? Give a URDF file or a bundled name; --list shows those.")
    chosen = open_robot(robot, floating=floating, mimic=mimic, strict=False)
    if as_json:
        click.echo(show.json_text(show.as_data(chosen)))
    else:
        show.info(chosen)


@recursa.command()
@click.argument("robot")
@_robot_options
def doctor(robot: str, floating: bool, mimic: str, as_json: bool) -> None:
    """Check a robot's data. Exit code 0: healthy, 1: findings, 2: cannot be read.

    \b
    Examples:
      recursa doctor my_robot.urdf
      recursa doctor my_robot.urdf --json > findings.json
      recursa doctor puma560
    """
    report = open_robot(robot, floating=floating, mimic=mimic, strict=False).doctor()
    if as_json:
        click.echo(show.json_text(report.as_dicts()))
    else:
        show.report(report)
    sys.exit(1 if report else 0)


@recursa.command()
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo-output"), show_default=True
)
def demo(out: Path) -> None:
    """Three bundled arms: tree, masses, a check, a picture each, and a results file.

    \b
    Example:
      recursa demo --out demo-output
    """
    from recursa.cli.demo import run_demo

    run_demo(out)


@recursa.command()
@click.argument("robot")
@click.argument("trajectory", required=False, type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the torques as CSV.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw angles, speeds, torques, power (png, pdf, svg).")
@click.option("--gif", type=click.Path(path_type=Path), help="Draw the motion of the robot as an animated GIF.")
@click.option("--method", default="newton-euler", show_default=True, help="An algorithm of inverse dynamics.")
@click.option("--samples", type=click.IntRange(2), help="Instants, evenly spread; else those of the file, or 201.")
@click.option("--losses", is_flag=True, help="With damping and friction.")
@click.option("--to", "targets", multiple=True, metavar="JOINT=VALUE", help="Instead of a file: a cycloid to there.")
@click.option(
    "--from", "starts", multiple=True, metavar="JOINT=VALUE", help="Where the cycloid starts, if not at zero."
)
@click.option("--duration", type=float, help="Of the cycloid, s.  [default: 2]")
@_robot_options
def inverse(robot: str, floating: bool, mimic: str, as_json: bool, **options: Any) -> None:
    """Torques for a motion: a CSV file, or a cycloid between two postures.

    \b
    Examples:
      recursa inverse arm.urdf moves.csv -o torque.csv --plot torque.png
      recursa inverse puma560 --to joint2=0.8 --to joint3=2.9 --duration 1.5 --gif arm.gif
      recursa inverse stanford moves.csv --method tensor --losses --json

    TRAJECTORY has a column t and one by the name of each joint, in any order; joint:v and joint:a too, if they are
    known. What goes beyond a limit of the robot is told; the exit code stays 0.
    """
    from recursa.cli.motion import run_inverse

    run_inverse(open_robot(robot, floating=floating, mimic=mimic), as_json, **options)


@recursa.command()
@click.argument("robot")
@click.argument("quantity")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The C file; others go beside it.")
@click.option("--link", help="For the quantities of one link: its name.")
@click.option("--frame", help="body, mixed or world, where the quantity has a frame.")
@click.option("--losses", is_flag=True, help="With damping and friction, where the quantity has that option.")
@click.option("--name", help="Name of the C function; without it, from robot and quantity.")
@_robot_options
def export(
    robot: str, quantity: str, out: Path, name: str | None, floating: bool, mimic: str, as_json: bool, **options: Any
) -> None:
    """Write a quantity of a robot as C99: source, header and a test program.

    \b
    Examples:
      recursa export puma560 inverse_dynamics -o id.c
      recursa export arm.urdf jacobian --link tool --frame world -o jacobian.c
      cc -std=c99 -O2 id.c id_test.c -lm && ./a.out

    QUANTITY is a method: inverse_dynamics, forward_dynamics, mass_matrix, bias_forces, regressor, poses, ...
    """
    given = {key: value for key, value in options.items() if value}
    done = open_robot(robot, floating=floating, mimic=mimic).export_c(quantity, out, name=name, **given)
    if as_json:
        files = [str(file) for file in done.files]
        click.echo(show.json_text({"files": files, "function": done.function, "operations": asdict(done.operations)}))
        return
    for file in done.files:
        click.echo(f"wrote {file}")
    counted = ", ".join(f"{count} {kind}" for kind, count in asdict(done.operations).items())
    click.echo(f"{done.function}: {done.operations.total} operations ({counted})")


@recursa.command()
@click.argument("formula", required=False)
@click.option("--robot", help="A URDF file or a bundled name; with --diagonal puma560 if there is none.")
@click.option(
    "--diagonal", is_flag=True, help="Instead of a formula: rates, moments and Coriolis terms, joint by joint."
)
@click.option("--state", metavar="S.json", help="With --diagonal: the state; else a random one. - is standard input.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --diagonal: draw it (png, pdf, svg).")
@click.option("--code", type=click.Choice(["llvm", "c"]), help="Show the generated code, too.")
@click.option("--vector", "vectors", multiple=True, metavar="NAME=SPACE", help="A free vector: joint, link or tip.")
@_robot_options
def explain(
    formula: str | None,
    robot: str | None,
    diagonal: bool,
    state: str | None,
    plot: Path | None,
    code: Any,
    vectors: tuple[str, ...],
    floating: bool,
    mimic: str,
    as_json: bool,
) -> None:
    """What becomes of an operator formula: identities, sweeps, the step at a body, its arithmetic.

    \b
    Examples:
      recursa explain "inv(mass) (T - C)" --robot puma560
      recursa explain "inv(H phi M phi* H*)" --robot panda_like --code c
      recursa explain "J(tip) x" --robot planar --vector x=joint --json
      recursa explain --diagonal --robot stanford --plot diagonal.png

    FORMULA is in the papers' notation: H phi M phi* H* and so on, T a free joint vector. Exit code 0: explained down to
    the code, 1: no sweep computes it, 2: cannot be read. --diagonal explains the diagonalised equations of Jain and
    Rodriguez at a state (as for recursa linearize) instead.
    """
    if diagonal:
        if formula is not None or code or vectors:
            raise click.UsageError("--diagonal explains a robot at a state; it takes no formula, --code or --vector")
        from recursa.cli.explain_diagonal import run_explain

        run_explain(open_robot(robot or "puma560", floating=floating, mimic=mimic), state, plot, as_json)
        return
    if state is not None or plot is not None:
        raise click.UsageError("--state and --plot go with --diagonal")
    if formula is None:
        raise click.UsageError("Missing argument 'FORMULA' (or --diagonal)")
    if robot is None:
        raise click.UsageError("Missing option '--robot'")
    told = rc.explain(formula, open_robot(robot, floating=floating, mimic=mimic), code=code, vectors=_spaces(vectors))
    if as_json:
        click.echo(show.json_text(told.as_dict()))
    else:
        show.explanation(told)
    sys.exit(0 if told.plan is not None else 1)


def _spaces(vectors: tuple[str, ...]) -> dict[str, Any]:
    """Free vectors as they are typed, ``x=joint``."""
    for text in vectors:
        if "=" not in text:
            raise click.UsageError(f"--vector {text}: write NAME=SPACE, for example x=joint")
    return {name: space for name, _, space in (text.partition("=") for text in vectors)}


@recursa.command()
@click.option("--table", "name", help="A table of the papers: 5.1 to 7.2, saha-1, saha-2; or robots, regrouping.")
@click.option("--robot", help="A URDF file or a bundled name: what every method costs in the code for it.")
@_robot_options
def counts(name: str | None, robot: str | None, floating: bool, mimic: str, as_json: bool) -> None:
    """Operation counts: the papers' tables with ours beside the printed numbers, and what the code for a robot costs.

    \b
    Examples:
      recursa counts
      recursa counts --table 5.3
      recursa counts --table 6.1 --json
      recursa counts --robot puma560

    Without options: the bundled robots by the usual methods, and the names of the tables.
    """
    from recursa.counts.tables import TABLES, overview, robot_table

    if name is not None and robot is not None:
        raise click.UsageError("--table and --robot are two questions: ask one of them.")
    if robot is not None:
        table = robot_table(open_robot(robot, floating=floating, mimic=mimic, strict=False))
    else:
        table = overview() if name is None else rc.tables(name)
    if as_json:
        click.echo(show.json_text(table.as_dict()))
        return
    show.counts(table)
    if name is None and robot is None:
        for key, spec in TABLES.items():
            click.echo(f"recursa counts --table {key:<11} {spec.title}")


@recursa.command()
@click.argument("robot")
@click.option("--state", required=True, metavar="S.json", help="The state as JSON; - is standard input.")
@click.option(
    "--method", type=click.Choice(["spatial", "balafoutis-patel"]), default="spatial", show_default=True,
    help="How stiffness, damping and mass are computed.",
)  # fmt: skip
@click.option("--state-space", is_flag=True, help="A and B, the poles, and whether torques reach every state.")
@click.option("--cartesian", "link", metavar="LINK", help="The same by the motion of a link.")
@click.option("--coordinates", help="With --cartesian: twist (default), position, or some of rx,ry,rz,x,y,z.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the matrices, .json or .npz.")
@_robot_options
def linearize(
    robot: str, state: str, method: Any, out: Path | None, floating: bool, mimic: str, as_json: bool, **options: Any
) -> None:
    """Stiffness, damping and mass near a state: d tau = P dq + V dv + D da.

    \b
    Examples:
      recursa linearize puma560 --state S.json
      recursa linearize arm.urdf --state S.json --state-space -o model.npz
      recursa linearize puma560 --state S.json --cartesian link6 --json
      echo '{"q": [0.3, 0.8], "tau": {"joint1": 2}}' | recursa linearize arm.urdf --state -

    \b
    The state: {"q": [0.1, ...], "v": [...], "a": [...]} or with "tau" in place of "a"; each a list, or an object
    by joint name, {"joint1": 0.3}, in which the other joints are at neutral (q) or zero. q is required;
    v and a are zero where they are missing. Exit code 0, or 2 with one line for bad input.
    """
    from recursa.cli import linearize as linear
    from recursa.cli.state_file import read_state
    from recursa.files import known_suffix

    if options["coordinates"] and not options["link"]:
        raise click.UsageError("--coordinates are those of a link: add --cartesian LINK")
    if out is not None:
        known_suffix(out, linear.SUFFIXES)
    chosen = open_robot(robot, floating=floating, mimic=mimic)
    models = linear.make_models(chosen, read_state(chosen, state), method, **options)
    if out is not None:
        linear.save(models, out)
    if as_json:
        click.echo(show.json_text(models.as_data()))
        return
    linear.show_models(models)
    if out is not None:
        click.echo(f"wrote {out}")


@recursa.group()
def cache() -> None:
    """The compiled kernels that are kept on disk.

    \b
    Examples:
      recursa cache info
      recursa cache clear

    RECURSA_CACHE moves the directory (RECURSA_CACHE=off does without), RECURSA_CACHE_MB bounds its size.
    """


@cache.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def cache_info(as_json: bool) -> None:
    """Show where the kernels are kept, how many there are, their size and its bound.

    \b
    Examples:
      recursa cache info
      recursa cache info --json
    """
    from recursa.kernels.cache import info

    found = info()
    if as_json:
        click.echo(show.json_text(asdict(found)))
        return
    for name, value in (
        ("path", found.path or "-"),
        ("state", found.state),
        ("entries", found.entries),
        ("size", f"{found.size / 2**20:.2f} MiB"),
        ("bound", f"{found.bound / 2**20:g} MiB"),
    ):
        click.echo(f"{name:<8} {value}")


@cache.command("clear")
def cache_clear() -> None:
    """Remove all kept kernels, and nothing else; they are compiled again when needed.

    \b
    Examples:
      recursa cache clear
      RECURSA_CACHE=/scratch/kernels recursa cache clear
    """
    from recursa.kernels.cache import clear, info

    state = info().state
    if state.startswith("refused"):
        raise rc.RecursaError(f"cache directory '{info().path}' is left alone; {state}")
    count = clear()
    click.echo(f"{count} {'entry' if count == 1 else 'entries'} removed")


@recursa.command()
@click.argument("robot", default="panda_like")
@click.option("--batch", type=click.IntRange(1), default=10_000, show_default=True, help="States in a batch.")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the times as JSON, too.")
@click.option("--floating", is_flag=True, help="Put a free joint under the root link.")
def bench(robot: str, batch: int, out: Path | None, floating: bool) -> None:
    """Speed on this machine, beside the peers that are installed (pin, mujoco), as ratios in one run.

    \b
    Examples:
      recursa bench
      recursa bench go2.urdf --floating -o speed.json
    """
    from recursa.cli.bench import bench_table, run_bench

    report = run_bench(open_robot(robot, floating=floating, strict=False), batch)
    show.console().print(bench_table(report))
    if out is not None:
        out.write_text(show.json_text(report) + "\n")
