"""Times of quantities on this machine, beside the calls of installed peers: in turns, so that noise meets all alike.

What there is to time, what it takes and how it is asked is read from the records; what peers have for it, from the
table of offers. A quantity of your own is timed like those that come with the package.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import Any

import numpy as np

import recursa.simulation.diagonal  # noqa: F401  # its records, and those of simulations in joint coordinates
from recursa.dynamics.configuration import random_input
from recursa.errors import ModelError, RecursaError
from recursa.evaluation.answering import methods_of
from recursa.interop.peer import Peer, opened
from recursa.model.model import Model
from recursa.quantities import Quantity, quantities
from recursa.robot import Robot
from recursa.sweeps.batching import Array
from recursa.sweeps.input_kinds import INPUT_KINDS

STATES = 200  # distinct states, repeated to fill a batch
TURNS = 15
SLICE = 1e-3  # seconds of a turn of one contestant, or one call if that takes longer
PATIENCE = 1.5  # seconds for all turns of a quantity, of which there are three at least
MOST_BYTES = 2**28  # of a batch's results

EXAMPLES: dict[str, Callable[[Model], Any]] = {
    "link": lambda model: model.links[-1].name,
    "other": lambda model: model.links[len(model.links) // 2].name,
    "links": lambda model: (len(model.links) - 1,),
    "rows": lambda model: (tuple(range(6)),),
    "prescribed": lambda model: tuple(joint.name for joint in model.joints[1::2] if joint.independent),
}
"""What to choose of options that have to be chosen."""


@dataclass(frozen=True)
class Timing:
    """Times of one quantity in seconds, each the least of several turns; ratios are medians of those of the turns.

    - ``call``: a call with one state; ``batch``: a state within a batch of ``states``, into a given array.
    - ``peers``: their calls with one state; ``call_ratios``, ``batch_ratios``: how many times as long these take.
    """

    quantity: str
    shape: tuple[int, ...]
    states: int
    call: float
    batch: float
    peers: dict[str, float]
    call_ratios: dict[str, float]
    batch_ratios: dict[str, float]


# ---- what there is to time -------------------------------------------------------------------------------------------


def plain_quantities() -> tuple[Quantity, ...]:
    """Those of the registry that can be asked with plain arrays."""
    return tuple(one for one in quantities() if all(_known(one, name) for name in one.inputs))


def _known(record: Quantity, name: str) -> bool:
    beginning, colon, _ = record.reads.get(name, name).partition(":")
    return beginning + colon in INPUT_KINDS


def installed_peers(robot: Robot) -> tuple[dict[str, Peer], list[str]]:
    """The robot in every peer that is installed, and why it is not in some. Peers know no ties and no constraints."""
    if robot.constraints:
        return {}, ["other libraries are handed the tree without its constraints: no times of theirs"]
    peers: dict[str, Peer] = {}
    remarks = []
    for column in ("pinocchio", "mujoco"):
        if find_spec(column) is None:
            remarks.append(f"{column} is not installed")
            continue
        try:
            peer = opened(column, robot)
        except ModelError as error:
            remarks.append(f"{column} cannot have this robot: {error}")
            continue
        if peer.tied:
            remarks.append(f"joints are tied here and free in {column}: no times of its")
        else:
            peers[column] = peer
    return peers, remarks


# ---- one question ----------------------------------------------------------------------------------------------------


class Asked:
    """A quantity with random arrays and with options that it can be asked with: of us, and of peers."""

    def __init__(self, robot: Robot, record: Quantity, states: int, options: Mapping[str, Any] | None = None) -> None:
        self.robot, self.record, self.states = robot, record, states
        self.needed = dict(options or {})
        for name in record.options:
            if name not in record.defaults and name not in self.needed:
                if name not in EXAMPLES:
                    raise RecursaError(f"{record.name} needs the option {name}=")
                self.needed[name] = EXAMPLES[name](robot.model)

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """For every state of the batch."""
        rng, model = np.random.default_rng(0), self.robot.model
        found = {}
        for name in self.record.inputs:
            kind = self.record.kind(name)
            distinct = np.array([random_input(model, kind, rng) for _ in range(min(STATES, self.states))])
            distinct = distinct.reshape(len(distinct), *kind.axes(model, 0))
            found[name] = np.concatenate([distinct] * -(-self.states // len(distinct)))[: self.states]
        return found

    @cached_property
    def rows(self) -> list[tuple[Array, ...]]:
        """The arrays of single states."""
        return [tuple(x[k] for x in self.arrays.values()) for k in range(min(STATES, self.states))]

    def whole(self, out: Array | None = None, threads: int | None = 1) -> Array:
        """The batch."""
        return self.robot.evaluator.evaluate(self.record, self.arrays, self.needed, out=out, threads=threads)

    @cached_property
    def single(self) -> Callable[..., Any]:
        """A call with one state: a method of the robot's if there is one, else of its evaluator."""
        diagonal = self.robot.diagonal
        given = {*self.record.inputs, *self.needed}
        for holder in (self.robot, diagonal, diagonal.unnormalized):
            method = methods_of(holder).get(self.record)
            if method is not None and given >= {x.name for x in _parameters(method) if x.default is x.empty}:
                return self._spelled(method)
        ask, record, needed = self.robot.evaluator.evaluate, self.record, self.needed
        return lambda *arrays: ask(record, dict(zip(record.inputs, arrays, strict=True)), needed)

    def _spelled(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method with its options, that takes the arrays in their order."""
        inputs, needed = self.record.inputs, self.needed
        first = tuple(x.name for x in _parameters(method))[: len(inputs)]
        if first != inputs:  # an option stands between them
            return lambda *arrays: method(**dict(zip(inputs, arrays, strict=True)), **needed)
        return partial(method, **needed) if needed else method

    def of_peer(self, peer: Peer) -> tuple[Callable[..., Any], list[tuple[Array, ...]]] | None:
        """A peer's call with one state and the states in its conventions; None where it does not offer the same."""
        offer = peer.offers.get(self.record.name)
        call = None if offer is None else offer.call(peer, **self.needed)
        if call is None:
            return None
        return call, [tuple(peer.translated(self.record, row)[0]) for row in self.rows]


def _parameters(method: Callable[..., Any]) -> Iterable[Parameter]:
    return signature(method).parameters.values()


# ---- times -----------------------------------------------------------------------------------------------------------


def timing(
    robot: Robot,
    record: Quantity,
    *,
    batch: int = 512,
    threads: int | None = 1,
    peers: Mapping[str, Peer] | None = None,
    options: Mapping[str, Any] | None = None,
    turns: int = TURNS,
) -> Timing:
    """Times of one quantity; ``options`` it is asked with, beside those that need not be given.

    >>> import recursa as rc
    >>> from recursa.quantities import quantity
    >>> found = timing(rc.robots.planar(2), quantity("mass_matrix"), batch=8, turns=3)
    >>> found.quantity, found.shape, found.states, min(found.call, found.batch) > 0.0
    ('mass_matrix', (2, 2), 8, True)
    """
    shape = Asked(robot, record, 1, options).whole().shape[1:]
    asked = Asked(robot, record, max(1, min(batch, MOST_BYTES // (8 * max(1, math.prod(shape))))), options)
    out = asked.whole()
    works = {"batch": Work(lambda: asked.whole(out, threads), asked.states), "call": calls(asked.single, asked.rows)}
    for name, peer in (peers or {}).items():
        theirs = asked.of_peer(peer)
        if theirs is not None:
            works[name] = calls(*theirs)
    seconds = in_turns(works, turns)
    least = {name: float(times.min()) for name, times in seconds.items()}
    call, batched = least.pop("call"), least.pop("batch")

    def ratios(own: str) -> dict[str, float]:
        return {name: float(np.median(seconds[name] / seconds[own])) for name in least}

    return Timing(record.name, shape, asked.states, call, batched, least, ratios("call"), ratios("batch"))


@dataclass
class Work:
    """Something to be timed, and how many evaluations it is."""

    run: Callable[[], Any]
    evaluations: int


def calls(function: Callable[..., Any], rows: list[tuple[Array, ...]]) -> Work:
    """As many calls as fill a slice; the first ones compile and learn."""
    for row in rows[:3]:
        function(*row)
    start = time.perf_counter()
    function(*rows[0])
    count = int(min(len(rows), max(1.0, SLICE / max(1e-9, time.perf_counter() - start))))
    return Work(partial(each, function, rows[:count]), count)


def each(function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> None:
    """A call for every row."""
    for row in rows:
        function(*row)


def in_turns(works: Mapping[str, Work], turns: int) -> dict[str, Array]:
    """Seconds per evaluation, turn by turn; every work has its turn in each."""
    found: dict[str, list[float]] = {name: [] for name in works}
    began = time.perf_counter()
    for turn in range(turns):
        for name, work in works.items():
            start = time.perf_counter()
            work.run()
            found[name].append((time.perf_counter() - start) / work.evaluations)
        if turn >= 2 and time.perf_counter() - began > PATIENCE:
            break
    return {name: np.array(times) for name, times in found.items()}
