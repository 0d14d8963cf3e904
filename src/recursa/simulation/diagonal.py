"""The equations of motion in diagonal coordinates: the state is (q, nu), ``nu = m* v``, mass = m m* (Jain & Rodriguez).

    dq/dt = inv(m)* nu on the manifold        dnu/dt = inv(m) tau - C(q, nu)

Algorithm 8.1 with V of the present configuration, three sweeps. ``nu C(q, nu) = 0``: only work changes nu's length.
Friction has its modes as ever: what slides is a torque, what sticks is held by torques that take its acceleration away.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from recursa.diagonal.diagonal_quantities import JOINT_RATES
from recursa.diagonal.equations_of_motion import equations_plan
from recursa.dynamics import configuration, gathering
from recursa.errors import StateError
from recursa.model.may_move import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.simulation.equations import Equations, Outside, Rates, coordinate_rates, natively
from recursa.sweeps import Plan, base_to_tip
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values


class DiagonalEquations(Equations):
    """``dq/dt``, ``dnu/dt`` and powers of a robot with what acts on it."""

    diagonal = True

    def __init__(self, robot: Any, *acting: Any) -> None:
        robot.diagonal._independent()
        super().__init__(robot, *acting)
        if self.base is not None:
            raise StateError(
                "base= moves the base, and total rates are those of a robot whose base stands still: leave "
                'coordinates="diagonal" out'
            )
        self._slopes = robot.evaluator.trusting_entry(SLOPES, self.given)
        self._joint_rates = natively(robot.evaluator.trusting_entry(JOINT_RATES), self._joint_rates_of_finite)

    # ---- the speeds that are integrated ------------------------------------------------------------------------------

    def to_joint(self, q: Array, u: Array) -> Array:
        """``v = inv(m)* nu``; exactly zero for freedoms that friction holds, where integrating leaves an error."""
        v = self._joint_rates(q, u)
        if self.locked.size:
            v[self.locked] = 0.0
        return v

    def _joint_rates_of_finite(self, q: Array, u: Array) -> Array:
        if not (np.isfinite(q).all() and np.isfinite(u).all()):
            return np.full(self.nv, np.nan)
        return self.robot.diagonal.joint_rates(q, u)

    def from_joint(self, q: Array, v: Array) -> Array:
        """``nu = m* v``."""
        return self.robot.diagonal.total_rates(q, v)

    # ---- rates -------------------------------------------------------------------------------------------------------

    def _rates_of(self, t: float, y: Array) -> Array:
        if not self.passive:
            return super()._rates_of(t, y)
        self.evaluations += 1
        return self._diagonally_solved(y[: self.nq], y[self.nq :], self._zero, ())[: self.nq + self.nv]

    def slopes(self, t: float, q: Array, u: Array) -> Rates:
        """Everything at an instant; ``a`` is the rate of nu."""
        self.evaluations += 1
        n = self.nq + self.nv
        if self.passive:
            found = self._diagonally_solved(q, u, self._zero, ())
            return Rates(found[: self.nq], found[n:], found[self.nq : n], self._zero, 0.0, 0.0)
        v = self.to_joint(q, u)
        tau, outside, moving, lost = self.moving(t, q, v)
        if self.locked.size:
            moving = moving.copy()
            moving[self.locked] += self.holding(q, self.solved(q, v, moving, outside)[self.nq :])[0]
        found = self._diagonally_solved(q, u, moving, outside)
        qdot = coordinate_rates(self.robot, q, v) if self.locked.size else found[: self.nq]
        return Rates(qdot, v, found[self.nq : n], tau, self.power(q, v, found[self.nq : n], tau, outside), lost)

    def accelerated(self, q: Array, u: Array, tau: Array, outside: Outside) -> Array:
        """Rate of nu from the torques that move the bodies."""
        return self._diagonally_solved(q, u, tau, outside)[self.nq : self.nq + self.nv]

    def _diagonally_solved(self, q: Array, u: Array, tau: Array, outside: Outside) -> Array:
        """(dq/dt, dnu/dt, v); nan where something is not finite, or an error that names a joint."""
        given = (q, u, tau, *outside)
        if self._slopes is not None:
            result: Any = self._slopes(*given)
            if result is not NotImplemented:
                return result
        if not all(np.isfinite(x).all() for x in given):
            return np.full(self.nq + 2 * self.nv, np.nan)
        arguments = {"q": self.normalized(q), "nu": u, "tau": tau, **self.shaped(outside)}
        return self.robot.evaluator.evaluate(SLOPES, arguments)


@cache
def _slopes_plan(*, wrenches: bool, springs: bool) -> Plan:
    """The diagonalised equations of motion, and the rates of q that belong to them."""
    plan, rates = equations_plan(wrenches=wrenches, springs=springs), configuration.COORDINATE_RATES_PLAN
    ((step,),) = (sweep.steps for sweep in rates.sweeps)
    last = base_to_tip(step.reading(v="rate"))
    return Plan("diagonalised equations and coordinate rates", (*plan.buffers, *rates.buffers), (*plan.sweeps, last))


def _slopes(of: Subject, given: Names) -> Recipe:
    model = of.model

    def gather(values: Values) -> Any:
        nu_dot, rate = (gathering.joint_vector(model, values.lists.get(name, [])) for name in ("eps", "rate"))
        return chain(configuration.rate_entries(values), nu_dot, rate)

    plan = _slopes_plan(wrenches="wrenches" in given, springs=model.has_springs)
    return Recipe(plan, gather, (model.nq + 2 * model.nv,), MayMove.INERTIAS)


SLOPES = Quantity(
    "simulation.slopes",
    ("q", "nu", "tau"),
    _slopes,
    "dq/dt, places as in q, dnu/dt in sqrt(J)/s and v, places as in v",
    optional=("wrenches",),
    reads={"nu": "joint:nu", "wrenches": "wrench"},
    words={"nu": "total joint rates in sqrt(J), places as in v"},
)
