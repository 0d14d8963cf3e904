"""Numbers as MuJoCo has them, as ours: quaternions with w first, freedoms of free joints with the linear ones first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from recursa.model.inputs import claimed
from recursa.model.model import WORLD_LINK
from recursa.spatial.constants import principal_axes, rotation_of
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's numbers of its joint types."""

_NEAR = 1e-6  # what MuJoCo takes for zero is smaller

ENDLESS = 1e10
"""MuJoCo's largest number stands for infinity in ranges."""


_COLUMNS = {
    count: tuple(f"{prefix}{name}" for name in names.split())
    for count, prefix, names in (
        ("nbody", "body_", "parentid pos quat jntadr jntnum mass inertia ipos iquat geomadr geomnum mocapid gravcomp"),
        ("ngeom", "geom_", "type contype conaffinity size pos quat rgba"),
        ("nsite", "site_", "bodyid pos quat"),
        ("njnt", "jnt_", "type qposadr dofadr pos axis range limited stiffness actfrclimited"),
        ("nv", "dof_", "armature damping frictionloss"),
        ("nu", "actuator_", "trntype trnid gear dyntype gaintype biastype gainprm forcelimited forcerange ctrllimited"),
        ("nkey", "key_", "qpos qvel"),
        ("neq", "eq_", "type active0 obj1id obj2id objtype data"),
    )
}
"""What is asked for of every model that has the elements, by the number of these."""


class Tables:
    """A compiled model with its arrays as lists, from which single numbers come ten times as fast.

    What it is asked for, it asks the model for, and keeps.
    """

    def __init__(self, model: Any) -> None:
        self._model, kept = model, self.__dict__
        for count, names in _COLUMNS.items():
            if getattr(model, count):
                kept.update([(name, getattr(model, name).tolist()) for name in names])

    @cached_property
    def words(self) -> list[str]:
        """All names, one behind the other, if they are in ASCII."""
        names = self.names
        return names.decode("ascii").split("\0") if names.isascii() else []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._model, name)
        value = value.tolist() if hasattr(value, "tolist") else value
        setattr(self, name, value)
        return value


class Codes(NamedTuple):
    """Other numbers of MuJoCo's, which may differ between its versions."""

    no_gravity: int
    site: int
    in_parent: int
    by_tendon: int
    at_site: int
    over_joints: int
    constraints: dict[int, str]


@cache
def codes() -> Codes:
    """Those of the version that is installed."""
    import mujoco

    kinds, ways = mujoco.mjtEq, mujoco.mjtTrn
    return Codes(
        int(mujoco.mjtDisableBit.mjDSBL_GRAVITY),
        int(mujoco.mjtObj.mjOBJ_SITE),
        int(ways.mjTRN_JOINTINPARENT),
        int(ways.mjTRN_TENDON),
        int(ways.mjTRN_SITE),
        int(mujoco.mjtWrap.mjWRAP_JOINT),
        {int(kinds.mjEQ_CONNECT): "connect", int(kinds.mjEQ_WELD): "weld", int(kinds.mjEQ_JOINT): "joint"},
    )


def names_in(model: Tables, kind: str) -> list[str]:
    """The names of all elements of a kind, as MuJoCo abbreviates it: "body", "jnt", "site"; "" for those without."""
    names, places = model.names, getattr(model, f"name_{kind}adr")
    if len(places) == 0:
        return []
    first = names.count(b"\0", 0, places[0])
    found: list[str] = model.words[first : first + len(places)]
    if found and len("\0".join(found)) == places[-1] - places[0] + len(found[-1]):  # those of a kind are neighbours
        return found
    return [names[at : names.index(b"\0", at)].decode(errors="replace") for at in places]


def pose(position: Sequence[float], quaternion: Sequence[float]) -> Transform:
    """A position and a quaternion (w, x, y, z)."""
    return Transform(rotation_of(quaternion), Vec3(*position))


def shift(by: Vec3) -> Transform:
    """A translation."""
    return Transform(IDENTITY, by)


def reordered(numbers: Sequence[float]) -> tuple[float, ...]:
    """Numbers of the freedoms of a joint; of a free joint the angular ones first. The same both ways.

    >>> reordered([1, 2, 3, 4, 5, 6])
    (4, 5, 6, 1, 2, 3)
    """
    return (*numbers[3:], *numbers[:3]) if len(numbers) == 6 else tuple(numbers)


def inertial_frame(tensor: SymMat3, com: Vec3 = ZERO) -> tuple[Vec3, Rotation]:
    """Principal moments and axes of an inertia, for MuJoCo.

    It takes an inertial frame that is turned by less than 1e-8 rad, or less than 1e-8 m off, for the body's own, and
    loses products of inertia, or the place of the centre of mass, by that. So axes other than the link's own are named
    in another order, a turn by 120 degrees, and so are those of a link whose centre of mass is nearly at its origin.

    >>> moments, axes = inertial_frame(SymMat3(1.0, 2.0, 3.0, 1e-9, 0.0, 0.0))
    >>> moments, [round(x) for x in axes.columns()[0]]
    (Vec3(x=2.0, y=3.0, z=1.0), [0, 1, 0])
    """
    moments, axes = principal_axes(tensor)
    if axes == IDENTITY and not 0.0 < max(map(abs, com)) < _NEAR:
        return moments, axes
    x, y, z = axes.columns()
    return Vec3(moments.y, moments.z, moments.x), Rotation(y.x, z.x, x.x, y.y, z.y, x.y, y.z, z.z, x.z)


def unbounded(value: float) -> float:
    """A bound of a range; MuJoCo's largest number is infinity."""
    return math.copysign(math.inf, value) if abs(value) >= ENDLESS else value


# ---- -----------------------------------------------------------------------------------------------------------------
# Names for everything in a compiled MJCF model: MuJoCo needs none, and lets a body, a joint and a site share one.


class Names(NamedTuple):
    """Names by number; those of links differ from each other, and those of joints.

    A body without a name is ``body3``, by its number; a joint without one is ``BODY_joint``, or ``BODY_joint2`` where
    it is not the only one of the body; a site ``site3``. The link between a joint and the next of the same body is
    ``BODY_after_JOINT``, the joint of a body that has none ``BODY_weld``, that of a site ``SITE_frame``. What is taken
    already gets a number.
    """

    bodies: list[str]
    joints: list[str]
    sites: list[str]
    between: dict[int, str]
    welds: dict[int, str]
    frames: list[str]

    @classmethod
    def of(cls, model: Tables) -> Names:
        """The names in a compiled model, and for what has none."""
        own_bodies, own_joints, own_sites = (names_in(model, kind) for kind in ("body", "jnt", "site"))
        links, joints = set(own_bodies), set(own_joints)
        bodies = [WORLD_LINK] + [name or claimed(f"body{k}", links) for k, name in enumerate(own_bodies[1:], 1)]
        named, between, welds = own_joints, dict[int, str](), dict[int, str]()
        for body, count in enumerate(model.body_jntnum):
            if body == 0 or (count == 1 and own_joints[model.body_jntadr[body]]):
                continue
            first = model.body_jntadr[body]
            for place, joint in enumerate(range(first, first + count), 1):
                number = f"{place}" if count > 1 else ""
                named[joint] = own_joints[joint] or claimed(f"{bodies[body]}_joint{number}", joints)
                if place < count:
                    between[joint] = claimed(f"{bodies[body]}_after_{named[joint]}", links)
            if not count:
                welds[body] = claimed(f"{bodies[body]}_weld", joints)
        sites = [claimed(name or f"site{k}", links) for k, name in enumerate(own_sites)]
        frames = [claimed(f"{site}_frame", joints) for site in sites]
        return cls(bodies, named, sites, between, welds, frames)
