"""The pictures of the pages: ``python docs/make_figures.py`` writes them into docs/images."""

import ast
import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mechanism_figures
import numpy as np
from scipy.interpolate import CubicSpline

import recursa as rc
from recursa.examples import space_robot
from recursa.examples.two_arms import ARMS, FALL, INSTANTS, MOTION
from recursa.plotting import plot_diagonal, plot_motion
from recursa.plotting.arm import draw_robot
from recursa.plotting.styles import colour


def operators(path: Path) -> None:
    """Where operators of a tree of seven bodies have entries."""
    robot = rc.robots.tree()
    o = robot.operators
    q, _ = robot.random_state(seed=1)
    shown = {"φ": o.phi, "ψ": o.psi, "mass matrix": o.mass, "factor I + H φ K": o.I + o.H @ o.phi @ o.K}
    figure, axes = plt.subplots(1, len(shown), figsize=(8.8, 2.5), dpi=100)
    for axis, (title, expression) in zip(axes, shown.items(), strict=True):
        matrix = np.abs(rc.dense(expression, q)) > 1e-12
        axis.imshow(matrix, cmap="Greys", vmin=0, vmax=1.4, interpolation="nearest")
        cell = len(matrix) // robot.nbodies
        lines = np.arange(cell, len(matrix), cell) - 0.5
        axis.vlines(lines, -0.5, len(matrix) - 0.5, color="#88aacc", linewidth=0.5)
        axis.hlines(lines, -0.5, len(matrix) - 0.5, color="#88aacc", linewidth=0.5)
        axis.set(title=title, xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": ""})


def frames(path: Path) -> None:
    """One link, and the three frames in which its velocity can be told."""
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.0), dpi=100, layout="constrained")
    turn, place = 0.6, np.array([2.1, 1.1])
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    outline = np.array([[-0.15, -0.25], [1.45, -0.25], [1.45, 0.25], [-0.15, 0.25], [-0.15, -0.25]]) @ turned.T + place
    chosen = {
        '"body"': (place, turned, "link axes at the link origin\nv: of the link origin"),
        '"mixed"': (place, np.eye(2), "world axes at the link origin\nv: of the link origin"),
        '"world"': (np.zeros(2), np.eye(2), "world axes at the world origin\nv: of the point of the link there"),
    }
    for axis, (name, (origin, basis, words)) in zip(axes, chosen.items(), strict=True):
        axis.fill(*outline.T, color="#dde6ee", zorder=0)
        axis.plot(*outline.T, color="#8899aa", linewidth=1.0, zorder=1)
        _axes(axis, np.zeros(2), np.eye(2), "#bbbbbb", "world")
        _axes(axis, place, turned, "#bbbbbb", "link")
        _axes(axis, origin, basis, "#d55e00", "")
        axis.plot(*origin, "o", color="#d55e00", markersize=6, zorder=5)
        axis.set(xlim=(-0.5, 3.9), ylim=(-1.0, 2.45), aspect="equal")
        axis.set_title(f"frame={name}", family="monospace", fontsize=11)
        axis.text(1.7, -1.0, words, ha="center", va="bottom", fontsize=9)
        axis.axis("off")
    figure.savefig(path, metadata={"Software": ""})
    plt.close(figure)


def _axes(axis: plt.Axes, origin: np.ndarray, basis: np.ndarray, color: str, name: str) -> None:
    """Two arrows, x and y."""
    for k, letter in enumerate("xy"):
        end = origin + 0.8 * basis[:, k]
        axis.annotate("", end, origin, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.0})
        axis.text(*(origin + 0.95 * basis[:, k]), letter, color=color, ha="center", va="center", fontsize=9)
    if name:
        axis.text(
            *(origin - [-0.25, 0.45 if name == "link" else 0.22]),
            name,
            color="#777777",
            ha="center",
            va="center",
            fontsize=8,
        )


def orders(path: Path) -> None:
    """What q and v of a free joint hold, entry by entry, here and in other libraries."""
    position, quaternion = ["x", "y", "z"], ["qx", "qy", "qz", "qw"]
    w_first = ["qw", "qx", "qy", "qz"]
    angular, linear = ["$\\omega_x$", "$\\omega_y$", "$\\omega_z$"], ["$v_x$", "$v_y$", "$v_z$"]
    link, world = "link axes", "world axes"
    rows = {
        "Recursa": (position + quaternion, [(angular, link), (linear, link)]),
        "Pinocchio": (position + quaternion, [(linear, link), (angular, link)]),
        "MuJoCo": (position + w_first, [(linear, world), (angular, link)]),
        "Drake": (w_first + position, [(angular, world), (linear, world)]),
    }
    colors = {"p": "#cfe3f3", "q": "#f7d9c4", "o": "#d7ecd2", "v": "#efe3b8"}
    figure, axis = plt.subplots(figsize=(9.6, 3.0), dpi=100, layout="constrained")
    for row, (name, (q, v)) in enumerate(rows.items()):
        top = -1.25 * row
        axis.text(-0.75, top, name, ha="right", va="center", fontsize=11, weight="bold" if row == 0 else "normal")
        for k, letter in enumerate(q):
            _cell(axis, k, top, letter, colors["p" if letter in position else "q"])
        for k, (letters, frame) in enumerate(v):
            for j, letter in enumerate(letters):
                _cell(axis, 8.0 + 3 * k + j, top, letter, colors["o" if letters is angular else "v"])
            axis.text(8.0 + 3 * k + 1.0, top - 0.56, frame, ha="center", va="center", fontsize=8, color="#555555")
    axis.text(3.0, 0.85, "q of a free joint", ha="center", fontsize=11)
    axis.text(10.5, 0.85, "v of a free joint", ha="center", fontsize=11)
    axis.set(xlim=(-2.6, 13.8), ylim=(-4.55, 1.25))
    axis.axis("off")
    figure.savefig(path, metadata={"Software": ""})
    plt.close(figure)


def _cell(axis: plt.Axes, x: float, y: float, text: str, color: str) -> None:
    axis.add_patch(plt.Rectangle((x - 0.47, y - 0.36), 0.94, 0.72, facecolor=color, edgecolor="#888888", linewidth=0.8))
    axis.text(x, y, text, ha="center", va="center", fontsize=10)


def time_optimal(path: Path) -> None:
    """The motion of the page on time-optimal motions: speed over place, and what holds it."""
    page = Path(__file__).with_name("time-optimal.md").read_text("utf-8")
    first = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert first is not None
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(None):
        exec(first[1].replace('"speed.png"', repr(str(path))), names)


def waypoints(path: Path) -> None:
    """Paths of the page on time-optimal motions through the same points: two joints in the plane, and one over s."""
    page = Path(__file__).with_name("time-optimal.md").read_text("utf-8")
    points = np.array(ast.literal_eval(re.search(r"waypoints = (\[.*?\]\])", page, flags=re.DOTALL)[1]))
    distances = np.linalg.norm(np.diff(points, axis=0), axis=1)
    chords = np.concatenate([[0.0], np.cumsum(distances)])
    ways = {
        "chord lengths, not-a-knot": (chords, CubicSpline(chords, points), "C3", "--"),
        'rc.Path(points), "natural"': (*_course(rc.Path(points)), "C0", "-"),
        'kind="lines", blend=0.2': (*_course(rc.Path(points, kind="lines", blend=0.2)), "C2", "-."),
    }
    figure, (plane, along) = plt.subplots(1, 2, figsize=(9.2, 3.9), dpi=100, layout="constrained")
    for label, (breaks, way, shade, style) in ways.items():
        s = np.linspace(breaks[0], breaks[-1], 1001)
        q = way(s)
        plane.plot(q[:, 1], q[:, 0], style, color=shade, label=label)
        along.plot(s / s[-1], q[:, 0], style, color=shade)
    plane.plot(points[:, 1], points[:, 0], "ko", ms=5, label="points")
    along.axhspan(points[:, 0].min(), points[:, 0].max(), color="0.92", lw=0)
    plane.set(xlabel="joint 2, rad", ylabel="joint 1, rad")
    along.set(xlabel="part of the path", ylabel="joint 1, rad", title="grey: the range of the points")
    plane.legend(fontsize="small")
    for axis in (plane, along):
        axis.grid(alpha=0.3)
    figure.savefig(path, metadata={"Software": ""})


def _course(way: rc.Path) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    return way.breaks, lambda s: way.sample(s)[0]


def desk_arm(path: Path) -> None:
    """The arm of the README where it starts, and how it sinks with nine tenths of the torques that would hold it."""
    robot = rc.load(rc.robots.urdf("desk_arm"), mimic="tie")
    start = {"shoulder": 0.6, "elbow": 1.0}
    hold = robot.inverse_dynamics(start, np.zeros(robot.nv), np.zeros(robot.nv))
    run = robot.simulate(start, duration=0.7, torque=0.9 * hold, samples=201)
    figure = plt.figure(figsize=(8.8, 3.6), dpi=100)
    arm = figure.add_axes((0.0, 0.09, 0.47, 0.9), projection="3d")
    draw_robot(arm, robot, start)
    arm.get_legend().remove()
    arm.set(title="", xlabel="x, m", ylabel="y, m", zlabel="z, m", yticks=[-0.2, 0.0, 0.2], zticks=[0.0, 0.2, 0.4])
    angles = figure.add_axes((0.59, 0.14, 0.39, 0.8))
    for name in ("shoulder", "elbow", "wrist_pitch"):
        k = robot.joint_names.index(name)
        angles.plot(run.t, run.q[:, k], color=colour(k), label=name)
    angles.set(xlabel="time, s", ylabel="angle, rad")
    angles.grid(alpha=0.3)
    angles.legend(fontsize="small")
    figure.savefig(path, metadata={"Software": ""})


def motion(path: Path) -> None:
    """The Stanford arm along a minimum-jerk motion through three points."""
    arm = rc.robots.stanford()
    points = [arm.neutral(), [0.4, 0.9, 0.2, 0.0, 0.5, 0.0], [1.0, 0.5, 0.3, -0.6, 0.2, 0.0]]
    moves = rc.Trajectory.minimum_jerk(points, [0.0, 1.0, 1.8], robot=arm)
    t = moves.times(201)
    q, v, a = moves.sample(t)
    plot_motion(arm, t, q, v, arm.inverse_dynamics(q, v, a), panels=("angles", "torques", "energy", "power"), path=path)


def space(path: Path) -> None:
    """The space robot: one arm moves and the bus turns; both arms move and it does not."""
    robot = rc.robots.space_robot()
    motions = {"one arm": space_robot.one_arm(robot), "both arms": space_robot.both_arms(robot)}
    space_robot.draw_space_motions(robot, motions, space_robot.driven(robot, motions["one arm"]), path)


def space_turn(path: Path) -> None:
    """The space robot: the arms go round and come back, and the bus has turned."""
    robot = rc.robots.space_robot()
    turn = space_robot.turned_on_purpose(robot)
    space_robot.draw_turn(robot, turn, space_robot.turned_by_torques(robot, turn), path)


def saha(folder: Path) -> None:
    """Figures 5, 6, 8 and 9 of Saha's paper: torques along the motion, and the fall, a panel for each joint."""
    for named, (start, end) in ARMS.items():
        robot = rc.robots.by_name(named)
        motion = rc.Trajectory.cycloid(start, end, MOTION)
        t = motion.times(INSTANTS)
        q, v, a = motion.sample(t)
        tau = robot.inverse_dynamics(q, v, a, method="denoc")
        own = {"by_joint": True}
        plot_motion(robot, t, tau=tau, path=folder / f"saha-{named}-torques.png", title=f"{named}: torques", **own)
        run = robot.simulate(start, duration=FALL, progress=False)
        run.plot(folder / f"saha-{named}-fall.png", panels=("angles",), title=f"{named}: let go", **own)


def of_page(page: Path, folder: Path) -> None:
    """What the code of a page itself draws."""
    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
            exec(code, names)


def simulation(path: Path) -> None:
    """Two rubbing joints that stick and slip, and where their energy goes."""
    builder = rc.Builder("rubbing")
    for k, parent in enumerate(("world", "upper")):
        link = ("upper", "lower")[k]
        builder.link(link, mass=1.0, com=(0.3, 0.02, 0.0), inertia=(0.01, 0.02, 0.03))
        builder.joint(
            ("shoulder", "elbow")[k], "revolute", parent=parent, child=link, axis=(0, 1, 0), xyz=(0.5 * k, 0, 0),
            friction=1.0, damping=0.02,
        )  # fmt: skip
    run = builder.build().simulate([0.0, 0.4], [0.0, 3.0], duration=4.0, samples=801)
    figure, (speeds, energies) = plt.subplots(1, 2, figsize=(8.8, 3.0), dpi=100, layout="constrained")
    speeds.plot(run.t, run.v, label=["shoulder", "elbow"])
    speeds.set(xlabel="t [s]", ylabel="speed [rad/s]")
    for name, values in {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "lost": run.lost}.items():
        energies.plot(run.t, values, label=name)
    energies.plot(run.t, run.energy + run.lost, "k--", linewidth=1, label="sum")
    energies.set(xlabel="t [s]", ylabel="energy [J]")
    for axis in (speeds, energies):
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    figure.savefig(path, metadata={"Software": ""})


def diagonal(path: Path) -> None:
    """A planar arm in diagonal coordinates."""
    plot_diagonal(rc.robots.planar(3), [0.6, -0.9, -0.7], [1.0, 2.0, -1.5], path)


def workspace(path: Path) -> None:
    """Where the flange of a Panda can be."""
    rc.workspace(rc.robots.panda_like(), "flange").plot(path, dpi=90)


def differential_ik(path: Path) -> None:
    """The page's line, and the same without the velocity ahead."""
    robot = rc.robots.panda_like()
    dt, duration = 0.005, 1.5
    t = dt * np.arange(1, int(duration / dt) + 1)
    figure, (place, rates, miss) = plt.subplots(1, 3, figsize=(8.8, 2.9), dpi=100, layout="constrained")
    for ahead, style in ((True, "-"), (False, "--")):
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[3], q[5] = -1.5, 1.8
        start = robot.pose(q, "flange")
        ik = rc.DifferentialIK(robot, dt, acceleration=20.0, velocity=2.0, frame="mixed")
        path_of, speeds, off = [], [], []
        for s in t / duration:
            goal, now, along = start.copy(), start.copy(), np.zeros(6)
            before = s - dt / duration
            goal[1, 3] += 0.3 * s * s * (3.0 - 2.0 * s)
            now[1, 3] += 0.3 * before * before * (3.0 - 2.0 * before)
            along[4] = (goal[1, 3] - now[1, 3]) / dt
            step = ik.step(q, v, poses={"flange": now}, velocities={"flange": along} if ahead else None)
            q, v = step.q, step.v
            at = robot.pose(q, "flange")[:3, 3]
            path_of.append(at[1])
            speeds.append(v)
            off.append(np.linalg.norm(at - goal[:3, 3]))
        label = "pose and velocity" if ahead else "pose alone"
        place.plot(t, path_of, style, color=colour(0 if ahead else 1), label=label)
        miss.semilogy(t, np.array(off), style, color=colour(0 if ahead else 1), label=label)
        if ahead:
            for k in range(robot.nv):
                rates.plot(t, np.array(speeds)[:, k], color=colour(k), label=robot.joint_names[k])
    place.set(xlabel="time, s", ylabel="y of the flange, m")
    rates.set(xlabel="time, s", ylabel="joint speed, rad/s", ylim=(-0.3, 0.9))
    miss.set(xlabel="time, s", ylabel="distance from the goal, m")
    for axis in (place, rates, miss):
        axis.grid(alpha=0.3)
    place.legend(fontsize="x-small")
    miss.legend(fontsize="x-small")
    rates.legend(fontsize="xx-small", ncols=2)
    figure.savefig(path, metadata={"Software": ""})


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    desk_arm(here / "images" / "desk_arm.png")
    frames(here / "images" / "conventions-frames.png")
    orders(here / "images" / "conventions-orders.png")
    time_optimal(here / "images" / "time-optimal.png")
    waypoints(here / "images" / "waypoints.png")
    operators(here / "images" / "operators.png")
    motion(here / "images" / "motion.png")
    simulation(here / "images" / "simulation.png")
    space(here / "images" / "space.png")
    space_turn(here / "images" / "space-turn.png")
    saha(here / "images")
    diagonal(here / "images" / "diagonal.png")
    workspace(here / "images" / "workspace.png")
    differential_ik(here / "images" / "differential-ik.png")
    mechanism_figures.mechanisms(here / "images" / "mechanisms.png")
    mechanism_figures.four_bar_energy(here / "images" / "four_bar_energy.png")
    for page in ("lqr.md", "control.md", "control-of-links.md", "diagonal-simulation.md", "identification.md"):
        of_page(here / page, here / "images")
