"""Derivatives of the dynamics against complex steps, Pinocchio, finite differences and each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import central, close, complex_step, skew, states, stepped, tied_gripper, with_rotors
from questions import interpreted, kernel_used
from recursa.interop import pinocchio as interop
from recursa.loading import trusted
from recursa.methods.first_order import FORWARD_DYNAMICS_DERIVATIVES, INVERSE_DYNAMICS_DERIVATIVES
from recursa.model.may_move import MayMove
from recursa.robots import random_description
from zoo import ZOO, floating_tree_with_rotors, large_interpreted

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "panda_with_rotors": lambda: with_rotors(rc.robots.panda_like()),
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "tied_gripper": tied_gripper,
}
INVERTIBLE = [name for name in ROBOTS if name != "floating_tree"]  # whose base has nothing to move
NAMES = ("by q", "by v", "by a")


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


# ---- against complex steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_inverse_dynamics_match_complex_steps(name):
    robot = robot_named(name)
    q, v, a = states(robot, 3, seed=2)
    ours = robot.inverse_dynamics_derivatives(q, v, a)
    for one, other, what in zip(ours, stepped(robot.inverse_dynamics, robot, q, v, a), NAMES, strict=True):
        close(one, other, 1e-12, what)


@pytest.mark.parametrize("name", large_interpreted(INVERTIBLE))
def test_forward_dynamics_match_complex_steps(name):
    robot = robot_named(name)
    q, v, tau = states(robot, 2, seed=3)
    ours = robot.forward_dynamics_derivatives(q, v, tau)
    mass = robot.mass_matrix(q)
    tolerance = max(1e-11, 1e-15 * float(np.linalg.cond(mass).max()))
    for one, other, what in zip(ours, stepped(robot.forward_dynamics, robot, q, v, tau), NAMES, strict=True):
        close(one, other, tolerance, what)


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_tangent_is_matrices_times_direction(name):
    robot = robot_named(name)
    q, v, a = states(robot, 5, seed=4)
    dq, dv, da = np.random.default_rng(5).normal(size=(3, 5, robot.nv))
    change = robot.linearize(q, v, a, direction=(dq, dv, da))
    model = robot.linearize(q, v, a)
    parts = ((model.stiffness, dq), (model.damping, dv), (model.mass, da))
    close(change, sum((matrix @ x[..., None])[..., 0] for matrix, x in parts), 1e-12)
    stepped_change = complex_step(lambda t: robot.inverse_dynamics(robot.integrate(q, t * dq), v + t * dv, a + t * da))
    close(change, stepped_change, 1e-12)
    close(model.mass, robot.mass_matrix(q), 1e-12)


# ---- Algorithm 7.1 ---------------------------------------------------------------------------------------------------

CLASSIC = ["pendulum", "stanford", "puma560", "panda_with_rotors", "tree", "revolute", "prismatic", "tied_gripper"]


def sliding_tree() -> rc.Robot:
    """A tree of joints that turn and slide, every position taken by both."""
    kinds = ("revolute", "prismatic", "prismatic", "continuous")
    return trusted(random_description("sliding_tree", [-1, 0, 1, 1, 3, 0, 5, 6, -1, 8], 13, kinds))


@pytest.mark.compiled
@pytest.mark.parametrize("name", [*CLASSIC, "sliding_tree"])
def test_algorithm_7_1_makes_the_same_matrices(name):
    robot = sliding_tree() if name == "sliding_tree" else robot_named(name)
    q, v, a = states(robot, 4, seed=13)
    theirs = robot.linearize(q, v, a)
    for ours in (
        robot.linearize(q, v, a, method="balafoutis-patel"),
        interpreted(lambda *state: robot.linearize(*state, method="balafoutis-patel"), q, v, a),
    ):
        for one, other, what in zip(ours, theirs, ("P", "V", "D"), strict=True):
            close(one, other, 1e-12, what)


def test_algorithm_7_1_names_what_it_cannot_do():
    robot = robot_named("free_flyer")
    q, v = robot.random_state(0)
    with pytest.raises(rc.NoSweepError, match="joint 'root' is free"):
        robot.linearize(q, v, v, method="balafoutis-patel")
    with pytest.raises(rc.UnknownNameError, match="method of linearization"):
        robot.linearize(q, v, v, method="patel")
    with pytest.raises(rc.ShapeError, match="three arrays"):
        robot.linearize(q, v, v, direction=v)


def fixture_arm() -> rc.Robot:
    """The RRR arm whose numbers were computed apart, by vector Newton-Euler and complex steps."""
    alpha, a, d, theta = (0.3, -1.1, 0.7), (0.0, 0.4, 0.25), (0.5, 0.1, -0.2), (0.0, 0.0, 0.0)
    com = ((0.1, -0.05, 0.2), (0.15, 0.02, -0.03), (-0.04, 0.06, 0.12))
    inertia = (
        (0.05, 0.06, 0.04, 0.004, -0.003, 0.002),
        (0.03, 0.025, 0.02, -0.002, 0.001, 0.003),
        (0.012, 0.01, 0.009, 0.001, -0.0005, 0.0008),
    )
    table = [
        rc.DHLink(
            joint="revolute", a=a[i], alpha=alpha[i], d=d[i], theta=theta[i], mass=3.0 - i, com=com[i],
            inertia=inertia[i],
        )
        for i in range(3)
    ]  # fmt: skip
    return rc.from_dh(table, convention="modified")


@pytest.mark.parametrize("method", ["spatial", "balafoutis-patel"])
def test_numbers_computed_apart(method):
    state = (0.4, -0.7, 1.2), (0.9, -1.3, 0.5), (-0.6, 1.1, 2.0)
    P, V, D = fixture_arm().linearize(*state, method=method)
    mass = [[0.987035731669, 0.110331459512, -0.029545850492], [0, 0.109865255511, -0.003518012814], [0, 0, 0.0142]]
    close(D, np.triu(mass) + np.triu(mass, 1).T, 1e-11)
    close(
        V,
        [
            [-3.572844284956e-01, 7.382442967459e-02, -1.380648777853e-02],
            [-2.383754841487e-01, 1.728320912454e-04, 2.779943869607e-04],
            [2.333571250538e-02, -1.532723594519e-03, 0],
        ],
        1e-11,
    )
    close(
        P,
        [
            [-1.866197747126, 0.709587374638, -0.012428555896],
            [0.448192321308, -2.128285574769, 0.19383154547],
            [0.010953920434, 0.195289961648, 0.358566732473],
        ],
        1e-11,
    )


def closed_form(robot, q, v, a):
    """P, V, D of a chain of revolute joints by (7.3.2)-(7.3.4), in world axes, from poses and motions alone."""
    n, bodies = robot.nv, robot.model.joints
    poses = {link.body: robot.pose(q, link.name) for link in robot.model.links if link.name in child_names(robot)}
    z, o, c, inertia, w, wd, vel, acc = [], [], [], [], [], [], [], []
    links = [robot.link_names.index(joint.child) for joint in bodies]
    speeds = robot.velocities(q, v, "mixed")[links]
    rises = robot.accelerations(q, v, a, "mixed", "classical")[links]
    for k, joint in enumerate(bodies):
        pose, body = poses[k], robot.model.inertias[k]
        turn = pose[:3, :3]
        z.append(turn @ np.array(joint.hinge.axis))
        o.append(pose[:3, 3])
        c.append(turn @ np.array(body.com()))
        about = np.array([list(row) for row in body.moment_about_com().rows()])
        inertia.append(turn @ about @ turn.T)
        w.append(speeds[k, :3]), vel.append(speeds[k, 3:]), wd.append(rises[k, :3])
        acc.append(rises[k, 3:] - np.array(robot.gravity))
    mass = [body.mass for body in robot.model.inertias]
    spin = [skew(wd[k]) + skew(w[k]) @ skew(w[k]) for k in range(n)]
    r = lambda i, k: o[k] + c[k] - o[i]  # noqa: E731
    rd = lambda i, k: vel[k] + np.cross(w[k], c[k]) - vel[i]  # noqa: E731
    rdd = lambda i, k: acc[k] + spin[k] @ c[k] - acc[i]  # noqa: E731
    out = [range(i, n) for i in range(n)]
    U, Ud, Udd = ([sum(mass[k] * f(i, k) for k in out[i]) for i in range(n)] for f in (r, rd, rdd))
    E = [sum(inertia[k] - mass[k] * skew(r(i, k)) @ skew(r(i, k)) for k in out[i]) for i in range(n)]
    euler = [0.5 * np.trace(x) * np.eye(3) - x for x in inertia]
    L = [sum(skew(w[k]) @ euler[k] + mass[k] * skew(r(i, k)) @ skew(rd(i, k)) for k in out[i]) for i in range(n)]
    eta = [
        sum(
            inertia[k] @ wd[k] + np.cross(w[k], inertia[k] @ w[k])
            + np.cross(r(i, k), mass[k] * (acc[k] + spin[k] @ c[k]))
            for k in out[i]
        )
        for i in range(n)
    ]  # fmt: skip
    P, V, D = np.zeros((3, n, n))
    for i in range(n):
        for j in range(n):
            zd, zdd = np.cross(w[j], z[j]), spin[j] @ z[j]
            if j <= i:
                first = E[i] - skew(U[i]) @ skew(o[i] - o[j])
                second = L[i] + skew(U[i]) @ skew(vel[i] - vel[j])
                third = skew(U[i]) @ skew(acc[j])
            else:
                first = E[j] - skew(o[j] - o[i]) @ skew(U[j])
                second = L[j] + skew(o[j] - o[i]) @ skew(Ud[j])
                third = skew(U[j]) @ skew(acc[j]) - skew(o[j] - o[i]) @ skew(Udd[j]) - skew(eta[j])
            D[i, j] = z[i] @ first @ z[j]
            V[i, j] = 2 * z[i] @ first @ zd - 2 * z[i] @ second @ z[j]
            P[i, j] = z[i] @ first @ zdd - 2 * z[i] @ second @ zd + z[i] @ third @ z[j]
    return P, V, D


def child_names(robot):
    return [joint.child for joint in robot.model.joints]


@pytest.mark.parametrize("name", ["panda_like", "planar_arm", "revolute"])  # origins on the axes
def test_closed_form(name):
    robot = robot_named(name)
    q, v, a = (x[0] for x in states(robot, 1, seed=14))
    for ours, theirs, what in zip(robot.linearize(q, v, a), closed_form(robot, q, v, a), "PVD", strict=True):
        close(ours, theirs, 1e-12, what)


def test_structure_that_the_book_states():
    robot = robot_named("puma560")  # its first axis is vertical
    q, v, a = states(robot, 3, seed=15)
    P, V, D = robot.linearize(q, v, a, method="balafoutis-patel")
    close(V[:, -1, -1], np.zeros(3), 1e-13)  # (7.3.5)
    close(P[:, :, 0], np.zeros((3, 6)), 1e-13)  # (7.3.9), (7.3.10)
    assert (np.linalg.eigvalsh(D) > 0).all()


# ---- against Pinocchio -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", large_interpreted(name for name in INVERTIBLE if name != "tied_gripper"))
def test_pinocchio_agrees(name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    model = interop.build(robot)
    data = model.createData()
    back = np.argsort(interop.velocity_order(robot, model))
    q, v, x = states(robot, 2, seed=6)
    pq, (pv, px) = interop.configuration(robot, model, q), (interop.velocity(robot, model, y) for y in (v, x))
    inverse, forward = robot.inverse_dynamics_derivatives(q, v, x), robot.forward_dynamics_derivatives(q, v, x)
    tolerance = max(1e-9, 1e-14 * float(np.linalg.cond(robot.mass_matrix(q)).max()))
    for s in range(len(q)):
        theirs = pin.computeRNEADerivatives(model, data, pq[s], pv[s], px[s])
        theirs = [np.array(matrix) for matrix in theirs]
        theirs[2] = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
        for ours, other, what in zip(inverse, theirs, NAMES, strict=True):
            close(ours[s], other[np.ix_(back, back)], 1e-9, what)
        pin.computeABADerivatives(model, data, pq[s], pv[s], px[s])
        inverse_mass = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        for ours, other in zip(forward, (data.ddq_dq, data.ddq_dv, inverse_mass), strict=True):
            close(ours[s], np.array(other)[np.ix_(back, back)], tolerance, "forward")


# ---- state space -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", large_interpreted(["pendulum", "panda_like", "mixed_tree", "one_of_each", "free", "planar", "spherical"])
)
def test_state_space_is_the_flow_of_small_differences(name):
    """Along two neighbouring motions ``difference`` grows as A says: d/dt at t = 0 of the difference at t."""
    robot = robot_named(name)
    q, v, tau = (x[0] for x in states(robot, 1, seed=7))
    A, B = robot.state_space(q, v, tau)
    nv = robot.nv
    assert A.shape == (2 * nv, 2 * nv) and B.shape == (2 * nv, nv)
    close(A[:nv, nv:], np.eye(nv), 0.0)
    assert not B[:nv].any()
    dq, dv = np.random.default_rng(8).normal(size=(2, nv))

    def spread(t):  # rate by which q + e dq, v + e dv leaves q, v
        def apart(e):
            near = robot.integrate(robot.integrate(q, e * dq), t * (v + e * dv))
            return robot.difference(robot.integrate(q, t * v), near)

        return central(apart, 1e-3)

    close(A[:nv, :nv] @ dq + dv, central(spread, 1e-3), 1e-6)
    by_step = central(lambda e: robot.forward_dynamics(robot.integrate(q, e * dq), v + e * dv, tau))
    close(A[nv:, :nv] @ dq + A[nv:, nv:] @ dv, by_step, 1e-7)
    close(B[nv:] @ tau, robot.mass_matrix_inverse(q) @ tau, 1e-11)


def test_pendulum_oscillates_as_it_should():
    A, B = rc.robots.planar(1).state_space([-np.pi / 2], [0.0], [0.0])
    close(np.linalg.eigvals(A).imag.max(), np.sqrt(1.5 * 9.81 / 0.3))
    close(B, [[0.0], [1.0 / 0.015]], 1e-12)


# ---- how it is computed ----------------------------------------------------------------------------------------------


ASKED = {
    "inverse": lambda robot, q, v, x: robot.inverse_dynamics_derivatives(q, v, x),
    "forward": lambda robot, q, v, x: robot.forward_dynamics_derivatives(q, v, x),
    "state_space": lambda robot, q, v, x: robot.state_space(q, v, x),
    "linearize": lambda robot, q, v, x: robot.linearize(q, v, x),
    "tangent": lambda robot, q, v, x: (robot.linearize(q, v, x, direction=(v, x, v)),),
}


@pytest.mark.compiled
@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("name", ["panda_like", "mixed_tree", "free_flyer", "tied_gripper"])
def test_compiled_is_interpreted_and_batches_are_single_states(name, what):
    robot, ask = robot_named(name), ASKED[what]
    q, v, x = states(robot, 11, seed=9)
    compiled = ask(robot, q, v, x)
    plain = interpreted(lambda *state: ask(robot, *state), q, v, x)
    single = ask(robot, q[4], v[4], x[4])
    for ours, theirs, one in zip(compiled, plain, single, strict=True):
        close(ours, theirs, 1e-9)
        close(one, ours[4], 1e-12)
    spread = ask(robot, q[:, None], v[None], x[3])
    assert spread[0].shape[:2] == (11, 11)
    close(spread[0][4, 5], ask(robot, q[4], v[5], x[3])[0], 1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("what", ASKED)
def test_float32(what):
    robot, ask = robot_named("panda_like"), ASKED[what]
    q, v, x = states(robot, 5, seed=10)
    double = ask(robot, q, v, x)
    for ours, theirs in zip(ask(robot, *(y.astype(np.float32) for y in (q, v, x))), double, strict=True):
        assert ours.dtype == np.float32
        close(ours, theirs, 2e-4)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "make",
    [
        lambda: rc.robots.chain(17, seed=3, joints="mixed"),
        pytest.param(lambda: rc.robots.tree(28), marks=pytest.mark.slow),
    ],
)
def test_middling_robots_have_one_kernel(make):
    robot = make()
    q, v, a = states(robot, 6, seed=16)
    ours = robot.inverse_dynamics_derivatives(q, v, a)
    assert kernel_used(robot, INVERSE_DYNAMICS_DERIVATIVES).form == "loop"
    for one, other in zip(ours, interpreted(robot.inverse_dynamics_derivatives, q, v, a), strict=True):
        close(one, other, 1e-11)
    out = np.empty((6, 3, robot.nv, robot.nv))
    single = robot.inverse_dynamics_derivatives(q[2], v[2], a[2], out=out[2])
    close(single[0], ours[0][2], 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("bodies", [9, 12])
def test_forward_derivatives_are_compiled_whole_or_apart(bodies):
    robot = rc.robots.chain(bodies, seed=4)
    q, v, tau = states(robot, 3, seed=17)
    for ask in (robot.forward_dynamics_derivatives, robot.state_space):
        for one, other in zip(ask(q, v, tau), interpreted(ask, q, v, tau), strict=True):
            close(one, other, 1e-8)
    kernels = {plan.name: kernel for plan, kernel in robot.evaluator.store(MayMove.INERTIAS)._kernels.values()}
    assert (kernels["forward_dynamics_derivatives by factors"] is None) == ("inverse_dynamics_derivatives" in kernels)


@pytest.mark.compiled
def test_large_robots_have_one_kernel():
    robot = rc.robots.chain(90, seed=1)
    q, v, a = states(robot, 2, seed=11)
    ours = robot.inverse_dynamics_derivatives(q, v, a)
    for one, other in zip(ours, interpreted(robot.inverse_dynamics_derivatives, q, v, a), strict=True):
        close(one, other, 1e-10)
    assert kernel_used(robot, INVERSE_DYNAMICS_DERIVATIVES).form == "loop"
    forward = robot.forward_dynamics_derivatives(q, v, a)
    assert kernel_used(robot, FORWARD_DYNAMICS_DERIVATIVES).form == "loop"
    at = robot.inverse_dynamics_derivatives(q, v, robot.forward_dynamics(q, v, a))
    close(robot.mass_matrix(q) @ forward[0], -at[0], 1e-8)


@pytest.mark.compiled
def test_out_takes_all_three():
    robot = robot_named("panda_like")
    q, v, x = states(robot, 4, seed=12)
    for ask in (robot.inverse_dynamics_derivatives, robot.forward_dynamics_derivatives):
        out = np.empty((4, 3, 7, 7))
        for k, (given, fresh) in enumerate(zip(ask(q, v, x, out=out), ask(q, v, x), strict=True)):
            assert np.shares_memory(given, out)
            close(out[:, k], fresh, 0.0)


def test_nothing_to_move_is_named():
    b = rc.Builder("idle")
    b.link("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.link("b", mass=0.0)
    b.joint("one", "revolute", parent="world", child="a")
    b.joint("two", "revolute", parent="a", child="b")
    with pytest.warns(rc.ModelWarning):
        robot = b.build(strict=False)
    with pytest.raises(rc.SingularHingeError, match="two"):
        robot.forward_dynamics_derivatives([0.1, 0.2], [0, 0], [0, 0])
    with pytest.raises(rc.ShapeError, match="dv has shape"):
        robot.linearize([0.1, 0.2], [0, 0], [0, 0], direction=([0, 0], [0, 0, 0], [0, 0]))


def test_robot_without_joints():
    robot = rc.load('<robot name="rock"><link name="a"/></robot>')
    assert [x.shape for x in robot.inverse_dynamics_derivatives([], [], [])] == [(0, 0)] * 3
    assert [x.shape for x in robot.forward_dynamics_derivatives([], [], [])] == [(0, 0)] * 3
    assert [x.shape for x in robot.state_space([], [], [])] == [(0, 0)] * 2
    assert robot.linearize([], [], [], direction=([], [], [])).shape == (0,)
