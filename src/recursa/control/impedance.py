"""Impedance and Admittance: a link that yields like a spring with a damper."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.at_link import LinkLaw, error_between, in_chart, rotation_in, shown_force, work_conjugate
from recursa.control.law import weighed
from recursa.control.law_arithmetic import Arithmetic, X, added, parts_of
from recursa.control.operational_space import OperationalSpace
from recursa.control.settings import small_gain, vector
from recursa.dynamics.kinematics import JACOBIAN, POSE_OF_LINK
from recursa.errors import ShapeError, StateError
from recursa.operational.operational_quantities import OPERATIONAL_COMPLIANCE
from recursa.robot import Robot
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array

_WRENCH = "(moment, force) in world axes"
_SINGULAR = 1e-10  # share of the compliance below which a direction cannot be moved; J* Lambda J is bounded anyway
_YIELDING = ("mass", "compliance_stiffness", "compliance_damping")


class Impedance(LinkLaw):
    """A link on a spring: ``tau = J* (stiffness e + damping (x'_d - x')) + g(q)``, and damping in the null space.

    Whoever pushes the link by a wrench F feels the spring: at rest it yields by ``inv(stiffness) F``. No force has to
    be measured, and the link keeps the inertia that it has; contacts are safe, as the law only takes energy out.

    - ``target``: a pose (4, 4); a function of t that returns a pose, or (pose, velocity, acceleration), as
      :class:`PoseLine` does; or a joint motion with ``sample(t)``.
    - ``stiffness``, ``damping``: of (omega, v) of the link's origin in world axes, N m/rad and N/m, N m s/rad and
      N s/m: one number, six, or a symmetric positive matrix (6, 6).
    - ``posture`` (nq,), ``posture_stiffness`` (1/s^2), ``posture_damping`` (1/s): what joints do that the link does not
      notice: ``a_0 = posture_stiffness (posture - q) - posture_damping v`` through ``M - J* Lambda J`` alone.
    - ``gravity`` is compensated, and springs of joints with it.
    - ``actuated``: names of the joints that have motors, which a robot with constraints needs.

    At a fixed target and without a posture ``lyapunov = v M v / 2 + e stiffness e / 2`` falls at least at the rate
    ``-x' damping x'``; e is the rotation vector and the way to the target, and the moment is the gradient of its
    energy. As with every spring of that kind an orientation that is half a turn off pulls to no side. O(n).

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])
    >>> soft = rc.control.Impedance(arm, "flange", arm.pose(q, "flange"), stiffness=[50] * 3 + [400] * 3, damping=30.0)
    >>> bool(np.allclose(soft.torque(0.0, q, np.zeros(7)), arm.gravity_forces(q)))
    True
    """

    CHOICES = ("link", "gravity")

    def __init__(
        self,
        robot: Robot,
        link: str,
        target: Any,
        stiffness: Any,
        damping: Any,
        *,
        posture: Any = None,
        posture_stiffness: Any = 10.0,
        posture_damping: Any = 2.0,
        gravity: bool = True,
        effort: Any = None,
        drive_base: bool = False,
        actuated: Collection[str] | None = None,
    ) -> None:
        held = posture, posture_stiffness, posture_damping
        super().__init__(robot, link, target, *held, effort, drive_base, actuated)
        self.stiffness, self.damping = small_gain("stiffness", stiffness, 6), small_gain("damping", damping, 6)
        self.gravity = bool(gravity)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Spring and damper at the link; weight, and what the link does not notice, at the joints."""
        nv, link = self.robot.nv, {"link": self.link, "frame": "mixed"}
        there, velocity, _ = parts_of(on, sample, 16, 6, 6)
        jacobian, here = on.ask(JACOBIAN, link, q=q), on.ask(POSE_OF_LINK, {"link": self.link}, q=q)
        e = on.apply(error_between, 6, here, there)
        spring = on.apply(work_conjugate, 6, e, self._gained(on, gains["stiffness"], e, "stiffness"))
        off = on.apply(_less, 6, velocity, on.product(jacobian, v, 6))
        wrench = on.apply(added, 6, spring, self._gained(on, gains["damping"], off, "damping"))
        still = on.apply(lambda _: [0.0] * nv, nv, v)
        rest = self._allowed(on, q, still, self._to_spare(on, q, v, gains))  # a_0
        noticed = on.apply(
            partial(shown_force, self.rows, _SINGULAR), 6, on.ask(OPERATIONAL_COMPLIANCE, link, q=q),
            on.product(jacobian, rest, 6),
        )  # fmt: skip
        pushed = on.product(jacobian, on.apply(_less, 6, wrench, noticed), nv, transposed=True)
        tau = self._sum(on, self._moving(on, q, still, rest), pushed)
        return (tau if self.gravity else on.apply(_less, nv, tau, self._resting(on, q, v))), None

    def lyapunov(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """``v M v / 2 + e stiffness e / 2`` (...)."""
        e = self.error(t, q)
        return np.asarray(self.robot.kinetic_energy(q, v) + 0.5 * (e * weighed(self.stiffness, e)).sum(axis=-1))


class Admittance(OperationalSpace):
    """A link that moves as a mass on a spring would under a measured wrench, and follows that motion stiffly.

    ``inertia z' + compliance_damping z + compliance_stiffness y = F(t)``, where y is how far (rotation vector and way,
    world axes) the followed pose is from ``target``, and z its velocity beside the target's. The link is held to that
    pose as :class:`OperationalSpace` does, with ``stiffness`` and ``damping`` of the inner loop: what the robot weighs
    and how it is built does not matter, as long as the inner loop is the faster one.

    - ``force``: what a sensor measures, (moment, force) on the link at its origin in world axes: six numbers, or a
      function of t. Give the same to :meth:`Robot.simulate` as ``wrenches`` if it is to act on the robot, too.
    - ``inertia`` (kg m^2, kg), ``compliance_stiffness``, ``compliance_damping``: one number or six.
    - others as of :class:`OperationalSpace`, all six coordinates.

    A law with memory: twelve numbers, y and z.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])
    >>> push = [0, 0, 0, 0, 0, 8.0]
    >>> soft = rc.control.Admittance(arm, "flange", arm.pose(q, "flange"), force=push, inertia=2.0,
    ...     compliance_stiffness=200.0, compliance_damping=40.0, stiffness=400.0)
    >>> run = arm.simulate(q, duration=2.0, torque=soft, integrator="rk4", step=2e-3)
    >>> way = arm.pose(run.q[-1], "flange")[2, 3] - arm.pose(q, "flange")[2, 3]
    >>> round(float(way), 4)                                        # 8 N on 200 N/m
    0.04
    """

    SIGNED = (*OperationalSpace.SIGNED, "yielded")
    memory = 12
    remembers = "yielded"

    def __init__(
        self,
        robot: Robot,
        link: str,
        target: Any,
        force: Any,
        inertia: Any,
        compliance_stiffness: Any,
        compliance_damping: Any,
        stiffness: Any,
        damping: Any = None,
        **others: Any,
    ) -> None:
        if "coordinates" in others:
            raise StateError("an admittance has all six coordinates of its link: coordinates= is not offered")
        super().__init__(robot, link, target, stiffness, damping, **others)
        self.mass = small_gain("inertia", inertia, 6, definite=True)
        self.compliance_stiffness = small_gain("compliance_stiffness", compliance_stiffness, 6)
        self.compliance_damping = small_gain("compliance_damping", compliance_damping, 6)
        self.GAINS += _YIELDING
        for name in _YIELDING:
            if getattr(self, name).ndim == 2:
                raise ShapeError(f"{name.replace('mass', 'inertia')} is one number or six, not a matrix")
        self.force = force if callable(force) else vector("force", force, 6, _WRENCH)
        self._measured(np.zeros(1))  # a mistake is found now
        self.yielded = np.zeros(12)

    def sample(self, t: ArrayLike) -> Array:
        """The target's pose, velocity and acceleration, and the wrench that is measured."""
        return np.concatenate([super().sample(t), self._measured(np.asarray(t, dtype=float))], axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """The pose that yields, and torques towards it."""
        learned = on.apply(_yielding, 12, memory, on.part(sample, 28, 6), *(gains[name] for name in _YIELDING))
        followed = on.apply(_displaced, 28, on.part(sample, 0, 28), memory, learned)
        return self._followed(on, q, v, gains, *parts_of(on, followed, 16, 6, 6)), learned

    def _measured(self, t: Array) -> Array:
        if not callable(self.force):
            return np.broadcast_to(self.force, (*t.shape, 6))
        found = [vector(f"the force at t = {x:g} s", self.force(float(x)), 6, _WRENCH) for x in t.ravel()]
        return np.array(found).reshape(*t.shape, 6)


def _less(a: list[Scalar], b: list[Scalar]) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _yielding(
    memory: list[Scalar], force: list[Scalar], mass: list[Scalar], stiffness: list[Scalar], damping: list[Scalar]
) -> list[Scalar]:
    """``(y', z')``: y turns with ``theta / (exp(theta) - 1)``, as it is seen from world axes."""
    y, z = memory[:6], memory[6:]
    faster = [(f - d * b - k * a) / m for f, d, b, k, a, m in zip(force, damping, z, stiffness, y, mass, strict=True)]
    return [*in_chart(Vec3(*y[:3]), Vec3(*z[:3])), *z[3:], *faster]


def _displaced(sample: list[Scalar], memory: list[Scalar], rates: list[Scalar]) -> list[Scalar]:
    """Pose, velocity and acceleration of the target, displaced by y: ``exp(theta) R``, ``p + y``."""
    there, velocity, acceleration = sample[:16], sample[16:22], sample[22:28]
    y, z, faster = memory[:6], memory[6:], rates[6:]
    turn = Rotation.exp(Vec3(*y[:3]))
    moved = turn @ rotation_in(there)
    omega, alpha, own = turn @ Vec3(*velocity[:3]), turn @ Vec3(*acceleration[:3]), Vec3(*z[:3])
    rows = [[*moved[3 * i : 3 * i + 3], there[4 * i + 3] + y[3 + i]] for i in range(3)]
    spin, faster_spin = omega + own, alpha + own.cross(omega) + Vec3(*faster[:3])
    linear = [a + b for a, b in zip(velocity[3:], z[3:], strict=True)]
    faster_linear = [a + b for a, b in zip(acceleration[3:], faster[3:], strict=True)]
    return [*(x for row in rows for x in row), *there[12:], *spin, *linear, *faster_spin, *faster_linear]
