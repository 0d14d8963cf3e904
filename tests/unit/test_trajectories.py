"""Trajectories: exact derivatives, what each law promises, joints on manifolds, limits, and what is refused."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.trajectories.coordinates import aligned, coordinate_rates, states
from recursa.trajectories.curves import Pieces

Make = Callable[[rc.Robot], rc.Trajectory]


def walk(robot: rc.Robot, count: int = 6, reach: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Times and configurations that are not far from one another; quaternions of either sign."""
    rng = np.random.default_rng(3)
    q = [robot.random_state(rng)[0]]
    for _ in range(count - 1):
        q.append(robot.integrate(q[-1], reach * rng.uniform(-1, 1, robot.nv)))
    for start in robot.model.quaternions:
        q[2][start : start + 4] *= -1
    return np.cumsum(rng.uniform(0.3, 0.9, count)), np.array(q)


def ends(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray]:
    return robot.random_state(1)[0], robot.random_state(2)[0]


def rates(robot: rc.Robot, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    size = robot.nv if rows is None else (rows, robot.nv)
    return rng.normal(size=size), rng.normal(size=size)


def along(robot: rc.Robot, given: int) -> rc.Trajectory:
    t, q = walk(robot)
    return rc.Trajectory.along(t, q, *rates(robot, len(t))[:given], robot=robot)


def minimum_jerk(robot: rc.Robot) -> rc.Trajectory:
    t, q = walk(robot)
    v, a = rates(robot, 2)
    return rc.Trajectory.minimum_jerk(q, t, v0=v[0], v1=v[1], a0=a[0], a1=a[1], robot=robot)


def spline(kind: Any, end: Any = None) -> Make:
    def make(robot: rc.Robot) -> rc.Trajectory:
        t, q = walk(robot)
        if end == "periodic":
            q[-1] = q[0]
            q = aligned(robot.model, q)
            q[-1] = q[0]
        return rc.Trajectory.spline(q, t, kind=kind, ends=end, robot=robot)

    return make


MAKES: dict[str, Make] = {
    "constant": lambda robot: rc.Trajectory.constant(ends(robot)[0], 2.0, robot=robot),
    "cycloid": lambda robot: rc.Trajectory.cycloid(*ends(robot), 1.7, robot=robot),
    "quintic": lambda robot: rc.Trajectory.quintic(*ends(robot), 1.7, robot=robot),
    "trapezoidal": lambda robot: rc.Trajectory.trapezoidal(*ends(robot), velocity=1.1, acceleration=2.0, robot=robot),
    "minimum jerk": minimum_jerk,
    **{f"along {given}": (lambda robot, given=given: along(robot, given)) for given in range(3)},  # type: ignore[misc]
    **{
        f"{kind} {end}": spline(kind, end)
        for kind in ("cubic", "quintic")
        for end in ("clamped", "natural", "not-a-knot", "periodic")
    },
    "pchip": spline("pchip"),
    "akima": spline("akima"),
}
ROBOTS = {"known arm": zoo.known_answer_arm, "mixed": lambda: zoo.small_mixed_tree(), "flyer": rc.robots.free_flyer}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("law", MAKES)
def test_speeds_and_accelerations_match_differences(law: str, name: str) -> None:
    robot = ROBOTS[name]()
    motion = MAKES[law](robot)
    h = 1e-5
    t = np.random.default_rng(4).uniform(motion.start + 0.01, motion.end - 0.01, 23)
    t = t[np.abs(t[:, None] - motion.knots).min(axis=1) > 2 * h]
    q, v, a = motion.sample(t)
    assert q.shape == (len(t), robot.nq)
    assert v.shape == a.shape == (len(t), robot.nv)
    (q0, v0, _), (q1, v1, _) = motion.sample(t - h), motion.sample(t + h)
    scale = 1.0 + np.abs(a).max()
    assert np.allclose(robot.difference(q0, q1) / (2 * h), v, atol=1e-7 * scale)
    assert np.allclose((v1 - v0) / (2 * h), a, atol=1e-6 * scale)
    for start in robot.model.quaternions:
        assert np.allclose(np.linalg.norm(q[:, start : start + 4], axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("law", ["cycloid", "quintic", "trapezoidal"])
def test_motion_between_two_configurations_reaches_both_at_rest(law: str, name: str) -> None:
    robot = ROBOTS[name]()
    motion = MAKES[law](robot)
    q, v, _ = motion.sample([motion.start, motion.end])
    assert np.allclose(robot.difference(q, np.array(ends(robot))), 0.0, atol=1e-9)
    assert np.allclose(v, 0.0, atol=1e-12)
    direction = robot.difference(*ends(robot))  # one axis per joint all the way
    _, v, a = motion.sample(motion.times(7))
    for rate in (v, a):
        assert np.allclose(np.outer(rate @ direction, direction), rate * (direction @ direction), atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("law", [law for law in MAKES if law not in ("constant", "cycloid", "quintic", "trapezoidal")])
def test_motion_through_points_meets_them(law: str, name: str) -> None:
    robot = ROBOTS[name]()
    t, q = walk(robot)
    if "periodic" in law:
        q[-1] = q[0]
    met = MAKES[law](robot).sample(t)[0]
    assert np.allclose(robot.difference(met, q), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_samples_given_with_speeds_and_accelerations_are_met(name: str) -> None:
    robot = ROBOTS[name]()
    t, _ = walk(robot)
    v, a = rates(robot, len(t))
    for given in (1, 2):
        _, met_v, met_a = along(robot, given).sample(t)
        assert np.allclose(met_v, v, atol=1e-9)
        assert given == 1 or np.allclose(met_a, a, atol=1e-8)
    before, after = (along(robot, 2).sample(t[1:-1] + h)[2] for h in (-1e-9, 1e-9))
    assert np.allclose(before, after, atol=1e-5)


@pytest.mark.parametrize("name", ROBOTS)
def test_coordinate_rates_and_speeds_invert_each_other(name: str) -> None:
    robot = ROBOTS[name]()
    _, q = walk(robot)
    v, a = rates(robot, len(q))
    again = states(robot.model, q, *coordinate_rates(robot.model, q, v, a))
    for one, other in zip(again, (q, v, a), strict=True):
        assert np.allclose(one, other, atol=1e-12)


# ---- each law --------------------------------------------------------------------------------------------------------


def test_cycloid_matches_the_paper() -> None:
    """Notes to Saha, section 3.7: q0 + k (t - sin(w t)/w) with k = (qT - q0)/T, w = 2 pi/T."""
    q0, qT, T = np.array([0.2, -0.4]), np.array([1.3, 0.9]), 10.0
    t = np.linspace(0, T, 9)
    k, w = (qT - q0) / T, 2 * np.pi / T
    q, v, a = rc.Trajectory.cycloid(q0, qT, T).sample(t)
    assert np.allclose(q, q0 + np.outer(t - np.sin(w * t) / w, k), atol=1e-14)
    assert np.allclose(v, np.outer(1 - np.cos(w * t), k), atol=1e-14)
    assert np.allclose(a, np.outer(w * np.sin(w * t), k), atol=1e-14)


def test_quintic_meets_everything_given_at_its_ends() -> None:
    rng = np.random.default_rng(1)
    q0, q1, v0, v1, a0, a1 = rng.normal(size=(6, 3))
    motion = rc.Trajectory.quintic(q0, q1, 0.7, v0=v0, v1=v1, a0=a0, a1=a1)
    for t, given in ((0.0, (q0, v0, a0)), (0.7, (q1, v1, a1))):
        for one, other in zip(motion.sample(t), given, strict=True):
            assert np.allclose(one, other, atol=1e-11)


def test_quintic_turn_with_speeds_along_its_axis_and_not() -> None:
    robot = zoo.each_kind("spherical")
    q0, q1 = ends(robot)
    step = robot.difference(q0, q1)
    motion = rc.Trajectory.quintic(q0, q1, 1.3, v0=0.4 * step, a1=-0.2 * step, robot=robot)
    assert np.allclose(motion.sample(0.0)[1], 0.4 * step)
    q, v, _ = motion.sample(np.array([0.5, 0.5 + 1e-6]))
    assert np.allclose(robot.difference(q[0], q[1]) / 1e-6, v[0], atol=1e-5)
    with pytest.raises(rc.StateError, match=r"joint 'joint1': speeds .* do not lie along its step.*Trajectory.along"):
        rc.Trajectory.quintic(q0, q1, 1.3, v0=0.4 * step[::-1], robot=robot)


def jerk_integral(motion: rc.Trajectory) -> float:
    t = np.linspace(motion.start, motion.end, 40_001)
    jerk = np.diff(motion.sample(t)[2], axis=0) / np.diff(t)[:, None]
    return float(np.sum(jerk**2 * np.diff(t)[:, None]))


def test_minimum_jerk_is_least_among_motions_through_the_points() -> None:
    rng = np.random.default_rng(7)
    t, x = np.array([0.0, 0.4, 1.1, 1.5, 2.6]), rng.normal(size=(5, 2))
    best = rc.Trajectory.minimum_jerk(x, t)
    least = jerk_integral(best)
    _, v, a = best.sample(t)
    for _ in range(6):  # the same points and ends, other speeds and accelerations in between
        dv, da = 0.3 * rng.normal(size=(2, 5, 2))
        dv[[0, -1]] = da[[0, -1]] = 0.0
        assert jerk_integral(rc.Trajectory.along(t, x, v + dv, a + da)) > least * 1.0001
    assert jerk_integral(rc.Trajectory.along(t, x, v, a)) == pytest.approx(least, rel=1e-6)


def test_minimum_jerk_has_four_continuous_derivatives() -> None:
    rng = np.random.default_rng(2)
    t = np.cumsum(rng.uniform(0.1, 2.0, 40))
    curve = rc.Trajectory.minimum_jerk(rng.normal(size=(40, 3)), t)._states
    assert isinstance(curve, Pieces)
    powers = np.arange(6)
    for order in range(5):
        factor = np.array([math.perm(k, order) for k in powers])
        scale = curve.widths[:, None] ** order
        start = math.factorial(order) * curve.coefficients[order] / scale
        end = np.einsum("k,kmn->mn", factor, curve.coefficients) / scale
        assert np.allclose(end[:-1], start[1:], rtol=1e-7, atol=1e-7 * np.abs(start).max())


def test_minimum_jerk_of_two_points_is_the_quintic() -> None:
    q0, q1 = [0.3, 0.1], [1.0, -2.0]
    t = np.linspace(0, 2, 9)
    one, other = rc.Trajectory.minimum_jerk([q0, q1], [0, 2]), rc.Trajectory.quintic(q0, q1, 2)
    for x, y in zip(one.sample(t), other.sample(t), strict=True):
        assert np.allclose(x, y, atol=1e-12)


def test_splines_match_scipy() -> None:
    from scipy.interpolate import CubicSpline, PchipInterpolator, make_interp_spline

    rng = np.random.default_rng(2)
    t, x = np.cumsum(rng.uniform(0.1, 2.0, 9)), rng.normal(size=(9, 2))
    when = np.linspace(t[0], t[-1], 31)[:-1]
    for kind, end, peer in (
        ("cubic", "natural", CubicSpline(t, x, bc_type="natural")),
        ("cubic", None, CubicSpline(t, x, bc_type="clamped")),
        ("pchip", None, PchipInterpolator(t, x)),
        ("quintic", "not-a-knot", make_interp_spline(t, x, k=5)),
    ):
        got = rc.Trajectory.spline(x, t, kind=kind, ends=end).sample(when)  # type: ignore[arg-type]
        for order, values in enumerate(got):
            assert np.allclose(values, peer(when, order), atol=1e-9), (kind, order)


def test_spline_with_periodic_ends_returns_as_it_left() -> None:
    t, x = [0.0, 0.5, 1.2, 2.0], [[0.1], [0.9], [-0.4], [0.1]]
    for kind in ("cubic", "quintic"):
        first, last = rc.Trajectory.spline(x, t, kind=kind, ends="periodic").sample([0.0, 2.0])[1]  # type: ignore[arg-type]
        assert first == pytest.approx(last)
        assert abs(first[0]) > 0.1


@pytest.mark.parametrize(
    ("options", "duration"),
    [
        ({"velocity": 0.5, "acceleration": 1.0}, 1.0 / 0.5 + 0.5),  # trapezoid
        ({"velocity": 9.0, "acceleration": 1.0}, 2.0),  # triangle
        ({"velocity": 0.5, "acceleration": 1.0, "T": 4.0}, 4.0),
        ({"velocity": 0.5, "acceleration": 1.0, "T": 2.5}, 2.5),
        ({"acceleration": 1.0, "T": 2.0}, 2.0),
        ({"acceleration": 1.0, "T": 3.0}, 3.0),
        ({"velocity": 0.5, "T": 2.2}, 2.2),
        ({"velocity": 5.0, "T": 2.2}, 2.2),
        ({"T": 3.0}, 3.0),
    ],
)
def test_trapezoid_keeps_its_bounds_and_all_joints_keep_step(options: dict[str, float], duration: float) -> None:
    q0, q1 = np.array([0.0, 0.3, 0.2]), np.array([1.0, -0.4, 0.2])
    motion = rc.Trajectory.trapezoidal(q0, q1, **options)
    assert motion.duration == pytest.approx(duration)
    q, v, a = motion.sample(motion.times(2001))
    part = (q - q0)[:, 0]
    assert np.allclose(q, q0 + part[:, None] * (q1 - q0), atol=1e-12)
    assert part[-1] == pytest.approx(1.0, abs=1e-14)
    assert (np.diff(part) >= 0).all()
    assert np.abs(v).max() <= options.get("velocity", math.inf) * (1 + 1e-9)
    assert np.abs(a).max() <= options.get("acceleration", math.inf) * (1 + 1e-9)
    if "acceleration" in options:
        assert np.abs(a).max() == pytest.approx(1.0)
    elif options.get("velocity") == 0.5:
        assert np.abs(v).max() == pytest.approx(0.5)
    assert (q[:, 2] == 0.2).all()


def test_trapezoid_is_paced_by_the_slowest_freedom() -> None:
    motion = rc.Trajectory.trapezoidal([0, 0], [1.0, 1.0], velocity=[0.5, 2.0], acceleration=[9.0, 0.25])
    v, a = (np.abs(x).max(axis=0) for x in motion.sample(motion.times(5001))[1:])
    assert v[0] == pytest.approx(0.5)
    assert a[1] == pytest.approx(0.25)


def test_laws_do_not_depend_on_the_unit_of_time() -> None:
    x = np.random.default_rng(5).normal(size=(6, 2))
    t = np.array([0.0, 1.0, 1.7, 3.0, 3.3, 5.0])
    for unit in (1e-9, 1e9):
        for make in (
            lambda t: rc.Trajectory.minimum_jerk(x, t),
            lambda t: rc.Trajectory.spline(x, t),
            lambda t: rc.Trajectory.cycloid(x[0], x[1], t[-1]),
        ):
            (q, v, a), (q1, v1, a1) = make(t).sample(t[1:-1] + 0.1), make(t * unit).sample((t[1:-1] + 0.1) * unit)
            assert np.allclose(q, q1, atol=1e-9)
            assert np.allclose(v, v1 * unit, atol=1e-8)
            assert np.allclose(a, a1 * unit**2, atol=1e-7)


# ---- sampling --------------------------------------------------------------------------------------------------------


def test_shapes_follow_the_instants() -> None:
    motion = rc.Trajectory.cycloid([0.0, 1.0, 2.0], [1.0, 1.0, 0.0], 1.0)
    assert [x.shape for x in motion.sample(0.3)] == [(3,)] * 3
    assert [x.shape for x in motion.sample(np.zeros((2, 0, 5)))] == [(2, 0, 5, 3)] * 3
    grid = np.linspace(0, 1, 6).reshape(2, 3)
    assert np.array_equal(motion.sample(grid)[0][1, 2], motion.sample(1.0)[0])
    assert motion.times(4).tolist() == np.linspace(0, 1, 4).tolist()


def test_outside_the_motion_it_stands_at_the_ends() -> None:
    motion = rc.Trajectory.quintic([0.0], [1.0], 2.0, v0=0.5, v1=-0.3, a1=2.0)
    q, v, a = motion.sample([-1.0, 2.0, 2.0 + 1e-12, 50.0])
    assert q[:, 0] == pytest.approx([0.0, 1.0, 1.0, 1.0])
    assert v[:, 0] == pytest.approx([0.0, -0.3, 0.0, 0.0])
    assert a[:, 0] == pytest.approx([0.0, 2.0, 0.0, 0.0])


def test_times_may_start_anywhere() -> None:
    motion = rc.Trajectory.minimum_jerk([[0.0], [1.0], [3.0]], [10.0, 11.0, 12.5])
    assert (motion.start, motion.end, motion.duration) == (10.0, 12.5, 2.5)
    assert motion.sample(11.0)[0] == pytest.approx([1.0])
    assert repr(motion) == "<Trajectory of 1 coordinates, 10 to 12.5 s>"


def test_import_of_the_package_leaves_trajectories_for_later() -> None:
    import subprocess
    import sys

    code = "import recursa, sys; print([m for m in sys.modules if 'trajector' in m]); recursa.Trajectory"
    code += "; print('scipy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\nFalse\n"


@pytest.mark.parametrize("law", ["cycloid", "minimum jerk"])
def test_trajectory_survives_a_pickle(law: str) -> None:
    motion = MAKES[law](zoo.small_mixed_tree())
    again = pickle.loads(pickle.dumps(motion))
    for one, other in zip(motion.sample(motion.times(5)), again.sample(motion.times(5)), strict=True):
        assert np.array_equal(one, other)


def test_largest_speeds_and_accelerations_are_those_on_the_page() -> None:
    for motion, speed, acceleration in (
        (rc.Trajectory.cycloid([0], [1], 1), 2, 2 * math.pi),
        (rc.Trajectory.quintic([0], [1], 1), 15 / 8, 10 / math.sqrt(3)),
        (rc.Trajectory.trapezoidal([0], [1], T=1), 3 / 2, 9 / 2),
    ):
        _, v, a = motion.sample(motion.times(100_001))
        assert np.abs(v).max() == pytest.approx(speed, rel=1e-8)
        assert np.abs(a).max() == pytest.approx(acceleration, rel=1e-8)


# ---- limits ----------------------------------------------------------------------------------------------------------


def limited() -> rc.Robot:
    b = rc.Builder("limited")
    b.link("l1", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    b.link("l2", mass=2.0, com=(0.1, 0, 0), inertia=(0.01, 0.1, 0.1))
    b.joint("lift", "revolute", parent="world", child="l1", axis=(0, -1, 0), limits=(-1, 2), velocity=1.5, effort=30)
    b.joint("slide", "prismatic", parent="l1", child="l2", axis=(1, 0, 0), limits=(0, 0.5), velocity=0.4, effort=40)
    return b.build()


def test_motion_within_the_limits_passes_to_the_brim() -> None:
    robot = limited()
    rc.Trajectory.trapezoidal([-1, 0], [2, 0.5], velocity=[1.5, 0.4], acceleration=0.5, robot=robot).check()


@pytest.mark.parametrize(
    ("q0", "q1", "T", "joint", "quantity", "limit", "unit"),
    [
        ([0, 0.1], [2.2, 0.1], 9.0, "lift", "position", 2.0, "rad"),
        ([-1.1, 0.1], [0, 0.1], 9.0, "lift", "position", -1.0, "rad"),
        ([0, 0.1], [0, 0.7], 9.0, "slide", "position", 0.5, "m"),
        ([0, 0.1], [0.2, 0.4], 0.7, "slide", "velocity", 0.4, "m/s"),
        ([0.2, 0.4], [0, 0.1], 0.7, "slide", "velocity", -0.4, "m/s"),
        ([0, 0.0], [0.3, 0.0], 0.15, "lift", "effort", 30.0, "N m"),
    ],
)
def test_limit_error_names_joint_time_value_and_limit(
    q0: list[float], q1: list[float], T: float, joint: str, quantity: str, limit: float, unit: str
) -> None:
    robot = limited()
    motion = rc.Trajectory.cycloid(q0, q1, T)
    found = [one for one in motion.violations(robot) if (one.joint, one.quantity) == (joint, quantity)]
    with pytest.raises(rc.LimitError) as caught:
        motion.check(robot, effort=quantity == "effort")
    error = caught.value
    if quantity != "effort":
        assert (error.joint, error.quantity, error.limit) == (joint, quantity, limit)
        assert f"joint '{joint}': {quantity}" in str(error)
        assert f"limit {limit:g} {unit}" in str(error)
    worst = next(one for one in found if one.limit == limit)
    q, v, a = motion.sample(worst.time)
    index = robot.joint_names.index(joint)
    shown = {"position": q, "velocity": v, "effort": robot.inverse_dynamics(q, v, a)}[quantity]
    assert worst.value == pytest.approx(shown[index])
    assert worst.unit == unit
    assert worst.first <= worst.time
    assert abs(worst.value) > abs(limit) or q0[0] < -1


def test_first_violation_in_time_is_raised() -> None:
    motion = rc.Trajectory.spline([[0, 0.1], [0, 0.7], [2.5, 0.1]], [0, 5, 20])
    with pytest.raises(rc.LimitError, match="joint 'slide': position"):
        motion.check(limited())
    assert {one.joint for one in motion.violations(limited())} == {"slide", "lift"}


def test_tied_joint_is_held_to_its_own_limits() -> None:
    b = rc.Builder("gripper")
    for name in ("a", "b"):
        b.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("left", "revolute", parent="world", child="a", axis=(0, 0, 1), limits=(-3, 3))
    b.joint("right", "revolute", parent="world", child="b", axis=(0, 0, 1), limits=(-3, 3), velocity=1,
            mimic=("left", -2.0, 0.1))  # fmt: skip
    robot = rc.load(b.build().to_urdf(), mimic="tie")
    assert robot.nq == 1
    (found,) = rc.Trajectory.cycloid([0.0], [2.0], 60.0).violations(robot)
    assert (found.joint, found.quantity, found.limit) == ("right", "position", -3.0)
    assert found.value == pytest.approx(-3.9)


def test_check_needs_a_robot_with_these_coordinates(tmp_path: Path) -> None:
    motion = rc.Trajectory.cycloid([0, 0.1], [1, 0.1], 2.0)
    with pytest.raises(rc.StateError, match="which robot"):
        motion.check()
    with pytest.raises(rc.ShapeError, match=r"2 plain coordinates, robot 'planar3' has nq = 3"):
        motion.check(rc.robots.planar(3))
    motion.check(limited())
    file = tmp_path / "m.csv"
    file.write_text("t,slide,lift\n0,0.1,0\n1,0.1,0.2\n")
    with pytest.raises(rc.StateError, match="in the order slide, lift, those of robot 'limited' in the order lift, sl"):
        rc.Trajectory.from_csv(file).check(limited())
    rc.Trajectory.from_csv(file, limited()).check()


# ---- what is refused -------------------------------------------------------------------------------------------------

T2 = rc.Trajectory
ARM = rc.robots.planar(2)
FLYER = rc.robots.free_flyer(1)
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "T zero": (lambda: T2.cycloid([0], [1], 0.0), rc.StateError, "T = 0: a duration is positive"),
    "T negative": (lambda: T2.quintic([0], [1], -2), rc.StateError, "T = -2: a duration is positive"),
    "T nan": (lambda: T2.cycloid([0], [1], math.nan), rc.StateError, "T must be one finite number"),
    "T text": (lambda: T2.cycloid([0], [1], "2"), rc.StateError, "T must be numbers"),  # type: ignore[arg-type]
    "T tiny": (lambda: T2.cycloid([0], [1], 1e-200), rc.StateError, "too short for floating-point"),
    "lengths": (lambda: T2.cycloid([0, 0], [1], 1), rc.ShapeError, "q0 has 2 entries, q1 has 1"),
    "lengths, robot": (lambda: T2.cycloid([0], [1], 1, robot=ARM), rc.ShapeError, r"q0 has shape \(1,\), expected"),
    "nan": (lambda: T2.cycloid([0, math.nan], [1, 1], 1), rc.StateError, r"q0 contains nan \(entry 1\)"),
    "nan, robot": (lambda: T2.cycloid([0, math.nan], [1, 1], 1, robot=ARM), rc.StateError, r"nan \('joint2'\)"),
    "rows": (lambda: T2.cycloid([[0, 1]], [1, 1], 1), rc.ShapeError, r"q0 has shape \(1, 2\), expected \(n,\)"),
    "text": (lambda: T2.constant(["a"]), rc.StateError, "q must be numbers"),
    "complex": (lambda: T2.constant([1j]), rc.StateError, "q must be real"),
    "quaternion": (
        lambda: T2.cycloid(FLYER.neutral(), 2 * FLYER.neutral(), 1, robot=FLYER), rc.StateError,
        "q1: the quaternion of joint 'root'",
    ),
    "name": (lambda: T2.cycloid({"jint1": 0}, {}, 1, robot=ARM), rc.UnknownNameError, "Did you mean 'joint1'"),
    "v0": (lambda: T2.quintic([0, 0], [1, 1], 1, v0=[1]), rc.ShapeError, r"v0 has shape \(1,\), expected \(2,\)"),
    "times": (lambda: T2.spline([[0], [1]], [0, 1, 2]), rc.ShapeError, "there are 3 times for 2 points"),
    "order": (lambda: T2.spline([[0], [1], [2]], [0, 2, 2]), rc.StateError, r"times\[2\] = 2 follows times\[1\] = 2"),
    "one point": (lambda: T2.minimum_jerk([[0]], [0]), rc.ShapeError, "at least two points, not 1"),
    "flat points": (lambda: T2.minimum_jerk([0, 1], [0, 1]), rc.ShapeError, r"points has shape \(2,\)"),
    "ragged": (lambda: T2.minimum_jerk([[0, 1], [1]], [0, 1]), rc.ShapeError, "rows differ in length"),
    "point nan": (lambda: T2.spline([[0], [math.inf]], [0, 1]), rc.StateError, r"contains inf \(row 1, entry 0\)"),
    "kind": (lambda: T2.spline([[0], [1]], [0, 1], kind="cubc"), rc.UnknownNameError, "Did you mean 'cubic'"),  # type: ignore[arg-type]
    "ends": (lambda: T2.spline([[0], [1]], [0, 1], ends="rest"), rc.UnknownNameError, "no way to end"),  # type: ignore[arg-type]
    "pchip ends": (lambda: T2.spline([[0], [1]], [0, 1], kind="pchip", ends="natural"), rc.StateError, "no choice"),
    "not periodic": (lambda: T2.spline([[0], [1]], [0, 1], ends="periodic"), rc.StateError, "the same first and last"),
    "few": (
        lambda: T2.spline([[0], [1]], [0, 1], kind="quintic", ends="natural"), rc.ShapeError, "needs 3 points, not 2",
    ),
    "v rows": (lambda: T2.along([0, 1], [[0], [1]], [[0]]), rc.ShapeError, "v has 1 rows, q has 2"),
    "a without v": (lambda: T2.along([0, 1], [[0], [1]], a=[[0], [1]]), rc.StateError, "a is given without v"),
    "too fast": (lambda: T2.spline([[0], [1e300]], [0, 1e-100]), rc.StateError, "too far or too fast"),
    "too far": (lambda: T2.cycloid([-1.7e308], [1.7e308], 1), rc.StateError, "too far or too fast"),
    "far, quintic": (lambda: T2.quintic([0], [1e308], 1), rc.StateError, "too far or too fast"),
    "far, trapezoid": (lambda: T2.trapezoidal([0], [1e308], T=1e-9), rc.StateError, "too far or too fast"),
    "steps": (
        lambda: T2.minimum_jerk([[0], [1], [2], [1]], [0, 1e-300, 1, 2]), rc.StateError, "too f|differ too much",
    ),
    "no bounds": (lambda: T2.trapezoidal([0], [1], velocity=1), rc.StateError, "give velocity and acceleration, or T"),
    "no step": (lambda: T2.trapezoidal([1], [1], velocity=1, acceleration=1), rc.StateError, "are the same"),
    "short T": (lambda: T2.trapezoidal([0], [1], acceleration=1, T=1.9), rc.StateError, "takes at least 2 s"),
    "short T, v": (lambda: T2.trapezoidal([0], [1], velocity=1, T=1), rc.StateError, "takes more than 1 s"),
    "short T, both": (
        lambda: T2.trapezoidal([0], [1], velocity=0.5, acceleration=1, T=2.4), rc.StateError, "takes at least 2.5 s",
    ),
    "bound": (lambda: T2.trapezoidal([0, 0], [1, 1], velocity=[1, 0], T=9), rc.StateError, "entry 1 is 0"),
    "bounds": (lambda: T2.trapezoidal([0], [1], velocity=[1, 1], T=9), rc.ShapeError, "expected one number or"),
    "t": (lambda: T2.constant([0]).sample(math.nan), rc.StateError, "t must be finite"),
    "n": (lambda: T2.constant([0]).times(1), rc.StateError, "at least two instants"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_by_name(case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


def test_rotations_that_lose_their_direction_between_samples_are_refused() -> None:
    robot = zoo.each_kind("spherical")
    v = np.zeros((2, robot.nv))
    v[:, 3] = math.sqrt(128)  # a turn and a half in one step: the quintic of the quaternion passes through zero
    q = np.tile(robot.neutral(), (2, 1))
    with pytest.raises(rc.StateError, match=r"joint 'joint2': the rotations are too far apart .* Give more of them"):
        rc.Trajectory.along([0, 1], q, v, 0 * v, robot=robot)
    rc.Trajectory.along([0, 0.3], q, v, 0 * v, robot=robot)
