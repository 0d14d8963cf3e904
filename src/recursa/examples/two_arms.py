# %% [markdown]
# # The two arms of Saha's paper: torques, then a fall
# The examples of S. K. Saha's paper on the decoupled natural orthogonal complement, section 6: inverse dynamics along
# the cycloid (38) over 10 s, and motion without torques from where it begins. His method ("denoc") stands beside the
# usual one. `recursa demo` runs this.

# %%
import json
from pathlib import Path

import numpy as np

import recursa as rc
from recursa.plotting import animate, draw, plot_motion
from recursa.trajectories.csv_files import write_torques

ARMS = {  # by the robot's name: where the motion begins and ends
    "planar": ([0.0, 0.0, 0.0], [np.pi, np.pi, np.pi]),
    "stanford": ([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0], [np.pi / 3, np.pi / 3, 0.1, np.pi / 3, np.pi / 3, np.pi / 3]),
}
MOTION, FALL = 10.0, 1.0  # s
INSTANTS = 1001  # of the motion
FPS = 12  # of the animations


def work_through(name, folder):
    """Torques, fall, pictures and files of one arm."""
    robot = rc.robots.by_name(name)
    start, end = ARMS[name]
    motion = rc.Trajectory.cycloid(start, end, MOTION, robot=robot)
    t = motion.times(INSTANTS)
    q, v, a = motion.sample(t)
    tau = robot.inverse_dynamics(q, v, a)
    run = robot.simulate(start, duration=FALL, samples=201, progress=False)
    still = np.zeros_like(run.v)
    falling, by_saha = (robot.forward_dynamics(run.q, run.v, still, method=one) for one in (None, "denoc"))

    place = f"{folder}/{name}"
    title = f"{robot.name}: let go"
    draw(robot, q[len(q) // 2], f"{place}.png")
    plot_motion(robot, t, tau=tau, panels=("torques",), path=f"{place}_torques.png", by_joint=True)
    run.plot(f"{place}_fall.png", panels=("angles", "speeds", "energy"), title=title)
    run.plot(f"{place}_fall_joints.png", panels=("angles",), by_joint=True, title=title)
    animate(robot, t, q, f"{place}_motion.gif", fps=FPS, speed=3.0, title=f"{robot.name}, 3 times as fast")
    run.animate(f"{place}_fall.gif", fps=FPS, speed=0.4, title=f"{robot.name} falls, at 0.4 of its speed")
    run.to_html(f"{place}_fall.html", title=title)  # where the arm can be stopped, posed, pulled and let go
    run.save(f"{place}_fall.npz")
    write_torques(f"{place}_torques.csv", robot, t, tau, losses=False)
    return {
        "mass, kg": robot.mass,
        "energy drift of the fall": run.energy_drift,
        "steps of the fall": run.statistics["steps"],
        "torques beside denoc": difference(tau, robot.inverse_dynamics(q, v, a, method="denoc")),
        "accelerations beside denoc": difference(falling, by_saha),
        "joints": [
            {
                "joint": joint, "least": tau[k, n], "at, s": t[k], "most": tau[m, n], "at, s ": t[m],
                "unit": {"rad": "N m", "m": "N"}[unit],                "fallen to": run.q[-1, n], "speed": run.v[-1, n],
            }
            for n, (joint, unit) in enumerate(zip(robot.v_names, robot.q_units, strict=True))
            for k, m in [(tau[:, n].argmin(), tau[:, n].argmax())]
        ],
    }  # fmt: skip


def difference(ours, others):
    """The largest difference, of the largest value."""
    return np.abs(ours - others).max() / np.abs(ours).max()


def run(folder):
    """Both arms."""
    return {name: work_through(name, folder) for name in ARMS}


# %%
if __name__ == "__main__":
    Path("two-arms").mkdir(exist_ok=True)
    print(json.dumps(run("two-arms"), indent=2))
