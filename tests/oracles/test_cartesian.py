"""Dynamics in a link's coordinates: against joint space, true variations and the book's own formulas."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step, skew, states, tied_gripper
from zoo import ZOO, known_answer_arm

ARMS = {
    "puma560": (rc.robots.puma560, "twist"),
    "stanford": (rc.robots.stanford, "twist"),
    "ur5_like": (rc.robots.ur5_like, "twist"),
    "known": (known_answer_arm, "position"),
    "planar": (lambda: rc.robots.planar(2), (3, 4)),
}
ROWS = {"twist": list(range(6)), "position": [3, 4, 5], (3, 4): [3, 4]}


def far_states(robot, link, rows, count=4):
    """States at which the link can be moved."""
    q, v, a = states(robot, 60, seed=3)
    good = np.linalg.cond(robot.jacobian(q, link, frame="mixed")[:, rows]) < 200
    return (x[good][:count] for x in (q, v, a))


def link_motion(robot, link, q, v, a):
    """Velocity and classical acceleration of a link, mixed frame."""
    at = robot.link_names.index(link)
    speed = robot.velocities(q, v, "mixed")[..., at, :]
    return speed, robot.accelerations(q, v, a, "mixed", "classical")[..., at, :]


@pytest.mark.parametrize("name", ARMS)
def test_model_is_the_robot(name):
    make, coordinates = ARMS[name]
    robot, rows = make(), ROWS[coordinates]
    link = robot.link_names[-1]
    q, v, a = far_states(robot, link, rows)
    model = rc.cartesian.model(robot, link, q, v, coordinates=coordinates)
    _, rise = link_motion(robot, link, q, v, a)
    force = (model.mass @ rise[:, rows, None])[..., 0] + model.coriolis + model.gravity
    close((np.swapaxes(model.jacobian, 1, 2) @ force[..., None])[..., 0], robot.inverse_dynamics(q, v, a), 1e-10)
    close(model.mass, np.swapaxes(model.mass, 1, 2), 1e-9)


@pytest.mark.parametrize("name", ARMS)
def test_true_variations_give_the_torques(name):
    make, coordinates = ARMS[name]
    robot, rows = make(), ROWS[coordinates]
    link = robot.link_names[-1]
    q, v, a = far_states(robot, link, rows)
    P, V, D = rc.cartesian.linearize(robot, link, q, v, a, coordinates=coordinates)
    dq, dv, da = np.random.default_rng(2).normal(size=(3, *v.shape))

    def moved(t):
        return robot.integrate(q, t * dq), v + t * dv, a + t * da

    y = (robot.jacobian(q, link, frame="mixed") @ dq[..., None])[..., 0]
    speed = complex_step(lambda t: link_motion(robot, link, *moved(t))[0])
    rise = complex_step(lambda t: link_motion(robot, link, *moved(t))[1])
    found = sum((m @ x[:, rows, None])[..., 0] for m, x in ((P, y), (V, speed), (D, rise)))
    close(found, complex_step(lambda t: robot.inverse_dynamics(*moved(t))), 1e-10)


def test_book_form_with_its_corrections():
    """(7.4.15)-(7.4.17) with dJ/dt, d2J/dt2, and what angular coordinates add: O1 and O2."""
    robot = rc.robots.puma560()
    link = robot.link_names[-1]
    q, v, a = (x[0] for x in far_states(robot, link, list(range(6)), 1))
    jacobian, rate = robot.jacobian(q, link, frame="mixed"), robot.jacobian_derivative(q, v, link, frame="mixed")
    second = complex_step(lambda t: robot.jacobian_derivative(q + t * v, v + t * a, link, frame="mixed"))
    inverse = np.linalg.inv(jacobian)
    joint = robot.linearize(q, v, a)
    mass = joint.mass @ inverse
    damping = (joint.damping - 2 * mass @ rate) @ inverse
    stiffness = (joint.stiffness - damping @ rate - mass @ second) @ inverse
    speed, rise = link_motion(robot, link, q, v, a)
    O1, O2 = np.zeros((2, 6, 6))
    O1[:3, :3] = skew(speed[:3])
    O2[:3, :3] = skew(rise[:3]) + skew(speed[:3]) @ skew(speed[:3])
    P, V, D = rc.cartesian.linearize(robot, link, q, v, a)
    close(D, mass, 1e-11)
    close(V, damping + mass @ O1, 1e-10)
    close(P, stiffness + damping @ O1 + mass @ O2, 1e-10)


def test_what_cannot_be_done_is_said():
    arm = rc.robots.planar(2)
    with pytest.raises(rc.SingularConfigurationError, match="condition number") as caught:
        rc.cartesian.model(arm, "tip", [[0.3, 0.8], [0.3, 0.0]], [0.0, 0.0], coordinates=(3, 4))
    assert caught.value.condition > 1e8
    assert "in row (1,)" in str(caught.value)
    with pytest.raises(rc.ShapeError, match="nv = 2"):
        rc.cartesian.linearize(arm, "tip", [0.3, 0.8], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(rc.UnknownNameError, match="position"):
        rc.cartesian.model(arm, "tip", [0.3, 0.8], [0.0, 0.0], coordinates="positon")
    with pytest.raises(rc.StateError, match="different rows"):
        rc.cartesian.model(arm, "tip", [0.3, 0.8], [0.0, 0.0], coordinates=(3, 3))
    with pytest.raises(rc.UnknownNameError, match="link"):
        rc.cartesian.model(arm, "tp", [0.3, 0.8], [0.0, 0.0], coordinates=(3, 4))


# ---- coordinates of the orientation ----------------------------------------------------------------------------------

every_orientation = pytest.mark.parametrize("orientation", ["rpy", "zyz", "quaternion"])
TINY = 1e-200
interpreted = pytest.mark.interpreted(reason="complex steps")


@interpreted
@pytest.mark.parametrize("name", ["mixed_tree", "one_of_each", "stanford", "tied_gripper"])
@pytest.mark.parametrize("frame", ["body", "mixed", "world"])
def test_second_rate_of_the_jacobian_matches_a_complex_step(name, frame):
    robot = tied_gripper() if name == "tied_gripper" else ZOO[name]()
    q, v, a = states(robot, 2)
    link = robot.link_names[-1]
    along = robot.integrate(q, 1j * TINY * v), v + 1j * TINY * a
    expected = robot.jacobian_derivative(*along, link, frame=frame).imag / TINY
    close(robot.jacobian_second_derivative(q, v, a, link, frame=frame), expected, 1e-12)


@interpreted
@every_orientation
def test_rates_of_coordinates_match_complex_steps(orientation):
    """J is dh/dq (7.4.7), and its rates are those along the motion."""
    robot, link = rc.robots.stanford(), "link6"
    (q,), (v,), (a,) = states(robot, 1, 3)

    def chi(x):
        return rc.cartesian.coordinates(robot, link, x, orientation=orientation)

    J, J1, J2 = rc.cartesian.rates(robot, link, q, v, a, orientation=orientation)
    close(J, chi(q + 1j * TINY * np.eye(6)).imag.T / TINY, 1e-13)

    def ahead(part):
        return rc.cartesian.rates(robot, link, q + 1j * TINY * v, v + 1j * TINY * a, a, orientation=orientation)[part]

    close(J1, ahead(0).imag / TINY, 1e-12)
    close(J2, ahead(1).imag / TINY, 1e-12)


@interpreted
@every_orientation
def test_models_in_orientation_coordinates(orientation):
    """``tau = J* f``, true variations of chi and its rates (7.4.18), and (7.4.15)-(7.4.17) as printed."""
    robot, link = rc.robots.puma560(), rc.robots.puma560().link_names[-1]
    q, v, a = far_states(robot, link, list(range(6)), 3)
    model = rc.cartesian.model(robot, link, q, v, orientation=orientation)
    J, J1, J2 = rc.cartesian.rates(robot, link, q, v, a, orientation=orientation)
    close(model.jacobian, J, 1e-12)
    close(model.jacobian_derivative, J1, 1e-11)

    def times(matrix, vector):
        return (matrix @ vector[..., None])[..., 0]

    rise = times(J, a) + times(J1, v)
    force = times(model.mass, rise) + model.coriolis + model.gravity
    close(times(np.swapaxes(J, 1, 2), force), robot.inverse_dynamics(q, v, a), 1e-10)
    P, V, D = rc.cartesian.linearize(robot, link, q, v, a, orientation=orientation)
    changes = np.random.default_rng(2).normal(size=(3, *v.shape))
    at = [x + 1j * TINY * d for x, d in zip((q, v, a), changes, strict=True)]
    there = rc.cartesian.rates(robot, link, *at, orientation=orientation)
    chi = rc.cartesian.coordinates(robot, link, at[0], orientation=orientation)
    speed, rise = times(there[0], at[1]), times(there[0], at[2]) + times(there[1], at[1])
    found = times(P, chi.imag) + times(V, speed.imag) + times(D, rise.imag)
    close(found / TINY, robot.inverse_dynamics(*at).imag / TINY, 1e-9)
    inverse = np.linalg.pinv(J)
    stiffness, damping, mass = robot.linearize(q, v, a)
    if orientation != "quaternion":
        printed = mass @ inverse
        close(D, printed, 1e-9)  # (7.4.15)
        second = (damping - 2.0 * printed @ J1) @ inverse
        close(V, second, 1e-8)  # (7.4.16)
        close(P, (stiffness - second @ J1 - printed @ J2) @ inverse, 1e-8)  # (7.4.17)


@interpreted
def test_coordinates_are_the_orientation():
    """Angles make the rotation again, wherever it is; quaternions have length 1."""
    robot = ZOO["free"]()
    q, _, _ = states(robot, 40)
    link = robot.link_names[-1]
    turns = robot.pose(q, link)[..., :3, :3]
    for orientation, order in (("rpy", "ZYX"), ("zyz", "ZYZ")):
        phi = rc.cartesian.coordinates(robot, link, q, orientation=orientation)[..., :3]
        rotation = pytest.importorskip("scipy.spatial.transform").Rotation
        close(rotation.from_euler(order, phi[..., ::-1] if orientation == "rpy" else phi).as_matrix(), turns, 1e-12)
    phi = rc.cartesian.coordinates(robot, link, q, orientation="quaternion")[..., :4]
    close(rotation.from_quat(phi).as_matrix(), turns, 1e-12)
    assert (phi[:, 3] >= 0.0).all()


def test_singular_and_wrong_orientations_are_said():
    arm = rc.robots.planar(2)
    with pytest.raises(rc.SingularConfigurationError, match="second angle is 0 or 180"):
        rc.cartesian.coordinates(arm, "tip", [0.1, 0.2], orientation="zyz")
    with pytest.raises(rc.UnknownNameError, match="quaternion"):
        rc.cartesian.coordinates(arm, "tip", [0.1, 0.2], orientation="quaternions")
    with pytest.raises(rc.ShapeError, match="for all six coordinates of a link or the three"):
        rc.cartesian.model(arm, "tip", [0.1, 0.2], [0, 0], coordinates=(3, 4), orientation="rpy")
