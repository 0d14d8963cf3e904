"""LinearQuadratic: gains along a motion from linear models and Riccati's equation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.law import Law
from recursa.control.law_arithmetic import Arithmetic, X, parts_of
from recursa.control.settings import desired, weight
from recursa.dynamics.configuration import DIFFERENCE
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import StateError, unknown_name
from recursa.quantities import Refusal
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array

LqrMethod = Literal["time-varying", "scheduled"]
_METHODS: tuple[str, ...] = get_args(LqrMethod)
_BANDWIDTH = 10.0  # rad/s, by default
_REACH = 1.0  # largest |eigenvalue| times step of an exponential


class LinearQuadratic(Law):
    """Follows a motion with the gains that are least for ``integral of x* Q x + u* R u dt`` near it.

    ``tau = tau_d(t) - K(t) x``, x = (difference(q_d, q), v - v_d), ``K = inv(R) B* S``, with A, B of
    :meth:`Robot.state_space` along the motion and

    - "time-varying": ``-S' = A* S + S A - S B inv(R) B* S + Q``, backwards from ``final``, a matrix (2 nv, 2 nv), or by
      default what is best for holding still at the end. Between two knots A and B are those of the middle (order 2).
    - "scheduled": the algebraic equation at every knot, each gain optimal for its model held still.

    K is interpolated between ``knots`` instants; before and after the motion the first and the last apply. ``Q`` (2 nv,
    2 nv) has no negative eigenvalues, ``R`` (nv, nv) positive ones only; also as diagonals or one number. By default
    they make every joint, if the others stood still, return like a critically damped oscillator of w = 10 rad/s: ``Q =
    (w^4, 2 w^2)``, and ``R = 1/m^2`` with m the largest inertia that the joint meets along the motion. ``losses``
    (True, False, "damping" or "friction") are fed forward at the desired speeds; the linear models are without them.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)
    >>> follow = rc.control.LinearQuadratic(arm, motion, Q=[1e4, 1e4, 10, 10], R=1.0, knots=21)
    >>> follow.gain(0.5).shape
    (2, 4)
    """

    on_constraints = Refusal(
        "robot.state_space(q, v, tau), whose A and B are of the independent coordinates of a closed mechanism, and "
        "scipy.linalg.solve_continuous_are; or rc.control.ComputedTorque with actuated=[...]"
    )

    def __init__(
        self,
        robot: Robot,
        trajectory: Any,
        Q: Any = None,
        R: Any = None,
        *,
        method: LqrMethod = "time-varying",
        final: Any = None,
        knots: int = 101,
        losses: Losses = True,
        effort: Any = None,
        drive_base: bool = False,
    ) -> None:
        super().__init__(robot, effort, drive_base)
        if method not in _METHODS:
            raise unknown_name("method of gains", method, _METHODS)
        if not isinstance(knots, int | np.integer) or isinstance(knots, bool) or knots < 2:
            raise StateError(f"knots = {knots!r}: at least two instants, start and end")
        self.trajectory, self.method, self.losses = trajectory, method, known_losses(losses)
        self._desired = desired(robot, trajectory)
        self.knots = _instants(trajectory, int(knots))
        Q = np.repeat([_BANDWIDTH**4, 2.0 * _BANDWIDTH**2], robot.nv) if Q is None else Q
        R = self._largest_inertias() ** -2.0 if R is None else R
        self.Q, self.R = weight("Q", Q, 2 * robot.nv), weight("R", R, robot.nv, definite=True)
        if method == "scheduled":
            if final is not None:
                raise StateError(
                    'final is where the time-varying equation starts; method="scheduled" has no use for it'
                )
            A, B = self._models(self.knots)
            self.cost = np.array([self._held(*one) for one in zip(self.knots, A, B, strict=True)])
        else:
            self.cost = self._backwards(final)
            B = self._models(self.knots)[1]
        self.gains = np.linalg.solve(self.R, np.swapaxes(B, -1, -2) @ self.cost)
        if not np.isfinite(self.gains).all():
            raise StateError("the gains are not finite: Q, R or the motion have numbers that are too large")

    # ---- the law -----------------------------------------------------------------------------------------------------

    def sample(self, t: ArrayLike) -> Array:
        """Desired q and v, the torques of the motion, the gain row by row."""
        q, v, a = self._desired(t)
        tau = self.robot.inverse_dynamics(q, v, a)
        if self.losses:
            tau = tau + self.robot.joint_losses(v, losses=self.losses)
        gain = self.gain(t)
        return np.concatenate([q, v, tau, gain.reshape(*gain.shape[:-2], -1)], axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Torques of the motion, less the gain times the deviation."""
        nq, nv = self.robot.nq, self.robot.nv
        q_d, v_d, tau, gain = parts_of(on, sample, nq, nv, nv, 2 * nv * nv)
        off = on.apply(_deviation, 2 * nv, on.ask(DIFFERENCE, q0=q_d, q1=q), v, v_d)
        back = on.product(gain, off, nv)
        return on.apply(lambda a, b: [x - y for x, y in zip(a, b, strict=True)], nv, tau, back), None

    def gain(self, t: ArrayLike) -> Array:
        """K (..., nv, 2 nv) at instants t (...)."""
        when = np.clip(np.asarray(t, dtype=float), self.knots[0], self.knots[-1])
        at = np.clip(np.searchsorted(self.knots, when, side="right") - 1, 0, len(self.knots) - 2)
        share = ((when - self.knots[at]) / (self.knots[at + 1] - self.knots[at]))[..., None, None]
        return (1.0 - share) * self.gains[at] + share * self.gains[at + 1]

    # ---- Riccati -----------------------------------------------------------------------------------------------------

    def _largest_inertias(self) -> Array:
        """What each freedom has to accelerate while the others stand still, (nv,), at its largest."""
        mass = self.robot.mass_matrix(self._desired(self.knots)[0])
        return np.asarray(np.diagonal(mass, axis1=-2, axis2=-1).max(axis=0))

    def _models(self, t: Array) -> tuple[Array, Array]:
        """A (n, 2 nv, 2 nv) and B (n, 2 nv, nv) along the motion."""
        q, v, a = self._desired(t)
        A, B = self.robot.state_space(q, v, self.robot.inverse_dynamics(q, v, a))
        return A, B

    def _held(self, t: float, A: Array, B: Array) -> Array:
        """S of the algebraic equation: the model held still for ever."""
        from scipy.linalg import solve_continuous_are  # slow to import

        reason = "what is left does not die out"
        try:
            S = np.asarray(solve_continuous_are(A, B, self.Q, self.R))
            if np.linalg.eigvals(A - B @ np.linalg.solve(self.R, B.T @ S)).real.max() < 0.0:
                return S
        except (np.linalg.LinAlgError, ValueError) as error:
            reason = str(error)
        raise StateError(
            f"Riccati's equation at t = {t:.6g} s has no solution that makes '{self.robot.name}' stable ({reason}).\n"
            "  Weights of zero in Q may leave a motion unseen, and weights of very different size lose digits: give "
            "every deviation a weight."
        )

    def _backwards(self, final: Any) -> Array:
        """S (knots, 2 nv, 2 nv): ``(x, S x)' = H (x, S x)`` with Hamilton's matrix, by exponentials, backwards."""
        from scipy.linalg import expm

        A, B = self._models(self.knots[-1:])
        end = self._held(float(self.knots[-1]), A[0], B[0]) if final is None else weight("final", final, len(self.Q))
        A, B = self._models(0.5 * (self.knots[:-1] + self.knots[1:]))
        n, found = len(self.Q), [end]
        for a, b, step in reversed(list(zip(A, B, np.diff(self.knots), strict=True))):
            S = found[-1]
            hamilton = np.block([[a, -b @ np.linalg.solve(self.R, b.T)], [-self.Q, -a.T]])
            parts = max(1, int(np.ceil(np.abs(np.linalg.eigvals(hamilton)).max() * step / _REACH)))
            back = expm(-hamilton * (step / parts))
            for _ in range(parts):
                S = np.linalg.solve((back[:n, :n] + back[:n, n:] @ S).T, (back[n:, :n] + back[n:, n:] @ S).T)
                S = 0.5 * (S + S.T)
            found.append(S)
        return np.array(found[::-1])


def _instants(trajectory: Any, count: int) -> Array:
    """Knots from start to end."""
    start = float(getattr(trajectory, "start", 0.0))
    end = float(getattr(trajectory, "end", getattr(trajectory, "duration", np.nan)))
    if not (np.isfinite(start) and np.isfinite(end) and end > start):
        raise StateError(f"the motion must have an end, its duration in seconds; it goes from {start} to {end}")
    return np.linspace(start, end, count)


def _deviation(x: list[Scalar], v: list[Scalar], v_d: list[Scalar]) -> list[Scalar]:
    return [*x, *(a - b for a, b in zip(v, v_d, strict=True))]
