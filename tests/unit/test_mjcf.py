"""MJCF: names, data beside the tree, what is left out, files that may be opened, and texts that mean harm."""

from __future__ import annotations

import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from mjcf_texts import BOX, CONSTRAINED, MANY_JOINTS, PENDULUM, ROD, TEXTS, model
from recursa.formats import mjcf_text
from recursa.formats.source import Assets, Source
from recursa.interop.comparing import compare
from recursa.interop.mujoco import InMujoco

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def loaded(text: Any, **options: Any) -> rc.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return rc.load(text, **options)


def codes(robot: rc.Robot) -> set[str]:
    return {note.code for note in robot.model.description.notes}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_that_needs_no_look_at_attributes_is_written_as_with_one(text: str, monkeypatch: Any) -> None:
    source = Source(text, None, Assets())
    first = mjcf_text.prepare(source)
    monkeypatch.setattr(mjcf_text._Model, "_plain", lambda self, has: False)
    second = mjcf_text.prepare(source)
    assert (first.text, first.files, first.notes) == (second.text, second.files, second.notes)


# ---- names, order, numbers -----------------------------------------------------------------------------------------


def test_names_are_made_up_where_there_are_none() -> None:
    robot = loaded(MANY_JOINTS)
    assert robot.joint_names == ("root", "turn", "slide", "arm_joint3", "body3_joint", "wheel", "ball_joint")
    assert {"arm_after_turn", "arm_after_slide", "body3", "base2", "site1"} <= set(robot.link_names)


def test_joints_are_in_the_order_of_qpos() -> None:
    mine, own = loaded(MANY_JOINTS), mujoco.MjModel.from_xml_string(MANY_JOINTS)
    named = [own.joint(k).name for k in range(own.njnt)]
    assert [ours for ours, theirs in zip(mine.joint_names, named, strict=True) if theirs] == [n for n in named if n]
    assert (mine.nq, mine.nv) == (own.nq, own.nv)


def test_lines_of_the_file() -> None:
    description = loaded(PENDULUM).model.description
    assert [link.line for link in description.links] == [None, 3, 6]
    assert description.joints[0].line == 4


def test_limits_effort_damping_and_gravity() -> None:
    robot = loaded(PENDULUM)
    assert np.allclose(robot.position_limits[:, 0], [-np.pi / 2, np.pi / 2])
    assert robot.effort_limits.tolist() == [20.0]
    assert robot.model.joints[0].damping == (0.1,)
    assert robot.gravity == (0.0, 0.0, -9.81)
    assert loaded(PENDULUM, gravity=(0, 0, -1)).gravity == (0.0, 0.0, -1.0)
    assert loaded(PENDULUM.replace("<worldbody>", '<option><flag gravity="disable"/></option><worldbody>')).gravity == (
        0.0, 0.0, 0.0,
    )  # fmt: skip


# ---- beside the tree -----------------------------------------------------------------------------------------------


def in_mujoco(text: str, key: int) -> tuple[Any, Any]:
    own = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(own)
    mujoco.mj_resetDataKeyframe(own, data, key)
    mujoco.mj_forward(own, data)
    return own, data


def test_keyframe_is_the_same_state_in_mujoco() -> None:
    robot, (own, data) = loaded(CONSTRAINED), in_mujoco(CONSTRAINED, 0)
    assert robot.state_names == ("home", "key1", "qpos0")
    q, v = robot.state("home")
    for name in ("base", "a", "b", "c"):
        assert np.allclose(robot.pose(q, name)[:3, 3], data.body(name).xpos, atol=1e-12)
    world = robot.jacobian(q, "base", frame="mixed") @ v
    assert np.allclose(world[3:], data.qvel[:3]) and np.allclose(robot.kinetic_energy(q, v), _kinetic(own, data))
    assert np.allclose(robot.state("qpos0")[0][:3], [0, 0, 1])


def _kinetic(own: Any, data: Any) -> float:
    mujoco.mj_energyVel(own, data)
    return float(data.energy[1])


def test_closures_are_off_by_what_mujoco_says() -> None:
    """The violation of every constraint: MuJoCo's efc_pos in a state that satisfies none."""
    robot, (_, data) = loaded(CONSTRAINED), in_mujoco(CONSTRAINED, 0)
    q, _ = robot.state("home")
    errors = data.efc_pos[: data.ne]
    at = 0
    for closure in robot.model.description.closures:
        first = robot.pose(q, closure.first) @ np.array(closure.placement.rows())
        second = robot.pose(q, closure.second) @ np.array(closure.placement_on_second.rows())
        assert np.allclose(first[:3, 3] - second[:3, 3], errors[at : at + 3], atol=1e-12), closure.name
        turned = np.trace(first[:3, :3].T @ second[:3, :3])
        if closure.kind == "weld":
            half = np.linalg.norm(errors[at + 3 : at + 6])  # the sine of half the angle
            assert np.isclose((3.0 - turned) / 4.0, half**2, atol=1e-12), closure.name
        at += 3 if closure.kind == "point" else 6
    for relation in robot.model.description.relations:
        state = dict(zip(robot.q_names, q.tolist(), strict=True))
        x = state[relation.other] if relation.other else 0.0
        wanted = sum(c * x**power for power, c in enumerate(relation.polynomial))
        assert np.isclose(state[relation.joint] - wanted, errors[at], atol=1e-12), relation.name
        at += 1
    assert at == len(errors) and at > 15


def test_gears_are_mujocos_moments() -> None:
    robot, (own, data) = loaded(CONSTRAINED), in_mujoco(CONSTRAINED, 0)
    q, _ = robot.state("home")
    turn = robot.pose(q, "base")[:3, :3]
    for actuator in robot.model.description.actuators:
        mine = np.zeros(robot.nv)
        for joint, gear in actuator.gears:
            start = robot.model.joints[robot.model.joint_index(joint)].v_start
            mine[start : start + len(gear)] = gear
        mine[:6] = [*(turn @ mine[3:6]), *mine[:3]]  # MuJoCo: linear first, in world axes
        data.ctrl[:] = 0.0
        k = own.actuator(actuator.name).id
        data.ctrl[k] = 0.01
        mujoco.mj_fwdActuation(own, data)
        with_it = data.qfrc_actuator.copy()
        data.ctrl[k] = 0.0
        mujoco.mj_fwdActuation(own, data)
        gain = own.actuator_gainprm[k][0]
        assert np.allclose((with_it - data.qfrc_actuator) / (0.01 * gain), mine, atol=1e-9), actuator.name
    forces = {actuator.name: actuator.force for actuator in robot.model.description.actuators}
    assert forces["m"] == (-2.0, 1.0) and forces["pair"] == (-5.0, 5.0) and "push" not in forces


def test_what_is_not_modelled_is_noted() -> None:
    assert {"servo", "actuator", "inactive", "contact"} <= codes(loaded(CONSTRAINED))
    curved = hasattr(mujoco.MjModel.from_xml_string("<mujoco/>"), "dof_dampingpoly")  # not in MuJoCo 3.6
    inside = (
        f'<body gravcomp="1"><joint name="j" stiffness="3" damping="{"1 2 0" if curved else 1}"/>{ROD}'
        f'<body pos="0 0 1"><joint type="ball" range="0 1" limited="true" stiffness="1"/>{ROD}<site name="s"/></body>'
        '<flexcomp name="f" type="grid" count="2 2 1" spacing="1 1 1"/></body>'
        f'<body mocap="true"/><body name="fly"><joint type="free" armature="1"/>{BOX}<site name="t"/></body>'
    )
    beside = (
        '<option density="1.2"/><extension><plugin plugin="a.b"/></extension><tendon><spatial><site site="s"/>'
        '<site site="t"/></spatial></tendon><deformable><skin name="k"/></deformable><visual/><sensor/>'
    )
    robot = loaded(model(inside, beside))
    wanted = {"gravcomp", "spring", "damping", "limit", "flex", "mocap", "free-armature", "fluid", "plugin", "tendon"}
    wanted -= set() if curved else {"damping"}
    assert wanted <= codes(robot)
    report = robot.doctor()
    assert wanted <= {finding.code for finding in report} and not report.healthy


def test_contacts_and_meshes_are_no_fault() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = rc.load(PENDULUM)
    assert robot.doctor().healthy and codes(robot) == {"contact"}


# ---- files ---------------------------------------------------------------------------------------------------------

MESHES = model(
    f'<body name="a"><joint axis="0 1 0"/>{BOX}<geom type="mesh" mesh="shell"/>'
    '<body pos="0 0 1"><joint axis="1 0 0"/><geom type="sphere" size="0.1"/><geom class="looks"/></body></body>',
    '<default><default class="looks"><geom type="mesh" mesh="shell" mass="0"/></default></default>'
    '<asset><mesh file="shell.obj"/><texture name="t" type="2d" file="/etc/passwd"/>'
    '<material name="m" texture="t"/></asset>',
)
WEIGHED = model(
    '<body name="a"><joint axis="0 1 0"/><geom type="mesh" mesh="solid"/></body>',
    '<compiler meshdir="parts"/><asset><mesh file="solid.obj" scale="0.1 0.1 0.1"/></asset>',
)


def test_meshes_that_weigh_nothing_need_not_be_there() -> None:
    robot = loaded(MESHES)
    assert robot.nv == 2 and "mesh" in codes(robot)


def test_meshes_that_weigh_come_from_named_folders(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "solid.obj").write_bytes(TETRAHEDRON)
    file = tmp_path / "model.xml"
    file.write_text(WEIGHED)
    with pytest.raises(rc.ModelError, match=r"line \d+: <mesh> refers to 'parts/solid.obj'.*assets=\["):
        loaded(WEIGHED)
    with pytest.raises(rc.ModelError, match="which is in none of the folders"):
        loaded(WEIGHED, assets=tmp_path / "parts")
    assert np.isclose(loaded(file).mass, 1000.0 / 6.0 * 1e-3)
    assert np.isclose(loaded(WEIGHED, assets=tmp_path).mass, 1000.0 / 6.0 * 1e-3)


def test_included_and_attached_models(tmp_path: Path) -> None:
    part = f'<mujocoinclude><body name="a"><joint name="j" axis="0 1 0"/>{ROD}</body></mujocoinclude>'
    (tmp_path / "part.xml").write_text(part)
    (tmp_path / "hand.xml").write_text(model(f'<body name="palm"><joint name="k"/>{BOX}</body>', name="hand"))
    text = model(
        '<include file="part.xml"/><body name="b" pos="0 0 1"><attach model="hand" body="palm" prefix="left_"/></body>',
        '<asset><model name="hand" file="hand.xml"/></asset>',
    )
    assert loaded(text, assets=tmp_path).joint_names == ("j", "left_k")
    with pytest.raises(rc.ModelError, match=r"<include> refers to 'part.xml', and other files .* assets=\["):
        loaded(text)


@pytest.mark.parametrize("tag", ["include", "Include", "INCLUDE"])
@pytest.mark.parametrize("file", ["/etc/passwd", "../secret.xml", "file:///etc/passwd", "link.xml", ""])
def test_no_file_outside_is_opened(tmp_path: Path, tag: str, file: str) -> None:
    (tmp_path / "secret.xml").write_text(PENDULUM)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(rc.ModelError, match="none of the folders"):
        loaded(model(f'<{tag} file="{file}"/>'), assets=inside)


@pytest.mark.parametrize(
    "piece",
    ['<geom file="/etc/passwd"/>', '<body><joint fileright="/etc/passwd"/></body>', '<thing file="/etc/passwd"/>'],
)
def test_other_references_to_files_are_refused(piece: str) -> None:
    with pytest.raises(rc.ModelError, match="refers to a file"):
        loaded(model(piece))


def test_files_that_include_or_attach_themselves(tmp_path: Path) -> None:
    for name, text in {
        "a": model('<include file="b.xml"/>'), "b": model('<include file="a.xml"/>'),
        "c": model("", '<asset><model name="d" file="d.xml"/></asset>'),
        "d": model("", '<asset><model name="c" file="c.xml"/></asset>'),
    }.items():  # fmt: skip
        (tmp_path / f"{name}.xml").write_text(text)
    for name, reason in {"a": "included a second time", "c": "attaches itself"}.items():
        with pytest.raises(rc.ModelError, match=reason):
            loaded(tmp_path / f"{name}.xml", assets=tmp_path)


# ---- harm ----------------------------------------------------------------------------------------------------------

NESTED = "<replicate count='100'>" * 5 + f"<body><joint/>{BOX}</body>" + "</replicate>" * 5
HARM = {
    "a replicate of replicates": model(NESTED),
    "a huge count": model(f'<replicate count="2000000000"><body><joint/>{BOX}</body></replicate>'),
    "a body that attaches itself": model(f'<body name="a"><joint/>{BOX}<attach body="a" prefix="x"/></body>'),
    "bodies that attach each other": model(
        f'<body name="a"><joint/>{BOX}<attach body="b" prefix="x"/></body>'
        f'<body name="b"><joint/>{BOX}<attach body="a" prefix="y"/></body>'
    ),
    "many elements": model(f"<body><joint/>{BOX}</body>" * 10_000),
    "deep nesting": model("<body>" * 3000 + "</body>" * 3000),
    "entities": '<!DOCTYPE a [<!ENTITY b "bbbb">]><mujoco><worldbody/></mujoco>',
    "a fragment": "<mujocoinclude><worldbody/></mujocoinclude>",
    "nan": model(f'<body pos="nan 0 0"><joint/>{BOX}</body>'),
    "a mass beyond all floats": model('<body><joint/><inertial pos="0 0 0" mass="1e999" diaginertia="1 1 1"/></body>'),
    "an empty anchor": CONSTRAINED.replace('anchor="0 0.1 0.4"', 'anchor=" "'),
    "no mass": model("<body><joint/></body>"),
    "an unknown element": model("<bodi/>"),
}


@pytest.mark.parametrize("name", HARM)
def test_harmful_text_is_refused_in_time(name: str) -> None:
    start = time.perf_counter()
    with pytest.raises(rc.ModelError) as caught:
        loaded(HARM[name])
    assert time.perf_counter() - start < 5.0
    without = ("not finite", "mjMINVAL")  # the second has its line from MuJoCo 3.6 on
    assert caught.value.line is not None or any(text in str(caught.value) for text in without)


def test_sizes_of_buffers_and_simulations_in_the_compiler_are_left_out() -> None:
    """Memory of a terabyte, and muscles whose range would be found by simulating for a year."""
    beside = (
        '<size memory="1000G" nuser_body="1000000000" nkey="1000000"/>'
        '<compiler><lengthrange inttotal="30000000" timestep="0.0001" mode="all"/></compiler>'
    )
    body = f'<body user="1 2 3"><joint name="j" axis="0 1 0"/>{ROD}</body>'
    text = model(f'{body}</worldbody><actuator><muscle joint="j"/></actuator><worldbody>', beside)
    start = time.perf_counter()
    assert loaded(text).nv == 1
    assert time.perf_counter() - start < 5.0


def test_errors_of_the_compiler_have_our_lines() -> None:
    text = PENDULUM.replace('size="0.02"', 'size="0.02" colour="red"')
    with pytest.raises(rc.ModelError, match="colour") as caught:
        loaded(text)
    assert caught.value.line == 5 and "line 5" in str(caught.value)


def test_no_log_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded(CONSTRAINED)
    assert list(tmp_path.iterdir()) == []


def test_without_mujoco_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(rc.ModelError, match=r"pip install 'recursa\[mujoco\]'"):
        loaded(PENDULUM)
    assert rc.robots.planar(2).to_mjcf().startswith("<mujoco")  # writing needs none


def test_threads_leave_the_handler_of_warnings_as_it_was() -> None:
    mujoco = pytest.importorskip("mujoco")
    heard: list[str] = []
    before = sys.getswitchinterval()
    mujoco.set_mju_user_warning(heard.append)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert {robot.nv for robot in pool.map(rc.load, [PENDULUM] * 40)} == {1}
        kept = mujoco.get_mju_user_warning()
    finally:
        sys.setswitchinterval(before)
        mujoco.set_mju_user_warning(None)
    assert kept == heard.append and not heard


def test_ties_of_joints_that_do_not_move_are_not_written_as_joints():
    """As those of a humanoid's gripper that was made rigid, whose file still says which joint they mimicked."""
    mujoco = pytest.importorskip("mujoco")
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{body}</link>' for name in "abcd")
    ends = [f'<parent link="{one}"/><child link="{other}"/>' for one, other in ("ab", "bc", "cd")]
    text = (
        f'<robot name="gripper">{links}<joint name="j1" type="fixed">{ends[0]}</joint>'
        f'<joint name="j2" type="continuous">{ends[1]}<axis xyz="0 0 1"/><mimic joint="j1" offset="0.3"/></joint>'
        f'<joint name="j3" type="fixed">{ends[2]}<mimic joint="j2"/></joint></robot>'
    )
    with pytest.warns(rc.ModelWarning, match="mimics 'j1', which does not move"):
        written = rc.load(text, mimic="free").to_mjcf()
    model = mujoco.MjModel.from_xml_string(written)
    assert model.neq == 1 and model.eq_obj2id[0] == -1 and model.eq_data[0][0] == 0.3


def test_links_between_the_joints_of_a_body_are_no_fault():
    body = '<body name="b"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><geom size="0.1"/></body>'
    robot = rc.load(f'<mujoco><option><flag contact="disable"/></option><worldbody>{body}</worldbody></mujoco>')
    assert robot.model.links[1].name == "b_after_x" and robot.model.links[1].frame
    assert robot.doctor().healthy


def test_a_centre_of_mass_that_mujoco_takes_for_zero_is_kept():
    near = (2e-9, 0.0, 0.0)
    robot = rc.Builder("near")
    robot.link("ball", mass=1000.0, com=near, inertia=(1.0, 2.0, 2.5))
    robot.joint("free", "free", parent="world", child="ball")
    made = robot.build()
    again = rc.load(made.to_mjcf())
    assert again.model.description.links[1].com == near
    assert compare(made, InMujoco(made), states=2).agrees
    text = made.to_mjcf().replace('quat="0.5 0.5 0.5 0.5"', "")
    assert text != made.to_mjcf()
    own = InMujoco(rc.load(text), mjcf=Source(text, None, Assets()))
    assert own.model.body_sameframe[1] == 1 and "same frame" in [one.name for one in own.suspects()]
    assert not own.repaired({"same frame"}).model.body_sameframe[1]
