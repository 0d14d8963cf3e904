"""Memory that is used again: fresh memory costs more than most of what is written to it when paths are timed."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from recursa.sweeps.batching import Array


class Room:
    """Arrays one behind the other, until it is borrowed again."""

    def __init__(self) -> None:
        self._memory = np.empty(0)
        self._used = self._wanted = 0

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An array that nobody else has."""
        count = math.prod(shape)
        self._wanted += count
        start, self._used = self._used, self._used + count
        if self._used > len(self._memory):
            return np.empty(shape)
        return self._memory[start : self._used].reshape(shape)

    def begin(self) -> None:
        """All over, with as much as was wanted the last time."""
        if self._wanted > len(self._memory):
            self._memory = np.empty(self._wanted)
        self._used = self._wanted = 0


class _Kept(threading.local):
    """What a thread has for its next call: rooms that nobody has borrowed, arrays by name."""

    def __init__(self) -> None:
        self.rooms: list[Room] = []
        self.arrays: dict[str, Array] = {}


_KEPT = _Kept()
_LARGEST = 4_000_000  # numbers that are kept


@contextmanager
def borrowed() -> Iterator[Room]:
    """One that is this thread's alone as long as this lasts."""
    room = _KEPT.rooms.pop() if _KEPT.rooms else Room()
    room.begin()
    try:
        yield room
    finally:
        if room._wanted <= _LARGEST:
            _KEPT.rooms.append(room)


def scratch(name: str, size: int) -> Array:
    """An array of ``size`` numbers that this thread gets again at the next call with the same name."""
    array = _KEPT.arrays.get(name)
    if array is None or len(array) < size:
        array = np.empty(size)
        if size <= _LARGEST:
            _KEPT.arrays[name] = array
    return array[:size]
