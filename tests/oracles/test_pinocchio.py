"""Kinematics, mass properties and energies against Pinocchio, on every URDF of example-robot-data and on the zoo."""

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

FRAMES = {
    "body": pin.ReferenceFrame.LOCAL,
    "mixed": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    "world": pin.ReferenceFrame.WORLD,
}
STATES = 2
LINKS_WITH_JACOBIANS = 6
EMPTY = "ur3.urdf"  # holds a comment and not one link

FILES = [path for path in urdf_files() if path.name != EMPTY]

close = partial(numeric.close, tolerance=1e-10)


def as_matrix(jacobian: np.ndarray) -> np.ndarray:
    """Angular part first; the bindings hand a matrix of one column out as a vector."""
    return interop.swap_halves(jacobian.reshape(6, -1), axis=0)


def compare(robot: rc.Robot, model: object, frame_of: dict[str, int]) -> None:
    """Everything this library computes, at random states, against a Pinocchio model of the same robot."""
    data = model.createData()
    states = [robot.random_state(seed) for seed in range(STATES)]
    q = np.stack([state[0] for state in states])
    v = np.stack([state[1] for state in states])
    a = np.random.default_rng(7).normal(size=v.shape)
    pq, pv, pa = (
        interop.configuration(robot, model, q),
        interop.velocity(robot, model, v),
        interop.velocity(robot, model, a),
    )
    assert np.allclose(interop.velocity_from(robot, model, pv), v)
    assert np.allclose(robot.poses(interop.configuration_from(robot, model, pq)), robot.poses(q), atol=1e-12)
    poses = robot.poses(q)
    velocities = {frame: robot.velocities(q, v, frame) for frame in FRAMES}
    spatial = {frame: robot.accelerations(q, v, a, frame) for frame in FRAMES}
    classical = {frame: robot.accelerations(q, v, a, frame, kind="classical") for frame in FRAMES}
    chosen = list(np.random.default_rng(3).permutation(robot.nlinks)[:LINKS_WITH_JACOBIANS])
    names = robot.link_names
    jacobians = {(k, f): robot.jacobian(q, names[k], frame=f) for k in chosen for f in FRAMES}
    rates = {(k, f): robot.jacobian_derivative(q, v, names[k], frame=f) for k in chosen for f in FRAMES}
    order = interop.velocity_order(robot, model)
    for s in range(STATES):
        pin.forwardKinematics(model, data, pq[s], pv[s], pa[s])
        pin.updateFramePlacements(model, data)
        pin.computeJointJacobians(model, data, pq[s])
        pin.computeJointJacobiansTimeVariation(model, data, pq[s], pv[s])
        for k, name in enumerate(names):
            frame_id = frame_of[name]
            close(poses[s, k], data.oMf[frame_id].homogeneous, what=f"pose of {name}")
            for frame, there in FRAMES.items():
                found = pin.getFrameVelocity(model, data, frame_id, there).vector
                close(velocities[frame][s, k], interop.swap_halves(found), what=f"velocity of {name} in {frame}")
                found = pin.getFrameAcceleration(model, data, frame_id, there).vector
                close(spatial[frame][s, k], interop.swap_halves(found), what=f"acceleration of {name} in {frame}")
                found = pin.getFrameClassicalAcceleration(model, data, frame_id, there).vector
                close(
                    classical[frame][s, k],
                    interop.swap_halves(found),
                    what=f"classical acceleration of {name} in {frame}",
                )
                if k in chosen:
                    found = as_matrix(pin.getFrameJacobian(model, data, frame_id, there))
                    close(jacobians[k, frame][s][:, order], found, what=f"jacobian of {name} in {frame}")
                    found = as_matrix(pin.getFrameJacobianTimeVariation(model, data, frame_id, there))
                    close(rates[k, frame][s][:, order], found, what=f"dJ/dt of {name} in {frame}")
    compare_mass_properties(robot, model, data, (q, v), (pq, pv))


def compare_mass_properties(robot: rc.Robot, model: object, data: object, state: tuple, pin_state: tuple) -> None:
    (q, v), (pq, pv) = state, pin_state
    gravity = np.array(robot.gravity)
    model.gravity = pin.Motion(gravity, np.zeros(3))
    kinetic, potential = robot.kinetic_energy(q, v), robot.potential_energy(q)
    world = robot.momentum(q, v, about="world")
    has_mass = robot.mass > 0.0
    com = robot.center_of_mass(q) if has_mass else None
    central = robot.momentum(q, v) if has_mass else None
    armature = np.concatenate([np.array(joint.armature) for joint in robot.model.joints]) if robot.nv else np.zeros(0)
    for s in range(STATES):
        bare = pin.computeKineticEnergy(model, data, pq[s], pv[s])
        if armature.any():  # Pinocchio leaves out part of the armature's energy
            bare = sum(
                0.5 * data.v[i].vector @ model.inertias[i].matrix() @ data.v[i].vector for i in range(1, model.njoints)
            )
        close(kinetic[s], bare + 0.5 * armature @ v[s] ** 2, what="kinetic energy")
        if not has_mass:
            assert potential[s] == 0.0
            continue
        close(potential[s], pin.computePotentialEnergy(model, data, pq[s]), what="potential energy")
        close(com[s], pin.centerOfMass(model, data, pq[s]), what="centre of mass")
        pin.computeCentroidalMomentum(model, data, pq[s], pv[s])
        close(central[s], interop.swap_halves(data.hg.vector), what="momentum about the centre of mass")
        moved = data.hg.angular + np.cross(data.com[0], data.hg.linear)
        close(world[s], np.concatenate([moved, data.hg.linear]), what="momentum about the origin")


def body_frames(robot: rc.Robot, model: object) -> dict[str, int]:
    return {name: model.getFrameId(name, pin.FrameType.BODY) for name in robot.link_names}


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", FILES, ids=relative_name)
def test_urdf_matches_pinocchio(path, floating):
    robot = rc.load(path, floating=floating, strict=False)
    if robot.nv == 0:  # Pinocchio's derivatives crash on a model without joints: nothing moves, so nothing to ask
        assert np.array_equal(robot.velocities([], []), np.zeros((robot.nlinks, 6)))
        assert robot.jacobian([], robot.link_names[-1]).shape == (6, 0)
        return
    arguments = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(path), *arguments)
    assert robot.is_floating == floating
    compare(robot, model, body_frames(robot, model))


@pytest.mark.parametrize("name", [name for name in ZOO if name != "chain200"])
def test_zoo_matches_pinocchio(name):
    robot = ZOO[name]()
    model = interop.build(robot)
    compare(robot, model, body_frames(robot, model))


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES, ids=relative_name)
def test_total_mass_matches_pinocchio(path):
    robot = rc.load(path, floating=True, strict=False)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    close(np.array(robot.mass), np.array(pin.computeTotalMass(model)), what="mass")


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "axis"), [((6, 4), -1), ((5,), 0), ((), -1), ((6,), 1), ((2, 6), 0)])
def test_only_six_vectors_have_halves(shape: tuple[int, ...], axis: int) -> None:
    with pytest.raises(rc.ShapeError, match=f"6 entries along axis {axis}, not shape"):
        interop.swap_halves(np.zeros(shape), axis=axis)
    assert interop.swap_halves(np.zeros((6, 4)), axis=0).shape == (6, 4)


@pytest.mark.parametrize("convert", [interop.configuration_from, interop.velocity_from])
@pytest.mark.parametrize("given", [np.zeros(5), np.zeros((3, 30)), 1.0, "speeds", [[0.0], [0.0, 1.0]]])
def test_vectors_from_pinocchio_are_checked(convert: object, given: object) -> None:
    robot = ZOO["free_flyer"]()
    with pytest.raises(rc.ShapeError, match=r"\(\.\.\., (9|10)\)"):
        convert(robot, interop.build(robot), given)  # type: ignore[operator]


def test_point_masses_anywhere_are_built() -> None:
    """Their moments about the centre of mass are zero but for rounding, of either sign."""
    rng = np.random.default_rng(4)
    for k in range(40):
        b = rc.Builder("point")
        b.link("rod", mass=float(rng.uniform(0.1, 10.0)), com=rng.normal(size=3), inertia=(0.0, 0.0, 0.0))
        axis = rng.normal(size=3)
        b.joint(
            "pin", "revolute", parent="world", child="rod", axis=axis / np.linalg.norm(axis), rpy=rng.normal(size=3)
        )
        robot = b.build()
        model = interop.build(robot)
        q, v = robot.random_state(seed=k)
        theirs = pin.rnea(model, model.createData(), interop.configuration(robot, model, q), v, 2.0 * v)
        numeric.close(theirs, robot.inverse_dynamics(q, v, 2.0 * v), 1e-9)
