"""Where a link can be: sections through a cloud of points, and the cloud in space."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.plotting.styles import new_figure, plain, saved
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
