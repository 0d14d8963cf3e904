"""Constraints as data: what they refuse, files they come from and go to, and robots made from others."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.errors import RecursaError
from zoo import closed_tree, held_flyer

LOOP = rc.Loop("revolute", "world", "tip", at=(0.5, 0, 0), name="pin")
GEAR = rc.JointRelation({"joint1": 1, "joint2": -2.0}, offset=0.3, name="gear")


def planar() -> rc.Robot:
    return rc.robots.planar(3)


# ---- records ---------------------------------------------------------------------------------------------------------


def test_records_are_plain_frozen_and_hashable() -> None:
    loop = rc.Loop("point", "a", "b", at=np.array([1, 2, 3]), axis=[0, 0, 2])
    assert loop.at == (1.0, 2.0, 3.0) and hash(loop) == hash(rc.Loop("point", "a", "b", at=(1, 2, 3), axis=(0, 0, 2)))
    assert rc.JointRelation((("joint1", (1.0,)), ("joint2", (-2.0,))), 0.3, "gear") == GEAR
    with pytest.raises(AttributeError):
        loop.kind = "weld"  # type: ignore[misc]
    robot = planar().with_constraints(LOOP, GEAR)
    assert pickle.loads(pickle.dumps(robot)) == robot and hash(robot) == hash(planar().with_constraints(LOOP, GEAR))
    assert robot != planar() and robot.constraints == (LOOP, GEAR) and robot.ncon == 6


def test_a_robot_without_constraints_is_what_it_was() -> None:
    assert planar().with_constraints(LOOP).without_constraints().model.digest == planar().model.digest
    assert planar().with_constraints(LOOP).model.digest != planar().model.digest


REFUSED = {
    "kind of loop 'pin'.*Did you mean 'point'": lambda: rc.Loop("pin", "a", "b"),
    "kind of loop 3": lambda: rc.Loop(3, "a", "b"),
    "length must be over zero": lambda: rc.Loop("rod", "a", "b"),
    "pitch is 0": lambda: rc.Loop("helical", "a", "b"),
    "axis is .0, 0, 0.": lambda: rc.Loop("revolute", "a", "b", axis=(0, 0, 0)),
    "at must be 3 numbers": lambda: rc.Loop("point", "a", "b", at=(1, 2)),
    "at must be finite": lambda: rc.Loop("point", "a", "b", at=(1, 2, np.nan)),
    "link of a Loop must be a name": lambda: rc.Loop("point", 3, "b"),
    "kind of contact 'foot'": lambda: rc.Contact("foot", "a"),
    "normal is .0, 0, 0.": lambda: rc.Contact("point", "a", normal=(0, 0, 0)),
    "numbers by joint": lambda: rc.JointRelation(3),
    "of no joints": lambda: rc.JointRelation({}),
    "all coefficients": lambda: rc.JointRelation({"a": 0.0}),
    "names a joint twice": lambda: rc.JointRelation((("a", 1.0), ("a", 2.0))),
    "up to 16": lambda: rc.JointRelation({"a": [1.0] * 17}),
    "the coefficient of joint 'a' must be": lambda: rc.JointRelation({"a": "x"}),
    "that of a joint or of a link": lambda: rc.Prescribed(),
    "with_constraints takes rc.Loop": lambda: planar().with_constraints("pin"),
    "not a list of them: unpack it with [*]": lambda: planar().with_constraints([rc.Prescribed("joint1")]),
    "no link 'tap'. Did you mean 'tip'": lambda: planar().with_constraints(rc.Loop("point", "tap", "world")),
    "joint 'joint9' does not exist": lambda: planar().with_constraints(rc.JointRelation({"joint9": 1})),
    "joint 'tip_frame' is fixed": lambda: planar().with_constraints(rc.Prescribed("tip_frame")),
    "same link": lambda: planar().with_constraints(rc.Loop("weld", "tip", "tip")),
    "parts of the same body": lambda: planar().with_constraints(rc.Loop("weld", "tip", "link3")),
    "two constraints are called 'pin'": lambda: planar().with_constraints(LOOP, LOOP),
    "has 3 freedoms": lambda: closed_tree().with_constraints(rc.JointRelation({"joint1": 1})),
    "has no constraints": lambda: planar().constraint_error([0, 0, 0]),
    "no constraint 'nut'": lambda: planar().with_constraints(LOOP).without_constraints("nut"),
    "one configuration": lambda: planar().with_constraints(LOOP).mobility(np.zeros((2, 3))),
    "tolerance must be": lambda: planar().with_constraints(LOOP).mobility(np.zeros(3), tolerance=2.0),
    "no joint 'joint7'": lambda: planar().with_constraints(LOOP).assemble(np.zeros(3), fixed=["joint7"]),
    "not finite, so there is nothing": lambda: planar().with_constraints(LOOP).assemble([np.nan, 0, 0]),
    "no method of forward dynamics of a robot with constraints 'denoc'": lambda: (
        planar().with_constraints(LOOP).forward_dynamics(*np.zeros((3, 3)), method="denoc")
    ),
    "has constraints": lambda: planar().with_constraints(LOOP).forward_dynamics(*np.zeros((3, 3)), mass="composite"),
    "a base that is moved": lambda: (
        planar().with_constraints(LOOP).forward_dynamics(*np.zeros((3, 3)), base_twist=np.zeros(6))
    ),
    "actuated takes names": lambda: planar().actuator_torques(*np.zeros((3, 3)), actuated="joint1"),
    "are not closed at q0": lambda: planar().with_constraints(LOOP).simulate(np.zeros(3), duration=1.0),
    "does not obey the constraints": lambda: rc.rollout(
        planar().with_constraints(LOOP), *np.zeros((2, 3)), None, step=1e-3, steps=2
    ),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_is_refused_by_name(says: str) -> None:
    with pytest.raises(RecursaError, match=says):
        REFUSED[says]()


# ---- robots made from others -----------------------------------------------------------------------------------------


def test_constraints_go_along_with_names() -> None:
    robot = planar().with_constraints(LOOP, GEAR, rc.Prescribed("joint3"))
    new = robot.renamed(links={"tip": "end"}, joints={"joint1": "hip", "joint3": "toe"})
    assert new.constraints[0].other == "end"
    assert new.constraints[1].coefficients[0][0] == "hip" and new.constraints[2].joint == "toe"


def test_constraints_go_along_where_a_robot_is_put() -> None:
    finger = rc.load(planar().with_constraints(LOOP).to_urdf()).with_constraints(LOOP)
    both = rc.robots.panda_like().attach(finger, at="flange", prefix="finger_")
    assert both.constraints[0].link.startswith("finger_") and both.constraints[0].name == "finger_pin"
    q = np.concatenate([np.zeros(7), finger.assemble([0.5, 0.8, 0.4])])
    assert np.abs(both.constraint_error(q)).max() < 1e-12  # wherever the arm is
    with pytest.raises(rc.ModelError, match="two constraints are called 'pin'"):
        both.with_constraints(rc.Contact("point", "flange", name="pin"), rc.Contact("surface", "flange", name="pin"))


def test_locked_joints_are_put_into_relations_and_leave_what_is_closed() -> None:
    robot = planar().with_constraints(LOOP, GEAR)
    locked = robot.reduced({"joint1": 0.4})
    assert locked.constraints == (LOOP, rc.JointRelation({"joint2": -2.0}, 0.7, "gear"))
    still = robot.reduced(["joint1", "joint2", "joint3"])
    assert still.constraints == ()
    assert "revolute loop 'pin'" in str(still.doctor())
    assert robot.without("link3").constraints == (GEAR,)


def test_scaled_robots_have_scaled_constraints() -> None:
    robot = planar().with_constraints(rc.Loop("rod", "world", "tip", at=(0.5, 0, 0), length=0.2), GEAR)
    large = robot.scaled(length=2.0)
    q = [0.3, 0.2, 0.1]
    assert np.allclose(large.constraint_error(q), robot.constraint_error(q) * [2.0, 1.0])


def test_contacts_are_anchored_where_they_are() -> None:
    robot = held_flyer().with_constraints(rc.Contact("line", "link2", axis=(0, 1, 0)), rc.Contact("surface", "link1"))
    q, v = robot.random_state(1)
    there = robot.with_contacts_at(q)
    assert np.abs(there.constraint_error(q)[[0, 1, 2]]).max() < 1e-14
    free = [k for one in robot.model.equations for k in range(one.start, one.start + len(one.units))]
    assert np.allclose(there.constraint_jacobian(q), robot.constraint_jacobian(q), atol=1e-13)
    assert np.allclose(there.constraint_bias(q, v)[free], robot.constraint_bias(q, v)[free], atol=1e-11)
    moved = robot.integrate(q, 0.1 * v)
    assert np.abs(there.constraint_error(moved)).max() > 0.01 and np.abs(robot.constraint_error(moved)[:3]).max() == 0.0


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [closed_tree, held_flyer])
def test_robot_files_keep_constraints(make, tmp_path: Path) -> None:
    robot = make()
    robot = robot.with_contacts_at(robot.random_state(0)[0])
    assert rc.load(robot.save(tmp_path / "one.robot.json")) == robot


SIDECAR = """
constraints:
  - {type: Loop, kind: revolute, link: world, other: tip, at: [0.5, 0, 0], name: pin}
  - {type: JointRelation, coefficients: {joint1: 1, joint2: [-2.0]}, offset: 0.3, name: gear}
"""


def test_constraints_beside_a_urdf(tmp_path: Path) -> None:
    file = tmp_path / "constraints.yaml"
    file.write_text(SIDECAR)
    robot = rc.load(planar().to_urdf(), constraints=file)
    assert robot.ncon == 6 and [one.name for one in robot.constraints] == ["pin", "gear"]
    (tmp_path / "constraints.json").write_text('{"constraints": [{"type": "Prescribed", "joint": "joint1"}]}')
    assert rc.load(planar().to_urdf(), constraints=tmp_path / "constraints.json").constraints[0].joint == "joint1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loops: []", "one key, 'constraints'"),
        ("constraints: 3", "must be a list"),
        ("constraints: [{kind: point}]", "lacks the key 'type'"),
        ("constraints: [{type: Lop}]", "Did you mean 'Loop'"),
        ("constraints: [{type: Loop, kind: point, link: a}]", "lacks the key 'other'"),
        ("constraints: [{type: Loop, kind: point, link: a, other: b, at: x}]", "at must be a list"),
        ("constraints: [{type: Contact, kind: point, link: nobody}]", "no link 'nobody'"),
    ],
)
def test_what_is_wrong_in_such_a_file_is_named(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(rc.ModelError, match=says):
        rc.load(planar().to_urdf(), constraints=tmp_path / "c.yaml")


def test_mimic_joints_are_relations_where_asked() -> None:
    text = planar().to_urdf().replace(
        '<joint name="joint3" type="continuous">', '<joint name="joint3" type="continuous"><mimic joint="joint2" '
        'multiplier="-0.5" offset="0.1"/>'
    )  # fmt: skip
    robot = rc.load(text, constraints=True)
    assert robot.constraints == (rc.JointRelation({"joint3": 1.0, "joint2": 0.5}, -0.1, "joint3_mimic"),)
    tied = rc.load(text, mimic="tie")
    q, v, tau = np.array([0.3, 0.2]), np.array([1.0, -2.0]), np.array([0.5, 0.2])
    full = lambda x, offset: np.array([x[0], x[1], -0.5 * x[1] + offset])  # noqa: E731
    a = robot.forward_dynamics(full(q, 0.1), full(v, 0.0), [*tau, 0.0])
    assert np.abs(robot.constraint_error(full(q, 0.1))).max() < 1e-15
    assert np.allclose(a[:2], tied.forward_dynamics(q, v, tau), rtol=1e-11)
