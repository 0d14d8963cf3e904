"""Matrices of robots in loop form, column by column; all other questions in either form are in test_forms.py."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import states, tied_gripper
from questions import QUESTIONS, arguments, interpreted
from recursa.kernels.dispatch import Switch
from zoo import ZOO, floating_tree_with_rotors, with_soaks

pytestmark = pytest.mark.compiled

ROBOTS = {**ZOO, "tied_gripper": tied_gripper, "tree40": lambda: rc.robots.tree(40, branching=3, seed=3)}
MATRICES = ("mass_matrix", "coriolis_matrix", "regressor", "mass_matrix_inverse")  # steps that know the body's number


@pytest.fixture(autouse=True)
def _loops(monkeypatch):
    monkeypatch.setattr(Switch, "form", "loop")


def kernels(robot):
    return [kernel for store in robot.evaluator.stores for _, kernel in store._kernels.values()]


EVERYDAY = ("tree", "free_flyer", "tied_gripper", "tree40")


@pytest.mark.parametrize("name", with_soaks([*EVERYDAY, "mixed_tree", "one_of_each"], EVERYDAY))
def test_matrices_column_by_column_match_the_interpreter(name):
    robot = ROBOTS[name]()
    values = arguments(ROBOTS[name](), 5)  # which asks for kernels, too
    for what in MATRICES:
        question = QUESTIONS[f"robot.{what}()"]
        ask, state = question.method(robot), [values[name] for name in question.names]
        expected, found = interpreted(ask, *state), ask(*state)
        tolerance = 1e-9 if what == "mass_matrix_inverse" else 1e-12
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
