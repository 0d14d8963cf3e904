"""Shapes of links: what a source says about how they look and what they bump into, as plain data. No file is opened."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import Vec3

Role = Literal["visual", "collision"]
ROLES: tuple[Role, ...] = get_args(Role)

SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 2, "mesh": 0}
"""The shapes, and how many numbers their sizes have."""

NO_SCALE = Vec3(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Material:
    """What a shape looks like: red, green, blue and opacity from 0 to 1, and an image as the source refers to it.

    >>> Material("rust", (0.7, 0.3, 0.1, 1.0)).rgba
    (0.7, 0.3, 0.1, 1.0)
    """

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None
    texture: str = ""


@dataclass(frozen=True, slots=True)
class Geometry:
    """One shape of a link; its ``role`` is "visual" or "collision".

    ``size`` in metres: of a "box" its three edges; of a "sphere" the radius; of a "cylinder" radius and length along z;
    of a "capsule" radius and the length of its straight part along z; of an "ellipsoid" three radii; of a "plane",
    normal to z, its two edges. It is empty for a "mesh", for a plane without bounds, and where the source does not
    tell. Another word than these is kept as the source has it, without a size. All are centred at ``pose``, which is
    in link coordinates. ``mesh`` is the file as the source refers to it, ``scale`` what its lengths are multiplied by.
    ``path`` is the file itself, where it was found in a folder that the user named; it is not part of robot files.
    """

    shape: str
    role: Role
    size: tuple[float, ...] = ()
    pose: Transform = IDENTITY_TRANSFORM
    mesh: str = ""
    scale: Vec3 = NO_SCALE
    material: Material | None = None
    name: str = ""
    path: str | None = field(default=None, compare=False, metadata={"saved": False})

    @property
    def reach(self) -> float | None:
        """The distance from its own origin to its farthest point; None where only a mesh file would tell, or nothing.

        >>> Geometry("cylinder", "visual", (3.0, 8.0)).reach
        5.0
        """
        if not self.size:
            return None
        if self.shape in ("box", "plane"):
            return 0.5 * math.hypot(*self.size)
        if self.shape == "cylinder":
            return math.hypot(self.size[0], 0.5 * self.size[1])
        if self.shape == "capsule":
            return self.size[0] + 0.5 * self.size[1]
        return max(self.size)

    def scaled(self, length: float) -> Geometry:
        """The same shape with all lengths multiplied."""
        return replace(
            self,
            size=tuple(length * x for x in self.size),
            pose=Transform(self.pose.rotation, self.pose.translation * length),
            scale=self.scale * length if self.shape == "mesh" else self.scale,
        )
