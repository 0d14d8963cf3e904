"""Operational space: recursions against Jacobians and mass matrices, and what the quantities mean."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest

import recursa as rc
from numeric import FRAMES, close, states, tied_gripper, with_rotors
from questions import answered
from recursa.kernels.dispatch import Switch
from recursa.operational.compliance_plans import blocks_plan, compliance_plan, flying_path, inertia_plan
from recursa.operational.pseudo_inverse import RankedArray, _by_numpy, pseudo_inverse, rank_limit
from recursa.spatial.counter import Counter
from recursa.sweeps.engine import run
from zoo import ZOO, floating_tree_with_rotors, known_answer_arm, large_interpreted, one_of_each, small_mixed_tree

pytestmark = pytest.mark.interpreted(
    reason="code for every link of every robot; kernels/test_forms.py compares the forms"
)

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")},  # too large; singular
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "known_answer_arm": known_answer_arm,
    "tied_gripper": tied_gripper,
}
FLYING = ("free_flyer", "floating_tree_with_rotors", "free")
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))
every_frame = pytest.mark.parametrize("frame", FRAMES)


def dense(robot, q, left, right, frame):
    """``J inv(mass) J*``, from matrices alone."""
    inverse = np.linalg.inv(robot.mass_matrix(q))
    return robot.jacobian(q, left, frame=frame) @ inverse @ np.swapaxes(robot.jacobian(q, right, frame=frame), -1, -2)


# ---- against matrices ------------------------------------------------------------------------------------------------


@every_robot
def test_compliance_and_inertia_of_every_link_match_jacobian_and_mass_matrix(name):
    robot = ROBOTS[name]()
    q, _, _ = states(robot, 2, seed=3)
    for frame in FRAMES:
        together = robot.operational_compliance(q, frame=frame)
        assert together.shape == (2, robot.nlinks, 6, 6)
        for k, link in enumerate(robot.link_names):
            expected = dense(robot, q, link, link, frame)
            scale = max(np.abs(expected).max(), 1e-300)
            close(together[:, k] / scale, expected / scale, 1e-11, f"{link}, {frame}")
            close(robot.operational_compliance(q, link, frame=frame) / scale, expected / scale, 1e-11, link)
            inertia = robot.operational_inertia(q, link, frame=frame)
            inverse = np.linalg.pinv(expected, hermitian=True, rcond=1e-11)
            assert np.abs(inertia - inverse).max() <= 1e-10 * max(np.abs(inverse).max(), 1e-300) * conditions(expected)
            jacobian = robot.jacobian(q, link, frame=frame)
            assert inertia.rank.tolist() == [np.linalg.matrix_rank(one, tol=1e-8) for one in jacobian]


def conditions(matrix: np.ndarray) -> float:
    """What the inverses of two matrices that differ by rounding may differ by, in units of 1e-10."""
    values = np.linalg.eigvalsh(matrix)
    kept = values[values > 1e-11 * max(values.max(), 1e-300)]
    return max(1.0, 1e-5 * kept.max() / kept.min()) if kept.size else 1.0


@pytest.mark.parametrize("name", FLYING)
def test_inertia_of_free_flyers_matches_compliance(name):
    """Lemma 4.1 (37): ``P + S`` is the inverse of Upsilon, by another recursion."""
    robot = ROBOTS[name]()
    q, _, _ = states(robot, 3, seed=5)
    for link in robot.link_names:
        if robot.model.links[robot.model.link_index(link)].body < 0:
            continue
        for frame in FRAMES:
            inertia = robot.operational_inertia(q, link, frame=frame)
            close(inertia @ robot.operational_compliance(q, link, frame=frame), [np.eye(6)] * 3, 1e-9, link)
            assert inertia.rank.tolist() == [6, 6, 6]


def test_inertia_of_the_base_is_the_articulated_inertia_of_the_robot():
    robot = floating_tree_with_rotors()
    q, _ = robot.random_state(2)
    base = robot.link_names[1]
    assert robot.model.links[1].body == 0
    close(robot.operational_inertia(q, base), robot.factorization(q).P[0], 1e-12)


def test_free_joint_inside_a_robot_hides_what_carries_it():
    robot = rc.Builder("carrier")
    robot.link("arm", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15))
    robot.link("ship", mass=1.0, com=(0.1, -0.1, 0.05), inertia=(0.02, 0.03, 0.025))
    robot.joint("turn", "revolute", parent="world", child="arm", axis=(0, 0, 1))
    robot.joint("fly", "free", parent="arm", child="ship", xyz=(0.5, 0, 0))
    robot = robot.build()
    q, _ = robot.random_state(1)
    ship = robot.model.link_index("ship")
    assert flying_path(robot.model, ship) == (1,)
    assert flying_path(robot.model, robot.model.link_index("arm")) is None
    assert robot.operational_inertia(q, "ship").rank == 6 and robot.operational_inertia(q, "arm").rank == 1
    for link in ("ship", "arm"):
        close(robot.operational_inertia(q, link), np.linalg.pinv(dense(robot, q, link, link, "body")), 1e-11)
    assert (
        flying_path(one_of_each().model, one_of_each().nlinks - 1) is None
    )  # rotors of a free joint push off its base


@every_robot
def test_blocks_between_links_match_jacobians_and_mass_matrix(name):
    robot = ROBOTS[name]()
    q, _, _ = states(robot, 2, seed=4)
    names = robot.link_names
    for frame in FRAMES:
        stacked = np.concatenate([robot.jacobian(q, link, frame=frame) for link in names], axis=-2)
        expected = stacked @ np.linalg.inv(robot.mass_matrix(q)) @ np.swapaxes(stacked, -1, -2)
        scale = np.abs(expected).max()
        matrix = robot.delassus(q, names, frame=frame)
        close(matrix / scale, expected / scale, 1e-11, frame)
        if name != "tied_gripper":
            assert np.array_equal(matrix, np.swapaxes(matrix, -1, -2))
        first, last = names[len(names) // 2], names[-1]
        between = robot.operational_compliance_between(q, first, last, frame=frame)
        close(between / scale, dense(robot, q, first, last, frame) / scale, 1e-11, frame)


def test_long_chain_matches_jacobian_and_mass_matrix():
    robot = ZOO["chain200"]()
    q, _ = robot.random_state(1)
    compliances = robot.operational_compliance(q)
    inverse = np.linalg.inv(robot.mass_matrix(q))
    for link in ("link1", "link50", "link120", "link200"):
        jacobian = robot.jacobian(q, link)
        expected = jacobian @ inverse @ jacobian.T
        scale = np.abs(expected).max()
        close(compliances[robot.model.link_index(link)] / scale, expected / scale, 1e-10, link)


def test_blocks_across_branches_match_the_operators():
    """Omega(i, j) of links whose nearest common body is neither of theirs, and of bodies on one path."""
    robot = rc.robots.tree(9, branching=2, seed=3)
    q, _ = robot.random_state(6)
    o = robot.operators
    inner = o.phi.T @ o.H.T @ o.mass.inverse() @ o.H @ o.phi
    for left, right in (("link4", "link9"), ("link5", "link4"), ("link2", "link8"), ("link7", "link7")):
        f = rc.compile(o.B(left).T @ inner @ o.B(right))
        close(robot.operational_compliance_between(q, left, right), f.matrix(q), 1e-12, f"{left}, {right}")
    for link in robot.link_names:
        f = rc.compile(o.B(link).T @ o.Upsilon @ o.B(link))
        close(robot.operational_compliance(q, link), f.matrix(q), 1e-13, link)


def test_selected_rows_are_those_of_the_whole():
    robot = with_rotors(rc.robots.tree(7, seed=2))
    q, _, _ = states(robot, 2)
    names = ["link3", "world", "link7", "link3", "link6"]
    for frame in FRAMES:
        whole = robot.delassus(q, names, frame=frame)
        places = robot.delassus(q, names, coordinates="position", frame=frame)
        chosen = [6 * k + row for k in range(5) for row in (3, 4, 5)]
        close(places, whole[:, chosen][:, :, chosen], 1e-13)
    by_name = {"link3": (5, 0), "link7": "orientation", "link6": (3,)}
    some = robot.delassus(q, names, coordinates=by_name)
    rows = [5, 0, *range(6, 12), 12, 13, 14, 23, 18, 27]
    close(some, robot.delassus(q, names)[:, rows][:, :, rows], 1e-13)


def test_inverse_of_delassus_says_its_rank():
    arm = rc.robots.panda_like()
    q, _, _ = states(arm, 3)
    links = ["link4", "flange"]
    matrix, inverse = arm.delassus(q, links), arm.delassus_inverse(q, links)
    assert inverse.rank.tolist() == [7, 7, 7]
    close(matrix @ inverse @ matrix, matrix, 1e-9)
    close(inverse @ matrix @ inverse, np.asarray(inverse), 1e-9)
    point = arm.delassus_inverse(q, ["flange"], coordinates="position")
    assert point.rank.tolist() == [3, 3, 3]
    close(point, np.linalg.inv(arm.delassus(q, ["flange"], coordinates="position")), 1e-11)


# ---- known answers ---------------------------------------------------------------------------------------------------

UPSILON_1 = [
    [2.71230054054, -8.76813029176, 0.0150675061416, 0.17241265383, 0.0651624358597, 0],
    [-8.76813029176, 28.3449815624, -0.0487091511602, -0.557363238378, -0.21065244032, 0],
    [0.0150675061416, -0.0487091511602, 0.677449357253, -0.123289148116, 0.493703097054, 0],
    [0.17241265383, -0.557363238378, -0.123289148116, 0.33797255407, 0.00775732741538, 0],
    [0.0651624358597, -0.21065244032, 0.493703097054, 0.00775732741538, 0.389988003214, 0],
    [0, 0, 0, 0, 0, 0],
]


def test_compliance_of_the_known_answer_arm():
    """Fixture A: world components at the link's origin, twelve digits."""
    robot = known_answer_arm()
    q = [0.3, 0.25, -0.6]
    compliance = robot.operational_compliance(q, "l1", frame="mixed")
    assert np.allclose(compliance, UPSILON_1, rtol=3e-12, atol=1e-13)
    inertia = robot.operational_inertia(q, "l1", frame="mixed")
    assert inertia.rank == 3
    assert np.allclose(inertia, np.linalg.pinv(UPSILON_1, hermitian=True, rcond=1e-9), rtol=1e-9, atol=1e-9)
    l10 = np.array([0.290484324424, 0.0898573314877, 0.0868591805275])
    phi = np.block([[np.eye(3), np.cross(l10, np.eye(3)).T], [np.zeros((3, 3)), np.eye(3)]])  # phi(1, 0)
    tip = robot.operational_compliance(q, "tip", frame="mixed")
    assert np.allclose(tip, phi.T @ UPSILON_1 @ phi, rtol=1e-10, atol=1e-11)


def test_free_body_shows_its_own_inertia():
    b = rc.Builder("brick")
    b.link("brick", mass=2.0, com=(0.1, 0.2, -0.3), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03))
    b.joint("root", "free", parent="world", child="brick")
    brick = b.build()
    q, _ = brick.random_state(1)
    inertia = brick.operational_inertia(q, "brick")
    close(inertia, brick.mass_matrix(q), 1e-14)
    assert inertia.rank == 6


# ---- singular configurations -----------------------------------------------------------------------------------------


def wrist_arm(unit: float = 1.0) -> rc.Robot:
    """A six-joint arm with a spherical wrist; lengths in metres over ``unit``."""
    b, parent = rc.Builder("wrist"), "world"
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    steps = [(0, 0, 0.3), (0, 0.1, 0.2), (0.4, 0, 0), (0.4, 0, 0.05), (0, 0, 0), (0, 0, 0)]
    for k, (axis, step) in enumerate(zip(axes, steps, strict=True), start=1):
        com = unit * np.array([0.05, 0.02, 0.03])
        b.link(f"l{k}", mass=2.0 / k, com=com, inertia=unit**2 * np.array([0.02, 0.03, 0.025]) / k)
        b.joint(f"j{k}", "revolute", parent=parent, child=f"l{k}", axis=axis, xyz=unit * np.array(step))
        parent = f"l{k}"
    b.frame("tool", parent="l6", xyz=unit * np.array([0.15, 0, 0]))
    return b.build(strict=False)


@pytest.mark.parametrize("unit", [1.0, 1000.0, 1e-3])
def test_rank_does_not_depend_on_the_unit_of_length(unit):
    arm = wrist_arm(unit)
    bent, straight = [0.3, 0.4, -0.8, 0.5, 0.6, 0.7], [0.3, 0.4, -0.8, 0.5, 0.0, 0.7]
    near, nearer = [*bent[:4], 1e-4, 0.7], [*bent[:4], 1e-9, 0.7]
    inertia = arm.operational_inertia([bent, straight, near, nearer], "tool")
    assert inertia.rank.tolist() == [6, 5, 6, 5]
    unscaled = np.diag([1.0] * 3 + [1.0 / unit] * 3)
    compliance = unscaled @ arm.operational_compliance(straight, "tool") @ unscaled * unit**2
    back = np.linalg.inv(unscaled) @ inertia[1] @ np.linalg.inv(unscaled) / unit**2
    close(compliance @ back @ compliance, compliance, 1e-8)
    assert [arm.operational_inertia(bent, f"l{k}").rank for k in range(1, 7)] == [1, 2, 3, 4, 5, 6]
    assert arm.operational_inertia(near, "tool", tolerance=1e-6).rank == 5


def test_pseudo_inverse_has_the_four_properties():
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(4, 6, 3))
    matrix = factor @ np.swapaxes(factor, -1, -2)
    inverse, rank = pseudo_inverse(factor, np.array([1.0, 1.0, 1.0, 3.0, 3.0, 3.0]))
    assert rank.tolist() == [3] * 4
    close(matrix @ inverse @ matrix, matrix, 1e-12)
    close(inverse @ matrix @ inverse, inverse, 1e-10)
    close(matrix @ inverse, np.swapaxes(matrix @ inverse, -1, -2), 1e-12)
    nothing, none = pseudo_inverse(np.zeros((6, 6)), np.ones(6))
    assert none == 0 and not nothing.any()


def in_many_digits(jacobian, mass) -> np.ndarray:
    """``inv(J inv(M) J*)`` in fifty digits."""
    with mpmath.workdps(50):
        j, m = mpmath.matrix(jacobian.tolist()), mpmath.matrix(mass.tolist())
        return np.array(((j * m**-1 * j.T) ** -1).tolist(), float)


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4])
def test_inertia_under_constraints_loses_only_as_many_digits_as_the_jacobian(angle):
    """As below, of a nearly stretched arm whose first two joints turn alike."""
    arm = rc.robots.planar(4).with_constraints(rc.JointRelation({"joint1": 1.0, "joint2": -1.0}, name="belt"))
    q = np.full(4, angle)
    rows = (2, 3, 4)
    free = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    jacobian = arm.jacobian(q, "tip", frame="body")[list(rows)] @ free
    exact = in_many_digits(jacobian, free.T @ arm.mass_matrix(q) @ free)
    found = arm.delassus_inverse(q, ["tip"], coordinates=rows)
    assert found.rank == 3
    close(found / np.abs(exact).max(), exact / np.abs(exact).max(), 1e-15 / angle)


@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-5])
def test_inertia_near_a_singular_state_loses_only_as_many_digits_as_the_jacobian(angle, form):
    """With the wrist nearly straight the compliance has a condition number of 1/angle^2, its factor of 1/angle."""
    arm = wrist_arm(1.0)
    q = np.array([0.3, 0.4, -0.8, 0.5, angle, 0.7])
    exact = in_many_digits(arm.jacobian(q, "tool", frame="mixed"), arm.mass_matrix(q))
    with answered(form):
        for _ in range(2):  # the second time by the native entry
            inertia = arm.operational_inertia(q, "tool", frame="mixed")
            assert inertia.rank == 6
            close(inertia, exact, 1e-14 / angle)
        close(arm.delassus_inverse(q, ["tool"], frame="mixed"), exact, 1e-14 / angle)
        close(rc.operational.model(arm, "tool", q, np.zeros(6)).mass, exact, 1e-14 / angle)


@pytest.mark.parametrize("invert", [None, _by_numpy])
def test_pseudo_inverse_is_as_accurate_as_the_condition_of_the_factor(invert):
    rng = np.random.default_rng(0)
    for _ in range(60):
        m, n = rng.integers(1, 9), rng.integers(1, 12)
        rank, condition = rng.integers(1, min(m, n) + 1), 10 ** rng.uniform(0.0, 5.0)
        left, right = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (m, n))
        factor, scale = (left * np.geomspace(1.0, 1.0 / condition, rank)) @ right.T, 10 ** rng.uniform(-0.4, 0.4, m)
        if invert is None:
            inverse, found = pseudo_inverse(factor, scale)
        else:
            inverse, found = (x[0] for x in invert(factor[None].copy(), scale, 1e-12))
        assert found == rank
        with mpmath.workdps(40):
            values, vectors = mpmath.eigsy(mpmath.matrix(factor.tolist()) * mpmath.matrix(factor.T.tolist()))
            largest = sorted(range(m), key=lambda k: -values[k])[:rank]
            exact = sum(np.array((vectors[:, k] * vectors[:, k].T / values[k]).tolist(), float) for k in largest)
        close(inverse, exact, 1e-14 * condition)


@pytest.mark.parametrize("invert", [None, _by_numpy])
@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 11.5), (np.float32, 5.5)])
def test_ranks_are_right_up_to_the_limit_of_each_precision(dtype, digits, invert):
    """Compliances with condition numbers up to that keep their rank, and singular ones have theirs."""
    rng = np.random.default_rng(3)
    for k in range(400):
        m = int(rng.integers(1, 13))
        n, rank = m + int(rng.integers(0, 6)), int(rng.integers(1, m + 1)) if k % 2 else m
        left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0][:, :rank] for size in (m, n))
        values = np.geomspace(1.0, 10 ** (-0.5 * rng.uniform(0.0, digits)), rank)
        scale = 10 ** rng.uniform(-0.4, 0.4, m)
        factor = (10 ** rng.uniform(-6.0, 6.0) * (left * values) @ right.T / scale[:, None]).astype(dtype)
        if invert is None:
            assert pseudo_inverse(factor, scale)[1] == rank
        else:
            assert invert(factor[None].astype(float), scale, rank_limit(dtype, None))[1] == [rank]


@pytest.mark.parametrize("form", ["straight", "loop"])
def test_singular_states_have_their_rank_in_both_precisions(form):
    arm = wrist_arm(1.0)
    bent, straight = np.array([[0.3, 0.4, -0.8, 0.5, angle, 0.7] for angle in (0.6, 0.0)])
    with answered(form):
        for dtype in (np.float64, np.float32):
            for _ in range(2):  # the second time by the native entry
                assert arm.operational_inertia(bent.astype(dtype), "tool").rank == 6
                assert arm.operational_inertia(straight.astype(dtype), "tool").rank == 5
                assert arm.delassus_inverse(straight.astype(dtype), ["tool"]).rank == 5
                assert arm.delassus_inverse(straight.astype(dtype), ["tool", "l5"]).rank == 6
            both = np.stack([bent, straight]).astype(dtype)
            assert arm.operational_inertia(both, "tool").rank.tolist() == [6, 5]


def test_states_that_are_not_numbers_pass_through():
    robot = rc.robots.planar(3)
    q = np.array([[0.1, 0.2, 0.3], [0.1, np.nan, 0.3]])
    inertia = robot.operational_inertia(q, "tip")
    assert np.isnan(inertia[1]).all() and inertia.rank.tolist() == [3, 0]
    close(inertia[0], robot.operational_inertia(q[0], "tip"), 1e-13)
    ship = rc.robots.free_flyer(1)
    still = ship.neutral()
    moved = np.array([still, still])
    moved[1, -1] = np.nan
    assert ship.operational_inertia(moved, "link1").rank.tolist() == [6, 0]


# ---- tasks -----------------------------------------------------------------------------------------------------------


@every_frame
def test_task_accelerates_as_its_equation_says(frame):
    robot = with_rotors(rc.robots.panda_like())
    q, v, wanted = (x[..., :6] if i == 2 else x for i, x in enumerate(states(robot, 3, seed=2)))
    task = rc.operational.model(robot, "flange", q, v, frame=frame)
    force = task.force(wanted)
    rng = np.random.default_rng(3)
    tau = (force[:, None] @ task.jacobian)[:, 0] + (rng.normal(size=(3, 1, 7)) @ task.projector)[:, 0]
    a = robot.forward_dynamics(q, v, tau)
    reached = (task.jacobian @ a[..., None] + task.jacobian_derivative @ v[..., None])[..., 0]
    close(reached, wanted, 1e-9)
    close(task.jacobian @ task.inverse, [np.eye(6)] * 3, 1e-10)
    close(task.projector @ task.projector, task.projector, 1e-10)
    close(task.movable, [np.eye(6)] * 3, 1e-9)
    close(task.inverse, rc.operational.consistent_inverse(robot, "flange", q, frame=frame), 1e-13)


def test_task_with_as_many_coordinates_as_speeds_is_the_cartesian_model():
    robot = with_rotors(rc.robots.puma560())
    q, v, _ = states(robot, 3, seed=1)
    link = robot.link_names[-1]
    ours, theirs = rc.operational.model(robot, link, q, v), rc.cartesian.model(robot, link, q, v)
    for name in theirs._fields:
        close(getattr(ours, name), getattr(theirs, name), 1e-8, name)
    close(ours.projector, np.zeros((3, 6, 6)), 1e-9)


def test_task_of_several_links():
    robot = floating_tree_with_rotors()
    q, v, a = states(robot, 2, seed=7)
    links = {robot.link_names[-1]: "position", robot.link_names[-3]: (0, 4)}
    task = rc.operational.model(robot, list(links), q, v, coordinates=links)
    assert task.mass.shape == (2, 5, 5) and task.rank.tolist() == [5, 5]
    wanted = a[:, :5]
    applied = (task.force(wanted)[:, None] @ task.jacobian)[:, 0]
    moved = robot.forward_dynamics(q, v, applied)
    reached = (task.jacobian @ moved[..., None] + task.jacobian_derivative @ v[..., None])[..., 0]
    close(reached, wanted, 1e-9)


def test_task_at_a_singularity_moves_where_it_can():
    arm = wrist_arm()
    q, v = np.array([0.3, 0.4, -0.8, 0.5, 0.0, 0.7]), np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    task = rc.operational.model(arm, "tool", q, v)
    assert task.rank == 5 and np.isfinite(task.mass).all()
    stuck = np.linalg.svd(task.immovable)[0][:, 0]
    close(np.linalg.norm(task.jacobian.T @ stuck), 0.0, 1e-9)  # no motion of the arm does work against it
    force = np.arange(1.0, 7.0)
    a = arm.forward_dynamics(q, v, task.jacobian.T @ force)
    acceleration = task.jacobian @ a + task.jacobian_derivative @ v
    close(task.force(acceleration), task.movable @ force, 1e-8)


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_leading_axes_out_and_number_types():
    robot = rc.robots.free_flyer(2)
    q, _, _ = states(robot, 6)
    q = q.reshape(2, 3, -1)
    for ask, shape in (
        (lambda q, **o: robot.operational_compliance(q, **o), (robot.nlinks, 6, 6)),
        (lambda q, **o: robot.operational_compliance(q, "link2", frame="world", **o), (6, 6)),
        (lambda q, **o: robot.operational_compliance_between(q, "link1", "link2", **o), (6, 6)),
        (lambda q, **o: robot.delassus(q, ["link1", "link2"], coordinates="position", **o), (6, 6)),
        (lambda q, **o: robot.delassus_inverse(q, ["link1"], **o), (6, 6)),
        (lambda q, **o: robot.operational_inertia(q, "link1", frame="mixed", **o), (6, 6)),
    ):
        expected = np.asarray(ask(q))
        assert expected.shape == (2, 3, *shape)
        close(ask(q[1, 2]), expected[1, 2], 1e-12)
        out = np.empty((2, 3, *shape))
        assert ask(q, out=out, threads=2) is out
        assert np.array_equal(out, expected)
        assert ask(q[:, :0]).shape == (2, 0, *shape)
        single = ask(q.astype(np.float32))
        assert single.dtype == np.float32
        close(single, expected, 2e-4)
        with pytest.raises(rc.ShapeError, match="out has shape"):
            ask(q, out=np.empty(3))


def test_rank_is_kept_where_it_can_be():
    robot = rc.robots.planar(3)
    q = np.array([[0.1, 0.2, 0.3], [0.4, 0.0, 0.0]])
    inertia = robot.operational_inertia(q, "tip")
    assert isinstance(inertia, RankedArray) and inertia.rank.tolist() == [3, 2]
    assert inertia[1].rank == 2 and isinstance(inertia[1].rank, int)
    assert inertia[::-1].rank.tolist() == [2, 3] and inertia[inertia.rank > 2].rank.tolist() == [3]
    assert pickle.loads(pickle.dumps(inertia)).rank.tolist() == [3, 2] and inertia.copy().rank.tolist() == [3, 2]
    for plain in (inertia + 1.0, inertia @ inertia, inertia[..., :3, :3], inertia[0, 0], inertia.sum(), inertia[0] * 2):
        assert not isinstance(plain, RankedArray)
    again = robot.operational_inertia(q[::-1], "tip", out=inertia)
    assert again is inertia and inertia.rank.tolist() == [2, 3]
    inertia += 1.0
    assert isinstance(inertia, RankedArray)


def test_wrong_arguments_are_named():
    robot = rc.robots.planar(3)
    q = robot.neutral()
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'tip'"):
        robot.operational_inertia(q, "tipp")
    with pytest.raises(rc.UnknownNameError, match="no frame 'wrold'"):
        robot.operational_compliance(q, frame="wrold")
    with pytest.raises(rc.UnknownNameError, match="no frame 'link'"):
        robot.operational_inertia(q, "tip", frame="link")
    with pytest.raises(rc.UnknownNameError, match="no frame 'link'"):
        robot.delassus(q, ["tip"], frame="link")
    with pytest.raises(rc.UnknownNameError, match="set of coordinates 'positions'"):
        robot.delassus(q, ["tip"], coordinates="positions")
    with pytest.raises(rc.UnknownNameError, match="link 'link1' in links, but coordinates are given for it"):
        robot.delassus(q, ["tip"], coordinates={"link1": "twist"})
    with pytest.raises(rc.UnknownNameError, match="no link '5'"):
        robot.delassus(q, 5)
    with pytest.raises(rc.StateError, match='a name such as "position", not 3'):
        robot.delassus(q, ["tip"], coordinates={"tip": 3})
    with pytest.raises(rc.StateError, match=r"different rows 0\.\.5"):
        robot.delassus(q, ["tip"], coordinates=(1, 6))
    for tolerance in (-1.0, 1.0, float("nan"), "small"):
        with pytest.raises(rc.StateError, match="tolerance is a fraction"):
            robot.operational_inertia(q, "tip", tolerance=tolerance)


def test_no_links_and_no_rows_are_empty_matrices():
    robot = rc.robots.planar(2)
    q = np.zeros((3, 2))
    for options in ({}, {"coordinates": ()}):
        links = ["tip"] if options else []
        assert robot.delassus(q, links, **options).shape == (3, 0, 0)
        assert robot.delassus_inverse(q, links, **options).rank.tolist() == [0, 0, 0]
        task = rc.operational.model(robot, links, q, q, **options)
        close(task.projector, [np.eye(2)] * 3)
    rock = rc.Builder("rock").frame("corner", parent="world", xyz=(1, 2, 3)).build()
    assert not rock.operational_compliance([]).any() and rock.operational_inertia([], "corner").rank == 0


def test_joint_with_nothing_to_move_is_named():
    b = rc.Builder("bare")
    b.link("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    b.link("hand")
    b.joint("shoulder", "revolute", parent="world", child="arm", axis=(0, 0, 1))
    b.joint("wrist", "revolute", parent="arm", child="hand", axis=(0, 1, 0))
    robot = b.build(strict=False)
    for ask in (
        lambda: robot.operational_compliance([0.1, 0.2]),
        lambda: robot.operational_compliance([0.1, 0.2], "hand"),
        lambda: robot.operational_inertia([0.1, 0.2], "hand"),
        lambda: robot.delassus([0.1, 0.2], ["hand", "arm"]),
    ):
        with np.errstate(all="ignore"), pytest.raises(rc.SingularHingeError, match="joint 'wrist'"):
            ask()


# ---- cost: counted ---------------------------------------------------------------------------------------------------


def operations(robot, plan) -> int:
    counter = Counter()
    run(plan, robot.model, {"q": counter.numbers([0.3] * robot.nq)})
    return counter.counts().total


def test_cost_grows_with_bodies_and_with_pairs_of_links():
    """All links O(n); m links O(n) and O(m^2): each body more costs the same, whatever hangs on the end."""
    robots = {n: rc.robots.chain(n, seed=1) for n in (20, 40, 60)}
    all_links = [operations(robot, compliance_plan("body")) for robot in robots.values()]
    assert all_links[1] - all_links[0] == pytest.approx(all_links[2] - all_links[1], rel=0.02)

    def between(n: int, m: int) -> int:
        """Links on the last m bodies of a chain whose first body carries one too."""
        bodies = [robots[n].model.link_index(f"link{k}") for k in (1, *range(n - m + 1, n + 1))]
        return operations(robots[n], blocks_plan(robots[n].model, dict.fromkeys(bodies, range(6)), "body"))

    few, many = ([between(n, m) for n in (20, 40, 60)] for m in (2, 8))
    assert few[2] - few[1] == pytest.approx(many[2] - many[1], rel=0.02)  # six columns through each body, however many
    assert few[1] - few[0] == pytest.approx(few[2] - few[1], rel=0.02)
    flyer = [rc.robots.free_flyer(n) for n in (10, 20, 30)]
    costs = [operations(robot, inertia_plan("body", robot.nlinks - 1, robot.model)) for robot in flyer]
    assert costs[1] - costs[0] == pytest.approx(costs[2] - costs[1], rel=0.02)


# ---- compiled --------------------------------------------------------------------------------------------------------


def asked(robot):
    last, middle = robot.link_names[-1], robot.link_names[len(robot.link_names) // 2]
    return {
        "all": lambda q: robot.operational_compliance(q),
        "all, world": lambda q: robot.operational_compliance(q, frame="world"),
        "one": lambda q: robot.operational_compliance(q, last, frame="mixed"),
        "inertia": lambda q: robot.operational_inertia(q, last),
        "delassus": lambda q: robot.delassus(q, [last, middle], coordinates="position", frame="mixed"),
    }


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("make", "form"), [(small_mixed_tree, None), (lambda: rc.robots.free_flyer(3), None), (small_mixed_tree, "loop")]
)
def test_compiled_matches_interpreted(make, form, monkeypatch):
    robot = make()
    monkeypatch.setattr(Switch, "form", form)
    q, _, _ = states(robot, 11)
    for name, ask in asked(robot).items():
        compiled = ask(q)
        Switch.on = False
        interpreted = ask(q)
        Switch.on = True
        close(compiled, interpreted, 1e-10, name)
        close(ask(q[3]), compiled[3], 1e-12, name)
    made = {plan.name: kernel for store in robot.evaluator.stores for plan, kernel in store._kernels.values()}
    assert "operational_blocks" in made
    assert all(kernel is not None for kernel in made.values())


@pytest.mark.compiled
def test_many_links_compile_as_loops():
    robot = rc.robots.tree(40, seed=5)
    q, _, _ = states(robot, 3)
    compiled = robot.operational_compliance(q)
    forms = {
        kernel.form for store in robot.evaluator.stores for _, kernel in store._kernels.values() if kernel is not None
    }
    assert forms == {"loop"}
    Switch.on = False
    close(compiled, robot.operational_compliance(q), 1e-10)
