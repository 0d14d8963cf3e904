"""Base inertial parameters: as many as the literature counts, and all that torques depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from numeric import states, tied_gripper
from recursa.loading import trusted
from recursa.robots import random_description
from zoo import ALL_KINDS, ZOO, large_interpreted


def one_of_each_kind() -> rc.Robot:
    """A free base and one joint of every other kind, in a tree."""
    others = [kind for kind in ALL_KINDS if kind != "free"]
    parents = [-1, 0, 0, 1, 1, 3, 5, 4]
    made = random_description("each", parents, 4, ["revolute"])
    joints = (
        replace(joint, kind=kind, pitch=0.1 if kind == "helical" else 0.0, armature=(), damping=(), friction=())
        for joint, kind in zip(made.joints, ("free", *others), strict=True)
    )
    return trusted(replace(made, joints=tuple(joints)))


ROBOTS = {name: ZOO[name] for name in ("pendulum", "stanford", "panda_like", "tree", "mixed_tree", "one_of_each")}
ROBOTS |= {"tied": tied_gripper, "free_flyer": rc.robots.free_flyer}


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_torques_depend_on_them_alone(name):
    robot = ROBOTS[name]()
    base = robot.base_parameters()
    q, v, a = states(robot, 4, seed=9)
    regressor = robot.regressor(q, v, a)
    pi = np.random.default_rng(1).normal(size=10 * robot.nbodies)
    full = regressor @ pi
    grouped = regressor[..., list(base.independent)] @ (base.matrix @ pi)
    assert np.abs(grouped - full).max() <= 1e-8 * np.abs(full).max()
    own = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    assert np.allclose(base.values, base.matrix @ own)
    assert np.linalg.matrix_rank(base.matrix) == len(base.names) == len(base.independent)


@pytest.mark.parametrize(
    ("robot", "count"),
    [
        (rc.robots.puma560(), 36),  # Mayeda, Yoshida and Osuka (1990)
        (rc.robots.panda_like(), 43),  # Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca (2019)
        (rc.robots.planar(2), 6),
        (rc.robots.chain(6, seed=3), 5 * 7 + 3),  # seven a joint, three at the first, whose axis stands still
        (rc.robots.free_flyer(2), 10 + 2 * 7),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_there_are_as_many_as_expected(robot, count):
    require_count(robot, count)


def dh_arm(kinds: Sequence[str], seed: int, convention: str, scale: float = 1.0) -> rc.Robot:
    """A random arm without special angles, all lengths times ``scale``."""
    rng = np.random.default_rng(seed)
    rows = [
        rc.DHLink(
            joint=kind, a=scale * rng.normal(scale=0.3), alpha=rng.uniform(0.3, 2.8), d=scale * rng.normal(scale=0.3),
            theta=rng.uniform(-3.0, 3.0), mass=1.0 + rng.random(), com=scale * rng.normal(scale=0.1, size=3),
            inertia=scale**2 * np.array([0.02, 0.03, 0.04, 0.001, 0.002, 0.003]),
        )
        for kind in kinds
    ]  # fmt: skip
    return rc.from_dh(rows, convention=convention)


def general_count(kinds: Sequence[str], *, vertical: bool) -> int:
    """Of an arm without special angles, as Khalil and Kleinfinger and Gautier and Khalil count them.

    Until something turns, a body has only its mass. The first that turns has one moment and, unless its axis stands
    still and upright, two first moments. What slides before the next turns has no first moment along that axis either.
    From the second on, three of ten (turning) or six (sliding) belong to the body before as well.
    """
    total, turned = 0, 0
    for number, kind in enumerate(kinds):
        if kind == "revolute":
            total += 7 if turned else 1 if vertical and number == 0 else 3
            turned += 1
        else:
            total += (1, 3, 4)[min(turned, 2)]
    return total


def require_count(robot: rc.Robot, count: int) -> None:
    """So many parameters, and their columns of the regressor are independent by far."""
    base = robot.base_parameters()
    assert len(base.names) == count, base.names
    rows = robot.regressor(*states(robot, 40, seed=5)).reshape(-1, 10 * robot.nbodies)[:, list(base.independent)]
    assert np.linalg.cond(rows / np.linalg.norm(rows, axis=0)) < 1e7


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("joints", range(1, 8))
def test_random_arms_have_as_many_as_the_rules_say(joints, convention):
    """The first axis of a standard table is that of the base, upright; of a modified one it is tilted."""
    for seed in range(2):
        kinds = ["revolute"] * joints
        require_count(dh_arm(kinds, seed, convention), general_count(kinds, vertical=convention == "standard"))


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("letters", ["P", "PP", "RP", "PR", "RPR", "RRP", "PRPRP", "RPPRR", "PPRRPR"])
def test_sliding_joints_have_as_many_as_the_rules_say(letters, convention):
    kinds = [{"R": "revolute", "P": "prismatic"}[letter] for letter in letters]
    require_count(dh_arm(kinds, 3, convention), general_count(kinds, vertical=convention == "standard"))


@pytest.mark.parametrize("scale", [1e-5, 1e4])
def test_the_count_does_not_depend_on_the_unit_of_length(scale):
    kinds = ["revolute"] * 4
    assert len(dh_arm(kinds, 1, "standard", scale).base_parameters().names) == general_count(kinds, vertical=True)


SHARED = {
    "revolute": 3, "continuous": 3, "prismatic": 6, "helical": 1, "spherical": 1, "planar": 1, "translation": 6,
    "free": 0,
}  # fmt: skip
"""By kind of joint, the dimension of the inertias that its free motion does not tell from the parent's."""


@pytest.mark.parametrize(
    "make",
    [rc.robots.free_flyer, rc.robots.stanford, rc.robots.panda_like, lambda: rc.robots.tree(5), one_of_each_kind],
    ids=["free_flyer", "stanford", "panda_like", "tree", "one_of_each_kind"],
)
def test_behind_a_free_base_every_joint_hides_what_its_motion_does(make):
    """Whatever the geometry: a parent that moves freely excites all the rest."""
    model = make().model
    robot = trusted(model.description, floating=model.joints[0].kind.name != "free")
    require_count(robot, sum(10 - SHARED[joint.kind.name] for joint in robot.model.joints))


def test_a_robot_that_cannot_move_has_none():
    robot = rc.Builder("rock").link("rock", mass=1.0).joint("weld", "fixed", parent="world", child="rock").build()
    assert robot.base_parameters().names == ()


def test_names_relations_and_what_is_unused():
    base = rc.robots.planar(2).base_parameters()
    assert dict(zip(base.names, base.relations, strict=True))["link1.Izz"] == "link1.Izz + 0.09 link2.m"
    assert "link1.Ixx" in base.unused
    assert "link2.m" not in base.unused
    assert str(base).startswith("6 base parameters of 20; 13 have no effect")


def test_the_same_robot_gives_the_same_relations_for_any_seed():
    first, second = (rc.robots.puma560().base_parameters(seed=seed) for seed in (0, 5))
    assert first.names == second.names
    assert np.allclose(first.matrix, second.matrix, atol=1e-8)
