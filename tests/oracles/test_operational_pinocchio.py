"""Operational space of floating humanoids against Pinocchio's mass matrix and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.interop import pinocchio as interop
from robot_data import urdf_files

pin = pytest.importorskip("pinocchio")
FILES = [path for path in urdf_files() if path.name in ("simple_humanoid.urdf", "talos_reduced.urdf")]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if "talos" in path.name else (), id=path.name) for path in FILES],
)
def test_compliance_and_inertia_of_every_link_match_pinocchio(path):
    robot = rc.load(path, floating=True)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    model.names[1] = "root"
    data = model.createData()
    q, _ = robot.random_state(4)
    there = interop.configuration(robot, model, q)
    mass = pin.crba(model, data, there)
    inverse = np.linalg.inv(np.triu(mass) + np.triu(mass, 1).T)
    pin.computeJointJacobians(model, data, there)
    pin.updateFramePlacements(model, data)
    jacobians = []
    for link in robot.link_names:
        frame = model.getFrameId(link, pin.FrameType.BODY)
        jacobians.append(interop.swap_halves(pin.getFrameJacobian(model, data, frame, pin.LOCAL), axis=0))
    stacked = np.concatenate(jacobians)
    expected = stacked @ inverse @ stacked.T
    close(robot.delassus(q, robot.link_names), expected, 1e-9)
    compliances = robot.operational_compliance(q)
    for k, link in enumerate(robot.link_names):
        own = expected[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
        close(compliances[k], own, 1e-10, link)
        inertia = robot.operational_inertia(q, link)
        assert inertia.rank == 6
        close(inertia, np.linalg.inv(own), 1e-9, link)
