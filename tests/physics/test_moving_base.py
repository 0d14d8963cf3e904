"""A base that is moved in a known way, against the same robot on a free joint that is prescribed, and Lagrange."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step
from zoo import ZOO

METHODS = ("articulated", "four-sweep", "four-sweep-links", "three-sweep-bias", "three-sweep", "denoc", "composite")


class Moved(NamedTuple):
    """A robot on a moving base, and its twin that floats: its base is where the world is, and moves in the same way."""

    robot: rc.Robot
    twin: rc.Robot
    state: tuple[np.ndarray, np.ndarray]
    floating: tuple[np.ndarray, np.ndarray]
    base: dict[str, np.ndarray]
    free: np.ndarray  # places in v


@pytest.fixture(scope="module", params=["panda_like", "tree"])
def moved(request):
    robot = ZOO[request.param]()
    twin = rc.load(robot.to_urdf(), floating=True, strict=False).with_gravity(robot.model.gravity)
    assert twin.joint_names[1:] == robot.joint_names
    rng = np.random.default_rng(4)
    (q, v), base = robot.random_state(3), rng.normal(size=(2, 6))
    start = twin.neutral()
    floating = np.concatenate([start[:7], q]), np.concatenate([base[0], v])
    both = dict(zip(("base_twist", "base_acceleration"), base, strict=True))
    return Moved(robot, twin, (q, v), floating, both, np.arange(6, twin.nv))


pytestmark = pytest.mark.filterwarnings("ignore::recursa.ModelWarning")  # the base of a twin weighs nothing


def vector(moved, seed):
    return np.random.default_rng(seed).normal(size=moved.robot.nv)


@pytest.mark.parametrize("method", ["newton-euler", "denoc"])
def test_inverse_dynamics_match_those_of_the_floating_twin(moved, method):
    a = vector(moved, 1)
    expected = moved.twin.inverse_dynamics(*moved.floating, np.r_[moved.base["base_acceleration"], a], losses=True)
    found = moved.robot.inverse_dynamics(*moved.state, a, losses=True, method=method, **moved.base)
    close(found, expected[moved.free], 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_forward_dynamics_match_hybrid_dynamics_of_the_floating_twin(moved, method):
    tau = vector(moved, 2)
    accelerations, torques = np.r_[moved.base["base_acceleration"], 0 * tau], np.r_[np.zeros(6), tau]
    twin = moved.twin.hybrid_dynamics(*moved.floating, accelerations, torques, prescribed=moved.twin.joint_names[:1])
    found, links = moved.robot.forward_dynamics(*moved.state, tau, links=True, method=method, **moved.base)
    close(found, twin.a[moved.free], 1e-11)
    close(links[-1], moved.twin.accelerations(*moved.floating, twin.a)[-1], 1e-11)
    close(moved.robot.inverse_dynamics(*moved.state, found, **moved.base), tau, 1e-11)


def test_motions_and_momentum_match_those_of_the_floating_twin(moved):
    robot, twin = moved.robot, moved.twin
    a, twist = vector(moved, 3), {"base_twist": moved.base["base_twist"]}
    for frame in ("body", "mixed", "world"):
        expected = twin.velocities(*moved.floating, frame)[-1]
        close(robot.velocities(*moved.state, frame, **twist)[-1], expected, 1e-13)
        for kind in ("spatial", "classical"):
            whole = np.r_[moved.base["base_acceleration"], a]
            expected = twin.accelerations(*moved.floating, whole, frame, kind)[-1]
            close(robot.accelerations(*moved.state, a, frame, kind, **moved.base)[-1], expected, 1e-12)
    for about in ("com", "world"):
        close(robot.momentum(*moved.state, about, **twist), twin.momentum(*moved.floating, about), 1e-12)
    close(robot.kinetic_energy(*moved.state, **twist), twin.kinetic_energy(*moved.floating), 1e-12)


@pytest.mark.interpreted(reason="complex numbers")
def test_torques_match_lagrange_by_complex_steps(moved):
    """d/dt of dT/dv, less dT/dq; T is quadratic in v, so two values give its derivative exactly."""
    robot, (q, v), units = moved.robot, moved.state, np.eye(moved.robot.nv)
    twist, rate = moved.base.values()
    a = vector(moved, 5)

    def conjugate(q, v, twist):
        energy = [robot.kinetic_energy(q, v + side * units, base_twist=twist) for side in (1.0, -1.0)]
        return 0.5 * (energy[0] - energy[1])

    moving = complex_step(lambda t: conjugate(q + t * v, v + t * a, twist + t * rate))
    slope = np.array([complex_step(lambda t, u=u: robot.kinetic_energy(q + t * u, v, base_twist=twist)) for u in units])
    expected = moving - slope + robot.gravity_forces(q)
    close(robot.inverse_dynamics(q, v, a, **moved.base), expected, 1e-12)


def test_batches_match_single_states(moved):
    robot = moved.robot
    q, v = (np.array(rows) for rows in zip(*(robot.random_state(k) for k in range(6)), strict=True))
    twists = np.random.default_rng(1).normal(size=(6, 6))
    shaken = {"base_acceleration": moved.base["base_acceleration"]}
    found = robot.forward_dynamics(q, v, v, base_twist=twists, **shaken)
    for k in range(6):
        close(found[k], robot.forward_dynamics(q[k], v[k], v[k], base_twist=twists[k], **shaken), 1e-13)


def test_methods_that_know_no_moving_base_say_so(moved):
    robot, (q, v) = moved.robot, moved.state
    with pytest.raises(rc.NoSweepError, match="'diagonal' is for a base that rests"):
        robot.forward_dynamics(q, v, v, method="diagonal", base_twist=np.ones(6))
    with pytest.raises(rc.NoSweepError, match="does not take base_twist="):
        robot.inverse_dynamics(q, v, v, method="tensor", base_twist=np.ones(6))
    with pytest.raises(rc.ShapeError, match="base_twist"):
        robot.velocities(q, v, base_twist=np.ones(3))
