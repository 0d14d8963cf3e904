"""Runs of robots with constraints: accelerations that obey them, and states that are kept on their manifold.

Accelerations that obey ``G a + bias = 0`` keep loops closed but for the error of every step, which adds up. So after
each step the state is taken back: positions by Newton's method along ``inv(M) G*``, the way on which constraint forces
act, speeds by ``v - inv(M) G* inv(A) G v``. Or, by name, with Baumgarte's terms in the accelerations instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.constraints.assembling import CLOSED
from recursa.constraints.quantities import CONSTRAINT_ERROR, CONSTRAINT_FORCES, CONSTRAINT_JACOBIAN, PROJECT_VELOCITY
from recursa.constraints.rows import row_scales
from recursa.dynamics import configuration
from recursa.errors import StateError
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.model.constraints import called
from recursa.simulation.complementarity import along, obeying
from recursa.simulation.equations import Equations, Outside, coordinate_rates, natively
from recursa.simulation.prescribed_motion import PrescribedMotion
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_EXACT = 2e-16  # of lengths and angles: errors that Newton's method cannot make smaller
_ROUNDS = 20
_SLOW = 1e-7  # by how much speeds may, of the largest one
_RANK = 1e-10


class ConstrainedEquations(Equations):
    """``dq/dt``, ``dv/dt`` and powers of a robot with constraints, which do no work."""

    def __init__(
        self, robot: Robot, *acting: Any, baumgarte: tuple[float, float] | None = None, prescribed: Any = None
    ) -> None:
        if robot.model.ntold:
            self.told = PrescribedMotion(robot.model, prescribed)
            self.modes_from_outside = True  # its work is found with the accelerations
        self._flat = configuration.moves_by_adding(robot.model)
        entry = robot.evaluator.trusting_entry
        self._coordinate_rates = natively(entry(configuration.COORDINATE_RATES), partial(coordinate_rates, robot))
        self.baumgarte = baumgarte
        self.kept_on_manifold = baumgarte is None
        super().__init__(robot, *acting)
        if self.base is not None:
            raise StateError("base= is for trees: a robot with constraints needs a free joint, and rc.Loop to hold it")
        self._scales = np.array(row_scales(robot.model))
        self._driving = None if self.told is None else entry(CONSTRAINT_FORCES, self.given)
        self.errors: Callable[[Array], Array] = lambda q: np.zeros(0)
        self.rows: Callable[[Array], Array] = lambda q: np.zeros((0, self.nv))  # G (ncon, nv)
        self.allowed: Callable[[Array, Array], Array] = robot.project_velocity  # the nearest speeds that obey
        if robot.constraints:
            self.errors = natively(entry(CONSTRAINT_ERROR), robot.constraint_error)
            self.rows = natively(entry(CONSTRAINT_JACOBIAN), robot.constraint_jacobian)
            self.allowed = natively(entry(PROJECT_VELOCITY), robot.project_velocity)

    def _compiled(self) -> Any:
        if self._tied or not self.robot.constraints:
            return super()._compiled()
        forward = self.robot.evaluator.trusting_entry(FORWARD_DYNAMICS, self.given)
        if forward is None:
            return None

        def rates(q: Array, v: Array, tau: Array, *outside: Array) -> Any:
            a: Any = forward(q, v, tau, *outside)
            if a is NotImplemented:
                return a
            return np.concatenate([self._speeds_of(q, v), self._damped(q, v, a)])

        return rates

    def _speeds_of(self, q: Array, v: Array) -> Array:
        if self._flat:
            return v
        return self._coordinate_rates(self.normalized(q), v)

    def _general(self, q: Array, v: Array, tau: Array, outside: Outside) -> Array:
        if not all(np.isfinite(x).all() for x in (q, v, tau)):
            return np.full(self.nq + self.nv, np.nan)
        if not self.robot.constraints:
            return super()._general(q, v, tau, outside)
        a = self.robot.forward_dynamics(q, v, tau, **self.shaped(outside))
        return np.concatenate([coordinate_rates(self.robot, q, v), self._damped(q, v, a)])

    def _damped(self, q: Array, v: Array, a: Array) -> Array:
        """Baumgarte's terms: ``G da = -(2 damping rate G v + rate^2 e)``, da along ``inv(M) G*``."""
        if self.baumgarte is None:
            return a
        rate, damping = self.baumgarte
        speeds = self.rows(q) @ v
        speeds = speeds if self.told is None else speeds - self.told.rates(None, speeds)
        return a + self.impulse(q, 2.0 * damping * rate * speeds + rate * rate * self.errors(q))

    def driven(self, q: Array, v: Array, a: Array, tau: Array, moving: Array, outside: Outside) -> tuple[Array, float]:
        """With the torques that prescribed joints take, and the power that they and prescribed links take."""
        power = self.power(q, v, a, tau, outside[:-1] if self.told is not None else outside)
        if self.told is None:
            return tau, power
        found: Any = NotImplemented if self._driving is None else self._driving(q, v, moving, *outside)
        if found is NotImplemented:
            found = np.full(self.robot.model.ncon, np.nan)
            if np.isfinite(a).all():
                found = self.robot.constraint_forces(q, v, moving, **self.shaped(outside))
        tau = tau.copy()
        for one in self.told.parts:
            if one.joint is not None:
                tau[one.joint.v_start : one.joint.v_start + one.joint.kind.nv] += found[one.rows]
        return tau, power + float(found @ (self.rows(q) @ v))

    # ---- the manifold ------------------------------------------------------------------------------------------------

    def scaled_rows(self, q: Array) -> Array:
        """The rows of G in units in which errors of all constraints compare."""
        return self.rows(q) / self._scales[:, None]

    def impulse(self, q: Array, errors: Array) -> Array:
        """The change dv of speeds along ``inv(M) G*`` with ``G dv = -errors``, by rank; none where friction holds."""
        if self.locked.size:
            change = -along(*self._held_rows(q), np.concatenate([errors / self._scales, np.zeros(len(self.locked))]))
            change[self.stopped] = 0.0
            return change
        some = np.linalg.lstsq(self.scaled_rows(q), -errors / self._scales, rcond=_RANK)[0]
        return some - self.allowed(q, some)

    def on_manifold(self, q: Array, u: Array, t: float | None = None) -> tuple[Array, Array]:
        """Loops closed to rounding, speeds that obey them; prescribed joints where and as fast as they have to be."""
        if self.told is not None and t is not None:
            q = self.told.placed(t, q)  # loops are then closed by the others, which these joints do not yield to
        q = self._closed(q)
        if self.told is None:
            return q, self.obeying(q, u)
        R = self._held_rows(q)[1]
        wanted = np.zeros(len(R))
        rates = self.told.rates(t, R[: len(self._scales)] @ u * self._scales)
        wanted[: len(self._scales)] = rates / self._scales
        some = np.linalg.lstsq(R, wanted, rcond=_RANK)[0]
        return q, some + self.obeying(q, u - some)

    def _closed(self, q: Array) -> Array:
        error, last = self.errors(q), np.inf
        for _ in range(_ROUNDS):
            size = float(np.abs(error / self._scales).max(initial=0.0))
            if not _EXACT < size < 0.5 * last:
                break
            moved = self.robot.integrate(q, self.impulse(q, error))
            left = self.errors(moved)
            if not float(np.abs(left / self._scales).max(initial=0.0)) < size:
                break
            q, error, last = moved, left, size
        return q

    def obeying(self, q: Array, u: Array) -> Array:
        """The nearest speeds that obey the constraints, with the locked degrees of freedom at rest."""
        if not self.locked.size:
            return self.allowed(q, u)
        v = obeying(*self._held_rows(q), u)
        v[self.stopped] = 0.0
        return v

    def _held_rows(self, q: Array) -> tuple[Array, Array]:
        """``inv(M)``, and the scaled rows of the constraints with those of the locked degrees of freedom below them."""
        rows = np.concatenate([self.scaled_rows(q), np.eye(self.nv)[self.locked]])
        return self.robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q}), rows

    def compliance(self, q: Array, damping: Array | None = None) -> Array:
        """What the constraints leave of that of the tree."""
        return self.held_back(super().compliance(q, damping), q)

    def held_back(self, W: Array, q: Array) -> Array:
        """``W - W G* inv(G W G*) G W``, by rank."""
        if not self.robot.constraints:
            return W
        G = self.scaled_rows(q)
        WG = W @ G.T
        return W - WG @ np.linalg.lstsq(G @ WG, WG.T, rcond=_RANK)[0]

    def balanced(self, W: Array, a: Array) -> Array:
        """The shortest forces: freedoms in one loop hold each other."""
        return -np.linalg.lstsq(W, a, rcond=_RANK)[0]

    # ---- the start ---------------------------------------------------------------------------------------------------

    acted_upon = True

    def beginning(self, q: Array, v: Array) -> tuple[Array, Array]:
        """On the manifold; a start that the constraints do not allow is an error that says by how much."""
        if self.robot.constraints:
            self._require_closed(q, v)
        return self.on_manifold(q, v, 0.0) if self.kept_on_manifold else (q, v)

    def _require_closed(self, q: Array, v: Array) -> None:
        error, rate = self.errors(q), self.rows(q) @ v
        if self.told is not None:
            self.told.require_start(q, v)
            rate = rate - self.told.rates(None, rate)
        largest = max(1.0, float(np.abs(v).max(initial=0.0)))
        for what, values, limit, fix in (
            ("are not closed at q0", error, CLOSED, "q0 = robot.assemble(q0) closes them"),
            (
                "do not allow v0",
                rate,
                _SLOW * largest,
                "v0 = robot.project_velocity(q0, v0) is the nearest that they do",
            ),
        ):
            if float(np.abs(values / self._scales).max(initial=0.0)) > limit:
                raise StateError(
                    f"robot '{self.robot.model.name}': its constraints {what}. Missed: "
                    f"{'; '.join(self._missed(values, limit, '/s' if values is rate else ''))}. {fix}"
                )

    def _missed(self, values: Array, limit: float, per: str) -> list[str]:
        found = []
        for one in self.robot.model.equations:
            mine = values[one.start : one.start + len(one.units)]
            parts = []
            for unit, word in (("r", "rad"), ("m", "m")):
                size = float(np.sqrt(sum(x * x for x, y in zip(mine, one.units, strict=True) if y == unit)))
                if size > limit:
                    parts.append(f"{size:.3g} {word}{per}")
            if parts:
                found.append(f"the {called(one.constraint)} by {' and '.join(parts)}")
        return found
