"""Closed forms of inverse kinematics beside EAIK: ``python benchmarks/analytic_ik.py [COUNT]``.

Random poses of six-joint arms: the time per target with all branches, verified, and how often the number of branches is
the same as EAIK's (``pip install EAIK``, Ostermeier, Külz and Althoff 2024), which is given the same axes. EAIK counts
solutions that are exact; those within 1e-5 rad of each other are counted once. Prints a table in Markdown.
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

import recursa as rc
from recursa.reach.analytic.axes import Arm

try:
    from eaik.IK_HP import HPRobot
except ImportError:
    HPRobot = None

DATA = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots", "ur_description")
ARMS: dict[str, tuple[Callable[[], rc.Robot], str]] = {
    "Puma 560": (rc.robots.puma560, "link6"),
    "UR5": (lambda: rc.load(DATA / "urdf/ur5_robot.urdf"), "tool0"),
    "UR10": (lambda: rc.load(DATA / "urdf/ur10_robot.urdf"), "tool0"),
    "Panda, joint 7 held": (lambda: rc.robots.panda_like().reduced(lock={"joint7": 0.3}), "flange"),
}


def least(ask: Callable[[], object], times: int = 5) -> float:
    best = np.inf
    for _ in range(times):
        start = process_time()
        ask()
        best = min(best, process_time() - start)
    return best


def peer_counts(robot: rc.Robot, link: str, poses: np.ndarray) -> tuple[np.ndarray, float]:
    """How many branches EAIK finds for each pose, and its time per pose."""
    arm = Arm.of(robot, link, 1e-5)
    places = np.vstack([arm.axes.points, arm.home[:3, 3]])
    peer = HPRobot(arm.axes.directions, np.diff(places, axis=0, prepend=np.zeros((1, 3))))
    moved = poses.copy()
    moved[:, :3, :3] = poses[:, :3, :3] @ arm.home[:3, :3].T
    seconds = least(lambda: [peer.IK(one) for one in moved], 3) / len(poses)
    counts = []
    for one in moved:
        answer = peer.IK(one)
        exact = [q for q, off in zip(answer.Q, answer.is_LS, strict=True) if not off]
        different: list[np.ndarray] = []
        for q in exact:
            if all(np.abs(np.angle(np.exp(1j * (q - other)))).max() > 1e-5 for other in different):
                different.append(q)
        counts.append(len(different))
    return np.array(counts), seconds


def main() -> None:
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    print("| arm | branches per pose | us per pose | EAIK, us | same number |\n|---|---|---|---|---|")
    for name, (make, link) in ARMS.items():
        robot = make()
        q = np.tile(robot.neutral(), (count, 1))
        q[:, :6] = np.random.default_rng(0).uniform(-np.pi, np.pi, (count, 6))
        poses = robot.pose(q, link)
        found = rc.analytic_inverse_kinematics(robot, link, poses)
        seconds = least(lambda: rc.analytic_inverse_kinematics(robot, link, poses)) / count  # noqa: B023
        cells = ["", ""]
        if HPRobot is not None:
            counts, theirs = peer_counts(robot, link, poses)
            cells = [f"{1e6 * theirs:.1f}", f"{100 * (counts == found.count).mean():.2f} %"]
        print(f"| {name} | {found.count.mean():.2f} | {1e6 * seconds:.1f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
