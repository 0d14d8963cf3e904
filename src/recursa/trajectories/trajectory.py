"""Trajectory: a motion of all joints in time, q(t) with v(t) and a(t) that are its exact derivatives."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from recursa import datasets
from recursa.dynamics.configuration import is_flat
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import RecursaError, ShapeError, StateError
from recursa.sweeps.batching import Array
from recursa.trajectories import checks, coordinates, courses, csv_files, curves
from recursa.trajectories.bounds import Bound, Limits, Violation, factor, violations
from recursa.trajectories.checks import Posture
from recursa.trajectories.coordinates import States
from recursa.trajectories.courses import (
    Ends,
    SplineKind,
    from_to,
    moving,
    points_in,
    spline_of,
    through,
    warn_of_other_frames,
)
from recursa.trajectories.drives import Drive

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from recursa.robot import Robot
    from recursa.view.motions import Recording, Sampled


class Trajectory:
    """A motion from ``start`` to ``end``: :meth:`sample` gives q (..., nq), v and a (..., nv).

    Before the start and after the end it stands still at the first and last configuration (v = a = 0): a controller
    that runs on holds the arm, and a time that rounding puts past the end is no error. With ``robot=`` the constructors
    take joints of any kind, mappings by joint name, and know the joints' names; without, every coordinate is a number
    whose derivative is its speed.

    >>> import recursa as rc
    >>> motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=2.0)
    >>> q, v, a = motion.sample(1.0)                       # half way: no acceleration, twice the mean speed
    >>> q, v, a.round(12)
    (array([0.5, 0. ]), array([ 1., -1.]), array([ 0., -0.]))
    >>> motion.sample(motion.times(5))[0].shape
    (5, 2)
    """

    def __init__(
        self,
        states: Callable[[Array], States],
        breaks: Array,
        *,
        robot: Robot | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """From a function of instants (N,) to q, v, a, which is valid from the first to the last of ``breaks``."""
        self._begin(states, breaks, robot, names)
        with np.errstate(all="ignore"):
            probe = states(np.union1d(self._breaks, self.times(9)))
        if not all(np.isfinite(part).all() for part in probe):
            raise StateError("the motion is too far or too fast for floating-point numbers")
        self.nq = probe[0].shape[1]

    def _begin(
        self, states: Callable[[Array], States], breaks: Array, robot: Robot | None, names: Sequence[str] | None = None
    ) -> None:
        self._states = states
        self._breaks = np.array(breaks, dtype=float)
        self._breaks.flags.writeable = False
        self.robot = robot
        self.names = None if names is None else tuple(names)
        if robot is not None:
            self.names = csv_files.names_of(robot)[0]

    # ---- between two configurations ----------------------------------------------------------------------------------

    @classmethod
    def constant(cls, q: Posture, T: float = 1.0, *, robot: Robot | None = None) -> Trajectory:
        """Standing still.

        >>> import recursa as rc
        >>> rc.Trajectory.constant([0.3, 0.4], 2.0).sample(1.0)[0]
        array([0.3, 0.4])
        """
        here = checks.coordinates("q", q, robot)
        still = curves.Cycloid(checks.duration("T", T))
        return cls(
            *moving(robot, here, curves.Along(np.zeros(len(here) if robot is None else robot.nv), still)), robot=robot
        )

    @classmethod
    def cycloid(cls, q0: Posture, q1: Posture, T: float, *, robot: Robot | None = None) -> Trajectory:
        """From rest to rest in time T along a cycloid: ``q = q0 + (q1 - q0)(t/T - sin(2 pi t/T)/(2 pi))``.

        Saha (38), (39), the latter corrected. Acceleration is zero at both ends and continuous. The largest
        speed is twice the mean, the largest acceleration ``2 pi (q1 - q0)/T^2``. On joints of several freedoms the
        motion is a turn (and shift) about one fixed axis, ``q0 exp(s(t) d)``, d = ``robot.difference(q0, q1)``.

        >>> import recursa as rc
        >>> rc.Trajectory.cycloid([0.0], [1.0], T=2.0).sample(1.0)[1]
        array([1.])
        """
        start, step = from_to(q0, q1, robot)
        return cls(*moving(robot, start, curves.Along(step, curves.Cycloid(checks.duration("T", T)))), robot=robot)

    @classmethod
    def quintic(
        cls,
        q0: Posture,
        q1: Posture,
        T: float,
        *,
        v0: ArrayLike | None = None,
        v1: ArrayLike | None = None,
        a0: ArrayLike | None = None,
        a1: ArrayLike | None = None,
        robot: Robot | None = None,
    ) -> Trajectory:
        """The polynomial of degree five with given speeds and accelerations (default zero) at both ends.

        A joint of several freedoms turns about one fixed axis, so its v0, v1, a0, a1 have to lie along it; for others
        use :meth:`along` with two rows.

        >>> import recursa as rc
        >>> motion = rc.Trajectory.quintic([0.0], [1.0], T=2.0, v0=0.3, a1=-0.5)
        >>> motion.sample(0.0)[1], motion.sample(2.0)[2]
        (array([0.3]), array([-0.5]))
        """
        start, step = from_to(q0, q1, robot)
        ends = [
            checks.freedoms(name, value, robot, start)
            for name, value in (("v0", v0), ("v1", v1), ("a0", a0), ("a1", a1))
        ]
        courses.require_one_axis(robot, step, ends)
        breaks = np.array([0.0, checks.duration("T", T)])
        x = np.stack([np.zeros_like(step), step])
        return cls(
            *moving(robot, start, curves.hermite(breaks, x, np.stack(ends[:2]), np.stack(ends[2:]))), robot=robot
        )

    @classmethod
    def trapezoidal(
        cls,
        q0: Posture,
        q1: Posture,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        T: float | None = None,
        robot: Robot | None = None,
    ) -> Trajectory:
        """From rest to rest with constant acceleration, constant speed, constant deceleration; all joints in step.

        ``velocity`` and ``acceleration`` bound every freedom: one number, or (nv,). All joints start, cruise and stop
        together, so q moves on a straight line, and the freedom that needs longest sets the pace:

        - with both bounds: the shortest motion; with T as well: in that time, at the full acceleration;
        - with T and one bound: at the full acceleration, or with the gentlest one that keeps the speed;
        - with T alone: a third of the time each to accelerate, to cruise and to stop.

        The acceleration jumps; at a jump :meth:`sample` gives the value after it.

        >>> import recursa as rc
        >>> motion = rc.Trajectory.trapezoidal([0, 0], [1.0, -0.5], velocity=0.5, acceleration=1.0)
        >>> motion.duration, motion.knots
        (2.5, array([0. , 0.5, 2. , 2.5]))
        """
        start, step = from_to(q0, q1, robot)
        law = courses.synchronised(step, velocity, acceleration, T)
        return cls(*moving(robot, start, curves.Along(step, law)), robot=robot)

    # ---- through points ----------------------------------------------------------------------------------------------

    @classmethod
    def minimum_jerk(
        cls,
        points: ArrayLike,
        times: ArrayLike,
        *,
        v0: ArrayLike | None = None,
        v1: ArrayLike | None = None,
        a0: ArrayLike | None = None,
        a1: ArrayLike | None = None,
        robot: Robot | None = None,
    ) -> Trajectory:
        """The smoothest motion through points (m, nq) at times (m,): least ``integral |d3q/dt3|^2 dt``.

        A quintic spline with four continuous derivatives, found by solving for it; v and a at the ends are given
        (default zero). Rotations are interpolated by their quaternions, as in :meth:`along`: as smooth, and least in
        those coordinates.

        >>> import recursa as rc
        >>> motion = rc.Trajectory.minimum_jerk([[0.0], [1.0], [0.5]], [0.0, 0.8, 2.0])
        >>> motion.sample([0.0, 0.8, 2.0])[0].round(12)
        array([[0. ], [1. ], [0.5]])
        """
        x, t = points_in(points, times, robot)
        v = np.stack([checks.freedoms(*given, robot, x[0]) for given in (("v0", v0), ("v1", v1))])
        a = np.stack([checks.freedoms(*given, robot, x[0]) for given in (("a0", a0), ("a1", a1))])
        if robot is not None:
            v, a = coordinates.coordinate_rates(robot.model, x[[0, -1]], v, a)
        return cls(*through(robot, curves.smoothest(t, x, (v[0], a[0], v[1], a[1]))), robot=robot)

    @classmethod
    def spline(
        cls,
        points: ArrayLike,
        times: ArrayLike,
        *,
        kind: SplineKind = "cubic",
        ends: Ends | None = None,
        robot: Robot | None = None,
    ) -> Trajectory:
        """A spline of SciPy's through points (m, nq) at times (m,).

        - ``"cubic"``: acceleration continuous; ``"quintic"``: four derivatives continuous. Their ``ends``: "clamped"
          (default: at rest), "natural", "not-a-knot", "periodic".
        - ``"pchip"``, ``"akima"``: no or little overshoot, the acceleration jumps at the points.

        >>> import recursa as rc
        >>> rc.Trajectory.spline([[0.0], [1.0], [0.5]], [0.0, 0.8, 2.0], kind="pchip").sample(0.8)[1]
        array([0.])
        """
        x, t = points_in(points, times, robot)
        return cls(*through(robot, spline_of(t, x, kind, ends)), robot=robot)

    @classmethod
    def along(
        cls,
        times: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        robot: Robot | None = None,
    ) -> Trajectory:
        """Through samples: q (m, nq), and v and a (m, nv) where they are known; all three are continuous.

        With q alone a cubic spline; with v and a quintic pieces that take on all values given (a from a spline through
        v, if it is not). Between samples a free joint's origin is interpolated in world axes and a rotation by its
        quaternion, normalised; v and a are the exact derivatives of that. Angles are taken as they come: where those
        of a continuous joint wrap around, unwrap them first.

        >>> import recursa as rc
        >>> t = [0.0, 0.5, 1.0, 1.5]
        >>> rc.Trajectory.along(t, [[0.0], [0.25], [1.0], [2.25]]).sample(1.2)[0].round(12)     # t^2
        array([1.44])
        """
        x, t = points_in(q, times, robot, "q")
        if v is None:
            if a is not None:
                raise StateError("a is given without v: give both, or q alone")
            return cls(*through(robot, curves.interpolated(t, x, "cubic", "not-a-knot")), robot=robot)
        dx = checks.freedoms("v", v, robot, x, rows=True)
        ddx = np.zeros_like(dx) if a is None else checks.freedoms("a", a, robot, x, rows=True)
        if robot is not None:
            warn_of_other_frames(robot, t, x, dx)
            dx, ddx = coordinates.coordinate_rates(robot.model, x, dx, ddx)
        if a is None:
            ddx = curves.slopes(t, dx)
        return cls(*through(robot, curves.hermite(t, x, dx, ddx)), robot=robot)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], robot: Robot | None = None) -> Trajectory:
        """Read samples from a CSV file: a column ``t``, one per coordinate, in any order; then as :meth:`along`.

        A joint's column has its name; speeds are in ``name:v`` and accelerations in ``name:a``, for all joints or none.
        Torques, ``name:tau``, as saved runs have them, are passed over.
        With a robot its joints have to be there, all and no others, and joints of several freedoms have a column each
        (:mod:`recursa.model.columns`): ``root.x`` ... ``root.qw``, ``root.rx:v`` ... ``root.tz:v``. A mistake is
        a :class:`~recursa.TableError` that names line and column.

        >>> import pathlib, tempfile, recursa as rc
        >>> file = pathlib.Path(tempfile.mkdtemp(), "moves.csv")
        >>> _ = file.write_text("t,joint2,joint1\\n0,0.0,1.0\\n1,0.5,2.0\\n")
        >>> rc.Trajectory.from_csv(file, rc.robots.planar(2)).sample(0.5)[0]
        array([1.5 , 0.25])
        """
        names, t, q, v, a = csv_files.read(path, robot)
        read = cls.along(t, q, v, a, robot=robot)
        read.names = names
        return read

    # ---- what it says ------------------------------------------------------------------------------------------------

    def sample(self, t: ArrayLike) -> States:
        """q (..., nq), v and a (..., nv) at instants t (...,); outside the motion the nearest end, at rest.

        >>> import recursa as rc
        >>> q, v, a = rc.Trajectory.cycloid([0.0], [1.0], T=2.0).sample([-1.0, 1.0, 9.0])
        >>> q[:, 0].tolist(), v[:, 0].tolist()
        ([0.0, 0.5, 1.0], [0.0, 1.0, 0.0])
        """
        when = checks.times(t)
        flat = when.reshape(-1)
        inside = (flat >= self.start) & (flat <= self.end)
        q, v, a = self._states(np.clip(flat, self.start, self.end))
        if not inside.all():
            v, a = (np.where(inside[:, None], part, 0.0) for part in (v, a))
        return tuple(part.reshape(*when.shape, part.shape[-1]) for part in (q, v, a))  # type: ignore[return-value]

    @property
    def start(self) -> float:
        """When it begins, s: 0 unless times say otherwise."""
        return float(self._breaks[0])

    @property
    def end(self) -> float:
        """When it ends, s."""
        return float(self._breaks[-1])

    @property
    def duration(self) -> float:
        """How long it takes, s."""
        return self.end - self.start

    @property
    def knots(self) -> Array:
        """Start, joins (such as the times of points or samples) and end."""
        return self._breaks

    def times(self, n: int = 101) -> Array:
        """n instants from start to end, evenly spread.

        >>> import recursa as rc
        >>> rc.Trajectory.constant([0.0], 2.0).times(3)
        array([0., 1., 2.])
        """
        if not isinstance(n, int | np.integer) or n < 2:
            raise StateError(f"n = {n!r}: at least two instants, start and end")
        return np.linspace(self.start, self.end, int(n))

    def __repr__(self) -> str:
        return f"<Trajectory of {self.nq} coordinates, {self.start:g} to {self.end:g} s>"

    # ---- limits ------------------------------------------------------------------------------------------------------

    def violations(
        self,
        robot: Robot | None = None,
        *,
        effort: bool = True,
        losses: Losses = False,
        actuated: Collection[str] | None = None,
        samples: int = 1001,
    ) -> list[Violation]:
        """Every limit of position, velocity and effort that the motion leaves: joint, worst value, when, limit.

        Looked at ``samples`` instants and at the knots; efforts come from inverse dynamics, with ``losses`` (True,
        False, "damping", "friction") as there. A tied joint is held to its own limits of position and velocity.
        ``actuated``: names of the joints that have motors, which a robot with constraints needs; efforts are then those
        of :meth:`Robot.actuator_torques`.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> start, end = {"joint4": -1.5, "joint6": 1.5}, {"joint1": 4.0, "joint4": -1.5, "joint6": 1.5}
        >>> motion = rc.Trajectory.cycloid(start, end, 6.0, robot=arm)
        >>> [(one.joint, one.quantity, one.value, one.limit) for one in motion.violations(effort=False)]
        [('joint1', 'position', 4.0, 2.8973)]
        """
        chosen = self._for(robot)
        t = np.union1d(self.times(samples), self._breaks)
        q, v, a = self.sample(t)
        effort = effort and any(joint.effort is not None for joint in chosen.model.joints)
        tau = Drive(chosen, actuated).torques(q, v, a, losses) if effort else None
        return violations(chosen, t, q, v, tau)

    def check(
        self,
        robot: Robot | None = None,
        *,
        effort: bool = True,
        losses: Losses = False,
        actuated: Collection[str] | None = None,
        samples: int = 1001,
    ) -> None:
        """Raise a :class:`~recursa.LimitError` for the first limit the motion leaves; see :meth:`violations`,
        also for ``losses`` (True, False, "damping", "friction") and ``actuated``.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> start, end = {"joint4": -1.5, "joint6": 1.5}, {"joint1": 2.0, "joint4": -1.5, "joint6": 1.5}
        >>> rc.Trajectory.cycloid(start, end, 6.0, robot=arm).check()
        """
        found = self.violations(robot, effort=effort, losses=losses, actuated=actuated, samples=samples)
        if found:
            raise min(found, key=lambda one: one.first).error()

    def scaled_to_limits(
        self,
        robot: Robot | None = None,
        *,
        velocity: Bound | None = None,
        acceleration: Bound | None = None,
        effort: Bound | None = None,
        losses: Losses = False,
        actuated: Collection[str] | None = None,
        samples: int = 1001,
    ) -> Trajectory:
        """The same motion faster or slower by one factor, as fast as the limits allow: found in closed form.

        With k times the speed torques are ``k^2 i + k d + c`` (inertia, damping, the rest), so every limit is a
        quadratic inequality in k at every instant. Looked at ``samples`` instants and the knots, then more and more
        densely about the one that decides. The motion starts at the same time.

        - ``velocity``, ``effort``: limits, default the robot's own; ``acceleration``: default none. Each one number,
          one per freedom (nv,), or some by the names of joints; inf for none.
        - ``losses`` (True, False, "damping" or "friction"): whether damping and friction of the joints count, as for
          inverse dynamics.
        - ``actuated``: names of the joints that have motors, which a robot with constraints needs.

        The way is kept and so is the shape of the motion in time; :func:`recursa.time_optimal` keeps the way alone, and
        is faster.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> start, end = {"joint4": -1.5, "joint6": 1.5}, {"joint1": 2.0, "joint4": -1.5, "joint6": 1.5}
        >>> motion = rc.Trajectory.cycloid(start, end, 6.0, robot=arm)
        >>> round(motion.scaled_to_limits().duration, 6)   # joint1 turns at 2.175 rad/s half way
        1.83908
        """
        chosen = self._for(robot)
        k = factor(
            chosen,
            self,
            Limits.of(chosen, velocity, acceleration, effort),
            actuated,
            known_losses(losses),
            len(self.times(samples)),
        )
        states, start = self._states, self.start

        def faster(t: Array) -> States:
            q, v, a = states(np.clip(start + k * (t - start), start, self.end))
            return q, k * v, k * k * a

        return Trajectory(faster, start + (self._breaks - start) / k, robot=self.robot, names=self.names)

    def _for(self, robot: Robot | None) -> Robot:
        """The robot to ask, whose coordinates these are."""
        chosen = robot or self.robot
        if chosen is None:
            raise StateError("which robot? Give one: trajectory.check(robot)")
        require_coordinates_of(chosen, self.nq, self.names, self.robot)
        return chosen

    def to_pandas(self, robot: Robot | None = None, times: ArrayLike | None = None) -> DataFrame:
        """q, v, a at some instants (default: 101, evenly spread) as a DataFrame; see :meth:`recursa.Run.to_pandas`."""
        return datasets.to_pandas(*self._data(robot, times), {})

    def to_xarray(self, robot: Robot | None = None, times: ArrayLike | None = None) -> Dataset:
        """The same as a Dataset; see :meth:`recursa.Run.to_xarray`."""
        return datasets.to_xarray(*self._data(robot, times), {})

    def _data(self, robot: Robot | None, times: ArrayLike | None) -> tuple[Robot, Array, dict[str, Array]]:
        t = self._instants(times)
        return self._for(robot), t, dict(zip("qva", self.sample(t), strict=True))

    def _instants(self, times: ArrayLike | None) -> Array:
        t = self.times() if times is None else checks.times(times)
        if t.ndim != 1:
            raise ShapeError(f"times has shape {t.shape}, expected (n,)")
        return t

    def to_html(
        self, path: str | os.PathLike[str], robot: Robot | None = None, meshes: bool = True, title: str | None = None
    ) -> Path:
        """Write the motion as a page for any browser, with the torques that it takes; see :meth:`recursa.Run.to_html`.

        >>> import pathlib, tempfile, recursa as rc
        >>> motion = rc.Trajectory.cycloid([0, 0], [1.0, -0.5], T=1.0)
        >>> motion.to_html(pathlib.Path(tempfile.mkdtemp(), "moves.html"), rc.robots.planar(2)).name
        'moves.html'
        """
        from recursa.view.page import write_motion

        return write_motion(path, [self._recording(title, robot)], meshes=meshes)

    def _recording(self, title: str | None = None, robot: Robot | None = None) -> Recording:
        """The motion with the torques that it takes, losses covered; without torques where mass data are missing."""
        from recursa.view.motions import Recording

        chosen = self._for(robot)

        def sample(t: Array) -> Sampled:
            q, v, a = self.sample(t)
            try:
                tau = chosen.inverse_dynamics(q, v, a, losses=True)
            except RecursaError:
                return q, v, None
            return q, v, tau if np.isfinite(tau).all() else None

        return Recording(chosen, self.start, self.end, sample, title or chosen.name)

    def to_csv(self, path: str | os.PathLike[str], times: ArrayLike | None = None) -> None:
        """Write t, q, v and a at some instants (default: 101, evenly spread) so that :meth:`from_csv` reads them.

        Numbers keep all their bits; the file appears as a whole or not at all. Without known names the columns are
        called q1, q2, ...

        >>> import pathlib, tempfile, recursa as rc
        >>> file = pathlib.Path(tempfile.mkdtemp(), "moves.csv")
        >>> rc.Trajectory.cycloid([0.0], [1.0], T=2.0).to_csv(file, times=[0.0, 1.0, 2.0])
        >>> print(file.read_text().splitlines()[0])
        t,q1,q1:v,q1:a
        """
        t = self._instants(times)
        csv_files.write(path, self.robot, self.names, t, self.sample(t))


def require_coordinates_of(robot: Robot, nq: int, names: tuple[str, ...] | None, made_for: Robot | None) -> None:
    """That a motion or path of so many coordinates, by these names, is one of the robot."""
    own = csv_files.names_of(robot)[0]
    if names is not None and names != own:
        raise StateError(
            f"the columns are in the order {', '.join(names)}, those of robot '{robot.name}' in the order "
            f"{', '.join(own)}. Read the file with Trajectory.from_csv(path, robot)"
        )
    if nq != robot.nq or (made_for is None and not is_flat(robot.model)):
        raise ShapeError(
            f"the motion has {nq} plain coordinates, robot '{robot.name}' has nq = {robot.nq}, nv = "
            f"{robot.nv}. Make it with robot="
        )
