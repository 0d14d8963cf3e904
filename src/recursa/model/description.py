"""Plain records of what a file, a table or a builder said, before anything is checked or merged.

Every reader (URDF, Denavit-Hartenberg table, builder) fills in these records; :func:`recursa.model.assemble.assemble`
turns them into a :class:`~recursa.model.model.Model`. Lines of the source file travel along for messages and do not
count when two descriptions are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from recursa.model.constraints import Constraint
from recursa.model.geometry import Geometry as Geometry
from recursa.model.geometry import Material as Material
from recursa.model.joints import KINDS
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SYM_ZERO, X_AXIS, ZERO, SymMat3, Vec3

JointType = Literal[
    "revolute", "continuous", "prismatic", "helical", "spherical", "planar", "translation", "free", "fixed"
]
JOINT_TYPES: tuple[str, ...] = get_args(JointType)

MimicMode = Literal["free", "tie"]
"""Joints that mimic others are free ones, or tied to them."""

LIMITED = tuple(name for name, kind in KINDS.items() if kind.has_limits)
"""Kinds whose coordinate can have limits."""

PITCHED = tuple(name for name, kind in KINDS.items() if kind.has_pitch)
"""Kinds that advance along the line about which they turn."""

TURNING = tuple(name for name, kind in KINDS.items() if kind.turns_about_axis)
"""Kinds that turn about a line."""

DRIVEN = tuple(name for name, kind in KINDS.items() if kind.nv == 1)
"""Kinds that can have a largest effort and speed: those with one freedom."""


MOUNTS = ("parent", "child", "itself")
"""Links of a joint that can carry its motor; "itself" where the child is the rotor, and nothing else."""

Friction = float | tuple[float, float]
"""Coulomb friction of one freedom: of both directions, or against positive speeds and against negative ones."""


def numbers_of(friction: tuple[Friction, ...]) -> tuple[float, ...]:
    """All numbers of a joint's friction, one or two for each freedom."""
    for one in friction:
        if isinstance(one, tuple):
            return tuple(x for one in friction for x in (one if isinstance(one, tuple) else (one,)))
    return friction  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Mimic:
    """A tie ``q = multiplier * q[joint] + offset``; a rigid one, such as a gear's, holds however others are treated."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0
    rigid: bool = False


@dataclass(frozen=True)
class Rotor:
    """A motor's rotor with its gear: it spins ``ratio`` times as fast as its joint moves, about an axis of the link on
    which the motor is mounted.

    - ``inertia``: of the rotor about its axis, kg m^2, not reflected through the gear.
    - ``ratio``: turns of the rotor, relative to the link that carries it, per turn of the joint; negative if it turns
      the other way. On a prismatic joint radians per metre.
    - ``axis``: in the joint's frame at zero, as the joint's own axis is; None is the joint's own.
    - ``mount``: the link that carries it, the joint's "parent" or "child", or any link by its name, in whose axes
      ``axis`` then is. A rotor that has become a link of its own is mounted on "itself", at a ratio of 1.
    - ``included``: whether the data of that link have the rotor's inertia already, as of a part that does not spin.
      Mass and inertia across the axis are always that link's.
    - ``coupled``: False leaves out what a spinning rotor does to the link that carries it and that link's motion to the
      rotor; what remains is armature, ``inertia * ratio**2`` (Spong's assumption).

    >>> import recursa as rc
    >>> rc.robots.planar(2).with_joint("joint2", rotor=rc.Rotor(inertia=2e-5, ratio=100.0)).model.joints[1].rotor.ratio
    100.0
    """

    constants: ClassVar[tuple[str, ...]] = ("inertia", "ratio", "mount", "coupled")

    inertia: float
    ratio: float = 1.0
    axis: Vec3 | None = None
    mount: str = "parent"
    included: bool = True
    coupled: bool = True


@dataclass(frozen=True)
class Elasticity:
    """A spring with a damper between a gear and what it moves: N m/rad and N m s/rad, on the side of the link."""

    stiffness: float
    damping: float = 0.0


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """A link or a named frame.

    ``inertia`` is about the centre of mass, in link axes. ``inertial`` tells whether the source gave mass data at all;
    ``frame`` marks a named frame, or a link that only joins two axes: they have none by nature. ``about_origin`` is
    there where mass, first and second moments about the link's origin are what was given: they count, and the others
    follow from them. ``estimated`` says what mass data were worked out from, if they are not the source's.
    """

    name: str
    mass: float = 0.0
    com: Vec3 = ZERO
    inertia: SymMat3 = SYM_ZERO
    inertial: bool = False
    frame: bool = False
    geometry: tuple[Geometry, ...] = field(default=(), repr=False)  # kernels are found by the repr of a model
    about_origin: RigidInertia | None = None
    estimated: str = field(default="", compare=False, repr=False)
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class JointRecord:
    """A joint from a parent link to a child link.

    The child link's frame stands at ``placement * motion(q) * after`` in the parent link's frame. ``after`` is the
    identity except in standard Denavit-Hartenberg tables, whose link frames sit at the far end of the link. ``axis``
    is as given, unit or not, in the joint's frame. ``armature``, ``damping``, ``friction`` have one entry per freedom,
    which for friction may be a pair: what opposes positive speeds, and what opposes negative ones. Joints of one
    freedom may have a spring, whose torque is ``-stiffness * (q - rest)``, a rotor, and an elasticity behind the gear.
    ``effort``, ``velocity``, ``acceleration`` and ``jerk`` are the largest magnitudes, None where there is no limit.
    """

    name: str
    kind: JointType
    parent: str
    child: str
    placement: Transform = IDENTITY_TRANSFORM
    after: Transform = IDENTITY_TRANSFORM
    axis: Vec3 = X_AXIS
    pitch: float = 0.0
    armature: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    friction: tuple[Friction, ...] = ()
    limits: tuple[float, float] | None = None
    effort: float | None = None
    velocity: float | None = None
    mimic: Mimic | None = None
    stiffness: float = 0.0
    rest: float = 0.0
    rotor: Rotor | None = None
    elastic: Elasticity | None = None
    line: int | None = field(default=None, compare=False)
    acceleration: float | None = field(default=None, repr=False)  # kernels are found by the repr
    jerk: float | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Closure:
    """What closes a loop: a joint between a frame on one link and a frame on another, beside those of the tree.

    ``kind`` is a joint kind, "weld", or "point" (two points held together). ``axis`` and ``pitch`` are those of a
    joint, in the first frame.
    """

    name: str
    kind: str
    first: str
    second: str
    placement: Transform = IDENTITY_TRANSFORM
    placement_on_second: Transform = IDENTITY_TRANSFORM
    axis: Vec3 = X_AXIS
    pitch: float = 0.0
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between joints of one freedom: ``q[joint] = polynomial(q[other])``, lowest power first.

    Without another joint it is a constant. Unlike a :class:`Mimic` it takes no coordinate away.
    """

    name: str
    joint: str
    other: str | None
    polynomial: tuple[float, ...]
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Actuator:
    """A motor: per joint the generalised forces, one per freedom, that one unit of its force causes."""

    name: str
    gears: tuple[tuple[str, tuple[float, ...]], ...]
    force: tuple[float, float] | None = None
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NamedState:
    """A state that the source names: coordinates and speeds by joint, in the layout of ``docs/conventions.md``."""

    name: str
    q: tuple[tuple[str, tuple[float, ...]], ...]
    v: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something in the source that breaks the rules of its format and was read all the same: what, and what to do.

    Also what is in the source and not in the model; a "note" where that is no fault.
    """

    code: str
    reason: str
    fix: str
    line: int | None = None
    severity: Literal["warning", "note"] = "warning"


@dataclass(frozen=True, slots=True)
class Description:
    """A robot as its source tells it: links and joints in the order of declaration.

    ``gravity`` and ``mimic`` are None where the source says nothing of them; ``floating`` puts a free joint under the
    root. Closures and relations are what the source has beside the tree, kept as data; ``constraints`` are obeyed.
    """

    name: str
    links: tuple[LinkRecord, ...]
    joints: tuple[JointRecord, ...]
    closures: tuple[Closure, ...] = ()
    relations: tuple[Relation, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    states: tuple[NamedState, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    gravity: tuple[float, float, float] | None = field(default=None, compare=False)
    floating: bool = field(default=False, compare=False)
    mimic: MimicMode | None = field(default=None, compare=False)
    source: str | None = field(default=None, compare=False)
    provenance: str = field(default="", compare=False)
    notes: tuple[Note, ...] = field(default=(), compare=False)
