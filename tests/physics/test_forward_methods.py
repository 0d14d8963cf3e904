"""The algorithms of forward dynamics against each other, against known numbers and against the operator equations."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import gap, states, tied_gripper
from recursa.denoc.forward import forward_plan as denoc_plan
from recursa.diagonal import equations_of_motion as diagonal
from recursa.dynamics import four_algorithms
from recursa.dynamics.articulated_bodies import forward_plan
from recursa.kernels.dispatch import Switch
from recursa.sweeps import Direction, run
from zoo import ZOO, floating_tree_with_rotors, known_answer_arm, large_interpreted

pytestmark = pytest.mark.interpreted(reason="every method of every robot; kernels/test_forms.py compares the forms")

SWEEPS = ("articulated", "four-sweep", "four-sweep-links", "three-sweep", "three-sweep-bias", "denoc", "diagonal")
METHODS = (*SWEEPS, "composite")
ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "floating_tree"},  # its base has no mass
    "floating_tree_with_rotors": floating_tree_with_rotors,
}
robot_of = cache(lambda name: ROBOTS[name]())
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))
every_method = pytest.mark.parametrize("method", METHODS)
every_sweep = pytest.mark.parametrize("method", SWEEPS)


def tolerance(robot: rc.Robot, q) -> float:
    """1e-10, or what the condition of the mass matrix leaves."""
    return max(1e-10, 1e-15 * float(np.linalg.cond(robot.mass_matrix(q)).max()))


def pushed(robot: rc.Robot, count: int, seed: int = 3):
    q, v, tau = states(robot, count, seed)
    return q, v, tau, np.random.default_rng(seed).normal(size=(count, robot.nlinks, 6))


# ---- agreement -------------------------------------------------------------------------------------------------------


@every_robot
def test_methods_match_each_other(name):
    robot = robot_of(name)
    count = 1 if name == "chain200" else 3
    q, v, tau, wrenches = pushed(robot, count)
    rng = np.random.default_rng(4)
    parameters = np.concatenate([i.components() for i in robot.model.inertias]) * rng.uniform(0.9, 1.1, (count, 1))
    allowed = tolerance(robot, q)
    for options in ({}, {"wrenches": wrenches}, {"losses": True}, {"parameters": parameters, "wrenches": wrenches}):
        expected = robot.forward_dynamics(q, v, tau, method="composite", **options)
        for method in SWEEPS:
            found = robot.forward_dynamics(q, v, tau, method=method, **options)
            assert gap(found, expected) < allowed, (method, sorted(options))


@every_method
@every_robot
def test_forward_dynamics_matches_inverse_dynamics(name, method):
    robot = robot_of(name)
    q, v, tau, wrenches = pushed(robot, 2, 8)
    a = robot.forward_dynamics(q, v, tau, wrenches=wrenches, method=method)
    assert gap(robot.inverse_dynamics(q, v, a, wrenches=wrenches), tau) < 1e-9


@every_method
@pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name != "chain200"))
def test_link_accelerations_match_those_of_the_joints(name, method):
    robot = robot_of(name)
    q, v, tau, wrenches = pushed(robot, 2, 5)
    a, links = robot.forward_dynamics(q, v, tau, wrenches=wrenches, links=True, method=method)
    assert gap(a, robot.forward_dynamics(q, v, tau, wrenches=wrenches, method=method)) < tolerance(robot, q)
    assert gap(links, robot.accelerations(q, v, a)) < 1e-10
    for link, place in zip(links[0], robot.model.links, strict=True):
        assert place.body >= 0 or np.array_equal(link, np.zeros(6)), "links of the world stand still"


@every_sweep
def test_batches_and_arrays_of_the_caller(method):
    robot = robot_of("mixed_tree")
    q, v, tau, wrenches = pushed(robot, 6)
    expected, expected_links = robot.forward_dynamics(q, v, tau, wrenches=wrenches, links=True, method=method)
    assert expected_links.shape == (6, robot.nlinks, 6)
    square = [x.reshape(2, 3, *x.shape[1:]) for x in (q, v, tau, wrenches)]
    out = np.empty((2, 3, robot.nv))
    a, links = robot.forward_dynamics(*square[:3], wrenches=square[3], links=True, method=method, out=out)
    assert a is out
    assert gap(out.reshape(6, -1), expected) < 1e-13
    assert gap(links.reshape(6, -1, 6), expected_links) < 1e-13
    one = robot.forward_dynamics(q[2], v[2], tau[2], wrenches=wrenches[2], method=method)
    assert gap(one, expected[2]) < 1e-13
    with pytest.raises(rc.ShapeError, match="out has shape"):
        robot.forward_dynamics(q, v, tau, links=True, method=method, out=np.empty(3))


@every_sweep
def test_single_precision_stays_so(method):
    robot = robot_of("panda_like")
    q, v, tau = (x.astype(np.float32) for x in states(robot, 2))
    a, links = robot.forward_dynamics(q, v, tau, links=True, method=method)
    assert a.dtype == links.dtype == robot.forward_dynamics(q, v, tau, method=method).dtype == np.float32


# ---- known numbers ---------------------------------------------------------------------------------------------------

Q, V, T = [0.3, 0.25, -0.6], [0.7, -0.4, 1.1], [-1.0, 2.0, 0.5]
ON_TIP = rc.Wrench(moment=(-0.1, 0.2, -0.3), force=(-1.0, 2.0, -0.5), at="tip", frame="world")  # minus f(0)


@every_method
def test_known_answer_arm(method):
    """Numbers of fifty-digit arithmetic: recursions and dense matrices, world components, reference points O(k)."""
    robot = known_answer_arm()
    a, links = robot.forward_dynamics(Q, V, T, wrenches=[ON_TIP], links=True, method=method)
    assert np.allclose(a, [1.55870512029, -0.212009633383, 67.941233422], rtol=1e-11)
    in_world = {
        link: np.kron(np.eye(2), robot.pose(Q, link)[:3, :3]) @ links[robot.link_names.index(link)]
        for link in ("l1", "l2", "l3", "tip")
    }
    expected = {  # body derivatives
        "l1": [-20.8136164383, 64.6791888451, 1.55870512029, -0.614175313125, 0.740605674346, -0.517],
        "l2": [0, 0, 1.55870512029, -0.578832557136, 0.0989076375389, 0],
        "l3": [0, 0, 1.55870512029, 0, 0, 0],
    }
    for link, numbers in expected.items():
        assert np.allclose(in_world[link], numbers, rtol=1e-10, atol=1e-11), link
    velocity = np.array([-0.325072227327, 1.05087013804, 0.7, -0.575778671397, 0.594231694035, -0.334471424994])
    tip = in_world["tip"] + np.concatenate([np.zeros(3), np.cross(velocity[:3], velocity[3:])])  # of the point, (59)
    inertial = [-20.8136164383, 64.6791888451, 1.55870512029, 4.09629672608, 2.48946630476, -20.7636461161]
    assert np.allclose(tip, inertial, rtol=1e-10)


@every_method
def test_a_rod_let_go_falls_as_it_should(method):
    """A thin rod on a hinge at its end: 3 g / (2 l); its end accelerates with 1.5 g."""
    robot = rc.robots.planar(1)
    a, links = robot.forward_dynamics([0.0], [0.0], [0.0], links=True, method=method)
    length = np.linalg.norm(robot.pose([0.0], "tip")[:3, 3])
    assert np.allclose(a, -1.5 * 9.81 / length, rtol=1e-12)
    assert np.allclose(np.linalg.norm(links[-1, 3:]), 1.5 * 9.81, rtol=1e-12)


@every_method
def test_free_fall_is_gravity(method):
    robot = rc.robots.free_flyer().with_gravity((0.3, -0.2, -9.81))
    q, _ = robot.random_state(2)
    zero = np.zeros(robot.nv)
    a, links = robot.forward_dynamics(q, zero, zero, links=True, method=method)
    assert gap(a[6:], np.zeros(robot.nv - 6)) < 1e-12
    for pose, link, place in zip(robot.poses(q), links, robot.model.links, strict=True):
        falls = robot.gravity if place.body >= 0 else np.zeros(3)
        assert gap(pose[:3, :3] @ link[3:], falls) < 1e-12


# ---- section VIII: a mobile base is one more joint -------------------------------------------------------------------

BASES = ("free", "spherical", "planar", "prismatic")


def on_a_base(kind: str, armature: float = 0.0) -> rc.Robot:
    """A vehicle that moves by some joint, with two arms."""
    b = rc.Builder(f"on_{kind}")
    b.link("base", mass=7.0, com=(0.1, -0.05, 0.2), inertia=(0.5, 0.6, 0.4, 0.04, -0.03, 0.02))
    b.joint("move", kind, parent="world", child="base", axis=(0.6, 0.0, 0.8), xyz=(0.1, 0.2, 0.3), armature=armature)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        b.link(f"{side}_upper", mass=1.5, com=(0.2, 0.01, 0.03), inertia=(0.02, 0.03, 0.025, 0.001, 0.002, -0.001))
        b.link(f"{side}_lower", mass=0.8, com=(0.15, -0.02, 0.01), inertia=(0.01, 0.012, 0.013, 0.0, 0.001, 0.0005))
        b.joint(f"{side}_1", "revolute", parent="base", child=f"{side}_upper", axis=(0, sign, 0.2), xyz=(0, sign, 0.4))
        b.joint(
            f"{side}_2", "revolute", parent=f"{side}_upper", child=f"{side}_lower", axis=(1, 0, 0.5), xyz=(0.4, 0, 0)
        )
    b.frame("hand", parent="left_lower", xyz=(0.3, 0.0, 0.1))
    return b.build()


@every_sweep
@pytest.mark.parametrize("armature", [0.0, 0.3])
@pytest.mark.parametrize("kind", BASES)
def test_mobile_base_matches_the_equations_of_section_viii(kind, armature, method):
    """(74)-(79), by matrices: the base is joint N+1 with H* of as many columns as it has freedoms."""
    robot = on_a_base(kind, armature)
    o = robot.operators
    q, v = robot.random_state(4)
    rng = np.random.default_rng(1)
    tau, wrench = rng.normal(size=robot.nv), rng.normal(size=6)
    wrenches = np.zeros((robot.nlinks, 6))
    wrenches[robot.link_names.index("hand")] = wrench
    found, links = robot.forward_dynamics(q, v, tau, wrenches=wrenches, links=True, method=method)

    moments = tau + rc.dense(o.H @ o.phi @ o.B("hand") @ wrench, q)  # f(0), on the environment, is minus the wrench
    expected = np.linalg.solve(rc.dense(o.mass, q), moments - rc.dense(o.C, q, v))
    assert gap(found, expected) < 1e-11  # (79)

    base = slice(0, robot.model.joints[0].kind.nv)
    hinge, inertia = rc.dense(o.H, q)[base, :6], rc.dense(o.P, q)[:6, :6]
    own = np.linalg.inv(hinge @ inertia @ hinge.T + armature * np.eye(base.stop))
    rising = o.a + o.gravity - o.E_phi.T @ o.gravity  # the bias accelerations, the base going up
    force = rc.dense(o.psi @ (o.K @ tau + o.P @ rising + o.b - o.B("hand") @ wrench), q, v)
    assert gap(found[base], own @ (tau[base] - hinge @ force[:6])) < 1e-11  # with the base's articulated inertia
    if kind == "free" and armature == 0.0:
        assert gap(rc.dense(o.D, q)[base, base], inertia) < 1e-12
        assert gap(rc.dense(o.G, q)[:6, base], np.eye(6)) < 1e-12
        assert gap(rc.dense(o.tau_bar, q)[:6, :6], np.zeros((6, 6))) < 1e-12

    accelerations = rc.dense(o.phi.T @ (o.H.T @ found + o.a), q, v).reshape(-1, 6)
    for name, alpha in zip(("base", "left_upper", "left_lower"), accelerations, strict=False):
        assert gap(links[robot.link_names.index(name)], alpha) < 1e-11


# ---- what they are ---------------------------------------------------------------------------------------------------

PLANS = {
    "articulated": (forward_plan, "out in out"),
    "four-sweep": (four_algorithms.four_sweep_plan, "out in in out"),
    "four-sweep-links": (four_algorithms.four_sweep_links_plan, "out in in out"),
    "three-sweep": (four_algorithms.three_sweep_plan, "out in out"),
    "three-sweep-bias": (four_algorithms.three_sweep_bias_plan, "out in out"),
    "denoc": (denoc_plan, "out in out"),
    "diagonal": (diagonal.forward_plan, "in out in out"),
}


@every_sweep
def test_names_tell_the_number_of_sweeps(method):
    make, directions = PLANS[method]
    short = {Direction.BASE_TO_TIP: "out", Direction.TIP_TO_BASE: "in"}
    assert " ".join(short[sweep.direction] for sweep in make().sweeps) == directions
    assert all("number" not in step.reads for sweep in make().sweeps for step in sweep.steps), "no loop over bodies"


@pytest.mark.parametrize("name", ["stanford", "mixed_tree", "free_flyer", "one_of_each"])
def test_smoothers_carry_what_the_paper_says(name):
    """lambda = phi* H* qdd in Algorithms 1 to 3; lambda = alpha, seen from a falling frame, in Algorithm 4."""
    robot = robot_of(name)
    o = robot.operators
    q, v, tau = (x[0] for x in states(robot, 1))
    inputs = {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist()}
    qdd = robot.forward_dynamics(q, v, tau)
    bias_free = rc.dense(o.phi.T @ o.H.T @ qdd, q)
    drifting = rc.dense(o.phi.T @ o.a + o.gravity, q, v)

    def stacked(plan, buffer):
        return np.concatenate([x.components() for x in run(plan, robot.model, inputs)[buffer]])

    for make in (four_algorithms.four_sweep_links_plan, four_algorithms.three_sweep_bias_plan):
        assert gap(stacked(make(), "lambda"), bias_free) < 1e-10
        assert gap(stacked(make(), "alpha0"), drifting) < 1e-12
        assert gap(stacked(make(), "alpha"), bias_free + drifting) < 1e-10
    for make in (four_algorithms.three_sweep_plan, forward_plan):
        assert gap(stacked(make(), "alpha"), bias_free + drifting) < 1e-10


@pytest.mark.parametrize("method", SWEEPS[1:])
def test_tied_joints_are_refused_by_name(method):
    robot = tied_gripper()
    q, v = robot.random_state(1)
    with pytest.raises(rc.NoSweepError, match=f"tied joints, and '{method}'"):
        robot.forward_dynamics(q, v, v, method=method)
    by_name = robot.forward_dynamics(q, v, v, method="composite")
    assert np.array_equal(robot.forward_dynamics(q, v, v), by_name)


@every_sweep
def test_a_joint_with_nothing_to_move_is_named(method):
    b = rc.Builder("bare")
    b.link("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    b.link("needle")
    b.joint("shoulder", "revolute", parent="world", child="arm", axis=(0, 0, 1))
    b.joint("tip", "revolute", parent="arm", child="needle", axis=(0, 0, 1))
    robot = b.build(strict=False)
    for links in (False, True):
        with pytest.raises(rc.SingularHingeError, match="joint 'tip'"):
            robot.forward_dynamics(np.zeros(2), np.zeros(2), np.ones(2), links=links, method=method)


# ---- compiled --------------------------------------------------------------------------------------------------------


FORMS = {"panda_like": "straight", "floating_tree_with_rotors": "loop", "one_of_each": "loop", "chain200": "loop"}
LONG = {
    ("one_of_each", "diagonal"), ("one_of_each", "denoc"), ("one_of_each", "three-sweep-bias"),
    *(("chain200", method) for method in SWEEPS),
}  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "form", "method"),
    [
        pytest.param(name, form, method, marks=[pytest.mark.slow] if (name, method) in LONG else [])
        for name, form in FORMS.items()
        for method in SWEEPS
    ],
)
def test_kernels_match_the_interpreter(name, form, method, monkeypatch):
    monkeypatch.setattr(Switch, "form", form if name != "chain200" else None)  # where loops come by themselves
    robot = ROBOTS[name]()
    q, v, tau, wrenches = pushed(robot, 9)

    def ask():
        a, links = robot.forward_dynamics(q, v, tau, wrenches=wrenches, links=True, method=method)
        return a, links, robot.forward_dynamics(q, v, tau, method=method)

    found = ask()
    kernels = [kernel for store in robot.evaluator.stores for _, kernel in store._kernels.values()]
    assert kernels and all(kernel is not None and kernel.form == form for kernel in kernels)
    Switch.on = False
    for ours, expected in zip(found, ask(), strict=True):
        assert gap(ours, expected) < 1e-10


def test_operation_counts_are_those_of_lean_recursions():
    """Of a chain of six revolute joints with nothing special about it."""
    robot = rc.robots.chain(6, seed=3)
    counts = {method: rc.count(robot, "forward_dynamics", method=method) for method in SWEEPS}
    assert counts["articulated"].mul <= 980
    assert counts["articulated"].add <= 842
    assert counts["four-sweep"] == counts["four-sweep-links"], "links cost nothing unless they are asked for"
    order = [counts[method].total for method in ("articulated", "three-sweep", "three-sweep-bias", "four-sweep")]
    assert order == sorted(order)
