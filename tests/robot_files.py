"""Robot files for tests: a robot with all records that there are, and a table as JSON, YAML and CSV."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import recursa as rc
from recursa.model.description import Actuator, Closure, NamedState, Note, Relation
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3, Vec3
from robot_data import ALL_KINDS


def with_everything() -> rc.Robot:
    """A robot with all records that there are, and numbers that JSON has no word for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        robot = rc.load(ALL_KINDS, strict=False, floating=True, gravity=(0.1, -0.0, 1e-320))
    description = robot.model.description
    tilted = Transform(Rotation.from_constant_rpy(0.1, 0.2, 0.3), Vec3(1.0, 2.0, -0.0))
    moments = RigidInertia(0.0, Vec3(0.1, 0.2, 0.3), SymMat3(1.0, 2.0, 3.0, 0.1, 0.2, 0.3))
    links = tuple(replace(link, about_origin=moments) if link.name == "b" else link for link in description.links)
    joints = tuple(
        replace(joint, limits=(-math.inf, 1.0), effort=math.inf) if joint.name == "turn" else joint
        for joint in description.joints
    )
    everything = replace(
        description,
        links=links,
        joints=joints,
        closures=(
            Closure("loop", "point", "a", "d", tilted, axis=Vec3(0.0, 1.0, 0.0)),
            Closure("", "weld", "b", "d"),
        ),
        relations=(Relation("gear", "turn", "spin", (0.0, 2.0)), Relation("stop", "turn", None, (0.5,))),
        actuators=(Actuator("motor", (("turn", (3.0,)), ("ball", (1.0, 0.0, -0.0))), (-1.0, math.inf)),),
        states=(NamedState("home", (("turn", (0.1 + 0.2,)), ("root", (0.0,) * 6 + (1.0,))), (("turn", (1.0,)),)),),
        notes=(Note("blank", "a blank", "remove it", 3),),
        provenance='someone\'s "table" ✓',
    )
    return robot._changed(description=everything)


# ---- the same table, in rows of ours and as texts --------------------------------------------------------------------

ROWS = [
    rc.DHLink(a=0.1, alpha=math.pi / 2, d=0.3, theta=-math.pi / 2, mass=2, com=(0.1, 0, 0.02),
              inertia=(0.1, 0.2, 0.25)),
    rc.DHLink(
        joint="prismatic", a=-0.2, alpha=-0.75 * math.pi, mass=1.5, com=(0, 0, 0.1), armature=0.02, damping=0.3,
        inertia=(0.1, 0.2, 0.25, 0.01, 0.02, -0.03), friction=0.1, limits=(-0.1, 0.5), effort=30.0, velocity=2.0,
    ),
    rc.DHLink(d=0.07, theta=1e-3, mass=0.5, limits=(-1.0, 2.0), inertia=((0.1, 0, 0), (0, 0.1, 0.01), (0, 0.01, 0.1))),
]  # fmt: skip
BASE, TOOL = ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), ((0, 0, 0.1), (0, math.pi / 2, 0))
GRAVITY = (0.0, 0.5, -9.0)

JSON = """{"convention": "CONVENTION", "name": "table arm", "gravity": [0, 0.5, -9.0],
 "base": {"xyz": [0.1, 0.2, 0.3], "rpy": [0.3, 0.2, 0.1]}, "tool": {"xyz": [0, 0, 0.1], "rpy": [0, "pi/2", 0]},
 "rows": [
  {"a": 0.1, "alpha": "pi/2", "d": 0.3, "theta": "-pi/2", "mass": 2, "com": [0.1, 0, 0.02],
   "inertia": [0.1, 0.2, 0.25]},
  {"joint": "prismatic", "a": -0.2, "alpha": -2.356194490192345, "mass": 1.5, "com": [0, 0, 0.1], "armature": 0.02,
   "damping": 0.3, "inertia": [0.1, 0.2, 0.25, 0.01, 0.02, -0.03], "friction": 0.1, "limits": [-0.1, 0.5],
   "effort": 30, "velocity": 2},
  {"joint": "revolute", "d": 0.07, "theta": 1e-3, "mass": 0.5, "limits": [-1, 2],
   "inertia": [[0.1, 0, 0], [0, 0.1, 0.01], [0, 0.01, 0.1]]}
 ]}"""
YAML = """# an arm
format: dh
convention: CONVENTION
name: table arm
gravity: [0, 0.5, -9.0]
base: {xyz: [0.1, 0.2, 0.3], rpy: [0.3, 0.2, 0.1]}
tool:
  xyz: [0, 0, 0.1]
  rpy: [0, pi/2, 0]
rows:
  - {a: 0.1, alpha: pi/2, d: 0.3, theta: -pi / 2, mass: 2, com: [0.1, 0, 0.02], inertia: [0.1, 0.2, 0.25]}
  - joint: prismatic
    a: -0.2
    alpha: -0.75 * pi
    mass: 1.5
    com: [0, 0, 0.1]
    armature: 0.02
    damping: 0.3
    inertia: [0.1, 0.2, 0.25, 0.01, 0.02, -0.03]
    friction: 0.1
    limits: [-0.1, 0.5]
    effort: 30
    velocity: 2
  - {d: 0.07, theta: 1e-3, mass: 0.5, limits: [-1, 2], inertia: [[0.1, 0, 0], [0, 0.1, 0.01], [0, 0.01, 0.1]],
     effort: null}
"""
CSV = """# name: table arm
# convention: CONVENTION
# gravity: 0 0.5 -9.0
# base: 0.1 0.2 0.3 0.3 0.2 0.1
# tool: {"xyz": [0, 0, 0.1], "rpy": [0, "pi/2", 0]}
joint,a,alpha,d,theta,mass,cx,cy,cz,ixx,iyy,izz,ixy,ixz,iyz,armature,damping,friction,lower,upper,effort,velocity
revolute,0.1,pi/2,0.3,-pi/2,2,0.1,0,0.02,0.1,0.2,0.25,,,,,,,,,,

prismatic,-0.2,-0.75*pi,,,1.5,,,0.1,0.1,0.2,0.25,0.01,0.02,-0.03,0.02,0.3,0.1,-0.1,0.5,30,2
,,,0.07,1e-3,0.5,,,,0.1,0.1,0.1,,,0.01,,,,-1,2,,
"""


def with_mesh(file: str) -> str:
    """A robot of one link that has a mesh."""
    return f"""<robot name="meshed"><link name="base"/><link name="body">
      <inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
      <visual><origin xyz="0.1 0 0"/><geometry><mesh filename="{file}" scale="2 2 2"/></geometry></visual></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="body"/><axis xyz="0 0 1"/></joint>
      </robot>"""
