"""Damaged xacro and SDF files: a loader returns or raises ModelError, whatever it is given.

The ways of damage are those of the URDF files; the texts are made up, and real ones where packages bring them.
"""

from __future__ import annotations

import re
import sysconfig
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recursa as rc
from damage import ELEMENTS, NASTY, VALUES, Draw, damaged_bytes, damaged_text, fuzzing
from recursa.formats.source import Assets, Source
from recursa.formats.xacro import expand
from sdf_texts import HAND, INCLUDES, TEXTS
from xacro_reference import real_files
from xacro_texts import CASES, robot

XACRO = [robot(case.inside) for case in CASES.values()]
SDF = [*TEXTS.values(), *INCLUDES.values(), HAND]
REAL_XACRO = [path.read_text(encoding="utf-8") for path, _ in real_files() if path.stat().st_size < 6000]
_CASSIE = Path("cmeel.prefix", "share", "example-robot-data", "robots", "cassie_description", "robots")
REAL_SDF = [path.read_text("utf-8") for path in sorted(Path(sysconfig.get_path("purelib"), _CASSIE).glob("*.sdf"))][:1]

EXPRESSION = re.compile(r"(?<=\$\{)[^}]*(?=\})")
BETWEEN = re.compile(r"(?<=>)[^<>]+(?=<)")
PIECES = [
    *NASTY,
    "a",
    "1",
    "(",
    ")",
    "[",
    "]",
    "**",
    "//",
    "-",
    "if",
    "else",
    "not",
    "in",
    ".",
    ",",
    "'",
    "x.y",
    "${",
    "}",
    "$(",
]


def _xacro(data: str | bytes) -> None:
    source = Source(data, None, Assets())
    for step in (lambda: expand(source, {}), lambda: rc.load(data, format="xacro", strict=False)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step()
        except rc.ModelError as error:
            assert str(error)


def _sdf(data: str | bytes) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rc.load(data, format="sdf", strict=False)
    except rc.ModelError as error:
        assert str(error)


def _in(pattern: re.Pattern[str], draw: Draw, text: str) -> str:
    found = [match.span() for match in pattern.finditer(text)] or [(0, 0)]
    begin, end = found[draw(st.integers(0, len(found) - 1))]
    at, to = sorted((draw(st.integers(begin, end)), draw(st.integers(begin, end))))
    return text[:at] + PIECES[draw(st.integers(0, len(PIECES) - 1))] + text[to:]


def spoilt_expression(draw: Draw, text: str) -> str:
    return _in(EXPRESSION, draw, text)


def spoilt_content(draw: Draw, text: str) -> str:
    return _in(BETWEEN, draw, text)


@settings(fuzzing, max_examples=500)
@given(damaged_bytes(XACRO))
def test_damaged_bytes_of_xacro(data: bytes) -> None:
    _xacro(data)


@settings(fuzzing, max_examples=1000)
@given(damaged_text(XACRO, [*VALUES, spoilt_expression]))
def test_spoilt_values_and_expressions_of_xacro(text: str) -> None:
    _xacro(text)


@settings(fuzzing, max_examples=300)
@given(damaged_text(XACRO, ELEMENTS))
def test_rearranged_elements_of_xacro(text: str) -> None:
    _xacro(text)


@pytest.mark.skipif(not REAL_XACRO, reason="rtb-data is not installed")
@settings(fuzzing, max_examples=300)
@given(damaged_text(REAL_XACRO, [*VALUES, *ELEMENTS, spoilt_expression]) if REAL_XACRO else st.none())
def test_damaged_real_xacro(text: str) -> None:
    _xacro(text)


@settings(fuzzing, max_examples=400)
@given(damaged_bytes(SDF))
def test_damaged_bytes_of_sdf(data: bytes) -> None:
    _sdf(data)


@settings(fuzzing, max_examples=1200)
@given(damaged_text(SDF, [*VALUES, spoilt_content, spoilt_content]))
def test_spoilt_values_and_content_of_sdf(text: str) -> None:
    _sdf(text)


@settings(fuzzing, max_examples=400)
@given(damaged_text(SDF, ELEMENTS))
def test_rearranged_elements_of_sdf(text: str) -> None:
    _sdf(text)


@pytest.mark.skipif(not REAL_SDF, reason="example-robot-data is not installed")
@settings(fuzzing, max_examples=40)
@given(damaged_text(REAL_SDF, [spoilt_content]) if REAL_SDF else st.none())
def test_damaged_real_sdf(text: str) -> None:
    _sdf(text)


@pytest.mark.parametrize("text", [CASES["macros"].inside, CASES["scopes"].inside], ids=["macros", "scopes"])
def test_every_truncation_of_xacro(text: str) -> None:
    for length in range(0, len(text), 7):
        _xacro(robot(text[:length]))
