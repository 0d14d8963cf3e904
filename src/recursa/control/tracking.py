"""How far a state is from a desired one, on joints of every kind.

On spherical, planar and free joints v and v_d are in different axes, those of q and of q_d. With ``q_d = q g``,
``g = exp(x)``, the desired motion seen from q is ``Ad_g v_d``, and its rate ``Ad_g a_d - [v, Ad_g v_d]``: the command
``a = Ad_g a_d - [v, Ad_g v_d] + damping e_v + stiffness x`` with ``e_v = Ad_g v_d - v`` makes ``e_v' = -damping e_v -
stiffness x`` exactly. ``x' = ad / (exp(ad) - 1) e_v``, which is e_v to first order in x. On all other joints that is
``x = q_d - q``, ``x' = v_d - v`` and the usual law.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.law import TREES_ONLY, Law, weighed
from recursa.control.law_arithmetic import Arithmetic, X, parts_of
from recursa.control.settings import as_posture, desired, gain
from recursa.diagonal.diagonal_quantities import JOINT_MOMENTS, TOTAL_RATES
from recursa.dynamics.configuration_derivatives import approach, carried, pulled
from recursa.dynamics.gathering import FORCES, in_turn
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import StateError
from recursa.model.model import Joint
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, base_to_tip
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import per_freedom

Numbers = tuple[Scalar, ...]


def seen(
    joint: Joint,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    q_d: Sequence[Scalar],
    v_d: Sequence[Scalar],
    a_d: Sequence[Scalar],
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """``x``, ``e_v``, ``(Ad v_d)'`` and ``x'``, in the axes of q; nothing for a tied joint."""
    if not joint.independent:
        return (), (), (), ()
    kind = joint.kind
    x = kind.difference(q, q_d)
    moved, faster = carried(kind, x, v_d), carried(kind, x, a_d)
    turning = kind.bracket(v, moved)
    if turning is not None:
        faster = tuple(a - b for a, b in zip(faster, turning, strict=True))
    off = tuple(a - b for a, b in zip(moved, v, strict=True))
    return tuple(x), off, faster, approach(kind, x, off)


def pull(joint: Joint, q: Sequence[Scalar], q_d: Sequence[Scalar], y: Sequence[Scalar]) -> Numbers:
    """Forces at q that do the work of y along x."""
    return pulled(joint.kind, joint.kind.difference(q, q_d), y) if joint.independent else ()


_PARTS = ("x", "off", "faster", "rate")
_TRACKING_PLAN = Plan(
    "tracking",
    tuple(Buffer(name, ()) for name in _PARTS),
    (
        base_to_tip(
            Step(
                seen,
                ("joint", "q", "v", "q1", "joint:v_d", "joint:a_d"),
                _PARTS,
                "x = log(q^-1 q_d), Ad v_d - v, (Ad v_d)', x'",
            )
        ),
    ),
)
_PULL_PLAN = Plan(
    "pull",
    (Buffer("T", ()),),
    (base_to_tip(Step(pull, ("joint", "q", "q1", "joint:y"), ("T",), "T = -(dx/dq)* y")),),
)


def _tracking(of: Subject, given: Names) -> Recipe:
    return Recipe(_TRACKING_PLAN, partial(in_turn, _PARTS), (4, of.model.nv))


def _pull(of: Subject, given: Names) -> Recipe:
    return Recipe(_PULL_PLAN, partial(in_turn, ("T",)), (of.model.nv,))


_READS = {"q_d": "q1", "v_d": "joint:v_d", "a_d": "joint:a_d"}
_WORDS = {"q_d": "desired coordinates", "v_d": "desired speeds, in the axes of q_d", "a_d": "desired accelerations"}
TRACKING = Quantity(
    "control.tracking",
    ("q", "v", "q_d", "v_d", "a_d"),
    _tracking,
    "from q to q_d; desired less actual speeds; what is fed forward; the rate of the first: each with places as in v",
    reads=_READS,
    words=_WORDS,
)
PULL = Quantity(
    "control.pull",
    ("q", "q_d", "y"),
    _pull,
    FORCES,
    reads={"q_d": "q1", "y": "joint:y"},
    words={"q_d": "desired coordinates", "y": "forces along difference(q, q_d), places as in v"},
)


# ---- ComputedTorque: inverse dynamics with feedback ------------------------------------------------------------------


class ComputedTorque(Law):
    """Follows a motion: ``tau = M(q) (a_d + damping (v_d - v) + stiffness (q_d - q)) + bias(q, v)``.

    Deviations then obey ``x'' + damping x' + stiffness x = 0``, each freedom for itself if the gains are numbers (1/s
    and 1/s^2; one, per freedom, by joint name, or matrices). Without ``damping`` it is critical, ``2 sqrt(stiffness)``.
    ``losses`` (True, False, "damping" or "friction"): damping and friction of the joints are fed forward, at the
    desired speeds. After the end of the trajectory the robot is held there. Joints of every kind, trees, tied joints.
    O(n).

    On a robot with constraints ``actuated`` names the joints that have motors. The acceleration is then the nearest to
    the command that the constraints allow, in the metric of the mass matrix; on a motion that obeys them deviations
    follow the same equation to first order, if the gains are equal at all joints.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)
    >>> follow = rc.control.ComputedTorque(arm, motion, stiffness=400.0)
    >>> q, v, a = motion.sample(0.4)
    >>> bool(np.allclose(follow.torque(0.4, q, v), arm.inverse_dynamics(q, v, a)))
    True
    """

    GAINS = ("stiffness", "damping")

    def __init__(
        self,
        robot: Robot,
        trajectory: Any,
        stiffness: Any,
        damping: Any = None,
        *,
        losses: Losses = True,
        effort: Any = None,
        drive_base: bool = False,
        actuated: Collection[str] | None = None,
    ) -> None:
        super().__init__(robot, effort, drive_base, actuated)
        self.trajectory = trajectory
        self._desired = desired(robot, trajectory)
        self.stiffness = gain(robot, "stiffness", stiffness)
        if damping is None:
            if self.stiffness.ndim == 2:
                raise StateError("a stiffness that is a matrix needs a damping: there is no usual one")
            damping = 2.0 * np.sqrt(self.stiffness)
        self.damping = gain(robot, "damping", damping)
        self.losses = known_losses(losses)

    def sample(self, t: ArrayLike) -> Array:
        """Desired q, v, a, and the losses at these speeds."""
        q, v, a = self._desired(t)
        return np.concatenate([q, v, a, self._lost(v)], axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Inverse dynamics of the commanded acceleration, at the state as it is."""
        nq, nv = self.robot.nq, self.robot.nv
        q_d, v_d, a_d, lost = parts_of(on, sample, nq, nv, nv, nv)
        x, off, faster, _ = parts_of(on, on.ask(TRACKING, q=q, v=v, q_d=q_d, v_d=v_d, a_d=a_d), *[nv] * 4)
        damped = self._gained(on, gains["damping"], off, "damping")
        command = self._sum(on, faster, damped, self._gained(on, gains["stiffness"], x, "stiffness"))
        return self._sum(on, self._moving(on, q, v, command), lost), None

    def _lost(self, v: Array) -> Array:
        return self.robot.joint_losses(v, losses=self.losses) if self.losses else np.zeros_like(v)


# ---- GravityPD: springs and dampers at the joints, and gravity compensated -------------------------------------------


class GravityPD(Law):
    """Holds a posture or follows a motion: ``tau = stiffness (q_d - q) + damping (v_d - v) + g(q)``.

    The controller to start with: no inertias are needed but those that weigh. ``stiffness`` in N m/rad or N/m,
    ``damping`` in N m s/rad or N s/m; each one number, one per freedom, numbers by joint name, or a symmetric positive
    matrix. ``target``: a posture (nq,), or anything with ``sample(t) -> q, v, a``, such as :class:`recursa.Trajectory`.
    ``gravity=False`` leaves weight and springs of the joints to the feedback.

    At a fixed posture ``lyapunov = v M v / 2 + x stiffness x / 2`` with ``x = difference(q, q_d)`` falls at the rate
    ``-v damping v`` (and by what the joints lose), so the robot comes to rest at the posture, for any positive gains
    (Takegaki and Arimoto, 1981). On joints that turn about several axes the spring's force is the gradient of
    ``x stiffness x / 2``, which makes that exact there, too. Along a motion deviations stay as small as the gains are
    large: :class:`ComputedTorque` feeds the motion forward. Joints of every kind, trees, tied joints. O(n).

    On a robot with constraints ``actuated`` names the joints that have motors. With a posture that obeys the
    constraints the Lyapunov function falls there, too.

    With dry (Coulomb) friction in the joints the robot stops short: where the spring's torque is less than the friction
    it moves nothing, so each joint may rest up to ``friction / stiffness`` (rad or m) away from the posture.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> hold = rc.control.GravityPD(arm, [0.3, -0.5], stiffness=60.0, damping=8.0)
    >>> run = arm.simulate([0.0, 0.0], duration=6.0, torque=hold)
    >>> run.q[-1].round(3)
    array([ 0.3, -0.5])
    """

    GAINS: tuple[str, ...] = ("stiffness", "damping")
    SIGNED = ("target",)
    CHOICES = ("moving", "gravity")

    def __init__(
        self,
        robot: Robot,
        target: Any,
        stiffness: Any,
        damping: Any,
        *,
        gravity: bool = True,
        effort: Any = None,
        drive_base: bool = False,
        actuated: Collection[str] | None = None,
    ) -> None:
        super().__init__(robot, effort, drive_base, actuated)
        self.moving = hasattr(target, "sample")
        self._desired = desired(robot, target) if self.moving else None
        self.target = target if self.moving else as_posture(robot, "target", target)
        self.stiffness, self.damping = gain(robot, "stiffness", stiffness), gain(robot, "damping", damping)
        self.gravity = bool(gravity)
        if not self.moving:
            self.GAINS += ("target",)  # rows of a rollout may go to different postures

    def sample(self, t: ArrayLike) -> Array:
        """Desired q, v, a; nothing where a posture is held."""
        return super().sample(t) if self._desired is None else np.concatenate(self._desired(t), axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Spring, damper, weight."""
        nq, nv = self.robot.nq, self.robot.nv
        if self.moving:
            q_d, v_d, a_d = parts_of(on, sample, nq, nv, nv)
        else:
            q_d = gains["target"]
            v_d = a_d = on.apply(lambda _: [0.0] * nv, nv, v)
        x, off, _, _ = parts_of(on, on.ask(TRACKING, q=q, v=v, q_d=q_d, v_d=v_d, a_d=a_d), *[nv] * 4)
        spring = on.ask(PULL, q=q, q_d=q_d, y=self._gained(on, gains["stiffness"], x, "stiffness"))
        tau = self._sum(on, spring, self._gained(on, gains["damping"], off, "damping"))
        return self._carried(on, q, v, tau), None

    def lyapunov(self, q: ArrayLike, v: ArrayLike) -> Array:
        """``v M v / 2 + x stiffness x / 2`` (...) of a posture that is held."""
        x = self.robot.difference(q, self._posture())
        return np.asarray(self.robot.kinetic_energy(q, v) + 0.5 * (x * weighed(self.stiffness, x)).sum(axis=-1))

    def lyapunov_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Its derivative in time, ``-v damping v``, without limits and losses."""
        speeds = np.asarray(v, dtype=float)
        return np.asarray(-(speeds * weighed(self.damping, speeds)).sum(axis=-1))

    def _posture(self) -> Array:
        if self.moving:
            raise StateError("the Lyapunov function is about a posture that is held, and this target moves")
        return np.asarray(self.target)


# ---- RateDamping: control 8.1 of Jain and Rodriguez ------------------------------------------------------------------


class RateDamping(Law):
    """Stops a robot, wherever it is: ``eps = -c nu``, ``tau = m eps``, in total rates. Jain & Rodriguez, 8.1.

    With one number c (1/s) the kinetic energy falls as ``exp(-2 c t)``, whatever the robot does meanwhile:
    ``tau = -c M(q) v``. With one per freedom it falls at least as fast as with the smallest. ``gravity`` is
    compensated by ``eps_grav = inv(m) G(q)`` unless it is False, and springs of joints with it; losses of the joints
    only add to the damping. O(n).

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> stop = rc.control.RateDamping(arm, 3.0)
    >>> q, v = np.array([0.3, -0.5]), np.array([1.0, 2.0])
    >>> bool(np.allclose(stop.torque(0.0, q, v), -3.0 * arm.mass_matrix(q) @ v + arm.gravity_forces(q)))
    True
    """

    on_constraints = TREES_ONLY
    GAINS: tuple[str, ...] = ("damping",)
    CHOICES: tuple[str, ...] = ("gravity",)

    def __init__(
        self, robot: Robot, damping: Any, *, gravity: bool = True, effort: Any = None, drive_base: bool = False
    ) -> None:
        super().__init__(robot, effort, drive_base)
        robot.diagonal._independent()
        self.damping = per_freedom(robot, "damping", damping)
        self.gravity = bool(gravity)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """``m (-c nu + eps_grav)``; t does not matter."""
        return self._carried(on, q, v, self._braking(on, q, v, gains)), None

    def _braking(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X]) -> X:
        """``-m c nu``."""
        nu = on.ask(TOTAL_RATES, q=q, v=v)
        return on.ask(JOINT_MOMENTS, q=q, eps=on.apply(slowed, self.robot.nv, gains["damping"], nu))

    def lyapunov(self, q: ArrayLike, v: ArrayLike) -> Array:
        """``|nu|^2`` (...), twice the kinetic energy."""
        nu = self.robot.diagonal.total_rates(q, v)
        return np.asarray((nu * nu).sum(axis=-1))

    def lyapunov_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Its derivative in time, ``-2 nu c nu``, without limits and losses."""
        nu = self.robot.diagonal.total_rates(q, v)
        return np.asarray(-2.0 * (self.damping * nu * nu).sum(axis=-1))


def slowed(c: list[Scalar], nu: list[Scalar]) -> list[Scalar]:
    """``-c nu``."""
    return [-(a * b) for a, b in zip(c, nu, strict=True)]
