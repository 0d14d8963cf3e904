"""What studies found, as pictures: distributions of outputs, and their means over two varied numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import StudyError, unknown_name
from recursa.plotting.styles import colour, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = 12
_BINS = 40


def study_figure(result: Any) -> Figure:
    """A panel per output: its histogram, or the spread of its columns where all rows are there.

    ``result`` is a :class:`recursa.StudyResult`.
    """
    panels: list[tuple[str, Any, Any]] = []
    for name, counts in result.found.items():
        if name.endswith(".histogram_counts"):
            edges = result.found[name.replace("_counts", "_edges")]
            panels.append((name.removesuffix(".histogram_counts"), np.reshape(counts, (-1, len(edges) - 1)), edges))
    for name in result.names:
        if name not in result.found and len(panels) < _PANELS:
            flat = np.asarray(result[name], float).reshape(result.rows, -1)
            if flat.shape[1] <= _PANELS and np.isfinite(flat).any():
                edges = np.histogram_bin_edges(flat[np.isfinite(flat)], _BINS)
                panels.append((name, np.stack([np.histogram(x[np.isfinite(x)], edges)[0] for x in flat.T]), edges))
    if not panels:
        raise StudyError('nothing here has a distribution: keep an output "full" or as ("histogram", bins, low, high)')
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(4.2 * columns, 3.0 * rows)
    figure.suptitle(plain(f"{result.study.robot.name}: {result.study.computation.name}, {result.rows:,} rows"))
    for k, (name, counts, edges) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, k + 1)
        for number, one in enumerate(counts):
            axes.stairs(one, edges, color=colour(number), label=str(number), fill=len(counts) == 1)
        axes.set_xlabel(plain(name))
        axes.set_ylabel("rows")
        if 1 < len(counts) <= 8:
            axes.legend(title="entry", fontsize="x-small", title_fontsize="x-small")
    return figure


def map_figure(result: Any, output: str, across: str, up: str) -> Figure:
    """The mean of an output (of several numbers: of the largest) over two varied numbers, in cells."""
    x, y = (_varied(result, name) for name in (across, up))
    values = np.asarray(result[output], float).reshape(result.rows, -1)
    heights = np.where(np.isfinite(values), np.abs(values) if values.shape[1] > 1 else values, np.nan)
    with np.errstate(invalid="ignore"):
        worst = np.nanmax(np.where(np.isnan(heights).all(axis=1, keepdims=True), -np.inf, heights), axis=1)
    known = np.isfinite(worst)
    bins = [_edges(one) for one in (x, y)]
    total, *_ = np.histogram2d(x[known], y[known], bins, weights=worst[known])
    count, *_ = np.histogram2d(x[known], y[known], bins)
    figure = new_figure(6.4, 5.0)
    axes = figure.add_subplot()
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = axes.pcolormesh(*bins, (total / count).T, cmap="viridis")
    what = plain(output) if values.shape[1] == 1 else f"largest |{plain(output)}|"
    figure.colorbar(drawn, label=f"mean of {what}")
    axes.set_xlabel(plain(f"{across}{_unit(result, across)}"))
    axes.set_ylabel(plain(f"{up}{_unit(result, up)}"))
    return figure


def _unit(result: Any, name: str) -> str:
    """Of a varied number, to stand behind its name, where it is one of a joint or a mass."""
    robot, (head, _, part) = result.study.robot, name.partition(".")
    kind = result.study.computation.arrays.get(head)
    known = dict(zip(robot.q_names, robot.q_units, strict=True)) if kind == "q" else {}
    known |= dict(zip(robot.v_names, robot.v_units, strict=True)) if kind == "v" else {}
    found = known.get(part) or {"payload.mass": "kg"}.get(name) or ("m" if name.startswith("payload.") else "")
    return f" [{found}]" if found else ""


def _edges(values: Any) -> Any:
    """Cells round the points of a grid, else equal ones."""
    points = np.unique(values)
    if len(points) > _BINS or len(points) < 2:
        return np.histogram_bin_edges(values, _BINS)
    middle = 0.5 * (points[1:] + points[:-1])
    return np.concatenate([[2 * points[0] - middle[0]], middle, [2 * points[-1] - middle[-1]]])


def _varied(result: Any, name: str) -> Any:
    """Numbers of a varied name, or of one entry of it ("q0.joint2")."""
    rows = range(result.rows)
    values = result.study.values(rows)
    if name in values and values[name].shape[1] == 1:
        return values[name][:, 0]
    head, _, part = name.partition(".")
    names = (
        result.study.robot.q_names if result.study.computation.arrays.get(head) == "q" else result.study.robot.v_names
    )
    if head in values and part in names and values[head].shape[1] == len(names):
        return values[head][:, names.index(part)]
    known = [one for one, x in values.items() if x.shape[1] == 1]
    raise unknown_name("varied number", name, (*known, *(f"{one}.{names[0]}" for one in values if one not in known)))
