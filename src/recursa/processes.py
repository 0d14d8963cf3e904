"""Work that is done in a process of its own, where it may not come to an end: how one is started, and its bounds."""

from __future__ import annotations

import contextlib
import os
import sys


def own_module(name: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs a module of this package with the same Python, and its environment."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return [sys.executable, "-m", name], os.environ | {"PYTHONPATH": path}


def bound(memory: int, seconds: int | None = None) -> None:
    """Of this process: bytes of memory, and of the processor's time; no core files.

    Where there are no such bounds, the clock of whoever waits is one.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_AS": memory, "RLIMIT_CPU": seconds, "RLIMIT_CORE": 0}
    for name, most in wanted.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):  # macOS refuses bounds of memory
            if most is not None:
                resource.setrlimit(getattr(resource, name), (most, most))
