"""Sensitivities of a motion: its variational equations, integrated along a run.

With A, B of the linear model (7.2.2) and Y the regressor, ``tau = Y pi``, a change dp of parameters ``dpi = D dp``
moves the state x = (dq, dv) by

    dx/dt = A x + B (dtau - Y D dp)        dtau = K x, the drive's reaction; K = 0 where torques are functions of time

so that the columns S of ``x = S dp`` obey ``dS/dt = (A + B K) S - B Y D``, from 0 on, or from unit vectors for changes
of the state at the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from recursa.errors import ShapeError, SimulationError, StateError, unknown_name
from recursa.runs.run import Run
from recursa.runs.sensitivity import Sensitivity
from recursa.simulation.forces import Remembering, checked_torque, torque_function
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SYM_ZERO, ZERO, Vec3
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

_STEP = 1e-6  # of q and v, for the drive's reaction


def sensitivity(
    robot: Robot,
    run: Run,
    parameters: Sequence[str] | Mapping[str, ArrayLike] | None,
    *,
    payload: str | tuple[str, ArrayLike] | None,
    initial: bool,
    torque: Any,
    wrenches: Any,
    rtol: float,
) -> Sensitivity:
    """The columns of all directions together."""
    if run.robot.nv != robot.nv or run.q.shape[1] != robot.nq:
        raise StateError(f"the run is of robot '{run.robot.name}', which is another one than '{robot.name}'")
    if len(run.t) < 2:
        raise StateError("the run has fewer than two samples: there is no motion to vary")
    names, directions = _directions(robot, parameters, payload)
    count, nv = len(names), robot.nv
    start = np.zeros((2 * nv, count))
    if initial:
        names += [f"{name}.{when}" for when in ("q0", "v0") for name in robot.v_names]
        start = np.concatenate([start, np.eye(2 * nv)], axis=1)
    if not names:
        raise StateError("nothing is varied: name parameters, a payload, or initial=True")
    along = _Along(robot, run, torque, wrenches)
    width = start.shape[1]

    def slopes(t: float, y: Array) -> Array:
        A, pushed = along.at(t, directions)
        moved = A @ y.reshape(2 * nv, width)
        moved[nv:, :count] -= pushed
        return moved.ravel()

    found = solve_ivp(
        slopes, (run.t[0], run.t[-1]), start.ravel(), "DOP853", run.t, rtol=rtol, atol=rtol * _sizes(start, directions)
    )
    if found.status < 0 or found.y.shape[1] != len(run.t):
        raise SimulationError(f"the sensitivities cannot be followed: {found.message}", float(found.t[-1]))
    both = np.moveaxis(found.y, 1, 0).reshape(len(run.t), 2 * nv, width)
    return Sensitivity(tuple(names), run.t.copy(), both[:, :nv].copy(), both[:, nv:].copy())


def _sizes(start: Array, directions: Array) -> float:
    """What small means, beside the relative tolerance."""
    return max(1e-3, float(np.abs(directions).max(initial=0.0)), float(start.max(initial=0.0)))


def _directions(
    robot: Robot,
    parameters: Sequence[str] | Mapping[str, ArrayLike] | None,
    payload: str | tuple[str, ArrayLike] | None,
) -> tuple[list[str], Array]:
    """Names, and directions (10 nbodies, k) in the space of inertial parameters."""
    known = robot.parameter_names
    if isinstance(parameters, str):
        parameters = (parameters,)
    if parameters is None:
        parameters = () if payload is not None else known
    columns: dict[str, Array] = {}
    for name in parameters:
        if isinstance(parameters, Mapping):
            one = as_numbers(f"parameters['{name}']", parameters[name], len(known))
            if one.shape != (len(known),):
                raise ShapeError(f"parameters['{name}'] has shape {one.shape}, expected ({len(known)},): a direction")
        elif name not in known:
            raise unknown_name("parameter", name, known, owner=f"robot '{robot.name}'")
        else:
            one = np.eye(len(known))[known.index(name)]
        columns[name] = one
    if payload is not None:
        columns["payload.mass"] = _payload(
            robot, *((payload, (0.0, 0.0, 0.0)) if isinstance(payload, str) else payload)
        )
    return list(columns), np.array(list(columns.values())).reshape(-1, len(known)).T


def _payload(robot: Robot, link: str, at: ArrayLike) -> Array:
    """What one kilogram at a point of a link adds to the parameters."""
    point = as_numbers("payload", at, 3)
    if point.shape != (3,):
        raise ShapeError(f"the payload's place has shape {point.shape}, expected (3,): a point in link coordinates")
    carrier = robot.model.links[robot.model.link_index(link)]
    if carrier.body < 0:
        raise StateError(f"link '{link}' does not move: a payload on it changes no motion")
    place = carrier.offset @ Vec3(*point.tolist())
    one = RigidInertia(1.0, ZERO, SYM_ZERO).shifted(place)
    direction = np.zeros(10 * robot.nbodies)
    direction[10 * carrier.body : 10 * carrier.body + 10] = one.components()
    return direction


class _Along:
    """The linear model at any time of a run."""

    def __init__(self, robot: Robot, run: Run, torque: Any, wrenches: Any) -> None:
        self.robot, self.run, self.losses = robot, run, run.options.losses
        self.torque, self.wrenches = torque_function(robot, torque), wrenches
        if isinstance(self.torque, Remembering):
            raise StateError(
                f"{type(torque).__name__} remembers, and what it learns would change, too: sensitivities are of runs "
                "whose torques depend on time and state alone"
            )

    def at(self, t: float, directions: Array) -> tuple[Array, Array]:
        """``A + B K``, and ``inv(mass) Y D`` (nv, k)."""
        robot, nv = self.robot, self.robot.nv
        q, v = self.run.at(min(max(t, self.run.t[0]), self.run.t[-1]))
        tau = self._driven(t, q, v)
        A, B = robot.state_space(q, v, tau, losses=self.losses)
        given = self.wrenches(t, q, v) if callable(self.wrenches) else self.wrenches
        acting = {} if given is None else {"wrenches": given}
        if acting:
            lost = robot.joint_losses(v, losses=self.losses) if self.losses else np.zeros(nv)
            pushed = robot.forward_dynamics_derivatives(q, v, tau - lost, **acting)
            free = robot.state_space(q, v, tau - lost).A
            A[nv:] += np.concatenate(pushed[:2], axis=1) - free[nv:]  # damping stays
        a = robot.forward_dynamics(q, v, tau, losses=self.losses, **acting)
        if self.torque is not None:
            A = A + B @ self._reaction(t, q, v)
        return A, B[nv:] @ (robot.regressor(q, v, a) @ directions)

    def _driven(self, t: float, q: Array, v: Array) -> Array:
        if self.torque is not None:
            return checked_torque(self.robot.model, self.torque(t, q, v), t)
        return np.array([np.interp(t, self.run.t, column) for column in self.run.tau.T])

    def _reaction(self, t: float, q: Array, v: Array) -> Array:
        """K (nv, 2 nv): how the drive answers a change of the state, by central differences."""
        columns = []
        for step in _STEP * np.eye(self.robot.nv):
            ahead, behind = (self._driven(t, self.robot.integrate(q, s), v) for s in (step, -step))
            columns.append((ahead - behind) / (2.0 * _STEP))
        for step in _STEP * np.eye(self.robot.nv):
            columns.append((self._driven(t, q, v + step) - self._driven(t, q, v - step)) / (2.0 * _STEP))
        return np.array(columns).T
