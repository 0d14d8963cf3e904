"""Plots of motions: which panels, whose curves, what units; frames of an animation; what is refused."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recursa as rc
import zoo
from recursa.model.columns import coordinate_names
from recursa.plotting import animate, draw, plot_motion, skeleton
from recursa.plotting.animation import frame_times
from recursa.plotting.panels import Panel, draw_panels


def moved(robot: rc.Robot, n: int = 21, T: float = 0.6) -> tuple[Any, ...]:
    motion = rc.Trajectory.cycloid(robot.random_state(1)[0], robot.random_state(2)[0], T, robot=robot)
    t = motion.times(n)
    q, v, a = motion.sample(t)
    return t, q, v, robot.inverse_dynamics(q, v, a)


def curves(axes: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {line.get_label(): line.get_data() for line in axes.lines if not line.get_label().startswith("_")}


def test_every_curve_of_every_panel_is_the_data() -> None:
    robot = rc.robots.stanford()
    t, q, v, tau = moved(robot)
    figure = plot_motion(robot, t, q, v, tau)
    turning, sliding = ["joint1", "joint2", "joint4", "joint5", "joint6"], ["joint3"]
    index = {name: k for k, name in enumerate(robot.joint_names)}
    expected = []
    for data, labels in (
        (q, ("angle, rad", "position, m")),
        (v, ("speed, rad/s", "speed, m/s")),
        (tau, ("torque, N m", "force, N")),
    ):
        expected += [(labels[0], t, data, turning), (labels[1], t, data, sliding)]
    for axes, (label, x, data, names) in zip(figure.axes[:6], expected, strict=True):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("time, s", label)
        shown = curves(axes)
        assert list(shown) == names
        for name in names:
            assert np.array_equal(shown[name], (x, data[:, index[name]]))
        assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    energy, phase, slide, power = (curves(axes) for axes in figure.axes[6:])
    assert np.allclose(energy["total"][1], robot.kinetic_energy(q, v) + robot.potential_energy(q))
    assert np.array_equal(phase["joint4"], (q[:, 3], v[:, 3]))
    assert np.array_equal(slide["joint3"], (q[:, 2], v[:, 2]))
    assert np.allclose(power["total"][1], np.sum(tau * v, axis=1))
    assert np.array_equal(power["joint3"][1], tau[:, 2] * v[:, 2])
    assert [axes.get_ylabel() for axes in figure.axes[6:]] == ["energy, J", "speed, rad/s", "speed, m/s", "power, W"]


def test_joint_keeps_its_colour_in_all_panels() -> None:
    robot = rc.robots.free_flyer(2)
    t, q, v, tau = moved(robot)
    figure = plot_motion(robot, t, q, v, tau, panels=("angles", "speeds", "torques", "power"))
    found: dict[str, set[str]] = {}
    for axes in figure.axes:
        for line in axes.lines:
            found.setdefault(line.get_label().replace(".x", ".tx"), set()).add((line.get_color(), line.get_linestyle()))
    assert len(found["joint2"]) == len(found["joint1"]) == len(found["root.tx"]) == 1
    assert len(set.union(*(found[f"root.{name}"] for name in ("rx", "ry", "rz", "tx", "ty", "tz")))) == 6
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[:3] == ["angle, rad", "position, m", "quaternion"]


def test_a_panel_for_each_joint_is_in_the_order_of_joints() -> None:
    robot = rc.robots.stanford()
    t, q, v, tau = moved(robot)
    figure = plot_motion(robot, t, q, v, tau, panels=("torques", "energy"), by_joint=True)
    *joints, energy = figure.axes
    assert [axes.get_title() for axes in joints] == list(robot.joint_names)
    assert [axes.get_ylabel() for axes in joints] == ["torque, N m"] * 2 + ["force, N"] + ["torque, N m"] * 3
    for k, axes in enumerate(joints):
        (line,) = axes.lines
        assert np.array_equal(line.get_ydata(), tau[:, k])
        assert axes.get_legend() is None
    assert len(energy.lines) == 3
    flyer = rc.robots.free_flyer(1)
    t, q, v, tau = moved(flyer)
    titles = [axes.get_title() for axes in plot_motion(flyer, t, q, panels=("angles",), by_joint=True).axes]
    assert sorted(titles) == sorted(flyer.q_names)
    assert titles.index("joint1") > titles.index("root.x")
    powers = plot_motion(flyer, t, q, v, tau, panels=("power", "phase"), by_joint=True)
    assert [axes.get_title() for axes in powers.axes] == [*flyer.v_names, "total", "joint1"]


def test_panels_follow_the_data_that_there_are(tmp_path: Path) -> None:
    robot = rc.robots.planar(2)
    t, q, v, tau = moved(robot)
    labels = lambda **data: [axes.get_ylabel() for axes in plot_motion(robot, t, **data).axes]  # noqa: E731
    assert labels(q=q) == ["angle, rad"]
    assert labels(tau=tau) == ["torque, N m"]
    assert labels(q=q, v=v) == ["angle, rad", "speed, rad/s", "energy, J", "speed, rad/s"]
    assert labels(energy=t) == ["energy, J"]
    assert labels(energy={"drift": t}, panels=["energy"]) == ["energy, J"]
    plot_motion(robot, t, q, panels="angles", path=tmp_path / "a.svg", title="two $5 arms")
    assert "<svg" in (tmp_path / "a.svg").read_text()
    with pytest.raises(rc.StateError, match="panel 'power' needs v and tau"):
        plot_motion(robot, t, q, panels=["power"])
    with pytest.raises(rc.UnknownNameError, match=r"no panel 'torqes'. Did you mean 'torques'"):
        plot_motion(robot, t, q, panels=["torqes"])
    with pytest.raises(rc.StateError, match="nothing to plot"):
        plot_motion(robot, t)
    with pytest.raises(rc.ShapeError, match=r"q has shape \(21, 1\), expected \(21, 2\): one row per instant"):
        plot_motion(robot, t, q[:, :1])
    with pytest.raises(rc.ShapeError, match=r"t has shape \(1, 21\), expected \(n,\)"):
        plot_motion(robot, t[None], q)
    with pytest.raises(rc.ShapeError, match="energy 'total' has shape"):
        plot_motion(robot, t, energy=t[1:])
    with pytest.raises(rc.StateError, match="must be real"):
        plot_motion(robot, t, q + 1j)


def test_limits_are_drawn_and_panels_in_which_nothing_happens_are_not() -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"))
    t = np.linspace(0.0, 1.0, 5)
    q = np.outer(1.7 * np.sin(3.0 * t), np.ones(robot.nq))
    figure = plot_motion(robot, t, q, np.zeros((5, robot.nv)), np.zeros((5, robot.nv)), panels=None)
    titles = [axes.get_title() for axes in figure.axes]
    assert "joint angles" in titles
    assert not {"turning speeds", "joint torques", "power into the joints"} & set(titles)
    dashed = [line.get_ydata()[0] for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert set(dashed) <= set(robot.position_limits.ravel())
    assert dashed
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.x0 >= figure.axes[0].get_window_extent().x1
    assert len(plot_motion(robot, t, 0.0 * q).axes) == 1
    assert "joint torques" in plot_motion(robot, t, tau=0.0 * q, panels=["torques"]).axes[0].get_title()


def test_of_many_curves_those_that_change_most_are_told_apart() -> None:
    robot = rc.robots.chain(30, seed=1)
    t = np.linspace(0, 1, 3)
    (axes,) = plot_motion(robot, t, t[:, None] * np.arange(30), panels=["angles"]).axes
    assert axes.get_title() == "joint angles: the 12 of 30 that change most"
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == [*robot.joint_names[-12:], "18 others"]


def test_rounding_is_no_motion() -> None:
    """A robot that falls freely does not bend; a panel of 1e-15 rad would be all noise."""
    robot = rc.robots.free_flyer(2).with_gravity((0, 0, -9.81))
    t = np.linspace(0, 1, 5)
    q = np.repeat(robot.neutral()[None], 5, axis=0)
    q[:, 2] -= 4.9 * t**2
    q[:, -1] += 1e-15 * t
    titles = [axes.get_title() for axes in plot_motion(robot, t, q).axes]
    assert titles == ["positions"]


def test_names_of_any_kind_reach_the_legend(tmp_path: Path) -> None:
    t = np.linspace(0, 1, 3)
    panel = Panel("time, s", "x", t, {"_hidden": t, "$x_y": 2 * t})
    with pytest.raises(rc.RecursaError, match=r"cannot draw '.*a.xyz': its ending is none of .*png"):
        draw_panels(tmp_path / "a.xyz", "t", panel)
    from recursa.plotting.panels import panel_figure

    (axes,) = panel_figure("t", [panel]).axes
    assert [text.get_text().strip("\u200b") for text in axes.get_legend().get_texts()] == ["_hidden", r"\$x_y"]
    draw_panels(tmp_path / "a.png", "t", panel)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


# ---- animation -------------------------------------------------------------------------------------------------------


def test_skeleton_of_a_batch_matches_those_of_its_rows() -> None:
    robot = zoo.mixed_tree()
    q = np.stack([robot.random_state(k)[0] for k in range(3)])
    batch = skeleton(robot, q)
    for k in range(3):
        one = skeleton(robot, q[k])
        assert np.array_equal(batch.anchors[k], one.anchors)
        assert np.array_equal(batch.axes[k], one.axes)
        assert np.array_equal(batch.centers[k], one.centers)
        for several, single in zip(batch.reaches, one.reaches, strict=True):
            assert np.array_equal(several[k], single)


def test_loose_body_is_drawn_where_it_is() -> None:
    robot = rc.robots.free_flyer(1)
    q, _ = robot.random_state(4)
    assert np.allclose(skeleton(robot, q).anchors[0], q[:3])


@pytest.mark.parametrize("name", ["puma560", "free_flyer"])
def test_animation_shows_the_motion(name: str, tmp_path: Path) -> None:
    robot = rc.robots.by_name(name)
    t, q, *_ = moved(robot, T=0.5)
    path = animate(robot, t, q, tmp_path / "arm.gif", fps=10, size=3.0)
    with Image.open(path) as film:
        assert film.size == (300, 300)
        assert film.n_frames == 6  # 0, 0.1, ... 0.5 s
        frames, lengths = [], []
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.asarray(film.convert("RGB"), dtype=int))
            lengths.append(film.info["duration"])
    assert lengths == [100] * 5 + [900]
    for one, other in pairwise(frames):
        assert (np.abs(one - other).sum(axis=2) > 60).sum() > 50
    ink = [(frame.sum(axis=2) < 720).mean() for frame in frames]
    assert 0.02 < min(ink) <= max(ink) < 0.5


def test_frames_keep_real_time_and_their_number() -> None:
    t = np.linspace(0.0, 2.0, 7)
    times, step = frame_times(t, 20.0, 1.0, 160)
    assert (step, len(times)) == (pytest.approx(0.05), 41)
    assert times[-1] == 2.0
    times, step = frame_times(t * 30, 20.0, 1.0, 100)  # a minute
    assert len(times) <= 100
    assert step * (len(times) - 1) == pytest.approx(60.0, rel=0.02)
    slow, step = frame_times(t, 20.0, 0.5, 160)
    assert step * (len(slow) - 1) == pytest.approx(4.0)
    assert frame_times(t[:1], 20.0, 1.0, 160)[0].tolist() == [0.0]


def test_animation_of_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    robot = rc.robots.planar(2)
    t, q, *_ = moved(robot)
    file = tmp_path / "a.gif"
    for arguments, error, message in (
        ((t, q, tmp_path / "a.mp4"), rc.RecursaError, "let its name end in .gif"),
        ((t, q, tmp_path), rc.RecursaError, "it is a folder"),
        ((t[:3], q, file), rc.ShapeError, r"t has shape \(3,\) and q \(21, 2\), expected \(n,\) and \(n, 2\)"),
        ((t[:0], q[:0], file), rc.ShapeError, "expected"),
        ((t[::-1], q, file), rc.StateError, "t must increase"),
        ((t, q * math.nan, file), rc.StateError, "q must be finite"),
    ):
        with pytest.raises(error, match=message):
            animate(robot, *arguments)  # type: ignore[arg-type]
    with pytest.raises(rc.StateError, match="fps must be a positive number, not 0"):
        animate(robot, t, q, file, fps=0)
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'tip'"):
        animate(robot, t, q, file, trail="tpi")
    assert list(tmp_path.iterdir()) == []


def test_animation_of_little_works(tmp_path: Path) -> None:
    """One instant; and a robot that cannot move."""
    robot = rc.robots.planar(1)
    assert animate(robot, [0.0], [[0.3]], tmp_path / "one.gif", size=2.0, trail="tip").stat().st_size > 500
    stone = rc.Builder("stone").link("rock", mass=1.0, inertia=(1, 1, 1)).joint(
        "weld", "fixed", parent="world", child="rock"
    )  # fmt: skip
    assert animate(stone.build(), [0.0], np.zeros((1, 0)), tmp_path / "none.gif", size=2.0, trail=False).is_file()


def tumbling(folder: Path) -> tuple[list[rc.Run], rc.Run]:
    """A fall in few samples: as computed, with interpolants, and from a file; and the same far more accurately."""
    robot = rc.robots.free_flyer(2).with_gravity((0, 0, -9.81))
    q, v = robot.random_state(6)
    fall = partial(robot.simulate, q, 0.5 * v, duration=0.8)
    run = fall()
    run.save(folder / "run.npz")
    return [run, fall(dense=True), rc.read(folder / "run.npz")], fall(rtol=1e-12, dense=True)


def test_curves_of_a_run_are_the_motion_between_samples(tmp_path: Path) -> None:
    runs, exact = tumbling(tmp_path)
    for run in runs:
        figure = run.plot(panels=("angles", "speeds", "energy", "phase", "power"))
        angles, positions, *_ = figure.axes
        t = curves(positions)["root.z"][0]
        assert len(t) > 8 * len(run)
        q, v = exact.at(t)
        named = dict(zip(coordinate_names(run.robot.model), q.T, strict=True))
        for axes in (angles, positions):
            for name, (_, curve) in curves(axes).items():
                assert np.abs(curve - named[name]).max() < 1e-4
        kinetic = next(curves(axes)["kinetic"][1] for axes in figure.axes if "kinetic" in curves(axes))
        assert np.abs(kinetic / run.robot.kinetic_energy(q, v) - 1.0).max() < 1e-3
        straight = np.interp(t, run.t, run.q[:, 2])
        assert np.abs(straight - named["root.z"]).max() > 1e-2  # what it was


def test_film_of_a_run_shows_the_motion_between_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recursa.plotting import animation

    shown: list[tuple[Any, Any]] = []
    film = animation._Film.__init__

    def watched(self: Any, robot: rc.Robot, q: Any, times: Any, *rest: Any) -> None:
        shown.append((times, q))
        film(self, robot, q, times, *rest)

    monkeypatch.setattr(animation._Film, "__init__", watched)
    runs, exact = tumbling(tmp_path)
    for number, run in enumerate(runs):
        run.animate(tmp_path / f"{number}.gif", fps=50, size=1.0)
        times, q = shown[number]
        assert np.abs(run.robot.difference(exact.at(times)[0], q)).max() < 1e-3


def test_fixed_base_is_drawn(tmp_path: Path) -> None:
    b = rc.Builder("tower").link("arm", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    b.joint("turn", "revolute", parent="world", child="arm", axis=(0, 0, 1), xyz=(0, 0, 0.7))
    axes = draw(b.build()).axes[0]
    lines = [np.array(line.get_data_3d()).T for line in axes.lines]
    assert any(len(line) == 2 and np.array_equal(line, [[0, 0, 0], [0, 0, 0.7]]) for line in lines)
    assert "fixed base" in [text.get_text() for text in axes.get_legend().get_texts()]
    loose = draw(rc.robots.free_flyer(1)).axes[0]
    assert "fixed base" not in [text.get_text() for text in loose.get_legend().get_texts()]


def test_pyplot_shows_figures_if_it_is_in_use(tmp_path: Path) -> None:
    """In a process of its own: what is not saved is pyplot's; what goes to a file is not kept by it."""
    import os
    import subprocess
    import sys

    code = (
        "import sys, recursa as rc, matplotlib.pyplot as plt\n"
        "from recursa.plotting import draw, plot_diagonal, plot_motion\n"
        "r = rc.robots.planar(1); run = r.simulate([0.3], duration=0.1)\n"
        "figures = [run.plot(), draw(r), plot_motion(r, [0, 1], [[0.0], [1.0]]), plot_diagonal(r, [0.1], [0.2])]\n"
        "print([plt.fignum_exists(figure.number) for figure in figures], len(plt.get_fignums()))\n"
        f"run.plot({str(tmp_path / 'a.png')!r}); draw(r, None, {str(tmp_path / 'b.png')!r})\n"
        f"run.animate({str(tmp_path / 'c.gif')!r}, size=1.0)\n"
        "print(len(plt.get_fignums()))"
    )
    settings = {**os.environ, "RECURSA_COMPILE": "0", "MPLBACKEND": "agg"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=settings)
    assert run.stdout == "[True, True, True, True] 4\n4\n", run.stderr


def test_pictures_leave_pyplot_alone() -> None:
    import os
    import subprocess
    import sys

    code = (
        "import sys, tempfile, recursa as rc, numpy as np; from recursa.plotting import *\n"
        "r = rc.robots.planar(1); plot_motion(r, [0, 1], [[0.0], [1.0]])\n"
        "animate(r, [0, 0.1], [[0.0], [1.0]], tempfile.mkdtemp() + '/a.gif', size=1.0)\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    settings = {**os.environ, "RECURSA_COMPILE": "0"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=settings)
    assert run.stdout == "False\n"


def test_draw_is_written_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "arm.png"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(rc.RecursaError, match="No space left"):
        draw(rc.robots.planar(1), [0.1], file)
    assert file.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1
