"""Dynamics in a link's coordinates: against joint space, true variations and the book's own formulas."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step, skew, states
from zoo import known_answer_arm

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
