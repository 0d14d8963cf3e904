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

    def add(self, child: Any) -> None:
        """One more child."""
        self.children.append(child)


class Handlers:
    """What a parser calls at tags: elements of a ``kind`` are made, put into those around, and kept while ``open``.

    ``open`` begins with one that holds the root element. ``check`` is called with an element inside more than ``depth``
    others, with more ``attributes``, or ``always``. Of elements in the root whose tags are ``passed`` nothing is kept;
    ``check`` is called with None for one of these. ``document`` is what is parsed, if all its lines end in a newline.
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
        document: bytes | None,
        passed: frozenset[str],
    ) -> None:
        push, pop, source, notes = open.append, open.pop, open[0].source, open[0].notes
        inside = 0

        def start(tag: str, given: dict[str, str]) -> None:
            nonlocal inside
            if inside or (len(open) == 2 and tag in passed):
                inside += 1
                if always or len(open) + inside > depth or len(given) > attributes:
                    check(None)
                return
            element = kind(tag, given, parser.CurrentLineNumber, source, notes)
            open[-1].add(element)
            push(element)
            if always or len(open) > depth or len(given) > attributes:
                check(element)

        def end(tag: str) -> None:
            nonlocal inside
            if inside:
                inside -= 1
            else:
                pop()

        def characters(text: str) -> None:
            if not inside:
                open[-1].text += text

        self.start, self.end, self.characters = start, end, characters
