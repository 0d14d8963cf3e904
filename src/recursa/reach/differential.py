"""Differential inverse kinematics: the joint speeds that move links as wanted, one step of a control loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dsyev

from recursa.dynamics.kinematics import Frame, frame_function
from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import ConvergenceError, ShapeError, StateError, not_installed
from recursa.quantities import refusals
from recursa.reach.goals import one_pose
from recursa.reach.ranges import Bounds, SpeedLimits
from recursa.sweeps.batching import Array, as_array
from recursa.trajectories.bounds import Bound, bound

if TYPE_CHECKING:
    from recursa.robot import Robot

_SOLVED, _INFEASIBLE = (1, 2), -1


# ---- -----------------------------------------------------------------------------------------------------------------
# Small quadratic programs by DAQP, and the least violation where their constraints contradict each other.


_MARGIN = 1e-9  # by which rows that cannot be kept are moved further than they must be, so that rounding is no obstacle


def solver() -> Any:
    """DAQP's function, an extra."""
    try:
        from daqp import solve
    except ImportError:
        raise not_installed("daqp", "qp", "differential inverse kinematics") from None
    return solve


def solve(solve_qp: Any, hessian: Array, gradient: Array, low: Array, high: Array) -> Array:
    """The x with the least ``x* H x / 2 + g* x`` between low and high."""
    return _answer(solve_qp, hessian, gradient, np.empty((0, len(gradient))), low, high)[0]


def solve_with_rows(
    solve_qp: Any, hessian: Array, gradient: Array, low: Array, high: Array, rows: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """The same with ``rows = (A, least, most)``, ``least <= A x <= most``; and by how much each had to be passed, (m,).

    Where they cannot all hold between low and high, those x are considered that pass them least, by the sum of squares.
    """
    matrix, least, most = rows
    lower, upper = np.concatenate([low, least]), np.concatenate([high, most])
    x, flag = _answer(solve_qp, hessian, gradient, matrix, lower, upper, may_fail=True)
    if flag in _SOLVED:
        return x, np.zeros(len(matrix))
    count, n = matrix.shape
    wide = np.hstack([matrix, np.eye(count)])  # A x + s
    weights = np.concatenate([np.full(n, 1e-9), np.ones(count)])  # x itself hardly counts
    free = np.full(count, np.inf)
    bounds = [np.concatenate(part) for part in ((low, -free, least), (high, free, most))]
    both, _ = _answer(solve_qp, np.diag(weights), np.zeros(n + count), wide, *bounds)
    slack = both[n:]
    moved = np.where(slack > 0.0, slack + _MARGIN, np.where(slack < 0.0, slack - _MARGIN, 0.0))
    lower = np.concatenate([low, least - np.maximum(moved, 0.0)])
    upper = np.concatenate([high, most - np.minimum(moved, 0.0)])
    x, flag = _answer(solve_qp, hessian, gradient, matrix, lower, upper, may_fail=True)
    passed = x if flag in _SOLVED else both[:n]
    along = matrix @ passed
    return passed, np.maximum(np.maximum(least - along, along - most), 0.0)


def _answer(
    solve_qp: Any, hessian: Array, gradient: Array, matrix: Array, low: Array, high: Array, *, may_fail: bool = False
) -> tuple[Array, int]:
    x, _, flag, _ = solve_qp(hessian, gradient, matrix, high, low, np.zeros(len(low), np.int32))
    if flag in _SOLVED:
        return x, flag
    if may_fail:
        return x, _INFEASIBLE
    raise ConvergenceError(f"the quadratic program was not solved (DAQP's exit flag {flag}): are its numbers finite?")


_AT_BOUND = 1e-9  # rad/s, m/s
_STILL = 1e-8  # times a hessian's largest entry: what makes its solution one


@dataclass(frozen=True)
class DifferentialStep:
    """What :meth:`recursa.DifferentialIK.step` found.

    - ``v`` (nv,): joint speeds within the limits.
    - ``q`` (nq,): where they lead in a time step.
    - ``goals``: for each link with a goal its Jacobian (6, nv) and the wanted velocity (6,), in link axes.
    - ``bounds``: the lowest and the highest speeds (nv,) that limits allowed in this step.
    - ``past_limit``: names of the freedoms that break a limit whatever they do, with which: "position", "velocity" or
      "velocity and position". Their speeds break it least: accelerations hold, for motors cannot do otherwise.
    - ``passed`` (m,): by how much each row of ``rows=`` had to be passed; zero where all could be kept.
    - ``damping``: the largest factor by which speeds were held down because a link was near a singular configuration.
    """

    v: Array
    q: Array
    goals: Mapping[str, tuple[Array, Array]]
    bounds: tuple[Array, Array]
    past_limit: Mapping[str, str]
    passed: Array
    damping: float

    @cached_property
    def errors(self) -> dict[str, Array]:
        """For each link with a goal, (6,) what its velocity lacks of the wanted one, (angular, linear) in link axes."""
        return {link: wanted - jacobian @ self.v for link, (jacobian, wanted) in self.goals.items()}

    @cached_property
    def at_limit(self) -> Array:
        """Which speeds stand at a bound, (nv,)."""
        low, high = self.bounds
        return (self.v <= low + _AT_BOUND) | (self.v >= high - _AT_BOUND)

    @property
    def feasible(self) -> bool:
        """Whether all limits and rows could be kept."""
        return not self.past_limit and not self.passed.any()

    def __str__(self) -> str:
        lines = [
            f"{name}: off by {np.linalg.norm(e[:3]):.3g} rad/s and {np.linalg.norm(e[3:]):.3g} m/s"
            for name, e in self.errors.items()
        ]
        lines.extend(f"the {what} limit of {name} cannot be kept" for name, what in self.past_limit.items())
        if self.passed.any():
            lines.append(f"rows passed by up to {self.passed.max():.3g}")
        if self.damping > 0.0:
            lines.append(f"near a singular configuration (damping {self.damping:.2g})")
        return "; ".join(lines) or "no goals"


class DifferentialIK:
    """Joint speeds for wanted motions of links, under limits: one small quadratic program per step of a control loop.

    Of all speeds v within the limits the one with the least

        ``sum over goals |W (J v - V)|^2 + |damping v|^2 + posture |v - gain (q_rest - q)|^2``

    where V is the wanted velocity of a link, or ``gain log(L^-1 T)`` towards a wanted pose T, or both added. Limits are
    those of the robot: positions (with a speed from which the joint can still stop in time), speeds, and accelerations,
    which robot files do not have. Needs the extra ``recursa[qp]``, the solver DAQP.

    - ``dt``: the time step of the loop in s.
    - ``acceleration``: the largest acceleration of joints, a number, (nv,), or by joint name; None: no limit.
    - ``velocity``: the largest speeds, in the same forms; None: the robot's own.
    - ``gain``: 1/s, how fast errors of poses and of the posture vanish.
    - ``weights``: by link, how much its goal counts: a number, a pair (angular, linear), or six. Zeros leave directions
      free: (0, 1) is a position alone. Links that are not named count 1.
    - ``damping``: joint speeds cost so much near singular configurations, where a singular value of the weighted J is
      below ``singular``; it grows from zero on (Chiaverini, IEEE T-RO 13, 1997).
    - ``posture``: how much the posture counts beside goals of weight 1.
    - ``joints``: the names of those that may move; None: all.
    - ``frame``: "body", "mixed" or "world", in which velocities are given, as for :meth:`Robot.jacobian`.

    >>> import numpy as np, recursa as rc
    >>> robot = rc.robots.panda_like()
    >>> q, v = robot.neutral(), np.zeros(robot.nv)
    >>> q[3], q[5] = -1.5, 1.8
    >>> ik = rc.DifferentialIK(robot, dt=0.001, acceleration=10.0)
    >>> goal = robot.pose(q, "flange")
    >>> goal[:3, 3] += [0.0, 0.1, 0.0]
    >>> for _ in range(1500):
    ...     step = ik.step(q, v, poses={"flange": goal})
    ...     q, v = step.q, step.v
    >>> bool(np.abs(robot.pose(q, "flange") - goal).max() < 1e-6), step.feasible
    (True, True)
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        acceleration: Bound | None = None,
        velocity: Bound | None = None,
        gain: float = 10.0,
        weights: Mapping[str, float | Sequence[float]] | None = None,
        damping: float = 0.05,
        singular: float = 0.05,
        posture: float = 1e-3,
        joints: Sequence[str] | None = None,
        frame: Frame = "body",
    ) -> None:
        refuse_constraints(robot.model, "rc.DifferentialIK", refusals.REACH)
        self._solve = solver()
        self.robot, self.frame = robot, frame
        frame_function(frame)
        self.dt, self.gain = _positive("dt", dt), _positive("gain", gain)
        self.damping, self.singular = _not_negative("damping", damping), _not_negative("singular", singular)
        self.posture = _not_negative("posture", posture)
        if self.gain * self.dt > 1.0:
            raise StateError(
                f"gain {gain:g} /s is too large for a time step of {dt:g} s: errors would grow; at most 1 / dt"
            )
        self._weights = {name: self._weight(name, value) for name, value in (weights or {}).items()}
        none = np.full(robot.nv, np.inf)
        speeds = robot.velocity_limits if velocity is None else bound("velocity", velocity, robot, none)
        rates = bound("acceleration", acceleration, robot, none)
        self._limits = SpeedLimits(robot.model, speeds, rates, self.dt, self._may_move(joints))

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *,
        poses: Mapping[str, ArrayLike] | None = None,
        velocities: Mapping[str, ArrayLike] | None = None,
        posture: ArrayLike | None = None,
        rows: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    ) -> DifferentialStep:
        """Joint speeds for the next time step.

        - ``q`` (nq,), ``v`` (nv,): where the joints are, and their present speeds, from which accelerations are
          counted. Without v accelerations are not limited.
        - ``poses``: by link, the pose (4, 4) it should go to.
        - ``velocities``: by link, the velocity (6,) it should have, (angular, linear); added to what a pose asks for.
        - ``posture``: positions (nq,) that joints go to where goals leave them free; None: they stay as they are.
        - ``rows``: ``(A, least, most)``, further constraints ``least <= A v <= most``. Where they contradict the limits
          of the joints, these hold, and the rows are passed as little as possible.
        """
        robot = self.robot
        model = robot.model
        place = _one(model, "q", q, robot.nq, coordinates=True)
        present = None if v is None else _one(model, "v", v, robot.nv)
        rest = place if posture is None else _one(model, "posture", posture, robot.nq, coordinates=True)
        hessian, gradient, goals, damping = self._goals(place, poses or {}, velocities or {})
        still = self.posture**2 + _STILL * max(1e-12, float(hessian.diagonal().max(initial=0.0)))
        hessian.flat[:: robot.nv + 1] += still
        if posture is not None:
            gradient -= still * self.gain * robot.difference(place, rest)
        bounds = self._limits.at(place, present)
        passed = np.zeros(0)
        if rows is None:
            found = solve(self._solve, hessian, gradient, bounds.low, bounds.high)
        else:
            found, passed = solve_with_rows(self._solve, hessian, gradient, bounds.low, bounds.high, self._rows(rows))
        found = np.minimum(np.maximum(found, bounds.low), bounds.high)
        return DifferentialStep(
            found,
            robot.integrate(place, found * self.dt),
            goals,
            (bounds.low, bounds.high),
            self._named(bounds),
            passed,
            damping,
        )

    # ---- goals -------------------------------------------------------------------------------------------------------

    def _goals(
        self, q: Array, poses: Mapping[str, ArrayLike], velocities: Mapping[str, ArrayLike]
    ) -> tuple[Array, Array, dict[str, tuple[Array, Array]], float]:
        """The quadratic form of all goals: its matrix and gradient; Jacobians with wanted velocities; the damping."""
        nv, robot = self.robot.nv, self.robot
        hessian, gradient = np.zeros((nv, nv)), np.zeros(nv)
        goals: dict[str, tuple[Array, Array]] = {}
        most = 0.0
        for link in {**poses, **velocities}:
            jacobian = robot.jacobian(q, link, frame="body")
            wanted = np.zeros(6)
            if link in poses:
                wanted = self.gain * robot.pose_error(q, link, one_pose(f"poses['{link}']", poses[link]))
            if link in velocities:
                wanted = wanted + self._in_link(q, link, _finite(f"velocities['{link}']", velocities[link], (6,)))
            weight = self._weights.get(link)
            weighted = jacobian if weight is None else weight[:, None] * jacobian
            aim = wanted if weight is None else weight * wanted
            damped = self._damping(weighted, weight)
            most = max(most, damped)
            hessian += weighted.T @ weighted
            if damped > 0.0:
                hessian.flat[:: nv + 1] += damped**2
            gradient -= weighted.T @ aim
            goals[link] = jacobian, wanted
        return hessian, gradient, goals, most

    def _damping(self, jacobian: Array, weight: Array | None) -> float:
        """Chiaverini's factor: zero where all singular values are large enough.

        Of a link that fewer joints move than its goal has directions, as many singular values count as are joints.
        """
        if self.damping == 0.0 or self.singular == 0.0:
            return 0.0
        directions = 6 if weight is None else int(np.count_nonzero(weight))
        joints = int(np.count_nonzero(jacobian.any(axis=0)))
        count = min(directions, joints)
        if count == 0:
            return 0.0
        square = float(dsyev(jacobian @ jacobian.T, compute_v=0)[0][6 - count])
        share = max(square, 0.0) / self.singular**2
        return self.damping * math.sqrt(1.0 - share) if share < 1.0 else 0.0

    def _in_link(self, q: Array, link: str, velocity: Array) -> Array:
        """A velocity in link axes at the link's origin."""
        if self.frame == "body":
            return velocity
        pose = self.robot.pose(q, link)
        angular, linear = velocity[:3], velocity[3:]
        if self.frame == "world":
            linear = linear + np.cross(angular, pose[:3, 3])
        return np.concatenate([pose[:3, :3].T @ angular, pose[:3, :3].T @ linear])

    # ---- what is given -----------------------------------------------------------------------------------------------

    def _named(self, bounds: Bounds) -> dict[str, str]:
        far, fast = bounds.past_position, bounds.past_velocity
        if not far.any() and (fast is None or not fast.any()):
            return {}
        whole = {(True, True): "velocity and position", (True, False): "velocity", (False, True): "position"}
        which = zip((np.zeros_like(far) if fast is None else fast).tolist(), far.tolist(), strict=True)
        return {name: whole[both] for name, both in zip(self.robot.v_names, which, strict=True) if any(both)}

    def _weight(self, link: str, value: Any) -> Array:
        self.robot.model.link_index(link)
        numbers = np.asarray(value, float)
        if numbers.shape == (2,):
            numbers = np.repeat(numbers, 3)
        if numbers.shape not in ((), (6,)) or not (np.isfinite(numbers).all() and (numbers >= 0.0).all()):
            raise StateError(
                f"weights['{link}'] must be a number, a pair (angular, linear) or six, none negative, not {value!r}"
            )
        return np.broadcast_to(numbers, (6,)).copy()

    def _may_move(self, joints: Sequence[str] | None) -> Array:
        model = self.robot.model
        free = np.full(model.nv, joints is None)
        for name in joints or ():
            joint = model.joints[model.joint_index(name)]
            free[joint.v_start : joint.v_start + joint.kind.nv] = True
        return free

    def _rows(self, rows: Any) -> tuple[Array, Array, Array]:
        try:
            matrix, least, most = rows
        except (TypeError, ValueError):
            raise ShapeError("rows must be (A, least, most)") from None
        matrix = np.atleast_2d(np.asarray(matrix, float))
        count = len(matrix)
        if matrix.shape != (count, self.robot.nv):
            raise ShapeError(f"rows: A has shape {matrix.shape}, expected (m, {self.robot.nv})")
        ends = [np.broadcast_to(np.asarray(end, float), (count,)) for end in (least, most)]
        if not np.isfinite(matrix).all() or any(np.isnan(end).any() for end in ends) or (ends[0] > ends[1]).any():
            raise StateError("rows: A must be finite and least not above most")
        return matrix, ends[0], ends[1]


def _one(model: Any, name: str, value: Any, size: int, *, coordinates: bool = False) -> Array:
    """One state's numbers."""
    if type(value) is np.ndarray and value.shape == (size,) and value.dtype == float and math.isfinite(value @ value):
        return value
    array = np.asarray(as_array(model, name, value, coordinates=coordinates), float)
    if array.shape != (size,):
        raise ShapeError(f"{name} has shape {array.shape}, expected ({size},): a step is for one state")
    if not np.isfinite(array).all():
        raise StateError(f"{name} must be finite")
    return array


def _finite(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers") from None
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}, expected {shape}")
    if not math.isfinite(array.sum()) and not np.isfinite(array).all():
        raise StateError(f"{name} must be finite")
    return array


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < math.inf:
        raise StateError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def _not_negative(name: str, value: Any) -> float:
    if value == 0 and not isinstance(value, bool):
        return 0.0
    return _positive(name, value)
