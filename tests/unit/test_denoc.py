"""DeNOC as people call it: batches, arrays of the caller, kernels, counts, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, same_bits, states, tied_gripper
from questions import interpreted
from recursa.denoc import inertia_and_convection
from recursa.dynamics.gathering import vector_of
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.kernels.dispatch import KernelStore
from recursa.loading import trusted
from recursa.model.may_move import MayMove
from recursa.quantities.quantity import Recipe
from recursa.robots import random_description
from zoo import small_mixed_tree


def answers(robot: rc.Robot):
    """What takes ``out`` and ``threads``."""
    d = rc.denoc
    return {
        "inverse_dynamics": lambda q, v, a, **k: robot.inverse_dynamics(q, v, a, losses=True, method="denoc", **k),
        "forward_dynamics": lambda q, v, a, **k: robot.forward_dynamics(q, v, a, method="denoc", **k),
        "twists": lambda q, v, a, **k: d.twists(robot, q, v, **k),
        "twist_rates": lambda q, v, a, **k: d.twist_rates(robot, q, v, a, **k),
        "joint_wrenches": lambda q, v, a, **k: d.joint_wrenches(robot, q, v, a, **k),
        "generalized_inertia": lambda q, v, a, **k: d.generalized_inertia(robot, q, **k),
        "convective_matrix": lambda q, v, a, **k: d.convective_matrix(robot, q, v, **k),
        "generalized_forces": lambda q, v, a, **k: d.generalized_forces(robot, q, **k),
    }


def tuples(robot: rc.Robot):
    """What gives several arrays."""
    d = rc.denoc
    return {
        "complement": lambda q, v, a: d.natural_orthogonal_complement(robot, q),
        "rates": lambda q, v, a: d.natural_orthogonal_complement_rates(robot, q, v),
        "masses": lambda q, v, a: (d.extended_mass(robot, q), d.extended_mass_rate(robot, q, v)),
        "centers": lambda q, v, a: (d.to_mass_centers(robot, q),),
        "articulated": lambda q, v, a: d.articulated(robot, q),
        "udu": lambda q, v, a: d.udu(robot, q),
        "elimination": lambda q, v, a: d.reverse_gaussian_elimination(robot.mass_matrix(q))[:2],
    }


@pytest.mark.parametrize("name", answers(small_mixed_tree()))
def test_batches_threads_and_arrays_of_the_caller(name):
    robot = small_mixed_tree()
    ask = answers(robot)[name]
    state = states(robot, 6)
    expected = ask(*state)
    close(ask(*(x[4] for x in state)), expected[4], 1e-13)
    square = [x.reshape(2, 3, -1) for x in state]
    out = np.empty((2, 3, *expected.shape[1:]))
    assert ask(*square, out=out, threads=2) is out
    close(out.reshape(expected.shape), expected, 1e-13)
    with pytest.raises(rc.ShapeError, match="out has shape"):
        ask(*state, out=np.empty(2))


@pytest.mark.parametrize("name", tuples(small_mixed_tree()))
def test_batches_of_several_arrays(name):
    robot = small_mixed_tree()
    ask = tuples(robot)[name]
    state = states(robot, 6)
    expected = ask(*state)
    for whole, one in zip(expected, ask(*(x[4] for x in state)), strict=True):
        close(one, whole[4], 1e-12)
    for whole, cut in zip(expected, ask(*(x.reshape(2, 3, -1) for x in state)), strict=True):
        close(cut.reshape(whole.shape), whole, 1e-13)


@pytest.mark.compiled
@pytest.mark.parametrize("name", [*answers(small_mixed_tree()), *tuples(small_mixed_tree())])
def test_kernels_match_interpreted_plans(name):
    robot = small_mixed_tree()
    state = states(robot, 5)
    if name in (several := tuples(robot)):
        pairs = zip(several[name](*state), interpreted(several[name], *state), strict=True)
    else:
        ask = answers(robot)[name]
        pairs = [(ask(*state), interpreted(ask, *state))]
        for one in range(3):  # the third goes straight into native code where there is an entry
            single = ask(*(x[one] for x in state))
            close(single, pairs[0][0][one], 1e-13)
    for ours, theirs in pairs:
        close(ours, theirs, 1e-11)


def test_products_with_a_vector_match_the_matrices():
    """What large robots get their matrices from, column by column."""
    robot = small_mixed_tree()
    q, v, x = states(robot, 3)
    for plan, matrix, more in (
        (inertia_and_convection.INERTIA_TIMES, rc.denoc.generalized_inertia(robot, q), {}),
        (inertia_and_convection.CONVECTIVE_TIMES, rc.denoc.convective_matrix(robot, q, v), {"v": v}),
    ):
        recipe = Recipe(plan, vector_of(robot.model, "T"), (robot.nv,))
        given = {"q": q, "a": x} | more
        sizes = {name: rows.shape[1] for name, rows in given.items()}
        product = ResolvedQuantity("product", recipe, KernelStore(robot.model, MayMove.FRAMES), sizes).answer(given)
        close(product, np.einsum("bij,bj->bi", matrix, x), 1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_large_robots_get_their_matrices_column_by_column():
    robot = rc.robots.chain(60, seed=2, joints="mixed")
    q, v, _ = states(robot, 2)
    close(rc.denoc.generalized_inertia(robot, q), robot.mass_matrix(q), 1e-11)
    ask = answers(robot)["convective_matrix"]
    close(ask(q, v, None), interpreted(ask, q, v, None), 1e-11)


def test_nothing_is_shared_with_the_caller():
    robot = rc.robots.stanford()
    q, _ = robot.random_state(1)
    matrix = robot.mass_matrix(q)
    before = matrix.copy()
    rc.denoc.reverse_gaussian_elimination(matrix)
    same_bits(matrix, before)


def test_counts_grow_by_the_same_amount_with_every_link():
    """O(n), and at six general revolute joints fewer operations than the paper's 676 and 527."""
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        counts = [rc.count(rc.robots.chain(n, seed=3), quantity, method="denoc") for n in (5, 6, 7)]
        assert counts[2].mul - counts[1].mul == counts[1].mul - counts[0].mul > 0
        assert counts[2].add - counts[1].add == counts[1].add - counts[0].add > 0
    six = rc.count(rc.robots.chain(6, seed=3), "inverse_dynamics", method="denoc")
    assert six.mul < 676
    assert six.add < 527


def test_robots_without_freedoms():
    b = rc.Builder("block")
    b.link("stone", mass=1.0, inertia=(1, 1, 1)).joint("weld", "fixed", parent="world", child="stone")
    robot = b.build()
    none = np.zeros(0)
    assert robot.inverse_dynamics(none, none, none, method="denoc").shape == (0,)
    assert robot.forward_dynamics(none, none, none, method="denoc").shape == (0,)
    assert rc.denoc.natural_orthogonal_complement(robot, none).N_l.shape == (0, 0)
    assert rc.denoc.udu(robot, none).U.shape == (0, 0)
    assert rc.denoc.twists(robot, none, none).shape == (0, 6)


# ---- what it refuses -------------------------------------------------------------------------------------------------


def test_tied_joints_have_no_elimination():
    robot = tied_gripper()
    q, v = robot.random_state(1)
    for ask in (rc.denoc.udu, rc.denoc.articulated):
        with pytest.raises(rc.NoSweepError, match=r'tied joints.*mimic="free"'):
            ask(robot, q)
    with pytest.raises(rc.NoSweepError, match="'denoc' needs independent"):
        robot.forward_dynamics(q, v, v, method="denoc")
    with pytest.raises(rc.NoSweepError, match="tied"):
        rc.denoc.expressions(robot)


def weightless() -> rc.Robot:
    """A link of 0 kg that carries one with mass: it can be moved, but has no mass centre."""
    b = rc.Builder("weightless")
    b.link("bracket").link("bob", mass=1.2, com=(0.1, 0.2, 0.3), inertia=(0.02, 0.03, 0.04))
    b.joint("pan", "revolute", parent="world", child="bracket", axis=(0, 0.6, 0.8), xyz=(0.1, 0, 0))
    b.joint("tilt", "revolute", parent="bracket", child="bob", axis=(1, 0, 0), xyz=(0, 0.2, 0.1))
    return b.build()


def test_links_without_mass_are_taken_at_their_origin():
    robot = weightless()
    q, v, a = states(robot, 2)
    close(robot.inverse_dynamics(q, v, a, method="denoc"), robot.inverse_dynamics(q, v, a), 1e-12)
    close(robot.forward_dynamics(q, v, a, method="denoc"), robot.forward_dynamics(q, v, a), 1e-12)
    parameters = np.concatenate([i.components() for i in robot.model.inertias])
    with pytest.raises(rc.NoSweepError, match="gives link 'bracket' no mass"):
        robot.inverse_dynamics(q, v, a, method="denoc", parameters=parameters)
    with pytest.raises(rc.ShapeError, match="parameters"):
        robot.mass_matrix(q, method="denoc", parameters=parameters[:-1])


def test_masses_that_cancel_are_refused_by_name():
    b = rc.Builder("ghost")
    b.link("plus", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1)).link("minus", mass=-1.0, inertia=(1, 1, 1))
    b.joint("turn", "revolute", parent="world", child="plus").joint("weld", "fixed", parent="plus", child="minus")
    robot = b.build(strict=False)
    for ask in (lambda: robot.mass_matrix([0.1], method="denoc"), lambda: rc.denoc.twists(robot, [0.1], [0.2])):
        with pytest.raises(rc.NoSweepError, match="link 'plus' has none"):
            ask()


def test_a_joint_with_nothing_to_move_is_named():
    b = rc.Builder("idle")
    b.link("arm", mass=1.0, inertia=(1, 1, 1)).link("air")
    b.joint("one", "revolute", parent="world", child="arm").joint("two", "revolute", parent="arm", child="air")
    robot = b.build(strict=False)
    q = np.array([0.1, 0.2])
    for ask in (lambda: rc.denoc.udu(robot, q), lambda: robot.forward_dynamics(q, q, q, method="denoc")):
        with pytest.raises(rc.SingularHingeError, match="joint 'two'"):
            ask()


@pytest.mark.parametrize(
    ("matrix", "error", "says"),
    [
        (np.ones(3), rc.ShapeError, r"shape \(3,\)"),
        (np.ones((2, 3)), rc.ShapeError, r"shape \(2, 3\)"),
        ([[1.0, 2.0], [0.0, 1.0]], rc.RecursaError, "not symmetric, entries differ by 2"),
        ([[np.nan, 0.0], [0.0, 1.0]], rc.RecursaError, "not finite"),
        ([[1.0, 1.0], [1.0, 0.0]], rc.RecursaError, "pivot of row 1 is 0"),
        ([[1.0, 1.0], [1.0, 1.0]], rc.RecursaError, "pivot of row 0 is 0"),
        ("matrix", rc.RecursaError, "not an array of numbers"),
    ],
)
def test_elimination_says_what_is_wrong_with_a_matrix(matrix, error, says):
    with pytest.raises(error, match=says):
        rc.denoc.reverse_gaussian_elimination(matrix)


def test_unknown_methods_propose_it():
    robot = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match="denoc"):
        robot.inverse_dynamics([0, 0], [0, 0], [0, 0], method="denok")


def test_shapes_of_states_are_checked():
    robot = trusted(random_description("arm", [-1, 0], 3, ["revolute"]))
    with pytest.raises(rc.ShapeError):
        rc.denoc.natural_orthogonal_complement(robot, [0.1])
    with pytest.raises(rc.ShapeError):
        rc.denoc.convective_matrix(robot, [0.1, 0.2], [0.1])
