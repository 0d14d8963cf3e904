"""What a robot looks like, as plain data: shapes of its links, bars where there are none, hinges, what it stands on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.constraints.rows import row_scales
from recursa.dynamics.configuration import moves_by_adding
from recursa.dynamics.gathering import damping_coefficients, friction_coefficients
from recursa.errors import shortened
from recursa.model.columns import angular, coordinate_units, freedom_names
from recursa.model.constraint_equations import NO_LINK, Closing, Telling, told_of
from recursa.model.geometry import Geometry
from recursa.model.model import WORLD, Joint, Link
from recursa.model.rebase import flies_freely
from recursa.model.stops import STOP_DAMPING, STOP_FREQUENCY, limited_joints
from recursa.spatial.constants import principal_axes
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array
from recursa.view.kernels import sizes
from recursa.view.mesh_files import MOST_TRIANGLES, MeshShelf

if TYPE_CHECKING:
    from recursa.robot import Robot

Shape = dict[str, Any]

_DENSITY = 2000.0  # kg/m^3, of the bars that stand for links
_THICK = 0.035  # of the robot's size, the largest radius of such a bar
_TAPER = 0.72  # of a bar's radius, at its far end


@dataclass(frozen=True)
class Room:
    """The size of the space that the robot takes, and the height of the ground along the vertical."""

    size: float
    floor: float


def figure_of(robot: Robot, q: Array, shown: Array, shelf: MeshShelf | None) -> tuple[dict[str, Any], list[str]]:
    """The robot at q as data for the page, and notes; ``shown`` (n, nq): how far it goes."""
    model = robot.model
    links = [[link for link in model.links if link.body == body] for body in range(WORLD, model.nbodies)]
    size = _room(robot, q[None], []).size
    drawn = [_shapes(robot, links[body + 1], shelf) for body in range(WORLD, model.nbodies)]
    here, room = _room(robot, q[None], drawn), _room(robot, shown, drawn)
    bodies, reaches = [], []
    for k, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True)):
        ends = _ends(robot, k, links[k + 1])
        corners = np.concatenate([[_com(inertia), [0.0, 0.0, 0.0]], *map(_corners, drawn[k + 1])])
        reaches.append(max(np.linalg.norm(corners, axis=1).max(), *(math.hypot(*end) for end in ends)))
        own = drawn[k + 1] or list(_stand_in(joint, inertia, ends, size))
        bodies.append(
            {
                "name": joint.child, "link": model.link_index(joint.child), "shapes": own, "mass": float(inertia.mass),
                "com": _com(inertia), "ellipsoid": _ellipsoid(inertia),
            }
        )  # fmt: skip
    bare, radius = not any(drawn), _hinge_radius(robot, size)
    shown_joints = [bare or not (drawn[k + 1] and drawn[j.parent + 1]) for k, j in enumerate(model.joints)]
    hangs = len(shown) == 1 and not any(joint.kind.is_loose for joint in model.joints)
    hangs = hangs and (room.floor < 0.0 or _swings(robot, size))
    floor = min(room.floor, _lowest(robot, reaches) - _THICK * size) if hangs else room.floor
    found = {
        "name": model.name, **sizes(model), "flat": moves_by_adding(model), "flying": flies_freely(model),
        "gravity": list(model.gravity), "q": q.tolist(), "size": here.size,
        "room": room.size, "floor": floor, "bodies": bodies, "base": drawn[0] or list(_stand(robot, size)),
        "joints": [_joint(joint, k, shown_joints[k], radius) for k, joint in enumerate(model.joints)],
        "struts": list(_struts(robot, shown_joints, radius)),
        "freedoms": _freedoms(robot, here.size), "damping": damping_coefficients(model), "loops": _loops(robot, q),
        "stops": {"frequency": STOP_FREQUENCY, "damping": STOP_DAMPING},
    }  # fmt: skip
    notes = []
    if flies_freely(model) and any(model.gravity) and not model.description.constraints:
        notes.append(
            "Nothing touches the ground in this page: a robot that is let go and not fixed to the world falls."
        )
    if endless := [joint.name for joint in model.joints if _slides_on(joint)]:
        notes.append(f"Sliding joints without limits in the robot's data, which nothing stops: {shortened(endless)}.")
    if any(map(any, friction_coefficients(model))):
        notes.append("Dry friction is left out in this page; damping of the joints is not.")
    return found, notes


def _slides_on(joint: Joint) -> bool:
    """Whether a joint slides without a stop at one of its ends."""
    low, high = joint.limits or (-math.inf, math.inf)
    return joint.independent and joint.kind.slides and math.isinf(high - low)


# ---- shapes that the file has ----------------------------------------------------------------------------------------


def shelf_for(robot: Robot) -> MeshShelf:
    """An empty shelf on which all meshes of the robot find room."""
    shapes = [shape for link in robot.model.description.links for shape in link.geometry if shape.role == "visual"]
    files = {shape.path for shape in shapes if shape.path}
    return MeshShelf(min(30_000, MOST_TRIANGLES // max(len(files), 1)))


def _shapes(robot: Robot, links: list[Link], shelf: MeshShelf | None) -> list[Shape]:
    """Of one body, in its frame: what is to be seen, or else what bumps."""
    for role in ("visual", "collision"):
        found = [
            one
            for link in links
            if not link.frame
            for shape in robot.geometry(link.name, role)
            if (one := _shape(shape, link, shelf)) is not None
        ]
        if found:
            return found
    return []


def _shape(shape: Geometry, link: Link, shelf: MeshShelf | None) -> Shape | None:
    place = link.offset @ shape.pose
    paint = None if shape.material is None else shape.material.rgba
    colour = None if paint is None else [float(x) for x in paint]
    if shape.shape != "mesh":
        if not shape.size or shape.shape not in ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane"):
            return None
        return {"kind": shape.shape, "size": [float(x) for x in shape.size], "place": _rows(place), "colour": colour}
    if shelf is None or shape.path is None:
        return None
    parts = shelf.parts(shape, link.name)
    if parts is None:
        return {"kind": "box", "size": [0.08, 0.08, 0.08], "place": _rows(place), "colour": [0.85, 0.3, 0.25, 1.0]}
    scaled = np.array(place.rows(), dtype=float)[:3] * np.array([*shape.scale, 1.0])
    corners = np.array([shelf.corners[number] for number, _ in parts])
    box = np.array([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])
    return {
        "kind": "mesh", "parts": [number for number, _ in parts], "colours": [paint for _, paint in parts],
        "place": [float(x) for x in scaled.ravel()], "colour": colour, "box": box.tolist(),
    }  # fmt: skip


def _rows(place: Transform) -> list[float]:
    return [float(x) for row in place.rows()[:3] for x in row]


# ---- what stands for links without shapes ----------------------------------------------------------------------------


def _ends(robot: Robot, body: int, links: list[Link]) -> list[list[float]]:
    """Where joints, links and loops hang on a body, in its frame."""
    points = [joint.placement.translation for joint in robot.model.joints if joint.parent == body]
    points += [link.offset.translation for link in links]
    points += [point for where, point in attachments(robot) if where == body]
    return [[float(x) for x in point] for point in points]


def _start(joint: Joint) -> Vec3:
    """Where a body hangs on its joint, in its own frame."""
    return Vec3(0.0, 0.0, 0.0) if joint.after is None else joint.after.inverse.translation


def _com(inertia: RigidInertia) -> list[float]:
    return [float(x) for x in inertia.com()] if inertia.mass > 0.0 else [0.0, 0.0, 0.0]


def _stand_in(joint: Joint, inertia: RigidInertia, ends: list[list[float]], size: float) -> Iterator[Shape]:
    """A body that flies as the box of its inertia; else tapered bars from its joint to all that hangs on it."""
    if joint.kind.is_loose:
        yield from _solid(inertia, "box", 0.02 * size, size)
        return
    start = np.array([float(x) for x in _start(joint)])
    bars = [np.array(end) for end in ends if math.dist(end, start) > 1e-3 * size]
    if not bars and inertia.mass > 0.0 and math.dist(_com(inertia), start) > 5e-3 * size:
        bars = [np.array(_com(inertia))]
    for end in _apart(bars, 1e-3 * size):
        radius = _radius(float(inertia.mass), float(np.linalg.norm(end - start)), size)
        yield {"kind": "bar", "from": start.tolist(), "to": end.tolist(), "radii": [radius, _TAPER * radius]}
    if not bars:
        yield from _solid(inertia, "ellipsoid", 0.015 * size, 0.06 * size)


def _apart(points: list[Array], least: float) -> list[Array]:
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > least for other in kept):
            kept.append(point)
    return kept


def _radius(mass: float, length: float, size: float) -> float:
    """Of a bar with that mass, within what looks right."""
    solid = math.sqrt(max(mass, 0.0) / (math.pi * _DENSITY * max(length, 1e-9)))
    return min(max(solid, 0.012 * size), _THICK * size, 0.4 * length + 0.004 * size)


def _ellipsoid(inertia: RigidInertia) -> Shape | None:
    """The solid of even density with that mass and inertia: its half axes, and where it is in the body."""
    if not inertia.mass > 0.0:
        return None
    moments, axes = principal_axes(inertia.moment_about_com())
    x, y, z = (float(m) for m in moments)
    squares = [2.5 * s / float(inertia.mass) for s in (y + z - x, x + z - y, x + y - z)]
    radii = [math.sqrt(max(s, 0.0)) for s in squares]
    return {"radii": radii, "place": _rows(Transform(axes, inertia.com()))}


def _solid(inertia: RigidInertia, kind: str, least: float, most: float) -> Iterator[Shape]:
    """A box or an ellipsoid of even density with that inertia, its extents within what looks right."""
    found = _ellipsoid(inertia)
    if found is not None:  # of equal mass and inertia: edges of a box are sqrt(12/5) of an ellipsoid's half axes
        factor = math.sqrt(2.4) if kind == "box" else 1.0
        extents = [min(max(factor * r, least), most) for r in found["radii"]]
        yield {"kind": kind, "size": extents, "place": found["place"], "colour": None}


def _stand(robot: Robot, size: float) -> Iterator[Shape]:
    """A plate at the height of the world's origin for every joint that the world holds, and a post from there to it."""
    up = _up(robot)
    for joint in robot.model.joints:
        if joint.parent != WORLD or joint.kind.is_loose:
            continue
        anchor = np.array([float(x) for x in joint.placement.translation])
        height = float(anchor @ up)
        foot = anchor - height * up if abs(height) < 1.5 * size else anchor
        plate = foot + 0.012 * size * up
        yield {
            "kind": "bar",
            "from": foot.tolist(),
            "to": plate.tolist(),
            "radii": [0.085 * size, 0.08 * size],
            "flat": True,
        }
        if math.dist(foot, anchor) > 0.02 * size:
            yield {"kind": "bar", "from": foot.tolist(), "to": anchor.tolist(), "radii": [0.04 * size, 0.03 * size]}


def _hinge_radius(robot: Robot, size: float) -> float:
    """A part of the size of the robot; less where its links are short beside that."""
    lengths = [float(joint.placement.translation.norm()) for joint in robot.model.joints if joint.parent != WORLD]
    long = [length for length in lengths if length > 1e-3 * size]
    return min(0.024 * size, 0.1 * float(np.median(long))) if long else 0.024 * size


def _struts(robot: Robot, shown: list[bool], radius: float) -> Iterator[Shape]:
    """Rods between points of two bodies: what a joint that slides slides on, and rods that close loops."""
    model = robot.model
    for k, joint in enumerate(model.joints):
        if shown[k] and joint.kind.slides:
            yield _strut((joint.parent, joint.placement.translation), (k, _start(joint)), 0.5 * radius)
    for first, second in rods(robot):
        yield _strut(first, second, 0.3 * radius)


def rods(robot: Robot) -> list[list[tuple[int, Vec3]]]:
    """Both ends of every rod that closes a loop: a body, or WORLD, and a point in its frame."""
    closings = [one for one in robot.model.equations if isinstance(one, Closing)]
    return [ends_of(robot, one) for one in closings if one.kind == "rod"]


def attachments(robot: Robot) -> list[tuple[int, Vec3]]:
    """Bodies, with the points in their frames at which loops are closed."""
    anchored = [one for one in robot.model.equations if isinstance(one, Closing) and one.anchored]
    return [end for equation in anchored for end in ends_of(robot, equation)]


def ends_of(robot: Robot, equation: Closing) -> list[tuple[int, Vec3]]:
    """Both bodies that a loop joins, with its points in their frames."""
    found = []
    for number, frame in zip(equation.links, equation.frames, strict=True):
        link = None if number == NO_LINK else robot.model.links[number]
        found.append((WORLD, frame.translation) if link is None else (link.body, (link.offset @ frame).translation))
    return found


def _strut(start: tuple[int, Vec3], end: tuple[int, Vec3], radius: float) -> Shape:
    places = [{"body": body, "point": [float(x) for x in point]} for body, point in (start, end)]
    return {"from": places[0], "to": places[1], "radius": radius}


def _joint(joint: Joint, number: int, shown: bool, radius: float) -> dict[str, Any]:
    return {
        "name": joint.name, "kind": joint.kind.name, "body": number, "parent": joint.parent,
        "place": _rows(joint.placement), "axis": [float(x) for x in joint.hinge.axis], "hasAxis": joint.kind.has_axis,
        "shown": shown and not joint.kind.is_loose, "radius": radius,
    }  # fmt: skip


def _freedoms(robot: Robot, size: float) -> list[dict[str, Any]]:
    """One entry per speed: its name, its range for a slider, the limits at which the joint is stopped."""
    model, (low, high) = robot.model, robot.position_limits
    efforts, turns, units = robot.effort_limits, angular(model), coordinate_units(model)
    single = {j.v_start: j.q_start for j in model.joints if j.independent and j.kind.nq == j.kind.nv == 1}
    stopped = {joint.v_start: sorted(joint.limits or ()) for joint in limited_joints(model)}
    found = []
    for k, name in enumerate(freedom_names(model)):
        at, spread = single.get(k), math.pi if turns[k] else size
        least, most = (-spread, spread) if at is None else _range(float(low[at]), float(high[at]), spread)
        assert at is None or units[at] in ("rad", "m")
        found.append(
            {
                "name": name, "angular": turns[k], "coordinate": at, "low": least, "high": most,
                "effort": finite_or_none(efforts[k]), "force": "N m" if turns[k] else "N",
                "limits": [finite_or_none(x) for x in stopped[k]] if k in stopped else None,
            }
        )  # fmt: skip
    return found


def _range(low: float, high: float, spread: float) -> tuple[float, float]:
    """The range of a slider: between the limits, or as far as ``spread`` where there is none."""
    least = low if math.isfinite(low) else min(-spread, high - spread)
    most = high if math.isfinite(high) else max(spread, low + spread)
    return (least, most) if least < most else (-spread, spread)


def _loops(robot: Robot, q: Array) -> dict[str, Any] | None:
    """What the page needs to keep loops closed, and the freedoms whose drives hold a pose unless others are chosen."""
    model = robot.model
    if not model.description.constraints:
        return None
    names, mobility = freedom_names(model), robot.mobility(q)
    loose = {k for j in model.joints if j.kind.is_loose for k in range(j.v_start, j.v_start + j.kind.nv)}
    independent = {names.index(name) for name in mobility.independent}
    driven = set(range(model.nv)) - loose if independent & loose else independent
    for joint in (model.joints[one.joint] for one in model.equations if isinstance(one, Telling)):
        driven |= set(range(joint.v_start, joint.v_start + joint.kind.nv))
    return {
        "mobility": mobility.freedoms, "driven": sorted(driven), "unitLength": model.unit_length,
        "scales": row_scales(model),
        "held": [told_of(one) is None for one in model.equations for _ in one.units],  # sliders move what is prescribed
        "joints": [[j.v_start, j.kind.nv] for j in model.joints if j.independent],
    }  # fmt: skip


def finite_or_none(x: float) -> float | None:
    """JSON has no infinity."""
    return float(x) if math.isfinite(x) else None


# ---- room ------------------------------------------------------------------------------------------------------------


def _up(robot: Robot) -> Array:
    gravity: Array = np.array(robot.gravity, dtype=float)
    weight = float(np.linalg.norm(gravity))
    return -gravity / weight if weight > 0.0 else np.array([0.0, 0.0, 1.0])


def _room(robot: Robot, shown: Array, drawn: list[list[Shape]]) -> Room:
    """Around all points of all bodies at the configurations; a picture has no edge before the robot's."""
    model, poses = robot.model, robot.poses(shown)
    points = [poses[:, :, :3, 3].reshape(-1, 3)]
    for link, inertia in zip((model.link_index(j.child) for j in model.joints), model.inertias, strict=True):
        points.append(poses[:, link, :3, :3] @ np.array(_com(inertia)) + poses[:, link, :3, 3])
    for body, shapes in enumerate(drawn, WORLD):
        corners = np.concatenate([np.empty((0, 3)), *(_corners(shape) for shape in shapes)])
        if body == WORLD:
            points.append(corners)
        else:
            pose = poses[:, model.link_index(model.joints[body].child)]
            points.append((corners @ np.swapaxes(pose[:, :3, :3], -1, -2) + pose[:, None, :3, 3]).reshape(-1, 3))
    held = any(joint.parent == WORLD and not joint.kind.is_loose for joint in model.joints)
    if held or not model.joints:
        points.append(np.zeros((1, 3)))
    cloud = np.concatenate(points)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    size = 1.1 * max(float((high - low).max()), 0.1)
    lowest = float((cloud @ _up(robot)).min())
    return Room(size, 0.0 if held and lowest > -0.05 * size else lowest)


def _swings(robot: Robot, size: float) -> bool:
    """Whether something turns about a level axis at the height of the ground, as a pendulum does."""
    up = _up(robot)
    for joint in robot.model.joints:
        if joint.parent == WORLD and joint.kind.turns_about_axis:
            rows: Array = np.array(joint.placement.rows(), dtype=float)
            level = abs(up @ rows[:3, :3] @ np.array(joint.hinge.axis, dtype=float)) < 0.1
            if level and abs(up @ rows[:3, 3]) < 0.02 * size:
                return True
    return False


def _lowest(robot: Robot, reaches: list[float]) -> float:
    """A height below which no pose takes a robot that the world holds: every branch hangs straight down."""
    heights: list[float] = []  # of the joint of every body
    for joint in robot.model.joints:
        place = np.array([float(x) for x in joint.placement.translation])
        on_world = joint.parent == WORLD
        height = float(place @ _up(robot)) if on_world else heights[joint.parent] - float(np.linalg.norm(place))
        if joint.kind.slides:
            height -= max((abs(x) for x in joint.limits or () if math.isfinite(x)), default=0.0)
        heights.append(height - math.hypot(*map(float, _start(joint))))
    return min(height - reach for height, reach in zip(heights, reaches, strict=True))


def _corners(shape: Shape) -> Array:
    """The corners of a box around a shape, in the frame of its body."""
    place: Array = np.array(shape.get("place", _rows(IDENTITY_TRANSFORM)), dtype=float).reshape(3, 4)
    if shape["kind"] == "mesh":
        low, high = np.array(shape["box"])
    else:
        half = _half(shape["kind"], np.array(shape["size"], dtype=float))
        low, high = -half, half
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return corners @ place[:, :3].T + place[:, 3]


def _half(kind: str, size: Array) -> Array:
    """Half the edges of the box around a solid."""
    match kind:
        case "box":
            return size / 2
        case "cylinder":
            return np.array([size[0], size[0], size[1] / 2])
        case "capsule":
            return np.array([size[0], size[0], size[1] / 2 + size[0]])
        case "ellipsoid":
            return size
        case "sphere":
            return np.full(3, size[0])
    return np.zeros(3)  # a plane, which may be without end
