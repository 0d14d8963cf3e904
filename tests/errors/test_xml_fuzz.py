"""Damaged xacro and SDF files: a loader returns or raises ModelError, whatever it is given.

The ways of damage are those of the URDF files; the texts are made up. Real ones are in test_real_files_fuzz.py.
"""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given, settings

import recursa as rc
from damage import ELEMENTS, NASTY, VALUES, damaged_bytes, damaged_text, fuzzing, spoilt
from recursa.formats.source import Assets, Source
from recursa.formats.xacro import expand
from sdf_texts import HAND, INCLUDES, TEXTS
from xacro_texts import CASES, robot

XACRO = [robot(case.inside) for case in CASES.values()]
SDF = [*TEXTS.values(), *INCLUDES.values(), HAND]

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


spoilt_expression, spoilt_content = spoilt(EXPRESSION, PIECES), spoilt(BETWEEN, PIECES)


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


@pytest.mark.parametrize("text", [CASES["macros"].inside, CASES["scopes"].inside], ids=["macros", "scopes"])
def test_every_truncation_of_xacro(text: str) -> None:
    for length in range(0, len(text), 7):
        _xacro(robot(text[:length]))
