"""The verb ``recursa bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from recursa.cli import show
from recursa.cli.group import ROBOT, TO_STANDARD_OUTPUT, WithJsonFile
from recursa.cli.root import open_robot, opening_options


@click.command(cls=WithJsonFile)
@click.argument("robot", type=ROBOT, default="panda_like")
@click.option("--all", "everything", is_flag=True, help="Every quantity that takes plain arrays.")
@click.option("--batch", type=click.IntRange(1), help="States in a batch; 10000 if not said, with --all 512.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the times as JSON, too.")
@click.option("--json", "json_file", metavar="[FILE.json]", help="Print JSON for scripts; with a file, as --out.")
@click.option("--chart", type=click.Path(path_type=Path), help="With --all: draw the times as bars (png, pdf, svg).")
@opening_options
def bench(
    robot: str,
    everything: bool,
    batch: int | None,
    out: Path | None,
    json_file: str | None,
    chart: Path | None,
    floating: bool | None,
    mimic: str,
) -> None:
    """Speed on this machine, beside the peers that are installed (pin, mujoco), as ratios in one run.

    \b
    Examples:
      recursa bench
      recursa bench go2.urdf --floating -o speed.json
      recursa bench puma560 --batch 1000 --json
      recursa bench puma560 --all --json speed.json --chart speed.png

    With --all: a call with one state, and a state in a batch into a given array on one thread, each the least of up to
    15 turns; ratios are medians of those of the turns. For matrices, how many times as long the batch takes as writing
    its bytes. Ctrl-C shows what is known by then.
    """
    from recursa.cli import bench as few
    from recursa.cli import bench_all
    from recursa.files import named_file
    from recursa.plotting.styles import drawable

    if chart is not None and not everything:
        raise click.UsageError("--chart draws what --all measures: add --all")
    printed = json_file == TO_STANDARD_OUTPUT
    places = [named_file(path) for path in (out, None if printed else json_file) if path is not None]
    picture = None if chart is None else drawable(chart)
    chosen = open_robot(robot, floating=floating, mimic=mimic, strict=False)
    if not everything:
        data = few.run_bench(chosen, batch or few.BATCH)
        _tell(data, few.bench_table(data), [], places, None, printed)
        return
    report = bench_all.Report(chosen, batch or bench_all.BATCH)
    report.measure()
    _tell(report.as_data(), report.table(), report.footnotes(), places, picture, printed)
    if not report.whole:
        raise KeyboardInterrupt


def _tell(
    data: dict[str, Any], table: Table, footnotes: list[str], places: list[Path], picture: Path | None, printed: bool
) -> None:
    """Write the files, then print."""
    from recursa.files import write_together

    if places:
        write_together({place: show.json_text(data) + "\n" for place in places})
    if picture is not None:
        from recursa.plotting.speeds import speeds_figure
        from recursa.plotting.styles import save

        save(speeds_figure(data), picture, dpi=110)
        places = [*places, picture]
    if printed:
        show.print_json(data)
        return
    show.put(show.console(), table)
    for line in (*footnotes, *(f"wrote {place}" for place in places)):
        click.echo(line)
