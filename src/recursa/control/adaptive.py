"""Adaptive: follows a motion and learns the inertias on the way, after Slotine and Li."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.law import TREES_ONLY, Law, weighed
from recursa.control.law_arithmetic import Arithmetic, X, added, parts_of
from recursa.control.settings import desired, gain, numbers, vector
from recursa.control.tracking import TRACKING
from recursa.dynamics.reference import ADAPTATION, REFERENCE_DYNAMICS, pseudo_inertia
from recursa.dynamics.wrenches import JOINT_LOSSES, Losses, known_losses
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.model import WORLD
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar, where
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import per_freedom

AdaptiveMethod = Literal["gradient", "natural"]
_METHODS: tuple[str, ...] = get_args(AdaptiveMethod)
_POSITIVE = 1e-12  # of the largest eigenvalue of a pseudo-inertia


class Adaptive(Law):
    """Follows a motion and learns inertias: ``tau = Y(q, v, v_r, a_r) p + damping s``, ``p' = adaptation Y* s``.

    Slotine & Li (1987). ``v_r = v_d + bandwidth x`` leads back to the motion, x = difference(q, q_d), ``a_r = v_r'``,
    ``s = v_r - v``; Y is :meth:`Robot.reference_regressor`, p estimates of the inertial parameters (10 per body), which
    the law remembers: :meth:`Robot.simulate` and :func:`recursa.rollout` integrate them along. With the true
    parameters pi

        ``lyapunov = s M s / 2 + (p - pi) inv(adaptation) (p - pi) / 2``  falls at the rate  ``-s damping s``,

    so the robot comes to the motion whatever its masses are. The estimates come to the true values only as far as the
    motion shows them.

    - ``bandwidth`` (1/s): one number, per freedom, or by joint name; ``damping`` (N m s/rad, N s/m): as of GravityPD.
    - ``adaptation``: one number or (10 nbodies,): how fast each parameter is learned; 0 keeps it.
    - ``method``: "gradient" as above. "natural": ``P' = adaptation P L P`` for the 4x4 pseudo-inertia P of each body,
      with ``tr(L P(pi)) = Y* s . pi``; masses and inertias then stay physically possible for all times, and all
      parameters have one rate, in 1/J (Lee, Kwon & Park, 2018). Its Lyapunov function has ``ln(det P/det Pi) +
      tr(inv(P) Pi) - 4`` per body in place of squares. ``adaptation`` is then one number, or one per body.
    - ``estimate`` (10 nbodies,): p at the start, by default the parameters of ``robot``, such as the maker's, or the
      arm's without what it carries.
    - ``adapt``: names of links whose bodies are learned, by default all.
    - ``bounds``: (low, high), each (10 nbodies,) or one number: estimates at a bound do not go beyond ("gradient"
      only). If the true values are within, the Lyapunov function still falls.
    - ``losses`` (True, False, "damping" or "friction"): damping and friction of the joints are fed forward at the
      reference speeds, which adds to the damping.

    Limits of ``effort`` cut the promise: while a torque is cut off, the function may grow. Joints of every kind, trees,
    tied joints; springs and armature are taken from the model. O(n): neither Y nor M is formed.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> loaded = arm.with_payload("tip", 2.0)
    >>> motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)
    >>> learn = rc.control.Adaptive(arm, motion, bandwidth=8.0, damping=2.0, adaptation=0.5)
    >>> run = loaded.simulate([0.0, 0.5], duration=1.0, torque=learn, integrator="rk4", step=2e-3)
    >>> run.memory.shape                                            # ten numbers per body, at every instant
    (501, 20)
    """

    on_constraints = TREES_ONLY
    remembers = "estimate"
    GAINS: tuple[str, ...] = ("bandwidth", "damping", "adaptation")
    SIGNED = ("estimate", "low", "high")
    CHOICES = ("method", "losses", "bounded")

    def __init__(
        self,
        robot: Robot,
        trajectory: Any,
        bandwidth: Any,
        damping: Any,
        adaptation: Any,
        *,
        method: AdaptiveMethod = "gradient",
        estimate: ArrayLike | None = None,
        adapt: Iterable[str] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        losses: Losses = True,
        effort: Any = None,
        drive_base: bool = False,
    ) -> None:
        super().__init__(robot, effort, drive_base)
        if method not in _METHODS:
            raise unknown_name("method of adaptation", method, _METHODS)
        self.trajectory, self.method = trajectory, method
        self._desired = desired(robot, trajectory)
        self.bandwidth = per_freedom(robot, "bandwidth", bandwidth)
        self.damping = gain(robot, "damping", damping)
        self.losses = known_losses(losses)
        self.memory = 10 * robot.model.nbodies
        self.estimate = self._parameters("estimate", robot.parameters if estimate is None else estimate)
        self.adaptation = self._rates(adaptation) * self._learned(adapt)
        self.bounded = bounds is not None
        if bounds is not None:
            self.low, self.high = self._bounds(bounds)
            self.GAINS += ("low", "high")
        if method == "natural":
            self._require_possible()

    # ---- the law -----------------------------------------------------------------------------------------------------

    def sample(self, t: ArrayLike) -> Array:
        """Desired q, v, a."""
        return np.concatenate(self._desired(t), axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Torques from the estimates, and how these change."""
        nq, nv = self.robot.nq, self.robot.nv
        q_d, v_d, a_d = parts_of(on, sample, nq, nv, nv)
        tracked = on.ask(TRACKING, q=q, v=v, q_d=q_d, v_d=v_d, a_d=a_d)
        found = on.apply(partial(_reference, nv), 3 * nv, tracked, v, gains["bandwidth"])
        v_r, a_r, s = parts_of(on, found, nv, nv, nv)
        tau = on.ask(REFERENCE_DYNAMICS, q=q, v=v, v_r=v_r, a_r=a_r, parameters=memory)
        tau = self._sum(on, tau, self._gained(on, gains["damping"], s, "damping"))
        if self.losses:
            tau = self._sum(on, tau, on.ask(JOINT_LOSSES, {"losses": self.losses}, v=v_r))
        if self.method == "natural":
            rate = on.ask(ADAPTATION, {"natural": True}, q=q, v=v, v_r=v_r, a_r=a_r, s=s, parameters=memory)
        else:
            rate = on.ask(ADAPTATION, q=q, v=v, v_r=v_r, a_r=a_r, s=s)
        rate = self._gained(on, gains["adaptation"], rate, "adaptation")
        if self.bounded:
            rate = on.apply(_within, self.memory, rate, memory, gains["low"], gains["high"])
        return tau, rate

    def sliding(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """``s = v_r - v`` (..., nv): zero on the motion, and where the robot returns to it as the bandwidth says."""
        q_d, v_d, a_d = self._desired(t)
        state = {"q": np.asarray(q, float), "v": np.asarray(v, float), "q_d": q_d, "v_d": v_d, "a_d": a_d}
        tracked = self.robot.evaluator.evaluate(TRACKING, state)
        return tracked[..., 1, :] + self.bandwidth * tracked[..., 0, :]

    def lyapunov(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, memory: ArrayLike, true: ArrayLike | None = None
    ) -> Array:
        """The Lyapunov function (...), with the ``true`` parameters (10 nbodies,), by default those of ``robot``.

        Estimates that are not learned have to be the true ones.
        """
        s, held = self.sliding(t, q, v), np.asarray(memory, dtype=float)
        actual = self._parameters("true", self.robot.parameters if true is None else true)
        mass = self.robot.mass_matrix(q, parameters=actual)
        total = 0.5 * np.einsum("...i,...ij,...j->...", s, mass, s)
        learned = self.adaptation > 0.0
        if self.method == "gradient":
            return np.asarray(
                total + 0.5 * ((held - actual)[..., learned] ** 2 / self.adaptation[learned]).sum(axis=-1)
            )
        for body in range(self.robot.model.nbodies):
            own = slice(10 * body, 10 * body + 10)
            if learned[own].any():
                P, true_p = _matrices(held[..., own]), _matrices(actual[own])
                ratio = np.linalg.slogdet(P)[1] - np.linalg.slogdet(true_p)[1]
                apart = ratio + np.trace(np.linalg.solve(P, np.broadcast_to(true_p, P.shape)), axis1=-2, axis2=-1) - 4.0
                total = total + apart / self.adaptation[own][0]
        return np.asarray(total)

    def lyapunov_rate(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """Its derivative in time, ``-s damping s``, without limits, losses and bounds."""
        s = self.sliding(t, q, v)
        return np.asarray(-(s * weighed(self.damping, s)).sum(axis=-1))

    # ---- what users hand in ------------------------------------------------------------------------------------------

    def _parameters(self, name: str, value: ArrayLike) -> Array:
        return vector(name, value, self.memory, "ten numbers per body")

    def _rates(self, adaptation: Any) -> Array:
        array = numbers("adaptation", adaptation)
        bodies = self.robot.model.nbodies
        if self.method == "natural" and array.shape == (bodies,) and bodies != self.memory:
            array = np.repeat(array, 10)
        elif array.ndim and self.method == "natural":
            raise ShapeError(f"adaptation has shape {array.shape}, expected one number or ({bodies},), one per body")
        if array.shape not in ((), (self.memory,)):
            raise ShapeError(f"adaptation has shape {array.shape}, expected one number or ({self.memory},)")
        if (array < 0.0).any():
            raise StateError(f"adaptation must not be negative; the least is {array.min():g}")
        return np.broadcast_to(array, self.memory)

    def _learned(self, adapt: Iterable[str] | None) -> Array:
        """1 for parameters of bodies that are learned, 0 for others."""
        if adapt is None:
            return np.ones(self.memory)
        model, mask = self.robot.model, np.zeros(self.memory)
        for name in [adapt] if isinstance(adapt, str) else adapt:
            body = model.links[model.link_index(name)].body
            if body == WORLD:
                raise StateError(f"link '{name}' is fixed to the world: nothing of it can be learned from torques")
            mask[10 * body : 10 * body + 10] = 1.0
        return mask

    def _require_possible(self) -> None:
        """Start from a distribution of mass wherever something is learned."""
        for body, joint in enumerate(self.robot.model.joints):
            own = slice(10 * body, 10 * body + 10)
            least, *_, largest = np.linalg.eigvalsh(_matrices(self.estimate[own]))
            if self.adaptation[own].any() and least <= _POSITIVE * max(largest, 0.0):
                raise StateError(
                    f"the estimate of the body after joint '{joint.name}' is that of no distribution of mass: its "
                    f"pseudo-inertia has the eigenvalue {least:.3g}. method='natural' starts from a possible one: give "
                    "another estimate=, name the links to be learned in adapt=, or ask robot.doctor()"
                )

    def _bounds(self, bounds: Any) -> tuple[Array, Array]:
        if self.method == "natural":
            raise StateError("bounds are for method='gradient'; the natural one keeps to what is physically possible")
        try:
            low, high = (np.array(np.broadcast_to(np.asarray(x, dtype=float), self.memory)) for x in bounds)
        except (TypeError, ValueError):
            raise ShapeError(f"bounds are (low, high), each one number or ({self.memory},), not {bounds!r}") from None
        wrong = np.flatnonzero(~((low <= self.estimate) & (self.estimate <= high)))
        if len(wrong):
            at = int(wrong[0])
            raise StateError(
                f"estimate {at} (number {at % 10} of the body after joint '{self.robot.model.joints[at // 10].name}') "
                f"is {self.estimate[at]:g}, not within its bounds [{low[at]:g}, {high[at]:g}]"
            )
        return low, high


def _reference(nv: int, tracked: list[Scalar], v: list[Scalar], bandwidth: list[Scalar]) -> list[Scalar]:
    """``v_r``, ``a_r``, ``s``."""
    x, off, faster, rate = (tracked[k * nv : (k + 1) * nv] for k in range(4))
    s = [e + w * y for e, w, y in zip(off, bandwidth, x, strict=True)]
    return [*added(v, s), *(a + w * y for a, w, y in zip(faster, bandwidth, rate, strict=True)), *s]


def _within(rate: list[Scalar], p: list[Scalar], low: list[Scalar], high: list[Scalar]) -> list[Scalar]:
    """Rates that do not lead out of the bounds."""
    inward = [where(x < a, where(y < 0.0, 0.0, y), y) for y, x, a in zip(rate, p, low, strict=True)]
    return [where(x > b, where(y > 0.0, 0.0, y), y) for y, x, b in zip(inward, p, high, strict=True)]


def _matrices(parameters: Array) -> Array:
    """Pseudo-inertias (..., 4, 4) of ten numbers each."""
    rows = pseudo_inertia(list(np.moveaxis(parameters, -1, 0)))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
