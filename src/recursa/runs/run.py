"""Run: what came out of a simulation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa import datasets, markup
from recursa.dynamics.configuration import CHART_RATES
from recursa.errors import StateError
from recursa.model.model import WORLD
from recursa.runs.options import Options
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Violation, violations

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import Dataset

    from recursa.robot import Robot
    from recursa.runs.run_sensitivity import Band
    from recursa.view.motions import Recording

_ROUNDING = 1e-14  # of the potential energy: what a robot at rest shows

_PARTS, _FINE, _MOST_FINE = 8, 1000, 20_000  # parts of a step of order 8 that look smooth; instants of a curve in all

Status = Literal["finished", "stopped", "interrupted", "failed"]


class Happened(NamedTuple):
    """An event that happened: which, when, and the state then."""

    name: str
    t: float
    q: Array
    v: Array


class BaseMotion(NamedTuple):
    """How the base was moved: as q (n, 7), v (n, 6), a (n, 6) of a free joint, in the world and in axes of the base."""

    q: Array
    v: Array
    a: Array

    @classmethod
    def of(cls, states: Sequence[tuple[Array, Array, Array]]) -> BaseMotion:
        """From one state an instant."""
        return cls(*(np.array([state[k] for state in states], dtype=float).reshape(-1, n) for k, n in BASE_SIZES))

    def in_world(self, vectors: Array) -> Array:
        """Vectors (n, 3) in axes of the base, in those of the world."""
        turned = Rotation.from_quaternion(Quaternion(*self.q[:, 3:].T)) @ Vec3(*vectors.T)
        return np.stack(turned, axis=-1)


BASE_SIZES = ((0, 7), (1, 6), (2, 6))


class Setup(NamedTuple):
    """Where a run started and what acted on it, as functions of (t, q, v); None where nothing of the kind did."""

    q0: Array
    v0: Array
    torque: Any = None
    wrenches: Any = None
    stops: Any = None
    unrepeatable: str = ""  # what else acted, in words


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A simulation: states at the times t, what drove them, and how well the integrator did.

    - ``t`` (n,), ``q`` (n, nq), ``v`` (n, nv), ``a`` (n, nv); ``tau`` (n, nv) torques of the drives, without losses.
    - ``work``, ``lost`` (n,): joule since the start that drives, wrenches and what moves the base put in, and that
      losses and stops took.
    - ``events``: those that happened, in order; ``status``: "finished", "stopped" (by an event), "interrupted",
      "failed"; ``message`` says why.
    - ``options``: what was asked for; ``statistics``: steps, evaluations, seconds.
    - ``base``: how the base was moved, q (n, 7), v (n, 6), a (n, 6) as of a free joint; None where it stood still.
      Energies and momentum are those in the world, the motion of the base included.
    - ``memory`` (n, m): what a controller with memory had learned, such as the estimates of ``control.Adaptive``; else
      None. Files (.npz) keep it; its last row is where a controller of a further run may start.

    >>> import recursa as rc
    >>> run = rc.robots.planar(1).simulate([0.0], [0.0], duration=0.5)
    >>> run.status, float(run.t[-1])
    ('finished', 0.5)
    """

    robot: Robot
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    work: Array
    lost: Array
    events: tuple[Happened, ...]
    status: Status
    message: str
    options: Options
    statistics: dict[str, float]
    momentum_kept: bool = False  # whether nothing but gravity acts from outside
    pieces: Sequence[tuple[float, float, Any]] = field(default=())  # the integrator's interpolants, if they were kept
    base: BaseMotion | None = None
    memory: Array | None = None
    setup: Setup | None = None  # of runs of this process; files and pickles do not keep functions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "setup": None}

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        counts = f"{self.statistics.get('steps', 0):g} steps, {self.statistics.get('evaluations', 0):g} evaluations"
        end = f"to {self.t[-1]:.6g} s" if len(self.t) else "without a sample"
        return (
            f"<Run of '{self.robot.model.name}' {end}: {self.status}, {len(self)} samples, {self.options.integrator}, "
            f"{counts}, energy drift {self.energy_drift:.2g}>"
        )

    @property
    def interrupted(self) -> bool:
        """Whether it was broken off from the keyboard."""
        return self.status == "interrupted"

    # ---- energy and momentum -----------------------------------------------------------------------------------------

    @cached_property
    def kinetic_energy(self) -> Array:
        """In joule, (n,)."""
        twist = None if self.base is None else self.base.v
        return np.asarray(self.robot.kinetic_energy(self.q, self.v, base_twist=twist))

    @cached_property
    def potential_energy(self) -> Array:
        """In joule, (n,)."""
        mass = self.robot.model.total_mass
        if self.base is None or mass == 0.0:
            return np.asarray(self.robot.potential_energy(self.q))
        center = self.base.q[:, :3] + self.base.in_world(self.robot.center_of_mass(self.q))
        return -mass * center @ np.array(self.robot.model.gravity)

    @cached_property
    def energy(self) -> Array:
        """Kinetic and potential energy in joule, (n,)."""
        with np.errstate(all="ignore"):
            return self.kinetic_energy + self.potential_energy

    @cached_property
    def energy_error(self) -> Array:
        """What does not balance, in joule, (n,): ``energy - energy(0) - work + lost``; zero in exact arithmetic."""
        with np.errstate(all="ignore"):  # a run that failed may end in numbers beyond range
            return self.energy - self.energy[:1] - (self.work - self.work[:1]) + (self.lost - self.lost[:1])

    @property
    def energy_drift(self) -> float:
        """The largest ``energy_error`` relative to the energy that was on the move.

        That is the largest of kinetic energy, change of potential energy, work and losses; 0 where nothing moved but
        the last digits of the energy.
        """
        if not len(self.t):
            return 0.0
        with np.errstate(all="ignore"):
            moved = (self.kinetic_energy, self.potential_energy - self.potential_energy[0], self.work, self.lost)
            scale = max(float(np.abs(x).max()) for x in moved)
            error = float(np.abs(self.energy_error).max())
            noise = _ROUNDING * float(np.abs(self.potential_energy).max())  # of a robot that is held where it is
            return 0.0 if scale == 0.0 or (scale < noise and error < noise) else error / scale

    @cached_property
    def momentum(self) -> Array:
        """(angular about the centre of mass, linear), world axes, (n, 6)."""
        if self.base is None:
            return np.asarray(self.robot.momentum(self.q, self.v))
        own = self.robot.momentum(self.q, self.v, base_twist=self.base.v)
        return np.concatenate([self.base.in_world(part) for part in np.split(own, 2, axis=-1)], axis=-1)

    @property
    def momentum_drift(self) -> float | None:
        """How much the momentum of a floating robot changed beside what gravity gave it, relative to its size.

        The larger of the angular and the linear part's. None where momentum need not be kept: the robot stands on the
        world, wrenches act, or torques or losses act on its free joint. Sizes are the momenta that all mass would
        have in one motion with the kinetic energy there is, so that a robot with zero momentum has a drift, too.
        """
        if not self.momentum_kept or not len(self.t):
            return None
        change = self.momentum - self.momentum[0]
        change[:, 3:] -= np.outer(self.t - self.t[0], self.robot.model.total_mass * np.array(self.robot.model.gravity))
        inertia = float(np.trace(self.robot.mass_matrix(self.q[0])[:3, :3])) / 3.0
        energy = float(self.kinetic_energy.max())
        if energy == 0.0:
            return 0.0
        drifts = [
            float(np.linalg.norm(part, axis=1).max()) / np.sqrt(2.0 * size * energy)
            for part, size in ((change[:, :3], inertia), (change[:, 3:], self.robot.model.total_mass))
        ]
        return max(drifts)

    # ---- between samples ---------------------------------------------------------------------------------------------

    def at(self, t: ArrayLike) -> tuple[Array, Array]:
        """The state (q, v) at any time of the run; t may be an array (...).

        With ``dense=True`` by the integrator's own interpolants, about as accurate as the run. Otherwise through the
        samples, by polynomials with their positions, speeds and accelerations, of order 5 in the coordinates of
        ``integrate`` for q and 3 for v; samples must then be less than half a turn apart.

        >>> import recursa as rc
        >>> run = rc.robots.planar(1).simulate([0.0], [0.0], duration=0.5, samples=51)
        >>> q, v = run.at([0.123, 0.456])
        >>> q.shape, v.shape
        ((2, 1), (2, 1))
        """
        try:
            times = np.asarray(t, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"the time must be a number of seconds, or an array of them, not {t!r}") from None
        if not len(self.t):
            raise StateError("the run has no samples")
        first, last = float(self.t[0]), float(self.t[-1])
        if not ((times >= first) & (times <= last)).all():
            raise StateError(f"the run goes from {first:g} to {last:g} s; there is nothing at {t!r}")
        flat = times.ravel()
        q, v = self._dense(flat) if self.pieces else self._through_samples(flat)
        return q.reshape(*times.shape, -1), v.reshape(*times.shape, -1)

    interpolate = at

    def _dense(self, times: Array) -> tuple[Array, Array]:
        nq, nv = self.robot.nq, self.robot.nv
        ends = np.array([piece[1] for piece in self.pieces])
        q, v = np.empty((len(times), nq)), np.empty((len(times), nv))
        for row, t in enumerate(times):
            y = self.pieces[min(int(np.searchsorted(ends, t)), len(ends) - 1)][2](t)
            q[row], v[row] = y[:nq], y[nq : nq + nv]
        for start in self.robot.model.quaternions:
            q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=1, keepdims=True)
        if self.options.coordinates == "diagonal":  # then it is nu that was integrated
            v = self.robot.diagonal.joint_rates(q, v)
        return q, v

    def _through_samples(self, times: Array) -> tuple[Array, Array]:
        """``q = q_k exp(x)``, x a polynomial of order 5 with x', x'' at both ends; v one of order 3."""
        if len(self.t) == 1:
            return np.repeat(self.q, len(times), axis=0), np.repeat(self.v, len(times), axis=0)
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        h = (self.t[k + 1] - self.t[k])[:, None]
        s = (times - self.t[k])[:, None] / h
        v0, v1, a0, a1 = self.v[k], self.v[k + 1], self.a[k], self.a[k + 1]
        x1 = self.robot.difference(self.q[k], self.q[k + 1])
        # x' and x'' at the end: the rates of the chart, and their derivative along x', a by a complex step
        rate = self._chart_rates(x1, v1)
        tiny = 1e-30
        change = self._chart_rates(x1 + 1j * tiny * rate, v1 + 1j * tiny * a1).imag / tiny
        x = _quintic(s, x1, h * v0, h * rate, h * h * a0, h * h * change)
        v = v0 + s * h * a0 + s**2 * (3.0 * (v1 - v0) - h * (2.0 * a0 + a1)) + s**3 * (2.0 * (v0 - v1) + h * (a0 + a1))
        return self.robot.integrate(self.q[k], x), v

    def _chart_rates(self, x: Array, v: Array) -> Array:
        return self.robot.evaluator.evaluate(CHART_RATES, {"x": x, "v": v})

    def finely(self) -> tuple[Array, Array, Array, Array]:
        """t (m,), q, v and tau (m, ...) on instants so close that straight lines between them are the motion.

        The samples are among them; states between them are those of :meth:`at`. Torques are known at samples alone, and
        go straight from one to the next. Instants at which a run that failed has no state any more are left out.

        >>> import recursa as rc
        >>> run = rc.robots.planar(1).simulate([0.0], [0.0], duration=0.5)
        >>> t, q, v, tau = run.finely()
        >>> len(t) > 8 * len(run)
        True
        """
        steps = len(self.t) - 1
        parts = 1 if steps < 1 else min(max(_PARTS, -(-_FINE // steps)), -(-_MOST_FINE // steps))
        if parts == 1:
            return self.t, self.q, self.v, self.tau
        shares = np.arange(parts) / parts
        t = np.append((self.t[:-1, None] + np.diff(self.t)[:, None] * shares).ravel(), self.t[-1])
        with np.errstate(all="ignore"):
            q, v = self.at(t)
            before = np.append(np.repeat(np.arange(steps), parts), steps)
            after = np.minimum(before + 1, steps)
            share = np.append(np.tile(shares, steps), 0.0)[:, None]
            tau = (1.0 - share) * self.tau[before] + share * self.tau[after]
        for fine, own in ((q, self.q), (v, self.v), (tau, self.tau)):
            fine[::parts] = own
        kept = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        return t[kept], q[kept], v[kept], tau[kept]

    @cached_property
    def violations(self) -> list[Violation]:
        """Every limit of position, velocity and effort that the motion passes, between samples too.

        Each has ``joint``, ``quantity``, the worst ``value`` and its ``time``, the ``limit``, and ``first``, the first
        instant beyond it, as in :meth:`recursa.Trajectory.violations`. Nothing holds a joint at its limit unless a run
        has ``stops``.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> run = arm.simulate({"joint4": -1.5, "joint6": 1.5}, duration=0.5)
        >>> [(one.joint, round(one.first, 2)) for one in run.violations if one.quantity == "position"]
        [('joint2', 0.47)]
        """
        return violations(self.robot, *self.finely())

    # ---- showing and saving ------------------------------------------------------------------------------------------

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        bands: Band | None = None,
        sigmas: float = 2.0,
        **options: Any,
    ) -> Figure:
        """Draw coordinates, speeds, torques and energy over time; returns the figure, and saves it to ``path``.

        Curves show the motion between samples, too (:meth:`finely`). ``bands``, what :meth:`Sensitivity.band` makes of
        uncertain parameters, shades ``sigmas`` standard deviations about positions and speeds. ``options`` are those of
        :func:`recursa.plotting.plot_motion`.
        """
        from recursa.plotting import plot_motion  # matplotlib takes long to import

        t, q, v, tau = self.finely() if self.base is None else (self.t, self.q, self.v, self.tau)
        if self.base is not None:  # its motion is known at samples alone
            energies = {"kinetic": self.kinetic_energy, "potential": self.potential_energy, "total": self.energy}
            options = {"energy": energies} | options
        if bands is not None:
            widths = [[np.interp(t, bands.t, column) for column in one.T] for one in (bands.q, bands.v)]
            options["bands"] = tuple(sigmas * np.array(one).T for one in widths)
        return plot_motion(self.robot, t, q, v, tau, path=path, **options)

    def animate(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the motion as an animated GIF; ``options`` are those of :func:`recursa.plotting.animate`."""
        from recursa.plotting import animate

        return animate(self.robot, *self.finely()[:2], path, **options)

    def to_html(
        self, path: str | os.PathLike[str], ghost: Run | None = None, meshes: bool = True, title: str | None = None
    ) -> Path:
        """Write the run as a page for any browser: one file, which needs no network. Returns its path.

        It plays the motion, with curves of coordinates, speeds, torques and energy beside it, and limits; states
        between samples are those of :meth:`at`. At any instant the robot can be let go, and goes on from there.

        - ``ghost``: another run, shown beside this one, translucent, and as thin curves; of the same robot or another.
        - ``meshes``: whether meshes become part of the page, as in :meth:`recursa.Robot.to_html`.
        - ``title``: what the page is called; without it, after the robot.

        >>> import pathlib, tempfile, recursa as rc
        >>> run = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.5)
        >>> run.to_html(pathlib.Path(tempfile.mkdtemp(), "fall.html")).name
        'fall.html'
        """
        from recursa.view.page import write_motion

        others = [] if ghost is None else [ghost._recording()]
        return write_motion(path, [self._recording(title), *others], meshes=meshes)

    def _recording(self, title: str | None = None) -> Recording:
        from recursa.view.motions import Recording

        if not len(self.t):
            raise StateError("the run has no samples; there is nothing to show")
        return Recording.of_samples(self.robot, self.at, self.t, self.tau, title or self.robot.model.name)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, without meshes, and the run in a line."""
        from recursa.view.page import framed, motion_page

        if not len(self.t):
            return markup.text(repr(self))
        page = motion_page([self._recording()], meshes=False)
        return framed(page) + markup.text(repr(self))

    def to_pandas(self) -> DataFrame:
        """The samples as a pandas DataFrame over t: q, v, a, tau by column names of CSV files, energies, work, losses.

        Units are in ``frame.attrs["units"]``. Needs the extra ``data``.

        >>> import recursa as rc
        >>> run = rc.robots.planar(1).simulate([0.0], duration=0.5, samples=11)
        >>> list(run.to_pandas().columns)
        ['joint1', 'joint1:v', 'joint1:a', 'joint1:tau', 'kinetic', 'potential', 'work', 'lost']
        """
        return datasets.to_pandas(self.robot, self.t, *self._data())

    def to_xarray(self) -> Dataset:
        """The samples as an xarray Dataset: q over (t, coordinate), v, a, tau over (t, freedom), energies over t.

        Units are coordinates (``q_unit``, ``v_unit``, ...) and attributes. Needs the extra ``data``.

        >>> import recursa as rc
        >>> run = rc.robots.planar(1).simulate([0.0], duration=0.5, samples=11)
        >>> run.to_xarray()["q"].dims
        ('t', 'coordinate')
        """
        return datasets.to_xarray(self.robot, self.t, *self._data())

    def _data(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Arrays per coordinate or freedom, and energies."""
        energies = {"kinetic": self.kinetic_energy, "potential": self.potential_energy}
        return (
            {"q": self.q, "v": self.v, "a": self.a, "tau": self.tau},
            {**energies, "work": self.work, "lost": self.lost},
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run to a file, by its ending; all of it or nothing. Returns the path.

        - ``.npz``: everything, with units, conventions and the robot: arrays for NumPy, and JSON in ``about.json``.
          :func:`recursa.read` brings it back.
        - ``.csv``: t, q, v, a, tau in the columns of :meth:`recursa.Trajectory.from_csv`, which reads it.

        :meth:`to_hdf5` writes HDF5 for other programs.

        >>> import pathlib, tempfile, recursa as rc
        >>> run = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.1)
        >>> run.save(pathlib.Path(tempfile.mkdtemp(), "run.npz")).name
        'run.npz'
        """
        from recursa.runs.npz_files import save

        return save(self, path)

    def to_hdf5(self, path: str | os.PathLike[str]) -> Path:
        """Export the run as HDF5 for MATLAB, Julia and other programs (extra ``hdf5``). Returns the path.

        Arrays carry the names and units of their columns as attributes. :func:`recursa.read` reads what :meth:`save`
        writes, not this.
        """
        from recursa.files import known_suffix, named_file
        from recursa.runs.hdf5 import export

        place = known_suffix(named_file(path), (".h5", ".hdf5"))
        export(self, place)
        return place


def _quintic(s: Array, x1: Array, d0: Array, d1: Array, c0: Array, c1: Array) -> Array:
    """The polynomial on 0 .. 1 from 0 to x1 with first derivatives d and second ones c at the ends."""
    rest, slope, bend = x1 - d0 - 0.5 * c0, d1 - d0 - c0, c1 - c0
    third = 10.0 * rest - 4.0 * slope + 0.5 * bend
    fourth = -15.0 * rest + 7.0 * slope - bend
    fifth = 6.0 * rest - 3.0 * slope + 0.5 * bend
    return s * (d0 + s * (0.5 * c0 + s * (third + s * (fourth + s * fifth))))


def keeps_momentum(robot: Robot, losses: Array, wrenches: bool, tau: Array) -> bool:
    """Whether a run has no outside influence but gravity: one free joint at the world, and nothing acting there."""
    joints = robot.model.joints
    floating = bool(joints) and joints[0].kind.is_free and all(j.parent != WORLD for j in joints[1:])
    if not floating or wrenches or robot.model.total_mass <= 0.0:
        return False
    return not any(joints[0].armature) and not losses[:6].any() and not tau[:, :6].any()
