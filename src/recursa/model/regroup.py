"""Inertial parameters moved inward, to where they cost less: what a joint cannot tell apart belongs to its parent too.

A body that is symmetric about a revolute joint's axis and has no moment about it moves its parent in the same way
whether it turns or not: mass m on the axis, first moment h along it, equal moments s across it. So ``(m, h, s)`` of a
body can be handed to its parent, and three of its ten parameters be zero. On a prismatic joint it is the whole moment
of inertia, six parameters. Torques, accelerations and the mass matrix stay what they were, exactly; the bodies are then
no longer bodies that could be built. (Regrouping of base inertial parameters, after Khalil & Kleinfinger and Mayeda.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from recursa.model.canonical import CanonicalJoint
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3

Zeroed = Literal["inertia", "euler"]


def regrouped(model: Model, zeroed: Zeroed) -> Model:
    """The same mechanism with as many zeros in its inertias; frames must sit on the joint axes (``canonical.py``).

    ``zeroed`` says what s is chosen to make zero: Iyy of the inertia tensor, or the last entry of the Euler tensor
    ``tr(I)/2 - I``, in which the recursions of Balafoutis and Patel are written.
    """
    inertias = list(model.inertias)
    for number in reversed(range(model.nbodies)):
        joint = model.joints[number]
        moved = _movable(joint, inertias[number], zeroed)
        if moved is None:
            continue
        inertias[number] = _without(inertias[number], moved)
        if joint.parent != WORLD:  # at the world it moves nothing
            step = joint.transform((0.0,) * joint.kind.nq).general()
            inertias[joint.parent] = inertias[joint.parent] + step.inertia(moved)
    return replace(model, inertias=tuple(inertias))


def _movable(joint: Joint, inertia: RigidInertia, zeroed: Zeroed) -> RigidInertia | None:
    """What of a body may as well belong to its parent."""
    if not isinstance(joint, CanonicalJoint):
        return None
    moment = inertia.moment
    if joint.kind.name == "prismatic":
        return RigidInertia(0.0, ZERO, moment)
    if joint.kind.name not in ("revolute", "continuous"):
        return None
    across = moment.yy if zeroed == "inertia" else 0.5 * (moment.xx + moment.yy - moment.zz)
    return RigidInertia(inertia.mass, Vec3(0.0, 0.0, inertia.first.z), SymMat3(across, across, 0.0, 0.0, 0.0, 0.0))


def _without(inertia: RigidInertia, moved: RigidInertia) -> RigidInertia:
    """What is left; differences of equal numbers are exactly zero."""
    return RigidInertia(
        inertia.mass - moved.mass,
        inertia.first - moved.first,
        SymMat3(*(a - b for a, b in zip(inertia.moment, moved.moment, strict=True))),
    )
