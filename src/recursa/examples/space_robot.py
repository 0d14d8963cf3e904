# %% [markdown]
# # A space robot whose bus turns when its arms move
# One arm moves and the bus turns; both arms move so that it does not; the arms go round and come back, and it points
# where it is to. All of it planned, and by torques of the joints. `recursa demo --space` runs this.

# %%
import json
from pathlib import Path

import numpy as np

import recursa as rc
from recursa.free import FreeMotion
from recursa.plotting import Panel, animate, draw
from recursa.plotting.panels import panel_figure
from recursa.plotting.styles import save

# angles of the left arm at the start and where it is to go; the right one starts mirrored
START = np.array([0.4, -0.9, 1.6, 0.0, 0.5, 0.0])
LEFT = rc.Trajectory.cycloid(START, [-0.3, 0.4, 0.5, 0.6, -0.4, 0.0], T=8.0)
SAMPLES = 201
WISHED = [0.0, 0.0, np.sin(0.175), np.cos(0.175)]  # the quaternion that the bus is to have: 0.35 rad about z


def start_pose(robot):
    """Both arms folded, the bus at the origin."""
    q = robot.neutral()
    q[7:] = np.concatenate([START, START * [-1, 1, 1, -1, 1, -1]])
    return q


def left(derivative, t):
    """Speeds (1) or accelerations (2) of the joints of both arms while the left one moves."""
    return np.concatenate([LEFT.sample(t)[derivative], np.zeros(6)])


def moved(robot, rates):
    """The motion of the robot by rates of its joints."""
    return rc.free.move_joints(robot, start_pose(robot), rates, np.linspace(0.0, LEFT.duration, SAMPLES))


def one_arm(robot):
    """The left arm moves, the right one holds still."""
    return moved(robot, lambda t, q: left(1, t))


def both_arms(robot):
    """The same wish, but the bus does not turn: the nearest reactionless rates."""
    return moved(robot, lambda t, q: rc.free.reaction_null_rates(robot, q, left(1, t)))


def torque_of(robot, accelerations):
    """Torques for joint accelerations at a time, and nothing at the base."""
    return lambda t, q, v: np.concatenate([
        np.zeros(6), rc.free.inverse_dynamics(robot, q, v, accelerations(t)).torques
    ])  # fmt: skip


def driven(robot, motion):
    """The motion of one arm by torques, link by link."""
    torque = torque_of(robot, lambda t: left(2, t))
    step = motion.t[1] - motion.t[0]
    return rc.free.simulate_links(
        robot, motion.q[0], np.zeros(robot.nv), LEFT.duration, step=step, torque=torque
    )  # fmt: skip


def turned_on_purpose(robot):
    """Both arms go round and come back, and the bus points elsewhere."""
    return rc.free.reorient(robot, start_pose(robot), WISHED)


def turned_by_torques(robot, turn):
    """The same motion by torques, integrated as any other run."""
    torque = torque_of(robot, lambda t: turn.joints(t)[2])
    options = {"rtol": 1e-9, "atol": 1e-11, "samples": SAMPLES, "progress": False, "losses": False}
    return robot.simulate(turn.motion.q[0], duration=turn.duration, torque=torque, **options)


# %% [markdown]
# How far the bus turned and moved, what stayed constant, what it took.


# %%
def attitude(robot, motion):
    """Rotation vectors (n, 3) of the bus since the start, in degrees."""
    return np.degrees(robot.difference(motion.q[0], motion.q)[:, :3])


def measure(robot, motion):
    """The numbers of a motion."""
    accelerations = np.gradient(motion.v[:, 6:], motion.t, axis=0, edge_order=2)
    torques = rc.free.inverse_dynamics(robot, motion.q, motion.v, accelerations).torques
    return {
        "bus_turned_deg": np.linalg.norm(attitude(robot, motion), axis=1).max(),
        "bus_moved_m": np.linalg.norm(motion.q[:, :3] - motion.q[0, :3], axis=1).max(),
        "hand_moved_m": np.linalg.norm(np.ptp(robot.pose(motion.q, "left_hand")[:, :3, 3], axis=0)),
        "largest_momentum": np.abs(robot.momentum(motion.q, motion.v)).max(),
        "center_of_mass_moved_m": np.ptp(robot.center_of_mass(motion.q), axis=0).max(),
        "largest_torque_Nm": np.abs(torques).max(),
    }


def sizes(robot, run):
    """A panel of how large both parts of the momentum are."""
    momentum = robot.momentum(run.q, run.v)
    curves = {
        "angular, N m s": np.linalg.norm(momentum[:, :3], axis=1),
        "linear, N s": np.linalg.norm(momentum[:, 3:], axis=1),
    }
    return Panel("time, s", "size", run.t, curves, "momentum, by torques of the joints")


def draw_space_motions(robot, motions, run, path):
    """The joint angles and the bus's attitude of each motion; the momentum of the one that torques made."""
    panels = [
        Panel("time, s", "angle, rad", one.t, dict(zip(robot.joint_names[1:], one.q[:, 7:].T, strict=True)), name)
        for name, one in motions.items()
    ]
    turned = {
        f"{name}, {axis}": curve
        for name, one in motions.items()
        for axis, curve in zip("xyz", attitude(robot, one).T, strict=True)
    }
    panels.append(Panel("time, s", "rotation of the bus, deg", run.t, turned, "attitude of the bus"))
    save(panel_figure("space_robot: one arm moves; both arms move", [*panels, sizes(robot, run)]), path, dpi=110)


def draw_turn(robot, turn, run, path):
    """Joints that come back, the bus that does not, and the momentum that stays."""
    motion, names = turn.motion, robot.joint_names[1:]
    away = np.degrees(motion.q[:, 7:] - motion.q[0, 7:])
    panels = [
        Panel(
            "time, s",
            "angle from the start, deg",
            motion.t,
            dict(zip(names[k : k + 6], away.T[k : k + 6], strict=True)),
            side,
        )
        for k, side in ((0, "left arm"), (6, "right arm"))
    ]
    turned = dict(zip("xyz", attitude(robot, motion).T, strict=True))
    panels.append(Panel("time, s", "rotation of the bus, deg", motion.t, turned, "attitude of the bus"))
    save(
        panel_figure("space_robot: round and back, and the bus has turned", [*panels, sizes(robot, run)]), path, dpi=110
    )


# %%
def run(folder):
    """All motions, with pictures and animations."""
    robot = rc.robots.space_robot()
    motions = {"one arm": one_arm(robot), "both arms": both_arms(robot)}
    by_torques, turn = driven(robot, motions["one arm"]), turned_on_purpose(robot)
    draw_space_motions(robot, motions, by_torques, f"{folder}/space_motion.png")
    motions["round and back"] = turn.motion
    results = {name: measure(robot, motion) for name, motion in motions.items()}
    results["one arm, by its torques"] = measure(robot, FreeMotion(by_torques.t, by_torques.q, by_torques.v)) | {
        "joints_open_m": by_torques.drift,
        "off_the_prediction": np.abs(robot.difference(by_torques.q, motions["one arm"].q)).max(),
    }
    back = turned_by_torques(robot, turn)
    off = robot.difference(np.concatenate([back.q[-1, :3], WISHED, back.q[-1, 7:]]), back.q[-1])[:3]
    results["round and back"] |= {"off_the_attitude_deg": np.degrees(turn.residual)}
    results["round and back, by its torques"] = measure(robot, FreeMotion(back.t, back.q, back.v)) | {
        "off_the_attitude_deg": np.degrees(np.linalg.norm(off))
    }
    draw(robot, start_pose(robot), f"{folder}/space_robot.png")
    draw_turn(robot, turn, back, f"{folder}/space_turn.png")
    for name, motion in motions.items():
        file = f"{folder}/space_{name.replace(' ', '_')}.gif"
        animate(robot, motion.t, motion.q, file, trail="left_hand", title=name)
    return results


if __name__ == "__main__":
    Path("space-robot").mkdir(exist_ok=True)
    print(json.dumps(run("space-robot"), indent=2))
