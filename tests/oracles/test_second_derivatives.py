"""Second derivatives of inverse dynamics: against complex steps of the first, a differentiated graph, Pinocchio."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step, graph_values, states, tied_gripper, with_rotors
from questions import interpreted, kernel_used
from recursa.dynamics import gathering, inverse
from recursa.interop import pinocchio as interop
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.graph import Graph
from recursa.methods.second_order import INVERSE_DYNAMICS_SECOND_DERIVATIVES
from recursa.sweeps.engine import run
from zoo import ZOO, floating_tree_with_rotors, large_interpreted

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "panda_with_rotors": lambda: with_rotors(rc.robots.panda_like()),
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "tied_gripper": tied_gripper,
}
SEVERAL_FREEDOMS = ["spherical", "planar", "free", "floating_tree_with_rotors"]


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


def at(robot, count, seed):
    """Random states, and vectors on the torques."""
    rng = np.random.default_rng(seed + 1000)
    return (*states(robot, count, seed=seed), rng.normal(size=(count, robot.nv)))


def swap(matrix):
    return np.swapaxes(matrix, -1, -2)


def stepped(robot, q, v, a, weights):
    """Blocks of the Hessian at one state from complex steps of the analytic first derivatives.

    Entry (j, k) of qq is the derivative along k of the derivative by j.
    """

    def g(q, v, a):
        return np.stack([weights @ x for x in robot.inverse_dynamics_derivatives(q, v, a)])

    units = np.eye(robot.nv)  # all of them at once, as a batch
    by_q, by_v, by_a = (
        swap(complex_step(f))
        for f in (
            lambda t: g(robot.integrate(q, t * units), v, a),
            lambda t: g(q, v + t * units, a),
            lambda t: g(q, v, a + t * units),
        )
    )
    assert not by_a[1:].any() and not by_v[2].any()  # by v and a, by a and a
    close(swap(by_q[1]), by_v[0], 1e-12, "the order of q and v does not matter")
    return rc.SecondDerivatives(by_q[0], by_v[0], by_v[1], by_a[0])


# ---- against complex steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_contraction_matches_complex_steps_of_first_derivatives(name):
    robot = robot_named(name)
    q, v, a, weights = (x[0] for x in at(robot, 1, seed=2))
    ours = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
    theirs = stepped(robot, q, v, a, weights)
    close(ours.qq, (theirs.qq + swap(theirs.qq)) / 2, 1e-12, "qq")
    for what in ("qv", "vv", "qa"):
        close(getattr(ours, what), getattr(theirs, what), 1e-12, what)
    for what in ("qq", "vv"):
        close(getattr(ours, what), swap(getattr(ours, what)), 0.0, f"{what} is symmetric")
    sliding = name in ("prismatic", "translation")  # on each other: the mass matrix is constant
    if robot.nv > 1 and not sliding:
        assert all(block.any() for block in ours)


@pytest.mark.parametrize("name", SEVERAL_FREEDOMS)
def test_qq_is_the_second_order_of_integrate(name):
    """``lambda* tau(integrate(q, t d)) = ... + t^2/2 d* qq d``, and mixed: all from the value of tau alone."""
    robot = robot_named(name)
    q, v, a, weights = (x[0] for x in at(robot, 1, seed=3))
    qq = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights).qq
    one, other = np.random.default_rng(4).normal(size=(2, robot.nv))
    h = 1e-3

    def along(x, y):  # d/dx at x = 0 exactly, of the motion x one + y other
        return complex_step(
            lambda t: weights @ robot.inverse_dynamics(robot.integrate(q, (t + x) * one + y * other), v, a)
        )

    by_both = (8 * (along(0, h) - along(0, -h)) - (along(0, 2 * h) - along(0, -2 * h))) / (12 * h)
    close(one @ qq @ other, by_both, 1e-9)


@pytest.mark.parametrize("name", SEVERAL_FREEDOMS)
def test_derivative_of_the_derivative_differs_by_half_a_bracket(name):
    """As docs/linearization.md says: ``D(k) D(j) = qq(j, k) + g.[e(k), e(j)]/2``, bracket ``ad`` of state_space."""
    robot = robot_named(name)
    q, v, a, weights = (x[0] for x in at(robot, 1, seed=5))
    ours = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
    theirs = stepped(robot, q, v, a, weights)
    slope = weights @ robot.inverse_dynamics_derivatives(q, v, a)[0]
    units = np.eye(robot.nv)
    minus_ad = robot.state_space(q, units, np.zeros(robot.nv)).A[
        :, : robot.nv, : robot.nv
    ]  # [k] takes e(j) to -[e(k), e(j)]
    apart = -0.5 * np.einsum("l,klj->jk", slope, minus_ad)
    assert np.abs(apart).max() > 1e-3
    close(theirs.qq, ours.qq + apart, 1e-12)


# ---- what belongs together -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", large_interpreted(["puma560", "free_flyer", "tree", "tied_gripper", "planar"]))
def test_contraction_is_the_tensor_contracted(name):
    robot = robot_named(name)
    q, v, a, weights = at(robot, 3, seed=6)
    full = robot.inverse_dynamics_second_derivatives(q, v, a)
    contracted = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
    for tensor, matrix in zip(full, contracted, strict=True):
        assert tensor.shape == (3, *[robot.nv] * 3)
        close(np.einsum("si,sijk->sjk", weights, tensor), matrix, 1e-12)


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_direction_is_hessian_times_direction(name):
    robot = robot_named(name)
    q, v, a, weights = at(robot, 2, seed=7)
    way = np.random.default_rng(8).normal(size=(3, 2, robot.nv))
    qq, qv, vv, qa = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
    dq, dv, da = (x[..., None] for x in way)
    expected = qq @ dq + qv @ dv + qa @ da, swap(qv) @ dq + vv @ dv, swap(qa) @ dq
    ours = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights, direction=way)
    for one, other, what in zip(ours, expected, ours._fields, strict=True):
        close(one, other[..., 0], 1e-12, what)


def test_direction_of_the_matrices_is_how_they_change():
    robot = robot_named("puma560")  # single freedoms: no difference between the two derivatives by q
    q, v, a, _ = at(robot, 3, seed=9)
    dq, dv, da = way = np.random.default_rng(10).normal(size=(3, robot.nv))
    ours = robot.inverse_dynamics_second_derivatives(q, v, a, direction=way)
    ask = robot.inverse_dynamics_derivatives
    theirs = complex_step(lambda t: np.stack(ask(q + t * dq, v + t * dv, a + t * da)))
    out = np.empty((3, 3, 6, 6))
    given = robot.inverse_dynamics_second_derivatives(q, v, a, direction=way, out=out)
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        close(one, other, 1e-12)
        close(out[:, k], one, 0.0)
        assert np.shares_memory(given[k], out)


def test_qa_is_the_derivative_of_the_mass_matrix():
    robot = robot_named("panda_with_rotors")
    q, v, a, _ = at(robot, 2, seed=11)
    by_q = [complex_step(lambda t, e=e: robot.mass_matrix(q + t * e)) for e in np.eye(7)]
    close(robot.inverse_dynamics_second_derivatives(q, v, a).qa, np.stack(by_q, axis=-2), 1e-12)


def test_vv_is_the_coriolis_matrix_without_speeds():
    """``tau`` is quadratic in v: ``v* vv v = 2 lambda* (C v)``."""
    robot = robot_named("tree")
    q, v, a, weights = (x[0] for x in at(robot, 1, seed=12))
    vv = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights).vv
    close(v @ vv @ v, 2 * weights @ robot.coriolis_matrix(q, v) @ v, 1e-12)


# ---- against inverse dynamics, traced and differentiated -------------------------------------------------------------


@pytest.mark.parametrize("name", ["puma560", "helical", "planar_arm"])
def test_differentiated_graph_agrees(name):
    """Reverse then forward differentiation of ``lambda* tau`` itself, knowing nothing of bodies."""
    robot = robot_named(name)
    model, n = robot.model, robot.nv
    graph = Graph()
    q, v, a, weights = [graph.inputs(one, n) for one in ("q", "v", "a", "w")]
    values = run(inverse.inverse_plan(), model, {"q": q, "v": v, "a": a})
    torques = gathering.joint_vector(model, values["T"])
    slope = gradient(sum((w * t for w, t in zip(weights, torques, strict=True)), 0.0), [*q, *v, *a])
    by_q = [tangent(slope, {one: 1.0}) for one in q]
    by_v = [tangent(slope[n : 2 * n], {one: 1.0}) for one in v]
    state = [x[0] for x in at(robot, 1, seed=13)]
    outputs = [x for row in (*by_q, *by_v) for x in row]
    numbers = graph_values(graph, outputs, dict(zip(("q", "v", "a", "w"), state, strict=True)))
    first, second = np.split(numbers, [3 * n * n])
    first = first.reshape(n, 3, n)
    ours = robot.inverse_dynamics_second_derivatives(*state[:3], contract=state[3])
    theirs = first[:, 0], first[:, 1], second.reshape(n, n), first[:, 2]
    for one, other in zip(ours, theirs, strict=True):
        close(one, other, 1e-12)


# ---- against Pinocchio -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", large_interpreted(["puma560", "stanford", "tree", "free_flyer", "floating_tree_with_rotors"])
)
def test_differences_of_pinocchios_first_derivatives_agree(name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    model = interop.build(robot)
    data = model.createData()
    order = interop.velocity_order(robot, model)
    back = np.argsort(order)
    q, v, a, weights = (x[0] for x in at(robot, 1, seed=14))
    pq = interop.configuration(robot, model, q)
    pv, pa = (interop.velocity(robot, model, x) for x in (v, a))

    def g(pq, pv):
        by_q, by_v, by_a = (np.array(x) for x in pin.computeRNEADerivatives(model, data, pq, pv, pa))
        by_a = np.triu(by_a) + np.triu(by_a, 1).T
        return np.stack([weights @ x[np.ix_(back, back)] for x in (by_q, by_v, by_a)])

    def central(f, h=2e-3):  # of order h^6
        return sum(c * (f(k * h) - f(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)

    units = np.eye(robot.nv)[back]  # of our freedom k in their order
    by_q = np.stack([central(lambda t, e=e: g(pin.integrate(model, pq, t * e), pv)) for e in units], axis=-1)
    by_v = np.stack([central(lambda t, e=e: g(pq, pv + t * e)) for e in units], axis=-1)
    ours = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
    close(ours.qq, (by_q[0] + by_q[0].T) / 2, 1e-9, "qq")
    close(ours.qv, by_v[0], 1e-9, "qv")
    close(ours.vv, by_v[1], 1e-9, "vv")
    close(ours.qa, by_q[2].T, 1e-9, "qa")


# ---- how it is computed ----------------------------------------------------------------------------------------------

ASKED = {
    "contracted": lambda robot, q, v, a, w, **more: robot.inverse_dynamics_second_derivatives(
        q, v, a, contract=w, **more
    ),
    "full": lambda robot, q, v, a, w, **more: robot.inverse_dynamics_second_derivatives(q, v, a, **more),
    "direction": lambda robot, q, v, a, w, **more: robot.inverse_dynamics_second_derivatives(
        q, v, a, contract=w, direction=(v, a, w), **more
    ),
}
SHAPES = {"contracted": (4, 6, 6), "full": (4, 6, 6, 6), "direction": (3, 6)}


@pytest.mark.compiled
@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("name", ["puma560", "free_flyer", "tied_gripper"])
def test_compiled_is_interpreted_and_batches_are_single_states(name, what):
    robot, ask = robot_named(name), ASKED[what]
    q, v, a, w = at(robot, 11, seed=15)
    compiled = ask(robot, q, v, a, w)
    plain = interpreted(lambda *state: ask(robot, *state), q, v, a, w)
    single = ask(robot, q[4], v[4], a[4], w[4])
    again = ask(robot, q[4], v[4], a[4], w[4])
    for ours, theirs, one, other in zip(compiled, plain, single, again, strict=True):
        close(ours, theirs, 1e-10)
        close(one, ours[4], 1e-12)
        close(one, other, 0.0)
    spread = ask(robot, q[:, None], v[None], a[3], w[2])
    assert spread[0].shape[:2] == (11, 11)
    close(spread[0][4, 5], ask(robot, q[4], v[5], a[3], w[2])[0], 1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("what", ASKED)
def test_out_threads_and_float32(what):
    robot, ask = robot_named("puma560"), ASKED[what]
    q, v, a, w = at(robot, 5, seed=16)
    fresh = ask(robot, q, v, a, w)
    out = np.full((5, *SHAPES[what]), np.nan)
    for k, (given, other) in enumerate(zip(ask(robot, q, v, a, w, out=out, threads=2), fresh, strict=True)):
        assert np.shares_memory(given, out)
        close(out[:, k], other, 0.0)
        close(given, other, 0.0)
    for ours, theirs in zip(ask(robot, *(x.astype(np.float32) for x in (q, v, a, w))), fresh, strict=True):
        assert ours.dtype == np.float32
        close(ours, theirs, 2e-4)


@pytest.mark.compiled
def test_large_robots_have_one_kernel():
    robot = rc.robots.chain(70, seed=1)
    q, v, a, w = at(robot, 2, seed=17)
    ours = robot.inverse_dynamics_second_derivatives(q, v, a, contract=w)
    theirs = interpreted(lambda *x: robot.inverse_dynamics_second_derivatives(*x, contract=w), q, v, a)
    for one, other in zip(ours, theirs, strict=True):
        close(one, other, 1e-10)
    assert kernel_used(robot, INVERSE_DYNAMICS_SECOND_DERIVATIVES, "contract").form == "loop"


@pytest.mark.compiled
@pytest.mark.parametrize(
    "make",
    [
        lambda: rc.robots.chain(13, seed=1, joints="mixed"),
        pytest.param(lambda: rc.robots.tree(28), marks=pytest.mark.slow),
    ],
)
def test_middling_robots_have_one_kernel(make):
    robot = make()
    q, v, a, w = at(robot, 6, seed=20)
    ask = robot.inverse_dynamics_second_derivatives
    ours = ask(q, v, a, contract=w)
    assert kernel_used(robot, INVERSE_DYNAMICS_SECOND_DERIVATIVES, "contract").form == "loop"
    for one, other in zip(ours, interpreted(lambda *x: ask(*x, contract=w), q, v, a), strict=True):
        close(one, other, 1e-11)
    out = np.empty((6, 4, robot.nv, robot.nv))
    single = ask(q[2], v[2], a[2], contract=w[2], out=out[2])
    close(single[0], ours[0][2], 0.0)
    with pytest.raises(rc.ShapeError, match="contract has shape"):
        ask(q, v, a, contract=w[:, 1:])


def test_mistakes_are_named():
    robot = robot_named("panda_like")
    q, v, a, w = (x[0] for x in at(robot, 1, seed=18))
    ask = robot.inverse_dynamics_second_derivatives
    with pytest.raises(rc.ShapeError, match=r"contract has shape \(3,\), expected \(..., 7\)"):
        ask(q, v, a, contract=w[:3])
    with pytest.raises(rc.ShapeError, match=r"v has shape \(6,\), expected \(..., 7\)"):
        ask(q, v[:6], a)
    with pytest.raises(rc.ShapeError, match="a direction is three arrays"):
        ask(q, v, a, contract=w, direction=v)
    with pytest.raises(rc.ShapeError, match=r"dv has shape \(2,\)"):
        ask(q, v, a, direction=(v, v[:2], v))
    with pytest.raises(rc.ShapeError, match="out has shape"):
        ask(q, v, a, contract=w, out=np.empty((3, 7, 7)))
    with pytest.raises(rc.ShapeError, match=r"out has shape \(4, 7, 7\), the result has \(4, 7, 7, 7\)"):
        ask(q, v, a, out=np.empty((4, 7, 7)))
    with pytest.raises(rc.ShapeError, match=r"out has shape \(7, 4, 7, 7\), the result has \(4, 7, 7, 7\)"):
        ask(q, v, a, out=np.empty((7, 4, 7, 7)))
    with pytest.raises(rc.ShapeError, match="the batch axes do not fit together"):
        ask(np.tile(q, (2, 1)), np.tile(v, (3, 1)), a)
    with pytest.raises(rc.ShapeError, match="threads"):
        ask(q, v, a, contract=w, threads=0)


def test_robot_without_joints():
    robot = rc.load('<robot name="rock"><link name="a"/></robot>')
    assert [x.shape for x in robot.inverse_dynamics_second_derivatives([], [], [])] == [(0, 0, 0)] * 4
    assert [x.shape for x in robot.inverse_dynamics_second_derivatives([], [], [], contract=[])] == [(0, 0)] * 4
    way = robot.inverse_dynamics_second_derivatives([], [], [], contract=[], direction=([], [], []))
    assert [x.shape for x in way] == [(0,)] * 3
