"""What simulations must respect: printed results, conservation laws, orders of convergence, friction."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.integrators import INTEGRATORS, names
from zoo import floating_tree_with_rotors, one_of_each, small_mixed_tree

ADAPTIVE = tuple(name for name in names("simulate") if INTEGRATORS[name].adaptive)
FIXED = tuple(name for name in names("simulate") if not INTEGRATORS[name].adaptive)
HORIZONTAL = [0, np.pi / 2, 0, 0, 0, 0]

# Saha's Stanford arm, let go from its start pose (DOP853 at rtol 1e-13, agreeing with a Lagrangian model to 1e-12)
FREE_FALL_Q = [
    [-0.0406348075, 0.5667771536, 0.3480179831, -0.0240587010, 1.0041563702, 0.0129165740],
    [0.0025434783, 0.0809666575, 2.9996616196, 0.0444530563, 1.4895769770, -0.0035945922],
]
FREE_FALL_V = [
    [-0.1119167371, -2.4457577815, 2.5455312409, -0.0423929589, 2.4453857902, -0.0268842847],
    [0.1938993164, -0.2562876911, 7.8949809256, 0.2379952821, 0.2561783834, -0.0078791145],
]


def block(friction: float, slope: float = 0.3) -> rc.Robot:
    """Two kilogrammes on a slope."""
    b = rc.Builder("block").link("box", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("slide", "prismatic", parent="world", child="box", axis=(1, 0, 0), rpy=(0, slope, 0), friction=friction)
    return b.build()


PULL = 2.0 * 9.81 * np.sin(0.3)


def rubbing_pendulum(bodies: int, friction: float = 0.5, damping: float = 0.0) -> rc.Robot:
    b = rc.Builder("rubbing")
    for k in range(bodies):
        parent, at = ("world", 0.0) if k == 0 else (f"link{k}", 0.5)
        b.link(f"link{k + 1}", mass=1.0, com=(0.3, 0.02, 0.01), inertia=(0.01, 0.02, 0.03))
        b.joint(
            f"joint{k + 1}", "revolute", parent=parent, child=f"link{k + 1}", axis=(0, 1, 0), xyz=(at, 0, 0),
            friction=friction, damping=damping,
        )  # fmt: skip
    return b.build()


# ---- printed results and conservation --------------------------------------------------------------------------------


@pytest.mark.compiled
def test_free_fall_of_the_stanford_arm_matches_the_notes_and_keeps_energy() -> None:
    arm = rc.robots.stanford()
    run = arm.simulate(HORIZONTAL, np.zeros(6), duration=2.0, samples=[0.0, 0.5, 1.0, 2.0])
    close(run.q[1:3], FREE_FALL_Q, 1e-9)
    close(run.v[1:3], FREE_FALL_V, 1e-9)
    assert run.energy_drift < 1e-9
    assert run.t[-1] == 2.0
    assert run.momentum_drift is None  # it stands on the ground


@pytest.mark.compiled
def test_falling_tree_keeps_its_momentum() -> None:
    robot = floating_tree_with_rotors()
    q, v = robot.random_state(1)
    run = robot.simulate(q, v, duration=10.0, samples=41)
    assert run.momentum_drift is not None
    assert run.momentum_drift < 1e-10
    assert run.energy_drift < 1e-10
    mass, gravity = robot.mass, np.array(robot.gravity)
    close(run.momentum[:, 3:], run.momentum[0, 3:] + mass * np.outer(run.t, gravity), 1e-11)
    close(np.linalg.norm(run.q[:, 3:7], axis=1), np.ones(41), 1e-15)


@pytest.mark.compiled
@pytest.mark.parametrize("duration", [10.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_free_flyer_keeps_each_momentum_for_long(duration: float) -> None:
    robot = rc.robots.free_flyer(3).with_gravity((0.0, 0.0, 0.0))
    q, v = robot.random_state(2)
    run = robot.simulate(q, 0.3 * v, duration=duration, rtol=1e-12, atol=1e-14, samples=61)
    for part in (run.momentum[:, :3], run.momentum[:, 3:]):
        assert np.linalg.norm(part - part[0], axis=1).max() < 1e-10 * np.linalg.norm(part, axis=1).max()


def test_torques_of_the_joints_leave_the_momentum_alone_and_their_work_balances() -> None:
    robot = rc.robots.free_flyer(2)
    q, v = robot.random_state(3)

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), [np.sin(3.0 * t), -0.3 * v[7]]])

    run = robot.simulate(q, v, duration=0.5, torque=torque, rtol=1e-11, atol=1e-13)
    assert run.momentum_drift is not None
    assert run.momentum_drift < 1e-10
    assert abs(run.work[-1]) > 1e-3  # there is something to balance
    assert run.energy_drift < 1e-10
    pushed = robot.simulate(q, v, duration=0.1, torque=np.ones(8))
    assert pushed.momentum_drift is None


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("steps", "robot"),
    [
        (2_000, rc.robots.planar(2)),
        pytest.param(100_000, rc.robots.planar(2), marks=pytest.mark.slow),
        pytest.param(100_000, rc.robots.free_flyer(3), marks=pytest.mark.slow),
    ],
    ids=["quick", "pendulum", "free flyer"],
)
def test_implicit_midpoint_keeps_energy_near_its_value(steps: int, robot: rc.Robot) -> None:
    q, v = robot.random_state(3)
    run = robot.simulate(q, v, duration=2e-3 * steps, step=2e-3, integrator="implicit-midpoint", save_every=20)
    assert run.energy_drift < 2e-3  # the same for few steps and many
    late = run.energy_error[-len(run) // 4 :]
    assert abs(late.mean()) < 0.3 * np.abs(run.energy_error).max()  # it swings about zero
    other = robot.simulate(q, v, duration=2e-3 * min(steps, 2000), step=2e-3, integrator="semi-implicit")
    assert other.energy_drift > 2.0 * run.energy_drift  # it is not for nothing


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["one_of_each", "small_mixed_tree"])
def test_orders_of_convergence_on_every_joint_kind(name: str) -> None:
    robot = {"one_of_each": one_of_each, "small_mixed_tree": small_mixed_tree}[name]()
    q, v = robot.random_state(1)
    exact = robot.simulate(q, v, duration=0.2, rtol=1e-13, atol=1e-14, samples=2)
    for integrator in FIXED:
        errors = []
        for steps in (20, 40):
            run = robot.simulate(q, v, duration=0.2, step=0.2 / steps, integrator=integrator, samples=2)
            far = robot.difference(run.q[-1], exact.q[-1])
            errors.append(max(np.abs(far).max(), np.abs(run.v[-1] - exact.v[-1]).max()))
        assert abs(np.log2(errors[0] / errors[1]) - INTEGRATORS[integrator].order) < 0.15, integrator
        for start in robot.model.quaternions:
            assert abs(np.linalg.norm(run.q[-1, start : start + 4]) - 1.0) < 1e-15


@pytest.mark.parametrize("integrator", [*ADAPTIVE, "rk4", "implicit-midpoint"])
def test_integrators_agree_on_quaternions_and_planes(integrator: str) -> None:
    robot = small_mixed_tree()
    q, v = robot.random_state(2)
    exact = robot.simulate(q, v, duration=0.05, rtol=1e-12, atol=1e-13)
    run = robot.simulate(q, v, duration=0.05, integrator=integrator, rtol=1e-8, atol=1e-8, step=2e-3)
    tolerance = 1e-3 if integrator == "implicit-midpoint" else 1e-6
    close(robot.difference(exact.q[-1], run.q[-1]), np.zeros(robot.nv), tolerance)
    close(run.v[-1], exact.v[-1], tolerance)


# ---- losses ----------------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("integrator", [*ADAPTIVE, *FIXED])
def test_block_on_a_slope_sticks_slides_and_stops_as_computed_by_hand(integrator: str) -> None:
    options = {"integrator": integrator, "step": 5e-3 if integrator in FIXED else None}
    exactly = 5e-3 if integrator == "semi-implicit" else 1e-10
    sticks = block(1.001 * PULL).simulate([0.2], [0.0], duration=0.5, **options)
    assert (sticks.q == 0.2).all()
    assert (sticks.v == 0.0).all()
    slides = block(0.5 * PULL).simulate([0.0], [0.0], duration=0.5, **options)
    close(slides.q[-1], [0.5 * (0.5 * PULL / 2.0) * 0.5**2], exactly)
    stops = block(1.5 * PULL).simulate([0.0], [0.3], duration=0.5, **options)  # braked by PULL/4 per second
    close(stops.q[-1], [0.3**2 / (0.5 * PULL)], exactly)
    assert stops.v[-1] == 0.0
    assert (np.diff(stops.energy) <= 1e-12).all()


@pytest.mark.compiled
def test_rubbing_pendulum_comes_to_rest_off_its_equilibrium_and_stays() -> None:
    robot = rubbing_pendulum(1)
    runs = {
        name: robot.simulate([0.0], [0.0], duration=8.0, integrator=name, step=step, rtol=1e-9)
        for name, step in (("dop853", None), ("rk4", 4e-3), ("semi-implicit", 4e-3))
    }
    for name, run in runs.items():
        held = float(robot.gravity_forces(run.q[-1])[0])
        assert 1e-3 < abs(held) < 0.5, name  # gravity pulls, friction holds
        assert run.v[-1] == 0.0
        assert (np.diff(run.energy) <= 1e-12).all()
        rest = run.q[run.t > 7.0]
        assert (rest == rest[0]).all()
    close(runs["rk4"].q[-1], runs["dop853"].q[-1], 1e-6)
    assert runs["dop853"].energy_drift < 1e-8
    at_rest = runs["dop853"].q[-1]
    holds = robot.gravity_forces(at_rest)
    for push, moves in ((0.4, 0), (0.6, 1), (-0.4, 0), (-0.6, -1)):  # of these friction takes 0.5
        pushed = robot.simulate(at_rest, [0.0], duration=0.1, torque=holds + push)
        assert np.sign(pushed.q[-1] - at_rest) == moves, push


@pytest.mark.compiled
def test_stick_and_slip_of_two_joints_is_the_same_by_events_and_by_impulses() -> None:
    robot = rubbing_pendulum(2, friction=2.0, damping=0.05)
    options = {"duration": 1.5, "samples": 31}
    events = robot.simulate([0.0, 0.3], [0.0, 2.0], **options)
    impulses = [
        robot.simulate([0.0, 0.3], [0.0, 2.0], **options, integrator="semi-implicit", step=step)
        for step in (2e-3, 1e-3)
    ]
    errors = [np.abs(run.q - events.q).max() for run in impulses]
    assert errors[1] < 5e-3
    assert errors[1] < 0.7 * errors[0]
    assert events.energy_drift < 1e-8
    assert ((events.v == 0.0).any(axis=0)).all()  # both stick at times
    assert (np.diff(events.energy) < 1e-9).all()


def test_damping_alone_slows_as_an_exponential() -> None:
    b = rc.Builder("wheel").link("disc", mass=1.0, inertia=(0.1, 0.1, 0.25))
    b.joint("axle", "continuous", parent="world", child="disc", axis=(0, 0, 1), damping=0.5)
    wheel = b.build()
    for integrator in ADAPTIVE:
        rtol, tolerance = (1e-6, 1e-5) if integrator == "radau" else (1e-9, 1e-7)
        run = wheel.simulate([0.0], [3.0], duration=1.0, integrator=integrator, rtol=rtol, atol=rtol)
        close(run.v[:, 0], 3.0 * np.exp(-2.0 * run.t), tolerance)
        close(run.lost[-1], run.energy[0] - run.energy[-1], tolerance)
    free = wheel.simulate([0.0], [3.0], duration=1.0, losses=False)
    assert free.v[-1] == 3.0
    stiff = wheel.simulate([0.0], [3.0], duration=10.0, integrator="semi-implicit", step=2.0)  # explicit: unstable
    assert (np.diff(np.abs(stiff.v[:, 0])) < 0).all()


@pytest.mark.compiled
def test_stops_hold_a_joint_near_its_limits_and_give_their_energy_back_less_losses() -> None:
    b = rc.Builder("door").link("leaf", mass=1.0, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.06))
    b.joint("hinge", "revolute", parent="world", child="leaf", axis=(0, 1, 0), limits=(-1.0, 0.5))
    door = b.build()
    through = door.simulate([0.0], [0.0], duration=1.0)
    assert through.q.max() > 1.0  # nothing stops it unless asked
    springs = door.simulate([0.0], [0.0], duration=0.6, stops=rc.Stops(stiffness=1e4, damping=0.0), rtol=1e-8)
    assert 0.5 < springs.q.max() < 0.6
    assert springs.v.min() < -0.95 * springs.v.max()  # it comes back as fast
    assert springs.energy_drift < 1e-6
    soft = door.simulate([0.0], [0.0], duration=0.6, stops=True, rtol=1e-8)
    assert 0.5 < soft.q.max() < 0.6
    assert soft.v.min() > -0.8 * soft.v.max()
    assert soft.lost[-1] > 0.0


# ---- torques and wrenches --------------------------------------------------------------------------------------------


class Swing:
    """A motion with closed form."""

    duration = 0.4

    def __init__(self, size: np.ndarray) -> None:
        self.size = size

    def sample(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert t <= self.duration
        return self.size * np.sin(5 * t), self.size * 5 * np.cos(5 * t), -self.size * 25 * np.sin(5 * t)


def test_feed_forward_torques_reproduce_the_motion() -> None:
    robot, motion = rc.robots.planar(3), Swing(np.array([0.4, -0.3, 0.2]))
    q0, v0, _ = motion.sample(0.0)
    run = robot.simulate(q0, v0, duration=0.4, torque=motion)
    close(run.q[-1], motion.sample(0.4)[0], 1e-7)
    close(run.tau[0], robot.inverse_dynamics(*motion.sample(0.0)), 1e-12)
    close(run.a[-1], motion.sample(0.4)[2], 1e-5)


def test_controller_and_function_and_constant_are_the_same_torque() -> None:
    robot = rc.robots.planar(2)
    q, v = robot.random_state(5)

    class Constant:
        def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
            return [0.5, -0.2]

    runs = [
        robot.simulate(q, v, duration=0.2, torque=torque)
        for torque in (Constant(), lambda t, q, v: (0.5, -0.2), [0.5, -0.2], {"joint1": 0.5, "joint2": -0.2})
    ]
    for run in runs[1:]:
        assert (run.q == runs[0].q).all()
    assert (runs[0].tau == [0.5, -0.2]).all()


def test_wrench_that_carries_the_weight_lets_a_body_move_straight_on() -> None:
    b = rc.Builder("thrown")
    b.link("stone", mass=1.7, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.2, 0.25, 0.01, 0.02, 0.03))
    robot = b.joint("root", "free", parent="world", child="stone").build()
    body = "stone"
    q, v = robot.random_state(2)
    v[:3] = 0.0
    com = robot.center_of_mass(robot.neutral())
    lift = rc.Wrench(at=body, force=-robot.mass * np.array(robot.gravity), point=com)
    for wrenches in (lift, lambda t, q, v: [lift]):
        run = robot.simulate(q, v, duration=0.5, wrenches=wrenches)
        world = robot.poses(q)[robot.link_names.index(body), :3, :3] @ v[3:]
        close(run.q[-1, :3], q[:3] + 0.5 * world, 1e-9)
        assert run.energy_drift < 1e-9
        assert run.momentum_drift is None
