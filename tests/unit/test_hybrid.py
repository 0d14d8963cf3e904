"""Hybrid dynamics against the mass matrix in blocks, and its two limits."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from calling import counted_evaluations
from numeric import close, tied_gripper
from questions import answered
from zoo import ZOO, floating_tree_with_rotors, large_flyer, lossy_arm

ROBOTS = {
    **{name: ZOO[name] for name in ("panda_like", "free_flyer", "chain_mixed", "tree", "mixed_tree")},
    "floating_tree": floating_tree_with_rotors,
    "one_of_each": ZOO["one_of_each"],
    "space_robot": rc.robots.space_robot,
    "large_flyer": large_flyer,
    "chain40": lambda: rc.robots.chain(40, seed=6),
    "lossy_arm": lossy_arm,
    "tied_gripper": tied_gripper,
}


def some(robot, seed):
    """About half of the joints that can be prescribed, and their places in v."""
    rng = np.random.default_rng(seed)
    chosen = [joint for joint in robot.model.joints if joint.independent and rng.random() < 0.5]
    known = np.zeros(robot.nv, bool)
    for joint in chosen:
        known[joint.v_start : joint.v_start + joint.kind.nv] = True
    return tuple(joint.name for joint in chosen), known


def arguments(robot, seed=0):
    rng = np.random.default_rng(seed)
    return (*robot.random_state(seed), *rng.normal(size=(2, robot.nv)))


def in_blocks(robot, known, q, v, a, tau, **options):
    """``M_ff a_f = tau_f - C_f - M_fp a_p``, dense."""
    mass, bias = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros(robot.nv), **options)
    free = ~known
    done = np.where(known, a, 0.0)
    left = tau - bias - mass @ done
    done[free] = np.linalg.solve(mass[np.ix_(free, free)], left[free])
    return done, np.where(known, mass @ done + bias, tau)


@pytest.mark.parametrize("name", ROBOTS)
def test_hybrid_dynamics_match_the_mass_matrix_in_blocks(name):
    robot = ROBOTS[name]()
    q, v, a, tau = arguments(robot, 3)
    prescribed, known = some(robot, 1)
    pushes = np.random.default_rng(5).normal(size=(robot.nlinks, 6))
    for options in ({}, {"losses": True, "wrenches": pushes}):
        expected = in_blocks(robot, known, q, v, a, tau, **options)
        found = robot.hybrid_dynamics(
            q, v, np.where(known, a, np.nan), np.where(known, np.nan, tau), prescribed=prescribed, **options
        )  # what is not read may be anything
        for ours, theirs in zip(found, expected, strict=True):
            close(ours, theirs, 3e-11)
        assert np.array_equal(found.a[known], a[known])
        assert np.array_equal(found.tau[~known], tau[~known])


@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("name", ["mixed_tree", "floating_tree"])
def test_both_forms_of_code_match_the_interpreter(name, form):
    robot, same = ROBOTS[name](), ROBOTS[name]()
    batch = [np.array(rows) for rows in zip(*(arguments(robot, seed) for seed in range(5)), strict=True)]
    prescribed, _ = some(robot, 2)
    with answered("interpreted"):
        expected = same.hybrid_dynamics(*batch, prescribed=prescribed, losses=True)
    with answered(form):
        found = robot.hybrid_dynamics(*batch, prescribed=list(prescribed), losses=True)
    for ours, theirs in zip(found, expected, strict=True):
        close(ours, theirs, 1e-11)


@pytest.mark.parametrize("name", ["panda_like", "mixed_tree", "space_robot"])
def test_none_prescribed_is_forward_and_all_is_inverse_dynamics(name):
    robot = ROBOTS[name]()
    q, v, a, tau = arguments(robot, 4)
    close(robot.hybrid_dynamics(q, v, a, tau, prescribed=()).a, robot.forward_dynamics(q, v, tau), 1e-13)
    every = robot.hybrid_dynamics(q, v, a, tau, prescribed=robot.joint_names, losses=True)
    close(every.tau, robot.inverse_dynamics(q, v, a, losses=True), 1e-12)


def test_a_servoed_free_flyer_matches_its_own_inverse_dynamics():
    robot = rc.robots.space_robot()
    q, v, a, _ = arguments(robot, 2)
    torques, base = rc.free.inverse_dynamics(robot, q, v, a[6:])
    found = robot.hybrid_dynamics(q, v, a, np.zeros(robot.nv), prescribed=robot.joint_names[1:])
    close(found.tau[6:], torques, 1e-11)
    close(found.a[:6], base, 1e-11)


def test_a_joint_without_hinge_inertia_can_be_prescribed():
    builder = rc.Builder("wand").link("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3)).link("empty")
    builder.joint("shoulder", "revolute", parent="world", child="arm")
    robot = builder.joint("spin", "revolute", parent="arm", child="empty", axis=(1, 0, 0)).build(strict=False)
    state = np.array([0.3, 0.4]), np.array([0.5, -0.6]), np.array([0.7, 0.8]), np.array([0.9, 0.2])
    with pytest.raises(rc.SingularHingeError, match="spin"):
        robot.hybrid_dynamics(*state, prescribed=("shoulder",))
    found = robot.hybrid_dynamics(*state, prescribed=("spin",))
    close(robot.inverse_dynamics(*state[:2], found.a), found.tau, 1e-12)


def test_single_calls_go_straight_into_native_code():
    native = pytest.importorskip("recursa._entry", reason="the extension was not built")
    assert native
    robot = rc.robots.planar(3)
    q, v, a, tau = arguments(robot)
    robot.hybrid_dynamics(q, v, a, tau, prescribed=("joint2",))
    with counted_evaluations() as counted:
        robot.hybrid_dynamics(q, v, a, tau, prescribed=("joint2",))
    assert not counted


@pytest.mark.parametrize(
    ("prescribed", "kind", "words"),
    [
        ("joint1", rc.StateError, "takes names of joints"),
        (3, rc.StateError, "takes names of joints"),
        (("joint1", "jiont2"), rc.UnknownNameError, "joint2"),
        (("joint1", ["joint2"]), rc.UnknownNameError, "joint2"),
    ],
)
def test_what_is_no_joint_is_refused(prescribed, kind, words):
    robot = rc.robots.planar(2)
    with pytest.raises(kind, match=words):
        robot.hybrid_dynamics(*arguments(robot), prescribed=prescribed)


def test_a_joint_that_moves_with_another_is_refused():
    robot = tied_gripper()
    tied = next(joint for joint in robot.model.joints if joint.tie is not None)
    with pytest.raises(rc.StateError, match=f"'{tied.name}'.*moves with joint"):
        robot.hybrid_dynamics(*arguments(robot), prescribed=(tied.name,))
