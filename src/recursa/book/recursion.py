"""Algorithm 5.7 with everything that it finds on its way, by name; and the generalised links of Definition 5.2."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import chain

from recursa.book.augmented_recursion import TensorRates, augmented_plan
from recursa.book.on_axes import require_axes
from recursa.book.rigid_body import inertia_from_euler, torque_from_euler
from recursa.dynamics.gathering import flat, joint_vector
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.errors import NoSweepError, unknown_name
from recursa.model.model import Model
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import Z_AXIS, SymMat3, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

SHAPES: dict[str, tuple[int, ...]] = {
    "mass": (),
    "first": (3,),
    "inertia": (3, 3),
    "euler": (3, 3),
    "angular_velocity": (3,),
    "angular_acceleration": (3,),
    "acceleration_tensor": (3, 3),
    "sliding_acceleration": (3,),
    "origin_acceleration": (3,),
    "moment": (3,),
    "first_acceleration": (3,),
    "joint_moment": (3,),
    "joint_force": (3,),
}
"""What is found of every body, in this order, and its shape."""


def found(here: TensorRates, mass: Scalar, u: Vec3, euler: SymMat3, pull: Vec3, outward: Vec3) -> tuple[Scalar, ...]:
    """What Steps 1 to 3 have of a link, entry by entry; pull and outward are the sums over its children."""
    mu = torque_from_euler(euler, here.omega)  # (5.3.45f, g)
    acceleration = here.omega @ u + pull  # Udd    (5.3.46a)
    eta = mu + u.cross(here.sdd) + outward  # (5.3.46b)
    return (
        mass,
        *u,
        *flat(inertia_from_euler(euler).rows()),
        *flat(euler.rows()),
        *here.w,
        *here.wd,
        *flat(here.omega.rows()),
        *here.zeta,
        *here.sdd,
        *mu,
        *acceleration,
        *eta,
        *(here.sdd * mass + acceleration),  # (5.3.38)
    )


@cache
def recursion_plan(*, wrenches: bool) -> Plan:
    """Algorithm 5.7, and a sweep that gathers."""
    plan = augmented_plan(wrenches=wrenches)
    gather = Step(found, ("rates", "mass", "u", "K", "U", "eta"), ("found",), "u, K, Omega, sdd, mu, Udd, eta, f")
    return Plan("augmented recursion", (*plan.buffers, Buffer("found", ())), (*plan.sweeps, base_to_tip(gather)))


GENERALIZED = Plan(
    "generalized_links",
    (Buffer("X", IDENTITY_TRANSFORM), Buffer("R", RigidInertia.zero())),
    (base_to_tip(RELATIVE), tip_to_base(COMPOSITE)),
)


def require_book_frames(model: Model, what: str) -> None:
    """Raise unless every joint turns about or slides along the z axis of its link's frame, as in the book."""
    for joint in model.joints:
        if not (joint.kind.turns or joint.kind.slides):
            why = f"is {joint.kind.name}, and the book's joints turn or slide"
        elif joint.after is not None or joint.hinge.axis != Z_AXIS:
            why = f"does not lie on the z axis of the frame of link '{joint.child}'"
        else:
            continue
        raise NoSweepError(
            f"{what} with frames=\"link\": joint '{joint.name}' {why}. Link frames are the book's where a robot comes "
            'from a modified Denavit-Hartenberg table; else use frames="axes"'
        )


def known_frames(frames: str) -> str:
    """One of the two kinds of frames."""
    if frames not in ("axes", "link"):
        raise unknown_name("kind of frames", frames, ("axes", "link"))
    return frames


# ---- quantities ------------------------------------------------------------------------------------------------------


def _gathered(model: Model, values: Values) -> Iterator[Scalar]:
    return chain(joint_vector(model, values.lists.get("T", [])), flat(values.lists.get("found", [])))


def _augmented_recursion(of: Subject, given: Names, *, frames: str = "axes") -> Recipe:
    plan, model = recursion_plan(wrenches="wrenches" in given), of.model
    if known_frames(frames) == "axes":
        require_axes(of.on_axes, "augmented", instead="newton-euler")
    else:
        require_book_frames(model, "augmented_recursion")
    size = model.nv + model.nbodies * sum(3 ** len(shape) for shape in SHAPES.values())
    return Recipe(plan, partial(_gathered, model), (size,), on_axes=frames == "axes")


def _generalized_links(of: Subject, given: Names) -> Recipe:
    def gather(values: Values) -> Iterator[Scalar]:
        return flat(total.components() for total in values.lists.get("R", []))

    return Recipe(GENERALIZED, gather, (of.model.nbodies, 10))


AUGMENTED_RECURSION = Quantity(
    "augmented_recursion",
    ("q", "v", "a"),
    _augmented_recursion,
    f"torques as in v, then per body {', '.join(SHAPES)}, in frames on the joint axes or those of links",
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
    on_constraints=refusals.TORQUES,
)
GENERALIZED_LINKS = Quantity(
    "generalized_links",
    ("q",),
    _generalized_links,
    "per body the ten parameters of everything outward as one rigid body, link axes at the link origin",
)
