"""Exciting motions: those that tell the parameters of a robot apart as well as its limits allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.configuration import is_flat
from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import StateError, unknown_name
from recursa.identification.fourier import Bounds, Series, within
from recursa.identification.identify import ALL
from recursa.identification.unknowns import Term, Unknowns
from recursa.quantities import refusals
from recursa.simulation.progress import ProgressBar
from recursa.sweeps.batching import Array, whole_number
from recursa.trajectories import checks
from recursa.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from recursa.robot import Robot

Criterion = Literal["condition", "determinant"]

_RANDOM = 64  # motions that a planned one is compared with, and the best of which it starts from
_SPEED, _QUICK = {"rad/s": 1.5, "m/s": 0.5}, 4.0  # where the robot has no limits; accelerations: times the speed per s
_RANGE = {"rad": np.pi, "m": 0.5, "1": 1.0}
_SAMPLES = 12  # instants for each harmonic at which the regression is looked at
_FINE = 400  # the same for torques of the motion that is returned
_LEAST = 0.01  # of a motion: with less of it nothing is excited
_POSTURES = 256  # tried where drives cannot hold the robot in the middle of a motion
_STEP = 1e-4  # for slopes by differences
_BLOCK = 1 << 22  # numbers of rows at once


class Excitation(Trajectory):
    """An exciting motion, with how good it is.

    - ``condition``: the condition number of its regression, in usual sizes of the parameters; ``log_determinant`` of
      its information matrix, per parameter.
    - ``random_condition``, ``random_log_determinant``: medians of random motions within the same limits.
    """

    condition: float
    log_determinant: float
    random_condition: float
    random_log_determinant: float

    def __str__(self) -> str:
        return (
            f"exciting motion of {self.duration:g} s: condition number {self.condition:.4g} (random motions: "
            f"{self.random_condition:.4g}), log determinant {self.log_determinant:.3g} per parameter (random motions: "
            f"{self.random_log_determinant:.3g})"
        )


def excitation(
    robot: Robot,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: Criterion = "condition",
    fit: Sequence[Term] = ALL,
    payload_at: str | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    margin: float = 0.05,
    rounds: int = 30,
    seed: int = 0,
    progress: bool = True,
) -> Excitation:
    """A motion that tells the parameters of a robot apart: a finite Fourier series, planned to excite them all.

    It starts and ends at rest, so that it can be repeated, and keeps within the limits of position, speed and
    acceleration at all times, and within those of effort at instants so close that ``margin`` covers what lies between.
    Other bodies in the way, and the robot's own, are not looked at. Print it to see how good it is.

    - ``duration``: of one period, in s; ``harmonics``: how many there are, at least 2. A period of 10 s with five
      has nothing faster than 0.5 Hz in it.
    - ``criterion``: "condition" (the condition number least) or "determinant" (that of the information matrix largest).
    - ``fit``, ``payload_at``: what is to be identified, as for :func:`recursa.identify`.
    - ``velocity``, ``acceleration``: limits (nv,) or one for all; without them those of the robot, else (or where
      they are zero) 1.5 rad/s or 0.5 m/s, and four times the speed per second.
    - ``margin``: the share of every limit that is kept free; 0 to 0.9.
    - ``rounds``: steps of the search after the best of 64 random motions; ``seed``: of these.
    - ``progress``: show a bar on a terminal.

    >>> import recursa as rc
    >>> motion = rc.excitation(rc.robots.planar(2), duration=4.0, harmonics=3, rounds=5)
    >>> q, v, a = motion.sample([0.0, 4.0])
    >>> float(abs(v).max().round(9)), float(abs(a).max().round(9)), motion.condition < motion.random_condition
    (0.0, 0.0, True)
    """
    refuse_constraints(robot.model, "rc.excitation", refusals.REGRESSION)
    if criterion not in get_args(Criterion):
        raise unknown_name("criterion", criterion, get_args(Criterion))
    if not is_flat(robot.model):
        joint = next(joint for joint in robot.model.joints if joint.kind.nv != 1)
        raise StateError(
            f"joint '{joint.name}' is {joint.kind.name}, with {joint.kind.nv} freedoms; exciting motions are planned "
            "for joints of one freedom. Plan it for an arm of the robot: robot.chain(base, tip), or hold the base"
        )
    series = Series(checks.duration("duration", duration), whole_number("harmonics", harmonics, 2))
    free = checks.share("margin", margin, 0.9, "the limits")
    unknowns = Unknowns.of(robot, fit, payload_at, np.ones(robot.nv))
    if "stribeck" in unknowns.terms or "torque constant" in unknowns.terms:
        raise StateError("excitation is planned for terms that need no log: leave out 'stribeck' and 'torque constant'")
    planner = _Planner(robot, unknowns, series, _bounds(robot, velocity, acceleration, free), criterion, free)
    return planner.planned(np.random.default_rng(seed), whole_number("rounds", rounds, 0), progress)


def _bounds(robot: Robot, velocity: ArrayLike | None, acceleration: ArrayLike | None, margin: float) -> Bounds:
    low, high = robot.position_limits
    for name, least, most in zip(robot.q_names, low, high, strict=True):
        if not most > least:
            raise StateError(
                f"joint '{name}' has no room to move: its limits are {least:g} and {most:g}. Lock it, "
                f"robot.reduced(lock=['{name}']), or give it others, robot.with_joint('{name}', limits=...)"
            )
    usual = np.array([_RANGE[unit] for unit in robot.q_units])
    ends = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * usual, -usual))
    tops = np.where(np.isfinite(high), high, ends + 2 * usual)
    middle, half = 0.5 * (ends + tops), 0.5 * np.abs(tops - ends) * (1.0 - margin)
    known = robot.velocity_limits
    fastest = np.where(np.isfinite(known) & (known > 0.0), known, [_SPEED[unit] for unit in robot.v_units])
    speed = fastest if velocity is None else checks.positive("velocity", velocity, robot.nv)
    quick = _QUICK * speed if acceleration is None else checks.positive("acceleration", acceleration, robot.nv)
    return Bounds(middle - half, middle + half, (1.0 - margin) * speed, (1.0 - margin) * quick)


@dataclass(frozen=True, eq=False)
class _Planner:
    robot: Robot
    unknowns: Unknowns
    series: Series
    bounds: Bounds
    criterion: str
    margin: float

    def planned(self, rng: np.random.Generator, rounds: int, progress: bool) -> Excitation:
        """The best of random motions, made better by a search along slopes."""
        from scipy.optimize import minimize  # slow to import

        shape = (self.robot.nv, self.series.free + 2)
        drawn = rng.normal(size=(_RANDOM, *shape))
        drawn[:, :, -2] += 2.0  # nearly as far as bounds allow
        motions = within(self.series, self.bounds, drawn)
        scores, excess = self._scores(*motions), self._excess(*motions)
        start = drawn[int(np.argmin(self._costs(scores, excess)))]
        able = excess == 0.0
        if able.any():  # those that the drives can do
            scores = scores[0][able], scores[1][able]
        bar = ProgressBar(progress, float(max(1, rounds)), "planning", "rounds")
        done = 0

        def cost(flat: Array) -> tuple[float, Array]:
            around = flat + _STEP * np.concatenate([np.zeros((1, flat.size)), np.eye(flat.size)])
            motions = within(self.series, self.bounds, around.reshape(-1, *shape))
            values = self._costs(self._scores(*motions), self._excess(*motions))
            return float(values[0]), (values[1:] - values[0]) / _STEP

        def told(_: Any) -> None:
            nonlocal done
            done += 1
            bar.update(float(done))

        try:
            if rounds:
                found = minimize(
                    cost, start.ravel(), jac=True, method="L-BFGS-B", callback=told, options={"maxiter": rounds}
                )
                start = found.x.reshape(shape)
        finally:
            bar.close()
        return self._motion(start[None], scores)

    def _motion(self, numbers: Array, random: tuple[Array, Array]) -> Excitation:
        """The motion, its amplitudes made smaller as far as effort demands."""
        centre, coefficients = (x[0] for x in within(self.series, self.bounds, numbers))
        posture, share = self._within_efforts(centre, coefficients)
        centre, coefficients = posture + share * (centre - posture), share * coefficients
        series, breaks = self.series, np.array([0.0, self.series.T])

        def states(t: Array) -> tuple[Array, Array, Array]:
            x, v, a = series.curve(coefficients, t)
            return centre + x, v, a

        motion = Excitation(states, breaks, robot=self.robot)
        conditions, determinants = self._scores(centre[None], coefficients[None])
        motion.condition, motion.log_determinant = float(conditions[0]), float(determinants[0])
        motion.random_condition, motion.random_log_determinant = (float(np.median(x)) for x in random)
        return motion

    def _within_efforts(self, centre: Array, coefficients: Array) -> tuple[Array, float]:
        """A posture, and the largest share of the motion about it that efforts allow, by halving.

        What lies between the posture and the motion keeps all other limits, as both do.
        """
        limits = self._efforts()
        count = _FINE * self.series.harmonics
        x, v, a = self.series.curve(coefficients, self.series.T * np.arange(count) / count)
        posture = self._easiest(centre, limits)

        def fits(share: float) -> bool:
            q = posture + share * (centre + x - posture)
            return bool((np.abs(self.robot.inverse_dynamics(q, share * v, share * a, losses=True)) <= limits).all())

        if fits(1.0):
            return posture, 1.0
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        if low < _LEAST:
            held = np.abs(self.robot.gravity_forces(posture)) + np.abs(self.robot.joint_losses(np.ones(self.robot.nv)))
            worst = int(np.argmax(held / limits))
            name = self.robot.v_names[worst]
            raise StateError(
                f"joint '{name}' is too weak to move the robot within its effort limit of "
                f"{self.robot.effort_limits[worst]:g}: is that right? robot.with_joint('{name}', effort=None) lifts it"
            )
        return posture, low

    def _easiest(self, centre: Array, limits: Array) -> Array:
        """The centre, where drives can hold the robot there; else the posture in which they do it most easily."""
        shares = np.random.default_rng(0).uniform(size=(_POSTURES, len(centre)))
        drawn = self.bounds.low + (self.bounds.high - self.bounds.low) * shares
        neutral = np.clip(self.robot.neutral(), self.bounds.low, self.bounds.high)
        postures = np.concatenate([[centre, neutral], drawn])
        ratios = (np.abs(self.robot.gravity_forces(postures)) / limits).max(axis=1)
        return centre if ratios[0] < 1.0 else postures[int(np.argmin(ratios))]

    # ---- how good motions are ----------------------------------------------------------------------------------------

    def _costs(self, scores: tuple[Array, Array], excess: Array) -> Array:
        """What is made small, (B,): with a share for efforts beyond limits."""
        return (np.log(scores[0]) if self.criterion == "condition" else -scores[1]) + excess

    def _excess(self, centres: Array, coefficients: Array) -> Array:
        limits = self._efforts()
        if not np.isfinite(limits).any():
            return np.zeros(len(centres))
        q, v, a = self._states(centres, coefficients)
        tau = self.robot.inverse_dynamics(q, v, a, losses=True)
        return 10.0 * np.maximum(0.0, np.abs(tau) / limits - 1.0).max(axis=(-1, -2))

    def _states(self, centres: Array, coefficients: Array) -> tuple[Array, Array, Array]:
        count = _SAMPLES * self.series.harmonics
        x, v, a = self.series.curve(coefficients, self.series.T * (np.arange(count) + 0.5) / count)
        return centres[:, None] + x, v, a

    def _efforts(self) -> Array:
        """The largest efforts (nv,), less the margin; in files zero often stands for none."""
        efforts = self.robot.effort_limits
        return np.where(efforts > 0.0, (1.0 - self.margin) * efforts, np.inf)

    def _noise(self) -> Array:
        """What torques are measured in, (nv,): their limits; noise of drives grows with them."""
        efforts = self._efforts()
        told = efforts[np.isfinite(efforts)]
        return np.where(np.isfinite(efforts), efforts, np.median(told) if len(told) else 1.0)

    def _scores(self, centres: Array, coefficients: Array) -> tuple[Array, Array]:
        """Condition numbers and logarithms of determinants, (B,)."""
        q, v, a = self._states(centres, coefficients)
        chosen, names = list(self.unknowns.structure.independent), self.unknowns.columns
        scales = self.unknowns.scales[chosen]
        weights = self._noise()
        width = q.shape[1] * self.robot.nv * len(names)
        grams = []
        for first in range(0, len(q), max(1, _BLOCK // width)):
            part = slice(first, first + max(1, _BLOCK // width))
            flat = [x[part].reshape(-1, x.shape[-1]) for x in (q, v, a)]
            rows = self.unknowns.matrix(flat[0], flat[1], flat[2], np.zeros_like(flat[1]))
            rows = rows[:, :, chosen] * (scales / weights[:, None])
            rows = rows.reshape(len(q[part]), -1, len(chosen))
            grams.append(rows.swapaxes(1, 2) @ rows)
        sizes = np.maximum(np.linalg.eigvalsh(np.concatenate(grams)), 1e-300)
        return np.sqrt(sizes[:, -1] / sizes[:, 0]), np.log(sizes).mean(axis=1)
