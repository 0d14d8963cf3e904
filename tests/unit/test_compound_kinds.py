"""Joints that become chains: what their parts are called, what is kept of them, what is wrong with a description."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.formats.recursa_json import write_recursa
from recursa.model.joint_inputs import EULER

BODY: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.3, 0.3)}


def wrist(kind: str, **options: Any) -> rc.Robot:
    b = rc.Builder("robot").link("hand", **BODY)
    return b.joint("wrist", kind, parent="world", child="hand", **options).build()


def rotation(axis: int, angle: float) -> np.ndarray:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = np.cos(angle)
    turn[j, i], turn[i, j] = np.sin(angle), -np.sin(angle)
    return turn


@pytest.mark.parametrize("kind", EULER)
def test_euler_angles_turn_about_axes_one_after_the_other(kind: str) -> None:
    robot = wrist(kind)
    q = np.array([0.3, -0.5, 0.7])
    turns = [rotation("xyz".index(letter), angle) for letter, angle in zip(kind.removeprefix("euler-"), q, strict=True)]
    close(robot.pose(q, "hand")[:3, :3], turns[0] @ turns[1] @ turns[2], 1e-15)
    assert len(EULER) == 12


def test_parts_are_called_after_the_joint_and_have_their_share() -> None:
    robot = wrist(
        "euler-zxz",
        damping=[0.1, 0.2, 0.3],
        friction=[0.4, (0.5, 0.6), 0.7],
        armature=0.01,
        limits=[(-1, 1), None, (-2, 2)],
        effort=5.0,
        velocity=[1, 2, 3],
    )
    assert robot.joint_names == robot.q_names == robot.v_names == ("wrist.rz", "wrist.rx", "wrist.rz2")
    assert robot.link_names == ("world", "wrist.rz", "wrist.rx", "hand")
    joints = robot.model.joints
    assert [joint.damping + joint.armature for joint in joints] == [(0.1, 0.01), (0.2, 0.01), (0.3, 0.01)]
    assert [joint.friction for joint in joints] == [(0.4,), ((0.5, 0.6),), (0.7,)]
    assert [joint.limits for joint in joints] == [(-1.0, 1.0), None, (-2.0, 2.0)]
    assert [(joint.effort, joint.velocity) for joint in joints] == [(5.0, 1.0), (5.0, 2.0), (5.0, 3.0)]
    assert robot.state({"wrist.rx": 0.2})[0].tolist() == [0.0, 0.2, 0.0]


def test_links_that_join_axes_are_no_concern_of_the_doctor_and_no_singular_hinge() -> None:
    robot = wrist("universal", axis=(1, 0, 0), axis2=(0, 1, 0))
    assert not list(robot.doctor())
    q, v = robot.random_state(1)
    close(robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, v)), v, 1e-12)
    kept = rc.load(write_recursa(robot.model))
    assert kept == robot
    assert not list(kept.doctor())


def test_an_axis_off_the_origin_leaves_the_child_where_it_was() -> None:
    point = np.array([0.3, -0.2, 0.5])
    robot = wrist("helical", axis=(0, 0, 1), pitch=0.1, point=point, xyz=(1, 2, 3))
    close(robot.pose([0.0], "hand")[:3, 3], [1, 2, 3], 1e-15)
    turned = robot.pose([0.8], "hand")
    there = np.array([1, 2, 3]) + point + rotation(2, 0.8) @ -point + [0, 0, 0.08]
    close(turned[:3, 3], there, 1e-15)


MISTAKES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no second axis": ("universal", {}, "a universal joint needs a second axis: axis2="),
    "parallel axes": ("universal", {"axis2": (0, 0, -2)}, "must be two, not parallel or zero"),
    "second axis": ("revolute", {"axis2": (1, 0, 0)}, "a revolute joint has no second axis axis2; universal joints do"),
    "parts": ("revolute", {"parts": []}, "a revolute joint has no parts; composite joints do"),
    "no parts": ("composite", {}, "a composite joint needs parts="),
    "parts that are none": ("composite", {"parts": 3}, "a composite joint needs parts="),
    "a number": ("composite", {"parts": [3]}, r"part 1 must be \(kind, axis\), a kind, or a mapping"),
    "compound part": ("composite", {"parts": ["universal"]}, "a part is of a simple kind, not 'universal'"),
    "unknown key": (
        "composite",
        {"parts": [{"kind": "revolute", "axes": 1}]},
        "part 1: unknown argument 'axes'.*'axis'",
    ),
    "two names": (
        "composite",
        {"parts": [{"kind": "revolute", "name": "a"}, {"kind": "revolute", "name": "a"}]},
        "two of its parts are called 'a'",
    ),
    "damping of all": (
        "composite",
        {"parts": ["spherical"], "damping": 0.1},
        "damping of a composite joint belongs to",
    ),
    "helical part": ("composite", {"parts": ["helical"]}, "part '1': a helical joint needs a pitch"),
    "limits": ("euler-xyz", {"limits": (-1, 1)}, "limits must be a list of 3 pairs"),
    "one number too few": ("euler-xyz", {"damping": (1, 2)}, "damping must be 3 numbers"),
    "friction": ("euler-xyz", {"friction": (1, 2)}, "friction must be 3 entries, each a number or a pair"),
    "mimic": ("universal", {"axis2": (1, 0, 0), "mimic": "other"}, "a universal joint has no mimic"),
    "point": ("prismatic", {"point": (1, 0, 0)}, "a prismatic joint has no point; revolute, continuous, helical"),
    "point of a chain": ("euler-xyz", {"point": (1, 0, 0)}, "a euler-xyz joint has no point"),
    "no point": ("revolute", {"point": (1, 0)}, "point must be 3 numbers"),
    "infinite point": ("revolute", {"point": (1, 0, np.inf)}, "point must be finite"),
    "order": ("euler-zzx", {}, "unknown kind 'euler-zzx'"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(case: str) -> None:
    kind, options, message = MISTAKES[case]
    with pytest.raises(rc.ModelError, match=f"joint 'wrist'.*{message}"):
        wrist(kind, **options)


def test_names_of_parts_must_be_free() -> None:
    b = rc.Builder("robot").link("hand", **BODY).link("wrist.1", **BODY)
    with pytest.raises(rc.ModelError, match=r"two links are called 'wrist\.1'"):
        b.joint("wrist", "universal", parent="world", child="hand", axis2=(1, 0, 0))
