"""Motions integrated in diagonal coordinates (q, nu): the same as in (q, v), and kinetic energy kept to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, tied_gripper
from recursa.integrators import INTEGRATORS, names
from recursa.simulation.diagonal import DiagonalEquations
from zoo import small_mixed_tree


def rubbing() -> rc.Robot:
    """Two joints with friction and damping, the second of which comes to rest and starts again."""
    builder = rc.Builder("rubbing")
    for k, (joint, link, parent) in enumerate((("shoulder", "upper", "world"), ("elbow", "lower", "upper"))):
        builder.link(link, mass=1.0, com=(0.3, 0.02, 0.0), inertia=(0.01, 0.02, 0.03))
        builder.joint(
            joint, "revolute", parent=parent, child=link, axis=(0, 1, 0), xyz=(0.5 * k, 0, 0), friction=1.0,
            damping=0.02,
        )  # fmt: skip
    return builder.build()


@pytest.mark.compiled
def test_implicit_midpoint_keeps_the_kinetic_energy_to_rounding() -> None:
    """The notes measure 1.6e-15 over 500 steps of 0.02 s; in (q, v) it is the rule's own error."""
    robot = rc.robots.puma560().with_gravity((0, 0, 0))
    q, v = robot.random_state(3)
    drifts = {}
    for coordinates in ("joint", "diagonal"):
        run = robot.simulate(
            q, v, duration=10.0, integrator="implicit-midpoint", step=0.02, losses=False, coordinates=coordinates
        )
        assert run.statistics["steps"] == 500
        assert run.options.coordinates == coordinates
        drifts[coordinates] = np.abs(run.kinetic_energy / run.kinetic_energy[0] - 1.0).max()
    assert drifts["diagonal"] <= 1e-13
    assert drifts["joint"] > 1e-7


def test_midpoint_keeps_the_energy_of_every_kind_of_joint() -> None:
    robot = small_mixed_tree().with_gravity((0, 0, 0))
    q, v = robot.random_state(5)
    run = robot.simulate(
        q, 0.5 * v, duration=0.06, integrator="implicit-midpoint", step=0.02, coordinates="diagonal", losses=False
    )
    assert np.abs(run.kinetic_energy / run.kinetic_energy[0] - 1.0).max() <= 1e-14


@pytest.mark.compiled
def test_midpoint_through_newton_keeps_the_energy() -> None:
    """A step so long that repetition does not converge."""
    robot = rc.robots.planar(2).with_gravity((0, 0, 0))
    run = robot.simulate(
        [0.3, 1.2], [4.0, -7.0], duration=0.9, integrator="implicit-midpoint", step=0.15, coordinates="diagonal"
    )
    assert run.statistics["evaluations"] > 6 * 12  # more than repetition takes where it converges
    assert np.abs(run.kinetic_energy / run.kinetic_energy[0] - 1.0).max() <= 1e-12


@pytest.mark.compiled
@pytest.mark.parametrize("integrator", names("simulate"))
def test_motion_matches_the_one_in_joint_coordinates(integrator: str) -> None:
    """With gravity, torques, a wrench and damping; every integrator to its own order."""
    robot = rubbing_free()
    by_order = {4: (0.01, 1e-6), 2: (0.005, 2e-4), 1: (0.002, 3e-2)}
    method = INTEGRATORS[integrator]
    step, tolerance = (None, 1e-6) if method.adaptive else by_order[method.order]
    given = {
        "duration": 0.3, "torque": lambda t, q, v: [0.4 * np.cos(3 * t), -0.2 * q[1]], "rtol": 1e-8, "atol": 1e-9,
        "wrenches": [rc.Wrench(at="lower", force=(0.5, 0.0, 1.0))], "samples": 4,
    }  # fmt: skip
    exact = robot.simulate([0.2, 0.5], [1.0, -2.0], **given | {"rtol": 1e-11, "atol": 1e-12})
    run = robot.simulate([0.2, 0.5], [1.0, -2.0], integrator=integrator, step=step, coordinates="diagonal", **given)
    close(run.q, exact.q, tolerance)
    close(run.v, exact.v, 10 * tolerance)
    close(run.a, exact.a, 200 * tolerance)
    close(run.tau, exact.tau, tolerance)
    close(run.work, exact.work, 10 * tolerance)
    close(run.lost, exact.lost, 10 * tolerance)


def rubbing_free() -> rc.Robot:
    """The same arm with damping alone."""
    text = rubbing().to_urdf().replace('friction="1"', 'friction="0"').replace('friction="1.0"', 'friction="0"')
    return rc.load(text)


@pytest.mark.compiled
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_runge_kutta_keeps_its_order(integrator: str) -> None:
    """A right-hand side with V of another configuration would be of order one."""
    robot = rc.robots.planar(2)
    exact = robot.simulate([0.2, 0.5], [1.0, -2.0], duration=0.4, rtol=1e-12, atol=1e-13)
    if integrator == "dop853":
        run = robot.simulate([0.2, 0.5], [1.0, -2.0], duration=0.4, coordinates="diagonal", rtol=1e-11)
        close(run.q[-1], exact.q[-1], 1e-9)
        return
    errors = [
        np.abs(
            robot.simulate(
                [0.2, 0.5], [1.0, -2.0], duration=0.4, integrator="rk4", step=step, coordinates="diagonal"
            ).q[-1]
            - exact.q[-1]
        ).max()
        for step in (0.04, 0.02)
    ]
    assert 12.0 < errors[0] / errors[1] < 22.0  # 2^4


def test_every_kind_of_joint_moves_as_in_joint_coordinates() -> None:
    robot = small_mixed_tree()
    q, v = robot.random_state(5)
    given = {"duration": 0.02, "integrator": "rk4", "step": 0.01, "losses": False}
    one, two = (robot.simulate(q, v, coordinates=c, **given) for c in ("joint", "diagonal"))
    close(two.q[-1], one.q[-1], 1e-6)
    close(two.v[-1], one.v[-1], 1e-4)


@pytest.mark.compiled
def test_friction_sticks_as_in_joint_coordinates() -> None:
    """Both modes and the instants between them: a joint that stops, holds still exactly, and starts again."""
    robot = rubbing()
    given = {"duration": 0.9, "samples": 46, "rtol": 1e-7, "atol": 1e-9}
    one, two = (robot.simulate([0.0, 0.4], [0.0, 3.0], coordinates=c, **given) for c in ("joint", "diagonal"))
    close(two.q, one.q, 1e-5)
    close(two.v, one.v, 1e-4)
    close(two.lost, one.lost, 1e-5)
    still = one.v == 0.0
    assert still.any()
    assert (two.v[still] == 0.0).all()


@pytest.mark.compiled
def test_events_and_interpolants_see_joint_rates() -> None:
    robot = rc.robots.planar(2)
    given = {"duration": 0.5, "events": lambda t, q, v: v[1], "dense": True}
    one, two = (robot.simulate([0.2, 0.5], [1.0, -2.0], coordinates=c, **given) for c in ("joint", "diagonal"))
    assert len(one.events) == len(two.events) > 0
    close(two.events[0].t, one.events[0].t, 1e-8)
    close(two.events[0].v, one.events[0].v, 1e-7)
    times = np.linspace(0.03, 0.47, 9)
    for ours, theirs in zip(two.at(times), one.at(times), strict=True):
        close(ours, theirs, 1e-7)


@pytest.mark.compiled
def test_compiled_slopes_match_interpreted_ones() -> None:
    robot = rc.robots.planar(2)
    q, v = robot.random_state(1)
    equations = DiagonalEquations(robot)
    native = equations._diagonally_solved(q, v, equations._zero, ())
    equations._slopes = None
    close(native, equations._diagonally_solved(q, v, equations._zero, ()), 1e-13)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_unknown_coordinates_are_named() -> None:
    with pytest.raises(rc.UnknownNameError, match="no set of coordinates 'diagnal'"):
        rc.robots.planar(2).simulate([0, 0], duration=1.0, coordinates="diagnal")  # type: ignore[arg-type]


def test_tied_joints_are_refused() -> None:
    robot = tied_gripper()
    with pytest.raises(rc.NoSweepError, match="tied joints"):
        robot.simulate(robot.neutral(), duration=1.0, coordinates="diagonal")


def test_impulses_of_friction_are_refused() -> None:
    with pytest.raises(rc.StateError, match="take another integrator"):
        rubbing().simulate([0, 0], duration=1.0, integrator="semi-implicit", coordinates="diagonal")


def test_run_that_explodes_names_the_fastest_joint() -> None:
    with pytest.raises(rc.SimulationError, match="joint"):
        rc.robots.planar(2).simulate(
            [0.1, 0.2], [50.0, -80.0], duration=5.0, integrator="rk4", step=0.5, coordinates="diagonal",
            torque=lambda t, q, v: 50.0 * v,
        )  # fmt: skip
