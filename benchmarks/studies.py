"""What studies cost beside their kernels: engines, blocks, stores. ``python benchmarks/studies.py [--rows 400000]``.

Overhead is the time of a study over that of the same rollouts in one plain loop; engines take turns, and each figure is
the least of three. The memory is the largest that the client (or a worker) had.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import recursa as rc

OPTIONS = {"step": 1e-3, "steps": 200, "save_every": 200}
TURNS = 3


def described(rows: int, keep: object = None) -> rc.Study:
    vary = {"q0": "uniform", "v0": ("normal", 0.0, 0.2), "payload.mass": ("normal", 2.0, 0.3)}
    return rc.study(rc.robots.panda_like(), vary, samples=rows, seed=1, keep=keep, **OPTIONS)


def plain_loop(study: rc.Study, block: int) -> float:
    """The kernels alone, on arrays that are there."""
    total = 0.0
    for first in range(0, study.total, block):
        inputs = study.inputs(range(first, min(first + block, study.total)))
        begin = time.perf_counter()
        rc.rollout(study.robot, inputs["q0"], inputs["v0"], inputs["tau"], parameters=inputs["parameters"], **OPTIONS)
        total += time.perf_counter() - begin
    return total


def timed(study: rc.Study, **options: object) -> float:
    """Seconds of a run."""
    begin = time.perf_counter()
    study.run(progress=False, **options)
    return time.perf_counter() - begin


def engines(rows: int) -> None:
    keep = {"peak_speed": ["extrema", "moments", ("quantiles", [0.5, 0.99]), ("top", 10)]}
    study = described(rows, keep)
    study.pilot  # noqa: B018
    per_row = plain_loop(described(4096), 4096) / 4096
    block = max(64, int(1.0 / per_row))
    print(f"{rows} rows of {OPTIONS['steps']} steps, {1e6 * per_row:.2f} us a row, blocks of {block} rows (1 s)")
    alone = min(plain_loop(study, block) for _ in range(TURNS))
    print(f"kernels alone, one thread: {alone:.2f} s")
    for count in (1, 2):
        threads = min(timed(study, block=block, workers=count) for _ in range(TURNS))
        for name, seconds in (
            (f"{count} threads", threads),
            (f"Dask, {count} workers", on_cluster(study, block, count)),
        ):
            print(f"{name:16} {seconds:6.2f} s, {rows / seconds:10,.0f} rows/s, {seconds / alone:.3f} of kernels alone")


def on_cluster(study: rc.Study, block: int, workers: int) -> float:
    """On a cluster that is there already: starting one is no part of a study."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        options = {"engine": "dask", "address": cluster.scheduler_address, "block": block}
        timed(study, **options)  # the workers load their kernels
        return min(timed(study, **options) for _ in range(TURNS))


def per_block() -> None:
    """Many small blocks: what a block costs."""
    rows, block = 20_000, 20
    study = described(rows, {"peak_speed": "extrema"})
    whole = min(timed(study, block=rows, workers=1) for _ in range(TURNS))
    for name, seconds in (("a thread", timed(study, block=block, workers=1)), ("Dask", on_cluster(study, block, 1))):
        print(f"a block costs {1e3 * (seconds - whole) / (rows / block):.2f} ms on {name}")


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
    options.add_argument("--rows", type=int, default=400_000)
    options.add_argument("--reduced", type=int, default=10_000_000)
    chosen = options.parse_args()
    engines(chosen.rows)
    per_block()
    stores(chosen.rows)
    memory(chosen.reduced)
