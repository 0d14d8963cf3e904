"""Sines, cosines and angles of constants: the nearest double, whatever the processor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recursa.spatial import constant_trig
from recursa.spatial.rotation import Rotation

SPECIAL = [0.0, 1e-9, *(k * math.pi / 4 for k in range(-9, 10)), 3.1416, 1.5708, 63.9, 64.0]
ANGLES = [*SPECIAL, *np.random.default_rng(1).uniform(-7.0, 7.0, size=500).tolist()]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no longer numbers to compare with")
def test_sines_and_cosines_are_the_nearest_numbers():
    for angle in ANGLES:
        wide = np.longdouble(angle)
        expected = float(np.cos(wide)), float(np.sin(wide))
        assert constant_trig.cos_sin(angle) == pytest.approx(expected, rel=0.0, abs=1e-30), angle


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no longer numbers to compare with")
def test_angles_are_the_nearest_numbers():
    for angle in ANGLES:
        c, s = constant_trig.cos_sin(angle)
        expected = float(np.arctan2(np.longdouble(s), np.longdouble(c)))
        assert constant_trig.atan2(s, c) == pytest.approx(expected, rel=0.0, abs=1e-30), angle
        assert constant_trig.atan2(4.0 * s, 4.0 * c) == constant_trig.atan2(s, c)


def test_what_has_no_angle_or_no_sine_is_no_error():
    assert constant_trig.atan2(0.0, 0.0) == 0.0
    assert constant_trig.atan2(-0.0, -1.0) == constant_trig.atan2(0.0, -1.0) == math.pi
    assert math.isnan(constant_trig.atan2(math.nan, 1.0))
    assert all(math.isnan(x) for bad in (math.nan, math.inf) for x in constant_trig.cos_sin(bad))
    assert constant_trig.cos_sin(1e5) == (math.cos(1e5), math.sin(1e5))


def test_constant_rotations_are_the_others_to_rounding():
    rng = np.random.default_rng(3)
    for angles in rng.uniform(-1.5, 1.5, size=(50, 3)).tolist():
        rotation = Rotation.from_constant_rpy(*angles)
        assert rotation == pytest.approx(Rotation.from_rpy(*angles), abs=3e-16)
        assert rotation.constant_rpy() == pytest.approx(angles, abs=2e-15)
    assert set(Rotation.from_constant_rpy(math.pi / 2, math.pi, -math.pi / 2)) <= {0.0, 1.0, -1.0}
