"""Constrained forward dynamics against Pinocchio's constraintDynamics: points and welds, contacts and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.interop import pinocchio as interop
from zoo import flyer

pin = pytest.importorskip("pinocchio")

ROBOTS = {
    "tree": lambda: rc.robots.tree(9, branching=2, seed=4),
    "chain": lambda: rc.robots.chain(8, seed=3),
    "flyer": lambda: flyer("flyer", [-1, 0, 0, 1, 1, 2, 3, 5], 21, ["revolute", "prismatic", "spherical"]),
    "quadruped": lambda: flyer("quadruped", [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11], 5, ["revolute"]),
}
KINDS = {"point": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}


def place(robot: rc.Robot, model: Any, link: str, at: np.ndarray, turn: np.ndarray) -> tuple[int, Any]:
    """A frame on a link, as Pinocchio wants it: its joint, and the pose on that."""
    found = robot.model.links[robot.model.link_index(link)]
    offset = pin.SE3(np.array(found.offset.rotation.rows()), np.array(found.offset.translation))
    joint = 0 if found.body < 0 else model.getJointId(robot.model.joints[found.body].name)
    return joint, offset * pin.SE3(turn, at)


def independent(name: str, seed: int) -> tuple[rc.Robot, Any, Any]:
    """Constraints whose equations are independent, which Pinocchio wants."""
    for trial in range(30):
        robot, peer, q = drawn(name, seed, trial)
        if robot.mobility(q).rank == robot.ncon:
            return robot, peer, q
    raise AssertionError("no such constraints")


def drawn(name: str, seed: int, trial: int) -> tuple[rc.Robot, Any, Any]:
    """A robot with a random set of constraints, closed where they are loops, and the same for Pinocchio."""
    rng = np.random.default_rng((seed, trial))
    robot = ROBOTS[name]()
    model = interop.build(robot)
    links = [link.name for link in robot.model.links if link.body >= 0]
    q, _ = robot.random_state(rng)
    poses = dict(zip(robot.link_names, robot.poses(q), strict=True))
    chosen = rng.permutation(len(links))
    ours, theirs = [], pin.StdVec_RigidConstraintModel()
    for kind in ("point", "weld", "point")[: 1 + (seed + trial) % 3]:
        first, second = (links[k] for k in chosen[:2])
        chosen = chosen[2:]
        at = rng.normal(size=3) * 0.2
        if seed % 2 == 0:  # a contact with the world
            ours.append(rc.Contact("point" if kind == "point" else "surface", first, at=at))
            joint, where = place(robot, model, first, at, np.eye(3))
            theirs.append(pin.RigidConstraintModel(KINDS[kind], model, joint, where, pin.LOCAL_WORLD_ALIGNED))
            continue
        between = np.linalg.inv(poses[second]) @ poses[first] @ np.vstack([np.c_[np.eye(3), at], [0, 0, 0, 1]])
        rpy = pin.rpy.matrixToRpy(between[:3, :3])
        ours.append(rc.Loop(kind, first, second, at=at, at_other=between[:3, 3], rpy_other=rpy))
        joint1, where1 = place(robot, model, first, at, np.eye(3))
        joint2, where2 = place(robot, model, second, between[:3, 3], between[:3, :3])
        theirs.append(pin.RigidConstraintModel(KINDS[kind], model, joint1, where1, joint2, where2, pin.LOCAL))
    return robot.with_constraints(*ours), (model, theirs), q


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_are_those_of_constraint_dynamics(name: str, seed: int) -> None:
    robot, (model, constraints), q = independent(name, seed)
    rng = np.random.default_rng(seed + 100)
    assert np.abs(robot.constraint_error(q)).max() < 1e-12
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    tau = rng.normal(size=robot.nv)
    data, datas = model.createData(), pin.StdVec_RigidConstraintData()
    for one in constraints:
        datas.append(one.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-15, 1e-9, 100)
    state = interop.configuration(robot, model, q), *(interop.velocity(robot, model, x) for x in (v, tau))
    expected = pin.constraintDynamics(model, data, *state, constraints, datas, settings)
    found = interop.velocity(robot, model, robot.forward_dynamics(q, v, tau))
    condition = np.linalg.cond(robot.constraint_delassus(q))
    assert np.abs(found - expected).max() <= max(1e-9, 1e-15 * condition) * np.abs(expected).max()
