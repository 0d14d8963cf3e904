"""What the book's methods share: which joints they take, masses about their centres, the way forces come in."""

from __future__ import annotations

from typing import NamedTuple

from recursa.errors import NoSweepError
from recursa.model.canonical import CanonicalJoint
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.screws import ScrewChain
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Step


def slides(joint: Joint) -> bool:
    """Whether sigma = 0: the joint slides along z; else it turns about z."""
    return joint.kind.slides


def require_axes(model: Model, method: str, *, instead: str, turning: bool = False) -> None:
    """Raise unless every joint of a model with its frames on the axes turns or slides; ``turning``: only turns."""
    for joint in model.joints:
        kind = joint.kind
        if not isinstance(joint, CanonicalJoint):
            why = f"has {joint.kind.nv} freedoms ({kind}), and the book's joints have one"
        elif kind.has_pitch:
            why = "is helical, and the book's joints turn or slide, not both"
        elif turning and slides(joint):
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


CENTRED = Step(centred, ("inertia",), ("link",), "m, r, I_c")
IN_BASE = Step(axes_in_base, ("W@parent", "X"), ("W",), "W_i = W_(i-1) A_i")

BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("W", IDENTITY_TRANSFORM),
    Buffer("link", Centred(0.0, ZERO, SYM_ZERO)),
    Buffer("E", Force.zero()),
    Buffer("T", ()),
)
