"""SDF files: the robots of texts against robots built by hand, what is kept as data, and what is refused."""

from __future__ import annotations

import math
import sysconfig
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.model.description import Description, Mimic
from recursa.spatial import Transform
from sdf_texts import HAND, INCLUDES, TEXTS, joint, link, model, pose
from watching import watched_opens

COM = {"com": (0.05, -0.02, 0.1)}


def loaded(source: str | Path, **options: Any) -> rc.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return rc.load(source, **options)


def described(source: str | Path, **options: Any) -> Description:
    return loaded(source, **options).model.description


def turned(mass: float) -> np.ndarray[Any, Any]:
    """The inertia that ``sdf_texts.inertial`` says, in link axes."""
    x, y, z = 0.02 * mass, 0.03 * mass, 0.025 * mass
    xy, xz, yz = 0.001 * mass, -0.002 * mass, 0.0015 * mass
    r = rotation("0 0 0 0.1 0.2 -0.3")
    return r @ np.array([[x, xy, xz], [xy, y, yz], [xz, yz, z]]) @ r.T


def placed(numbers: str) -> np.ndarray[Any, Any]:
    values = [float(word) for word in numbers.split()]
    return np.array(Transform.from_xyz_rpy(values[:3], values[3:]).rows(), dtype=float)


def rotation(numbers: str) -> np.ndarray[Any, Any]:
    return placed(numbers)[:3, :3]


BASE, UPPER, LOWER = "0 0 0.3 0.1 0 0.2", "0.4 0.1 0.5 0.3 -0.2 0.1", "0.9 0.1 0.6 0 0.5 0"


def hand_made(*joints: tuple[str, str, str, tuple[float, ...], str | None], pitch: tuple[float, ...] = ()) -> rc.Robot:
    """The three links of the texts on joints that are (name, kind, of which links, axis, pose in the child).

    Links stand at the far end of their joint in SDF; here frames are at the joints, and masses are moved instead.
    """
    builder = rc.Builder("robot")
    where = {"world": np.eye(4), "base": placed(BASE), "upper": placed(UPPER), "lower": placed(LOWER)}
    masses = {"base": 4.0, "upper": 2.0, "lower": 1.0}
    frames = {"world": np.eye(4)}
    for number, (name, kind, ends, axis, at) in enumerate(joints):
        parent, child = ends.split()
        frames[child] = where[child] @ (placed(at) if at else np.eye(4))
        offset = np.linalg.inv(frames[child]) @ where[child]
        inertia = offset[:3, :3] @ turned(masses[child]) @ offset[:3, :3].T
        builder.link(child, mass=masses[child], com=(offset @ [*COM["com"], 1.0])[:3], inertia=inertia)
        relative = np.linalg.inv(frames[parent]) @ frames[child]
        more = {"pitch": pitch[number]} if kind == "helical" else {}
        rpy = Transform.from_matrix(relative.tolist()).rotation.rpy()
        builder.joint(name, kind, parent=parent, child=child, axis=axis, xyz=relative[:3, 3], rpy=rpy, **more)
    return builder.build()


MADE: dict[str, Callable[[], rc.Robot]] = {
    "arm": lambda: hand_made(
        ("a", "revolute", "world base", (0, 0, 1), None),
        ("b", "revolute", "base upper", (0.6, 0.8, 0), None),
        ("c", "prismatic", "upper lower", (1, 0, 0), "0.1 0.2 0.3 0.4 0.5 0.6"),
    ),
    "ball": lambda: hand_made(
        ("a", "revolute", "world base", (1, 0, 0), None),
        ("b", "spherical", "base upper", (1, 0, 0), "0.1 0.2 0 0.2 0.1 0.3"),
        ("c", "revolute", "upper lower", (0, 0, 1), None),
    ),
    "screw": lambda: hand_made(
        ("a", "helical", "world base", (0, 0, 1), None),
        ("b", "helical", "base upper", (0, 0.6, 0.8), None),
        ("c", "revolute", "upper lower", (0, 0, 1), None),
        pitch=(0.3 / (2 * math.pi), 1 / 8),
    ),
    "version_1.4": lambda: hand_made(
        ("a", "revolute", "world base", tuple(rotation(BASE).T @ [0, 0.6, 0.8]), None),
        ("b", "revolute", "base upper",
         tuple((rotation(UPPER) @ rotation("0 0 0 0.4 0.2 0.3")).T @ [0.6, 0, 0.8]), "0.1 0 0 0.4 0.2 0.3"),
        ("c", "revolute", "upper lower", tuple(rotation(LOWER).T @ [0, 1, 0]), None),
    ),
    "version_1.6": lambda: hand_made(
        ("a", "revolute", "world base", (0, 0.6, 0.8), None),
        ("b", "revolute", "base upper",
         tuple((rotation(UPPER) @ rotation("0 0 0 0.4 0.2 0.3")).T @ [0.6, 0, 0.8]), "0.1 0 0 0.4 0.2 0.3"),
        ("c", "revolute", "upper lower", (0, 1, 0), None),
    ),
}  # fmt: skip


def same_dynamics(one: rc.Robot, other: rc.Robot) -> None:
    q, v = one.random_state(5)
    a = np.linspace(-1.0, 1.0, one.nv)
    np.testing.assert_allclose(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), rtol=0, atol=1e-11)
    np.testing.assert_allclose(one.mass_matrix(q), other.mass_matrix(q), rtol=0, atol=1e-12)


@pytest.mark.interpreted(reason="every robot is asked twice")
@pytest.mark.parametrize("name", MADE)
def test_texts_and_hand_made_robots(name: str) -> None:
    same_dynamics(loaded(TEXTS[name]), MADE[name]())


@pytest.mark.interpreted(reason="every robot is asked twice")
def test_two_axes_and_two_joints() -> None:
    """A universal joint against two revolute ones with a link that weighs nothing, in SDF itself; so is revolute2."""
    at, ends = (
        pose("0.1 0.2 0 0.2 0.1 0.3"),
        (joint("a", "fixed", "world", "base", ""), joint("c", "revolute", "upper", "lower")),
    )
    parts = (link("base", 4.0, pose(BASE)), link("upper", 2.0, pose(UPPER)), link("lower", 1.0, pose(LOWER)))
    nothing = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
    cross = f'<link name="x"><pose relative_to="b2"/>{nothing}</link>'
    apart = model(*parts, cross, ends[0], joint("b1", "revolute", "base", "x", "1 0 0"),
                  joint("b2", "revolute", "x", "upper", "0 1 0", at), ends[1])  # fmt: skip
    for kind in ("universal", "revolute2"):
        whole = loaded(model(*parts, ends[0], joint("b", kind, "base", "upper", "1 0 0", at, "0 1 0"), ends[1]))
        assert whole.joint_names == ("b.1", "b.2", "c")
        same_dynamics(whole, loaded(apart))


def test_models_float_unless_something_holds_them() -> None:
    assert loaded(TEXTS["floating"]).is_floating
    assert not loaded(TEXTS["floating"], floating=False).is_floating
    assert not loaded(TEXTS["arm"]).is_floating
    assert loaded(TEXTS["free_bodies"]).joint_names == ("one_free", "two_free")
    assert loaded(TEXTS["static"]).nv == 0
    frozen = TEXTS["floating"].replace('<link name="base">', '<static>1</static><link name="base">')
    assert loaded(frozen).nv == 0


def test_gravity_of_the_world() -> None:
    assert loaded(TEXTS["world"]).gravity == (0.5, 0.0, -3.7)
    assert loaded(TEXTS["world"].replace("<gravity>0.5 0 -3.7</gravity>", "")).gravity == (0.0, 0.0, -9.8)
    older = TEXTS["world"].replace("<gravity>0.5 0 -3.7</gravity>", "<physics><gravity>0 0 -1</gravity></physics>")
    assert loaded(older.replace('"1.8"', '"1.5"')).gravity == (0.0, 0.0, -1.0)
    assert loaded(TEXTS["arm"]).gravity == (0.0, 0.0, -9.81)


def test_frames_become_named_frames() -> None:
    robot = loaded(TEXTS["frames"])
    q = robot.random_state(2)[0]
    assert {"f", "g", "h"} <= set(robot.link_names)
    np.testing.assert_allclose(
        robot.pose(q, "f"), robot.pose(q, "upper") @ placed("0.1 0.2 0.3 0.1 0.2 0.3"), atol=1e-12
    )


def test_frames_on_a_joint_and_on_its_child_are_the_same() -> None:
    """Drake, with which the others are compared, puts a frame that is attached to a joint elsewhere."""
    text = TEXTS["frames"]
    q = loaded(text).random_state(2)[0]
    on_joint = loaded(text.replace('name="h" attached_to="upper"', 'name="h" attached_to="b"'))
    np.testing.assert_allclose(on_joint.pose(q, "h"), loaded(text).pose(q, "h"), rtol=0, atol=1e-15)
    at_rest = on_joint.pose(0 * q, "lower") @ placed("0.2 0 0 0 0.4 0")
    np.testing.assert_allclose(on_joint.pose(0 * q, "h"), at_rest, rtol=0, atol=1e-12)


LIMITS = """<axis><xyz>0 0 1</xyz><limit><lower>-1.5</lower><upper>1e16</upper><effort>30</effort><velocity>-1</velocity></limit>
  <dynamics><damping>0.5</damping><friction>0.25</friction><spring_stiffness>7</spring_stiffness>
  <spring_reference>0.3</spring_reference></dynamics></axis>"""  # noqa: E501


def test_limits_losses_and_springs() -> None:
    found = described(model(link("base"), joint("a", "revolute", "world", "base", LIMITS)))
    (turn,) = found.joints
    assert turn.limits == (-1.5, math.inf)
    assert (turn.effort, turn.velocity, turn.damping, turn.friction) == (30.0, None, (0.5,), (0.25,))
    assert (turn.stiffness, turn.rest, found.notes) == (7.0, 0.3, ())
    ball = described(model(link("base"), joint("a", "ball", "world", "base", LIMITS)))
    assert [note.code for note in ball.notes] == ["spring"]


def test_mimic() -> None:
    text = """<axis><xyz>0 0 1</xyz><mimic joint="a" axis="axis"><multiplier>2</multiplier><offset>0.5</offset>
      <reference>0.1</reference></mimic></axis>"""
    found = described(model(link("one"), link("two"), joint("a", "revolute", "world", "one"),
                            joint("b", "revolute", "one", "two", text), version="1.11"))  # fmt: skip
    assert found.joints[1].mimic == Mimic("a", 2.0, 0.5 - 2.0 * 0.1)


def test_loops_are_cut_and_kept() -> None:
    links = (link("one"), link("two", pose=pose("1 0 0 0 0 0")), link("three", pose=pose("0 1 0 0 0 0.5")))
    found = described(model(*links, joint("a", "revolute", "world", "one"), joint("b", "revolute", "one", "two"),
                            joint("c", "revolute", "one", "three"), joint("d", "revolute", "two", "three", "0 1 0",
                                                                          pose("0.1 0.2 0.3 0 0 0"))))  # fmt: skip
    (loop,) = found.closures
    assert (loop.name, loop.kind, loop.first, loop.second, tuple(loop.axis)) == (
        "d",
        "revolute",
        "two",
        "three",
        (0, 1, 0),
    )
    apart = Transform.from_xyz_rpy((1, 0, 0), (0, 0, 0)) @ loop.placement  # one frame, seen from either link
    other = Transform.from_xyz_rpy((0, 1, 0), (0, 0, 0.5)) @ loop.placement_on_second
    np.testing.assert_allclose(apart.rows(), other.rows(), atol=1e-15)
    assert "loop" in [note.code for note in found.notes]


@pytest.mark.interpreted(reason="every robot is asked twice")
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw"])
def test_joints_that_point_inward_are_turned_round(kind: str) -> None:
    """The same two links with the joint between them either way: its coordinate is the same, its sense, too."""
    at = "0.1 0.2 0.3 0.1 0.2 0.3"
    links = (
        link("one", pose=pose(BASE)),
        link("two", 2.0, pose(UPPER)),
        '<frame name="f"><pose>' + at + "</pose></frame>",
    )
    hold = joint("a", "revolute", "world", "one", "0 1 0")
    more = pose("0 0 0 0 0 0", relative_to="f") + "<screw_thread_pitch>0.2</screw_thread_pitch>"
    outward = loaded(model(*links, hold, joint("b", kind, "one", "two", "0 0.6 0.8", more)))
    inward = loaded(model(*links, hold, joint("b", kind, "two", "one", "0 -0.6 -0.8", more)))
    assert outward.joint_names == inward.joint_names
    same_dynamics(outward, inward)


def test_gearboxes_are_relations() -> None:
    wheels = link("frame"), link("one"), link("two", pose=pose("1 0 0 0 0 0"))
    more = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>frame</gearbox_reference_body>"
    gear = joint("g", "gearbox", "one", "two", "0 0 1", more, "0 0 1")
    hold = joint("a", "fixed", "world", "frame", "")
    turns = joint("b", "revolute", "frame", "one", "0 0 1"), joint("c", "revolute", "frame", "two", "0 0 -1")
    (found,) = described(model(*wheels, hold, *turns, gear)).relations
    assert (found.joint, found.other, found.polynomial) == ("c", "b", (0.0, 3.0))  # two reversals: outside and axis
    crossed = described(model(*wheels, hold, turns[0], joint("c", "revolute", "frame", "two", "1 0 0"), gear))
    assert not crossed.relations
    assert [note.code for note in crossed.notes] == ["gearbox"]


def test_masses_that_are_not_said() -> None:
    found = described(TEXTS["defaults"])
    assert [(one.mass, one.inertia.xx) for one in found.links if one.name != "world"] == [(1.0, 1.0), (1.0, 1.0)]
    assert [note.code for note in found.notes] == ["default-mass"]


def test_one_of_several_models() -> None:
    two = TEXTS["world"].replace("<static>true</static>", "")
    with pytest.raises(rc.ModelError, match=r"there are 2 models: 'box', 'robot'.*--arg model:=NAME"):
        rc.load(two)
    assert loaded(two, arguments={"model": "box"}).link_names == ("floor",)
    assert loaded(two, arguments={"model": "robot"}).nv == 3
    with pytest.raises(rc.ModelError, match=r"there is no model 'rob'\. Did you mean 'robot'"):
        rc.load(two, arguments={"model": "rob"})
    with pytest.raises(rc.ModelError, match="SDF has no argument 'x'"):
        rc.load(two, arguments={"x": "1"})


def test_joints_of_the_world_hold_models() -> None:
    fixed = joint("hold", "revolute", "world", "robot::base", "0 0 1", pose("0.1 0 0 0 0 0"))
    text = TEXTS["world"].replace("</world>", fixed + "</world>").replace('name="a"', 'name="gone"')
    inside = joint("gone", "revolute", "world", "base", "0.6 0 0.8")
    assert inside in text
    robot = loaded(text.replace(inside, "").replace('"1.8"', '"1.10"'))
    assert set(robot.joint_names) == {"hold", "b", "c"}
    np.testing.assert_allclose(robot.pose([0, 0, 0], "base"), placed("0.1 0.2 0.3 0.3 0 0") @ placed(BASE), atol=1e-12)


def test_scenery_that_is_missing_is_noted() -> None:
    text = TEXTS["world"].replace('<model name="box">', '<include><uri>model://sun</uri></include><model name="box">')
    found = described(text)
    assert {"include", "models"} <= {note.code for note in found.notes}
    with pytest.raises(rc.ModelError, match="only in folders that you name"):
        rc.load(INCLUDES["plain"].replace("URI", "model://hand"))


@pytest.mark.parametrize("name", INCLUDES)
def test_included_models_by_name(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "hand_model"
    folder.mkdir()
    (folder / "old.sdf").write_text("<sdf/>")
    (folder / "model.sdf").write_text(HAND)
    versions = '<sdf version="1.4">old.sdf</sdf><sdf version="1.9">model.sdf</sdf>'
    (folder / "model.config").write_text(f"<model>{versions}</model>")
    robot = loaded(INCLUDES[name].replace("URI", "model://hand_model"), assets=tmp_path)
    prefix = {"plain": "hand::", "named": "left::", "placed": "left::"}.get(name, "")
    assert set(robot.joint_names) == {"a", "b", f"{prefix}grip"}
    assert all(one.line is None for one in robot.model.description.links if one.name.endswith("palm"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<sdf/>", "version '' is not read; 1.4 to 1.12 are"),
        ("<sdf version='2.0'/>", "version '2.0' is not read"),
        ("<sdf version='1.9'/>", "there is no model"),
        (model(), "has no links"),
        (model(link("a"), link("a")), "two links of model 'robot' are called 'a'"),
        (model(link("world")), "the name 'world' is reserved"),
        (model(link("a"), joint("j", "hinge", "world", "a")), "unknown joint type 'hinge'"),
        (model(link("a"), joint("j", "revolute", "world", "b")), "has nothing called 'b'"),
        (model(link("a"), joint("j", "revolute", "world", "a", "")), "has no <axis>"),
        (model(link("a"), joint("j", "revolute", "a", "world")), "has nothing called 'world'|child must be a link"),
        (model(link("a"), joint("j", "revolute", "a", "a")), "connects a link to itself"),
        (model(link("a", pose=pose("0 0 0"))), "<pose> needs 6 numbers, got 3"),
        (model(link("a", pose=pose("0 0 0 0 0 x"))), "is not numeric"),
        (model(link("a", pose=pose("0 0 0 0 0 0", relative_to="b"))), "has nothing called 'b'"),
        (model(*(link(a, pose=pose("0 0 0 0 0 0", relative_to=b)) for a, b in ("ab", "ba"))),
         "relative to itself"),
        (model(link("a"), '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "relative to itself"),
        (model(link("a", pose=pose("0 0 0 0 0 0 0", rotation_format="quat_xyzw"))), "gives no rotation"),
        (model(link("a", pose=pose("0 0 0 0 0 0", rotation_format="axis"))), "must be 'euler_rpy'"),
        (model('<link name="a"><inertial auto="true"/></link>'), "not done here"),
        (model("<static>maybe</static>", link("a")), "neither true nor false"),
        (model(link("a"), joint("j", "screw", "world", "a", more="<thread_pitch>0</thread_pitch>")), "endless pitch"),
        (model(link("a"), "<include><uri>https://fuel.example.org/x</uri></include>"), "on the network"),
        (model(link("a"), "<include/>"), "has no <uri>"),
    ],
)  # fmt: skip
def test_mistakes_have_words_and_lines(text: str, words: str) -> None:
    with pytest.raises(rc.ModelError, match=words) as caught:
        loaded(text)
    assert caught.value.line is not None


CASSIE = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots",
              "cassie_description", "robots", "cassie.sdf")  # fmt: skip


@pytest.mark.skipif(not CASSIE.exists(), reason="example-robot-data is not installed")
def test_a_real_biped_with_loops_and_gearboxes() -> None:
    found = loaded(CASSIE)
    assert (found.nv, found.is_floating) == (44, True)
    assert len(found.model.description.closures) == 6
    assert {one.polynomial[1] for one in found.model.description.relations} == {-1 / 16, -1 / 25, -1 / 50}


# ---- hostile files ---------------------------------------------------------------------------------------------------


def nested(depth: int) -> str:
    return model("".join(f'<model name="m{k}">' for k in range(depth)) + link("a") + "</model>" * depth)


HOSTILE = {
    "nested_models": nested(90),
    "frames_in_a_circle": model(link("a"), *(
        f'<frame name="f{k}"><pose relative_to="f{(k + 1) % 20000}">0 0 0 0 0 0</pose></frame>' for k in range(20000))),
    "many_links": model(*(f'<link name="l{k}"/>' for k in range(30000)), joint("j", "revolute", "world", "none")),
    "huge_numbers": model(link("a", pose=pose("1e308 1e308 1e308 1e308 1e308 1")), joint("j", "ball", "x", "b", "")),
    "not_numbers": model(link("a", pose=pose("nan inf 0 nan inf 0")), joint("j", "revolute", "world", "a")),
    "all_joints_to_one": model(link("a"), *(joint(f"j{k}", "ball", "a", "a", "") for k in range(100))),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_soon_in_an_error(name: str) -> None:
    begin = time.process_time()
    with pytest.raises(rc.ModelError):
        loaded(HOSTILE[name])
    assert time.process_time() - begin < 20.0


def test_long_chains_of_frames_are_read() -> None:
    frames = (
        f'<frame name="f{k}" attached_to="{f"f{k - 1}" if k else "a"}"><pose>0 0 0.1 0 0 0</pose></frame>'
        for k in range(3000)
    )
    robot = loaded(model(link("a"), *frames))
    np.testing.assert_allclose(robot.pose([0, 0, 0, 0, 0, 0, 1], "f2999")[2, 3], 300.0)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.sdf").write_text(model(link("x"), "<include><uri>b.sdf</uri></include>"))
    (tmp_path / "b.sdf").write_text(model(link("x"), "<include><uri>a.sdf</uri></include>"))
    with pytest.raises(rc.ModelError, match="in a circle"):
        rc.load(tmp_path / "a.sdf", assets=tmp_path)
    for k in range(12):  # every file includes the next one twice
        twice = "".join(f"<include><uri>c{k + 1}.sdf</uri><name>n{n}</name></include>" for n in range(2))
        (tmp_path / f"c{k}.sdf").write_text(model(link("x"), twice if k < 11 else ""))
    with pytest.raises(rc.ModelError, match="1000 times"):
        rc.load(tmp_path / "c0.sdf", assets=tmp_path)


@pytest.mark.parametrize(
    "uri", ["../secret.sdf", "/etc/hostname", "link.sdf", "model://../secret.sdf", "link", "model://.."]
)
def test_nothing_outside_the_folders_is_opened(uri: str, tmp_path: Path) -> None:
    inside = tmp_path / "models"
    inside.mkdir()
    (tmp_path / "secret.sdf").write_text(HAND)
    (tmp_path / "model.config").write_text('<model><sdf version="1.9">secret.sdf</sdf></model>')
    (inside / "link.sdf").symlink_to(tmp_path / "secret.sdf")
    (inside / "link").symlink_to(tmp_path)
    main = inside / "main.sdf"
    main.write_text(INCLUDES["plain"].replace("URI", uri))

    def load() -> None:
        with pytest.raises(rc.ModelError):
            rc.load(main, assets=inside)

    assert [path for path in watched_opens(load) if path != str(main)] == []


def test_shapes_of_links_are_kept_with_sizes_poses_and_colours() -> None:
    text = """<sdf version="1.9"><model name="m"><link name="l">
      <visual name="v"><pose>1 2 3 0 0 0</pose><geometry><box><size>1 2 4</size></box></geometry>
        <material><diffuse>0.1 0.2 0.3 1</diffuse></material></visual>
      <collision name="c"><geometry><cylinder><radius>3</radius><length>8</length></cylinder></geometry></collision>
      <collision name="e"><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision>
      <visual name="mesh"><geometry><mesh><uri>model://m/x.stl</uri><scale>2 2 2</scale></mesh></geometry></visual>
      <collision name="p"><geometry><plane/></geometry></collision>
    </link></model></sdf>"""
    box, drum, egg, mesh, plane = rc.load(text).geometry("l")
    assert (box.shape, box.role, box.size, tuple(box.pose.translation)) == ("box", "visual", (1, 2, 4), (1, 2, 3))
    assert box.material is not None and box.material.rgba == (0.1, 0.2, 0.3, 1.0)
    assert (drum.size, drum.reach, egg.size, egg.role) == ((3.0, 8.0), 5.0, (1.0, 2.0, 3.0), "collision")
    assert (mesh.mesh, tuple(mesh.scale), mesh.path) == ("model://m/x.stl", (2.0, 2.0, 2.0), None)
    assert (plane.shape, plane.size) == ("plane", ())


def test_scenery_beside_the_robot_is_a_note_and_another_robot_a_warning() -> None:
    body = "<link name='a'><inertial><mass>1</mass></inertial></link>"
    arm, other = (f"<model name='{name}'>{body}</model>" for name in ("arm", "other"))
    floor = f"<model name='floor'><static>true</static>{body}</model>"
    world = "<sdf version='1.9'><world name='w'>{}</world></sdf>"
    assert [note.severity for note in described(world.format(arm + floor)).notes] == ["note"]
    both = described(world.format(arm + other), arguments={"model": "arm"})
    assert [note.severity for note in both.notes] == ["warning"]
