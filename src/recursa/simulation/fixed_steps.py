"""Steps of fixed size on the configuration manifold, by the schemes of ``integrators/``.

Every step composes the configuration with an exponential, ``q exp(x)``: quaternions stay unit, and a free body that
turns and moves steadily does so exactly. A step is a function of its size, so a time within it is reached by a shorter
step, which is as accurate as the whole one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.dynamics import configuration
from recursa.integrators import ArrayStep, Integrator
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.simulation.adaptive_steps import RunState, Stepper
from recursa.simulation.equations import Equations, chart_rates, natively
from recursa.simulation.friction import box_forces, holding_bounds, independent
from recursa.simulation.state_checks import count, floats, real
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot


class FixedStep(Stepper):
    """A grid of times ``t0 + k step``; the last step ends at the bound."""

    def __init__(self, equations: Equations, integrator: Integrator, step: float) -> None:
        super().__init__(equations)
        self.integrator, self.step = integrator, step
        self.resolves_friction = integrator.takes_losses and not equations.modes_from_outside
        self._before = self.now
        self._origin, self._count = 0.0, 0
        self._manifold = Manifold(equations.robot)
        self._mechanics = Settling if self.resolves_friction else OneRun

    def start(self, t: float, state: RunState) -> None:
        """From here; the grid of times stays, unless this is its beginning."""
        if not self.steps:
            self._origin, self._count = t, 0
        self.t = self.t_old = t
        self.now = self._before = state

    def advance(self, bound: float) -> None:
        """To the next time of the grid."""
        target = self._origin + (self._count + 1) * self.step
        if target >= bound - 1e-9 * self.step:
            target = bound
        else:
            self._count += 1
        self._before, self.t_old = self.now, self.t
        self.now = self.stepped(self.t, self.now, target - self.t)
        self.t = target
        self.steps += 1

    def at(self, t: float) -> RunState:
        """By a shorter step."""
        return self.now if t == self.t else self.stepped(self.t_old, self._before, t - self.t_old)

    def land(self, t: float) -> None:
        """The shorter step instead; the next one goes to where this one ended."""
        if t != self.t:
            self.now, self.t = self.at(t), t
            self._count = int(np.floor((t - self._origin) / self.step * (1.0 + 1e-15)))

    def stepped(self, t: float, state: RunState, h: float) -> RunState:
        """The state a time h later."""
        assert self.integrator.scheme is not None
        on = self._mechanics(self.equations, self._manifold, t, h)
        if not self.equations.kept_on_manifold:
            return on.state(*self.integrator.scheme(on, *on.start(state)))
        if self.integrator.symmetric:
            return symmetric_step(self.equations, self.integrator.scheme, on, state, h)
        reached = on.state(*self.integrator.scheme(on, *on.start(state)))
        return self._returned(reached, t + h)

    def _returned(self, state: RunState, t: float) -> RunState:
        """Back on the manifold of constraints."""
        if not all(np.isfinite(x).all() for x in state):
            return state
        q, u = self.equations.on_manifold(state.q, state.u, t)
        return state._replace(q=q, u=u)

    def state(self) -> dict[str, Any]:
        """Time, place in the grid, state."""
        kept = {name: x.copy() for name, x in self.now._asdict().items()}
        return {"t": self.t, "origin": self._origin, "count": self._count, "steps": self.steps, **kept}

    def described(self, end: float) -> dict[str, Any]:
        """Two times, two counts, a state."""
        time, nq, nv = real(0.0, end), self.equations.nq, self.equations.nv
        state = {"q": floats(nq), "u": floats(nv), "work": floats(2 + self.equations.memory)}
        return {"t": time, "origin": time, "count": count, "steps": count, **state}

    def restore(self, state: dict[str, Any]) -> None:
        """As it was."""
        self.t = self.t_old = state["t"]
        self._origin, self._count, self.steps = state["origin"], state["count"], state["steps"]
        self.now = self._before = RunState(*(state[name].copy() for name in RunState._fields))
        if abs(self.t - self._origin - self._count * self.step) > (1.0 + 1e-6) * self.step:
            raise ValueError(f"its time, {self.t:g} s, is not the one after {self._count} steps of {self.step:g} s")


class Manifold:
    """The configurations of a robot: ``q exp(x)``, and how x changes."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.flat = configuration.moves_by_adding(robot.model)
        chart = None if self.flat else robot.evaluator.trusting_entry(configuration.CHART_RATES)
        self._chart_rates = natively(chart, partial(chart_rates, robot))

    def moved(self, q: Array, x: Array) -> Array:
        """``q exp(x)``."""
        return q + x if self.flat else self.robot.integrate(q, x)

    def chart_rates(self, x: Array, v: Array) -> Array:
        """dx/dt of ``q exp(x)`` at speed v."""
        return v if self.flat else self._chart_rates(x, v)


_KICKS = 12


def symmetric_step(equations: Equations, scheme: Any, on: OneRun, state: RunState, h: float) -> RunState:
    """A step of a symmetric scheme between two impulses of the constraints, as RATTLE has them.

    ``v0 + inv(M) G* mu0``, the scheme, ``+ inv(M) G* mu1``: mu0 such that the loops are closed at the end, mu1 such
    that the speeds there obey them. Both ends are treated alike, so that the step stays symmetric, and on reversible
    systems energy stays near its value for very long times (Hairer, Lubich & Wanner, Geometric Numerical Integration,
    VII.1.4).
    The constraint forces themselves are in the accelerations; mu0 and mu1 are of the third order in h.
    """
    asked: Any = 0.0
    last = np.inf
    reached = state
    for _ in range(_KICKS):
        kick = 0.0 if last == np.inf else equations.impulse(state.q, asked)  # type: ignore[attr-defined]
        reached = on.state(*scheme(on, *on.start(state._replace(u=state.u + kick))))
        if not all(np.isfinite(x).all() for x in reached):
            return reached
        error = equations.errors(reached.q)  # type: ignore[attr-defined]
        size = float(np.abs(error).max(initial=0.0))
        if size <= 1e-15 or size > 0.5 * last or h == 0.0:
            break
        asked, last = asked + error / h, size
    q, u = equations.on_manifold(reached.q, reached.u, on.t + h)
    return reached._replace(q=q, u=u)


class OneRun(ArrayStep):
    """Mechanics of one robot with what acts on it, from t to t + h; see :class:`recursa.integrators.Mechanics`.

    v holds the speeds that are integrated, and behind them, unless nothing does work, the work gained and lost, and
    what a controller remembers.
    """

    def __init__(self, equations: Equations, manifold: Manifold, t: float, h: float) -> None:
        self.equations, self.manifold = equations, manifold
        self.t, self.h, self.nv = t, h, equations.nv
        self.same_speeds = not equations.diagonal
        self.moved, self.local_rate = manifold.moved, manifold.chart_rates

    def start(self, state: RunState) -> tuple[Array, Array]:
        """A state as q and v."""
        return state.q, state.u if self.equations.passive else np.concatenate([state.u, state.work])

    def state(self, q: Array, v: Array) -> RunState:
        """And back."""
        return RunState(q, v, np.zeros(2)) if self.equations.passive else RunState(q, v[: self.nv], v[self.nv :])

    def slope(self, q: Array, v: Array, at: float) -> tuple[Array, Array]:
        """Speeds along the manifold, and accelerations with powers behind them."""
        self.equations.recall(v[self.nv :])
        rates = self.equations.slopes(self.t + at * self.h, q, v[: self.nv])
        if self.equations.passive:
            return rates.v, rates.a
        return rates.v, np.concatenate([rates.a, (rates.gained, rates.lost), self.equations.learning])

    def settled(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Nothing acts on the new speeds alone."""
        return self.equations.to_joint(q, v[: self.nv]), v


class Settling(OneRun):
    """The same with losses at the end of the step.

    Damping acts at the new speed, so that it never overshoots, and friction as an impulse of at most ``h friction``
    that stops what it can stop (Moreau's time stepping): ``(M + h d) v1 = M v0 + h (M a + lambda)``.
    """

    def slope(self, q: Array, v: Array, at: float) -> tuple[Array, Array]:
        """Accelerations without losses; what they do is known when the step is over."""
        eq, u = self.equations, v[: self.nv]
        eq.evaluations += 1
        self._before = eq.to_joint(q, u)
        eq.recall(v[self.nv :])
        self._tau, self._outside, self._stop = eq.acting(self.t + at * self.h, q, self._before)
        moving = self._tau if self._stop is None else self._tau + self._stop
        rate = eq.accelerated(q, u, moving, self._outside)
        return u, rate if eq.passive else np.concatenate([rate, np.zeros(2), eq.learning])

    def settled(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Speeds after losses; behind them the work of the step."""
        eq, u1 = self.equations, v[: self.nv]
        v1 = eq.to_joint(q, u1)
        if eq.passive:
            return v1, v
        lost = 0.0
        if eq.damped or eq.rubbed:
            v1, lost = self._slowed(q, v1)
            u1 = eq.from_joint(q, v1)
        if self._stop is not None:
            lost -= self.h * float(self._stop @ v1)
        gained = self.h * eq.power(q, v1, (v1 - self._before) / self.h, self._tau, self._outside)
        return v1, np.concatenate([u1, v[self.nv : self.nv + 2] + np.array([gained, lost]), v[self.nv + 2 :]])

    def _slowed(self, q: Array, v1: Array) -> tuple[Array, float]:
        """Speeds after losses, and the energy that these take."""
        eq, h = self.equations, self.h
        if not np.isfinite(v1).all():
            return v1, 0.0
        M = eq.robot.mass_matrix(q)
        W = eq.compliance(q, h * eq.damping)
        v1 = W @ (M @ v1) if eq.damped else v1
        rub = np.zeros(eq.nv)
        where = np.flatnonzero(eq.rubbing)
        if where.size:
            low, high = holding_bounds(eq, where)
            rub[where] = box_forces(h * W[np.ix_(where, where)], v1[where], low, high)
            rounding = 1e-13 * (np.abs(v1) + h * (np.abs(W) @ np.abs(rub)))
            v1 = v1 + h * (W @ rub)
            stuck = where[((rub[where] > low) & (rub[where] < high)) | (np.abs(v1) <= rounding)[where]]
            v1[stuck] = 0.0
            tree = np.diagonal(eq.robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q}))
            eq.locked, eq.at_rest = independent(W, tree, stuck)[0], False  # these do not creep on the way to a loop
        return v1, h * float((eq.damping * v1 - rub) @ v1)
