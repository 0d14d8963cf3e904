"""The steps of a rollout from Python, on arrays: for what cannot be compiled, and to check what can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recursa.constraints.assembling import shortest_fit
from recursa.dynamics import articulated_bodies, configuration
from recursa.dynamics.gathering import ACCELERATIONS, vector_of
from recursa.dynamics.wrenches import Losses
from recursa.errors import SingularHingeError
from recursa.integrators import ArrayStep, Scheme, stages_of
from recursa.kernels.rollout_kernel import RolloutRun
from recursa.model.may_move import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.robot import Robot
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.control.closed_loop import Closed
    from recursa.control.pushes import Pushes

_CLOSING = 6  # steps of Newton's method; the second is at rounding level as a rule


def stepped(
    robot: Robot,
    run: RolloutRun,
    scheme: Scheme,
    losses: Losses,
    threads: int,
    closed: Closed | None = None,
    pushes: Pushes | None = None,
) -> None:
    """The same from Python, step by step on arrays: for what cannot be compiled, and to check what can."""
    rows = _Rows(robot, run, losses, threads, closed, stages_of(scheme), pushes)
    q, v = run.q, run.v
    for step in range(run.steps):
        rows.take_torque(step)
        q, v = scheme(rows, q, v)
        if robot.constraints:
            q, v = back_on_constraints(robot, q, v)
        finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        run.finite += finite & (run.finite == step)
        if (step + 1) % run.every == 0:
            run.saved_q[:, step // run.every] = q
            run.saved_v[:, step // run.every] = v[:, : robot.nv]
            run.saved_memory[:, step // run.every] = v[:, robot.nv :]
        if run.stop_early and not finite.all():
            break
    run.q[...], run.v[...] = q, v


def back_on_constraints(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """Rows with loops closed to rounding and speeds that obey them; those that are lost stay as they are."""
    fine = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
    if not fine.size:
        return q, v
    at, last = q[fine], np.inf
    for _ in range(_CLOSING):
        error = robot.constraint_error(at)
        size = float(np.abs(error).max(initial=0.0))
        if not 1e-15 < size < 0.5 * last:
            break
        change = shortest_fit(robot.constraint_jacobian(at), -error)
        at, last = robot.integrate(at, change - robot.project_velocity(at, change)), size
    q, v = q.copy(), v.copy()
    q[fine], v[fine] = at, robot.project_velocity(at, v[fine])
    return q, v


def _accelerations(of: Subject, given: Names, *, losses: Losses = False) -> Recipe:
    plan = articulated_bodies.forward_plan(wrenches="wrenches" in given, losses=losses, springs=of.model.has_springs)
    gather = vector_of(of.model, "qdd")
    return Recipe(plan, gather, (of.model.nv,), MayMove.INERTIAS, lenient=True)  # a lost row is a nan, not an error


ACCELERATION = Quantity(
    "rollout.acceleration", ("q", "v", "tau"), _accelerations, ACCELERATIONS, ("wrenches", "parameters"),
    reads={"wrenches": "wrench"}, on_constraints=refusals.ACCELERATIONS,
)  # fmt: skip


@dataclass
class _Rows(ArrayStep):
    """Mechanics of rows (B, n) by the methods of the robot; see :class:`recursa.integrators.Mechanics`."""

    robot: Robot
    run: RolloutRun
    losses: Losses
    threads: int
    closed: Closed | None
    stages: tuple[float, ...]
    pushes: Pushes | None

    def __post_init__(self) -> None:
        self.step, self.h = 0, self.run.step
        self.extra = {} if self.run.parameters is None else {"parameters": self.run.parameters}
        self.flat = configuration.is_flat(self.robot.model)
        self.tau = np.zeros((self.run.rows, self.robot.nv), self.run.v.dtype)

    def take_torque(self, step: int) -> None:
        run, self.step = self.run, step
        first = run.torque_row * np.arange(run.rows)[:, None] + run.torque_step * step
        self.tau = run.tau.reshape(-1)[first + np.arange(self.robot.nv)]

    def slope(self, q: Array, v: Array, at: float) -> tuple[Array, Array]:
        nv, run = self.robot.nv, self.run
        speeds = v[:, :nv]
        if self.closed is None:
            return speeds, self._acceleration(q, speeds)
        motions = run.followed // run.reference[0].size if len(run.followed) else 0  # one for all, or of every row
        sample = run.reference[motions, self.step, self.stages.index(at)]
        found, learned = self.closed.torques(q, speeds, sample, v[:, nv:], run.gains, self.threads)
        self.tau = np.asarray(np.broadcast_to(found, speeds.shape), v.dtype)
        rate = self._acceleration(q, speeds)
        return speeds, rate if learned is None else np.concatenate([rate, learned], axis=1)

    def settled(self, q: Array, v: Array) -> tuple[Array, Array]:
        return v[:, : self.robot.nv], v

    def _acceleration(self, q: Array, v: Array) -> Array:
        robot = self.robot
        if self.pushes is not None:
            self.extra["wrenches"] = self.pushes.at(robot, q, self.step)
        if robot.evaluator.subject.tied or robot.constraints:
            tau = self.tau - robot.joint_losses(v, losses=self.losses) if self.losses else self.tau
            return self._solved(q, v, tau, self.extra)
        arguments = {"q": q, "v": v, "tau": self.tau} | self.extra
        return robot.evaluator.evaluate(ACCELERATION, arguments, {"losses": self.losses}, None, self.threads)

    def _solved(self, q: Array, v: Array, tau: Array, extra: dict[str, Array]) -> Array:
        """By the mass matrix; nan in rows that are lost, where rounding has left it singular."""
        try:
            given = {name: extra.get(name) for name in ("parameters", "wrenches")}
            return self.robot.forward_dynamics(
                q, v, tau, parameters=given["parameters"], wrenches=given["wrenches"], threads=self.threads
            )
        except SingularHingeError:
            if len(q) == 1:
                return np.full_like(v, np.nan)
        rows = [slice(k, k + 1) for k in range(len(q))]
        own = [{name: values[row] for name, values in extra.items()} for row in rows]
        return np.concatenate([self._solved(q[row], v[row], tau[row], one) for row, one in zip(rows, own, strict=True)])

    def moved(self, q: Array, u: Array) -> Array:
        return self.robot.integrate(q, u, threads=self.threads)

    def local_rate(self, u: Array, v: Array) -> Array:
        if self.flat:
            return v
        return self.robot.evaluator.evaluate(configuration.CHART_RATES, {"x": u, "v": v}, threads=self.threads)
