"""The innovations factorisation as an object, against matrices made from the definitions."""

from __future__ import annotations

import dataclasses
import pickle
from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import gap, states, tied_gripper
from recursa.operators.rules import factor, inverse_factor
from zoo import ZOO, floating_tree_with_rotors, known_answer_arm, large_interpreted

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")},
    "floating_tree_with_rotors": floating_tree_with_rotors,
}
robot_of = cache(lambda name: ROBOTS[name]())
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))


def diagonal_blocks(matrix, count):
    return np.stack([matrix[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(count)])


def transposed(matrix):
    return np.swapaxes(matrix, -1, -2)


# ---- what it holds ---------------------------------------------------------------------------------------------------


@every_robot
def test_blocks_match_the_operators(name):
    robot = robot_of(name)
    o = robot.operators
    q, _ = robot.random_state(2)
    fac = robot.factorization(q)
    assert gap(fac.P, diagonal_blocks(rc.dense(o.P, q), robot.nbodies)) < 1e-12
    assert gap(fac.D, rc.dense(o.D, q)) < 1e-12
    assert np.array_equal(fac.D, fac.D.T)
    assert np.array_equal(fac.P, transposed(fac.P))
    gain, shifted = rc.dense(o.G, q), rc.dense(o.K, q)
    for k, joint in enumerate(robot.model.joints):
        own = slice(joint.v_start, joint.v_start + joint.kind.nv)
        assert gap(fac.G[:, own], gain[6 * k : 6 * k + 6, own]) < 1e-11
        if joint.parent >= 0:
            assert gap(fac.K[:, own], shifted[6 * joint.parent : 6 * joint.parent + 6, own]) < 1e-11


def test_first_bodies_carry_their_gain_to_the_world():
    robot = robot_of("pendulum")
    q, _ = robot.random_state(2)
    fac = robot.factorization(q)
    pose = robot.pose(q, "bob")
    turn = np.kron(np.eye(2), pose[:3, :3])
    moment, force = np.split(turn @ fac.G[:, 0], 2)
    assert gap(fac.K[:, 0], np.concatenate([moment + np.cross(pose[:3, 3], force), force])) < 1e-14


@every_robot
def test_factors_match_the_operators_and_make_the_mass_matrix(name):
    robot = robot_of(name)
    o = robot.operators
    q, _ = robot.random_state(3)
    fac = robot.factorization(q)
    assert gap(fac.factor, rc.dense(factor(o), q)) < 1e-11
    assert gap(fac.inverse_factor, rc.dense(inverse_factor(o), q)) < 1e-11
    assert gap(fac.factor @ fac.D @ fac.factor.T, robot.mass_matrix(q)) < 1e-12
    assert gap(fac.inverse_factor @ fac.factor, np.eye(robot.nv)) < 1e-11
    inverse = fac.inverse_factor.T @ np.linalg.inv(fac.D) @ fac.inverse_factor
    assert gap(inverse, robot.mass_matrix_inverse(q)) < 1e-10


@every_robot
def test_factors_are_unit_upper_block_triangular(name):
    robot = robot_of(name)
    q, _ = robot.random_state(4)
    fac = robot.factorization(q)
    joint_of = np.repeat(range(robot.nbodies), [joint.kind.nv for joint in robot.model.joints])
    for matrix in (fac.factor, fac.inverse_factor):
        assert np.array_equal(matrix[joint_of[:, None] > joint_of], np.zeros(np.sum(joint_of[:, None] > joint_of)))
        assert np.array_equal(matrix[joint_of[:, None] == joint_of], np.eye(robot.nv)[joint_of[:, None] == joint_of])
    assert not fac.D[joint_of[:, None] != joint_of].any()


def test_known_answer_arm():
    """Numbers of fifty-digit arithmetic, in world components."""
    robot = known_answer_arm()
    q = [0.3, 0.25, -0.6]
    fac = robot.factorization(q)
    assert np.allclose(np.diag(fac.D), [1.47612509967, 2.89244430046, 0.0334], rtol=1e-11)
    turn = np.kron(np.eye(2), robot.pose(q, "l2")[:3, :3])
    inertia = turn @ fac.P[1] @ turn.T
    row = [0.0732188013906, -0.0043756763405, -0.0967561325388, 0.0279084834421, -0.301303196962, 0.0374498140197]
    assert np.allclose(inertia[0], row, rtol=1e-10)
    assert np.allclose(inertia[3:, 5], [0.241277158901, 0.0746357714509, 2.40695689715], rtol=1e-10)
    turn = np.kron(np.eye(2), robot.pose(q, "l3")[:3, :3])
    gain = [-0.533688219632, -0.17097050921, 1, -0.447991778392, 1.3794637484, 0.00717580384436]
    assert np.allclose(turn @ fac.G[:, 0], gain, rtol=1e-10)


# ---- what it is good for ---------------------------------------------------------------------------------------------


@every_robot
def test_solve_matches_the_mass_matrix(name):
    robot = robot_of(name)
    q, _ = robot.random_state(5)
    fac = robot.factorization(q)
    many = np.random.default_rng(0).normal(size=(4, robot.nv))
    mass = robot.mass_matrix(q)
    allowed = max(1e-11, 1e-15 * np.linalg.cond(mass))
    assert gap(fac.solve(many), np.linalg.solve(mass, many.T).T) < allowed
    assert gap(fac.solve(many[0]), np.linalg.solve(mass, many[0])) < allowed


@every_robot
def test_logdet_matches_numpy(name):
    robot = robot_of(name)
    q, _, _ = states(robot, 3, 6)
    sign, expected = np.linalg.slogdet(robot.mass_matrix(q))
    assert (sign == 1.0).all()
    assert gap(robot.factorization(q).logdet(), expected) < 1e-11


@pytest.mark.slow
def test_long_chain():
    robot = rc.robots.chain(200, seed=6)
    q, v = robot.random_state(1)
    fac = robot.factorization(q)
    assert gap(fac.logdet(), np.linalg.slogdet(robot.mass_matrix(q))[1]) < 1e-11
    assert gap(robot.mass_matrix(q) @ fac.solve(v), v) < 1e-9
    assert gap(fac.factor @ fac.D @ fac.factor.T, robot.mass_matrix(q)) < 1e-12


def test_batch_axes():
    robot = robot_of("free_flyer")
    q, v, _ = states(robot, 6)
    whole = robot.factorization(q.reshape(2, 3, -1))
    shapes = {name: getattr(whole, name).shape for name in ("P", "D", "G", "K", "factor", "inverse_factor")}
    n, nv = robot.nbodies, robot.nv
    square = (2, 3, nv, nv)
    expected = {"P": (2, 3, n, 6, 6), "D": square, "G": (2, 3, 6, nv), "K": (2, 3, 6, nv)}
    assert shapes == {**expected, "factor": square, "inverse_factor": square}
    assert whole.logdet().shape == (2, 3)
    mass = robot.mass_matrix(q.reshape(2, 3, -1))
    assert gap(whole.factor @ whole.D @ transposed(whole.factor), mass) < 1e-12
    alone = robot.factorization(q[4])
    for name in shapes:
        assert gap(getattr(whole, name)[1, 1], getattr(alone, name)) < 1e-13
    several = np.random.default_rng(1).normal(size=(5, 2, 3, nv))  # five right-hand sides for each state
    solved = whole.solve(several)
    assert solved.shape == several.shape
    assert gap(np.einsum("abij,sabj->sabi", mass, solved), several) < 1e-10
    assert gap(whole.solve(v[0])[1, 2], robot.factorization(q[5]).solve(v[0])) < 1e-13  # one for all
    out = np.empty((2, 3, nv))
    assert whole.solve(v.reshape(2, 3, nv), out=out) is out
    with pytest.raises(rc.ShapeError, match="batch axes"):
        whole.solve(np.ones((4, 3, nv)))
    empty = robot.factorization(q[:0])
    assert empty.P.shape == (0, n, 6, 6)
    assert empty.solve(v[:0]).shape == (0, nv)


@pytest.mark.compiled
def test_single_precision_stays_so():
    robot = rc.robots.panda_like()
    q, v, _ = (x.astype(np.float32) for x in states(robot, 3))
    fac, exact = robot.factorization(q), robot.factorization(q.astype(float))
    for name in ("P", "D", "G", "K", "factor", "inverse_factor"):
        assert getattr(fac, name).dtype == np.float32
        assert gap(getattr(fac, name), getattr(exact, name)) < 1e-4, name
    assert fac.solve(v).dtype == fac.logdet().dtype == np.float32
    assert gap(fac.logdet(), exact.logdet()) < 1e-4


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["panda_like", "mixed_tree", "one_of_each", "chain200"])
def test_kernels_match_the_definitions(name):
    robot = ZOO[name]()
    q, v, _ = states(robot, 5)
    fac = robot.factorization(q)
    mass = robot.mass_matrix(q)
    assert gap(np.einsum("sij,sj->si", mass, fac.solve(v)), v) < 1e-9
    assert gap(fac.logdet(), np.linalg.slogdet(mass)[1]) < 1e-10
    for k, joint in enumerate(robot.model.joints):  # D = H P H* + A and G D = P H*
        hinge = np.array([column.components() for column in joint.columns()])
        own = slice(joint.v_start, joint.v_start + joint.kind.nv)
        expected = hinge @ fac.P[:, k] @ hinge.T + np.diag(joint.armature)
        assert gap(fac.D[:, own, own], expected) < 1e-12
        assert gap(fac.G[:, :, own] @ expected, fac.P[:, k] @ hinge.T) < 1e-11
    kernels = [kernel for store in robot.evaluator.stores for plan, kernel in store._kernels.values()
               if plan.name in ("factorization", "solve")]  # fmt: skip
    assert len(kernels) == 2
    assert all(kernel is not None for kernel in kernels)


# ---- an object -------------------------------------------------------------------------------------------------------


def test_it_is_frozen_and_keeps_its_own_state():
    robot = robot_of("planar_arm")
    q = np.array([0.1, 0.2, 0.3])
    fac = robot.factorization(q)
    expected = fac.solve([1.0, 2.0, 3.0])
    q[:] = 1.0
    assert np.array_equal(fac.solve([1.0, 2.0, 3.0]), expected)
    assert gap(fac.factor @ fac.D @ fac.factor.T, robot.mass_matrix([0.1, 0.2, 0.3])) < 1e-13
    assert fac.factor is fac.factor
    with pytest.raises(dataclasses.FrozenInstanceError):
        fac.D = np.eye(3)
    assert isinstance(fac, rc.Factorization)
    again = pickle.loads(pickle.dumps(fac))
    assert np.array_equal(again.solve([1.0, 2.0, 3.0]), expected)


def test_states_by_joint_name():
    robot = robot_of("planar_arm")
    assert np.array_equal(robot.factorization({"joint2": 0.4}).D, robot.factorization([0.0, 0.4, 0.0]).D)


def test_a_robot_without_joints():
    b = rc.Builder("rock")
    b.link("stone", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.joint("weld", "fixed", parent="world", child="stone")
    fac = b.build().factorization(np.empty((2, 0)))
    assert (fac.P.shape, fac.D.shape, fac.K.shape, fac.factor.shape) == ((2, 0, 6, 6), (2, 0, 0), (2, 6, 0), (2, 0, 0))
    assert np.array_equal(fac.logdet(), [0.0, 0.0])


def test_a_joint_with_nothing_to_move_is_named():
    b = rc.Builder("bare")
    b.link("needle")
    b.joint("spin", "revolute", parent="world", child="needle", axis=(0, 0, 1))
    robot = b.build(strict=False)
    with pytest.raises(rc.SingularHingeError, match="joint 'spin': hinge inertia D is 0"):
        robot.factorization([0.0])
    with pytest.raises(rc.SingularHingeError, match="joint 'spin'"):
        robot.factorization([[0.0], [1.0]])


def test_tied_joints_are_refused():
    robot = tied_gripper()
    with pytest.raises(rc.NoSweepError, match=r'tied joints.*mimic="free"'):
        robot.factorization(robot.neutral())


def test_wrong_shapes_are_named():
    robot = robot_of("planar_arm")
    with pytest.raises(rc.ShapeError, match="q has shape"):
        robot.factorization(np.zeros(4))
    with pytest.raises(rc.ShapeError, match="tau has shape"):
        robot.factorization(np.zeros(3)).solve(np.zeros(4))
