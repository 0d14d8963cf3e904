"""The equations of motion as integrators want them: rates of state, and the work that goes in and out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recursa.dynamics import articulated_bodies, configuration, gathering
from recursa.dynamics.kinematics import BASE_MOTION
from recursa.dynamics.wrenches import DAMPING, FRICTION, Losses
from recursa.integrators.mechanics import from_outside, told_when
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.model.columns import freedom_name
from recursa.model.may_move import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.runs.run import Setup
from recursa.simulation import friction
from recursa.simulation.forces import Remembering, StopForces, Torque, checked_torque
from recursa.simulation.moved_base import MovedBase
from recursa.simulation.state_checks import floats, indices, one_of, real
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values
from recursa.sweeps.fusing import fuse
from recursa.sweeps.plan import Plan

if TYPE_CHECKING:
    from recursa.robot import Robot

Outside = tuple[Array, ...]
_NO_PROGRESS = 1e-14  # of the time of a run
NUMERICAL = (ArithmeticError, np.linalg.LinAlgError)
"""What mechanics raise at a state that an integrator has lost, such as a hinge inertia below zero by rounding."""


class Rates(NamedTuple):
    """What happens at an instant."""

    qdot: Array  # (nq,)
    v: Array  # (nv,)
    a: Array  # (nv,) rate of the speeds that are integrated: of v, or of nu
    tau: Array  # (nv,) of the drives
    gained: float  # power of drives, wrenches and the base
    lost: float  # power that losses and stops take out


class Settled(NamedTuple):
    """What is left of an instant at which modes change."""

    v: Array  # (nv,) speeds
    lost: float = 0.0  # energy that impacts take
    hit: tuple[str, ...] = ()  # names of what hits


class Equations:
    """``dq/dt``, ``dv/dt`` and powers of a robot with what acts on it.

    Friction (2, nv) is that against positive speeds, and against negative ones. It has modes, which whoever integrates
    sets: ``slip`` holds a sign per freedom that slides (0 elsewhere), ``locked`` lists freedoms that stick, as many as
    are independent. Between changes of mode everything is smooth.

    What a run has to know of other kinds of equations are methods here, too: where it begins, margins and modes, what
    to advise.

    Integrators see a state (q, u) and :meth:`slopes`. Here u is v; ``DiagonalEquations`` have nu in its place.
    :meth:`rates` are in terms of v in both.
    """

    diagonal = False
    modes_from_outside = False  # whether friction always has modes, also where an integrator could do without
    told: Any = None  # the motions of joints and links that are prescribed
    touches: tuple[Any, ...] = ()  # what may touch planes
    advice_on_modes = "Try integrator='semi-implicit', which needs no such instants."

    def __init__(
        self,
        robot: Robot,
        torque: Torque | None = None,
        wrenches: Torque | None = None,
        stops: StopForces | None = None,
        losses: Losses = True,
        base: MovedBase | None = None,
    ) -> None:
        self.robot = robot
        self.nq, self.nv = robot.nq, robot.nv
        self.torque, self.wrenches, self.stops, self.base = torque, wrenches, stops, base
        self.damping = np.array(gathering.damping_coefficients(robot.model)) * (losses in DAMPING)
        self.friction = np.array(gathering.friction_coefficients(robot.model)) * (losses in FRICTION)
        self.rubbing = self.friction.any(axis=0)  # (nv,) which freedoms have friction
        self.damped, self.rubbed = bool(self.damping.any()), bool(self.rubbing.any())
        self.slip, self.locked = np.zeros(robot.nv), np.zeros(0, dtype=int)
        self.slack = 0.0  # excess of torque, relative to friction, at which what is locked is released
        self.at_rest = False  # whether what is locked keeps the whole robot from moving
        self.undriven = torque is None and wrenches is None and stops is None and base is None and self.told is None
        self.passive = self.undriven and not (self.damped or self.rubbed)
        self.learner = torque if isinstance(torque, Remembering) else None
        self.memory = 0 if self.learner is None else len(self.learner.now)  # numbers that a controller remembers
        self.evaluations = 0
        self.trouble = ""  # why rates were not finite, if it is known
        self._zero, self._zero_q = np.zeros(robot.nv), np.zeros(robot.nq)
        self.quaternions = robot.model.quaternions
        self._tied = any(not joint.independent for joint in robot.model.joints)
        told = () if self.told is None else ("prescribed",)
        self.given = (*(() if wrenches is None else ("wrenches",)), *(() if base is None else BASE_MOTION), *told)
        self._native = self._compiled()

    def _compiled(self) -> Any:
        """A native function of what :meth:`solved` is given, or None."""
        return None if self._tied else self.robot.evaluator.trusting_entry(RATES, self.given)

    def setup(self, q0: Array, v0: Array) -> Setup:
        """What a run from this state keeps, so that it can be repeated."""
        present = {
            "a controller with memory": self.learner, "base=": self.base, "constraints": self.robot.constraints or None,
        }  # fmt: skip
        others = " and ".join(name for name, part in present.items() if part is not None)
        return Setup(q0.copy(), v0.copy(), self.torque, self.wrenches, self.stops, others)

    # ---- states as one vector ----------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Entries of a state: q, speeds; where there is work done, the work gained and lost, then what is learned."""
        return self.nq + self.nv + (0 if self.passive else 2 + self.memory)

    def recall(self, sums: Array) -> None:
        """Tell a controller what it remembers: the numbers behind work gained and lost."""
        if self.learner is not None:
            self.learner.now = sums[2:]

    @property
    def learning(self) -> Array:
        """How fast what a controller remembers changes, as of the last instant that was asked for."""
        return self._zero[:0] if self.learner is None else self.learner.rate

    def packed(self, q: Array, u: Array, work: Array) -> Array:
        """One vector."""
        return np.concatenate([q, u] if self.passive else [q, u, work])

    def unpacked(self, y: Array) -> tuple[Array, Array, Array]:
        """q with unit quaternions, the speeds that are integrated, work; copies."""
        n = self.nq + self.nv
        work = np.zeros(2) if self.passive else y[n:].copy()
        return self.normalized(y[: self.nq]), y[self.nq : n].copy(), work

    def normalized(self, q: Array) -> Array:
        """A copy with quaternions of unit length."""
        q = q.copy()
        for start in self.quaternions:
            part = q[start : start + 4]
            part /= np.sqrt(part @ part)
        return q

    # ---- modes -------------------------------------------------------------------------------------------------------

    @property
    def has_modes(self) -> bool:
        """Whether anything may slide, stick or touch."""
        return self.rubbed

    def margins(self, t: float, q: Array, v: Array) -> Array:
        """How far each of what has modes is from another one: positive while it keeps its own."""
        return friction.margins(self, t, q, v)

    def settle(self, t: float, q: Array, v: Array, margin: int | None = None, stalls: int = 0) -> Settled:
        """Set the modes for a state, after impulses if there are any.

        ``margin``: which one has come to zero; ``stalls``: changes before at the same instant.
        """
        return Settled(friction.settle(self, t, q, v, margin, stalls))

    def shortest_mode(self, t: float) -> float:
        """The time between two changes of modes that is no progress."""
        return _NO_PROGRESS * max(1.0, t)

    def modes(self) -> dict[str, Any]:
        """All of the modes that the next step depends on."""
        return {
            "slip": self.slip.copy(), "locked": self.locked.copy(), "slack": self.slack, "at_rest": self.at_rest,
        }  # fmt: skip

    def described_modes(self) -> dict[str, Any]:
        """What :meth:`modes` gives; see :mod:`recursa.simulation.state_checks`."""
        return {
            "slip": floats(self.nv), "locked": indices(self.nv), "slack": real(0.0, friction.MOST_SLACK),
            "at_rest": one_of(True, False),
        }  # fmt: skip

    def restore_modes(self, kept: dict[str, Any]) -> None:
        """As :meth:`modes` gave them."""
        self.slip, self.locked = kept["slip"].copy(), kept["locked"].copy()
        self.slack, self.at_rest = kept["slack"], kept["at_rest"]

    # ---- what holds after every step ---------------------------------------------------------------------------------

    kept_on_manifold = False  # whether :meth:`on_manifold` changes anything

    def beginning(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The state in which a run begins, from the one that was asked for; an error if it cannot begin there."""
        return q, v

    @property
    def acted_upon(self) -> bool:
        """Whether anything acts from outside but gravity."""
        return self.wrenches is not None or self.base is not None

    def on_manifold(self, q: Array, u: Array, t: float | None = None) -> tuple[Array, Array]:
        """The nearest state that the robot can be in, at a time if that is known; for a tree each is."""
        return q, u

    def obeying(self, q: Array, u: Array) -> Array:
        """The nearest speeds that the robot can have with the locked degrees of freedom at rest."""
        u = u.copy()
        u[self.stopped] = 0.0
        return u

    @property
    def stopped(self) -> Any:
        """Index of the degrees of freedom whose speeds are exactly zero while friction holds what is locked."""
        return slice(None) if self.at_rest else self.locked

    def compliance(self, q: Array, damping: Array | None = None) -> Array:
        """What torques do to the accelerations of the tree (nv, nv): ``inv(M)``, or ``inv(M + diag(damping))``."""
        if damping is None:
            return self.robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q})
        return np.linalg.inv(self.robot.mass_matrix(q) + np.diag(damping))

    # ---- the speeds that are integrated ------------------------------------------------------------------------------

    def to_joint(self, q: Array, u: Array) -> Array:
        """Joint rates v of the speeds that are integrated, which here are the same."""
        return u

    def from_joint(self, q: Array, v: Array) -> Array:
        """The speeds that are integrated, of joint rates v."""
        return v

    def slopes(self, t: float, q: Array, u: Array) -> Rates:
        """Everything at an instant, with the rate of the speeds that are integrated; for integrators."""
        return self.rates(t, q, u)

    def accelerated(self, q: Array, u: Array, tau: Array, outside: Outside) -> Array:
        """Rate of the speeds that are integrated, from the torques that move the bodies."""
        return self.solved(q, u, tau, outside)[self.nq :]

    # ---- rates -------------------------------------------------------------------------------------------------------

    def __call__(self, t: float, y: Array) -> Array:
        """dy/dt; nan at a state at which there is none, so that an integrator tries a shorter step."""
        try:
            return self._rates_of(t, y)
        except NUMERICAL as error:
            if from_outside(error):
                raise
            return np.full(self.size, np.nan)

    def _rates_of(self, t: float, y: Array) -> Array:
        if self.passive:
            self.evaluations += 1
            if self._native is not None:
                result: Any = self._native(y[: self.nq], y[self.nq :], self._zero)
                if result is not NotImplemented:
                    return result
            return self._general(self.normalized(y[: self.nq]), y[self.nq :], self._zero, ())
        n = self.nq + self.nv
        result = np.empty(n + 2 + self.memory)
        self.recall(y[n:])
        rates = self.slopes(t, self.normalized(y[: self.nq]), y[self.nq : n])
        result[: self.nq], result[self.nq : n] = rates.qdot, rates.a
        result[n], result[n + 1] = rates.gained, rates.lost
        result[n + 2 :] = self.learning
        return result

    def rates(self, t: float, q: Array, v: Array) -> Rates:
        """Everything at an instant; q has unit quaternions. Where the torque is not finite, nothing is."""
        self.evaluations += 1
        tau, outside, moving, lost = self.moving(t, q, v)
        both = self.solved(q, v, moving, outside)
        a = both[self.nq :]
        if self.locked.size:
            torques, change = self.holding(q, a)
            a, moving = a + change, moving.copy()
            a[self.stopped] = 0.0
            moving[self.locked] += torques
        tau, gained = self.driven(q, v, a, tau, moving, outside)
        return Rates(both[: self.nq], v, a, tau, gained, lost)

    def driven(self, q: Array, v: Array, a: Array, tau: Array, moving: Array, outside: Outside) -> tuple[Array, float]:
        """Torques of the drives, and the power of all that drives; ``moving`` are all torques that move the bodies."""
        return tau, self.power(q, v, a, tau, outside)

    def moving(self, t: float, q: Array, v: Array) -> tuple[Array, Outside, Array, float]:
        """Torques of the drives, what acts from outside, all torques that move the bodies, the power that is lost."""
        tau, outside, stop = self.acting(t, q, v)
        moving, lost = tau, 0.0
        if stop is not None:
            moving, lost = moving + stop, lost - float(stop.dot(v))
        if self.damped:
            drag = self.damping * v
            moving, lost = moving - drag, lost + float(drag.dot(v))
        if self.rubbed:
            rub = self.rub(self.slip)
            moving, lost = moving - rub, lost + float(rub.dot(v))
        return tau, outside, moving, lost

    def rub(self, direction: Array) -> Array:
        """Friction (nv,) at freedoms that slide in a direction, 1 or -1; zero where that is 0."""
        forward, backward = self.friction
        return np.where(direction < 0.0, backward, forward) * direction

    def acting(self, t: float, q: Array, v: Array) -> tuple[Array, Outside, Array | None]:
        """Torques of the drives, what acts from outside and torques of stops; nan where the state is not finite.

        From outside act, in the order of ``given``, wrenches on links and the motion of the base.
        """
        if self.undriven:
            return self._zero, (), None
        base = () if self.base is None else self.base.acting(t)
        base = base if self.told is None else (*base, self.told.accelerations(t))
        if q.dot(self._zero_q) + v.dot(self._zero) != 0.0:  # nan as soon as one entry is not finite
            none = () if self.wrenches is None else (np.zeros(6 * self.robot.nlinks),)
            return np.full(self.nv, np.nan), (*none, *base), None
        tau = self._zero if self.torque is None else told_when(self.torque, "torque=", t, q, v)
        if tau.__class__ is not np.ndarray or tau.shape != (self.nv,) or tau.dtype != np.float64:
            tau = checked_torque(self.robot.model, tau, t)
        if tau.dot(self._zero) != 0.0:
            freedom = int(np.argmax(~np.isfinite(tau)))
            name = freedom_name(self.robot.model, freedom)
            self.trouble = f"the torque of {name} at t = {t:.6g} s is {tau[freedom]}"
            tau = np.full(self.nv, np.nan)
        wrenches = () if self.wrenches is None else (told_when(self.wrenches, "wrenches=", t, q, v),)
        return tau, (*wrenches, *base), None if self.stops is None else self.stops(q, v)

    def power(self, q: Array, v: Array, a: Array, tau: Array, outside: Outside) -> float:
        """Of drives, wrenches and base: ``tau . v + sum of wrench . V + base wrench . twist``."""
        power = 0.0 if self.torque is None else float(tau.dot(v))
        if not outside:
            return power
        shaped = self.shaped(outside)
        twist, wrenches = shaped.get("base_twist"), shaped.get("wrenches")
        if wrenches is not None:
            power += float(np.vdot(wrenches, self.robot.velocities(q, v, base_twist=twist)))
        if twist is None:
            return power
        return power + float(self.robot.base_wrench(q, v, a, **shaped) @ twist) if np.isfinite(a).all() else np.nan

    def shaped(self, outside: Outside) -> dict[str, Any]:
        """What acts from outside, by the names of arguments."""
        named = dict(zip(self.given, outside, strict=True))
        return named | ({"wrenches": named["wrenches"].reshape(-1, 6)} if "wrenches" in named else {})

    def holding(self, q: Array, a: Array) -> tuple[Array, Array]:
        """Torques at the locked freedoms that take their acceleration away, and what they do to all others.

        ``a_S + W_SS lambda = 0`` with ``W = inv(mass matrix)``; a is what it would be without them.
        """
        W = self.compliance(q)[:, self.locked]
        torques = self.balanced(W[self.locked], a[self.locked])
        return torques, W @ torques

    def balanced(self, W: Array, a: Array) -> Array:
        """The forces lambda with ``a + W lambda = 0``."""
        return -np.linalg.solve(W, a)

    def solved(self, q: Array, v: Array, tau: Array, outside: Outside) -> Array:
        """(dq/dt, dv/dt) from the torques that move the bodies."""
        if self._native is not None:
            result: Any = self._native(q, v, tau, *outside)
            if result is not NotImplemented:
                return result
        return self._general(q, v, tau, outside)

    def _general(self, q: Array, v: Array, tau: Array, outside: Outside) -> Array:
        """The same where nothing is compiled, or where something is not finite: nan, or an error that names a joint."""
        if not all(np.isfinite(x).all() for x in (q, v, tau)):
            return np.full(self.nq + self.nv, np.nan)
        robot, shaped = self.robot, self.shaped(outside)
        if self._tied:
            a = robot.forward_dynamics(q, v, tau, **shaped)
            return np.concatenate([coordinate_rates(robot, q, v), a])
        return robot.evaluator.evaluate(RATES, {"q": q, "v": v, "tau": tau, **shaped})


@cache
def _rates_plan(*, wrenches: bool, springs: bool) -> Plan:
    return fuse(
        articulated_bodies.forward_plan(wrenches=wrenches, springs=springs), configuration.COORDINATE_RATES_PLAN
    )


def _rates(of: Subject, given: Names) -> Recipe:
    model = of.model

    def gather(values: Values) -> Any:
        return chain(configuration.rate_entries(values), gathering.joint_vector(model, values.lists.get("qdd", [])))

    plan = _rates_plan(wrenches="wrenches" in given, springs=model.has_springs)
    return Recipe(plan, gather, (model.nq + model.nv,), MayMove.INERTIAS)


RATES = Quantity(
    "simulation.rates",
    ("q", "v", "tau"),
    _rates,
    "dq/dt, places as in q, and dv/dt, places as in v",
    optional=("wrenches", *BASE_MOTION),
    reads={"wrenches": "wrench"},
)


def natively(entry: Any, otherwise: Callable[..., Array]) -> Callable[..., Array]:
    """A native function, which may decline, before another that answers then, or where nothing is compiled."""
    if entry is None:
        return otherwise

    def answered(*given: Array) -> Array:
        found: Any = entry(*given)
        return otherwise(*given) if found is NotImplemented else found

    return answered


def coordinate_rates(robot: Robot, q: Array, v: Array) -> Array:
    """dq/dt, (..., nq)."""
    return robot.evaluator.evaluate(configuration.COORDINATE_RATES, {"q": q, "v": v})


def chart_rates(robot: Robot, x: Array, v: Array) -> Array:
    """dx/dt (..., nv) of ``q exp(x)`` at speed v."""
    return robot.evaluator.evaluate(configuration.CHART_RATES, {"x": x, "v": v})
