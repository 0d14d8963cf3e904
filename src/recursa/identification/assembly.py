"""A robot from identified numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.identification.unknowns import Unknowns
from recursa.model.transmissions import own_armature
from recursa.spatial.inertia import RigidInertia
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot


def changed_robot(unknowns: Unknowns, values: Array, change: Array, covariance: Array) -> tuple[Robot, Array, Array]:
    """The robot with identified numbers, its parameters (or those of the load), and their covariance."""
    robot = unknowns.robot
    inertial = unknowns.where("inertia")
    if unknowns.payload_at and len(inertial):
        parameters = values[inertial]
        changed = robot.with_payload(unknowns.payload_at, *load_of(parameters))
        return _with_joints(changed, unknowns, change), parameters, covariance[np.ix_(inertial, inertial)]
    parameters, whole = robot.parameters, np.zeros((10 * robot.nbodies,) * 2)
    if len(inertial):
        places = [10 * column.body + column.entry for column in (unknowns.columns[k] for k in inertial)]
        parameters[places] += change[inertial]
        whole[np.ix_(places, places)] = covariance[np.ix_(inertial, inertial)]
        robot = robot.with_parameters(parameters)
    return _with_joints(robot, unknowns, change), parameters, whole


def load_of(parameters: Array) -> tuple[float, Array, Array]:
    """The mass of a body with ten parameters, its centre of mass (3,), and its inertia (3, 3) about it."""
    body = RigidInertia.from_components(parameters.tolist())
    m = body.moment_about_com()
    return body.mass, np.array(body.com()), np.array([[m.xx, m.xy, m.xz], [m.xy, m.yy, m.yz], [m.xz, m.yz, m.zz]])


def _with_joints(robot: Robot, unknowns: Unknowns, change: Array) -> Robot:
    """The same with other friction and armature."""
    by_place = {(c.term, c.freedom): float(x) for c, x in zip(unknowns.columns, change, strict=True)}
    for joint in [joint for joint in robot.model.joints if joint.independent]:
        places = range(joint.v_start, joint.v_start + joint.kind.nv)
        properties: dict[str, Any] = {}
        for term, name in (("viscous", "damping"), ("coulomb", "friction"), ("armature", "armature")):
            known = own_armature(joint) if term == "armature" else getattr(joint, name)
            if (term, joint.v_start) in by_place:
                properties[name] = tuple(_added(x, by_place[term, k]) for x, k in zip(known, places, strict=True))
        if properties:
            robot = robot.with_joint(joint.name, **properties)
    return robot


def _added(known: Any, change: float) -> Any:
    """Numbers that differ by direction change alike."""
    return tuple(x + change for x in known) if isinstance(known, tuple) else known + change
