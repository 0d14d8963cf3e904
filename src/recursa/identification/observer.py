"""The momentum observer: torques that act on a robot and are not its drives', without accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.requirements import refuse_constraints
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import ShapeError, StateError
from recursa.identification.logs import Given, logs_of
from recursa.quantities import refusals
from recursa.sweeps.batching import Array, as_numbers
from recursa.trajectories.checks import positive

if TYPE_CHECKING:
    from recursa.robot import Robot


class MomentumObserver:
    """What acts on a robot beside its drives, from positions, speeds and torques (De Luca and Mattone 2005).

    The generalised momentum ``p = M(q) v`` obeys ``dp/dt = tau + C(q, v)* v - g(q) - losses + tau_ext``. The observer
    integrates all that is known; what is left of p, times a gain, is the residual

        r = K (p(t) - p(0) - integral (tau + C* v - g - losses + r) dt),

    which follows tau_ext as a low pass of first order with cutoff K/(2 pi) Hz, each freedom by itself. A free base has
    six such rows, those of the wrench on it. Springs are part of g.

    - ``step``: seconds between calls of :meth:`update`.
    - ``gain``: K in 1/s, one number or (nv,). The update is implicit: any gain is stable.
    - ``losses`` (True, False, "damping" or "friction"): whether damping and friction of the robot are known to act, as
      in ``inverse_dynamics``. Where a joint stands, dry friction may be anything up to its Coulomb value, and shows in
      the residual.
    - ``threshold``: residuals beyond are contacts, one number or (nv,) in N m and N; see :attr:`contact`.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> observer = rc.MomentumObserver(arm, step=1e-3, gain=50.0)
    >>> q, v = [0.3, 0.4], [0.0, 0.0]
    >>> hold = arm.gravity_forces(q)
    >>> for _ in range(500):                        # something lifts the tip, and the drives have 1 N m less to hold
    ...     r = observer.update(q, v, hold - [1.0, 0.0])
    >>> r.round(6)
    array([1., 0.])
    """

    def __init__(
        self,
        robot: Robot,
        *,
        step: float,
        gain: float | ArrayLike = 50.0,
        losses: Losses = True,
        threshold: float | ArrayLike | None = None,
    ) -> None:
        refuse_constraints(robot.model, "rc.MomentumObserver", refusals.ACCELERATIONS)
        self.robot = robot
        self.step = float(positive("step", step, 1)[0])
        self.gain = positive("gain", gain, robot.nv)
        self.losses = known_losses(losses)
        self.threshold = None if threshold is None else positive("threshold", threshold, robot.nv)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen: the next update is the first."""
        nv = self.robot.nv
        self._residual, self._sum = np.zeros(nv), np.zeros(nv)
        self._first: Array | None = None
        self._known = np.zeros(nv)

    @property
    def residual(self) -> Array:
        """The last residual (nv,), in N m and N: what acts beside drives, gravity and losses."""
        return self._residual.copy()

    @property
    def contact(self) -> Array:
        """Which freedoms (nv,) have residuals beyond the threshold."""
        if self.threshold is None:
            raise StateError(
                "the observer has no threshold: MomentumObserver(robot, ..., threshold=2.0) says what counts"
            )
        return np.abs(self._residual) > self.threshold

    def update(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """The residual (nv,) at a new sample; ``tau`` are the torques of the drives since the last one.

        The first call says where it starts, and returns zeros.
        """
        state, speeds, drive = self._checked(q, "q", self.robot.nq), self._checked(v, "v"), self._checked(tau, "tau")
        momentum, known = self.robot.mass_matrix(state) @ speeds, self._terms(state, speeds)
        if self._first is None:
            self._first = momentum
        else:
            self._advance(momentum, 0.5 * (self._known + known) + drive, self.step)
        self._known = known
        return self.residual

    def over(self, log: Given) -> Array:
        """The residuals (n, nv) over a log, as :func:`recursa.identify` takes them; v has to be in it.

        Steps are those of the log, and torques go straight from one sample to the next. Starts anew.

        >>> import recursa as rc
        >>> run = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.5, samples=501)
        >>> observer = rc.MomentumObserver(run.robot, step=1e-3, gain=30.0)
        >>> bool(abs(observer.over(run)).max() < 1e-3)
        True
        """
        logs = logs_of(self.robot, log)
        if len(logs) != 1 or logs[0].v is None or logs[0].current:
            raise StateError("an observer goes over one log, with t, q, v and tau")
        t, q, v, tau = logs[0].t, logs[0].q, logs[0].v, logs[0].tau
        momenta = np.einsum("nij,nj->ni", self.robot.mass_matrix(q), v)
        known = self._terms(q, v) + tau
        self.reset()
        self._first = momenta[0]
        residuals = np.zeros_like(v)
        for k in range(1, len(t)):
            self._advance(momenta[k], 0.5 * (known[k - 1] + known[k]), float(t[k] - t[k - 1]))
            residuals[k] = self._residual
        return residuals

    def wrench(self, q: ArrayLike, link: str) -> Array:
        """The wrench (moment, force) at a link's origin in world axes that explains the residual best, (6,).

        By least squares of ``J(q)* f = r``. Where the arm cannot feel a part of it, as with fewer than six joints or
        near a singular position, the least wrench is taken.
        """
        jacobian = self.robot.jacobian(q, link, frame="mixed")
        return np.linalg.lstsq(jacobian.T, self._residual, rcond=1e-6)[0]

    def payload(self, q: ArrayLike, link: str) -> float:
        """The mass in kg at a link's origin whose weight explains the residual best; for robots that stand still."""
        gravity = np.array(self.robot.model.gravity)
        if not gravity.any():
            raise StateError("without gravity a payload cannot be felt at rest; identify it from a motion, payload_at=")
        pull = self.robot.jacobian(q, link, frame="mixed")[3:].T @ gravity  # per kilogram
        size = float(pull @ pull)
        return float(pull @ self._residual) / size if size > 0.0 else 0.0

    def _advance(self, momentum: Array, known: Array, step: float) -> None:
        """One step, r implicit: ``r = K (p - p0 - sum - h (known + r))``."""
        assert self._first is not None
        left = momentum - self._first - self._sum - step * known
        self._residual = self.gain * left / (1.0 + self.gain * step)
        self._sum = self._sum + step * (known + self._residual)

    def _terms(self, q: Array, v: Array) -> Array:
        """``C* v - g - losses``, (..., nv), g with springs: ``(C + C*) v`` less bias forces."""
        C = self.robot.coriolis_matrix(q, v)
        found = np.einsum("...ij,...j->...i", C + C.swapaxes(-1, -2), v) - self.robot.bias_forces(q, v)
        return found - self.robot.joint_losses(v, losses=self.losses) if self.losses else found

    def _checked(self, given: ArrayLike, name: str, size: int | None = None) -> Array:
        size = self.robot.nv if size is None else size
        array = as_numbers(name, given, size)
        if array.shape != (size,):
            raise ShapeError(f"{name} has shape {array.shape}, expected ({size},): one sample")
        if not np.isfinite(array).all():
            raise StateError(f"{name} must be finite; the observer keeps what it saw until {name} is again")
        return array
