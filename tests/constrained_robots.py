"""Robots with constraints of every kind, and their dense equations of motion, solved by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import tied_gripper

# ---- robots of every kind --------------------------------------------------------------------------------------------


def massless() -> rc.Robot:
    """A four-bar linkage whose coupler is a rod without mass."""
    b = rc.Builder("massless")
    for name, length, mass in (("crank", 0.2, 1.0), ("coupler", 0.6, 0.0), ("rocker", 0.5, 1.5)):
        heavy = {"mass": mass, "com": (length / 2, 0, 0), "inertia": (mass * 1e-4, mass * 1e-2, mass * length**2 / 12)}
        b.link(name, **(heavy if mass else {}))
    b.joint("crank_joint", "revolute", parent="world", child="crank", axis=(0, 0, 1))
    b.joint("coupler_joint", "revolute", parent="crank", child="coupler", axis=(0, 0, 1), xyz=(0.2, 0, 0))
    b.joint("rocker_joint", "revolute", parent="world", child="rocker", axis=(0, 0, 1), xyz=(0.7, 0, 0))
    pin = rc.Loop("revolute", "coupler", "rocker", axis=(0, 0, 1), at=(0.6, 0, 0), at_other=(0.5, 0, 0), name="pin")
    return b.build(gravity=(0, -9.81, 0), strict=False).with_constraints(pin)


def tied() -> rc.Robot:
    """Joints that follow others, and a relation between two that do not."""
    return tied_gripper().with_constraints(rc.JointRelation({"wrist": 1.0, "drive": -3.0}, name="screw"))


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "loop": rc.robots.five_bar,
    "contact": lambda: rc.robots.panda_like().with_constraints(rc.Contact("point", "flange", name="held")),
    "relation": lambda: rc.robots.planar(3).with_constraints(rc.JointRelation({"joint1": 1.0, "joint2": -2.0})),
    "tied": tied,
    "massless": massless,
    "anchored": lambda: (
        rc.robots.free_flyer(3).with_gravity((0, 0, -9.81)).with_constraints(rc.Contact("point", "bus", name="foot"))
    ),
}
NEAR = {"massless": [0.5, 0.3, 1.5]}  # a configuration that closes its loop but for little
MOTORS = {
    "loop": ("left_joint", "right_joint"),
    "relation": ("joint1", "joint3"),
    "tied": ("drive",),
    "massless": ("crank_joint",),
}
every_robot = pytest.mark.parametrize("kind", ROBOTS)


@cache
def robot_of(kind: str) -> rc.Robot:
    return ROBOTS[kind]()


@cache
def tree_of(kind: str) -> rc.Robot:
    return robot_of(kind).without_constraints()


@cache
def state_of(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state that obeys the constraints, and torques."""
    robot, rng = robot_of(kind), np.random.default_rng(3)
    start = NEAR[kind] if kind in NEAR else robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
    q = robot.assemble(start)
    return q, robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


# ---- the dense equations ---------------------------------------------------------------------------------------------


class Dense:
    """``M a + h = tau + G* lambda``, ``G a + gamma = 0`` at a state, by the null space of G."""

    def __init__(self, robot: rc.Robot, q: np.ndarray, v: np.ndarray) -> None:
        tree = robot.without_constraints()
        self.M, self.h = tree.mass_matrix(q), tree.bias_forces(q, v)
        self.G, self.gamma = robot.constraint_jacobian(q), robot.constraint_bias(q, v)
        _, sizes, rows = np.linalg.svd(self.G)
        rank = int((sizes > 1e-10 * sizes[0]).sum())
        self.Z = rows[rank:].T
        self.K = self.Z @ np.linalg.solve(self.Z.T @ self.M @ self.Z, self.Z.T)

    def accelerations(self, tau: np.ndarray) -> np.ndarray:
        start = -np.linalg.pinv(self.G, rcond=1e-10) @ self.gamma
        return start + self.K @ (tau - self.h - self.M @ start)

    def forces(self, tau: np.ndarray) -> np.ndarray:
        a = self.accelerations(tau)
        return np.linalg.pinv(self.G.T, rcond=1e-10) @ (self.M @ a + self.h - tau)


def agrees(found: Any, expected: Any, what: str, relative: float = 1e-9) -> None:
    size = max(1e-6, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=relative * size, err_msg=what)


def tip_of(robot: rc.Robot) -> str:
    return robot.link_names[-1]
