"""Steps of fixed size on the configuration manifold.

Every step composes the configuration with an exponential, ``q exp(x)``: quaternions stay unit, and a free body that
turns and moves steadily does so exactly. A step is a function of its size, so a time within it is reached by a shorter
step, which is as accurate as the whole one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recursa.dynamics import configuration
from recursa.facade.exporting import ExportMethods
from recursa.simulation.equations import Equations, chart_rates
from recursa.simulation.friction import box_forces
from recursa.simulation.steppers import State, Stepper, no_step
from recursa.sweeps.batching import Array

_FIXED_POINT_ROUNDS = 30
_NEWTON_ROUNDS = 30
_CONVERGED = 4e-15  # of the size of the speeds
_STALLED = 1e-12  # good enough where rounding does not let it come closer


class FixedStep(Stepper):
    """A grid of times ``t0 + k step``; the last step ends at the bound."""

    def __init__(self, equations: Equations, step: float) -> None:
        super().__init__(equations)
        self.step = step
        self._before = self.now
        self._origin, self._count = 0.0, 0
        robot = equations.robot
        kinds = [joint.kind for joint in robot.model.joints if joint.independent]
        zeros = {kind.name: [0.0] * kind.nv for kind in kinds}
        self._flat = all(kind.bracket(zeros[kind.name], zeros[kind.name]) is None for kind in kinds)
        self._chart = None if self._flat else _chart_entry(robot)

    def start(self, t: float, state: State) -> None:
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

    def at(self, t: float) -> State:
        """By a shorter step."""
        return self.now if t == self.t else self.stepped(self.t_old, self._before, t - self.t_old)

    def land(self, t: float) -> None:
        """The shorter step instead; the next one goes to where this one ended."""
        if t != self.t:
            self.now, self.t = self.at(t), t
            self._count = int(np.floor((t - self._origin) / self.step * (1.0 + 1e-15)))

    def stepped(self, t: float, state: State, h: float) -> State:
        """The state a time h later."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Time, place in the grid, state."""
        kept = {name: x.copy() for name, x in self.now._asdict().items()}
        return {"t": self.t, "origin": self._origin, "count": self._count, "steps": self.steps, **kept}

    def restore(self, state: dict[str, Any]) -> None:
        """As it was."""
        self.t = self.t_old = state["t"]
        self._origin, self._count, self.steps = state["origin"], state["count"], state["steps"]
        self.now = self._before = State(*(state[name].copy() for name in State._fields))

    # ---- on the manifold ---------------------------------------------------------------------------------------------

    def moved(self, q: Array, x: Array) -> Array:
        """``q exp(x)``."""
        return q + x if self._flat else self.equations.robot.integrate(q, x)

    def chart_rates(self, x: Array, v: Array) -> Array:
        """dx/dt of ``q exp(x)`` at speed v."""
        if self._flat:
            return v
        if self._chart is not None:
            result = self._chart(x, v)
            if result is not NotImplemented:
                return result
        return chart_rates(self.equations.robot, x, v)


class RungeKutta4(FixedStep):
    """The classical method of order 4 in coordinates about the start of the step (Runge-Kutta-Munthe-Kaas).

    ``x' = dexpinv(x) v``, ``v' = a``; Munthe-Kaas, Applied Numerical Mathematics 29 (1999) 115. For order 4 the series
    of dexpinv may end after the second bracket.
    """

    def stepped(self, t: float, state: State, h: float) -> State:
        """One step."""
        q, u, work = state
        slopes = self.equations.slopes
        one = slopes(t, q, u)
        x1, a1 = one.v, one.a
        x = 0.5 * h * x1
        two = slopes(t + 0.5 * h, self.moved(q, x), u + 0.5 * h * a1)
        x2, a2 = self.chart_rates(x, two.v), two.a
        x = 0.5 * h * x2
        three = slopes(t + 0.5 * h, self.moved(q, x), u + 0.5 * h * a2)
        x3, a3 = self.chart_rates(x, three.v), three.a
        x = h * x3
        four = slopes(t + h, self.moved(q, x), u + h * a3)
        x4, a4 = self.chart_rates(x, four.v), four.a
        sixth = h / 6.0
        gained = sixth * (one.gained + 2.0 * (two.gained + three.gained) + four.gained)
        lost = sixth * (one.lost + 2.0 * (two.lost + three.lost) + four.lost)
        return State(
            self.moved(q, sixth * (x1 + 2.0 * (x2 + x3) + x4)),
            u + sixth * (a1 + 2.0 * (a2 + a3) + a4),
            work + np.array([gained, lost]),
        )


class SemiImplicitEuler(FixedStep):
    """``v1 = v0 + h a(q0, v0)``, ``q1 = q0 exp(h v1)``: order 1, one evaluation a step.

    Damping acts at the new speed, so that it never overshoots, and friction as an impulse of at most ``h friction``
    that stops what it can stop (Moreau's time stepping): ``(M + h d) v1 = M v0 + h (M a + lambda)``.
    """

    resolves_friction = True

    def stepped(self, t: float, state: State, h: float) -> State:
        """One step."""
        eq = self.equations
        q, u, work = state
        eq.evaluations += 1
        tau, wrench, stop = eq.acting(t, q, eq.to_joint(q, u))
        u1 = u + h * eq.accelerated(q, u, tau if stop is None else tau + stop, wrench)
        v1 = eq.to_joint(q, u1)
        lost = 0.0
        if eq.damped or eq.rubbed:
            v1, lost = self._slowed(q, v1, h)
            u1 = eq.from_joint(q, v1)
        if stop is not None:
            lost -= h * float(stop @ v1)
        gained = h * eq.power(q, v1, tau, wrench)
        return State(self.moved(q, h * v1), u1, work + np.array([gained, lost]))

    def _slowed(self, q: Array, v1: Array, h: float) -> tuple[Array, float]:
        """Speeds after losses, and the energy that these take."""
        eq = self.equations
        if not np.isfinite(v1).all():
            return v1, 0.0
        M = eq.robot.mass_matrix(q)
        W = np.linalg.inv(M + np.diag(h * eq.damping))
        v1 = W @ (M @ v1) if eq.damped else v1
        rub = np.zeros(eq.nv)
        where = np.flatnonzero(eq.friction > 0.0)
        if where.size:
            bound = eq.friction[where]
            rub[where] = box_forces(h * W[np.ix_(where, where)], v1[where], bound)
            stuck = where[np.abs(rub[where]) < bound]
            v1 = v1 + h * (W @ rub)
            v1[stuck] = 0.0
        return v1, h * float((eq.damping * v1 - rub) @ v1)


class ImplicitMidpoint(FixedStep):
    """``w = (v0 + v1)/2``, ``v1 = v0 + h a(q0 exp(h w/2), w)``, ``q1 = q0 exp(h w)``: order 2.

    Seen from its end, going back, a step is the same step: the method is symmetric. On reversible systems, such as
    robots without losses, it keeps the energy near its value for very long times (Hairer, Lubich & Wanner, XI).

    In diagonal coordinates nu takes the place of v, and w has two parts: the middle joint rates, which move q, and the
    middle nu. Without forces ``nu1 nu1 - nu0 nu0 = 2 nu (nu1 - nu0) = -2 h nu C(q, nu) = 0`` at the middle: the kinetic
    energy is kept to rounding.
    """

    def stepped(self, t: float, state: State, h: float) -> State:
        """One step; the equation for w by fixed-point iteration, by Newton's method where that is slow."""
        q, v, work = state
        first = self.equations.slopes(t, q, v)
        w = self._joined(first.v, v + 0.5 * h * first.a)
        change = before = np.inf
        for _ in range(_FIXED_POINT_ROUNDS):
            new = self._next(t, q, v, w, h)
            change, before = float(np.abs(new - w).max(initial=0.0)), change
            w = new
            if not np.isfinite(change) or change <= _CONVERGED * (1.0 + float(np.abs(w).max(initial=0.0))):
                break
            if change > 0.3 * before:
                w = self._newton(t, q, v, w, h) if change > _STALLED * (1.0 + np.abs(w).max()) else w
                break
        speeds, u = self._parted(w)
        middle = self.equations.slopes(t + 0.5 * h, self.moved(q, 0.5 * h * speeds), u)
        return State(self.moved(q, h * speeds), v + h * middle.a, work + h * np.array([middle.gained, middle.lost]))

    def _next(self, t: float, q: Array, v: Array, w: Array, h: float) -> Array:
        speeds, u = self._parted(w)
        middle = self.equations.slopes(t + 0.5 * h, self.moved(q, 0.5 * h * speeds), u)
        return self._joined(middle.v, v + 0.5 * h * middle.a)

    def _joined(self, speeds: Array, u: Array) -> Array:
        return np.concatenate([speeds, u]) if self.equations.diagonal else u

    def _parted(self, w: Array) -> tuple[Array, Array]:
        """Joint rates, and the speeds that are integrated."""
        return (w[: self.equations.nv], w[self.equations.nv :]) if self.equations.diagonal else (w, w)

    def _newton(self, t: float, q: Array, v: Array, w: Array, h: float) -> Array:
        """``w - next(w) = 0`` with a Jacobian by differences, made anew when progress is poor."""
        jacobian, last = None, np.inf
        for _ in range(_NEWTON_ROUNDS):
            at = self._next(t, q, v, w, h)
            rest = w - at
            size, scale = float(np.abs(rest).max()), 1.0 + float(np.abs(w).max())
            if not np.isfinite(size):
                raise no_step()
            if size <= _CONVERGED * scale or (size <= _STALLED * scale and size > 0.3 * last):
                return w
            if jacobian is None or size > 0.3 * last:
                small = 1e-7 * scale
                columns = [(self._next(t, q, v, w + small * e, h) - at) / small for e in np.eye(len(w))]
                jacobian = np.eye(len(w)) - np.stack(columns, axis=1)
            w, last = w - np.linalg.solve(jacobian, rest), size
        raise no_step()


def _chart_entry(robot: ExportMethods) -> Any:
    sizes = {"joint:x": robot.nv, "v": robot.nv}
    return robot._trusting_entry(configuration.CHART_RATES, sizes, configuration.chart_entries, (robot.nv,))


METHODS = {"rk4": RungeKutta4, "semi-implicit": SemiImplicitEuler, "implicit-midpoint": ImplicitMidpoint}
