"""A robot written as URDF and loaded again is the same robot: numbers, names, data of every joint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from zoo import ZOO, large_interpreted

STATES = 3


def free_gripper() -> rc.Robot:
    return rc.load(tied_gripper().to_urdf(), strict=False)


def loose_body() -> rc.Robot:
    """Floating by option, with gravity that is not along an axis, frames, a payload and losses."""
    b = rc.Builder("lander")
    b.link("leg", mass=2.0, com=(0.1, 0.2, -0.3), inertia=(0.11, 0.12, 0.13, 0.01, -0.02, 0.03))
    b.link("foot", mass=0.5, com=(0.0, 0.1, 0.0), inertia=(0.01, 0.012, 0.013))
    b.joint(
        "knee",
        "prismatic",
        parent="world",
        child="leg",
        axis=(0.6, 0, 0.8),
        xyz=(0.1, 0, 0.2),
        rpy=(1.2, 1.5707, -0.4),
        limits=(-0.2, 0.3),
        effort=40,
        velocity=2,
        armature=0.7,
        damping=3.0,
        friction=0.4,
    )
    b.joint(
        "ankle", "spherical", parent="leg", child="foot", xyz=(0, 0, -0.5), armature=(0.1, 0.2, 0.3), damping=(1, 2, 3)
    )
    b.frame("sole", parent="foot", xyz=(0, 0, -0.1), rpy=(0.1, 0.2, 0.3))
    text = b.build().with_payload("sole", 0.2, (0.01, 0, 0)).to_urdf(extensions=True)
    return rc.load(text, floating=True, gravity=(1.0, -2.0, -3.0), strict=False)


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "ur5_like": rc.robots.ur5_like,
    "tied_gripper": tied_gripper,
    "free_gripper": free_gripper,
    "loose_body": loose_body,
    "standard_arm_on_a_free_base": lambda: rc.load(rc.robots.stanford().to_urdf(), floating=True, strict=False),
}


def reread(robot: rc.Robot) -> rc.Robot:
    return rc.load(robot.to_urdf(extensions=True), gravity=robot.gravity, mimic=robot.model.mimic, strict=False)


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_robot_matches_itself_written_and_read(name: str) -> None:
    robot = ROBOTS[name]()
    again = reread(robot)
    assert (again.name, again.nq, again.nv, again.nbodies) == (robot.name, robot.nq, robot.nv, robot.nbodies)
    assert again.joint_names == robot.joint_names
    assert (again.gravity, again.is_floating) == (robot.gravity, robot.is_floating)
    assert set(robot.link_names) <= set(again.link_names)
    added = [link for link in again.link_names if link not in robot.link_names]
    assert all(link.endswith("_joint_frame") or link.startswith("world") for link in added)
    common = [again.link_names.index(link) for link in robot.link_names]
    q, v, a = states(robot, STATES)
    close(again.poses(q)[:, common], robot.poses(q), what="poses")
    close(again.velocities(q, v)[:, common], robot.velocities(q, v), what="velocities")
    close(again.accelerations(q, v, a)[:, common], robot.accelerations(q, v, a), what="accelerations")
    close(again.kinetic_energy(q, v), robot.kinetic_energy(q, v), what="kinetic energy")
    close(again.potential_energy(q), robot.potential_energy(q), what="potential energy")
    close(again.mass, robot.mass, what="mass")


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_data_match_themselves_written_and_read(name: str) -> None:
    robot = ROBOTS[name]()
    for ours, theirs in zip(robot.model.joints, reread(robot).model.joints, strict=True):
        kind = "continuous" if ours.kind.name == "revolute" and ours.limits is None else ours.kind.name
        assert theirs.kind.name == kind
        for datum in (
            "name",
            "parent",
            "q_start",
            "v_start",
            "armature",
            "damping",
            "friction",
            "limits",
            "effort",
            "velocity",
            "mimic",
            "tie",
        ):
            assert getattr(theirs, datum) == getattr(ours, datum), (ours.name, datum)
        close(theirs.hinge.axis, ours.hinge.axis, what=ours.name)
        assert theirs.hinge.pitch == ours.hinge.pitch


def test_far_end_frames_keep_their_names() -> None:
    """The link frames of a standard table stay; what the joints carry is an extra link before each."""
    again = reread(rc.robots.stanford())
    assert [link for link in again.link_names if not link.endswith("_joint_frame")] == list(
        rc.robots.stanford().link_names
    )
    assert "link1_joint_frame" in again.link_names
    assert "link3_joint_frame" not in again.link_names  # the sliding boom's frame sits on its joint
    assert np.isclose(again.mass, 21.1)


def test_frames_and_mimics_are_among_the_robots() -> None:
    """So that the tests above do see them."""
    assert any(link.frame for link in ROBOTS["panda_like"]().model.links)
    assert any(joint.tie for joint in ROBOTS["tied_gripper"]().model.joints)
    assert any(joint.mimic and not joint.tie for joint in ROBOTS["free_gripper"]().model.joints)
    assert ROBOTS["loose_body"]().model.floating
