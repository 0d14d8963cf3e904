"""XML written: elements as lines of text, numbers so that they are read back to the bit."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recursa.errors import ModelError

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
