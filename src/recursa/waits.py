"""What is said while one waits: a line on the terminal once something has taken half a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 0.5  # seconds of silence
_under_way = threading.local()


def watched() -> bool:
    """Whether somebody reads standard error as it is written: at a terminal, or in a notebook."""
    stream = sys.stderr
    return stream is not None and (stream.isatty() or "ipykernel" in sys.modules)


@contextmanager
def spoken(what: str) -> Iterator[None]:
    """Says on standard error that ``what`` is under way if it takes long, and at its end how long it took.

    Only where somebody reads along, and only the outermost of several: compiling is part of what somebody waits for
    already.

    >>> with spoken("compiling a mass matrix"):
    ...     pass
    """
    if not watched() or getattr(_under_way, "speaks", False):
        yield
        return
    told, start = threading.Event(), time.perf_counter()

    def tell() -> None:
        told.set()
        sys.stderr.write(f"{what} ...\n")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE, tell)
    timer.daemon = True
    timer.start()
    _under_way.speaks = True
    try:
        yield
    finally:
        _under_way.speaks = False
        timer.cancel()
        if told.is_set():
            sys.stderr.write(f"{what}: {time.perf_counter() - start:.1f} s\n")
            sys.stderr.flush()


@contextmanager
def told(what: str) -> Iterator[None]:
    """While this is open a line on the terminal says what is under way, and which part of it: see :func:`now`.

    The line goes when the work is done. As of :func:`spoken`: only where somebody reads along, only the outermost.

    >>> with told("comparing"):
    ...     now("mass matrix")
    """
    if not watched() or getattr(_under_way, "speaks", False):
        yield
        return
    from rich.console import Console  # slow to import
    from rich.markup import escape

    with Console(stderr=True).status(f"{escape(what)} ...") as status:
        _under_way.speaks = True
        _under_way.tell = lambda part: status.update(f"{escape(what)}: {escape(part)}")
        try:
            yield
        finally:
            _under_way.speaks, _under_way.tell = False, None


def now(part: str) -> None:
    """What comes next, for whoever is :func:`told`."""
    tell: Callable[[str], None] | None = getattr(_under_way, "tell", None)
    if tell is not None:
        tell(part)
