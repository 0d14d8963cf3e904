"""Reading URDF: every element that counts, and what is said about mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recursa.errors import ModelError
from recursa.formats.urdf import URDF_TYPES, read_urdf
from recursa.model.description import Description, JointRecord, LinkRecord, Mimic
from recursa.spatial.rotation import Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3
from robot_data import ALL_KINDS


def robot(*elements: str) -> str:
    """A URDF, each element on a line of its own, the first on line 2."""
    return "\n".join(['<robot name="r">', *elements, "</robot>"])


def link(inside: str, name: str = "a") -> LinkRecord:
    return read_urdf(robot(f'<link name="{name}">{inside}</link>')).links[0]


def joint(inside: str, kind: str = "revolute") -> JointRecord:
    ends = '<parent link="a"/><child link="b"/>'
    return read_urdf(robot(f'<joint name="j" type="{kind}">{ends}{inside}</joint>', '<link name="a"/>')).joints[0]


def refusal(text: str | bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_urdf(text, "arm.urdf")
    assert caught.value.source == "arm.urdf"
    return caught.value


# ---- reading: joints ---------------------------------------------------------------------------------------------


def test_kinds_and_ends_are_read_in_order() -> None:
    zoo = read_urdf(ALL_KINDS, "zoo.urdf")
    assert (zoo.name, zoo.source) == ("zoo", "zoo.urdf")
    assert [record.name for record in zoo.links] == ["base", *"abcdefgh"]
    assert [(j.name, j.kind, j.parent, j.child) for j in zoo.joints] == [
        ("turn", "revolute", "base", "a"),
        ("spin", "continuous", "a", "b"),
        ("slide", "prismatic", "b", "c"),
        ("weld", "fixed", "c", "d"),
        ("fly", "free", "d", "e"),
        ("glide", "planar", "e", "f"),
        ("ball", "spherical", "f", "g"),
        ("screw", "helical", "g", "h"),
    ]
    assert [record.line for record in zoo.links[:3]] == [3, 4, 11]
    assert [j.line for j in zoo.joints[:2]] == [12, 19]


def test_placement_and_axis_are_kept_as_given() -> None:
    turn = read_urdf(ALL_KINDS).joints[0]
    assert turn.placement == Transform.from_xyz_rpy((1, 2, 3), (0.1, -0.2, 0.3))
    assert turn.axis == Vec3(0.0, 0.0, 2.0)
    assert joint("").axis == Vec3(1.0, 0.0, 0.0)
    assert joint("<axis/>").axis == Vec3(1.0, 0.0, 0.0)
    assert joint('<axis xyz="0 0 0"/>').axis == ZERO


def test_rpy_is_fixed_axis_roll_pitch_yaw() -> None:
    turned = joint('<origin rpy="1.5707963267948966 0 1.5707963267948966"/>').placement
    assert turned @ Vec3(0.0, 1.0, 0.0) == Vec3(0.0, 0.0, 1.0)  # roll lifts y to z, yaw leaves it there
    assert turned @ Vec3(1.0, 0.0, 0.0) == Vec3(0.0, 1.0, 0.0)


def test_quaternion_origin_agrees_with_rpy() -> None:
    x, y, z, w = Rotation.from_rpy(0.3, -0.4, 1.2).quaternion()
    scaled = f'<origin xyz="1 2 3" quat_xyzw="{2 * x} {2 * y} {2 * z} {2 * w}"/>'
    expected = joint('<origin xyz="1 2 3" rpy="0.3 -0.4 1.2"/>').placement
    assert np.allclose(joint(scaled).placement.rows(), expected.rows(), atol=1e-15)


def test_limits_follow_the_kind() -> None:
    found = {j.name: (j.limits, j.effort, j.velocity) for j in read_urdf(ALL_KINDS).joints}
    assert found["turn"] == ((-1.5, 2.0), 30.0, 4.0)
    assert found["spin"] == (None, 7.0, None)
    assert found["slide"] == ((0.0, 0.0), None, 3.0)
    assert found["weld"] == (None, None, None)
    assert found["screw"] == ((-10.0, 10.0), None, None)
    assert joint("").limits is None
    assert joint('<limit lower="-inf" upper="inf" effort="1"/>').limits is None
    assert joint('<limit lower="-inf" upper="1"/>').limits == (-math.inf, 1.0)


def test_dynamics_have_one_entry_per_freedom() -> None:
    found = {j.name: (j.armature, j.damping, j.friction) for j in read_urdf(ALL_KINDS).joints}
    zeros = (0.0, 0.0, 0.0)
    assert found["turn"] == ((0.125,), (0.5,), (0.25,))
    assert found["spin"] == ((0.0,), (0.0,), (0.0,))
    assert found["weld"] == ((), (), ())
    assert found["fly"] == ((1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (0.0,) * 6, (0.0,) * 6)
    assert found["glide"] == (zeros, (1.0, 2.0, 3.0), (4.0, 4.0, 4.0))
    assert found["ball"] == (zeros, zeros, zeros)


def test_mimic_and_pitch_are_read() -> None:
    found = {j.name: j for j in read_urdf(ALL_KINDS).joints}
    assert found["turn"].mimic is None
    assert found["spin"].mimic == Mimic("turn", 1.0, 0.0)
    assert found["slide"].mimic == Mimic("turn", -2.0, 0.5)
    assert (found["screw"].pitch, found["turn"].pitch) == (0.01, 0.0)


# ---- reading: links ----------------------------------------------------------------------------------------------


def test_inertia_is_turned_into_link_axes() -> None:
    base, a = read_urdf(ALL_KINDS).links[:2]
    assert (a.mass, a.com, a.inertial) == (2.5, Vec3(0.1, -0.2, 0.3), True)
    # a quarter turn about z: x becomes y, y becomes -x
    assert np.allclose(a.inertia, SymMat3(xx=2.0, yy=1.0, zz=2.5, xy=-0.1, xz=-0.3, yz=0.2), atol=1e-15)
    assert (base.mass, base.inertia, base.inertial) == (0.0, SYM_ZERO, False)


def test_inertia_agrees_with_matrix_product() -> None:
    inside = '<origin rpy="0.5 -1.1 2"/><inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/>'
    r = np.array(Rotation.from_rpy(0.5, -1.1, 2.0)).reshape(3, 3)
    tensor = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    assert np.allclose(link(f"<inertial>{inside}</inertial>").inertia.rows(), r @ tensor @ r.T, atol=1e-14)


def test_partial_inertial_data_load_as_they_are() -> None:
    assert link("<inertial/>") == LinkRecord("a", inertial=True)
    assert link('<inertial><mass value="3"/></inertial>') == LinkRecord("a", mass=3.0, inertial=True)
    half = link('<inertial><inertia ixx="1" iyz="2"/></inertial>')
    assert half == LinkRecord("a", inertia=SymMat3(1.0, 0.0, 0.0, 0.0, 0.0, 2.0), inertial=True)


def test_geometry_gives_the_distance_to_the_farthest_point() -> None:
    shapes = [
        '<visual><origin xyz="1 2 3"/><geometry><box size="2 3 6"/></geometry></visual>',
        '<collision><geometry><sphere radius="0.5"/></geometry></collision>',
        '<collision><geometry><cylinder radius="3" length="8"/></geometry></collision>',
        '<collision><geometry><capsule radius="3" length="8"/></geometry></collision>',
        '<visual><geometry><mesh filename="package://nowhere/none.stl" scale="1 1 1"/></geometry></visual>',
        "<visual><geometry><box/></geometry></visual>",
        "<visual><geometry/></visual><visual/>",
    ]
    geometry = link("".join(shapes)).geometry
    assert [(g.shape, g.reach) for g in geometry] == [
        ("box", 3.5), ("sphere", 0.5), ("cylinder", 5.0), ("capsule", 7.0), ("mesh", None), ("box", None),
    ]  # fmt: skip
    assert geometry[0].pose.translation == Vec3(1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("+1.5", 1.5), ("-.5", -0.5), ("5.", 5.0), (" 1e-3\n", 1e-3), ("1E3", 1e3), ("inf", math.inf),
     ("-Infinity", -math.inf), ("1e999", math.inf), ("9" * 400, math.inf), ("1e-999", 0.0)],
)  # fmt: skip
def test_numbers_are_read_as_c_reads_decimal_text(text: str, value: float) -> None:
    assert link(f'<inertial><mass value="{text}"/></inertial>').mass == value


def test_non_finite_numbers_load_without_a_warning() -> None:
    broken = link('<inertial><origin xyz="nan 0 0" rpy="inf 0 nan"/><mass value="nan"/><inertia ixx="1"/></inertial>')
    assert math.isnan(broken.mass)
    assert math.isnan(broken.com.x)
    assert all(math.isnan(entry) for entry in broken.inertia)


def test_what_is_not_dynamics_is_passed_over() -> None:
    text = robot(
        '<link name="a"><visual><material name="m"/></visual></link>',
        '<material name="red"><color rgba="oops"/></material>',
        '<gazebo reference="a"><joint name="x"/><link/></gazebo>',
        '<transmission name="t"><joint name="j"><hardwareInterface>e</hardwareInterface></joint></transmission>',
        '<ros2_control><joint name="j"/></ros2_control>',
        '<sensor name="s"><parent link="nowhere"/></sensor>',
    )
    assert read_urdf(text) == Description("r", (LinkRecord("a"),), ())


def test_missing_robot_name_is_no_error() -> None:
    assert read_urdf('<robot><link name="a"/></robot>').name == "robot"


# ---- mistakes ----------------------------------------------------------------------------------------------------

_ENDS = '<parent link="a"/><child link="b"/>'


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("<link/>", "a link: the attribute 'name' of <link> is missing"),
        ('<link name=""/>', "a link: the attribute 'name' of <link> is empty"),
        ('<joint type="fixed"/>', "a joint: the attribute 'name' of <joint> is missing"),
        ('<joint name="j"/>', "joint 'j': the attribute 'type' of <joint> is missing"),
        (f'<joint name="j" type="revolut">{_ENDS}</joint>',
         "joint 'j': unknown joint type 'revolut'. Did you mean 'revolute'?"),
        (f'<joint name="j" type="hinge">{_ENDS}</joint>',
         f"joint 'j': unknown joint type 'hinge'. There are: {', '.join(URDF_TYPES)}."),
        ('<joint name="j" type="fixed"><child link="b"/></joint>',
         "joint 'j' has no <parent link=\"...\"/>; every joint needs a parent and a child link"),
        ('<joint name="j" type="fixed"><parent link="b"/></joint>',
         "joint 'j' has no <child link=\"...\"/>; every joint needs a parent and a child link"),
        ('<joint name="j" type="fixed"><parent/><child link="b"/></joint>',
         "joint 'j': the attribute 'link' of <parent> is missing"),
        (f'<joint name="j" type="fixed">{_ENDS}<mimic multiplier="2"/></joint>',
         "joint 'j': the attribute 'joint' of <mimic> is missing"),
        (f'<joint name="j" type="helical">{_ENDS}<axis xyz="0 0 1"/></joint>',
         "joint 'j' is helical and needs its pitch in metres per radian, as in <axis xyz=\"0 0 1\" pitch=\"0.01\"/>"),
        (f'<joint name="j" type="fixed">{_ENDS}<origin xyz="1 2"/></joint>',
         "joint 'j': <origin xyz=\"1 2\"> needs 3 numbers, got 2"),
        (f'<joint name="j" type="fixed">{_ENDS}<origin rpy=""/></joint>',
         "joint 'j': <origin rpy=\"\"> needs 3 numbers, got none"),
        (f'<joint name="j" type="fixed">{_ENDS}<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/></joint>',
         "joint 'j': <origin> has both rpy and quat_xyzw; keep one of them"),
        (f'<joint name="j" type="fixed">{_ENDS}<origin quat_xyzw="0 0 1"/></joint>',
         "joint 'j': <origin quat_xyzw=\"0 0 1\"> needs 4 numbers, got 3"),
        (f'<joint name="j" type="fixed">{_ENDS}<origin quat_xyzw="0 0 0 0"/></joint>',
         "joint 'j': quat_xyzw is zero and gives no rotation; no rotation is '0 0 0 1'"),
        (f'<joint name="j" type="revolute">{_ENDS}<dynamics damping="1 2"/></joint>',
         "joint 'j': <dynamics damping=\"1 2\"> needs 1 number, got 2"),
        (f'<joint name="j" type="planar">{_ENDS}<dynamics armature="1 2"/></joint>',
         "joint 'j': <dynamics armature=\"1 2\"> needs 1 or 3 numbers, got 2"),
        (f'<joint name="j" type="revolute">{_ENDS}<limit lower="-1 rad"/></joint>',
         "joint 'j': <limit lower=\"-1 rad\"> is not numeric; write plain decimal numbers with blanks between them"),
        ('<link name="b"><inertial><mass value="1,5"/></inertial></link>',
         "link 'b': <mass value=\"1,5\"> is not numeric; write decimals with a point and put blanks between numbers"),
        ('<link name="b"><inertial><mass value="1 2"/></inertial></link>',
         "link 'b': <mass value=\"1 2\"> needs 1 number, got 2"),
        ('<link name="b"><inertial><inertia ixx="1_0"/></inertial></link>',
         "link 'b': <inertia ixx=\"1_0\"> is not numeric; write plain decimal numbers with blanks between them"),
        ('<link name="b"><inertial><inertia ixx="\u0661"/></inertial></link>',
         "link 'b': <inertia ixx=\"\u0661\"> is not numeric; write plain decimal numbers with blanks between them"),
        ('<link name="b"><collision><geometry><sphere radius="r"/></geometry></collision></link>',
         "link 'b': <sphere radius=\"r\"> is not numeric; write plain decimal numbers with blanks between them"),
    ],
)  # fmt: skip
def test_mistakes_name_element_value_and_line(element: str, message: str) -> None:
    error = refusal(robot('<link name="a"/>', element))
    assert error.reason == message
    assert error.line == 3


def test_line_is_that_of_the_inner_element() -> None:
    error = refusal('<robot>\n<link name="a">\n<inertial>\n\n<mass value="x"/></inertial></link></robot>')
    assert error.line == 5
    assert str(error).startswith("arm.urdf, line 5: link 'a': <mass value=\"x\"> is not numeric")


@pytest.mark.parametrize("tag", ["link", "joint"])
def test_duplicate_names_tell_both_lines(tag: str) -> None:
    twice = f'<{tag} name="x" type="fixed">{_ENDS}</{tag}>'
    error = refusal(robot('<link name="a"/>', twice, "", twice))
    assert error.line == 5
    assert error.reason == f"two {tag}s are called 'x', on line 3 and again on line 5; rename one of them"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<sdf version='1.7'/>", ["<sdf>", "this is SDF"]),
        ("<mujoco/>", ["<mujoco>", "MJCF"]),
        ("<COLLADA/>", ["<COLLADA>", "mesh"]),
        ("<arm/>", ["expected the root element <robot>", "found <arm>"]),
        ("<xacro:macro/>", ["xacro"]),
        ("<robot><xacro:include filename='a'/></robot>", ["<xacro:include>", "declare xmlns:xacro"]),
        ("<robot><link name='a'><xacro:box/></link></robot>", ["<xacro:box>", "declare xmlns:xacro"]),
        ("<robot><link name='${prefix}a'/></robot>", ["${prefix}a", "declare xmlns:xacro"]),
        ("<robot><link name='a'><inertial><mass value='$(arg m)'/></inertial></link></robot>", ["declare xmlns:xacro"]),
        ("<robot/>", ["has no links"]),
    ],
)
def test_other_files_are_recognised(text: str, words: list[str]) -> None:
    error = refusal(text)
    assert error.line == 1
    for word in words:
        assert word in error.reason


def test_long_values_are_clipped_in_messages() -> None:
    error = refusal(robot(f'<link name="a"><inertial><mass value="{"x" * 5000}"/></inertial></link>'))
    assert len(str(error)) < 250
