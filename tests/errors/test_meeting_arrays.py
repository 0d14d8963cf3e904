"""Arrays that meet outside kernels: batch axes, types, nan and what is no array, each with a word for it."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc

FLYER = rc.robots.free_flyer(4)
ARM = rc.robots.planar(3)
Q, V = FLYER.random_state(1)
THREE, TWO = np.stack([Q] * 3), np.ones((2, FLYER.nv))
RATES, SIX = np.ones((2, 4)), np.ones((2, 6))
ARMS = np.full((3, 3), 0.3)


def task():
    return rc.operational.model(ARM, "tip", ARMS, np.zeros(3), coordinates=(3, 4))


NO_FIT = {
    "forces": (lambda: FLYER.rebase_forces(THREE, TWO, "link2"), "q (3, 11), tau (2, 10)"),
    "accelerations": (lambda: FLYER.rebase_acceleration(THREE, V, TWO, "link2"), "a (2, 10)"),
    "base velocity": (lambda: rc.free.base_velocity(FLYER, THREE, RATES), "rates (2, 4)"),
    "momentum": (lambda: rc.free.base_velocity(FLYER, THREE, RATES[0], SIX), "momentum (2, 6)"),
    "link velocity": (lambda: rc.free.link_velocity(FLYER, THREE, RATES, "link2"), "rates (2, 4)"),
    "null rates": (lambda: rc.free.reaction_null_rates(FLYER, THREE, RATES), "rates (2, 4)"),
    "base wrench": (
        lambda: rc.free.inverse_dynamics(FLYER, THREE, V, RATES[0], base_wrench=SIX),
        "base_wrench (2, 6)",
    ),
    "three vectors": (lambda: FLYER.diagonal.sensitivity(THREE, left=V, right=V, along=TWO), "along (2, 10)"),
    "left": (lambda: FLYER.diagonal.sensitivity(THREE, left=TWO), "left (2, 10)"),
    "left and along": (lambda: FLYER.diagonal.sensitivity(THREE, left=TWO, along=V), "left (2, 10)"),
    "task": (lambda: task().force(np.ones((2, 2))), "task (3, 2), acceleration (2, 2)"),
    "no links": (lambda: rc.operational.model(ARM, [], ARMS, np.zeros((2, 3))), "v (2, 3)"),
}


@pytest.mark.parametrize("what", NO_FIT)
def test_batch_axes_that_do_not_fit_are_named(what):
    ask, words = NO_FIT[what]
    with pytest.raises(rc.ShapeError, match="the batch axes do not fit together") as caught:
        ask()
    assert words in str(caught.value)


REFUSED = {
    "left": (lambda: FLYER.diagonal.sensitivity(Q, left=V[:3]), "left has shape (3,), expected (..., 10)"),
    "task": (lambda: task().force([1.0, 2.0, 3.0]), "acceleration has shape (3,), expected (..., 2)"),
    "no link": (lambda: rc.operational.model(ARM, 3, ARMS, ARMS), "no link '3'"),
    "matrix": (lambda: rc.compile(ARM.operators.mass).matrix(0.3), "q has shape (), expected (..., 3)"),
    "samples": (lambda: ARM.diagonal.is_flat(2.5), "a whole number of them, not 2.5"),
    "tolerance": (lambda: ARM.diagonal.is_flat(tolerance=np.nan), "tolerance"),
    "rates": (lambda: rc.free.move_joints(FLYER, Q, None, [0.0, 0.1]), "a function of (t, q)"),
    "nan": (lambda: rc.free.move_joints(FLYER, Q, lambda t, q: [np.nan] * 4, [0.0, 0.1]), "at t = 0 s they are"),
    "out of whole numbers": (
        lambda: FLYER.rebase_forces(Q, V, "link2", out=np.empty(10, int)),
        "out must be able to hold float64",
    ),
    "out for reading": (
        lambda: FLYER.rebase_forces(Q, V, "link2", out=np.broadcast_to(0.0, 10)),
        "out must be writeable",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_is_named(what):
    ask, words = REFUSED[what]
    with pytest.raises(rc.RecursaError) as caught:
        ask()
    assert words in str(caught.value)


def test_nan_spoils_its_own_row_of_the_null_projector():
    broken = THREE.copy()
    broken[1, 8] = np.nan
    found = rc.free.reaction_null_projector(FLYER, broken)
    assert np.isnan(found[1]).any()
    assert np.array_equal(found[[0, 2]], rc.free.reaction_null_projector(FLYER, THREE[:2]))


def test_single_precision_stays():
    q, v = Q.astype(np.float32), V.astype(np.float32)
    assert rc.free.reaction_null_projector(FLYER, q).dtype == np.float32
    assert all(x.dtype == np.float32 for x in rc.free.inverse_dynamics(FLYER, q, v, v[6:]))
    assert rc.compile(ARM.operators.mass).matrix(np.zeros(3, np.float32)).dtype == np.float32


def test_motions_with_batch_axes_of_rates_and_momentum():
    momentum = np.array([[0.1, 0, 0, 0, 0, 0.2], [0, 0.3, 0, 0.1, 0, 0]])
    both = rc.free.move_joints(FLYER, Q, lambda t, q: RATES[0], [0.0, 0.1, 0.2], momentum)
    assert both.q.shape == (3, 2, FLYER.nq)
    for row, h in enumerate(momentum):
        alone = rc.free.move_joints(FLYER, Q, lambda t, q: RATES[0], [0.0, 0.1, 0.2], h)
        np.testing.assert_allclose(both.q[:, row], alone.q, rtol=0, atol=1e-14)


def test_matrix_takes_coordinates_by_name():
    f = rc.compile(ARM.operators.mass)
    assert np.array_equal(f.matrix({"joint2": 0.4}), f.matrix([0.0, 0.4, 0.0]))


@pytest.mark.parametrize("method", ["articulated", "three-sweep", "diagonal", "base-invariant"])
def test_parameters_that_leave_a_joint_nothing_to_move_are_named(method):
    sound = np.tile([1.0, 0.1, 0.2, 0.1, 0.5, 0.01, 0.6, 0.02, 0.03, 0.7], (2, FLYER.nbodies))
    sound[1, 40:] = 0.0
    with pytest.raises(rc.SingularHingeError, match=r"(?s)joint 'joint4': hinge inertia D is 0.*in parameters="):
        FLYER.forward_dynamics(Q, V, V, parameters=sound, method=method)
    assert np.isfinite(FLYER.forward_dynamics(Q, V, V, parameters=sound[0], method=method)).all()
