"""Joints that are chains of simple ones: universal, Euler angles, any list of parts.

Every joint kind has its motions H* constant in the moving frame. Where they change with q, as in a universal joint, the
joint becomes several, with links without mass between them; here is the one place where that is done, for every reader.

Joint "wrist" with parts 1 and 2 becomes joints "wrist.1" and "wrist.2", and "wrist.1" is also the link between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from recursa.model.description import JointRecord, LinkRecord
from recursa.model.inputs import unused
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, Vec3

_AXES = {"x": X_AXIS, "y": Y_AXIS, "z": Z_AXIS}


def _about(axes: str) -> tuple[JointRecord, ...]:
    """Parts that turn about coordinate axes one after the other, called rz, ry, rx."""
    names: list[str] = []
    for axis in axes:
        names.append(unused(f"r{axis}", names))
    return tuple(part(name, "revolute", _AXES[axis]) for name, axis in zip(names, axes, strict=True))


def part(name: str, kind: str, axis: Vec3) -> JointRecord:
    """A part of a chain; its ends are known when the chain is laid."""
    return JointRecord(name, kind, "", "", axis=axis)  # type: ignore[arg-type]


EULER: Mapping[str, tuple[JointRecord, ...]] = MappingProxyType(
    {
        f"euler-{''.join(axes)}": _about("".join(axes))
        for axes in product("xyz", repeat=3)
        if axes[0] != axes[1] != axes[2]
    }
)
"""The twelve orders of Euler angles: "euler-zyx" turns about z, then the turned y, then the x that both have turned."""


def chained(joint: JointRecord, parts: Sequence[JointRecord]) -> tuple[tuple[LinkRecord, ...], tuple[JointRecord, ...]]:
    """The links and joints that stand for one joint made of parts, from its parent outward.

    Of ``joint`` count name, ends, placement, what comes after, and line; of the parts everything but the ends, their
    names behind that of the joint. Each part's placement is in the moving frame of the part before.

    >>> links, joints = chained(JointRecord("wrist", "free", "arm", "hand"), EULER["euler-zxz"])
    >>> [link.name for link in links], [(one.name, one.parent, one.child) for one in joints][1:]
    (['wrist.rz', 'wrist.rx'], [('wrist.rx', 'wrist.rz', 'wrist.rx'), ('wrist.rz2', 'wrist.rx', 'hand')])
    """
    names = [f"{joint.name}.{one.name}" for one in parts]
    ends = [joint.parent, *names[:-1], joint.child]
    joints = [
        replace(one, name=name, parent=ends[k], child=ends[k + 1], line=joint.line)
        for k, (one, name) in enumerate(zip(parts, names, strict=True))
    ]
    joints[0] = replace(joints[0], placement=joint.placement @ joints[0].placement)
    joints[-1] = replace(joints[-1], after=joints[-1].after @ joint.after)
    return tuple(LinkRecord(name, frame=True, line=joint.line) for name in names[:-1]), tuple(joints)
