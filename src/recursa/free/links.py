"""Simulation in non-minimal coordinates: every link with a pose and a velocity of its own, joints by their forces.

Jain & Rodriguez, Algorithm 3.4, with the projections of ``dynamics/separate_links.py``. Minimal coordinates cannot
drift; these can, and a run tells how far: without projection by the integrator's error, with it by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import separate_links
from recursa.dynamics.free_flying import branches
from recursa.dynamics.kinematics import motion_entries
from recursa.errors import SimulationError, StateError, unknown_name
from recursa.free.arguments import free_flyer
from recursa.free.link_states import LinkStates, flat, moved, quaternions_of, rate_of, rotated
from recursa.robot import Robot
from recursa.simulation.asking import told_when
from recursa.sweeps.batching import Array, as_array, fitting
from recursa.sweeps.plan import Plan

Integrator = Literal["rk4", "semi-implicit"]
Torque = Callable[[float, Array, Array], ArrayLike] | ArrayLike | None
_INTEGRATORS = ("rk4", "semi-implicit")
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
    integrator: Integrator = "rk4",
    projection: bool = True,
    save_every: int = 1,
) -> LinkRun:
    """Let a free flyer move for ``duration`` seconds, each link by itself: Jain & Rodriguez, Algorithm 3.4.

    Every link's acceleration comes from its two messages, ``alpha = -inv(P + S) (y + s)`` (25), and its pose and
    velocity are integrated on their own. ``projection`` then closes the joints, in O(n), with the same messages:
    positions by the smallest displacements in the metric of the masses, velocities by ``inv(Mass) H phi M V``, which
    keeps the momentum. ``torque``: None, (..., nv), or a function of (t, q, v); damping and friction act as well. q0
    (..., nq), v0 (..., nv). The last sample is at ``duration``; the last step may be shorter. The motion is that of
    :meth:`Robot.simulate` to the order of the integrator.

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
    if integrator not in _INTEGRATORS:
        raise unknown_name("integrator", integrator, _INTEGRATORS)
    times = _instants(duration, step)
    if not isinstance(save_every, int | np.integer) or save_every < 1:
        raise StateError(f"save_every must be a positive whole number, not {save_every!r}")
    links = _Links(robot, torque)
    state = links.start(q0, v0)
    advance = links.rk4 if integrator == "rk4" else links.semi_implicit
    record = _Record(links)
    record.add(times[0], state)
    for number in range(1, len(times)):
        with np.errstate(all="ignore"):  # what is not finite is told below
            state = advance(times[number - 1], times[number] - times[number - 1], state)
            if projection:
                state = links.projected(state)
        if not np.isfinite(state.twists).all():
            raise SimulationError(
                f"robot '{robot.name}': the motion is not finite from t = {times[number]:.6g} s on. Take a smaller "
                f"step than {step:g} s, look at the torques, or let robot.doctor() look for joints with nothing to "
                "move. error.run has what there is until then",
                float(times[number - 1]),
                record.run(),
            )
        if number % save_every == 0 or number == len(times) - 1:
            record.add(times[number], state)
    return record.run()


def _instants(duration: float, step: float) -> Array:
    for name, value in (("duration", duration), ("step", step)):
        if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0):
            raise StateError(f"{name} must be a positive number of seconds, not {value!r}")
    count = math.ceil(duration / step - 1e-9)
    if count > _MOST_STEPS:
        raise StateError(f"{count} steps of {step:g} s are too many for one run of {duration:g} s; take larger steps")
    return np.minimum(step * np.arange(count + 1.0), duration)


class _Links:
    """A robot's links as states, and what acts on them."""

    def __init__(self, robot: Robot, torque: Torque) -> None:
        self.robot, self.model = robot, robot.model
        self.torque = torque
        branching = branches(robot.model)
        self.bodies = [robot.model.link_index(joint.child) for joint in robot.model.joints]
        self.accelerations = separate_links.accelerations_plan(branching=branching)
        self.velocity_projection = separate_links.velocity_projection_plan(branching=branching)
        self.position_projection = separate_links.position_projection_plan(branching=branching)

    def start(self, q0: ArrayLike, v0: ArrayLike) -> LinkStates:
        """The links where the joints put them."""
        model = self.model
        q = as_array(model, "q0", q0, coordinates=True).astype(float)
        v = as_array(model, "v0", v0, coordinates=False).astype(float)
        for name, values in (("q0", q), ("v0", v)):
            if not np.isfinite(values).all():
                raise StateError(f"{name} must be finite; a motion cannot start from nan or infinity")
        batch = fitting(q0=q, v0=v)
        q, v = np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, model.nv))
        poses = self.robot.poses(q)[..., self.bodies, :, :]
        twists = self.robot.velocities(q, v)[..., self.bodies, :]
        return LinkStates(poses[..., :3, 3].copy(), quaternions_of(poses[..., :3, :3]), twists.copy())

    # ---- steps -----------------------------------------------------------------------------------------------------

    def rate(self, time: float, state: LinkStates) -> LinkStates:
        """How the state changes: velocities, and accelerations by messages."""
        twists = state.twists
        tau = self._torques(time, state)
        found = self._solve(self.accelerations, "AL", state, {"body:twist": flat(twists), "tau": tau})
        return LinkStates(rotated(state.frames, twists[..., 3:]), rate_of(state.turns, twists[..., :3]), found)

    def rk4(self, time: float, h: float, state: LinkStates) -> LinkStates:
        """The classical Runge-Kutta step of order four."""
        k1 = self.rate(time, state)
        k2 = self.rate(time + h / 2, state.along(k1, h / 2))
        k3 = self.rate(time + h / 2, state.along(k2, h / 2))
        k4 = self.rate(time + h, state.along(k3, h))
        total = state
        for k, weight in ((k1, 1.0), (k2, 2.0), (k3, 2.0), (k4, 1.0)):
            total = total.along(k, weight * h / 6.0)
        return total.normalized()

    def semi_implicit(self, time: float, h: float, state: LinkStates) -> LinkStates:
        """Velocities first, then poses with the new ones: order one."""
        twists = state.twists + h * self.rate(time, state).twists
        return moved(LinkStates(state.origins, state.turns, twists), h * twists)

    def projected(self, state: LinkStates) -> LinkStates:
        """The nearest state with closed joints: poses, then velocities."""
        for _ in range(_MOST_PASSES):  # each squares the gaps; one is enough but for large steps
            displacement = self._solve(self.position_projection, "alpha", state, {})
            state = moved(state, displacement)
            if not np.abs(displacement).max() > _ONE_PASS:
                break
        change = self._solve(self.velocity_projection, "alpha", state, {"body:twist": flat(state.twists)})
        return LinkStates(state.origins, state.turns, state.twists + change)

    # ---- between the links -----------------------------------------------------------------------------------------

    def measured(self, state: LinkStates) -> tuple[Array, Array]:
        """Joint coordinates and speeds (..., nq), (..., nv)."""
        size = self.model.nq + self.model.nv
        arguments = self._poses(state) | {"body:twist": flat(state.twists)}
        both = self.robot._evaluate(
            separate_links.MEASURED, arguments, separate_links.measured_entries, (size,), None, None
        )
        return both[..., : self.model.nq], both[..., self.model.nq :]

    def gaps(self, state: LinkStates) -> Array:
        """Errors (..., N, 6) at the joints: rotation, translation."""
        return self._evaluate(separate_links.GAPS, "e", self._poses(state))

    def _torques(self, time: float, state: LinkStates) -> Array:
        if self.torque is None:
            return np.zeros(self.model.nv)
        given = told_when(self.torque, "torque=", time, *self.measured(state)) if callable(self.torque) else self.torque
        return as_array(self.model, "torque", given, coordinates=False)

    def _poses(self, state: LinkStates) -> dict[str, Any]:
        x, y, z = (state.frames[..., k] for k in range(3))
        axes, place = np.concatenate([x, y], axis=-1), np.concatenate([z, state.origins], axis=-1)
        return {"body:axes": flat(axes), "body:place": flat(place)}

    def _solve(self, plan: Plan, name: str, state: LinkStates, arguments: dict[str, Any]) -> Array:
        return self._evaluate(plan, name, self._poses(state) | arguments)

    def _evaluate(self, plan: Plan, name: str, arguments: dict[str, Any]) -> Array:
        return self.robot._evaluate(
            plan, arguments, lambda values: motion_entries(values[name]), (self.model.nbodies, 6), None, None
        )


class _Record:
    """Samples of a run; angles and quaternions continue where they were."""

    def __init__(self, links: _Links) -> None:
        self.links = links
        self.rows: list[tuple[float, Array, Array, Array, Array, float, float]] = []

    def add(self, time: float, state: LinkStates) -> None:
        q, v = self.links.measured(state)
        if self.rows:
            q = _continued(self.links.robot, self.rows[-1][1], q)
        poses = np.zeros((*state.origins.shape[:-1], 4, 4))
        poses[..., :3, :3], poses[..., :3, 3], poses[..., 3, 3] = state.frames, state.origins, 1.0
        sizes = [np.linalg.norm(part, axis=-1).max() for part in np.split(self.links.gaps(state), 2, axis=-1)]
        self.rows.append((float(time), q, v, poses, state.twists, float(sizes[1]), float(sizes[0])))

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
        elif joint.kind.name in ("revolute", "continuous", "planar"):
            at = start + joint.kind.nq - 1
            q[..., at] += 2.0 * np.pi * np.round((before[..., at] - q[..., at]) / (2.0 * np.pi))
    return q
