"""Goals of inverse kinematics: each means what it says, has the right Jacobian, and keeps its priority."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
import search_oracle
from questions import answered
from recursa.reach import search_steps
from recursa.reach.search_steps import Motions
from recursa.reach.tasks import KINDS, Task
from zoo import large_flyer, mixed_tree, one_of_each, small_flyer

TREES = {
    "small_flyer": small_flyer,
    "mixed_tree": mixed_tree,
    "one_of_each": one_of_each,
    "chain of 13": lambda: rc.robots.chain(13, seed=2, joints="mixed"),
    "chain of 19": lambda: rc.robots.chain(19, seed=4, joints="mixed"),
    "large_flyer": large_flyer,
}
AXIS, AT = np.array([0.6, 0.0, 0.8]), np.array([0.1, -0.2, 0.05])


def point_of(robot: rc.Robot, q: np.ndarray, link: str, at: np.ndarray = AT) -> np.ndarray:
    pose = robot.pose(q, link)
    return pose[..., :3, :3] @ at + pose[..., :3, 3]


def met_at(robot: rc.Robot, q: np.ndarray, links: tuple[str, str], kind: str) -> rc.reach.Goal:
    """A goal of a kind that holds at a configuration."""
    link, other = links
    pose = robot.pose(q, link)
    point, axis = point_of(robot, q, link), pose[:3, :3] @ AXIS
    if kind == "relative":
        return rc.reach.Relative(link, other, np.linalg.inv(robot.pose(q, other)) @ pose)
    if kind.startswith("center_of_mass"):
        axes = {"center_of_mass": "xyz", "center_of_mass_2": "xz", "center_of_mass_1": "y"}[kind]
        return rc.reach.CenterOfMass(robot.center_of_mass(q), axes)
    return {
        "pose": rc.reach.Pose(link, pose),
        "orientation": rc.reach.Orientation(link, pose[:3, :3]),
        "position": rc.reach.Position(link, point, at=AT),
        "plane": rc.reach.Plane(link, point + np.cross(AXIS, [0.3, 1.0, 2.0]), normal=2.0 * AXIS, at=AT),
        "line": rc.reach.Line(link, point - 0.7 * AXIS, direction=AXIS, at=AT),
        "look_at": rc.reach.LookAt(link, point + 0.6 * axis, axis=AXIS, at=AT),
        "along": rc.reach.Along(link, 3.0 * axis, axis=AXIS),
    }[kind]


def missing(robot: rc.Robot, q: np.ndarray, goal: rc.reach.Goal) -> float:
    """By how much a goal is missed, from poses alone."""
    if isinstance(goal, rc.reach.CenterOfMass):
        gap = np.asarray(goal.point) - robot.center_of_mass(q)
        return max(abs(gap["xyz".index(axis)]) for axis in goal.axes)
    pose = robot.pose(q, goal.link)
    if isinstance(goal, rc.reach.Pose):
        return np.abs(pose - goal.pose).max()
    if isinstance(goal, rc.reach.Relative):
        return np.abs(np.linalg.inv(robot.pose(q, goal.to)) @ pose - goal.pose).max()
    if isinstance(goal, rc.reach.Orientation):
        return np.abs(pose[:3, :3] - np.asarray(goal.rotation)).max()
    if isinstance(goal, rc.reach.Along):
        wanted = np.asarray(goal.direction) / np.linalg.norm(goal.direction)
        return np.linalg.norm(pose[:3, :3] @ goal.axis - wanted)
    gap = np.asarray(goal.point) - point_of(robot, q, goal.link, np.asarray(goal.at))
    if isinstance(goal, rc.reach.LookAt):
        return np.linalg.norm(pose[:3, :3] @ goal.axis - gap / np.linalg.norm(gap))
    if isinstance(goal, rc.reach.Plane):
        return abs(gap @ goal.normal) / np.linalg.norm(goal.normal)
    if isinstance(goal, rc.reach.Line):
        return np.linalg.norm(np.cross(goal.direction, gap)) / np.linalg.norm(goal.direction)
    return np.linalg.norm(gap)


def ends(robot: rc.Robot) -> tuple[str, str]:
    return robot.link_names[-1], robot.link_names[len(robot.link_names) // 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["small_flyer", "one_of_each", "chain of 13"])
def test_the_jacobian_of_a_goal_is_how_its_error_shrinks(name, kind):
    robot = TREES[name]()
    q = robot.random_state(3)[0]
    goal = met_at(robot, q, ends(robot), kind)
    goals = Motions(robot.model, (Task(*goal.task(robot.model), 0),), False)
    wanted = np.array([[*goal.numbers(), 1.0, 1.0]])

    def errors(at: np.ndarray) -> np.ndarray:
        here = goals.frames(at[None])
        free = np.ones((1, robot.nv))
        bounds = -np.full((1, robot.nv), np.inf), np.full((1, robot.nv), np.inf), free
        told = search_oracle.evaluate(
            goals, "step", at[None], here, wanted, *bounds, np.empty((1, 0)), np.array([[1e-8, 1e-8, 0.0, 0.5]])
        )
        return told[0, robot.nq : robot.nq + goals.goals.rows]

    assert np.abs(errors(q)).max() < 1e-12
    equations = goals.goals.equations(goals.frames(q[None])[0], wanted[0], np.ones(robot.nv))
    J, h = np.array([[float(x) for x in one.row] for task in equations for one in task]), 1e-6
    moved = [[errors(robot.integrate(q, s * h * unit)) for s in (1.0, -1.0)] for unit in np.eye(robot.nv)]
    differences = np.stack([(plus - minus) / (2.0 * h) for plus, minus in moved], axis=1)
    assert np.allclose(J, -differences, atol=1e-7 * max(1.0, np.abs(J).max()))
    assert np.abs(J).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TREES)
def test_a_goal_that_is_met_means_what_it_says(name, kind):
    robot = TREES[name]()
    rng = np.random.default_rng(1)
    goal = met_at(robot, robot.random_state(rng)[0], ends(robot), kind)
    found = rc.inverse_kinematics(robot, goal, q0=robot.random_state(rng)[0])
    assert found.solved
    assert found.met.all()
    assert missing(robot, found.q, goal) < 1e-7


@pytest.mark.parametrize("name", ["small_flyer", "one_of_each", "chain of 19", "large_flyer"])
def test_searches_agree_in_every_form(name):
    answers = []
    for form in ("numpy", "straight", "loop"):
        robot = TREES[name]()
        rng = np.random.default_rng(0)
        goals = [met_at(robot, robot.random_state(rng)[0], ends(robot), kind) for kind in ("position", "along")]
        goals.append(met_at(robot, robot.random_state(rng)[0], ends(robot), "center_of_mass_1"))
        goals[-1] = rc.reach.CenterOfMass(goals[-1].point, "y", priority=1)
        start = np.stack([robot.integrate(robot.neutral(), 0.1 * robot.random_state(rng)[1]) for _ in range(3)])
        with search_oracle.searching() if form == "numpy" else answered(form):
            answers.append(rc.inverse_kinematics(robot, goals, q0=start, restarts=0, posture=robot.neutral()))
    plain, *others = answers
    for other in others:
        assert np.array_equal(other.solved, plain.solved)
        assert np.allclose(other.q[plain.solved], plain.q[plain.solved], atol=1e-5)
        assert np.allclose(other.error, plain.error, atol=1e-5)


@pytest.mark.parametrize("name", ["small_flyer", "one_of_each", "chain of 13"])
def test_steps_in_parts_are_the_steps_in_one(name, monkeypatch):
    answers = []
    for longest in (10**6, 0):
        monkeypatch.setattr(search_steps, "LONGEST_STEP", longest)
        robot = TREES[name]()
        rng = np.random.default_rng(6)
        q = np.stack([robot.random_state(rng)[0] for _ in range(11)])
        first, second = ends(robot)
        goals = [
            rc.reach.Position(first, robot.pose(q, first)[:, :3, 3], weight=2.0, priority=1),
            rc.reach.Along(second, robot.pose(q, second)[:, :3, 0], axis=[1, 0, 0], priority=-1),
            rc.reach.CenterOfMass([9.0, 9.0, 9.0], "xz", priority=2),
        ]
        posture = robot.random_state(rng)[0]
        answers.append(rc.inverse_kinematics(robot, goals, q0=q[0], restarts=0, posture=posture))
        answers.append(rc.inverse_kinematics(robot, first, robot.pose(q, first), q[1], restarts=3))
    for spelled, looped in zip(answers[:2], answers[2:], strict=True):
        assert np.array_equal(spelled.solved, looped.solved)
        assert np.array_equal(spelled.met, looped.met)
        assert np.allclose(spelled.q[spelled.solved], looped.q[spelled.solved], atol=1e-6)
    assert answers[1].solved.any()
    assert answers[0].met[:, :2].all()


def test_a_humanoid_of_many_rows_stands_and_reaches():
    robot = large_flyer()
    q = np.stack([robot.random_state(seed)[0] for seed in range(9)])
    links = robot.link_names[-1:-5:-1]
    goals = [rc.reach.Pose(link, robot.pose(q, link)) for link in links] + [
        rc.reach.CenterOfMass(robot.center_of_mass(q))
    ]
    found = rc.inverse_kinematics(robot, goals, q0=q[::-1])
    assert found.solved.all()
    for link in links:
        assert np.abs(robot.pose(found.q, link) - robot.pose(q, link)).max() < 1e-7
    alone = [type(one)(one.link, one.pose[5]) for one in goals[:-1]] + [rc.reach.CenterOfMass(goals[-1].point[5])]
    assert np.array_equal(rc.inverse_kinematics(robot, alone, q0=q[3]).q, found.q[5])


def test_several_goals_are_met_at_once_for_many_targets():
    robot = large_flyer()
    rng = np.random.default_rng(2)
    q = np.stack([robot.random_state(rng)[0] for _ in range(5)])
    first, second = ends(robot)
    poses = robot.poses(q)
    at = [robot.link_names.index(name) for name in (first, second)]
    goals = [
        rc.reach.Pose(first, poses[:, at[0]]),
        rc.reach.Position(second, poses[:, at[1], :3, 3], weight=2.0),
        rc.reach.CenterOfMass(robot.center_of_mass(q)),
    ]
    found = rc.inverse_kinematics(robot, goals, q0=robot.neutral())
    assert found.solved.all()
    assert found.q.shape == (5, robot.nq)
    assert [one.shape for one in found.errors] == [(5, 6), (5, 3), (5, 3)]
    assert np.abs(robot.pose(found.q, first) - poses[:, at[0]]).max() < 1e-7
    assert np.abs(robot.center_of_mass(found.q) - robot.center_of_mass(q)).max() < 1e-7
    alone = rc.inverse_kinematics(
        robot,
        [
            goals[0].__class__(first, poses[3, at[0]]),
            *(rc.reach.Position(second, poses[3, at[1], :3, 3], weight=2.0), rc.reach.CenterOfMass(goals[2].point[3])),
        ],
        q0=robot.neutral(),
    )
    assert np.array_equal(alone.q, found.q[3])


def test_a_lower_priority_does_not_disturb_a_higher_one():
    robot = rc.robots.panda_like()
    q = np.stack([robot.random_state(seed)[0] for seed in range(30)])
    first = rc.reach.Position("flange", robot.pose(q, "flange")[:, :3, 3])
    second = rc.reach.Position("link4", [0.0, 3.0, 0.5], priority=1)  # far out of reach
    both = rc.inverse_kinematics(robot, [first, second])
    assert not both.solved.any()
    assert both.met[:, 0].all()
    assert both.distance.min() > 1.0
    # what is left to the second goal is used up: no small motion that keeps the first comes nearer
    gap = [0.0, 3.0, 0.5] - robot.pose(both.q, "link4")[:, :3, 3]
    low, high = robot.position_limits
    stuck = 0
    for q_found, way in zip(both.q, gap, strict=True):
        free = (q_found > low + 1e-6) & (q_found < high - 1e-6)
        J1 = robot.jacobian(q_found, "flange", frame="mixed")[3:, free]
        J2 = robot.jacobian(q_found, "link4", frame="mixed")[3:, free]
        null = np.eye(free.sum()) - np.linalg.pinv(J1, rcond=1e-6) @ J1
        stuck += np.linalg.norm(null @ J2.T @ way) < 1e-2 * np.linalg.norm(way)
    assert stuck >= 27
    level = rc.inverse_kinematics(robot, [first, rc.reach.Position("link4", [0.0, 3.0, 0.5])])
    assert not level.met.any()  # on one level both give way
    assert np.linalg.norm(level.errors[0], axis=1).min() > 1e-3


def test_weights_decide_between_goals_of_one_priority():
    robot = rc.robots.planar(3)
    tip = robot.link_names[-1]
    here, there = [[0.6, 0.0, 0.0], [0.0, 0.6, 0.0]]

    def gaps(weight: float) -> tuple[float, float]:
        goals = [rc.reach.Position(tip, here, weight=weight), rc.reach.Position(tip, there)]
        found = rc.inverse_kinematics(robot, goals)
        return tuple(float(np.linalg.norm(one)) for one in found.errors)

    equal, first = gaps(1.0), gaps(10.0)
    assert np.isclose(*equal, rtol=1e-4)
    assert np.isclose(first[1] / first[0], 100.0, rtol=1e-3)  # least of w^2 x^2 + (d - x)^2


def test_a_posture_is_kept_as_far_as_goals_allow():
    robot = rc.robots.panda_like()
    posture = np.array([0.1, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5])
    wanted = robot.pose(robot.random_state(4)[0], "flange")
    found = rc.inverse_kinematics(robot, "flange", wanted, posture=posture)
    assert found.solved
    near = np.linalg.norm(found.q - posture)
    others = [rc.inverse_kinematics(robot, "flange", wanted, robot.random_state(seed)[0]) for seed in range(6)]
    assert all(near < np.linalg.norm(one.q - posture) for one in others)
    low, high = robot.position_limits
    free = (found.q > low + 1e-6) & (found.q < high - 1e-6)
    J = robot.jacobian(found.q, "flange")[:, free]
    left = (np.eye(free.sum()) - np.linalg.pinv(J) @ J) @ (posture - found.q)[free]
    assert np.linalg.norm(left) < 1e-4
    still = rc.inverse_kinematics(
        robot, rc.reach.Position("flange", robot.pose(posture, "flange")[:3, 3]), posture=posture
    )
    assert np.abs(still.q - posture).max() < 1e-9


def gripper() -> rc.Robot:
    """An arm of three joints with a finger that opens with another, and with a wrist tied to its elbow."""
    b = rc.Builder("gripper")
    for name in ("upper", "fore", "hand", "left", "right"):
        b.link(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    b.joint("shoulder", "revolute", parent="world", child="upper", axis=(0, 0, 1), limits=(-2.0, 2.0))
    b.joint("elbow", "revolute", parent="upper", child="fore", axis=(0, 0, 1), xyz=(0.4, 0, 0), limits=(-2.5, 2.5))
    b.joint(
        "wrist",
        "revolute",
        parent="fore",
        child="hand",
        axis=(0, 0, 1),
        xyz=(0.3, 0, 0),
        limits=(-0.5, 0.5),
        mimic=("elbow", -0.5, 0.1),
    )
    b.joint("slide", "prismatic", parent="hand", child="left", axis=(0, 1, 0), limits=(0.0, 0.05))
    b.joint(
        "other",
        "prismatic",
        parent="hand",
        child="right",
        axis=(0, 1, 0),
        limits=(-0.03, 0.0),
        mimic=("slide", -1.0, 0.0),
    )
    return b.build(mimic="tie")


def test_tied_joints_move_with_the_others_and_keep_their_limits():
    robot = gripper()
    assert robot.nq == 3
    rng = np.random.default_rng(0)
    low, high = np.array([-2.0, -0.8, 0.0]), np.array([2.0, 1.2, 0.03])  # those of wrist and other finger included
    q = rng.uniform(low, high, (200, 3))
    found = rc.inverse_kinematics(robot, "left", robot.pose(q, "left"))
    assert found.solved.all()
    assert (found.q >= low - 1e-12).all()
    assert (found.q <= high + 1e-12).all()
    assert np.abs(robot.pose(found.q, "left") - robot.pose(q, "left")).max() < 1e-7
    fingers = [
        rc.reach.Pose("left", robot.pose(q, "left")),
        rc.reach.Position("right", robot.pose(q, "right")[:, :3, 3]),
    ]
    assert rc.inverse_kinematics(robot, fingers).solved.all()
    wide = rc.inverse_kinematics(
        robot,
        rc.reach.Relative("left", "hand", robot.pose([0, 0, 0.05], "left") @ np.eye(4)),
        q0=[0.0, 0.0, 0.01],
        joints=["slide"],
    )
    assert not wide.solved
    assert np.isclose(wide.q[2], 0.03)
    assert wide.held_by.tolist() == [False, False, True]
    with search_oracle.searching():
        again = rc.inverse_kinematics(gripper(), "left", robot.pose(q[:20], "left"))
    assert again.solved.all()
    with pytest.raises(rc.RecursaError, match="'wrist' is tied to 'elbow' and moves with it; name 'elbow' in joints="):
        rc.inverse_kinematics(robot, "hand", np.eye(4), q[0], joints=["wrist"])


def test_ties_that_no_limits_allow_are_named():
    b = rc.Builder("torn")
    b.link("a", mass=1.0)
    b.link("b", mass=1.0)
    b.joint("first", "prismatic", parent="world", child="a", limits=(0.0, 1.0))
    b.joint("second", "prismatic", parent="a", child="b", limits=(3.0, 4.0), mimic=("first", 1.0, 0.0))
    with pytest.raises(rc.ModelError, match="'first' and the joints that are tied to it cannot all be within"):
        rc.inverse_kinematics(b.build(mimic="tie"), "b", np.eye(4))


def test_a_free_base_moves_or_is_held():
    robot = small_flyer()
    base, tip, q0 = robot.joint_names[0], robot.link_names[-1], small_flyer().random_state(3)[0]
    far = np.eye(4)
    far[:3, 3] = [30.0, 0.0, 0.0]
    moved = rc.inverse_kinematics(robot, tip, far, q0)
    held = rc.inverse_kinematics(robot, tip, far, q0, hold=[base])
    assert moved.solved
    assert not held.solved
    assert held.out_of_reach
    assert held.distance > 5.0
    assert np.array_equal(held.q[:7], q0[:7])
    near = robot.integrate(q0, np.r_[np.zeros(6), 0.1 * np.ones(robot.nv - 6)])
    again = rc.inverse_kinematics(robot, tip, robot.pose(near, tip), q0, hold=[base])
    assert again.solved
    assert np.array_equal(again.q[:7], q0[:7])


def test_the_opposite_of_a_direction_is_turned_round():
    robot = rc.robots.panda_like()
    q = robot.random_state(2)[0]
    pose = robot.pose(q, "flange")
    found = rc.inverse_kinematics(robot, rc.reach.Along("flange", -pose[:3, 2]), q0=q, restarts=0)
    assert found.solved
    assert found.iterations > 1


def test_what_is_missing_is_told_goal_by_goal():
    robot = rc.robots.panda_like()
    goals = [rc.reach.Position("flange", [3.0, 0.0, 0.0], priority=1), rc.reach.Along("flange", [0.0, 0.0, -1.0])]
    found = rc.inverse_kinematics(robot, goals)
    assert found.met.tolist() == [False, True]
    assert "not met: Position('flange', priority=1)" in str(found)
    assert found.angle < 1e-8
    assert np.isclose(found.distance, np.linalg.norm(found.errors[0]))


BAD = [
    ([], r"goals such as rc.reach.Pose\(link, pose\), not \[\]"),
    ([3], "not 3"),
    (rc.reach.Position("flang", [0, 0, 0]), "Did you mean 'flange'"),
    (rc.reach.Position("flange", [0, 0]), r"point has shape \(2,\), expected three numbers"),
    (rc.reach.Position("flange", [0, 0, np.nan]), "point must be finite"),
    (rc.reach.Position("flange", np.zeros((3, 3)), at=np.zeros((2, 3))), "do not fit together"),
    (rc.reach.Position("flange", [0, 0, 1j]), "real"),
    (rc.reach.Plane("flange", [0, 0, 0], normal=[0, 0, 0]), "normal is a direction"),
    (rc.reach.Along("flange", [0, 0, 1], axis="up"), "axis"),
    (rc.reach.Orientation("flange", 2 * np.eye(3)), "is no rotation"),
    (rc.reach.Orientation("flange", np.eye(2)), r"or rotations \(..., 3, 3\)"),
    (rc.reach.Relative("flange", "flange", np.eye(4)), "no pose relative to itself"),
    (rc.reach.CenterOfMass([0, 0, 0], axes="zy"), "choice of axes"),
    (rc.reach.Pose("flange", np.eye(4), weight=0.0), "weight must be positive"),
    (rc.reach.Pose("flange", np.eye(4), weight="much"), "weight must be a number or a pair"),
    (rc.reach.Pose("flange", np.eye(4), priority=0.5), "priority must be a whole number"),
    ([rc.reach.Position("flange", [0, 0, 0], priority=k) for k in range(17)], "at most 16"),
]


@pytest.mark.parametrize("goals, message", BAD)
def test_bad_goals_are_named(goals, message):
    with pytest.raises(rc.RecursaError, match=message):
        rc.inverse_kinematics(rc.robots.panda_like(), goals)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"poses": np.eye(4)}, "goals say themselves what is wanted"),
        ({"hold": ["joint1"]}, "q0= must say where the others are"),
        ({"hold": "joint1", "q0": [0.0] * 7}, r"several names of joints, as in hold=\['joint1'\]"),
        ({"posture": [0.0] * 6}, "nq = 7"),
        ({"posture": [np.nan] * 7}, "posture must be finite"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(rc.RecursaError, match=message):
        rc.inverse_kinematics(rc.robots.panda_like(), rc.reach.Pose("flange", np.eye(4)), **options)


def test_a_robot_without_mass_has_no_centre():
    b = rc.Builder("light")
    b.link("a", mass=0.0)
    b.joint("first", "revolute", parent="world", child="a", axis=(0, 0, 1))
    with pytest.raises(rc.ModelError, match="no centre of mass"):
        rc.inverse_kinematics(b.build(strict=False), rc.reach.CenterOfMass([0, 0, 0]))


def test_what_nothing_moves_is_told():
    robot = rc.robots.panda_like()
    still = rc.inverse_kinematics(robot, "world" if "world" in robot.link_names else robot.link_names[0], np.eye(4))
    assert still.q.shape == (7,)
