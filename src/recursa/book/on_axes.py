"""What the book's methods share: which joints they take, masses about their centres, how forces come in and what a
joint needs beside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from recursa.dynamics.inverse import WRENCH, at_joint
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.wrenches import Losses
from recursa.errors import NoSweepError
from recursa.model.canonical import CanonicalJoint
from recursa.model.model import Model
from recursa.spatial.inertia import Force, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, ScrewChain, Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, each_link, tip_to_base


def require_axes(model: Model, method: str, *, instead: str, turning: bool = False) -> None:
    """Raise unless every joint of a model with its frames on the axes turns or slides; ``turning``: only turns."""
    for joint in model.joints:
        kind = joint.kind
        if not isinstance(joint, CanonicalJoint):
            why = f"has {joint.kind.nv} freedoms ({kind}), and the book's joints have one"
        elif kind.has_pitch:
            why = "is helical, and the book's joints turn or slide, not both"
        elif turning and kind.slides:
            why = "is prismatic, and these equations are for revolute joints"
        else:
            continue
        raise NoSweepError(f"method {method!r}: joint '{joint.name}' {why}. Use method={instead!r}")


class Centred(NamedTuple):
    """A link by mass, centre of mass r and inertia tensor about it; r is 0 where there is no mass."""

    mass: Scalar
    r: Vec3
    moment: SymMat3


def centred(inertia: RigidInertia) -> Centred:
    """m, r, I_c."""
    massless = isinstance(inertia.mass, float) and inertia.mass == 0.0
    return Centred(inertia.mass, ZERO if massless else inertia.com(), inertia.moment_about_com())


def axes_in_base(parent: Transform, step: ScrewChain) -> Transform:
    """``W_i = W_{i-1} A_i``: orientation and origin of a link's frame in base axes."""
    return parent @ step.general()


def in_base_axes(pose: Transform, external: Force) -> tuple[Vec3, Vec3]:
    """Force and moment about the link's origin, base axes."""
    return pose.rotation @ external.force, pose.rotation @ external.moment


def less_external(f: Vec3, eta: Vec3, external: Force) -> tuple[Vec3, Vec3]:
    """What is left for the joint where a wrench acts on the link."""
    return f - external.force, eta - external.moment


BRING = each_link(WRENCH)  # wrenches on links to their bodies, as E
CENTRED = Step(centred, ("inertia",), ("link",), "m, r, I_c")
IN_BASE = Step(axes_in_base, ("W@parent", "X"), ("W",), "W_i = W_(i-1) A_i")

BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("W", IDENTITY_TRANSFORM),
    Buffer("link", Centred(0.0, ZERO, SYM_ZERO)),
    Buffer("E", Force.zero()),
    Buffer("T", ()),
)


def two_sweeps(name: str, buffers: tuple[Buffer, ...], outward: tuple[Step, ...], *inward: Step) -> Plan:
    """Inverse dynamics with wrenches on links, E at their bodies, without what joints need beside."""
    return Plan(name, (*BUFFERS, *buffers), (BRING, base_to_tip(RELATIVE, *outward), tip_to_base(*inward)))


def completed(plan: Plan, *, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Such a plan with what joints need; if there are no wrenches, without the steps that read E."""
    sweeps = plan.sweeps
    if not wrenches:
        bodies = (sweep for sweep in sweeps if sweep is not BRING)
        sweeps = tuple(replace(x, steps=tuple(step for step in x.steps if "E" not in step.reads)) for x in bodies)
    *outward, inward = sweeps
    inward = replace(inward, steps=(*inward.steps, *at_joint(losses=losses, springs=springs)))
    return replace(plan, sweeps=(*outward, inward))
