"""A small, safe XML reader: elements with attributes and line numbers, built on the standard library's expat.

Only what robot descriptions need: comments and processing instructions are dropped, and so is text between tags unless
asked for; namespaces are not resolved. A document type (and with it every entity but the five built-in ones) is
refused, sizes are bounded, and whatever is wrong with the text comes out as a :class:`~recursa.errors.ModelError` with
the line. Blanks and text before the XML declaration, which other readers pass over, are passed over here as well, with
a note.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterable
from dataclasses import replace
from xml.parsers import expat

from recursa.errors import ModelError
from recursa.formats.file_bytes import MAX_SIZE
from recursa.model.description import Note

# ---- XML written: elements as lines of text, numbers so that they are read back to the bit ---------------------------


HEAD = '<?xml version="1.0" encoding="utf-8"?>'

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)
_ORDINARY = re.compile(r"[ !#-%'-;=?-~]*").fullmatch
_XML_CANNOT_HOLD = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, attributes: dict[str, str], content: Iterable[str] = ()) -> list[str]:
    """The lines of an element, from the lines of its content.

    >>> element("link", {"name": "a & b"})
    ['<link name="a &amp; b"/>']
    """
    inner = [f"  {line}" for line in content]
    return [start_tag(tag, attributes, empty=False), *inner, f"</{tag}>"] if inner else [empty_tag(tag, attributes)]


def empty_tag(tag: str, attributes: dict[str, str]) -> str:
    """An element without content."""
    return start_tag(tag, attributes, empty=True)


def start_tag(tag: str, attributes: dict[str, str], *, empty: bool) -> str:
    """The tag that an element begins with, or that is all of it."""
    if not is_ordinary("".join(attributes.values())):
        attributes = {name: escaped(value) for name, value in attributes.items()}
    words = "".join([f' {name}="{value}"' for name, value in attributes.items()])
    return f"<{tag}{words}/>" if empty else f"<{tag}{words}>"


def is_ordinary(text: str) -> bool:
    """Whether a text can stand in an attribute as it is."""
    return _ORDINARY(text) is not None


def numbers(*values: float) -> str:
    """Numbers with blanks between them."""
    return " ".join(repr(float(value)) for value in values)


def escaped(text: str) -> str:
    """Text for an attribute; what XML has no way to write is an error."""
    wrong = _XML_CANNOT_HOLD.search(text)
    if wrong:
        raise ModelError(f"the name {text!r} contains {wrong[0]!r}, which XML cannot hold; rename the link or joint")
    return text.translate(_ESCAPES)


MAX_DEPTH = 100  # unless a format nests bodies
MAX_TAGS = 1_000_000  # start and end tags together
MAX_ATTRIBUTES = 100
MAX_ATTRIBUTE_LENGTH = 65_536

_CHUNK = 1024 * 1024  # expat reads on to the end of a chunk after a handler has raised

_BOMS = (  # UTF-32 first: its little-endian mark begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARED_ENCODING = re.compile(rb"""[^<]{0,4096}<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([^"'<>]{1,40})["']""")
_READABLE_ENCODING = re.compile(r"utf-?8|(us-)?ascii|iso[-_]8859-\d{1,2}|latin-?1|(windows-|cp)125\d|koi8-[ru]", re.I)
_NEWLINE = re.compile(r"\r\n?|\n")
_DECLARATION = re.compile(r"<\?xml\s[^<>]{0,200}\?>")
_BEGINNING = re.compile(r"<(\?xml|robot|mujoco)\b")  # of what can follow on text that does not belong there
_ROOT = re.compile(r"<([^\s<>/!?]{1,100})")
_PROLOG_PIECE = re.compile(r"[ \t\r\n]+|<\?.*?\?>|<!--.*?-->", re.S)

_codes, _errors = expat.errors.codes, expat.errors
_UNFINISHED = {
    _codes[_errors.XML_ERROR_NO_ELEMENTS],
    _codes[_errors.XML_ERROR_UNCLOSED_TOKEN],
    _codes[_errors.XML_ERROR_PARTIAL_CHAR],
    _codes[_errors.XML_ERROR_UNCLOSED_CDATA_SECTION],
}
_MISMATCH = _codes[_errors.XML_ERROR_TAG_MISMATCH]
_HINTS = {
    _codes[_errors.XML_ERROR_INVALID_TOKEN]: "look for a stray '<' or '&' or a missing quote at or before this line",
    _codes[_errors.XML_ERROR_UNDEFINED_ENTITY]: "write the character itself; only &lt; &gt; &amp; &quot; &apos; exist",
    _codes[_errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]: "the root element ended earlier; put everything inside it",
    _codes[_errors.XML_ERROR_MISPLACED_XML_PI]: "'<?xml' can stand only once, at the beginning",
    _codes[_errors.XML_ERROR_DUPLICATE_ATTRIBUTE]: "keep one of the two",
}


class NotesElsewhere(list[Note]):
    """The notes of an included file: they go to those of the file that was asked for, with the name of their own."""

    def __init__(self, notes: list[Note], path: str) -> None:
        super().__init__()
        self.notes, self.path = notes, path

    def append(self, note: Note) -> None:
        """Take in a note."""
        self.notes.append(replace(note, reason=f"{note.reason} ({self.path}, line {note.line})", line=None))


class Element:
    """An XML element: tag, attributes, child elements, and where it was opened.

    ``text`` is what stands between its tags, outside other elements, if it was asked for. ``notes`` are those of the
    whole document: what breaks the rules and was read all the same.
    """

    __slots__ = ("attributes", "children", "line", "notes", "source", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, source: str | None, notes: list[Note]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.line = line
        self.source = source
        self.notes = notes
        self.text = ""

    def add(self, child: Element) -> None:
        """Append a child."""
        self.children.append(child)

    def parts(self) -> dict[str, Element]:
        """The children by tag; the first of those with the same tag."""
        return {element.tag: element for element in reversed(self.children)}

    @property
    def own_line(self) -> int | None:
        """Its line, if it stands in the file that was asked for: a record has no room for the name of another."""
        return None if isinstance(self.notes, NotesElsewhere) else self.line

    def child(self, tag: str) -> Element | None:
        """The first child with this tag, or None."""
        for element in self.children:
            if element.tag == tag:
                return element
        return None

    def error(self, message: str) -> ModelError:
        """An error that points at this element's line."""
        return ModelError(message, line=self.line, source=self.source)

    def forgive(self, code: str, reason: str, fix: str) -> None:
        """Note what is wrong here and was read all the same."""
        self.notes.append(Note(code, reason, fix, self.line))

    def __repr__(self) -> str:
        return f"<{self.tag}> with {len(self.attributes)} attributes, {len(self.children)} children, line {self.line}"


def beginning(content: str | bytes) -> tuple[str, str]:
    """The name of the root element, "" if this does not look like XML, and the text; nothing is checked.

    >>> beginning(b"<?xml version='1.0'?><!-- an arm --><robot name='arm'/>")[0]
    'robot'
    >>> beginning("joint, a, alpha, d")[0]
    ''
    """
    if isinstance(content, bytes):
        marked = next((name for mark, name in _BOMS if content.startswith(mark)), "utf-8")
        content = content.decode(marked, "replace")
    begins = _PROLOG_PIECE.match(content.removeprefix("\ufeff")) or content.removeprefix("\ufeff").startswith("<")
    start = _BEGINNING.search(content) if not begins else None
    at = start.start() if start else content.startswith("\ufeff")
    while piece := _PROLOG_PIECE.match(content, at):
        at = piece.end()
    root = _ROOT.match(content, at)
    return (root[1] if root else ""), content


def parse(
    text: str | bytes,
    source: str | None = None,
    *,
    with_text: bool = False,
    notes: list[Note] | None = None,
    depth: int = MAX_DEPTH,
    passed: frozenset[str] = frozenset(),
) -> Element:
    """The root element of an XML document; ``source`` names the file in errors.

    ``with_text`` keeps what stands between tags, for formats that write numbers there. ``notes`` is where notes go;
    ``depth`` is how deep elements may be nested. Elements in the root with tags that are ``passed`` are checked like
    all others, and not kept.

    Bytes may be UTF-8, UTF-16 or UTF-32 with or (but for the last) without a byte order mark, or an 8-bit encoding that
    the XML declaration names. In a string the declared encoding means nothing and is not looked at.

    >>> robot = parse('<robot name="arm"><link name="base"/></robot>')
    >>> robot.attributes["name"], robot.children
    ('arm', [<link> with 1 attributes, 0 children, line 1])
    >>> parse("<robot><link></robot>")
    Traceback (most recent call last):
    recursa.errors.ModelError: <text>, line 1: an end tag does not match: <link>, opened on line 1, is still open
    """
    notes = [] if notes is None else notes
    document = _checked_utf8(text, source, notes)
    if passed:
        with contextlib.suppress(ModelError):  # which knows nothing of elements that were passed
            return _Reading(source, notes, with_text, depth, passed).run(document)
    return _Reading(source, notes, with_text, depth).run(document)


class _Reading:
    """One document read, elements gathered on an explicit stack."""

    def __init__(
        self,
        source: str | None,
        notes: list[Note],
        with_text: bool,
        depth: int,
        passed: frozenset[str] = frozenset(),
    ) -> None:
        self.depth = depth
        self.passed = passed
        self.source = source
        self.with_text = with_text
        self.open = [Element("", {}, 0, source, notes)]  # what holds the root element, then those that are open

    def run(self, document: bytes) -> Element:
        """Parse the document in chunks; expat goes on to the end of one after a handler has raised."""
        stack, passed, depth = self.open, self.passed, self.depth + 1
        source, notes = stack[0].source, stack[0].notes
        always = _may_have_long_values(document)
        parser = expat.ParserCreate("utf-8")
        skipped = 0  # how many elements are open from one whose tag is passed

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal skipped
            if skipped or (len(stack) == 2 and tag in passed):
                skipped += 1
                if always or len(stack) + skipped > depth or len(attributes) > MAX_ATTRIBUTES:
                    raise ModelError("an element that is passed over is larger than is read", source=source)
                return
            element = Element(tag, attributes, parser.CurrentLineNumber, source, notes)
            stack[-1].children.append(element)
            stack.append(element)
            if always or len(stack) > depth or len(attributes) > MAX_ATTRIBUTES:
                self.check(element)

        def end(tag: str) -> None:
            nonlocal skipped
            if skipped:
                skipped -= 1
            else:
                stack.pop()

        def characters(text: str) -> None:
            if not skipped:
                stack[-1].text += text

        def doctype(*_: object) -> None:  # the scan of the prolog comes first, this is the second lock
            raise _doctype_refused(parser.CurrentLineNumber, source)

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.StartDoctypeDeclHandler = doctype
        if self.with_text:
            parser.CharacterDataHandler = characters
            parser.buffer_text = True
        try:
            for begin in range(0, len(document), _CHUNK):
                parser.Parse(document[begin : begin + _CHUNK], begin + _CHUNK >= len(document))
        except expat.ExpatError as error:
            raise self.explained(error) from None
        finally:  # no reference cycle through the handlers is left behind
            parser.StartElementHandler = parser.EndElementHandler = None
            parser.StartDoctypeDeclHandler = parser.CharacterDataHandler = None
        return stack[0].children[0]  # expat refuses a document without an element

    def check(self, element: Element) -> None:
        """Refuse what is too large or nested too deeply."""
        tag, attributes = clipped(element.tag), element.attributes
        if len(self.open) > self.depth + 1:
            raise element.error(f"elements are nested deeper than {self.depth}; is an end tag missing further up?")
        if len(attributes) > MAX_ATTRIBUTES:
            raise element.error(f"<{tag}> has {len(attributes)} attributes; at most {MAX_ATTRIBUTES} are read")
        for value in attributes.values():
            if len(value) > MAX_ATTRIBUTE_LENGTH:
                what = f"an attribute of <{tag}> has {len(value)} characters"
                raise element.error(f"{what}; at most {MAX_ATTRIBUTE_LENGTH} are read")

    def explained(self, error: expat.ExpatError) -> ModelError:
        """Expat's error in words that say where to look."""
        unclosed = f"<{clipped(self.open[-1].tag)}>, opened on line {self.open[-1].line}," if self.open[1:] else ""
        if error.code in _UNFINISHED:
            missing = f"{unclosed} is never closed" if unclosed else "no element is complete"
            message = f"the file seems cut off: it ends here and {missing}"
        elif error.code == _MISMATCH:
            message = f"an end tag does not match: {unclosed} is still open"
        else:
            hint = _HINTS.get(error.code)
            message = f"XML syntax error: {expat.ErrorString(error.code)}" + (f"; {hint}" if hint else "")
        return ModelError(message, line=error.lineno, source=self.source)


def _may_have_long_values(document: bytes) -> bool:
    """Whether a value may be longer than is read: it has no '<', and covers one of some blocks half as long."""
    block = MAX_ATTRIBUTE_LENGTH // 2
    return any(document.find(b"<", at, at + block) < 0 for at in range(0, len(document) - block, block))


def _checked_utf8(text: str | bytes, source: str | None, notes: list[Note]) -> bytes:
    """The document as UTF-8, after the checks that need no parser."""
    if len(text) > MAX_SIZE:
        raise ModelError(f"{len(text)} characters are too many; at most {MAX_SIZE} are read", source=source)
    content = (text if isinstance(text, str) else _decoded(text, source)).removeprefix("\ufeff")
    beginning = content if content.startswith("<") else content.lstrip(" \t\r\n")
    if not beginning:
        raise ModelError("the text is empty; expected an XML document", line=1, source=source)
    if len(content) > MAX_TAGS and content.count("<") > MAX_TAGS:
        raise ModelError(f"more than {MAX_TAGS} tags are too many for a robot description", source=source)
    nul = content.find("\0")
    if nul >= 0:
        line = _line_at(content, nul)
        raise ModelError("there is a NUL character; is this a binary file?", line=line, source=source)
    start = content.find("<")
    if not beginning.startswith("<") and not _BEGINNING.match(content, max(start, 0)):
        line = _line_at(content, len(content) - len(beginning))
        what = f"this is not XML: it begins with {clipped(beginning, 30)!r}, not '<'"
        raise ModelError(what, line=line, source=source)
    if start > 0:
        content = _without_prefix(content, start, notes)
    _refuse_doctype(content, source)
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as error:
        what = f"U+{ord(content[error.start]):04X} is half of a surrogate pair and no character"
        raise ModelError(what, line=_line_at(content, error.start), source=source) from None


def for_other_parsers(data: bytes, source: str | None) -> bytes:
    """An XML document in UTF-8, whatever its encoding was, that says so and has no document type.

    >>> for_other_parsers('<?xml version="1.0" encoding="utf-16"?><COLLADA/>'.encode("utf-16"), None)
    b'<?xml version="1.0" encoding="utf-8"?><COLLADA/>'
    """
    content = _decoded(data, source).removeprefix("\ufeff")
    if "\0" in content:  # which would make other parsers guess another encoding
        raise ModelError("there is a NUL character; is this a binary file?", source=source)
    at = content.find("<!DOCTYPE")
    if at >= 0:
        raise _doctype_refused(_line_at(content, at), source)
    declared = _DECLARATION.match(content)
    return f"{HEAD}{content[declared.end() if declared else 0 :]}".encode("utf-8", "replace")


def _without_prefix(content: str, start: int, notes: list[Note]) -> str:
    """The document without what stands before its first tag, nor the declaration that may not stand behind anything.

    Lines keep their numbers.
    """
    declared = _DECLARATION.match(content, start)
    prefix = content[:start]
    if declared or prefix.strip():
        what = f"the text {clipped(prefix.strip(), 30)!r}" if prefix.strip() else "a blank"
        reason = f"{what} stands before '{content[start : start + 6].rstrip()}', where nothing may stand."
        notes.append(Note("prefix", reason, "Remove it: many readers refuse such a file.", 1))
    passed = content[: declared.end()] if declared else prefix
    return "\n" * len(_NEWLINE.findall(passed)) + content[len(passed) :]


def _decoded(data: bytes, source: str | None) -> str:
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), None) or _declared(data, source)
    try:
        return data.decode(encoding)
    except LookupError:
        raise _unreadable(encoding, source) from None
    except UnicodeDecodeError as error:
        line = _line_at(data[: error.start].decode(encoding, "replace"), None)
        what = f"the bytes {data[error.start : error.start + 4].hex(' ')} are not {encoding.removesuffix('-sig')}"
        hint = "save the file as UTF-8, or name its encoding in the XML declaration"
        raise ModelError(f"{what}; {hint}", line=line, source=source) from None


def _declared(data: bytes, source: str | None) -> str:
    """The encoding that an XML declaration in ASCII names; UTF-8 if there is none."""
    found = _DECLARED_ENCODING.match(data)
    if not found:
        return "utf-8"
    encoding = found[1].decode("latin-1")
    if not _READABLE_ENCODING.fullmatch(encoding):
        raise _unreadable(encoding, source)
    return encoding


def _unreadable(encoding: str, source: str | None) -> ModelError:
    what = f"the XML declaration names the encoding {encoding!r}, which is not that of the bytes or cannot be read"
    return ModelError(f"{what}; save the file as UTF-8", line=1, source=source)


def _refuse_doctype(content: str, source: str | None) -> None:
    """Refuse a document type before expat sees it: its entities could grow without bound."""
    at = 0
    while piece := _PROLOG_PIECE.match(content, at):
        at = piece.end()
    if content.startswith("<!DOCTYPE", at):
        raise _doctype_refused(_line_at(content, at), source)


def _doctype_refused(line: int, source: str | None) -> ModelError:
    what = "a document type (<!DOCTYPE ...>) is not accepted, because entities can be used for attacks"
    return ModelError(f"{what}; remove it, robot descriptions need none", line=line, source=source)


def _line_at(content: str, position: int | None) -> int:
    """The line, from 1, of a position in the text; None is its end."""
    return 1 + len(_NEWLINE.findall(content[:position]))


def clipped(text: str, limit: int = 60) -> str:
    """Text from a file, short enough for a message.

    >>> clipped("0123456789", 4)
    '0123...'
    """
    return text if len(text) <= limit else text[:limit] + "..."
