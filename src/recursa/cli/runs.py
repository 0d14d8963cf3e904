"""Runs on the terminal: what came out, as tables or as data; pictures of it, which the verb ``recursa plot`` draws."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.cli.group import BY_JOINT
from recursa.cli.losses import WORDS
from recursa.cli.motion_commands import limits_data, warn_of_limits
from recursa.cli.root import JSON
from recursa.model.columns import angular, coordinate_names, coordinate_units, freedom_names
from recursa.results import saved_run
from recursa.runs.journal import MAGIC, first_bytes
from recursa.simulation.checkpoint import Kept


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
      recursa plot run.npz -o run.png
      recursa plot run.npz --gif run.gif
    """
    if out is None and gif is None:
        raise click.UsageError("where to? Add -o FILE.png or --gif FILE.gif.")
    require_drawable(out, gif)
    files = draw(saved_run(run), out, gif, by_joint=by_joint)
    if as_json:
        show.print_json({"wrote": [str(file) for file in files]})
    else:
        show.wrote(*files)


def run_data(run: rc.Run) -> dict[str, Any]:
    """All of the summary, for scripts."""
    return {
        "robot": run.robot.model.name,
        "status": run.status,
        "message": run.message,
        "integrator": run.options.integrator,
        "losses": run.options.losses,
        "end_s": float(run.t[-1]) if len(run) else None,
        "duration_s": run.options.duration,
        "samples": len(run),
        "energy_drift": run.energy_drift,
        "momentum_drift": run.momentum_drift,
        "work_J": float(run.work[-1]) if len(run) else None,
        "lost_J": float(run.lost[-1]) if len(run) else None,
        "statistics": dict(run.statistics),
        "coordinates": _coordinates(run),
        "freedoms": _freedoms(run),
        "events": [{"name": event.name, "time_s": event.t} for event in run.events],
        "beyond_limits": limits_data(run.violations),
    }


def _coordinates(run: rc.Run) -> list[dict[str, Any]]:
    model = run.robot.model
    named = zip(coordinate_names(model), coordinate_units(model), run.q.T, strict=True)
    return [
        {"name": name, "unit": unit, "start": float(q[0]), "end": float(q[-1]), "least": float(q.min()),
         "most": float(q.max())}
        for name, unit, q in named
        if len(q)
    ]  # fmt: skip


def _freedoms(run: rc.Run) -> list[dict[str, Any]]:
    """Per freedom the speed at the end, the fastest, the strongest torque, and when."""
    model, rows = run.robot.model, []
    for k, (name, turns) in enumerate(zip(freedom_names(model), angular(model), strict=True)):
        if not len(run):
            break
        fastest, strongest = (int(np.argmax(np.abs(values[:, k]))) for values in (run.v, run.tau))
        rows.append(
            {
                "name": name,
                "speed_unit": "rad/s" if turns else "m/s",
                "end_speed": float(run.v[-1, k]),
                "peak_speed": float(run.v[fastest, k]),
                "peak_speed_time_s": float(run.t[fastest]),
                "torque_unit": "N m" if turns else "N",
                "peak_torque": float(run.tau[strongest, k]),
                "peak_torque_time_s": float(run.t[strongest]),
            }
        )
    return rows


def show_run(run: rc.Run) -> None:
    """The same for the eye."""
    data, out = run_data(run), show.console()
    why = f" ({run.message.splitlines()[0]})" if run.message else ""
    colour = "green" if run.status in ("finished", "stopped") else "red"
    out.print(
        f"[bold]{escape(data['robot'])}[/]: [{colour}]{run.status}[/]{escape(why)}", soft_wrap=not out.is_terminal
    )
    show.put(out, _coordinate_table(data["coordinates"]))
    show.put(out, _freedom_table(data["freedoms"]))
    counted = run.statistics
    end = "no sample" if data["end_s"] is None else f"{data['end_s']:g} of {data['duration_s']:g} s"
    lines = [
        ("time", f"{end}, {len(run)} samples"),
        ("integrator", f"{run.options.integrator}, {_accuracy(run)}"),
        ("losses", WORDS[run.options.losses]),
        ("work", f"{data['work_J'] or 0.0:.6g} J put in, {data['lost_J'] or 0.0:.6g} J lost"),
        ("energy drift", f"{data['energy_drift']:.2g}"),
        ("momentum", "need not be kept" if data["momentum_drift"] is None else f"drift {data['momentum_drift']:.2g}"),
        ("effort", f"{counted.get('steps', 0):g} steps, {counted.get('evaluations', 0):g} evaluations, "
                   f"{counted.get('seconds', 0.0):.3g} s"),
    ]  # fmt: skip
    for name, text in lines:
        click.echo(f"{name:<13} {text}")
    for event in run.events[:20]:
        click.echo(f"{'event':<13} {event.name} at {event.t:.9g} s")
    if len(run.events) > 20:
        click.echo(f"{'':<13} ... and {len(run.events) - 20} more")
    warn_of_limits(run.violations)


def _accuracy(run: rc.Run) -> str:
    options = run.options
    return f"step {options.step:g} s" if options.fixed else f"rtol {options.rtol:g}, atol {options.atol:g}"


def _coordinate_table(rows: list[dict[str, Any]]) -> Table:
    names = ("start", "end", "least", "most")
    cells = ((escape(row["name"]), row["unit"], *(f"{row[name]:.6g}" for name in names)) for row in rows)
    return show.table(("coordinate", "unit", *names), cells, left=("unit",))


def _freedom_table(rows: list[dict[str, Any]]) -> Table:
    columns = ("freedom", "speed at the end", "fastest", "at, s", "", "strongest torque", "at, s", "")
    cells = (
        (
            escape(row["name"]), f"{row['end_speed']:.6g}", f"{row['peak_speed']:.6g}",
            f"{row['peak_speed_time_s']:.4g}", row["speed_unit"], f"{row['peak_torque']:.6g}",
            f"{row['peak_torque_time_s']:.4g}", row["torque_unit"],
        )
        for row in rows
    )  # fmt: skip
    return show.table(columns, cells, left=("",))


def describe(name: str, as_json: bool) -> None:
    """What a result or a checkpoint holds."""
    path = Path(name)
    if first_bytes(path).startswith(MAGIC):
        kept = Kept(path)
        data = {"robot": kept.model.name, "finished": kept.finished, "time_s": kept.t, "samples": kept.samples,
                "duration_s": kept.options.duration, "integrator": kept.options.integrator}  # fmt: skip
        if as_json:
            show.print_json(data)
            return
        click.echo(f"checkpoint of '{kept.model.name}' at {kept.t:.6g} of {kept.options.duration:g} s, "
                   f"{kept.samples} samples, {kept.options.integrator}")  # fmt: skip
        click.echo(f"go on with: recursa simulate --resume {path}")
        return
    run = saved_run(path)
    if as_json:
        show.print_json(run_data(run))
    else:
        show_run(run)


def require_drawable(plot: Path | None, gif: Path | None) -> None:
    """Find out before a long run whether its pictures can be written."""
    from recursa.files import known_suffix, named_file

    for path, library in ((plot, "matplotlib"), (gif, "matplotlib"), (gif, "PIL")):
        if path is not None and find_spec(library) is None:
            name = {"PIL": "pillow"}.get(library, library)
            raise rc.RecursaError(f"drawing '{path}' needs {name}, which is not installed: 'pip install {name}'")
    for path, suffixes in ((plot, (".png", ".pdf", ".svg", ".jpg")), (gif, (".gif",))):
        if path is not None and not known_suffix(named_file(path), suffixes).parent.is_dir():
            raise rc.RecursaError(f"cannot write '{path}': there is no folder '{path.parent}'")


def draw(run: rc.Run, plot: Path | None, gif: Path | None, *, by_joint: bool = False) -> list[Path]:
    """Write the pictures that are asked for; ``by_joint``: the positions alone, a panel for each joint."""
    if plot is not None:
        options: dict[str, Any] = {"panels": ("angles",), "by_joint": True} if by_joint else {}
        run.plot(plot, **options)
    if gif is not None:
        run.animate(gif)
    return [path for path in (plot, gif) if path is not None]
