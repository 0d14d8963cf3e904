"""Writing URDF: what is written, and that it reads back to the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from recursa.errors import ModelError
from recursa.formats.urdf import read_urdf
from recursa.formats.urdf_write import write_urdf
from recursa.interop import pinocchio as interop
from recursa.model.description import Description, JointRecord, LinkRecord
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from robot_data import ALL_KINDS, urdf_files


def written_and_read(description: Description) -> Description:
    return read_urdf(write_urdf(description))


def apart(one: Rotation, other: Rotation) -> float:
    return float(max(abs(a - b) for a, b in zip(one, other, strict=True)))


def same_but_for_rotations(one: Description, other: Description) -> None:
    """Equal records, the rotations of joints and shapes to 1e-15."""
    assert [replace(record, geometry=()) for record in one.links] == [
        replace(record, geometry=()) for record in other.links
    ]
    for a, b in zip(one.links, other.links, strict=True):
        for shape, again in zip(a.geometry, b.geometry, strict=True):
            assert replace(shape, pose=again.pose) == again
            assert shape.pose.translation == again.pose.translation
            assert apart(shape.pose.rotation, again.pose.rotation) <= 1e-15
    assert len(one.joints) == len(other.joints)
    for a, b in zip(one.joints, other.joints, strict=True):
        kind = "continuous" if a.kind == "revolute" and a.limits is None else a.kind
        assert replace(a, placement=b.placement, kind=kind) == b
        assert a.placement.translation == b.placement.translation
        assert apart(a.placement.rotation, b.placement.rotation) <= 1e-15


def test_all_kinds_survive_writing_and_reading() -> None:
    zoo = read_urdf(ALL_KINDS)
    again = written_and_read(zoo)
    same_but_for_rotations(zoo, again)
    assert again.name == "zoo"
    assert write_urdf(again) == write_urdf(zoo)


@pytest.mark.skipif(not urdf_files(), reason="example-robot-data is not installed")
def test_real_robots_survive_writing_and_reading() -> None:
    read = 0
    for path in urdf_files():
        try:
            description = read_urdf(path.read_bytes(), str(path))
        except ModelError as error:
            assert path.name == "ur3.urdf", error
            assert "no links" in error.reason
            continue
        same_but_for_rotations(description, written_and_read(description))
        read += 1
    assert read == len(urdf_files()) - 1


def test_text_is_indented_and_short() -> None:
    links = (
        LinkRecord("a"),
        LinkRecord("b", mass=1.0, com=Vec3(0.0, 0.0, 0.5), inertial=True),
        LinkRecord("tip", frame=True),
    )
    joints = (
        JointRecord("j", "prismatic", "a", "b", limits=(-1.0, 1.0), damping=(0.5,), friction=(0.0,), armature=(0.0,)),
        JointRecord("f", "fixed", "b", "tip", Transform(Rotation.identity(), Vec3(0.0, 0.0, 1.0))),
    )
    assert write_urdf(Description("r", links, joints)) == (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<robot name="r">\n'
        '  <link name="a"/>\n'
        '  <link name="b">\n'
        "    <inertial>\n"
        '      <origin xyz="0.0 0.0 0.5"/>\n'
        '      <mass value="1.0"/>\n'
        '      <inertia ixx="0.0" iyy="0.0" izz="0.0" ixy="0.0" ixz="0.0" iyz="0.0"/>\n'
        "    </inertial>\n"
        "  </link>\n"
        '  <link name="tip"/>\n'
        '  <joint name="j" type="prismatic">\n'
        '    <parent link="a"/>\n'
        '    <child link="b"/>\n'
        '    <axis xyz="1.0 0.0 0.0"/>\n'
        '    <limit lower="-1.0" upper="1.0" effort="1.7976931348623157e+308" velocity="1.7976931348623157e+308"/>\n'
        '    <dynamics damping="0.5"/>\n'
        "  </joint>\n"
        '  <joint name="f" type="fixed">\n'
        '    <origin xyz="0.0 0.0 1.0"/>\n'
        '    <parent link="b"/>\n'
        '    <child link="tip"/>\n'
        "  </joint>\n"
        "</robot>\n"
    )


def one_joint(**fields: object) -> Description:
    record = JointRecord("j", "revolute", "a", "b", armature=(0.0,), damping=(0.0,), friction=(0.0,))
    return Description("r", (LinkRecord("a"), LinkRecord("b")), (replace(record, **fields),))  # type: ignore[arg-type]


def test_revolute_without_limits_is_written_as_continuous() -> None:
    (back,) = written_and_read(one_joint(effort=5.0)).joints
    assert (back.kind, back.limits, back.effort, back.velocity) == ("continuous", None, 5.0, None)


@pytest.mark.parametrize("kind", ["prismatic", "helical"])
def test_strength_without_limits_survives(kind: str) -> None:
    (back,) = written_and_read(one_joint(kind=kind, effort=5.0, pitch=0.25 if kind == "helical" else 0.0)).joints
    assert (back.kind, back.limits, back.effort, back.velocity) == (kind, None, 5.0, None)


@pytest.mark.parametrize("limits", [(-math.inf, 1.0), (0.5, math.inf), (-1.0, 1.0)])
def test_infinite_limits_are_written_as_numbers_that_every_reader_reads(limits: tuple[float, float]) -> None:
    text = write_urdf(one_joint(limits=limits, effort=math.inf, velocity=2.0))
    assert "inf" not in text
    (back,) = read_urdf(text).joints
    assert (back.kind, back.limits, back.effort, back.velocity) == ("revolute", limits, None, 2.0)


def test_numpy_numbers_are_written_plainly() -> None:
    assert 'value="0.1"' in write_urdf(Description("r", (LinkRecord("a", mass=np.float64(0.1)),), ()))


def test_mass_is_written_whether_or_not_it_was_declared() -> None:
    heavy = Description("r", (LinkRecord("a", mass=2.0),), ())
    assert written_and_read(heavy).links[0].mass == 2.0


def test_far_end_frames_become_a_massless_link_and_a_weld() -> None:
    placement = Transform.from_xyz_rpy((1.0, 0.0, 0.0), (0.1, 0.2, 0.3))
    after = Transform.from_xyz_rpy((0.0, 2.0, 0.0), (-0.4, 0.5, 0.6))
    arm = one_joint(placement=placement, after=after, limits=(-1.0, 1.0))
    crowded = replace(arm, links=(*arm.links, LinkRecord("b_joint_frame")))
    again = written_and_read(crowded)
    assert [record.name for record in again.links] == ["a", "b", "b_joint_frame", "b_joint_frame2"]
    turn, weld = again.joints
    assert (turn.name, turn.kind, turn.parent, turn.child, turn.limits) == (
        "j",
        "revolute",
        "a",
        "b_joint_frame2",
        (-1.0, 1.0),
    )
    assert (weld.name, weld.kind, weld.parent, weld.child) == ("j_weld", "fixed", "b_joint_frame2", "b")
    assert np.allclose(turn.placement.rows(), placement.rows(), atol=1e-15)
    assert np.allclose(weld.placement.rows(), after.rows(), atol=1e-15)
    assert turn.after == weld.after == Transform.identity()


@pytest.mark.parametrize("name", ["a<b>&\"'", " blank ", "tab\tline\nreturn\r", "Bär \U0001f43b", "&amp;", "]]>"])
def test_any_name_that_xml_can_hold_survives(name: str) -> None:
    described = Description(name, (LinkRecord(name), LinkRecord("b")), (JointRecord(name, "fixed", name, "b"),))
    again = written_and_read(described)
    assert (again.name, again.links[0].name, again.joints[0].name, again.joints[0].parent) == (name,) * 4


@pytest.mark.parametrize("name", ["a\0", "\x1b[0m", "\ud800", "\uffff"])
def test_names_that_xml_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match="which XML cannot hold; rename"):
        write_urdf(Description("r", (LinkRecord(name),), ()))


@pytest.mark.parametrize("away", [1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_rotations_survive_near_pitch_of_ninety_degrees(away: float, side: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        roll, yaw = rng.uniform(-3.0, 3.0, 2)
        nearly = Rotation.from_rpy(roll, side * (math.pi / 2 - away), yaw)
        detour = Rotation.from_quaternion(Quaternion(*rng.normal(size=4)).normalized())
        rotation = detour @ (detour.T @ nearly)  # rounding as in any product: small entries are no longer accurate
        (back,) = written_and_read(one_joint(kind="fixed", placement=Transform(rotation, ZERO))).joints
        assert apart(back.placement.rotation, rotation) < 3e-15


def test_non_finite_data_survive_writing_and_reading() -> None:
    nan = math.nan
    strange = one_joint(
        limits=(-math.inf, 1.0), effort=nan, placement=Transform(Rotation(*[nan] * 9), Vec3(nan, 0.0, 0.0))
    )
    (back,) = written_and_read(strange).joints
    assert back.limits == (-math.inf, 1.0)
    assert back.effort is not None
    assert math.isnan(back.effort)
    assert all(math.isnan(entry) for entry in back.placement.rotation)


@pytest.mark.parametrize("robot", ["planar", "stanford", "panda_like", "tree", "free_flyer"])
def test_pinocchio_reads_what_is_written(robot: str) -> None:
    pin = pytest.importorskip("pinocchio")
    ours = rc.robots.by_name(robot)
    model = pin.buildModelFromXML(ours.to_urdf())
    q, v = ours.random_state(4)
    q_there, v_there = interop.configuration(ours, model, q), interop.velocity(ours, model, v)
    energy = pin.computeKineticEnergy(model, model.createData(), q_there, v_there)
    assert energy == pytest.approx(float(ours.kinetic_energy(q, v)), rel=1e-12)
