"""What URDF 1.2 adds: limits of acceleration and jerk, which time-optimal motions keep, and capsules."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc

ARM = """<robot name="arm" version="1.2">
  <link name="base"/>
  <link name="rod">
    <inertial><origin xyz="0.5 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><capsule radius="0.1" length="0.8"/></geometry></collision>
  </link>
  <joint name="hinge" type="{kind}"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="100" velocity="10" {more}/></joint>
</robot>"""


def arm(more: str = 'acceleration="2" jerk="40"', kind: str = "revolute") -> rc.Robot:
    return rc.load(ARM.format(more=more, kind=kind))


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_limits_of_acceleration_and_jerk_are_read_and_come_back_from_files(kind: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    robot = arm(kind=kind)
    assert (robot.acceleration_limits.tolist(), robot.jerk_limits.tolist()) == ([2.0], [40.0])
    assert 'version="1.2"' in robot.to_urdf()
    for again in (rc.load(robot.to_urdf()), rc.load(robot.save(tmp_path / "arm.robot.json"))):
        assert again == robot
        assert (again.acceleration_limits.tolist(), again.jerk_limits.tolist()) == ([2.0], [40.0])
    assert arm("", kind) != robot
    assert (arm("", kind).acceleration_limits.tolist(), arm("", kind).jerk_limits.tolist()) == ([np.inf], [np.inf])


def test_pinocchio_reads_files_of_version_1_2() -> None:
    pin = pytest.importorskip("pinocchio")
    assert pin.buildModelFromXML(arm().to_urdf()).nv == 1


def test_capsules_are_read_and_written() -> None:
    for robot in (arm(), rc.load(arm().to_urdf())):
        (shape,) = robot.geometry("rod", role="collision")
        assert (shape.shape, shape.size) == ("capsule", (0.1, 0.8))


def test_smaller_of_acceleration_and_deceleration_counts_with_a_warning() -> None:
    with pytest.warns(rc.ModelWarning, match="acceleration, 2, and another of deceleration, 1.5"):
        assert arm('acceleration="2" deceleration="1.5"').acceleration_limits.tolist() == [1.5]
    assert arm('deceleration="1.5"').acceleration_limits.tolist() == [1.5]


def test_negative_limits_are_findings() -> None:
    with pytest.warns(rc.ModelWarning, match="its acceleration limit is -2"):
        robot = arm('acceleration="-2"', kind="revolute")
    assert [finding.code for finding in robot.doctor()] == ["limits"]


def test_time_optimal_keeps_the_limits_of_the_file() -> None:
    path = rc.Path([[0.0], [1.0]])
    free = arm("")
    assert rc.time_optimal(free, path).duration < 0.5
    limited = arm('acceleration="2"')
    motion = rc.time_optimal(limited, path)
    assert motion.duration == pytest.approx(2.0 * np.sqrt(0.5), rel=1e-3)  # a full half of it faster, the other slower
    assert motion.duration == pytest.approx(rc.time_optimal(free, path, acceleration=2.0).duration, rel=1e-12)
    assert rc.time_optimal(limited, path, acceleration=np.inf).duration < 0.5  # what is given counts
    smooth = rc.time_optimal(arm(), path)
    assert smooth.duration > motion.duration
    _, _, a = smooth.sample(np.linspace(0.0, smooth.duration, 2001))
    assert np.abs(a).max() <= 2.0 * 1.001
    assert np.abs(np.diff(a[:, 0])).max() / (smooth.duration / 2000) <= 40.0 * 1.01


def test_limits_of_tied_joints_count() -> None:
    text = ARM.format(more="", kind="revolute").replace(
        "</robot>",
        """<link name="tip"><inertial><mass value="0.1"/>
        <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="wrist" type="revolute"><parent link="rod"/><child link="tip"/><axis xyz="0 0 1"/>
        <limit lower="-9" upper="9" effort="9" velocity="99" acceleration="2"/><mimic joint="hinge" multiplier="-4"/>
        </joint></robot>""",
    )
    robot = rc.load(text, mimic="tie")
    motion = rc.time_optimal(robot, rc.Path([[0.0], [1.0]]))
    _, _, a = motion.sample(np.linspace(0.0, motion.duration, 501))
    assert np.abs(a).max() == pytest.approx(0.5, rel=1e-3)


def test_other_formats_have_no_such_limits() -> None:
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="rod"><joint name="hinge" axis="0 1 0" range="-90 90"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -1" mass="2"/></body></worldbody></mujoco>"""
    robot = rc.load(text)
    assert (robot.acceleration_limits.tolist(), robot.jerk_limits.tolist()) == ([np.inf], [np.inf])
