"""Curves in panels, side by side or on a grid, with units and legends."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.plotting.styles import colour, line_style, new_figure, plain, save
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
