"""A page: one file of HTML with everything in it, which loads nothing and runs nothing but its own two scripts."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import RecursaError, ShapeError, StateError
from recursa.files import known_suffix, named_file, write_together
from recursa.sweeps.batching import Array, as_array
from recursa.version import __version__
from recursa.view.figures import figure_of, shelf_for
from recursa.view.kernels import page_kernels, script
from recursa.view.mesh_files import MeshShelf
from recursa.view.motions import Recording, Taken, panels

if TYPE_CHECKING:
    from recursa.robot import Robot

Live = Literal["events", "parent"]
Message = dict[str, Any]

FORMAT = 1
ENDINGS = (".html", ".htm")
_FRAMED = 12  # configurations of a motion by which the size of the picture is measured
_CLOSED = 1e-6  # m or rad by which loops may miss in a page


# ---- pages -----------------------------------------------------------------------------------------------------------


def robot_page(
    robot: Robot,
    q: Any = None,
    *,
    meshes: bool = True,
    live: Live | None = None,
    formulas: Sequence[dict[str, Any]] = (),
    letters: Sequence[Sequence[str]] = (),
) -> str:
    """The page of a robot at a configuration: neutral, within the joints' ranges, if none is given.

    A page that is ``live`` follows what its server ("events") or the page around it ("parent") says; ``formulas`` are
    those of :mod:`recursa.view.formula_desk`; ``letters`` are what formulas typed in the page consist of, where
    somebody answers.
    """
    shown = posture(robot, q)
    more = {"live": live, "formulas": list(formulas), "letters": list(letters)}
    return _page([robot], [shown[None]], [], meshes, more)


def motion_page(recordings: Sequence[Recording], *, meshes: bool = True) -> str:
    """The page of a motion, and of a second one beside it as a ghost."""
    taken = [Taken.of(one) for one in recordings]
    robots: list[Robot] = []
    framed: list[Array] = []
    for motion in taken:
        if not all(np.isfinite(values).all() for values in motion.series.values()):
            raise StateError(
                f"the motion '{motion.recording.title}' has states that are not finite; there is nothing to show"
            )
        q = motion.series["q"]
        shown = q[np.unique(np.linspace(0, len(q) - 1, _FRAMED).astype(int))]
        if motion.recording.robot in robots:
            place = robots.index(motion.recording.robot)
            framed[place] = np.concatenate([framed[place], shown])
        else:
            robots.append(motion.recording.robot)
            framed.append(shown)
    return _page(robots, framed, taken, meshes, {})


def write_motion(path: str | os.PathLike[str], recordings: Sequence[Recording], *, meshes: bool = True) -> Path:
    """The page of motions as a file."""
    place = known_suffix(named_file(path), ENDINGS)
    write_together({place: motion_page(recordings, meshes=meshes)})
    return place


def posture(robot: Robot, q: Any = None) -> Array:
    """One configuration (nq,), checked; without one, the neutral one within the joints' ranges, loops closed."""
    if q is None:
        low, high = robot.position_limits
        inside = np.clip(robot.neutral(), low, high)
        return _assembled(robot, [inside, robot.neutral()]) if robot.constraints else inside
    values = as_array(robot.model, "q", q, coordinates=True)
    if values.ndim != 1:
        raise ShapeError(f"q has shape {values.shape}; a page begins at one state, of shape ({robot.nq},)")
    if not np.isfinite(values).all():
        raise StateError("q contains nan or infinity; there is nothing to show")
    shown = np.asarray(values, dtype=float)
    if (missed := _missed(robot, shown)) > _CLOSED:
        raise StateError(
            f"q does not close the loops of robot '{robot.name}': they miss by {missed:.3g} (m or rad), and a page "
            "keeps them closed. Try robot.assemble(q), the nearest configuration that closes them"
        )
    return shown


def _missed(robot: Robot, q: Array) -> float:
    """The largest error of the robot's loops at q, in m or rad."""
    return float(np.abs(robot.constraint_error(q)).max(initial=0.0)) if robot.constraints else 0.0


def _assembled(robot: Robot, starts: Sequence[Array]) -> Array:
    """The first of the configurations that closes all loops, or from which they can be closed; else the first."""
    for q in starts:
        if _missed(robot, q) <= _CLOSED:
            return q
    for q in starts:
        with suppress(StateError):
            return robot.assemble(q)
    return starts[0]


def _page(
    robots: Sequence[Robot], framed: Sequence[Array], taken: Sequence[Taken], meshes: bool, more: Mapping[str, Any]
) -> str:
    """Robots, each with configurations (n, nq) that tell how much room it takes, the first of them where it begins."""
    shelf = shelf_for(robots[0]) if meshes else None
    first = robots[0]
    figures, notes, kernels = [], [], []
    for robot, shown in zip(robots, framed, strict=True):
        figure, said = figure_of(robot, shown[0], shown, shelf)
        code, why = page_kernels(robot.model)
        figures.append(figure)
        kernels.append(code)
        notes += [*said, *([why] if why else [])]
        if _missed(robot, shown[0]) > _CLOSED:
            notes.append("The loops of this robot are open here: no configuration was found that closes them.")
    missing, said = _missing(first, shelf)
    notes += said
    data = {
        "format": FORMAT,
        "version": __version__,
        "title": taken[0].recording.title if taken else first.name,
        "subtitle": _subtitle(first, figures[0]["loops"]),
        "robots": figures,
        "meshes": [] if shelf is None else shelf.records,
        "motions": [one.record(robots.index(one.recording.robot)) for one in taken],
        "panels": panels(taken[0]) if taken else [],
        "notes": list(dict.fromkeys(notes)),
        "missing": missing,
        "live": None,
        "formulas": [],
        "letters": [],
        **more,
    }
    return document(data, script(kernels), "'self'" if data["live"] == "events" else "'none'")


def _subtitle(robot: Robot, loops: Mapping[str, Any] | None) -> str:
    """The size of a robot in a line: of a mechanism with loops how many freedoms these leave."""
    freedoms = f"{robot.nv} degrees of freedom"
    if loops is not None:
        freedoms = f"mobility {loops['mobility']}, {robot.nv} joint freedoms"
    return f"{robot.nbodies} bodies, {freedoms}, {robot.mass:.4g}\u00a0kg"


def _missing(robot: Robot, shelf: MeshShelf | None) -> tuple[list[list[str]], list[str]]:
    """Meshes that are not shown, as link, name and reason; and a note on them."""
    if shelf is None:
        return [], ["Meshes were left out of this page."] if any(True for _ in _meshes(robot)) else []
    absent = [[link, mesh, ""] for link, mesh, path in _meshes(robot) if path is None]
    broken = [[link, mesh, "cannot be read"] for link, mesh, path in _meshes(robot) if path in shelf.refused]
    notes = []
    if absent:
        notes.append(
            f"{len(absent)} of {len(list(_meshes(robot)))} meshes were not found: load the robot with assets= and the "
            "folders that they are in."
        )
    return absent + broken, notes


def _meshes(robot: Robot) -> Iterator[tuple[str, str, str | None]]:
    """Link, name and path of every mesh that is to be seen; no path where it was not found."""
    for link in robot.model.description.links:
        for shape in link.geometry:
            if shape.mesh and shape.role == "visual":
                yield link.name, shape.mesh, shape.path


# ---- what a running program tells its page, as JSON: the same for a local page and for a notebook --------------------


class Recorded(Protocol):
    """What can be played: a run, or a trajectory of the robot."""

    def _recording(self, title: str | None = None) -> Recording: ...


def show_message(robot: Robot, q: ArrayLike) -> Message:
    """Show a configuration."""
    return {"show": posture(robot, q).tolist()}


def play_message(robot: Robot, motion: Recorded) -> Message:
    """Play a motion, with its curves."""
    recording = motion._recording()
    if recording.robot != robot:
        raise RecursaError(f"this page shows robot '{robot.name}', not robot '{recording.robot.name}'")
    taken = Taken.of(recording)
    return {"play": taken.record(0), "panels": panels(taken)}


def open_in_browser(address: str) -> bool:
    """Whether a browser shows it; where there is no screen, none is tried."""
    screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and webbrowser.open(address)


# ---- HTML ------------------------------------------------------------------------------------------------------------


def document(data: dict[str, Any], kernels: str, connect: str = "'none'") -> str:
    """The text of a page. Its policy allows the scripts and the style by their digests, and no others."""
    page, style = _built("page.js"), _built("page.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_digest(kernels)} {_digest(page)}",
            f"style-src {_digest(style)}",
            "img-src data: blob:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{html.escape(str(data['title']))}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            f'<script type="application/json" id="recursa-data">{json_in_html(data)}</script>',
            f"<script>{kernels}</script>",
            f"<script>{page}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def json_in_html(data: Any) -> str:
    r"""JSON that may stand within a script element, whatever names are in it.

    >>> json_in_html("</script><!-- & \u2028")
    '"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028"'
    """
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise StateError("there are numbers that are not finite, and a page cannot show them") from None
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def framed(page: str, height: int = 520) -> str:
    """A page within another, for notebooks: apart from it, with no more rights than it needs."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" title="robot" '
        f'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:8px"></iframe>'
    )


@cache
def _built(name: str) -> str:
    return files("recursa.view").joinpath(name).read_text("utf-8").strip()


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
