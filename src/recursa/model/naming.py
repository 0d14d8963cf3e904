"""Other names for the links and joints of a description, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from recursa.errors import ModelError, printable, unknown_name
from recursa.model.constraints import with_joint_names, with_link_names
from recursa.model.description import Description, NamedState
from recursa.model.inputs import name_of
from recursa.model.model import WORLD_LINK

Naming = Callable[[str], str]


def prefixed(description: Description, prefix: str) -> Description:
    """All names with something before them, but for a massless root called "world", which is the world."""
    world = world_of(description)
    return with_names(description, lambda name: name if name == world else prefix + name, lambda name: prefix + name)


def renamed(description: Description, links: Mapping[str, str], joints: Mapping[str, str]) -> Description:
    """Some names exchanged for others; an unknown one is an error with a proposal."""
    for what, new, known in (
        ("link", links, [link.name for link in description.links]),
        ("joint", joints, [joint.name for joint in description.joints]),
    ):
        for old, name in new.items():
            if old not in known:
                raise unknown_name(what, old, known, owner=f"robot '{description.name}'")
            name_of(name, f"the new name of {what} '{old}'")
    return with_names(description, lambda name: links.get(name, name), lambda name: joints.get(name, name), str)


def with_names(description: Description, link: Naming, joint: Naming, other: Naming | None = None) -> Description:
    """The description with other names; ``other``: of relations, closures and actuators, by default as joints.

    Names of states stay: what two arms call "home" is home of both.
    """
    further = other or joint
    known = {one.name for one in description.links}

    def extra(name: str) -> str:
        return further(name) if name else name

    def held_by(name: str) -> str:  # the world need not be a link
        return link(name) if name in known else name

    def values(items: tuple[tuple[str, tuple[float, ...]], ...]) -> tuple[tuple[str, tuple[float, ...]], ...]:
        return tuple((joint(name), numbers) for name, numbers in items)

    return replace(
        description,
        links=tuple(replace(one, name=link(one.name)) for one in description.links),
        joints=tuple(
            replace(
                one,
                name=joint(one.name),
                parent=link(one.parent),
                child=link(one.child),
                mimic=one.mimic and replace(one.mimic, joint=joint(one.mimic.joint)),
            )
            for one in description.joints
        ),
        closures=tuple(
            replace(one, name=extra(one.name), first=link(one.first), second=link(one.second))
            for one in description.closures
        ),
        relations=tuple(
            replace(one, name=extra(one.name), joint=joint(one.joint), other=one.other and joint(one.other))
            for one in description.relations
        ),
        constraints=tuple(
            replace(with_joint_names(with_link_names(one, held_by), joint), name=extra(one.name))
            for one in description.constraints
        ),
        actuators=tuple(replace(one, name=extra(one.name), gears=values(one.gears)) for one in description.actuators),
        states=tuple(NamedState(one.name, values(one.q), values(one.v)) for one in description.states),
    )


def root_of(description: Description) -> str:
    """The name of the link that hangs on no other."""
    children = {joint.child for joint in description.joints}
    return next(link.name for link in description.links if link.name not in children)


def world_of(description: Description) -> str | None:
    """The name of the root, if it is the world: called "world" and without mass."""
    root = root_of(description)
    massless = not next(link for link in description.links if link.name == root).inertial
    return root if root == WORLD_LINK and massless else None


def require_printable(description: Description) -> None:
    """Names in files of strangers must not command the terminals and pages on which they are shown."""
    links, joints = (link.name for link in description.links), (joint.name for joint in description.joints)
    for name in (description.name, *links, *joints, *(state.name for state in description.states)):
        if printable(name) != name:
            raise ModelError(
                f"the name '{printable(name)[:80]}' has characters that command terminals, such as escapes. Leave them "
                "out",
                source=description.source,
            )
