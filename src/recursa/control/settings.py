"""What users hand to controllers, checked: gains, weights, limits, poses, motions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from recursa.errors import ShapeError, StateError
from recursa.evaluation.hints import warn_of_conventions, warn_of_millimetres
from recursa.integrators.mechanics import standing_after_end
from recursa.model.model import WORLD
from recursa.robot import Robot
from recursa.sweeps.batching import Array, prepare
from recursa.trajectories.bounds import per_freedom
from recursa.trajectories.trajectory import Trajectory

_SYMMETRIC = 1e-9  # of the largest entry
_ORTHOGONAL = 1e-6

Sampler = Callable[[Any], tuple[Array, Array, Array]]


def numbers(name: str, value: Any) -> Array:
    """Real finite numbers as float64, of any shape."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers, not {value!r}") from None
    if not np.isfinite(array).all():
        raise StateError(f"{name} must be finite, not {value!r}")
    return array


def vector(name: str, value: Any, size: int, meaning: str) -> Array:
    """So many real finite numbers."""
    array = numbers(name, value)
    if array.shape != (size,):
        raise ShapeError(f"{name} has shape {array.shape}, expected ({size},): {meaning}")
    return array


def each_instant(function: Callable[[float], tuple[Array, ...]], t: Any) -> tuple[Array, ...]:
    """A function of one instant at instants of any shape, (...), part by part: (..., *shape of the part)."""
    times = np.asarray(t, dtype=float)
    if times.ndim == 0:
        return function(float(times))
    columns = zip(*(function(float(x)) for x in times.ravel()), strict=True)
    return tuple(np.array(part).reshape(*times.shape, *part[0].shape) for part in columns)


# ---- gains and weights -----------------------------------------------------------------------------------------------


def gain(robot: Robot, name: str, value: Any) -> Array:
    """A gain: (nv,) as :func:`per_freedom`, or a symmetric positive matrix (nv, nv), diagonal ones as (nv,)."""
    if not isinstance(value, Mapping) and np.ndim(value) == 2:
        return _plain(weight(name, value, robot.nv))
    return per_freedom(robot, name, value)


def _plain(matrix: Array) -> Array:
    """A diagonal matrix as its diagonal."""
    diagonal = np.diag(matrix)
    return matrix if np.any(matrix - np.diag(diagonal)) else diagonal.copy()


def small_gain(name: str, value: Any, size: int, *, definite: bool = False) -> Array:
    """A gain of so many coordinates: (size,) from one number or as many, or a symmetric positive matrix."""
    return _plain(weight(name, value, size, definite=definite))


def weight(name: str, value: Any, size: int, *, definite: bool = False) -> Array:
    """A symmetric matrix (size, size) without negative eigenvalues, from one number, a diagonal, or a matrix."""
    array = numbers(name, value)
    if array.ndim < 2:
        array = np.diag(np.broadcast_to(array, size)) if array.shape in ((), (size,)) else array
    if array.shape != (size, size):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number, ({size},) or ({size}, {size})")
    scale = np.abs(array).max(initial=0.0)
    if np.abs(array - array.T).max(initial=0.0) > _SYMMETRIC * scale:
        raise StateError(f"{name} must be a symmetric matrix")
    array = 0.5 * (array + array.T)
    least = float(np.linalg.eigvalsh(array)[0]) if size else 1.0
    if (least <= 0.0) if definite else (least < -_SYMMETRIC * scale):
        wanted = "positive" if definite else "not negative"
        raise StateError(f"{name} must have eigenvalues that are {wanted}; the least is {least:.3g}")
    return array


def torque_limits(robot: Robot, effort: Any) -> Array | None:
    """Limits (nv,) from None, "model", or as :func:`per_freedom`; infinite where there are none."""
    if effort is None:
        return None
    if isinstance(effort, str):
        if effort != "model":
            raise StateError(f'effort must be "model", numbers or None, not {effort!r}')
        limits = robot.effort_limits
        if not np.isfinite(limits).any():
            raise StateError(
                f"effort='model', but no joint of robot '{robot.name}' has a limit of effort. Give them: effort={{...}}"
            )
        return limits
    return per_freedom(robot, "effort", effort)


# ---- poses and motions -----------------------------------------------------------------------------------------------


def pose(name: str, value: Any) -> Array:
    """A homogeneous matrix (4, 4) with a proper rotation."""
    array = numbers(name, value)
    if array.shape != (4, 4):
        raise ShapeError(f"{name} has shape {array.shape}, expected a homogeneous matrix (4, 4)")
    rotation = array[:3, :3]
    off = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if off > _ORTHOGONAL or np.linalg.det(rotation) < 0.0 or np.abs(array[3] - (0, 0, 0, 1)).max() > _ORTHOGONAL:
        raise StateError(
            f"{name} is not a pose: its rotation is off by {off:.3g} from an orthogonal matrix with determinant 1, or "
            "its last row is not 0 0 0 1"
        )
    return array


def hint_at_metres(robot: Robot, link: str, target: Array) -> None:
    """Ask who seems to mean millimetres: the target (4, 4) of a link is far outside all that the robot reaches."""
    warn_of_millimetres(robot.model, float(np.linalg.norm(target[:3, 3])), f"the target of link '{link}'")


def movable_link(robot: Robot, name: str) -> str:
    """The name of a link that torques can move."""
    if robot.model.links[robot.model.link_index(name)].body == WORLD:
        raise StateError(
            f"link '{name}' of robot '{robot.name}' is fixed to the world: no torque moves it. Take one after a joint"
        )
    return name


def as_posture(robot: Robot, name: str, value: Any) -> Array:
    """A configuration (nq,) to go to or to stay near; who seems to mean degrees is asked."""
    warn_of_conventions(robot.model, value, robot.evaluator.kept)
    return prepare(robot.model, {"q": value}, {"q": name}).rows["q"][0].astype(float)


def desired(robot: Robot, motion: Any) -> Sampler:
    """Any motion with ``sample(t)`` as a function from instants to q, v, a; after its end it stands still."""
    if not hasattr(motion, "sample"):
        raise StateError(
            f"the motion must have a method sample(t) -> q, v, a, such as rc.Trajectory has; it is {motion!r}"
        )
    if isinstance(motion, Trajectory):
        if motion.nq != robot.nq:
            raise ShapeError(
                f"the trajectory has {motion.nq} coordinates, robot '{robot.name}' has {robot.nq}: it is another's"
            )
        known = motion.robot
        if known is not None and known.joint_names != robot.joint_names:
            raise StateError(
                f"the trajectory is one of robot '{known.name}', whose joints are others than '{robot.name}'s"
            )
        warn_of_conventions(robot.model, motion.sample([motion.start, motion.end])[0], robot.evaluator.kept)
        return motion.sample
    one = standing_after_end(motion)
    if one(0.0)[0].shape != (robot.nq,):
        raise ShapeError(f"the motion's q has shape {one(0.0)[0].shape}, expected ({robot.nq},)")
    return partial(each_instant, one)  # type: ignore[return-value]
