"""Robots as MuJoCo reads them: ours as MJCF text, and its own reading of a URDF.

The compiler of MJCF refuses inertias that no body can have, and real files are full of them. The text that is made here
therefore carries a stand-in for every inertia, and the true numbers are written into the compiled model.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np

from recursa.errors import ModelError
from recursa.interop.peer import Array, matrix_of
from recursa.model.model import WORLD, Joint
from recursa.robot import Robot

_SIMPLE = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball"}
_STAND_IN: dict[str, Any] = {"pos": "0.1 0.2 0.3", "quat": "0.5 0.1 0.7 0.3", "mass": "1", "diaginertia": "1 1.1 1.2"}


# ---- our model as MJCF -----------------------------------------------------------------------------------------------


def to_mjcf(robot: Robot) -> str:
    """The robot with stand-ins for its inertias; body k is called "k", and so is the first joint under it.

    >>> import recursa as rc
    >>> to_mjcf(rc.robots.planar(1)).startswith('<mujoco model="planar1">')
    True
    """
    root = Xml.Element("mujoco", model=robot.name)
    Xml.SubElement(root, "compiler", angle="radian", autolimits="false")
    option = Xml.SubElement(root, "option", gravity=_text(robot.gravity))
    Xml.SubElement(option, "flag", constraint="disable", contact="disable", energy="enable")
    bodies = {WORLD: Xml.SubElement(root, "worldbody")}
    for k, joint in enumerate(robot.model.joints):
        place = matrix_of(joint.placement)
        if joint.parent != WORLD:
            place = matrix_of(robot.model.joints[joint.parent].after) @ place
        where: dict[str, Any] = {"pos": _text(place[:3, 3]), "quat": _text(quaternion_of(place[:3, :3]))}
        bodies[k] = Xml.SubElement(bodies[joint.parent], "body", name=f"{k}", **where)
        Xml.SubElement(bodies[k], "inertial", **_STAND_IN)
        _add_joints(bodies[k], k, joint)
    return Xml.tostring(root, encoding="unicode")


def _add_joints(body: Xml.Element, number: int, joint: Joint) -> None:
    kind, name = joint.kind.name, f"{number}"
    if kind in _SIMPLE:
        ball = kind == "spherical"
        axis: dict[str, Any] = {} if ball else {"axis": _text(joint.hinge.axis)}
        Xml.SubElement(body, "joint", name=name, type=_SIMPLE[kind], **axis)
    elif kind == "free" and joint.parent == WORLD:
        Xml.SubElement(body, "freejoint", name=name)
    elif kind in ("free", "translation"):
        for k, along in enumerate(np.eye(3)):
            Xml.SubElement(body, "joint", name=f"{name}{'abc'[k]}" if k else name, type="slide", axis=_text(along))
        if kind == "free":
            Xml.SubElement(body, "joint", type="ball")
    elif kind == "planar":
        ex, ey, _ = joint.hinge.plane.columns()
        Xml.SubElement(body, "joint", name=name, type="slide", axis=_text(ex))
        Xml.SubElement(body, "joint", type="slide", axis=_text(ey))
        Xml.SubElement(body, "joint", type="hinge", axis=_text(joint.hinge.axis))
    else:
        raise ModelError(f"joint '{joint.name}': MuJoCo has no {kind} joints")


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def quaternion_of(rotation: Array) -> Array:
    """w first, as MuJoCo has it."""
    import mujoco

    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion


def rotation_of(quaternion: Array) -> Array:
    """The rotation of a quaternion with w first."""
    import mujoco

    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.ascontiguousarray(quaternion))
    return flat.reshape(3, 3)


def w_first(quaternion: Array) -> Array:
    """(x, y, z, w) as (w, x, y, z)."""
    return np.roll(quaternion, 1)


# ---- its own reading of a URDF ---------------------------------------------------------------------------------------


def read_urdf(urdf: str, floating: str | None) -> tuple[Any, str]:
    """MuJoCo's model of a URDF text and a remark on how it came to be.

    ``floating`` is the link that gets a free joint. Every link stays a body. Meshes are left out, as their files need
    not be there. Where MuJoCo refuses an inertia, it is let alter it ("balanceinertia").
    """
    root = Xml.fromstring(urdf)
    for link in root.iter("link"):
        for shape in list(link):
            if shape.tag == "visual" or (shape.tag == "collision" and shape.find(".//mesh") is not None):
                link.remove(shape)
    for own in root.findall("mujoco"):
        root.remove(own)
    compiler = Xml.SubElement(Xml.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    try:
        return _compiled(root, floating), ""
    except ValueError as error:
        first = _one_line(error)
    compiler.set("balanceinertia", "true")
    try:
        return _compiled(root, floating), f"MuJoCo refused the file ({first}) and was let alter its inertias"
    except ValueError:
        raise ModelError(f"MuJoCo cannot read this robot: {first}. Try --through model") from None


def _compiled(root: Xml.Element, floating: str | None) -> Any:
    import mujoco

    spec = mujoco.MjSpec.from_string(Xml.tostring(root, encoding="unicode"))
    if floating is not None:
        base = spec.body(floating)
        if base is None or base.name == spec.worldbody.name:
            raise ValueError(f"its reader takes link '{floating}' for the world, which cannot float")
        base.add_freejoint().name = "root"
    model = spec.compile()
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_EQUALITY
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    return model


def _one_line(error: Exception) -> str:
    return " ".join(str(error).removeprefix("Error:").split())
