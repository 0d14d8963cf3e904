"""Base inertial parameters: as many as the literature counts, and all that torques depend on."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import states, tied_gripper
from zoo import ZOO, large_interpreted

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
        (rc.robots.planar(2), 6),
        (rc.robots.chain(6, seed=3), 5 * 7 + 3),  # seven a joint, three at the first, whose axis stands still
        (rc.robots.free_flyer(2), 10 + 2 * 7),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_there_are_as_many_as_expected(robot, count):
    assert len(robot.base_parameters().names) == count


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
