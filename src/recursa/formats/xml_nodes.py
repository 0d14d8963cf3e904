"""Elements of XML documents and what expat calls at their tags, in Python, where ``_elements.c`` was not compiled.

Most of the time of reading a robot file would be spent here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Node:
    """An element: tag, attributes, line, source, notes; children and text are empty at first."""

    __slots__ = ("attributes", "children", "line", "notes", "source", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, source: str | None, notes: Any) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Any] = []
        self.line = line
        self.source = source
        self.notes = notes
        self.text = ""


class Handlers:
    """What a parser calls at tags: elements of a ``kind`` are made, put into those around, and kept while ``open``.

    ``open`` begins with one that holds the root element. ``check`` is called with an element inside more than ``depth``
    others, with more ``attributes``, or ``always``.
    """

    def __init__(
        self,
        kind: Any,
        parser: Any,
        open: list[Any],
        check: Callable[[Any], None],
        depth: int,
        attributes: int,
        always: bool,
    ) -> None:
        push, pop, source, notes = open.append, open.pop, open[0].source, open[0].notes

        def start(tag: str, given: dict[str, str]) -> None:
            element = kind(tag, given, parser.CurrentLineNumber, source, notes)
            open[-1].children.append(element)
            push(element)
            if always or len(open) > depth or len(given) > attributes:
                check(element)

        def end(tag: str) -> None:
            pop()

        def characters(text: str) -> None:
            open[-1].text += text

        self.start, self.end, self.characters = start, end, characters
