"""The Model: fixed joints merged, variations, equality and hashing, mimics, floating bases, size, broken structures."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import pickle
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step, states
from recursa.loading import trusted
from recursa.model.description import JOINT_TYPES, Description, JointRecord, LinkRecord
from recursa.model.joints import KINDS
from zoo import ZOO

SMALL = sorted(set(ZOO) - {"chain200"})
BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.05), "inertia": (0.031, 0.032, 0.033, 0.001, -0.002, 0.003)}
MOUNT = {"xyz": (0.3, -0.2, 0.5), "rpy": (0.4, -0.7, 1.1)}


# ---- joint kinds -----------------------------------------------------------------------------------------------------


def test_types_of_joints_are_the_kinds_and_fixed():
    assert (*KINDS, "fixed") == JOINT_TYPES


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_kind_names_every_coordinate_and_speed(kind):
    assert len(kind.neutral()) == len(kind.q_units) == kind.nq == (len(kind.q_parts) or 1)
    assert len(kind.angular) == kind.nv == (len(kind.v_parts) or 1)
    assert all(kind.meaning)
    assert kind.quaternion is None or kind.q_units[kind.quaternion :] == ("1",) * 4
    assert kind.angle is None or kind.q_units[kind.angle] == "rad"


# ---- fixed joints ----------------------------------------------------------------------------------------------------

PARTS = {  # name: parent, mount, body
    "boom": ("world", ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7)), BODY),
    "motor": (
        "boom",
        ((0.4, -0.1, 0.2), (1.1, -0.3, 0.2)),
        {"mass": 2.1, "com": (0.02, 0.03, -0.04), "inertia": (0.02, 0.03, 0.04)},
    ),
    "fan": (
        "motor",
        ((-0.1, 0.3, 0.1), (-0.7, 0.2, 2.0)),
        {"mass": 0.4, "com": (0.1, 0.0, 0.2), "inertia": (0.01, 0.012, 0.015, 0.001, 0.002, -0.001)},
    ),
}


def tensor(xx: float, yy: float, zz: float, xy: float = 0.0, xz: float = 0.0, yz: float = 0.0) -> np.ndarray:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def welded_parts() -> rc.Builder:
    b = rc.Builder("welded")
    for name, (_, _, body) in PARTS.items():
        b.link(name, **body)
    for name, (parent, (xyz, rpy), _) in PARTS.items():
        kind = "spherical" if name == "boom" else "fixed"
        b.joint(f"to_{name}", kind, parent=parent, child=name, xyz=xyz, rpy=rpy)
    return b


def one_part() -> tuple[rc.Builder, float, np.ndarray, np.ndarray]:
    """The same as one body: masses added, centre of mass averaged, inertias shifted to it; poses read at q = 0."""
    poses = dict(zip(welded_parts().build().link_names, welded_parts().build().poses([0, 0, 0, 1.0]), strict=True))
    to_boom = np.linalg.inv(poses["boom"])
    placed = []
    for name, (_, _, body) in PARTS.items():
        here = to_boom @ poses[name]
        turn = here[:3, :3]
        com = turn @ np.array(body["com"]) + here[:3, 3]
        placed.append((body["mass"], com, turn @ tensor(*body["inertia"]) @ turn.T))
    mass = sum(m for m, _, _ in placed)
    com = sum(m * c for m, c, _ in placed) / mass
    about = sum(i + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com)) for m, c, i in placed)
    xyz, rpy = PARTS["boom"][1]
    b = rc.Builder("one").link("boom", mass=mass, com=com, inertia=about)
    return b.joint("to_boom", "spherical", parent="world", child="boom", xyz=xyz, rpy=rpy), mass, com, about


def test_links_on_fixed_joints_match_one_body_made_by_hand() -> None:
    welded = welded_parts().build()
    builder, mass, com, about = one_part()
    by_hand = builder.build()
    assert (welded.nbodies, welded.nlinks) == (1, 4)
    (inertia,) = welded.model.inertias
    close(inertia.mass, mass)
    close(inertia.com(), com)
    close(tensor(*inertia.moment_about_com()), about)
    for q, v in zip(*states(by_hand, 3)[:2], strict=True):
        close(welded.kinetic_energy(q, v), by_hand.kinetic_energy(q, v))
        close(welded.potential_energy(q), by_hand.potential_energy(q))
        close(welded.momentum(q, v), by_hand.momentum(q, v))


def test_payload_matches_a_welded_link() -> None:
    (_, (xyz, rpy), motor), (_, (xyz2, rpy2), fan) = PARTS["motor"], PARTS["fan"]
    bare = rc.Builder("welded").link("boom", **BODY)
    bare.joint("to_boom", "spherical", parent="world", child="boom", xyz=PARTS["boom"][1][0], rpy=PARTS["boom"][1][1])
    robot = bare.build().with_frame("mount", "boom", xyz, rpy).with_payload("mount", *motor.values())
    robot = robot.with_frame("shaft", "mount", xyz2, rpy2).with_payload("shaft", *fan.values())
    for ours, theirs in zip(robot.model.inertias, welded_parts().build().model.inertias, strict=True):
        close(ours.components(), theirs.components())
    assert robot.link_names == ("world", "boom", "mount", "mount_payload", "shaft", "shaft_payload")


def test_mass_welded_to_the_world_counts_nowhere() -> None:
    text = """<robot name="r"> <link name="{root}">{heavy}</link> <link name="stand">{heavy}</link>
      <link name="arm"><inertial><mass value="2"/><origin xyz="0.1 0 0.2"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="w" type="fixed"><parent link="{root}"/><child link="stand"/><origin xyz="0 0 1"/></joint>
      <joint name="j" type="continuous"><parent link="stand"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
    heavy = '<inertial><mass value="50"/><inertia ixx="9" iyy="9" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>'
    with_mass, without = (rc.load(text.format(root="base", heavy=h)) for h in (heavy, ""))
    assert with_mass.mass == without.mass == 2.0
    q, v = with_mass.random_state(1)
    for ask in ("potential_energy", "center_of_mass"):
        assert np.array_equal(getattr(with_mass, ask)(q), getattr(without, ask)(q))
    assert with_mass.kinetic_energy(q, v) == without.kinetic_energy(q, v)
    assert rc.load(text.format(root="base", heavy=heavy), floating=True).mass == 102.0  # there it moves


# ---- variations ------------------------------------------------------------------------------------------------------


def test_potential_energy_follows_gravity() -> None:
    robot = ZOO["mixed_tree"]()
    q, _ = robot.random_state(2)
    gravity = np.array([0.3, -1.4, 2.2])
    other = robot.with_gravity(gravity)
    assert other.gravity == tuple(gravity)
    close(other.potential_energy(q), -robot.mass * gravity @ robot.center_of_mass(q), 1e-12)
    assert robot.gravity == (0.0, 0.0, -9.81)


@pytest.mark.parametrize("name", ["floating_tree", "stanford", "pendulum"])
def test_payload_adds_the_energy_of_a_body_in_that_frame(name: str) -> None:
    robot = ZOO[name]()
    link = robot.link_names[-1]
    mass, com, inertia = 1.7, np.array([0.1, 0.2, -0.3]), (0.1, 0.11, 0.12, 0.01, 0.02, 0.005)
    loaded = robot.with_payload(link, mass, com, inertia)
    q, v = robot.random_state(6)
    pose, twist = robot.pose(q, link), robot.jacobian(q, link) @ v
    speed = twist[3:] + np.cross(twist[:3], com)
    kinetic = 0.5 * mass * speed @ speed + 0.5 * twist[:3] @ tensor(*inertia) @ twist[:3]
    potential = -mass * np.array(robot.gravity) @ (pose[:3, :3] @ com + pose[:3, 3])
    close(loaded.kinetic_energy(q, v), robot.kinetic_energy(q, v) + kinetic, 1e-12)
    close(loaded.potential_energy(q), robot.potential_energy(q) + potential, 1e-12)
    assert (loaded.nv, loaded.is_floating, loaded.mass) == (
        robot.nv,
        robot.is_floating,
        pytest.approx(robot.mass + mass),
    )


def test_several_payloads_and_frames_get_names_of_their_own() -> None:
    robot = rc.robots.planar(2).with_payload("tip", 1.0).with_payload("tip", 2.0, (0.1, 0, 0))
    assert robot.link_names[-2:] == ("tip_payload", "tip_payload2")
    assert robot.mass == pytest.approx(rc.robots.planar(2).mass + 3.0)
    b = rc.Builder("r").link("arm", **BODY).link("hand", **BODY)
    b.joint("cam_frame", "revolute", parent="world", child="arm")
    b.joint("arm_payload_weld", "revolute", parent="arm", child="hand")
    taken = b.build().with_frame("cam", "arm").with_payload("arm", 1.0)
    assert taken.joint_names == ("cam_frame", "arm_payload_weld")
    assert taken.link_names == ("world", "arm", "hand", "cam", "arm_payload")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda r: r.with_frame("f", "tpi"),
            rc.UnknownNameError,
            "no link 'tpi' in robot 'planar2'. Did you mean 'tip'",
        ),
        (lambda r: r.with_frame("tip", "link1"), rc.ModelError, "two links are called 'tip'"),
        (lambda r: r.with_frame("f", "tip", (0, 0)), rc.ModelError, "frame 'f': xyz must be 3 numbers"),
        (lambda r: r.with_payload("tpi", 1.0), rc.UnknownNameError, "no link 'tpi'"),
        (lambda r: r.with_payload("tip", float("nan")), rc.ModelError, "payload on 'tip': mass must be finite"),
        (
            lambda r: r.with_payload("tip", 1.0, (0, 0, float("inf"))),
            rc.ModelError,
            "payload on 'tip': com must be finite",
        ),
        (lambda r: r.with_payload("tip", 1, (0, 0, 0), (0, float("nan"), 0)), rc.ModelError, "inertia must be finite"),
        (lambda r: r.with_payload("tip", -1.0), rc.ModelError, "payload on 'tip': mass must not be negative, not -1.0"),
        (lambda r: r.with_payload("tip", 10**400), rc.ModelError, "mass contains a whole number too large"),
        (lambda r: r.with_frame("", "tip"), rc.ModelError, "the name of a frame must be a name; it is empty"),
        (lambda r: r.with_frame(["f"], "tip"), rc.ModelError, r"the name of a frame must be a name, not \['f'\]"),
        (lambda r: r.with_gravity((0, 0, float("nan"))), rc.ModelError, "gravity must be finite"),
        (lambda r: r.with_gravity("123"), rc.ModelError, "gravity must be 3 numbers"),
        (lambda r: r.with_gravity((0, 0, 10**400)), rc.ModelError, "gravity contains a whole number too large"),
    ],
)
def test_mistakes_in_variations_are_told(change: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        change(rc.robots.planar(2))  # type: ignore[operator]


def test_doubtful_payload_is_a_warning_at_the_call() -> None:
    robot = rc.robots.planar(2)
    with pytest.warns(rc.ModelWarning, match="link 'tip_payload': its principal moments .* triangle") as caught:
        robot.with_payload("tip", 1.0, (0, 0, 0), (0.01, 0.01, 0.03))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.with_payload("tip", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.02))
        rc.robots.puma560().with_payload("link6", 1.0)  # what is doubtful about the arm itself was told before


# ---- random states ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
@pytest.mark.parametrize("limits", [(-math.inf, -5.0), (7.0, math.inf), (-math.inf, math.inf), (-1e308, 1e308), (3, 2)])
def test_random_states_stay_within_the_limits(kind: str, limits: tuple[float, float]) -> None:
    b = rc.Builder("r").link("arm", **BODY)
    pitch = 0.1 if kind == "helical" else None
    robot = b.joint("j", kind, parent="world", child="arm", limits=limits, pitch=pitch).build()
    low, high = sorted(limits)
    drawn = np.array([robot.random_state(seed)[0][0] for seed in range(50)])
    assert np.ptp(drawn) > 0.5
    assert low <= drawn.min() and drawn.max() <= high
    if math.isinf(high - low):
        width = 1.0 if kind == "prismatic" else math.pi
        near = 0.0 if low < -1e300 and high > 1e300 else low + width if math.isfinite(low) else high - width
        assert np.abs(drawn - near).max() <= width


@pytest.mark.parametrize("seed", [-1, "a", 1.5, [-3]])
def test_seed_that_is_none_is_refused(seed: object) -> None:
    with pytest.raises(rc.StateError, match="a seed is a whole number of at least 0"):
        rc.robots.planar(2).random_state(seed)


# ---- identity --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_equal_content_means_equal_robots(name: str) -> None:
    one, other = ZOO[name](), ZOO[name]()
    assert one is not other
    assert one == other
    assert hash(one) == hash(other)
    assert hash(one.model) == hash(other.model)
    assert one.model.digest == other.model.digest
    for copied in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert copied == one
        assert copied.model.digest == one.model.digest
        q, v = one.random_state(1)
        assert np.array_equal(copied.velocities(q, v), one.velocities(q, v))


def test_any_difference_in_content_makes_robots_differ() -> None:
    robot = ZOO["one_of_each"]()
    text = robot.to_urdf(extensions=True)
    variants = [
        robot,
        robot.with_gravity((0, 0, -9.8)),
        robot.with_frame("f", "link3"),
        robot.with_payload("link3", 1e-9),
        rc.load(text, strict=False),
        rc.load(text, floating=True, strict=False),
        rc.load(text, mimic="tie", strict=False),
    ]
    for k, one in enumerate(variants):
        for other in variants[k + 1 :]:
            assert one != other
            assert one.model.digest != other.model.digest
    assert len(set(variants)) == len(variants)
    assert robot != "one_of_each"


def test_where_the_text_came_from_is_no_content(tmp_path: object) -> None:
    """Lines, file names and provenance do not count, and equal robots have equal hashes."""
    text = rc.robots.planar(2).to_urdf()
    path = tmp_path / "arm.urdf"  # type: ignore[operator]
    path.write_text(text.replace("\n", "\n\n"))
    from_text, from_file = rc.load(text), rc.load(path)
    assert from_text.model.description.links[1].line != from_file.model.description.links[1].line
    assert from_text == from_file
    assert hash(from_text) == hash(from_file)
    assert from_text.model.digest == from_file.model.digest


def test_zero_and_minus_zero_are_the_same_content() -> None:
    plus, minus = (rc.robots.planar(2).with_gravity((0.0, zero, 0.0)) for zero in (0.0, -0.0))
    assert plus == minus
    assert hash(plus) == hash(minus)


def test_digest_is_the_same_in_every_process() -> None:
    names = ("pendulum", "stanford", "mixed_tree", "one_of_each", "floating_tree")
    here = [ZOO[name]().model.digest for name in names]
    code = f"from zoo import ZOO\nfor n in {names!r}: print(ZOO[n]().model.digest)"
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == here


@pytest.mark.parametrize("pick", ["model", "joint", "link", "description", "record"])
def test_plain_data_cannot_be_changed(pick: str) -> None:
    model = ZOO["one_of_each"]().model
    things = {
        "model": (model, "gravity"),
        "joint": (model.joints[0], "name"),
        "link": (model.links[0], "body"),
        "description": (model.description, "name"),
        "record": (model.description.joints[0], "axis"),
    }
    thing, attribute = things[pick]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, attribute, None)
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        thing.novelty = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(thing, attribute)


def test_properties_of_a_robot_cannot_be_changed() -> None:
    robot = rc.robots.planar(2)
    for name in ("name", "nv", "gravity", "joint_names", "novelty"):
        with pytest.raises(AttributeError):
            setattr(robot, name, None)


# ---- mimics ----------------------------------------------------------------------------------------------------------


def hand(**options: object) -> rc.Robot:
    """Joints that follow others: a chain of ties, a source declared after its follower, a slide that follows a turn."""
    b = rc.Builder("hand")
    ties = {
        "first": ("last", 0.4, -0.1),
        "base": None,
        "mid": ("first", -2.0, 0.3),
        "slide": ("base", 0.15, 0.02),
        "last": None,
    }
    parent = "world"
    for k, (name, mimic) in enumerate(ties.items()):
        b.link(f"l_{name}", **{**BODY, "mass": 1.0 + 0.3 * k})
        kind = "prismatic" if name == "slide" else "revolute"
        axis = np.array([0.6, 0.0, 0.8]) if k % 2 else np.array([0.0, 0.6, -0.8])
        b.joint(name, kind, parent=parent, child=f"l_{name}", axis=axis, armature=0.1 * (k + 1), mimic=mimic, **MOUNT)
        parent = f"l_{name}"
    return b.build(**options)


SPREAD = np.array([[0, 0.4], [1, 0], [0, -0.8], [0.15, 0], [0, 1]])  # speeds of all five joints from (base, last)
OFFSET = np.array([-0.1, 0.0, -2.0 * -0.1 + 0.3, 0.02, 0.0])


def test_free_mimics_are_independent_joints_that_keep_the_tie() -> None:
    robot = hand()
    assert (robot.nq, robot.nv, robot.nbodies) == (5, 5, 5)
    assert [joint.independent for joint in robot.model.joints] == [True] * 5
    assert [joint.mimic.joint if joint.mimic else None for joint in robot.model.joints] == [
        "last",
        None,
        "first",
        "base",
        None,
    ]


def test_tied_robot_matches_the_free_robot_at_tied_coordinates() -> None:
    free, tied = hand(), hand(mimic="tie")
    assert (tied.nq, tied.nv, tied.nbodies) == (2, 2, 5)
    assert tied.joint_names == free.joint_names
    for q, v, a in zip(*states(tied, 3), strict=True):
        all_q, all_v = SPREAD @ q + OFFSET, SPREAD @ v
        close(tied.poses(q), free.poses(all_q))
        close(tied.velocities(q, v), free.velocities(all_q, all_v))
        close(tied.accelerations(q, v, a), free.accelerations(all_q, all_v, SPREAD @ a))
        close(tied.kinetic_energy(q, v), free.kinetic_energy(all_q, all_v))
        close(tied.potential_energy(q), free.potential_energy(all_q))
        close(tied.momentum(q, v), free.momentum(all_q, all_v))
        for link in tied.link_names:
            close(tied.jacobian(q, link), free.jacobian(all_q, link) @ SPREAD, what=link)


def test_ties_of_a_random_joint_match_the_derivative_of_the_pose() -> None:
    tied = hand(mimic="tie")
    q, v = tied.random_state(3)
    step = complex_step(lambda t: tied.pose(q + t * v, "l_last")[:3, 3])
    close(tied.jacobian(q, "l_last", frame="mixed")[3:] @ v, step)


def test_variations_keep_the_options() -> None:
    tied = hand(mimic="tie")
    floating = rc.load(hand().to_urdf(), floating=True, mimic="tie", gravity=(1, 2, 3), strict=False)
    for robot in (tied, floating):
        for other in (robot.with_gravity((0, 1, 0)), robot.with_frame("f", "l_mid"), robot.with_payload("l_mid", 1.0)):
            assert (other.nq, other.nv, other.is_floating) == (robot.nq, robot.nv, robot.is_floating)
    assert floating.with_frame("f", "l_mid").gravity == (1.0, 2.0, 3.0)
    assert floating.nv == 8


@pytest.mark.parametrize(
    ("mimics", "kinds", "message"),
    [
        ({"b": "d"}, {}, "joint 'b' mimics 'd', which is not a moving joint of the robot"),
        ({"b": "aa"}, {}, "Did you mean 'a'?"),
        ({"b": "b"}, {}, "joint 'b' mimics itself, through b"),
        ({"b": "c", "c": "b"}, {}, "joint 'b' mimics itself, through b -> c"),
        ({"a": "b", "b": "c", "c": "b"}, {}, "mimics itself"),
        ({"b": "a"}, {"a": "fixed"}, "joint 'b' mimics 'a', which is not a moving joint"),
        (
            {"b": "a"},
            {"a": "spherical"},
            r"joint 'b' \(revolute\) mimics 'a' \(spherical\): only joints with one freedom",
        ),
        ({"b": "a"}, {"b": "planar"}, r"joint 'b' \(planar\) mimics 'a' \(revolute\)"),
    ],
)
def test_ties_that_make_no_sense_are_refused(mimics: dict[str, str], kinds: dict[str, str], message: str) -> None:
    b = rc.Builder("r")
    parent = "world"
    for name in "abc":
        b.link(name.upper(), **BODY)
        b.joint(name, kinds.get(name, "revolute"), parent=parent, child=name.upper(), mimic=mimics.get(name), **MOUNT)
        parent = name.upper()
    with pytest.raises(rc.ModelError, match=message):
        b.build(mimic="tie")
    assert b.build().nbodies >= 2  # as independent joints they are fine


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [("", "c", 6), ("", "j3", 6), ("j3", "j2", 5), ("j2", "", 5)],
    ids=["of nothing", "of itself", "in a circle", "of a ball"],
)
def test_ties_that_make_no_sense_are_refused_with_their_line(first: str, second: str, line: int) -> None:
    ball = (first, second) == ("j2", "")
    lines = ['<robot name="r">', '<link name="a"/><link name="b"/><link name="c"/>', "", ""]
    for k, (ends, tie) in enumerate((("a b", first), ("b c", second)), start=2):
        parent, child = ends.split()
        source = {"": "", "j2": "j2" if not ball else "j3"}.get(tie, tie)
        mimic = f'<mimic joint="{source}"/>' if source else ""
        kind = "spherical" if ball and k == 3 else "continuous"
        lines.append(
            f'<joint name="j{k}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{mimic}</joint>'
        )
    with pytest.raises(rc.ModelError) as caught:
        rc.load("\n".join([*lines, "</robot>"]), mimic="tie", strict=False)
    assert caught.value.line == line


def test_unknown_mimic_mode_is_refused() -> None:
    with pytest.raises(rc.ModelError, match="mimic must be 'free' or 'tie', not 'loose'"):
        hand(mimic="loose")


# ---- floating bases --------------------------------------------------------------------------------------------------


def box(name: str = "box", joint: str = "j") -> str:
    inertial = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    return f"""<robot name="r"><link name="{name}">{inertial}</link><link name="lid">{inertial}</link>
      <joint name="{joint}" type="continuous"><parent link="{name}"/><child link="lid"/><axis xyz="0 1 0"/>
      <origin xyz="0.2 0 0.1"/></joint></robot>"""


def test_floating_option_matches_a_free_joint_written_out() -> None:
    floating = rc.load(box(), floating=True)
    written = rc.load(floating.to_urdf())
    assert (floating.nq, floating.nv, floating.nbodies) == (8, 7, 2)
    assert floating.joint_names == written.joint_names == ("root", "j")
    assert floating.link_names == ("box", "lid")
    assert written.link_names == ("world", "box", "lid")
    q, v = floating.random_state(4)
    close(floating.poses(q), written.poses(q)[1:])
    close(floating.kinetic_energy(q, v), written.kinetic_energy(q, v))


def test_is_floating_tells_a_free_first_joint() -> None:
    assert rc.load(box(), floating=True).is_floating
    assert rc.robots.free_flyer().is_floating
    assert not rc.load(box()).is_floating
    assert not rc.load("<robot name='r'><link name='a'/></robot>").is_floating
    b = rc.Builder("r").link("arm", **BODY).link("bird", **BODY)
    b.joint("turn", "revolute", parent="world", child="arm").joint("fly", "free", parent="arm", child="bird")
    assert not b.build().is_floating


def test_name_of_the_free_joint_must_be_free() -> None:
    with pytest.raises(rc.ModelError, match="adds a free joint called 'root', but the robot has a joint of that name"):
        rc.load(box(joint="root"), floating=True)
    with pytest.raises(rc.ModelError) as caught:
        rc.load(box(joint="root"), floating=True)
    assert caught.value.line == 2
    assert rc.load(box(joint="root")).joint_names == ("root",)
    assert rc.load(box(name="root"), floating=True).joint_names == ("root", "j")  # a link may be called so


# ---- size ------------------------------------------------------------------------------------------------------------


def test_thousands_of_links_in_a_row_are_no_problem() -> None:
    count = 5000
    links = [LinkRecord(f"l{k}", mass=1.0, inertial=True) for k in range(count + 1)]
    joints = [JointRecord(f"j{k}", "fixed" if k % 10 == 3 else "prismatic", f"l{k}", f"l{k + 1}") for k in range(count)]
    start = time.perf_counter()
    robot = trusted(Description("long", tuple(reversed(links)), tuple(reversed(joints))))
    assert time.perf_counter() - start < 20.0
    assert robot.nv == 4500
    assert robot.link_names == tuple(f"l{k}" for k in range(count + 1))
    assert robot.mass == count
    q = np.full(robot.nq, 0.001)
    assert robot.pose(q, f"l{count}")[0, 3] == pytest.approx(4.5)
    assert pickle.loads(pickle.dumps(robot)).model.digest == robot.model.digest


def test_thousands_of_links_side_by_side_are_no_problem() -> None:
    names = [f"l{k}" for k in range(3000)]
    links = tuple(LinkRecord(name, mass=1.0, inertial=True) for name in ["hub", *names])
    joints = tuple(JointRecord(f"to_{name}", "prismatic", "hub", name) for name in names)
    assert trusted(Description("wide", links, joints)).link_names == ("hub", *names)


# ---- broken structures -----------------------------------------------------------------------------------------------


def structure(links: str, *joints: str) -> str:
    """A URDF with links on line 2 and a joint per line from line 3; joints are written ``name:parent>child``."""
    lines = ['<robot name="r">', "".join(f'<link name="{name}"/>' for name in links.split())]
    for joint in joints:
        name, ends = joint.split(":")
        parent, child = ends.split(">")
        lines.append(f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/></joint>')
    return "\n".join([*lines, "</robot>"])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            structure("base arm", "j:base>arm", "k:bse>arm"),
            4,
            "'k': its parent link 'bse' does not exist. Did you mean 'base'?",
        ),
        (structure("base arm", "j:base>amr"), 3, "joint 'j': its child link 'amr' does not exist. Did you mean 'arm'?"),
        (structure("base arm", "j:base>zzz"), 3, "There are: base, arm."),
        (
            structure("a b c", "j:a>b", "k:a>c", "l:b>c"),
            5,
            "link 'c' is the child of two joints, 'k' and 'l': that closes a loop",
        ),
        (structure("a b", "j:a>b", "k:b>b"), 4, "joint 'k' connects link 'b' to itself"),
        (structure("a b", "j:a>b", "k:b>a"), 4, "every link is the child of some joint: the joints form a cycle"),
        (structure("a b c", "j:a>b"), 2, "2 links have no parent joint: 'a', 'c'. A robot has one root"),
        (
            structure("a b c d", "j:a>b", "k:c>d", "l:d>c"),
            5,
            "links 'c', 'd' form a cycle that is not connected to the root 'a'",
        ),
        (
            structure("a b c d e", "j:a>b", "k:c>d", "l:d>c", "m:d>e"),
            5,
            "links 'c', 'd', 'e' form a cycle that is not connected to the root 'a'",
        ),
        (structure("a b b", "j:a>b"), 2, "two links are called 'b'"),
        (structure("a b c", "j:a>b", "j:b>c"), 4, "two joints are called 'j'"),
        ("<robot name='r'/>", 1, "the robot has no links"),
    ],
)
def test_broken_structures_are_refused_with_name_and_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(rc.ModelError) as caught:
        rc.load(text)
    assert message in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("links", "joints", "message"),
    [
        ((), (), "the robot has no links"),
        (("a", "a"), (), "two links are called 'a'"),
        (("a", "b", "c"), (("j", "a", "b"), ("j", "b", "c")), "two joints are called 'j'"),
    ],
)
def test_descriptions_made_by_hand_are_checked_too(
    links: tuple[str, ...], joints: tuple[object, ...], message: str
) -> None:
    records = tuple(JointRecord(name, "revolute", parent, child) for name, parent, child in joints)
    with pytest.raises(rc.ModelError, match=message):
        trusted(Description("r", tuple(LinkRecord(name) for name in links), records))


def test_unconnected_links_of_a_builder_are_told() -> None:
    b = rc.Builder("r").link("a", **BODY).link("b", **BODY).joint("j", "revolute", parent="a", child="b")
    with pytest.raises(rc.ModelError, match="2 links have no parent joint: 'world', 'a'"):
        b.build()


@pytest.mark.parametrize("floating", ["bus", "false", 1, [True]])
def test_floating_that_is_no_truth_value_is_refused(floating):
    text = '<robot name="box"><link name="bus"/></robot>'
    with pytest.raises(rc.ModelError, match=r"floating is True, False or None, not .*the root link of the file"):
        rc.load(text, floating=floating)
    assert rc.load(text, floating=np.True_).is_floating
