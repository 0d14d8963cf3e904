"""Building a description link by link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from recursa.errors import ModelError
from recursa.model.description import Description, JointRecord, LinkRecord
from recursa.model.inputs import name_of, placement, scalars, symmetric
from recursa.model.joint_inputs import joint_records
from recursa.model.model import WORLD_LINK
from recursa.model.model_variations import frame_records
from recursa.spatial.vec3 import Vec3

_ORIGIN = (0.0, 0.0, 0.0)
_Z = (0.0, 0.0, 1.0)


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
            mass=scalars(mass, 1, f"{where}: mass")[0],
            com=Vec3(*scalars(com, 3, f"{where}: com")),
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
        axis: Sequence[float] = _Z,
        axis2: Sequence[float] | None = None,
        parts: Sequence[Any] | None = None,
        point: Sequence[float] | None = None,
        xyz: Sequence[float] = _ORIGIN,
        rpy: Sequence[float] = _ORIGIN,
        armature: float | Sequence[float] = 0.0,
        damping: float | Sequence[float] = 0.0,
        friction: Any = 0.0,
        limits: Any = None,
        effort: Any = None,
        velocity: Any = None,
        pitch: float | None = None,
        mimic: Any = None,
        stiffness: float = 0.0,
        rest: float = 0.0,
        rotor: Any = None,
        elastic: Any = None,
    ) -> Self:
        """Add a joint between two links, placed at ``xyz``, ``rpy`` in the parent link.

        Simple kinds, which are one joint: "revolute", "continuous", "prismatic", "helical", "spherical", "planar",
        "translation", "free", "fixed".

        - ``axis``: in the joint's frame. ``point``: a point of it there, for revolute, continuous and helical joints
          whose axis does not pass through the origin of the child.
        - ``pitch``: metres per radian of a helical joint.
        - ``armature``, ``damping``, ``friction``: one number, or one for each freedom. Friction may be a pair instead
          of a number: what opposes positive speeds, and what opposes negative ones.
        - ``limits`` belong to revolute, prismatic and helical joints, ``effort`` and ``velocity`` to these and to
          continuous ones.
        - ``mimic``: a joint name, or (name, multiplier, offset), or a mapping with the keys joint, multiplier, offset.

        Joints of one freedom (revolute, continuous, prismatic, helical) may have

        - ``stiffness``, ``rest``: of a spring at the joint, whose torque is ``-stiffness * (q - rest)``.
        - ``rotor``: an :class:`~recursa.Rotor`, or a mapping of its fields: the motor's rotor behind a gear.
        - ``elastic``: the stiffness between gear and link, or (stiffness, damping), or a mapping of both. Joint "elbow"
          then is the gear's, with the motor's reflected angle and torque, and "elbow.spring" behind it what the spring
          gives way: the link is at the sum of both.

        Compound kinds, which become a chain of simple ones with links without mass between them: joint "wrist" with
        parts 1 and 2 becomes joints "wrist.1" and "wrist.2", and link "wrist.1".

        - "universal": about ``axis``, then about ``axis2``, which the first turn carries along. Parts 1, 2.
        - "euler-zyx", "euler-xyz" and the ten other orders: three turns about coordinate axes, each in the axes that
          those before have turned. Parts rz, ry, rx; an axis that comes twice is rz, rz2.
        - "composite": ``parts``, from the parent outward. Each is ("revolute", axis), a kind alone, or a mapping with
          the key "kind" and any arguments of this method; "name" is what it is called instead of 1, 2, 3.

        Of universal joints and Euler angles, armature, damping, friction, effort and velocity are for all parts, or a
        list with one for each; limits are a list with a pair for each. The parts of a composite joint have their own.

        >>> import recursa as rc
        >>> b = rc.Builder("gimbal").link("ball", mass=1.0, inertia=(0.1, 0.2, 0.3))
        >>> robot = b.joint("turn", "euler-zyx", parent="world", child="ball", damping=0.1).build()
        >>> robot.q_names
        ('turn.rz', 'turn.ry', 'turn.rx')
        """
        where = f"joint '{name_of(name, 'the name of a joint')}'"
        options = {
            "axis": axis, "axis2": axis2, "parts": parts, "point": point, "armature": armature, "damping": damping,
            "friction": friction, "limits": limits, "effort": effort, "velocity": velocity, "pitch": pitch,
            "mimic": mimic, "stiffness": stiffness, "rest": rest, "rotor": rotor, "elastic": elastic,
        }  # fmt: skip
        ends = name_of(parent, f"{where}: parent"), name_of(child, f"{where}: child")
        links, joints = joint_records(name, kind, ends, placement(xyz, rpy, where), options)
        for joint in joints:
            if joint.name in self._joints:
                raise ModelError(f"two joints are called '{joint.name}'")
            self._joints[joint.name] = joint
        for link in links:
            self._add_link(link)
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
