"""Sensitivities of a motion: its variational equations, integrated along a run.

With A, B of the linear model (7.2.2) and Y the regressor, ``tau = Y pi``, a change dp of parameters ``dpi = D dp``
moves the state x = (dq, dv) by

    dx/dt = A x + B (dtau - Y D dp)        dtau = K x, the drive's reaction; K = 0 where torques are functions of time

so that the columns S of ``x = S dp`` obey ``dS/dt = (A + B K) S - B Y D``, from 0 on, or from unit vectors for changes
of the state at the start. The motion along which they are integrated is the run itself, repeated from its start with
what acted on it: samples of a run are too few, or begin too late, to tell what was between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import LimitWarning, ShapeError, SimulationError, StateError, unknown_name
from recursa.model.columns import freedom_name
from recursa.quantities import refusals
from recursa.runs.run import Run, Setup
from recursa.runs.run_sensitivity import Sensitivity
from recursa.simulation.driver import Simulation
from recursa.simulation.equations import Equations
from recursa.simulation.forces import Remembering, torque_function, wrench_function
from recursa.simulation.influences import equations_of
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SYM_ZERO, ZERO, Vec3
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

_STEP = 1e-6  # of q and v, for the reaction of what acts
_SAME = 1e-3  # of the motion, by which a run and its repetition may differ


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
    refuse_constraints(robot.model, "trajectory_sensitivity", refusals.DERIVATIVES)
    if run.robot.nv != robot.nv or run.q.shape[1] != robot.nq:
        raise StateError(f"the run is of robot '{run.robot.name}', which is another one than '{robot.name}'")
    if not len(run.t) or run.t[-1] == 0.0:
        raise StateError("the run has no sample after its start: there is no motion to vary")
    names, directions = _directions(robot, parameters, payload)
    count, nv = len(names), robot.nv
    start = np.zeros((2 * nv, count))
    if initial:
        names += [f"{name}.{when}" for when in ("q0", "v0") for name in robot.v_names]
        start = np.concatenate([start, np.eye(2 * nv)], axis=1)
    if not names:
        raise StateError("nothing is varied: name parameters, a payload, or initial=True")
    along = _Along(robot, run, torque, wrenches, initial=initial)
    times = run.t if run.t[0] == 0.0 else np.concatenate([[0.0], run.t])
    width = start.shape[1]

    def slopes(t: float, y: Array) -> Array:
        A, pushed = along.at(t, directions)
        moved = A @ y.reshape(2 * nv, width)
        moved[nv:, :count] -= pushed
        return moved.ravel()

    atol = rtol * _sizes(start, directions)
    solution = solve_ivp(slopes, (0.0, run.t[-1]), start.ravel(), "DOP853", times, rtol=rtol, atol=atol)
    if solution.status < 0 or solution.y.shape[1] != len(times):
        raise SimulationError(f"the sensitivities cannot be followed: {solution.message}", float(solution.t[-1]))
    both = np.moveaxis(solution.y, 1, 0).reshape(len(times), 2 * nv, width)[-len(run.t) :]
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


def _setup(robot: Robot, run: Run, torque: Any, wrenches: Any) -> Setup:
    """Where the run started and what acted on it; torques and wrenches of the caller take precedence."""
    if robot.constraints:
        raise StateError(
            f"robot '{robot.name}' has constraints, and sensitivities are those of trees: the regressor knows nothing "
            "of constraint forces. Compare two runs of robots that differ a little (with_parameters, with_payload)"
        )
    setup = run.setup
    if setup is None:
        if run.t[0] != 0.0:
            raise StateError(
                f"the run begins with a sample at t = {run.t[0]:g} s, and runs from files do not keep where they "
                "started. Simulate with samples= that include 0, or without samples="
            )
        setup = Setup(run.q[0], run.v[0])
    if setup.unrepeatable or run.base is not None or run.memory is not None:
        what = setup.unrepeatable or ("base=" if run.base is not None else "a controller with memory")
        raise StateError(
            f"{what} acted in the run, and sensitivities are of trees whose torques and wrenches depend on time and "
            "state alone. Compare two runs that differ a little instead"
        )
    if torque is not None:
        setup = setup._replace(torque=torque_function(robot, torque))
        if isinstance(setup.torque, Remembering):
            raise StateError(
                f"{type(torque).__name__} remembers, and what it learns would change, too: sensitivities are of runs "
                "whose torques depend on time and state alone"
            )
    return setup if wrenches is None else setup._replace(wrenches=wrench_function(robot, wrenches))


def _repeated(robot: Robot, run: Run, setup: Setup, *, initial: bool) -> tuple[Run, Equations]:
    """The run again, with all its steps, and its equations; what does not pass through its samples is another motion.

    Joints with dry friction must slide all the time, after the start or from the start on if that is varied.
    """
    fixed = run.options.fixed
    options = replace(run.options, duration=float(run.t[-1]), times=None, save_every=1, dense=not fixed, progress=False)
    equations = equations_of(robot, options, setup.torque, setup.wrenches, setup.stops)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        again = Simulation(equations, setup.q0, setup.v0, options).run()
    resting = equations.rubbing & (again.v == 0.0)
    resting[0] &= initial
    if resting.any():
        row, freedom = np.argwhere(resting)[0]
        raise StateError(
            f"{freedom_name(robot.model, int(freedom))} has dry friction and is at rest at t = {again.t[row]:.6g} s. "
            "What a change does to the instant at which it sticks or slips is not followed: take a run whose rubbing "
            "joints keep sliding, or one with losses='damping'"
        )
    size = float(np.abs(run.q - run.q[:1]).max(initial=0.0))
    q, v = again.at(run.t)
    apart = np.abs(robot.difference(q, run.q)).max(axis=1)
    if not apart.max() <= _SAME * max(size, 1e-3) or not np.abs(v - run.v).max() <= _SAME * max(1.0, np.abs(v).max()):
        late = float(run.t[int(np.argmax(apart))])
        raise StateError(
            f"from its start, robot '{robot.name}' does not move as the run says: at t = {late:.6g} s it is off by "
            f"{apart.max():.3g}. The run does not carry all that acted on it (files keep no functions), or is of "
            "a robot with other parameters: pass torque= and wrenches= as in the run, for the robot that was simulated"
        )
    return again, equations


class _Along:
    """The linear model at any time of a run."""

    def __init__(self, robot: Robot, run: Run, torque: Any, wrenches: Any, *, initial: bool) -> None:
        self.robot = robot
        self.run, self.equations = _repeated(robot, run, _setup(robot, run, torque, wrenches), initial=initial)
        self.damping = self.equations.damping
        self.rub = self.equations.rub(np.sign(self.run.v[-1]) * self.equations.rubbing)

    def at(self, t: float, directions: Array) -> tuple[Array, Array]:
        """``A + B K``, and ``inv(mass) Y D`` (nv, k)."""
        robot, nv = self.robot, self.robot.nv
        q, v = self.run.at(min(t, self.run.t[-1]))
        tau, acting = self._acting(t, q, v)
        tau = tau - self.damping * v - self.rub
        A, B = robot.state_space(q, v, tau)
        if acting:
            A[nv:] = np.concatenate(robot.forward_dynamics_derivatives(q, v, tau, **acting)[:2], axis=1)
        A[nv:, nv:] -= B[nv:] * self.damping
        if not self.equations.undriven:
            A[nv:] += self._reaction(t, q, v)
        a = robot.forward_dynamics(q, v, tau, **acting)
        return A, B[nv:] @ (robot.regressor(q, v, a) @ directions)

    def _acting(self, t: float, q: Array, v: Array) -> tuple[Array, dict[str, Any]]:
        """Torques of drives and stops, and wrenches on links where there are any."""
        tau, outside, stop = self.equations.acting(t, q, v)
        return (tau if stop is None else tau + stop), self.equations.shaped(outside)

    def _reaction(self, t: float, q: Array, v: Array) -> Array:
        """(nv, 2 nv): what drives, stops and wrenches do to accelerations as the state changes, by differences."""
        steps = _STEP * np.concatenate([np.eye(self.robot.nv), -np.eye(self.robot.nv)])
        states = [(self.robot.integrate(q, step), v) for step in steps] + [(q, v + step) for step in steps]
        answers = [self._acting(t, *state) for state in states]
        tau = np.array([one[0] for one in answers])
        acting: dict[str, Any] = {name: np.array([one[1][name] for one in answers]) for name in self.equations.given}
        a = self.robot.forward_dynamics(np.tile(q, (len(tau), 1)), np.tile(v, (len(tau), 1)), tau, **acting)
        by_q, by_v = np.split(a, 2)
        return np.concatenate([(x[: len(x) // 2] - x[len(x) // 2 :]).T / (2.0 * _STEP) for x in (by_q, by_v)], axis=1)
