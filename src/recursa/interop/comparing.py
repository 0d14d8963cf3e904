"""Our terms against a peer's, at random states, with the reason where they differ.

A reason is not guessed. What differs in the peer's model (its :meth:`suspects`) is put right: if a difference vanishes
with all of it, suspects are let go one by one as long as it stays away, and those that are left are the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from recursa.errors import RecursaError
from recursa.interop.peer import Array, Conversion, Peer, Suspect
from recursa.robot import Robot
from recursa.trajectories.columns import angular, freedom_names

_JOINTWISE = ("inverse_dynamics", "bias_forces", "gravity_forces", "forward_dynamics", "mass_matrix")
_WORDS = {
    "poses": "poses of the links",
    "jacobians": "Jacobians of the links",
    "center_of_mass": "centre of mass",
}


class State(NamedTuple):
    """Where both are asked."""

    q: Array
    v: Array
    a: Array
    tau: Array


@dataclass(frozen=True)
class Difference:
    """The largest difference of a quantity: how much, relative to what, where, whether that is too much and why.

    ``reasons`` are the suspects that explain it; None where nothing that is known explains it.
    """

    quantity: str
    largest: float
    size: float
    where: str
    unit: str
    tolerance: float
    agrees: bool
    reasons: tuple[str, ...] | None = ()

    @property
    def words(self) -> str:
        """The quantity as people say it."""
        return _WORDS.get(self.quantity, self.quantity.replace("_", " "))


@dataclass(frozen=True)
class Comparison:
    """All differences; ``suspects`` by name, ``conversions`` with what they are worth in inverse dynamics."""

    robot: Robot
    peer: Peer
    states: int
    differences: tuple[Difference, ...]
    suspects: tuple[Suspect, ...]
    conversions: tuple[tuple[Conversion, float], ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def agrees(self) -> bool:
        """Whether everything does."""
        return all(difference.agrees for difference in self.differences)

    @property
    def reasons(self) -> list[Suspect]:
        """The suspects that turned out to be reasons."""
        named = {name for difference in self.differences for name in difference.reasons or ()}
        return [suspect for suspect in self.suspects if suspect.name in named]

    @property
    def unexplained(self) -> list[Difference]:
        """Differences without a known reason."""
        return [difference for difference in self.differences if difference.reasons is None]


def compare(robot: Robot, peer: Peer, *, states: int = 5, seed: int = 0, tolerance: float = 1e-9) -> Comparison:
    """Compare every term at random states.

    >>> import recursa as rc
    >>> from recursa.interop.mujoco import InMujoco
    >>> arm = rc.robots.stanford()
    >>> compare(arm, InMujoco(arm), states=1).agrees
    True
    """
    if not robot.nv:
        raise RecursaError(f"robot '{robot.name}' has no joints that move: there is nothing to compare")
    drawn = random_states(robot, states, seed)
    ours, notes = our_terms(robot, drawn)
    levels = _tolerances(ours, tolerance)
    suspects = tuple(peer.suspects())

    def measured(candidate: Peer) -> dict[str, Difference]:
        theirs = [candidate.terms(*state) for state in drawn]
        return {name: _difference(robot, name, ours[name], theirs, levels[name]) for name in ours}

    found = measured(peer)
    cache: dict[frozenset[str], dict[str, Difference]] = {frozenset(): found}

    def agrees(name: str, repairs: frozenset[str]) -> bool:
        if repairs not in cache:
            cache[repairs] = measured(peer.repaired(repairs))
        return cache[repairs][name].agrees

    explained = []
    for name, difference in found.items():
        reasons: tuple[str, ...] | None = ()
        if not difference.agrees:
            reasons = _reasons([suspect.name for suspect in suspects], lambda repairs, n=name: agrees(n, repairs))  # type: ignore[misc]
        explained.append(Difference(**{**vars(difference), "reasons": reasons}))
    if peer.tied:
        notes.append(f"mimic joints are tied here and free in {peer.title}: its terms are folded, tau = T' tau_free")
    worth = tuple((conversion, _worth(peer, conversion, drawn[0])) for conversion in peer.conversions())
    return Comparison(robot, peer, states, tuple(explained), suspects, worth, tuple(notes))


def random_states(robot: Robot, count: int, seed: int) -> list[State]:
    """States that are not special."""
    rng = np.random.default_rng(seed)
    return [
        State(*robot.random_state(seed + k), rng.normal(size=robot.nv), rng.normal(size=robot.nv)) for k in range(count)
    ]


def our_terms(robot: Robot, states: list[State]) -> tuple[dict[str, Array], list[str]]:
    """Every quantity for all states, and what could not be had."""
    q, v, a, tau = (np.stack(part) for part in zip(*states, strict=True))
    notes = []
    terms: dict[str, Array] = {"poses": robot.poses(q)}
    terms["jacobians"] = np.stack([robot.jacobian(q, name, frame="mixed") for name in robot.link_names], axis=-3)
    asked: dict[str, Callable[[], Any]] = {
        "center_of_mass": lambda: robot.center_of_mass(q),
        "mass_matrix": lambda: robot.mass_matrix(q),
        "gravity_forces": lambda: robot.gravity_forces(q),
        "bias_forces": lambda: robot.bias_forces(q, v),
        "inverse_dynamics": lambda: robot.inverse_dynamics(q, v, a),
        "forward_dynamics": lambda: robot.forward_dynamics(q, v, tau),
        "kinetic_energy": lambda: robot.kinetic_energy(q, v),
        "potential_energy": lambda: robot.potential_energy(q),
    }
    for name, ask in asked.items():
        try:
            terms[name] = np.asarray(ask())
        except RecursaError as error:  # a joint with nothing to move, no mass anywhere
            notes.append(f"{name.replace('_', ' ')} is left out: {error}")
    return terms, notes


def _tolerances(ours: Mapping[str, Array], tolerance: float) -> dict[str, float]:
    """Accelerations lose as many digits as the condition of the mass matrix has."""
    levels = dict.fromkeys(ours, tolerance)
    if "forward_dynamics" in ours:
        levels["forward_dynamics"] += 1e-14 * float(np.linalg.cond(ours["mass_matrix"]).max())
    return levels


def _difference(robot: Robot, name: str, ours: Array, theirs: list[dict[str, Any]], tolerance: float) -> Difference:
    there = np.stack([np.asarray(each[name], dtype=float) for each in theirs])
    error = np.abs(ours - there)
    error = np.where(np.isfinite(error), error, np.inf)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    size = max(float(np.abs(ours).max()), float(np.abs(there[np.isfinite(there)]).max(initial=0.0)))
    largest = float(error[worst])
    where, unit = _place(robot, name, worst[1:])
    return Difference(name, largest, size, where, unit, tolerance, largest <= tolerance * max(1.0, size))


def _place(robot: Robot, name: str, at: tuple[Any, ...]) -> tuple[str, str]:
    """Which joint or link an entry is of, and its unit."""
    if name in _JOINTWISE:
        freedoms, turns = freedom_names(robot.model), angular(robot.model)
        if name == "mass_matrix":
            units = {2: "kg m^2", 1: "kg m", 0: "kg"}
            return f"{freedoms[at[0]]}, {freedoms[at[1]]}", units[turns[at[0]] + turns[at[1]]]
        units_of = ("rad/s^2", "m/s^2") if name == "forward_dynamics" else ("N m", "N")
        return freedoms[at[0]], units_of[0 if turns[at[0]] else 1]
    if name in ("poses", "jacobians"):
        unit = ("1" if at[2] < 3 else "m") if name == "poses" else "1 or m"
        return robot.link_names[at[0]], unit
    return ("xyz"[at[0]], "m") if name == "center_of_mass" else ("", "J")


def _reasons(names: list[str], agrees: Callable[[frozenset[str]], bool]) -> tuple[str, ...] | None:
    """The fewest repairs, none of which can be spared, with which a difference vanishes; None if not even all help."""
    kept = frozenset(names)
    if not kept or not agrees(kept):
        return None
    for name in names:
        if agrees(kept - {name}):
            kept -= {name}
    return tuple(name for name in names if name in kept)


def _worth(peer: Peer, conversion: Conversion, state: State) -> float:
    """How far torques would be off if a convention were not translated."""
    right = peer.terms(*state)["inverse_dynamics"]
    peer.skip = frozenset({conversion.name})
    try:
        wrong = peer.terms(*state)["inverse_dynamics"]
    finally:
        peer.skip = frozenset()
    return float(np.abs(np.asarray(right) - np.asarray(wrong)).max())
