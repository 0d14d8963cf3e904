"""Robots made from others, against robots that were written that way, and against rows and columns of matrices."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.model.description import Actuator, Closure, NamedState, Relation
from zoo import ZOO, mixed_tree, one_of_each

pytestmark = pytest.mark.interpreted(reason="many robots, each asked once")

LINK = '<link name="{0}"><inertial><origin xyz="0.1 0.02 {1}" rpy="0.1 0.2 0.3"/><mass value="{1}"/>\
<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.04"/></inertial></link>'
JOINT = '<joint name="{0}" type="{1}"><origin xyz="{4}" rpy="{5}"/><parent link="{2}"/><child link="{3}"/>\
<axis xyz="0.6 0 0.8"/><limit lower="-1" upper="1" effort="5" velocity="2"/>\
<dynamics damping="0.1" friction="0.2"/>{6}</joint>'


def urdf(name: str, *parts: str) -> str:
    return f'<robot name="{name}">{"".join(parts)}</robot>'


ARM = (
    LINK.format("base", 5.0),
    LINK.format("upper", 2.0),
    LINK.format("lower", 1.5),
    '<link name="flange"/>',
    JOINT.format("shoulder", "revolute", "base", "upper", "0 0 0.3", "0.1 0 0", ""),
    JOINT.format("elbow", "revolute", "upper", "lower", "0.4 0 0", "0 0.5 0", ""),
    '<joint name="weld" type="fixed"><origin xyz="0.3 0 0" rpy="0 0 1"/><parent link="lower"/>'
    '<child link="flange"/></joint>',
)
GRIPPER = (
    LINK.format("palm", 0.5),
    LINK.format("left", 0.1),
    LINK.format("right", 0.1),
    JOINT.format("left_slide", "prismatic", "palm", "left", "0 0.02 0.1", "0 0 0", ""),
    JOINT.format(
        "right_slide", "prismatic", "palm", "right", "0 -0.02 0.1", "0 0 3", '<mimic joint="left_slide" offset="0.01"/>'
    ),
)
MOUNT = '<joint name="mount" type="fixed"><origin xyz="0 0.1 0.05" rpy="0.3 0.2 0.1"/><parent link="flange"/>\
<child link="palm"/></joint>'
PLACE: dict[str, Any] = {"xyz": (0, 0.1, 0.05), "rpy": (0.3, 0.2, 0.1)}


def arm() -> rc.Robot:
    return rc.load(urdf("arm", *ARM))


def gripper(**options: Any) -> rc.Robot:
    return rc.load(urdf("gripper", *GRIPPER), **options)


def same_mechanics(one: rc.Robot, other: rc.Robot, tolerance: float = 0.0) -> None:
    """Everything that could differ, at random states."""
    assert (one.joint_names, one.link_names, one.nq) == (other.joint_names, other.link_names, other.nq)
    for seed in range(3):
        q, v = other.random_state(seed)
        a = np.random.default_rng(seed).normal(size=other.nv)
        for quantity in (
            lambda r: r.poses(q),  # noqa: B023
            lambda r: r.mass_matrix(q),  # noqa: B023
            lambda r: r.inverse_dynamics(q, v, a, losses=True),  # noqa: B023
            lambda r: r.jacobian(q, r.link_names[-1]),  # noqa: B023
            lambda r: r.position_limits,
            lambda r: r.effort_limits,
        ):
            found, expected = quantity(one), quantity(other)
            if tolerance:
                close(found, expected, tolerance)
            else:
                assert np.array_equal(found, expected)


# ---- attach ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mimic", ["free", "tie"])
def test_attached_gripper_is_the_one_in_the_file(mimic: Any) -> None:
    joined = rc.load(urdf("arm", *ARM, MOUNT, *GRIPPER), mimic=mimic)
    same_mechanics(arm().attach(gripper(mimic=mimic), at="flange", **PLACE), joined)


def test_attached_with_a_prefix() -> None:
    robot = arm().attach(gripper(), at="flange", **PLACE, prefix="tool_")
    assert robot.joint_names == ("shoulder", "elbow", "tool_left_slide", "tool_right_slide")
    assert robot.link_names[-3:] == ("tool_palm", "tool_left", "tool_right")
    assert robot.model.joints[-1].mimic.joint == "tool_left_slide"
    assert rc.load(robot.to_urdf(), mimic="tie").nv == 3


def test_two_arms_on_one_base() -> None:
    b = rc.Builder("torso")
    b.link("box", mass=10.0, inertia=(1, 1, 1))
    b.joint("waist", "revolute", parent="world", child="box")
    b.frame("left", parent="box", xyz=(0, 0.2, 0.5))
    b.frame("right", parent="box", xyz=(0, -0.2, 0.5), rpy=(0, 0, math.pi))
    robot = b.build().attach(arm(), at="left", prefix="left_").attach(arm(), at="right", prefix="right_")
    assert robot.joint_names == ("waist", "left_shoulder", "left_elbow", "right_shoulder", "right_elbow")
    q = np.array([0.0, 0.3, -0.4, 0.3, -0.4])
    left, right = (robot.pose(q, f"{side}_flange") for side in ("left", "right"))
    own = arm().pose([0.3, -0.4], "flange")
    close(left[:3, 3], own[:3, 3] + [0, 0.2, 0.5], 1e-14)
    close(right[:3, 3], np.diag([-1, -1, 1]) @ own[:3, 3] + [0, -0.2, 0.5], 1e-14)
    expected = 10.0 + 2 * (5.0 + 2.0 + 1.5)
    assert robot.model.total_mass == pytest.approx(expected)


def test_world_of_the_other_becomes_a_link_with_its_name() -> None:
    tool = rc.robots.planar(1)
    robot = rc.robots.stanford().attach(tool, at="link6", prefix="t_")
    assert "t_planar1" in robot.link_names
    assert robot.link_names.count("world") <= 1


def test_clashing_names_are_an_error_with_a_proposal() -> None:
    with pytest.raises(rc.ModelError, match=r"has links called 'base', 'upper'.* prefix='arm_'"):
        arm().attach(arm(), at="flange")
    twice = arm().attach(arm(), at="flange", prefix="second_")
    with pytest.raises(rc.ModelError, match="Another prefix than 'second_'"):
        twice.attach(arm(), at="second_flange", prefix="second_")
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'flange'"):
        arm().attach(gripper(), at="flang")
    with pytest.raises(rc.ModelError, match="attach takes a robot, not str"):
        arm().attach("gripper.urdf", at="flange")  # type: ignore[arg-type]
    with pytest.raises(rc.ModelError, match="prefix must be a name, not None"):
        arm().attach(gripper(), at="flange", prefix=None)  # type: ignore[arg-type]
    tied, free = gripper(mimic="tie"), gripper(mimic="free")
    with pytest.raises(rc.ModelError, match="load both the same way"):
        arm().attach(tied, at="flange").attach(free, at="flange", prefix="second_")


def with_data(robot: rc.Robot, **records: Any) -> rc.Robot:
    return robot._changed(description=replace(robot.model.description, **records))


def test_records_come_along() -> None:
    home = (NamedState("home", (("shoulder", (0.5,)),)),)
    holding = (NamedState("home", (("left_slide", (0.01,)),)), NamedState("open", (("left_slide", (0.5,)),)))
    motor = (Actuator("motor", (("left_slide", (50.0,)),)),)
    robot = with_data(arm(), states=home, provenance="ours").attach(
        with_data(gripper(), states=holding, actuators=motor, provenance="theirs"), at="flange", prefix="g_"
    )
    assert robot.state_names == ("home", "open")
    assert robot.state("home")[0].tolist() == [0.5, 0.0, 0.01, 0.0]
    description = robot.model.description
    assert description.actuators == (Actuator("g_motor", (("g_left_slide", (50.0,)),)),)
    assert description.provenance == "ours; theirs"


# ---- reduced ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stanford", "mixed_tree", "one_of_each", "free_flyer", "floating_tree", "tree"])
def test_reduced_robot_has_the_matrices_without_rows_and_columns(name: str) -> None:
    robot = ZOO[name]()
    rng = np.random.default_rng(5)
    q, v = robot.random_state(5)
    locked = [joint for joint in robot.model.joints if rng.random() < 0.4] or [robot.model.joints[1]]
    lock = {joint.name: q[joint.q_start : joint.q_start + joint.kind.nq] for joint in locked}
    small = robot.reduced(lock)
    keep_q = np.ones(robot.nq, bool)
    keep_v = np.ones(robot.nv, bool)
    for joint in locked:
        keep_q[joint.q_start : joint.q_start + joint.kind.nq] = False
        keep_v[joint.v_start : joint.v_start + joint.kind.nv] = False
    assert small.nv == keep_v.sum()
    v[~keep_v] = 0.0
    close(small.mass_matrix(q[keep_q]), robot.mass_matrix(q)[np.ix_(keep_v, keep_v)], 1e-11)
    close(small.bias_forces(q[keep_q], v[keep_v]), robot.bias_forces(q, v)[keep_v], 1e-11)
    poses = dict(zip(small.link_names, small.poses(q[keep_q]), strict=True))
    for link, pose in zip(robot.link_names, robot.poses(q), strict=True):
        close(poses[link], pose, 1e-12)


def test_what_is_tied_to_a_locked_joint_is_locked() -> None:
    tied = gripper(mimic="tie").reduced({"left_slide": 0.2})
    assert tied.nv == 0
    loose = gripper(mimic="free")
    close(tied.pose([], "right"), loose.pose([0.2, 0.21], "right"), 1e-15)
    free = loose.reduced({"left_slide": 0.2})
    assert free.joint_names == ("right_slide",)
    assert free.model.description.relations == (Relation("right_slide_mimic", "right_slide", None, (0.2 + 0.01,)),)
    with pytest.raises(rc.ModelError, match="tied to 'left_slide' and has no value of its own: lock 'left_slide'"):
        gripper(mimic="tie").reduced({"right_slide": 0.0})


def test_locking_the_free_base_holds_the_robot() -> None:
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    held = robot.reduced({"root": [0, 0, 0.4, 0, 0, 0.6, 0.8]})
    assert (held.nv, held.is_floating) == (12, False)
    assert held.pose(np.zeros(12), "trunk")[2, 3] == 0.4


def test_names_alone_lock_at_neutral() -> None:
    assert arm().reduced(["elbow"]) == arm().reduced({"elbow": 0.0})
    assert arm().reduced("elbow").nv == 1


@pytest.mark.parametrize(
    ("lock", "told"),
    [
        ({"elbo": 1.0}, "Did you mean 'elbow'"),
        ({"elbow": (1.0, 2.0)}, "must be a number, not 2"),
        ({"elbow": math.nan}, "must be finite"),
        ({"elbow": "half"}, "must be a number"),
        (7, "lock must be values by joint names"),
    ],
)
def test_wrong_locks_are_told(lock: Any, told: str) -> None:
    with pytest.raises(rc.RecursaError, match=told):
        arm().reduced(lock)


def test_a_quaternion_has_length_one() -> None:
    robot = ZOO["spherical"]()
    with pytest.raises(rc.ModelError, match="length 1, not 2"):
        robot.reduced({robot.joint_names[0]: (0, 0, 0, 2)})


def test_relations_and_actuators_of_locked_joints() -> None:
    robot = with_data(
        arm(),
        relations=(
            Relation("by_shoulder", "elbow", "shoulder", (1.0, 0.0, 2.0)),
            Relation("by_elbow", "shoulder", "elbow", (1.0, 2.0)),
            Relation("bent", "shoulder", "elbow", (0.0, 0.0, 1.0)),
            Relation("held", "shoulder", None, (0.5,)),
        ),
        actuators=(
            Actuator("both", (("shoulder", (1.0,)), ("elbow", (2.0,)))),
            Actuator("one", (("shoulder", (1.0,)),)),
        ),
        states=(NamedState("home", (("shoulder", (0.5,)), ("elbow", (1.0,)))),),
        closures=(Closure("loop", "point", "base", "flange"),),
    )
    small = robot.reduced({"shoulder": 3.0})
    description = small.model.description
    assert description.relations == (
        Relation("by_shoulder", "elbow", None, (19.0,)),
        Relation("by_elbow", "elbow", None, (1.0,)),
    )
    assert description.actuators == (Actuator("both", (("elbow", (2.0,)),)),)
    assert description.states == (NamedState("home", (("elbow", (1.0,)),)),)
    assert description.closures == robot.model.description.closures
    (finding,) = [finding for finding in small.doctor() if finding.code == "left-out"]
    assert "relation 'bent' of joint 'shoulder', actuator 'one'" in str(finding)


# ---- parts -----------------------------------------------------------------------------------------------------------


def branches(robot: rc.Robot) -> list[tuple[str, str]]:
    names = robot.link_names
    return [(names[k], names[j]) for k in range(0, len(names), 3) for j in range(1, len(names), 4) if k != j]


@pytest.mark.parametrize("make", [mixed_tree, one_of_each, lambda: rc.robots.tree(13, branching=3, seed=1)])
def test_chain_moves_as_in_the_whole(make: Any) -> None:
    """From any link to any other: the pose of the second in the first, and its Jacobian."""
    robot = make()
    q, _ = robot.random_state(2)
    tried = 0
    for base, tip in branches(robot):
        try:
            part = robot.chain(base, tip)
        except rc.ModelError as error:
            assert "armature" in str(error)  # which cannot be seen from the other side
            continue
        tried += 1
        down = set(robot.model.support(robot.model.links[robot.model.link_index(tip)].body))
        own, columns = [], []
        for joint in part.model.joints:
            there = robot.model.joints[robot.model.joint_index(joint.name)]
            values = q[there.q_start : there.q_start + there.kind.nq]
            turned = robot.model.joint_index(joint.name) not in down
            own += list(joint.kind.opposite(values) if turned and there.kind.nv > 1 else values)
            columns += [] if turned else range(there.v_start, there.v_start + there.kind.nv)
        pose = np.linalg.inv(robot.pose(q, base)) @ robot.pose(q, tip)
        close(part.pose(own, tip), pose, 1e-11, what=f"{base} to {tip}")
        if len(columns) == part.nv:
            close(part.jacobian(own, tip), robot.jacobian(q, tip)[:, columns], 1e-11, what=f"{base} to {tip}")
    assert tried > 5


def test_chain_keeps_what_is_fixed_to_its_bodies() -> None:
    robot = rc.load(urdf("arm", *ARM, MOUNT, *GRIPPER)).with_payload("upper", 3.0)
    part = robot.chain("base", "lower")
    assert part.link_names == ("base", "upper", "lower", "flange", "palm", "upper_payload")
    without_fingers = robot.reduced(["left_slide", "right_slide"]).without("left", "right")
    q = [0.2, 0.3]
    close(part.mass_matrix(q), without_fingers.mass_matrix(q), 1e-14)


def test_chain_turns_gravity_into_its_base() -> None:
    robot = arm()
    part = robot.chain("upper", "flange")  # the upper arm is tilted by 0.1 rad
    whole = robot.gravity_forces([0.0, 0.7])[1]
    assert part.gravity_forces([0.7])[0] == pytest.approx(whole, rel=1e-12)


def test_chain_from_hand_to_hand() -> None:
    b = rc.Builder("torso")
    b.link("box", mass=10.0, inertia=(1, 1, 1))
    b.joint("waist", "revolute", parent="world", child="box")
    robot = b.build().attach(arm(), at="box", prefix="left_").attach(arm(), at="box", prefix="right_", xyz=(0, 1, 0))
    part = robot.chain("left_flange", "right_flange")
    assert part.joint_names == ("left_elbow", "left_shoulder", "right_shoulder", "right_elbow")
    q = {"left_elbow": 0.1, "left_shoulder": 0.2, "right_shoulder": -0.3, "right_elbow": 0.4}
    expected = np.linalg.inv(robot.pose(q, "left_flange")) @ robot.pose(q, "right_flange")
    close(part.pose(q, "right_flange"), expected, 1e-14)
    assert part.model.total_mass == pytest.approx(10.0 + 2 * 5.0 + 2.0 + 3.5)  # the left lower arm is the root


def test_wrong_chains_are_told() -> None:
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'flange'"):
        arm().chain("base", "flangee")
    with pytest.raises(rc.ModelError, match="not from 'base' to itself"):
        arm().chain("base", "base")


def test_without_a_branch() -> None:
    whole = rc.load(urdf("arm", *ARM, MOUNT, *GRIPPER))
    same_mechanics(whole.without("palm"), arm())
    same_mechanics(whole.without("mount"), arm())
    assert whole.without("left_slide", "right").link_names[-1] == "palm"
    with pytest.raises(rc.ModelError, match="is the root of robot 'arm'"):
        whole.without("base")
    with pytest.raises(rc.UnknownNameError, match=r"no link or joint 'plam'.* Did you mean 'palm'"):
        whole.without("plam")
    with pytest.raises(rc.UnknownNameError, match="no link or joint"):
        whole.without(["palm"])  # type: ignore[arg-type]
    loose = whole.without("left")
    assert loose.model.joints[-1].mimic is None
    assert [finding.code for finding in loose.doctor() if finding.code == "left-out"] == ["left-out"]


def test_a_name_of_a_link_and_another_joint_is_asked_for() -> None:
    robot = arm().renamed(joints={"elbow": "upper"})
    with pytest.raises(rc.ModelError, match="a link and a joint called 'upper', and the joint carries 'lower'"):
        robot.without("upper")


# ---- names, sizes, joints --------------------------------------------------------------------------------------------


def test_renamed_robot_is_the_same_robot() -> None:
    robot = gripper().renamed(prefix="g_", name="hand", links={"palm": "body"}, joints={"left_slide": "slide"})
    assert robot.name == "hand"
    assert robot.link_names == ("g_body", "g_left", "g_right")
    assert robot.joint_names == ("g_slide", "g_right_slide")
    assert robot.model.joints[1].mimic.joint == "g_slide"
    q, _ = gripper().random_state(1)
    assert np.array_equal(robot.mass_matrix(q), gripper().mass_matrix(q))
    assert rc.robots.planar(2).renamed(prefix="a_").link_names == ("world", "a_link1", "a_link2", "a_tip")
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'palm'"):
        gripper().renamed(links={"plam": "a"})
    with pytest.raises(rc.ModelError, match="two links are called 'left'"):
        gripper().renamed(links={"palm": "left"})


@pytest.mark.parametrize("name", ["stanford", "one_of_each", "free_flyer"])
def test_scaled_robot_obeys_the_laws_of_scale(name: str) -> None:
    robot, length, mass = ZOO[name](), 2.5, 3.0
    big = robot.scaled(length=length, mass=mass)
    q, v = robot.random_state(3)
    units = np.array([length if unit == "m" else 1.0 for unit in robot.q_units])
    rates = np.array([length if unit == "m/s" else 1.0 for unit in robot.v_units])
    force = mass * length * length / rates
    close(big.mass_matrix(units * q), robot.mass_matrix(q) * np.outer(force, 1.0 / rates), 1e-11)
    poses = robot.poses(q)
    poses[:, :3, 3] *= length
    close(big.poses(units * q), poses, 1e-12)
    still = robot.with_gravity((0, 0, 0))
    close(big.with_gravity((0, 0, 0)).bias_forces(units * q, rates * v), force * still.bias_forces(q, v), 1e-10)


def test_scaled_limits_ties_and_states() -> None:
    robot = with_data(gripper(), states=(NamedState("open", (("left_slide", (0.5,)),), (("left_slide", (1.0,)),)),))
    big = robot.scaled(length=2.0)
    assert big.position_limits.tolist() == [[-2.0, -2.0], [2.0, 2.0]]
    assert big.model.joints[1].mimic.offset == 0.02
    assert big.state("open")[0].tolist() == [1.0, 0.0]
    assert big.state("open")[1].tolist() == [2.0, 0.0]
    for factors in ({"length": 0.0}, {"mass": -1.0}, {"mass": math.nan}):
        with pytest.raises(rc.ModelError, match=r"length|mass"):
            robot.scaled(**factors)


def test_joint_with_other_properties() -> None:
    robot = arm().with_joint("elbow", damping=0.5, friction=0.0, armature=0.2, limits=(-2, 2), effort=None, velocity=9)
    assert robot.model.joints[0] == arm().model.joints[0]
    elbow = robot.model.joints[1]
    assert (elbow.damping, elbow.friction, elbow.armature) == ((0.5,), (0.0,), (0.2,))
    assert (elbow.limits, elbow.effort, elbow.velocity) == ((-2.0, 2.0), None, 9.0)
    assert arm().with_joint("elbow") == arm()
    assert ZOO["spherical"]().with_joint("joint1", damping=0.1).model.joints[0].damping == (0.1, 0.1, 0.1)
    for name, changes, told in (
        ("elbo", {}, "Did you mean 'elbow'"),
        ("elbow", {"limits": 3}, "must be 2 numbers"),
        ("elbow", {"damping": math.nan}, "must be finite"),
    ):
        with pytest.raises(rc.RecursaError, match=told):
            arm().with_joint(name, **changes)
    with pytest.raises(rc.ModelError, match="a spherical joint has no effort"):
        ZOO["spherical"]().with_joint("joint1", effort=1.0)
    with pytest.raises(rc.ModelError, match="the free base that floating=True adds"):
        rc.load(urdf("arm", *ARM), floating=True).with_joint("root", damping=1.0)


def test_all_variations_can_be_saved_and_keep_options() -> None:
    robot = rc.load(urdf("arm", *ARM), floating=True, gravity=(0, 0, -1.0))
    for changed in (
        robot.attach(gripper(), at="flange"),
        robot.reduced({"elbow": 0.3}),
        robot.without("elbow"),
        robot.renamed(prefix="a_"),
        robot.scaled(length=2.0),
        robot.with_joint("elbow", damping=1.0),
        robot.with_parameters(robot.parameters),
    ):
        assert (changed.gravity, changed.is_floating) == ((0.0, 0.0, -1.0), True)
        assert hash(changed) != hash(robot)
