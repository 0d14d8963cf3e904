"""Robots as MuJoCo reads them itself: URDF and MJCF files; and its quaternions."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np

from recursa.errors import ModelError
from recursa.formats.mjcf import compile_mjcf
from recursa.formats.source import Source
from recursa.interop.peer import Array


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
        first = " ".join(str(error).removeprefix("Error:").split())
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
    return unconstrained(spec.compile())


def unconstrained(model: Any) -> Any:
    """The model without contacts, limits, equalities and motors."""
    import mujoco

    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_EQUALITY
    model.opt.disableflags |= flags.mjDSBL_ACTUATION
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    return model


# ---- its own reading of an MJCF --------------------------------------------------------------------------------------


def read_mjcf(source: Source) -> Any:
    """MuJoCo's model of an MJCF, with what it needs for the masses of bodies; looks are left out."""
    import mujoco

    model = unconstrained(compile_mjcf(source)[0])
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        model.opt.gravity[:] = 0.0
    return model
