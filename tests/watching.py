"""Which files are opened meanwhile: what tests of readers ask, by Python's audit hook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_WATCHING: list[list[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _WATCHING and event == "open" and isinstance(arguments[0], str):
        _WATCHING[-1].append(arguments[0])


sys.addaudithook(_watch)  # for good: a hook cannot be taken away


def watched_opens(work: Callable[[], object]) -> list[str]:
    """The files that were opened while something was done, but for Python's own."""
    _WATCHING.append([])
    try:
        work()
    finally:
        opened = _WATCHING.pop()
    return [path for path in opened if not path.endswith((".py", ".pyc"))]
