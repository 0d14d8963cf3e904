"""Numbers as MuJoCo has them, as ours: quaternions with w first, freedoms of free joints with the linear ones first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from recursa.spatial.constants import rotation_of
from recursa.spatial.principal import principal_axes
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
