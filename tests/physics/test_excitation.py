"""Exciting motions keep within limits at all times, start and end at rest, and tell more than random ones."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from identified import vaguely, with_friction
from recursa.identification.fourier import Bounds, Series, within


@pytest.fixture(scope="module")
def motion() -> rc.Excitation:
    return rc.excitation(rc.robots.panda_like(), rounds=6, seed=1)


def test_limits_hold_at_all_times(motion):
    robot = motion.robot
    q, v, a = motion.sample(motion.times(20_001))
    low, high = robot.position_limits
    assert ((q >= low) & (q <= high)).all()
    assert (np.abs(v) <= robot.velocity_limits).all()
    assert (np.abs(a) <= 4.0 * robot.velocity_limits).all()
    assert (np.abs(robot.inverse_dynamics(q, v, a, losses=True)) <= robot.effort_limits).all()
    assert motion.violations(samples=4001) == []


def test_it_starts_and_ends_at_rest_in_one_place(motion):
    q, v, a = motion.sample([motion.start, motion.end])
    assert np.abs(q[0] - q[1]).max() < 1e-12
    assert np.abs(v).max() < 1e-12
    assert np.abs(a).max() < 1e-10


def test_it_is_better_than_random_motions(motion):
    assert motion.condition < 0.5 * motion.random_condition
    assert "random motions" in str(motion)
    planned = rc.excitation(rc.robots.planar(2), criterion="determinant", rounds=8)
    assert planned.log_determinant > planned.random_log_determinant + 0.3


def test_the_same_seed_gives_the_same_motion():
    first, second, other = (rc.excitation(rc.robots.planar(2), rounds=2, seed=s).sample(1.0)[0] for s in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_parameters_are_known_better_from_it_than_from_a_random_motion():
    true = with_friction(rc.robots.planar(3))
    planned, random = (rc.excitation(rc.robots.planar(3), rounds=rounds, duration=6.0) for rounds in (15, 0))
    assert planned.condition < random.condition
    spreads = []
    for motion in (planned, random):
        t = motion.times(1201)
        q, v, a = motion.sample(t)
        noise = 0.05 * np.random.default_rng(0).normal(size=v.shape)
        measured = {"t": t, "q": q, "v": v, "a": a, "tau": true.inverse_dynamics(q, v, a, losses=True) + noise}
        found = rc.identify(vaguely(true), measured, method="base", unexcited="prior", cutoff=20.0)
        spreads.append(found.score.condition)
    assert spreads[0] < spreads[1]


def test_weak_drives_get_smaller_motions():
    strong = rc.robots.panda_like()
    hold = np.abs(rc.excitation(strong, rounds=0).sample(np.linspace(0, 10, 200))[2]).max()
    weak = strong
    for name in ("joint1", "joint3"):
        weak = weak.with_joint(name, effort=2.0)
    motion = rc.excitation(weak, rounds=0)
    q, v, a = motion.sample(motion.times(5001))
    assert (np.abs(weak.inverse_dynamics(q, v, a, losses=True)) <= weak.effort_limits).all()
    assert np.abs(a).max() < hold


def test_a_joint_that_cannot_hold_the_arm_is_named():
    weak = rc.robots.panda_like().with_joint("joint2", effort=1e-3).with_joint("joint4", effort=1e-3)
    with pytest.raises(rc.StateError, match=r"joint '(joint2|joint4)' is too weak"):
        rc.excitation(weak, rounds=0)


def test_limits_of_zero_are_none_and_ranges_of_zero_are_named():
    """As many files have them."""
    arm = rc.robots.planar(2).with_joint("joint1", effort=0.0, velocity=0.0)
    motion = rc.excitation(arm, rounds=0)
    assert np.abs(motion.sample(motion.times(101))[1]).max(axis=0).min() > 0.1
    with pytest.raises(rc.StateError, match="joint 'joint2' has no room to move: its limits are 0 and 0"):
        rc.excitation(rc.robots.planar(2).with_joint("joint2", limits=(0.0, 0.0)))


def test_sliding_joints_and_ranges_without_limits():
    motion = rc.excitation(rc.robots.stanford(), rounds=1, duration=5.0, velocity=0.8, acceleration=2.0)
    _, v, a = motion.sample(motion.times(5001))
    assert np.abs(v).max() <= 0.8
    assert np.abs(a).max() <= 2.0


@pytest.mark.parametrize("harmonics", [2, 3, 7])
def test_series_keep_bounds_between_samples(harmonics):
    rng = np.random.default_rng(harmonics)
    series = Series(3.0, harmonics)
    bounds = Bounds(np.array([-1.0, 0.2]), np.array([1.0, 0.5]), np.array([2.0, 3.0]), np.array([9.0, 4.0]))
    centres, coefficients = within(series, bounds, 3.0 * rng.normal(size=(20, 2, series.free + 2)))
    x, v, a = series.curve(coefficients, np.linspace(0.0, 3.0, 7001))
    q = centres[:, None] + x
    assert (q >= bounds.low - 1e-12).all()
    assert (q <= bounds.high + 1e-12).all()
    assert (np.abs(v) <= bounds.speed + 1e-12).all()
    assert (np.abs(a) <= bounds.acceleration + 1e-12).all()
    assert np.abs(np.gradient(q[0, :, 0], 3.0 / 7000)[5:-5] - v[0, 5:-5, 0]).max() < 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "best"}, "criterion 'best'"),
        ({"harmonics": 1}, "harmonics must be a whole number of at least 2"),
        ({"rounds": -1}, "rounds must be a whole number"),
        ({"margin": 1.0}, "margin must be a share"),
        ({"duration": 0.0}, "duration"),
        ({"velocity": -1.0}, "velocity must be positive"),
        ({"fit": ("stribeck",)}, "leave out 'stribeck'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(rc.RecursaError, match=words):
        rc.excitation(rc.robots.planar(2), **options)


def test_floating_robots_are_refused_by_the_name_of_the_joint():
    with pytest.raises(rc.StateError, match="joint 'root' is free"):
        rc.excitation(rc.robots.free_flyer(2))
