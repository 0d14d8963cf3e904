"""The robots that tests run over. Adding one here adds it to every test that walks the zoo."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

import recursa as rc
from recursa.loading import trusted
from recursa.model.description import Elasticity, JointRecord
from recursa.model.joints import KINDS
from recursa.robots import random_description
from recursa.spatial import Vec3

ALL_KINDS = tuple(KINDS)  # the free one last


def with_rotors(joints: Iterable[JointRecord], size: float = 0.01) -> tuple[JointRecord, ...]:
    """The same joints with armature on every freedom, each another."""
    return tuple(
        replace(joint, armature=tuple(size * (k + i + 1) for i in range(KINDS[joint.kind].nv)))
        for k, joint in enumerate(joints)
    )


def pendulum() -> rc.Robot:
    """One body on one joint, off axis, with a rotor."""
    b = rc.Builder("pendulum")
    b.link("bob", mass=1.3, com=(0.1, -0.2, 0.3), inertia=(0.02, 0.03, 0.04, 0.001, -0.002, 0.003))
    b.joint("pivot", "revolute", parent="world", child="bob", axis=(0.6, 0.0, 0.8), xyz=(0.1, 0.2, 0.3), armature=0.05)
    return b.build()


def one_of_each() -> rc.Robot:
    """A chain with every joint kind, twice, with armature on every freedom."""
    description = random_description("one_of_each", list(range(-1, 13)), 5, ALL_KINDS)
    return trusted(replace(description, joints=with_rotors(description.joints)))


def each_kind(kind: str) -> rc.Robot:
    """Three bodies on joints of one kind."""
    return trusted(random_description(kind, [-1, 0, 1], 11, [kind]))


def mixed_tree() -> rc.Robot:
    """A tree of twelve bodies with all kinds of joints, several at the world."""
    return trusted(random_description("mixed_tree", [-1, 0, 0, 1, 1, 2, -1, 6, 6, 8, 3, 10], 8, ALL_KINDS))


def small_mixed_tree() -> rc.Robot:
    """Five bodies with different joints, two of them at the world: quick to compile."""
    return trusted(random_description("small_mixed_tree", [-1, 0, 0, 1, -1], 8, ALL_KINDS))


def flyer(name: str, parents: list[int], seed: int, kinds: Iterable[str], rotors: float = 0.01) -> rc.Robot:
    """Bodies behind a free base; every joint but that of the base has armature."""
    base = random_description(name, [-1], 3, ["free"])
    limbs = random_description(name, parents, seed, list(kinds))
    return trusted(replace(limbs, joints=(base.joints[0], *with_rotors(limbs.joints, rotors)[1:])))


def small_flyer() -> rc.Robot:
    """A branch that branches, on a free base with another: five bodies."""
    return flyer("small_flyer", [-1, 0, 0, 1, 1], 23, ["revolute", "prismatic", "spherical"])


def large_flyer() -> rc.Robot:
    """The same with forty bodies, on all other kinds of joints."""
    return flyer("large_flyer", [-1, *(k // 3 for k in range(39))], 7, ALL_KINDS[:-1])


def lossy_arm() -> rc.Robot:
    """Three joints that turn, with rotors, damping and friction."""
    description = random_description("lossy_arm", [-1, 0, 1], 12, ["revolute"])
    joints = (replace(joint, damping=(0.3,), friction=(0.2,)) for joint in with_rotors(description.joints))
    return trusted(replace(description, joints=tuple(joints)))


def elastic_arm(parents: Iterable[int] = (-1, 0, 1, 1), *, springs: float = 1.0, skew: bool = False) -> rc.Robot:
    """Joints of one freedom, all kinds of them, with springs and rotors; the second one elastic.

    ``skew``: some rotors spin about other axes than their joints'.
    """

    def rotor(joint: JointRecord, k: int) -> rc.Rotor | None:
        if joint.kind == "prismatic":
            return rc.Rotor(1e-3, 40.0) if skew else None
        axis = Vec3(0.6, 0.0, 0.8) if skew and k % 2 else None
        return rc.Rotor(1e-3, 20.0 - 7 * k, axis, "child" if k == 3 else "parent")

    described = random_description("elastic_arm", list(parents), 12, ["revolute", "helical", "prismatic", "continuous"])
    joints = (
        replace(
            joint,
            damping=(0.3,),
            stiffness=springs * (5.0 + k),
            rest=0.1 * k - 0.2,
            rotor=rotor(joint, k),
            elastic=Elasticity(80.0, 0.5) if k == 1 else None,
        )
        for k, joint in enumerate(described.joints)
    )
    return trusted(replace(described, joints=tuple(joints)))


def floating_tree() -> rc.Robot:
    """A floating tree of nine bodies; its base has no mass and can turn about the one joint it carries for free."""
    return rc.load(rc.robots.tree(8, seed=4).to_urdf(), floating=True, strict=False)


def floating_tree_with_rotors() -> rc.Robot:
    """A free base that carries branches; every joint but the base has armature."""
    return flyer("floating", [-1, 0, 0, 1, 1, 3, 2, 2], 21, ["revolute", "prismatic", "spherical"], 0.02)


def closed_tree() -> rc.Robot:
    """A loop, a relation that is not linear, a told joint and losses on five bodies: five equations of nine speeds."""
    described = random_description("closed_tree", [-1, 0, 0, 1, 2], 94, ["spherical", "revolute", "prismatic"])
    joints = tuple(
        replace(one, **dict.fromkeys(("armature", "damping", "friction"), (0.1,) * KINDS[one.kind].nv))
        for one in described.joints
    )
    tree = trusted(replace(described, joints=joints))
    second, fourth, fifth = (joint.name for joint in tree.model.joints if joint.kind.nv == 1)
    return tree.with_constraints(
        rc.Loop("planar", last_link(tree, 2), last_link(tree, 4), (1, 2, 3), at=(0.1, 0, 0.2), rpy=(0.1, 0.2, 0.3)),
        rc.JointRelation({second: (1.0, 0.2), fourth: -2.0}, offset=0.1, name="gear"),
        rc.Prescribed(fifth),
    )


def held_flyer() -> rc.Robot:
    """Fourteen bodies on a free base, held at a point, along a line, by a rod and a weld; a link moves as told."""
    parents = [-1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    tree = flyer("held_flyer", parents, 23, ["revolute", "spherical", "prismatic"])
    tips = [last_link(tree, k) for k in (13, 4, 7, 10)]
    return tree.with_constraints(
        rc.Contact("point", tips[0], at=(0.1, 0.0, -0.1), normal=(0.0, 0.6, 0.8), name="foot"),
        rc.Loop("rod", tips[1], tips[2], at=(0.1, 0.2, 0.0), length=0.7),
        rc.Prescribed(link=tips[3]),
    )


def last_link(robot: rc.Robot, body: int) -> str:
    """The last link of a body."""
    return [link.name for link in robot.model.links if link.body == body][-1]


def known_answer_arm() -> rc.Robot:
    """Three links: revolute, prismatic, revolute; everything off axis."""
    b = rc.Builder("known")
    b.link("l3", mass=3.0, com=(0.05, 0.01, 0.15), inertia=(0.05, 0.06, 0.04, 0.004, -0.003, 0.002))
    b.link("l2", mass=2.0, com=(0.2, -0.05, 0.1), inertia=(0.03, 0.025, 0.02, -0.002, 0.001, 0.003))
    b.link("l1", mass=1.0, com=(0.15, 0.02, -0.03), inertia=(0.012, 0.01, 0.009, 0.001, -0.0005, 0.0008))
    b.joint("j3", "revolute", parent="world", child="l3", axis=(0, 0, 1), xyz=(0, 0, 0.2))
    b.joint("j2", "prismatic", parent="l3", child="l2", axis=(1, 0, 0), xyz=(0.1, 0.2, 0.3))
    b.joint("j1", "revolute", parent="l2", child="l1", axis=(0, 1, 0), xyz=(0.4, -0.1, 0.05))
    b.frame("tip", parent="l1", xyz=(0.3, 0.0, -0.1))
    return b.build()


def with_soaks(names: Iterable[Any], everyday: Iterable[Any]) -> list[Any]:
    """Parameters for a test that compiles: only the everyday ones run in every suite, the others in the long one."""
    everyday = set(everyday)
    return [name if name in everyday else pytest.param(name, marks=pytest.mark.slow) for name in names]


LARGE = ("chain_mixed", "tree", "mixed_tree", "one_of_each", "floating_tree", "floating_tree_with_rotors", "chain200")
long_to_compile = pytest.mark.interpreted(reason="code of large robots takes long to compile; test_forms.py has some")


def large_interpreted(names: Iterable[str], large: Iterable[str] = LARGE) -> list[Any]:
    """Parameters for a test that walks over robots: the small ones run compiled, as users run them."""
    return [pytest.param(name, marks=long_to_compile) if name in large else name for name in names]


def also_by(
    others: Iterable[str], names: Iterable[str], some: Iterable[str], large: Iterable[str] = LARGE
) -> list[Any]:
    """Pairs (other, robot), large ones interpreted; all but the first of the others ask only some in every suite."""
    first, *rest = others
    small, some = [long_to_compile], set(some)
    return [
        pytest.param(
            other,
            name,
            marks=(small if name in large else [])
            + ([pytest.mark.slow] if other != first and name not in some else []),
        )
        for other in (first, *rest)
        for name in names
    ]


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
