"""Time-optimal timing beside toppra: ``OMP_NUM_THREADS=1 python benchmarks/time_optimal.py [PATHS]``.

Random splines through five points of a Panda (bundled, with its limits of velocity and effort). toppra gets the same
path, Pinocchio's ``rnea`` of the same robot as its inverse dynamics, and its fastest solver, "seidel". For each:
processor time (the least of several rounds, in turns), how much longer the motion takes than the shortest known one,
and the largest part of a limit that is used on a dense look between the places of the grid; then a list of paths in one
call. Prints tables in Markdown.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from time import process_time

import numpy as np
import pinocchio
import toppra
from toppra import algorithm, constraint

import recursa as rc
from recursa.interop.pinocchio import build
from recursa.paths.timed_trajectory import Profile

logging.getLogger("toppra").setLevel(logging.ERROR)
ROUNDS = 15
REFERENCE = 6001


class Geometry(toppra.interpolator.AbstractGeometricPath):
    """A path of ours as toppra wants it, from a SciPy spline through the same points."""

    dof, waypoints, path_interval = 7, None, np.zeros(2)

    def __init__(self, path: rc.Path, points: np.ndarray) -> None:
        from scipy.interpolate import CubicSpline

        s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        self.curves = [CubicSpline(s, points).derivative(k) if k else CubicSpline(s, points) for k in range(3)]
        self.path_interval = np.array([path.start, path.end])

    def __call__(self, s, order=0):
        return self.curves[order](s)


def peer(robot: rc.Robot, geometry: Geometry, points: int, scheme: str) -> Callable[[], np.ndarray]:
    """What toppra does for one path: speeds at its places."""
    model = build(robot)
    data = model.createData()

    def torques(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return pinocchio.rnea(model, data, q, v, a)

    def sides(limit: np.ndarray) -> np.ndarray:
        return np.stack([-limit, limit], axis=1)

    how = {
        "collocation": constraint.DiscretizationType.Collocation,
        "interpolation": constraint.DiscretizationType.Interpolation,
    }[scheme]
    grid = np.linspace(*geometry.path_interval, points)

    def compute() -> np.ndarray:
        kept = [
            constraint.JointVelocityConstraint(sides(robot.velocity_limits)),
            constraint.JointTorqueConstraint(
                torques, sides(robot.effort_limits), np.zeros(robot.nv), discretization_scheme=how
            ),
        ]
        solver = algorithm.TOPPRA(kept, geometry, gridpoints=grid, solver_wrapper="seidel")
        return solver.compute_parameterization(0.0, 0.0)[1]

    return compute


def used(robot: rc.Robot, path: rc.Path, profile: Profile) -> float:
    """The largest part of a limit at 20 places of every piece."""
    inner = np.linspace(0.0, 1.0, 21)
    t = (profile.times[:-1] + (inner[:, None] * (1 - 2e-9) + 1e-9) * np.diff(profile.times)).ravel()
    q, v, a = profile.along(path._states)(t)
    tau = robot.inverse_dynamics(q, v, a)
    return max(float((np.abs(tau) / robot.effort_limits).max()), float((np.abs(v) / robot.velocity_limits).max()))


def main() -> None:
    """The table."""
    robot = rc.robots.panda_like()
    low, high = robot.position_limits
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    names = ["toppra, collocation, 201", *(f"toppra, interpolation, {points}" for points in (201, 801, 1601))]
    names += [f"recursa, {points}" for points in (51, 101, 201, 401)]
    times: dict[str, list[float]] = {name: [] for name in names}
    longer: dict[str, list[float]] = {name: [] for name in names}
    most: dict[str, float] = dict.fromkeys(names, 0.0)
    for seed in range(count):
        random = np.random.default_rng(seed)
        points = 0.5 * (low + high) + 0.17 * (high - low) * random.uniform(-1.0, 1.0, (5, robot.nq))
        path = rc.Path(points)
        shortest = rc.time_optimal(robot, path, points=REFERENCE).duration
        geometry = Geometry(path, points)
        ways: dict[str, Callable[[], Profile]] = {}
        for name in names:
            size = int(name.split(",")[-1])
            if name.startswith("toppra"):
                compute = peer(robot, geometry, size, name.split(", ")[1])
                grid = np.linspace(path.start, path.end, size)
                ways[name] = lambda compute=compute, grid=grid: Profile.of_squares(grid, compute() ** 2)
            else:
                ways[name] = lambda size=size, path=path: rc.time_optimal(robot, path, points=size).timing.profile
        least = dict.fromkeys(names, np.inf)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                start = process_time()
                profile = way()
                least[name] = min(least[name], process_time() - start)
        for name, way in ways.items():
            profile = way()
            times[name].append(least[name])
            longer[name].append(profile.times[-1] / shortest - 1.0)
            most[name] = max(most[name], used(robot, path, profile))
    print("| | ms | longer than the shortest | most of a limit |")
    print("|---|---|---|---|")
    for name in names:
        print(
            f"| {name} points | {1e3 * np.mean(times[name]):.2f} | {100 * np.mean(longer[name]):.2f} % "
            f"(at most {100 * np.max(longer[name]):.2f} %) | {most[name]:.6f} |"
        )
    print()
    print("| paths in a list, 201 points | ms a path |")
    print("|---|---|")
    random = np.random.default_rng(99)
    paths = [
        rc.Path(0.5 * (low + high) + 0.17 * (high - low) * random.uniform(-1.0, 1.0, (5, robot.nq))) for _ in range(64)
    ]
    for many in (1, 8, 64):
        least = np.inf
        for _ in range(ROUNDS):
            start = process_time()
            rc.time_optimal(robot, paths[:many], points=201)
            least = min(least, process_time() - start)
        print(f"| {many} | {1e3 * least / many:.3f} |")


if __name__ == "__main__":
    main()
