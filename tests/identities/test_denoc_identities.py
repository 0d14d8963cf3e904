"""The identities of DeNOC, and that its factors are the innovations factorisation in other letters."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import central, close, complex_step, states
from zoo import ZOO, floating_tree_with_rotors, large_interpreted

CHAINS = ("stanford", "puma560", "chain_mixed", "tree")  # joints of one freedom
ROBOTS = {name: ZOO[name] for name in (*CHAINS, "mixed_tree", "one_of_each", "free_flyer")} | {
    "floating_tree_with_rotors": floating_tree_with_rotors
}
robot_of = cache(lambda name: ROBOTS[name]())
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))
every_chain = pytest.mark.parametrize("name", large_interpreted(CHAINS))


def t(matrix: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)


def block(matrix: np.ndarray, i: int, j: int) -> np.ndarray:
    return matrix[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]


def state(robot: rc.Robot, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v, a = states(robot, 1, seed)
    return q[0], v[0], a[0]


def rotors(robot: rc.Robot) -> np.ndarray:
    return np.diag(np.concatenate([joint.armature for joint in robot.model.joints]))


# ---- the complement --------------------------------------------------------------------------------------------------


@every_chain
def test_shifts_compose(name):
    """B_ij B_jk = B_ik, B_ii = 1 (14), along every line of links."""
    robot = robot_of(name)
    N_l = rc.denoc.natural_orthogonal_complement(robot, state(robot)[0]).N_l
    lines = 0
    for i, joint in enumerate(robot.model.joints):
        assert np.array_equal(block(N_l, i, i), np.eye(6))
        j = joint.parent
        for k in range(j):
            if block(N_l, j, k).any():
                close(block(N_l, i, j) @ block(N_l, j, k), block(N_l, i, k))
                lines += 1
    assert lines > 5


@every_robot
def test_twists_match_the_complement_and_the_velocities(name):
    robot = robot_of(name)
    q, v, a = states(robot, 3)
    N, dN = rc.denoc.natural_orthogonal_complement(robot, q), rc.denoc.natural_orthogonal_complement_rates(robot, q, v)
    N_both, N_rate = N.N_l @ N.N_d, N.N_l @ dN.N_d + dN.N_l @ N.N_d
    stacked = np.einsum("bij,bj->bi", N_both, v)
    close(rc.denoc.twists(robot, q, v).reshape(3, -1), stacked, 1e-12)
    rates = np.einsum("bij,bj->bi", N_both, a) + np.einsum("bij,bj->bi", N_rate, v)
    close(rc.denoc.twist_rates(robot, q, v, a).reshape(3, -1), rates, 1e-12)


@every_robot
def test_complement_is_that_of_the_operators_at_mass_centers(name):
    """N_l = S phi* inv(S), N_d = S H*, M = S^-T M S^-1."""
    robot = robot_of(name)
    q, _, _ = state(robot)
    S, e = rc.denoc.to_mass_centers(robot, q), rc.denoc.expressions(robot)
    N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    close(N_l @ S, S @ rc.dense(e.N_l, q), 1e-12)
    close(N_d, S @ rc.dense(e.N_d, q), 1e-12)
    close(S.T @ rc.denoc.extended_mass(robot, q) @ S, rc.dense(e.M, q), 1e-12)


@every_robot
def test_rates_of_the_complement_match_its_differences(name):
    robot = robot_of(name)
    q, v, _ = state(robot)
    rates = rc.denoc.natural_orthogonal_complement_rates(robot, q, v)
    for which in ("N_l", "N_d"):
        moving = central(
            lambda h, which=which: getattr(
                rc.denoc.natural_orthogonal_complement(robot, robot.integrate(q, h * v)), which
            ),
            1e-3,
        )
        close(getattr(rates, which), moving, 1e-8, which)


@every_robot
def test_complement_removes_constraint_wrenches(name):
    """A wrench that does no work along p_i, on link i and back on its parent, is not seen: N^T w^C = 0 (18)."""
    robot = robot_of(name)
    q, _, _ = state(robot)
    N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    rng = np.random.default_rng(3)
    total = np.zeros(6 * robot.nbodies)
    for i, joint in enumerate(robot.model.joints):
        own = slice(6 * i, 6 * i + 6)
        p = N_d[own, joint.v_start : joint.v_start + joint.kind.nv]
        reaction = rng.normal(size=6)
        reaction -= p @ np.linalg.lstsq(p, reaction, rcond=None)[0]
        total[own] += reaction
        if joint.parent >= 0:
            total[6 * joint.parent : 6 * joint.parent + 6] -= block(N_l, i, joint.parent).T @ reaction
    assert np.abs(total).max() > 0.1
    assert np.abs((N_l @ N_d).T @ total).max() < 1e-11 * np.abs(total).max() * max(1.0, np.abs(N_l).max())


@every_robot
def test_joint_wrenches_match_the_reactions(name):
    """About C in world axes, against those at link origins in link axes."""
    robot = robot_of(name)
    q, v, a = state(robot)
    S = rc.denoc.to_mass_centers(robot, q)
    found = rc.denoc.joint_wrenches(robot, q, v, a)
    close(S.T @ found.ravel(), robot.reaction_wrenches(q, v, a).ravel(), 1e-11)
    push = np.random.default_rng(2).normal(size=(robot.nlinks, 6))
    N_d = rc.denoc.natural_orthogonal_complement(robot, q).N_d
    torque = N_d.T @ rc.denoc.joint_wrenches(robot, q, v, a, wrenches=push).ravel() + rotors(robot) @ a
    close(torque, robot.inverse_dynamics(q, v, a, wrenches=push), 1e-11)


# ---- I and C ---------------------------------------------------------------------------------------------------------


@every_robot
def test_inertia_and_convective_matrix_match_the_products(name):
    """(20): I = N^T M N (+ A), C = N^T (M Ndot + Mdot N)."""
    robot = robot_of(name)
    q, v, _ = states(robot, 2)
    N, dN = rc.denoc.natural_orthogonal_complement(robot, q), rc.denoc.natural_orthogonal_complement_rates(robot, q, v)
    M, Mdot = rc.denoc.extended_mass(robot, q), rc.denoc.extended_mass_rate(robot, q, v)
    full, rate = N.N_l @ N.N_d, N.N_l @ dN.N_d + dN.N_l @ N.N_d
    close(rc.denoc.generalized_inertia(robot, q), t(full) @ M @ full + rotors(robot), 1e-12)
    close(rc.denoc.convective_matrix(robot, q, v), t(full) @ (M @ rate + Mdot @ full), 1e-12)


@every_chain
def test_inertia_rate_less_twice_convective_matrix_is_skew(name):
    """With Mdot = diag(~w I, O); with the time derivative of M in its place it is not."""
    robot = robot_of(name)
    q, v, _ = state(robot)
    rate = complex_step(lambda h: robot.mass_matrix(q + h * v))
    C = rc.denoc.convective_matrix(robot, q, v)
    defect = rate - 2.0 * C
    close(defect, -defect.T, 1e-13)
    assert np.abs(C - robot.coriolis_matrix(q, v)).max() > 1e-4 * np.abs(C).max(), "it is not Christoffel's"
    N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    Mdot = rc.denoc.extended_mass_rate(robot, q, v)
    printed = C + (N_l @ N_d).T @ Mdot.T @ (N_l @ N_d)  # Omega M - M Omega = Mdot + Mdot^T
    close(printed @ v, C @ v, 1e-12)
    other = rate - 2.0 * printed
    assert np.abs(other + other.T).max() > 1e-4 * np.abs(C).max()


@pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name not in CHAINS))
def test_inertia_rate_less_twice_convective_matrix_is_skew_for_other_joints(name):
    robot = robot_of(name)
    q, v, _ = state(robot)
    rate = central(lambda h: robot.mass_matrix(robot.integrate(q, h * v)), 1e-3)
    defect = rate - 2.0 * rc.denoc.convective_matrix(robot, q, v)
    close(defect, -defect.T, 1e-8)


# ---- U D U^T is the innovations factorisation ------------------------------------------------------------------------


@every_robot
def test_factors_multiply_to_the_mass_matrix(name):
    robot = robot_of(name)
    q, _, _ = states(robot, 2)
    U, D = rc.denoc.udu(robot, q)
    close(U @ D @ t(U), robot.mass_matrix(q), 1e-12)
    assert np.array_equal(np.tril(U), np.broadcast_to(np.eye(robot.nv), U.shape)), "unit upper triangular"
    assert (np.diagonal(D, axis1=-2, axis2=-1) > 0).all()


@every_chain
def test_factors_are_the_innovations_factorization(name):
    """U = I + H phi K, D = D, Mh = P, psi = G, mh = D_i, U^-1 = I - H psi K, up to the point where links are taken."""
    robot = robot_of(name)
    q, _, _ = state(robot)
    U, D = rc.denoc.udu(robot, q)
    innovations, e = robot.factorization(q), rc.denoc.expressions(robot)
    close(U, innovations.factor, 1e-12)
    close(U, rc.dense(e.U, q), 1e-12)
    close(D, innovations.D, 1e-12)
    close(D, rc.dense(e.D, q), 1e-12)
    close(np.linalg.inv(U), innovations.inverse_factor, 1e-11)
    S, found = rc.denoc.to_mass_centers(robot, q), rc.denoc.articulated(robot, q)
    for k in range(robot.nbodies):
        Sk = block(S, k, k)
        close(Sk.T @ found.masses[k] @ Sk, innovations.P[k], 1e-12)
        close(Sk.T @ found.psi[:, k], innovations.G[:, k], 1e-11)
    close(np.diag(found.pivots), D, 1e-15)


@every_robot
def test_joints_of_several_freedoms_split_the_blocks_of_the_innovations(name):
    """factor = U inv(blocks of U), D_k = U_kk D_kk U_kk^T."""
    robot = robot_of(name)
    q, _, _ = state(robot)
    U, D = rc.denoc.udu(robot, q)
    joints = np.repeat(np.arange(robot.nbodies), [joint.kind.nv for joint in robot.model.joints])
    own = U * (joints[:, None] == joints)
    innovations = robot.factorization(q)
    close(innovations.D, own @ D @ own.T, 1e-11)
    close(innovations.factor @ own, U, 1e-11)


@every_robot
def test_elimination_of_the_matrix_matches_the_recursion(name):
    robot = robot_of(name)
    q, _, _ = states(robot, 2)
    U, D, steps = rc.denoc.reverse_gaussian_elimination(robot.mass_matrix(q))
    expected = rc.denoc.udu(robot, q)
    close(U, expected.U, 1e-9)
    close(D, expected.D, 1e-9)
    assert [step.row for step in steps] == list(range(robot.nv - 1, 0, -1))
    close(steps[-1].matrix, D @ t(U), 1e-9)


def test_steps_of_the_elimination_have_the_entries_of_articulated_masses():
    """i_ij^(k) = p_i^T Mh_ik B_ij p_j for j <= i < k, Mh_ik = Mt_i - sum over l >= k of psih_il psi_il^T (46), (49)."""
    robot = rc.robots.chain(6, seed=4, joints="mixed")
    q, _, _ = state(robot)
    N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    M = rc.denoc.extended_mass(robot, q)
    composite = N_l.T @ M @ N_l
    _, pivots, psi = rc.denoc.articulated(robot, q)
    p = [N_d[6 * i : 6 * i + 6, i] for i in range(6)]
    for k, pivot, multipliers, matrix in rc.denoc.reverse_gaussian_elimination(robot.mass_matrix(q)).steps:
        assert pivot == pytest.approx(pivots[k], rel=1e-11)
        for i in range(k):
            moved = [block(N_l, m, i).T @ psi[:, m] for m in range(6)]  # psi_il = B_li^T psi_l
            assert multipliers[i] == pytest.approx(p[i] @ moved[k], abs=1e-11)
            left = block(composite, i, i) - sum(pivots[m] * np.outer(moved[m], moved[m]) for m in range(k, 6))
            for j in range(i + 1):
                assert matrix[i, j] == pytest.approx(p[i] @ left @ block(N_l, i, j) @ p[j], abs=1e-10)
