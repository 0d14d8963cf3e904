"""Pictures of robots. Needs matplotlib, which is imported only here, and no display."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError
from recursa.model.model import WORLD
from recursa.robot import Robot
from recursa.sweeps.batching import Array, as_array

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c564b")  # told apart by everybody
_AXISLESS = ("free", "spherical")
_SYMBOLS = {"prismatic": "s", "spherical": "o", "free": "*", "planar": "P"}


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What there is to draw: per body the anchor of its joint, the axis there, and the points its links reach."""

    anchors: Array  # (nbodies, 3)
    axes: Array  # (nbodies, 3) unit vectors, zero where a joint has no axis
    reaches: list[Array]  # per body (n, 3)
    centers: Array  # (nbodies, 3) centres of mass
    masses: Array


def skeleton(robot: Robot, q: ArrayLike) -> Skeleton:
    """The points and axes of a robot at one configuration, in world coordinates."""
    model = robot.model
    _require_one_state(robot, q)
    poses = robot.poses(q)
    body_pose = {link.body: poses[k] for k, link in reversed(list(enumerate(model.links)))}
    for k, joint in enumerate(model.joints):
        body_pose[k] = poses[model.link_index(joint.child)]
    body_pose[WORLD] = np.eye(4)
    anchors, axes, centers = [], [], []
    reaches: dict[int, list[Array]] = {k: [] for k in range(-1, model.nbodies)}
    for k, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True)):
        frame = body_pose[joint.parent] @ np.array(joint.placement.rows())
        anchors.append(frame[:3, 3])
        axes.append(np.zeros(3) if joint.kind.name in _AXISLESS else frame[:3, :3] @ np.array(joint.hinge.axis))
        reaches[joint.parent].append(frame[:3, 3])
        pose = body_pose[k]
        center = pose[:3, :3] @ np.array(inertia.com()) + pose[:3, 3] if inertia.mass > 0 else pose[:3, 3]
        centers.append(center)
    for k, link in enumerate(model.links):
        reaches[link.body].append(poses[k][:3, 3])
    return Skeleton(
        np.array(anchors).reshape(-1, 3),
        np.array(axes).reshape(-1, 3),
        [np.array(reaches[k]).reshape(-1, 3) for k in range(model.nbodies)],
        np.array(centers).reshape(-1, 3),
        np.array([inertia.mass for inertia in model.inertias]),
    )


def _require_one_state(robot: Robot, q: ArrayLike) -> None:
    values = as_array(robot.model, "q", q, coordinates=True)
    if values.ndim != 1:
        raise ShapeError(f"q has shape {values.shape}; a picture shows one state, of shape ({robot.nq},)")
    if not np.isfinite(values).all():
        raise StateError("q contains nan or infinity; there is nothing to draw")


def draw(robot: Robot, q: ArrayLike | None = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw a robot at a configuration (neutral by default); returns the matplotlib figure, and saves it to ``path``.

    Links are thick lines, joints short bars along their axes (squares slide, the rest turn), circles mark centres of
    mass with an area that grows with the mass.

    >>> import recursa as rc
    >>> figure = draw(rc.robots.planar(), [0.5, -0.3, -0.4])
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bones = skeleton(robot, robot.neutral() if q is None else q)
    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot(projection="3d")
    points = np.concatenate([np.zeros((1, 3)), bones.anchors, bones.centers, *bones.reaches])
    size = _frame_axes(axes, points)
    _draw_ground(axes, size)
    for k, joint in enumerate(robot.model.joints):
        colour = _COLOURS[k % len(_COLOURS)]
        _draw_body(axes, bones, k, colour, size)
        label = _plain(joint.name) if robot.nbodies <= len(_COLOURS) else None
        axes.plot(*bones.anchors[k], _SYMBOLS.get(joint.kind.name, "o"), color=colour, ms=7, mec="black", label=label)
    if robot.mass > 0:
        areas = 30.0 + 320.0 * np.maximum(bones.masses, 0.0) / bones.masses.max()
        axes.scatter(
            *bones.centers.T, s=areas, facecolors="none", edgecolors="0.25", linewidths=1.2, label="centres of mass"
        )
    axes.set_title(f"{_plain(robot.name)}: {robot.nbodies} bodies, {robot.nv} degrees of freedom, {robot.mass:.4g} kg")
    if robot.nbodies:
        axes.legend(loc="upper left", fontsize=8, framealpha=0.8)
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure


def _plain(name: str) -> str:
    """The name as it is: a dollar sign would start a formula."""
    return name.replace("$", r"\$")


def _frame_axes(axes: Any, points: Array) -> float:
    """Equal scales around the points; returns the size of the cube shown."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(max((high - low).max(), 0.1)) * 1.1
    middle = (low + high) / 2
    for set_limits, center in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, strict=True):
        set_limits(center - size / 2, center + size / 2)
    axes.set_box_aspect((1, 1, 1))
    for name in "xyz":
        getattr(axes, f"set_{name}label")(f"{name} [m]")
    flat = (high - low)[2] < 1e-6 * size  # seen from above where nothing has height
    axes.set_proj_type("ortho")
    axes.view_init(elev=90 if flat else 22, azim=-90 if flat else -58)
    if flat:
        axes.set_zticks([])
        axes.set_zlabel("")
    return size


def _draw_ground(axes: Any, size: float) -> None:
    for direction, colour in zip(np.eye(3) * 0.12 * size, ("#c00000", "#008000", "#0000c0"), strict=True):
        axes.plot(*np.stack([np.zeros(3), direction]).T, color=colour, lw=2)


def _draw_body(axes: Any, bones: Skeleton, k: int, colour: str, size: float) -> None:
    anchor = bones.anchors[k]
    for end in bones.reaches[k]:
        if np.linalg.norm(end - anchor) > 1e-9 * size:
            axes.plot(*np.stack([anchor, end]).T, color=colour, lw=5, solid_capstyle="round", alpha=0.75)
    bar = 0.05 * size * bones.axes[k]
    if bar.any():
        axes.plot(*np.stack([anchor - bar, anchor + bar]).T, color="black", lw=3, solid_capstyle="butt")


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes: curves by name over the same x."""

    x_label: str
    y_label: str
    x: Array
    curves: Mapping[str, Array]


def draw_panels(path: str | os.PathLike[str], title: str, *panels: Panel) -> None:
    """Curves in panels side by side, with units and legends, written to a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(panels), 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_plain(title))
    for panel, axes in zip(panels, np.atleast_1d(figure.subplots(1, len(panels))), strict=True):
        for k, (name, curve) in enumerate(panel.curves.items()):
            style = ("-", "--", ":")[k // len(_COLOURS) % 3]
            axes.plot(panel.x, curve, style, color=_COLOURS[k % len(_COLOURS)], label=name, linewidth=1.6)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y_label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=110)
