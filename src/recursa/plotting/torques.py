"""Torques over time, joint by joint: measured ones with what models tell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.plotting.styles import colour, new_figure, plain, save
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 4.6, 2.1  # inches of a panel
_STYLES = (("0.6", "-", 2.6), (colour(1), ":", 1.2), (colour(0), "-", 1.1))  # measured below, told above
_GAP = 3.0  # steps: where instants are farther apart, curves are broken


def plot_torques(
    t: Array,
    curves: Mapping[str, Array],
    names: Sequence[str],
    units: Sequence[str],
    title: str,
    *,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """A panel for each freedom with all curves (n, nv), the first one broad and grey; saved to ``path``."""
    columns = 1 if len(names) == 1 else 2
    rows = -(-len(names) // columns)
    figure = new_figure(_WIDTH * columns, _HEIGHT * rows + 0.7, shown=path is None)
    figure.suptitle(plain(title))
    breaks = np.flatnonzero(np.diff(t) > _GAP * np.median(np.diff(t))) + 1 if len(t) > 2 else np.zeros(0, int)
    breaks = np.union1d(breaks, np.flatnonzero(np.diff(t) < 0.0) + 1).astype(int)
    handles: list[Any] = []
    for k, (name, unit) in enumerate(zip(names, units, strict=True)):
        axes = figure.add_subplot(rows, columns, k + 1)
        drawn = [
            axes.plot(np.insert(t, breaks, np.nan), np.insert(curve[:, k], breaks, np.nan), ink, ls=line, lw=width)[0]
            for curve, (ink, line, width) in zip(curves.values(), _STYLES, strict=False)
        ]
        handles = handles or drawn
        axes.set_title(plain(name), fontsize=9)
        axes.set_ylabel(unit, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
        if k >= len(names) - columns:
            axes.set_xlabel("t in s", fontsize=8)
    below: Any = {"loc": "outside lower center", "ncols": len(curves), "fontsize": 9, "frameon": False}
    figure.legend(handles, list(curves), **below)
    if path is not None:
        save(figure, path, dpi=110)
    return figure
