"""What a closed path of the joints leaves behind at zero momentum: a rotation of the base, and how it changes.

At zero momentum the base turns with ``omega = A(theta) dtheta/ds``, the angular rows of :func:`base_response`, whatever
the speed. That is not integrable: along a closed path of the joints it leaves a rotation, the path's holonomy, which is
of second order in the path's size. It has the derivative ``delta R = R eta~``,

    eta(1) = R(1)* integral of R (A delta theta' + dA[delta theta] theta') ds

where what changes with the posture comes from the momentum, ``A_b d(v_b) = -dh/dtheta``, by
:meth:`Robot.momentum_derivatives`. Integrals are over two Gauss points a step, rotations by Magnus' fourth order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recursa.free.floating_base import BASE, solved
from recursa.free.simulated_links import rotation_matrices
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import half_cotangent
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.model.model import Joint
    from recursa.robot import Robot

_STEPS = 40  # of the attitude along a loop, per harmonic
_NODES = 0.5 + np.array([-1.0, 1.0]) * math.sqrt(3.0) / 6.0  # Gauss, two a step


@dataclass(frozen=True)
class Path:
    """Joints along a loop, s from 0 to 1: ``theta0 + squash(sum of a sin(2 pi k s) + b (1 - cos(2 pi k s)))``.

    ``room`` (2, n) is how far each may go down and up. The squash, a hyperbolic tangent on either side, has slope 1 at
    the start and never reaches the end of the room; where that is infinite it is the identity.
    """

    still: Array  # (nq,) the robot where it rests
    start: Array  # (size,) the joints there
    room: Array
    moving: Array  # (n,) where in the joints those that move are
    size: int  # of the joints
    x: Array  # (2 harmonics, n)

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """Positions, slopes and curvatures by s, (..., size)."""
        waves = basis(s, len(self.x) // 2)
        (u, du, ddu), found = (wave @ self.x for wave in waves), []
        y, dy, ddy = self.squashed(u)
        for values, rest in ((y, self.start), (dy * du, 0.0), (ddy * du**2 + dy * ddu, 0.0)):
            whole = np.zeros((*np.shape(s), self.size)) + rest
            whole[..., self.moving] += values
            found.append(whole)
        return found[0], found[1], found[2]

    def squashed(self, u: Array) -> tuple[Array, Array, Array]:
        """The squash and its two derivatives."""
        room = np.where(u < 0.0, *self.room)
        ratio = np.tanh(u / room)
        with np.errstate(invalid="ignore"):
            y = np.where(np.isinf(room), u, room * ratio)
        return y, 1.0 - ratio**2, -2.0 * ratio * (1.0 - ratio**2) / room


def basis(s: Array, harmonics: int) -> tuple[Array, Array, Array]:
    """The waves (..., 2 harmonics) and their two derivatives by s."""
    w = 2.0 * math.pi * np.arange(1, harmonics + 1)
    sine, cosine = np.sin(s[..., None] * w), np.cos(s[..., None] * w)
    return (
        np.concatenate([sine, 1.0 - cosine], axis=-1),
        np.concatenate([w * cosine, w * sine], axis=-1),
        np.concatenate([-(w**2) * sine, w**2 * cosine], axis=-1),
    )


def missing_rotation(robot: Robot, path: Path, goal: Array, fineness: int = 1) -> tuple[Array, Array]:
    """The rotation vector from the goal to where a loop ends, (3,), and its derivative by the coefficients.

    ``fineness``: so many times as many steps as usual.
    """
    harmonics = len(path.x) // 2
    steps = _STEPS * harmonics * fineness
    h, s = 1.0 / steps, gauss_points(np.linspace(0.0, 1.0, steps + 1))
    theta, slope, _ = path.at(s)
    q = postures(robot, path.still, theta)
    matrix, response, omega = turning(robot, q, slope)
    speed = np.concatenate([(response @ slope[..., None])[..., 0], slope], axis=-1)
    by_posture = -solved(robot, matrix, robot.momentum_derivatives(q, speed)[0][..., BASE:])[:, :3]
    ends = cumulated(rotation_matrices(rotation_vectors(omega, h)))
    begins = np.concatenate([np.eye(3)[None], ends[:-1]])
    first, second = omega[:, :1], omega[:, 1:]
    share = (0.5 * _NODES**2 - _NODES[0] * _NODES) / (_NODES[1] - _NODES[0])  # of a step whose omega is linear
    part = h * (first * _NODES[:, None] + (second - first) * share[:, None])
    attitudes = (begins[:, None] @ rotation_matrices(part)).reshape(-1, 3, 3)
    # how the coefficients move the joints, and these the base
    waves, rises, _ = basis(s, harmonics)
    u, du = waves @ path.x, rises @ path.x
    _, dy, ddy = path.squashed(u)
    moved = waves[:, :, None] * dy[:, None, :]  # (s, 2 harmonics, joints)
    risen = waves[:, :, None] * (ddy * du)[:, None, :] + rises[:, :, None] * dy[:, None, :]
    to_world = 0.5 * h * attitudes
    by_place = to_world @ by_posture[..., path.moving]
    by_slope = to_world @ response[:, :3][..., path.moving]
    change = np.einsum("saj,skj->akj", by_place, moved) + np.einsum("saj,skj->akj", by_slope, risen)
    end = ends[-1]
    off = goal.T @ end
    missing = np.array(rotation_of(off).log())
    return missing, _inverse_jacobian(missing) @ end.T @ change.reshape(3, -1)


def postures(robot: Robot, still: Array, theta: Array) -> Array:
    """Configurations with the base at the origin, where in its own axes all is as everywhere."""
    q = np.broadcast_to(still, (len(theta), robot.nq)).copy()
    q[:, :BASE], q[:, BASE] = 0.0, 1.0
    for joint in single_joints(robot):
        q[:, joint.q_start] = theta[:, joint.v_start - BASE]
    return q


def single_joints(robot: Robot) -> list[Joint]:
    """The joints that move: those of one freedom."""
    return [joint for joint in robot.model.joints[1:] if joint.independent and joint.kind.nv == 1]


def turning(robot: Robot, q: Array, rates: Array) -> tuple[Array, Array, Array]:
    """A_b, the response of the base, and its angular velocities, two to an interval, in its own axes."""
    matrix = robot.momentum_matrix(q)
    response = -solved(robot, matrix[..., :BASE], matrix[..., BASE:])
    return matrix[..., :BASE], response, (response[:, :3] @ rates[..., None])[..., 0].reshape(-1, 2, 3)


def gauss_points(t: Array) -> Array:
    """Two instants in each interval, one after the other."""
    return (t[:-1, None] + np.diff(t)[:, None] * _NODES).ravel()


def rotation_vectors(omega: Array, h: float) -> Array:
    """Rotation vectors of intervals of length h, by Magnus' fourth order for R' = R omega~."""
    return 0.5 * h * omega.sum(axis=1) + math.sqrt(3.0) / 12.0 * h**2 * np.cross(omega[:, 0], omega[:, 1])


def cumulated(turns: Array) -> Array:
    """All products from the first on, (n, 3, 3), in log2(n) multiplications of stacks."""
    found, reach = turns.copy(), 1
    while reach < len(found):
        found[reach:] = found[:-reach] @ found[reach:]
        reach *= 2
    return found


def _inverse_jacobian(vector: Array) -> Array:
    """``d log(R exp(eta)) / d eta`` where ``vector = log R``."""
    cross = np.array([[0.0, -vector[2], vector[1]], [vector[2], 0.0, -vector[0]], [-vector[1], vector[0], 0.0]])
    return np.eye(3) + 0.5 * cross + half_cotangent(float(vector @ vector)) * cross @ cross


def rotation_of(matrix: Array) -> Rotation:
    """The rotation of a matrix (3, 3, ...)."""
    return Rotation.from_rows([list(row) for row in matrix])
