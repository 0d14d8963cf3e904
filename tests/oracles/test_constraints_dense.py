"""Constrained motion against dense algebra: G by differences of errors, accelerations by the KKT matrix, every kind."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import tied_gripper
from recursa.model.constraints import CONTACT_KINDS, LOOP_KINDS
from recursa.spatial import Transform
from zoo import closed_tree, elastic_arm, flyer, held_flyer, small_mixed_tree


def branches() -> rc.Robot:
    return flyer("branches", [-1, 0, 0, 1, 2, 3, 4], 9, ["revolute", "spherical"])


def tips(robot: rc.Robot) -> list[str]:
    inner = {joint.parent for joint in robot.model.joints}
    bodies = [k for k in range(robot.nbodies) if k not in inner]
    return [[link.name for link in robot.model.links if link.body == k][-1] for k in bodies]


def looped(kind: str, seed: int = 0) -> rc.Robot:
    """A loop between two branches that misses by some centimetres and degrees at the state that tests look at."""
    robot, rng = branches(), np.random.default_rng(seed)
    one, other = tips(robot)[:2]
    first, second = (robot.pose(state(robot)[0], link) for link in (one, other))
    at, rpy = 0.2 * rng.normal(size=3), rng.normal(size=3)
    frame = Transform.from_xyz_rpy(at, rpy) @ Transform.from_xyz_rpy(0.1 * rng.normal(size=3), 0.3 * rng.normal(size=3))
    there = Transform.from_matrix((np.linalg.inv(second) @ first).tolist()) @ frame
    return robot.with_constraints(
        rc.Loop(
            kind,
            one,
            other,
            axis=rng.normal(size=3),
            at=at,
            rpy=rpy,
            at_other=there.translation,
            rpy_other=there.rotation.constant_rpy(),
            length=0.7 if kind == "rod" else 0.0,
            pitch=0.1 if kind == "helical" else 0.0,
            axis_other=(1, 2, 3) if kind == "universal" else None,
        )
    )


def touching(kind: str) -> rc.Robot:
    robot = branches()
    one, other = tips(robot)[:2]
    return robot.with_constraints(
        rc.Contact(kind, one, at=(0.1, 0.2, 0.3), normal=(1, 2, 3), axis=(3, 1, 0)),
        rc.Contact("point", other, normal=(0, 0, 1), other=one),
    )


ROBOTS = {
    **{kind: (lambda kind=kind: looped(kind)) for kind in LOOP_KINDS},
    **{f"{kind} contact": (lambda kind=kind: touching(kind)) for kind in CONTACT_KINDS},
    "closed_tree": closed_tree,
    "held_flyer": held_flyer,
    "springs": lambda: elastic_arm().with_constraints(rc.JointRelation({"joint1": 1.0, "joint3": 0.5})),
    "tied": lambda: tied_gripper().with_constraints(
        rc.Loop("rod", "world", tips(tied_gripper())[0], at=(1, 2, 3), length=1)
    ),
    "world": lambda: small_mixed_tree().with_constraints(rc.Loop("point", "world", tips(small_mixed_tree())[0])),
}
every_robot = pytest.mark.parametrize("name", ROBOTS)


def state(robot: rc.Robot, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = robot.random_state(seed)
    return q, v, np.random.default_rng(seed).normal(size=robot.nv)


def along(robot: rc.Robot, q: np.ndarray, v: np.ndarray, ask) -> np.ndarray:
    """d/dt of something along a motion, by differences of order four."""
    h = 1e-3
    at = [ask(robot.integrate(q, k * h * v)) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


@every_robot
def test_jacobian_is_the_derivative_of_the_error(name: str) -> None:
    robot = ROBOTS[name]()
    q, _, _ = state(robot)
    if any(isinstance(one, rc.Contact | rc.Prescribed) for one in robot.constraints):
        robot = robot.with_contacts_at(q)
        told = [one.name for one in robot.constraints if isinstance(one, rc.Prescribed)]
        rows = np.array([isinstance(x.constraint, rc.Prescribed) for x in robot.model.equations for _ in x.units])
    else:
        told, rows = [], np.zeros(robot.ncon, bool)
    G = robot.constraint_jacobian(q)
    for unit, column in zip(np.eye(robot.nv), G.T, strict=True):
        found = along(robot, q, unit, robot.constraint_error)
        assert np.abs(found - column)[~rows].max() <= 1e-8 * max(1.0, np.abs(G).max()), told


@every_robot
def test_bias_is_the_rate_of_the_jacobian_along_the_motion(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, _ = state(robot)
    robot = robot.with_contacts_at(q)
    rows = np.array([isinstance(x.constraint, rc.Prescribed) for x in robot.model.equations for _ in x.units])
    expected = along(robot, q, v, lambda at: robot.constraint_jacobian(at) @ v)
    found = robot.constraint_bias(q, v)
    assert np.abs(found - expected)[~rows].max(initial=0.0) <= 1e-8 * max(1.0, np.abs(expected).max())


def kkt(robot: rc.Robot, q, v, tau, **more) -> tuple[np.ndarray, np.ndarray]:
    """``[M G*; G 0] (a, -lambda) = (tau - C, -gamma)``, by NumPy."""
    M, G = robot.mass_matrix(q), robot.constraint_jacobian(q)
    n, m = robot.nv, robot.ncon
    matrix = np.block([[M, G.T], [G, np.zeros((m, m))]])
    right = np.concatenate([tau - robot.bias_forces(q, v), -robot.constraint_bias(q, v, **more)])
    found = np.linalg.solve(matrix, right)
    return found[:n], -found[n:]


@every_robot
@pytest.mark.parametrize("method", ["augmentation", "projection"])
def test_accelerations_solve_the_dense_equations(name: str, method: str) -> None:
    robot = ROBOTS[name]()
    if method == "augmentation" and name == "tied":
        with pytest.raises(rc.NoSweepError, match="tied joints"):
            robot.forward_dynamics(*state(robot), method=method)
        return
    q, v, tau = state(robot)
    expected, _ = kkt(robot, q, v, tau)
    found = robot.forward_dynamics(q, v, tau, method=method)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


@every_robot
def test_forces_and_wrenches_solve_the_dense_equations_and_do_no_work(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, tau = state(robot)
    told = np.random.default_rng(5).normal(size=robot.model.ntold) if robot.model.ntold else None
    a, expected = kkt(robot, q, v, tau, prescribed=told) if told is not None else kkt(robot, q, v, tau)
    found = robot.constraint_forces(q, v, tau, prescribed=told)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
    allowed = robot.project_velocity(q, v)
    power = (robot.constraint_jacobian(q).T @ found) @ allowed
    assert abs(power) <= 1e-11 * np.abs(found).max() * max(1.0, np.abs(v).max())
    joints = [one for one in robot.model.equations if not hasattr(one, "links")]
    own = np.zeros(robot.nv)
    for one in joints:
        rows = slice(one.start, one.start + len(one.units))
        own += robot.constraint_jacobian(q)[rows].T @ found[rows]
    tree = robot.without_constraints()
    pushed = tree.forward_dynamics(q, v, tau + own, wrenches=robot.constraint_wrenches(q, v, tau, prescribed=told))
    assert np.abs(pushed - a).max() <= 1e-9 * np.abs(a).max()


@every_robot
def test_delassus_matrix_is_the_product(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, _ = state(robot)
    G, M = robot.constraint_jacobian(q), robot.mass_matrix(q)
    A = robot.constraint_delassus(q)
    assert np.abs(A - G @ np.linalg.solve(M, G.T)).max() <= 1e-10 * np.abs(A).max()
    projected = v - np.linalg.solve(M, G.T @ np.linalg.solve(A, G @ v))
    assert np.abs(robot.project_velocity(q, v) - projected).max() <= 1e-9 * np.abs(v).max()


def test_losses_and_wrenches_act_with_constraints() -> None:
    robot = closed_tree()
    q, v, tau = state(robot)
    lost = tau - robot.joint_losses(v)
    for method in ("augmentation", "projection"):
        expected = robot.forward_dynamics(q, v, lost, method=method)
        assert np.allclose(robot.forward_dynamics(q, v, tau, losses=True, method=method), expected, rtol=1e-11)
        joints, links = robot.forward_dynamics(q, v, tau, links=True, method=method)
        assert np.allclose(links, robot.accelerations(q, v, joints), rtol=1e-9, atol=1e-9)
