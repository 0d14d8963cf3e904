"""The Model: a robot as checked, frozen, plain data. Hashable by content, picklable, safe to share between threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import ClassVar

from recursa.errors import UnknownNameError, unknown_name
from recursa.model.constraint_equations import Equation, equations_of, told_of
from recursa.model.description import Description, Friction, Mimic, Rotor
from recursa.model.description import MimicMode as MimicMode
from recursa.model.joint_kind import Hinge, JointKind
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3

WORLD = -1
"""Index of the world where a body index is expected."""

WORLD_LINK = "world"
"""A root link of this name without inertia is the world."""


@dataclass(frozen=True)
class Tie:
    """The joint follows joint number ``source``: ``q = multiplier * q_source + offset``."""

    constants: ClassVar = ("multiplier", "offset")
    """The fields whose numbers enter the arithmetic; code that loops over bodies reads them from a table."""

    source: int
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Couple:
    """What rotors with joints of their own do to the joint that they drive, per unit of its speed: ``J N s``.

    ``beside`` is that of a rotor on the parent, in its axes, ``carried`` of one on the child, in its; ``reflected`` is
    ``J N^2`` of both.
    """

    constants: ClassVar = ("beside", "carried", "reflected")

    beside: Vec3
    carried: Vec3
    reflected: float


@dataclass(frozen=True, slots=True)
class Joint:
    """A moving joint with its constants, ready for the sweeps. Joint k carries body k.

    ``parent`` is the body it hangs on (or WORLD); the child link's frame stands at ``placement J(q) after`` in that
    body's frame, ``after`` being ``None`` where it is the identity. ``q_start`` and ``v_start`` say where its
    coordinates are; a tied joint points at its source's. ``armature`` has what a rotor adds to it.
    """

    constants: ClassVar[tuple[str, ...]] = (
        "placement", "after", "hinge", "armature", "damping", "friction", "tie", "stiffness", "rest", "rotor",
        "couple",
    )  # fmt: skip
    """The fields whose numbers enter the arithmetic; code that loops over bodies reads them from a table."""

    name: str
    kind: JointKind
    child: str
    parent: int
    placement: Transform
    after: Transform | None
    hinge: Hinge
    q_start: int
    v_start: int
    armature: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[Friction, ...]
    limits: tuple[float, float] | None
    effort: float | None
    velocity: float | None
    mimic: Mimic | None
    tie: Tie | None
    stiffness: float = 0.0
    rest: float = 0.0
    rotor: Rotor | None = None
    couple: Couple | None = None
    acceleration: float | None = field(default=None, repr=False)
    jerk: float | None = field(default=None, repr=False)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Pose of this body in its parent body."""
        moved = self.placement @ self.kind.transform(self.hinge, q)
        return moved if self.after is None else moved @ self.after

    def motion(self, v: Sequence[Scalar]) -> Motion:
        """``H* v``: motion across the joint, at this body's origin in its axes."""
        across = self.kind.motion(self.hinge, v)
        return across if self.after is None else self.after.inverse_motion(across)

    def columns(self) -> tuple[Motion, ...]:
        """H*, one motion per freedom, at this body's origin in its axes."""
        columns = self.kind.columns(self.hinge)
        return columns if self.after is None else tuple(self.after.inverse_motion(c) for c in columns)

    def project(self, force: Force) -> tuple[Scalar, ...]:
        """``H f`` of a force at this body's origin in its axes."""
        return self.kind.project(self.hinge, force if self.after is None else self.after.force(force))

    def coordinates(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """This joint's own coordinates from the robot's."""
        own = tuple(q[self.q_start : self.q_start + self.kind.nq])
        return own if self.tie is None else (own[0] * self.tie.multiplier + self.tie.offset,)

    def rates(self, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """This joint's own speeds (or accelerations) from the robot's."""
        own = tuple(v[self.v_start : self.v_start + self.kind.nv])
        return own if self.tie is None else (own[0] * self.tie.multiplier,)

    @property
    def independent(self) -> bool:
        """Whether it has coordinates of its own."""
        return self.tie is None


@dataclass(frozen=True, slots=True)
class Link:
    """A link or named frame: the body it is part of (or WORLD) and its pose in that body."""

    name: str
    body: int
    offset: Transform
    frame: bool


@dataclass(frozen=True)
class Model:
    """A robot, assembled. Two models are equal when their description and options are equal."""

    description: Description
    gravity: tuple[float, float, float]
    floating: bool
    mimic: MimicMode
    joints: tuple[Joint, ...] = field(compare=False)
    inertias: tuple[RigidInertia, ...] = field(compare=False)
    links: tuple[Link, ...] = field(compare=False)
    nq: int = field(compare=False)
    nv: int = field(compare=False)

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.description.name

    @property
    def nbodies(self) -> int:
        """Number of moving bodies after fixed joints are merged."""
        return len(self.joints)

    @cached_property
    def total_mass(self) -> float:
        """Mass of all moving bodies."""
        return sum((inertia.mass for inertia in self.inertias), 0.0)

    @property
    def how_to_untie(self) -> str:
        """What to do where joints have to be independent, as a sentence without its end."""
        gears = [joint.name for joint in self.joints if joint.mimic is not None and joint.mimic.rigid]
        if not gears:
            return 'Load it with mimic="free"'
        return (
            f"'{gears[0]}' is a rotor with a joint of its own: one about its joint's axis, or coupled=False, has none"
        )

    @cached_property
    def unit_length(self) -> float:
        """A length of the robot's own size: how far joints, links and frames lie from what carries them, on average.

        With lengths in this unit, turning and moving can be compared, whatever unit the model is in.
        """
        offsets = [*(joint.placement.translation for joint in self.joints), *(x.offset.translation for x in self.links)]
        sizes = [size for size in (float(Vec3(*offset).norm()) for offset in offsets) if size > 0.0]
        return sum(sizes) / len(sizes) if sizes else 1.0

    @cached_property
    def has_springs(self) -> bool:
        """Whether some joint has a spring."""
        return any(joint.stiffness != 0.0 for joint in self.joints)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """What its constraints are: frames on bodies, joints by number, rows."""
        return equations_of(self)

    @cached_property
    def ncon(self) -> int:
        """Number of scalar equations of its constraints."""
        return sum(len(one.units) for one in self.equations)

    @cached_property
    def ntold(self) -> int:
        """Number of accelerations that are prescribed."""
        return sum(len(one.units) for one in self.equations if told_of(one) is not None)

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """Where in q quaternions start."""
        return tuple(j.q_start + j.kind.quaternion for j in self.joints if j.kind.quaternion is not None)

    @cached_property
    def digest(self) -> str:
        """A stable fingerprint of the content, the same in every process."""
        import hashlib  # slow to import, seldom needed

        return hashlib.sha256(repr(_content(self)).encode()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """The same of everything that is made from the content too, to the bit."""
        import hashlib

        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def lasting(self) -> bool:
        """Whether its kinds of joints are this package's: then it is the same robot wherever the fingerprint is."""
        home = __name__.partition(".")[0] + "."
        return all(type(joint.kind).__module__.startswith(home) for joint in self.joints)

    @cached_property
    def _link_numbers(self) -> Mapping[str, int]:
        return {link.name: k for k, link in enumerate(self.links)}

    @cached_property
    def _joint_numbers(self) -> Mapping[str, int]:
        return {joint.name: k for k, joint in enumerate(self.joints)}

    def link_index(self, name: str) -> int:
        """Number of a link or frame; an unknown name is an error with a proposal."""
        return self._index("link", name, self._link_numbers)

    def joint_index(self, name: str) -> int:
        """Number of a moving joint; an unknown name is an error with a proposal."""
        return self._index("joint", name, self._joint_numbers)

    def _index(self, kind: str, name: str, numbers: Mapping[str, int]) -> int:
        try:
            return numbers[name]
        except (KeyError, TypeError):
            raise self.unknown(kind, name, numbers) from None

    def unknown(self, kind: str, name: object, known: Mapping[str, object]) -> UnknownNameError:
        """The error for a link or joint that does not exist; a joint taken for a link is told, and the reverse."""
        owner = f"robot '{self.name}'"
        if kind == "link":
            for joint in self.description.joints:
                if joint.name == name:
                    return UnknownNameError(
                        f"no link '{name}' in {owner}. '{name}' is a joint; the link that it carries is '{joint.child}'"
                    )
        else:
            for link in self.links:
                if link.name == name and link.body != WORLD and self.joints[link.body].name in known:
                    return UnknownNameError(
                        f"no {kind} '{name}' in {owner}. '{name}' is a link; the joint that moves it is "
                        f"'{self.joints[link.body].name}'"
                    )
        return unknown_name(kind, name, known, owner=owner)

    def support(self, body: int) -> tuple[int, ...]:
        """The bodies from the base out to ``body``: those whose joints move it."""
        path = []
        while body != WORLD:
            path.append(body)
            body = self.joints[body].parent
        return tuple(reversed(path))

    @cached_property
    def siblings(self) -> tuple[tuple[int, int], ...]:
        """For every body the nearest one on the same parent with a smaller number, and with a larger; WORLD: none."""
        elder, younger, last = [WORLD] * self.nbodies, [WORLD] * self.nbodies, dict[int, int]()
        for body, joint in enumerate(self.joints):
            if joint.parent != WORLD:
                elder[body] = last.get(joint.parent, WORLD)
                if elder[body] != WORLD:
                    younger[elder[body]] = body
                last[joint.parent] = body
        return tuple(zip(elder, younger, strict=True))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every body with each body inward of it, (outer, inner), the parent first."""
        return tuple((body, inner) for body in range(self.nbodies) for inner in self.support(body)[-2::-1])

    @cached_property
    def apart(self) -> tuple[tuple[int, int], ...]:
        """Every two bodies on different branches of a body: both with that body, as numbers of :attr:`pairs`."""
        number = {pair: k for k, pair in enumerate(self.pairs)}
        branch: dict[tuple[int, int], int] = {}  # the outermost body that carries both, or WORLD
        for other, joint in enumerate(self.joints):
            for one in range(other):
                inner = joint.parent
                branch[one, other] = inner if inner in (one, WORLD) else branch[min(one, inner), max(one, inner)]
        return tuple(
            (number[one, body], number[other, body])
            for (one, other), body in branch.items()
            if body not in (one, WORLD)
        )

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}  # without cached values


def _content(value: object) -> object:
    """What counts when two models are compared, as nested tuples; equal numbers (0.0 and -0.0) become the same."""
    if is_dataclass(value):
        return tuple(_content(getattr(value, item.name)) for item in fields(value) if item.compare)
    if isinstance(value, tuple):
        return tuple(_content(item) for item in value)
    return float(value) + 0.0 if isinstance(value, int | float) else value
