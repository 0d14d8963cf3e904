"""What was identified: a robot, how well each of its numbers is known, and how well it tells the torques."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import shortened
from recursa.identification.log_filters import filtered
from recursa.identification.logs import Given, logs_of
from recursa.identification.regression import Rows, load_of, rows_of
from recursa.identification.unknowns import Unknowns
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot


# ---- -----------------------------------------------------------------------------------------------------------------
# How well a motion tells parameters apart: condition number, determinant, and what stays unknown, by name.


_RANK = 1e-9  # of the largest singular value: below, columns depend on each other
_PART = 0.3  # of the largest entry of a direction that is not excited: what it is mainly made of


@dataclass(frozen=True, eq=False)
class Score:
    """How well rows of a regression tell its columns apart.

    - ``condition``: the condition number, columns in usual sizes of their parameters; 1 is best, below 100 is good.
    - ``log_determinant``: the logarithm of the determinant of the information matrix, per parameter; larger is better.
    - ``unknown``: for every direction that is not known even to the usual size of its parameters, their names.
    """

    condition: float
    log_determinant: float
    unknown: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [f"condition number {self.condition:.4g}, log determinant {self.log_determinant:.3g} per parameter"]
        lines += [f"  not told apart: {shortened(names)}" for names in self.unknown]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Solved:
    """Least squares by singular values: ``values``, their covariance, and the score of the rows.

    Directions that are not excited stay at zero.
    """

    values: Array
    covariance: Array
    score: Score


def solved(R: Array, r: Array, scales: Array, names: Sequence[str]) -> Solved:
    """``|R x - r|`` least, R (k, columns) in standard deviations; columns in the sizes ``scales``.

    >>> found = solved(np.array([[2.0, 2.0], [0.0, 1e-12]]), np.array([2.0, 0.0]), np.ones(2), ["a", "b"])
    >>> found.score.unknown, found.values.round(6)
    ((('a', 'b'),), array([0.5, 0.5]))
    """
    U, s, V = np.linalg.svd(R * scales, full_matrices=False)
    s = np.concatenate([s, np.zeros(R.shape[1] - len(s))])
    U = np.pad(U, ((0, 0), (0, len(s) - U.shape[1])))
    V = np.linalg.svd(R * scales, full_matrices=True)[2] if len(V) < len(s) else V
    largest = float(s.max(initial=0.0))
    told = (s >= 1.0) & (s > _RANK * largest)
    back = np.where(told, 1.0 / np.where(told, s, 1.0), 0.0)
    values = scales * (V.T @ (back * (U.T @ r)))
    covariance = (scales[:, None] * V.T * np.where(told, back**2, 1.0)) @ (V * scales)
    unknown = tuple(
        tuple(name for name, x in zip(names, np.abs(row), strict=True) if x > _PART * np.abs(row).max())
        for row in V[~told]
    )
    least = float(s.min(initial=np.inf))
    condition = largest / least if least > 0.0 else np.inf
    with np.errstate(divide="ignore"):
        determinant = float(2.0 * np.log(s).mean()) if len(s) else 0.0
    return Solved(values, covariance, Score(condition, determinant, unknown))


_POORLY = 0.5  # relative standard deviation beyond which a number is hardly known
_GAP = 3.0  # steps: where instants are farther apart, curves are broken


class Payload(NamedTuple):
    """A load on a link: the arguments of :meth:`recursa.Robot.with_payload`, in its order.

    ``com`` (3,) in m and ``inertia`` (3, 3) in kg m^2 about it, both in axes of the link.
    """

    link: str
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class BaseEstimate:
    """What the torques alone say: the base parameters of all unknowns, without anything known before.

    ``values`` and ``deviations`` (standard deviations) by ``names``; ``covariance``; ``relations`` says what each
    stands for, such as "link1.Izz + joint1.armature".
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    relations: tuple[str, ...]

    @property
    def deviations(self) -> Array:
        """Standard deviations."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    @property
    def relative(self) -> Array:
        """Standard deviations relative to the values; infinite where a value is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.deviations > 0.0, self.deviations / np.abs(self.values), 0.0)

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.values, self.deviations, self.relative, self.relations, strict=True)
        return "\n".join(
            f"{name:<{width}}  {value:>11.4g} +- {deviation:<9.2g} ({100 * relative:>7.2g} %)  = {relation}"
            for name, value, deviation, relative, relation in rows
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """How well torques are told over a part of a log, by freedom (nv,) in N m or N, root mean squares.

    ``before``: by the robot as it was known; ``after``: by the identified one. ``measured`` are the torques themselves.
    ``t``, ``torque``, ``told`` and ``told_before`` (m, nv) are those of the rows.
    """

    before: Array
    after: Array
    measured: Array
    t: Array = field(repr=False)
    torque: Array = field(repr=False)
    told: Array = field(repr=False)
    told_before: Array = field(repr=False)

    @classmethod
    def of(cls, rows: Rows, change: Array) -> Fit:
        """Of rows of a regression and a change of the unknowns."""
        left = rows.residual(change)
        before, after, measured = (rows.rms(x) for x in (rows.torque, left, rows.drive))
        return cls(before, after, measured, rows.at, rows.drive, rows.drive - left, rows.drive - rows.torque)


@dataclass(frozen=True, eq=False)
class Identification:
    """What :func:`recursa.identify` found.

    - ``robot``: the robot with the identified numbers; masses, friction, armature, or a payload.
    - ``parameters``: the inertial parameters of all its bodies, (10 nbodies,), in the regressor's order; of a payload
      its ten, about the origin of the link that carries it, in its axes.
    - ``covariance``: of these, with what was known before: what torques do not tell is as uncertain as ``prior`` says.
    - ``residual``: root mean square of what torques are left over, (nv,) in N m or N, in the part that was fitted.
    - ``base``: what torques alone say, :class:`BaseEstimate`; ``score``: of the excitation.
    - ``fitted``, ``held_out``: :class:`Fit` of both parts of the log; the second is None where nothing was held out.
    - ``noise`` (nv,): standard deviation of filtered torques; ``joints``: numbers of joints by term and freedom, as in
      ``joints["coulomb"]["joint2"]``; ``deviations`` their standard deviations.
    - ``cutoff`` in Hz, ``rows``: how many filtered rows there are of each freedom; ``notes``: what was noticed.
    """

    robot: Robot
    parameters: Array
    covariance: Array
    residual: Array
    base: BaseEstimate
    score: Score
    fitted: Fit
    held_out: Fit | None
    noise: Array
    joints: dict[str, dict[str, float]]
    deviations: dict[str, dict[str, float]]
    cutoff: float
    rows: int
    notes: tuple[str, ...]
    unknowns: Unknowns = field(repr=False)
    change: Array = field(repr=False)  # of all unknowns

    @property
    def payload_at(self) -> str:
        """The link whose load was identified, else ""."""
        return self.unknowns.payload_at

    @property
    def payload(self) -> Payload | None:
        """The load, where one was identified."""
        if not self.payload_at or "inertia" not in self.unknowns.terms:
            return None
        return Payload(self.payload_at, *load_of(self.parameters))

    def torques(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """The torques that a motion takes, (..., nv): of the robot with losses, with offsets and Stribeck's friction.

        A robot has no offsets and no Stribeck friction, so these are added here.
        """
        tau = self.robot.inverse_dynamics(q, v, a, losses=True)
        rates = np.asarray(v, float)
        for k, name in enumerate(self.robot.v_names):
            tau[..., k] += self.joints.get("offset", {}).get(name, 0.0)
            more = self.joints.get("stribeck", {}).get(name, 0.0)
            if more:
                tau[..., k] += (
                    more * np.sign(rates[..., k]) * np.exp(-np.square(rates[..., k] / self.unknowns.speeds[k]))
                )
        return tau

    def check(self, log: Given, *, cutoff: float | None = None) -> Fit:
        """How well torques of another log are told, by the identified robot and by the one before.

        ``log`` and ``cutoff`` as for :func:`recursa.identify`.
        """
        robot = self.unknowns.robot
        logs = logs_of(robot, log)
        motions = [filtered(robot, one, cutoff) for one in logs]
        return Fit.of(rows_of(motions, self.unknowns, [one.loaded(robot) for one in logs]), self.change)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Measured torques of the held-out part with what the robot tells, as it was known and as identified.

        Where nothing was held out it is the part that was fitted. Returns the figure, and saves it to ``path``.
        """
        from recursa.plotting.panels import Panel, panel_figure
        from recursa.plotting.styles import saved

        shown = self.held_out or self.fitted
        series = {"measured": shown.torque, "as it was known": shown.told_before, "identified": shown.told}
        steps = np.diff(shown.t)
        usual = np.median(steps) if len(steps) else 0.0
        gaps = np.flatnonzero((steps < 0.0) | (steps > _GAP * usual)) + 1
        t = np.insert(shown.t, gaps, np.nan)
        panels = []
        for k, (name, unit) in enumerate(zip(self.robot.v_names, self.robot.v_units, strict=True)):
            curves = {what: np.insert(torque[:, k], gaps, np.nan) for what, torque in series.items()}
            label = "torque, N m" if unit == "rad/s" else "force, N"
            panels.append(Panel("time, s", label, t, curves, name, total="measured"))
        part = "the part that was held out" if self.held_out else "the part that was fitted"
        figure = panel_figure(f"{self.robot.name}: {part}", panels, shown=path is None)
        return saved(figure, path, dpi=110)

    def __str__(self) -> str:
        return format(self, "80")

    def __format__(self, width: str) -> str:
        """The report in lines of at most so many characters: ``f"{found:60}"``; 80 unless said. Names stay whole."""
        what = f"payload at '{self.payload_at}'" if self.payload_at else f"'{self.robot.name}'"
        most, wrapped = int(width or 80), []
        said = [
            f"identification of {what}: {len(self.base.names)} parameters from {self.rows} rows of each joint, "
            f"filtered at {self.cutoff:.3g} Hz",
            *f"excitation: {self.score}".splitlines(),
        ]
        load = self.payload
        known = []
        if load is not None:
            center = ", ".join(f"{x:.4g}" for x in load.com)
            spread = np.sqrt(self.covariance[0, 0])
            known.append(f"payload: {load.mass:.4g} +- {spread:.2g} kg at ({center}) m")
        poorly = [name for name, x in zip(self.base.names, self.base.relative, strict=True) if x > _POORLY]
        if poorly:
            known.append(f"known to no better than {100 * _POORLY:g} %: {shortened(poorly, limit=12)}")
        known += [f"note: {note}" for note in self.notes]
        for lines in (said, known):
            wrapped.append("\n".join(_wrapped(line, most) for line in lines))
        return "\n".join(part for part in (wrapped[0], *self._joint_tables(most), wrapped[1]) if part)

    def _joint_tables(self, most: int) -> list[str]:
        """Joint by joint: how well torques are told, then what was found; in parts, each with the names in front."""
        names = self.robot.v_names
        sizes = {"torque": self.fitted.measured, "before": self.fitted.before, "after": self.fitted.after}
        if self.held_out:
            sizes["held out"] = self.held_out.after
        columns = {title: [f"{x:.3g}" for x in size] for title, size in sizes.items()}
        for term, found in self.joints.items():
            spreads = self.deviations[term]
            columns[term] = [f"{found[name]:.4g} +- {spreads[name]:.1g}" if name in found else "" for name in names]
        first = max(5, *map(len, names))
        parts: list[list[str]] = []
        for title, cells in columns.items():
            width = max(8, *map(len, (title, *cells)))
            column = [f"  {cell:>{width}}" for cell in (title, *cells)]
            if not parts or len(parts[-1][0]) + len(column[0]) > most:
                parts.append([f"{name:<{first}}" for name in ("joint", *names)])
            parts[-1] = [line + cell for line, cell in zip(parts[-1], column, strict=True)]
        return ["\n".join(lines) for lines in parts]


def _wrapped(line: str, most: int) -> str:
    """A line as lines, the later ones set in; words stay whole."""
    inner = len(line) - len(line.lstrip()) + 2
    return textwrap.fill(
        line, most, subsequent_indent=" " * inner, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
