"""Eight threads at the same kernels, from the first call on: every result has the bits computed beforehand."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from numeric import same_bits
from questions import ONE_OF_EVERY_SORT, QUESTIONS, arguments

pytestmark = pytest.mark.compiled

THREADS = 8
FEW, MANY = 13, 8_200  # the latter is enough for two threads inside
ROBOTS = (
    lambda: rc.robots.planar(2),
    lambda: rc.robots.chain(3, seed=4, joints="mixed"),
    lambda: rc.robots.free_flyer(1).with_gravity((0.3, -0.2, -9.8)),
)
CACHES = ("off", "cold", "warm")  # kernels compiled by all, written to disk by all, read from there by all


class Anvil:
    """A robot, rows of arguments for it, and the results they have to give, computed by one thread."""

    def __init__(self, number: int) -> None:
        self.make = ROBOTS[number]
        robot = self.make()
        drawn = arguments(robot, FEW, seed=number)
        self.few = {what: [drawn[name] for name in QUESTIONS[what].names] for what in ONE_OF_EVERY_SORT}
        self.many = {what: [np.resize(x, (MANY, x.shape[1])) for x in few] for what, few in self.few.items()}
        self.expected: dict[str, np.ndarray] = {}
        for what, few in self.few.items():
            self.expected[what] = QUESTIONS[what].method(robot)(*few)

    def strike(self, robot: rc.Robot, rng: np.random.Generator, until: float) -> int:
        """Ask a robot that others are asking, too: every question once and then until the time is up."""
        asked = 0
        table = {what: QUESTIONS[what].method(robot) for what in self.few}
        while asked == 0 or time.monotonic() < until:
            for what in rng.permutation(list(table)).tolist():
                method = table[what]
                expected, form = self.expected[what], int(rng.integers(4))
                if form == 0:
                    found = method(*self.many[what], threads=2)
                    expected = np.resize(expected, (MANY, *expected.shape[1:]))
                elif form == 1:
                    found = method(*self.few[what])
                else:
                    row = int(rng.integers(FEW))
                    found, expected = method(*(x[row] for x in self.few[what])), expected[row]
                same_bits(found, expected, f"{robot.name}: {what}, form {form}")
                asked += 1
        return asked


def hammer(seconds: float, pause: float, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of ``pause`` seconds with new robots each, all three ways of caching in turn."""
    monkeypatch.setenv("RECURSA_CACHE", "off")
    anvils = [Anvil(number) for number in range(len(ROBOTS))]
    end, done, asked = time.monotonic() + seconds, 0, 0
    with ThreadPoolExecutor(THREADS) as pool:
        while done < len(CACHES) or time.monotonic() < end:
            kind = CACHES[done % len(CACHES)]
            cache = {"off": "off", "cold": f"{folder / str(done)}", "warm": f"{folder / str(done - 1)}"}[kind]
            monkeypatch.setenv("RECURSA_CACHE", cache)
            robots = [anvil.make() for anvil in anvils]  # what the last round compiled is freed meanwhile
            barrier = threading.Barrier(THREADS)
            until = time.monotonic() + pause

            def work(number: int, seed: int, robots=robots, barrier=barrier, until=until) -> int:
                barrier.wait(60)
                chosen = (number + seed) % len(robots)
                return anvils[chosen].strike(robots[chosen], np.random.default_rng([number, seed]), until)

            asked += sum(pool.map(work, range(THREADS), [done] * THREADS))
            done += 1
    assert asked >= done * THREADS * len(anvils[0].expected)


def test_hammered_kernels_match_the_unhurried_for_a_moment(tmp_path, monkeypatch):
    hammer(2.0, 0.1, tmp_path, monkeypatch)


@pytest.mark.slow
def test_hammered_kernels_match_the_unhurried_for_long(tmp_path, monkeypatch):
    hammer(30.0, 0.5, tmp_path, monkeypatch)
