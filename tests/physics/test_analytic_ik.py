"""Inverse kinematics in closed form: every branch verified, none missing, every geometry, singular and bad cases."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from robot_data import urdf_files

pytestmark = pytest.mark.filterwarnings("ignore::recursa.ModelWarning")

UR = {path.stem: path for path in urdf_files() if path.parents[1].name == "ur_description"}


def random_arm(seed: int, kind: str, *, off: float = 0.0) -> rc.Robot:
    """Six axes in general position but for what the kind says; frames of links, and of a tool, anywhere.

    ``off``: by how much, in rad and m, all axes are moved from where they should be.
    """
    rng = np.random.default_rng(seed)
    axes = [x / np.linalg.norm(x) for x in rng.normal(size=(6, 3))]
    points = list(0.4 * rng.normal(size=(6, 3)))
    if "wrist" in kind:
        points[4] = points[5] = points[3]
    if "2 parallel to 3" in kind:
        axes[2] = -axes[1]
    if "1 meets 2" in kind:
        points[1] = points[0]
    if "1 parallel to 2" in kind:
        axes[1] = axes[0]
    if kind == "shoulder":
        points[1] = points[2] = points[0]
    if kind == "2 3 4 parallel":
        axes[2], axes[3], points[5] = axes[1], -axes[1], points[4]
    if kind == "3 4 5 parallel":
        axes[3], axes[4], points[1] = axes[2], -axes[2], points[0]
    if "normal to 2" in kind:
        axes[2] = np.cross(axes[1], axes[2]) / np.linalg.norm(np.cross(axes[1], axes[2]))
    if off:
        axes = [x + off * y for x, y in zip(axes, rng.uniform(-1, 1, (6, 3)), strict=True)]
        points = [x + off * y for x, y in zip(points, rng.uniform(-1, 1, (6, 3)), strict=True)]
    text, here = [f'<robot name="arm{seed}"><link name="world"/>'], np.eye(4)
    parent = "world"
    for k in range(6):
        there = np.eye(4)
        there[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        there[:3, :3] *= np.sign(np.linalg.det(there[:3, :3]))
        there[:3, 3] = points[k] + 0.2 * rng.normal() * axes[k]
        text.append(
            joint_text(
                f"j{k + 1}",
                parent,
                f"l{k + 1}",
                np.linalg.inv(here) @ there,
                there[:3, :3].T @ axes[k],
                slides=k == 2 and "third slides" in kind,
            )
        )
        here, parent = there, f"l{k + 1}"
    text.append(
        '<link name="tool"/><joint name="grip" type="fixed"><parent link="l6"/><child link="tool"/>'
        '<origin xyz="0.1 0.2 0.05" rpy="0.3 0.4 1.2"/></joint></robot>'
    )
    return rc.load("".join(text))


def joint_text(name: str, parent: str, child: str, place: np.ndarray, axis: np.ndarray, *, slides: bool = False) -> str:
    r = place[:3, :3]
    rpy = np.arctan2(r[2, 1], r[2, 2]), -np.arcsin(r[2, 0]), np.arctan2(r[1, 0], r[0, 0])
    numbers = (" ".join(repr(float(x)) for x in part) for part in (place[:3, 3], rpy, axis))
    xyz, turns, along = numbers
    kind, limits = (
        ("prismatic", '<limit lower="-3" upper="3" effort="1" velocity="1"/>') if slides else ("continuous", "")
    )
    return (
        f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{turns}"/><axis xyz="{along}"/>{limits}</joint>'
    )


KINDS = (
    "wrist", "wrist, 2 parallel to 3", "wrist, 1 meets 2", "wrist, 1 parallel to 2", "shoulder", "2 3 4 parallel",
    "3 4 5 parallel", "wrist, 1 meets 2, third slides", "wrist, third slides normal to 2",
    "wrist, 1 parallel to 2, third slides",
)  # fmt: skip
ARMS = {
    "puma560": (lambda: rc.robots.puma560(), "link6"),
    "puma560, other frames": (lambda: puma_with_tool(), "grip"),
    "stanford": (lambda: rc.robots.stanford(), "link6"),
    "ur5_like": (lambda: rc.robots.ur5_like(), rc.robots.ur5_like().link_names[-1]),
    **{name: (lambda path=UR[name]: rc.load(path), "tool0") for name in ("ur5_robot", "ur10_robot") if name in UR},
    "panda_like, joint 7 held": (lambda: rc.robots.panda_like().reduced(lock={"joint7": 0.3}), "flange"),
    **{kind: (lambda kind=kind: random_arm(1, kind), "tool") for kind in KINDS},
}  # fmt: skip


def puma_with_tool() -> rc.Robot:
    return rc.robots.puma560().with_frame("grip", "link6", xyz=(0.02, -0.1, 0.2), rpy=(0.3, 1.0, -0.4))


def random_positions(robot: rc.Robot, count: int, seed: int = 0) -> np.ndarray:
    q = np.tile(robot.neutral(), (count, 1))
    q[:, :6] = np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))
    return q


def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The largest difference of angles, whole turns left out."""
    d = a - b
    return np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=-1)


@pytest.mark.parametrize("name", ARMS)
def test_every_branch_reaches_and_that_which_made_the_pose_is_among_them(name):
    make, link = ARMS[name]
    robot = make()
    q = random_positions(robot, 2000)
    poses = robot.pose(q, link)
    found = rc.analytic_inverse_kinematics(robot, link, poses)
    reached = robot.pose(found.q, link)
    miss = np.abs(reached - poses[:, None]).max(axis=(-2, -1))
    assert miss[found.valid].max() < 1e-11
    assert np.count_nonzero(miss[~found.valid] < 1e-9) < 20  # what is missing does not reach, or is another one again
    same = (apart(found.q, q[:, None]) < 1e-5) & found.valid
    assert same.any(axis=1).all()
    assert np.isfinite(found.q).all() and np.isfinite(found.error).all()
    assert (found.count % 2 == 0).mean() > 0.99  # they come and go in pairs
    if name.startswith("puma560"):
        assert found.count.max() == 8


def restarts(robot: rc.Robot, link: str, pose: np.ndarray, count: int) -> np.ndarray:
    """All solutions that Newton's method finds from random starts, by itself: an independent count."""
    q = random_positions(robot, count, seed=7)
    target = np.broadcast_to(pose, (count, 4, 4))
    for _ in range(60):
        error = robot.pose_error(q, link, target)
        J = robot.jacobian(q, link)[..., :6]
        square = J @ J.swapaxes(1, 2) + (0.5 * np.square(error).sum(axis=1) + 1e-14)[:, None, None] * np.eye(6)
        q[:, :6] += (J.swapaxes(1, 2) @ np.linalg.solve(square, error[..., None]))[..., 0]
    q = q[np.abs(robot.pose_error(q, link, target)).max(axis=1) < 1e-10]
    different: list[np.ndarray] = []
    for one in q:
        if all(apart(one, other) > 1e-4 for other in different):
            different.append(one)
    return np.array(different).reshape(-1, robot.nq)


COUNTED = ("puma560", "stanford", "ur5_robot", "ur10_robot", "wrist", "wrist, 2 parallel to 3", "shoulder")


@pytest.mark.parametrize("count", [12, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COUNTED)
def test_many_restarts_find_all_branches_and_no_others(name, count):
    if name not in ARMS:
        pytest.skip("example-robot-data is not installed")
    make, link = ARMS[name]
    robot = make()
    poses = robot.pose(random_positions(robot, count, seed=3), link)
    found = rc.analytic_inverse_kinematics(robot, link, poses)
    seen = total = 0
    for k, pose in enumerate(poses):
        branches = found.q[k][found.valid[k]]
        numeric = restarts(robot, link, pose, 400)
        assert all(apart(one, branches).min() < 1e-5 for one in numeric), "a solution that no branch is"
        seen, total = seen + len(numeric), total + len(branches)
    assert seen >= 0.98 * total  # those with a small basin of attraction may be missed by chance


def test_labels_stay_with_their_branch_along_a_motion():
    robot = rc.robots.puma560()
    a, b = np.array([0.1, -0.6, 0.2, 0.4, 0.8, -0.5]), np.array([0.5, -0.9, 0.5, 0.9, 1.2, 0.3])
    q = a + np.linspace(0, 1, 200)[:, None] * (b - a)
    found = rc.analytic_inverse_kinematics(robot, "link6", robot.pose(q, "link6"))
    same = apart(found.q, q[:, None]) < 1e-6
    assert same.all(axis=0).any()  # one and the same of the eight, all the way
    assert found.valid.all() and (apart(found.q[1:], found.q[:-1]) < 0.1).all()
    assert len(set(found.branches)) == 8


def test_limits_are_checked_branch_by_branch_and_turns_are_chosen_within_them():
    robot = rc.robots.puma560()
    low, high = robot.position_limits
    q = random_positions(robot, 500)
    found = rc.analytic_inverse_kinematics(robot, "link6", robot.pose(q, "link6"))
    inside = ((found.q >= low - 1e-9) & (found.q <= high + 1e-9)).all(axis=-1)
    assert np.array_equal(found.in_limits, found.valid & inside)
    assert 0 < found.in_limits.sum() < found.valid.sum()
    outside = found.q[found.valid & ~found.in_limits]
    turns = outside[..., None] + 2 * np.pi * np.arange(-2, 3)  # none would have helped
    assert not ((turns >= low[:, None]) & (turns <= high[:, None])).any(axis=-1).all(axis=-1).any()


def test_nearest_is_a_branch_within_limits():
    robot = rc.robots.puma560()
    q = np.array([0.1, -0.6, 0.2, 0.4, 0.8, -0.5])
    found = rc.analytic_inverse_kinematics(robot, "link6", robot.pose(q, "link6"))
    nearest, which = found.nearest(q + 0.01)
    assert apart(nearest, q) < 1e-9 and found.in_limits[which]
    far = np.eye(4)
    far[:3, 3] = 5.0
    nearest, which = rc.analytic_inverse_kinematics(robot, "link6", far).nearest(q)
    assert which == -1 and np.array_equal(nearest, q)


def test_a_singular_wrist_is_said_and_takes_the_free_angle_from_q0():
    robot = rc.robots.puma560()
    q = np.array([0.1, -0.6, 0.2, 0.4, 0.0, -0.5])
    found = rc.analytic_inverse_kinematics(robot, "link6", robot.pose(q, "link6"), q)
    assert found.singular[0, 2] and found.valid[0] and not found.valid[1] and found.count == 7
    assert apart(found.q[0], q) < 1e-7
    assert "singular wrist" in str(found)
    ur = rc.robots.ur5_like()
    q = np.array([0.1, -0.6, 0.9, 0.4, 0.0, -0.5])
    for start in (q, ur.neutral(), ur.neutral() + 2.0):
        found = rc.analytic_inverse_kinematics(ur, ur.link_names[-1], ur.pose(q, ur.link_names[-1]), start)
        assert (found.singular[..., 2] & found.valid).any()


@pytest.mark.parametrize("name", ["puma560", "stanford", "ur5_like", "panda_like, joint 7 held"])
def test_no_pose_is_lost_at_or_near_singular_configurations(name):
    make, link = ARMS[name]
    robot, rng, count = make(), np.random.default_rng(1), 1000
    q = random_positions(robot, count)
    away = rng.choice([0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3], size=(count, 6)) * rng.choice(
        [-1, 1], (count, 6)
    )
    right = rng.choice([0.0, 0.5, -0.5, 1.0], size=(count, 6)) * np.pi + away
    q[:, :6] = np.where(rng.uniform(size=(count, 6)) < 0.5, right, q[:, :6])
    if name == "stanford":
        q[:, 2] = rng.uniform(0.1, 0.5, count)
    poses = robot.pose(q, link)
    found = rc.analytic_inverse_kinematics(robot, link, poses, q)
    assert (found.count > 0).all() and np.isfinite(found.q).all() and np.isfinite(found.error).all()
    miss = np.abs(robot.pose(found.q, link) - poses[:, None]).max(axis=(-2, -1))
    assert miss[found.valid].max() < 2e-8
    assert ((apart(found.q, q[:, None]) < 1e-3) & found.valid).any(axis=1).mean() > 0.98  # angles lose digits there


def test_a_singular_shoulder_is_said():
    arm = anthropomorphic()
    q = np.array([0.7, 0.3, 0.0, 0.2, 0.5, 0.1])
    q[2] = third_angle_above_the_base(arm, q)
    pose = arm.pose(q, "tool")
    found = rc.analytic_inverse_kinematics(arm, "tool", pose, q)
    assert (found.singular[..., 0] & found.valid).any() and np.isfinite(found.q).all()
    assert (apart(found.q, q) < 1e-6).any()


def anthropomorphic() -> rc.Robot:
    """Shoulder without an offset: the wrist can stand above the base."""
    rows = (("z", 0.0, 0.3), ("y", 0.0, 0.1), ("y", 0.0, 0.5), ("x", 0.5, 0.0), ("y", 0.0, 0.0), ("x", 0.0, 0.0))
    text, parent = ['<robot name="elbow"><link name="world"/>'], "world"
    for k, (axis, x, z) in enumerate(rows):
        place = np.eye(4)
        place[:3, 3] = x, 0.0, z
        text.append(joint_text(f"j{k + 1}", parent, f"l{k + 1}", place, np.eye(3)["xyz".index(axis)]))
        parent = f"l{k + 1}"
    text.append(
        '<link name="tool"/><joint name="grip" type="fixed"><parent link="l6"/><child link="tool"/>'
        '<origin xyz="0.1 0 0"/></joint></robot>'
    )
    return rc.load("".join(text))


def third_angle_above_the_base(arm: rc.Robot, q: np.ndarray) -> float:
    """At which the wrist is on the first axis."""

    def sideways(angle: float) -> float:
        x, y, _ = arm.pose([*q[:2], angle, *q[3:]], "l5")[:3, 3]
        return float(x * np.cos(q[0]) + y * np.sin(q[0]))

    grid = np.linspace(-3.0, 3.0, 61)
    values = [sideways(a) for a in grid]
    k = next(k for k in range(60) if values[k] * values[k + 1] < 0)
    low, high = grid[k], grid[k + 1]
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sideways(low) * sideways(middle) > 0 else (low, middle)
    return low


def test_a_stretched_arm_is_one_elbow_and_beyond_it_is_out_of_reach():
    arm = anthropomorphic()
    q = np.array([0.7, 0.3, -np.pi / 2, 0.2, 0.5, 0.1])  # forearm in line with the upper arm
    pose = arm.pose(q, "tool")
    found = rc.analytic_inverse_kinematics(arm, "tool", pose)
    assert found.singular[found.valid][:, 1].any() and (apart(found.q[found.valid], q) < 1e-6).any()
    pose[:3, 3] *= 1.5
    found = rc.analytic_inverse_kinematics(arm, "tool", pose)
    assert found.count == 0 and "out of reach" in str(found) and np.isfinite(found.q).all()
    assert found.error[..., 1].min() > 0.1


@pytest.mark.parametrize("kind", ["wrist, 2 parallel to 3", "2 3 4 parallel"])
def test_axes_that_nearly_meet_are_brought_there_by_steps(kind):
    robot = random_arm(2, kind, off=2e-4)
    q = random_positions(robot, 300)
    poses = robot.pose(q, "tool")
    with pytest.raises(rc.NoClosedFormError, match="missed by"):
        rc.analytic_inverse_kinematics(robot, "tool", poses)
    found = rc.analytic_inverse_kinematics(robot, "tool", poses, geometry=1e-2)
    assert found.error[found.valid].max() < 1e-8
    assert ((apart(found.q, q[:, None]) < 1e-6) & found.valid).any(
        axis=1
    ).mean() > 0.94  # others are near where two branches meet


def test_targets_broadcast_and_are_the_same_alone():
    robot = rc.robots.puma560()
    q = random_positions(robot, 6).reshape(2, 3, 6)
    poses = robot.pose(q, "link6")
    found = rc.analytic_inverse_kinematics(robot, "link6", poses)
    assert found.q.shape == (2, 3, 8, 6) and found.valid.shape == (2, 3, 8) and found.count.shape == (2, 3)
    one = rc.analytic_inverse_kinematics(robot, "link6", poses[1, 2])
    assert np.allclose(one.q, found.q[1, 2], atol=1e-12) and one.q.shape == (8, 6)
    none = rc.analytic_inverse_kinematics(robot, "link6", np.zeros((0, 4, 4)))
    assert none.q.shape == (0, 8, 6)


def test_other_joints_keep_their_positions():
    robot = rc.load(UR["ur5_gripper"]) if "ur5_gripper" in UR else None
    if robot is None:
        pytest.skip("example-robot-data is not installed")
    q = robot.random_state(1)[0]
    found = rc.analytic_inverse_kinematics(robot, "tool0", robot.pose(q, "tool0"), q)
    arm = [
        robot.model.joints[k].q_start
        for k in robot.model.support(robot.model.links[robot.model.link_index("tool0")].body)
    ]
    others = [k for k in range(robot.nq) if k not in arm]
    assert (found.q[:, others] == q[others]).all()


@pytest.mark.parametrize(
    ("make", "link", "words"),
    [
        (lambda: rc.robots.panda_like(), "flange", "7 joints.*robot.reduced"),
        (lambda: rc.robots.planar(2), "tip", "2 joints"),
        (lambda: rc.robots.chain(6, seed=2, joints="mixed"), None, "closed form|directions only|of kind"),
        (lambda: rc.robots.free_flyer(5), "link5", "'root' is of kind 'free'"),
        (lambda: random_arm(0, "none"), "tool", "axes 4, 5, 6 meet in a point: missed by 0.0"),
        (lambda: rc.robots.planar(6), "tip", "in 3 directions only"),
    ],
)
def test_arms_without_a_closed_form_are_told_why(make, link, words):
    robot = make()
    with pytest.raises(rc.NoClosedFormError, match=words) as told:
        rc.analytic_inverse_kinematics(robot, link or robot.link_names[-1], np.eye(4))
    assert "rc.inverse_kinematics" in str(told.value)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"poses": np.diag([1.0, 1.0, -1.0, 1.0])}, rc.StateError, "mirror image"),
        ({"poses": np.full((4, 4), np.nan)}, rc.StateError, "finite"),
        ({"poses": np.eye(3)}, rc.ShapeError, "4, 4"),
        ({"poses": np.eye(4), "q0": np.full(6, np.inf)}, rc.StateError, "q0"),
        ({"poses": np.eye(4), "geometry": 1.0}, rc.StateError, "geometry"),
        ({"poses": np.eye(4), "tolerance": 0.0}, rc.StateError, "tolerance"),
    ],
)
def test_bad_arguments_are_said(options, error, words):
    with pytest.raises(error, match=words):
        rc.analytic_inverse_kinematics(rc.robots.puma560(), "link6", **options)
