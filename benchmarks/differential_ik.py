"""A step of differential inverse kinematics beside pink and mink: ``python benchmarks/differential_ik.py``.

A goal pose of one link, a posture, and limits of positions, speeds and accelerations (mink has none of these): the time
of one step in a control loop, in turns with the peers that are installed (``pip install pin-pink mink daqp
example-robot-data``), the least of many steps. All of them solve their programs with DAQP. Prints a table in Markdown.
"""

from __future__ import annotations

import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import recursa as rc

try:
    import pink
    import pinocchio as pin
except ImportError:
    pink = None
try:
    import mink
    import mujoco
except ImportError:
    mink = None

DATA = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
ROBOTS = {
    "Panda": ("panda_description/urdf/panda.urdf", "panda_hand", False),
    "UR5": ("ur_description/urdf/ur5_robot.urdf", "tool0", False),
    "G1, floating": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_wrist_yaw_link", True),
}
DT, ROUNDS, STEPS = 1e-3, 20, 50


def ours(robot: rc.Robot, link: str, q: np.ndarray, goal: np.ndarray) -> Callable[[], object]:
    ik = rc.DifferentialIK(robot, DT, acceleration=50.0)
    v = np.zeros(robot.nv)
    return lambda: ik.step(q, v, poses={link: goal}, posture=q)


def with_pink(path: Path, floating: bool, link: str, goal: np.ndarray, q: np.ndarray) -> Callable[[], object]:
    model = (
        pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    )
    configuration = pink.Configuration(model, model.createData(), q)
    task = pink.tasks.FrameTask(link, position_cost=1.0, orientation_cost=1.0)
    task.set_target(pin.SE3(goal[:3, :3], goal[:3, 3]))
    posture = pink.tasks.PostureTask(cost=1e-3)
    posture.set_target_from_configuration(configuration)
    limits = [
        pink.limits.ConfigurationLimit(model),
        pink.limits.VelocityLimit(model),
        pink.limits.AccelerationLimit(model, np.full(model.nv, 50.0)),
    ]

    def step() -> object:
        configuration.update(q)
        return pink.solve_ik(configuration, [task, posture], DT, solver="daqp", limits=limits, safety_break=False)

    return step


def with_mink(robot: rc.Robot, link: str, goal: np.ndarray, q: np.ndarray) -> Callable[[], object]:
    model = mujoco.MjModel.from_xml_string(robot.to_mjcf())
    configuration = mink.Configuration(model)
    start = configuration.q.copy()
    for joint in robot.model.joints:
        if joint.kind.nq == 1:
            start[model.joint(joint.name).qposadr[0]] = q[joint.q_start]
    configuration.update(start)
    body = robot.model.joints[robot.model.links[robot.model.link_index(link)].body].child
    task = mink.FrameTask(body, "body", position_cost=1.0, orientation_cost=1.0)
    task.set_target(mink.SE3.from_matrix(goal))
    posture = mink.PostureTask(model, cost=1e-3)
    posture.set_target_from_configuration(configuration)
    speeds = {joint.name: joint.velocity for joint in robot.model.joints if joint.kind.nq == 1 and joint.velocity}
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, speeds)]

    def step() -> object:
        configuration.update(start)
        return mink.solve_ik(configuration, [task, posture], DT, solver="daqp", limits=limits)

    return step


def least_times(steps: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest of many steps, the candidates in turns."""
    best = dict.fromkeys(steps, np.inf)
    for step in steps.values():
        step()
    for _ in range(ROUNDS):
        for name, step in steps.items():
            for _ in range(STEPS):
                start = perf_counter()
                step()
                best[name] = min(best[name], perf_counter() - start)
    return best


def main() -> None:
    warnings.simplefilter("ignore")
    print("| robot | freedoms | Recursa | pink | mink |\n|---|---|---|---|---|")
    for name, (file, link, floating) in ROBOTS.items():
        robot = rc.load(DATA / file, floating=floating)
        q = robot.neutral()
        low, high = robot.position_limits
        bounded = np.isfinite(low) & np.isfinite(high)
        q[bounded] = 0.5 * (low + high)[bounded]
        goal = robot.pose(q, link)
        goal[:3, 3] += 0.05
        steps = {"Recursa": ours(robot, link, q, goal)}
        if pink is not None:
            steps["pink"] = with_pink(DATA / file, floating, link, goal, q)
        if mink is not None:
            steps["mink"] = with_mink(robot, link, goal, q)
        found = least_times(steps)
        cells = [f"{1e6 * found[who]:.0f} us" if who in found else "" for who in ("Recursa", "pink", "mink")]
        print(f"| {name} | {robot.nv} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
