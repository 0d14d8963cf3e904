"""Building a description link by link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from recursa.errors import ModelError, did_you_mean
from recursa.model.description import DRIVEN, JOINT_TYPES, LIMITED, Description, JointRecord, LinkRecord, Mimic
from recursa.model.inputs import finite, floats, limits_of, name_of, per_freedom, placement, symmetric
from recursa.model.joints import KINDS
from recursa.model.model import WORLD_LINK
from recursa.model.variations import frame_records
from recursa.spatial.vec3 import Vec3


class DescriptionBuilder:
    """Collects links, joints and frames; the link "world" exists already."""

    def __init__(self, name: str, *, provenance: str = "") -> None:
        self._name = name_of(name, "the name of a robot")
        self._provenance = provenance
        self._links: dict[str, LinkRecord] = {WORLD_LINK: LinkRecord(WORLD_LINK)}
        self._joints: dict[str, JointRecord] = {}

    def link(
        self, name: str, *, mass: float = 0.0, com: Sequence[float] = (0.0, 0.0, 0.0), inertia: Any = (0.0, 0.0, 0.0)
    ) -> Self:
        """Add a link. ``com`` in link coordinates; ``inertia`` about the centre of mass in link axes.

        ``inertia`` is 3x3, or (xx, yy, zz), or (xx, yy, zz, xy, xz, yz) as matrix entries.
        """
        where = f"link '{name_of(name, 'the name of a link')}'"
        record = LinkRecord(
            name,
            mass=floats(mass, 1, f"{where}: mass")[0],
            com=Vec3(*floats(com, 3, f"{where}: com")),
            inertia=symmetric(inertia, f"{where}: inertia"),
            inertial=True,
        )
        return self._add_link(record)

    def joint(
        self,
        name: str,
        kind: str,
        *,
        parent: str,
        child: str,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        xyz: Sequence[float] = (0.0, 0.0, 0.0),
        rpy: Sequence[float] = (0.0, 0.0, 0.0),
        armature: float | Sequence[float] = 0.0,
        damping: float | Sequence[float] = 0.0,
        friction: float | Sequence[float] = 0.0,
        limits: tuple[float, float] | None = None,
        effort: float | None = None,
        velocity: float | None = None,
        pitch: float | None = None,
        mimic: Any = None,
    ) -> Self:
        """Add a joint of any kind between two links, placed at ``xyz``, ``rpy`` in the parent link.

        ``limits`` belong to revolute, prismatic and helical joints, ``effort`` and ``velocity`` to these and to
        continuous ones, ``pitch`` (metres per radian) to helical ones. ``mimic`` is a joint name, or (name,
        multiplier, offset), or a mapping with the keys joint, multiplier, offset.
        """
        where = f"joint '{name_of(name, 'the name of a joint')}'"
        if kind not in JOINT_TYPES:
            raise ModelError(f"{where}: unknown kind {kind!r}. {did_you_mean(str(kind), JOINT_TYPES)}")
        if name in self._joints:
            raise ModelError(f"two joints are called '{name}'")
        if (pitch is not None) != (kind == "helical"):
            need = "needs a pitch in metres per radian" if kind == "helical" else "has no pitch; only helical joints do"
            raise ModelError(f"{where}: a {kind} joint {need}")
        _require_kind(where, "limits", limits, kind, LIMITED)
        _require_kind(where, "effort", effort, kind, DRIVEN)
        _require_kind(where, "velocity", velocity, kind, DRIVEN)
        nv = KINDS[kind].nv if kind in KINDS else 0
        self._joints[name] = JointRecord(
            name,
            kind,  # type: ignore[arg-type]
            name_of(parent, f"{where}: parent"),
            name_of(child, f"{where}: child"),
            placement=placement(xyz, rpy, where),
            axis=Vec3(*floats(axis, 3, f"{where}: axis")),
            pitch=0.0 if pitch is None else finite(pitch, f"{where}: pitch"),
            armature=per_freedom(armature, nv, f"{where}: armature"),
            damping=per_freedom(damping, nv, f"{where}: damping"),
            friction=per_freedom(friction, nv, f"{where}: friction"),
            limits=limits_of(limits, f"{where}: limits"),
            effort=None if effort is None else floats(effort, 1, f"{where}: effort")[0],
            velocity=None if velocity is None else floats(velocity, 1, f"{where}: velocity")[0],
            mimic=_mimic(mimic, where),
        )
        return self

    def frame(
        self, name: str, *, parent: str, xyz: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> Self:
        """Add a named frame fixed in a link; it counts as a link name."""
        owner = name_of(parent, f"frame '{name}': parent")
        record, joint = frame_records(name, owner, xyz, rpy, self._joints)
        self._add_link(record)
        self._joints[joint.name] = joint
        return self

    def description(self) -> Description:
        """What has been collected so far."""
        return Description(
            self._name, tuple(self._links.values()), tuple(self._joints.values()), provenance=self._provenance
        )

    def _add_link(self, record: LinkRecord) -> Self:
        existing = self._links.get(record.name)
        if existing is not None:
            raise ModelError(f"two links are called '{record.name}'")
        self._links[record.name] = record
        return self


def _require_kind(where: str, what: str, value: Any, kind: str, kinds: Sequence[str]) -> None:
    """Refuse data that a joint of this kind cannot have."""
    if value is not None and kind not in kinds:
        raise ModelError(f"{where}: a {kind} joint has no {what}; {', '.join(kinds)} joints do")


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
