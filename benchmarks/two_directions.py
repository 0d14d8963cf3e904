"""One state of a long free-flying chain on two lanes or two threads: what the independence of the directions buys.

``python benchmarks/two_directions.py`` prints the tables of docs/notes/measurements.md, "Two directions side by side".

Two ways to share the work, both written by the kernel writer of the library:

- The two directions of the base-invariant algorithm (Jain & Rodriguez, Algorithm 3.3): messages inward on one thread,
  outward on the other, then half of the links each.
- Meeting in the middle: the chain re-rooted at its middle link has two equal branches. Each goes in by itself, the two
  messages are added at the middle, each goes out by itself: on two threads, or in the two lanes of one vector.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from two_lanes import OnLanes, bound, gather, joined, moved, sizes, split
from two_threads import HELPER_ONCE, MAIN, PART, SERIAL, OnThreads, directions_on_threads, middle_on_threads

import recursa as rc
from recursa.dynamics.articulated_bodies import forward_plan
from recursa.free.base_invariant import base_invariant_plan
from recursa.kernels.kernel import SERIAL_ROWS, Kernel
from recursa.model.model import Model
from recursa.sweeps import Plan

LENGTHS = (10, 30, 100, 300, 1000)


class Chain:
    """A free flyer with an arm of n links, seen from its bus and from its middle, and all ways to its accelerations."""

    def __init__(self, n: int) -> None:
        robot, middle = rc.robots.free_flyer(n), f"link{n // 2}"
        q, v = robot.random_state(seed=1)
        tau = np.random.default_rng(2).normal(size=robot.nv)
        self.n = n
        self.model, self.centred = moved(robot.model), moved(robot.with_base(middle).model)
        self.state = [q, v, tau]
        self.in_middle = [*robot.rebase_state(q, v, middle), robot.rebase_forces(q, tau, middle)]
        self.in_halves = [split(x, base)[None] for x, base in zip(self.in_middle, (7, 6, 6), strict=True)]
        self.want = robot.forward_dynamics(q, v, tau)
        self.want_in_middle = robot.rebase_acceleration(q, v, self.want, middle)
        self.rounds = max(2, 3000 // n)  # states of a turn
        self.worst = 0.0

    def compare(self, got: np.ndarray, want: np.ndarray) -> None:
        """All ways have to agree."""
        error = np.abs(got - want).max() / np.abs(want).max()
        assert error < 1e-6, error
        self.worst = max(self.worst, float(error))

    def kernel(self, plan: Plan, model: Model, state: Sequence[np.ndarray], want: np.ndarray) -> Callable[[], float]:
        """A kernel of the library, state by state."""
        made = Kernel(plan, model, sizes(model), gather(model), form="loop")
        rows = [np.repeat(x[None], self.rounds, axis=0) for x in state]
        out = np.empty((self.rounds, model.nv))
        call = bound(made._native(1), self.rounds, (*rows, out, *made._workspace(1)))
        call()
        self.compare(out[-1], want)
        return partial(timed, call, self.rounds)

    def batched(self, plan: Plan, threads: int) -> Callable[[], float]:
        """The same in a batch, a state per lane."""
        count = 2 * SERIAL_ROWS if threads > 1 else 400
        made = Kernel(plan, self.model, sizes(self.model), gather(self.model), form="loop")
        rows = {name: np.repeat(x[None], count, axis=0) for name, x in zip(made.inputs, self.state, strict=True)}
        out = np.empty((count, self.model.nv))
        made(rows, out, threads)
        self.compare(out[-1], self.want)
        return partial(timed, lambda: made(rows, out, threads), count)

    def lanes(self) -> Callable[[], float]:
        """Meeting in the middle, a branch per lane."""
        q, v, tau = (np.repeat(x, self.rounds, axis=0) for x in self.in_halves)
        out = np.empty((self.rounds, *v.shape[1:]))
        call = OnLanes(self.centred).on(q, v, tau, out)
        call()
        self.compare(joined(out[-1]), self.want_in_middle)
        return partial(timed, call, self.rounds)

    def threaded(self, middle: bool) -> dict[str, Callable[[], float]]:
        """Two threads, by how the second waits; and the same code on one; and its sweeps."""
        made = (middle_on_threads if middle else directions_on_threads)(self.centred if middle else self.model)
        self.nothing = OnThreads(made.program, lambda *_: [((), ())])  # the same meetings with nothing between them
        state = self.in_halves if middle else self.state
        out = np.zeros((2, self.model.nv // 2 + 3) if middle else self.model.nv)
        want = self.want_in_middle if middle else self.want

        def checked(took: Any) -> Any:
            self.compare(joined(out) if middle else out, want)
            out[:] = 0.0
            return took

        serial = made.role(SERIAL, self.rounds, state, out)
        ways = {"one thread": lambda: checked(timed(serial, self.rounds))}
        ways |= {name: lambda way=way: checked(way()) for name, way in with_second(made, state, out, self.n).items()}
        for s in range(len(made.program.plan.sweeps)):
            ways[f"sweep {s}"] = partial(timed, made.role(PART + s, self.rounds, state, out), self.rounds)
        return ways


def with_second(made: OnThreads, state: Sequence[np.ndarray], out: np.ndarray, n: int) -> dict[str, Any]:
    """A state on two threads, by how the second waits."""
    rounds = max(1, 300 // n)  # so few that nobody else may want one of the processors meanwhile
    first, rest = (made.role(MAIN, count, state, out) for count in (1, rounds))
    once = made.role(HELPER_ONCE, 1, state, out)

    def helped(sleeps: bool) -> list[float]:
        with made.helped(state, out, sleeps):
            first()  # by now the other one is there
            return [timed(rest, rounds) for _ in range(SPELLS)]

    def pooled() -> float:
        made.at_the_start()
        return timed(lambda: (waiting := POOL.submit(once), first(), waiting.result()), 1)

    return {"spins": partial(helped, False), "sleeps": partial(helped, True), "pool": pooled}


SPELLS = 20
POOL = ThreadPoolExecutor(1)


def timed(call: Callable[[], Any], rounds: int) -> float:
    """Microseconds a round."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) / rounds * 1e6


def measured(ways: dict[Any, Callable[[], Any]], turns: int) -> dict[Any, np.ndarray]:
    """All ways in turns: what the others on the machine do then hits all alike."""
    taken: dict[Any, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            taken[name].extend(np.atleast_1d(way()))
    return {name: np.array(times) for name, times in taken.items()}


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """In Markdown."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="even numbers of links of the arm")
    parser.add_argument("--turns", type=int, default=80)
    given = parser.parse_args()
    one, two, parts, batches = [], [], [], []
    for n in given.lengths:
        chain = Chain(n)
        at_end, both_ways = forward_plan(), base_invariant_plan(branching=False)
        ways: dict[Any, Callable[[], float]] = {
            "articulated": chain.kernel(at_end, chain.model, chain.state, chain.want),
            "base-invariant": chain.kernel(both_ways, chain.model, chain.state, chain.want),
            "middle": chain.kernel(at_end, chain.centred, chain.in_middle, chain.want_in_middle),
            "lanes": chain.lanes(),
        }
        ways |= {("middle", name): way for name, way in chain.threaded(middle=True).items()}
        ways |= {("directions", name): way for name, way in chain.threaded(middle=False).items()}
        taken = measured(ways, given.turns)
        least = {name: float(times.min()) for name, times in taken.items()}
        usual = {name: float(np.median(times)) for name, times in taken.items()}

        def ratio(name: Any, least: Any = least, usual: Any = usual) -> str:
            by_least, by_median = (x["articulated"] / x[name] for x in (least, usual))
            return f"{least[name]:.2f} ({by_least:.2f}, {by_median:.2f})"

        compared = ("base-invariant", "middle", "lanes", ("middle", "spins"), ("directions", "spins"))
        one.append([str(n), f"{least['articulated']:.2f}", *map(ratio, compared)])
        if not two:
            none = measured(with_second(chain.nothing, chain.state, chain.want.copy(), n), given.turns)
            two.append(["nothing to do", "", *(f"{times.min():.2f}" for times in none.values()), *[""] * 4])
        two.append([str(n)])
        for which in ("middle", "directions"):
            two[-1] += [f"{least[which, name]:.2f}" for name in ("one thread", "spins", "sleeps", "pool")]
        parts.append([str(n), *(f"{least[name] * 1e3 / n:.0f}" for name in least if "sweep" in name[1])])
        threads = (1, 2) if n <= 100 else (1,)  # beyond, a batch that is long enough takes too much memory
        batch = measured({k: chain.batched(at_end, k) for k in threads}, max(8, 500 // n))
        batches.append([str(n), *(f"{x.min():.2f} ({least['lanes'] / x.min():.1f})" for x in batch.values())])
        print(f"n = {n}: all agree to {chain.worst:.1e}", flush=True)
    print("\nMicroseconds a state, least; in brackets times as fast as articulated, by least and by median:\n")
    head = ["n", "articulated", "base-invariant", "base in the middle", "its two branches in lanes"]
    table([*head, "on two threads", "two directions on two threads"], one)
    print("Microseconds a state, least, by how the second thread waits; middle, then directions:\n")
    table(["n", *["one thread", "spins", "sleeps", "pool"] * 2], two)
    print("Nanoseconds a link, least: sweeps of articulated on both halves, of the two directions:\n")
    table(["n", "out", "in", "out", "velocities", "inward", "outward", "links", "hinges"], parts)
    print("Microseconds a state in a batch, one and two threads; in brackets how many times as fast as one by lanes:\n")
    table(["n", "one thread", "two threads"], batches)


if __name__ == "__main__":
    main()
