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
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
