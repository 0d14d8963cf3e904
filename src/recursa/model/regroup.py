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
from recursa.model.model import WORLD, Model
from recursa.model.rounding import Weighed, settled_inertia, weighed_inertia
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.screws import Screw, ScrewChain
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3

Zeroed = Literal["inertia", "euler"]


def regrouped(model: Model, zeroed: Zeroed) -> Model:
    """The same mechanism with as many zeros in its inertias; frames must sit on the joint axes (``canonical.py``).

    ``zeroed`` says what s is chosen to make zero: Iyy of the inertia tensor, or the last entry of the Euler tensor
    ``tr(I)/2 - I``, in which the recursions of Balafoutis and Patel are written. Both are zero exactly, as are the
    other entries that vanish.
    """
    inertias = list(model.inertias)
    for number in reversed(range(model.nbodies)):
        joint = model.joints[number]
        if not isinstance(joint, CanonicalJoint) or not (joint.kind.turns or joint.kind.slides):
            continue
        inertia = inertias[number]
        inertias[number], moved = _sliding(inertia) if joint.kind.slides else _turning(inertia, zeroed)
        if joint.parent != WORLD:  # at the world it moves nothing
            share = _step(joint).inertia(weighed_inertia(moved))
            inertias[joint.parent] = settled_inertia(inertias[joint.parent] + share)
    return replace(model, inertias=tuple(inertias))


def _step(joint: CanonicalJoint) -> ScrewChain:
    """What a moved inertia sees of the step to the parent: a symmetric one no turning, a mere moment no sliding."""
    turn = joint.turn if joint.kind.slides else (1.0, 0.0)
    return ScrewChain((*joint.before, Screw(2, *turn, joint.shift)))


def _sliding(inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
    """What is left of a body that slides, and what may as well belong to its parent."""
    return inertia._replace(moment=SYM_ZERO), RigidInertia(0.0, ZERO, inertia.moment)


def _turning(inertia: RigidInertia, zeroed: Zeroed) -> tuple[RigidInertia, RigidInertia]:
    """The same of a body that turns."""
    first, m = inertia.first, inertia.moment
    uneven = Weighed(m.xx) - m.yy
    if zeroed == "inertia":
        across, xx, yy, zz = m.yy, uneven.settled(), 0.0, m.zz
    else:
        across = 0.5 * (m.xx + m.yy - m.zz)
        xx, yy = ((0.5 * (m.zz + part)).settled() for part in (uneven, -uneven))
        zz = xx + yy  # so that (Ixx + Iyy - Izz)/2 is zero, however these two were rounded
    return (
        RigidInertia(0.0, Vec3(first.x, first.y, 0.0), SymMat3(xx, yy, zz, m.xy, m.xz, m.yz)),
        RigidInertia(inertia.mass, Vec3(0.0, 0.0, first.z), SymMat3.diagonal(across, across, 0.0)),
    )
