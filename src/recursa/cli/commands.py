"""The verbs of ``recursa``; those about motions are in motion_commands.py, others in
bench_command.py, reach_command.py, time_command.py, identify_command.py and study_commands.py."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import recursa as rc
from recursa.cli import show
from recursa.cli.bench_command import bench
from recursa.cli.examples_command import examples
from recursa.cli.group import QUANTITY, ROBOT, TABLE, Whole, completion_script
from recursa.cli.identify_command import excite, identify
from recursa.cli.losses import losses_options
from recursa.cli.motion_commands import demo, inverse, plot, simulate
from recursa.cli.reach_command import ik
from recursa.cli.root import JSON, open_robot, robot_options
from recursa.cli.root import recursa as recursa
from recursa.cli.study_commands import study
from recursa.cli.time_command import time
from recursa.cli.view_command import view
from recursa.kernels.kernel import CODES
from recursa.waits import told

_RUNS = (".h5", ".hdf5", ".part")  # files of runs, rather than of robots

for verb in (demo, examples, ik, time, inverse, simulate, plot, view, bench, excite, identify, study):
    recursa.add_command(verb)


@recursa.command()
@click.argument("robot", type=ROBOT, required=False)
@click.option("--list", "list_robots", is_flag=True, help="List the bundled robots.")
@robot_options
def info(robot: str | None, list_robots: bool, floating: bool | None, mimic: str, as_json: bool) -> None:
    """Show a robot: tree, joints, masses, conventions, provenance.

    \b
    Examples:
      recursa info stanford
      recursa info go2.urdf --floating
      recursa info arm.urdf --json
      recursa info run.h5
      recursa info --list

    A result of recursa simulate, or a checkpoint, is summed up, too.
    """
    if list_robots:
        show.robot_list(as_json)
        return
    if robot is None:
        raise click.UsageError("which robot? Give a robot file or a bundled name; --list shows those.")
    if Path(robot).suffix.lower() in _RUNS:
        from recursa.cli.runs import describe

        describe(robot, as_json)
        return
    chosen = open_robot(robot, floating=floating, mimic=mimic, strict=False)
    if as_json:
        show.print_json(show.as_data(chosen))
    else:
        show.info(chosen)


@recursa.command()
@click.argument("robot", type=ROBOT)
@robot_options
def doctor(robot: str, floating: bool | None, mimic: str, as_json: bool) -> None:
    """Check a robot's data. Exit code 0: healthy, 1: errors or warnings, 2: cannot be read.

    \b
    Examples:
      recursa doctor my_robot.urdf
      recursa doctor my_robot.urdf --json > findings.json
      recursa doctor puma560
    """
    report = open_robot(robot, floating=floating, mimic=mimic, strict=False).doctor()
    if as_json:
        show.print_json(report.as_dicts())
    else:
        show.report(report)
    sys.exit(0 if report.healthy else 1)


@recursa.command()
@click.argument("robot", type=ROBOT)
@click.argument("quantity", type=QUANTITY, required=False)
@click.option("--formula", help="Instead of a quantity: an operator formula, as for recursa explain.")
@click.option("--vector", "vectors", multiple=True, metavar="NAME=SPACE", help="With --formula, a free vector.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="The file: .c (others go beside it) or .js."
)
@click.option("--link", help="For the quantities of one link: its name.")
@click.option("--frame", help="body, mixed or world, where the quantity has a frame.")
@losses_options("With damping and friction, where the quantity has that option.", default=False)
@click.option("--name", help="Name of the function; without it, from robot and quantity.")
@robot_options
def export(
    robot: str,
    quantity: str | None,
    formula: str | None,
    vectors: tuple[str, ...],
    out: Path,
    name: str | None,
    floating: bool | None,
    mimic: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a quantity of a robot as C99 (source, header and a test program), or as a JavaScript module.

    \b
    Examples:
      recursa export puma560 inverse_dynamics -o id.c
      recursa export arm.urdf jacobian --link tool --frame world -o jacobian.c
      recursa export puma560 --formula "inv(mass) (T - C)" -o forward.c
      recursa export puma560 forward_dynamics -o forward.js
      cc -std=c99 -O2 id.c id_test.c -lm && ./a.out

    QUANTITY is a method: inverse_dynamics, forward_dynamics, mass_matrix, bias_forces, regressor, poses, ...
    """
    given = {key: value for key, value in options.items() if value}
    if (quantity is None) == (formula is None):
        raise click.UsageError("Give a QUANTITY or a --formula, not both")
    if vectors and formula is None:
        raise click.UsageError("--vector goes with --formula")
    of = open_robot(robot, floating=floating, mimic=mimic)
    asked = rc.compile(rc.parse(formula, of, vectors=_spaces(vectors)), of) if formula is not None else quantity or ""
    write = of.export_js if out.suffix in (".js", ".mjs") else of.export_c
    done = write(asked, out, name=name, **given)
    if as_json:
        files = [str(file) for file in done.files]
        show.print_json({"files": files, "function": done.function, "operations": asdict(done.operations)})
        return
    for file in done.files:
        click.echo(f"wrote {file}")
    counted = ", ".join(f"{count} {kind}" for kind, count in asdict(done.operations).items())
    click.echo(f"{done.function}: {done.operations.total} operations ({counted})")


@recursa.command()
@click.argument("formula", required=False)
@click.option("--robot", type=ROBOT, help="A robot file or a bundled name; with --diagonal puma560 if there is none.")
@click.option(
    "--diagonal", is_flag=True, help="Instead of a formula: rates, moments and Coriolis terms, joint by joint."
)
@click.option("--state", metavar="S.json", help="With --diagonal: the state; else a random one. - is standard input.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --diagonal: draw it (png, pdf, svg).")
@click.option("--code", type=click.Choice(CODES), help="Show the generated code, too.")
@click.option("--vector", "vectors", multiple=True, metavar="NAME=SPACE", help="A free vector: joint, link or tip.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="A page in which its sweeps run over the robot.")
@click.option("--also", multiple=True, metavar="FORMULA", help="With -o: a further formula to choose in the page.")
@robot_options
def explain(
    formula: str | None,
    robot: str | None,
    diagonal: bool,
    state: str | None,
    plot: Path | None,
    code: Any,
    vectors: tuple[str, ...],
    out: Path | None,
    also: tuple[str, ...],
    floating: bool | None,
    mimic: str,
    as_json: bool,
) -> None:
    """What becomes of an operator formula: identities, sweeps, the step at a body, its arithmetic.

    \b
    Examples:
      recursa explain "inv(mass) (T - C)" --robot puma560
      recursa explain "inv(H phi M phi* H*)" --robot panda_like --code c
      recursa explain "J(tip) x" --robot planar --vector x=joint --json
      recursa explain "inv(mass) (T - C)" --robot puma560 -o forward.html --also "H phi M phi* H*"
      recursa explain --diagonal --robot stanford --plot diagonal.png

    FORMULA is in the papers' notation: H phi M phi* H* and so on, T a free joint vector. Exit code 0: explained down to
    the code, 1: no sweep computes it, 2: cannot be read. --diagonal explains the diagonalised equations of Jain and
    Rodriguez at a state (as for recursa linearize) instead.
    """
    if diagonal:
        if formula is not None or code or vectors or out is not None:
            raise click.UsageError(
                "--diagonal explains a robot at a state; it takes no formula, --code, --vector or -o"
            )
        from recursa.cli.explain_diagonal import run_explain

        run_explain(open_robot(robot or "puma560", floating=floating, mimic=mimic), state, plot, as_json)
        return
    if state is not None or plot is not None:
        raise click.UsageError("--state and --plot go with --diagonal")
    if formula is None:
        raise click.UsageError("Missing argument 'FORMULA' (or --diagonal)")
    if robot is None:
        raise click.UsageError("Missing option '--robot'")
    if also and out is None:
        raise click.UsageError("--also goes with -o PAGE.html")
    of = open_robot(robot, floating=floating, mimic=mimic)
    told = rc.explain(formula, of, code=code or ("c" if out else None), vectors=_spaces(vectors))
    if out is not None:
        from recursa.cli.view_command import write_formulas

        others = [rc.explain(one, of, code=code or "c", vectors=_spaces(vectors)) for one in also]
        write_formulas(of, [told, *others], out, as_json)
    elif as_json:
        show.print_json(told.as_dict())
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
@click.option(
    "--table", "name", type=TABLE, help="A table of the papers: 5.1 to 7.3, saha-1, saha-2; or robots, regrouping."
)
@click.option("--robot", type=ROBOT, help="A robot file or a bundled name: what every method costs in the code for it.")
@robot_options
def counts(name: str | None, robot: str | None, floating: bool | None, mimic: str, as_json: bool) -> None:
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
    with told("counting"):
        if robot is not None:
            table = robot_table(open_robot(robot, floating=floating, mimic=mimic, strict=False))
        else:
            table = overview() if name is None else rc.tables(name)
    if as_json:
        show.print_json(table.as_dict())
        return
    show.counts(table)
    if name is None and robot is None:
        for key, spec in TABLES.items():
            command = f"recursa counts --table {key:<10} "
            click.echo(click.wrap_text(command + spec.title, show.line_width(), subsequent_indent=" " * len(command)))


@recursa.command()
@click.argument("robot", type=ROBOT)
@click.option("--state", required=True, metavar="S.json", help="The state as JSON; - is standard input.")
@click.option(
    "--method", type=click.Choice(["spatial", "balafoutis-patel"]), default="spatial", show_default=True,
    help="How stiffness, damping and mass are computed.",
)  # fmt: skip
@losses_options("Damping and friction act too.", default=False)
@click.option("--state-space", is_flag=True, help="A and B, the poles, and whether torques reach every state.")
@click.option("--cartesian", "link", metavar="LINK", help="The same by the motion of a link.")
@click.option("--coordinates", help="With --cartesian: twist (default), position, or some of rx,ry,rz,x,y,z.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the matrices, .json or .npz.")
@robot_options
def linearize(
    robot: str,
    state: str,
    method: Any,
    out: Path | None,
    floating: bool | None,
    mimic: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Stiffness, damping and mass near a state: d tau = P dq + V dv + D da.

    \b
    Examples:
      recursa linearize puma560 --state S.json
      recursa linearize arm.urdf --state S.json --state-space --losses -o model.npz
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
    models = linear.make_models(chosen, read_state(chosen, state, losses=options["losses"]), method, **options)
    if out is not None:
        linear.save(models, out)
    if as_json:
        show.print_json(models.as_data())
        return
    linear.show_models(models)
    if out is not None:
        click.echo(f"wrote {out}")


@recursa.group(cls=Whole)
def cache() -> None:
    """The compiled kernels that are kept on disk.

    \b
    Examples:
      recursa cache info
      recursa cache clear

    RECURSA_CACHE moves the directory (RECURSA_CACHE=off does without), RECURSA_CACHE_MB bounds its size.
    """


@cache.command("info")
@JSON
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
        show.print_json(asdict(found))
        return
    for name, value in (
        ("path", found.path or "-"),
        ("state", found.state),
        ("entries", f"{found.entries}{f', {found.unfinished} unfinished' if found.unfinished else ''}"),
        ("size", f"{found.size / 2**20:.2f} MiB"),
        ("bound", f"{found.bound / 2**20:g} MiB"),
    ):
        click.echo(f"{name:<8} {value}")


@cache.command("clear")
@JSON
def cache_clear(as_json: bool) -> None:
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
    if as_json:
        show.print_json({"removed": count})
        return
    click.echo(f"{count} {'entry' if count == 1 else 'entries'} removed")


@recursa.command()
@click.argument("robot", type=ROBOT)
@click.option("--with", "peer", type=click.Choice(["pin", "mujoco"]), required=True, help="The other program.")
@click.option(
    "--through", type=click.Choice(["file", "urdf", "model"]),
    help="How the peer gets the robot: it reads the file itself (the default where it can), or a URDF that we write, "
    "or is handed our numbers.",
)  # fmt: skip
@click.option("--states", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Random states.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random states.")
@click.option(
    "--tolerance", type=click.FloatRange(0.0), default=1e-9, show_default=True,
    help="Of the largest entry, or of 1 where that is smaller.",
)  # fmt: skip
@robot_options
def compare(robot: str, peer: str, floating: bool | None, mimic: str, as_json: bool, **options: Any) -> None:
    """Our terms against a peer's, and the reason where they differ.

    \b
    Examples:
      recursa compare arm.urdf --with pin
      recursa compare puma560 --with mujoco
      recursa compare humanoid.xml --with mujoco
      recursa compare go2.urdf --floating --with mujoco --through model --json

    Poses, Jacobians, centre of mass, mass matrix, gravity, bias, inverse and forward dynamics, energies, at random
    states and in one convention. A reason is tested: what differs in the peer's model is put right, and the difference
    vanishes. Exit code 0: all agree, 1: some differ, 2: bad input, or the peer is not installed.
    """
    from recursa.cli.compare import run_compare

    chosen = open_robot(robot, floating=floating, mimic=mimic, strict=False)
    sys.exit(0 if run_compare(chosen, peer, as_json=as_json, **options) else 1)


@recursa.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what a shell needs to complete verbs, options, bundled robots, methods, tables.

    \b
    Examples:
      recursa completion bash > ~/.local/share/bash-completion/completions/recursa
      recursa completion zsh > ~/.zfunc/_recursa      (with fpath+=~/.zfunc before compinit)
      recursa completion fish > ~/.config/fish/completions/recursa.fish
      eval "$(recursa completion bash)"
    """
    click.echo(completion_script(shell, recursa))
