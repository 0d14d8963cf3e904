"""Inverse kinematics beside peers: ``python benchmarks/inverse_kinematics.py [COUNT]``.

Random poses that arms of example-robot-data and the bundled Puma can take, 2 % inside their limits. For each arm: how
many are reached to 1e-8 within the limits, and the processor time per target in a batch and alone. If roboticstoolbox
is installed, its ``ik_LM`` (the compiled one, tol=1e-13) is given random poses of its own model of the arm, one by one;
one counts where it is right to 1e-6 within the limits. Both are measured in turns, and the least times are told. Then
what several goals, priorities and a posture cost. Prints tables in Markdown.
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
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
PEER = {"Panda": "Panda", "UR5": "UR5", "UR10": "UR10", "Puma 560": "Puma560"}  # of the UR arms those by DH tables
ALONE, ROUNDS = 500, 5


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


def least(*works: Callable[[], None]) -> list[float]:
    """Processor time of some works, the least of several rounds in turns."""
    times = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, own in zip(works, times, strict=True):
            start = process_time()
            work()
            own.append(process_time() - start)
    return [min(own) for own in times]


class Peer:
    """An arm of roboticstoolbox with random poses within its own limits, as above."""

    def __init__(self, name: str) -> None:
        arm = getattr(rtb.models if name == "Panda" else rtb.models.DH, PEER[name])()
        self.ets = arm.ets()
        self.low, self.high = self.ets.qlim
        shares = np.random.default_rng(5).uniform(-1.0, 1.0, (ALONE, self.ets.n))
        states = 0.5 * (self.low + self.high) + 0.49 * (self.high - self.low) * shares
        self.poses = [np.asarray(self.ets.fkine(q)) for q in states]
        self.found: list[np.ndarray] = []

    def __call__(self) -> None:
        self.found = [self.ets.ik_LM(pose, tol=1e-13)[0] for pose in self.poses]

    def share(self) -> float:
        """How many of the last answers were right."""
        inside = [(self.low - 1e-9 <= q).all() and (q <= self.high + 1e-9).all() for q in self.found]
        off = [
            np.abs(np.asarray(self.ets.fkine(q)) - pose).max() for q, pose in zip(self.found, self.poses, strict=True)
        ]
        return float(np.mean(inside & (np.array(off) < 1e-6)))


def rows(count: int) -> Iterator[str]:
    """Arms beside the peer."""
    yield "| arm | reached | us in a batch | us alone | roboticstoolbox: reached, us | times: batch, alone |"
    yield "|---|---|---|---|---|---|"
    for name, (make, link) in ARMS.items():
        robot = make()
        poses = targets(robot, link, count)
        found = rc.inverse_kinematics(robot, link, poses)
        share = (found.solved & reached(robot, link, found.q, poses, 3e-8)).mean()

        def together(robot: rc.Robot = robot, link: str = link, poses: np.ndarray = poses) -> None:
            rc.inverse_kinematics(robot, link, poses)

        def alone(robot: rc.Robot = robot, link: str = link, poses: np.ndarray = poses[:ALONE]) -> None:
            for pose in poses:
                rc.inverse_kinematics(robot, link, pose)

        peer = Peer(name) if rtb is not None and name in PEER else None
        times = least(together, alone, *([] if peer is None else [peer]))
        batch, single = 1e6 * times[0] / count, 1e6 * times[1] / min(count, ALONE)
        other = ratio = "-"
        if peer is not None:
            each = 1e6 * times[2] / ALONE
            other, ratio = f"{100 * peer.share():.1f} %, {each:.0f}", f"{each / batch:.0f}, {each / single:.1f}"
        yield f"| {name} | {100 * share:.2f} % | {batch:.1f} | {single:.0f} | {other} | {ratio} |"


def kinds(count: int) -> Iterator[str]:
    """What other goals cost, on the Panda and a humanoid with a free base."""
    yield "| goals | reached | us in a batch | us alone |"
    yield "|---|---|---|---|"
    panda = ARMS["Panda"][0]()
    hand = targets(panda, "panda_hand", count)
    point, ahead, up = hand[:, :3, 3], hand[:, :3, 3] + 0.5 * hand[:, :3, 2], [0.0, 0.0, 1.0]
    elbow = rc.reach.Position("panda_link4", [0.0, 0.0, 1.0], priority=1)
    talos = rc.load(DATA / "talos_data/robots/talos_reduced.urdf", floating=True)
    q = np.stack([talos.integrate(talos.neutral(), 0.1 * talos.random_state(k)[1]) for k in range(count // 10)])
    feet = [rc.reach.Pose(f"leg_{side}_6_link", talos.pose(q, f"leg_{side}_6_link")) for side in ("left", "right")]
    both = [*feet, rc.reach.Position("gripper_left_base_link", talos.pose(q, "gripper_left_base_link")[:, :3, 3])]
    center = rc.reach.CenterOfMass(talos.center_of_mass(q), "xy")
    sets: dict[str, tuple[rc.Robot, Callable[[slice], list[rc.reach.Goal]], dict[str, np.ndarray]]] = {
        "Panda: a position": (panda, lambda s: [rc.reach.Position("panda_hand", point[s])], {}),
        "Panda: a position and an axis": (
            panda,
            lambda s: [rc.reach.Position("panda_hand", point[s]), rc.reach.Along("panda_hand", hand[s, :3, 2])],
            {},
        ),
        "Panda: a pose with a posture": (
            panda,
            lambda s: [rc.reach.Pose("panda_hand", hand[s])],
            {"posture": panda.neutral()},
        ),
        "Panda: on a plane, looking at a point; elbow up, if possible": (
            panda,
            lambda s: [rc.reach.Plane("panda_hand", point[s], up), rc.reach.LookAt("panda_hand", ahead[s]), elbow],
            {},
        ),
        "Talos, free base: two feet, a hand, the centre of mass": (
            talos,
            lambda s: (
                [type(g)(g.link, getattr(g, "pose", getattr(g, "point", None))[s]) for g in both]
                + [rc.reach.CenterOfMass(center.point[s], "xy")]
            ),
            {"q0": talos.neutral()},
        ),
    }
    for name, (robot, goals, options) in sets.items():
        size = len(q) if robot is talos else count
        every, few = goals(slice(None)), [goals(slice(k, k + 1)) for k in range(min(size, 100))]
        found = rc.inverse_kinematics(robot, every, **options)
        times = least(
            lambda: rc.inverse_kinematics(robot, every, **options) and None,  # noqa: B023
            lambda: [rc.inverse_kinematics(robot, one, **options) for one in few] and None,  # noqa: B023
        )
        first = found.met[..., 0].mean() if len(every) == 3 else found.solved.mean()
        yield f"| {name} | {100 * first:.2f} % | {1e6 * times[0] / size:.1f} | {1e6 * times[1] / len(few):.0f} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked_for = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for line in chain(rows(asked_for), [""], kinds(asked_for)):
        print(line, flush=True)
