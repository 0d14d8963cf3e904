"""Locked joints against reduced models of Pinocchio, and chains against its Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.interop import pinocchio as interop
from robot_data import relative_name, urdf_files

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.interpreted(reason="each of many files is asked once")

WANTED = ("panda.urdf", "ur5_robot.urdf", "talos_reduced.urdf", "solo12.urdf", "tiago.urdf", "baxter.urdf")
FILES = [path for path in urdf_files() if path.name in WANTED]


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("path", FILES, ids=relative_name)
def test_reduced_is_pinocchios_reduced_model(path: object, floating: bool) -> None:
    robot = rc.load(path, floating=floating, strict=False)
    base = (pin.JointModelFreeFlyer(), "root") if floating else ()
    whole = pin.buildModelFromUrdf(str(path), *base)
    q, v = robot.random_state(4)
    names = [name for k, name in enumerate(robot.joint_names) if k % 2 and name != "root"]
    joints = [robot.model.joints[robot.model.joint_index(name)] for name in names]
    small = robot.reduced({joint.name: q[joint.q_start : joint.q_start + joint.kind.nq] for joint in joints})
    theirs = pin.buildReducedModel(
        whole, [whole.getJointId(name) for name in names], interop.configuration(robot, whole, q)
    )
    data = theirs.createData()
    assert small.nv == theirs.nv
    q, v = small.random_state(5)
    pq, pv = interop.configuration(small, theirs, q), interop.velocity(small, theirs, v)
    order = interop.velocity_order(small, theirs)
    mass = pin.crba(theirs, data, pq)
    mass = np.triu(mass) + np.triu(mass, 1).T
    close(small.mass_matrix(q)[np.ix_(order, order)], mass, 1e-10)
    close(small.bias_forces(q, v)[order], pin.nonLinearEffects(theirs, data, pq, pv), 1e-10)


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES, ids=relative_name)
def test_chain_has_pinocchios_jacobian(path: object) -> None:
    robot = rc.load(path, strict=False)
    whole = pin.buildModelFromUrdf(str(path))
    data = whole.createData()
    q, _ = robot.random_state(6)
    last = robot.model.links[-1].name
    part = robot.chain(robot.link_names[0], last)
    own = {name: q[robot.model.joints[robot.model.joint_index(name)].q_start] for name in part.joint_names}
    pq = interop.configuration(robot, whole, q)
    jacobian = pin.computeFrameJacobian(whole, data, pq, whole.getFrameId(last), pin.ReferenceFrame.LOCAL)
    columns = [whole.joints[whole.getJointId(name)].idx_v for name in part.joint_names]
    close(part.jacobian(own, last), interop.swap_halves(jacobian[:, columns], axis=0), 1e-10)
