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
from recursa.interop.offers import OFFERS
from recursa.interop.peer import Array, Conversion, Peer, Suspect
from recursa.model.columns import angular, freedom_names
from recursa.quantities import Quantity, quantity
from recursa.robot import Robot
from recursa.waits import now

_WORDS = {
    "poses": "poses of the links",
    "jacobians": "Jacobians of the links",
    "jacobian_derivatives": "rates of the links' Jacobians",
    "center_of_mass": "centre of mass",
}


class State(NamedTuple):
    """Where both are asked."""

    q: Array
    v: Array
    a: Array
    tau: Array


class Term(NamedTuple):
    """What is compared: a quantity, perhaps of every link."""

    quantity: Quantity
    axes: str
    per_link: bool

    def options(self, link: str) -> dict[str, Any]:
        """Those to ask it with; of the frames of a link, all programs have the mixed one."""
        own = {"link": link, "frame": "mixed"} if self.per_link else {}
        return {name: value for name, value in own.items() if name in self.quantity.options}


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
    terms = compared(peer)
    ours, notes = our_terms(_without_springs(robot), terms, drawn)
    if robot.model.has_springs:
        notes.append("springs of joints are left out on both sides")
    levels = _tolerances(terms, ours, tolerance)
    suspects = tuple(peer.suspects())

    def measured(candidate: Peer) -> dict[str, Difference]:
        found = {}
        for name in ours:
            now(f"{_WORDS.get(name, name.replace('_', ' '))} in {peer.title}")
            theirs = np.stack([their_term(candidate, terms[name], state) for state in drawn])
            found[name] = _difference(robot, name, terms[name], ours[name], theirs, levels[name])
        return found

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


def _without_springs(robot: Robot) -> Robot:
    for joint in robot.model.joints:
        if joint.stiffness:
            robot = robot.with_joint(joint.name, stiffness=0.0)
    return robot


def random_states(robot: Robot, count: int, seed: int) -> list[State]:
    """States that are not special."""
    rng = np.random.default_rng(seed)
    return [
        State(*robot.random_state(seed + k), rng.normal(size=robot.nv), rng.normal(size=robot.nv)) for k in range(count)
    ]


def compared(peer: Peer) -> dict[str, Term]:
    """Every quantity of a state that the peer offers, by name; those of one link for all links, in the plural."""
    terms = {}
    for name, offer in peer.offers.items():
        record = quantity(name)
        per_link = "link" in record.options
        if offer.axes is None or not set(record.inputs) <= set(State._fields) or (per_link and f"{name}s" in OFFERS):
            continue
        if not peer.tied or "m" not in offer.axes:
            terms[f"{name}s" if per_link else name] = Term(record, offer.axes, per_link)
    return terms


def our_terms(robot: Robot, terms: Mapping[str, Term], states: list[State]) -> tuple[dict[str, Array], list[str]]:
    """Every term for all states, and what could not be had."""
    stacked = dict(zip(State._fields, map(np.stack, zip(*states, strict=True)), strict=True))
    found, notes = {}, []
    for name, term in terms.items():
        now(_WORDS.get(name, name.replace("_", " ")))
        record = term.quantity
        arrays = {one: stacked[one] for one in record.inputs}

        def ask(link: str, record: Quantity = record, arrays: Any = arrays, term: Term = term) -> Array:
            return robot.evaluator.evaluate(record, arrays, term.options(link))

        try:
            found[name] = np.stack([ask(link) for link in robot.link_names], axis=1) if term.per_link else ask("")
        except RecursaError as error:  # a joint with nothing to move, no mass anywhere
            notes.append(f"{name.replace('_', ' ')} is left out: {error}")
    return found, notes


def their_term(peer: Peer, term: Term, state: State) -> Array:
    """The same of the peer, for one state."""
    if not term.per_link:
        return peer.folded(term.quantity.name, *state)
    links = peer.robot.link_names
    return np.stack([peer.folded(term.quantity.name, *state, **term.options(link)) for link in links])


def _tolerances(terms: Mapping[str, Term], ours: Mapping[str, Array], tolerance: float) -> dict[str, float]:
    """What is solved with the mass matrix loses as many digits as its condition has."""
    lost = 1e-14 * float(np.linalg.cond(ours["mass_matrix"]).max()) if "mass_matrix" in ours else 0.0
    return {name: tolerance + (lost if set(terms[name].axes) & {"a", "m"} else 0.0) for name in ours}


def _difference(robot: Robot, name: str, term: Term, ours: Array, there: Array, tolerance: float) -> Difference:
    error = np.abs(ours - there)
    error = np.where(np.isfinite(error), error, np.inf)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    size = max(float(np.abs(ours).max()), float(np.abs(there[np.isfinite(there)]).max(initial=0.0)))
    largest = float(error[worst])
    where, unit = _place(robot, name, term, worst[1:])
    return Difference(name, largest, size, where, unit, tolerance, largest <= tolerance * max(1.0, size))


_UNITS_OF_JOINTS = {
    "f": ("N", "N m"), "c": ("N", "N m"), "a": ("m/s^2", "rad/s^2"), "ff": ("kg", "kg m", "kg m^2"),
}  # fmt: skip # by how many of the freedoms turn


def _place(robot: Robot, name: str, term: Term, at: tuple[Any, ...]) -> tuple[str, str]:
    """Which joint or link an entry is of, and its unit."""
    freedoms, turns = freedom_names(robot.model), angular(robot.model)
    if name in ("poses", "center_of_mass"):
        own = robot.link_names[at[0]] if name == "poses" else "xyz"[at[0]]
        return own, "1" if name == "poses" and at[2] < 3 else "m"
    within = at[1:] if term.per_link else at
    joints = [k for k, letter in zip(within, term.axes, strict=True) if letter in "fcma"]
    where = ([robot.link_names[at[0]]] if term.per_link else []) + [freedoms[k] for k in joints]
    if name == "jacobians":
        return where[0], "1 or m"
    by_turning = _UNITS_OF_JOINTS.get("" if name == "coriolis_matrix" else term.axes)
    unit = (
        by_turning[sum(bool(turns[k]) for k in joints)] if by_turning else "J" if term.quantity.units == "J" else "SI"
    )
    return ", ".join(where), unit


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
    right = peer.folded("inverse_dynamics", *state)
    peer.skip = frozenset({conversion.name})
    try:
        wrong = peer.folded("inverse_dynamics", *state)
    finally:
        peer.skip = frozenset()
    return float(np.abs(right - wrong).max())
