"""Wrenches that act on links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.gathering import FORCES, Entries, vector_of
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.description import Friction
from recursa.model.may_move import MayMove
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar, where
from recursa.sweeps import Buffer, Plan, Step, base_to_tip
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- what joints lose: damping and Coulomb friction, both or one of them ---------------------------------------------


Losses = bool | Literal["damping", "friction"]
"""Which losses count: both, none, or one of them."""

DAMPING, FRICTION = (True, "damping"), (True, "friction")
"""The choices with which damping counts, and those with which friction does."""


def known_losses(losses: Any) -> Losses:
    """The choice, or an error that names the others."""
    if isinstance(losses, str):
        if losses not in ("damping", "friction"):
            raise unknown_name("kind of losses", losses, ("damping", "friction"))
        return losses  # type: ignore[return-value]
    return bool(losses)


# ---- steps -----------------------------------------------------------------------------------------------------------


def both(joint: Joint, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Damping and Coulomb friction: ``d v + f sign(v)``, zero friction at rest."""
    return tuple(d * x + rub(f, x) for d, f, x in zip(joint.damping, joint.friction, v, strict=True))


def damping(joint: Joint, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Damping alone: ``d v``."""
    return tuple(d * x for d, x in zip(joint.damping, v, strict=True))


def friction(joint: Joint, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Coulomb friction alone: ``f sign(v)``, zero at rest."""
    return tuple(rub(f, x) for f, x in zip(joint.friction, v, strict=True))


def rub(coulomb: Friction, x: Scalar) -> Scalar:
    """``f sign(v)``; where it differs by direction, f of that direction."""
    if isinstance(coulomb, tuple):
        forward, backward = coulomb
        return where(x > 0.0, forward, where(x < 0.0, -backward, x))
    return coulomb * where(x > 0.0, 1.0, where(x < 0.0, -1.0, x))  # x itself where it is zero, or nan


_LOST: dict[Losses, tuple[Callable[..., tuple[Scalar, ...]], str]] = {
    True: (both, "d v + f sign(v)"),
    "damping": (damping, "d v"),
    "friction": (friction, "f sign(v)"),
}


@cache
def with_losses(losses: Losses) -> Step:
    """The torque that also makes up for losses."""
    lost, words = _LOST[losses]

    def with_losses(joint: Joint, torque: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(t + x for t, x in zip(torque, lost(joint, v), strict=True))

    return Step(with_losses, ("joint", "T", "v"), ("T",), f"T += {words}")


@cache
def less_losses(losses: Losses, speeds: str = "v", torque: str = "tau") -> Step:
    """What losses at these speeds leave of a torque."""
    lost, words = _LOST[losses]

    def less_losses(joint: Joint, torque: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(t - x for t, x in zip(torque, lost(joint, v), strict=True))

    return Step(less_losses, ("joint", torque, speeds), ("T",), f"T = {torque} - {words.replace(' + ', ' - ')}")


def damped_rows(joint: Joint, number: int, by_v: Entries) -> Entries:
    """Damping on the diagonal of the derivatives by v."""
    return (*by_v, *((((number, i), (number, i)), d) for i, d in enumerate(joint.damping)))


def damped_own(joint: Joint, own: Any) -> Any:
    """Damping in the block of the derivatives by v that pairs a joint with itself."""
    rows = (
        (*row[:i], row[i] + d, *row[i + 1 :]) for i, (row, d) in enumerate(zip(own.by_v, joint.damping, strict=True))
    )
    return own._replace(by_v=tuple(rows))


DAMPED_ROWS = Step(damped_rows, ("joint", "number", "by_v"), ("by_v",), "d T/d v += d")
DAMPED_OWN = Step(damped_own, ("joint", "own"), ("own",), "d T/d v += d")


@cache
def _losses_plan(losses: Losses) -> Plan:
    lost, words = _LOST[losses]
    return Plan("joint_losses", (Buffer("T", ()),), (base_to_tip(Step(lost, ("joint", "v"), ("T",), f"T = {words}")),))


def _joint_losses(of: Subject, given: Names, *, losses: Losses = True) -> Recipe:
    chosen = known_losses(losses)
    if chosen is False:
        raise unknown_name("kind of losses", "False", ("True", "damping", "friction"))
    return Recipe(_losses_plan(chosen), vector_of(of.model, "T"), (of.model.nv,), MayMove.INERTIAS)


JOINT_LOSSES = Quantity("joint_losses", ("v",), _joint_losses, FORCES)


@dataclass(frozen=True, kw_only=True)
class Wrench:
    """A force and a moment that act **on** the robot at a point of a link.

    ``point`` is in link coordinates; ``frame`` names only the axes of force and moment: "world" or "link". Force and
    moment may carry batch axes, (..., 3).

    >>> Wrench(force=(0, 0, -9.81), at="tip").frame
    'world'
    """

    at: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    moment: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    frame: Literal["world", "link"] = "world"


def listed_wrenches(wrenches: Any) -> list[Wrench] | None:
    """Wrenches that are given one by one: a single one, several, or six numbers by link; None for anything else.

    >>> listed_wrenches({"tip": [0, 0, 0, 1, 2, 3]})[0].force
    array([1., 2., 3.])
    """
    if isinstance(wrenches, Wrench):
        return [wrenches]
    if isinstance(wrenches, Mapping):
        return [_on_link(link, value) for link, value in wrenches.items()]
    if isinstance(wrenches, np.ndarray) or not isinstance(wrenches, Iterable):
        return None
    given = list(wrenches)
    if not any(isinstance(one, Wrench | Mapping | str) for one in given):
        return None if given else []
    for one in given:
        if not isinstance(one, Wrench):
            raise StateError(f"wrenches hold {one!r} where a wrench belongs, such as {_example('flange')}")
    return given


def _on_link(link: Any, value: Any) -> Wrench:
    """An entry of a mapping: six numbers as a row of the array has them, or a wrench that says the rest itself."""
    if isinstance(value, Wrench):
        if value.at != link:
            raise StateError(f"wrenches['{link}'] is a wrench at '{value.at}': it acts on one of the two")
        return value
    numbers = as_numbers(f"wrenches['{link}']", value, 6)
    if numbers.shape[-1:] != (6,):
        raise ShapeError(
            f"wrenches['{link}'] has shape {numbers.shape}, expected (..., 6): (moment, force) in link axes at the "
            f"link origin. A force alone, in world axes, is {_example(link)}"
        )
    return Wrench(at=link, moment=numbers[..., :3], force=numbers[..., 3:], frame="link")


def _example(link: Any) -> str:
    return f"rc.Wrench(at='{link}', force=(0, 0, -9.81))"


def wrench_array(model: Model, wrenches: Any, poses: Any) -> Array:
    """Wrenches as an array (..., nlinks, 6) of (moment, force) at link origins in link axes.

    An array in that form comes back as it is; ``poses()`` is asked only if some wrench is in world axes.
    """
    listed = listed_wrenches(wrenches)
    if listed is None:
        return np.asarray(wrenches)
    total: Array = np.zeros((len(model.links), 6))
    for wrench in listed:
        number = model.link_index(wrench.at)
        moment, force = _at_origin(wrench, number, poses)
        shape = (*np.broadcast_shapes(moment.shape[:-1], force.shape[:-1]), len(model.links), 6)
        own = np.zeros(shape, np.result_type(moment, force))  # complex where poses are
        own[..., number, :3] = moment
        own[..., number, 3:] = force
        total = total + own
    return total


def _at_origin(wrench: Wrench, number: int, poses: Any) -> tuple[Array, Array]:
    """Moment and force at the link's origin in link axes."""
    force, moment, point = vectors_of(wrench)
    if in_world(wrench):
        rotation = poses()[..., number, :3, :3]
        force, moment = _in_axes(rotation, force), _in_axes(rotation, moment)
    return moment + np.cross(point, force), force


def vectors_of(wrench: Wrench) -> tuple[Array, Array, Array]:
    """Force, moment and point (..., 3), checked."""
    vectors = {name: np.asarray(getattr(wrench, name), dtype=float) for name in ("force", "moment", "point")}
    for name, vector in vectors.items():
        if vector.shape[-1:] != (3,):
            raise ShapeError(f"the {name} of the wrench at '{wrench.at}' has shape {vector.shape}, expected (..., 3)")
    return vectors["force"], vectors["moment"], vectors["point"]


def in_world(wrench: Wrench) -> bool:
    """Whether force and moment are in world axes; checked."""
    if wrench.frame not in ("world", "link"):
        raise unknown_name("frame of a wrench", wrench.frame, ("world", "link"))
    return wrench.frame == "world"


def standing(wrenches: Any) -> list[Wrench]:
    """Those in world axes: their components do not change as their links turn."""
    return [wrench for wrench in listed_wrenches(wrenches) or () if wrench.frame == "world"]


def turned_back(wrench: Wrench, pose: Array) -> Array:
    """How a wrench in world axes changes, in link axes at the link origin, per small turn of the link: (..., 6, 3).

    A turn w takes ``-w x f`` and ``-w x n`` of force and moment there, and ``p x`` the former at its point p.
    """
    force, moment = (_in_axes(pose[..., :3, :3], np.asarray(x, float)) for x in (wrench.force, wrench.moment))
    by_force = skew(force)
    return np.concatenate([skew(moment) + skew(np.asarray(wrench.point, float)) @ by_force, by_force], axis=-2)


def skew(vector: Array) -> Array:
    """``u x`` as matrices (..., 3, 3)."""
    return np.cross(vector[..., None, :], np.eye(3), axisb=0, axisc=-2)


def _in_axes(rotation: Array, vector: Array) -> Array:
    """``R* x``, summed in this order, so that native entries give the same bits."""
    x, y, z = (rotation[..., k, :] * vector[..., k, None] for k in range(3))
    return x + y + z


# ---- -----------------------------------------------------------------------------------------------------------------
# Springs at joints, ``-k (q - rest)``, in every answer that torques, energies or their derivatives enter. Functions
# that make plans have the option ``springs``: with it a plan takes off torques what springs take before it uses them,
# adds that to the torques that it finds, or adds k to derivatives by q. Robots without springs have no such steps.


Numbers = tuple[Scalar, ...]


# ---- steps -----------------------------------------------------------------------------------------------------------


# Joints with several freedoms have no springs.


def stretched(joint: Joint, q: Sequence[Scalar]) -> Scalar:
    """``k (q - rest)``, what it takes to hold the spring of a joint of one freedom."""
    return joint.stiffness * (q[0] - joint.rest)


def with_spring(joint: Joint, torque: Sequence[Scalar], q: Sequence[Scalar]) -> Numbers:
    """The torque that also holds the spring."""
    return (torque[0] + stretched(joint, q),) if joint.kind.nv == 1 else tuple(torque)


def less_spring(joint: Joint, torque: Sequence[Scalar], q: Sequence[Scalar]) -> Numbers:
    """What the spring leaves of a torque."""
    return (torque[0] - stretched(joint, q),) if joint.kind.nv == 1 else tuple(torque)


def stiffer_rows(joint: Joint, number: int, by_q: Entries) -> Entries:
    """k on the diagonal of the derivatives by q."""
    return (*by_q, (((number, 0), (number, 0)), joint.stiffness)) if joint.kind.nv == 1 else by_q


def stiffer_own(joint: Joint, own: Any) -> Any:
    """k in the block of the derivatives by q that pairs a joint with itself."""
    if joint.kind.nv != 1:
        return own
    ((entry,),) = own.by_q
    return own._replace(by_q=((entry + joint.stiffness,),))


def spring_energy(joint: Joint, q: Sequence[Scalar]) -> Scalar:
    """``k (q - rest)^2 / 2``."""
    return 0.5 * (stretched(joint, q) * (q[0] - joint.rest)) if joint.kind.nv == 1 else 0.0


LESS_SPRING = Step(less_spring, ("joint", "tau", "q"), ("drive",), "drive = tau - k (q - rest)")
DRIVE = Buffer("drive", ())
SPRING = Step(with_spring, ("joint", "T", "q"), ("T",), "T += k (q - rest)")
STIFFER_ROWS = Step(stiffer_rows, ("joint", "number", "by_q"), ("by_q",), "d T/d q += k")
STIFFER_OWN = Step(stiffer_own, ("joint", "own"), ("own",), "d T/d q += k")
SPRING_ENERGY = Step(spring_energy, ("joint", "q"), ("potential@robot",), "k (q - rest)^2/2")


def driving(losses: Losses, springs: bool, speeds: str = "v") -> tuple[tuple[Step, ...], str]:
    """The steps that take off a torque what springs and losses take, and the name of what is left."""
    steps, torque = ((LESS_SPRING,), DRIVE.name) if springs else ((), "tau")
    return ((*steps, less_losses(losses, speeds, torque)), "T") if losses else (steps, torque)


def completing(losses: Losses, springs: bool) -> tuple[Step, ...]:
    """The steps that add to a torque T what losses and springs take."""
    return (*((with_losses(losses),) if losses else ()), *((SPRING,) if springs else ()))


# ---- torques at rest -------------------------------------------------------------------------------------------------


def resting_forces(robot: Robot, q: ArrayLike) -> Array:
    """Torques (..., nv) that hold a robot still, against gravity and springs: the gradient of the potential energy."""
    return robot.bias_forces(q, np.zeros(robot.nv)) if robot.model.has_springs else robot.gravity_forces(q)
