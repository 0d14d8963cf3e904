"""Elements of XML documents, in Python, where ``_elements.c`` was not compiled.

Most of the time of reading a robot file would be spent here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from xml.parsers import expat


class Node:
    """An element: tag, attributes, line, source, notes; children and text are empty at first."""

    __slots__ = ("attributes", "children", "line", "notes", "source", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, source: str | None, notes: Any) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: Sequence[Any] = []
        self.line = line
        self.source = source
        self.notes = notes
        self.text = ""

    def add(self, child: Any) -> None:
        """One more child."""
        if not isinstance(self.children, list):
            self.children = list(self.children)
        self.children.append(child)

    def parts(self) -> dict[str, Any]:
        """The children by tag; of those with the same tag the first."""
        return {element.tag: element for element in reversed(self.children)}


def read_elements(
    document: bytes,
    kind: Any,
    open: list[Any],
    check: Callable[[Any], None],
    doctype: Callable[[int], None],
    depth: int,
    attributes: int,
    always: bool,
    passed: frozenset[str],
    with_text: bool,
    chunk: int,
    words: dict[str, str],
) -> None:
    """Make elements of a ``kind`` from a document in UTF-8; each is put into the one around and kept while ``open``.

    ``open`` begins with one that holds the root element. ``check`` is called with an element inside more than ``depth``
    others, with more ``attributes``, or ``always``. Of elements in the root whose tags are ``passed`` nothing is kept;
    ``check`` is called with None for one of these. ``doctype`` is called with the line of a document type. What stands
    between tags is kept ``with_text``. ``chunk`` bytes are read at a time: expat goes on to the end of one after an
    exception. ``words`` are filled with tags and names of attributes, and with "" if a value is empty or begins with a
    blank.
    """
    push, pop, source, notes = open.append, open.pop, open[0].source, open[0].notes
    parser = expat.ParserCreate("utf-8")
    inside = 0

    def start(tag: str, given: dict[str, str]) -> None:
        nonlocal inside
        if inside or (len(open) == 2 and tag in passed):
            inside += 1
            if always or len(open) + inside > depth or len(given) > attributes:
                check(None)
            return
        for word in (tag, *given, *("" for value in given.values() if value[:1] <= " ")):
            words[word] = word
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

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = lambda *_: doctype(parser.CurrentLineNumber)
    if with_text:
        parser.CharacterDataHandler = characters
        parser.buffer_text = True
    try:
        for begin in range(0, len(document) - chunk, chunk):
            parser.Parse(document[begin : begin + chunk], False)
        parser.Parse(document[(len(document) - 1) // chunk * chunk :], True)
    finally:  # no reference cycle through the handlers is left behind
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.StartDoctypeDeclHandler = parser.CharacterDataHandler = None


def read_outline(
    document: bytes, depth: int, attributes: int, length: int, most: int
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, dict[str, int]], dict[str, str]] | None:
    """The tags of a document in ASCII, the names of its attributes, lines by tag and name, the root's attributes.

    No elements are made. None where something wants a closer look: what is no XML, entities, a document type, an
    element inside ``depth`` others or with more ``attributes``, a value of more than ``length`` letters or with a "nan"
    in it, more than ``most`` "<"; ``_outline.c`` says so of some other texts, too. Among the names is "" if a value is
    empty or begins with a blank.
    """
    tags, names, lines, root = dict[str, None](), dict[str, None](), dict[str, dict[str, int]](), dict[str, str]()
    parser = expat.ParserCreate("utf-8")
    inside, unusual = 0, b"&" in document or document.count(b"<") > most

    def start(tag: str, given: dict[str, str]) -> None:
        nonlocal inside, unusual
        inside += 1
        tags[tag] = None
        names.update(dict.fromkeys(given))
        values = given.values()
        if not all(value[:1] > " " for value in values):
            names[""] = None
        broken = any("nan" in value.lower() or len(value) > length for value in values)
        unusual = unusual or inside > depth or len(given) > attributes or broken
        if inside == 1:
            root.update(given)
        if "name" in given:
            lines.setdefault(tag, {})[given["name"]] = parser.CurrentLineNumber

    def end(tag: str) -> None:
        nonlocal inside
        inside -= 1

    def doctype(*_: object) -> None:
        nonlocal unusual
        unusual = True

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, doctype
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        return None
    finally:
        parser.StartElementHandler = parser.EndElementHandler = parser.StartDoctypeDeclHandler = None
    return None if unusual else (tuple(tags), tuple(names), lines, root)
