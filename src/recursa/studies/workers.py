"""What processes of a cluster do for a study: say who they are, make the kernels ready, compute a block."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

from recursa.errors import StudyError
from recursa.kernels.records import package_mark

AHEAD = 2  # blocks a worker, under way: one that is computed, one that waits


class Work(Protocol):
    """What is done for every block; it can be sent to other processes."""

    def __call__(self, rows: range) -> Any:
        """One block: what is told of it."""

    def warm(self) -> Any:
        """Kernels are made, so that others on this machine find them."""


Who = tuple[str, tuple[str, str, str]]


def introduced() -> Who:
    """The machine that this process runs on, and the package that it has."""
    return platform.node(), package_mark()


def applied(work: Work, rows: range) -> Any:
    """One block, in a process that is an engine's own."""
    with kept_memory():
        return work(rows)


def warmed(work: Work) -> None:
    """The kernels of this machine are ready."""
    work.warm()


def require_same_package(found: Mapping[str, Who], what: str) -> None:
    """Bits are only equal where the code is; ``found`` by the names of workers, ``what`` they are workers of."""
    _, ours = introduced()
    for worker, (_, theirs) in found.items():
        differ = [
            f"{name} {one or 'unknown'}, here {other or 'unknown'}"
            for name, one, other in zip(("Recursa", "its sources", "NumPy"), theirs, ours, strict=True)
            if one != other and one and other
        ]
        if differ:
            raise StudyError(
                f"{what} worker '{worker}' has {'; '.join(differ)}. Results would not be equal to the bit: install "
                "the same versions on all machines"
            )


def elsewhere(found: Mapping[str, Who]) -> list[str]:
    """One worker of every machine but this one, whose kernels were made before anything was sent."""
    one_of = {machine: worker for worker, (machine, _) in found.items()}
    return [worker for machine, worker in one_of.items() if machine != introduced()[0]]


# ---- memory ----------------------------------------------------------------------------------------------------------
#
# Dask starts its workers with MALLOC_TRIM_THRESHOLD_=65536, so that they give memory back early. With that glibc also
# gives up to learn how large the arrays of a program are: every one over 128 kB is asked of the system and returned to
# it, 40,000 faulted pages in a block of a second, 5 % of its time. So for the length of a block memory is kept.

_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_KEPT, _LARGEST = 256 << 20, 32 << 20  # bytes that are kept; the largest piece that is not asked of the system
_blocks = threading.Lock()
_under_way = 0


@lru_cache(maxsize=1)
def _usual() -> tuple[Callable[[int, int], int], tuple[int, int]] | None:
    """How glibc is told, and what it was told when this process began; None where it was told nothing."""
    trimmed = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    mapped = os.environ.get("MALLOC_MMAP_THRESHOLD_", "131072")
    if sys.platform != "linux" or not trimmed.isdigit() or not mapped.isdigit():
        return None
    library = ctypes.CDLL(None)
    return (library.mallopt, (int(trimmed), int(mapped))) if hasattr(library, "gnu_get_libc_version") else None


@contextmanager
def kept_memory() -> Iterator[None]:
    """Memory that is freed is kept for the next array; afterwards it is given back as whoever began this process
    said."""
    global _under_way
    usual = _usual()
    if usual is None:
        yield
        return
    tell, (trimmed, mapped) = usual
    with _blocks:
        _under_way += 1
        if _under_way == 1:
            tell(_MAP, _LARGEST)
            tell(_TRIM, _KEPT)
    try:
        yield
    finally:
        with _blocks:
            _under_way -= 1
            if _under_way == 0:
                tell(_MAP, mapped)
                tell(_TRIM, trimmed)
