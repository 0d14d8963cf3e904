"""Least squares: rows from logs, weighted by the noise of every joint, and with less trust in what lies far off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import StateError, TooLargeError
from recursa.identification.log_filters import Filtered, low_frequency_density, steps_between, windows
from recursa.identification.unknowns import Unknowns
from recursa.model.transmissions import own_armature
from recursa.spatial.inertia import RigidInertia
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

HUBER = 1.345
"""Standard deviations beyond which a row counts less: 95 % as good as least squares where noise is normal."""

_SLOW = 5e-3  # of a joint's largest speed: below, dry friction may be anything, and the row is left out
_ROUNDS = 6  # of weights
_NOISE_FLOOR = 1e-4  # of a joint's torques: nothing is measured better
_AT_ONCE = 1 << 22  # numbers of a block of rows before they are filtered
_MOST = 1 << 28  # numbers of all rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Few rows for many samples: ``matrix`` (m, nv, columns), ``torque`` (m, nv) beside what is known.

    ``used`` (m, nv) says which count, ``drive`` (m, nv) are the whole torques, ``at`` (m,) the instants. ``density``
    (m,): of noise at low frequencies, where motions are, relative to that of independent rows of the same variance.
    """

    matrix: Array
    torque: Array
    used: Array
    drive: Array
    at: Array
    density: Array

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """One below the other."""
        found = [(p.matrix, p.torque, p.used, p.drive, p.at, p.density) for p in parts]
        return cls(*(np.concatenate(pieces) for pieces in zip(*found, strict=True)))

    def residual(self, change: Array) -> Array:
        """What a change of the unknowns leaves of the torques, (m, nv)."""
        return self.torque - self.matrix @ change

    def rms(self, residual: Array) -> Array:
        """Of each freedom, (nv,), over the rows that are used."""
        counts = np.maximum(1, self.used.sum(axis=0))
        return np.sqrt((np.square(residual) * self.used).sum(axis=0) / counts)


def rows_of(motions: Iterable[Filtered], unknowns: Unknowns, loaded: Iterable[Robot]) -> Rows:
    """The rows of motions; ``loaded`` is for each the robot as it is known, with the load that it carried."""
    return Rows.joined(_rows_of(motion, unknowns, robot) for motion, robot in zip(motions, loaded, strict=True))


def _rows_of(motion: Filtered, unknowns: Unknowns, loaded: Robot) -> Rows:
    every = steps_between(motion)
    nv, width = unknowns.robot.nv, len(unknowns.columns)
    if (len(motion) // every + 1) * nv * width > _MOST:
        raise TooLargeError(
            f"a log of {len(motion)} samples for {width} unknowns makes {len(motion) // every} rows for each of {nv} "
            "freedoms, which do not fit into memory. Give a lower cutoff=, or a part of the log"
        )
    known = loaded.inverse_dynamics(motion.q, motion.v, motion.a, losses=True)
    drive = motion.tau * unknowns.constants
    moving = _moving(motion, unknowns, loaded)
    parts = []
    for window in windows(len(motion), every, max(1, _AT_ONCE // (nv * width * every))):
        span = slice(window.start, window.stop)
        rows = unknowns.matrix(motion.q[span], motion.v[span], motion.a[span], motion.tau[span])
        few = (window.weights @ rows.reshape(len(rows), -1)).reshape(-1, nv, width)
        drives, extra = window.weights @ drive[span], window.weights @ known[span]
        half = every // 2
        used = np.stack([moving[max(0, k - half) : k + half + 1].all(axis=0) for k in window.at])
        density = np.full(len(few), low_frequency_density(every))
        parts.append(Rows(few, drives - extra, used, drives, motion.t[window.at], density))
    if not parts:
        raise StateError(
            f"a log of {len(motion)} samples is too short for a cutoff of {motion.cutoff:.3g} Hz: not one filtered row "
            "is left. Give a longer log, or a higher cutoff="
        )
    return Rows.joined(parts)


def _moving(motion: Filtered, unknowns: Unknowns, loaded: Robot) -> Array:
    """Where friction is that of a joint that slides: (n, nv). Without dry friction everywhere."""
    joints = [joint for joint in loaded.model.joints if joint.independent]
    dry = np.array([bool(np.any(f)) for joint in joints for f in joint.friction], bool)
    if "coulomb" in unknowns.terms or "stribeck" in unknowns.terms:
        dry[list(unknowns.freedoms)] = True
    fastest = np.abs(motion.v).max(axis=0)
    return ~dry | (np.abs(motion.v) > _SLOW * fastest)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Rows over the noise of their joint and with the weights of a robust fit: ``matrix`` (m nv, columns), ``torque``.

    ``noise`` (nv,): standard deviations of the rows of each freedom; ``trust`` (m, nv) from 0 to 1; ``above_noise``
    (nv,): the residual in multiples of the noise, which is what changes from row to row and what most rows have.
    """

    matrix: Array
    torque: Array
    noise: Array
    trust: Array
    above_noise: Array


def weighted(rows: Rows, chosen: Sequence[int], *, robust: bool) -> Weighted:
    """Weights by repeated least squares over the columns ``chosen``: noise of joints, then Huber's trust in rows."""
    used, matrix = rows.used, rows.matrix[:, :, list(chosen)]
    size = np.maximum(rows.rms(rows.drive), rows.rms(rows.torque))
    floor = _NOISE_FLOOR * np.where(size > 0.0, size, size.max(initial=0.0) or 1.0)
    noise, trust = np.maximum(rows.rms(rows.torque), floor), used.astype(float)
    for _ in range(_ROUNDS if robust else 3):
        weights = np.sqrt(trust) / noise
        change = _least_squares(matrix * weights[:, :, None], rows.torque * weights)
        left = rows.torque - matrix @ change
        noise = np.maximum(_spread(left, used, len(chosen), robust), floor)
        if robust:
            trust = np.minimum(1.0, HUBER / np.maximum(np.abs(left / noise), 1e-300)) * used
    weights = np.sqrt(trust / rows.density[:, None]) / noise
    shape = (-1, rows.matrix.shape[2])
    matrix, torque = (rows.matrix * weights[:, :, None]).reshape(shape), (rows.torque * weights).ravel()
    return Weighted(matrix, torque, noise, trust, np.maximum(_above_noise(left, used), rows.rms(left) / noise))


def _covariances(left: Array, used: Array, lag: int) -> Array:
    """Mean products of residuals so many rows apart, (nv,), over the pairs of which both rows are used."""
    both = used[lag:] & used[: len(used) - lag]
    return (left[lag:] * left[: len(left) - lag] * both).sum(axis=0) / np.maximum(1, both.sum(axis=0))  # type: ignore[no-any-return]


def _above_noise(left: Array, used: Array) -> Array:
    """Root mean squares of residuals over those of the differences of neighbouring rows, (nv,); 1 for white noise."""
    size = _covariances(left, used, 0)
    noise = size - _covariances(left, used, 1)
    return np.sqrt(size / np.maximum(noise, 1e-12 * size + 1e-300))  # type: ignore[no-any-return]


def triangle(matrix: Array, torque: Array) -> tuple[Array, Array]:
    """R (k, columns) and r (k,) with the same sum of squares as all rows but for a constant: by QR."""
    both = np.asarray(np.linalg.qr(np.column_stack([matrix, torque]), mode="r"))[: matrix.shape[1]]
    return both[:, :-1], both[:, -1]


def _least_squares(matrix: Array, torque: Array) -> Array:
    """The least solution; columns of one size, so that what counts as zero does not depend on units."""
    R, r = triangle(matrix.reshape(-1, matrix.shape[2]), torque.ravel())
    sizes = np.linalg.norm(R, axis=0)
    sizes[sizes == 0.0] = 1.0
    return np.linalg.lstsq(R / sizes, r, rcond=1e-9)[0] / sizes


def _spread(left: Array, used: Array, columns: int, robust: bool) -> Array:
    """The standard deviation of each freedom's rows, (nv,), with a share of the freedoms of the fit."""
    counts = used.sum(axis=0)
    total = max(1, int(counts.sum()))
    share = 1.0 / np.sqrt(max(0.1, 1.0 - columns / total))
    if not robust:
        return share * np.sqrt((np.square(left) * used).sum(axis=0) / np.maximum(1, counts))
    hidden = np.where(used, np.abs(left), np.nan)
    middles = np.array([np.nanmedian(x) if np.isfinite(x).any() else 0.0 for x in hidden.T])
    return share * 1.4826 * middles


# ---- A robot from identified numbers ---------------------------------------------------------------------------------


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
