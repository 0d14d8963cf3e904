"""A robot at one state in dense algebra: 6 x nv Jacobians of every body from the poses of joints, and sums over bodies.

Nothing is summed from body to body but poses and motions, so that sweeps and walks can be judged by it.
"""

from __future__ import annotations

import numpy as np

import recursa as rc
from numeric import crf, crm, rigid_matrix, rotation_matrix, skew
from recursa.model.model import WORLD
from recursa.spatial import RigidInertia, Transform


class DenseRobot:
    """Everything in the axes of each body."""

    def __init__(self, robot: rc.Robot, q: np.ndarray, parameters: np.ndarray | None = None) -> None:
        self.robot = robot
        model, nv = robot.model, robot.nv
        self.inertias = np.array([rigid_matrix(inertia) for inertia in model.inertias]).reshape(-1, 6, 6)
        if parameters is not None:
            self.inertias = np.array([_inertia(row) for row in parameters.reshape(-1, 10)])
        self.outward: list[np.ndarray] = []  # from the parent's motions to a body's
        self.columns: list[np.ndarray] = []  # H* of a body's joint, in the columns of the robot's speeds
        self.jacobians: list[np.ndarray] = []
        for joint in model.joints:
            pose = joint.transform(joint.coordinates(q.tolist())).general()
            own = np.zeros((6, nv))
            own[:, joint.v_start : joint.v_start + joint.kind.nv] = np.array(
                [[*column.angular, *column.linear] for column in joint.columns()]
            ).T * (1.0 if joint.tie is None else joint.tie.multiplier)
            self.outward.append(_outward(pose))
            self.columns.append(own)
            inward = np.zeros((6, nv)) if joint.parent == WORLD else self.jacobians[joint.parent]
            self.jacobians.append(self.outward[-1] @ inward + own)

    def armature(self) -> np.ndarray:
        """On the diagonal; a tied joint's counts by the square of its multiplier."""
        total = np.zeros((self.robot.nv, self.robot.nv))
        for joint in self.robot.model.joints:
            for freedom, rotor in enumerate(joint.armature):
                at = joint.v_start + freedom
                total[at, at] += rotor * (1.0 if joint.tie is None else joint.tie.multiplier**2)
        return total

    def mass_matrix(self) -> np.ndarray:
        """``sum of J* M J``."""
        terms = (J.T @ M @ J for J, M in zip(self.jacobians, self.inertias, strict=True))
        return sum(terms, self.armature())

    def motions(self, v: np.ndarray, a: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Velocities, and accelerations with gravity as the world's upward one."""
        velocities: list[np.ndarray] = []
        accelerations: list[np.ndarray] = []
        up = np.array([0.0, 0.0, 0.0, *(-g for g in self.robot.gravity)])
        for joint, X, H in zip(self.robot.model.joints, self.outward, self.columns, strict=True):
            at_root = joint.parent == WORLD
            velocities.append((0.0 if at_root else X @ velocities[joint.parent]) + H @ v)
            inward = X @ (up if at_root else accelerations[joint.parent])
            accelerations.append(inward + H @ a + crm(velocities[-1]) @ (H @ v))
        return velocities, accelerations

    def coriolis_matrix(self, v: np.ndarray) -> np.ndarray:
        """``sum of J* (M Jdot + B J)``, with ``2B = crf(V) M - M crm(V) + icrf(M V)`` and ``icrf(h) m = crf(m) h``."""
        total, rates = np.zeros((self.robot.nv, self.robot.nv)), list[np.ndarray]()
        bodies = zip(self.robot.model.joints, self.outward, self.columns, self.jacobians, self.inertias, strict=True)
        for (joint, X, H, J, M), V in zip(bodies, self.motions(v, 0.0 * v)[0], strict=True):
            rates.append((0.0 if joint.parent == WORLD else X @ rates[joint.parent]) + crm(V) @ H)
            icrf = np.stack([crf(unit) @ (M @ V) for unit in np.eye(6)], axis=-1)
            B = (crf(V) @ M - M @ crm(V) + icrf) / 2
            total += J.T @ (M @ rates[-1] + B @ J)
        return total

    def regressor(self, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """``J* (M alpha + crf(V) M V)`` for unit parameters of one body after the other."""
        units = [_inertia(row) for row in np.eye(10)]
        blocks = [
            np.stack([J.T @ (M @ alpha + crf(V) @ (M @ V)) for M in units], axis=-1)
            for J, V, alpha in zip(self.jacobians, *self.motions(v, a), strict=True)
        ]
        return np.concatenate([np.zeros((self.robot.nv, 0)), *blocks], axis=-1)


def _outward(pose: Transform) -> np.ndarray:
    """The inverse of the matrix of a pose, in which no digits cancel."""
    back, zero = rotation_matrix(pose.rotation).T, np.zeros((3, 3))
    return np.block([[back, zero], [-back @ skew(pose.translation), back]])


def _inertia(parameters: np.ndarray) -> np.ndarray:
    return rigid_matrix(RigidInertia.from_components(parameters.tolist()))
