"""URDF: visual and collision elements, there and back. Meshes and textures are references; no file is opened."""

from __future__ import annotations

from collections.abc import MutableMapping

from recursa.errors import ModelError
from recursa.formats.urdf_values import number_of, numbers_of, placement_of, vector_of
from recursa.formats.xml import Element
from recursa.model.geometry import NO_SCALE, ROLES, Geometry, Material, Role

SIZE_ATTRIBUTES = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}
"""The shapes that a URDF has words for, meshes apart, and the attributes that make up their sizes."""

_ROLES: dict[str, Role] = {role: role for role in ROLES}

Materials = MutableMapping[str, Material]
"""Those that were described so far, by name: later elements refer to them."""


def read_materials(root: Element) -> Materials:
    """The materials that are described outside links."""
    known: Materials = {}
    for element in root.children:
        if element.tag == "material":
            _material(element, known)
    return known


def read_shapes(link: Element, owner: str, materials: Materials) -> tuple[Geometry, ...]:
    """The shapes of a link, those of which the geometry is missing passed over."""
    found = []
    for part in link.children:
        role = _ROLES.get(part.tag)
        if role is not None:
            inside = part.parts()
            holder = inside.get("geometry")
            if holder is not None and holder.children:
                found.append(_shape(part, inside, role, holder.children[0], owner, materials))
    return tuple(found)


def _shape(
    part: Element, inside: dict[str, Element], role: Role, shape: Element, owner: str, materials: Materials
) -> Geometry:
    tag, described = shape.tag, inside.get("material")
    size, pose = () if tag == "mesh" else _size(shape, owner), placement_of(inside.get("origin"), owner)
    mesh, scale = "", NO_SCALE
    if tag == "mesh":
        mesh, scale = shape.attributes.get("filename", ""), vector_of(shape, "scale", owner, NO_SCALE)
    material = None if described is None else _material(described, materials)
    return Geometry(tag, role, size, pose, mesh, scale, material, part.attributes.get("name", ""))


def _size(shape: Element, owner: str) -> tuple[float, ...]:
    names = SIZE_ATTRIBUTES.get(shape.tag, ())
    if not names or any(name not in shape.attributes for name in names):
        return ()
    if shape.tag == "box":
        return tuple(vector_of(shape, "size", owner, NO_SCALE))
    return tuple(number_of(shape, name, owner, 0.0) for name in names)


def _material(element: Element, known: Materials) -> Material:
    """What an element describes, or else what was described under its name."""
    name = element.attributes.get("name", "")
    color, texture = element.child("color"), element.child("texture")
    if color is None and texture is None:
        return known.get(name, Material(name))
    image = "" if texture is None else texture.attributes.get("filename", "")
    material = Material(name, None if color is None else _rgba(color, name), image)
    if name:
        known.setdefault(name, material)
    return material


def _rgba(color: Element, name: str) -> tuple[float, float, float, float] | None:
    """A colour; one that makes no sense is noted: what a robot looks like is no reason to refuse it."""
    try:
        red, green, blue, opacity = numbers_of(color, "rgba", f"material '{name}'")
    except (KeyError, ValueError, ModelError):
        reason = f"the colour of material '{name}' is not four numbers from 0 to 1; it was passed over."
        color.forgive("color", reason, 'Write <color rgba="0.8 0.1 0.1 1"/>.')
        return None
    return red, green, blue, opacity
