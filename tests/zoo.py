"""The robots that tests run over. Adding one here adds it to every test that walks the zoo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import recursa as rc
from recursa.loading import trusted
from recursa.model.joints import KINDS
from recursa.robots import random_description

ALL_KINDS = ("revolute", "continuous", "prismatic", "helical", "spherical", "planar", "free")


def pendulum() -> rc.Robot:
    """One body on one joint, off axis, with a rotor."""
    b = rc.Builder("pendulum")
    b.link("bob", mass=1.3, com=(0.1, -0.2, 0.3), inertia=(0.02, 0.03, 0.04, 0.001, -0.002, 0.003))
    b.joint("pivot", "revolute", parent="world", child="bob", axis=(0.6, 0.0, 0.8), xyz=(0.1, 0.2, 0.3), armature=0.05)
    return b.build()


def one_of_each() -> rc.Robot:
    """A chain with every joint kind, twice, with armature on every freedom."""
    description = random_description("one_of_each", list(range(-1, 13)), 5, ALL_KINDS)
    rotors = tuple(
        replace(joint, armature=tuple(0.01 * (k + i + 1) for i in range(KINDS[joint.kind].nv)))
        for k, joint in enumerate(description.joints)
    )
    return trusted(replace(description, joints=rotors))


def each_kind(kind: str) -> rc.Robot:
    """Three bodies on joints of one kind."""
    return trusted(random_description(kind, [-1, 0, 1], 11, [kind]))


def mixed_tree() -> rc.Robot:
    """A tree of twelve bodies with all kinds of joints, several at the world."""
    return trusted(random_description("mixed_tree", [-1, 0, 0, 1, 1, 2, -1, 6, 6, 8, 3, 10], 8, ALL_KINDS))


def floating_tree() -> rc.Robot:
    """A floating tree of nine bodies."""
    return rc.load(rc.robots.tree(8, seed=4).to_urdf(), floating=True, strict=False)


ZOO: dict[str, Callable[[], rc.Robot]] = {
    "pendulum": pendulum,
    "stanford": rc.robots.stanford,
    "puma560": rc.robots.puma560,
    "panda_like": rc.robots.panda_like,
    "planar_arm": rc.robots.planar,
    "free_flyer": rc.robots.free_flyer,
    "chain_mixed": lambda: rc.robots.chain(9, seed=2, joints="mixed"),
    "tree": lambda: rc.robots.tree(13, branching=3, seed=1),
    "mixed_tree": mixed_tree,
    "one_of_each": one_of_each,
    "floating_tree": floating_tree,
    "chain200": lambda: rc.robots.chain(200, seed=6),
    **{kind: (lambda kind=kind: each_kind(kind)) for kind in ALL_KINDS},  # type: ignore[misc]
}
