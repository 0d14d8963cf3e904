"""Runs of robots with constraints: accelerations that obey them, and states that are kept on their manifold.

Accelerations that obey ``G a + bias = 0`` keep loops closed but for the error of every step, which adds up. So after
each step the state is taken back: positions by Newton's method along ``inv(M) G*``, the way on which constraint forces
act, speeds by ``v - inv(M) G* inv(A) G v``. Or, by name, with Baumgarte's terms in the accelerations instead.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from recursa.simulation.equations import Equations, Outside, coordinate_rates
from recursa.simulation.prescribed import PrescribedMotion
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_EXACT = 2e-16  # of lengths and angles: errors that Newton's method cannot make smaller
_ROUNDS = 20
_SLOW = 1e-7  # by how much speeds may, of the largest one
_RANK = 1e-10


@dataclass(frozen=True)
class Baumgarte:
    """Errors e of constraints die out by terms in the accelerations: ``e'' + 2 damping rate e' + rate^2 e = 0``.

    - ``rate``: 1/s, how fast they do; well under 1 over the step of the integrator.
    - ``damping``: 1 without overshooting.

    >>> import recursa as rc
    >>> rc.Baumgarte(rate=50.0)
    Baumgarte(rate=50.0, damping=1.0)
    """

    rate: float = 20.0
    damping: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rate", "damping"):
            value = getattr(self, name)
            try:
                number = float(value)
            except (TypeError, ValueError):
                raise StateError(f"{name} of Baumgarte must be a number, not {value!r}") from None
            if not np.isfinite(number) or number < 0.0:
                raise StateError(f"{name} of Baumgarte must be finite and at least 0, not {value!r}")
            object.__setattr__(self, name, number)


def stabilized_by(chosen: Any) -> Baumgarte | None:
    """What ``baumgarte=`` of simulate says: None or False is projection."""
    if chosen is None or chosen is False:
        return None
    if chosen is True:
        return Baumgarte()
    if isinstance(chosen, Baumgarte):
        return chosen
    raise StateError(f"baumgarte takes rc.Baumgarte(rate=, damping=), True or None, not {chosen!r}")


class ConstrainedEquations(Equations):
    """``dq/dt``, ``dv/dt`` and powers of a robot with constraints, which do no work."""

    def __init__(self, robot: Robot, *acting: Any, baumgarte: Baumgarte | None = None, prescribed: Any = None) -> None:
        if robot.model.ntold:
            self.told = PrescribedMotion(robot.model, prescribed)
            self.modes_from_outside = True  # its work is found with the accelerations
        elif prescribed is not None:
            raise StateError(
                f"prescribed= is for joints and links that are rc.Prescribed, and robot '{robot.name}' has none"
            )
        self._flat = configuration.moves_by_adding(robot.model)
        self._coordinate_rates = robot.evaluator.trusting_entry(configuration.COORDINATE_RATES)
        self.baumgarte = baumgarte
        self.kept_on_manifold = baumgarte is None
        super().__init__(robot, *acting)
        if self.base is not None:
            raise StateError("base= is for trees: a robot with constraints needs a free joint, and rc.Loop to hold it")
        self._scales = np.array(row_scales(robot.model))
        entry = robot.evaluator.trusting_entry if robot.constraints else _nothing
        self._error, self._rows = entry(CONSTRAINT_ERROR), entry(CONSTRAINT_JACOBIAN)
        self._allowed = entry(PROJECT_VELOCITY)
        self._driving = None if self.told is None else robot.evaluator.trusting_entry(CONSTRAINT_FORCES, self.given)

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
        q = self.normalized(q)
        rates: Any = NotImplemented if self._coordinate_rates is None else self._coordinate_rates(q, v)
        return coordinate_rates(self.robot, q, v) if rates is NotImplemented else rates

    def _general(self, q: Array, v: Array, tau: Array, outside: Outside) -> Array:
        if not all(np.isfinite(x).all() for x in (q, v, tau)):
            return np.full(self.nq + self.nv, np.nan)
        if not self.robot.constraints:
            return super()._general(q, v, tau, outside)
        a = self.robot.forward_dynamics(q, v, tau, **self._shaped(outside))
        return np.concatenate([coordinate_rates(self.robot, q, v), self._damped(q, v, a)])

    def _damped(self, q: Array, v: Array, a: Array) -> Array:
        """Baumgarte's terms: ``G da = -(2 damping rate G v + rate^2 e)``, da along ``inv(M) G*``."""
        if self.baumgarte is None:
            return a
        rate, damping = self.baumgarte.rate, self.baumgarte.damping
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
                found = self.robot.constraint_forces(q, v, moving, **self._shaped(outside))
        tau = tau.copy()
        for one in self.told.parts:
            if one.joint is not None:
                tau[one.joint.v_start : one.joint.v_start + one.joint.kind.nv] += found[one.rows]
        return tau, power + float(found @ (self.rows(q) @ v))

    # ---- the manifold ------------------------------------------------------------------------------------------------

    def errors(self, q: Array) -> Array:
        """Of the constraints."""
        if not self.robot.constraints:
            return np.zeros(0)
        found: Any = NotImplemented if self._error is None else self._error(q)
        return self.robot.constraint_error(q) if found is NotImplemented else found

    def rows(self, q: Array) -> Array:
        """G (ncon, nv)."""
        if not self.robot.constraints:
            return np.zeros((0, self.nv))
        found: Any = NotImplemented if self._rows is None else self._rows(q)
        return self.robot.constraint_jacobian(q) if found is NotImplemented else found

    def allowed(self, q: Array, v: Array) -> Array:
        """The nearest speeds that obey the constraints."""
        found: Any = NotImplemented if self._allowed is None else self._allowed(q, v)
        return self.robot.project_velocity(q, v) if found is NotImplemented else found

    def impulse(self, q: Array, errors: Array) -> Array:
        """The change dv of speeds along ``inv(M) G*`` with ``G dv = -errors``, by rank; none where friction holds."""
        if self.locked.size:
            change = -along(*self._held_rows(q), np.concatenate([errors / self._scales, np.zeros(len(self.locked))]))
            change[self.stopped] = 0.0
            return change
        some = np.linalg.lstsq(self.rows(q) / self._scales[:, None], -errors / self._scales, rcond=_RANK)[0]
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
        rows = np.concatenate([self.rows(q) / self._scales[:, None], np.eye(self.nv)[self.locked]])
        return self.robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q}), rows

    def compliance(self, q: Array, damping: Array | None = None) -> Array:
        """``W - W G* inv(G W G*) G W``, by rank."""
        W = super().compliance(q, damping)
        if not self.robot.constraints:
            return W
        G = self.rows(q) / self._scales[:, None]
        WG = W @ G.T
        return W - WG @ np.linalg.lstsq(G @ WG, WG.T, rcond=_RANK)[0]

    def balanced(self, W: Array, a: Array) -> Array:
        """The shortest forces: freedoms in one loop hold each other."""
        return -np.linalg.lstsq(W, a, rcond=_RANK)[0]

    # ---- the start ---------------------------------------------------------------------------------------------------

    def require_closed(self, q: Array, v: Array) -> None:
        """A start that the constraints do not allow is an error that says by how much."""
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


def _nothing(quantity: Any) -> None:
    """No entry: there are no constraints to ask about."""
