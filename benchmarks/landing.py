"""A quadruped that lands and stands for two seconds: seconds of processor time, beside MuJoCo with soft contacts.

python benchmarks/landing.py

MuJoCo steps the same body with points of contact at the feet in fixed steps of 1 ms, in C, with soft contacts; ours
finds every instant at which a foot lands, slips or sticks, to tolerances. The two do not answer the same question, so
take the ratio as a scale.
"""

from __future__ import annotations

import time

import numpy as np

import recursa as rc
from recursa.mechanisms import FEET

SECONDS, ROUNDS = 2.0, 3
LEGS = np.tile([0.0, 0.8, -1.5], 4)


def main() -> None:
    """All of it, in turns, the least of each."""
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    q = np.concatenate([robot.neutral()[:7], LEGS])
    q[2] = 0.1 - min(robot.pose(q, foot)[2, 3] for foot in FEET)

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), 150 * (LEGS - q[7:]) - 6 * v[6:]])

    feet = [rc.Touch(foot, friction=0.7) for foot in FEET]

    def ours(**options: float) -> str:
        run = robot.simulate(q, duration=SECONDS, torque=hold, losses="damping", contacts=feet, **options)
        return f"{run.statistics['steps']} steps, {run.statistics['evaluations']} evaluations"

    ours(rtol=1e-7, atol=1e-9)  # compiles
    tries = {
        "dop853, rtol 1e-7": lambda: ours(rtol=1e-7, atol=1e-9),
        "dop853, rtol 1e-10": ours,
        "MuJoCo, steps of 1 ms": mujoco_run(robot, q),
    }
    least: dict[str, tuple[float, str]] = {}
    for _ in range(ROUNDS):
        for name, run in tries.items():
            start = time.process_time()
            told = run()
            spent = time.process_time() - start
            least[name] = min(least.get(name, (np.inf, "")), (spent, told))
    for name, (spent, told) in least.items():
        print(f"{name:24}{spent:8.3f} s{spent / SECONDS:8.3f} of real time   {told}")


def mujoco_run(robot: rc.Robot, q: np.ndarray):
    """The same in MuJoCo: spheres of 1 mm at the feet, a plane under them."""
    import mujoco

    spec = mujoco.MjSpec.from_string(robot.to_mjcf())
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for foot in FEET:
        link = robot.model.links[robot.model.link_index(foot)]
        body = spec.body(robot.model.joints[link.body].child)
        body.add_geom(size=[1e-3, 0, 0], pos=list(link.offset.translation), mass=0.0, friction=[0.7, 0, 0])
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], friction=[0.7, 0, 0])
    spec.option.timestep = 1e-3
    model = spec.compile()
    model.dof_damping[6:] += 6.0  # which MuJoCo takes implicitly: as a torque it would be unstable at this step

    def run() -> str:
        data = mujoco.MjData(model)
        data.qpos[:] = np.concatenate([q[:3], q[[6, 3, 4, 5]], q[7:]])
        for _ in range(int(SECONDS / 1e-3)):
            data.qfrc_applied[6:] = 150 * (LEGS - data.qpos[7:])
            mujoco.mj_step(model, data)
        return f"height {data.qpos[2]:.3f} m at the end"

    return run


if __name__ == "__main__":
    main()
