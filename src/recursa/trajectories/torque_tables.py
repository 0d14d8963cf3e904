"""Torques over time from a table, such as a CSV file: data, so that a checkpoint can keep them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.losses import Losses
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.columns import freedom_names
from recursa.sweeps.batching import Array
from recursa.trajectories.csv_files import TIME, TORQUE, columns_of, losses_in, require_known, require_times
from recursa.trajectories.csv_numbers import read_table

if TYPE_CHECKING:
    from recursa.robot import Robot

Between = Literal["linear", "cubic", "hold"]


class TorqueTable:
    """Torques tau (n, nv) at instants t (n,), in between "linear", "cubic" (a smooth spline) or "hold" (steps).

    Before the first instant the first row holds, after the last one the last. ``losses`` tells whether the torques
    cover damping and friction (True, False) or one of them ("damping", "friction"), so that a run should have them;
    None where that is not known.

    >>> table = TorqueTable([0.0, 1.0], [[0.0, 2.0], [1.0, 4.0]])
    >>> table(0.25, None, None), table(9.0)
    (array([0.25, 2.5 ]), array([1., 4.]))
    """

    def __init__(self, t: ArrayLike, tau: ArrayLike, between: Between = "linear", losses: Losses | None = None) -> None:
        self.losses = losses
        self.t, self.tau = np.array(t, dtype=float), np.array(tau, dtype=float)
        if between not in get_args(Between):
            raise unknown_name("way to go between the rows of a table", between, get_args(Between))
        self.between = between
        if self.t.ndim != 1 or self.tau.ndim != 2 or len(self.t) != len(self.tau) or len(self.t) < 2:
            raise ShapeError(
                f"a table of torques has instants (n,) and torques (n, nv), n at least 2, not {self.t.shape} and "
                f"{self.tau.shape}"
            )
        if not (np.isfinite(self.t).all() and np.isfinite(self.tau).all() and (np.diff(self.t) > 0.0).all()):
            raise StateError("a table of torques has finite numbers and instants that rise")
        self._spline: Any = None
        if between == "cubic":
            from scipy.interpolate import CubicSpline  # slow to import

            self._spline = CubicSpline(self.t, self.tau)

    def __call__(self, t: float, q: Any = None, v: Any = None) -> Array:
        """Torques (nv,) at an instant; the state does not count."""
        if t <= self.t[0]:
            return self.tau[0].copy()
        if t >= self.t[-1]:
            return self.tau[-1].copy()
        if self._spline is not None:
            return np.asarray(self._spline(t))
        k = int(np.searchsorted(self.t, t, side="right")) - 1
        if self.between == "hold":
            return self.tau[k].copy()
        part = (t - self.t[k]) / (self.t[k + 1] - self.t[k])
        return self.tau[k] + part * (self.tau[k + 1] - self.tau[k])

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], robot: Robot, between: Between = "linear") -> TorqueTable:
        """Read a column ``t`` and one by the name of each freedom, in any order, as ``recursa inverse -o`` writes them.

        A saved run does, too: where there are columns ``joint:tau``, those count and all others are left out. A line
        ``# losses: included`` (or excluded, damping, friction) above the header is kept as ``losses``. ``between``:
        "linear", "cubic" (a smooth spline) or "hold" (steps).

        >>> import pathlib, tempfile, recursa as rc
        >>> file = pathlib.Path(tempfile.mkdtemp(), "torque.csv")
        >>> _ = file.write_text("t,joint2,joint1\\n0,0.0,1.0\\n1,0.5,2.0\\n")
        >>> TorqueTable.from_csv(file, rc.robots.planar(2))(0.5)
        array([1.5 , 0.25])
        """
        table = read_table(path)
        require_times(table)
        names = freedom_names(robot.model)
        marked = any(name.endswith(TORQUE) for name in table.names)
        wanted = [name + TORQUE for name in names] if marked else list(names)
        meant = [name for name in table.names if name != TIME and (name.endswith(TORQUE) or not marked)]
        owner = f"robot '{robot.name}'"
        require_known(table, meant, wanted, owner)
        return cls(table.column(TIME), columns_of(table, "torques", wanted, owner), between, losses_in(table))
