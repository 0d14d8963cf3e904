"""Curves in panels, side by side or on a grid, with units and legends."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import StudyError, unknown_name
from recursa.model.columns import freedom_names
from recursa.plotting.arm import draw_robot
from recursa.plotting.styles import colour, line_style, new_figure, plain, save, saved
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot

_MOST_IN_LEGEND = 24
_OF_MANY = 12  # curves that are told apart where there are more
_ROWS_OF_LEGEND = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes: curves by name over the same x, or over an x of their own by the same name."""

    x_label: str
    y_label: str
    x: Array | Mapping[str, Array]
    curves: Mapping[str, Array]
    title: str = ""
    total: str | None = None  # the curve that sums up the others, drawn in black
    marks: bool = False  # a dot where each curve starts
    numbers: Mapping[str, int] = field(default_factory=dict)  # of colours, by name, where the order is not enough
    bands: Mapping[str, Array] = field(default_factory=dict)  # half the width of a band about a curve, by name
    limits: Mapping[str, Sequence[float]] = field(default_factory=dict)  # by name of the curve; dashed lines
    noise: float = 0.0  # what is less than this is rounding

    @property
    def flat(self) -> bool:
        """Whether nothing happens in it: every curve is one number throughout, but for rounding."""
        return not any(changes(curve, self.noise) for curve in self.curves.values())

    @property
    def told_apart(self) -> frozenset[str]:
        """The curves with colours and names; of many only those that change most."""
        if len(self.curves) <= _MOST_IN_LEGEND:
            return frozenset(self.curves)
        most = sorted(self.curves, key=lambda name: -float(np.ptp(self.curves[name])) if len(self.curves[name]) else 0)
        return frozenset([*most[:_OF_MANY], *([] if self.total is None else [self.total])])

    def apart(self) -> Iterator[Panel]:
        """One panel for each curve, with its colour and its name as the title."""
        for place, (name, curve) in enumerate(self.curves.items()):
            x = self.x[name] if isinstance(self.x, Mapping) else self.x
            number = {name: self.numbers.get(name, place)}
            yield replace(self, x=x, curves={name: curve}, title=name, numbers=number)


def changes(curve: Array, noise: float = 0.0) -> bool:
    """Whether a curve is more than one number throughout, and rounding about it."""
    if not len(curve):
        return False
    return bool(np.ptp(curve) > max(noise, 1e-12 * float(np.abs(curve).max())))


def draw_panels(path: str | os.PathLike[str], title: str, *panels: Panel) -> None:
    """Curves in panels side by side, with units and legends, written to a file."""
    save(panel_figure(title, panels, columns=len(panels)), path, dpi=110)


def panel_figure(title: str, panels: Sequence[Panel], columns: int = 2, *, shown: bool = False) -> Figure:
    """A figure of panels, row by row; ``shown`` as for :func:`recursa.plotting.styles.new_figure`."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(5.8 * columns, 3.6 * rows + 0.3, shown=shown)
    figure.suptitle(plain(title))
    places = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for panel, axes in zip(panels, places, strict=False):
        _draw(axes, panel)
    for axes in places[len(panels) :]:
        axes.remove()
    return figure


def _draw(axes: Any, panel: Panel) -> None:
    chosen = panel.told_apart
    for place, (name, curve) in enumerate(panel.curves.items()):
        k = panel.numbers.get(name, place)
        x = panel.x[name] if isinstance(panel.x, Mapping) else panel.x
        if name not in chosen:
            axes.plot(x, curve, color="0.8", linewidth=0.9, zorder=1.5)
            continue
        if name == panel.total:
            axes.plot(x, curve, color="black", label=plain(name), linewidth=2.6, zorder=1.9)  # below what it sums up
        else:
            axes.plot(x, curve, line_style(k), color=colour(k), label=plain(name), linewidth=1.6)
        if name in panel.bands:
            axes.fill_between(x, curve - panel.bands[name], curve + panel.bands[name], color=colour(k), alpha=0.2, lw=0)
        if panel.marks:
            axes.plot(x[:1], curve[:1], "o", color=colour(k), markersize=4)
    _draw_limits(axes, panel)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_title(plain(panel.title), fontsize="medium")
    axes.grid(alpha=0.3)
    axes.margins(x=0.02)
    count = len(panel.curves)
    if [*panel.curves] == [panel.title]:
        return  # the title says it
    if len(chosen) < count:
        axes.set_title(f"{panel.title}: the {len(chosen)} of {count} that change most", fontsize="medium")
        axes.plot([], [], color="0.8", linewidth=0.9, label=f"{count - len(chosen)} others")
    size = "small" if len(chosen) <= _ROWS_OF_LEGEND else "x-small"
    rows = _ROWS_OF_LEGEND if len(chosen) == count else _OF_MANY + 1
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}  # never over the curves
    axes.legend(fontsize=size, ncols=math.ceil(len(chosen) / rows), frameon=False, **beside)


def _draw_limits(axes: Any, panel: Panel) -> None:
    """Dashed lines, where they are near enough to the curves that these keep more than half of the height."""
    low, high = axes.get_ylim()
    room = high - low
    for place, name in enumerate(panel.curves if len(panel.told_apart) == len(panel.curves) else ()):
        for limit in panel.limits.get(name, ()):
            if low - 0.4 * room <= limit <= high + 0.4 * room:
                axes.axhline(limit, color=colour(panel.numbers.get(name, place)), lw=0.9, ls=(0, (5, 4)), alpha=0.7)


# ---- where a link can be: sections through a cloud of points, and the cloud in space ---------------------------------


_SLAB = 0.08  # of the longest side: how thick sections are
_CELLS = 34  # hexagons along a side
_SHOWN = 15000  # points in space, more hide each other
_UNITS = {"pose": "m³", "position": "m³", "orientation": "1"}


def draw_workspace(
    points: Array,
    values: Array,
    center: Array,
    title: str,
    task: str,
    path: str | os.PathLike[str] | None,
    *,
    dpi: float,
) -> Figure:
    """Points (n, 3) coloured by values (n,): three sections through a centre, and all in space."""
    figure = new_figure(11.0, 9.0, shown=path is None)
    low, high = points.min(axis=0), points.max(axis=0)
    low, high = np.minimum(low, center), np.maximum(high, center)
    side = float((high - low).max()) or 1.0
    middle, half = 0.5 * (low + high), 0.54 * side
    top = float(values.max()) or 1.0
    colours: dict[str, Any] = {"cmap": "viridis", "vmin": 0.0, "vmax": top}
    through = np.where(np.abs(center - middle) <= 0.25 * side, center, middle)  # a foot far below says little
    grid = figure.add_gridspec(2, 2)
    last: Any = None
    for place, (across, up, along) in zip(((0, 0), (0, 1), (1, 0)), ((0, 2, 1), (1, 2, 0), (0, 1, 2)), strict=True):
        axes = figure.add_subplot(grid[place])
        near = np.abs(points[:, along] - through[along]) <= 0.5 * _SLAB * side
        box = (middle[across] - half, middle[across] + half, middle[up] - half, middle[up] + half)
        last = axes.hexbin(
            points[near, across],
            points[near, up],
            values[near],
            gridsize=_CELLS,
            extent=box,
            mincnt=1,
            linewidths=0.2,
            **colours,
        )
        axes.plot(center[across], center[up], "+", color="black", markersize=10, markeredgewidth=1.5)
        axes.set_aspect("equal")
        axes.set(xlim=box[:2], ylim=box[2:], xlabel=f"{'xyz'[across]} in m", ylabel=f"{'xyz'[up]} in m")
        axes.set_title(f"section at {'xyz'[along]} = {through[along] + 0.0:.2f} m", fontsize=10)
        axes.grid(linewidth=0.3)
    space: Any = figure.add_subplot(grid[1, 1], projection="3d")
    behind = np.flatnonzero(points[:, 1] >= through[1])  # the half in front is taken away, so that one sees inside
    some = behind[np.linspace(0, len(behind) - 1, min(_SHOWN, len(behind))).astype(int)]
    space.scatter(*points[some].T, c=values[some], s=5.0, alpha=0.8, linewidths=0, **colours)
    space.set(**{f"{axis}lim": (middle[k] - half, middle[k] + half) for k, axis in enumerate("xyz")})
    space.set(xlabel="x in m", ylabel="y in m", zlabel="z in m")
    space.set_box_aspect((1, 1, 1), zoom=0.95)
    space.view_init(elev=20, azim=-70)
    space.locator_params(nbins=4)
    space.set_title(f"the half with y from {through[1] + 0.0:.2f} m on", fontsize=10)
    bar = figure.colorbar(last, ax=figure.axes, shrink=0.6, pad=0.02)
    bar.set_label(f"manipulability of the {task}, {_UNITS[task]}")
    figure.suptitle(plain(title))
    return saved(figure, path, dpi=dpi)


# ---- -----------------------------------------------------------------------------------------------------------------
# The diagonal coordinates of a state as a picture: the arm, inertias, rates and the causes of Coriolis terms.


_GREY = "#b0b0b0"
_MOST_NAMES = 16


def plot_diagonal(robot: Robot, q: ArrayLike, v: ArrayLike, path: str | os.PathLike[str] | None = None) -> Figure:
    """Four panels at a state: the robot; D beside the inertia with outward joints locked; v as passive rate and xi; and
    C(q, xi) by its causes. Returns the figure, and saves it to ``path``.

    >>> import recursa as rc
    >>> robot = rc.robots.planar(3)
    >>> figure = plot_diagonal(robot, *robot.random_state(1))
    """
    d, u = robot.diagonal, robot.diagonal.unnormalized
    xi = u.total_rates(q, v)
    past, future, present = u.coriolis_causes(q, xi)
    names = [plain(name) for name in freedom_names(robot.model)]
    figure = new_figure(10.4, 7.6, shown=path is None)
    figure.suptitle(
        f"{plain(robot.name)}: kinetic energy {0.5 * np.sum(d.total_rates(q, v) ** 2):.4g} J in diagonal coordinates"
    )
    draw_robot(figure.add_subplot(2, 2, 1, projection="3d"), robot, q)
    inertia, rates, terms = (figure.add_subplot(2, 2, k) for k in (2, 3, 4))
    _bars(
        inertia,
        names,
        {"outward joints locked": np.diagonal(robot.mass_matrix(q)), "let go: D": np.diagonal(u.inertia(q))},
    )
    inertia.set(title="inertia about the joint", yscale="log", ylabel="kg m$^2$ or kg")
    _bars(rates, names, {"v": np.asarray(v), "passive": v - xi, "xi = v - passive": xi})
    rates.set(title="rates", ylabel="rad/s or m/s")
    _bars(
        terms, names, {"past: links outward": past, "present: own rotation": present, "future: moving parent": future}
    )
    place = np.arange(len(names))
    terms.plot(place, u.coriolis(q, xi), "k_", markersize=18, markeredgewidth=2, label="C(q, xi), their sum")
    terms.set(title="causes of the Coriolis term", ylabel="N m or N")
    for axes in (inertia, rates, terms):
        axes.legend(fontsize="small", framealpha=0.85)
    return saved(figure, path, dpi=110)


def _bars(axes: Any, names: list[str], groups: dict[str, Array]) -> None:
    """Groups of bars, one group per freedom."""
    place, width = np.arange(len(names)), 0.8 / len(groups)
    for k, (label, values) in enumerate(groups.items()):
        paint = _GREY if len(groups) == 2 and k == 0 else colour(k)
        axes.bar(place + (k - 0.5 * (len(groups) - 1)) * width, values, width, label=label, color=paint)
    axes.axhline(0.0, color="black", linewidth=0.8)
    few = len(names) <= _MOST_NAMES
    axes.set_xticks(
        place if few else [], names if few else [], rotation=30 if few else 0, ha="right" if few else "center"
    )
    axes.grid(axis="y", alpha=0.3)


# ---- what studies found, as pictures: distributions of outputs, and their means over two varied numbers --------------


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
