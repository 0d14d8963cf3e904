"""Links and joints of any graph as a tree: loops are cut, joints that point inward turned round, bodies set free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.formats.sdf_scope import WORLD
from recursa.model.description import Closure, JointRecord
from recursa.model.inputs import claimed


class Tree(NamedTuple):
    """Joints that form a tree, joints that would have closed loops, and whether the tree is fixed to the world."""

    joints: tuple[JointRecord, ...]
    closures: tuple[Closure, ...]
    anchored: bool


def tree_of(links: Sequence[str], joints: Sequence[JointRecord], through: Iterable[str]) -> Tree:
    """The tree of some links; ``through`` are links without mass inside a joint, which must not be left hanging.

    One group of links that nothing holds is a tree that floats. If there are several, or some are held, each that is
    not held gets a free joint.
    """
    group = {name: name for name in (WORLD, *links)}

    def leader(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    inside = set(through)
    kept: dict[str, list[JointRecord]] = {name: [] for name in group}
    cut: list[JointRecord] = []
    for joint in sorted(joints, key=lambda joint: not {joint.parent, joint.child} & inside):  # a stable sort
        first, second = leader(joint.parent), leader(joint.child)
        if first == second:
            cut.append(joint)
            continue
        group[second] = first
        kept[joint.parent].append(joint)
        kept[joint.child].append(joint)
    roots = _roots(links, kept, leader)
    anchored = bool(kept[WORLD]) or len(roots) > 1
    if anchored:
        names = {joint.name for joint in joints}
        for root in roots:
            free = JointRecord(claimed(f"{root}_free", names), "free", WORLD, root, armature=(0.0,) * 6,
                               damping=(0.0,) * 6, friction=(0.0,) * 6)  # fmt: skip
            kept[WORLD].append(free)
    start = WORLD if anchored else roots[0]
    directed = _directed(start, kept)
    order = {joint.name: number for number, joint in enumerate(joints)}
    return Tree(
        tuple(sorted(directed, key=lambda joint: order.get(joint.name, len(order)))),
        tuple(_closure(joint) for joint in cut),
        anchored,
    )


def _roots(links: Sequence[str], kept: dict[str, list[JointRecord]], leader: Callable[[str], str]) -> list[str]:
    """The first link of every group that the world does not hold which is the child of nothing."""
    held = leader(WORLD)
    children = {joint.child for joints in kept.values() for joint in joints}
    found: dict[str, str] = {}
    for name in links:
        if leader(name) != held and name not in children:
            found.setdefault(leader(name), name)
    return list(found.values())


def _directed(start: str, kept: dict[str, list[JointRecord]]) -> list[JointRecord]:
    """All joints, outward from a link."""
    found: list[JointRecord] = []
    reached, pending = {start}, [start]
    while pending:
        link = pending.pop()
        for joint in kept[link]:
            other = joint.child if joint.parent == link else joint.parent
            if other in reached:
                continue
            found.append(joint if joint.parent == link else _turned(joint))
            reached.add(other)
            pending.append(other)
    return found


def _turned(joint: JointRecord) -> JointRecord:
    """The same joint seen from its child: the motion the other way, with the same coordinate."""
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        placement=joint.after.inverse,
        after=joint.placement.inverse,
        axis=-joint.axis,
    )


def _closure(joint: JointRecord) -> Closure:
    kind = "weld" if joint.kind == "fixed" else joint.kind
    return Closure(
        joint.name,
        kind,
        joint.parent,
        joint.child,
        joint.placement,
        joint.after.inverse,
        joint.axis,
        joint.pitch,
        joint.line,
    )
