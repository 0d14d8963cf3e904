"""A robot as a stick figure at one configuration."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import RecursaError, ShapeError, StateError
from recursa.model.joint_kind import JointKind
from recursa.model.model import WORLD
from recursa.plotting.styles import COLOURS, colour, new_figure, plain, saved
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array, as_array
from recursa.view.figures import attachments, rods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot

ROD = "0.35"  # the colour of rods that close loops
MANY = 20  # bodies, beyond which a picture has a colour for each limb and leaves out axes and centres of mass
_MOST = 80  # bodies, beyond which lines tell nothing
_SLENDER = 0.4  # of the longest side, the least that a box about a robot measures


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What there is to draw: per body the anchor of its joint, the axis there, the points of its links and loops."""

    anchors: Array  # (..., nbodies, 3)
    axes: Array  # (..., nbodies, 3) unit vectors, zero where a joint has no axis
    reaches: list[Array]  # per body (..., n, 3)
    centers: Array  # (..., nbodies, 3) centres of mass
    masses: Array  # (nbodies,)
    base: Array  # (n, 3) where joints and links are fixed to the world; none where the robot is loose
    rods: list[Array]  # (..., 2, 3) both ends of every rod that closes a loop


def skeleton(robot: Robot, q: ArrayLike) -> Skeleton:
    """The points and axes of a robot at configurations (..., nq), in world coordinates."""
    model = robot.model
    if model.nbodies > _MOST:
        raise RecursaError(
            f"robot '{robot.name}' has {model.nbodies} bodies, and a stick figure of more than {_MOST} cannot be read. "
            "robot.view() and robot.to_html(...) show it in a browser, where it can be turned; robot.reduced(...) "
            "leaves out joints"
        )
    poses = robot.poses(q)
    batch = poses.shape[:-3]
    body_pose = [poses[..., model.link_index(joint.child), :, :] for joint in model.joints]
    anchors, axes, centers = [], [], []
    reaches: dict[int, list[Array]] = {k: [] for k in range(-1, model.nbodies)}
    for pose, joint, inertia in zip(body_pose, model.joints, model.inertias, strict=True):
        placed: Array = np.array(joint.placement.rows())
        frame = np.broadcast_to(placed, (*batch, 4, 4)) if joint.parent == WORLD else body_pose[joint.parent] @ placed
        axis = np.array(joint.hinge.axis) if joint.kind.has_axis else np.zeros(3)
        # nothing reaches from where a loose body started to where it is now
        anchors.append((pose if joint.kind.is_loose else frame)[..., :3, 3])
        axes.append(frame[..., :3, :3] @ axis)
        reaches[joint.parent].append(frame[..., :3, 3])
        center = np.array(inertia.com()) if inertia.mass > 0 else np.zeros(3)
        centers.append(pose[..., :3, :3] @ center + pose[..., :3, 3])
    for k, link in enumerate(model.links):
        reaches[link.body].append(poses[..., k, :3, 3])

    def world(body: int, point: Vec3) -> Array:
        local = np.array([float(x) for x in point])
        if body == WORLD:
            return np.broadcast_to(local, (*batch, 3))
        return np.asarray(body_pose[body][..., :3, :3] @ local + body_pose[body][..., :3, 3])

    for body, point in attachments(robot):
        reaches[body].append(world(body, point))
    return Skeleton(
        _stacked(anchors, batch),
        _stacked(axes, batch),
        [_stacked(reaches[k], batch) for k in range(model.nbodies)],
        _stacked(centers, batch),
        np.array([inertia.mass for inertia in model.inertias]),
        _base(robot),
        [_stacked([world(*end) for end in ends], batch) for ends in rods(robot)],
    )


def symbol(kind: JointKind) -> str:
    """The marker of a joint: squares slide, circles turn, crosses do both in a plane, stars are free."""
    if not any(kind.angular):
        return "s"
    return "*" if kind.is_free else "P" if kind.is_loose else "o"


def _base(robot: Robot) -> Array:
    model = robot.model
    held = [joint for joint in model.joints if joint.parent == WORLD and not joint.kind.is_loose]
    if not held:
        return np.empty((0, 3))
    poses = robot.poses(robot.neutral())
    fixed = [poses[k, :3, 3] for k, link in enumerate(model.links) if link.body == WORLD]
    return np.array([np.array(joint.placement.rows())[:3, 3] for joint in held] + fixed)


def limbs(robot: Robot) -> list[int]:
    """Of every body the limb that it belongs to: arms and legs begin where the tree branches.

    >>> import recursa as rc
    >>> limbs(rc.robots.tree(8))
    [0, 1, 1, 1, 1, 2, 2, 2]
    >>> limbs(rc.robots.planar(3))
    [0, 0, 0]
    """
    model, found = robot.model, list[int]()
    children = Counter(joint.parent for joint in model.joints)
    outward = Counter(inward for body in range(model.nbodies) for inward in model.support(body))
    for k, joint in enumerate(model.joints):
        forks = children[joint.parent] > 1 and outward[k] > 2  # fingers are no limbs
        begins = joint.parent == WORLD or forks
        found.append(max(found, default=-1) + 1 if begins else found[joint.parent])
    return found


def paints(robot: Robot) -> list[str]:
    """The colours of bodies: each its own, or of many bodies each limb's."""
    return [colour(k) for k in (range(robot.nbodies) if robot.nbodies <= MANY else limbs(robot))]


def _stacked(points: list[Array], batch: tuple[int, ...]) -> Array:
    return np.stack(points, axis=-2) if points else np.empty((*batch, 0, 3))


def _require_one_state(robot: Robot, q: ArrayLike) -> None:
    values = as_array(robot.model, "q", q, coordinates=True)
    if values.ndim != 1:
        raise ShapeError(f"q has shape {values.shape}; a picture shows one state, of shape ({robot.nq},)")
    if not np.isfinite(values).all():
        raise StateError("q contains nan or infinity; there is nothing to draw")


def draw(robot: Robot, q: ArrayLike | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw a robot at a configuration (neutral by default); returns the matplotlib figure, and saves it to ``path``.

    Links are thick lines, rods that close loops thin ones, joints short bars along their axes (squares slide, the rest
    turn), circles mark centres of mass with an area that grows with the mass. What the robot stands on is grey. Robots
    of more than 20 bodies have a colour for each limb, and no axes and centres of mass; of more than 80 they are
    refused, as ``robot.to_html`` shows them better. Without ``path`` the figure is one of pyplot's, if that is
    imported: ``plt.show()`` shows it.

    >>> import recursa as rc
    >>> figure = draw(rc.robots.planar(), [0.5, -0.3, -0.4])
    """
    shown = robot.neutral() if q is None else q
    _require_one_state(robot, shown)
    figure = new_figure(7.2, 6.4, shown=path is None)
    draw_robot(figure.add_subplot(projection="3d"), robot, shown)
    return saved(figure, path, dpi=130)


def draw_robot(axes: Any, robot: Robot, q: ArrayLike) -> None:
    """The same on three-dimensional axes that are there."""
    bones, colours, many = skeleton(robot, q), paints(robot), robot.nbodies > MANY
    origin = np.zeros((0 if many and not len(bones.base) else 1, 3))
    points = np.concatenate([origin, bones.base, bones.anchors, bones.centers, *bones.reaches])
    size = frame_axes(axes, points, tight=many)
    if len(origin):
        draw_ground(axes, size, bones)
    draw_base(axes, bones, label="fixed base")
    for rod in bones.rods:
        axes.plot(*rod.T, color=ROD, lw=2)
    for k, joint in enumerate(robot.model.joints):
        _draw_body(axes, bones, k, colours[k], size, axis=not many)
        label = plain(joint.name) if robot.nbodies <= len(COLOURS) else None
        look = {"color": "white", "ms": 3.5} if many else {"color": colours[k], "ms": 7}
        axes.plot(*bones.anchors[k], symbol(joint.kind), mec="black", zorder=3, label=label, **look)
    if robot.mass > 0 and not many:
        areas = 30.0 + 320.0 * np.maximum(bones.masses, 0.0) / bones.masses.max()
        axes.scatter(
            *bones.centers.T, s=areas, facecolors="none", edgecolors="0.25", linewidths=1.2, label="centres of mass"
        )
    about = "\na colour for each limb; robot.to_html(...) shows shapes, and moves" if many else ""
    freedoms = f"mobility {robot.mobility(q).freedoms}" if robot.constraints else f"{robot.nv} degrees of freedom"
    sizes = f"{robot.nbodies} bodies, {freedoms}, {robot.mass:.4g} kg"
    axes.set_title(f"{plain(robot.name)}: {sizes}{about}", fontsize=10 if many else None)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", fontsize=8, framealpha=0.8)


def frame_axes(axes: Any, points: Array, flat_zoom: float = 1.0, *, tight: bool = False) -> float:
    """Equal scales around the points; returns the size of the cube shown. A plane is seen from its front, enlarged.

    If ``tight``, a box around the points instead of a cube, so that what is slender is seen large.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(max((high - low).max(), 0.1)) * 1.1
    middle = (low + high) / 2
    spans = np.maximum(1.1 * (high - low), _SLENDER * size) if tight else np.full(3, size)
    for name, center, span in zip("xyz", middle, spans, strict=True):
        getattr(axes, f"set_{name}lim")(center - span / 2, center + span / 2)
        getattr(axes, f"set_{name}label")(f"{name} [m]")
        if tight:
            getattr(axes, f"{name}axis").get_major_locator().set_params(
                nbins=max(2, round((8 if name == "z" else 4) * span / size))
            )
    axes.set_proj_type("ortho")
    thin = (high - low) < 1e-6 * size
    if thin[2]:  # seen from above where nothing has height
        elevation, azimuth, across = 90, -90, "z"
    elif thin[1]:  # and from the side where all is in a vertical plane
        elevation, azimuth, across = 0, -90, "y"
    elif thin[0]:
        elevation, azimuth, across = 0, 0, "x"
    else:
        elevation, azimuth, across = (12, -35, "") if tight else (22, -58, "")
    if tight:
        axes.zaxis.labelpad = 14  # beyond the numbers, which are longer than those of a cube
    axes.view_init(elev=elevation, azim=azimuth)
    axes.set_box_aspect(spans / size, zoom=flat_zoom if across else 0.86 if tight else 1.0)
    if across:
        getattr(axes, f"set_{across}ticks")([])
        getattr(axes, f"set_{across}label")("")
    return size


def draw_ground(axes: Any, size: float, bones: Skeleton) -> None:
    """The world's axes at its origin, x red, y green, z blue; and the ground under a robot that stands on it."""
    points = np.concatenate([bones.anchors.reshape(-1, 3), *(reach.reshape(-1, 3) for reach in bones.reaches)])
    if len(bones.base) and len(points) and np.ptp(points[:, 2]) > 1e-3 * size and points[:, 2].min() > -0.02 * size:
        corners = 0.32 * size * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        x, y = np.concatenate([corners, corners[:1]]).T
        axes.plot_trisurf(x[:4], y[:4], np.zeros(4), color="0.6", alpha=0.18, shade=False, linewidth=0)
        axes.plot(x, y, np.zeros(5), color="0.6", lw=0.8)
    for direction, paint in zip(np.eye(3) * 0.12 * size, ("#c00000", "#008000", "#0000c0"), strict=True):
        axes.plot(*np.stack([np.zeros(3), direction]).T, color=paint, lw=2)


def draw_base(axes: Any, bones: Skeleton, label: str | None = None) -> None:
    """What the robot stands on: from the world's origin to the first joints, and to what else does not move."""
    if len(bones.base):
        axes.plot(0, 0, 0, "s", color="0.55", ms=10, alpha=0.8, label=label)
    for end in bones.base:
        axes.plot(*np.stack([np.zeros(3), end]).T, color="0.55", lw=7, alpha=0.7, solid_capstyle="round")


def _draw_body(axes: Any, bones: Skeleton, k: int, paint: str, size: float, *, axis: bool) -> None:
    anchor = bones.anchors[k]
    for end in bones.reaches[k]:
        if np.linalg.norm(end - anchor) > 1e-9 * size:
            axes.plot(*np.stack([anchor, end]).T, color=paint, lw=5.0, solid_capstyle="round", alpha=0.75)
    bar = 0.05 * size * bones.axes[k]
    if axis and bar.any():
        axes.plot(*np.stack([anchor - bar, anchor + bar]).T, color="black", lw=3, solid_capstyle="butt")
