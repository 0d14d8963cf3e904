"""Simulation in non-minimal coordinates: every link with a pose and a velocity of its own, joints by their forces.

Jain & Rodriguez, Algorithm 3.4, with the projections of ``free/separate_links.py``. Minimal coordinates cannot
drift; these can, and a run tells how far: without projection by the integrator's error, with it by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.configuration import series_of_rates
from recursa.dynamics.wrenches import wrench_array
from recursa.errors import SimulationError, StateError
from recursa.evaluation.hints import coordinates_of
from recursa.free import separate_links
from recursa.free.floating_base import free_flyer
from recursa.integrators import ArrayStep, named
from recursa.integrators.explicit import LinksIntegrator
from recursa.integrators.mechanics import told_when
from recursa.model.joints import Free
from recursa.quantities import Quantity
from recursa.spatial.inertia import Motion
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array, as_array, fitting, one_number, times, whole_number

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- poses and velocities of many links as arrays; quaternions are (x, y, z, w) --------------------------------------


@dataclass(frozen=True)
class LinkPoses:
    """Origins (..., N, 3) and quaternions (..., N, 4) of all bodies."""

    origins: Array
    turns: Array

    @cached_property
    def frames(self) -> Array:
        """Rotation matrices (..., N, 3, 3), link to world axes."""
        return matrices(self.turns)

    def moved(self, displacements: Array) -> LinkPoses:
        """Every link displaced by ``exp`` of a motion (..., N, 6) in its own axes; quaternions have unit length."""
        motion = Motion.of(np.moveaxis(displacements, -1, 0))
        shift = np.stack(Transform.exp(motion).translation, axis=-1)
        turn = np.stack(Quaternion(*np.moveaxis(self.turns, -1, 0)) @ Quaternion.exp(motion.angular), axis=-1)
        turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
        return LinkPoses(self.origins + times(self.frames, shift), turn)


def flat(values: Array) -> Array:
    """Values per body, one body after the other."""
    return values.reshape(*values.shape[:-2], -1)


def matrices(quaternions: Array) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions of any length but zero."""
    return _stacked(Rotation.from_quaternion(Quaternion(*np.moveaxis(quaternions, -1, 0))), quaternions)


def rotation_matrices(vectors: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    return _stacked(Rotation.exp(Vec3(*np.moveaxis(vectors, -1, 0))), vectors)


def _stacked(rotation: Rotation, like: Array) -> Array:
    return np.stack(np.broadcast_arrays(*rotation), axis=-1).reshape(*like.shape[:-1], 3, 3)


def quaternions_of(matrices: Array) -> Array:
    """Quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    entries = matrices.reshape(*matrices.shape[:-2], 9)
    return np.stack(Rotation(*np.moveaxis(entries, -1, 0)).quaternion(), axis=-1)


def chart_rates(displacements: Array, twists: Array) -> Array:
    """Rates (..., N, 6) of the displacements with which links move at such velocities."""
    x, v = (tuple(np.moveaxis(values, -1, 0)) for values in (displacements, twists))
    return np.stack(series_of_rates(Free().bracket, x, v), axis=-1)


Torque = Callable[[float, Array, Array], ArrayLike] | ArrayLike | None
_MOST_STEPS = 10_000_000
_MOST_PASSES = 4
_ONE_PASS = 1e-7  # displacements (m, rad) that leave gaps below rounding


@dataclass(frozen=True)
class LinkRun:
    """A motion computed link by link.

    - ``t`` (n,); ``q`` (n, ..., nq) and ``v`` (n, ..., nv), measured between the links
    - ``poses`` (n, ..., nbodies, 4, 4) of the bodies in the world, ``velocities`` (n, ..., nbodies, 6) in body axes
    - ``gap`` (n,): the largest distance, in metres, of a joint's two sides from where the joint allows them to be
    - ``misalignment`` (n,): the same for angles, in radians
    """

    t: Array
    q: Array
    v: Array
    poses: Array
    velocities: Array
    gap: Array
    misalignment: Array

    @property
    def drift(self) -> float:
        """The largest gap of the run, in metres."""
        return float(self.gap.max())


def simulate_links(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float = 0.01,
    torque: Torque = None,
    wrenches: Any = None,
    integrator: LinksIntegrator = "rk4",
    projection: bool = True,
    save_every: int = 1,
) -> LinkRun:
    """Let a free flyer move for ``duration`` seconds, each link by itself: Jain & Rodriguez, Algorithm 3.4.

    Every link's acceleration comes from its two messages, ``alpha = -inv(P + S) (y + s)`` (25), and its pose and
    velocity are integrated on their own. ``projection`` then closes the joints, in O(n), with the same messages:
    positions by the smallest displacements in the metric of the masses, velocities by ``inv(Mass) H phi M V``, which
    keeps the momentum. ``torque``: None, (..., nv), or a function of (t, q, v); damping and friction act as well.
    ``wrenches``: as for :meth:`Robot.forward_dynamics`, or a function of (t, q, v) that returns such. q0 (..., nq), v0
    (..., nv). The last sample is at ``duration``; the last step may be shorter. ``integrator``: "rk4"
    or "semi-implicit", as in :func:`recursa.rollout`. The motion is that of :meth:`Robot.simulate` to its order.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> run = rc.free.simulate_links(robot, q, v, 0.2, step=0.02)
    >>> run.drift < 1e-12
    True
    >>> loose = rc.free.simulate_links(robot, q, v, 0.2, step=0.02, projection=False)
    >>> 1e-12 < loose.drift < 1e-6
    True
    """
    free_flyer(robot, "simulate_links")
    scheme = named(integrator, "links").scheme
    assert scheme is not None
    times = _instants(duration, step)
    save_every = whole_number("save_every", save_every, 1)
    links = _Links(robot, torque, wrenches)
    poses, twists = links.start(q0, v0)
    record = _Record(links)
    record.add(times[0], poses, twists)
    for number in range(1, len(times)):
        with np.errstate(all="ignore"):  # what is not finite is told below
            on = _LinkMechanics(links, times[number - 1], times[number] - times[number - 1])
            poses, twists = scheme(on, poses, twists)
            if projection:
                poses, twists = links.projected(poses, twists)
        if not np.isfinite(twists).all():
            raise SimulationError(
                f"robot '{robot.name}': the motion is not finite from t = {times[number]:.6g} s on. Take a smaller "
                f"step than {step:g} s, look at the torques, or let robot.doctor() look for joints with nothing to "
                "move. error.run has what there is until then",
                float(times[number - 1]),
                record.run(),
            )
        if number % save_every == 0 or number == len(times) - 1:
            record.add(times[number], poses, twists)
    return record.run()


def _instants(duration: float, step: float) -> Array:
    duration, step = one_number("duration", duration, unit=" s"), one_number("step", step, unit=" s")
    count = math.ceil(duration / step - 1e-9)
    if count > _MOST_STEPS:
        raise StateError(f"{count} steps of {step:g} s are too many for one run of {duration:g} s; take larger steps")
    return np.minimum(step * np.arange(count + 1.0), duration)


class _Links:
    """A robot's links as states, and what acts on them."""

    def __init__(self, robot: Robot, torque: Torque, wrenches: Any = None) -> None:
        self.robot, self.model = robot, robot.model
        self.torque, self.wrenches = torque, wrenches
        self.bodies = [robot.model.link_index(joint.child) for joint in robot.model.joints]

    def start(self, q0: ArrayLike, v0: ArrayLike) -> tuple[LinkPoses, Array]:
        """The links where the joints put them."""
        model = self.model
        q = coordinates_of(model, "q0", q0, self.robot.evaluator.kept).astype(float)
        v = as_array(model, "v0", v0, coordinates=False).astype(float)
        for name, values in (("q0", q), ("v0", v)):
            if not np.isfinite(values).all():
                raise StateError(f"{name} must be finite; a motion cannot start from nan or infinity")
        batch = fitting(q0=q, v0=v)
        q, v = np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, model.nv))
        poses = self.robot.poses(q)[..., self.bodies, :, :]
        twists = self.robot.velocities(q, v)[..., self.bodies, :]
        return LinkPoses(poses[..., :3, 3].copy(), quaternions_of(poses[..., :3, :3])), twists.copy()

    def accelerations(self, time: float, poses: LinkPoses, twists: Array) -> Array:
        """Of every link, by messages."""
        tau = self._torques(time, poses, twists)
        acting = {} if self.wrenches is None else {"wrenches": self._wrenches(time, poses, twists)}
        return self._ask(separate_links.LINK_ACCELERATIONS, poses, twist=flat(twists), tau=tau, **acting)

    def projected(self, poses: LinkPoses, twists: Array) -> tuple[LinkPoses, Array]:
        """The nearest state with closed joints: poses, then velocities."""
        for _ in range(_MOST_PASSES):  # each squares the gaps; one is enough but for large steps
            displacement = self._ask(separate_links.POSITION_PROJECTION, poses)
            poses = poses.moved(displacement)
            if not np.abs(displacement).max() > _ONE_PASS:
                break
        return poses, twists + self._ask(separate_links.VELOCITY_PROJECTION, poses, twist=flat(twists))

    # ---- between the links -----------------------------------------------------------------------------------------

    def measured(self, poses: LinkPoses, twists: Array) -> tuple[Array, Array]:
        """Joint coordinates and speeds (..., nq), (..., nv)."""
        both = self._ask(separate_links.MEASURED, poses, twist=flat(twists))
        return both[..., : self.model.nq], both[..., self.model.nq :]

    def gaps(self, poses: LinkPoses) -> Array:
        """Errors (..., N, 6) at the joints: rotation, translation."""
        return self._ask(separate_links.GAPS, poses)

    def _torques(self, time: float, poses: LinkPoses, twists: Array) -> Array:
        if self.torque is None:
            return np.zeros(self.model.nv)
        if callable(self.torque):
            given = told_when(self.torque, "torque=", time, *self.measured(poses, twists))
        else:
            given = self.torque
        return as_array(self.model, "torque", given, coordinates=False)

    def _wrenches(self, time: float, poses: LinkPoses, twists: Array) -> Array:
        """What acts on links, (..., nlinks, 6) in link axes."""
        q, v = self.measured(poses, twists)
        given = told_when(self.wrenches, "wrenches=", time, q, v) if callable(self.wrenches) else self.wrenches
        return wrench_array(self.model, given, lambda: self.robot.poses(q))

    def _ask(self, quantity: Quantity, poses: LinkPoses, **more: Array) -> Array:
        x, y, z = (poses.frames[..., k] for k in range(3))
        axes, place = np.concatenate([x, y], axis=-1), np.concatenate([z, poses.origins], axis=-1)
        return self.robot.evaluator.evaluate(quantity, {"axes": flat(axes), "place": flat(place), **more})


class _LinkMechanics(ArrayStep):
    """Links that move by themselves for a time h; see :class:`recursa.integrators.Mechanics`."""

    def __init__(self, links: _Links, time: float, h: float) -> None:
        self.links, self.time, self.h = links, time, h

    def slope(self, q: LinkPoses, v: Array, at: float) -> tuple[Array, Array]:
        return v, self.links.accelerations(self.time + at * self.h, q, v)

    def moved(self, q: LinkPoses, u: Array) -> LinkPoses:
        return q.moved(u)

    def local_rate(self, u: Array, speeds: Array) -> Array:
        return chart_rates(u, speeds)


class _Record:
    """Samples of a run; angles and quaternions continue where they were."""

    def __init__(self, links: _Links) -> None:
        self.links = links
        self.rows: list[tuple[float, Array, Array, Array, Array, float, float]] = []

    def add(self, time: float, where: LinkPoses, twists: Array) -> None:
        q, v = self.links.measured(where, twists)
        if self.rows:
            q = _continued(self.links.robot, self.rows[-1][1], q)
        poses = np.zeros((*where.origins.shape[:-1], 4, 4))
        poses[..., :3, :3], poses[..., :3, 3], poses[..., 3, 3] = where.frames, where.origins, 1.0
        sizes = [np.linalg.norm(part, axis=-1).max() for part in np.split(self.links.gaps(where), 2, axis=-1)]
        self.rows.append((float(time), q, v, poses, twists, float(sizes[1]), float(sizes[0])))

    def run(self) -> LinkRun:
        return LinkRun(*(np.array(column) for column in zip(*self.rows, strict=True)))


def _continued(robot: Robot, before: Array, q: Array) -> Array:
    """q with every angle and quaternion chosen nearest to what it was."""
    q = q.copy()
    for joint in robot.model.joints:
        start = joint.q_start
        if joint.kind.quaternion is not None:
            part = slice(start + joint.kind.quaternion, start + joint.kind.quaternion + 4)
            sign = np.sign(np.sum(before[..., part] * q[..., part], axis=-1, keepdims=True))
            q[..., part] *= np.where(sign == 0.0, 1.0, sign)
        elif joint.kind.angle is not None:
            at = start + joint.kind.angle
            q[..., at] += 2.0 * np.pi * np.round((before[..., at] - q[..., at]) / (2.0 * np.pi))
    return q
