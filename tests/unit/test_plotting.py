"""Pictures: what is drawn, what is refused, and names that would be taken for formulas."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.plotting import animate, draw, skeleton
from recursa.plotting.arm import ROD
from recursa.plotting.styles import COLOURS

BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.05), "inertia": (0.03, 0.03, 0.03)}


def one_joint(kind: str, name: str = "j") -> rc.Robot:
    b = rc.Builder("one $5 arm").link("body", **BODY)
    return b.joint(name, kind, parent="world", child="body", axis=(0, 0.6, 0.8), xyz=(0.1, 0.2, 0.3)).build()


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_joint_without_an_axis_has_no_bar(kind: str) -> None:
    robot = one_joint(kind)
    assert not skeleton(robot, robot.neutral()).axes.any()
    turning = one_joint("revolute")
    without, bars = ([line.get_color() for line in draw(one).axes[0].lines].count("black") for one in (robot, turning))
    assert (without, bars) == (0, 1)
    assert np.allclose(skeleton(turning, [0.3]).axes, [[0, 0.6, 0.8]])


def test_what_closes_loops_is_drawn() -> None:
    """The six rods of a delta robot, with their length; the platform as far as where they hang on it; its mobility."""
    robot = rc.robots.delta()
    start = robot.neutral()
    q = np.array([start, robot.assemble(robot.integrate(start, 0.05 * np.ones(9)))])
    rods = skeleton(robot, q).rods
    lengths = np.array([np.linalg.norm(rod[:, 1] - rod[:, 0], axis=-1) for rod in rods])
    assert lengths.shape == (6, 2)
    np.testing.assert_allclose(lengths, lengths[0, 0], rtol=1e-9)
    (axes,) = draw(robot, q[0]).axes
    drawn = [np.stack(line.get_data_3d(), axis=-1) for line in axes.get_lines() if line.get_color() == ROD]
    np.testing.assert_allclose(drawn, [rod[0] for rod in rods])
    assert len(skeleton(robot, q[0]).reaches[0]) >= 6
    assert axes.get_title() == "delta: 4 bodies, mobility 3, 1.7 kg"


def test_dollars_in_names_stay_dollars(tmp_path: object) -> None:
    robot = one_joint("revolute", r"$\frac{$ x$")
    figure = draw(robot, [0.3], tmp_path / "arm.png")  # type: ignore[operator]
    (axes,) = figure.axes
    assert axes.get_title().startswith(r"one \$5 arm: 1 bodies")
    assert r"\$\frac{\$ x\$" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_picture_is_of_one_finite_state() -> None:
    robot = rc.robots.planar()
    with pytest.raises(rc.ShapeError, match=r"q has shape \(2, 3\); a picture shows one state, of shape \(3,\)"):
        draw(robot, np.zeros((2, 3)))
    for bad in (math.nan, math.inf):
        with pytest.raises(rc.StateError, match="q contains nan or infinity"):
            draw(robot, [0.0, bad, 0.0])
    with pytest.raises(rc.ShapeError, match="expected"):
        draw(robot, [0.0, 0.0])


def test_a_robot_of_many_bodies_has_a_colour_for_each_limb() -> None:
    robot = rc.robots.tree(30)
    figure = draw(robot)
    (axes,) = figure.axes
    lines = {line.get_color() for line in axes.get_lines() if line.get_linewidth() == 5.0}
    assert 1 < len(lines) <= len(COLOURS)
    assert "robot.to_html" in axes.get_title()
    assert not axes.collections or all(len(one.get_offsets()) != robot.nbodies for one in axes.collections)
    spans = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    np.testing.assert_allclose(np.array(axes._box_aspect) / axes._box_aspect[0], np.array(spans) / spans[0])


def test_more_bodies_than_can_be_read_are_refused(tmp_path: Path) -> None:
    robot = rc.robots.chain(81, seed=1)
    with pytest.raises(rc.RecursaError, match=r"'chain81' has 81 bodies.*robot\.view\(\) and robot\.to_html"):
        draw(robot)
    with pytest.raises(rc.RecursaError, match="81 bodies"):
        animate(robot, [0.0, 1.0], np.zeros((2, 81)), tmp_path / "x.gif")
