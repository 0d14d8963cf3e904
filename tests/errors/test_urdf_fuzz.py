"""Damaged robot descriptions: a loader returns or raises ModelError, whatever it is given.

The texts are real URDF files and small made-up ones, with bytes changed, parts cut out, repeated or moved, and values
exchanged for others that are awkward. The cases are the same in every run.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import recursa
from recursa.errors import ModelError
from recursa.formats.urdf import read_urdf
from recursa.formats.urdf_write import write_urdf
from recursa.model.description import Description
from robot_data import ALL_KINDS, small_urdf_files

TWO_LINKS = """<robot name="pendulum">
  <link name="base"/>
  <link name="rod">
    <inertial><origin xyz="0 0 -0.5" rpy="0 0 0"/><mass value="1.5"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial>
    <visual><geometry><cylinder radius="0.02" length="1"/></geometry></visual>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="10" velocity="5"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
</robot>
"""
MADE_UP = [TWO_LINKS, ALL_KINDS]
REAL = [path.read_text(encoding="utf-8") for path in small_urdf_files(4100)]

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
    r"<(link|joint|inertial|origin|axis|limit|parent|child|mimic|inertia|mass)\b[^<>]*?(/>|>.*?</\1>)", re.DOTALL
)

fuzzing = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def _load(data: str | bytes) -> None:
    """Load twice, forgiving and strict; anything but success or ModelError gets through and fails the test."""
    for strict in (False, True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recursa.load(data, strict=strict)
        except ModelError as error:
            assert str(error)


# ---- damage --------------------------------------------------------------------------------------------------------

Draw = Callable[[st.SearchStrategy[int]], int]


def _position(draw: Draw, length: int) -> int:
    return draw(st.integers(0, max(0, length - 1)))


def _span(draw: Draw, length: int, longest: int) -> slice:
    begin = _position(draw, length)
    return slice(begin, begin + draw(st.integers(1, longest)))


def flip_byte(draw: Draw, data: bytes) -> bytes:
    at = _position(draw, len(data))
    return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]


def delete_bytes(draw: Draw, data: bytes) -> bytes:
    gone = _span(draw, len(data), 200)
    return data[: gone.start] + data[gone.stop :]


def truncate(draw: Draw, data: bytes) -> bytes:
    return data[: _position(draw, len(data))]


def splice_bytes(draw: Draw, data: bytes) -> bytes:
    """A chunk, copied to somewhere else."""
    at = _position(draw, len(data))
    return data[:at] + data[_span(draw, len(data), 300)] + data[at:]


def insert_bytes(draw: Draw, data: bytes) -> bytes:
    at = _position(draw, len(data))
    return data[:at] + STRAY[_position(draw, len(STRAY))] + data[at:]


def _pick(draw: Draw, pattern: re.Pattern[str], text: str) -> slice:
    found = [match.span() for match in pattern.finditer(text)] or [(0, 0)]
    return slice(*found[_position(draw, len(found))])


def nasty_value(draw: Draw, text: str) -> str:
    old, new = _pick(draw, VALUE, text), NASTY[_position(draw, len(NASTY))]
    return text[: old.start] + new + text[old.stop :]


def exchange_values(draw: Draw, text: str) -> str:
    """One attribute gets the value of another: numbers for names, links that are their own parents."""
    old, new = _pick(draw, VALUE, text), _pick(draw, VALUE, text)
    return text[: old.start] + text[new] + text[old.stop :]


def remove_tag(draw: Draw, text: str) -> str:
    tag = _pick(draw, TAG, text)
    return text[: tag.start] + text[tag.stop :]


def remove_element(draw: Draw, text: str) -> str:
    piece = _pick(draw, PIECE, text)
    return text[: piece.start] + text[piece.stop :]


def copy_element(draw: Draw, text: str) -> str:
    piece, tag = text[_pick(draw, PIECE, text)], _pick(draw, TAG, text)
    return text[: tag.stop] + piece * draw(st.integers(1, 3)) + text[tag.stop :]


def move_element(draw: Draw, text: str) -> str:
    piece = _pick(draw, PIECE, text)
    moved, rest = text[piece], text[: piece.start] + text[piece.stop :]
    tag = _pick(draw, TAG, rest)
    return rest[: tag.stop] + moved + rest[tag.stop :]


def nest_deeply(draw: Draw, text: str) -> str:
    piece, depth = _pick(draw, PIECE, text), draw(st.integers(1, 150))
    return text[: piece.start] + "<link>" * depth + text[piece] + "</link>" * depth + text[piece.stop :]


@st.composite
def damaged_bytes(draw: Draw, texts: list[str]) -> bytes:
    ways = [flip_byte, delete_bytes, truncate, splice_bytes, insert_bytes]
    data = texts[_position(draw, len(texts))].encode()
    for _ in range(draw(st.integers(1, 3))):
        data = ways[_position(draw, len(ways))](draw, data)
    return data


@st.composite
def damaged_text(draw: Draw, texts: list[str], ways: Sequence[Callable[[Draw, str], str]]) -> str:
    text = texts[_position(draw, len(texts))]
    for _ in range(draw(st.integers(1, 3))):
        text = ways[_position(draw, len(ways))](draw, text)
    return text


VALUES = [nasty_value, exchange_values]
ELEMENTS = [remove_tag, remove_element, copy_element, move_element, nest_deeply]

# ---- the property --------------------------------------------------------------------------------------------------


@settings(fuzzing, max_examples=500)
@given(damaged_bytes(MADE_UP))
def test_damaged_bytes(data: bytes) -> None:
    _load(data)


@settings(fuzzing, max_examples=700)
@given(damaged_text(MADE_UP, VALUES))
def test_nasty_values(text: str) -> None:
    _load(text)


@settings(fuzzing, max_examples=500)
@given(damaged_text(MADE_UP, ELEMENTS))
def test_rearranged_elements(text: str) -> None:
    _load(text)


@settings(fuzzing, max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200), st.text("<>/robtlink =\"'&;!-[]?", max_size=60)))
@example("")
@example("\ud800")
@example(b"\xff\xfe<")
def test_arbitrary_text(data: str | bytes) -> None:
    _load(data)


@pytest.mark.skipif(not REAL, reason="example-robot-data is not installed")
@settings(fuzzing, max_examples=700)
@given(st.one_of(damaged_bytes(REAL), damaged_text(REAL, VALUES), damaged_text(REAL, ELEMENTS)) if REAL else st.none())
def test_damaged_real_files(data: str | bytes) -> None:
    _load(data)


@pytest.mark.parametrize("text", MADE_UP, ids=["two_links", "all_kinds"])
def test_every_truncation(text: str) -> None:
    whole = text.rstrip()
    for length in range(0, len(whole), 3):
        with pytest.raises(ModelError, match=r"cut off|empty|no links|invalid token"):
            read_urdf(whole[:length])


@pytest.mark.parametrize("value", NASTY)
def test_nasty_value_everywhere(value: str) -> None:
    """Each value in each place of the small robot, one at a time."""
    for place in VALUE.finditer(TWO_LINKS):
        _load(TWO_LINKS[: place.start()] + value + TWO_LINKS[place.end() :])


@settings(fuzzing, max_examples=300)
@given(damaged_text(MADE_UP + REAL, VALUES))
def test_whatever_can_be_read_can_be_written(text: str) -> None:
    try:
        description = read_urdf(text)
    except ModelError:
        return
    again = read_urdf(write_urdf(description))
    assert _names(again) == _names(description)


def _names(description: Description) -> Iterable[object]:
    links = [link.name for link in description.links]
    return links, [(joint.name, joint.parent, joint.child, joint.mimic is None) for joint in description.joints]
