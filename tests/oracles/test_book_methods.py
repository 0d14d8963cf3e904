"""The methods of Balafoutis & Patel, chapters 5 and 6, against each other, Pinocchio and known numbers."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from recursa.book.augmented_recursion import augmented_plan
from recursa.book.methods import INVERSE, MASS
from recursa.book.rigid_body import euler_from_inertia, inertia_from_euler
from recursa.interop import pinocchio as interop
from recursa.kernels.dispatch import Switch
from recursa.kernels.graph import Graph
from recursa.model.canonical import canonical
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SymMat3, Vec3
from recursa.sweeps import Plan, Step, run
from zoo import ZOO, pendulum

pytestmark = pytest.mark.interpreted(reason="every method of dozens of arms; those marked compiled compare the forms")

CLOSED = "closed-form"  # the one for revolute joints only
METHODS = tuple(INVERSE)
BOTH_KINDS = tuple(method for method in METHODS if method != CLOSED)
STRAIGHT_ONLY = ("waters", "uicker-kahn", CLOSED)  # their steps ask for the numbers of bodies
every_method = pytest.mark.parametrize("method", METHODS)
every_matrix = pytest.mark.parametrize("method", MASS)


def random_arm(pattern: str, seed: int) -> rc.Robot:
    """An arm of the book with joints "R" and "P": nothing about it is special, gravity and rotors included."""
    rng = np.random.default_rng(seed)
    rows = []
    for letter in pattern:
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        x, y, z = rng.uniform(0.01, 0.05, 3)
        rows.append(
            rc.DHLink(
                joint={"R": "revolute", "P": "prismatic"}[letter],
                a=rng.normal(scale=0.4), alpha=rng.uniform(-3, 3), d=rng.normal(scale=0.4), theta=rng.uniform(-3, 3),
                mass=rng.uniform(0.5, 4.0), com=rng.normal(scale=0.2, size=3),
                inertia=turn @ np.diag([y + z, x + z, x + y]) @ turn.T, armature=float(rng.choice([0.0, 0.3])),
            )
        )  # fmt: skip
    return rc.from_dh(rows, convention="modified", name=pattern, gravity=rng.normal(scale=7.0, size=3))


def patterns() -> list[str]:
    """All of revolute and prismatic joints up to four, a third of those of five and six, longer ones by chance."""
    full = ["".join(p) for n in range(1, 5) for p in itertools.product("RP", repeat=n)]
    some = ["".join(p) for n in (5, 6) for p in itertools.product("RP", repeat=n)][::3]
    rng = np.random.default_rng(0)
    long = ["".join(rng.choice(["R", "R", "P"], n)) for n in range(7, 13)]
    return [*full, *some, "RRRRR", "RRRRRR", *long, "R" * 9]


def able(robot: rc.Robot) -> tuple[str, ...]:
    """The methods for its joints."""
    return METHODS if all(joint.kind.name != "prismatic" for joint in robot.model.joints) else BOTH_KINDS


def check_all(robot: rc.Robot, count: int = 2, tolerance: float = 1e-10) -> None:
    q, v, a = states(robot, count)
    found = {"newton-euler": robot.inverse_dynamics(q, v, a)}
    found |= {method: robot.inverse_dynamics(q, v, a, method=method) for method in able(robot)}
    push = np.random.default_rng(5).normal(size=(count, robot.nlinks, 6))
    pushed = {method: robot.inverse_dynamics(q, v, a, wrenches=push, method=method) for method in found}
    for method, torque in pushed.items():
        close(torque, pushed["newton-euler"], tolerance, f"{robot.name}, wrenches: {method}")
    for one, other in itertools.pairwise(found):  # every pair, by the triangle inequality
        close(found[one], found[other], tolerance / len(found), f"{robot.name}: {one} and {other}")
    mass = robot.mass_matrix(q)
    for method in (*MASS, "column"):
        close(robot.mass_matrix(q, method=method), mass, tolerance / 3, f"{robot.name}: {method}")


def check_against_pinocchio(robot: rc.Robot) -> None:
    pin = pytest.importorskip("pinocchio")
    model = interop.build(robot)
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    order = interop.velocity_order(robot, model)
    model.armature = np.concatenate([joint.armature for joint in robot.model.joints])[order]
    back, data = np.argsort(order), model.createData()
    (q,), (v,), (a,) = states(robot, 1, 4)
    theirs = interop.configuration(robot, model, q)
    torque = pin.rnea(model, data, theirs, *(interop.velocity(robot, model, x) for x in (v, a)))[back]
    for method in able(robot):
        close(robot.inverse_dynamics(q, v, a, method=method), torque, 1e-10, f"{robot.name}: {method}")
    upper = np.triu(pin.crba(model, data, theirs))
    mass = (upper + np.triu(upper, 1).T)[np.ix_(back, back)]
    for method in MASS:
        close(robot.mass_matrix(q, method=method), mass, 1e-10, f"{robot.name}: {method}")


# ---- agreement -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", patterns())
def test_methods_match_on_every_pattern_of_joints(pattern):
    for seed in range(1 if len(pattern) > 4 else 2):
        robot = random_arm(pattern, 100 * seed + len(pattern))
        check_all(robot)
        check_against_pinocchio(robot)


TREES = {
    "tree": ZOO["tree"],
    "bush": lambda: rc.robots.tree(9, branching=4, seed=5),
    "tied_gripper": tied_gripper,  # two kinds of joints, rotors, tied ones
    "pendulum": pendulum,
    "stanford": rc.robots.stanford,
    "puma560": rc.robots.puma560,
    "planar": rc.robots.planar,
    "chain_mixed": ZOO["chain_mixed"],
}


@pytest.mark.parametrize("name", TREES)
def test_methods_match_on_trees_and_known_arms(name):
    robot = TREES[name]()
    check_all(robot)
    if name != "tied_gripper":
        check_against_pinocchio(robot)


@every_method
def test_losses_batches_and_arrays_of_the_caller(method):
    robot = rc.load(
        random_arm("RRR", 1).to_urdf().replace("</joint>", '<dynamics damping="0.3" friction="0.2"/></joint>')
    )
    q, v, a = states(robot, 6)
    plain = robot.inverse_dynamics(q, v, a, method=method)
    lossy = robot.inverse_dynamics(q, v, a, losses=True, method=method)
    close(lossy - plain, robot.joint_losses(v), 1e-12)
    out = np.empty((2, 3, 3))
    square = [x.reshape(2, 3, 3) for x in (q, v, a)]
    assert robot.inverse_dynamics(*square, method=method, out=out) is out
    close(out.reshape(6, 3), plain)
    close(robot.inverse_dynamics(q[4], v[4], a[4], method=method), plain[4])
    single = robot.inverse_dynamics(*(x.astype(np.float32) for x in (q, v, a)), method=method)
    assert single.dtype == np.float32
    close(single, plain, 1e-4)


@pytest.mark.parametrize("bias", ["newton-euler", *BOTH_KINDS])
@pytest.mark.parametrize("mass", ["composite", *MASS])
def test_forward_dynamics_by_any_pairing(mass, bias):
    """The three steps of chapter 6: mass matrix, bias, solve."""
    robot = random_arm("RPRR", 8)
    q, v, tau = states(robot, 3)
    expected = robot.forward_dynamics(q, v, tau)
    found = robot.forward_dynamics(q, v, tau, method="composite", mass=mass, bias=bias)
    close(found, expected, 1e-10)
    wrenches = np.random.default_rng(2).normal(size=(3, robot.nlinks, 6))
    pushed = robot.forward_dynamics(q, v, tau, wrenches=wrenches)
    pairing = {"method": "composite", "mass": mass, "bias": bias}
    close(robot.forward_dynamics(q, v, tau, wrenches=wrenches, **pairing), pushed, 1e-10)
    one = robot.forward_dynamics(q[0], v, tau, method="composite", mass=mass, bias=bias)
    close(one[0], found[0], 1e-12)


# ---- known numbers ---------------------------------------------------------------------------------------------------


def six_joints() -> rc.Robot:
    """The known-answer arm of chapter 5, all revolute; theta is the joint's coordinate."""
    alpha, a, d = (0, -1.2, 0.3, 1.5, -0.7, 0.9), (0, 0.1, 0.4, 0.05, 0, 0.02), (0.3, 0.1, -0.05, 0.4, 0, 0.1)
    mass = (4, 3.5, 3, 2, 1, 0.5)
    com = [
        (0.01, -0.02, 0.10),
        (0.20, 0.03, -0.01),
        (0.15, -0.05, 0.02),
        (0, 0.02, -0.1),
        (0.03, 0, 0.04),
        (0, 0.01, 0.05),
    ]
    inertia = [
        (.05, .04, .03, .001, -.002, .003), (.02, .06, .06, -.002, .001, 0), (.03, .05, .04, .004, 0, -.001),
        (.012, .011, .006, 0, .001, .0005), (.004, .003, .0035, .0002, 0, .0001), (.001, .0012, .0008, 0, .0001, 0),
    ]  # fmt: skip
    rows = [rc.DHLink(alpha=alpha[i], a=a[i], d=d[i], mass=mass[i], com=com[i], inertia=inertia[i]) for i in range(6)]
    return rc.from_dh(rows, convention="modified", name="known")


@every_method
def test_known_answer_of_six_revolute_joints(method):
    q, v, a = [0.1, -0.4, 0.7, 1.1, -0.3, 0.5], [0.5, -0.2, 0.3, 0.8, -0.6, 0.4], [1, 0.5, -0.7, 0.2, 0.9, -1.1]
    expected = [3.218104261771, -35.926355148910, -6.407997424532, -0.122927778899, 0.273736210286, -0.036819975021]
    close(six_joints().inverse_dynamics(q, v, a, method=method), expected, 1e-12)


@every_method
def test_known_answer_of_a_planar_arm(method):
    rows = [
        rc.DHLink(mass=2, com=(0.2, 0, 0), inertia=(0.03, 0.03, 0.03)),
        rc.DHLink(a=0.5, mass=1, com=(0.3, 0, 0), inertia=(0.02, 0.02, 0.02)),
    ]
    robot = rc.from_dh(rows, convention="modified", gravity=(0, -9.81, 0))
    torque = robot.inverse_dynamics([0.3, 0.8], [1.1, -0.4], [0.5, 0.9], method=method)
    close(torque, [10.379635117827, 1.671386519055], 1e-12)


def three_joints() -> rc.Robot:
    """The fixture of chapter 6."""
    alpha, a, d = (0.3, -1.1, 0.7), (0, 0.4, 0.25), (0.5, 0.1, -0.2)
    com = [(0.1, -0.05, 0.2), (0.15, 0.02, -0.03), (-0.04, 0.06, 0.12)]
    inertia = [
        (.05, .06, .04, .004, -.003, .002), (.03, .025, .02, -.002, .001, .003), (.012, .01, .009, .001, -.0005, .0008),
    ]  # fmt: skip
    rows = [rc.DHLink(alpha=alpha[i], a=a[i], d=d[i], mass=3 - i, com=com[i], inertia=inertia[i]) for i in range(3)]
    return rc.from_dh(rows, convention="modified")


@every_matrix
def test_known_mass_matrix(method):
    q, v, a = [0.4, -0.7, 1.2], [0.9, -1.3, 0.5], [-0.6, 1.1, 2.0]
    upper = np.array(
        [[0.987035731669, 0.110331459512, -0.029545850492], [0, 0.109865255511, -0.003518012814], [0, 0, 0.0142]]
    )
    robot = three_joints()
    close(robot.mass_matrix(q, method=method), upper + np.triu(upper, 1).T, 1e-12)
    torque = [4.506127154908, -2.765490443446, 0.092858555851]
    for bias in METHODS:
        close(robot.inverse_dynamics(q, v, a, method=bias), torque, 1e-12)
        close(
            robot.inverse_dynamics(q, v, [0] * 3, method=bias), [5.03607568943, -2.813107323174, 0.050600859651], 1e-11
        )
        close(robot.forward_dynamics(q, v, torque, method="composite", mass=method, bias=bias), a, 1e-10)


# ---- augmented links -------------------------------------------------------------------------------------------------


def in_link_axes(links, number: int) -> tuple[np.ndarray, np.ndarray]:
    """u and the Euler tensor with the axes of the link's own frame, which has the same origin in the book's arms."""
    frame = links.frames[number]
    assert np.allclose(frame[:3, 3], 0.0, atol=1e-12)
    turn = frame[:3, :3]
    return turn @ links.first[number], turn @ links.euler[number] @ turn.T


def test_known_augmented_links():
    links = six_joints().augmented_links()
    close(links.mass, [14, 10, 6.5, 3.5, 1.5, 0.5])
    assert links.online == ()
    first, euler = in_link_axes(links, 0)
    close(first, [1.04, 0.852039086, 0.762357754], 1e-9)
    close(np.diag(euler), [0.1104, 0.108469686, 0.083130314], 1e-9)
    close(euler[[0, 0, 1], [1, 2, 2]], [0.091403909, 0.042235775, 0.022773159], 1e-9)
    close(in_link_axes(links, 2)[0], [0.625, -1.546492981, 0.159032082], 1e-9)
    for inertia, tensor in zip(links.inertia, links.euler, strict=True):
        close(0.5 * np.trace(inertia) * np.eye(3) - inertia, tensor)
    with pytest.raises(ValueError, match="read-only"):
        links.mass[0] = 1.0


@pytest.mark.parametrize("name", ["tree", "chain_mixed", "stanford", "tied_gripper"])
def test_augmented_links_follow_sliding_joints(name):
    """At any state: the constants, with what the sliding joints add, are what the recursion computes."""
    robot = TREES[name]()
    links, moved = robot.augmented_links(), canonical(robot.model)
    q, v, a = (x[0].tolist() for x in states(robot, 1))
    values = run(augmented_plan(), moved, {"q": q, "v": v, "a": a})
    first, euler = links.first.copy(), links.euler.copy()
    for j, joint in enumerate(moved.joints):
        if joint.parent >= 0:
            (x,) = joint.coordinates(q)
            first[joint.parent] += x * links.first_slope[j]
            euler[joint.parent] += x * links.euler_slope[j] + x * x * links.euler_curvature[j]
    close(first, np.array(values["u"]), 1e-12)
    close(euler, np.array([[list(row) for row in K.rows()] for K in values["K"]]), 1e-12)
    carries = {moved.joints[j.parent].child for j in moved.joints if j.kind.name == "prismatic" and j.parent >= 0}
    assert set(links.online) == carries


def test_kernel_of_augmented_links_holds_on_line_operations_only():
    """Steps 2 and 3 alone, with the constants of Step 1 put in, take exactly as many operations as the kernel."""
    robot = rc.robots.chain(6, seed=3)
    links, moved = robot.augmented_links(), canonical(robot.model)
    bodies = tuple(
        RigidInertia(float(m), Vec3.of(u), inertia_from_euler(SymMat3(*(float(K[i]) for i in
            ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))))))
        for m, u, K in zip(links.mass, links.first, links.euler, strict=True)
    )  # fmt: skip
    given = Step(
        lambda body: (body.mass, body.first, euler_from_inertia(body.moment)), ("inertia",), ("mass", "u", "K")
    )
    full = augmented_plan()
    relative, augment, *on_line = full.sweeps
    online = Plan("on-line", full.buffers, (relative, replace(augment, steps=(given,)), *on_line))
    graph = Graph()
    inputs = {name: graph.inputs(name, robot.nv) for name in ("q", "v", "a")}
    outputs = [x.number for (x,) in run(online, replace(moved, inertias=bodies), inputs)["T"]]
    expected = rc.count(robot, "inverse_dynamics", method="augmented")
    assert graph.counts(outputs) == expected
    assert expected.mul <= 449
    assert expected.add <= 385


# ---- what they cannot do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["spherical", "planar", "free", "helical"])
@every_method
def test_other_joints_are_refused_by_name(method, kind):
    robot = ZOO[kind]()
    q, v = robot.random_state(1)
    name = robot.joint_names[0]
    with pytest.raises(rc.NoSweepError, match=f"method '{method}': joint '{name}' .*Use method='newton-euler'"):
        robot.inverse_dynamics(q, v, v, method=method)
    for other in MASS:
        with pytest.raises(rc.NoSweepError, match=f"method '{other}': joint '{name}' .*Use method='composite'"):
            robot.mass_matrix(q, method=other)
    with pytest.raises(rc.NoSweepError, match=name):
        robot.augmented_links()


def test_closed_form_refuses_sliding_joints():
    robot = rc.robots.stanford()
    with pytest.raises(rc.NoSweepError, match="'closed-form': joint 'joint3' is prismatic"):
        robot.inverse_dynamics(*np.zeros((3, 6)), method=CLOSED)


@pytest.mark.parametrize("option", ["base_acceleration", "parameters"])
def test_arguments_they_do_not_take(option):
    robot = rc.robots.planar(2)
    zero = np.zeros(2)
    shape = {"base_acceleration": 6, "parameters": 20}[option]
    for method in METHODS:
        with pytest.raises(rc.NoSweepError, match=f"method '{method}' does not take {option}="):
            robot.inverse_dynamics(zero, zero, zero, method=method, **{option: np.zeros(shape)})
    if option == "parameters":
        with pytest.raises(rc.NoSweepError, match="method 'augmented' does not take parameters="):
            robot.mass_matrix(zero, method="augmented", parameters=np.zeros(20))


def test_choices_of_a_sweep_are_refused():
    robot = rc.robots.planar(2)
    with pytest.raises(rc.NoSweepError, match="'articulated' makes neither"):
        robot.forward_dynamics(*np.zeros((3, 2)), mass="augmented")
    with pytest.raises(rc.UnknownNameError, match="walker-orin"):
        robot.mass_matrix(np.zeros(2), method="walker-oren")
    with pytest.raises(rc.UnknownNameError, match="hollerbach-3x3"):
        robot.inverse_dynamics(*np.zeros((3, 2)), method="hollerbach")


def massless_tip() -> rc.Robot:
    """The last link has neither mass nor inertia; the one before it no mass of its own."""
    b = rc.Builder("light")
    b.link("arm", mass=1.0, com=(0.1, 0.05, 0), inertia=(0.01, 0.012, 0.013))
    b.link("wheel", inertia=(0.001, 0.001, 0.002))
    b.link("needle")
    b.joint("shoulder", "revolute", parent="world", child="arm", axis=(0, 0.6, 0.8))
    b.joint("spin", "revolute", parent="arm", child="wheel", axis=(1, 0, 0), xyz=(0.3, 0.1, 0))
    b.joint("tip", "revolute", parent="wheel", child="needle", axis=(0, 0, 1), xyz=(0.1, 0, 0.2), armature=0.1)
    return b.build(strict=False)


def test_links_without_mass():
    robot = massless_tip()
    q, v, a = states(robot, 2)
    for method in METHODS:
        close(robot.inverse_dynamics(q, v, a, method=method), robot.inverse_dynamics(q, v, a), 1e-12, method)
    close(robot.mass_matrix(q, method="augmented"), robot.mass_matrix(q), 1e-12)
    with pytest.raises(rc.NoSweepError, match=r"outward of joint 'spin' have no mass.*'augmented'"):
        robot.mass_matrix(q, method="walker-orin")


# ---- compiled --------------------------------------------------------------------------------------------------------

ARMS = {"six_joints": six_joints, "mixed": lambda: random_arm("RPRP", 6)}


def forms(robot: rc.Robot) -> set[str]:
    return {kernel.form for _, kernel in robot.evaluator.on_axes._kernels.values()}


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("name", ARMS)
@every_method
def test_kernels_match_the_interpreter(name, method, form, monkeypatch):
    if method == CLOSED and name == "mixed":
        pytest.skip("its closed form is for joints that turn")
    if method in STRAIGHT_ONLY and form == "loop":
        pytest.skip("its steps ask for the numbers of bodies")
    monkeypatch.setattr(Switch, "form", form)
    robot = ARMS[name]()
    q, v, a = states(robot, 5)
    found = robot.inverse_dynamics(q, v, a, method=method)
    one = robot.inverse_dynamics(q[1], v[1], a[1], method=method)
    again = robot.inverse_dynamics(q[1], v[1], a[1], method=method)  # straight into the kernel
    assert forms(robot) == {form}
    assert any(call[0] == "inverse_dynamics" for call in robot._calls)
    assert np.array_equal(one, again)
    Switch.on = False
    expected = robot.inverse_dynamics(q, v, a, method=method)
    close(found, expected, 1e-12)
    close(one, expected[1], 1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ARMS)
@every_matrix
def test_kernels_of_mass_matrices_match_the_interpreter(name, method):
    robot = ARMS[name]()
    q, _, _ = states(robot, 5)
    found = robot.mass_matrix(q, method=method)
    assert forms(robot) == {"straight"}
    close(robot.mass_matrix(q[1], method=method), found[1])
    assert any(call[0] == "mass_matrix" for call in robot._calls)
    close(robot.mass_matrix(q[1], method=method), found[1])
    Switch.on = False
    close(found, robot.mass_matrix(q, method=method), 1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("method", [method for method in METHODS if method not in STRAIGHT_ONLY])
def test_large_robots_run_in_loops(method):
    robot = rc.robots.chain(60, seed=2, joints="mixed")
    q, v, a = states(robot, 3)
    found = robot.inverse_dynamics(q, v, a, method=method)
    assert forms(robot) == {"loop"}
    close(found, robot.inverse_dynamics(q, v, a), 1e-9)


def test_exported_code_is_that_of_the_method(tmp_path):
    robot = three_joints()
    export = robot.export_c("inverse_dynamics", tmp_path / "id.c", method="tensor")
    assert export.operations == rc.count(robot, "inverse_dynamics", method="tensor")
    with pytest.raises(rc.RecursaError, match="solves with the mass matrix"):
        robot.export_c("forward_dynamics", tmp_path / "fd.c", method="composite", mass="augmented")


PAGE = (Path(__file__).parents[2] / "docs" / "methods.md").read_text("utf-8")
ROW = re.compile(r'\| `"([^"]+)"` \|.*\| (\S+) \| (\S+) \|$', re.MULTILINE)


@pytest.mark.parametrize(("quantity", "names"), [("inverse_dynamics", METHODS), ("mass_matrix", tuple(MASS))])
def test_operations_match_the_table_of_the_docs(quantity, names):
    """Of a general arm with six revolute joints, and of the Stanford arm."""
    title = {"inverse_dynamics": "## Inverse dynamics", "mass_matrix": "## Mass matrix"}[quantity]
    table = PAGE.split(title)[1].split("\n## ")[0]
    printed = {method: numbers for method, *numbers in ROW.findall(table)}
    assert set(names) < set(printed)
    for method, numbers in printed.items():
        for robot, text in zip((rc.robots.chain(6, seed=3), rc.robots.stanford()), numbers, strict=True):
            if text != "-":
                counts = rc.count(robot, quantity, method=method)
                assert (f"{counts.mul}/{counts.add}", counts.div) == (text, 0), (robot.name, method)
