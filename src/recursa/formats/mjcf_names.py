"""Names for everything in a compiled MJCF model: MuJoCo needs none, and lets a body, a joint and a site share one."""

from __future__ import annotations

from typing import NamedTuple

from recursa.formats.mjcf_numbers import Tables, names_in
from recursa.model.inputs import claimed
from recursa.model.model import WORLD_LINK


class Names(NamedTuple):
    """Names by number; those of links differ from each other, and those of joints.

    A body without a name is ``body3``, by its number; a joint without one is ``BODY_joint``, or ``BODY_joint2`` where
    it is not the only one of the body; a site ``site3``. The link between a joint and the next of the same body is
    ``BODY_after_JOINT``, the joint of a body that has none ``BODY_weld``, that of a site ``SITE_frame``. What is taken
    already gets a number.
    """

    bodies: list[str]
    joints: list[str]
    sites: list[str]
    between: dict[int, str]
    welds: dict[int, str]
    frames: list[str]

    @classmethod
    def of(cls, model: Tables) -> Names:
        """The names in a compiled model, and for what has none."""
        own_bodies, own_joints, own_sites = (names_in(model, kind) for kind in ("body", "jnt", "site"))
        links, joints = set(own_bodies), set(own_joints)
        bodies = [WORLD_LINK] + [name or claimed(f"body{k}", links) for k, name in enumerate(own_bodies[1:], 1)]
        named, between, welds = own_joints, dict[int, str](), dict[int, str]()
        for body, count in enumerate(model.body_jntnum):
            if body == 0 or (count == 1 and own_joints[model.body_jntadr[body]]):
                continue
            first = model.body_jntadr[body]
            for place, joint in enumerate(range(first, first + count), 1):
                number = f"{place}" if count > 1 else ""
                named[joint] = own_joints[joint] or claimed(f"{bodies[body]}_joint{number}", joints)
                if place < count:
                    between[joint] = claimed(f"{bodies[body]}_after_{named[joint]}", links)
            if not count:
                welds[body] = claimed(f"{bodies[body]}_weld", joints)
        sites = [claimed(name or f"site{k}", links) for k, name in enumerate(own_sites)]
        frames = [claimed(f"{site}_frame", joints) for site in sites]
        return cls(bodies, named, sites, between, welds, frames)
