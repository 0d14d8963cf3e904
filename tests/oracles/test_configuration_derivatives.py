"""How integrate and difference change, and configurations between two: complex steps, differences and Pinocchio."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import central, close, states, tied_gripper
from recursa.interop import pinocchio as interop
from zoo import ALL_KINDS, each_kind, large_interpreted, one_of_each, small_mixed_tree

ROBOTS = {
    **{kind: (lambda kind=kind: each_kind(kind)) for kind in ALL_KINDS},
    "one_of_each": one_of_each,
    "small_mixed_tree": small_mixed_tree,
    "tied_gripper": tied_gripper,
}
SIZES = (0.0, 1e-9, 1e-4, 0.1, 0.99, 1.01, 2.5)  # of the motion; series and closed forms meet where a turn is 1


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


def turned(robot: rc.Robot, v: np.ndarray, size: float) -> np.ndarray:
    """Motions whose turns have about a size: of three numbers, each its share."""
    return size * v / np.maximum(1e-12, np.linalg.norm(v, axis=-1, keepdims=True)) * np.sqrt(robot.nv / 3)


def columns(f, nv):
    """d f(e) at 0 by differences, column by column."""
    return np.stack([central(lambda t, e=e: f(t * e)) for e in np.eye(nv)], axis=-1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_integrate_changes_as_differences_say(name, size):
    robot = robot_named(name)
    q, v, _ = states(robot, 3, seed=1)
    dv = turned(robot, v, size)
    there = robot.integrate(q, dv)
    by_q, by_dv = robot.d_integrate(q, dv)
    assert by_q.shape == by_dv.shape == (3, robot.nv, robot.nv)
    near = columns(lambda e: robot.difference(there, robot.integrate(robot.integrate(q, e), dv)), robot.nv)
    close(by_q, near, 1e-9, "by q")
    close(by_dv, columns(lambda e: robot.difference(there, robot.integrate(q, dv + e)), robot.nv), 1e-9, "by dv")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_difference_changes_as_differences_say(name, size):
    robot = robot_named(name)
    q0, v, _ = states(robot, 3, seed=2)
    q1 = robot.integrate(q0, turned(robot, v, size))
    by_q0, by_q1 = robot.d_difference(q0, q1)
    close(by_q0, columns(lambda e: robot.difference(robot.integrate(q0, e), q1), robot.nv), 1e-8, "by q0")
    close(by_q1, columns(lambda e: robot.difference(q0, robot.integrate(q1, e)), robot.nv), 1e-8, "by q1")


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_one_undoes_the_other_to_rounding(name):
    """By dv and by q1 are inverse; by q of one is what by q0 of the other takes back."""
    robot = robot_named(name)
    q, v, _ = states(robot, 40, seed=3)
    dv = v * np.geomspace(1e-8, 1.0, 40)[:, None]  # no turn beyond pi
    dv /= np.maximum(1.0, np.abs(dv).max(axis=-1, keepdims=True))
    by_q, by_dv = robot.d_integrate(q, dv)
    by_q0, by_q1 = robot.d_difference(q, robot.integrate(q, dv))
    close(by_dv @ by_q1, np.broadcast_to(np.eye(robot.nv), by_dv.shape), 1e-12)
    close(-by_dv @ by_q0, by_q, 1e-12)


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_interpolation_goes_all_the_way_at_one_speed(name):
    robot = robot_named(name)
    q0, v, _ = states(robot, 2, seed=4)
    dv = 0.4 * v
    q1 = robot.integrate(q0, dv)
    s = np.array([-0.5, 0.0, 0.3, 1.0, 1.2])[:, None]
    found = robot.interpolate(q0, q1, s)
    assert found.shape == (5, 2, robot.nq)
    close(robot.difference(np.broadcast_to(q0, found.shape), found), s[..., None] * dv, 1e-12)
    close(robot.interpolate(q0[0], q1[0], 0.3), found[2, 0], 0.0)
    out = np.empty((5, 2, robot.nq))
    assert robot.interpolate(q0, q1, s, out=out) is out
    close(out, found, 0.0)


def test_what_is_no_part_of_the_way_is_explained():
    robot = robot_named("revolute")
    with pytest.raises(rc.StateError, match="s must be numbers"):
        robot.interpolate(robot.neutral(), robot.neutral(), "half")


@pytest.mark.parametrize("name", large_interpreted([name for name in ROBOTS if name != "tied_gripper"]))
def test_pinocchio_agrees(name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    model = interop.build(robot)
    back = np.argsort(interop.velocity_order(robot, model))
    q, v, _ = states(robot, 3, seed=5)
    dv = 0.7 * v / np.maximum(1.0, np.abs(v))
    q1 = robot.integrate(q, dv)
    ours = *robot.d_integrate(q, dv), *robot.d_difference(q, q1)
    there = robot.interpolate(q, q1, 0.37)
    pq, pq1 = (interop.configuration(robot, model, x) for x in (q, q1))
    pdv = interop.velocity(robot, model, dv)
    for s in range(3):
        theirs = *pin.dIntegrate(model, pq[s], pdv[s]), *pin.dDifference(model, pq[s], pq1[s])
        for one, other in zip(ours, theirs, strict=True):
            close(one[s], other[np.ix_(back, back)], 1e-9)
        found = interop.configuration_from(robot, model, pin.interpolate(model, pq[s], pq1[s], 0.37))
        close(robot.difference(there[s], found), np.zeros(robot.nv), 1e-9)
