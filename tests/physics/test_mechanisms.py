"""Mechanisms with closed forms, redundant and conflicting constraints, closing of loops, mobility, chosen actuators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import recursa as rc
from robot_data import urdf_files

G = 9.81


def rod(b: rc.Builder, name: str, length: float, mass: float) -> None:
    b.link(name, mass=mass, com=(length / 2, 0, 0), inertia=(1e-4, 1e-2, mass * length**2 / 12))


def four_bar(crank: float = 0.2, coupler: float = 0.6, rocker: float = 0.5, ground: float = 0.7) -> rc.Robot:
    """Crank and rocker on the ground, the coupler on the crank; the loop is closed by a hinge."""
    b = rc.Builder("four_bar")
    for name, length, mass in (("crank", crank, 1.0), ("coupler", coupler, 2.0), ("rocker", rocker, 1.5)):
        rod(b, name, length, mass)
    b.joint("crank_joint", "revolute", parent="world", child="crank", axis=(0, 0, 1))
    b.joint("coupler_joint", "revolute", parent="crank", child="coupler", axis=(0, 0, 1), xyz=(crank, 0, 0))
    b.joint("rocker_joint", "revolute", parent="world", child="rocker", axis=(0, 0, 1), xyz=(ground, 0, 0))
    tree = b.build().with_gravity((0, -G, 0))
    pin = rc.Loop("revolute", "coupler", "rocker", at=(coupler, 0, 0), at_other=(rocker, 0, 0), name="pin")
    return tree.with_constraints(pin)


def four_bar_angles(theta, a=0.2, b=0.6, c=0.5, d=0.7):
    """Angles of coupler and rocker in the ground's axes, the open branch."""
    px, py = d - a * np.cos(theta), -a * np.sin(theta)  # from the crank's end to the rocker's pivot
    r = np.hypot(px, py)
    base, corner = np.arctan2(py, px), np.arccos((b * b + r * r - c * c) / (2 * b * r))
    coupler = base + corner
    ex, ey = a * np.cos(theta) + b * np.cos(coupler) - d, a * np.sin(theta) + b * np.sin(coupler)
    return coupler, np.arctan2(ey, ex)


def four_bar_state(theta: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = 0.2, 0.6, 0.5
    t3, t4 = four_bar_angles(theta)
    w3 = a * rate * np.sin(t4 - theta) / (b * np.sin(t3 - t4))
    w4 = a * rate * np.sin(theta - t3) / (c * np.sin(t4 - t3))
    return np.array([theta, t3 - theta, t4]), np.array([rate, w3 - rate, w4])


def reduced(energy, theta: float, rate: float, torque: float) -> float:
    """``I a + I' w^2/2 + V' = torque`` for one freedom; ``energy(theta)`` is (I, V)."""
    h = 2e-3
    near = np.array([energy(theta + k * h) for k in (-3, -2, -1, 1, 2, 3)])
    slopes = np.array([-1, 9, -45, 45, -9, 1]) @ near / (60 * h)
    return float((torque - slopes[0] * rate**2 / 2 - slopes[1]) / energy(theta)[0])


def four_bar_energy(theta: float) -> tuple[float, float]:
    (q, v), lengths = four_bar_state(theta, 1.0), (0.2, 0.6, 0.5)
    angles, rates = (q[0], q[0] + q[1], q[2]), (v[0], v[0] + v[1], v[2])
    inertia = [m * size * size / 12 for m, size in zip((1.0, 2.0, 1.5), lengths, strict=True)]
    end = 0.2 * np.exp(1j * theta)
    centers = [0.1 * np.exp(1j * theta), end + 0.3 * np.exp(1j * angles[1]), 0.7 + 0.25 * np.exp(1j * angles[2])]
    speeds = [0.1j * np.exp(1j * theta), 1j * end + 0.3j * rates[1] * np.exp(1j * angles[1])]
    speeds.append(0.25j * rates[2] * np.exp(1j * angles[2]))
    kinetic = sum(
        m * abs(s) ** 2 + i * w**2 for m, s, i, w in zip((1.0, 2.0, 1.5), speeds, inertia, rates, strict=True)
    )
    potential = sum(m * G * c.imag for m, c in zip((1.0, 2.0, 1.5), centers, strict=True))
    return kinetic, potential


@pytest.mark.parametrize("theta", [0.3, 1.4, 2.9, -1.2])
def test_four_bar_moves_as_its_closed_form(theta: float) -> None:
    robot, rate, torque = four_bar(), 2.3, 4.0
    q, v = four_bar_state(theta, rate)
    assert np.abs(robot.constraint_error(q)).max() < 1e-14
    rough = robot.assemble(q + np.array([0.0, 0.1, -0.2]), fixed=["crank_joint"])
    assert np.abs(rough - q).max() < 1e-9
    assert np.abs(robot.constraint_jacobian(q) @ v).max() < 1e-13
    a = robot.forward_dynamics(q, v, [torque, 0, 0])
    expected = reduced(four_bar_energy, theta, rate, torque)
    assert abs(a[0] - expected) < 1e-9 * abs(expected)
    tau, residual = robot.actuator_torques(q, v, a, actuated=["crank_joint"])
    assert np.abs(tau - [torque, 0, 0]).max() < 1e-9 and np.abs(residual).max() < 1e-9


def slider_crank(r: float = 0.2, rod_length: float = 0.7) -> rc.Robot:
    b = rc.Builder("slider_crank")
    rod(b, "crank", r, 1.0)
    rod(b, "rod", rod_length, 2.0)
    b.link("slider", mass=3.0, inertia=(0.01, 0.01, 0.01))
    b.joint("crank_joint", "revolute", parent="world", child="crank", axis=(0, 0, 1))
    b.joint("rod_joint", "revolute", parent="crank", child="rod", axis=(0, 0, 1), xyz=(r, 0, 0))
    b.joint("slide", "prismatic", parent="world", child="slider", axis=(1, 0, 0))
    tree = b.build().with_gravity((0, -G, 0))
    return tree.with_constraints(rc.Loop("revolute", "rod", "slider", at=(rod_length, 0, 0)))


def slider_state(theta: float, rate: float, r: float = 0.2, rod_length: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    phi = -np.arcsin(r * np.sin(theta) / rod_length)
    turning = -r * np.cos(theta) * rate / (rod_length * np.cos(phi))
    x = r * np.cos(theta) + rod_length * np.cos(phi)
    sliding = -r * np.sin(theta) * rate - rod_length * np.sin(phi) * turning
    return np.array([theta, phi - theta, x]), np.array([rate, turning - rate, sliding])


def slider_energy(theta: float) -> tuple[float, float]:
    q, v = slider_state(theta, 1.0)
    phi, turning = q[0] + q[1], v[0] + v[1]
    end = 0.2 * np.exp(1j * theta)
    center, speed = end + 0.35 * np.exp(1j * phi), 1j * end + 0.35j * turning * np.exp(1j * phi)
    kinetic = 0.2**2 / 3 + 2.0 * abs(speed) ** 2 + 2.0 * 0.49 / 12 * turning**2 + 3.0 * v[2] ** 2
    return kinetic, G * (0.1 * np.sin(theta) + 2.0 * center.imag)


@pytest.mark.parametrize("theta", [0.4, 1.7, -2.2])
def test_slider_crank_moves_as_its_closed_form(theta: float) -> None:
    robot, rate, torque = slider_crank(), -1.7, 2.0
    q, v = slider_state(theta, rate)
    assert np.abs(robot.constraint_error(q)).max() < 1e-14
    assert np.abs(robot.constraint_jacobian(q) @ v).max() < 1e-13
    a = robot.forward_dynamics(q, v, [torque, 0, 0])
    expected = reduced(slider_energy, theta, rate, torque)
    assert abs(a[0] - expected) < 1e-9 * abs(expected)
    tau, residual = robot.actuator_torques(q, v, a, actuated=["slide"])
    assert np.abs(residual).max() < 1e-9  # another motor does the same
    assert abs(tau[2] * v[2] - torque * rate) < 1e-9


# ---- redundant, singular, conflicting --------------------------------------------------------------------------------


def test_planar_loop_has_one_freedom_and_carries_nothing_across() -> None:
    robot = four_bar()
    q, v = four_bar_state(0.7, 1.0)
    assert robot.ncon == 5
    found = robot.mobility(q)
    assert (found.freedoms, found.rank, found.independent) == (1, 2, ("crank_joint",))
    forces = robot.constraint_forces(q, v, np.zeros(3))
    assert np.abs(forces[[0, 1, 4]]).max() == 0.0  # of all that do the same, the shortest


@pytest.mark.parametrize("method", ["augmentation", "projection"])
def test_a_constraint_said_twice_changes_forces_only(method: str) -> None:
    robot = four_bar()
    twice = robot.with_constraints(
        rc.Loop("revolute", "coupler", "rocker", at=(0.6, 0, 0), at_other=(0.5, 0, 0), name="pin again")
    )
    q, v = four_bar_state(0.7, 1.0)
    tau = np.array([1.0, -2.0, 0.5])
    expected = robot.forward_dynamics(q, v, tau)
    found = twice.forward_dynamics(q, v, tau, method=method)
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()
    forces, halves = robot.constraint_forces(q, v, tau), twice.constraint_forces(q, v, tau)
    assert np.abs(halves - np.concatenate([forces, forces]) / 2).max() < 1e-10 * np.abs(forces).max()


def test_singular_configuration_is_no_exception() -> None:
    """All rods of a parallelogram in one line: two motions lead out of it, and no force holds across."""
    robot = four_bar(0.3, 0.6, 0.3, 0.6)
    q = np.zeros(3)
    assert robot.mobility(q).freedoms == 2
    a = robot.forward_dynamics(q, np.zeros(3), np.zeros(3))
    assert np.isfinite(a).all()
    assert np.abs(robot.constraint_jacobian(q) @ a).max() < 1e-9
    assert np.isfinite(robot.constraint_forces(q, np.zeros(3), np.zeros(3))).all()


def test_loops_that_cannot_close_are_named_with_what_they_miss() -> None:
    robot = four_bar(0.2, 0.3, 0.2, 2.0)
    with pytest.raises(rc.StateError, match=r"revolute loop 'pin' by 1\.3"):
        robot.assemble([0.1, 0.2, 0.3])


def test_conflicting_constraints_are_both_named() -> None:
    robot = rc.robots.planar(3).with_constraints(
        rc.Loop("point", "world", "tip", at=(0.5, 0, 0), name="here"),
        rc.Loop("point", "world", "tip", at=(0.5, 0.2, 0), name="there"),
    )
    with pytest.raises(rc.StateError, match=r"'here' by 0\.1 m; the point loop 'there' by 0\.1 m"):
        robot.assemble([0.5, 0.8, 0.4])


def test_limits_hold_while_loops_close() -> None:
    tree = rc.robots.planar(3).with_joint("joint1", limits=(0.4, 0.6)).with_joint("joint2", limits=(-3.0, -0.2))
    robot = tree.with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0.1, 0)))
    q = robot.assemble([0.5, -1.2, 0.1])
    assert np.abs(robot.constraint_error(q)).max() < 1e-12
    assert 0.4 <= q[0] <= 0.6 and q[1] <= -0.2
    narrow = tree.with_joint("joint1", limits=(2.9, 3.1)).with_joint("joint2", limits=(-0.1, 0.1))
    with pytest.raises(rc.StateError, match="Joints at a limit or beyond: 'joint"):
        narrow.with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0.1, 0))).assemble([3.0, 0.0, 0.0])


def test_many_configurations_close_together() -> None:
    robot = four_bar()
    rng = np.random.default_rng(0)
    exact = np.array([four_bar_state(t, 0.0)[0] for t in np.linspace(-3, 3, 12)])
    found = robot.assemble((exact + 0.1 * rng.normal(size=exact.shape)).reshape(3, 4, 3))
    assert found.shape == (3, 4, 3)
    assert np.abs(robot.constraint_error(found)).max() < 1e-12


def test_what_no_actuator_can_balance_is_the_residual() -> None:
    ball = rc.robots.free_flyer(2).with_gravity((0, 0, -G))
    q = ball.neutral()
    still = np.zeros(ball.nv)
    tau, residual = ball.actuator_torques(q, still, still, actuated=["joint1", "joint2"])
    assert np.abs(tau[:6]).max() == 0.0
    assert abs(np.linalg.norm(residual[3:6]) - G * ball.mass) < 1e-9
    held = ball.with_constraints(rc.Contact("surface", "bus"))
    assert np.abs(held.actuator_torques(q, still, still, actuated=["joint1", "joint2"]).residual).max() < 1e-12


def test_prescribed_joints_are_hybrid_dynamics() -> None:
    tree = rc.robots.tree(6, seed=3)
    q, v = tree.random_state(1)
    a, tau = np.random.default_rng(2).normal(size=(2, 6))
    names = tree.joint_names[1::2]
    robot = tree.with_constraints(*(rc.Prescribed(name) for name in names))
    expected = tree.hybrid_dynamics(q, v, a, tau, prescribed=names)
    found = robot.forward_dynamics(q, v, tau, prescribed=a[1::2])
    assert np.abs(found - expected.a).max() < 1e-11 * np.abs(expected.a).max()
    forces = robot.constraint_forces(q, v, tau, prescribed=a[1::2])
    assert np.abs(tau[1::2] + forces - expected.tau[1::2]).max() < 1e-10 * np.abs(expected.tau).max()


def test_a_start_beyond_limits_is_kept_if_it_closes_and_limits_can_be_ignored() -> None:
    tree = rc.robots.planar(3).with_joint("joint1", limits=(0.4, 0.6)).with_joint("joint2", limits=(-3.0, -0.2))
    robot = tree.with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0.1, 0)))
    closed = robot.assemble([1.2, -1.2, 0.1], limits=False)
    assert not 0.4 <= closed[0] <= 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.abs(robot.assemble(closed) - closed).max() < 1e-12
        near = robot.assemble(closed + np.array([0.01, 0.02, 0.03]))
    assert abs(near[0] - closed[0]) < 0.1
    assert -3.0 <= near[1] <= -0.2
    assert np.abs(robot.constraint_error(near)).max() < 1e-12
    stuck = tree.with_joint("joint1", limits=(2.9, 3.1)).with_joint("joint2", limits=(-0.1, 0.1))
    stuck = stuck.with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0.1, 0)))
    with pytest.raises(rc.StateError, match=r"Joints at a limit or beyond: 'joint.*limits=False ignores limits"):
        stuck.assemble([3.0, 0.0, 0.0])
    assert np.abs(stuck.constraint_error(stuck.assemble([3.0, 0.1, 0.1], limits=False))).max() < 1e-12


def test_loops_that_contradict_each_other_by_rounding_close_and_by_more_are_named() -> None:
    """Redundant loops in files have rounded numbers: 1e-10 in cassie.sdf. Errors are judged in the robot's own lengths,
    by the measure of simulate, and printed in metres."""
    tree = rc.robots.planar(3)

    def pinned(gap: float) -> rc.Robot:
        heights = {"a": 0.1, "b": 0.1 + gap * tree.model.unit_length}
        pins = [rc.Loop("point", "world", "tip", at=(0.5, y, 0), name=name) for name, y in heights.items()]
        return tree.with_constraints(*pins)

    near = pinned(2.4e-10)
    q = near.assemble([0.5, 0.8, 0.4])
    assert near.simulate(q, duration=0.01, samples=2, progress=False).status == "finished"
    with pytest.raises(rc.StateError, match=r"Missed: the point loop 'a' by 3.\d+e-09 m; the point loop 'b'"):
        pinned(2.4e-8).assemble([0.5, 0.8, 0.4])


CASSIE = [path for place in {path.parents[2] for path in urdf_files()} for path in sorted(place.rglob("cassie*.sdf"))]


@pytest.mark.interpreted(reason="five robots, one question each")
@pytest.mark.parametrize("path", CASSIE, ids=lambda path: path.stem)
def test_cassie_closes_at_its_neutral_pose_and_no_warning_says_otherwise(path) -> None:
    """Its neutral pose is beyond limits of four joints; all loops close there."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = rc.load(path, constraints=True)
        q = robot.assemble(robot.neutral())
    assert np.abs(q - robot.neutral()).max() < 1e-9
    assert not [one for one in caught if issubclass(one.category, RuntimeWarning) or "open tree" in str(one.message)]
    with pytest.warns(rc.ModelWarning, match="open tree"):
        rc.load(path)
