"""``recursa demo --space``: an arm of a space robot moves and the bus turns; with both arms it need not, or is to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.files import write_together
from recursa.free import FreeMotion, LinkRun, Reorientation
from recursa.plotting import Panel, animate, draw
from recursa.plotting.panels import panel_figure
from recursa.plotting.styles import save
from recursa.sweeps.batching import Array

# angles of the left arm at the start and where it is to go; the right one starts mirrored
START = (0.4, -0.9, 1.6, 0.0, 0.5, 0.0)
END = (-0.3, 0.4, 0.5, 0.6, -0.4, 0.0)
DURATION, SAMPLES = 8.0, 201
WISHED = 0.35  # rad about z: where the bus is to point in the end


def run_space_demo(folder: Path, as_json: bool = False) -> None:
    """Two motions of the bundled space robot: pictures, animations and ``summary.json`` into the folder."""
    out = show.console()
    folder.mkdir(parents=True, exist_ok=True)
    robot = rc.robots.space_robot()
    if not as_json:
        show.put(out, show.tree(robot))
    motions = {"one arm": one_arm(robot), "both arms": both_arms(robot)}
    results: dict[str, Any] = {name: measure(robot, motion) for name, motion in motions.items()}
    run = driven(robot, motions["one arm"])
    results["one arm, by its torques"] = measure(robot, FreeMotion(run.t, run.q, run.v)) | {
        "joints_open_m": run.drift,
        "off_the_prediction": float(np.abs(robot.difference(run.q, motions["one arm"].q)).max()),
    }
    turn = turned_on_purpose(robot)
    motions["round and back"] = turn.motion
    by_torques = turned_by_torques(robot, turn)
    results["round and back"] = measure(robot, turn.motion) | {"off_the_attitude_deg": float(np.degrees(turn.residual))}
    ended = FreeMotion(by_torques.t, by_torques.q, by_torques.v)
    results["round and back, by its torques"] = measure(robot, ended) | {
        "off_the_attitude_deg": off_the_attitude(robot, by_torques.q[-1])
    }
    draw(robot, motions["one arm"].q[0], folder / "space_robot.png")
    draw_turn(robot, turn, by_torques, folder / "space_turn.png")
    draw_space_motions(
        robot, {name: motions[name] for name in ("one arm", "both arms")}, run, folder / "space_motion.png"
    )
    for name, motion in motions.items():
        animate(
            robot, motion.t, motion.q, folder / f"space_{name.replace(' ', '_')}.gif", trail="left_hand", title=name
        )
    write_together({folder / "summary.json": json.dumps(results, indent=2) + "\n"})
    if as_json:
        show.print_json(results)
        return
    show.put(out, summary_table(results))
    out.print(f"pictures, animations and summary.json are in [bold]{folder}[/]")


def start_pose(robot: rc.Robot) -> Array:
    """Both arms folded, the bus at the origin."""
    q = robot.neutral()
    mirrored = np.array(START) * [-1, 1, 1, -1, 1, -1]
    q[7:] = np.concatenate([START, mirrored])
    return q


def course() -> rc.Trajectory:
    """How the left arm is to move."""
    return rc.Trajectory.cycloid(START, END, T=DURATION)


def one_arm(robot: rc.Robot) -> FreeMotion:
    """The left arm moves, the right one holds still."""
    left = course()

    def rates(t: float, q: Array) -> Array:
        return np.concatenate([left.sample(t)[1], np.zeros(6)])

    return rc.free.move_joints(robot, start_pose(robot), rates, np.linspace(0.0, DURATION, SAMPLES))


def both_arms(robot: rc.Robot) -> FreeMotion:
    """The same wish, but both arms move so that the bus does not turn: the nearest reactionless rates."""
    left = course()

    def rates(t: float, q: Array) -> Array:
        return rc.free.reaction_null_rates(robot, q, np.concatenate([left.sample(t)[1], np.zeros(6)]))

    return rc.free.move_joints(robot, start_pose(robot), rates, np.linspace(0.0, DURATION, SAMPLES))


def driven(robot: rc.Robot, motion: FreeMotion) -> LinkRun:
    """The same motion by forces: torques for the wished joint accelerations, nothing at the base, link by link."""
    left = course()

    def torque(t: float, q: Array, v: Array) -> Array:
        wanted = np.concatenate([left.sample(t)[2], np.zeros(6)])
        return np.concatenate([np.zeros(6), rc.free.inverse_dynamics(robot, q, v, wanted).torques])

    step = float(motion.t[1] - motion.t[0])
    return rc.free.simulate_links(robot, motion.q[0], np.zeros(robot.nv), DURATION, step=step, torque=torque)


def wished_attitude() -> Array:
    """The quaternion (x, y, z, w) that the bus is to have."""
    return np.array([0.0, 0.0, np.sin(WISHED / 2.0), np.cos(WISHED / 2.0)])


def turned_on_purpose(robot: rc.Robot) -> Reorientation:
    """Both arms go round and come back, and the bus points elsewhere."""
    return rc.free.reorient(robot, start_pose(robot), wished_attitude())


def turned_by_torques(robot: rc.Robot, turn: Reorientation) -> rc.Run:
    """The same motion by forces, integrated as any other run."""

    def torque(t: float, q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(6), rc.free.inverse_dynamics(robot, q, v, turn.joints(t)[2]).torques])

    options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "samples": SAMPLES, "progress": False, "losses": False}
    return robot.simulate(turn.motion.q[0], duration=turn.duration, torque=torque, **options)


def off_the_attitude(robot: rc.Robot, q: Array) -> float:
    """Degrees between the bus and where it is to point."""
    aim = np.concatenate([q[:3], wished_attitude(), q[7:]])
    return float(np.degrees(np.linalg.norm(robot.difference(aim, q)[:3])))


def draw_turn(robot: rc.Robot, turn: Reorientation, run: rc.Run, path: Path) -> None:
    """Joints that come back, the bus that does not, and the momentum that stays."""
    motion, names = turn.motion, robot.joint_names[1:]
    away = np.degrees(motion.q[:, 7:] - motion.q[0, 7:])
    panels = []
    for k, side in ((0, "left"), (6, "right")):
        curves = dict(zip(names[k : k + 6], away.T[k : k + 6], strict=True))
        panels.append(Panel("time, s", "angle from the start, deg", motion.t, curves, f"{side} arm"))
    attitudes = dict(zip("xyz", attitude(robot, motion).T, strict=True))
    panels.append(Panel("time, s", "rotation of the bus, deg", motion.t, attitudes, "attitude of the bus"))
    sizes = momentum_sizes(robot, run.q, run.v)
    panels.append(Panel("time, s", "size", run.t, sizes, "momentum, by torques of the joints"))
    save(panel_figure("space_robot: round and back, and the bus has turned", panels), path, dpi=110)


def torques(robot: rc.Robot, motion: FreeMotion) -> Array:
    """What the joint motors do, while nothing drives the base."""
    accelerations = np.gradient(motion.v[:, 6:], motion.t, axis=0, edge_order=2)
    return rc.free.inverse_dynamics(robot, motion.q, motion.v, accelerations).torques


def attitude(robot: rc.Robot, motion: FreeMotion) -> Array:
    """Rotation vectors (n, 3) of the bus since the start, in degrees."""
    return np.degrees(robot.difference(motion.q[0], motion.q)[:, :3])


def measure(robot: rc.Robot, motion: FreeMotion) -> dict[str, Any]:
    """How far the bus turned and moved, what stayed constant, what it took."""
    return {
        "bus_turned_deg": float(np.linalg.norm(attitude(robot, motion), axis=1).max()),
        "bus_moved_m": float(np.linalg.norm(motion.q[:, :3] - motion.q[0, :3], axis=1).max()),
        "hand_moved_m": float(np.linalg.norm(np.ptp(robot.pose(motion.q, "left_hand")[:, :3, 3], axis=0))),
        "largest_momentum": float(np.abs(robot.momentum(motion.q, motion.v)).max()),
        "center_of_mass_moved_m": float(np.ptp(robot.center_of_mass(motion.q), axis=0).max()),
        "largest_torque_Nm": float(np.abs(torques(robot, motion)).max()),
    }


def draw_space_motions(robot: rc.Robot, motions: dict[str, FreeMotion], run: LinkRun, path: Path) -> None:
    """The joint angles and the bus's attitude of each motion; the momentum of the one that forces made."""
    panels = []
    for name, motion in motions.items():
        angles = {joint: motion.q[:, 7 + k] for k, joint in enumerate(robot.joint_names[1:])}
        panels.append(Panel("time, s", "angle, rad", motion.t, angles, f"{name}: joints"))
    turned = {
        f"{name}, {axis}": attitude(robot, motion)[:, k]
        for name, motion in motions.items()
        for k, axis in enumerate("xyz")
    }
    panels.append(Panel("time, s", "rotation of the bus, deg", motions["one arm"].t, turned, "attitude of the bus"))
    sizes = momentum_sizes(robot, run.q, run.v)
    panels.append(Panel("time, s", "size", run.t, sizes, "momentum, one arm by its torques"))
    save(panel_figure("space_robot: one arm moves; both arms move", panels), path, dpi=110)


def momentum_sizes(robot: rc.Robot, q: Array, v: Array) -> dict[str, Array]:
    """How large both parts of the momentum are."""
    momentum, parts = robot.momentum(q, v), {"angular, N m s": slice(0, 3), "linear, N s": slice(3, 6)}
    return {part: np.linalg.norm(momentum[:, rows], axis=1) for part, rows in parts.items()}


def summary_table(results: dict[str, dict[str, Any]]) -> Table:
    """A motion per column."""
    table = Table(title="nothing drives the base, and momentum stays zero")
    table.add_column("")
    for name in results:
        table.add_column(name, justify="right")
    rows = (
        ("bus turned, deg", "bus_turned_deg"), ("bus moved, m", "bus_moved_m"), ("hand moved, m", "hand_moved_m"),
        ("largest momentum, N m s or N s", "largest_momentum"),
        ("centre of mass moved, m", "center_of_mass_moved_m"), ("largest torque, N m", "largest_torque_Nm"),
        ("off the wished attitude, deg", "off_the_attitude_deg"), ("joints open, m", "joints_open_m"),
        ("off the prediction, m or rad", "off_the_prediction"),
    )  # fmt: skip
    for label, key in rows:
        table.add_row(label, *(f"{result[key]:.3g}" if key in result else "" for result in results.values()))
    return table
