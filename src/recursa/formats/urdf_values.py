"""What stands in the attributes of a URDF: names, numbers, vectors, poses; errors name the element and its owner."""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from operator import itemgetter

from recursa.errors import ModelError
from recursa.formats.xml import Element, clipped
from recursa.model.geometry import NO_SCALE, ROLES, Geometry, Material, Role
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, ZERO, SymMat3, Vec3

RUN_XACRO = "this is xacro source; declare xmlns:xacro on <robot>, or say format='xacro', to have it expanded"

_PLAIN = re.compile(r"[-+.0-9eE]*").fullmatch
_ENTRIES = tuple(f"i{entry}" for entry in SymMat3._fields)
_TENSOR = itemgetter(*_ENTRIES)
_USUAL = {"0 0 0": ZERO, "0.0 0.0 0.0": ZERO, "1 0 0": X_AXIS, "0 1 0": Y_AXIS, "0 0 1": Z_AXIS}
"""Most vectors in robot files."""


def placement_of(origin: Element | None, owner: str) -> Transform:
    """The pose that an origin element gives; the identity if it is missing."""
    if origin is None:
        return IDENTITY_TRANSFORM
    xyz = vector_of(origin, "xyz", owner, ZERO)
    if "quat_xyzw" in origin.attributes:
        return Transform(_quaternion(origin, owner), xyz)
    rpy = vector_of(origin, "rpy", owner, ZERO)
    if rpy is ZERO or rpy == ZERO:
        return IDENTITY_TRANSFORM if xyz is ZERO else Transform(IDENTITY, xyz)
    return Transform(Rotation.from_constant_rpy(*rpy), xyz)


def _quaternion(origin: Element, owner: str) -> Rotation:
    """The rotation in ``quat_xyzw``, which URDF 1.2 allows in place of ``rpy``."""
    if "rpy" in origin.attributes:
        raise origin.error(f"{owner}: <origin> has both rpy and quat_xyzw; keep one of them")
    values = numbers_of(origin, "quat_xyzw", owner)
    if len(values) != 4:
        raise wrong_count(origin, "quat_xyzw", owner, "4 numbers", len(values))
    quaternion = Quaternion(*values)
    if quaternion.norm_squared() == 0.0:
        raise origin.error(f"{owner}: quat_xyzw is zero and gives no rotation; no rotation is '0 0 0 1'")
    return Rotation.from_quaternion(quaternion).snapped()


def text_of(element: Element, attribute: str, owner: str) -> str:
    """A name that must be there."""
    value = element.attributes.get(attribute, "")
    if not value:
        problem = "is empty" if attribute in element.attributes else "is missing"
        raise element.error(f"{owner}: the attribute '{attribute}' of <{element.tag}> {problem}")
    if "${" in value or "$(" in value:
        raise element.error(f'{owner}: <{element.tag} {attribute}="{clipped(value)}">; {RUN_XACRO}')
    return value


def vector_of(element: Element | None, attribute: str, owner: str, default: Vec3) -> Vec3:
    """Three numbers; the default if the element or the attribute is missing."""
    text = None if element is None else element.attributes.get(attribute)
    if element is None or text is None:
        return default
    usual = _USUAL.get(text)
    if usual is not None:
        return usual
    try:  # without looking closer, where all is well: loading is mostly this
        x, y, z = map(float, text.split())
        if text.isascii() and "_" not in text:
            return Vec3(x, y, z)
    except ValueError:
        pass
    values = numbers_of(element, attribute, owner)
    if len(values) != 3:
        raise wrong_count(element, attribute, owner, "3 numbers", len(values))
    return Vec3(*values)


def number_of(element: Element | None, attribute: str, owner: str, default: float) -> float:
    """One number; the default if the element or the attribute is missing."""
    text = None if element is None else element.attributes.get(attribute)
    if element is None or text is None:
        return default
    usual = plain_number(text)
    if usual is not None:
        return usual
    values = numbers_of(element, attribute, owner)
    if len(values) != 1:
        raise wrong_count(element, attribute, owner, "1 number", len(values))
    if text.strip(" \t\r\n") != text:
        forgive_blanks(element, attribute, owner)
    return values[0]


def plain_number(text: str) -> float | None:
    """The number that a text is, without blanks, or None."""
    try:  # as in vector_of
        value = float(text)
        return value if text[0] > " " and text[-1] > " " and text.isascii() and "_" not in text else None
    except ValueError:
        return None


def plain_numbers(element: Element, texts: Callable[[dict[str, str]], tuple[str, ...]]) -> tuple[float, ...] | None:
    """The numbers of several attributes, if all are there and plain; :func:`number_of` looks closer at others."""
    try:  # as in vector_of
        found = texts(element.attributes)
        return tuple(map(float, found)) if _PLAIN("".join(found)) else None
    except (KeyError, ValueError):
        return None


def tensor_of(element: Element, owner: str) -> SymMat3:
    """The six entries of an inertia; those not given are zero."""
    usual = plain_numbers(element, _TENSOR)
    if usual is not None:
        return SymMat3(*usual)
    return SymMat3(*[number_of(element, entry, owner, 0.0) for entry in _ENTRIES])


def numbers_of(element: Element, attribute: str, owner: str) -> Sequence[float]:
    """The numbers of an attribute, as C would read decimal text; Python alone would allow more."""
    text = element.attributes[attribute]
    words = text.split()  # also at blanks of other alphabets: no-break spaces come with text copied from documents
    try:
        if text.isascii() and "_" not in text:
            return [float(word) for word in words]
        if all(word.isascii() for word in words) and "_" not in text:
            forgive_blanks(element, attribute, owner)
            return [float(word) for word in words]
    except ValueError:
        pass
    if "${" in text or "$(" in text:
        hint = RUN_XACRO
    elif "," in text:
        hint = "write decimals with a point and put blanks between numbers"
    else:
        hint = "write plain decimal numbers with blanks between them"
    shown = f'<{element.tag} {attribute}="{clipped(text)}">'
    raise element.error(f"{owner}: {shown} is not numeric; {hint}")


def forgive_blanks(element: Element, attribute: str, owner: str) -> None:
    """Note that an attribute has blanks around what it says."""
    shown = f"<{element.tag} {attribute}={clipped(element.attributes[attribute])!r}>"
    element.forgive("blank", f"{owner}: {shown} has a blank where some readers stumble over it.", "Remove it.")


def wrong_count(element: Element, attribute: str, owner: str, needed: str, got: int) -> ModelError:
    """The error for more or fewer numbers than there should be."""
    shown = f'<{element.tag} {attribute}="{clipped(element.attributes[attribute])}">'
    return element.error(f"{owner}: {shown} needs {needed}, got {got or 'none'}")


# ---- -----------------------------------------------------------------------------------------------------------------
# URDF: visual and collision elements, there and back. Meshes and textures are references; no file is opened.


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
