"""Robots on bases that are moved in a known way: against the same robot on a free joint that is moved so."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close

W = 3.0
AXIS = np.array([0.6, 0.0, 0.8])


def shaken(t: float):
    """A table that sways and turns about an oblique axis: q, v, a as of a free joint."""
    s, c = np.sin(W * t), np.cos(W * t)
    angle, rate, change = 0.5 * s, 0.5 * W * c, -0.5 * W * W * s
    cross = np.array([[0, -AXIS[2], AXIS[1]], [AXIS[2], 0, -AXIS[0]], [-AXIS[1], AXIS[0], 0]])
    rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    place, slope = np.array([0.2 * s, 0.1 * c, 0.0]), np.array([0.2 * W * c, -0.1 * W * s, 0.0])
    velocity = rotation.T @ slope
    acceleration = rotation.T @ (-W * W * place) - np.cross(AXIS * rate, velocity)
    pose = np.concatenate([place, AXIS * np.sin(angle / 2), [np.cos(angle / 2)]])
    return pose, np.concatenate([AXIS * rate, velocity]), np.concatenate([AXIS * change, acceleration])


def on_a_free_joint(robot: rc.Robot) -> rc.Robot:
    return rc.load(robot.to_urdf(extensions=True), floating=True, strict=False).with_gravity(robot.gravity)


def pushed() -> list[rc.Wrench]:
    return [rc.Wrench(at="link2", force=(3.0, -2.0, 1.0), moment=(0.1, 0.2, 0.3), frame="world")]


@pytest.fixture(scope="module")
def arm() -> rc.Robot:
    b = rc.Builder("arm")
    for k, (kind, axis) in enumerate((("revolute", (0, 0, 1)), ("spherical", None), ("prismatic", (1, 0, 0)))):
        b.link(f"link{k}", mass=1.0 + k, com=(0.1, 0.05 * k, 0.2), inertia=(0.1, 0.12, 0.14, 0.01, 0.0, -0.01))
        along = {} if axis is None else {"axis": axis}
        parent = f"link{k - 1}" if k else "world"
        b.joint(f"joint{k}", kind, parent=parent, child=f"link{k}", xyz=(0.2, 0.1, 0.3), damping=0.2, **along)
    return b.build()


@pytest.mark.parametrize("wrenches", [None, pushed()], ids=["", "wrenches"])
def test_motion_energy_and_momentum_match_a_free_joint_that_is_moved(arm, wrenches):
    """Every sample: accelerations by hybrid dynamics with the base prescribed; energy, momentum and force there."""
    torque = np.array([0.5, 0.1, -0.2, 0.3, 1.0])
    q0, v0 = arm.random_state(3)
    run = arm.simulate(q0, v0, duration=0.6, base=shaken, torque=torque, wrenches=wrenches)
    assert run.energy_drift < 1e-9
    assert run.momentum_drift is None
    close(np.stack([shaken(t)[2] for t in run.t]), run.base.a, 0.0)
    twin = on_a_free_joint(arm)
    q, v = np.concatenate([run.base.q, run.q], 1), np.concatenate([run.base.v, run.v], 1)
    a = np.concatenate([run.base.a, run.a], 1)
    tau = np.concatenate([np.zeros((len(run), 6)), run.tau], 1)
    found = twin.hybrid_dynamics(q, v, a, tau, prescribed=("root",), wrenches=wrenches, losses=True)
    close(found.a, a, 1e-10)
    close(run.energy, twin.kinetic_energy(q, v) + twin.potential_energy(q), 1e-12)
    close(run.momentum, twin.momentum(q, v), 1e-12)
    assert np.ptp(run.work) > 1.0
    if wrenches is None:  # gravity is turned into axes of the base
        moved = arm.with_gravity((0, 0, 0))
        up = np.stack([rotated_back(x) for x in run.base.q]) @ np.array(arm.gravity)
        lifted = run.base.a - np.concatenate([np.zeros_like(up), up], 1)
        close(
            moved.base_wrench(run.q, run.v, run.a, base_twist=run.base.v, base_acceleration=lifted),
            found.tau[:, :6],
            1e-10,
        )
        reactions = moved.reaction_wrenches(run.q, run.v, run.a, base_twist=run.base.v, base_acceleration=lifted)
        close(reactions, twin.reaction_wrenches(q, v, a)[:, 1:], 1e-10)


def rotated_back(pose: np.ndarray) -> np.ndarray:
    x, y, z, w = pose[3:]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
            [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
            [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_free_body_goes_straight_on_past_a_moving_base():
    """Seen from the base it is thrown about; in the world it falls like a stone."""
    body = rc.Builder("stone").link("stone", mass=2.0, inertia=(0.1, 0.1, 0.1))
    body = body.joint("root", "free", parent="world", child="stone").build()
    run = body.simulate([0.4, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0.3, 0, 0.5], duration=0.5, base=shaken)
    world = run.base.q[:, :3] + run.base.in_world(run.q[:, :3])
    speed = run.base.in_world(np.array([[0.3, 0, 0.5]]).repeat(len(run), 0) + np.cross(run.base.v[:, :3], run.q[:, :3]))
    start = speed[0] + run.base.in_world(run.base.v[:, 3:])[0]
    t = run.t[:, None]
    close(world, world[0] + start * t + 0.5 * t**2 * np.array(body.gravity), 1e-9)
    close(run.work, np.zeros(len(run)), 1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit"])
def test_fixed_steps_come_to_the_same_motion(arm, integrator):
    q0, _ = arm.random_state(1)
    exact = arm.simulate(q0, duration=0.1, base=shaken)
    errors = []
    for step in (2e-3, 1e-3):
        run = arm.simulate(q0, duration=0.1, base=shaken, integrator=integrator, step=step)
        errors.append(np.array([np.abs(run.v[-1] - exact.v[-1]).max(), np.abs(run.energy_error[-1])]))
    order = {"rk4": 12.0, "semi-implicit": 1.7}[integrator]
    assert (errors[0] > order * errors[1]).all(), errors


def test_trajectories_are_followed_on_a_moving_base(arm):
    """Feed-forward torques know of the base, and a base may be a trajectory; behind its end it stands still."""
    start = arm.neutral()
    end = arm.integrate(start, [0.3, 0.2, -0.1, 0.1, 0.05])
    motion = rc.Trajectory.quintic(start, end, 0.4, robot=arm)
    free = rc.Builder("table").link("table", mass=1.0, inertia=(1, 1, 1))
    free = free.joint("root", "free", parent="world", child="table").build()
    table = rc.Trajectory.quintic(
        free.neutral(), free.integrate(free.neutral(), [0.2, 0.1, 0, 0.3, 0, 0.1]), 0.3, robot=free
    )
    run = arm.simulate(start, duration=0.5, torque=motion, base=table)
    close(run.q[-1], end, 1e-7)
    assert not run.base.v[-1].any()
    assert run.energy_drift < 1e-8


def test_runs_are_kept_with_their_base(arm, tmp_path):
    q0, v0 = arm.random_state(2)
    file = tmp_path / "run.part"

    def stop(t, q, v):
        if t > 0.05:
            raise KeyboardInterrupt
        return 1.0

    broken = arm.simulate(q0, v0, duration=0.1, base=shaken, events=stop, checkpoint=file)
    assert broken.interrupted
    with pytest.raises(rc.StateError, match=r"the base of this run came from 'shaken'.*rc.resume\(path, base=...\)"):
        rc.resume(file, events=lambda t, q, v: 1.0)
    whole = arm.simulate(q0, v0, duration=0.1, base=shaken)
    again = rc.resume(file, base=shaken, events=lambda t, q, v: 1.0)
    assert np.array_equal(again.q, whole.q)
    saved = rc.read(whole.save(tmp_path / "run.npz"))
    assert np.array_equal(saved.energy, whole.energy)
    assert all(np.array_equal(x, y) for x, y in zip(saved.base, whole.base, strict=True))
    assert np.load(whole.save(tmp_path / "run.npz"))["base/q"].shape == (len(whole), 7)
    still = arm.simulate(q0, v0, duration=0.1)
    assert still.base is None
    assert rc.read(still.save(tmp_path / "still.npz")).base is None


def test_what_a_base_cannot_do_is_said(arm):
    q0 = arm.neutral()

    def at_rest(t):
        return [0, 0, 0, 0, 0, 0, 1], np.zeros(6), np.zeros(6)

    def in_world_axes(t):
        pose, velocity, acceleration = shaken(t)
        return pose, np.concatenate([velocity[3:], velocity[:3]]), acceleration

    for base, error, words in (
        (in_world_axes, rc.StateError, "velocity of the base at .* but its pose changes by"),
        (lambda t: (*shaken(t)[:2], np.zeros(6)), rc.StateError, "acceleration of the base at .* but its velocity"),
        (lambda t: shaken(t)[0], rc.ShapeError, r"expected its pose .* of shapes \(7,\), \(6,\), \(6,\)"),
        (lambda t: None, rc.ShapeError, "NoneType"),
        (lambda t: (np.zeros(7), np.zeros(6), np.zeros(6)), rc.StateError, "quaternion of the base .* length 0"),
        (
            lambda t: (at_rest(t)[0], np.full(6, np.nan), np.zeros(6)),
            rc.StateError,
            "velocity of the base .* not finite",
        ),
        ([1, 2, 3], rc.StateError, "base= is a function of time"),
    ):
        with pytest.raises(error, match=words):
            arm.simulate(q0, duration=0.1, base=base)
    with pytest.raises(rc.StateError, match='leave coordinates="diagonal" out'):
        arm.simulate(q0, duration=0.1, base=shaken, coordinates="diagonal")
    still = arm.simulate(q0, duration=0.1, base=at_rest)
    close(still.q[-1], arm.simulate(q0, duration=0.1).q[-1], 1e-9)


def test_tied_joints_on_a_moving_base():
    b = rc.Builder("gripper")
    b.link("palm", mass=1.0, inertia=(0.1, 0.1, 0.1)).joint("wrist", "revolute", parent="world", child="palm")
    for side, factor in (("left", 1.0), ("right", -1.0)):
        b.link(side, mass=0.3, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
        tie = {} if factor > 0 else {"mimic": ("left", factor, 0.0)}
        b.joint(side, "revolute", parent="palm", child=side, axis=(0, 1, 0), xyz=(0.1 * factor, 0, 0.2), **tie)
    robot = b.build()
    run = robot.simulate(robot.random_state(0)[0], duration=0.3, base=shaken)
    assert run.energy_drift < 1e-9
