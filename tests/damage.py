"""Texts of robots, damaged: bytes changed, parts cut out, repeated or moved, values exchanged for awkward ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

NASTY = [
    "", " ", "nan", "-inf", "1e999", "-1e308", "1e-320", "0", "-1", "1 2", "1 2 3 4", "nan nan nan", "0 0 0", "inf 0 0",
    "1e200 1e200 1e200", "9" * 400, "0x10", "1_000", "1,5", "1.0f", "--1", "\u0661", "\u00bd", "\u22121", "\U0001f916",
    "&lt;", "&#0;", "&#xD800;", "&bogus;", "<", "${x}", "$(arg x)", "\t\n", "base", "rod", "a", "fixed", "floating",
    "helical", "spherical", "continuous", "planar", "world", "root", "universe", "x" * 70_000, "../../etc/passwd",
]  # fmt: skip
STRAY = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"<", b">", b'"', b"&", b"]]>", b"<!--", b"<![CDATA[", b"<!DOCTYPE a>"]

VALUE = re.compile(r'(?<==")[^"<]*(?=")')
TAG = re.compile(r"<[^<>]*>")
PIECE = re.compile(
    r"<(link|joint|inertial|origin|axis|limit|parent|child|mimic|inertia|mass|body|geom|site|default|mesh|frame|replicate|"
    r"motor|general|weld|connect|key|option|flag|compiler|freejoint|fixed|attach)\b[^<>]*?(/>|>.*?</\1>)",
    re.DOTALL,
)

fuzzing = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


Draw = Callable[[st.SearchStrategy[int]], int]


def position(draw: Draw, length: int) -> int:
    return draw(st.integers(0, max(0, length - 1)))


def _span(draw: Draw, length: int, longest: int) -> slice:
    begin = position(draw, length)
    return slice(begin, begin + draw(st.integers(1, longest)))


def flip_byte(draw: Draw, data: bytes) -> bytes:
    at = position(draw, len(data))
    return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]


def delete_bytes(draw: Draw, data: bytes) -> bytes:
    gone = _span(draw, len(data), 200)
    return data[: gone.start] + data[gone.stop :]


def truncate(draw: Draw, data: bytes) -> bytes:
    return data[: position(draw, len(data))]


def splice_bytes(draw: Draw, data: bytes) -> bytes:
    """A chunk, copied to somewhere else."""
    at = position(draw, len(data))
    return data[:at] + data[_span(draw, len(data), 300)] + data[at:]


def insert_bytes(draw: Draw, data: bytes) -> bytes:
    at = position(draw, len(data))
    return data[:at] + STRAY[position(draw, len(STRAY))] + data[at:]


def pick(draw: Draw, pattern: re.Pattern[str], text: str) -> slice:
    found = [match.span() for match in pattern.finditer(text)] or [(0, 0)]
    return slice(*found[position(draw, len(found))])


def nasty_value(draw: Draw, text: str) -> str:
    old, new = pick(draw, VALUE, text), NASTY[position(draw, len(NASTY))]
    return text[: old.start] + new + text[old.stop :]


def exchange_values(draw: Draw, text: str) -> str:
    """One attribute gets the value of another: numbers for names, links that are their own parents."""
    old, new = pick(draw, VALUE, text), pick(draw, VALUE, text)
    return text[: old.start] + text[new] + text[old.stop :]


def remove_tag(draw: Draw, text: str) -> str:
    tag = pick(draw, TAG, text)
    return text[: tag.start] + text[tag.stop :]


def remove_element(draw: Draw, text: str) -> str:
    piece = pick(draw, PIECE, text)
    return text[: piece.start] + text[piece.stop :]


def copy_element(draw: Draw, text: str) -> str:
    piece, tag = text[pick(draw, PIECE, text)], pick(draw, TAG, text)
    return text[: tag.stop] + piece * draw(st.integers(1, 3)) + text[tag.stop :]


def move_element(draw: Draw, text: str) -> str:
    piece = pick(draw, PIECE, text)
    moved, rest = text[piece], text[: piece.start] + text[piece.stop :]
    tag = pick(draw, TAG, rest)
    return rest[: tag.stop] + moved + rest[tag.stop :]


def nest_deeply(draw: Draw, text: str) -> str:
    piece, depth = pick(draw, PIECE, text), draw(st.integers(1, 150))
    return text[: piece.start] + "<link>" * depth + text[piece] + "</link>" * depth + text[piece.stop :]


@st.composite
def damaged_bytes(draw: Draw, texts: list[str]) -> bytes:
    ways = [flip_byte, delete_bytes, truncate, splice_bytes, insert_bytes]
    data = texts[position(draw, len(texts))].encode()
    for _ in range(draw(st.integers(1, 3))):
        data = ways[position(draw, len(ways))](draw, data)
    return data


@st.composite
def damaged_text(draw: Draw, texts: list[str], ways: Sequence[Callable[[Draw, str], str]]) -> str:
    text = texts[position(draw, len(texts))]
    for _ in range(draw(st.integers(1, 3))):
        text = ways[position(draw, len(ways))](draw, text)
    return text


VALUES = [nasty_value, exchange_values]
ELEMENTS = [remove_tag, remove_element, copy_element, move_element, nest_deeply]
