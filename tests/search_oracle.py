"""The search of inverse kinematics in NumPy, whole batches at a time: a clear slow form of ``_search.c``.

What becomes of a target depends on its own starts alone, in their order, never on what else is in the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import numpy as np

from recursa.reach.inverse_kinematics import Prepared
from recursa.reach.ranges import Ranges
from recursa.reach.search_steps import Motions
from recursa.sweeps.batching import Array

BLOCK = 256  # targets at a time whose starts are compared


@contextmanager
def searching() -> Iterator[None]:
    """Robots whose goals are new search by what is here."""
    with mock.patch.object(Prepared, "_made", lambda self: PlainSearch(self.motions, self.ranges, self.starts)):
        yield


def evaluate(motions: Motions, name: str, *rows: Array) -> Array:
    """One of the functions of a search on rows of numbers (n, ...), one after the other as its inputs are."""
    count = len(rows[0])
    with np.errstate(all="ignore"):
        columns = motions.functions[name][0](*(list(np.ascontiguousarray(x.T)) for x in rows))
    return np.stack([np.broadcast_to(np.asarray(x, float), count) for x in columns], axis=1)


@dataclass
class Ended:
    """How attempts (n) have ended: positions, errors, misses by level, whether they led there, after how many steps."""

    q: Array
    errors: Array
    misses: Array
    won: Array
    steps: Array

    def put(self, rows: Array, other: Ended, which: Array) -> None:
        """Some of others in place of these."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[rows[which]] = theirs[which]


@dataclass(frozen=True)
class PlainSearch:
    """The search on arrays; called as the native one is."""

    motions: Motions
    ranges: Ranges
    starts: Array

    def __call__(
        self,
        wanted: Array,
        home: Array,
        posture: Array,
        ranges: Array,
        moving_q: Array,
        settings: Array,
        attempts: int,
        from_home: bool,
        q: Array,
        errors: Array,
        downhill: Array,
        told: Array,
    ) -> int:
        """Fill the last four: positions, errors, the way downhill, and (solved, attempts, iterations).

        Returns how many targets were missed.
        """
        count = len(wanted)
        levels, rows = self.motions.goals.levels, self.motions.goals.rows
        best = Ended(
            home.copy(), np.full((count, rows), np.inf), np.full((count, levels), np.inf), np.zeros(count, bool),
            np.zeros(count, int),
        )  # fmt: skip
        attempt, steps = np.zeros(count, int), np.zeros(count, int)
        order = self._order(wanted, settings[2])
        left = np.arange(count)
        for number in range(attempts):
            place = number - from_home
            start = home[left] if place < 0 else self.starts[order[left, place]]
            start = np.where(moving_q != 0.0, start, home[left])
            one, bounds = self.ranges.single_q, (x[self.ranges.single_v] for x in (self.ranges.low, self.ranges.high))
            start[:, one] = np.clip(start[:, one], *bounds)
            ended = self._attempt(start, wanted[left], posture[left], settings, nearing=False)
            better = ended.won | _less(ended.misses, best.misses[left])
            best.put(left, ended, better)
            attempt[left[better]] = number
            steps[left] += ended.steps
            left = left[~ended.won]
            if not len(left):
                break
        if len(left):
            attempt[left] = attempts - 1
            ended = self._attempt(best.q[left], wanted[left], posture[left], settings, nearing=True)
            best.put(left, ended, ended.won | _less(ended.misses, best.misses[left]))
            steps[left] += ended.steps
        q[...], errors[...] = best.q, best.errors
        q[:, self.ranges.angles] -= 2.0 * np.pi * np.round(q[:, self.ranges.angles] / (2.0 * np.pi))
        told[:, 0], told[:, 1], told[:, 2] = best.won, attempt + 1, steps
        missed = np.flatnonzero(~best.won)
        if len(missed):
            moving = np.broadcast_to(self.ranges.moving, (len(missed), len(self.ranges.moving)))
            downhill[missed] = evaluate(
                self.motions, "downhill", self.motions.frames(q[missed]), wanted[missed], moving
            )
        return len(missed)

    def _order(self, wanted: Array, scale: float) -> Array:
        """The starts (B, n) of every target from near to far."""
        frames, found = self.motions.frames(self.starts), []
        for start in range(0, len(wanted), BLOCK):
            some = wanted[start : start + BLOCK]
            here = np.tile(frames, (len(some), 1)), np.repeat(some, len(frames), axis=0)
            far = evaluate(self.motions, "distance", *here, np.full((len(here[0]), 1), scale))
            found.append(far.reshape(len(some), -1).argsort(axis=1, kind="stable"))
        return np.concatenate(found) if found else np.zeros((0, len(frames)), int)

    def _attempt(self, q: Array, wanted: Array, posture: Array, settings: Array, *, nearing: bool) -> Ended:
        """From starts (n, nq) to where the goals are met, or where nothing comes of it."""
        patience, most, nearest, posture_steps, share, settled, longest, shorter = settings[3:]
        limit = (nearest if nearing else most) + (posture_steps if posture.shape[1] else 0.0)
        goals, count, q = self.motions.goals, len(q), q.copy()
        ended = Ended(
            q,
            np.empty((count, goals.rows)),
            np.empty((count, goals.levels)),
            np.zeros(count, bool),
            np.zeros(count, int),
        )
        at, least, waited = np.zeros(count, int), np.full(count, np.inf), np.zeros(count)
        on, n = np.arange(count), 0
        while len(on):
            settling = posture.shape[1] > 0 and n < posture_steps
            control = np.tile([*settings[:2], share if settling else 0.0, longest], (len(on), 1))
            bounds = [np.tile(x, (len(on), 1)) for x in (self.ranges.low, self.ranges.high, self.ranges.moving)]
            told = evaluate(
                self.motions, "step", q[on], self.motions.frames(q[on]), wanted[on], *bounds, posture[on], control
            )
            after, errors, misses, moved = np.split(told, np.cumsum([q.shape[1], goals.rows, goals.levels]), axis=1)
            n, longest = n + 1, longest * shorter
            level = np.logical_and.accumulate(misses == 0.0, axis=1).sum(axis=1)  # the first that is not met
            there = level == goals.levels
            miss = misses[np.arange(len(on)), np.minimum(level, goals.levels - 1)]
            ended.errors[on], ended.misses[on], ended.steps[on] = errors, misses, n
            ended.won[on] = there & ((moved[:, 0] <= settled) | (not settling))
            progress = ~there & ((level > at[on]) | ((level == at[on]) & (miss < 0.75 * least[on])))
            at[on], least[on] = np.where(progress, level, at[on]), np.where(progress, miss, least[on])
            waited[on] = np.where(progress | there, 0.0, waited[on] + 1.0)
            goes_on = ~ended.won[on] & (n < limit) & ((waited[on] <= patience) | nearing)
            q[on[goes_on]] = after[goes_on]
            on = on[goes_on]
        return ended


def _less(misses: Array, others: Array) -> Array:
    """Which rows (n, levels) are less than others, the first level first."""
    less, equal = np.zeros(len(misses), bool), np.ones(len(misses), bool)
    for mine, theirs in zip(misses.T, others.T, strict=True):
        less |= equal & (mine < theirs)
        equal &= mine == theirs
    return less
