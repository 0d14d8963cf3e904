"""The diagonal coordinates of a state as a picture: the arm, inertias, rates and the causes of Coriolis terms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.model.columns import freedom_names
from recursa.plotting.arm import draw_robot
from recursa.plotting.styles import colour, new_figure, plain, saved
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot

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
