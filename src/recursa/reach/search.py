"""The search: many targets, each from several starts, stepped together; the first start that leads there counts.

What becomes of a target depends on its own starts alone, in their order, never on what else is in the batch: how many
are under way at once is a matter of speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recursa.evaluation.evaluator import Evaluator, Question
from recursa.reach.ranges import Ranges
from recursa.reach.starts import StartsInTurn
from recursa.reach.steps import PATIENCE, REACHING
from recursa.sweeps.batching import Array

STEPS, LOOKS = 4, 16  # steps between two looks at what goes on, and such looks at one attempt
NEAREST = 25  # looks at what cannot be reached
MOST_AT_ONCE = 8  # attempts at one target, as many as fit into registers
WORTH_A_CALL = 512  # rows; with fewer, several attempts at a target cost no more than one


@dataclass(frozen=True)
class Search:
    """What is wanted of B targets: poses (B, 12), tolerances of angle and distance, and what may move how far."""

    evaluator: Evaluator
    options: Mapping[str, str]
    targets: Array
    tolerance: tuple[float, float]
    ranges: Ranges

    def _entry(self) -> Any:
        """The way straight into native code, which takes plain arrays of two rows or more; None where there is none."""
        question = Question.of(REACHING, (), self.options)
        found = self.evaluator.kept.get(question) or self.evaluator.entry(question)
        if found is not None:  # there is none before the code was made, which answering does
            self.evaluator.kept[question] = found
        return found

    def run(self, starts: StartsInTurn, count: int) -> Found:
        """Up to so many attempts at every target."""
        left = np.arange(len(self.targets))
        best, tried = Found(starts.home), 0
        while len(left) and tried < count:
            width = min(MOST_AT_ONCE, max(1, WORTH_A_CALL // len(left)), count - tried)
            best.take(left, self._round(left, starts(left, width)), tried)
            left, tried = left[~best.solved[left]], tried + width
        if len(left):
            best.square[left] = np.inf  # what is known of attempts without end is a step behind
            best.take(left, self._nearest(left, best.q[left]), tried - 1)
        return best

    def _round(self, targets: Array, starts: Array) -> Found:
        """So many attempts at some of the targets, from starts (n, width, nq)."""
        count, width, nq = starts.shape
        every = Found(starts.reshape(-1, nq))
        rows = np.arange(count * width)
        of = np.repeat(targets, width)
        course = np.tile([*self.tolerance, np.inf, 0.0, 0.0, 0.0], (len(rows), 1))
        given = self._given(of)
        q, entry = every.q, self._entry()
        for _ in range(LOOKS):
            q, course, error = self._stepped(entry, q, course, given)
            over = course[:, -1] == 0.0
            if over.all() or (len(rows) == len(of) and _decided(over, course, width)):
                break
            if len(rows) > MOST_AT_ONCE and 4 * np.count_nonzero(over) > len(rows):  # else they cost little
                every.q[rows[over]], every.error[rows[over]] = q[over], error[over]
                rows, q, course, error, *given = (x[~over] for x in (rows, q, course, error, *given))
        every.q[rows], every.error[rows] = q, error
        every.judge(self.tolerance)
        return every.first_of_each(width)

    def _nearest(self, targets: Array, q: Array) -> Found:
        """From positions that miss some targets to where they are missed by less: steps that are never given up."""
        entry, given = self._entry(), self._given(targets)
        course = np.tile([*self.tolerance, 0.0, -np.inf, 0.0, 0.0], (len(q), 1))
        ends = []
        for looks in (0, NEAREST):
            for _ in range(looks):
                q, course, _ = self._stepped(entry, q, course, given)
            ends.append(Found(q, self._step(entry, q, course, given)[2]))
            ends[-1].judge(self.tolerance)
        before, after = ends
        before.take(np.arange(len(q)), after, 0)
        return before

    def _given(self, targets: Array) -> list[Array]:
        return [self.targets[targets], self.ranges.low[targets], self.ranges.high[targets]]

    def _stepped(self, entry: Any, q: Array, course: Array, given: list[Array]) -> tuple[Array, Array, Array]:
        """Positions after some steps, how it goes, and the errors before the last step: theirs where all is over."""
        for _ in range(STEPS):
            q, course, error = self._step(entry, q, course, given)
        return q, course, error

    def _step(self, entry: Any, q: Array, course: Array, given: list[Array]) -> tuple[Array, Array, Array]:
        """Positions after a step, how it goes, and the errors before it."""
        nq, result = self.evaluator.model.nq, NotImplemented if entry is None else entry(q, course, *given)
        if result is NotImplemented:
            arguments = dict(zip(REACHING.inputs, (q, course, *given), strict=True))
            result = self.evaluator.evaluate(REACHING, arguments, self.options)
        return result[:, :nq].copy(), result[:, nq : nq + 6].copy(), result[:, nq + 6 :]


def _decided(over: Array, course: Array, width: int) -> bool:
    """Whether each target was reached by an attempt before which all others are over."""
    before = np.logical_and.accumulate(over.reshape(-1, width), axis=1)
    return bool((before & (course[:, 3] <= PATIENCE).reshape(-1, width)).any(axis=1).all())


class Found:
    """Positions (B, nq), errors (B, 6), whether they are within the tolerances, and by which attempt."""

    def __init__(self, q: Array, error: Array | None = None) -> None:
        """Without an error nothing is known yet."""
        self.q = q.copy()
        self.error = np.full((len(q), 6), np.inf) if error is None else error
        self.solved = np.zeros(len(q), bool)
        self.attempt = np.zeros(len(q), int)
        self.square = np.full(len(q), np.inf)

    def judge(self, tolerance: tuple[float, float]) -> None:
        """Squares of errors, and whether they are small."""
        squares = np.square(self.error)
        angle, distance = squares[:, 0] + squares[:, 1] + squares[:, 2], squares[:, 3] + squares[:, 4] + squares[:, 5]
        self.square = angle + distance
        self.solved = (angle <= tolerance[0] ** 2) & (distance <= tolerance[1] ** 2)

    def first_of_each(self, width: int) -> Found:
        """Of so many attempts at each target: the first that led there, else the one with the least error."""
        solved, square = self.solved.reshape(-1, width), self.square.reshape(-1, width)
        attempt = np.where(solved.any(axis=1), solved.argmax(axis=1), square.argmin(axis=1))
        rows = np.arange(len(solved)) * width + attempt
        chosen = Found(self.q[rows], self.error[rows])
        chosen.solved, chosen.square, chosen.attempt = self.solved[rows], self.square[rows], attempt
        return chosen

    def take(self, targets: Array, other: Found, tried: int) -> None:
        """What further attempts have found, where it is better."""
        better = other.solved | (other.square < self.square[targets])
        rows = targets[better]
        self.q[rows], self.error[rows] = other.q[better], other.error[better]
        self.solved[rows], self.square[rows] = other.solved[better], other.square[better]
        self.attempt[rows] = tried + other.attempt[better]
