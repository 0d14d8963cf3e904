"""Another attitude at zero momentum: joints go round closed paths, and the base has turned when they are back.

Paths are Fourier series, and their coefficients x solve, with the holonomy R(1) of ``holonomy.py``,

    least  sum of (k x)^2 / 2      so that   log(attitude* R(1)) = 0
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError
from recursa.evaluation.hints import coordinates_of, warn_of_w_first
from recursa.free.floating_base import BASE, free_flyer
from recursa.free.holonomy import (
    Path,
    cumulated,
    gauss_points,
    missing_rotation,
    postures,
    rotation_of,
    rotation_vectors,
    single_joints,
    turning,
)  # fmt: skip
from recursa.free.momentum import FreeMotion, base_velocity
from recursa.free.simulated_links import matrices, quaternions_of, rotation_matrices
from recursa.sweeps.batching import Array, as_numbers, one_number, whole_number

if TYPE_CHECKING:
    from recursa.model.model import Joint
    from recursa.robot import Robot

_MOST_LOOPS = 64
_SAMPLES = 100  # of the motion, per loop and harmonic
_SHORTEST = 4.0  # s, a loop
_FINENESS = (1, 2, 4)  # of steps along a loop, until the attitude is known to the tolerance
_STARTS = 2  # of the search for one number of loops
_TRIALS, _PATIENCE = 60, 12  # its steps in all, and without getting nearer


@dataclass(frozen=True)
class Reorientation:
    """A motion that turns the base: what :func:`reorient` found.

    - ``motion``: t (n,), q (n, nq), v (n, nv) of the whole robot, from rest to rest; the joints end where they began.
    - ``loops``: how often the joints go round their paths; ``duration``: of all of them, s.
    - ``residual``: angle between the attitude at the end of ``motion`` and the one that was asked for, rad.
    - ``excursion`` (nv - 6,): how far each joint goes from where it starts, rad or m.
    """

    motion: FreeMotion
    loops: int
    duration: float
    residual: float
    excursion: Array
    _path: Path

    def joints(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, rates and accelerations of the joints at times t (...), each (..., nv - 6), exactly."""
        times = np.asarray(as_numbers("t", t, 1), dtype=float)
        period = self.duration / self.loops
        x = np.clip(times, 0.0, self.duration) / period
        x = x - np.clip(np.floor(x), 0.0, self.loops - 1.0)
        # the share of the loop at a share of its time: minimum jerk, from rest to rest
        s = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        rate, bend = 30.0 * x**2 * (1.0 - x) ** 2 / period, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / period**2
        place, slope, curve = self._path.at(s)
        return place, slope * rate[..., None], curve * rate[..., None] ** 2 + slope * bend[..., None]


def reorient(
    robot: Robot,
    q0: ArrayLike,
    attitude: ArrayLike,
    *,
    duration: float | None = None,
    reach: float = 1.0,
    harmonics: int = 2,
    loops: int | None = None,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> Reorientation:
    """A joint motion after which the base of a free flyer at rest has another attitude, and the joints are back.

    Momentum stays zero, nothing drives the base: it turns because the joints go round closed paths, as a falling cat
    does. Paths are the shortest that were found, in the sum of squares of Fourier coefficients times their number.

    - ``q0`` (nq,): where the robot rests. ``attitude``: of the base link in world axes at the end, a quaternion
      (x, y, z, w) or a rotation matrix (3, 3).
    - ``duration``: of the whole motion, s; without it as long as the speed limits of the joints ask for, and at least
      4 s for a loop. The paths do not depend on it.
    - ``reach``: how far a joint may go from where it is, rad or m. Position limits are obeyed besides.
    - ``harmonics``: waves per joint and loop. ``loops``: how often the paths are gone round; without it 1, 2, 4, ...
      up to 64, until a path within reach turns the base far enough.
    - ``tolerance``: the angle that may be left, rad. ``seed``: of the paths from which the search starts.

    Joints of several freedoms hold still. Two joints about different axes are enough for any attitude. A robot whose
    joints cannot turn the base about some axis, such as a planar one, is a :class:`~recursa.StateError` if that
    is what is asked for, which says how close it came.

    >>> import recursa as rc
    >>> robot = rc.robots.space_robot()
    >>> turn = rc.free.reorient(robot, robot.neutral(), [0, 0, np.sin(0.1), np.cos(0.1)])     # 0.2 rad about z
    >>> bool(turn.residual < 1e-6), bool(np.allclose(turn.motion.q[-1, 7:], 0.0, atol=1e-9))
    (True, True)
    >>> bool(np.abs(robot.momentum(turn.motion.q, turn.motion.v)).max() < 1e-11)
    True
    """
    free_flyer(robot, "reorient", weightless=True)
    reach, tolerance = one_number("reach", reach), one_number("tolerance", tolerance)
    duration = None if duration is None else one_number("duration", duration)
    harmonics = whole_number("harmonics", harmonics, 1)
    loops = None if loops is None else whole_number("loops", loops, 1)
    start = coordinates_of(robot.model, "q0", q0, robot.evaluator.kept)
    if start.shape != (robot.nq,):
        raise ShapeError(f"q0 has shape {start.shape}, expected ({robot.nq},): one configuration")
    # quaternions as the robot takes them, of unit length
    start = robot.integrate(start, np.zeros(robot.nv))
    wanted = matrices(start[3:7]).T @ _attitude(attitude)
    still = _still(robot, start, reach, harmonics)
    turned = np.array(rotation_of(wanted).log())
    best = math.inf
    for count in [loops] if loops is not None else [2**k for k in range(_MOST_LOOPS.bit_length())]:
        for trial in range(_STARTS):
            path, left = _solved(robot, still, turned / count, np.random.default_rng((seed, trial)))
            best = best if count * left < 0.1 * tolerance else min(best, count * left)
            for fineness in _FINENESS if count * left < 0.1 * tolerance else ():
                path = _corrected(robot, path, turned / count, fineness)
                found = _moved(robot, start, path, count, wanted, duration, fineness)
                best = min(best, found.residual)
                if found.residual < tolerance:
                    return found
    tried = f"{_MOST_LOOPS} loops" if loops is None else f"loops={loops}"
    axis = np.round(turned / max(float(np.linalg.norm(turned)), 1e-300), 3)
    raise StateError(
        f"robot '{robot.name}': no closed path of its joints within reach={reach:g} was found that turns its base by "
        f"{math.degrees(np.linalg.norm(turned)):.3g} deg about {axis} in base axes; the closest, with {tried}, leaves "
        f"{math.degrees(best):.2g} deg. Its joints may not be able to turn it about that axis; else try a larger "
        "reach, more harmonics or another seed"
    )


# ---- what is asked for -----------------------------------------------------------------------------------------------


def _attitude(attitude: ArrayLike) -> Array:
    """A rotation matrix, from what the caller says."""
    given = np.asarray(as_numbers("attitude", attitude, 4), dtype=float)
    if given.shape not in ((4,), (3, 3)):
        raise ShapeError(f"attitude has shape {given.shape}, expected (4,), a quaternion (x, y, z, w), or (3, 3)")
    if given.shape == (3, 3):
        if not np.allclose(given @ given.T, np.eye(3), atol=1e-6) or np.linalg.det(given) < 0.0:
            raise StateError(
                "attitude is not a rotation matrix: its columns must be a right-handed set of unit vectors"
            )
        return matrices(np.array(rotation_of(given).quaternion().normalized()))
    length = float(np.linalg.norm(given))
    if not np.isfinite(length) or length == 0.0:
        raise StateError(f"attitude must be a quaternion (x, y, z, w) of finite length above 0, not {given}")
    warn_of_w_first("attitude", given)
    return matrices(given / length)


def _still(robot: Robot, start: Array, reach: float, harmonics: int) -> Path:
    """The path that stays where it is, with the room that limits and reach leave."""
    joints = single_joints(robot)
    if len(joints) < 2:
        raise StateError(
            f"robot '{robot.name}' has {len(joints)} joints of one freedom, and the base turns back with a single one "
            "as it came. Two or more can leave a rotation behind"
        )
    room = np.array([_room(robot, joint, float(start[joint.q_start]), reach) for joint in joints]).T
    places = np.array([joint.v_start - BASE for joint in joints])
    held = np.zeros(robot.nv - BASE)
    held[places] = [start[joint.q_start] for joint in joints]
    return Path(start, held, room, places, robot.nv - BASE, np.zeros((2 * harmonics, len(joints))))


def _room(robot: Robot, joint: Joint, at: float, reach: float) -> tuple[float, float]:
    """How far a joint may go down and up."""
    low, high = joint.limits or (-math.inf, math.inf)
    if not low <= at <= high:
        raise StateError(
            f"joint '{joint.name}' starts at {at:g}, outside its limits ({low:g}, {high:g}). Start within them"
        )
    tiny = 1e-9  # at a limit there is none, but a path needs a scale
    return max(tiny, min(reach, at - low)), max(tiny, min(reach, high - at))


# ---- the search ------------------------------------------------------------------------------------------------------


def _solved(robot: Robot, still: Path, turned: Array, rng: np.random.Generator) -> tuple[Path, float]:
    """The shortest path that was found whose holonomy is a rotation vector, and how much of an angle is missing.

    Steps ``-J+ r`` bring the holonomy about, steps along ``-(1 - J+ J) y`` shorten the path ``y = k x``, within a box.
    """
    shape, size = still.x.shape, float(np.linalg.norm(turned))
    weights = np.tile(np.arange(1.0, shape[0] // 2 + 1), 2)[:, None]
    most = np.broadcast_to(still.room.min(axis=0), shape).ravel()  # more would only press paths against their ends
    goal = rotation_matrices(turned)

    def asked(y: Array) -> tuple[Path, Array, float, Array]:
        path = replace(still, x=y.reshape(shape) / weights)
        missing, slope = missing_rotation(robot, path, goal)
        return path, missing, float(np.linalg.norm(missing)), (slope.reshape(3, *shape) / weights).reshape(3, -1)

    y = 0.4 * most * rng.uniform(-1.0, 1.0, size=most.size)  # the path of no size has no slope
    path, missing, left, slope = asked(y)
    since, enough = (0, left), 1e-12 + 1e-9 * size
    for trial in range(_TRIALS):
        inverse = np.linalg.pinv(slope, rcond=1e-8)
        nearer, shorter = -inverse @ missing, inverse @ (slope @ y) - y
        if left < enough and np.linalg.norm(shorter) < 0.02 * np.linalg.norm(y):
            break
        for scale in 0.5 ** np.arange(8.0):
            there = np.clip(y + scale * (nearer + 0.5 * shorter), -most, most)
            found = asked(there)
            if found[2] < max((1.0 - 0.2 * scale) * left, 0.01 * size):
                break
            shorter = 0.5 * shorter
        y, (path, missing, left, slope) = there, found
        if left < 0.9 * since[1]:
            since = trial, left
        elif trial - since[0] > _PATIENCE and left > 0.05 * size:
            return path, left
    path = _corrected(robot, path, turned)
    return path, float(np.linalg.norm(missing_rotation(robot, path, goal)[0]))


def _corrected(robot: Robot, path: Path, turned: Array, fineness: int = 1) -> Path:
    """What is missing of a rotation vector brought about by the smallest changes of a path."""
    weights = np.tile(np.arange(1.0, len(path.x) // 2 + 1), 2)[:, None]
    goal = rotation_matrices(turned)
    for _ in range(6):
        missing, slope = missing_rotation(robot, path, goal, fineness)
        if np.linalg.norm(missing) < 1e-13 + 1e-10 * np.linalg.norm(turned):
            break
        slope = slope.reshape(3, *path.x.shape) / weights
        change = np.linalg.pinv(slope.reshape(3, -1), rcond=1e-8) @ missing
        path = replace(path, x=path.x - change.reshape(path.x.shape) / weights)
    return path


# ---- the motion ------------------------------------------------------------------------------------------------------


def _moved(
    robot: Robot, start: Array, path: Path, loops: int, wanted: Array, duration: float | None, fineness: int
) -> Reorientation:
    """The whole robot along the loops: the attitude by Magnus' steps, the position from the centre of mass."""
    fine = np.linspace(0.0, 1.0, 1001)
    excursion = np.abs(path.at(fine)[0] - path.start).max(axis=0)
    found = Reorientation(FreeMotion(fine, fine, fine), loops, float(loops), 0.0, excursion, path)
    if duration is None:
        speeds, limits = np.abs(found.joints(fine)[1]).max(axis=0), robot.velocity_limits[BASE:]
        duration = loops * max(_SHORTEST, 1.001 * float(np.max(speeds / limits, initial=0.0)))
    found = replace(found, duration=float(duration))
    t = np.linspace(0.0, duration, _SAMPLES * fineness * loops * (len(path.x) // 2) + 1)
    theta, rates, _ = found.joints(gauss_points(t))
    omega = turning(robot, postures(robot, start, theta), rates)[2]
    turned = np.concatenate([np.eye(3)[None], cumulated(rotation_matrices(rotation_vectors(omega, float(t[1]))))])
    theta, rates, _ = found.joints(t)
    q = postures(robot, start, theta)
    began = matrices(start[3:7])
    attitudes = began @ turned
    q[:, 3:7] = quaternions_of(attitudes)
    q[1:, 3:7] *= np.cumprod(np.where((q[1:, 3:7] * q[:-1, 3:7]).sum(axis=1) < 0.0, -1.0, 1.0))[:, None]
    q[:, :3] = robot.center_of_mass(start) - robot.center_of_mass(q)
    v = np.concatenate([base_velocity(robot, q, rates), rates], axis=-1)
    left: Any = rotation_of(wanted.T @ turned[-1]).log()
    return replace(found, motion=FreeMotion(t, q, v), residual=float(np.linalg.norm(left)))
