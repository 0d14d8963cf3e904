"""Damaged robot files of ours and damaged Denavit-Hartenberg tables: a loader returns or raises ModelError.

The texts are saved robots, and tables as JSON, YAML and CSV, with bytes changed, parts cut out, repeated or moved, and
values exchanged for others that are awkward. The cases are the same in every run.
"""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec

from hypothesis import given, settings
from hypothesis import strategies as st

import recursa as rc
from damage import copied, damaged_bytes, damaged_text, exchanged, fuzzing, moved, nasty, removed
from recursa.formats.recursa_json import write_recursa
from recursa.formats.table import FORMATS
from robot_files import CSV, JSON, YAML, with_everything

SAVED = [
    write_recursa(with_everything().model),
    write_recursa(rc.robots.planar(2).model),
]
YAMLS = [YAML.replace("CONVENTION", "standard")] if find_spec("yaml") else []
TABLES = [JSON.replace("CONVENTION", "modified"), *YAMLS, CSV.replace("CONVENTION", "modified")]

NASTY = [
    "", " ", "nan", "-inf", "NaN", "-Infinity", "1e999", "-1e308", "1e-320", "0", "-1", "9" * 400, "9" * 5000, "0x10",
    "1_000", "1,5", "--1", "true", "null", "[]", "{}", "[[]]", '{"a": 1}', "[1, 2]", '"', '""', '"\\ud800"', '"x"',
    '"nan"', '"inf"', "\u0661", "\u22121", "\U0001f916", "\x00", "\t\n", "pi", "-pi/0", "pi*pi", "2*pi/3", "deg", "rad",
    "*a", "&a", "!!python/name:os.system", "? ", "- ", ": ", "# ", "<<", "|", ">", "modified", "standard", "prismatic",
    "revolute", "fixed", "free", "world", "root", "a" * 70_000, "[" * 3000, "{" * 3000, '{"a":' * 3000,
]  # fmt: skip
VALUE = re.compile(r'"[^"\n]*"|-?\d+\.?\d*(?:e-?\d+)?|true|false|null|\b(?:pi|modified|standard|prismatic|revolute)\b')
PIECE = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|^.*$", re.MULTILINE)


def load(data: str | bytes, format: str) -> None:
    """Forgiving by content, strict in the format; what is no ModelError gets through and fails the test."""
    for options in ({"strict": False}, {"strict": True, "format": format}):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                robot = rc.load(data, **options)  # type: ignore[arg-type]
                if not options["strict"]:
                    rc.load(write_recursa(robot.model), strict=False)  # what can be read can be written and read
        except rc.ModelError as error:
            assert str(error)


VALUES = [nasty(VALUE, NASTY), exchanged(VALUE)]
PIECES = [removed(PIECE), copied(PIECE, PIECE, ", "), moved(PIECE, PIECE)]


@settings(fuzzing, max_examples=600)
@given(damaged_bytes(SAVED))
def test_damaged_bytes_of_saved_robots(data: bytes) -> None:
    load(data, "recursa")


@settings(fuzzing, max_examples=1000)
@given(damaged_text(SAVED, VALUES))
def test_nasty_values_in_saved_robots(text: str) -> None:
    load(text, "recursa")


@settings(fuzzing, max_examples=500)
@given(damaged_text(SAVED, PIECES))
def test_rearranged_saved_robots(text: str) -> None:
    load(text, "recursa")


@settings(fuzzing, max_examples=600)
@given(damaged_bytes(TABLES))
def test_damaged_bytes_of_tables(data: bytes) -> None:
    load(data, "dh")


@settings(fuzzing, max_examples=300)  # test_real_files_fuzz.py has 2,000 more
@given(damaged_text(TABLES, VALUES))
def test_nasty_values_in_tables(text: str) -> None:
    load(text, "dh")


@settings(fuzzing, max_examples=500)
@given(damaged_text(TABLES, PIECES))
def test_rearranged_tables(text: str) -> None:
    load(text, "dh")


@settings(fuzzing, max_examples=300)
@given(
    st.one_of(st.binary(max_size=100), st.text(max_size=100), st.text('{}[]":, conveti rws-#|*&!\n0', max_size=60)),
    st.sampled_from([name for name in FORMATS if name in ("recursa", "dh")]),
)
def test_arbitrary_text(data: str | bytes, format: str) -> None:
    load(data, format)
