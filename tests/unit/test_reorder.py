"""Arrays in an order of joints that is named: into the robot's own, and back; what is wrong with names and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc

BODY: dict[str, Any] = {"mass": 1.0, "inertia": (1, 1, 1)}


def flyer() -> rc.Robot:
    b = rc.Builder("fly").link("bus", **BODY).link("arm", **BODY).link("hand", **BODY).link("lid", **BODY)
    b.joint("root", "free", parent="world", child="bus")
    b.joint("elbow", "revolute", parent="bus", child="arm")
    b.joint("wrist", "spherical", parent="arm", child="hand")
    return b.joint("hatch", "prismatic", parent="bus", child="lid").build()


def gripper(mimic: str) -> rc.Robot:
    b = rc.Builder("grip").link("palm", **BODY).link("left", **BODY).link("right", **BODY)
    b.joint("weld", "fixed", parent="world", child="palm")
    b.joint("l", "prismatic", parent="palm", child="left")
    return b.joint("r", "prismatic", parent="palm", child="right", mimic=("l", -2.0, 0.1)).build(mimic=mimic)


NAMES = ["hatch", "wrist", "root", "elbow"]


def test_blocks_of_joints_move_together_in_q_and_v() -> None:
    robot = flyer()
    q = robot.reorder(np.arange(13.0), NAMES)
    np.testing.assert_array_equal(q, [5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 0])
    v = robot.reorder(np.arange(11.0), NAMES)
    np.testing.assert_array_equal(v, [4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [13, 11])
def test_batches_go_there_and_back(size: int, dtype: Any) -> None:
    values = np.random.default_rng(1).normal(size=(2, 3, size)).astype(dtype)
    there = flyer().reorder(values, NAMES, inverse=True)
    assert there.dtype == dtype and there.shape == values.shape
    assert not np.array_equal(there, values)
    np.testing.assert_array_equal(flyer().reorder(there, NAMES), values)
    np.testing.assert_array_equal(flyer().reorder(values[1, 2], NAMES, inverse=True), there[1, 2])


def test_own_order_changes_nothing() -> None:
    robot = flyer()
    q, v = robot.random_state(1)
    np.testing.assert_array_equal(robot.reorder(q, robot.joint_names), q)
    np.testing.assert_array_equal(robot.reorder(v, robot.joint_names), v)
    assert robot.reorder(q, robot.joint_names) is not q


def test_base_may_be_called_anything_and_fixed_joints_hold_nothing() -> None:
    values = np.arange(13.0)
    expected = flyer().reorder(values, NAMES)
    renamed = ["universe", "hatch", "wrist", "root_joint", "elbow"]
    np.testing.assert_array_equal(flyer().reorder(values, renamed), expected)
    robot = gripper("free")
    np.testing.assert_array_equal(robot.reorder([1.0, 2.0], ["r", "weld", "l"]), [2.0, 1.0])


def test_tied_joints_are_left_out_and_filled_in() -> None:
    robot = gripper("tie")
    np.testing.assert_array_equal(robot.reorder([[7.0, 0.3]], ["r", "l"]), [[0.3]])
    np.testing.assert_array_equal(robot.reorder([0.3], ["l"]), [0.3])
    np.testing.assert_allclose(robot.reorder([0.3], ["r", "l"], inverse=True, quantity="q"), [-0.5, 0.3])
    np.testing.assert_allclose(robot.reorder([0.3], ["r", "l"], inverse=True, quantity="v"), [-0.6, 0.3])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((np.zeros(13), ["hatch", "wrst", "root", "elbow"]), {}, rc.UnknownNameError, ["no joint 'wrst'", "'wrist'"]),
        ((np.zeros(13), ["hatch", "root", "elbow"]), {}, rc.UnknownNameError, ["leave out 'wrist'", "robot 'fly'"]),
        ((np.zeros(13), [*NAMES, "hatch"]), {}, rc.UnknownNameError, ["'hatch' stands twice"]),
        ((np.zeros(13), [*NAMES, "tail"]), {}, rc.UnknownNameError, ["no joint 'tail'", "root, elbow, wrist, hatch"]),
        ((np.zeros(13), "hatch"), {}, rc.StateError, ["names must be joint names"]),
        ((np.zeros((2, 12)), NAMES), {}, rc.ShapeError, ["(2, 12)", "(..., 13) for coord", "(..., 11) for speeds"]),
        ((np.zeros(13), NAMES), {"quantity": "v"}, rc.ShapeError, ["(13,)", "(..., 11) for speeds"]),
        ((np.zeros(13), NAMES), {"layout": "pinochio"}, rc.UnknownNameError, ["no layout", "'pinocchio'"]),
        ((np.zeros(13), NAMES), {"quantity": "x"}, rc.UnknownNameError, ["no quantity 'x'"]),
        ((np.zeros(11), NAMES), {"layout": "mujoco"}, rc.StateError, ["'root'", "world axes", "as q="]),
        ((np.zeros(12), NAMES), {"inverse": True}, rc.ShapeError, ["of robot 'fly'"]),
    ],
)  # fmt: skip
def test_mistakes_are_named(arguments: Any, options: dict[str, Any], error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as raised:
        flyer().reorder(*arguments, **options)
    for word in words:
        assert word in str(raised.value)


def test_number_that_fits_both_is_asked_about() -> None:
    b = rc.Builder("plane").link("cart", **BODY).joint("drive", "planar", parent="world", child="cart", axis=(0, 0, 1))
    robot = b.link("wheel", **BODY).joint("turn", "continuous", parent="cart", child="wheel").build()
    np.testing.assert_array_equal(robot.reorder([4.0, 1.0, 2.0, 3.0], ["turn", "drive"]), [1, 2, 3, 4])
    with pytest.raises(rc.StateError, match='give quantity="q" or quantity="v"'):
        robot.reorder([1.0, 2.0, 3.0, 4.0], ["drive", "turn"], layout="pinocchio", inverse=True)
    speeds = robot.reorder([1.0, 2.0, 3.0, 4.0], ["drive", "turn"], layout="pinocchio", inverse=True, quantity="v")
    np.testing.assert_array_equal(speeds, [2, 3, 1, 4])


def test_kind_that_the_other_library_lacks_is_refused() -> None:
    b = rc.Builder("screw").link("nut", **BODY).joint("twist", "helical", parent="world", child="nut", pitch=0.1)
    with pytest.raises(rc.NoSweepError, match="joint 'twist' is helical"):
        b.build().reorder([1.0], ["twist"], layout="mujoco")


# ---- Drake, iDynTree, adam; joints that are chains here --------------------------------------------------------------


def plain_flyer() -> rc.Robot:
    b = rc.Builder("fly").link("bus", **BODY).link("arm", **BODY).link("hand", **BODY)
    b.joint("root", "free", parent="world", child="bus")
    b.joint("elbow", "revolute", parent="bus", child="arm")
    return b.joint("wrist", "universal", parent="arm", child="hand", axis2=(1, 0, 0)).build()


def test_drakes_states_have_the_quaternion_first_and_speeds_in_world_axes() -> None:
    robot, names = plain_flyer(), ["wrist", "base", "elbow"]
    q, v = (np.stack([robot.random_state(k)[i] for k in range(4)]) for i in (0, 1))
    there = robot.reorder(q, names, layout="drake", quantity="q", inverse=True)
    np.testing.assert_array_equal(there, np.hstack([q[:, 8:], q[:, 6:7], q[:, 3:6], q[:, :3], q[:, 7:8]]))
    np.testing.assert_array_equal(robot.reorder(there, names, layout="drake", quantity="q"), q)
    speeds = robot.reorder(v, names, layout="drake", quantity="v", q=q, inverse=True)
    base = robot.velocities(q, v, frame="mixed")[:, robot.link_names.index("bus")]
    np.testing.assert_allclose(speeds, np.hstack([v[:, 7:], base, v[:, 6:7]]), atol=1e-14)
    np.testing.assert_allclose(robot.reorder(speeds, names, layout="drake", quantity="v", q=q), v, atol=1e-14)
    with pytest.raises(rc.StateError, match="are in world axes in Drake: give the configuration"):
        robot.reorder(v, names, layout="drake", quantity="v")
    with pytest.raises(rc.NoSweepError, match="joint 'wrist' is spherical, and layout \"drake\" has no joint"):
        flyer().reorder(np.zeros(13), NAMES, layout="drake", quantity="q")


def test_idyntrees_speeds_have_the_linear_half_first_and_its_base_no_coordinates() -> None:
    robot, names = plain_flyer(), ["floating_base", "wrist", "elbow"]
    nu = robot.reorder(np.arange(9.0), names, layout="idyntree", quantity="v")
    np.testing.assert_array_equal(nu, [3, 4, 5, 0, 1, 2, 8, 6, 7])
    with pytest.raises(rc.NoSweepError, match="iDynTree and adam have the pose of a base as a 4x4 matrix"):
        robot.reorder(np.zeros(10), names, layout="idyntree", quantity="q")
