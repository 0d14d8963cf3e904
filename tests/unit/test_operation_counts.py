"""rc.count: what the generated code costs."""

from __future__ import annotations

import pytest

import recursa as rc
from recursa.kernels.kernel import Kernel


def test_counts_of_classic_arms():
    assert rc.count(rc.robots.stanford(), "inverse_dynamics").mul <= 141
    assert rc.count(rc.robots.stanford(), "inverse_dynamics").add <= 121
    general = rc.count(rc.robots.chain(6), "mass_matrix")
    assert general.mul <= 350
    assert general.add <= 296


@pytest.mark.compiled
def test_count_matches_the_kernel_that_runs():
    robot = rc.robots.puma560()
    q, _ = robot.random_state(0)
    robot.mass_matrix(q)
    ((_, kernel),) = robot._joint_space._kernels.values()
    assert isinstance(kernel, Kernel)
    assert rc.count(robot, "mass_matrix") == kernel.operations


def test_options_count_too():
    robot = rc.robots.puma560()
    plain, lossy = rc.count(robot, "inverse_dynamics"), rc.count(robot, "inverse_dynamics", losses=True)
    assert lossy.mul > plain.mul
    flange = rc.count(rc.robots.panda_like(), "jacobian", link="flange")
    assert flange.total > rc.count(rc.robots.panda_like(), "jacobian", link="link2").total


def test_unknown_names_are_explained():
    robot = rc.robots.planar()
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'inverse_dynamics'"):
        rc.count(robot, "inverse_dynamic")
    with pytest.raises(rc.UnknownNameError, match="specialised"):
        rc.count(robot, "mass_matrix", rules="specialized")
