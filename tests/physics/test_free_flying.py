"""Free flyers: the base-invariant forward dynamics against the articulated, and what its messages mean."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import gap, states
from recursa.free import base_invariant
from recursa.kernels.dispatch import Switch
from recursa.loading import trusted
from recursa.robots import random_description
from recursa.sweeps import run
from zoo import floating_tree_with_rotors, large_interpreted

METHOD = "base-invariant"
KINDS = ["free", "revolute", "prismatic", "helical", "spherical", "planar", "continuous"]


def flyer(parents: list[int], seed: int = 4, kinds: list[str] = KINDS) -> rc.Robot:
    return trusted(random_description("flyer", parents, seed, kinds))


FLYERS = {
    "free_flyer": lambda: rc.robots.free_flyer(4),
    "one_body": lambda: flyer([-1]),
    "chain": lambda: flyer(list(range(-1, 9))),
    "star": lambda: flyer([-1, 0, 0, 0, 0, 0]),
    "tree": lambda: flyer([-1, *(i // 3 for i in range(12))], 9),
    "rotors": floating_tree_with_rotors,
}
every_flyer = pytest.mark.parametrize("name", large_interpreted(FLYERS, ("chain", "tree", "rotors")))


@every_flyer
def test_base_invariant_matches_articulated(name):
    robot = FLYERS[name]()
    q, v, tau = states(robot, 3)
    rng = np.random.default_rng(4)
    wrenches = rng.normal(size=(3, robot.nlinks, 6))
    parameters = np.concatenate([i.components() for i in robot.model.inertias]) * rng.uniform(0.9, 1.1, (3, 1))
    for options in ({}, {"wrenches": wrenches}, {"losses": True}, {"parameters": parameters, "wrenches": wrenches}):
        expected, links = robot.forward_dynamics(q, v, tau, links=True, **options)
        found, own_links = robot.forward_dynamics(q, v, tau, links=True, method=METHOD, **options)
        assert gap(found, expected) < 1e-11, options
        assert gap(own_links, links) < 1e-11, options
        assert gap(robot.forward_dynamics(q, v, tau, method=METHOD, **options), expected) < 1e-11


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "form"), [("tree", "straight"), ("chain", "loop"), ("rotors", "straight")])
def test_kernels_match_the_interpreter(name, form, monkeypatch):
    monkeypatch.setattr(Switch, "form", form)
    robot = FLYERS[name]()
    q, v, tau = states(robot, 9)
    found = robot.forward_dynamics(q, v, tau, method=METHOD)
    kernels = [kernel for store in robot.evaluator.stores for _, kernel in store._kernels.values()]
    assert kernels and all(kernel is not None and kernel.form == form for kernel in kernels)
    assert np.array_equal(robot.forward_dynamics(q[4], v[4], tau[4], method=METHOD), found[4])
    Switch.on = False
    assert gap(found, robot.forward_dynamics(q, v, tau, method=METHOD)) < 1e-11


@every_flyer
def test_messages_say_how_either_side_of_a_hinge_answers(name):
    """Lemma 3.1: ``f = P (alpha - a) + y + P a`` from outward, ``-f = S alpha + s`` from the rest."""
    robot = FLYERS[name]()
    q, v, tau = (x[0] for x in states(robot, 1))
    branching = base_invariant.branches(robot.model)
    values = run(base_invariant.base_invariant_plan(branching=branching), robot.model, {"q": q, "v": v, "tau": tau})
    a = robot.forward_dynamics(q, v, tau)
    reactions = robot.reaction_wrenches(q, v, a)
    for k, f in enumerate(reactions):
        here, rest, alpha = values["here"][k], values["rest"][k], values["alpha"][k]
        outward = np.array((here.inertia @ alpha + here.force).components())
        assert gap(outward, f) < 1e-9
        joint = robot.model.joints[k]
        rotors = np.array(joint.armature) * a[joint.v_start : joint.v_start + joint.kind.nv]
        if not rotors.any():  # a rotor hands its torque on from one side to the other
            assert gap(-np.array((rest.inertia @ alpha + rest.force).components()), f) < 1e-9


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9])
def test_light_branches_beside_heavy_ones_keep_their_digits(ratio):
    """Sums over the other branches, never total less own part: S at the heavy branch is that of the light ones."""
    b = rc.Builder("dumbbell")
    for name, mass in (("hub", 1.0), ("heavy", ratio), ("light", 1.0)):
        b.link(name, mass=mass, com=(0.1, 0.02, 0.03), inertia=(0.1 * mass, 0.12 * mass, 0.09 * mass))
    b.joint("base", "free", parent="world", child="hub")
    b.joint("h", "revolute", parent="hub", child="heavy", axis=(0, 0, 1), xyz=(1, 0, 0))
    b.joint("l", "revolute", parent="hub", child="light", axis=(0, 1, 0), xyz=(-1, 0, 0))
    robot = b.build()
    q, v = robot.random_state(1)
    plan = base_invariant.base_invariant_plan(branching=True)
    alone = rc.Builder("without the heavy one")
    for name in ("hub", "light"):
        alone.link(name, mass=1.0, com=(0.1, 0.02, 0.03), inertia=(0.1, 0.12, 0.09))
    alone.joint("base", "free", parent="world", child="hub")
    alone.joint("l", "revolute", parent="hub", child="light", axis=(0, 1, 0), xyz=(-1, 0, 0))
    other = alone.build()
    both = run(plan, robot.model, {"q": q, "v": v, "tau": np.zeros(8)})
    light = run(plan, other.model, {"q": np.delete(q, 7), "v": np.delete(v, 6), "tau": np.zeros(7)})
    step, told = both["X"][1], light["here"][0].inertia
    column = robot.model.joints[1].columns()[0]
    carried = step.inverse.articulated(told)
    u = carried @ column
    expected = carried.minus_dyad(u, u * (1.0 / column.dot(u)))
    assert gap(_matrix(both["rest"][1].inertia), _matrix(expected)) < 1e-14


def _matrix(of) -> np.ndarray:
    units = np.eye(6)
    return np.array([(of @ rc.spatial.Motion.of(row)).components() for row in units])


def test_robots_on_the_ground_are_refused():
    arm = rc.robots.puma560()
    q, v = arm.random_state(1)
    with pytest.raises(rc.RecursaError, match=r"(?s)'puma560' is no free flyer.*'joint1' \(revolute\).*floating=True"):
        arm.forward_dynamics(q, v, v, method=METHOD)


# ---- both sides of every hinge ---------------------------------------------------------------------------------------


@every_flyer
def test_forces_from_both_sides_match_the_reactions(name):
    robot = FLYERS[name]()
    q, v, tau = states(robot, 3)
    hinges = rc.free.dual_quantities(robot, q, v, tau)
    expected = robot.reaction_wrenches(q, v, robot.forward_dynamics(q, v, tau))
    assert gap(hinges.outboard, expected) < 1e-10
    assert gap(hinges.inboard, expected) < 1e-10
    pushes = np.random.default_rng(8).normal(size=(robot.nlinks, 6))
    pushed = rc.free.dual_quantities(robot, q, v, tau, wrenches=pushes, losses=True)
    assert gap(pushed.inboard, pushed.outboard) < 1e-10
    assert gap(pushed.z, hinges.z) > 1e-3


@every_flyer
def test_operational_inertia_is_the_sum_of_both_sides(name):
    robot = FLYERS[name]()
    q, v, tau = states(robot, 2)
    hinges = rc.free.dual_quantities(robot, q, v, tau)
    for k, joint in enumerate(robot.model.joints):
        if not any(robot.model.joints[0].armature):  # else the base is held by its rotors
            assert gap(hinges.inertia[:, k], robot.operational_inertia(q, joint.child)) < 1e-10
    assert gap(hinges.P, robot.factorization(q).P) < 1e-12


def test_what_the_hinge_lets_through_has_no_inertia_along_it():
    """``P+ H* = 0`` and ``S H* = 0`` without rotors, and S is what the hinge leaves of ``S+``."""
    robot = FLYERS["star"]()
    q, v, tau = states(robot, 1)
    hinges = rc.free.dual_quantities(robot, q, v, tau)
    for k, joint in enumerate(robot.model.joints[1:], 1):
        columns = np.array([column.components() for column in joint.columns()]).T
        for through in (hinges.P_plus[0, k], hinges.S[0, k]):
            assert np.abs(through @ columns).max() < 1e-12 * np.abs(hinges.P[0, k]).max()
        D = columns.T @ hinges.S_plus[0, k] @ columns
        G = hinges.S_plus[0, k] @ columns @ np.linalg.inv(D)
        assert gap(hinges.S_plus[0, k] - G @ columns.T @ hinges.S_plus[0, k], hinges.S[0, k]) < 1e-12


def with_weight(robot: rc.Robot) -> rc.Robot:
    """The same where it falls: what is done about gravity matters."""
    return robot.with_gravity((1.0, -2.0, -9.0))


@every_flyer
def test_filter_and_dual_quantities_have_one_convention_of_gravity(name):
    robot = with_weight(FLYERS[name]())
    q, v, tau = states(robot, 3)
    pushes = np.random.default_rng(8).normal(size=(robot.nlinks, 6))
    for options in ({}, {"wrenches": pushes, "losses": True}):
        hinges = rc.free.dual_quantities(robot, q, v, tau, **options)
        filtered = robot.filtering(q, v, tau, **options)
        assert gap(hinges.z, filtered.z) < 1e-10
        assert gap(hinges.outboard, filtered.f) < 1e-10
        assert gap(-(hinges.S @ filtered.alpha[..., None])[..., 0] - hinges.z_s, filtered.f) < 1e-10


@every_flyer
def test_dual_gains_and_innovations_give_accelerations(name):
    """(16), (18) and (26) of Jain & Rodriguez, with armature in D_s."""
    robot = with_weight(FLYERS[name]())
    q, v, tau = states(robot, 2)
    hinges, filtered = rc.free.dual_quantities(robot, q, v, tau), robot.filtering(q, v, tau)
    expected = robot.forward_dynamics(q, v, tau)
    for k, joint in enumerate(robot.model.joints):
        own = slice(joint.v_start, joint.v_start + joint.kind.nv)
        if joint.parent < 0:
            assert not hinges.D_s[..., own, :].any() and not hinges.nu_s[..., own].any()
            continue
        H = np.array([column.components() for column in joint.columns()])
        S_plus, D, G = hinges.S_plus[:, k], hinges.D_s[:, own, own], hinges.G_s[:, :, own]
        assert gap(D, H @ S_plus @ H.T + np.diag(joint.armature)) < 1e-12
        assert gap(G @ D, -S_plus @ H.T) < 1e-10
        assert gap(S_plus + G @ H @ S_plus, hinges.S[:, k]) < 1e-10
        eps, nu = hinges.epsilon_s[:, own], hinges.nu_s[:, own]
        assert gap(eps, tau[:, own] + hinges.z_s_plus[:, k] @ H.T) < 1e-10
        assert gap(hinges.z_s_plus[:, k] + (G @ eps[..., None])[..., 0], hinges.z_s[:, k]) < 1e-10
        assert gap((D @ nu[..., None])[..., 0], eps) < 1e-10
        carried = (np.swapaxes(G, -1, -2) @ filtered.alpha[:, k, :, None])[..., 0]
        assert gap(nu - carried, expected[:, own]) < 1e-10


def test_robots_that_are_held_have_no_dual_quantities():
    arm = rc.robots.planar(2)
    with pytest.raises(rc.NoSweepError, match="dual_quantities"):
        rc.free.dual_quantities(arm, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
