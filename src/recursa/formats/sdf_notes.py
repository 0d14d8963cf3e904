"""What a reader of several files forgave or left out, with the file where it is not the one that was asked for."""

from __future__ import annotations

from recursa.formats.xml import Element
from recursa.model.description import Note


class Notes:
    """The notes of one robot; ``source`` is the file that was asked for."""

    def __init__(self, source: str | None, found: list[Note]) -> None:
        self.source = source
        self.found = found

    def add(self, element: Element, code: str, reason: str, fix: str) -> None:
        """Note something about an element."""
        if element.source != self.source:
            reason = f"{reason} ({element.source}, line {element.line})"
        self.found.append(Note(code, reason, fix, self.line(element)))

    def line(self, element: Element) -> int | None:
        """The line of an element, if it is one of the file that was asked for."""
        return element.line if element.source == self.source else None
