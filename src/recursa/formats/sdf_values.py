"""Numbers, words and poses of SDF, which stand between tags rather than in attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recursa.formats.xml import Element, clipped
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import Vec3

_NO_LIMIT = 1e16  # what versions up to 1.6 write for infinity
_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")


def name_of(element: Element, what: str) -> str:
    """The attribute ``name``, which must be there."""
    name = element.attributes.get("name", "")
    if not name:
        raise element.error(f"a <{clipped(element.tag)}> has no name; every {what} needs one")
    return name


def word(element: Element | None, tag: str, default: str = "") -> str:
    """The text of a child element; the default if there is none."""
    child = None if element is None else element.child(tag)
    return default if child is None else child.text.strip()


def flag(element: Element | None, tag: str, owner: str, default: bool = False) -> bool:
    """A child element that is true or false."""
    child = None if element is None else element.child(tag)
    if child is None:
        return default
    text = child.text.strip()
    if text not in (*_TRUE, *_FALSE):
        raise child.error(f"{owner}: <{tag}> is '{clipped(text)}', neither true nor false")
    return text in _TRUE


def marked(element: Element, attribute: str) -> bool:
    """Whether an attribute says true."""
    return element.attributes.get(attribute, "") in _TRUE


def number(element: Element | None, tag: str, owner: str, default: float) -> float:
    """One number in a child element; the default if there is none."""
    child = None if element is None else element.child(tag)
    if child is None or not child.text.strip():
        return default
    values = numbers(child, owner)
    if len(values) != 1:
        raise child.error(f"{owner}: <{tag}> needs 1 number, got {len(values)}")
    return values[0]


def vector(element: Element | None, tag: str, owner: str, default: Vec3) -> Vec3:
    """Three numbers in a child element; the default if there is none."""
    child = None if element is None else element.child(tag)
    if child is None or not child.text.strip():
        return default
    values = numbers(child, owner)
    if len(values) != 3:
        raise child.error(f"{owner}: <{tag}> needs 3 numbers, got {len(values)}")
    return Vec3(*values)


def bound(element: Element | None, tag: str, owner: str, default: float) -> float:
    """A limit; numbers of 1e16 and more are infinite."""
    value = number(element, tag, owner, default)
    return math.copysign(math.inf, value) if abs(value) >= _NO_LIMIT else value


def strength(element: Element | None, tag: str, owner: str) -> float | None:
    """A largest effort or speed; None where there is none, which negative and infinite numbers say, too."""
    value = bound(element, tag, owner, math.inf)
    return None if value < 0.0 or value == math.inf else value


def numbers(element: Element, owner: str) -> Sequence[float]:
    """The numbers between the tags of an element."""
    text = element.text
    words = text.split()
    if text.isascii() and "_" not in text:
        try:
            return [float(one) for one in words]
        except ValueError:
            pass
    shown = f"<{clipped(element.tag)}>{clipped(text.strip())}</{clipped(element.tag)}>"
    raise element.error(f"{owner}: {shown} is not numeric; write plain decimal numbers with blanks between them")


def pose_of(element: Element | None, owner: str) -> Transform:
    """The pose in a ``<pose>``: ``x y z roll pitch yaw``, in degrees if it says so, or with a quaternion (x y z w)."""
    if element is None or not element.text.strip():
        return IDENTITY_TRANSFORM
    values = numbers(element, owner)
    form = element.attributes.get("rotation_format", "euler_rpy")
    if form not in ("euler_rpy", "quat_xyzw"):
        raise element.error(f"{owner}: rotation_format '{clipped(form)}' must be 'euler_rpy' or 'quat_xyzw'")
    needed = 7 if form == "quat_xyzw" else 6
    if len(values) != needed:
        raise element.error(f"{owner}: <pose> needs {needed} numbers, got {len(values)}")
    xyz = Vec3(*values[:3])
    if form == "quat_xyzw":
        return Transform(_quaternion(element, values[3:], owner), xyz)
    scale = math.pi / 180.0 if marked(element, "degrees") else 1.0
    rpy = [angle * scale if math.isfinite(angle) else math.nan for angle in values[3:]]
    return Transform(Rotation.from_constant_rpy(*rpy) if any(rpy) else IDENTITY, xyz)


def _quaternion(element: Element, values: Sequence[float], owner: str) -> Rotation:
    quaternion = Quaternion(*values)
    if not 0.0 < quaternion.norm_squared() < math.inf:
        raise element.error(f"{owner}: the quaternion of <pose> gives no rotation; no rotation is '0 0 0 1'")
    return Rotation.from_quaternion(quaternion).snapped()


def base_of(element: Element | None) -> str:
    """The frame that a ``<pose>`` names as what it is relative to; "" if none."""
    return "" if element is None else element.attributes.get("relative_to", "")
