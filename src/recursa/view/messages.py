"""What a running program tells its page, as JSON; the same for a local page and for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from recursa.errors import RecursaError
from recursa.view.motions import Recording, Taken, panels
from recursa.view.page import posture

if TYPE_CHECKING:
    from recursa.robot import Robot

Message = dict[str, Any]


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
