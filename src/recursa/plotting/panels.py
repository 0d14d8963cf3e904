"""Curves in panels, side by side or on a grid, with units and legends."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.plotting.styles import colour, line_style, new_figure, plain, save
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_IN_LEGEND = 24
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


def draw_panels(path: str | os.PathLike[str], title: str, *panels: Panel) -> None:
    """Curves in panels side by side, with units and legends, written to a file."""
    save(panel_figure(title, panels, columns=len(panels)), path, dpi=110)


def panel_figure(title: str, panels: Sequence[Panel], columns: int = 2, *, shown: bool = False) -> Figure:
    """A figure of panels, row by row; ``shown`` as for :func:`recursa.plotting.styles.new_figure`."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(5.2 * columns, 3.6 * rows + 0.3, shown=shown)
    figure.suptitle(plain(title))
    places = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for panel, axes in zip(panels, places, strict=False):
        _draw(axes, panel)
    for axes in places[len(panels) :]:
        axes.remove()
    return figure


def _draw(axes: Any, panel: Panel) -> None:
    for place, (name, curve) in enumerate(panel.curves.items()):
        k = panel.numbers.get(name, place)
        x = panel.x[name] if isinstance(panel.x, Mapping) else panel.x
        if name == panel.total:
            axes.plot(x, curve, color="black", label=plain(name), linewidth=2.6, zorder=1.9)  # below what it sums up
        else:
            axes.plot(x, curve, line_style(k), color=colour(k), label=plain(name), linewidth=1.6)
        if name in panel.bands:
            axes.fill_between(x, curve - panel.bands[name], curve + panel.bands[name], color=colour(k), alpha=0.2, lw=0)
        if panel.marks:
            axes.plot(x[:1], curve[:1], "o", color=colour(k), markersize=4)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title, fontsize="medium")
    axes.grid(alpha=0.3)
    axes.margins(x=0.02)
    count = len(panel.curves)
    if count > _MOST_IN_LEGEND:
        axes.set_title(f"{panel.title} ({count} curves)".strip(), fontsize="medium")
    else:
        size = "small" if count <= _ROWS_OF_LEGEND else "x-small"
        axes.legend(fontsize=size, ncols=math.ceil(count / _ROWS_OF_LEGEND), framealpha=0.85, loc="best")
