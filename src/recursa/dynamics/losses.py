"""What joints lose: damping and Coulomb friction, both or one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

from recursa.dynamics.gathering import Entries
from recursa.dynamics.joint_space import FORCES, vector_of
from recursa.errors import unknown_name
from recursa.model.description import Friction
from recursa.model.model import Joint
from recursa.model.moving import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar, where
from recursa.sweeps import Buffer, Plan, Step, base_to_tip

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
