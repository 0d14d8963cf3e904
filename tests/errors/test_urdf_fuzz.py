"""Damaged robot descriptions: a loader returns or raises ModelError, whatever it is given.

The texts are real URDF files and small made-up ones, with bytes changed, parts cut out, repeated or moved, and values
exchanged for others that are awkward. The cases are the same in every run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import recursa
from damage import ELEMENTS, NASTY, VALUE, VALUES, damaged_bytes, damaged_text, fuzzing
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


def _load(data: str | bytes) -> None:
    """Load twice, forgiving and strict; anything but success or ModelError gets through and fails the test."""
    for strict in (False, True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recursa.load(data, strict=strict)
        except ModelError as error:
            assert str(error)


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
