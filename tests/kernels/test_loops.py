"""Loops over bodies against the interpreter and against straight-line code."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import states, tied_gripper
from questions import interpreted, questions, solves
from recursa.kernels.dispatch import Switch
from zoo import ZOO, floating_tree_with_rotors, with_soaks

pytestmark = pytest.mark.compiled

ROBOTS = {**ZOO, "tied_gripper": tied_gripper, "tree40": lambda: rc.robots.tree(40, branching=3, seed=3)}
MATRICES = {"mass_matrix", "coriolis_matrix", "regressor", "mass_matrix_inverse"}  # steps that know the body's number
EVERYDAY = (
    "pendulum",
    "one_of_each",
    "mixed_tree",
    "floating_tree",
    "free_flyer",
    "tied_gripper",
    "tree40",
)
SINGULAR = ("floating_tree",)  # some of its bodies have no mass


@pytest.fixture(autouse=True)
def _loops(monkeypatch):
    monkeypatch.setattr(Switch, "form", "loop")


def kernels(robot):
    return [kernel for store in robot._stores for _, kernel in store._kernels.values()]


@pytest.mark.parametrize("name", with_soaks(ROBOTS, EVERYDAY))
def test_loops_match_the_interpreter_and_themselves(name):
    robot = ROBOTS[name]()
    state = states(robot, 7)
    asked = questions(robot) if name in SINGULAR else {**questions(robot), **solves(robot)}
    for what in asked.keys() - MATRICES:
        ask = asked[what]
        expected, found = interpreted(ask, *state), ask(*state)
        tolerance = 1e-9 if what in solves(robot) else 1e-12
        scale = max(1.0, float(np.abs(expected).max()))
        assert np.abs(found - expected).max() <= tolerance * scale, what
        for row in (0, 6):
            alone = ask(*(x[row] for x in state))
            assert np.array_equal(alone, found[row]), f"{what}: row {row} alone"
            assert np.array_equal(alone, ask(*(x[row] for x in state))), f"{what}: the native entry"
    tied = name == "tied_gripper"  # it solves with its mass matrix, which is not made by a loop
    used = [kernel for kernel in kernels(robot) if not (tied and kernel is None)]
    assert len(used) >= 14
    assert all(kernel.form == "loop" for kernel in used)


@pytest.mark.parametrize("name", ["tree", "mixed_tree", "free_flyer", "one_of_each"])
def test_options_match_the_interpreter(name):
    robot = ROBOTS[name]()
    q, v, a = states(robot, 6)
    rng = np.random.default_rng(2)
    wrenches = rng.normal(size=(6, robot.nlinks, 6))
    parameters = np.concatenate([i.components() for i in robot.model.inertias]) * rng.uniform(0.9, 1.1, (6, 1))
    base = rng.normal(size=(6, 6))
    for ask in (
        lambda: robot.inverse_dynamics(q, v, a, wrenches=wrenches),
        lambda: robot.inverse_dynamics(q, v, a, wrenches=wrenches, base_acceleration=base, parameters=parameters),
        lambda: robot.forward_dynamics(q, v, a, wrenches=wrenches),
        lambda: robot.forward_dynamics(q, v, a, parameters=parameters),
    ):
        expected = interpreted(ask)
        assert np.abs(ask() - expected).max() <= 1e-9 * np.abs(expected).max()
    assert all(kernel is not None and kernel.form == "loop" for kernel in kernels(robot))


@pytest.mark.parametrize("name", ["tree", "mixed_tree", "one_of_each", "free_flyer", "tied_gripper", "tree40"])
def test_matrices_column_by_column_match_the_interpreter(name):
    robot = ROBOTS[name]()
    state = states(robot, 5)
    for what in MATRICES:
        ask = {**questions(robot), **solves(robot)}[what]
        expected, found = interpreted(ask, *state), ask(*state)
        tolerance = 1e-9 if what in solves(robot) else 1e-12
        assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max(), what
        assert np.array_equal(ask(*(x[3] for x in state)), found[3]), what
    inverted = name == "tied_gripper"  # by LAPACK
    assert sum(kernel is not None and kernel.form == "loop" for kernel in kernels(robot)) == (3 if inverted else 4)


@pytest.mark.parametrize("name", ["space_robot", "floating_tree_with_rotors"])
def test_operational_inertia_matches_the_interpreter_and_the_articulated_inertia(name):
    robot = {"space_robot": rc.robots.space_robot, "floating_tree_with_rotors": floating_tree_with_rotors}[name]()
    q = states(robot, 3)[0]
    links = robot.link_names if name == "space_robot" else robot.link_names[::3]
    for link in links:
        expected = interpreted(robot.operational_inertia, q, link)
        assert np.abs(robot.operational_inertia(q, link) - expected).max() <= 1e-12 * np.abs(expected).max(), link
    base = robot.model.joints[0].child
    P = robot.factorization(q).P[:, 0]
    assert np.abs(robot.operational_inertia(q, base) - P).max() <= 1e-12 * np.abs(P).max()
