"""The verbs ``recursa study run``, ``status`` and ``show``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

import recursa as rc
from recursa.cli import show, study_tables
from recursa.cli.group import Whole
from recursa.cli.root import JSON
from recursa.cli.study_tables import read_file, store_of

_FILE = click.Path(path_type=Path)


@click.group(cls=Whole)
def study() -> None:
    """Many variations of one question: run them, on threads or a cluster, and look at what came out.

    \b
    Examples:
      recursa study run payload.yaml
      recursa study status payload.yaml
      recursa study show payload.yaml
    """


@study.command("run")
@click.argument("file", type=_FILE)
@click.option("--engine", type=click.Choice(["threads", "dask", "ray"]), help="Who computes.  [default: threads]")
@click.option("--address", metavar="HOST:PORT", help="A Dask scheduler, or Ray; without it one is started here.")
@click.option("--workers", type=click.IntRange(1), help="Threads, or processes of a local cluster.  [default: cores]")
@click.option("--block", type=click.IntRange(1), help="Rows at a time.  [default: about a second's worth]")
@click.option("--resume/--no-resume", default=True, help="Go on with results that are there.  [default: go on]")
@click.option("--estimate", is_flag=True, help="Only say how many rows and bytes, and how long it would take.")
@JSON
def run(
    file: Path,
    engine: Any,
    address: str | None,
    workers: int | None,
    block: int | None,
    resume: bool,
    estimate: bool,
    as_json: bool,
) -> None:
    """Carry out the study that a YAML file describes. A run that was killed goes on where it was.

    \b
    Examples:
      recursa study run payload.yaml
      recursa study run payload.yaml --engine dask --workers 4
      recursa study run payload.yaml --engine dask --address tcp://10.0.0.1:8786

    \b
    The file, for instance:
      robot: panda_like
      vary:
        q0: uniform
        payload.mass: [normal, 2.0, 0.3]
      compute: rollout
      options: {step: 0.001, steps: 1000, save_every: 1000}
      samples: 100000
      seed: 3
      keep:
        peak_speed: [extrema, moments, [quantiles, [0.5, 0.99]], [top, 5]]
      store: payload.zarr
    """
    described, running = read_file(file)
    out = show.console()
    if not as_json:
        study_tables.lines(out, str(described))
    if estimate:
        told = described.estimate()
        if as_json:
            show.print_json({"rows": described.total, "estimate": told})
        else:
            out.print(escape(told), highlight=False)
        return
    if block is not None:
        running["block"] = block
    result = described.run(engine=engine, address=address, workers=workers, resume=resume, **running)
    if as_json:
        show.print_json(_as_json(result))
        return
    out.print(f"{result.rows:,} rows in {escape(str(result.path))}", highlight=False)
    study_tables.tell(result)


@study.command("status")
@click.argument("file", type=_FILE)
@JSON
def status(file: Path, as_json: bool) -> None:
    """How far a study is.

    \b
    Examples:
      recursa study status payload.yaml
      recursa study status payload.zarr --json
    """
    place = store_of(file)
    if not place.is_dir():
        raise rc.StudyError(f"'{place}' is not there: nothing was computed yet")
    found = _read(place)
    done = found.rows / found.study.total
    if as_json:
        show.print_json({"store": str(place), "rows": found.rows, "total": found.study.total, "done": done})
        return
    text = f"{found.rows:,} of {found.study.total:,} rows, {100.0 * done:.1f} %, in {place}"
    show.console().print(escape(text), highlight=False)


@study.command("show")
@click.argument("file", type=_FILE)
@click.option("--row", type=click.IntRange(0), help="One row again: its numbers; with -o as a page that moves.")
@click.option("-o", "--out", type=_FILE, help="With --row: a page of the motion; else a picture of what was found.")
@click.option("--map", "mapped", metavar="OUTPUT", help="With -o: the mean of an output over two varied names.")
@click.option("--over", nargs=2, metavar="NAME NAME", help="With --map: the varied names, such as q0.joint2.")
@JSON
def show_study(
    file: Path, row: int | None, out: Path | None, mapped: str | None, over: tuple[str, str] | None, as_json: bool
) -> None:
    """What came out of a study: tables, histograms, worst cases; one row again.

    \b
    Examples:
      recursa study show payload.yaml
      recursa study show payload.zarr -o payload.png
      recursa study show payload.zarr --row 417 -o worst.html
      recursa study show torques.zarr --map torque --over q0.joint2 q0.joint3 -o map.png
    """
    result = _read(store_of(file))
    if row is not None:
        _show_row(result, row, out, as_json)
        return
    if out is not None:
        from recursa.plotting.panels import map_figure, study_figure
        from recursa.plotting.styles import save

        if mapped is not None:
            if over is None:
                raise click.UsageError("--map needs --over NAME NAME")
            figure = map_figure(result, mapped, *over)
        else:
            figure = study_figure(result)
        save(figure, out, 130.0)
    if as_json:
        show.print_json(_as_json(result))
        return
    study_tables.lines(show.console(), str(result.study))
    study_tables.tell(result)
    if out is not None:
        show.console().print(f"picture: {escape(str(out))}", highlight=False)


def _as_json(result: rc.StudyResult) -> dict[str, Any]:
    found = {name: np.asarray(x).tolist() for name, x in result.found.items()}
    return {"store": str(result.path), "rows": result.rows, "total": result.study.total, "found": found}


def _read(place: Path) -> rc.StudyResult:
    found = rc.read(place)
    if not isinstance(found, rc.StudyResult):
        raise rc.StudyError(f"'{place}' is no store of a study")
    return found


def _show_row(result: rc.StudyResult, row: int, out: Path | None, as_json: bool) -> None:
    values = {name: np.asarray(x).tolist() for name, x in result.study.values(row).items()}
    if out is not None:
        result.replay(row).to_html(out)
    if as_json:
        show.print_json({"row": row, **values})
        return
    for name, value in values.items():
        show.console().print(escape(f"{name}: {value}"), highlight=False)
    if out is not None:
        show.console().print(f"page: {escape(str(out))}", highlight=False)
