"""Results of studies beside each other."""

from __future__ import annotations

import numpy as np


def equal(one, other) -> None:
    assert set(one.names) == set(other.names)
    for name in one.names:
        assert np.array_equal(one[name], other[name], equal_nan=True), name
