"""Denavit-Hartenberg tables, standard and modified."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from recursa.errors import ModelError, did_you_mean
from recursa.model.description import Description, Friction, JointRecord, LinkRecord, Note
from recursa.model.inputs import finite_scalar, floats, frictions, limits_of, name_of, per_freedom, scalars, symmetric
from recursa.model.model import WORLD_LINK
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform, dh_transform
from recursa.spatial.transform import Convention as Convention
from recursa.spatial.vec3 import Z_AXIS, Vec3

RowKind = Literal["revolute", "prismatic"]
ROW_KINDS: tuple[str, ...] = get_args(RowKind)
CONVENTIONS: tuple[str, ...] = get_args(Convention)


_TURN = 2.0 * math.pi + 1e-3  # nobody writes an angle between axes that is larger
_LONG = 50.0  # metres, of one link


@dataclass(frozen=True, slots=True, kw_only=True)
class DHLink:
    """One row of a Denavit-Hartenberg table: a joint and the link it moves.

    ``joint``: "revolute" or "prismatic"; its variable is added to ``theta`` or to ``d``, whose values here are offsets.
    ``com`` is in link frame i, ``inertia`` about the centre of mass in the axes of frame i: 3x3, or (xx, yy, zz), or
    (xx, yy, zz, xy, xz, yz) as matrix entries. ``friction`` is a number, or a pair against positive and negative
    speeds. Metres, radians, kilograms.

    >>> DHLink(joint="revolute", a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0, 0.03, 0.03)).a
    0.4
    """

    joint: RowKind = "revolute"
    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: Sequence[float] | Sequence[Sequence[float]] = (0.0, 0.0, 0.0)
    armature: float = 0.0
    damping: float = 0.0
    friction: Friction = 0.0
    limits: tuple[float, float] | None = None
    effort: float | None = None
    velocity: float | None = None


def describe_dh(
    table: Iterable[DHLink],
    *,
    convention: Convention,
    name: str = "arm",
    provenance: str = "",
    base: Transform | None = None,
    tool: Transform | None = None,
) -> Description:
    """The description of a serial arm from its table; joints "joint1".., links "link1".., base "base".

    ``base`` puts that link elsewhere than where the world is; ``tool`` is a frame of that name on the last link.
    """
    require_convention(convention)
    if isinstance(table, DHLink) or not isinstance(table, Iterable):
        raise ModelError(f"the Denavit-Hartenberg table must be a list of DHLink rows, not {type(table).__name__}")
    rows = list(table)
    if not rows:
        raise ModelError("the Denavit-Hartenberg table has no rows")
    links, joints = [LinkRecord("base")], list[JointRecord]()
    if base is not None:
        links.insert(0, LinkRecord(WORLD_LINK))
        joints.append(JointRecord("base_mount", "fixed", WORLD_LINK, "base", placement=base))
    notes = list[Note]()
    for number, row in enumerate(rows, start=1):
        notes += _doubts(number, row)
        link, joint = _row(number, row, convention)
        links.append(link)
        joints.append(joint)
    if tool is not None:
        links.append(LinkRecord("tool", frame=True))
        joints.append(JointRecord("tool_frame", "fixed", f"link{len(rows)}", "tool", placement=tool))
    return Description(
        name_of(name, "the name of a robot"),
        tuple(links),
        tuple(joints),
        provenance=provenance,
        notes=tuple(notes),
    )


def require_convention(convention: str) -> None:
    """There are two, and no default: tables do not say which of them they are in."""
    if convention not in CONVENTIONS:
        raise ModelError(
            f"convention must be 'standard' (Rz Tz Tx Rx, distal frames) or 'modified' (Rx Tx Rz Tz, proximal frames), "
            f"not {convention!r}. {did_you_mean(str(convention), CONVENTIONS)}"
        )


def _doubts(number: int, row: DHLink) -> Iterator[Note]:
    """Numbers of a row that look as if they were degrees or millimetres."""
    if not isinstance(row, DHLink):
        return
    for name, largest, unit in (("alpha", _TURN, "rad"), ("theta", _TURN, "rad"), ("a", _LONG, "m"), ("d", _LONG, "m")):
        value = getattr(row, name)
        if not isinstance(value, int | float) or not largest < abs(value) < math.inf:
            continue
        what = f"row {number} of the Denavit-Hartenberg table: {name} is {value:g} {unit}."
        if unit == "rad":
            fix = (
                f"Are these degrees? np.radians({value:g}) is what is meant here; tables in files may say angles: deg."
            )
            yield Note("degrees", what, fix)
        else:
            yield Note("millimetres", what, "Are these millimetres? Lengths are in metres here: divide them by 1000.")


def _row(number: int, row: DHLink, convention: Convention) -> tuple[LinkRecord, JointRecord]:
    where = f"row {number} of the Denavit-Hartenberg table"
    if not isinstance(row, DHLink):
        raise ModelError(f"{where} must be a DHLink, not {type(row).__name__}")
    if row.joint not in ROW_KINDS:
        hint = did_you_mean(str(row.joint), ("revolute", "prismatic"))
        raise ModelError(f"{where}: joint must be 'revolute' or 'prismatic', not {row.joint!r}. {hint}")
    step = dh_transform(
        convention,
        finite_scalar(row.a, f"{where}: a"),
        finite_scalar(row.alpha, f"{where}: alpha"),
        finite_scalar(row.d, f"{where}: d"),
        finite_scalar(row.theta, f"{where}: theta"),
    )
    link = LinkRecord(
        f"link{number}",
        mass=scalars(row.mass, 1, f"{where}: mass")[0],
        com=Vec3(*scalars(row.com, 3, f"{where}: com")),
        inertia=symmetric(row.inertia, f"{where}: inertia"),
        inertial=True,
    )
    # the variable turns about (slides along) the z axis of the frame before (standard) or after (modified) the step
    before, after = (step, IDENTITY_TRANSFORM) if convention == "modified" else (IDENTITY_TRANSFORM, step)
    joint = JointRecord(
        f"joint{number}",
        row.joint,
        parent="base" if number == 1 else f"link{number - 1}",
        child=f"link{number}",
        placement=before,
        after=after,
        axis=Z_AXIS,
        armature=per_freedom(row.armature, 1, f"{where}: armature"),
        damping=per_freedom(row.damping, 1, f"{where}: damping"),
        friction=frictions(row.friction, 1, f"{where}: friction"),
        limits=limits_of(row.limits, f"{where}: limits"),
        effort=None if row.effort is None else floats(row.effort, 1, f"{where}: effort")[0],
        velocity=None if row.velocity is None else floats(row.velocity, 1, f"{where}: velocity")[0],
    )
    return link, joint
