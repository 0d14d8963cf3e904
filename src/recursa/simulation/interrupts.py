"""Ctrl-C that waits for the end of a step."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """While this is open and ``deferred``, the first Ctrl-C sets ``asked``; the second interrupts at once, as usual.

    Only in the main thread, where signals arrive, and only if nobody else has taken them over.
    """

    def __init__(self, *, deferred: bool) -> None:
        self.asked = False
        main = threading.current_thread() is threading.main_thread()
        self._usual: Any = signal.getsignal(signal.SIGINT) if main else None
        self._active = deferred and self._usual is signal.default_int_handler

    def __enter__(self) -> Interrupts:
        if self._active:
            signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._usual)

    def __exit__(self, *_: object) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._usual)
