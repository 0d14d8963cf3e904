"""Pictures of the bundled mechanisms, and of a long run of one of them; ``make_figures.py`` calls these."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import recursa as rc
from recursa.model.constraints import Contact, Loop
from recursa.model.model import WORLD
from recursa.plotting.styles import colour

PLANAR = {"four_bar", "slider_crank", "five_bar", "gripper"}
TITLES = {
    "four_bar": "four-bar, 1 freedom", "slider_crank": "slider-crank, 1", "five_bar": "five-bar, 2",
    "gripper": "gripper, 1", "delta": "delta robot, 3", "stewart": "Stewart platform, 6",
    "two_arms": "two arms with a bar, 6", "standing_quadruped": "quadruped on its feet, 6",
}  # fmt: skip
STEEL, GROUND, LOOP = "#44546a", "#999999", "#d1495b"


def shape(robot: rc.Robot, q: np.ndarray) -> tuple[dict[int, list[np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]:
    """Per body the points that joints and loops are at, and the two ends of every loop."""
    model, poses = robot.model, robot.poses(q)
    points: dict[int, list[np.ndarray]] = {k: [] for k in range(-1, model.nbodies)}
    for k, joint in enumerate(model.joints):
        at = poses[model.link_index(joint.child), :3, 3]
        if joint.kind.name != "free":
            points[k].append(at)
            points[joint.parent].append(at)
    for link, pose in zip(model.links, poses, strict=True):
        if link.frame and link.body != WORLD:
            points[link.body].append(pose[:3, 3])
    ends = []
    for one in robot.constraints:
        if isinstance(one, Loop):
            both = []
            for name, place in ((one.link, one.at), (one.other, one.at_other)):
                number = model.link_index(name)
                both.append(poses[number, :3, :3] @ place + poses[number, :3, 3])
                points[model.links[number].body].append(both[-1])
            ends.append((both[0], both[1]))
        elif isinstance(one, Contact):
            number = model.link_index(one.link)
            points[model.links[number].body].append(poses[number, :3, :3] @ one.at + poses[number, :3, 3])
    return points, ends


def distinct(points: list[np.ndarray]) -> np.ndarray:
    """Each once, in an order around their middle."""
    found: list[np.ndarray] = []
    for one in points:
        if all(np.linalg.norm(one - other) > 1e-6 for other in found):
            found.append(one)
    if len(found) < 4:
        return np.array(found).reshape(-1, 3)
    middle = np.mean(found, axis=0)
    first, second = np.linalg.svd(np.array(found) - middle)[2][:2]
    return np.array(sorted(found, key=lambda x: np.arctan2((x - middle) @ second, (x - middle) @ first)))


def draw(axis: plt.Axes, robot: rc.Robot, flat: bool) -> None:
    """One mechanism where it starts."""
    points, ends = shape(robot, robot.neutral())
    keep = (lambda x: x[..., :2].T) if flat else (lambda x: x.T)
    for body, own in points.items():
        corners = distinct(own)
        if body == WORLD:
            axis.plot(*keep(corners), "^", color=GROUND, markersize=8, zorder=1)
        elif len(corners) > 2:
            if flat:
                axis.fill(*keep(corners), color=STEEL, alpha=0.35)
            else:
                axis.add_collection3d(Poly3DCollection([corners], color=STEEL, alpha=0.35))
            axis.plot(*keep(np.vstack([corners, corners[:1]])), color=STEEL, linewidth=2)
        elif len(corners) == 1 and flat:
            axis.plot(*keep(corners), "s", color=STEEL, markersize=14, zorder=0.5)  # what slides on a rail
        elif len(corners):
            axis.plot(*keep(corners), color=STEEL, linewidth=4 if flat else 3, solid_capstyle="round")
        if body != WORLD and len(corners):
            axis.plot(*keep(corners), "o", color="white", markeredgecolor=STEEL, markersize=4 if flat else 3)
    for one, other in ends:
        if np.linalg.norm(one - other) > 1e-6:  # a rod, which has no body of its own
            axis.plot(*keep(np.array([one, other])), color=LOOP, linewidth=1.5)
        axis.plot(*keep(np.array([one, other])), "o", color=LOOP, markersize=5 if flat else 4, zorder=5)
    feet = [one.link for one in robot.constraints if isinstance(one, Contact)]
    for foot in feet:
        axis.plot(*keep(robot.pose(robot.neutral(), foot)[:3, 3:].T), "v", color=LOOP, markersize=6)


def mechanisms(path: Path) -> None:
    """All eight, loops in red."""
    figure = plt.figure(figsize=(8.8, 5.0), dpi=110)
    for k, (name, title) in enumerate(TITLES.items()):
        flat = name in PLANAR
        axis = figure.add_subplot(2, 4, k + 1, projection=None if flat else "3d")
        draw(axis, rc.robots.by_name(name), flat)
        figure.text(0.01 + 0.245 * (k % 4) + 0.1225, 0.95 - 0.48 * (k // 4), title, ha="center", fontsize="small")
        axis.set_axis_off()
        if flat:
            axis.margins(0.12)
            axis.set_aspect("equal")
            continue
        points = np.vstack([one for own in shape(rc.robots.by_name(name), rc.robots.by_name(name).neutral())[0].values()
                            for one in own])  # fmt: skip
        middle, half = (points.max(axis=0) + points.min(axis=0)) / 2, np.ptp(points, axis=0).max() / 2
        axis.set(**{f"{letter}lim": (x - half, x + half) for letter, x in zip("xyz", middle, strict=True)})
        axis.set_box_aspect((1, 1, 1), zoom=1.2)
        axis.view_init(elev=18, azim=-62)
    figure.subplots_adjust(left=0.02, right=0.98, top=0.93, bottom=0.01, wspace=0.08, hspace=0.14)
    figure.savefig(path, metadata={"Software": ""})
    plt.close(figure)


def four_bar_energy(path: Path) -> None:
    """A free four-bar over 100 000 steps: its energy, and how far its loop is open."""
    robot = rc.robots.four_bar()
    figure, (energy, closure) = plt.subplots(2, 1, figsize=(8.8, 5.4), dpi=100, sharex=True, layout="constrained")
    for k, (name, integrator) in enumerate((("implicit midpoint, symmetric", "implicit-midpoint"), ("rk4", "rk4"))):
        run = robot.simulate(robot.neutral(), duration=200.0, integrator=integrator, step=2e-3, save_every=20)
        energy.plot(run.t, 1e3 * run.energy_error, color=colour(k), linewidth=0.6 + 0.8 * k, label=name)
        opened = np.abs(robot.constraint_error(run.q)[:, :3]).max(axis=1)
        closure.semilogy(run.t, np.maximum(opened, 1e-17), ".", color=colour(k), markersize=1.5)
    energy.set(ylabel="energy error, mJ", title="A free four-bar: 100 000 steps of 2 ms")
    energy.legend(fontsize="small", loc="upper right")
    energy.set_ylim(-0.6, 0.75)
    closure.axhline(1e-12, color="black", linestyle="--", linewidth=0.8)
    closure.annotate("1e-12 m", (2.0, 1.3e-12), fontsize="small")
    closure.set(xlabel="time, s", ylabel="loop open by, m", ylim=(1e-17, 1e-11))
    figure.savefig(path, metadata={"Software": ""})
    plt.close(figure)
