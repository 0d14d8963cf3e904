"""Where a link can be brought to: configurations spread evenly over the ranges of joints, and the poses they give."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.manipulability import TaskName, task_rows
from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import ModelError, StateError
from recursa.evaluation.hints import coordinates_of
from recursa.model.model import Joint, Model
from recursa.plotting.panels import draw_workspace
from recursa.quantities import refusals
from recursa.reach.goals import require_finite
from recursa.reach.ranges import position_ranges
from recursa.sweeps.batching import Array, whole_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot

_CELLS = 24  # along the longest side of the bounds, for volumes


class Reach(NamedTuple):
    """Distances from the first joint that moves the link, in m: the least, the mean and the most."""

    least: float
    mean: float
    most: float


@dataclass(frozen=True)
class Workspace:
    """What :func:`recursa.workspace` found: n configurations, and where the link is at each.

    - ``q`` (n, nq): within the limits; ``poses`` (n, 4, 4): of the link, link to world.
    - ``manipulability`` (n,): Yoshikawa's, of the ``task``.
    - ``center`` (3,): where the first joint that moves the link is, from which reach is measured.
    - ``link``, ``task`` and ``robot``: what was asked.
    """

    q: Array
    poses: Array
    manipulability: Array
    center: Array
    link: str
    task: str
    robot: Robot

    @property
    def points(self) -> Array:
        """Positions (n, 3) of the link in the world, in m."""
        return self.poses[:, :3, 3]

    @cached_property
    def bounds(self) -> Array:
        """The smallest box around all points: its least and its greatest corner, (2, 3)."""
        return np.stack([self.points.min(axis=0), self.points.max(axis=0)])

    @cached_property
    def reach(self) -> Reach:
        """How far the link is from the first joint."""
        away = np.sqrt(np.square(self.points - self.center).sum(axis=1))
        return Reach(float(away.min()), float(away.mean()), float(away.max()))

    def volume(self, cell: float | None = None) -> float:
        """The volume of all cubes in which there is a point, in m^3; cubes with that side in m.

        None: a twenty-fourth of the longest side of the bounds. Small cubes need many samples, or they leave gaps.
        """
        longest = float((self.bounds[1] - self.bounds[0]).max())
        size = longest / _CELLS if cell is None else cell
        if cell is not None and not (isinstance(cell, int | float) and 0.0 < cell < np.inf):
            raise StateError(f"cell must be a positive number of metres, not {cell!r}")
        if size == 0.0:  # all points are one
            return 0.0
        cubes = np.floor((self.points - self.bounds[0]) / size).astype(np.int64)
        return len(np.unique(cubes, axis=0)) * size**3

    def plot(self, path: str | os.PathLike[str] | None = None, *, dpi: float = 150) -> Figure:
        """Three sections and a view in space, half of it cut away, coloured by manipulability: a matplotlib figure.

        Written to ``path``, in the format its ending names, if there is one.
        """
        title = f"{self.robot.name}: where {self.link} can be"
        return draw_workspace(self.points, self.manipulability, self.center, title, self.task, path, dpi=dpi)

    def __str__(self) -> str:
        low, high = self.bounds
        sides = ", ".join(f"{axis} {a:.3g} to {b:.3g}" for axis, a, b in zip("xyz", low, high, strict=True))
        reach = self.reach
        return (
            f"{len(self.q)} poses of {self.link}: {sides} m; {reach.least:.3g} to {reach.most:.3g} m from the first "
            f"joint; about {self.volume():.3g} m^3"
        )


def workspace(
    robot: Robot,
    link: str,
    samples: int = 100_000,
    q0: ArrayLike | None = None,
    *,
    task: TaskName = "position",
    seed: int = 0,
) -> Workspace:
    """Where a link can be brought to: its poses at configurations spread evenly over the ranges of the joints.

    The configurations are a sequence of low discrepancy (an additive recurrence, Roberts 2018), which fills the ranges
    without the gaps and clusters of random numbers; the same for every process and machine.

    - ``samples``: how many.
    - ``q0`` (nq,): where joints stay that do not move the link, and those without bounds (free, planar, sliding ones
      without limits). None: neutral. Rotary joints without limits go once around, ball joints everywhere.
    - ``task``: "pose", "position" or "orientation", what manipulability is about, as in :meth:`Robot.manipulability`.
    - ``seed``: another number shifts the sequence.

    >>> import recursa as rc
    >>> found = rc.workspace(rc.robots.planar(2), "tip", samples=2000)
    >>> print(round(found.reach.most, 2), found.points.shape)
    0.55 (2000, 3)
    """
    model = robot.model
    refuse_constraints(model, "rc.workspace", refusals.ASSEMBLY)
    path = [model.joints[k] for k in model.support(model.links[model.link_index(link)].body)]
    task_rows(task)
    count = whole_number("samples", samples, 1)
    if not path:
        raise ModelError(f"link '{link}' is fixed to the world: no joint moves it")
    home = np.asarray(robot.neutral() if q0 is None else coordinates_of(model, "q0", q0, robot.evaluator.kept), float)
    if home.shape != (model.nq,):
        raise StateError(f"q0 has shape {home.shape}, expected ({model.nq},): one configuration")
    require_finite(q0=home)
    q = _spread(model, path, home, count, seed)
    first = path[0]
    fixed = np.array(first.placement.rows(), float)  # the first joint of a path hangs on the world
    anchor = (robot.pose(home, first.child) if first.kind.nq > 1 else fixed)[:3, 3]
    return Workspace(
        q, robot.pose(q, link), np.asarray(robot.manipulability(q, link, task=task)), anchor, link, task, robot
    )


def _spread(model: Model, path: list[Joint], home: Array, samples: int, seed: int) -> Array:
    """Configurations (samples, nq), the joints of a path spread over their ranges."""
    lowest, highest = position_ranges(model)
    q, chosen = np.tile(home, (samples, 1)), list[tuple[Joint, int]]()
    sources = {joint.q_start: joint for joint in model.joints if joint.independent}
    own = {joint.q_start: sources[joint.q_start] for joint in path}  # a tied joint moves with the one it follows
    for joint in own.values():
        if joint.kind.is_ball:
            chosen.append((joint, 3))
        elif joint.kind.nq == 1 and (joint.kind.angle is not None or np.isfinite(lowest[joint.v_start])):
            chosen.append((joint, 1))
    shares = low_discrepancy(samples, sum(count for _, count in chosen), seed)
    start = 0
    for joint, count in chosen:
        mine = shares[:, start : start + count]
        start += count
        at, v = joint.q_start, joint.v_start
        if count == 3:
            q[:, at : at + 4] = even_rotations(mine)
            continue
        low, high = lowest[v], highest[v]
        if not (np.isfinite(low) and np.isfinite(high)):
            low, high = -np.pi, np.pi
        q[:, at] = low + (high - low) * mine[:, 0]
    return q


def low_discrepancy(count: int, dimensions: int, seed: int = 0) -> Array:
    """Numbers (count, dimensions) from 0 to 1: ``frac(s + k alpha)``, ``alpha_j = phi^-j``, ``phi^(d+1) = phi + 1``.

    >>> low_discrepancy(3, 1).ravel().round(3).tolist()
    [0.118, 0.736, 0.354]
    """
    whole_number("seed", seed, 0)
    phi = 1.5
    for _ in range(60):  # towards the root, by halves of Newton's steps
        phi -= (phi ** (dimensions + 1) - phi - 1.0) / ((dimensions + 1) * phi**dimensions - 1.0)
    shift = np.full(dimensions, 0.5) if seed == 0 else np.random.default_rng(seed).uniform(size=dimensions)
    alpha = np.array([phi ** -(j + 1) for j in range(dimensions)]) % 1.0
    return np.asarray((shift + np.arange(1, count + 1)[:, None] * alpha) % 1.0)


def even_rotations(shares: Array) -> Array:
    """Unit quaternions (x, y, z, w) spread evenly over all rotations (Shoemake, Graphics Gems III, 1992)."""
    a, b = np.sqrt(1.0 - shares[:, 0]), np.sqrt(shares[:, 0])
    x, y = 2.0 * np.pi * shares[:, 1], 2.0 * np.pi * shares[:, 2]
    return np.stack([a * np.sin(x), a * np.cos(x), b * np.sin(y), b * np.cos(y)], axis=1)
