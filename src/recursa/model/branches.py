"""Parts of a tree: the chain between two links, and what is left without a branch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recursa.errors import ModelError, shortened, unknown_name
from recursa.model.description import Description, JointRecord, NamedState
from recursa.model.inputs import unused
from recursa.model.model import Model
from recursa.model.naming import prefixed, root_of, with_names, world_of
from recursa.model.pruning import pruned
from recursa.model.rebase import turned, way_inward
from recursa.spatial.transform import Transform


def chain(model: Model, base: str, tip: str) -> Description:
    """The joints on the way from one link to another, with all that is fixed to the links they move.

    ``base`` becomes the root; joints that lie inward of it on the way are turned round.
    """
    for link in (base, tip):
        model.link_index(link)
    if base == tip:
        raise ModelError(f"a chain leads from one link to another, not from '{base}' to itself")
    description = model.description
    inward, outward = way_inward(base, description.joints), way_inward(tip, description.joints)
    while inward and outward and inward[-1] is outward[-1]:
        inward.pop()
        outward.pop()
    return _around(description, base, {joint.name for joint in (*inward, *outward)})


def without(description: Description, names: Iterable[str]) -> Description:
    """The description without links or joints of these names, and without all that hangs on them."""
    gone = {_link_of(description, name) for name in names}
    if root_of(description) in gone:
        raise ModelError(
            f"link '{root_of(description)}' is the root of robot '{description.name}', and everything hangs on it"
        )
    below: dict[str, list[str]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint.child)
    pending = list(gone)
    while pending:
        children = below.get(pending.pop(), [])
        pending += [child for child in children if child not in gone]
        gone.update(children)
    links = (link for link in description.links if link.name not in gone)
    return pruned(description, links, (joint for joint in description.joints if joint.child not in gone))


def _link_of(description: Description, name: str) -> str:
    """The link of that name, or the one that the joint of that name carries."""
    carried = {joint.name: joint.child for joint in description.joints}
    links = {link.name for link in description.links}
    if isinstance(name, str) and name in links and carried.get(name, name) != name:
        raise ModelError(
            f"robot '{description.name}' has a link and a joint called '{name}', and the joint carries "
            f"'{carried[name]}': rename one of them first, with renamed(links={{...}}) or renamed(joints={{...}})"
        )
    if not isinstance(name, str) or (name not in links and name not in carried):
        raise unknown_name("link or joint", name, [*links, *carried], owner=f"robot '{description.name}'")
    return name if name in links else carried[name]


def _around(description: Description, base: str, way: set[str]) -> Description:
    """What one comes to from a link by the joints of a way and by fixed ones.

    From links that do not move one goes inward on the way only: what the base stands on is no part of the chain.
    """
    touching: dict[str, list[JointRecord]] = {}
    for joint in description.joints:
        touching.setdefault(joint.parent, []).append(joint)
        touching.setdefault(joint.child, []).append(joint)
    moving, found = {base: False}, dict[str, JointRecord]()
    pending = [base]
    while pending:
        link = pending.pop()
        for joint in touching.get(link, []):
            outward = joint.parent == link
            next_link = joint.child if outward else joint.parent
            driven = outward and joint.mimic is not None and joint.mimic.rigid and joint.mimic.joint in way  # a rotor
            passable = joint.name in way or driven or (joint.kind == "fixed" and (outward or moving[link]))
            if passable and next_link not in moving:
                moving[next_link] = moving[link] or joint.kind != "fixed"
                found[joint.name] = joint if outward else turned(joint)
                pending.append(next_link)
    links = (link for link in description.links if link.name in moving)
    joints = (found[joint.name] for joint in description.joints if joint.name in found)
    return pruned(description, links, joints)


# ---- one robot on another: its root link welded to a link of the other's ---------------------------------------------


def attached(base: Description, other: Description, at: str, placement: Transform, prefix: str) -> Description:
    """Both in one; names that both have are an error that proposes a prefix.

    A root of the other that is the world becomes a massless link with the other's name.
    """
    moved = _mountable(base, prefixed(other, prefix), prefix)
    _require_apart(base, moved, prefix)
    root = root_of(moved)
    taken = {joint.name for joint in (*base.joints, *moved.joints)}
    mount = JointRecord(unused(f"{root}_mount", taken), "fixed", at, root, placement)
    return replace(
        base,
        links=(*base.links, *moved.links),
        joints=(*base.joints, mount, *moved.joints),
        closures=(*base.closures, *moved.closures),
        relations=(*base.relations, *moved.relations),
        constraints=(*base.constraints, *moved.constraints),
        actuators=(*base.actuators, *moved.actuators),
        states=_together(base.states, moved.states, taken),
        provenance="; ".join(dict.fromkeys(text for text in (base.provenance, other.provenance) if text)),
        notes=(*base.notes, *moved.notes),
    )


def _mountable(base: Description, other: Description, prefix: str) -> Description:
    world = world_of(other)
    if world is None:
        return other
    taken = {link.name for link in (*base.links, *other.links)}
    name = unused(prefix + other.name, taken)
    return with_names(other, lambda link: name if link == world else link, str, str)


def _require_apart(base: Description, other: Description, prefix: str) -> None:
    for what in ("links", "joints", "closures", "relations", "constraints", "actuators"):
        there = {item.name for item in getattr(base, what)}
        both = [item.name for item in getattr(other, what) if item.name and item.name in there]
        if both:
            listed = shortened([f"'{name}'" for name in both])
            proposal = f"Another prefix than '{prefix}'" if prefix else f"A prefix, such as prefix='{other.name}_',"
            raise ModelError(f"robot '{base.name}' has {what} called {listed} already. {proposal} tells them apart")


def _together(one: Iterable[NamedState], other: Iterable[NamedState], known: set[str]) -> tuple[NamedState, ...]:
    """States of the same name become one of both robots. The base of a free flyer is gone, and with it its values."""
    found: dict[str, NamedState] = {state.name: state for state in one}
    for state in other:
        q, v = (tuple(item for item in values if item[0] in known) for values in (state.q, state.v))
        before = found.get(state.name, NamedState(state.name, ()))
        found[state.name] = NamedState(state.name, (*before.q, *q), (*before.v, *v))
    return tuple(found.values())
