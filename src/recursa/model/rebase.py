"""A free flyer's description with another base link: the same tree, seen from there.

Links keep their frames. The joints between the old base and the new one are turned round: parent and child change
places, and ``placement J(q) after`` becomes ``after^-1 J(q)^-1 placement^-1``. With one freedom, ``J(q)^-1`` is the
same motion about or along the opposite axis, so q, v, torque and limits keep their values and signs: the sign flip of
the hinge maps that Lemma A.2 of Jain & Rodriguez needs. Speeds of several freedoms are in the child's axes by
convention, and the child is now the other link: such a joint gets the coordinates of the inverse motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from recursa.errors import ModelError, NoSweepError
from recursa.model.description import Description, Friction, JointRecord
from recursa.model.joints import KINDS
from recursa.model.model import WORLD, Model
from recursa.model.transmissions import turned_rotor
from recursa.spatial.transform import IDENTITY_TRANSFORM


def base_link(model: Model) -> str:
    """The link whose motion the free joint of a free flyer describes."""
    return model.joints[0].child


def with_base(model: Model, link: str) -> Description:
    """The description of a free flyer, re-rooted at a link; joints keep their names and the order of declaration."""
    number = model.link_index(link)
    if model.links[number].body == WORLD:
        raise ModelError(
            f"link '{link}' of robot '{model.name}' is fixed to the world, so it cannot be a free flyer's base. "
            f"Choose a link that moves, such as '{base_link(model)}'"
        )
    description, root = model.description, model.joints[0].name
    if link == base_link(model):
        return description
    way = way_inward(link, (record for record in description.joints if record.name != root))
    other_way = {record.name: turned(record) for record in way}
    joints = tuple(other_way.get(record.name, record) for record in description.joints)
    if not model.floating:
        free = next(record for record in joints if record.name == root)
        _require_movable(free)
        moved = replace(free, child=link, after=IDENTITY_TRANSFORM)
        joints = tuple(moved if record is free else record for record in joints)
    return replace(description, joints=joints)


def turned_joints(model: Model, link: str) -> frozenset[int]:
    """The numbers of the joints between the base and a link, which :func:`with_base` turns round."""
    return frozenset(model.support(model.links[model.link_index(link)].body)[1:])


def way_inward(link: str, joints: Iterable[JointRecord]) -> list[JointRecord]:
    """The joints on the way from a link inward."""
    inward = {record.child: record for record in joints}
    way = []
    while link in inward:
        way.append(inward[link])
        link = way[-1].parent
    return way


def turned(record: JointRecord) -> JointRecord:
    """The same joint with parent and child exchanged."""
    swapped = replace(record, parent=record.child, child=record.parent)
    if record.kind == "fixed":
        return replace(swapped, placement=(record.placement @ record.after).inverse, after=IDENTITY_TRANSFORM)
    _require_symmetric(record)
    kind = KINDS[record.kind]
    axis = -record.axis if kind.nv == 1 else record.axis
    friction = record.friction if kind.nv == 1 else tuple(map(_backward, record.friction))  # speeds change their sign
    placed = {"placement": record.after.inverse, "after": record.placement.inverse}
    rotor = record.rotor and turned_rotor(record.rotor)
    return replace(swapped, axis=axis, friction=friction, rotor=rotor, **placed)  # type: ignore[arg-type]


def _largest(friction: Sequence[Friction]) -> tuple[float, ...]:
    """Per freedom the friction of the direction in which there is more."""
    return tuple(max(one) if isinstance(one, tuple) else one for one in friction)


def _backward(friction: Friction) -> Friction:
    """The friction of a freedom that is counted the other way."""
    return (friction[1], friction[0]) if isinstance(friction, tuple) else friction


def _require_symmetric(record: JointRecord) -> None:
    """What a joint with several freedoms loses or stores must not depend on from which side its speeds are seen."""
    kind = KINDS[record.kind]
    if kind.nv == 1 or not any(kind.angular):  # where nothing turns, axes are the same from both sides
        return
    coulomb = _largest(record.friction)
    for what, values in (("armature", record.armature), ("damping", record.damping), ("friction", coulomb)):
        turning, sliding = (
            [x for x, angular in zip(values, kind.angular, strict=False) if angular is wanted]
            for wanted in (True, False)
        )
        uneven = len(set(turning)) > 1 or (what == "friction" and len(turning) > 1 and any(turning))
        if any(sliding) or uneven:
            raise _not_movable(
                record, what, values, "seen from the joint's other side it would change with its position"
            )


def _require_movable(record: JointRecord) -> None:
    """Armature and losses of the free joint act between the world and one link; another base has none there."""
    coulomb = _largest(record.friction)
    for what, values in (("armature", record.armature), ("damping", record.damping), ("friction", coulomb)):
        if any(values):
            raise _not_movable(record, what, values, "it acts between the world and the present base")


def _not_movable(record: JointRecord, what: str, values: Sequence[float], why: str) -> ModelError:
    numbers = ", ".join(f"{x:g}" for x in values)
    return ModelError(
        f"joint '{record.name}' ({record.kind}) has {what} ({numbers}): {why}, so there is no robot with another base "
        f"that moves the same. Give it no {what}, or equal numbers about all axes of a spherical joint",
        line=record.line,
    )


# ---- whether a robot flies freely: it hangs on one free joint, and nothing else holds it -----------------------------


def flies_freely(model: Model) -> bool:
    """Whether it does, with independent joints."""
    roots = [joint for joint in model.joints if joint.parent == WORLD]
    return len(roots) == 1 and roots[0].kind.is_free and all(joint.independent for joint in model.joints)


def require_free_flyer(model: Model, what: str) -> None:
    """Refuse robots that something holds, or whose joints are tied; ``what`` needs a free flyer."""
    if flies_freely(model):
        return
    roots = [joint for joint in model.joints if joint.parent == WORLD]
    if len(roots) == 1 and roots[0].kind.is_free:
        raise NoSweepError(
            f"{what}: robot '{model.name}' has tied joints, and its links are not moved by independent ones. "
            f"{model.how_to_untie}"
        )
    held = ", ".join(f"'{joint.name}' ({joint.kind.name})" for joint in roots) or "nothing that moves"
    others = ', or use a method for any base, such as "articulated"' if what.startswith("method") else ""
    if any(joint.kind.is_free for joint in roots):
        raise NoSweepError(
            f"{what}: robot '{model.name}' has more than a free base: at the world it has {held}, and a free flyer has "
            "one free joint there and nothing else. Bodies that move beside the base, such as a free target, have "
            "momentum of their own, which this does not separate from the robot's.\n"
            "  Load the robot without them, or weld them to a link if it holds them (a fixed joint); dynamics, "
            f"momentum, simulations and contacts of all of them together work{others}."
        )
    raise NoSweepError(
        f"{what}: robot '{model.name}' is no free flyer: at the world it has {held}, where one free joint is needed.\n"
        f"  Load it with floating=True{others}."
    )
