"""The verbs about formulas and generated code: explain and export."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import recursa as rc
from recursa.cli import show
from recursa.cli.group import QUANTITY, ROBOT
from recursa.cli.losses import losses_options
from recursa.cli.root import open_robot, robot_options
from recursa.kernels.kernel import CODES
from recursa.operators.notation import NOTATIONS

notation_option = click.option(
    "--notation", type=click.Choice(NOTATIONS), help="Whose letters nu, epsilon, ... of the formula are."
)


@click.command()
@click.argument("formula", required=False)
@click.option("--robot", type=ROBOT, help="A robot file or a bundled name; with --diagonal puma560 if there is none.")
@click.option(
    "--diagonal", is_flag=True, help="Instead of a formula: rates, moments and Coriolis terms, joint by joint."
)
@click.option("--state", metavar="S.json", help="With --diagonal: the state; else a random one. - is standard input.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --diagonal: draw it (png, pdf, svg).")
@click.option("--code", type=click.Choice(CODES), help="Show the generated code, too.")
@click.option("--vector", "vectors", multiple=True, metavar="NAME=SPACE", help="A free vector: joint, link or tip.")
@notation_option
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
    notation: Any,
    out: Path | None,
    also: tuple[str, ...],
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
        if formula is not None or code or vectors or notation or out is not None:
            raise click.UsageError(
                "--diagonal explains a robot at a state; it takes no formula, --code, --vector, --notation or -o"
            )
        from recursa.cli.explain_diagonal import run_explain

        run_explain(open_robot(robot or "puma560"), state, plot, as_json)
        return
    if state is not None or plot is not None:
        raise click.UsageError("--state and --plot go with --diagonal")
    if formula is None:
        raise click.UsageError("Missing argument 'FORMULA' (or --diagonal)")
    if robot is None:
        raise click.UsageError("Missing option '--robot'")
    if also and out is None:
        raise click.UsageError("--also goes with -o PAGE.html")
    of = open_robot(robot)
    reading: dict[str, Any] = {"vectors": _spaces(vectors), "notation": notation}
    told = rc.explain(formula, of, code=code or ("c" if out else None), **reading)
    if out is not None:
        from recursa.cli.view_command import write_formulas

        others = [rc.explain(one, of, code=code or "c", **reading) for one in also]
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


@click.command()
@click.argument("robot", type=ROBOT)
@click.argument("quantity", type=QUANTITY, required=False)
@click.option("--formula", help="Instead of a quantity: an operator formula, as for recursa explain.")
@click.option("--vector", "vectors", multiple=True, metavar="NAME=SPACE", help="With --formula, a free vector.")
@notation_option
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
    notation: Any,
    out: Path,
    name: str | None,
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
    if (vectors or notation) and formula is None:
        raise click.UsageError("--vector and --notation go with --formula")
    of = open_robot(robot)
    asked: Any = quantity or ""
    if formula is not None:
        asked = rc.compile(formula, of, vectors=_spaces(vectors), notation=notation)
    write = of.export_js if out.suffix in (".js", ".mjs") else of.export_c
    done = write(asked, out, name=name, **given)
    if as_json:
        files = [str(file) for file in done.files]
        show.print_json({"files": files, "function": done.function, "operations": asdict(done.operations)})
        return
    show.wrote(*done.files)
    counted = ", ".join(f"{count} {kind}" for kind, count in asdict(done.operations).items())
    click.echo(f"{done.function}: {done.operations.total} operations ({counted})")
