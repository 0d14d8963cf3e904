"""Inverse kinematics beside peers: ``python benchmarks/inverse_kinematics.py [COUNT]``.

Random poses that arms of example-robot-data and the bundled Puma can take, 2 % inside their limits. For each arm: how
many are reached to 1e-8 within the limits, and the processor time per target in a batch and alone. If roboticstoolbox
is installed, its ``ik_LM`` (the compiled one, tol=1e-13) is given 500 random poses of its own model of the arm, one by
one; one counts where it is right to 1e-6 within the limits. Prints a table in Markdown.
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np

import recursa as rc

try:
    import roboticstoolbox as rtb
except ImportError:
    rtb = None

DATA = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
ARMS: dict[str, tuple[Callable[[], rc.Robot], str]] = {
    "Panda": (lambda: rc.load(DATA / "panda_description/urdf/panda.urdf"), "panda_hand"),
    "UR5": (lambda: rc.load(DATA / "ur_description/urdf/ur5_robot.urdf"), "tool0"),
    "UR10": (lambda: rc.load(DATA / "ur_description/urdf/ur10_robot.urdf"), "tool0"),
    "Talos, left hand": (lambda: rc.load(DATA / "talos_data/robots/talos_reduced.urdf"), "gripper_left_base_link"),
    "Puma 560": (rc.robots.puma560, "link6"),
}
PEER = {"Panda": "Panda", "Puma 560": "Puma560"}  # its UR arms are downloaded when asked for
ALONE = 500


def targets(robot: rc.Robot, link: str, count: int) -> np.ndarray:
    """Poses of random configurations, a little inside the limits."""
    low, high = (np.where(np.isfinite(x), x, y) for x, y in zip(robot.position_limits, (-np.pi, np.pi), strict=True))
    middle, half = 0.5 * (low + high), 0.49 * (high - low)
    shares = np.random.default_rng(5).uniform(-1.0, 1.0, (count, robot.nq))
    return robot.pose(middle + half * shares, link)


def reached(robot: rc.Robot, link: str, q: np.ndarray, poses: np.ndarray, tolerance: float) -> np.ndarray:
    """Which positions give the poses, within the limits."""
    low, high = robot.position_limits
    inside = ((low - 1e-9 <= q) & (q <= high + 1e-9)).all(axis=-1)
    return inside & (np.abs(robot.pose(q, link) - poses).max(axis=(-2, -1)) < tolerance)


def ours(robot: rc.Robot, link: str, poses: np.ndarray) -> tuple[float, float, float]:
    """Share that is reached, us a target in a batch, us alone."""
    for some in (poses[0], poses[:64], poses[:2000]):
        rc.inverse_kinematics(robot, link, some)
    start = process_time()
    found = rc.inverse_kinematics(robot, link, poses)
    batch = (process_time() - start) / len(poses)
    start = process_time()
    for pose in poses[:ALONE]:
        rc.inverse_kinematics(robot, link, pose)
    alone = (process_time() - start) / ALONE
    share = (found.solved & reached(robot, link, found.q, poses, 3e-8)).mean()
    return float(share), batch * 1e6, alone * 1e6


def peers(name: str) -> tuple[float, float] | None:
    """Share and us of the peer on its own model of the arm: random poses within its limits, as above."""
    if rtb is None or name not in PEER:
        return None
    arm = getattr(rtb.models.DH if name.startswith("Puma") else rtb.models, PEER[name])()
    ets = arm.ets()
    low, high = ets.qlim
    shares = np.random.default_rng(5).uniform(-1.0, 1.0, (ALONE, ets.n))
    states = 0.5 * (low + high) + 0.49 * (high - low) * shares
    poses = [np.asarray(ets.fkine(q)) for q in states]
    start = process_time()
    found = [ets.ik_LM(pose, tol=1e-13) for pose in poses]
    each = (process_time() - start) / ALONE
    good = [
        bool(
            (low - 1e-9 <= q).all()
            and (q <= high + 1e-9).all()
            and np.abs(np.asarray(ets.fkine(q)) - pose).max() < 1e-6
        )
        for (q, *_), pose in zip(found, poses, strict=True)
    ]
    return float(np.mean(good)), each * 1e6


def rows(count: int) -> Iterator[str]:
    yield "| arm | reached | us in a batch | us alone | roboticstoolbox: reached, us | times: batch, alone |"
    yield "|---|---|---|---|---|---|"
    for name, (make, link) in ARMS.items():
        robot = make()
        share, batch, alone = ours(robot, link, targets(robot, link, count))
        peer = peers(name)
        other = "-" if peer is None else f"{100 * peer[0]:.1f} %, {peer[1]:.0f}"
        times = "-" if peer is None else f"{peer[1] / batch:.0f}, {peer[1] / alone:.1f}"
        yield f"| {name} | {100 * share:.2f} % | {batch:.1f} | {alone:.0f} | {other} | {times} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000):
        print(line, flush=True)
