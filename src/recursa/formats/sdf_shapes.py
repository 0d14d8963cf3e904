"""The shapes of SDF links: visual and collision elements. Meshes are references; no file is opened."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.formats.sdf_values import number, numbers, pose_of, vector, word
from recursa.formats.xml import Element
from recursa.model.geometry import NO_SCALE, ROLES, Geometry, Material, Role

_SIZES: dict[str, tuple[str, ...]] = {
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}
_VECTORS = {"box": "size", "ellipsoid": "radii"}


def shapes_of(link: Element, owner: str) -> Iterator[Geometry]:
    """The shapes of a link, those of which the geometry is missing passed over."""
    for part in link.children:
        role = next((role for role in ROLES if role == part.tag), None)
        holder = part.child("geometry") if role is not None else None
        if role is not None and holder is not None and holder.children:
            yield _shape(part, role, holder.children[0], owner)


def _shape(part: Element, role: Role, shape: Element, owner: str) -> Geometry:
    return Geometry(
        shape.tag,
        role,
        size=_size(shape, owner),
        pose=pose_of(part.child("pose"), owner),
        mesh=word(shape, "uri") if shape.tag == "mesh" else "",
        scale=vector(shape, "scale", owner, NO_SCALE) if shape.tag == "mesh" else NO_SCALE,
        material=_material(part.child("material"), owner),
        name=part.attributes.get("name", ""),
    )


def _size(shape: Element, owner: str) -> tuple[float, ...]:
    """What is not said is one metre; a plane without a size has no bounds."""
    if shape.tag in _VECTORS:
        return tuple(vector(shape, _VECTORS[shape.tag], owner, NO_SCALE))
    if shape.tag == "plane":
        given = shape.child("size")
        edges = () if given is None else tuple(numbers(given, owner))
        return edges if len(edges) == 2 else ()
    return tuple(number(shape, tag, owner, 1.0) for tag in _SIZES.get(shape.tag, ()))


def _material(element: Element | None, owner: str) -> Material | None:
    """The diffuse colour; one that makes no sense is passed over."""
    diffuse = None if element is None else element.child("diffuse")
    rgba = () if diffuse is None else tuple(numbers(diffuse, owner))
    if len(rgba) == 3:
        rgba = (*rgba, 1.0)
    return Material(rgba=(rgba[0], rgba[1], rgba[2], rgba[3])) if len(rgba) == 4 else None
