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
from recursa.plotting.styles import saved
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
_NOISE = 1e-10  # rad, m, and so on: what does not move at all moves less
_MOST_IN_TWO_COLUMNS = 8


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
    by_joint: bool = False,
    bands: tuple[ArrayLike, ArrayLike] | None = None,
) -> Figure:
    """Panels of a motion at instants t (n,): q (n, nq), v and tau (n, nv); returns the figure, saves it to ``path``.

    ``panels`` are some of "angles", "speeds", "torques", "energy", "phase" (speed over position) and "power" (torque
    times speed); without it, all that the data allow, but for those in which nothing changes. Joints that turn and
    joints that slide have panels of their own, as their units differ; so do quaternions. Dashed lines are limits.
    ``energy`` is one curve (n,) or several by name; without it, the robot computes it from q and v. ``by_joint``: a
    panel for every joint, in their order, for values that differ by powers of ten; energies stay together. Without
    ``path`` the figure is one of pyplot's, if that is imported, and ``plt.show()`` shows it. ``bands`` shades what may
    be: half widths about the curves of positions and speeds, (n, nv) each, but for quaternions.

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
    drawn = list(given.panels(panels, by_joint=by_joint))
    if panels is None:  # what stands still is left out, unless all does
        drawn = [panel for panel in drawn if not panel.flat] or drawn[:1]
    if not drawn:
        raise StateError("there is nothing to plot: give q, v, tau or energy")
    columns = 3 if by_joint and (len(drawn) == 3 or len(drawn) > _MOST_IN_TWO_COLUMNS) else 2
    figure = panel_figure(robot.name if title is None else title, drawn, columns, shown=path is None)
    return saved(figure, path, dpi=110)


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

    def panels(self, wanted: Sequence[str] | None, *, by_joint: bool) -> Iterator[Panel]:
        """Those asked for, or all for which there is something; ``by_joint`` one for every joint."""
        if isinstance(wanted, str):
            wanted = (wanted,)
        for name in PANELS if wanted is None else wanted:
            if name not in PANELS:
                raise unknown_name("panel", name, PANELS)
            missing = [need for need in _NEEDS[name] if getattr(self, need) is None]
            if name == "energy" and missing and self.q is not None and self.v is not None:
                missing = []
            if not missing:
                panels: Iterator[Panel] = getattr(self, f"_{name}")()
                yield from self._in_order(panels) if by_joint and name != "energy" else panels
            elif wanted is not None:
                raise StateError(f"panel '{name}' needs {' and '.join(missing)}")

    def _in_order(self, panels: Iterator[Panel]) -> list[Panel]:
        """One for each curve, in the order of joints, whatever their units."""
        order = _colours(self.robot.model)
        parts = [part for panel in panels for part in panel.apart()]
        return sorted(parts, key=lambda part: order.get(next(iter(part.curves)), len(order)))

    def _angles(self) -> Iterator[Panel]:
        model, q = self.robot.model, self.q
        assert q is not None
        names, units = coordinate_names(model), coordinate_units(model)
        for unit, label in (("rad", "angle, rad"), ("m", "position, m"), ("1", "quaternion")):
            curves = {n: q[:, k] for k, n in enumerate(names) if units[k] == unit}
            if curves:
                title = {"rad": "joint angles", "m": "positions", "1": "rotations"}[unit]
                limits = dict(zip(names, self.robot.position_limits.T.tolist(), strict=True))
                bands, colours = self._about_positions(), _colours(model)
                yield Panel(
                    _TIME, label, self.t, curves, title, numbers=colours, limits=limits, bands=bands, noise=_NOISE
                )

    def _about_positions(self) -> dict[str, Array]:
        """Bands of joints whose coordinates are moved as their speeds are."""
        names, found = coordinate_names(self.robot.model), {}
        for joint in self.robot.model.joints if self.bands is not None else ():
            if joint.independent and joint.kind.nq == joint.kind.nv == 1:
                assert self.bands is not None
                found[names[joint.q_start]] = self.bands[0][:, joint.v_start]
        return found

    def _by_unit(
        self,
        values: Array,
        most: Array,
        turning: tuple[str, str],
        sliding: tuple[str, str],
        widths: Array | None = None,
    ) -> Iterator[Panel]:
        """Freedoms that turn and those that slide, each with the label of the axis and the title; limits either way."""
        names, turns = freedom_names(self.robot.model), angular(self.robot.model)
        for kind, (label, title) in ((True, turning), (False, sliding)):
            curves = {name: values[:, k] for k, name in enumerate(names) if turns[k] is kind}
            bands = {} if widths is None else {name: widths[:, k] for k, name in enumerate(names)}
            if curves:
                limits = {name: (-limit, limit) for name, limit in zip(names, most.tolist(), strict=True)}
                colours = _colours(self.robot.model)
                yield Panel(
                    _TIME, label, self.t, curves, title, numbers=colours, limits=limits, bands=bands, noise=_NOISE
                )

    def _speeds(self) -> Iterator[Panel]:
        assert self.v is not None
        labels = ("speed, rad/s", "turning speeds"), ("speed, m/s", "sliding speeds")
        widths = None if self.bands is None else self.bands[1]
        return self._by_unit(self.v, self.robot.velocity_limits, *labels, widths)

    def _torques(self) -> Iterator[Panel]:
        assert self.tau is not None
        return self._by_unit(
            self.tau, self.robot.effort_limits, ("torque, N m", "joint torques"), ("force, N", "joint forces")
        )

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
                    noise=_NOISE,
                )

    def _power(self) -> Iterator[Panel]:
        assert self.tau is not None and self.v is not None
        power = self.tau * self.v
        curves = {name: power[:, k] for k, name in enumerate(freedom_names(self.robot.model))}
        if len(curves) > 1:
            curves["total"] = power.sum(axis=1)
        yield Panel(_TIME, "power, W", self.t, curves, "power into the joints", total="total")
