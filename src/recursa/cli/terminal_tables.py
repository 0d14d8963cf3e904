"""Tables and trees that fit a narrow terminal with every name and number whole.

Left to itself, rich cuts words until a table fits: at 80 columns the joints of a Panda are called "pan…". Here a table
that is too wide first loses the columns in which nothing stands, then prose and headers wrap between words, and at last
it becomes several tables one below the other, each with the names of its rows.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, TextIO

from rich import console
from rich.console import RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.tree import Tree

from recursa.errors import printable

_UNBOUNDED = 100_000  # columns
_PROSE = 16  # columns that a sentence gets at least, if it is so long
_BESIDE = ("", "at, s")  # headers of units and times, which say nothing without the column before them
_FRAME = 3  # of a column: a space on either side and the line; one more line closes the table


def width_of(out: Console, content: RenderableType) -> int:
    """How wide something would be on a console without an edge."""
    return out.measure(content, options=out.options.update(width=_UNBOUNDED)).maximum


def fitted(out: Console, table: Table, *, keys: int = 1, prose: Collection[str] = ()) -> list[Table]:
    """The table as one or more that fit the console; each has the first ``keys`` columns.

    Columns whose header is in ``prose`` may wrap between words; in others only the header may.
    """
    if width_of(out, table) <= out.width:
        return [table]
    spans = [_span(out, column, column.header in prose) for column in table.columns]
    keys = min(keys, len(spans))
    groups = _groups(out.width, table, spans, keys)
    return [
        _part(table, group, keys, _widths([spans[k] for k in group], out.width), n == 0, n == len(groups) - 1)
        for n, group in enumerate(groups)
    ]


def slimmed(out: Console, tree: Tree) -> Tree:
    """The tree, with half the indentation if it is too wide: what is left for names shrinks with every level."""
    if width_of(out, tree) > out.width:
        tree.ASCII_GUIDES = ("  ", "| ", "+ ", "` ")
        tree.TREE_GUIDES = [("  ", "│ ", "├ ", "└ ")] * 3
    return tree


class _Span(NamedTuple):
    """Widths of a column."""

    word: int  # without breaking a word
    least: int  # without wrapping what should not wrap
    most: int  # without wrapping anything
    filled: bool  # something stands in it


def _span(out: Console, column: Column, prose: bool) -> _Span:
    options = out.options.update(width=_UNBOUNDED)
    headers = [out.measure(text, options=options) for text in (column.header, column.footer)]
    cells = [out.measure(text, options=options) for text in column.cells]
    word = max(size.minimum for size in headers + cells)
    most = max(size.maximum for size in headers + cells)
    least = max([word, *(size.maximum for size in cells)]) if not prose else max(word, min(_PROSE, most))
    return _Span(word, least, most, any(size.maximum for size in cells))


def _groups(width: int, table: Table, spans: Sequence[_Span], keys: int) -> list[list[int]]:
    """Columns that go beside each other, the keys first; a unit or a time stays beside its column if there is room."""
    groups = [list(range(keys))]
    free = room = width - 1 - sum(span.least + _FRAME for span in spans[:keys])
    columns = [k for k, span in enumerate(spans) if k >= keys and span.filled]
    for place, k in enumerate(columns):
        own = needed = spans[k].least + _FRAME
        for n, after in enumerate(columns[place + 1 :], 1):
            if after != k + n or table.columns[after].header not in _BESIDE:
                break
            needed += spans[after].least + _FRAME
        if needed > free and len(groups[-1]) > keys:
            groups.append(list(range(keys)))
            free = room
        groups[-1].append(k)
        free -= own
    return groups


def _widths(spans: Sequence[_Span], width: int) -> list[int]:
    """What room is left goes to all columns in turn; what is missing is taken from the last ones, between words."""
    widths = [span.least for span in spans]
    room = width - 1 - sum(widths) - _FRAME * len(widths)
    for k, span in reversed(list(enumerate(spans))):
        taken = min(max(-room, 0), span.least - span.word)
        widths[k] -= taken
        room += taken
    while room > 0 and any(given < span.most for given, span in zip(widths, spans, strict=True)):
        for k, span in enumerate(spans):
            if room > 0 and widths[k] < span.most:
                widths[k] += 1
                room -= 1
    return widths


def _part(table: Table, columns: Sequence[int], keys: int, widths: Sequence[int], first: bool, last: bool) -> Table:
    """Some columns, and the rows that have something to say in them; the first part has every row."""
    chosen = [table.columns[k] for k in columns]
    part = Table(
        title=table.title if first else None,
        title_justify=table.title_justify,
        caption=table.caption if last else None,
        caption_justify=table.caption_justify,
        show_footer=table.show_footer and any(column.footer for column in chosen[keys:]),
        show_lines=table.show_lines,
    )
    for column, width in zip(chosen, widths, strict=True):
        part.add_column(column.header, column.footer, justify=column.justify, width=width, overflow="fold")
    for row, cells in zip(table.rows, zip(*(column.cells for column in chosen), strict=True), strict=True):
        if first or any(cells[keys:]):
            part.add_row(*cells, end_section=row.end_section)
    return part


# ---- -----------------------------------------------------------------------------------------------------------------
# Where the command line writes: texts of files do not command the terminal, and readers may leave before the end.


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
