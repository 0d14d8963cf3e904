"""Springs at joints, ``-k (q - rest)``, in every answer that torques, energies or their derivatives enter.

Functions that make plans have the option ``springs``: with it a plan takes off torques what springs take before it uses
them, adds that to the torques that it finds, or adds k to derivatives by q. Robots without springs have no such steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.gathering import Entries
from recursa.dynamics.losses import Losses, less_losses, with_losses
from recursa.model.model import Joint
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Step
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

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
