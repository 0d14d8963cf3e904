"""Clear slow forms in NumPy of native loops: rows turned, polynomials, what touches."""

from __future__ import annotations

import numpy as np

from recursa.dynamics.configuration import COORDINATE_RATES
from recursa.dynamics.manipulability import _ORTHOGONAL as ORTHOGONAL
from recursa.dynamics.manipulability import _SWEEPS as SWEEPS
from recursa.dynamics.manipulability import _VANISHING as VANISHING
from recursa.dynamics.manipulability import _added_up as added_up
from recursa.dynamics.manipulability import _tournament as tournament
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.simulation.touch_geometry import Geometry, Instant, Touch
from recursa.sweeps.batching import Array
from recursa.trajectories.curves import Derivatives, Pieces


def turned_rows(both: Array, n: int) -> Array:
    """Rows (m, n + m, B) turned in pairs until those of the first n columns are orthogonal: ``_singular.c`` clearly."""
    for _ in range(SWEEPS):
        turns = [made_orthogonal(both, n, *pairs) for pairs in tournament(len(both))]  # one after the other
        if not any(turns):
            break
    return both


def made_orthogonal(both: Array, n: int, first: list[int], second: list[int]) -> bool:
    """Turn pairs of rows, of whose entries n count; whether any had to be."""
    x, y = both[first], both[second]
    a, b, c = (added_up(p[:, :n] * r[:, :n]) for p, r in ((x, x), (y, y), (x, y)))
    floor = VANISHING * added_up(added_up(both[:, :n] * both[:, :n])[None])[0]
    skew = (np.abs(c) > ORTHOGONAL * np.sqrt(a) * np.sqrt(b)) & (np.minimum(a, b) > floor)
    if not skew.any():
        return False
    zeta = (b - a) / np.where(skew, 2.0 * c, 1.0)
    tangent = np.where(zeta < 0.0, -1.0, 1.0) / (np.abs(zeta) + np.sqrt(1.0 + zeta * zeta))
    tangent = np.where(skew, tangent, 0.0)
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = cosine * tangent
    both[first], both[second] = cosine[:, None] * x - sine[:, None] * y, sine[:, None] * x + cosine[:, None] * y
    return True


def pieces(curve: Pieces, t: Array) -> Derivatives:
    """x, dx/dt, d2x/dt2 of polynomials between joins by Horner's rule: ``path_pieces`` of ``_paths.c``."""
    piece = np.clip(np.searchsorted(curve.breaks, t, side="right") - 1, 0, len(curve.widths) - 1)
    width = curve.widths[piece][:, None]
    u = (t - curve.breaks[piece])[:, None] / width
    x, *others = (c[piece] for c in curve.coefficients[::-1])
    dx = ddx = np.zeros_like(x)
    for k, c in enumerate(others):  # what is still zero is not multiplied
        ddx = ddx * u + 2.0 * dx if k > 1 else 2.0 * dx
        dx = dx * u + x if k > 0 else x
        x = x * u + c
    inverse = 1.0 / width
    return x, dx * inverse, ddx * inverse * inverse


def touching(geometry: Geometry, q: Array, v: Array, tau: Array) -> Instant:
    """An instant of what touches, by the methods of the robot and rigid-body kinematics in NumPy."""
    robot = geometry.robot
    a = robot.forward_dynamics(q, v, tau)
    qdot = robot.evaluator.evaluate(COORDINATE_RATES, {"q": q, "v": v})
    W = robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q})
    poses, speeds = robot.poses(q), robot.velocities(q, v, frame="mixed")
    rates = robot.accelerations(q, v, np.zeros_like(v), frame="mixed", kind="classical")
    gaps, J, gamma = [], [], []
    for one, axes in zip(geometry.touches, geometry.axes, strict=True):
        link = robot.model.link_index(one.link)
        R, w, (turn, move) = poses[link, :3, :3], speeds[link, :3], np.split(rates[link], 2)
        down, down_rate = down_to_the_plane(one, R, w)
        arm = R @ one.at
        reach = arm + one.radius * down
        gaps.append(one.normal @ (poses[link, :3, 3] + reach) - one.height)
        columns = robot.jacobian(q, one.link, frame="mixed")
        J.append(axes @ (columns[3:] + np.cross(columns[:3].T, reach).T))
        moved = move + np.cross(turn, arm) + np.cross(w, np.cross(w, arm))
        gamma.append(axes @ (moved + one.radius * (np.cross(turn, down) + np.cross(w, down_rate))))
    return Instant(qdot, a, W, np.array(gaps), np.concatenate(J), np.concatenate(gamma))


def down_to_the_plane(one: Touch, R: Array, w: Array) -> tuple[Array, Array]:
    """From the centre of a ball or wheel towards its plane, and its rate, by differences along the turn of the link."""
    n = np.array(one.normal)
    if one.axis is None:
        return -n, np.zeros(3)

    def down(turned: Array) -> Array:
        axis = turned @ one.axis
        m = n - axis * (n @ axis)
        return -m / np.sqrt(m @ m)

    h = 1e-20  # a complex step
    across = np.cross(w, np.eye(3)).T
    return down(R), down(R + 1j * h * (across @ R)).imag / h
