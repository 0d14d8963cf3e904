"""What acts on a robot during a run: as equations of motion, and as data for checkpoints where it is data.

Functions cannot be kept in files; who goes on with a run gives them again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.dynamics.wrenches import Wrench, listed_wrenches
from recursa.errors import RecursaError, StateError, shortened
from recursa.runs.options import Options
from recursa.simulation.driver import Simulation
from recursa.simulation.equations import Equations
from recursa.simulation.events import Event, events_of
from recursa.simulation.forces import (
    Controller,
    StopForces,
    Stops,
    Torque,
    stop_forces,
    torque_function,
    wrench_function,
)
from recursa.simulation.moved_base import MovedBase, moved_base
from recursa.sweeps.batching import Array
from recursa.trajectories.drives import TorqueTable

if TYPE_CHECKING:
    from recursa.robot import Robot

Record = dict[str, Any]
_WRENCH = ("force", "moment", "point")


@dataclass(frozen=True)
class Influences:
    """What acts during a run, as the arguments of :meth:`recursa.Robot.simulate` of these names have it."""

    torque: Any = None
    wrenches: Any = None
    stops: Any = None
    events: Any = None
    base: Any = None
    contacts: Any = None
    prescribed: Any = None

    def simulation(self, robot: Robot, options: Options, q0: Array, v0: Array) -> Simulation:
        """A run of a robot from a state, about to begin."""
        base = moved_base(robot.model, self.base, options.duration)
        equations = equations_of(
            robot,
            options,
            torque_function(robot, self.torque, base),
            wrench_function(robot, self.wrenches, base),
            stop_forces(robot, self.stops, q0),
            base,
            contacts=self.contacts,
            prescribed=self.prescribed,
        )
        return Simulation(equations, q0, v0, options, events_of(self.events))

    def record(self, simulation: Simulation) -> Record:
        """For a checkpoint; stops with the numbers that they have got in the simulation."""
        stops = simulation.equations.stops
        kept = None if stops is None else {name: getattr(stops, name) for name in ("stiffness", "damping")}
        return {
            "torque": _torque(self.torque),
            "wrenches": _wrenches(self.wrenches),
            "stops": None if stops is None or kept is None else {"joints": stops.names, **kept},
            "events": _described(simulation.events),
            "base": None if self.base is None else _function(self.base),
            "contacts": [asdict(one) for one in simulation.equations.touches],
            "prescribed": None if self.prescribed is None else _function(self.prescribed),
        }

    def recorded(self, kept: Record) -> Influences:
        """Those of a run that goes on: from the record, and from these where they were functions."""
        events = events_of(self.events)
        _require_same_events(kept["events"], events)
        again = {name: _again(kept[name], getattr(self, name), name) for name in _GIVEN_AGAIN}
        return Influences(**again, stops=_stops(kept["stops"]), events=events, contacts=_contacts(kept["contacts"]))


_GIVEN_AGAIN = ("base", "torque", "wrenches", "prescribed")


def equations_of(
    robot: Robot,
    options: Options,
    torque: Torque | None,
    wrenches: Torque | None,
    stops: StopForces | None,
    base: MovedBase | None = None,
    *,
    contacts: Any = None,
    prescribed: Any = None,
) -> Equations:
    """The equations of motion of a robot: of a tree, in diagonal coordinates, with constraints, with contacts.

    Each kind is imported when it is needed.
    """
    acting = (robot, torque, wrenches, stops, options.losses, base)
    if prescribed is not None and not robot.model.ntold:
        raise StateError(
            f"prescribed= is for joints and links that are rc.Prescribed, and robot '{robot.name}' has none"
        )
    touches: tuple[Any, ...] = ()
    if contacts is not None:
        from recursa.simulation.touch_geometry import touches_of

        touches = touches_of(robot.model, contacts)
    if not (robot.constraints or touches):
        if options.baumgarte is not None:
            raise StateError(f"baumgarte= is for constraints, and robot '{robot.name}' has none")
        if options.coordinates == "joint":
            return Equations(*acting)
        from recursa.simulation.diagonal import DiagonalEquations

        return DiagonalEquations(*acting)
    if options.coordinates == "diagonal":
        raise StateError('coordinates="diagonal" are those of trees without contacts: leave them out')
    if not touches:
        from recursa.simulation.constrained_equations import ConstrainedEquations

        return ConstrainedEquations(*acting, baumgarte=options.baumgarte, prescribed=prescribed)
    if options.baumgarte is not None:
        raise StateError("with contacts= states are kept on the constraints by projection: leave baumgarte= out")
    from recursa.simulation.contact_equations import TouchingEquations

    return TouchingEquations(*acting, touches=touches)


# ---- records of what acts --------------------------------------------------------------------------------------------


def _torque(torque: Any) -> Record | None:
    if torque is None:
        return None
    if isinstance(torque, TorqueTable):
        return {"kind": "table", "t": torque.t, "tau": torque.tau, "between": torque.between}
    if isinstance(torque, Controller) or hasattr(torque, "sample") or callable(torque):
        return _function(torque)
    return {"kind": "constant", "values": np.array(torque, dtype=float)}


def _wrenches(wrenches: Any) -> Record | None:
    if wrenches is None:
        return None
    if callable(wrenches):
        return _function(wrenches)
    listed = listed_wrenches(wrenches)
    if listed is not None:
        vectors = [{name: np.array(getattr(one, name), dtype=float) for name in _WRENCH} for one in listed]
        return {
            "kind": "wrenches",
            "values": [{"at": one.at, "frame": one.frame, **own} for one, own in zip(listed, vectors, strict=True)],
        }
    return {"kind": "constant", "values": np.array(wrenches, dtype=float)}


def _function(given: Any) -> Record:
    """All that can be kept of it is a name, to remind of which one it was."""
    return {"kind": "function", "name": str(getattr(given, "__qualname__", type(given).__name__))}


# ---- and back --------------------------------------------------------------------------------------------------------


def _again(kept: Record | None, given: Any, what: str) -> Any:
    """Torques, wrenches, base of a run that goes on: from the record, or from the caller where they were functions."""
    if kept is not None and kept["kind"] == "function":
        if given is None:
            raise StateError(
                f"the {what} of this run came from '{kept['name']}', and functions cannot be kept in files: "
                f"give it again, rc.resume(path, {what}=...)"
            )
        return given
    if given is not None:
        had = "had none" if kept is None else "are in the file"
        raise StateError(f"{what}= is given, but the run goes on as it began, and its {what} {had}: leave it out")
    try:
        return None if kept is None else _data(kept)
    except RecursaError as error:
        raise ValueError(f"its {what}: {error}") from None


def _data(kept: Record) -> Any:
    """Torques or wrenches from the record, which may be anyone's."""
    if kept["kind"] == "table":
        return TorqueTable(kept["t"], kept["tau"], kept["between"])
    values = kept["values"]
    listed = kept["kind"] == "wrenches"
    for numbers in [one[name] for one in values for name in _WRENCH] if listed else [values]:
        if not np.isfinite(numbers).all():
            raise ValueError("torques or wrenches that are not finite")
    return [Wrench(**one) for one in values] if listed else values


def _stops(kept: Record | None) -> Stops | None:
    """Stops with the same numbers."""
    if kept is None:
        return None
    numbers = {name: dict(zip(kept["joints"], kept[name].tolist(), strict=True)) for name in ("stiffness", "damping")}
    return Stops(**numbers, joints=kept["joints"])


def _contacts(kept: list[Record]) -> tuple[Any, ...] | None:
    """What may touch, as it was."""
    if not kept:
        return None
    from recursa.simulation.touch_geometry import Touch

    try:
        return tuple(Touch(**one) for one in kept)
    except RecursaError as error:
        raise ValueError(f"its contacts: {error}") from None


def _described(events: tuple[Event, ...]) -> list[list[Any]]:
    return [[event.name, event.stop, event.direction] for event in events]


def _require_same_events(kept: list[list[Any]], events: tuple[Event, ...]) -> None:
    """Events of a run that goes on have to be those it began with, as far as can be told."""
    now = _described(events)
    if now == kept:
        return
    had, have = (shortened([f"'{one[0]}'" for one in rows]) or "none" for rows in (kept, now))
    changed = "" if had != have else " (stop= or direction= differ)"
    raise StateError(
        f"the run began with the events {had}; given are {have}{changed}. Functions cannot be kept in files: give the "
        "same ones again, rc.resume(path, events=...)"
    )
