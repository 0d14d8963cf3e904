"""Where the command line writes: texts of files do not command the terminal, and readers may leave before the end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich import console
from rich.segment import Segment

from recursa.errors import printable


class PlainOutput:
    """A stream for text that has no commands for terminals: escapes and turned directions in it are spelled out.

    Rich, which does command the terminal, writes to the stream below; :class:`Console` spells out what it is given.
    A reader that has left, as ``| head`` does, is no failure: the rest is discarded, and the verb comes to its answer.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text, spelled out."""
        try:
            return self.rich_proxied_file.write(printable(text))
        except BrokenPipeError:
            discard(self.rich_proxied_file)
            return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self.rich_proxied_file.flush()
        except BrokenPipeError:
            discard(self.rich_proxied_file)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # whoever writes bytes would get past this class
            raise AttributeError(name)
        return getattr(self.rich_proxied_file, name)


class Console(console.Console):
    """A console of rich that spells out escapes and turned directions in what it is given to print."""

    def render(
        self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of what is printed."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))

    def on_broken_pipe(self) -> None:
        """Discard the rest where the reader has left."""
        discard(self.file)


def discard(stream: Any) -> None:
    """Let a stream lead nowhere from now on, what it has not written yet included."""
    with contextlib.suppress(OSError, ValueError):  # streams that are no files
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def open_closed_streams() -> None:
    """Let standard streams that are closed lead nowhere, so that no file that is opened later takes their place."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  as long as the process is there
