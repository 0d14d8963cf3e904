"""What the joints or the motors of a robot have to supply along a motion, for limits of effort."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.wrenches import DAMPING, FRICTION, Losses
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.methods.constrained_motion import motor_torques, motors_of
from recursa.methods.inverse_and_forward import INVERSE_DYNAMICS, names_of
from recursa.model.columns import freedom_names
from recursa.model.constraint_equations import Closing
from recursa.model.constraints import called
from recursa.sweeps.batching import Array
from recursa.trajectories.csv_files import TIME, TORQUE, columns_of, losses_in, read_table, require_known, require_times

if TYPE_CHECKING:
    from recursa.robot import Robot

_OFF = 1e-3  # of the robot's length, or rad: how far a motion may be from the constraints that it is to obey
_SLIP = 5e-2  # of what the joints could move it, each alone: how fast a motion may move what a contact holds


class Drive:
    """The torques that a motion takes: of all joints, or of the motors named by ``actuated``.

    A robot with constraints needs the names: its constraints carry what they can, and the motors the rest.
    """

    def __init__(self, robot: Robot, actuated: Collection[str] | None = None) -> None:
        self.robot = robot
        named = None if actuated is None else names_of(actuated, "actuated")
        self.motors = None if named is None and not robot.constraints else motors_of(robot.model, named)

    def torques(self, q: Array, v: Array, a: Array, losses: Losses = False, out: Array | None = None) -> Array:
        """Torques (..., nv) for accelerations a."""
        if self.motors is None:
            return self.robot.inverse_dynamics(q, v, a, losses=losses, out=out)
        self._require_obeyed(q)
        self._require_held(q, v)
        tree = self.robot.evaluator.tree.evaluate(INVERSE_DYNAMICS, {"q": q, "v": v, "a": a}, {"losses": losses})
        found = self._supplied(q, tree)
        if out is None:
            return found
        out[...] = found
        return out

    def friction(self, q: Array, v: Array, losses: Losses) -> Array | None:
        """What dry friction takes (..., nv), if it counts."""
        return self._supplied(q, self.robot.joint_losses(v, losses="friction")) if losses in FRICTION else None

    def damping(self, q: Array, v: Array, losses: Losses) -> Array | None:
        """What damping takes (..., nv), if it counts."""
        return self._supplied(q, self.robot.joint_losses(v, losses="damping")) if losses in DAMPING else None

    def _supplied(self, q: Array, forces: Array) -> Array:
        return forces if self.motors is None else motor_torques(self.robot.evaluator, q, forces, self.motors)

    def _require_obeyed(self, q: Array) -> None:
        """Refuse a motion that the robot's constraints do not allow."""
        if not self.robot.constraints:
            return
        model = self.robot.model
        error = np.abs(self.robot.constraint_error(q)).reshape(-1, model.ncon)
        for equation in model.equations:
            for row, unit in enumerate(equation.units, equation.start):
                size = 1.0 if unit == "r" else model.unit_length
                worst = float(error[:, row].max(initial=0.0))
                if worst > _OFF * size:
                    raise StateError(
                        f"the motion does not obey the {called(equation.constraint)} of robot '{model.name}': it is up "
                        f"to {worst:.3g} {'rad' if unit == 'r' else 'm'} away.\n"
                        "  q = robot.assemble(q) closes loops: give more points that obey the constraints."
                    )

    def _require_held(self, q: Array, v: Array) -> None:
        """Refuse a motion that moves what contacts hold wherever it is, whose place says nothing."""
        model = self.robot.model
        contacts = [
            one for one in model.equations if isinstance(one, Closing) and not one.anchored and one.told is None
        ]
        if not contacts:
            return
        G = self.robot.constraint_jacobian(q)
        speed, usual = np.abs(G @ v[..., None])[..., 0], (np.abs(G) @ np.abs(v)[..., None])[..., 0]
        for contact in contacts:
            rows = slice(contact.start, contact.start + len(contact.units))
            worst, most = (float(x[..., rows].max(initial=0.0)) for x in (speed, usual))
            if worst > _SLIP * most:
                raise StateError(
                    f"the motion does not obey the {called(contact.constraint)} of robot '{model.name}': it moves what "
                    f"is held there, by {100.0 * worst / most:.3g} % of what the joints could.\n"
                    "  q = robot.with_contacts_at(start).assemble(q) leaves contacts where they are at the start: give "
                    "points that obey the constraints."
                )


# ---- torques over time from a table, such as a CSV file: data, so that a checkpoint can keep them --------------------


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
