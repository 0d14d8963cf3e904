"""The builder: every joint kind against its formula, data passed on, names, and what is said about mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import recursa as rc
from numeric import close, expm, skew

XYZ, RPY = (0.3, -0.2, 0.5), (0.4, -0.7, 1.1)
AXIS = np.array([0.36, -0.48, 0.8])
PITCH = 0.07
BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.05), "inertia": (0.031, 0.032, 0.033, 0.001, -0.002, 0.003)}


def pose(rotation: np.ndarray | None = None, translation: object = (0.0, 0.0, 0.0)) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = np.eye(3) if rotation is None else rotation
    matrix[:3, 3] = translation
    return matrix


def about(axis: object, angle: float) -> np.ndarray:
    """Rotation matrix: the exponential of the skew matrix."""
    return expm(angle * skew(axis))


def of_quaternion(q: object) -> np.ndarray:
    x, y, z, w = q
    half = math.atan2(math.hypot(x, y, z), w)
    return about(np.array([x, y, z]) / math.hypot(x, y, z), 2 * half)


def in_plane(q: object) -> np.ndarray:
    """The plane's axes come from the shortest rotation that takes z to the axis."""
    normal = np.cross([0, 0, 1], AXIS)
    shortest = about(normal / np.linalg.norm(normal), math.acos(AXIS[2]))
    return pose(about(AXIS, q[2]), shortest @ [q[0], q[1], 0.0])


MOTIONS: dict[str, tuple[int, int, Callable[[np.ndarray], np.ndarray]]] = {
    "revolute": (1, 1, lambda q: pose(about(AXIS, q[0]))),
    "continuous": (1, 1, lambda q: pose(about(AXIS, q[0]))),
    "prismatic": (1, 1, lambda q: pose(None, AXIS * q[0])),
    "helical": (1, 1, lambda q: pose(about(AXIS, q[0]), AXIS * PITCH * q[0])),
    "spherical": (4, 3, lambda q: pose(of_quaternion(q))),
    "planar": (3, 3, in_plane),
    "free": (7, 6, lambda q: pose(of_quaternion(q[3:]), q[:3])),
    "fixed": (0, 0, lambda q: pose()),
}


def one_joint(kind: str, **options: object) -> rc.Robot:
    pitch = PITCH if kind == "helical" else None
    b = rc.Builder("one").link("body", **BODY)
    b.joint("j", kind, parent="world", child="body", axis=AXIS, xyz=XYZ, rpy=RPY, pitch=pitch, **options)
    return b.build()


@pytest.mark.parametrize("kind", MOTIONS)
def test_pose_matches_the_formula_of_the_joint_kind(kind: str) -> None:
    nq, nv, motion = MOTIONS[kind]
    robot = one_joint(kind)
    assert (robot.nq, robot.nv, robot.nbodies) == (nq, nv, min(nv, 1))
    roll, pitch, yaw = RPY
    placement = pose(about([0, 0, 1], yaw) @ about([0, 1, 0], pitch) @ about([1, 0, 0], roll), XYZ)
    q, _ = robot.random_state(4)
    close(robot.pose(q, "body"), placement @ motion(q), what=kind)


@pytest.mark.parametrize("kind", [kind for kind in MOTIONS if kind != "fixed"])
def test_numbers_per_freedom_reach_the_joint(kind: str) -> None:
    nv = MOTIONS[kind][1]
    each = [0.1 * (k + 1) for k in range(nv)]
    (joint,) = one_joint(kind, armature=0.25, damping=each, friction=np.array(each)).model.joints
    assert joint.armature == (0.25,) * nv
    assert joint.damping == joint.friction == tuple(each)
    assert (joint.effort, joint.velocity, joint.limits) == (None, None, None)


@pytest.mark.parametrize("kind", MOTIONS)
@pytest.mark.parametrize(("what", "value"), [("limits", (-0.4, 0.9)), ("effort", 12.0), ("velocity", 3.0)])
def test_limits_reach_the_joints_that_can_have_them(kind: str, what: str, value: object) -> None:
    kinds = ["revolute", "prismatic", "helical"] + ["continuous"] * (what != "limits")
    if kind in kinds:
        robot = one_joint(kind, **{what: value})
        assert getattr(robot.model.joints[0], what) == value
        assert getattr(rc.load(robot.to_urdf(extensions=True)).model.joints[0], what) == value
        return
    with pytest.raises(rc.ModelError, match=f"joint 'j': a {kind} joint has no {what}; revolute, "):
        one_joint(kind, **{what: value})


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(2), np.float64(0.5), np.array(0.5), 2])
def test_numpy_numbers_are_as_good_as_floats(number: object) -> None:
    b = rc.Builder("r").link("a", **{**BODY, "mass": number}).link("b", **BODY)
    b.joint("j", "prismatic", parent="world", child="a", armature=number, effort=number)
    if np.ndim(number) == 0 and not isinstance(number, np.ndarray):
        b.joint("k", "spherical", parent="a", child="b", damping=number)
    else:
        b.joint("k", "spherical", parent="a", child="b", damping=[number] * 3)
    robot = b.build()
    value = float(number)
    assert robot.model.joints[0].armature == (value,)
    assert robot.model.joints[0].effort == value
    assert robot.model.joints[1].damping == (value,) * 3
    assert robot.mass == pytest.approx(value + BODY["mass"], rel=1e-15)


def test_inertia_is_about_the_centre_of_mass() -> None:
    """A body that turns about its own centre of mass has T = w I w / 2; about another point, Steiner adds."""
    w = np.array([0.3, -1.1, 0.7])
    xx, yy, zz, xy, xz, yz = BODY["inertia"]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    com, mass = np.array(BODY["com"]), BODY["mass"]
    robot = one_joint("spherical")
    q, _ = robot.random_state(2)
    expected = 0.5 * w @ inertia @ w + 0.5 * mass * np.sum(np.cross(w, com) ** 2)
    close(robot.kinetic_energy(q, w), expected)


# ---- order and names -------------------------------------------------------------------------------------------------


def branched() -> rc.Builder:
    """Declared in an order that is neither that of the tree nor alphabetical."""
    b = rc.Builder("branched")
    for name in ("leaf", "trunk", "weld", "twig", "branch", "shrub", "bud"):
        b.link(name, **BODY)
    b.joint("j_leaf", "revolute", parent="branch", child="leaf")
    b.joint("j_shrub", "prismatic", parent="world", child="shrub")
    b.joint("j_twig", "spherical", parent="trunk", child="twig")
    b.joint("j_trunk", "revolute", parent="world", child="trunk")
    b.joint("j_weld", "fixed", parent="trunk", child="weld")
    b.joint("j_bud", "revolute", parent="weld", child="bud")
    b.joint("j_branch", "revolute", parent="trunk", child="branch")
    b.frame("camera", parent="weld", xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    b.frame("lens", parent="camera", xyz=(0.0, 0.0, 0.1))
    return b


def test_order_is_depth_first_with_siblings_as_declared() -> None:
    robot = branched().build()
    assert robot.joint_names == ("j_shrub", "j_trunk", "j_twig", "j_bud", "j_branch", "j_leaf")
    assert robot.link_names == (
        "world", "shrub", "trunk", "twig", "weld", "bud", "camera", "lens", "branch", "leaf",
    )  # fmt: skip
    assert robot.nlinks == 10
    assert robot.nbodies == 6
    assert [joint.v_start for joint in robot.model.joints] == [0, 1, 2, 5, 6, 7]
    assert [joint.q_start for joint in robot.model.joints] == [0, 1, 2, 6, 7, 8]
    assert [joint.parent for joint in robot.model.joints] == [-1, -1, 1, 1, 1, 4]
    assert [link.frame for link in robot.model.links] == [name in ("camera", "lens") for name in robot.link_names]


def test_poses_come_in_the_order_of_link_names() -> None:
    robot = branched().build()
    q, _ = robot.random_state(3)
    poses = robot.poses(q)
    for number, name in enumerate(robot.link_names):
        close(poses[number], robot.pose(q, name), 0.0, name)
    assert len({poses[k].tobytes() for k in range(robot.nlinks)}) > 7  # and they differ


def test_frame_moves_with_its_link() -> None:
    robot = branched().build()
    q, v = robot.random_state(5)
    yaw, pitch, roll = about([0, 0, 1], 0.6), about([0, 1, 0], 0.5), about([1, 0, 0], 0.4)
    camera = robot.pose(q, "weld") @ pose(yaw @ pitch @ roll, (0.1, 0.2, 0.3))
    close(robot.pose(q, "camera"), camera)
    close(robot.pose(q, "lens"), camera @ pose(None, (0, 0, 0.1)))
    close(robot.jacobian(q, "lens") @ v, robot.velocities(q, v)[robot.link_names.index("lens")])


def test_frame_has_no_mass_whatever_it_is_called() -> None:
    """The joint that carries a frame is named after it, unless a joint of that name exists."""
    b = rc.Builder("r").link("arm", **BODY)
    b.joint("tip_frame", "revolute", parent="world", child="arm", axis=AXIS)
    b.frame("tip", parent="arm", xyz=(0, 0, 1))
    robot = b.build()
    assert robot.joint_names == ("tip_frame",)
    assert robot.link_names == ("world", "arm", "tip")
    assert robot.mass == BODY["mass"]


# ---- mimics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "tie"),
    [
        ("a", ("a", 1.0, 0.0)),
        (("a", -2.0), ("a", -2.0, 0.0)),
        (("a", -2, 0.5), ("a", -2.0, 0.5)),
        ({"joint": "a", "offset": 0.25}, ("a", 1.0, 0.25)),
    ],
)
def test_spellings_of_a_mimic(given: object, tie: tuple[str, float, float]) -> None:
    b = rc.Builder("r").link("one", **BODY).link("two", **BODY)
    b.joint("a", "revolute", parent="world", child="one").joint("b", "revolute", parent="one", child="two", mimic=given)
    mimic = b.build().model.joints[1].mimic
    assert (mimic.joint, mimic.multiplier, mimic.offset) == tie


# ---- mistakes --------------------------------------------------------------------------------------------------------


def joined(**options: object) -> rc.Robot:
    b = rc.Builder("r").link("arm", **BODY)
    return b.joint("j", **{"kind": "revolute", "parent": "world", "child": "arm", **options}).build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "revolut"}, "joint 'j': unknown kind 'revolut'. Did you mean 'revolute'?"),
        ({"kind": "floating"}, "unknown kind 'floating'. There are: revolute"),
        ({"kind": "ellipsoid"}, "unknown kind 'ellipsoid'. It is made of six simple joints and a projection"),
        ({"kind": "helical"}, "a helical joint needs a pitch in metres per radian"),
        ({"pitch": 0.1}, "a revolute joint has no pitch"),
        ({"kind": "helical", "pitch": math.nan}, "pitch must be finite, not nan"),
        ({"axis": (0, 1)}, "joint 'j': axis must be 3 numbers, not 2"),
        ({"axis": "001"}, "axis must be 3 numbers"),
        ({"axis": 3}, "axis must be 3 numbers, not 3"),
        ({"xyz": (0, 0, math.inf)}, "joint 'j': xyz must be finite, not inf"),
        ({"rpy": (0, math.nan, 0)}, "joint 'j': rpy must be finite, not nan"),
        ({"rpy": None}, "rpy must be 3 numbers, not None"),
        ({"armature": (1, 2)}, "armature must be a number, not 2"),
        ({"kind": "spherical", "damping": (1, 2)}, "damping must be 3 numbers, not 2"),
        ({"friction": "much"}, "friction must be a number, or a pair for both directions, not 'much'"),
        ({"limits": 3}, "limits must be 2 numbers, not 3"),
        ({"effort": "much"}, "effort must be a number, not 'much'"),
        ({"mimic": 5}, r"mimic must be a joint name or \(joint, multiplier, offset\), not 5"),
        ({"mimic": {"name": "a"}}, "mimic must be a joint name"),
        ({"mimic": ("a", "b")}, "mimic multiplier must be a number, not 'b'"),
        ({"mimic": ("a", 1, math.nan)}, "mimic offset must be finite"),
        ({"parent": ["world"]}, r"joint 'j': parent must be a name, not \['world'\]"),
        ({"child": None}, "joint 'j': child must be a name, not None"),
        ({"mimic": ""}, "joint 'j': mimic must be a name; it is empty"),
        ({"mimic": (3, 1.0)}, "joint 'j': mimic must be a name, not 3"),
        ({"armature": 10**400}, "joint 'j': armature contains a whole number too large for a float"),
        ({"kind": "spherical", "armature": 10**400}, "armature contains a whole number too large"),
        ({"axis": (0, 0, 10**400)}, "axis contains a whole number too large"),
        ({"axis": b"001"}, "axis must be 3 numbers"),
        ({"parent": "wrold"}, "joint 'j': its parent link 'wrold' does not exist. Did you mean 'world'?"),
        ({"child": "amr"}, "joint 'j': its child link 'amr' does not exist. Did you mean 'arm'?"),
    ],
)
def test_mistakes_in_a_joint_name_it(options: dict[str, object], message: str) -> None:
    with pytest.raises(rc.ModelError, match=message):
        joined(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": "heavy"}, "link 'a': mass must be a number, not 'heavy'"),
        ({"mass": (1, 2)}, "mass must be a number, not 2"),
        ({"mass": 1, "com": (1, 2, 3, 4)}, "com must be 3 numbers, not 4"),
        ({"mass": 1, "com": "123"}, "com must be 3 numbers"),
        ({"mass": 10**400}, "link 'a': mass contains a whole number too large for a float"),
        ({"mass": 1, "inertia": (1, 1, 10**400)}, "link 'a': inertia contains a whole number too large"),
        ({"mass": 1, "inertia": 5}, "link 'a': inertia must be 3x3"),
        ({"mass": 1, "inertia": (1, 2, 3, 4)}, "inertia must be 3x3"),
        ({"mass": 1, "inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "link 'a': inertia must be symmetric"),
    ],
)
def test_mistakes_in_a_link_name_it(options: dict[str, object], message: str) -> None:
    with pytest.raises(rc.ModelError, match=message):
        rc.Builder("r").link("a", **options)


@pytest.mark.parametrize("name", ["", "  ", 5, None, ["a"], b"a", "a\nb", "\x1b[0m", "\ud800", "a\x7f"])
def test_names_must_be_printable_text(name: object) -> None:
    b = rc.Builder("r").link("a", **BODY)
    row = rc.DHLink(mass=1.0, inertia=(1, 1, 1))
    for make in (
        lambda: rc.Builder(name),
        lambda: b.link(name),
        lambda: b.joint(name, "fixed", parent="world", child="a"),
        lambda: b.frame(name, parent="a"),
        lambda: b.frame("f", parent=name),
        lambda: rc.from_dh([row], convention="standard", name=name),
    ):
        with pytest.raises(rc.ModelError, match="must be a name"):
            make()


def test_names_may_be_any_printable_text() -> None:
    b = rc.Builder("Bär 🐻").link("a<b>&'", **BODY)
    b.joint("über $j$", "revolute", parent="world", child="a<b>&'")
    assert rc.load(b.build().to_urdf()).joint_names == ("über $j$",)


def test_names_that_are_taken_are_refused() -> None:
    b = rc.Builder("r").link("a", **BODY).joint("j", "revolute", parent="world", child="a")
    with pytest.raises(rc.ModelError, match="two links are called 'a'"):
        b.link("a")
    with pytest.raises(rc.ModelError, match="two links are called 'world'"):
        b.link("world", mass=1.0)
    with pytest.raises(rc.ModelError, match="two links are called 'a'"):
        b.frame("a", parent="world")
    with pytest.raises(rc.ModelError, match="two joints are called 'j'"):
        b.joint("j", "revolute", parent="world", child="a")
    assert b.build().link_names == ("world", "a")  # what was refused left no trace


@pytest.mark.parametrize("gravity", [(0, 0), 9.81, "down", (0, 0, math.nan), None, "123", (0, 0, "x")])
def test_gravity_must_be_three_finite_numbers(gravity: object) -> None:
    with pytest.raises(rc.ModelError, match="gravity must be"):
        rc.Builder("r").link("a", **BODY).joint("j", "free", parent="world", child="a").build(gravity=gravity)
