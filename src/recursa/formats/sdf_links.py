"""The links of SDF: masses and shapes. Meshes are references; no file is opened."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.formats.sdf_values import flag, marked, number, numbers, pose_of, vector, word
from recursa.formats.xml import Element, clipped
from recursa.model.description import LinkRecord
from recursa.model.geometry import NO_SCALE, ROLES, Geometry, Material, Role
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.vec3 import SymMat3

_DIAGONAL = ("xx", "yy", "zz")
_SIZES: dict[str, tuple[str, ...]] = {
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}
_VECTORS = {"box": "size", "ellipsoid": "radii"}


def link_record(name: str, element: Element) -> LinkRecord:
    """A link under its full name. What is not said is as the format says: one kilogram, one kilogram metre squared."""
    owner = f"link '{clipped(name)}'"
    inertial = element.child("inertial")
    if inertial is None:
        reason = f"{owner} has no <inertial>, which in SDF means 1 kg and 1 kg m^2 about every axis."
        element.forgive("default-mass", reason, "Write the masses that it has.")
    elif marked(inertial, "auto"):
        what = f'{owner}: <inertial auto="true"> leaves mass and inertia to be computed from shapes'
        raise inertial.error(f"{what}, which is not done here; write them down")
    elif inertial.child("fluid_added_mass") is not None:
        inertial.forgive("added-mass", f"{owner}: <fluid_added_mass> was passed over.", "Expect it to be missing.")
    _unmodelled(element, owner)
    placed = pose_of(None if inertial is None else inertial.child("pose"), owner)
    moments = None if inertial is None else inertial.child("inertia")
    entries = (number(moments, f"i{entry}", owner, float(entry in _DIAGONAL)) for entry in SymMat3._fields)
    tensor = SymMat3(*entries)
    return LinkRecord(
        name,
        mass=number(inertial, "mass", owner, 1.0),
        com=placed.translation,
        inertia=tensor if placed.rotation == IDENTITY else placed.rotation.symmetric(tensor),
        inertial=True,
        geometry=tuple(_shapes(element, owner)),
        line=element.own_line,
    )


def _unmodelled(element: Element, owner: str) -> None:
    if not flag(element, "gravity", owner, True):
        element.forgive("weightless", f"{owner} is not to feel gravity, but it does here.", "Remove <gravity>.")
    if flag(element, "kinematic", owner):
        element.forgive("kinematic", f"{owner} is kinematic, but forces move it here.", "Remove <kinematic>.")
    decay = element.child("velocity_decay")
    if any(number(decay, tag, owner, 0.0) for tag in ("linear", "angular")):
        element.forgive("decay", f"{owner}: <velocity_decay> was passed over.", "Give the joints damping.")


def _shapes(link: Element, owner: str) -> Iterator[Geometry]:
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
