"""States in the order of joints of Pinocchio and MuJoCo, brought into ours by the names of the joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from robot_data import urdf_files

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

JOINTS = """<robot name="pair">
  <link name="base">{i}</link> <link name="a">{i}</link> <link name="b">{i}</link> <link name="c">{i}</link>
  <joint name="z" type="revolute"><parent link="base"/><child link="a"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="m" type="{kind}"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint>
  <joint name="c" type="prismatic"><parent link="base"/><child link="c"/><origin xyz="0 1 0"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
</robot>"""
INERTIAL = (
    '<inertial><mass value="1.5"/><origin xyz="0.1 0.2 0.3"/>'
    '<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def talos() -> Path:
    found = [path for path in urdf_files() if path.name == "talos_reduced.urdf"]
    if not found:
        pytest.skip("example-robot-data is not installed")
    return found[0]


def in_pinocchio(text: str, floating: bool) -> Any:
    return pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromXML(text)


def check_pinocchio(robot: rc.Robot, model: Any, rng: np.random.Generator) -> None:
    """Torques there, at their states, are ours at the states reordered; and there and back is where we were."""
    data, names = model.createData(), list(model.names)
    model.lowerPositionLimit, model.upperPositionLimit = -np.ones(model.nq), np.ones(model.nq)
    x = np.array([pin.randomConfiguration(model) for _ in range(3)])
    speeds, rates = rng.normal(size=(2, 3, model.nv))
    tau = np.array([pin.rnea(model, data, *state) for state in zip(x, speeds, rates, strict=True)])
    q = robot.reorder(x, names, layout="pinocchio")
    v, a, theirs = (robot.reorder(y, names, layout="pinocchio", quantity="v") for y in (speeds, rates, tau))
    scale = max(1.0, np.abs(tau).max())
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), theirs, rtol=0, atol=1e-9 * scale)
    back = robot.reorder(q, names, layout="pinocchio", quantity="q", inverse=True)
    np.testing.assert_allclose(back, x, atol=1e-12)
    back = robot.reorder(v, names, layout="pinocchio", quantity="v", inverse=True)
    np.testing.assert_array_equal(back, speeds)


@pytest.mark.parametrize("floating", [False, True])
def test_talos_of_pinocchio(floating: bool) -> None:
    text = talos().read_text()
    robot = rc.load(text, floating=floating, strict=False)
    model = in_pinocchio(text, floating)
    assert [name for name in model.names if name in robot.joint_names] != list(robot.joint_names)[floating:]
    check_pinocchio(robot, model, np.random.default_rng(1))


@pytest.mark.parametrize("kind", ["continuous", "planar", "floating"])
@pytest.mark.parametrize("floating", [False, True])
def test_kinds_of_joints_of_pinocchio(kind: str, floating: bool) -> None:
    text = JOINTS.format(i=INERTIAL, kind=kind)
    check_pinocchio(rc.load(text, floating=floating), in_pinocchio(text, floating), np.random.default_rng(2))


MJCF = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <body name="base"><freejoint name="{name}"/>{i}
    <body name="b" pos="0 1 0"><joint name="one" type="slide" axis="1 0 0"/>{i}</body>
    <body name="a" pos="1 0 0"><joint name="two" type="hinge" axis="0 1 0"/>{i}
      <body name="c" pos="0 0 1"><joint name="ball" type="ball"/>{i}</body></body>
  </body></worldbody></mujoco>"""
MASS = '<inertial pos="0.1 0.2 0.3" mass="1.5" diaginertia="0.2 0.3 0.4"/>'
BODY: dict[str, Any] = {"mass": 1.5, "com": (0.1, 0.2, 0.3), "inertia": (0.2, 0.3, 0.4)}


@pytest.mark.parametrize("name", ["", "anything", "root"])
def test_states_of_mujoco(name: str) -> None:
    """Its bodies come in another order; energies and torques agree at states brought over by name."""
    b = rc.Builder("there").link("base", **BODY).link("a", **BODY).link("b", **BODY).link("c", **BODY)
    b.joint("root", "free", parent="world", child="base")
    b.joint("two", "revolute", parent="base", child="a", axis=(0, 1, 0), xyz=(1, 0, 0))
    b.joint("ball", "spherical", parent="a", child="c", xyz=(0, 0, 1))
    b.joint("one", "prismatic", parent="base", child="b", axis=(1, 0, 0), xyz=(0, 1, 0))
    robot = b.build()
    model = mujoco.MjModel.from_xml_string(MJCF.format(i=MASS, name=name))
    data, rng = mujoco.MjData(model), np.random.default_rng(4)
    names = [model.joint(k).name for k in range(model.njnt)]
    there, speeds, forces, energies = [], [], [], []
    for _ in range(3):
        data.qpos, data.qvel = rng.normal(size=model.nq), rng.normal(size=model.nv)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        there.append(data.qpos.copy()), speeds.append(data.qvel.copy()), energies.append(data.energy[1])
        mujoco.mj_forward(model, data)
        forces.append(data.qfrc_bias.copy())
    q = robot.reorder(there, names, layout="mujoco")
    v = robot.reorder(speeds, names, layout="mujoco", q=q)
    np.testing.assert_allclose(robot.kinetic_energy(q, v), energies, rtol=1e-9)
    at_rest = robot.reorder(np.zeros_like(speeds), names, layout="mujoco", q=q)
    gravity = []
    for state in there:
        data.qpos, data.qvel = state, 0.0
        mujoco.mj_forward(model, data)
        gravity.append(data.qfrc_bias.copy())
    theirs = robot.reorder(gravity, names, layout="mujoco", q=q)
    np.testing.assert_allclose(robot.bias_forces(q, at_rest), theirs, atol=1e-9)
    np.testing.assert_allclose(robot.reorder(q, names, layout="mujoco", inverse=True), there, atol=1e-15)
    back = robot.reorder(v, names, layout="mujoco", q=q, inverse=True)
    np.testing.assert_allclose(back, speeds, atol=1e-14)
