"""What checkpoints cost: the share of a run's time that goes into them, and the size of the file.

python benchmarks/checkpoint_cost.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import recursa as rc
from recursa.simulation.checkpoint import Checkpoint


def main() -> None:
    robot = rc.robots.puma560()
    q, v = robot.random_state(seed=1)
    keep, spent = Checkpoint._keep, []

    def timed(self: Checkpoint, simulation: object) -> None:
        start = time.perf_counter()
        keep(self, simulation)  # type: ignore[arg-type]
        spent.append(time.perf_counter() - start)

    Checkpoint._keep = timed  # type: ignore[method-assign]
    robot.simulate(q, v, duration=0.1, integrator="rk4")  # compiles
    for every in (10.0, 1.0, 0.1):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "run.part")
            spent.clear()
            start = time.perf_counter()
            run = robot.simulate(
                q, v, duration=100.0, integrator="rk4", save_every=10, checkpoint=file, checkpoint_every=every
            )
            whole = time.perf_counter() - start
            size = file.stat().st_size
            began = time.perf_counter()
            rc.resume(file)
            again = time.perf_counter() - began
            path = Path(folder, "run.npz")
            began = time.perf_counter()
            run.save(path)
            saved = time.perf_counter() - began
        print(
            f"every {every:g} s: run {whole:.1f} s, {len(spent)} checkpoints, {1e3 * sum(spent) / len(spent):.1f} ms "
            f"each, {100 * sum(spent) / whole:.2f} % of the time; file {size / 1e6:.2f} MB, resumed in {again:.2f} s; "
            f"{len(run)} samples saved as HDF5 in {saved:.2f} s"
        )


if __name__ == "__main__":
    main()
