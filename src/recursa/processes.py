"""Child processes: how Python processes are started without modules from the working directory, and their limits."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path


def module_command(name: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs a module of this package with the same Python, and the environment for it.

    The child searches the folders that this process searches, except for the working directory: anyone may have put a
    ``json.py`` beside the file that is being worked on. ``-P`` keeps Python itself from adding that directory.
    """
    here, package = Path.cwd(), Path(__file__).resolve().parents[1]
    folders = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
    path = os.pathsep.join([*folders, str(package)])
    return [sys.executable, "-P", "-m", name], os.environ | {"PYTHONPATH": path}


@contextlib.contextmanager
def safe_paths() -> Iterator[None]:
    """Keep the working directory off the module search path of Python processes that are started meanwhile.

    For processes that another library starts, when it is used or (as MuJoCo does by way of glfw) imported:
    ``PYTHONSAFEPATH`` has the effect of ``-P`` on each of them.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONSAFEPATH", None)
        else:
            os.environ["PYTHONSAFEPATH"] = before


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


def total_memory() -> float:
    """Bytes of memory of this machine; infinite where it does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf
