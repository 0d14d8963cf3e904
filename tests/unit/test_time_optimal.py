"""Timing of paths: closed forms, limits between places, zero-inertia points, losses, jerk, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import native_oracles
import path_oracles
import recursa as rc
import zoo
from recursa.errors import NativeCodeError
from recursa.kernels import switch
from recursa.paths import grid, limit_rows, optimal, passes
from recursa.trajectories import curves
from recursa.trajectories.bounds import Limits
from recursa.trajectories.drives import Drive

NONE = math.inf


@pytest.fixture(scope="module")
def panda() -> rc.Robot:
    return rc.robots.panda_like()


def middle_points(robot: rc.Robot, count: int, seed: int, part: float = 0.35) -> np.ndarray:
    low, high = robot.position_limits
    centre, half = 0.5 * (low + high), 0.5 * part * (high - low)
    return np.random.default_rng(seed).uniform(centre - half, centre + half, (count, robot.nq))


def parts(
    motion: rc.TimedTrajectory, robot: rc.Robot, samples: int = 20001, losses=False, **limits
) -> dict[str, float]:
    """The largest part of every limit on a dense look at the trajectory itself."""
    t = np.union1d(motion.times(samples), motion.knots)
    inside = np.concatenate([t, motion.knots[1:] - 1e-9 * np.diff(motion.knots)])  # both sides of every knot
    q, v, a = motion.sample(inside)
    bound = Limits.of(robot, limits.get("velocity"), limits.get("acceleration"), limits.get("effort"))
    tau = robot.inverse_dynamics(q, v, a, losses=losses)
    given = {"velocity": v, "acceleration": a, "effort": tau}
    return {name: float((np.abs(x) / getattr(bound, name)).max()) for name, x in given.items()}


# ---- known answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [3, 10, 51, 200])
def test_double_integrator_is_bang_bang_exactly(points: int) -> None:
    """From rest to rest over a distance D with |a| <= A: 2 sqrt(D/A), whether or not the middle is on the grid."""
    robot = rc.robots.planar(1)
    motion = rc.time_optimal(
        robot, rc.Path([[0.0], [3.0]]), velocity=NONE, effort=NONE, acceleration=2.0, points=points
    )
    assert motion.duration == pytest.approx(2.0 * math.sqrt(1.5), rel=1e-13)
    q, _, a = motion.sample([0.25 * motion.duration, 0.75 * motion.duration])
    np.testing.assert_allclose(a[:, 0], [2.0, -2.0], rtol=1e-9)
    np.testing.assert_allclose(q[:, 0], [3.0 / 8.0, 21.0 / 8.0], rtol=1e-12)


@pytest.mark.parametrize("points", [7, 40, 201])
def test_trapezoid_with_a_limit_of_velocity(points: int) -> None:
    robot = rc.robots.planar(1)
    motion = rc.time_optimal(robot, rc.Path([[0.0], [3.0]]), velocity=1.5, effort=NONE, acceleration=2.0, points=points)
    peer = rc.Trajectory.trapezoidal([0.0], [3.0], velocity=1.5, acceleration=2.0)
    assert motion.duration == pytest.approx(peer.duration, rel=1e-12)
    t = peer.times(50)
    np.testing.assert_allclose(motion.sample(t)[0], peer.sample(t)[0], atol=1e-9)


def test_start_and_end_speeds() -> None:
    """From 1 to 2 rad/s at 3 rad/s^2 up to the crossing, and down: v^2 = v0^2 + 2 A s."""
    robot = rc.robots.planar(1)
    motion = rc.time_optimal(
        robot, rc.Path([[0.0], [2.0]]), velocity=NONE, effort=NONE, acceleration=3.0, start_speed=1.0, end_speed=2.0
    )
    top = math.sqrt((1.0 + 4.0) / 2.0 + 3.0 * 2.0)
    assert motion.duration == pytest.approx((top - 1.0) / 3.0 + (top - 2.0) / 3.0, rel=1e-9)
    assert motion.sample([0.0, motion.end])[1][:, 0] == pytest.approx([1.0, 2.0])


def test_lines_without_blend_stop_at_corners() -> None:
    robot = rc.robots.planar(2)
    path = rc.Path([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], kind="lines")
    motion = rc.time_optimal(robot, path, velocity=NONE, effort=NONE, acceleration=1.0)
    assert motion.duration == pytest.approx(4.0, rel=1e-9)
    assert np.abs(motion.sample(motion.duration / 2)[1]).max() < 1e-6
    rounded = rc.Path([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], kind="lines", blend=0.3)
    faster = rc.time_optimal(robot, rounded, velocity=NONE, effort=NONE, acceleration=1.0)
    assert faster.duration < 3.6


def test_the_way_of_a_trajectory_is_never_slower_than_its_scaling(panda: rc.Robot) -> None:
    start, end = {"joint4": -1.5, "joint6": 1.5}, {"joint1": 2.0, "joint4": -1.0, "joint6": 1.8}
    motion = rc.Trajectory.cycloid(start, end, 6.0, robot=panda)
    scaled = motion.scaled_to_limits()
    best = rc.time_optimal(panda, motion)
    straight = rc.time_optimal(panda, rc.Path([motion.sample(0.0)[0], motion.sample(6.0)[0]]))
    assert best.duration < scaled.duration
    assert best.duration == pytest.approx(straight.duration, rel=2e-3)  # the same way, another parameter
    assert max(parts(best, panda).values()) < 1.0 + 1e-6


# ---- limits hold everywhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [31, 101, 401])
@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_between_the_places_of_the_grid(panda: rc.Robot, seed: int, points: int) -> None:
    path = rc.Path(middle_points(panda, 5, seed))
    motion = rc.time_optimal(panda, path, acceleration=15.0, points=points)
    found = parts(motion, panda, acceleration=15.0)
    assert max(found.values()) < 1.0 + 1e-6
    assert max(found.values()) > 0.999  # and one is used up
    if points == 401:
        motion.check(panda)


@pytest.mark.parametrize("losses", ["friction", "damping", True])
def test_losses_count(losses) -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"))
    path = rc.Path(middle_points(robot, 4, 1))
    motion = rc.time_optimal(robot, path, velocity=NONE, losses=losses)
    assert 0.999 < parts(motion, robot, velocity=NONE, losses=losses)["effort"] < 1.0 + 1e-6


def test_payload_takes_time(panda: rc.Robot) -> None:
    path = rc.Path(middle_points(panda, 4, 5))
    loaded = panda.with_payload("flange", 2.5)
    free, heavy = (rc.time_optimal(one, path, velocity=NONE) for one in (panda, loaded))
    assert heavy.duration > free.duration * 1.01
    assert parts(heavy, loaded, velocity=NONE)["effort"] < 1.0 + 1e-6


def test_zero_inertia_points() -> None:
    """A joint whose torque does not depend on path acceleration at some places: the duration settles, no chatter."""
    robot = rc.robots.planar(2)
    path = rc.Path([[0.0, 0.0], [1.2, -2.0], [0.3, 2.2], [1.5, 0.4]])
    effort = [6.0, 1.2]
    coarse, fine, finest = (
        rc.time_optimal(robot, path, velocity=NONE, effort=effort, points=n) for n in (201, 801, 3201)
    )
    along = limit_rows.Along.of(robot, [path], [np.linspace(0.0, path.end, 400)], False, Drive(robot))
    inertia = (along.pushed - along.held).reshape(-1, 2)
    assert (np.diff(np.sign(inertia[: len(inertia) // 4]), axis=0) != 0).any()  # there are such places
    for motion in (coarse, fine, finest):
        assert parts(motion, robot, velocity=NONE, effort=effort)["effort"] < 1.0 + 1e-6
    assert finest.duration < fine.duration < coarse.duration < 1.006 * finest.duration  # from above, like 1/points
    flips = np.sign(np.diff(fine.timing.profile.u))
    assert np.count_nonzero(np.diff(flips)) < 400


def test_every_kind_of_joint() -> None:
    """Quaternions, planar and free joints: along the manifold, with limits on every freedom."""
    for name in zoo.ALL_KINDS:
        robot = zoo.each_kind(name)
        q = np.stack([robot.random_state(seed)[0] for seed in (1, 2)])
        near = [q[0], robot.integrate(q[0], 0.3 * robot.difference(q[0], q[1])), q[1]]
        near[2] = robot.integrate(q[0], 0.5 * robot.difference(q[0], q[1]))
        free = robot.with_gravity((0.0, 0.0, 0.0))
        path = rc.Path(near, robot=free)
        motion = rc.time_optimal(free, path, velocity=2.0, acceleration=5.0, effort=NONE, points=101)
        found = parts(motion, free, velocity=2.0, acceleration=5.0)
        assert max(found["velocity"], found["acceleration"]) < 1.0 + 1e-6, name
        t = np.linspace(0.1, 0.9, 7) * motion.duration
        q0, v, _ = motion.sample(t)
        q1 = motion.sample(t + 1e-6)[0]
        np.testing.assert_allclose(free.difference(q0, q1) / 1e-6, v, atol=1e-4)


@pytest.mark.parametrize("bodies", [13, 19, 40])
def test_robots_beyond_straight_line_size(bodies: int) -> None:
    robot = rc.robots.tree(bodies, seed=2)
    q = np.stack([robot.random_state(seed)[0] for seed in (1, 2, 3)])
    path = rc.Path(q[0] + 0.5 * (q - q[0]), robot=robot)
    still = np.abs(robot.inverse_dynamics(path.sample(path.places(200))[0], *[np.zeros((200, robot.nv))] * 2)).max(
        axis=0
    )
    effort = 1.3 * still + 5.0
    motion = rc.time_optimal(robot, path, velocity=3.0, effort=effort, points=101)
    assert max(parts(motion, robot, velocity=3.0, effort=effort, samples=3001).values()) < 1.0 + 1e-6


# ---- two forms of one algorithm --------------------------------------------------------------------------------------


@pytest.mark.parametrize("losses", [False, True])
def test_native_rows_and_passes_are_those_of_numpy(losses: bool, panda: rc.Robot) -> None:
    path, other = rc.Path(middle_points(panda, 5, 3)), rc.Path(middle_points(panda, 3, 4))
    for given in ((None, None, None), (None, 20.0, None), (None, 20.0, NONE), (NONE, None, None)):
        limits = Limits.of(panda, *given)
        drive = Drive(panda) if np.isfinite(limits.effort).any() else None
        task = optimal._Task(panda, limits, losses, (0.0, 0.0), drive)
        job = optimal._Batch.of(task, [path, other], ["", ""], 101)
        clear = path_oracles.rows_of(job.taken, limits, job.bounds)
        native = limit_rows.rows_of(job.taken, limits, job.bounds)
        for name in "ABC":
            ours, theirs = getattr(native, name), getattr(clear, name)
            np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * np.abs(theirs).max())
        one, same = passes.run(native, job.along.counts), path_oracles.passes(native, job.along.counts)
        np.testing.assert_allclose(one.x, same.x, rtol=1e-6, atol=1e-9 * same.x.max())
        np.testing.assert_allclose(one.sets, same.sets, rtol=1e-6, atol=1e-9 * same.x.max())
        off = limit_rows.missed(job.along, limits, one.x)
        np.testing.assert_allclose(off, path_oracles.missed(job.along, limits, one.x), rtol=1e-6, atol=1e-13)
        assert off.max() > 1e-9
        motions = grid.switched(job.along, limits, native, one)
        for number, motion in enumerate(motions):
            rows_here, here = job.along.intervals(number), job.along.places(number)
            own = passes.Passed(one.sets[:, here], one.x[here], one.u[rows_here], one.stuck[number : number + 1])
            by_numpy = path_oracles.switched(job.taken.only([number]), limits, own)
            assert len(motion.interval) > job.along.counts[number]  # there are switches
            np.testing.assert_array_equal(motion.interval, by_numpy.interval)
            for name in ("places", "times", "speed", "u"):
                mine, theirs = getattr(motion.profile, name), getattr(by_numpy.profile, name)
                np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("seed", range(20))
def test_passes_on_random_rows(seed: int) -> None:
    """Native and clear form, rows kept, and both ends of every set against a linear program."""
    from scipy.optimize import linprog

    random = np.random.default_rng(seed)
    count, width = 12, int(random.integers(3, 25))
    A, B = random.normal(size=(2, count, width))
    C = -random.uniform(0.1, 1.0, (count, width))
    A[random.random((count, width)) < 0.2] = 0.0  # zero-inertia
    B[:, 0], A[:, 0] = np.abs(B[:, 0]) + 0.1, 0.0
    bounds = np.zeros((2, count + 1))
    bounds[1, 1:-1] = passes.CAP
    given = passes.Rows(A, B, C, random.uniform(0.1, 0.3, count), bounds)
    every = np.array([count])
    clear, native = path_oracles.passes(given, every), passes.run(given, every)
    assert clear.stuck == native.stuck
    if clear.stuck[0] >= 0:
        return
    np.testing.assert_allclose(native.x, clear.x, rtol=1e-8, atol=1e-10)
    assert (A * native.u[:, None] + B * native.x[:-1, None] + C).max() < 1e-9
    for i in range(1, count):
        low, high = native.sets[:, i + 1]
        table = np.concatenate([np.stack([A[i], B[i]], 1), [[given.doubled[i], 1.0], [-given.doubled[i], -1.0]]])
        sides = np.concatenate([-C[i], [high, -low]])
        ends = [linprog([0.0, way], table, sides, bounds=[(None, None), (0.0, None)]).x[1] for way in (1.0, -1.0)]
        np.testing.assert_allclose(native.sets[:, i], ends, rtol=1e-7, atol=1e-9)


def test_native_polynomials_have_the_bits_of_the_clear_ones() -> None:
    random = np.random.default_rng(3)
    for order, pieces, n in ((4, 5, 7), (6, 3, 4), (2, 1, 1), (3, 2, 9), (1, 2, 2)):
        breaks = np.cumsum(random.uniform(0.1, 2.0, pieces + 1))
        curve = curves.Pieces(breaks, random.normal(size=(order, pieces, n)))
        t = np.concatenate([random.uniform(breaks[0], breaks[-1], 50), breaks, [breaks[0] - 0.1, breaks[-1] + 0.1]])
        for mine, theirs in zip(curve(t), native_oracles.pieces(curve, t), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert [part.shape for part in curve(np.empty(0))] == [(0, 2)] * 3


def test_batches_are_the_single_ones(panda: rc.Robot) -> None:
    """To the bit, whatever else is in the list: also where grids are refined, and with losses."""
    arm = rc.load(rc.robots.urdf("desk_arm"))
    for robot, options in (
        (panda, {"points": 51}),
        (panda, {"points": 9, "acceleration": 15.0}),
        (arm, {"points": 31, "losses": True, "velocity": NONE}),
    ):
        paths = [rc.Path(middle_points(robot, n, n)) for n in (3, 4, 6, 2, 5)]
        paths.insert(2, rc.Path(middle_points(robot, 3, 1), kind="lines"))
        together = rc.time_optimal(robot, paths, **options)
        for path, motion in zip(paths, together, strict=True):
            alone = rc.time_optimal(robot, path, **options)
            np.testing.assert_array_equal(motion.timing.times, alone.timing.times)
            np.testing.assert_array_equal(motion.timing.speeds, alone.timing.speeds)
            assert motion.timing.active == alone.timing.active
    assert rc.time_optimal(panda, []) == []
    many = [rc.Path(middle_points(panda, 3, 1))] * 100  # more than are worked on at once
    assert len({motion.duration for motion in rc.time_optimal(panda, many, points=51)}) == 1


def test_in_a_list_the_path_is_named(panda: rc.Robot) -> None:
    good = rc.Path(middle_points(panda, 3, 1))
    low, high = panda.position_limits
    outside = rc.Path([0.5 * (low + high), high + 0.1])
    with pytest.raises(rc.PathError, match=r"path 1 of 2: joint 'joint\d': position .* beyond"):
        rc.time_optimal(panda, [good, outside])
    heavy = panda.with_payload("flange", 40.0)
    out = rc.Path([[0, 0.5, 0, -1.5, 0, 1.5, 0], [0, 1.5, 0, -0.2, 0, 1.5, 0]])
    with pytest.raises(rc.PathError, match=r"path 0 of 2: no motion along the path"):
        rc.time_optimal(heavy, [out, good])


# ---- against toppra --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_durations_are_those_of_toppra(panda: rc.Robot, seed: int) -> None:
    toppra = pytest.importorskip("toppra")
    path = rc.Path(middle_points(panda, 4, seed + 40))
    motion = rc.time_optimal(panda, path, points=801)
    assert motion.duration == pytest.approx(_toppra_duration(toppra, panda, path, 2001), rel=1e-3)


def _toppra_duration(toppra, robot: rc.Robot, path: rc.Path, points: int) -> float:
    from toppra import algorithm, constraint

    class Geometry(toppra.interpolator.AbstractGeometricPath):
        dof = robot.nv
        path_interval = np.array([path.start, path.end])
        waypoints = None

        def __call__(self, s, order=0):
            return path.sample(s)[order]

    def sides(limit):
        return np.stack([-limit, limit], axis=1)

    kept = [
        constraint.JointVelocityConstraint(sides(robot.velocity_limits)),
        constraint.JointTorqueConstraint(
            robot.inverse_dynamics,
            sides(robot.effort_limits),
            np.zeros(robot.nv),
            discretization_scheme=constraint.DiscretizationType.Interpolation,
        ),
    ]
    # the same finer places at both ends: evenly spread ones cost toppra a percent
    grid = path.start + path.length * (0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, points)))
    solver = algorithm.TOPPRA(kept, Geometry(), gridpoints=grid, solver_wrapper="seidel")
    _, speeds, _ = solver.compute_parameterization(0.0, 0.0)
    return float((2.0 * np.diff(grid) / (speeds[1:] + speeds[:-1])).sum())


# ---- what holds it back ----------------------------------------------------------------------------------------------


def test_active_limits_are_at_their_limits(panda: rc.Robot) -> None:
    motion = rc.time_optimal(panda, rc.Path(middle_points(panda, 4, 2)), acceleration=12.0)
    timing = motion.timing
    assert timing.active
    assert sum(held.times[1] - held.times[0] for held in timing.active) > 0.95 * motion.duration
    for held in timing.active:
        t = np.linspace(*held.times, 9)[1:-1]
        q, v, a = motion.sample(t)
        k = panda.v_names.index(held.joint)
        value = {"velocity": v, "acceleration": a, "effort": panda.inverse_dynamics(q, v, a)}[held.quantity][:, k]
        if held.quantity == "velocity":
            value = np.abs(value)
        assert value.max() * np.sign(held.limit) > 0.9 * abs(held.limit) or value.min() / held.limit > 0.9
    assert "s along the path" in str(timing)
    assert (timing.speeds <= timing.maximum_speeds * (1.0 + 1e-6)).all()


def test_phase_plane_is_drawn(panda: rc.Robot, tmp_path) -> None:
    motion = rc.time_optimal(panda, rc.Path(middle_points(panda, 4, 2)), points=101)
    figure = motion.timing.plot(tmp_path / "plane.png")
    assert (tmp_path / "plane.png").stat().st_size > 10_000
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "maximum velocity curve" in labels and len(labels) > 2


# ---- jerk ------------------------------------------------------------------------------------------------------------


def test_jerk_alone_is_nearly_the_closed_form() -> None:
    """Over a distance D from rest to rest with |j| <= J: (32 D/J)^(1/3)."""
    motion = rc.time_optimal(rc.robots.planar(1), rc.Path([[0.0], [1.0]]), velocity=NONE, effort=NONE, jerk=10.0)
    best = 3.2 ** (1.0 / 3.0)
    assert best * (1.0 - 1e-9) <= motion.duration <= best * 1.01


def test_limits_of_jerk_hold(panda: rc.Robot) -> None:
    path = rc.Path(middle_points(panda, 3, 12, 0.4))
    free = rc.time_optimal(panda, path, acceleration=15.0)
    motion = rc.time_optimal(panda, path, acceleration=15.0, jerk=500.0)
    found = parts(motion, panda, acceleration=15.0)
    assert max(found.values()) < 1.0 + 1e-6
    t = motion.times(100_001)
    a = motion.sample(t)[2]
    jerk = np.abs(np.diff(a, axis=0)).max() / (t[1] - t[0])
    assert 0.98 * 500.0 < jerk < 500.0 * (1.0 + 1e-6)
    assert np.abs(a[[0, -1]]).max() < 1e-6 and np.abs(motion.sample(t[[0, -1]])[1]).max() < 1e-9
    assert free.duration < motion.duration < 1.5 * free.duration


def test_jerks_are_among_the_active_limits(panda: rc.Robot) -> None:
    """Jerk up, jerk down, jerk up over a single joint; and on an arm every one that is told is at its limit."""
    single = rc.time_optimal(rc.robots.planar(1), rc.Path([[0.0], [1.0]]), velocity=NONE, effort=NONE, jerk=10.0)
    held = single.timing.active
    assert {one.quantity for one in held} == {"jerk"} and {one.unit for one in held} == {"rad/s^3"}
    assert [one.limit for one in held if one.times[1] - one.times[0] > 0.05 * single.duration] == [10.0, -10.0, 10.0]
    assert sum(one.times[1] - one.times[0] for one in held) > 0.8 * single.duration
    motion = rc.time_optimal(panda, rc.Path(middle_points(panda, 3, 12, 0.4)), acceleration=15.0, jerk=500.0)
    assert {"jerk", "acceleration"} <= {one.quantity for one in motion.timing.active}
    for one in motion.timing.active:
        t = np.linspace(*one.times, 400)
        q, v, a = motion.sample(t)
        values = {"velocity": np.abs(v), "acceleration": a, "effort": panda.inverse_dynamics(q, v, a)}
        values["jerk"] = np.diff(a, axis=0) / np.diff(t)[:, None]
        value = values[one.quantity][:, panda.v_names.index(one.joint)] / one.limit
        assert 0.97 < value.max() < 1.0 + 1e-5


def test_jerk_at_corners_and_with_a_moving_start() -> None:
    robot = rc.robots.planar(2)
    lines = rc.Path([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], kind="lines")
    motion = rc.time_optimal(robot, lines, velocity=NONE, effort=NONE, acceleration=2.0, jerk=20.0)
    assert motion.sample(motion.duration / 2)[0] == pytest.approx([1.0, 0.0], abs=1e-3)
    t = motion.times(40_001)
    assert np.abs(np.diff(motion.sample(t)[2], axis=0)).max() / (t[1] - t[0]) < 20.0 * (1.0 + 1e-5)
    moving = rc.time_optimal(
        rc.robots.planar(1), rc.Path([[0.0], [1.0]]), velocity=NONE, effort=NONE, acceleration=2.0, jerk=20.0,
        start_speed=0.5,
    )  # fmt: skip
    assert moving.sample(0.0)[1][0] == pytest.approx(0.5, rel=1e-6)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_path_that_cannot_be_held_is_named(panda: rc.Robot) -> None:
    loaded = panda.with_payload("flange", 40.0)
    with pytest.raises(
        rc.PathError, match=r"joint 'joint\d' needs effort of at least .* limit is .*merely to hold still"
    ) as e:
        rc.time_optimal(loaded, rc.Path([[0, 0.5, 0, -1.5, 0, 1.5, 0], [0, 1.5, 0, -0.2, 0, 1.5, 0]]))
    assert e.value.quantity == "effort" and e.value.value > e.value.limit
    with pytest.raises(rc.PathError, match="merely to hold still"):
        rc.time_optimal(loaded, rc.Path([[0, 0.5, 0, -1.5, 0, 1.5, 0], [0, 1.5, 0, -0.2, 0, 1.5, 0]]), jerk=500.0)


def test_a_start_too_fast_to_stop_is_named() -> None:
    robot = rc.robots.planar(1)
    with pytest.raises(rc.PathError, match="start_speed 10"):
        rc.time_optimal(robot, rc.Path([[0.0], [1.0]]), velocity=NONE, effort=NONE, acceleration=1.0, start_speed=10.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"points": 2}, "points must be a whole number of at least 3"),
        ({"points": True}, "at least 3"),
        ({"start_speed": -1.0}, "at least 0"),
        ({"velocity": -1.0}, "above 0"),
        ({"velocity": [1.0, 2.0]}, "expected one number"),
        ({"velocity": {"joint9": 1.0}}, "joint9"),
        ({"acceleration": math.nan}, "above 0"),
        ({"losses": "much"}, "much"),
    ],
)
def test_bad_options_are_named(panda: rc.Robot, options, words: str) -> None:
    with pytest.raises(rc.RecursaError, match=words):
        rc.time_optimal(panda, rc.Path(middle_points(panda, 3, 1)), **options)


def test_robots_without_limits_are_refused() -> None:
    robot = rc.robots.planar(2)
    path = rc.Path([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(rc.StateError, match=r"has no limits.*Give some"):
        rc.time_optimal(robot, path)
    with pytest.raises(rc.StateError, match="nothing limits the speed"):
        rc.time_optimal(robot, path, velocity={"joint2": 1.0})


def test_paths_that_are_none() -> None:
    robot = rc.robots.planar(2)
    for points, options, words in (
        ([[0.0, 0.0]], {}, "two points"),
        ([[0.0, 0.0], [0.0, 0.0]], {}, "the same"),
        ([[0.0, 0.0], [1.0, math.nan]], {}, "finite"),
        ([[0.0, 0.0], [1.0, 1.0]], {"kind": "curls"}, "curls"),
        ([[0.0, 0.0], [1.0, 1.0]], {"blend": 0.1}, "kind='lines'"),
        ([[0.0, 0.0], [1.0, 1.0]], {"ends": "clamped"}, "no kind of ends 'clamped'. There are: natural"),
        ([[0.0, 0.0], [1.0, 1.0]], {"ends": "natural", "kind": "lines"}, "is for kind='spline'"),
        ([[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]], {"ends": "periodic"}, "the same first and last point"),
        ([[-1e300, 0.0], [1e300, 1.0]], {}, "far apart"),
    ):
        with pytest.raises(rc.RecursaError, match=words):
            rc.Path(points, **options)
    with pytest.raises(rc.RecursaError, match="nq = 2"):
        rc.time_optimal(robot, rc.Path([[0.0], [1.0]]), velocity=1.0)
    with pytest.raises(rc.StateError, match="Path"):
        rc.time_optimal(robot, "path", velocity=1.0)
    with pytest.raises(rc.StateError, match="nothing moves"):
        rc.time_optimal(robot, rc.Trajectory.constant([0.0, 0.0]), velocity=1.0)


def test_positions_beyond_limits_are_named(panda: rc.Robot) -> None:
    with pytest.raises(rc.PathError, match="joint 'joint1': position") as e:
        rc.time_optimal(panda, rc.Path([[0, 0, 0, -1.5, 0, 1.5, 0], [4, 0, 0, -1.5, 0, 1.5, 0]]))
    assert e.value.quantity == "position" and e.value.limit == pytest.approx(2.8973)


# ---- uniform scaling -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("losses", [False, True])
def test_scaling_reaches_a_limit_and_no_more(losses: bool) -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"))
    q = middle_points(robot, 4, 3)
    motion = rc.Trajectory.minimum_jerk(q, [0.0, 1.0, 2.0, 3.5], robot=robot)
    for slower in (1.0, 30.0):
        given = rc.Trajectory.minimum_jerk(q, np.array([0.0, 1.0, 2.0, 3.5]) * slower, robot=robot)
        scaled = given.scaled_to_limits(losses=losses, acceleration=8.0)
        t = scaled.times(40_001)
        q1, v, a = scaled.sample(t)
        tau = robot.inverse_dynamics(q1, v, a, losses=losses)
        worst = max(
            (np.abs(v) / robot.velocity_limits).max(), (np.abs(tau) / robot.effort_limits).max(), np.abs(a).max() / 8.0
        )
        assert 1.0 - 1e-6 < worst < 1.0 + 1e-7
        np.testing.assert_allclose(scaled.sample(scaled.end)[0], motion.sample(motion.end)[0], atol=1e-12)


def test_scaling_where_faster_is_allowed_again() -> None:
    """Torque c + k^2 i with i < 0 leaves no upper limit but the lower one: closed form on one joint."""
    robot = rc.robots.planar(1).with_gravity((0.0, 0.0, 0.0))
    motion = rc.Trajectory.trapezoidal([0.0], [1.0], velocity=1.0, acceleration=1.0, robot=robot)
    inertia = float(robot.mass_matrix([0.0])[0, 0])
    scaled = motion.scaled_to_limits(effort=4.0 * inertia, velocity=NONE)
    assert scaled.duration == pytest.approx(motion.duration / 2.0, rel=1e-9)
    with pytest.raises(rc.StateError, match="nothing limits"):
        motion.scaled_to_limits(effort=NONE, velocity=NONE)
    with pytest.raises(rc.LimitError, match="merely to be held"):
        heavy = rc.robots.planar(1)
        rc.Trajectory.cycloid([0.0], [0.1], 1.0, robot=heavy).scaled_to_limits(effort=1e-3)


def test_timing_without_the_extension_says_what_is_missing(panda: rc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rc.Path(middle_points(panda, 3, 1))
    with monkeypatch.context() as patch:
        patch.setattr(switch, "native_module", None)
        with pytest.raises(NativeCodeError, match=r"runs in native code alone.*C extension is not"):
            rc.time_optimal(panda, path)
    monkeypatch.setattr(switch.Switch, "on", False)
    with pytest.raises(NativeCodeError, match="without RECURSA_COMPILE=0"):
        rc.time_optimal(panda, path)
