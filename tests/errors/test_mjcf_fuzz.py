"""Damaged MJCF: a loader returns or raises ModelError, whatever it is given.

MuJoCo's compiler runs in this process. What could make it open files, run for ever or fill the memory is taken out
before (``formats/mjcf_text.py``); whether anything else brings it down is what is asked here. The cases are the same
in every run.
"""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings

import recursa as rc
from damage import ELEMENTS, NASTY, VALUE, VALUES, damaged_bytes, damaged_text, fuzzing
from mjcf_texts import CONSTRAINED, PENDULUM, TEXTS

pytest.importorskip("mujoco")

SMALL = [PENDULUM, CONSTRAINED, TEXTS["frames"], TEXTS["springs_and_tendons"], TEXTS["inertia_from_geoms"]]


def load(data: str | bytes) -> None:
    """Whatever can be read can be written, or the error says why not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rc.load(data, strict=False, format="mjcf").to_mjcf()
    except rc.ModelError as error:
        assert str(error) and "spoiled" not in str(error) and "unknown exception" not in str(error)


@settings(fuzzing, max_examples=500)
@given(damaged_bytes(SMALL))
def test_damaged_bytes(data: bytes) -> None:
    load(data)


@settings(fuzzing, max_examples=700)
@given(damaged_text(SMALL, VALUES))
def test_nasty_values(text: str) -> None:
    load(text)


@settings(fuzzing, max_examples=500)
@given(damaged_text(SMALL, ELEMENTS))
def test_rearranged_elements(text: str) -> None:
    load(text)


@pytest.mark.parametrize("value", NASTY)
def test_nasty_value_everywhere(value: str) -> None:
    """Each value in each place of the pendulum, one at a time."""
    for place in VALUE.finditer(PENDULUM):
        load(PENDULUM[: place.start()] + value + PENDULUM[place.end() :])
