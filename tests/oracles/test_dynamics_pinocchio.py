"""Dynamics against Pinocchio, on every URDF of example-robot-data and on the zoo."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import numeric
import recursa as rc
from recursa.interop import pinocchio as interop
from robot_data import relative_name, urdf_files
from zoo import ZOO

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.interpreted(reason="each of many files would compile anew; test_compiled_urdfs.py has kernels")

EMPTY = "ur3.urdf"
FILES = [path for path in urdf_files() if path.name != EMPTY]
STATES = 2

close = partial(numeric.close, tolerance=1e-10)


def compare(robot: rc.Robot, model: object) -> None:
    data = model.createData()
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    order = interop.velocity_order(robot, model)
    back = np.argsort(order)
    states = [robot.random_state(seed) for seed in range(STATES)]
    q, v = np.stack([s[0] for s in states]), np.stack([s[1] for s in states])
    rng = np.random.default_rng(5)
    a, tau = rng.normal(size=v.shape), rng.normal(size=v.shape)
    pq = interop.configuration(robot, model, q)
    pv, pa, ptau = (interop.velocity(robot, model, x) for x in (v, a, tau))
    armature = np.concatenate([np.array(joint.armature) for joint in robot.model.joints])
    model.armature = armature[order]
    wrenches = rng.normal(size=(STATES, robot.nlinks, 6))
    torque = robot.inverse_dynamics(q, v, a)
    pushed = robot.inverse_dynamics(q, v, a, wrenches=wrenches)
    bias, gravity, mass = robot.bias_forces(q, v), robot.gravity_forces(q), robot.mass_matrix(q)
    coriolis = robot.coriolis_matrix(q, v)
    regressor = robot.regressor(q, v, a)
    central = robot.momentum_matrix(q)
    com = robot.center_of_mass_jacobian(q)
    parameters = np.concatenate([np.array(inertia.components()) for inertia in robot.model.inertias])
    close(robot.inverse_dynamics(q, v, a, parameters=parameters), torque, what="parameters as inputs")
    close(np.einsum("sij,j->si", regressor, parameters) + armature * a, torque, what="regressor times parameters")
    for s in range(STATES):
        close(torque[s], pin.rnea(model, data, pq[s], pv[s], pa[s])[back], what="inverse dynamics")
        close(bias[s], pin.nonLinearEffects(model, data, pq[s], pv[s])[back], what="bias")
        close(gravity[s], pin.computeGeneralizedGravity(model, data, pq[s])[back], what="gravity")
        there = pin.crba(model, data, pq[s])
        there = np.triu(there) + np.triu(there, 1).T
        close(mass[s], there[np.ix_(back, back)], what="mass matrix")
        close(coriolis[s] @ v[s], bias[s] - gravity[s], what="Coriolis matrix times velocity")
        pin.ccrba(model, data, pq[s], pv[s])
        close(central[s], interop.swap_halves(data.Ag.reshape(6, robot.nv), axis=0)[:, back], what="momentum matrix")
        jacobian = pin.jacobianCenterOfMass(model, data, pq[s])
        close(com[s], jacobian.reshape(3, robot.nv)[:, back], what="Jacobian of the centre of mass")
        pin.forwardKinematics(model, data, pq[s])
        pin.updateFramePlacements(model, data)
        pull = np.zeros(robot.nv)
        for k, name in enumerate(robot.link_names):
            pull += robot.jacobian(q[s], name).T @ wrenches[s, k]
        close(pushed[s], torque[s] - pull, what="wrenches")
        compare_forward(robot, model, data, (q[s], v[s], tau[s]), (pq[s], pv[s], ptau[s]), mass[s], back)


def compare_forward(robot, model, data, here, there, mass, back) -> None:
    q, v, tau = here
    eigenvalues = np.linalg.eigvalsh(mass)
    if eigenvalues[0] <= 1e-14 * eigenvalues[-1]:
        return  # the file has a joint with nothing to move; test_files_with_nothing_to_move_say_so
    tolerance = 1e-14 * float(eigenvalues[-1] / eigenvalues[0]) + 1e-10
    a = pin.aba(model, data, *there)[back]
    for method in ("articulated", "four-sweep", "four-sweep-links", "three-sweep", "three-sweep-bias", "composite"):
        close(
            robot.forward_dynamics(q, v, tau, method=method), a, what=f"forward dynamics, {method}", tolerance=tolerance
        )
    inverse = robot.mass_matrix_inverse(q)
    close(
        inverse @ mass,
        np.eye(robot.nv),
        what="inverse mass matrix",
        tolerance=tolerance * max(1.0, np.abs(inverse).max()),
    )
    for losses in (False, True):
        wrenches = np.random.default_rng(1).normal(size=(robot.nlinks, 6))
        settled = robot.forward_dynamics(q, v, tau, losses=losses, wrenches=wrenches)
        again = robot.inverse_dynamics(q, v, settled, losses=losses, wrenches=wrenches)
        close(again, tau, what="inverse of forward dynamics", tolerance=1e-9)


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("path", "floating"),
    [
        pytest.param(path, floating, marks=[pytest.mark.slow] * soak, id=f"{relative_name(path)}-{floating}")
        for k, path in enumerate(FILES)
        for floating, soak in ((False, k % 2 == 0), (True, k % 2 == 1))  # in every suite each file once
    ],
)
def test_urdf_matches_pinocchio(path, floating):
    robot = rc.load(path, floating=floating, strict=False)
    if robot.nv == 0:
        assert robot.inverse_dynamics([], [], []).shape == (0,)
        assert robot.mass_matrix([]).shape == (0, 0)
        return
    arguments = (pin.JointModelFreeFlyer(),) if floating else ()
    compare(robot, pin.buildModelFromUrdf(str(path), *arguments))


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("name", ["romeo.urdf", "romeo_laas_small.urdf"])
def test_files_with_nothing_to_move_say_so(name):
    (path,) = [path for path in FILES if path.name == name]
    robot = rc.load(path, strict=False)
    q, v = robot.random_state(0)
    with pytest.raises(rc.SingularHingeError, match="hinge inertia D"):
        robot.forward_dynamics(q, v, np.ones(robot.nv))


@pytest.mark.parametrize("name", [name for name in ZOO if name != "chain200"])
def test_zoo_matches_pinocchio(name):
    robot = ZOO[name]()
    compare(robot, interop.build(robot))
