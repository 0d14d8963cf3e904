"""rc.count: what the generated code costs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import recursa as rc
from recursa.kernels.kernel import Kernel
from recursa.model.may_move import MayMove


@pytest.mark.parametrize(
    ("make", "what", "mul", "add"),
    [
        (rc.robots.stanford, "inverse_dynamics", 104, 82),
        (rc.robots.stanford, "forward_dynamics", 180, 125),
        (rc.robots.puma560, "inverse_dynamics", 189, 162),
        (rc.robots.panda_like, "inverse_dynamics", 308, 293),
        (lambda: rc.robots.chain(6, seed=3), "inverse_dynamics", 404, 344),
        (lambda: rc.robots.chain(6, seed=3), "mass_matrix", 327, 273),
        (lambda: rc.robots.chain(6, seed=3), "forward_dynamics", 979, 842),
    ],
)
def test_counts_stay_low(make, what, mul, add):
    counts = rc.count(make(), what)
    assert counts.mul <= mul
    assert counts.add <= add


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("inverse_dynamics", {}),
        ("inverse_dynamics", {"method": "augmented"}),
        ("inverse_dynamics", {"method": "denoc"}),
        ("bias_forces", {}),
        ("mass_matrix", {}),
        ("mass_matrix_inverse", {}),
        ("coriolis_matrix", {}),
        ("forward_dynamics", {}),
        ("linearize", {}),
    ],
)
def test_equally_general_arms_cost_the_same(what, options):
    """What rounding leaves of numbers that cancel is no operand: nothing depends on the digits of an arm."""
    assert len({rc.count(rc.robots.chain(4, seed=seed), what, **options) for seed in range(12)}) == 1


@pytest.mark.parametrize("what", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("turns", [(1, 2, 3), (2, 2, 2), (-1, -2, 1)])
def test_offsets_of_quarter_turns_cost_nothing(convention, turns, what):
    plain, offset = (
        rc.from_dh(
            [
                rc.DHLink(a=0.3, alpha=0.7, d=0.2, theta=k * math.pi / 2, mass=1.0 + 0.1 * row, com=(0.1, 0.2, 0.3),
                          inertia=(0.02, 0.03, 0.04, 0.001, 0.002, 0.003))
                for row, k in enumerate(quarters)
            ],
            convention=convention,
        )
        for quarters in ((0, 0, 0), turns)
    )  # fmt: skip
    assert rc.count(offset, what) == rc.count(plain, what)
    q, v = plain.random_state(1)
    back = q - np.array(turns) * math.pi / 2
    assert np.allclose(offset.inverse_dynamics(back, v, v), plain.inverse_dynamics(q, v, v), rtol=1e-12, atol=1e-12)
    assert np.allclose(offset.mass_matrix(back), plain.mass_matrix(q), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("what", ["inverse_dynamics", "mass_matrix", "forward_dynamics", "coriolis_matrix"])
@pytest.mark.parametrize("tilt", [(math.pi / 2, 0, 0), (0, math.pi / 2, 0), (0.3, 0.2, 0.1)])
def test_a_symmetric_body_costs_the_same_in_any_axes(tilt, what):
    """Turned about its own axis it is the same body; rounding leaves products of inertia of 1e-18."""

    def arm(yaw: float) -> rc.Robot:
        b = rc.Builder("arm")
        for k, parent in enumerate(("world", "link0", "link1")):
            b.link(f"link{k}").link(f"shell{k}", mass=1.3, com=(0, 0, 0.1), inertia=(0.023, 0.023, 0.011))
            b.joint(f"joint{k}", "revolute", parent=parent, child=f"link{k}", xyz=(0.1, 0, 0.3), rpy=tilt)
            b.joint(f"mount{k}", "fixed", parent=f"link{k}", child=f"shell{k}", xyz=(0, 0, 0.2), rpy=(0, 0, yaw))
        return b.build()

    upright = rc.count(arm(0.0), what)
    assert {rc.count(arm(yaw), what) for yaw in (0.1, 0.7, -1.1, 2.3, 3.0)} == {upright}


@pytest.mark.compiled
def test_count_matches_the_kernel_that_runs():
    robot = rc.robots.puma560()
    q, _ = robot.random_state(0)
    robot.mass_matrix(q)
    ((_, kernel),) = robot.evaluator.store(MayMove.INERTIAS)._kernels.values()
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
