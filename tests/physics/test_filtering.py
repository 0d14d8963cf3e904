"""The quantities of filter and smoother against operators as matrices, and against forward and inverse dynamics."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from questions import answered
from zoo import ZOO, floating_tree_with_rotors

ROBOTS = {name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")}
ROBOTS["floating_tree_with_rotors"] = floating_tree_with_rotors
robot_of = cache(lambda name: ROBOTS[name]())


def state(robot: rc.Robot, seed: int = 3):
    return [rows[0] for rows in states(robot, 1, seed)]


@pytest.mark.parametrize("name", ROBOTS)
def test_filter_and_smoother_match_operators_as_matrices(name):
    robot = robot_of(name)
    q, v, tau = state(robot)
    found = robot.filtering(q, v, tau)
    texts = {
        "z": "psi (P a + b + M gravity + K T)",
        "z_plus": "phi (G (T - H psi (P a + b + M gravity + K T)) + P a + b + M gravity)",  # (23)
        "epsilon": "T - H psi (P a + b + M gravity + K T)",
        "nu": "inv(D) (T - H psi (P a + b + M gravity + K T))",
        "a": "inv(mass) (T - C)",
        "alpha": "phi* (H* inv(mass) (T - C) + a)",
        "f": "phi (M (phi* (H* inv(mass) (T - C) + a) + gravity) + b)",  # (3c)
    }
    for field, text in texts.items():
        expected = rc.dense(rc.parse(text, robot), q, v, T=tau)
        close(getattr(found, field), expected.reshape(getattr(found, field).shape), 1e-10, field)
    close(found.f_plus, found.f, 1e-10, "f from both sides")


@pytest.mark.parametrize("form", ["straight", "loop", "interpreted"])
def test_filtering_in_batches_matches_forward_dynamics_and_newton_euler(form):
    with answered(form):
        robot = ROBOTS["mixed_tree"]()
        q, v, tau = states(robot, 5, 2)
        wrenches = np.random.default_rng(1).normal(size=(5, robot.nlinks, 6))
        found = robot.filtering(q, v, tau, wrenches=wrenches, losses=True)
        a, links = robot.forward_dynamics(q, v, tau, wrenches=wrenches, losses=True, links=True)
        close(found.a, a, 1e-10, "a")
        bodies = [robot.link_names.index(joint.child) for joint in robot.model.joints]
        close(found.alpha, links[:, bodies], 1e-10, "alpha")
        close(found.f, found.f_plus, 1e-10, "f")
        assert found.z.shape == (5, robot.nbodies, 6) and found.epsilon.shape == (5, robot.nv)


@pytest.mark.parametrize("losses", ["damping", "friction"])
def test_one_kind_of_losses_acts_alone(losses):
    robot = rc.robots.planar(2).with_joint("joint1", damping=0.3, friction=0.2)
    q, v, tau = state(robot)
    close(robot.filtering(q, v, tau, losses=losses).a, robot.forward_dynamics(q, v, tau, losses=losses), 1e-12)


def test_tied_joints_are_refused():
    robot = tied_gripper()
    q, v = robot.random_state(1)
    with pytest.raises(rc.NoSweepError, match=r'tied joints.*mimic="free"'):
        robot.filtering(q, v, v)
