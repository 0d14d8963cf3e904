"""Paths through waypoints: parameters, ends, and how far they leave the range of their points."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import recursa as rc

UNEVEN = np.array([[0.3, 0.0, 0.0], [0.8, 0.2, 0.1], [0.2, 2.4, -1.6], [0.6, 2.6, -1.7], [0.4, 0.5, 0.3]])
"""Points of which the first joint stays between 0.2 and 0.8, at distances from 0.3 to 3."""


@pytest.mark.parametrize("robot", [None, rc.robots.planar(3)])
def test_a_path_stays_near_unevenly_spaced_points(robot: rc.Robot | None) -> None:
    """With chord lengths and not-a-knot ends it took the first joint to 2.29 rad."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = rc.Path(UNEVEN, robot=robot)
    q, first, second = path.sample(path.places(2001))
    assert q[:, 0].min() > 0.15 and q[:, 0].max() < 0.85
    np.testing.assert_allclose(path.sample(path.breaks)[0], UNEVEN, atol=1e-12)
    distances = np.linalg.norm(np.diff(UNEVEN, axis=0), axis=1)
    np.testing.assert_allclose(path.length, distances.sum(), rtol=1e-14)
    np.testing.assert_allclose(np.diff(path.breaks) / path.breaks[1], np.sqrt(distances / distances[0]), rtol=1e-12)
    assert np.abs(second[[0, -1]]).max() < 1e-12 * np.abs(second).max()
    assert np.abs(np.diff(second, axis=0)).max() < 0.01 * np.abs(second).max()  # continuous, and so is the rest
    np.testing.assert_allclose(np.gradient(q, path.places(2001), axis=0)[1:-1], first[1:-1], atol=2e-4)


def test_ends_of_a_path() -> None:
    with pytest.warns(rc.LimitWarning, match="coordinate 0 to 1.1"):
        free = rc.Path(UNEVEN, ends="not-a-knot")
    places = free.places(2001)
    third = np.diff(free.sample(places)[2], axis=0)
    inner = [np.searchsorted(places, x) for x in free.breaks[[1, -2]]]
    for at in inner:  # the third derivative does not jump there
        np.testing.assert_allclose(third[at + 1], third[at - 2], rtol=1e-6)
    closed = rc.Path([*UNEVEN, UNEVEN[0]], ends="periodic")
    for start, end in zip(closed.sample(0.0), closed.sample(closed.end), strict=True):
        np.testing.assert_allclose(start, end, atol=1e-12)


def test_a_path_that_leaves_the_range_of_its_points_is_noticed() -> None:
    points = [[0.0, 0.0], [1.0, 0.0], [0.9, 0.1], [0.0, 0.0]]
    words = r"coordinate 1 to -0\.\d+ at s = \S+; its points are from 0 to 0\.1, and it leaves that range by \d+%"
    with pytest.warns(rc.LimitWarning, match=words) as caught:
        rc.Path(points)
    assert caught[0].filename == __file__
    with pytest.warns(rc.LimitWarning, match="'joint2' to"):
        rc.Path(points, robot=rc.robots.planar(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rc.Path(points, kind="lines", blend=0.05)
        rc.Path([[0.5, x] for x in (0.0, 1.0, 1.1, 3.0)])  # a joint that stands still
        noise = 1e-8 * np.random.default_rng(0).standard_normal((50, 6))
        for row in noise:  # as numerical inverse kinematics leaves it
            rc.Path(np.column_stack([0.5 + row, np.linspace(0.0, 2.0, 6)]))
        flyer = rc.robots.free_flyer(1)
        rc.Path([flyer.random_state(k)[0] for k in (1, 2)], robot=flyer)
