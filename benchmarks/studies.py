"""What studies cost beside their kernels: engines, blocks, workers, stores, memory.

``python benchmarks/studies.py [overhead] [scaling] [blocks] [drawing] [stores] [memory] [--rows 400000] [--ray]``;
without a word all of them. What is compared takes turns in one run, so that a busy machine hurts all alike, and the
least is taken.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import get_args

import recursa as rc
from recursa.studies.engines import Engine, opened
from recursa.studies.sampling import PIECE, Design
from recursa.studies.workers import BlockWork, Rows

OPTIONS = {"step": 1e-3, "steps": 200, "save_every": 200}
KEEP = {"peak_speed": ["extrema", "moments", ("quantiles", [0.5, 0.99]), ("top", 10)]}
TURNS = 3


def described(rows: int, keep: object = None, **options: object) -> rc.Study:
    vary = {"q0": "uniform", "v0": ("normal", 0.0, 0.2), "payload.mass": ("normal", 2.0, 0.3)}
    return rc.study(rc.robots.panda_like(), vary, samples=rows, seed=1, keep=keep, **OPTIONS, **options)


def kernel(study: rc.Study, rows: range, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of a block's rollouts alone, on arrays that are there."""
    inputs = study.inputs(rows)
    begin = clock()
    rc.rollout(study.robot, inputs["q0"], inputs["v0"], inputs["tau"], parameters=inputs["parameters"], **OPTIONS)
    return clock() - begin


def blocks_of(study: rc.Study, size: int) -> list[range]:
    return [range(first, min(first + size, study.total)) for first in range(0, study.total, size)]


def one_second(study: rc.Study) -> int:
    """Rows whose rollouts take about a second."""
    rows = range(min(study.total, 8192))
    return int(len(rows) / min(kernel(study, rows, time.thread_time) for _ in range(TURNS)))


@contextmanager
def cluster(name: str, workers: int) -> Iterator[Engine]:
    """An engine that is there already, with workers that have their kernels: starting it is no part of a study."""
    with ExitStack() as stack:
        address = None
        if name == "dask":
            from distributed import LocalCluster

            local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
            address = stack.enter_context(local).scheduler_address
        count = None if name == "dask" else workers
        engine = stack.enter_context(opened(name, address, count, lambda text: None))
        study = described(64 * workers, KEEP)
        for _ in range(2):
            carried_out(engine, study, 32)
        yield engine


def carried_out(engine: Engine, study: rc.Study, size: int) -> list[float]:
    """When blocks came back, in seconds since the beginning."""
    begin, came = time.perf_counter(), []
    blocks = drawn(engine, study, blocks_of(study, size))
    engine.run(BlockWork(study, None, size), blocks, lambda _: came.append(time.perf_counter() - begin))
    return came


def drawn(engine: Engine, study: rc.Study, blocks: list[range]) -> Iterator[Rows]:
    """Blocks as engines get them: with their draws where these are sent to other processes."""
    return (Rows(rows, study.values(rows) if engine.remote else None) for rows in blocks)


class Paired:
    """A block, and its kernels alone right after it: what the thread that computes has worked for each, in seconds."""

    def __init__(self, study: rc.Study, size: int) -> None:
        self.work, self.study = BlockWork(study, None, size), study

    def warm(self) -> None:
        self.work.warm()

    def __call__(self, block: Rows) -> tuple[float, float]:
        begin = time.thread_time()
        self.work(block)
        whole = time.thread_time() - begin
        return whole, kernel(self.study, block.rows, time.thread_time)


def overhead(rows: int, engines: list[str]) -> None:
    """One worker and blocks whose kernels take one second: what a block takes, over the kernels.

    By the clock, from one finished block to the next. And by the time that the thread worked for a block and for its
    kernels alone, one after the other in one process, which says nothing about waiting but holds on a busy machine.
    """
    study = described(rows, KEEP)
    study.pilot  # noqa: B018
    size = one_second(study)
    study = described(rows // size * size, KEEP)
    study.pilot  # noqa: B018
    whole = blocks_of(study, size)
    print(f"{len(whole)} blocks of {size} rows of {OPTIONS['steps']} steps, one worker, {TURNS} turns")
    clock: dict[str, list[float]] = {name: [] for name in ("alone", *engines)}
    with ExitStack() as stack:
        there = {name: stack.enter_context(cluster(name, 1)) for name in engines}
        for _ in range(TURNS):
            clock["alone"] += [kernel(study, one) for one in whole]
            for name, engine in there.items():
                clock[name] += [later - earlier for earlier, later in pairwise(carried_out(engine, study, size))]
        for name, engine in there.items():
            pairs: list[tuple[float, float]] = []
            engine.run(Paired(study, size), drawn(engine, study, whole), pairs.append)
            shares = [100.0 * (block / alone - 1.0) for block, alone in pairs]
            print(
                f"{name}: worked for a block {min(shares):.1f} to {max(shares):.1f} %, in the middle "
                f"{statistics.median(shares):.1f} %, more than for its kernels"
            )
    least, middle = min(clock["alone"]), statistics.median(clock["alone"])
    for name, own in clock.items():
        a, b = min(own), statistics.median(own)
        print(
            f"{name}: by the clock {1e3 * a:.0f} ms at the least, {1e3 * b:.0f} in the middle "
            f"({100 * (a / least - 1):.1f} % and {100 * (b / middle - 1):.1f} % over the kernels)"
        )


def scaling(rows: int, engines: list[str]) -> None:
    """The same study on 1, 2, 4 and 8 workers of this machine: in full into a store, and reduced."""
    counts = (1, 2, 4, 8)
    for title, keep, options in (
        ("rollouts, reduced", KEEP, {}),
        ("rollouts, in full into Zarr", None, {}),
    ):
        study = described(rows, keep, **options)
        size = max(1, one_second(study) // 4)  # blocks of a quarter of a second
        raw = 0 if keep else rows * sum(x[0].nbytes for x in study.pilot.outputs.values()) + rows * 15 * 8
        for name in engines:
            first = 0.0
            for count in counts:
                with cluster(name, count) as engine, tempfile.TemporaryDirectory() as folder:
                    seconds = min(into(engine, study, size, Path(folder, f"{k}.zarr"), keep) for k in range(TURNS))
                first = first or seconds
                rate = f", {raw / seconds / 1e6:.0f} MB/s" if raw else ""
                print(
                    f"{title}: {name}, {count} workers: {seconds:.2f} s, {rows / seconds:,.0f} rows/s{rate}, "
                    f"{first / seconds:.2f}x one"
                )


def into(engine: Engine, study: rc.Study, size: int, place: Path, keep: object) -> float:
    """Seconds of a study on an engine, with a store where rows are kept."""
    if keep:
        return carried_out(engine, study, size)[-1]
    from recursa.studies.running import _prepared
    from recursa.studies.stores import Store

    store, _ = _prepared(study, Store.at(place, None, None), size, resume=True)
    begin = time.perf_counter()
    engine.run(BlockWork(study, store, size), drawn(engine, study, blocks_of(study, size)), lambda _: None)
    return time.perf_counter() - begin


def per_block(engines: list[str]) -> None:
    """Many small blocks: what a block costs, and how many a second an engine hands out."""
    rows, size = 20_000, 20
    study = described(rows, {"peak_speed": "extrema"})
    alone = min(sum(kernel(study, one) for one in blocks_of(study, size)) for _ in range(TURNS))
    for name in engines:
        for workers in (1, 2):
            with cluster(name, workers) as engine:
                seconds = min(carried_out(engine, study, size)[-1] for _ in range(TURNS))
            count = rows / size
            print(
                f"blocks of {size} rows, {name}, {workers} workers: {count / seconds:.0f} blocks a second, "
                f"{1e3 * (seconds - alone / workers) / count:.2f} ms each beside the kernels"
            )


def drawing() -> None:
    """What the values of a piece of rows cost, by design and distribution, early and late."""
    for design in get_args(Design):
        for said in (("uniform", 0.0, 1.0), ("normal", 0.0, 1.0), ("normal", 0.0, 1.0, -2.0, 2.0)):
            vary = {"x": (said[0], *([number] * 15 for number in said[1:]))}
            for first in (0, 10**9 // PIECE * PIECE):
                times = []
                for _ in range(TURNS):
                    study = rc.study(rc.robots.planar(1), vary, len, samples=2 * 10**9, design=design)
                    begin = time.thread_time()
                    study.values(range(first, first + PIECE))
                    times.append(time.thread_time() - begin)
                print(
                    f"{design}, {said}: {PIECE:,} rows of 15 numbers from row {first:,}: {1e3 * min(times):.1f} ms, "
                    f"{1e9 * min(times) / PIECE / 15:.0f} ns a number"
                )


def timed(study: rc.Study, **options: object) -> float:
    """Seconds of a run."""
    begin = time.perf_counter()
    study.run(progress=False, **options)
    return time.perf_counter() - begin


def stores(rows: int) -> None:
    study = rc.study(rc.robots.panda_like(), {"q": "uniform"}, "mass_matrix", samples=rows)
    options = {"block": 100_000, "workers": 1}
    in_memory = min(timed(study, **options) for _ in range(TURNS))
    for compress in (None, "zstd", "shuffle"):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "out.zarr")
            seconds = timed(study, store=place, compress=compress, **options) - in_memory
            size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            raw = rows * (49 + 7) * 8
            rate = raw / 1e6 / max(seconds, 1e-3)
            print(f"store, {compress or 'plain':8} {rate:7.0f} MB/s, {size / raw:.3f} of the bytes")


def memory(rows: int) -> None:
    """Many rows reduced: what the process had at the most."""
    study = rc.study(
        rc.robots.panda_like(), {"q": "uniform", "v": "uniform", "a": "uniform"}, "inverse_dynamics", samples=rows,
        keep={"inverse_dynamics": ["extrema", "moments", ("quantiles", [0.01, 0.99]), ("top", 10)]},
    )  # fmt: skip
    study.pilot  # noqa: B018
    before, seconds = largest(), timed(study)
    print(f"{rows:,} rows of inverse dynamics reduced: {seconds:.1f} s, {rows / seconds:,.0f} rows/s")
    print(f"{largest():.0f} MB at the most, {before:.0f} before")


def largest() -> float:
    """MB that this process had at the most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    parts = ("overhead", "scaling", "blocks", "drawing", "stores", "memory")
    options.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    options.add_argument("--rows", type=int, default=400_000)
    options.add_argument("--reduced", type=int, default=10_000_000)
    options.add_argument("--ray", action="store_true", help="Ray, too")
    chosen = options.parse_args()
    named = ["threads", "dask"] + ["ray"] * chosen.ray
    wanted = chosen.parts or parts
    for part, function, given in (
        ("overhead", overhead, (chosen.rows, named)),
        ("scaling", scaling, (chosen.rows, named)),
        ("blocks", per_block, (named,)),
        ("drawing", drawing, ()),
        ("stores", stores, (chosen.rows,)),
        ("memory", memory, (chosen.reduced,)),
    ):
        if part in wanted:
            function(*given)
