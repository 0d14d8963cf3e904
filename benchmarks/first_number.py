"""Time to the first number: ``python benchmarks/first_number.py [FILE.urdf ...]``.

For every robot (by default those of example-robot-data with a URDF, where that is installed, on a free base) and every
quantity of the list, the time of the first call of a new robot, with an empty cache of compiled code and with a full
one. Prints the slowest first, in Markdown.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

os.environ["RECURSA_CACHE"] = tempfile.mkdtemp()

import recursa as rc

QUESTIONS = {
    "inverse_dynamics": "qva", "forward_dynamics": "qva", "gravity_forces": "q", "mass_matrix": "q",
    "mass_matrix_inverse": "q", "coriolis_matrix": "qv", "regressor": "qva", "inverse_dynamics_derivatives": "qva",
    "forward_dynamics_derivatives": "qva", "poses": "q", "momentum_matrix": "q", "bias_forces": "qv",
}  # fmt: skip


def files() -> list[Path]:
    """All URDF files that example-robot-data has."""
    places = map(Path, sys.path)
    return sorted({p.resolve() for place in places for p in place.rglob("example-robot-data/robots/**/*.urdf")})


def first_calls(path: Path) -> list[tuple[float, float, str]]:
    """Cold and warm time of every question, in seconds."""
    found = []
    for name, inputs in QUESTIONS.items():
        times = []
        for _ in range(2):
            robot = rc.load(path, floating=True)
            (q, v), a = robot.random_state(1), robot.random_state(2)[1]
            given = {"q": q, "v": v, "a": a}
            start = perf_counter()
            getattr(robot, name)(*(given[x] for x in inputs))
            times.append(perf_counter() - start)
        found.append((times[0], times[1], f"{path.stem}, {robot.nv} freedoms: {name}"))
    return found


def main(names: list[str]) -> None:
    """Print a table."""
    rows = []
    for path in [Path(name) for name in names] or files():
        try:
            rows += first_calls(path)
        except rc.RecursaError as error:
            print(f"{path.name}: {str(error)[:100]}", file=sys.stderr)
        print(".", end="", flush=True, file=sys.stderr)
    print("\n| cold, s | warm, s | |\n|---|---|---|")
    for cold, warm, name in sorted(rows, reverse=True):
        print(f"| {cold:.2f} | {warm:.2f} | {name} |")


if __name__ == "__main__":
    main(sys.argv[1:])
