"""Equality constraints of MJCF files, obeyed: against MuJoCo's own compiler's numbers and the dense equations."""

from __future__ import annotations

import numpy as np
import pytest
from test_constraints_dense import kkt

import recursa as rc

pytest.importorskip("mujoco")

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
