"""Momentum, reactions and torques of free flyers: rc.free against definitions and against motions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import recursa as rc
from numeric import close, rigid_matrix, states
from recursa.examples import space_robot
from recursa.loading import trusted
from recursa.robots import random_description
from zoo import floating_tree_with_rotors

FLYERS = {
    "space_robot": rc.robots.space_robot,
    "rotors": floating_tree_with_rotors,
    "every_kind": lambda: trusted(
        random_description("flyer", [-1, 0, 0, 1, 2, 2], 4, ["free", "helical", "spherical", "planar", "prismatic"]),
        gravity=(0.1, -0.4, 0.3),
    ),
}
every_flyer = pytest.mark.parametrize("name", FLYERS)


@every_flyer
def test_locked_inertia_matches_a_sum_over_bodies(name):
    robot = FLYERS[name]()
    q = states(robot, 3)[0]
    total = np.zeros((3, 6, 6))
    for number, joint in enumerate(robot.model.joints):
        J = robot.jacobian(q, joint.child, frame="body")[..., :6]  # how the body moves with the base, joints locked
        total += np.swapaxes(J, -1, -2) @ rigid_matrix(robot.model.inertias[number]) @ J
    close(rc.free.locked_inertia(robot, q, at="base"), total)
    central = rc.free.locked_inertia(robot, q)
    close(central[:, 3:, 3:], np.broadcast_to(robot.mass * np.eye(3), (3, 3, 3)))
    close(central[:, :3, 3:], np.zeros((3, 3, 3)))
    maps = rc.free.momentum_maps(robot, q)  # A_b = I_com Ad: the momentum of the base's velocity, taken to the centre
    base = robot.poses(q)[:, robot.link_names.index(robot.model.joints[0].child)]
    spin = np.random.default_rng(1).normal(size=3)
    omega = base[:, :3, :3] @ spin
    speed = np.cross(omega, robot.center_of_mass(q) - base[:, :3, 3])
    momentum = (central @ np.concatenate([omega, speed], axis=-1)[..., None])[..., 0]
    close(maps.base @ np.r_[spin, np.zeros(3)], momentum)


@every_flyer
def test_base_velocity_keeps_the_momentum(name):
    robot = FLYERS[name]()
    q, v, _ = states(robot, 4)
    h = robot.momentum(q, v)
    close(rc.free.base_velocity(robot, q, v[:, 6:], h), v[:, :6], 1e-11)
    still = np.concatenate([rc.free.base_velocity(robot, q, v[:, 6:]), v[:, 6:]], axis=-1)
    close(robot.momentum(q, still), np.zeros((4, 6)), 1e-11)
    for frame in ("body", "mixed", "world"):
        link = robot.link_names[-1]
        J = rc.free.generalized_jacobian(robot, q, link, frame=frame)
        expected = robot.velocities(q, still, frame)[:, -1]
        close((J @ v[:, 6:, None])[..., 0], expected, 1e-10)
        found = rc.free.link_velocity(robot, q, v[:, 6:], link, h, frame=frame)
        close(found, robot.velocities(q, v, frame)[:, -1], 1e-10)


@every_flyer
def test_base_response_matches_the_mass_matrix(name):
    robot = FLYERS[name]()
    q = states(robot, 3)[0]
    M = robot.mass_matrix(q)
    rotors = np.diag([*robot.model.joints[0].armature, *np.zeros(robot.nv - 6)])
    M = M - rotors
    close(rc.free.base_response(robot, q), -np.linalg.solve(M[:, :6, :6], M[:, :6, 6:]), 1e-11)
    if not rotors.any():
        inverse = robot.mass_matrix_inverse(q)[:, 6:, 6:]
        close(rc.free.generalized_inertia(robot, q), np.linalg.inv(inverse), 1e-9)  # Schur complement


def test_reactionless_rates_leave_the_base_alone():
    robot = rc.robots.space_robot()
    q, v, _ = states(robot, 4)
    for of, rows, freedoms in (("attitude", slice(0, 3), 9), ("position", slice(3, 6), 9), ("all", slice(0, 6), 6)):
        N = rc.free.reaction_null_projector(robot, q, of=of)
        close(N @ N, N, 1e-12)
        close(N, np.swapaxes(N, -1, -2), 1e-12)
        close(np.trace(N, axis1=-2, axis2=-1), np.full(4, freedoms), 1e-9)
        quiet = rc.free.reaction_null_rates(robot, q, v[:, 6:], of=of)
        assert np.linalg.norm(quiet, axis=-1).min() > 0.1
        close(rc.free.base_velocity(robot, q, quiet)[:, rows], np.zeros((4, rows.stop - rows.start)), 1e-12)
        if of == "all":  # the null space of the coupling inertia
            close((robot.mass_matrix(q)[:, :6, 6:] @ quiet[..., None])[..., 0], np.zeros((4, 6)), 1e-10)


@every_flyer
def test_free_inverse_dynamics_inverts_forward_dynamics(name):
    robot = FLYERS[name]()
    q, v, a = states(robot, 3)
    rng = np.random.default_rng(2)
    wrenches, push = rng.normal(size=(3, robot.nlinks, 6)), rng.normal(size=6)
    for options in ({}, {"wrenches": wrenches}, {"losses": True}):
        for wrench in (None, push):
            found = rc.free.inverse_dynamics(robot, q, v, a[:, 6:], base_wrench=wrench, **options)
            base = np.broadcast_to(np.zeros(6) if wrench is None else wrench, (3, 6))
            tau = np.concatenate([base, found.torques], axis=-1)
            again = robot.forward_dynamics(q, v, tau, **options)
            close(again[:, 6:], a[:, 6:], 1e-9)
            close(again[:, :6], found.base_acceleration, 1e-9)


def test_moving_joints_keep_center_of_mass_and_momentum():
    robot = rc.robots.free_flyer(3)
    q, v = robot.random_state(3)
    h = robot.momentum(q, 0.1 * v)
    drift = h[3:] / robot.mass

    def rates(t, q):
        return [0.4 * np.cos(t), -0.3, 0.2 * np.sin(2 * t)]

    errors = []
    for samples in (11, 21):
        t = np.linspace(0.0, 2.0, samples)
        motion = rc.free.move_joints(robot, q, rates, t, momentum=h)
        close(robot.momentum(motion.q, motion.v), np.broadcast_to(h, (samples, 6)), 1e-11)
        center = robot.center_of_mass(motion.q)
        errors.append(np.abs(center - center[0] - t[:, None] * drift).max())
        assert motion.q[-1, 7] == pytest.approx(q[7] + 0.4 * np.sin(2.0), abs=1e-5)
    assert errors[1] < 1e-6
    assert 10.0 < errors[0] / errors[1] < 25.0  # order four


def test_steps_that_are_too_long_for_the_rates_are_a_warning():
    robot = rc.robots.free_flyer(3)

    def fast(t, q):
        return [3.0 * np.cos(5.0 * t), -4.0, 3.0 * np.sin(4.0 * t + q[7])]

    def moved(samples, **options):
        return rc.free.move_joints(robot, robot.neutral(), fast, np.linspace(0.0, 2.0, samples), **options)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = moved(401)
        moved(9, tolerance=None)
    for samples in (2, 8, 9):  # one step; an odd and an even number of steps
        with pytest.warns(rc.LimitWarning, match=r"off by about .* from t = .*another one") as caught:
            found = moved(samples)
        told = float(str(caught[0].message).split("off by about ")[1].split()[0])
        true = np.abs(robot.difference(exact.q[-1], found.q[-1])).max()
        assert 0.2 * true < told < 20.0 * true
        assert caught[0].filename == __file__
    with pytest.warns(rc.LimitWarning, match="tolerance=1e-12"):
        moved(101, tolerance=1e-12)
    with pytest.raises(rc.StateError, match="tolerance must be a number above 0, or None"):
        moved(9, tolerance=-1.0)


def test_arm_moves_bus_turns_and_both_arms_keep_it(monkeypatch):
    robot = rc.robots.space_robot()
    monkeypatch.setattr(space_robot, "SAMPLES", 17)
    one, both = space_robot.one_arm(robot), space_robot.both_arms(robot)
    found = {name: space_robot.measure(robot, motion) for name, motion in (("one", one), ("both", both))}
    assert 5.0 < found["one"]["bus_turned_deg"] < 20.0
    assert found["both"]["bus_turned_deg"] < 1e-10
    for result in found.values():
        assert result["largest_momentum"] < 1e-12
        assert result["center_of_mass_moved_m"] < 1e-6
        assert 0.2 < result["largest_torque_Nm"] < 20.0


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused():
    arm, robot = rc.robots.puma560(), rc.robots.free_flyer(2)
    q, v = robot.random_state(1)
    with pytest.raises(rc.NoSweepError, match=r"rc.free.locked_inertia: robot 'puma560' is no free flyer"):
        rc.free.locked_inertia(arm, np.zeros(6))
    with pytest.raises(
        rc.ShapeError, match=r"rates has shape \(8,\), expected \(\.\.\., 2\).*six of them those of the base"
    ):
        rc.free.base_velocity(robot, q, v)
    with pytest.raises(rc.ShapeError, match=r"momentum has shape \(3,\), expected \(\.\.\., 6\)"):
        rc.free.base_velocity(robot, q, v[6:], [0, 0, 0])
    with pytest.raises(rc.UnknownNameError, match="'attitude'"):
        rc.free.reaction_null_projector(robot, q, of="atitude")
    for ask in (rc.free.reaction_null_projector, lambda *x, **of: rc.free.reaction_null_rates(*x, v[6:], **of)):
        with pytest.raises(rc.UnknownNameError, match=r"'orientation'\. Did you mean 'attitude'\?"):
            ask(robot, q, of="orientation")
    hint = r"attitude is the quaternion \(1, 0, 0, 0\), half a turn about x"
    with pytest.warns(rc.ConventionWarning, match=hint), pytest.raises(rc.StateError):
        rc.free.reorient(robot, robot.neutral(), [1, 0, 0, 0], loops=1)
    with pytest.raises(rc.UnknownNameError, match="'com'"):
        rc.free.locked_inertia(robot, q, at="cm")
    with pytest.raises(rc.StateError, match="has gravity, so its momentum changes"):
        rc.free.move_joints(robot.with_gravity((0, 0, -1)), q, lambda t, q: v[6:], [0.0, 1.0])
    with pytest.raises(rc.StateError, match="t must be finite and increase"):
        rc.free.move_joints(robot, q, lambda t, q: v[6:], [0.0, 1.0, 0.5])
    with pytest.raises(rc.ShapeError, match=r"out has shape \(2, 2\)"):
        rc.free.generalized_jacobian(robot, q, "gripper", out=np.zeros((2, 2)))


def test_a_point_mass_is_refused():
    b = rc.Builder("point")
    b.link("one", mass=1.0).link("two", mass=0.0)
    b.joint("root", "free", parent="world", child="one")
    b.joint("hinge", "revolute", parent="one", child="two")
    robot = b.build(strict=False)
    with pytest.raises(rc.SingularHingeError, match="robot 'point' as a whole has no inertia about some axis"):
        rc.free.base_velocity(robot, robot.neutral(), [0.1])


def test_point_masses_on_a_line_are_refused_in_any_attitude():
    """The line has no inertia about itself; turned, rounding leaves a trace of it."""
    b = rc.Builder("line")
    b.link("one", mass=1.0, com=(0.1, 0.2, 0.3)).link("two", mass=2.0, com=(0.2, 0.4, 0.6))
    b.joint("root", "free", parent="world", child="one")
    b.joint("slide", "prismatic", parent="one", child="two", axis=(1, 2, 3))
    robot = b.build(strict=False)
    for seed in range(5):
        q, _ = robot.random_state(seed)
        with pytest.raises(rc.SingularHingeError, match="robot 'line' as a whole has no inertia about some axis"):
            rc.free.base_velocity(robot, q, [0.1])
