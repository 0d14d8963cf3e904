"""Mass, centre and inertia of links from their shapes: solid bodies of one density.

Simple shapes have closed forms. What a mesh weighs is asked of a function that is handed in: here no file is opened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

from recursa.errors import ModelError
from recursa.model.canonical import settled_inertia, weighed_transform
from recursa.model.description import Description, Geometry, LinkRecord
from recursa.model.geometry import Role
from recursa.model.model import WORLD, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import ZERO, SymMat3

MeshSolid = Callable[[Geometry, str], tuple[RigidInertia, str]]
"""Of a mesh, and the link that it is of for errors: its inertia at density one in its own frame, and what was done."""


def solid(shape: str, size: tuple[float, ...]) -> RigidInertia | None:
    """The inertia of a shape of density one about its own centre; None for what has no volume.

    ``size`` as in :class:`~recursa.model.geometry.Geometry`.

    >>> solid("box", (1.0, 2.0, 3.0)).mass
    6.0
    """
    if not size or not all(math.isfinite(x) and x > 0.0 for x in size):
        return None
    if shape == "box":
        a, b, c = size
        return _centred(a * b * c, 12.0, a, b, c)
    if shape == "ellipsoid":
        a, b, c = size
        return _centred(4.0 / 3.0 * math.pi * a * b * c, 5.0, a, b, c)
    if shape == "sphere":
        return solid("ellipsoid", size * 3)
    if shape in ("cylinder", "capsule"):
        radius, length = size
        return _round(radius, length, caps=shape == "capsule")
    return None


def _centred(volume: float, divisor: float, a: float, b: float, c: float) -> RigidInertia:
    moments = (b * b + c * c, a * a + c * c, a * a + b * b)
    return RigidInertia(volume, ZERO, SymMat3.diagonal(*(volume * x / divisor for x in moments)))


def _round(radius: float, length: float, caps: bool) -> RigidInertia:
    """A cylinder along z, with half balls at its ends or without."""
    rr, ll = radius * radius, length * length
    volume = math.pi * rr * length
    across, along = volume * (3.0 * rr + ll) / 12.0, volume * rr / 2.0
    ball = 4.0 / 3.0 * math.pi * rr * radius if caps else 0.0
    across += ball * (
        0.4 * rr + 0.25 * ll + 0.375 * length * radius
    )  # centres of half balls are 3/8 r from their faces
    return RigidInertia(volume + ball, ZERO, SymMat3.diagonal(across, across, along + 0.4 * ball * rr))


def with_solid_links(
    model: Model, density: float, names: Collection[str] | None, role: Role, of_mesh: MeshSolid
) -> Description:
    """The description with mass data from the shapes of a role: of the links named, or of all that move and have none.

    Shapes of one link add up, also where they overlap.
    """
    description = model.description
    if names is None:
        moving = {link.name for link in model.links if link.body != WORLD}
        lacking = (link for link in description.links if link.name in moving and not link.inertial)
        names = {link.name for link in lacking if any(shape.role == role for shape in link.geometry)}
    links = (_solid(link, density, role, of_mesh) if link.name in names else link for link in description.links)
    return replace(description, links=tuple(links))


def _solid(link: LinkRecord, density: float, role: Role, of_mesh: MeshSolid) -> LinkRecord:
    shapes = [shape for shape in link.geometry if shape.role == role]
    if not shapes:
        others = "; it has shapes of the other kind" if link.geometry else ""
        raise ModelError(f"link '{link.name}' has no {role} shape to take its inertia from{others}")
    total, words = RigidInertia.zero(), []
    for shape in shapes:
        own, word = of_mesh(shape, link.name) if shape.shape == "mesh" else (_of_shape(shape, link.name), shape.shape)
        total = total + weighed_transform(shape.pose).inertia(own)
        words.append(word)
    total = settled_inertia(total)
    return replace(
        link,
        mass=density * total.mass,
        com=total.com(),
        inertia=total.moment_about_com() * density,
        inertial=True,
        about_origin=None,
        estimated=f"its {role} shapes ({', '.join(dict.fromkeys(words))}) at {density:g} kg/m^3",
    )


def _of_shape(shape: Geometry, link: str) -> RigidInertia:
    found = solid(shape.shape, shape.size)
    if found is None:
        size = f"the size {shape.size}" if shape.size else "no size"
        hint = "give the link its mass data, or take its inertia from shapes of the other role"
        raise ModelError(f"link '{link}': a {shape.shape!r} with {size} has no volume to take an inertia from; {hint}")
    return found
