"""Texts of robots, damaged: bytes changed, parts cut out, repeated or moved, values exchanged for awkward ones.

Where and how is drawn by hypothesis, or at random from a seed, which is a hundred times as fast.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

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


Draw = Callable[[int, int], int]
"""A whole number between two, both included."""

Way = Callable[[Draw, str], str]


def position(draw: Draw, length: int) -> int:
    return draw(0, max(0, length - 1))


def _span(draw: Draw, length: int, longest: int) -> slice:
    begin = position(draw, length)
    return slice(begin, begin + draw(1, longest))


# ---- bytes -----------------------------------------------------------------------------------------------------------


def flip_byte(draw: Draw, data: bytes) -> bytes:
    at = position(draw, len(data))
    return data[:at] + bytes([draw(0, 255)]) + data[at + 1 :]


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


BYTES = [flip_byte, delete_bytes, truncate, splice_bytes, insert_bytes]


# ---- text: what a pattern matches is what is damaged -----------------------------------------------------------------


def pick(draw: Draw, pattern: re.Pattern[str], text: str) -> slice:
    found = [match.span() for match in pattern.finditer(text)] or [(0, 0)]
    return slice(*found[position(draw, len(found))])


def nasty(pattern: re.Pattern[str], values: Sequence[str]) -> Way:
    def way(draw: Draw, text: str) -> str:
        old, new = pick(draw, pattern, text), values[position(draw, len(values))]
        return text[: old.start] + new + text[old.stop :]

    return way


def exchanged(pattern: re.Pattern[str]) -> Way:
    """One place gets what stands in another: numbers for names, links that are their own parents."""

    def way(draw: Draw, text: str) -> str:
        old, new = pick(draw, pattern, text), pick(draw, pattern, text)
        return text[: old.start] + text[new] + text[old.stop :]

    return way


def spoilt(pattern: re.Pattern[str], values: Sequence[str]) -> Way:
    """A part of what the pattern matches is exchanged."""

    def way(draw: Draw, text: str) -> str:
        place = pick(draw, pattern, text)
        at, to = sorted(draw(place.start, place.stop) for _ in range(2))
        return text[:at] + values[position(draw, len(values))] + text[to:]

    return way


def removed(pattern: re.Pattern[str]) -> Way:
    def way(draw: Draw, text: str) -> str:
        piece = pick(draw, pattern, text)
        return text[: piece.start] + text[piece.stop :]

    return way


def copied(pattern: re.Pattern[str], behind: re.Pattern[str], between: str = "") -> Way:
    def way(draw: Draw, text: str) -> str:
        piece, place = text[pick(draw, pattern, text)], pick(draw, behind, text)
        return text[: place.stop] + between * draw(0, 1) + piece * draw(1, 3) + text[place.stop :]

    return way


def moved(pattern: re.Pattern[str], behind: re.Pattern[str]) -> Way:
    def way(draw: Draw, text: str) -> str:
        piece = pick(draw, pattern, text)
        rest = text[: piece.start] + text[piece.stop :]
        place = pick(draw, behind, rest)
        return rest[: place.stop] + text[piece] + rest[place.stop :]

    return way


def nested_deeply(pattern: re.Pattern[str]) -> Way:
    def way(draw: Draw, text: str) -> str:
        piece, depth = pick(draw, pattern, text), draw(1, 150)
        return text[: piece.start] + "<link>" * depth + text[piece] + "</link>" * depth + text[piece.stop :]

    return way


VALUES = [nasty(VALUE, NASTY), exchanged(VALUE)]
ELEMENTS = [removed(TAG), removed(PIECE), copied(PIECE, TAG), moved(PIECE, TAG), nested_deeply(PIECE)]


# ---- several ways at once --------------------------------------------------------------------------------------------


def _damaged(draw: Draw, texts: Sequence[str], ways: Sequence[Way] | None) -> str | bytes:
    text, times = texts[position(draw, len(texts))], draw(1, 3)
    if ways is None:
        data = text.encode()
        for _ in range(times):
            data = BYTES[position(draw, len(BYTES))](draw, data)
        return data
    for _ in range(times):
        text = ways[position(draw, len(ways))](draw, text)
    return text


@st.composite
def damaged_bytes(draw: Any, texts: Sequence[str]) -> bytes:
    return _damaged(lambda low, high: draw(st.integers(low, high)), texts, None)  # type: ignore[return-value]


@st.composite
def damaged_text(draw: Any, texts: Sequence[str], ways: Sequence[Way]) -> str:
    return _damaged(lambda low, high: draw(st.integers(low, high)), texts, ways)  # type: ignore[return-value]


def damaged(texts: Sequence[str], ways: Sequence[Way], rng: random.Random) -> str | bytes:
    """One of some texts, damaged at random: in every third case its bytes, else by the ways."""
    return _damaged(rng.randint, texts, None if rng.random() < 1 / 3 else ways)
