"""Rotors, springs and elastic joints in files, in robots made from others, and in messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import recursa as rc
from recursa.formats.recursa_json import write_recursa
from recursa.loading import trusted
from recursa.model.assemble import assemble
from recursa.model.description import Elasticity, Rotor
from zoo import elastic_arm

pytestmark = pytest.mark.interpreted(reason="many robots, each asked once")

SKEW = rc.Rotor(2e-3, 12.0, axis=(0.3, 0.5, 0.8))  # type: ignore[arg-type]


def arm(**options: Any) -> rc.Robot:
    """Two links on a body that turns about another axis; the last joint has what is asked for."""
    b = rc.Builder("arm")
    for name in ("hip", "upper", "fore"):
        b.link(name, mass=1.5, com=(0.2, 0.03, 0.05), inertia=(0.02, 0.05, 0.06, 0.001, 0.002, 0.003))
    b.joint("turn", "revolute", parent="world", child="hip", axis=(0, 0.6, 0.8))
    b.joint("shoulder", "revolute", parent="hip", child="upper", axis=(0, 1, 0), xyz=(0.1, 0, 0.2))
    place: dict[str, Any] = {"xyz": (0.4, 0, 0), "rpy": (0.1, 0.2, 0.3)}
    b.joint("elbow", "revolute", parent="upper", child="fore", axis=(0, 0.8, 0.6), **place, **options)
    return b.build()


def same_dynamics(one: rc.Robot, other: rc.Robot, *, names: bool = True) -> None:
    if names:
        assert one.joint_names == other.joint_names
    q, v = one.random_state(3)
    a = np.random.default_rng(4).normal(size=one.nv)
    for found, expected in (
        (one.mass_matrix(q), other.mass_matrix(q)),
        (one.inverse_dynamics(q, v, a, losses=True), other.inverse_dynamics(q, v, a, losses=True)),
        (one.kinetic_energy(q, v) + one.potential_energy(q), other.kinetic_energy(q, v) + other.potential_energy(q)),
    ):
        assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


ARMS: dict[str, dict[str, Any]] = {
    "rotor": {"rotor": rc.Rotor(1e-3, 50.0)},
    "on the child": {"rotor": {"inertia": 1e-3, "ratio": -9.0, "mount": "child", "included": False}},
    "skew rotor": {"rotor": SKEW},
    "rotor elsewhere": {"rotor": rc.Rotor(1e-3, 50.0, axis=(0, 1, 0), mount="hip")},
    "armature": {"rotor": rc.Rotor(1e-3, 50.0, coupled=False)},
    "spring": {"stiffness": 30.0, "rest": 0.4},
    "elastic": {"rotor": rc.Rotor(1e-3, 50.0), "elastic": {"stiffness": 400.0, "damping": 2.0}},
    "elastic, skew rotor": {"rotor": SKEW, "elastic": 400.0, "damping": 0.3},
}


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARMS)
def test_files_keep_transmissions(name: str) -> None:
    robot = arm(**ARMS[name])
    text = write_recursa(robot.model)
    assert json.loads(text)["version"] == 1
    again = rc.load(text)
    assert again.model == robot.model
    assert again.model.digest == robot.model.digest
    same_dynamics(rc.load(robot.to_urdf()), robot)


def test_springs_are_part_of_the_digest() -> None:
    robot = rc.robots.planar(1)
    assert robot.with_joint("joint1", stiffness=1.0).model.digest != robot.model.digest


def test_mjcf_has_springs_and_armature() -> None:
    pytest.importorskip("mujoco")
    robot = arm(stiffness=30.0, rest=0.4, rotor=rc.Rotor(1e-3, 50.0, coupled=False))
    same_dynamics(rc.load(robot.to_mjcf()), robot)


def test_what_files_cannot_say() -> None:
    with pytest.raises(rc.ModelError, match=r"joint 'elbow': MuJoCo has no rotors that spin.*coupled=False"):
        arm(rotor=rc.Rotor(1e-3, 50.0)).to_mjcf()
    with pytest.raises(rc.ModelError, match=r"joint 'elbow.rotor': .*robot.without\('elbow.rotor'\)"):
        arm(rotor=SKEW).to_mjcf()
    for name, words in (("rotor", "has a rotor, for which"), ("spring", "has a spring, for which")):
        with pytest.raises(rc.ModelError, match=f"joint 'elbow' {words}"):
            arm(**ARMS[name]).to_dh()


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ('rotor_inertia="1" rotor_mount="roof"', "the rotor is mounted on 'roof', which is no link"),
        ('rotor_inertia="1" rotor_coupled="perhaps"', "'rotor_coupled' is true or false, not 'perhaps'"),
        ('rotor_inertia="-1"', "inertia must be a finite number that is not negative, not -1"),
        ('rotor_inertia="1" rotor_axis="0 0 nan"', "the rotor's axis must have a direction, not"),
        ('rotor_ratio="5"', "rotor_inertia"),
        ('rotor_inertia="1" rotor_ratio="0"', "ratio must be a finite number other than zero"),
    ],
)
def test_urdf_attributes_are_checked(attributes: str, words: str) -> None:
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    text = f'<robot name="r">{link.format("a")}{link.format("b")}<joint name="j" type="continuous"><parent link="a"/>'
    text += f'<child link="b"/><dynamics {attributes}/></joint></robot>'
    with pytest.raises(rc.ModelError, match=words):
        rc.load(text, strict=False)


def test_urdf_springs_of_free_joints_are_refused() -> None:
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    text = f'<robot name="r">{link.format("a")}{link.format("b")}<joint name="j" type="floating"><parent link="a"/>'
    with pytest.raises(rc.ModelError, match="joint 'j': a free joint has no spring"):
        rc.load(text + '<child link="b"/><dynamics stiffness="5"/></joint></robot>')


# ---- robots made from others -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARMS)
def test_builder_and_with_joint_agree(name: str) -> None:
    options = dict(ARMS[name])
    same_dynamics(arm().with_joint("elbow", **options), arm(**options))


@pytest.mark.parametrize("rotor", [rc.Rotor(1e-3, 50.0), replace(SKEW, included=False), ARMS["on the child"]["rotor"]])
def test_locked_joint_is_a_block_of_the_mass_matrix(rotor: Any) -> None:
    robot = arm(rotor=rotor)
    locked = robot.reduced(lock={"elbow": 0.7})
    q = np.array([0.2, -0.4, 0.7])
    assert locked.joint_names == ("turn", "shoulder")
    assert_allclose(locked.mass_matrix(q[:2]), robot.mass_matrix(q)[:2, :2], rtol=1e-12)
    for text in (write_recursa(locked.model), locked.to_urdf()):
        same_dynamics(rc.load(text), locked)
    pytest.importorskip("mujoco")
    same_dynamics(rc.load(locked.to_mjcf()), locked)


def test_locked_spring_is_a_stiff_gear() -> None:
    elastic = arm(**ARMS["elastic"])
    same_dynamics(elastic.reduced(lock=["elbow.spring"]), arm(rotor=ARMS["elastic"]["rotor"]))


@pytest.mark.parametrize("name", ["rotor", "on the child", "skew rotor"])
def test_another_base_moves_the_same(name: str) -> None:
    """Energy and momentum of a free flyer do not depend on the link that is called its base."""
    description = arm(**ARMS[name]).model.description
    links = tuple(replace(link, name="bus") if link.name == "world" else link for link in description.links)
    joints = tuple(replace(joint, parent="bus") if joint.parent == "world" else joint for joint in description.joints)
    described = replace(description, links=(replace(links[1], name="bus"), *links[1:]), joints=joints)
    robot = trusted(described, floating=True, gravity=(0.0, 0.0, 0.0))
    if name == "skew rotor":
        with pytest.raises(rc.NoSweepError, match=r"'elbow.rotor' is a rotor with a joint of its own"):
            robot.with_base("fore")
        return
    other = robot.with_base("fore")
    q, v = robot.random_state(5)
    moved = robot.rebase_state(q, v, link="fore")
    assert_allclose(other.kinetic_energy(*moved), robot.kinetic_energy(q, v), rtol=1e-11)
    assert_allclose(other.momentum(*moved), robot.momentum(q, v), rtol=1e-10, atol=1e-11)


def test_scaled_rotors() -> None:
    for rotor in (rc.Rotor(1e-3, 50.0), SKEW):
        robot = arm(rotor=rotor)
        q = np.array([0.2, -0.4, 0.7])
        assert_allclose(robot.scaled(length=2.0, mass=3.0).mass_matrix(q), 12.0 * robot.mass_matrix(q), rtol=1e-12)


def test_rotor_goes_with_its_joint() -> None:
    robot = arm(rotor=SKEW)
    assert robot.joint_names[-1] == "elbow.rotor"
    assert robot.without("elbow").link_names == ("world", "hip", "upper")
    assert robot.renamed(joints={"elbow": "knee"}).random_state(0)[0].shape == (3,)
    same_dynamics(robot.chain("world", "fore"), robot)
    assert robot.chain("world", "upper").joint_names == ("turn", "shoulder")
    both = robot.attach(arm(**ARMS["elastic"]), at="fore", prefix="second_")
    assert both.nv == 3 + 4


def test_another_rotor_is_instead_of_the_one_before() -> None:
    """Also of one that has become a link; a spring that has become a joint is changed there."""
    skew, other = arm(rotor=SKEW).renamed(joints={"elbow": "knee"}), rc.Rotor(1e-3, 50.0)
    same_dynamics(skew.with_joint("knee", rotor=None), arm(), names=False)
    same_dynamics(skew.with_joint("knee", rotor=other), arm(rotor=other), names=False)
    same_dynamics(skew.with_joint("knee", rotor=SKEW), arm(rotor=SKEW), names=False)
    for again in (None, 300.0):
        with pytest.raises(rc.ModelError, match=r"joint 'elbow' is elastic.*with_joint\('elbow.spring', stiffness"):
            arm(**ARMS["elastic"]).with_joint("elbow", elastic=again)


def test_rotors_do_not_decide_how_mimics_are_treated() -> None:
    """A robot with a tied rotor takes another whose mimics are tied, or free."""
    for mode in ("free", "tie"):
        gripper = rc.load(rc.robots.urdf("desk_arm"), mimic=mode)  # type: ignore[arg-type]
        assert arm(rotor=SKEW).attach(gripper, at="fore", prefix="g_").nv == 3 + gripper.nv
    with pytest.raises(rc.ModelError, match=r"'elbow.rotor' is tied to another.*is a rotor with a joint of its own"):
        arm(rotor=replace(SKEW, mount="child")).reduced(lock=["turn"]).to_dh()


def test_parameters_put_back_are_the_same_robot() -> None:
    robot = arm(rotor=rc.Rotor(1e-3, 50.0))
    same_dynamics(robot.with_parameters(robot.parameters), robot)
    q, v = robot.random_state(1)
    armature = np.array([joint.armature[0] for joint in robot.model.joints])
    torque = robot.regressor(q, v, v) @ robot.parameters + armature * v
    assert_allclose(torque, robot.inverse_dynamics(q, v, v), rtol=1e-11)


def test_no_doctor_for_rotors() -> None:
    """A rotor that takes more moment from its carrier than that has is no fault of the carrier."""
    assert arm(rotor=rc.Rotor(5e-3, 200.0)).doctor().healthy
    assert elastic_arm().doctor().healthy
    findings = arm(stiffness=-3.0).doctor()
    assert [finding.code for finding in findings] == ["stiffness"]


# ---- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rotor": 5.0}, "rotor must be an rc.Rotor, a mapping of its fields or None, not 5.0"),
        ({"rotor": {"inertia": 1.0, "gear": 5}}, "rotor takes rc.Rotor.*gear"),
        ({"rotor": rc.Rotor(float("nan"))}, "rotor: inertia must be finite"),
        ({"rotor": rc.Rotor(-1.0)}, "rotor's inertia must be a finite number that is not negative"),
        ({"rotor": rc.Rotor(1.0, 0.0)}, "rotor's ratio must be a finite number other than zero"),
        ({"rotor": {"inertia": 1.0, "mount": "upperr"}}, "mounted on 'upperr', which is no link. Did you mean 'upper'"),
        ({"rotor": rc.Rotor(1.0, mount="hip")}, "a rotor on link 'hip' needs its axis there"),
        ({"rotor": {"inertia": 1.0, "axis": (0, 0, 0)}}, "axis must have a direction"),
        ({"rotor": np.array([1e-3, 5.0])}, "rotor must be an rc.Rotor"),
        ({"rotor": rc.Rotor(1e200, 1e200)}, r"inertia, 1e\+200, times its ratio of 1e\+200 squared is too large"),
        ({"rotor": rc.Rotor(1e-3, 50.0, mount="itself")}, "turns with its joint, at a ratio of 1, not 50"),
        ({"stiffness": "hard"}, "stiffness must be"),
        ({"stiffness": np.array([1.0, 2.0])}, "stiffness must be"),
        ({"elastic": 100.0}, "needs something that moves on the motor's side"),
        ({"elastic": -1.0, "armature": 1.0}, "stiffness must be a positive number, not -1"),
        ({"elastic": {"hardness": 1.0}}, "takes stiffness and damping by name, not hardness"),
        ({"elastic": (1.0, 2.0, 3.0)}, r"\(stiffness, damping\), must be"),
        ({"elastic": 1.0, "rotor": rc.Rotor(1.0, mount="child")}, "Mount it on the parent"),
    ],
)
def test_wrong_transmissions(options: dict[str, Any], words: str) -> None:
    with pytest.raises(rc.RecursaError, match=words) as caught:
        arm(**options)
    assert "elbow" in str(caught.value)


@pytest.mark.parametrize("option", [{"stiffness": 2.0}, {"rotor": rc.Rotor(1.0)}, {"elastic": 3.0}])
def test_joints_of_one_freedom_only(option: dict[str, Any]) -> None:
    b = rc.Builder("ball").link("bob", mass=1.0, inertia=(1, 1, 1))
    for kind in ("spherical", "euler-zyx", "fixed"):
        with pytest.raises(rc.ModelError, match=f"joint 'j': a {kind} joint has no {next(iter(option))}"):
            b.joint("j", kind, parent="world", child="bob", **option)
    ball = b.joint("j", "spherical", parent="world", child="bob").build()
    with pytest.raises(rc.ModelError, match="a spherical joint has no"):
        ball.with_joint("j", **option)


def test_records_that_no_input_checked() -> None:
    description = arm().model.description
    for change, words in (
        ({"kind": "spherical", "rotor": Rotor(1.0)}, "a spherical joint has no rotor"),
        ({"kind": "fixed", "stiffness": 2.0}, "a fixed joint has no spring"),
        ({"elastic": Elasticity(float("inf")), "armature": (1.0,)}, "stiffness must be a positive number, not inf"),
    ):
        joints = (*description.joints[:2], replace(description.joints[2], **change))
        with pytest.raises(rc.ModelError, match=words):
            rc.Robot(assemble(replace(description, joints=joints)))


def test_what_rotors_and_springs_rule_out() -> None:
    b = rc.Builder("r").link("a", mass=1.0, inertia=(1, 1, 1))
    robot = b.joint("j", "revolute", parent="world", child="a", rotor=rc.Rotor(1e-3, 9.0)).build()
    for ask in (robot.momentum, robot.kinetic_energy):
        with pytest.raises(rc.NoSweepError, match="joint 'j' of robot 'r' has a rotor on the base"):
            ask([0.1], [0.2], base_twist=[0.1] * 6)
    flyer = rc.robots.free_flyer(2).with_joint("joint1", stiffness=4.0)
    q, v = flyer.random_state(0)
    with pytest.raises(rc.NoSweepError, match=r"joint 'joint1' of robot .* has a spring"):
        rc.free.simulate_links(flyer, q, v, duration=0.01, step=0.01)
