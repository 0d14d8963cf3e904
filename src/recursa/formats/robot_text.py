"""A model as text that makes the same model again, to the bit.

URDF is not enough for that: its angles round, and gravity, a free base or ties are no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from recursa.model.assemble import assemble
from recursa.model.description import (
    Actuator,
    Closure,
    Description,
    Geometry,
    JointRecord,
    LinkRecord,
    Mimic,
    NamedState,
    Note,
    Relation,
)
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
    # files of earlier versions have none of the following
    others = {name: tuple(map(read, data.get(name, ()))) for name, read in _OTHERS.items()}
    gravity = data.get("gravity")
    return Description(
        **{**data, "links": links, "joints": joints, **others, "gravity": None if gravity is None else tuple(gravity)}
    )


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


def _closure(data: dict[str, Any]) -> Closure:
    placed = {name: _transform(data[name]) for name in ("placement", "placement_on_second")}
    return Closure(**{**data, **placed, "axis": Vec3(*data["axis"])})


def _relation(data: dict[str, Any]) -> Relation:
    return Relation(**{**data, "polynomial": tuple(data["polynomial"])})


def _actuator(data: dict[str, Any]) -> Actuator:
    force = None if data["force"] is None else tuple(data["force"])
    return Actuator(**{**data, "gears": _by_joint(data["gears"]), "force": force})


def _state(data: dict[str, Any]) -> NamedState:
    return NamedState(data["name"], _by_joint(data["q"]), _by_joint(data["v"]))


def _by_joint(data: Any) -> tuple[tuple[str, tuple[float, ...]], ...]:
    return tuple((name, tuple(values)) for name, values in data)


def _note(data: dict[str, Any]) -> Note:
    return Note(**data)


_OTHERS: dict[str, Callable[[Any], Any]] = {
    "closures": _closure,
    "relations": _relation,
    "actuators": _actuator,
    "states": _state,
    "notes": _note,
}


def _transform(data: Any) -> Transform:
    rotation, translation = data
    return Transform(Rotation(*rotation), Vec3(*translation))
