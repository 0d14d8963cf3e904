"""Everything that reads files or texts, by name, and good inputs for it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import recursa as rc
from recursa.cli.runs import describe
from recursa.cli.state_file import read_state
from recursa.errors import printable
from recursa.formats import mjcf
from recursa.simulation.checkpoint import Kept

ARM = rc.robots.planar(2)
_LONGEST = 0.5  # seconds of a run that is gone on with: how long it takes is what the file says


def _robot(file: Path) -> None:
    rc.load(file)


def _formula(file: Path) -> None:
    rc.parse(file.read_bytes().decode(errors="replace"), ARM)


def _shown(file: Path) -> None:
    """As ``recursa info`` shows it: nothing in it commands the terminal."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        describe(str(file), as_json=False)
    if printable(told.getvalue()) != told.getvalue():
        raise AssertionError(f"printed {told.getvalue()[:2000]!a}")


def _resume(file: Path) -> None:
    kept = Kept(file)
    steps = kept.options.duration / (kept.options.step or 1e-3)
    if kept.options.duration <= _LONGEST and steps <= 1e4 and kept.model.nv <= 12 and kept.samples < 1000:
        rc.resume(file, progress=False)


READERS: dict[str, Callable[[Path], Any]] = {
    "urdf": _robot,
    "xacro": _robot,
    "sdf": _robot,
    "mjcf": _robot,
    "robot_json": _robot,
    "dh": _robot,
    "dh_yaml": _robot,
    "dh_csv": _robot,
    "csv": lambda file: rc.Trajectory.from_csv(file, ARM),
    "torque": lambda file: rc.TorqueTable.from_csv(file, ARM),
    "state": lambda file: read_state(ARM, str(file)),
    "formula": _formula,
    "h5": _shown,
    "checkpoint": _shown,
    "resume": _resume,
}
SUFFIXES = {
    "urdf": ".urdf", "xacro": ".xacro", "sdf": ".sdf", "mjcf": ".xml", "robot_json": ".json", "dh": ".json",
    "dh_yaml": ".yaml", "dh_csv": ".csv", "csv": ".csv", "torque": ".csv", "h5": ".h5", "checkpoint": ".part",
    "resume": ".part",
}  # fmt: skip


def usable() -> bool:
    """Whether this process can go on; MuJoCo has errors after which it cannot."""
    return not mjcf._spoiled


def corpus(place: Path) -> dict[str, list[bytes]]:
    """Good inputs for every reader."""

    def written(write: Callable[[Path], Any], name: str) -> bytes:
        write(place / name)
        return (place / name).read_bytes()

    run = ARM.simulate([0.1, 0.2], duration=0.02, dense=True, checkpoint=place / "run.part", progress=False)
    ARM.simulate(
        [0.1, 0.2], duration=0.02, integrator="rk4", step=0.004, torque=[0.1, 0.2], stops=True, progress=False,
        wrenches=[rc.Wrench(at="tip", force=(1, 0, 0))], checkpoint=place / "fixed.part", checkpoint_every=0,
    )  # fmt: skip
    checkpoints = [(place / name).read_bytes() for name in ("run.part", "fixed.part")]
    arms = [rc.robots.panda_like(), rc.robots.free_flyer(1)]
    table = rc.robots.stanford().to_dh()
    found = {
        "urdf": [arm.to_urdf().encode() for arm in arms],
        "xacro": [_XACRO.encode()],
        "sdf": [_SDF.encode()],
        "robot_json": [written(arm.save, "arm.robot.json") for arm in arms],
        "dh": [written(table.save, "table.json")],
        "dh_yaml": [_DH_YAML.encode()],
        "dh_csv": [written(table.save, "table.csv")],
        "csv": [written(run.save, "run.csv")],
        "torque": [b"t,joint1,joint2\n0,1,2\n1,2,3\n"],
        "state": [b'{"q": [0.1, 0.2], "v": {"joint1": 1}}'],
        "formula": [b"H phi M phi* H*", b"inv(I + H psi K) D"],
        "h5": [written(run.save, "run.h5")],
        "checkpoint": checkpoints,
        "resume": [_begun(one) for one in checkpoints],
    }
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return found
    return found | {"mjcf": [arms[0].to_mjcf().encode(), _MJCF.encode()]}


def _begun(checkpoint: bytes) -> bytes:
    """What there was of it when the run had still some way to go."""
    return b"BLOK".join(checkpoint.split(b"BLOK")[:-1])


_DH_YAML = """convention: modified     # or standard
name: elbow
angles: deg
gravity: [0, 0, -9.81]
base: {xyz: [0, 0, 0.5], rpy: [0, 0, 90]}
tool: {xyz: [0, 0, 0.1]}
rows:
  - {joint: revolute, d: 0.3, mass: 4.0, com: [0, 0, -0.1], inertia: [0.02, 0.02, 0.01], limits: [-170, 170]}
  - {joint: revolute, alpha: -90, mass: 3.0, com: [0.2, 0, 0], inertia: [0.01, 0.05, 0.05], damping: 0.2}
  - {joint: prismatic, a: 0.4, alpha: 90, d: 0.1, mass: 1.0, armature: 0.5, limits: [0, 0.3]}
"""
_XACRO = """<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="r" value="${2 * pi / 3}"/><xacro:property name="sizes" value="${[0.1, 0.2, len('abc')]}"/>
<xacro:arg name="side" default="left"/>
<xacro:macro name="rod" params="name parent:=world *origin length:=^|0.4">
  <link name="${name}"><inertial><mass value="${length * sizes[1] + max(1, 2) ** 2}"/>
    <inertia ixx="0.1" iyy="0.1" izz="${0.1 if length > 0.1 else 0.2}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="${name}_joint" type="revolute"><parent link="${parent}"/><child link="${name}"/>
    <xacro:insert_block name="origin"/><axis xyz="0 0 1"/>
    <limit lower="${-r}" upper="${radians(90)}" effort="1" velocity="1"/></joint>
</xacro:macro>
<link name="base"/>
<xacro:rod name="$(arg side)_upper" parent="base"><origin xyz="0 0 ${sizes[0]}"/></xacro:rod>
<xacro:if value="${'left' == '$(arg side)' and not False}">
  <xacro:rod name="lower" parent="left_upper" length="0.3"><origin xyz="${' '.join(['0', '1', '2'])}"/></xacro:rod>
</xacro:if>
<xacro:unless value="0"><link name="tool"/><joint name="fix" type="fixed"><parent link="lower"/><child link="tool"/>
</joint></xacro:unless></robot>
"""
_SDF = """<sdf version="1.9"><model name="arm"><pose>0 0 1 0.1 0 0</pose>
<frame name="f" attached_to="upper"><pose relative_to="base">0.1 0.2 0.3 0.1 0.2 0.3</pose></frame>
<link name="base"><pose>0 0 0.3 0.1 0 0.2</pose><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy>
<izz>0.1</izz></inertia></inertial></link>
<link name="upper"><pose relative_to="j">0 0 0.1 0 0 0</pose><inertial><pose>0 0.1 0 0 0 0</pose><mass>1</mass>
</inertial><collision name="c"><geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision></link>
<link name="tip"><pose relative_to="f">0 0 0 0 0 0</pose></link>
<joint name="j" type="revolute"><pose relative_to="base">0 0.1 0.2 0 0 0</pose><parent>base</parent><child>upper</child>
<axis><xyz expressed_in="base">0 0.6 0.8</xyz><limit><lower>-1</lower><upper>1</upper><effort>5</effort></limit>
<dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="k" type="universal"><parent>upper</parent><child>tip</child><axis><xyz>1 0 0</xyz></axis>
<axis2><xyz>0 1 0</xyz></axis2></joint></model></sdf>
"""
_MJCF = """<mujoco model="many"><compiler angle="radian" eulerseq="zyx"/><option gravity="0.4 -0.3 -9.5"/>
<default><joint armature="0.02"/><default class="light"><geom density="300"/><joint damping="0.3"/></default></default>
<worldbody><geom type="plane" size="1 1 1"/><body name="base" pos="0 0.1 1" euler="0.1 0.2 0.3"><freejoint name="root"/>
<geom type="box" size="0.1 0.2 0.15" pos="0.02 0 0"/><site name="s" pos="0.1 0 0"/>
<body name="arm" pos="0.1 0.2 0.3" childclass="light"><joint name="a" axis="0 1 0" range="-1 1" ref="0.1"/>
<joint name="b" type="slide" axis="1 0 0"/><geom type="capsule" size="0.03" fromto="0 0 0 0.05 0.1 0.4"/>
<body name="ball"><joint name="c" type="ball"/><inertial pos="0 0 0.1" mass="1.3" diaginertia="0.03 0.02 0.015"/></body>
</body></body></worldbody><actuator><motor name="m" joint="a" gear="20"/></actuator>
<equality><joint joint1="b" joint2="a" polycoef="0 2 0 0 0"/></equality>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 0.1 0.2 1 0 0 0"/></keyframe></mujoco>
"""
