"""A robot in motion as an animated GIF: stick figures, trails of the tips, fixed scales, the time."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import RecursaError, ShapeError, StateError
from recursa.files import named_file, write_together
from recursa.plotting.arm import MANY, ROD, Skeleton, draw_base, draw_ground, frame_axes, paints, skeleton, symbol
from recursa.plotting.styles import colour, new_figure, plain
from recursa.sweeps.batching import Array, as_array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

_TICK = 0.01  # s, the unit of time in a GIF
_LEAST = 2 * _TICK  # shorter frames are shown slowly by many programs
_REST = 0.8  # s, the last frame stays
_TRAILS = 8  # tips that leave one
_COLOURS_IN_FILE = 256


def animate(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    path: str | os.PathLike[str],
    *,
    fps: float = 25.0,
    speed: float = 1.0,
    max_frames: int = 250,
    trail: bool | str = True,
    title: str | None = None,
    size: float = 5.0,
) -> Path:
    """Write a motion q (n, nq) at instants t (n,) as an animated GIF; returns its path.

    Shown in real time (times ``speed``) with ``fps`` frames a second, or fewer where that would take more than
    ``max_frames``. Between the instants joints move evenly. ``trail``: the paths of all tips, or of the link of that
    name. The scales are equal and stay as they are. ``size`` is that of the picture in hundreds of pixels.

    >>> import pathlib, tempfile, recursa as rc
    >>> file = pathlib.Path(tempfile.mkdtemp(), "arm.gif")
    >>> motion = rc.Trajectory.cycloid([0, 0], [1.0, -0.5], T=0.5)
    >>> animate(rc.robots.planar(2), motion.times(), motion.sample(motion.times())[0], file).name
    'arm.gif'
    """
    place = named_file(path)
    if place.suffix.lower() != ".gif":
        raise RecursaError(f"cannot animate to '{place}': let its name end in .gif")
    when, states = _motion(robot, t, q)
    for name, value in (("fps", fps), ("speed", speed), ("max_frames", max_frames), ("size", size)):
        if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0):
            raise StateError(f"{name} must be a positive number, not {value!r}")
    times, step = frame_times(when, fps, speed, max_frames)
    film = _Film(robot, _between(robot, when, states, times), times, trail, title, size)
    write_together({place: _gif(film.frames(), step)})
    return place


def frame_times(t: Array, fps: float, speed: float, most: int) -> tuple[Array, float]:
    """The instants shown and the time between frames, a whole number of hundredths of a second."""
    length = float(t[-1] - t[0]) / speed
    step = max(1.0 / fps, length / max(int(most) - 1, 1), _LEAST)
    step = math.ceil(step / _TICK - 1e-9) * _TICK
    count = math.ceil(length / step - 1e-9) + 1
    return np.minimum(t[0] + speed * step * np.arange(count), t[-1]), step


def _motion(robot: Robot, t: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    when, states = as_numbers("t", t, 1), as_array(robot.model, "q", q, coordinates=True)
    if when.ndim != 1 or not len(when) or states.shape != (len(when), robot.nq):
        raise ShapeError(f"t has shape {when.shape} and q {states.shape}, expected (n,) and (n, {robot.nq})")
    for name, values in (("t", when), ("q", states)):
        if values.dtype.kind == "c" or not np.isfinite(values).all():
            raise StateError(f"{name} must be finite real numbers; there is nothing to draw otherwise")
    if not (np.diff(when) > 0.0).all():
        raise StateError("t must increase")
    return when, states


def _between(robot: Robot, t: Array, q: Array, times: Array) -> Array:
    """The configurations at the times: from each sample evenly on to the next."""
    if len(t) == 1:
        return np.repeat(q, len(times), axis=0)
    before = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    part = (times - t[before]) / (t[before + 1] - t[before])
    return robot.integrate(q[before], part[:, None] * robot.difference(q[before], q[before + 1]))


class _Film:
    """The figure, drawn once, and what moves in it."""

    def __init__(self, robot: Robot, q: Array, times: Array, trail: bool | str, title: str | None, size: float) -> None:
        self.bones = skeleton(robot, q)
        self.times = times
        self.figure = new_figure(size, size, layout=None, dpi=100)
        self.axes: Any = self.figure.add_axes((0.02, 0.02, 0.94, 0.9), projection="3d")
        self.axes.set_title(plain(robot.name if title is None else title), fontsize=11)
        self.axes.tick_params(labelsize=7)
        self.label: Any = self.figure.text(0.03, 0.03, "", fontsize=10, family="monospace")
        self.tips = _tips(robot, q, self.bones, trail)
        points = [self.bones.anchors, *self.bones.reaches, *(tip[:, None] for tip in self.tips)]
        cloud = np.concatenate([part.reshape(-1, 3) for part in points])
        if len(self.bones.base) or not len(cloud):
            cloud = np.concatenate([cloud, self.bones.base, np.zeros((1, 3))])
        many = robot.nbodies > MANY
        scale = frame_axes(self.axes, cloud, flat_zoom=1.3, tight=many)
        if len(self.bones.base) or not many:
            draw_ground(self.axes, scale, self.bones)
        draw_base(self.axes, self.bones)
        for k, tip in enumerate(self.tips):  # where it will come past
            self.axes.plot(*tip.T, color=colour(k), lw=0.8, alpha=0.25)
        self.moving = self._artists(robot)

    def _artists(self, robot: Robot) -> list[tuple[Any, Array]]:
        """Lines with their points per frame (frames, n, 3), in the order in which they are drawn."""
        found: list[tuple[Any, Array]] = [(self._line(color=ROD, lw=2), rod) for rod in self.bones.rods]
        for k, paint in enumerate(paints(robot)):
            style = {"color": paint, "lw": 5, "alpha": 0.85}
            found.append((self._line(solid_capstyle="round", **style), _limbs(self.bones, k)))
        symbols = [symbol(joint.kind) for joint in robot.model.joints]
        for marker in dict.fromkeys(symbols):
            chosen = [k for k, own in enumerate(symbols) if own == marker]
            style = {"color": "white", "mec": "black", "ms": 6 if robot.nbodies <= MANY else 3, "ls": ""}
            found.append((self._line(marker=marker, **style), self.bones.anchors[:, chosen]))
        return found

    def _line(self, **style: Any) -> Any:
        (line,) = self.axes.plot([], [], [], animated=True, **style)
        return line

    def frames(self) -> list[Array]:
        """The pictures (height, width, 3); only what moves is drawn anew."""
        canvas: Any = self.figure.canvas  # of Agg, which can copy what it has drawn
        trails = [(self._line(color=colour(k), lw=1.6), tip) for k, tip in enumerate(self.tips)]
        heads = [(self._line(marker="o", color=colour(k), ms=4), tip) for k, tip in enumerate(self.tips)]
        self.label.set_animated(True)
        canvas.draw()
        background = canvas.copy_from_bbox(self.figure.bbox)
        pictures = []
        for number, time in enumerate(self.times):
            canvas.restore_region(background)
            for line, path in trails:
                self._put(line, path[: number + 1])
            for line, points in self.moving:
                self._put(line, points[number])
            for line, path in heads:
                self._put(line, path[number : number + 1])
            self.label.set_text(f"t = {time:.2f} s")
            self.figure.draw_artist(self.label)
            pictures.append(np.array(canvas.buffer_rgba())[..., :3])
        return pictures

    def _put(self, line: Any, points: Array) -> None:
        line.set_data_3d(*points.T)
        self.axes.draw_artist(line)


def _limbs(bones: Skeleton, k: int) -> Array:
    """Lines from the anchor of a body to all it reaches (frames, 3 n, 3), with gaps between."""
    ends = bones.reaches[k]
    anchor = np.broadcast_to(bones.anchors[:, k, None], ends.shape)
    return np.stack([anchor, ends, np.full_like(ends, np.nan)], axis=2).reshape(len(ends), -1, 3)


def _tips(robot: Robot, q: Array, bones: Skeleton, trail: bool | str) -> list[Array]:
    """The paths (frames, 3) of the outermost points, or of a link's origin."""
    if isinstance(trail, str):
        return [robot.pose(q, trail)[:, :3, 3]]
    if not trail:
        return []
    parents = {joint.parent for joint in robot.model.joints}
    found = []
    for k in range(robot.nbodies):
        if k not in parents:
            far = np.linalg.norm(bones.reaches[k][0] - bones.anchors[0, k], axis=-1)
            found.append(bones.reaches[k][:, int(np.argmax(far))])
    return found[:_TRAILS]


def _gif(pictures: list[Array], step: float) -> bytes:
    """Frames as a GIF with one palette for all."""
    from PIL import Image

    chosen = [pictures[k] for k in sorted({0, len(pictures) // 2, len(pictures) - 1})]
    palette = Image.fromarray(np.concatenate(chosen)).quantize(_COLOURS_IN_FILE, Image.Quantize.MEDIANCUT)
    frames = [Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    lengths = [round(1000 * step)] * len(frames)
    lengths[-1] += round(1000 * _REST)
    out = io.BytesIO()
    frames[0].save(
        out, "GIF", save_all=True, append_images=frames[1:], duration=lengths, loop=0, optimize=False, disposal=1
    )
    return out.getvalue()
