"""Parts of a tree: the chain between two links, and what is left without a branch."""

from __future__ import annotations

from collections.abc import Iterable

from recursa.errors import ModelError, unknown_name
from recursa.model.description import Description, JointRecord
from recursa.model.model import Model
from recursa.model.naming import root_of
from recursa.model.pruning import pruned
from recursa.model.rebase import turned, way_inward


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
