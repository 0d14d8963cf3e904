"""rc.count: what the generated code costs."""

from __future__ import annotations

import pytest

import recursa as rc
from recursa.kernels.kernel import Kernel
from recursa.model.moving import MayMove


@pytest.mark.parametrize(
    ("make", "what", "mul", "add"),
    [
        (rc.robots.stanford, "inverse_dynamics", 106, 88),
        (rc.robots.stanford, "forward_dynamics", 180, 127),
        (rc.robots.puma560, "inverse_dynamics", 193, 173),
        (rc.robots.panda_like, "inverse_dynamics", 312, 300),
        (lambda: rc.robots.chain(6, seed=3), "inverse_dynamics", 410, 350),
        (lambda: rc.robots.chain(6, seed=3), "mass_matrix", 327, 273),
        (lambda: rc.robots.chain(6, seed=3), "forward_dynamics", 980, 842),
    ],
)
def test_counts_stay_low(make, what, mul, add):
    counts = rc.count(make(), what)
    assert counts.mul <= mul
    assert counts.add <= add


@pytest.mark.compiled
def test_count_matches_the_kernel_that_runs():
    robot = rc.robots.puma560()
    q, _ = robot.random_state(0)
    robot.mass_matrix(q)
    ((_, kernel),) = robot._store(MayMove.INERTIAS)._kernels.values()
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


def test_messages_speak_of_counting_and_of_what_was_called():
    with pytest.raises(rc.UnknownNameError, match=r"no quantity to count 'mass_matrx'\. Did you mean 'mass_matrix'"):
        rc.count(rc.robots.planar(2), "mass_matrx")
    with pytest.raises(rc.NoSweepError, match=r"Load it with floating=True\.$"):
        rc.robots.planar(2).with_base("link2")


def test_tied_joints_are_counted_by_the_method_they_have():
    tied = rc.load(
        rc.robots.planar(3)
        .to_urdf()
        .replace("</joint>", '<mimic joint="joint1"/></joint>', 3)
        .replace('<mimic joint="joint1"/></joint>', "</joint>", 2),
        mimic="tie",
    )
    assert tied.nv == 2
    assert rc.count(tied, "forward_dynamics") == rc.count(tied, "forward_dynamics", method="composite")
