"""A model as text that makes the same model again, to the bit.

URDF is not enough for that: its angles round, and gravity, a free base or ties are no part of it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from recursa.model.assemble import assemble
from recursa.model.description import Description, Geometry, JointRecord, LinkRecord, Mimic, Note
from recursa.model.model import Model
from recursa.spatial.rotation import Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3, Vec3


def model_text(model: Model) -> str:
    """The model's description and options as JSON; numbers keep all their bits.

    >>> import recursa as rc
    >>> model = rc.robots.free_flyer(2).model
    >>> model_from_text(model_text(model)).digest == model.digest
    True
    """
    options = {"gravity": model.gravity, "floating": model.floating, "mimic": model.mimic}
    return json.dumps({"description": asdict(model.description), **options}, ensure_ascii=False)


def model_from_text(text: str) -> Model:
    """The model again. Text that was not written by :func:`model_text` is a KeyError, TypeError or ValueError."""
    data = json.loads(text)
    return assemble(
        _description(data["description"]), gravity=data["gravity"], floating=data["floating"], mimic=data["mimic"]
    )


def _description(data: dict[str, Any]) -> Description:
    links, joints = tuple(map(_link, data["links"])), tuple(map(_joint, data["joints"]))
    notes = tuple(Note(**note) for note in data.get("notes", ()))  # files of earlier versions have none
    return Description(**{**data, "links": links, "joints": joints, "notes": notes})


def _link(data: dict[str, Any]) -> LinkRecord:
    shapes = tuple(Geometry(**{**shape, "origin": Vec3(*shape["origin"])}) for shape in data["geometry"])
    parts = {"com": Vec3(*data["com"]), "inertia": SymMat3(*data["inertia"]), "geometry": shapes}
    return LinkRecord(**{**data, **parts})


def _joint(data: dict[str, Any]) -> JointRecord:
    parts = {name: tuple(data[name]) for name in ("armature", "damping", "friction")}
    limits = None if data["limits"] is None else tuple(data["limits"])
    mimic = None if data["mimic"] is None else Mimic(**data["mimic"])
    placed = {name: _transform(data[name]) for name in ("placement", "after")}
    return JointRecord(
        **{**data, **parts, **placed, "axis": Vec3(*data["axis"]), "limits": limits, "mimic": mimic}  # type: ignore[arg-type]
    )


def _transform(data: Any) -> Transform:
    rotation, translation = data
    return Transform(Rotation(*rotation), Vec3(*translation))
