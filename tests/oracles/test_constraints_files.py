"""Constraints of MJCF and SDF files, obeyed: against MuJoCo's numbers, its soft constraints made stiff, and KKT."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from test_constraints_dense import kkt

import recursa as rc

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><worldbody>
<body name="a" pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0"/>
 <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
 <body name="b" pos=".4 0 0"><joint name="b" type="ball"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 .1"/>
 </body></body>
<body name="c" pos="0 .5 1"><joint name="c" type="hinge" axis="0 1 0"/><joint name="d" type="slide" axis="1 0 0"/>
 <geom type="box" size=".1 .2 .05"/></body>
</worldbody><equality>%s</equality></mujoco>"""


@pytest.mark.parametrize(
    ("equality", "count"),
    [
        ('<weld body1="b" body2="c"/>', 6),
        ('<connect body1="b" body2="c" anchor=".1 .2 .3"/>', 3),
        ('<joint joint1="a" joint2="c" polycoef="0 .5 .1 0 0"/>', 1),
    ],
)
def test_equalities_are_kept(tmp_path, equality: str, count: int) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(TEXT % equality)
    robot = rc.load(path, constraints=True)
    assert robot.ncon == count
    assert np.abs(robot.constraint_error(robot.neutral())).max() < 1e-9  # MuJoCo takes them to hold there
    q, v = robot.random_state(1)
    q = robot.integrate(robot.neutral(), 0.1 * v)
    tau = np.random.default_rng(1).normal(size=robot.nv)
    if count < robot.nv:
        expected, _ = kkt(robot, q, v, tau)
        found = robot.forward_dynamics(q, v, tau)
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
    assert np.abs(robot.constraint_jacobian(q) @ robot.project_velocity(q, v)).max() < 1e-9


FOUR_BAR = """<mujoco><worldbody>
<body name="crank"><joint name="crank" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/>
 <body name="coupler" pos=".2 0 0"><joint name="coupler" axis="0 1 0"/>
 <geom type="capsule" size=".02" fromto="0 0 0 .6 0 0"/></body></body>
<body name="rocker" pos=".8 0 -.5"><joint name="rocker" axis="0 1 0"/>
 <geom type="capsule" size=".02" fromto="0 0 0 0 0 .5"/></body>
</worldbody><equality>
<connect body1="coupler" body2="rocker" anchor=".6 0 0" solimp="{stiff} {stiff} .001"/>
</equality></mujoco>"""


def test_soft_constraints_come_nearer_as_they_are_made_stiff(tmp_path) -> None:
    """MuJoCo's impedance d leaves a share 1 - d of the acceleration that it should take away; it bounds d by 0.9999."""
    path = tmp_path / "four_bar.xml"
    path.write_text(FOUR_BAR.format(stiff=0.9))
    robot = rc.load(path, constraints=True)
    q = robot.assemble([0.3, -0.2, 0.1], fixed=["crank"])
    v, tau = robot.project_velocity(q, [1.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0])
    expected, gaps = robot.forward_dynamics(q, v, tau), []
    for stiff in (0.9, 0.99, 0.999, 0.9999):
        model = mujoco.MjModel.from_xml_string(FOUR_BAR.format(stiff=stiff))
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        model.opt.tolerance, model.opt.iterations = 1e-15, 1000
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        mujoco.mj_forward(model, data)
        gaps.append(np.abs(data.qacc - expected).max() / np.abs(expected).max())
    print(f"gaps to MuJoCo with impedances 0.9 to 0.9999: {gaps}")
    assert gaps[0] < 3e-3 and gaps[3] < 3e-6
    assert all(8.0 < one / other < 12.0 for one, other in pairwise(gaps))  # linear in 1 - d


SDF = """<sdf version="1.9"><model name="four_bar"><link name="ground">{ground}</link>
{links}
<joint name="stand" type="fixed"><parent>world</parent><child>ground</child></joint>
{joints}</model></sdf>"""
PLACES = {"crank": "0 0 0 0 0 0", "coupler": "0.2 0 0 0 0 0", "rocker": "0.8 -0.5 0 0 0 1.5707963267948966"}
JOINTS = (
    ("crank_joint", "ground", "crank", ""),
    ("coupler_joint", "crank", "coupler", ""),
    ("rocker_joint", "ground", "rocker", ""),
    ("pin", "coupler", "rocker", "<pose>0.5 0 0 0 0 0</pose>"),
)
INERTIAL = (
    "<inertial><pose>0.1 0 0 0 0 0</pose><mass>1.5</mass>"
    "<inertia><ixx>.01</ixx><iyy>.03</iyy><izz>.04</izz></inertia></inertial>"
)


def test_a_loop_of_sdf_is_read_closed_and_moved() -> None:
    links = "".join(f'<link name="{name}"><pose>{at}</pose>{INERTIAL}</link>' for name, at in PLACES.items())
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent>{one}</parent><child>{other}</child>{pose}'
        "<axis><xyz>0 0 1</xyz></axis></joint>"
        for name, one, other, pose in JOINTS
    )
    robot = rc.load(SDF.format(links=links, joints=joints, ground=INERTIAL), constraints=True)
    (pin,) = robot.constraints
    assert (pin.name, pin.kind, robot.ncon, robot.nv) == ("pin", "revolute", 5, 3)
    assert np.abs(robot.constraint_error(robot.neutral())).max() < 1e-12
    q = robot.assemble([0.4, 0.0, 0.0], fixed=["crank_joint"])
    v, tau = robot.project_velocity(q, [1.0, 0.0, 0.0]), np.array([3.0, 0.0, 0.0])
    assert robot.mobility(q).freedoms == 1
    M, G = robot.mass_matrix(q), robot.constraint_jacobian(q)
    right = np.concatenate([tau - robot.bias_forces(q, v), -robot.constraint_bias(q, v)])
    matrix = np.block([[M, G.T], [G, np.zeros((5, 5))]])
    expected = (np.linalg.pinv(matrix, rcond=1e-10) @ right)[:3]  # three of the five equations are redundant
    assert np.abs(robot.forward_dynamics(q, v, tau) - expected).max() <= 1e-9 * np.abs(expected).max()
    run = robot.simulate(q, v, duration=0.1, integrator="rk4", step=1e-3)
    assert np.abs(robot.constraint_error(run.q[-1])).max() < 1e-10
