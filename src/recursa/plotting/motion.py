"""Motions over time: angles, speeds, torques, energies, phase portraits and power, a panel for each unit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.columns import angular, coordinate_names, coordinate_units, freedom_names
from recursa.model.model import Model
from recursa.plotting.panels import Panel, panel_figure
from recursa.plotting.styles import save
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot

PANELS = ("angles", "speeds", "torques", "energy", "phase", "power")
_NEEDS = {
    "angles": ("q",), "speeds": ("v",), "torques": ("tau",), "energy": ("energy",), "phase": ("q", "v"),
    "power": ("v", "tau"),
}  # fmt: skip
_TIME = "time, s"


def plot_motion(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    energy: ArrayLike | Mapping[str, ArrayLike] | None = None,
    panels: Sequence[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    bands: tuple[ArrayLike, ArrayLike] | None = None,
) -> Figure:
    """Panels of a motion at instants t (n,): q (n, nq), v and tau (n, nv); returns the figure, saves it to ``path``.

    ``panels`` are some of "angles", "speeds", "torques", "energy", "phase" (speed over position) and "power" (torque
    times speed); without it, all that the data allow. Joints that turn and joints that slide have panels of their own,
    as their units differ; so do quaternions. ``energy`` is one curve (n,) or several by name; without it, the robot
    computes it from q and v. Without ``path`` the figure is one of pyplot's, if that is imported, and ``plt.show()``
    shows it. ``bands`` shades what may be: half widths about the curves of positions and speeds, (n, nv) each, but for
    quaternions.

    >>> import recursa as rc
    >>> arm = rc.robots.stanford()
    >>> motion = rc.Trajectory.cycloid(arm.neutral(), [0.5, 1.2, 0.4, 0.3, 0.8, 0.0], T=2.0)
    >>> t = motion.times()
    >>> q, v, a = motion.sample(t)
    >>> figure = plot_motion(arm, t, q, v, arm.inverse_dynamics(q, v, a))
    >>> [axes.get_ylabel() for axes in figure.axes][:4]
    ['angle, rad', 'position, m', 'speed, rad/s', 'speed, m/s']
    """
    when = _rows("t", t, None, None)
    given = _Motion(
        robot,
        when,
        None if q is None else _rows("q", q, len(when), robot.nq),
        None if v is None else _rows("v", v, len(when), robot.nv),
        None if tau is None else _rows("tau", tau, len(when), robot.nv),
        _energies(energy, len(when)),
        None if bands is None else tuple(_rows("bands", one, len(when), robot.nv) for one in bands),
    )
    drawn = list(given.panels(panels))
    if not drawn:
        raise StateError("there is nothing to plot: give q, v, tau or energy")
    figure = panel_figure(robot.name if title is None else title, drawn, shown=path is None)
    if path is not None:
        save(figure, path, dpi=110)
    return figure


def _rows(name: str, value: ArrayLike, count: int | None, size: int | None) -> Array:
    array = as_numbers(name, value, 1 if size is None else size)
    if array.dtype.kind == "c":
        raise StateError(f"{name} must be real numbers")
    wanted = (len(array) if array.ndim else 1,) if count is None else (count,) if size is None else (count, size)
    if array.shape != wanted:
        expected = "(n,)" if count is None else f"{wanted}: one row per instant"
        raise ShapeError(f"{name} has shape {array.shape}, expected {expected}")
    return array


def _energies(energy: Any, count: int) -> dict[str, Array] | None:
    if energy is None:
        return None
    named = energy if isinstance(energy, Mapping) else {"total": energy}
    return {name: _rows(f"energy '{name}'", curve, count, None) for name, curve in named.items()}


_FREEDOM_OF = {"x": "tx", "y": "ty", "z": "tz", "theta": "rz"}  # the colours of positions are those of their speeds


def _colours(model: Model) -> dict[str, int]:
    """One number for each freedom and for the coordinate that goes with it, the same in every panel."""
    numbers = {name: k for k, name in enumerate(freedom_names(model))}
    for name in coordinate_names(model):
        joint, _, part = name.rpartition(".")
        freedom = f"{joint}.{_FREEDOM_OF.get(part, part)}"
        if name not in numbers and freedom in numbers:
            numbers[name] = numbers[freedom]
    return numbers


@dataclass(frozen=True)
class _Motion:
    robot: Robot
    t: Array
    q: Array | None
    v: Array | None
    tau: Array | None
    energy: dict[str, Array] | None
    bands: tuple[Array, ...] | None = None

    def panels(self, wanted: Sequence[str] | None) -> Iterator[Panel]:
        """Those asked for, or all for which there is something."""
        if isinstance(wanted, str):
            wanted = (wanted,)
        for name in PANELS if wanted is None else wanted:
            if name not in PANELS:
                raise unknown_name("panel", name, PANELS)
            missing = [need for need in _NEEDS[name] if getattr(self, need) is None]
            if name == "energy" and missing and self.q is not None and self.v is not None:
                missing = []
            if not missing:
                yield from getattr(self, f"_{name}")()
            elif wanted is not None:
                raise StateError(f"panel '{name}' needs {' and '.join(missing)}")

    def _angles(self) -> Iterator[Panel]:
        model, q = self.robot.model, self.q
        assert q is not None
        names, units = coordinate_names(model), coordinate_units(model)
        for unit, label in (("rad", "angle, rad"), ("m", "position, m"), ("1", "quaternion")):
            curves = {n: q[:, k] for k, n in enumerate(names) if units[k] == unit}
            if curves:
                title = {"rad": "joint angles", "m": "positions", "1": "rotations"}[unit]
                yield Panel(_TIME, label, self.t, curves, title, numbers=_colours(model), bands=self._about_positions())

    def _about_positions(self) -> dict[str, Array]:
        """Bands of joints whose coordinates are moved as their speeds are."""
        names, found = coordinate_names(self.robot.model), {}
        for joint in self.robot.model.joints if self.bands is not None else ():
            if joint.independent and joint.kind.nq == joint.kind.nv == 1:
                assert self.bands is not None
                found[names[joint.q_start]] = self.bands[0][:, joint.v_start]
        return found

    def _by_unit(
        self, values: Array, turning: tuple[str, str], sliding: tuple[str, str], widths: Array | None = None
    ) -> Iterator[Panel]:
        """Freedoms that turn and those that slide, each with the label of the axis and the title."""
        names, turns = freedom_names(self.robot.model), angular(self.robot.model)
        for kind, (label, title) in ((True, turning), (False, sliding)):
            curves = {name: values[:, k] for k, name in enumerate(names) if turns[k] is kind}
            bands = {} if widths is None else {name: widths[:, k] for k, name in enumerate(names)}
            if curves:
                yield Panel(_TIME, label, self.t, curves, title, numbers=_colours(self.robot.model), bands=bands)

    def _speeds(self) -> Iterator[Panel]:
        assert self.v is not None
        labels = ("speed, rad/s", "turning speeds"), ("speed, m/s", "sliding speeds")
        return self._by_unit(self.v, *labels, None if self.bands is None else self.bands[1])

    def _torques(self) -> Iterator[Panel]:
        assert self.tau is not None
        return self._by_unit(self.tau, ("torque, N m", "joint torques"), ("force, N", "joint forces"))

    def _energy(self) -> Iterator[Panel]:
        curves = self.energy
        if curves is None:
            assert self.q is not None and self.v is not None
            kinetic, potential = self.robot.kinetic_energy(self.q, self.v), self.robot.potential_energy(self.q)
            curves = {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}
        yield Panel(_TIME, "energy, J", self.t, curves, "energy", total="total")

    def _phase(self) -> Iterator[Panel]:
        q, v = self.q, self.v
        assert q is not None and v is not None
        joints = [joint for joint in self.robot.model.joints if joint.independent and joint.kind.nv == 1]
        for turns, unit, what in ((True, "rad", "angle"), (False, "m", "position")):
            own = [joint for joint in joints if joint.kind.angular[0] is turns]
            if own:
                x = {joint.name: q[:, joint.q_start] for joint in own}
                curves = {joint.name: v[:, joint.v_start] for joint in own}
                yield Panel(
                    f"{what}, {unit}",
                    f"speed, {unit}/s",
                    x,
                    curves,
                    "phase portrait",
                    marks=True,
                    numbers=_colours(self.robot.model),
                )

    def _power(self) -> Iterator[Panel]:
        assert self.tau is not None and self.v is not None
        power = self.tau * self.v
        curves = {name: power[:, k] for k, name in enumerate(freedom_names(self.robot.model))}
        if len(curves) > 1:
            curves["total"] = power.sum(axis=1)
        yield Panel(_TIME, "power, W", self.t, curves, "power into the joints", total="total")
