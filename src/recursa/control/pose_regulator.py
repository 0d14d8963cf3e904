"""PoseRegulator: control 8.2 of Jain and Rodriguez, corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.law_arithmetic import Arithmetic, OnArrays, X
from recursa.control.settings import hint_at_metres, movable_link, pose, weight
from recursa.control.tracking import RateDamping
from recursa.dynamics.kinematics import JACOBIAN, POSE_OF_LINK
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import per_freedom

_STEP = 1e-5  # of the central differences for a Hessian, rad or m


@dataclass(frozen=True)
class PoseReport:
    """Where a motion stands: how far from the target, and how hard it is still pulled.

    - ``error``: ``|e|`` of the twelve numbers; ``position`` in m and ``angle`` in rad are the same in words.
    - ``gradient``: ``|H phi B e|`` (with a weight matrix ``|H phi B Wt e|``). Where it is zero and the robot is at
      rest, the regulator is done, whether or not ``error`` is zero.
    - ``rate``: ``|nu|``, the root of twice the kinetic energy.
    - ``curvature``: the least eigenvalue of the Hessian of ``|e|^2/2`` over the joints: positive at a minimum,
      negative at a saddle, which the least push leaves.
    """

    error: float
    gradient: float
    rate: float
    position: float
    angle: float
    curvature: float

    def __str__(self) -> str:
        return (
            f"|e| = {self.error:.3g} ({self.position:.3g} m, {self.angle:.3g} rad), |H phi B e| = {self.gradient:.3g}, "
            f"|nu| = {self.rate:.3g}, least curvature {self.curvature:.3g}"
        )


class PoseRegulator(RateDamping):
    """Pulls a link towards a pose: ``eps = -c1 nu + inv(W) H psi B Wt e``. Jain & Rodriguez, 8.2, corrected.

    ``e = Yhat - Y`` are twelve numbers, the link's origin and its three axes in world axes, target less actual.
    Since ``inv(m) H phi = inv(W) H psi`` (W W* = D), it is ``tau = -m c1 m* v + H phi B Wt e``: the transposed
    Jacobian, and damping shaped by the inertia. ``damping`` is c1 in 1/s, one number or one per freedom; ``stiffness``
    one number c2, twelve, or a symmetric positive matrix Wt (12, 12), N/m for the origin, N m for the axes. Gravity is
    compensated, and springs of joints with it. O(n).

    ``lyapunov = |nu|^2 + e* Wt e`` falls at the rate ``-2 nu c1 nu``, so every motion comes to rest where
    ``H phi B Wt e`` is zero. **That need not be the target**: a minimum of the error at a singular posture holds it, a
    saddle may keep it for long, and an orientation that is half a turn off pulls nowhere. :meth:`report` gives ``|e|``
    and ``|H phi B e|``; look at both. As printed, (8.6) has the wrong sign and lacks ``D^-1/2``: it drives away.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.ur5_like()
    >>> target = arm.pose(np.array([0.4, -1.1, 1.2, -0.3, 0.8, 0.2]), "link6")
    >>> regulator = rc.control.PoseRegulator(arm, "link6", target, stiffness=60.0, damping=4.0)
    >>> q, v = arm.random_state(1)
    >>> bool(np.isclose(regulator.lyapunov(q, 0 * v), 60.0 * regulator.report(q).error ** 2))
    True
    """

    GAINS = ("stiffness", "damping", "target")
    CHOICES = ("link", "gravity")
    SIGNED = ("target",)

    def __init__(
        self,
        robot: Robot,
        link: str,
        target: ArrayLike,
        *,
        stiffness: Any = 1.0,
        damping: Any = 1.0,
        gravity: bool = True,
        effort: Any = None,
        drive_base: bool = False,
    ) -> None:
        super().__init__(robot, damping, gravity=gravity, effort=effort, drive_base=drive_base)
        self.link = movable_link(robot, link)
        self.target = pose("target", target)
        hint_at_metres(robot, link, self.target)
        self.damping = per_freedom(robot, "damping", damping, positive=True)
        self.stiffness = weight("stiffness", stiffness, 12, definite=True)
        self._scale = float(stiffness) if np.ndim(stiffness) == 0 else 1.0  # what |H phi B e| is measured without

    # ---- the law -----------------------------------------------------------------------------------------------------

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """``m (-c1 nu + eps_grav) + H phi B Wt e``; t does not matter."""
        nv = self.robot.nv
        here = on.ask(POSE_OF_LINK, {"link": self.link}, q=q)
        wrench = on.apply(_pulling, 6, here, gains["target"], gains["stiffness"])
        jacobian = on.ask(JACOBIAN, {"link": self.link, "frame": "mixed"}, q=q)
        pull = on.product(jacobian, wrench, nv, transposed=True)
        return self._carried(on, q, v, self._sum(on, self._braking(on, q, v, gains), pull)), None

    def error(self, q: ArrayLike) -> Array:
        """``e = Yhat - Y`` (..., 12): origin, x, y and z axis of the link, world axes, target less actual."""
        return _output(self.target) - _output(self.robot.pose(q, self.link))

    def pull(self, q: ArrayLike) -> Array:
        """``H phi B Wt e`` (..., nv), the torques towards the target: ``-d/dq (e* Wt e / 2)``.

        ``B e = [sum of y_i x e_i ; e_0]`` (8.5), at the link's origin in world axes.
        """
        here = np.asarray(self.robot.pose(q, self.link))
        flat = here.reshape(*here.shape[:-2], 16)
        on = OnArrays(self.robot)
        wrench = on.apply(_pulling, 6, flat, self.target.reshape(-1), self.stiffness.reshape(-1))
        jacobian = self.robot.jacobian(q, self.link, frame="mixed")
        return (jacobian.swapaxes(-1, -2) @ wrench[..., None])[..., 0]

    # ---- how far it is -----------------------------------------------------------------------------------------------

    def lyapunov(self, q: ArrayLike, v: ArrayLike) -> Array:
        """``|nu|^2 + e* Wt e`` (...), for one number ``|nu|^2 + c2 |e|^2``. It never grows, within limits of effort."""
        e = self.error(q)
        return np.asarray(super().lyapunov(q, v) + (e @ self.stiffness * e).sum(axis=-1))

    def hessian(self, q: ArrayLike) -> Array:
        """Second derivatives (nv, nv) of ``e* Wt e / 2`` over the joints, by central differences of :meth:`pull`."""
        q, nv = np.asarray(q, dtype=float), self.robot.nv
        steps = _STEP * np.eye(nv)
        ahead, behind = (self.pull(self.robot.integrate(q, sign * steps)) for sign in (1.0, -1.0))
        slope = (behind - ahead) / (2.0 * _STEP)
        return 0.5 * (slope + slope.T)

    def report(self, q: ArrayLike, v: ArrayLike | None = None) -> PoseReport:
        """How far a state is from the target and from rest."""
        q, v = self._state(q, np.zeros(self.robot.nv) if v is None else v)
        here = self.robot.pose(q, self.link)
        angle = 0.5 * (np.trace(here[:3, :3].T @ self.target[:3, :3]) - 1.0)
        return PoseReport(
            float(np.linalg.norm(self.error(q))),
            float(np.linalg.norm(self.pull(q))) / self._scale,
            float(np.linalg.norm(self.robot.diagonal.total_rates(q, v))),
            float(np.linalg.norm(self.target[:3, 3] - here[:3, 3])),
            float(np.arccos(np.clip(angle, -1.0, 1.0))),
            float(np.linalg.eigvalsh(self.hessian(q))[0]) / self._scale,
        )


def _output(here: Array) -> Array:
    """Y (..., 12) of poses (..., 4, 4): the origin, then the three axes."""
    turned = here.swapaxes(-1, -2)
    return np.concatenate([turned[..., 3, :3], turned[..., :3, :3].reshape(*here.shape[:-2], 9)], axis=-1)


def _pulling(here: list[Scalar], target: list[Scalar], weights: list[Scalar]) -> list[Scalar]:
    """``B Wt e`` at the link's origin in world axes, ``B e = [sum of y_i x e_i ; e_0]`` (8.5); poses row by row."""
    order = [4 * i + 3 for i in range(3)] + [4 * i + j for j in range(3) for i in range(3)]  # of Y, as _output has it
    e = [target[k] - here[k] for k in order]
    weighted = [sum((weights[12 * i + j] * e[j] for j in range(12)), start=0.0) for i in range(12)]
    axes = [Vec3(*(here[4 * i + j] for i in range(3))) for j in range(3)]
    moment = ZERO
    for j, axis in enumerate(axes):
        moment = moment + axis.cross(Vec3(*weighted[3 + 3 * j : 6 + 3 * j]))
    return [*moment, *weighted[:3]]
