"""How far a study is: a bar on a terminal, a line now and then where there is none."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

SHARE = 0.1  # of all rows, after which a line is due
_LATEST, _SOONEST = 30.0, 5.0  # seconds from one line to the next, and to the first
_TICK = 1.0  # seconds between looks at the clock
_LOOK = 5.0  # and at how many workers there are


def told(text: str) -> None:
    """A line on standard error."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def unheard(text: str) -> None:
    """For those who want to hear nothing."""


class Progress:
    """Rows, rate, time that is left, workers. As a context: it looks at the clock by itself until it is left.

    On a terminal it is a bar. Elsewhere a line is written when another tenth is done or half a minute is over, and none
    for what takes five seconds.
    """

    def __init__(self, total: int, before: int, workers: Callable[[], int]) -> None:
        self._total, self._before, self._ask = total, before, workers
        self._rows = 0
        self._begin = self._spoke = self._asked = time.perf_counter()
        self._workers = workers()
        self._over = threading.Event()
        self._bar: Any = None
        if sys.stderr is not None and sys.stderr.isatty():
            self._show()
        self._said = before / total

    def _show(self) -> None:
        from rich.console import Console  # slow to import
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("rows", total=self._total, completed=self._before, told="")

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        threading.Thread(target=self._watch, name="progress", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._bar is not None:
            self._bar.stop()

    def add(self, rows: int) -> None:
        """So many rows more are done."""
        self._rows += rows

    def _watch(self) -> None:
        while not self._over.wait(_TICK):
            self.look(time.perf_counter())

    def look(self, now: float) -> None:
        """Say what is due."""
        if now - self._asked > _LOOK:
            self._asked = now
            try:
                self._workers = self._ask()
            except Exception:  # a cluster that does not answer: whoever waits for its blocks says so
                self._workers = 0
        if self._bar is not None:
            self._bar.update(self._task, completed=self._before + self._rows, told=self._speed(now))
            return
        done = (self._before + self._rows) / self._total
        silent = now - self._spoke
        if silent >= _LATEST or (silent >= _SOONEST and done >= self._said + SHARE):
            self._spoke, self._said = now, done
            told(self.line(now))

    def _speed(self, now: float) -> str:
        rate = self._rows / max(now - self._begin, 1e-9)
        return f"{rate:,.0f} rows/s, {self._workers} worker{'' if self._workers == 1 else 's'}"

    def line(self, now: float) -> str:
        """All of it in words."""
        count = self._before + self._rows
        left = (self._total - count) * (now - self._begin) / max(self._rows, 1)
        rest = f"{duration(left)} left" if self._rows else "no block is finished yet"
        share = 100.0 * count / self._total
        return f"study: {count:,} of {self._total:,} rows, {share:.0f} %, {self._speed(now)}, {rest}"


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them.

    >>> duration(0.0123), duration(115.0), duration(7300.0)
    ('0.012 s', '115 s', '2.03 hours')
    """
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10.0 else f"{seconds:.2g} s"
