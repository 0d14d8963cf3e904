"""Joints as users describe them, simple or compound -> the records that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from numbers import Real
from types import MappingProxyType
from typing import Any

from recursa.errors import ModelError, did_you_mean
from recursa.model.description import DRIVEN, JOINT_TYPES, LIMITED, PITCHED, TURNING, JointRecord, LinkRecord, Mimic
from recursa.model.inputs import (
    elasticity_of,
    finite,
    finite_scalar,
    floats,
    frictions,
    limits_of,
    name_of,
    per_freedom,
    placement,
    rotor_of,
    scalars,
    unused,
)
from recursa.model.joints import KINDS
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, Vec3

# ---- joints that are chains of simple ones: universal, Euler angles, any list of parts -------------------------------
# Every joint kind has its motions H* constant in the moving frame. Where they change with q, as in a universal joint,
# the joint becomes several, with links without mass between them; here is the one place where that is done, for every
# reader.
#
# Joint "wrist" with parts 1 and 2 becomes joints "wrist.1" and "wrist.2", and "wrist.1" is also the link between them.


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


COMPOUNDS = ("universal", *EULER, "composite")
"""Kinds that become chains of simple joints."""

_DEFAULTS: Mapping[str, Any] = {
    "axis": (0.0, 0.0, 1.0), "axis2": None, "parts": None, "point": None, "armature": 0.0, "damping": 0.0,
    "friction": 0.0, "limits": None, "effort": None, "velocity": None, "pitch": None, "mimic": None,
    "stiffness": 0.0, "rest": 0.0, "rotor": None, "elastic": None,
}  # fmt: skip
TRANSMISSION = ("stiffness", "rest", "rotor", "elastic")
"""What joints of one freedom can have between their motor and their links."""
_OF_PARTS = (*_DEFAULTS, "name", "kind", "xyz", "rpy")

Options = Mapping[str, Any]
Records = tuple[tuple[LinkRecord, ...], tuple[JointRecord, ...]]


def joint_records(name: str, kind: str, ends: tuple[str, str], placed: Transform, options: Options) -> Records:
    """The links and joints of one joint: of a compound kind several, with the links between them."""
    where = f"joint '{name}'"
    if kind not in (*JOINT_TYPES, *COMPOUNDS):
        known = did_you_mean(str(kind), (*JOINT_TYPES, *COMPOUNDS))
        hint = "It is made of six simple joints and a projection: robots.md" if kind == "ellipsoid" else known
        raise ModelError(f"{where}: unknown kind {kind!r}. {hint}")
    _require(where, "second axis axis2", options["axis2"], kind, ("universal",))
    _require(where, "parts", options["parts"], kind, ("composite",))
    if kind not in COMPOUNDS:
        return (), (replace(_simple(where, name, kind, placed, options), parent=ends[0], child=ends[1]),)
    whole = JointRecord(name, "fixed", *ends, placement=placed)
    _require_transmission(where, options, kind, (*DRIVEN, "parts of composite"))
    if kind == "composite":
        return chained(whole, _composite(where, name, options))
    for what in ("point", "pitch", "mimic"):
        _require(where, what, options[what], kind, {"pitch": PITCHED, "mimic": DRIVEN}.get(what, TURNING))
    return chained(whole, _with_own(where, EULER[kind] if kind in EULER else _universal(where, options), options))


# ---- one joint -------------------------------------------------------------------------------------------------------


def _simple(where: str, name: str, kind: str, placed: Transform, options: Options) -> JointRecord:
    if (options["pitch"] is not None) != (kind in PITCHED):
        need = (
            "needs a pitch in metres per radian"
            if kind in PITCHED
            else f"has no pitch; only {', '.join(PITCHED)} joints do"
        )
        raise ModelError(f"{where}: a {kind} joint {need}")
    _require(where, "limits", options["limits"], kind, LIMITED)
    _require(where, "effort", options["effort"], kind, DRIVEN)
    _require(where, "velocity", options["velocity"], kind, DRIVEN)
    _require(where, "point", options["point"], kind, TURNING)
    _require_transmission(where, options, kind, DRIVEN)
    nv = KINDS[kind].nv if kind in KINDS else 0
    record = JointRecord(
        name,
        kind,  # type: ignore[arg-type]
        "",
        "",
        placement=placed,
        axis=Vec3(*floats(options["axis"], 3, f"{where}: axis")),
        pitch=0.0 if options["pitch"] is None else finite_scalar(options["pitch"], f"{where}: pitch"),
        armature=per_freedom(options["armature"], nv, f"{where}: armature"),
        damping=per_freedom(options["damping"], nv, f"{where}: damping"),
        friction=frictions(options["friction"], nv, f"{where}: friction"),
        limits=limits_of(options["limits"], f"{where}: limits"),
        effort=_strength(options, "effort", where),
        velocity=_strength(options, "velocity", where),
        mimic=_mimic(options["mimic"], where),
        **transmission({what: options[what] for what in TRANSMISSION}, where),
    )
    return record if options["point"] is None else _beside(record, options["point"], where)


def transmission(given: Options, where: str) -> dict[str, Any]:
    """Springs, rotor and elasticity, as far as they are given, checked."""
    readers = {"stiffness": finite_scalar, "rest": finite_scalar, "rotor": rotor_of, "elastic": elasticity_of}
    return {what: readers[what](value, f"{where}: {what}") for what, value in given.items()}


def _beside(record: JointRecord, point: Any, where: str) -> JointRecord:
    """The joint moved to a point of its axis, and back behind it: at q = 0 the child stands where it stood."""
    at = Vec3(*(finite_scalar(x, f"{where}: point") for x in scalars(point, 3, f"{where}: point")))
    placed = record.placement @ Transform(IDENTITY, at)
    return replace(record, placement=placed, after=Transform(IDENTITY, -at))


def _strength(options: Options, what: str, where: str) -> float | None:
    return None if options[what] is None else floats(options[what], 1, f"{where}: {what}")[0]


def _require(where: str, what: str, value: Any, kind: str, kinds: Sequence[str]) -> None:
    """Refuse data that a joint of this kind cannot have."""
    if value is not None and kind not in kinds:
        raise ModelError(f"{where}: a {kind} joint has no {what}; {', '.join(kinds)} joints do")


def _require_transmission(where: str, options: Options, kind: str, kinds: Sequence[str]) -> None:
    for what in TRANSMISSION:
        none = isinstance(options[what], Real) and options[what] == 0.0
        _require(where, what, None if none else options[what], kind, kinds)


def _mimic(value: Any, where: str) -> Mimic | None:
    if value is None or isinstance(value, Mimic):
        return value
    if isinstance(value, str):
        return Mimic(name_of(value, f"{where}: mimic"))
    try:
        mimic = Mimic(**value) if isinstance(value, Mapping) else Mimic(*value)
    except TypeError:
        raise ModelError(f"{where}: mimic must be a joint name or (joint, multiplier, offset), not {value!r}") from None
    return Mimic(
        name_of(mimic.joint, f"{where}: mimic"),
        finite(mimic.multiplier, f"{where}: mimic multiplier"),
        finite(mimic.offset, f"{where}: mimic offset"),
    )


# ---- several ---------------------------------------------------------------------------------------------------------


def _universal(where: str, options: Options) -> tuple[JointRecord, ...]:
    if options["axis2"] is None:
        raise ModelError(f"{where}: a universal joint needs a second axis: axis2=(0, 1, 0)")
    one, two = (Vec3(*floats(options[what], 3, f"{where}: {what}")) for what in ("axis", "axis2"))
    if one.cross(two).norm() <= 1e-6 * one.norm() * two.norm():
        raise ModelError(
            f"{where}: the axes {tuple(one)} and {tuple(two)} of a universal joint must be two, not parallel or zero"
        )
    return part("1", "revolute", one), part("2", "revolute", two)  # the second turns along with the first


def _with_own(where: str, parts: Sequence[JointRecord], options: Options) -> list[JointRecord]:
    """Parts of one freedom each with their share of what was given for all."""
    count = len(parts)
    shares: dict[str, Sequence[Any]] = {
        "armature": per_freedom(options["armature"], count, f"{where}: armature"),
        "damping": per_freedom(options["damping"], count, f"{where}: damping"),
        "friction": frictions(options["friction"], count, f"{where}: friction"),
        "limits": _pairs(where, options["limits"], count),
    }
    for what in ("effort", "velocity"):
        given = options[what]
        shares[what] = (None,) * count if given is None else per_freedom(given, count, f"{where}: {what}")
    own = [{what: values[k] for what, values in shares.items()} for k in range(count)]
    return [
        _simple(where, one.name, one.kind, IDENTITY_TRANSFORM, {**_DEFAULTS, "axis": one.axis, **share})
        for one, share in zip(parts, own, strict=True)
    ]


def _pairs(where: str, limits: Any, count: int) -> Sequence[Any]:
    if limits is None:
        return (None,) * count
    if not isinstance(limits, Sequence) or len(limits) != count:
        raise ModelError(f"{where}: limits must be a list of {count} pairs, one for each part, not {limits!r}")
    return limits


def _composite(where: str, name: str, options: Options) -> list[JointRecord]:
    for what, value in options.items():
        if what != "parts" and not _is_default(what, value):
            raise ModelError(
                f"{where}: the {what} of a composite joint belongs to its parts: "
                f"parts=[{{'kind': 'revolute', '{what}': ...}}, ...]"
            )
    try:
        parts = [] if isinstance(options["parts"], str) else list(options["parts"])
    except TypeError:
        parts = []
    if not parts:
        raise ModelError(
            f"{where}: a composite joint needs parts=[('revolute', (0, 0, 1)), ...], from the parent outward"
        )
    records = [_part(where, k, item) for k, item in enumerate(parts, 1)]
    names = [record.name for record in records]
    doubled = next((one for one in names if names.count(one) > 1), None)
    if doubled is not None:
        raise ModelError(f"{where}: two of its parts are called '{doubled}'")
    return records


def _is_default(what: str, value: Any) -> bool:
    default = _DEFAULTS[what]
    return value is default or (isinstance(value, type(default)) and bool(value == default))


def _part(where: str, number: int, item: Any) -> JointRecord:
    given = _options_of(f"{where}, part {number}", item)
    name = name_of(given.pop("name", str(number)), f"{where}, part {number}: name")
    own, kind = f"{where}, part '{name}'", given.pop("kind", None)
    if kind not in KINDS:
        raise ModelError(f"{own}: a part is of a simple kind, not {kind!r}. {did_you_mean(str(kind), KINDS)}")
    placed = placement(given.pop("xyz", (0.0, 0.0, 0.0)), given.pop("rpy", (0.0, 0.0, 0.0)), own)
    options = {**_DEFAULTS, **given}
    for what in ("axis2", "parts"):
        _require(own, what, options[what], kind, ("universal" if what == "axis2" else "composite",))
    return _simple(own, name, kind, placed, options)


def _options_of(where: str, item: Any) -> dict[str, Any]:
    """A part as arguments by name."""
    if isinstance(item, str):
        return {"kind": item}
    if isinstance(item, Mapping):
        for key in item:
            if key not in _OF_PARTS:
                raise ModelError(f"{where}: unknown argument {key!r}. {did_you_mean(str(key), _OF_PARTS)}")
        return dict(item)
    if isinstance(item, Sequence) and len(item) == 2 and isinstance(item[0], str):
        return {"kind": item[0], "axis": item[1]}
    raise ModelError(
        f"{where} must be (kind, axis), a kind, or a mapping of arguments with the key 'kind', not {item!r}"
    )
