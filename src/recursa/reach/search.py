"""The search: many targets, each from several starts, stepped together; the first start that leads there counts.

What becomes of a target depends on its own starts alone, in their order, never on what else is in the batch: how many are
under way at once is a matter of speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recursa.evaluation.evaluator import Evaluator, Question
from recursa.reach.ranges import Ranges
from recursa.reach.starts import StartsInTurn
from recursa.reach.steps import REACHING
from recursa.sweeps.batching import Array

STEPS = 4  # between two looks at the errors
LOOKS = 12  # at one attempt
SLOW = 0.25  # an error whose square has not become smaller by this factor since the last look is slow,
PATIENCE = 3  # and one that was slow so often will hardly vanish: another start is the better bet
MOST_AT_ONCE = 8  # attempts at one target, as many as fit into registers
WORTH_A_CALL = 512  # rows; with fewer, several attempts at a target cost no more than one


@dataclass(frozen=True)
class Search:
    """What is wanted of B targets: poses (B, 12), the tolerance (6,) and what may move how far."""

    evaluator: Evaluator
    options: Mapping[str, str]
    targets: Array
    tolerance: Array
    ranges: Ranges

    def run(self, starts: StartsInTurn, count: int) -> Found:
        """Up to so many attempts at every target."""
        left = np.arange(len(self.targets))
        best, tried = Found.nothing(starts.home), 0
        while len(left) and tried < count:
            width = min(MOST_AT_ONCE, max(1, WORTH_A_CALL // len(left)), count - tried)
            attempts = np.stack([starts(left) for _ in range(width)], axis=1)
            best.take(left, self._round(left, attempts), tried)
            left, tried = left[~best.solved[left]], tried + width
        return best

    def _round(self, targets: Array, starts: Array) -> Found:
        """Attempts (n, width, nq) at some targets."""
        count, width, nq = starts.shape
        every = Found.nothing(starts.reshape(-1, nq))
        every.attempt[:] = np.tile(np.arange(width), count)
        live, slow, before = np.arange(count * width), np.zeros(count * width, int), np.full(count * width, np.inf)
        first = np.full(count, width)  # of the attempts that led to a target
        given = self._given(np.repeat(targets, width))
        for _ in range(LOOKS):
            every.q[live], every.error[live] = self._stepped(every.q[live], [x[live] for x in given])
            every.judge(live, self.tolerance)
            done = live[every.solved[live]]
            np.minimum.at(first, done // width, every.attempt[done])
            now = every.square[live]
            slow[live] += now > SLOW * before[live]
            before[live] = now
            wanted = ~every.solved[live] & (slow[live] < PATIENCE) & (every.attempt[live] < first[live // width])
            live = live[wanted]
            if not len(live):
                break
        return every.first_of_each(width)

    def _given(self, targets: Array) -> list[Array]:
        tolerance = np.broadcast_to(self.tolerance, (len(targets), len(self.tolerance)))
        return [self.targets[targets], tolerance, self.ranges.low[targets], self.ranges.high[targets]]

    def _stepped(self, q: Array, given: list[Array]) -> tuple[Array, Array]:
        """Positions after some steps, and the errors before the last one: where that is small, they are the same.

        Calls go straight into native code where there is some, which takes plain arrays of two rows or more.
        """
        entry = self.evaluator.entry(Question.of(REACHING, (), self.options)) if len(q) > 1 else None
        for _ in range(STEPS):
            result = NotImplemented if entry is None else entry(q, *given)
            if result is NotImplemented:
                arguments = dict(zip(REACHING.inputs, (q, *given), strict=True))
                result = self.evaluator.evaluate(REACHING, arguments, self.options)
            q = np.ascontiguousarray(result[:, : self.evaluator.model.nq])
        return q, result[:, self.evaluator.model.nq :]


@dataclass
class Found:
    """Positions (B, nq), errors (B, 6), whether they are within the tolerance, and by which attempt."""

    q: Array
    error: Array
    solved: Array
    attempt: Array
    square: Array

    @staticmethod
    def nothing(q: Array) -> Found:
        """No attempt was made yet."""
        count = len(q)
        error, square = np.full((count, 6), np.inf), np.full(count, np.inf)
        return Found(q.copy(), error, np.zeros(count, bool), np.zeros(count, int), square)

    def judge(self, rows: Array, tolerance: Array) -> None:
        """Squares of errors, and whether they are small."""
        squares = np.square(self.error[rows])
        angle, distance = squares[:, 0] + squares[:, 1] + squares[:, 2], squares[:, 3] + squares[:, 4] + squares[:, 5]
        self.square[rows] = angle + distance
        self.solved[rows] = (angle <= tolerance[0] ** 2) & (distance <= tolerance[1] ** 2)

    def first_of_each(self, width: int) -> Found:
        """Of so many attempts at each target: the first that led there, else the one with the least error."""
        solved, square = self.solved.reshape(-1, width), self.square.reshape(-1, width)
        chosen = np.where(solved.any(axis=1), solved.argmax(axis=1), square.argmin(axis=1))
        rows = np.arange(len(solved)) * width + chosen
        return Found(self.q[rows], self.error[rows], self.solved[rows], self.attempt[rows], self.square[rows])

    def take(self, targets: Array, other: Found, tried: int) -> None:
        """What further attempts have found, where it is better."""
        better = other.solved | (other.square < self.square[targets])
        rows = targets[better]
        self.q[rows], self.error[rows] = other.q[better], other.error[better]
        self.solved[rows], self.square[rows] = other.solved[better], other.square[better]
        self.attempt[rows] = tried + other.attempt[better]
