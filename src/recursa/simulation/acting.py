"""What acts on a robot during a run, as data where it is data; functions have to be given again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from recursa.dynamics.wrenches import Wrench, listed_wrenches
from recursa.errors import RecursaError, StateError, shortened
from recursa.simulation.events import Event
from recursa.simulation.forces import Controller, StopForces, Stops
from recursa.simulation.touch import Touch
from recursa.trajectories.torque_tables import TorqueTable

Record = dict[str, Any]
_WRENCH = ("force", "moment", "point")


def record(
    torque: Any,
    wrenches: Any,
    stops: StopForces | None,
    events: tuple[Event, ...],
    base: Any = None,
    touches: tuple[Touch, ...] = (),
    prescribed: Any = None,
) -> Record:
    """For a checkpoint; stops with the numbers that they have got."""
    return {
        "torque": _torque(torque),
        "wrenches": _wrenches(wrenches),
        "stops": None
        if stops is None
        else {"joints": stops.names, "stiffness": stops.stiffness, "damping": stops.damping},
        "events": [[event.name, event.stop, event.direction] for event in events],
        "base": None if base is None else _function(base),
        "contacts": [asdict(one) for one in touches],
        "prescribed": None if prescribed is None else _function(prescribed),
    }


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


def again(kept: Record | None, given: Any, what: str) -> Any:
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


def stops_again(kept: Record | None) -> Stops | None:
    """Stops with the same numbers."""
    if kept is None:
        return None
    numbers = {name: dict(zip(kept["joints"], kept[name].tolist(), strict=True)) for name in ("stiffness", "damping")}
    return Stops(**numbers, joints=kept["joints"])


def touches_again(kept: list[Record]) -> tuple[Touch, ...]:
    """What may touch, as it was."""
    try:
        return tuple(Touch(**one) for one in kept)
    except RecursaError as error:
        raise ValueError(f"its contacts: {error}") from None


def require_same_events(kept: list[list[Any]], events: tuple[Event, ...]) -> None:
    """Events of a run that goes on have to be those it began with, as far as can be told."""
    now = [[event.name, event.stop, event.direction] for event in events]
    if now == kept:
        return
    had, have = (shortened([f"'{one[0]}'" for one in rows]) or "none" for rows in (kept, now))
    changed = "" if had != have else " (stop= or direction= differ)"
    raise StateError(
        f"the run began with the events {had}; given are {have}{changed}. Functions cannot be kept in files: give the "
        "same ones again, rc.resume(path, events=...)"
    )
