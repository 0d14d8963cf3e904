"""A bar on the terminal for runs that take long."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

_PATIENCE = 1.0  # seconds before a bar is shown
_EVERY = 0.1


class ProgressBar:
    """Shows how far a run is, if standard error is a terminal and the run has taken a while."""

    def __init__(self, wanted: bool, end: float, doing: str = "simulating", unit: str = "s") -> None:
        self._doing, self._unit = doing, unit
        self._wanted = wanted and sys.stderr.isatty()
        self._end = end
        self._next = time.perf_counter() + _PATIENCE
        self._bar: Any = None
        self._task: Any = None

    def update(self, t: float) -> None:
        """The run is at time t."""
        if not self._wanted or time.perf_counter() < self._next:
            return
        self._next = time.perf_counter() + _EVERY
        if self._bar is None:
            from rich.console import Console  # slow to import
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[at]}"))
            console = Console(stderr=True)
            self._bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
            self._task = self._bar.add_task(self._doing, total=self._end, at="")
            self._bar.start()
        self._bar.update(self._task, completed=t, at=f"{t:.4g} of {self._end:.4g} {self._unit}")

    def close(self) -> None:
        """The run is over."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


# ---- ctrl-C, or a polite kill, that waits for the end of a step ------------------------------------------------------


_STOPS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While this is open, the first Ctrl-C sets ``asked``; the second interrupts at once, as usual.

    A KeyboardInterrupt could leave a step half recorded, and Python drops it without a trace where it is raised within
    a callback of the garbage collector or a destructor.

    The same holds for any other signal that raises KeyboardInterrupt. Only in the main thread, where signals arrive,
    and only for signals that nobody else has taken over.
    """

    def __init__(self) -> None:
        self.asked = False
        here = threading.current_thread() is threading.main_thread()
        self._taken = [one for one in _STOPS if here and signal.getsignal(one) is signal.default_int_handler]

    def __enter__(self) -> Interrupts:
        for number in self._taken:
            signal.signal(number, self._ask)
        return self

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        self._give_back()

    def _give_back(self) -> None:
        for number in self._taken:
            signal.signal(number, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        self._give_back()
