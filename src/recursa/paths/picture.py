"""The picture of a timing: speed along the path over the place, under the maximum velocity curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.plotting.styles import colour, line_style, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.paths.timed import Timing

_MOST = 2.2  # times the motion's largest speed: how high the picture goes


def phase_plane(timing: Timing, *, shown: bool = False) -> Figure:
    """ds/dt over s, each stretch in the colour of the limit that holds it."""
    figure = new_figure(8.2, 4.4, shown=shown)
    axes = figure.subplots()
    s = np.linspace(timing.places[0], timing.places[-1], 2001)
    k = np.clip(np.searchsorted(timing.places, s, side="right") - 1, 0, len(timing.profile.u) - 1)
    p, gone = timing.profile, s - timing.places[k]
    speed = np.sqrt(np.maximum(p.speed[k] ** 2 + 2.0 * p.u[k] * gone + p.bend[k] * gone**2, 0.0))
    high = _MOST * float(speed.max())
    curve = np.minimum(timing.maximum_speeds, 10.0 * high)
    axes.plot(timing.places, curve, color="0.35", lw=1.0, ls=(0, (5, 3)), label="maximum velocity curve")
    axes.fill_between(timing.places, curve, 10.0 * high, color="0.92", lw=0)
    free = sum(held.times[1] - held.times[0] for held in timing.active) < 0.99 * timing.times[-1]
    axes.plot(s, speed, color="black", lw=1.0, label="no limit" if free else None)
    _stretches(axes, timing, s, speed)
    axes.set_ylim(0.0, min(high, 1.12 * float(np.max(np.minimum(curve, high)))))
    axes.set_xlim(timing.places[0], timing.places[-1])
    axes.set_xlabel("place s along the path")
    axes.set_ylabel("speed ds/dt along the path in 1/s")
    axes.set_title(f"{timing.times[-1]:.4g} s: what holds the motion back", fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure


def _stretches(axes: Any, timing: Timing, s: Any, speed: Any) -> None:
    """The motion, drawn over where a limit holds it; each joint's limit named once."""
    names: dict[str, int] = {}
    for held in timing.active:
        name = f"{held.joint}: {held.quantity}"
        label = None if name in names else plain(name)
        number = names.setdefault(name, len(names))
        low, high = held.places
        inside = np.concatenate([[low], s[(s > low) & (s < high)], [high]])
        axes.plot(
            inside,
            np.interp(inside, s, speed),
            line_style(number),
            color=colour(number),
            lw=3.0,
            solid_capstyle="butt",
            label=label,
        )
