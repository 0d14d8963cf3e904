"""Ctrl-C, or a polite kill, that waits for the end of a step."""

from __future__ import annotations

import signal
import threading
from types import FrameType

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
