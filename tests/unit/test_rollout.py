"""rollout: its arguments, what it refuses, and the shapes of what it returns; mostly stepped from Python."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import same_bits, states

ARM = rc.robots.planar(2)
FLYER = rc.robots.free_flyer(1)
STEP = 1e-2


def classical(robot, q, v, tau, h):
    """One step of the classical Runge-Kutta method, for joints of one freedom."""

    def f(x):
        return np.hstack([x[:, robot.nq :], robot.forward_dynamics(x[:, : robot.nq], x[:, robot.nq :], tau)])

    x = np.hstack([q, v])
    k1 = f(x)
    k2 = f(x + h / 2 * k1)
    k3 = f(x + h / 2 * k2)
    k4 = f(x + h * k3)
    x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[:, : robot.nq], x[:, robot.nq :]


def test_steps_are_those_of_the_classical_method():
    robot = rc.robots.stanford()
    q, v, tau = states(robot, 3)
    found = rc.rollout(robot, q, v, tau, STEP, 3)
    for step in range(3):
        q, v = classical(robot, q, v, tau, STEP)
        assert np.abs(found[0][:, step] - q).max() < 1e-13
        assert np.abs(found[1][:, step] - v).max() < 1e-12


def test_euler_steps():
    q0, v0, tau = states(FLYER, 3)
    a = FLYER.forward_dynamics(q0, v0, tau)
    q, v = rc.rollout(FLYER, q0, v0, tau, STEP, 1, "euler")
    assert np.abs(v[:, 0] - (v0 + STEP * a)).max() < 1e-14
    assert np.abs(q[:, 0] - FLYER.integrate(q0, STEP * v0)).max() < 1e-14
    q, w = rc.rollout(FLYER, q0, v0, tau, STEP, 1, "semi-implicit")
    same_bits(w, v)
    assert np.abs(q[:, 0] - FLYER.integrate(q0, STEP * v[:, 0])).max() < 1e-14


@pytest.mark.compiled
def test_saved_states_are_every_so_many():
    q0, v0, tau = states(ARM, 4)
    q, v = rc.rollout(ARM, q0, v0, tau, STEP, 12)
    for every in (1, 2, 3, 4, 6, 12):
        some = rc.rollout(ARM, q0, v0, tau, STEP, 12, save_every=every)
        assert some[0].shape == (4, 12 // every, 2)
        same_bits(some[0], q[:, every - 1 :: every])
        same_bits(some[1], v[:, every - 1 :: every])


@pytest.mark.compiled
def test_losses_act_unless_they_are_switched_off():
    b = rc.Builder("damped")
    b.link("rod", mass=1.0, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    b.joint("pivot", "revolute", parent="world", child="rod", axis=(0, 0, 1), damping=0.3, friction=0.05)
    robot = b.build().with_gravity((0.0, 0.0, 0.0))
    _, v = rc.rollout(robot, [0.0], [2.0], None, STEP, 500)
    _, free = rc.rollout(robot, [0.0], [2.0], None, STEP, 500, losses=False)
    inertia = robot.mass_matrix([0.0])[0, 0]
    t = STEP * np.arange(1, 11)
    decay = np.exp(-0.3 * t / inertia)
    assert np.abs(v[:10, 0] - (2.0 * decay - 0.05 / 0.3 * (1.0 - decay))).max() < 1e-7  # friction acts against v
    assert np.abs(v[-100:]).max() < 0.05 * STEP / inertia  # at rest up to chatter of the order of a step
    assert np.abs(free - 2.0).max() < 1e-13


def test_batch_axes_are_any():
    q0, v0, tau = states(ARM, 6)
    flat = rc.rollout(ARM, q0, v0, tau, STEP, 4, save_every=2)
    block = rc.rollout(ARM, q0.reshape(2, 3, 2), v0.reshape(2, 3, 2), tau.reshape(2, 3, 2), STEP, 4, save_every=2)
    assert block[0].shape == (2, 3, 2, 2)
    same_bits(block[1].reshape(6, 2, 2), flat[1])
    wide = rc.rollout(ARM, q0[0], v0, tau, STEP, 4)
    assert wide[0].shape == (6, 4, 2)
    same_bits(wide[1][0], rc.rollout(ARM, q0[0], v0[0], tau[0], STEP, 4)[1])
    assert rc.rollout(ARM, {"joint2": 0.3}, np.zeros(2), None, STEP, 4)[0].shape == (4, 2)


def test_nothing_to_do():
    q0, v0, _ = states(ARM, 3)
    assert [x.shape for x in rc.rollout(ARM, q0, v0, None, STEP, 0)] == [(3, 0, 2), (3, 0, 2)]
    assert rc.rollout(ARM, q0[:0], v0[:0], None, STEP, 5)[1].shape == (0, 5, 2)
    rock = rc.load('<robot name="rock"><link name="a"/></robot>')
    assert rc.rollout(rock, np.empty((3, 0)), np.empty((3, 0)), None, STEP, 5)[0].shape == (3, 5, 0)


def test_given_states_stay_as_they_are():
    q0, v0, tau = states(ARM, 3)
    kept = [x.copy() for x in (q0, v0, tau)]
    rc.rollout(ARM, q0, v0, tau, STEP, 3)
    for x, y in zip((q0, v0, tau), kept, strict=True):
        same_bits(x, y)


ZERO = np.zeros((3, 2))
REFUSED = {
    "length of q0": ({"q0": np.zeros((3, 4))}, rc.ShapeError, "q0 has shape (3, 4), expected (..., 2)"),
    "batches": ({"v0": np.zeros((4, 2))}, rc.ShapeError, "q0 (3, 2), v0 (4, 2)"),
    "length of torque": ({"torque": np.zeros((3, 4))}, rc.ShapeError, "torque has shape (3, 4), expected (..., 2)"),
    "rows of torque": (
        {"torque": np.zeros((4, 2))},
        rc.ShapeError,
        "expected (3, 2), the same in all steps, or (3, 6,",
    ),
    "torque of another shape": (
        {"q0": ZERO[0], "v0": ZERO[0], "torque": np.zeros((3, 6, 2))},
        rc.ShapeError,
        "expected (2,), the same in all steps, or (6, 2), one",
    ),
    "steps of torque": ({"torque": np.zeros((3, 5, 2))}, rc.ShapeError, "one for each of the 6 steps"),
    "axes of torque": ({"torque": np.zeros((1, 3, 6, 2))}, rc.ShapeError, "torque has shape (1, 3, 6, 2)"),
    "no step": ({"step": 0.0}, rc.StateError, "step must be finite and above 0 s, not 0.0"),
    "negative step": ({"step": -0.1}, rc.StateError, "not -0.1"),
    "step of nan": ({"step": np.nan}, rc.StateError, "not nan"),
    "step of text": ({"step": "fast"}, rc.StateError, "step must be a number of seconds, not 'fast'"),
    "negative steps": ({"steps": -1}, rc.ShapeError, "steps must be a whole number of at least 0, not -1"),
    "too many steps": ({"steps": 2**64, "save_every": 2**64}, rc.ShapeError, "that can be counted"),
    "half steps": ({"steps": 1.5}, rc.ShapeError, "not 1.5"),
    "save_every of 0": ({"save_every": 0}, rc.ShapeError, "save_every must be a whole number of at least 1"),
    "save_every that leaves a rest": ({"save_every": 4}, rc.ShapeError, "Take 4 or 8 steps"),
    "integrator": ({"integrator": "rk5"}, rc.UnknownNameError, "no integrator 'rk5'. Did you mean 'rk4'?"),
    "divergence": ({"on_divergence": "nna"}, rc.UnknownNameError, "Did you mean 'nan'?"),
    "threads": ({"threads": 0}, rc.ShapeError, "threads must be a positive whole number"),
    "out": ({"out": np.empty((3, 6, 2))}, rc.ShapeError, "out must be two arrays"),
    "shape of out": ({"out": (np.empty((3, 6, 2)), np.empty((3, 5, 2)))}, rc.ShapeError, "out has shape (3, 5, 2)"),
    "complex": ({"q0": ZERO + 1j}, rc.StateError, "states must be real"),
    "nan in q0": ({"q0": np.array([[0, 0], [0, np.nan], [0, 0]])}, rc.StateError, "q0 in row 1: entry 1 is nan"),
    "infinite v0": ({"v0": np.array([np.inf, 0])}, rc.StateError, "v0 in row 0: entry 0 is inf"),
    "parameters": ({"parameters": np.zeros(7)}, rc.ShapeError, "parameters has shape (7,), expected (..., 20)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_named(name):
    changes, error, words = REFUSED[name]
    arguments = {"q0": ZERO, "v0": ZERO, "torque": None, "step": 0.1, "steps": 6} | changes
    with pytest.raises(error) as caught:
        rc.rollout(ARM, **arguments)
    assert words in str(caught.value)


def test_what_is_no_robot_is_refused():
    with pytest.raises(rc.StateError, match=r"the first argument of rollout is a robot, not 'arm\.urdf'"):
        rc.rollout("arm.urdf", ZERO, ZERO, None, 0.1, 6)


def test_divergence_reads_as_a_sentence():
    with pytest.raises(rc.DivergenceError) as caught:
        rc.rollout(ARM, ZERO, ZERO + 1e200, None, 1.0, 6)
    assert str(caught.value).startswith("the motion in row 0 left the finite numbers in step 0 of 6")
    assert (caught.value.row, caught.value.step) == (0, 0)


def test_quaternion_of_another_length_is_refused():
    q0, v0, _ = states(FLYER, 3)
    q0[2, 3:7] *= 1.1
    with pytest.raises(rc.StateError, match=r"q0 in row \(2,\): the quaternion of joint 'root'"):
        rc.rollout(FLYER, q0, v0, None, STEP, 2)


def test_row_of_nan_stays_one_if_that_is_wanted():
    q0, v0, tau = states(ARM, 3)
    sound = rc.rollout(ARM, q0, v0, tau, STEP, 3)
    v0[1, 0] = np.nan
    q, v = rc.rollout(ARM, q0, v0, tau, STEP, 3, on_divergence="nan")
    assert np.isnan(q[1]).all() and np.isnan(v[1]).all()
    same_bits(q[[0, 2]], sound[0][[0, 2]])


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "euler"])
def test_divergence_of_a_tied_robot_stays_in_its_row(integrator):
    """Rounding leaves the mass matrix singular on the way out: neither the model's fault nor the other row's."""
    b = rc.Builder("gripper").link("arm", mass=1.0, com=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.3))
    for name in ("left", "right"):
        b.link(name, mass=0.1, com=(0, 0.1, 0.3), inertia=(0.01, 0.01, 0.01))
    b.joint("turn", "revolute", parent="world", child="arm", axis=(0, 0, 1))
    b.joint("open", "prismatic", parent="arm", child="left", axis=(0, 1, 0), rpy=(0.3, 0.2, 0.1))
    b.joint("close", "prismatic", parent="arm", child="right", axis=(0, -1, 0), mimic=("open", 1.0, 0.0))
    robot = b.build(mimic="tie")
    tau = np.array([[0.1, 0.0], [1e9, 1e9]])
    start = np.zeros((2, 2)), np.zeros((2, 2))
    q, _ = rc.rollout(robot, *start, tau, 1e-2, 40, integrator, on_divergence="nan")
    assert np.isfinite(q[0]).all()
    assert np.isnan(q[1, -1]).all()
    with pytest.raises(rc.DivergenceError, match="row 1 left the finite numbers") as caught:
        rc.rollout(robot, *start, tau, 1e-2, 40, integrator)
    assert caught.value.t == caught.value.step * 1e-2


def test_functions_are_refused_in_words():
    """What is accepted instead, and where functions are."""
    arm = rc.robots.planar(2)
    for given, name in ((lambda q: q, "lambda"), (rc.Trajectory.constant([0, 0], 1.0), "Trajectory")):
        with pytest.raises(rc.StateError) as caught:
            rc.rollout(arm, np.zeros((3, 2)), np.zeros((3, 2)), given, 1e-3, 10)
        text = str(caught.value)
        assert name in text
        assert "(3, 2), the same in all steps, or (3, 10, 2), one for each of the 10 steps" in text
        assert "robot.simulate" in text
        assert "object" not in text
