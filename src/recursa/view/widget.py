"""A page within a notebook that goes on following the program, wherever that runs; by anywidget, an extra."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from recursa.errors import not_installed
from recursa.view.formula_desk import FormulaDesk, letters
from recursa.view.page import Recorded, play_message, robot_page, show_message

if TYPE_CHECKING:
    from recursa.robot import Robot

MODULE = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("title", "robot");
  Object.assign(frame.style, { width: "100%", height: model.get("height") + "px", border: "0" });
  frame.srcdoc = model.get("page");
  const tell = () => frame.contentWindow?.postMessage(model.get("told"), "*");
  const heard = event => {
    if (event.source !== frame.contentWindow) return;
    if (event.data?.question) model.send(event.data);
    else tell();
  };
  const answered = message => frame.contentWindow?.postMessage(message, "*");
  window.addEventListener("message", heard);
  model.on("change:told", tell);
  model.on("msg:custom", answered);
  el.append(frame);
  return () => {
    window.removeEventListener("message", heard);
    model.off("msg:custom", answered);
  };
}
export default { render };
"""
"""The page lives in a frame of its own, and says when it is there; then it hears what was told last, and what comes.

Questions about formulas go to the kernel, and answers come back with their number.
"""


class Widget(Protocol):
    """A robot in a notebook, made by :meth:`recursa.Robot.widget`; a widget of anywidget besides."""

    def show(self, q: ArrayLike) -> None:
        """Show a configuration (nq,), or a mapping by joint names."""

    def play(self, motion: Recorded) -> None:
        """Play a run or a trajectory of this robot, with its curves."""


def robot_widget(robot: Robot, q: ArrayLike | None, meshes: bool, height: int) -> Widget:
    """The widget of a robot."""
    kind = _kind()
    return kind(robot, page=robot_page(robot, q, meshes=meshes, live="parent", letters=letters()), height=height)


@cache
def _kind() -> Callable[..., Widget]:
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise not_installed("anywidget", "notebook", "a widget") from None

    class RobotWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]  # where it is not installed
        _esm = MODULE
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        told = traitlets.Dict().tag(sync=True)

        def __init__(self, robot: Robot, **traits: Any) -> None:
            super().__init__(**traits)
            self.robot = robot
            self.desk = FormulaDesk(robot)
            self.on_msg(self._asked)

        def _asked(self, _: Any, content: Any, buffers: Any) -> None:
            if isinstance(content, dict) and isinstance(content.get("number"), int):
                self.send({"answers": content["number"], "answer": self.desk.answer(content.get("question"))})

        def close(self) -> None:
            self.desk.close()
            super().close()

        def show(self, q: ArrayLike) -> None:
            self.told = show_message(self.robot, q)

        def play(self, motion: Recorded) -> None:
            self.told = play_message(self.robot, motion)

    return RobotWidget
