"""Inertial parameters moved inward: the same torques, accelerations and mass matrix, with more zeros."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import tied_gripper
from recursa.book.rigid_body import euler_from_inertia
from recursa.dynamics import articulated_bodies, coriolis, inverse, mass_matrix
from recursa.dynamics.gathering import joint_matrix, joint_vector
from recursa.model.canonical import canonical, regrouped
from recursa.sweeps import run
from zoo import ZOO

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")},
    "tied": tied_gripper,
}


def answers(model, q, v, a):
    """Everything that may be asked of moved inertias."""
    given = {"q": q.tolist(), "v": v.tolist(), "a": a.tolist(), "tau": a.tolist()}
    torque = joint_vector(model, run(inverse.inverse_plan(), model, given)["T"])
    mass = list(joint_matrix(model, run(mass_matrix.MASS_MATRIX_PLAN, model, given)["rows"], symmetric=True))
    speeds = list(joint_matrix(model, run(coriolis.CORIOLIS_MATRIX_PLAN, model, given)["rows"], symmetric=False))
    found = {"torque": torque, "mass": mass, "coriolis": speeds}
    if all(joint.tie is None for joint in model.joints):
        found["acceleration"] = joint_vector(model, run(articulated_bodies.forward_plan(), model, given)["qdd"])
    return {name: np.array(values, float) for name, values in found.items()}


@pytest.mark.parametrize("zeroed", ["inertia", "euler"])
@pytest.mark.parametrize("name", ROBOTS)
def test_answers_stay_what_they_were(name, zeroed):
    robot = ROBOTS[name]()
    q, v = robot.random_state(3)
    a = np.random.default_rng(4).normal(size=robot.nv)
    moved = canonical(robot.model)
    before, after = answers(moved, q, v, a), answers(regrouped(moved, zeroed), q, v, a)
    for what, expected in before.items():
        tolerance = 1e-9 if what == "acceleration" else 1e-12
        assert np.abs(after[what] - expected).max() <= tolerance * np.abs(expected).max(), what


@pytest.mark.parametrize("zeroed", ["inertia", "euler"])
def test_three_of_ten_parameters_of_a_turning_body_are_zero(zeroed):
    for body in regrouped(canonical(rc.robots.chain(60, seed=1).model), zeroed).inertias:
        assert body.mass == body.first.z == 0.0
        m = body.moment
        assert (m.yy if zeroed == "inertia" else euler_from_inertia(m).zz) == 0.0
        assert min(abs(m.xx), abs(m.zz), abs(m.xy), abs(body.first.x)) > 0.0


def test_all_moments_of_a_sliding_body_are_zero():
    model = canonical(rc.robots.stanford().model)
    slide = next(k for k, joint in enumerate(model.joints) if joint.kind.name == "prismatic")
    body = regrouped(model, "inertia").inertias[slide]
    assert set(body.moment) == {0.0}
    assert body.mass > model.inertias[slide].mass  # with what further bodies have handed in


def test_bodies_on_joints_with_several_freedoms_stay_whole():
    model = canonical(ZOO["spherical"]().model)
    assert regrouped(model, "inertia").inertias == model.inertias
