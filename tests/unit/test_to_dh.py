"""Robots as Denavit-Hartenberg tables: the robot of the table moves and weighs the same."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close
from robot_data import urdf_files

pytestmark = pytest.mark.interpreted(reason="every table is another robot")
both = pytest.mark.parametrize("convention", ["standard", "modified"])
FILES = {path.name: path for path in urdf_files()}


def again(table: rc.DHTable) -> rc.Robot:
    return rc.from_dh(
        table, convention=table.convention, base=table.base, tool=table.tool, gravity=table.gravity, strict=False
    )


def same(robot: rc.Robot, table: rc.DHTable, tolerance: float, tool: str | None = None) -> None:
    other = again(table)
    assert table.residual <= tolerance
    assert (len(table), other.nv) == (robot.nv, robot.nv)
    for seed in range(3):
        q, v = robot.random_state(seed, within_limits=False)
        a = np.random.default_rng(seed).normal(size=robot.nv)
        last = tool or [link.name for link in robot.model.links if link.body == robot.nbodies - 1][-1]
        close(other.pose(q, "tool"), robot.pose(q, last), tolerance)
        close(other.mass_matrix(q), robot.mass_matrix(q), tolerance)
        close(other.inverse_dynamics(q, v, a, losses=True), robot.inverse_dynamics(q, v, a, losses=True), tolerance)
        close(other.jacobian(q, "tool", frame="world"), robot.jacobian(q, last, frame="world"), tolerance)


@both
@pytest.mark.parametrize("joints", ["revolute", "mixed"])
@pytest.mark.parametrize("n", range(1, 9))
def test_random_chains(n: int, joints: Any, convention: Any) -> None:
    for seed in range(5):
        robot = rc.robots.chain(n, seed=seed, joints="revolute")
        if joints == "mixed":
            records = robot.model.description.joints
            kinds = ("prismatic", "revolute", "continuous")
            changed = [replace(r, kind=kinds[(k + seed) % 3]) if r.kind != "fixed" else r
                       for k, r in enumerate(records)]  # fmt: skip
            robot = robot._changed(description=robot.model.description.__class__(
                robot.name, robot.model.description.links, tuple(changed)))  # fmt: skip
        same(robot, robot.to_dh(convention), 1e-9)


@both
@pytest.mark.parametrize("kinds", [(1, 1, 1), (1, -1, 1), (2, 1, -2), (1, 1, 2), (3, -3, 3), (1, 2, 3)])
@pytest.mark.parametrize("offset", [(0, 0, 0), (0, 0, 0.3), (0.4, 0, 0), (0.1, 0.2, 0.3)])
def test_parallel_meeting_and_coinciding_axes(
    kinds: tuple[int, ...], offset: tuple[float, ...], convention: Any
) -> None:
    b = rc.Builder("arm")
    parent = "world"
    for k, axis in enumerate(kinds):
        b.link(f"l{k}", mass=1.0 + k, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25, 0.01, 0.02, 0.03))
        direction = math.copysign(1.0, axis) * np.eye(3)[abs(axis) - 1]
        b.joint(
            f"j{k}", "revolute", parent=parent, child=f"l{k}", axis=direction, xyz=offset, armature=0.1, damping=0.2
        )
        parent = f"l{k}"
    same(b.build(), b.build().to_dh(convention), 1e-13)


@both
@pytest.mark.parametrize("name", ["stanford", "puma560", "panda_like", "ur5_like", "planar"])
def test_bundled_arms(name: str, convention: Any) -> None:
    robot = getattr(rc.robots, name)()
    same(robot, robot.to_dh(convention), 1e-12)


@pytest.mark.parametrize("name", ["stanford", "puma560"])
def test_a_table_that_was_made_from_a_table_is_that_table(name: str) -> None:
    robot = getattr(rc.robots, name)()
    table = robot.to_dh("modified")
    assert table.base.translation == (0.0, 0.0, 0.0)
    assert close_rows(again(table).to_dh("modified"), table)


def close_rows(one: rc.DHTable, other: rc.DHTable) -> bool:
    numbers = [[(row.a, row.alpha, row.d, row.theta, row.mass, *row.com) for row in table] for table in (one, other)]
    return bool(np.allclose(*numbers, atol=1e-12))


@pytest.mark.skipif("panda.urdf" not in FILES, reason="example-robot-data is not installed")
@both
def test_panda_and_ur5(convention: Any) -> None:
    panda = rc.load(FILES["panda.urdf"], strict=False)
    with pytest.raises(rc.ModelError, match=r"branches before joint 'panda_finger_joint2'.* robot.chain"):
        panda.to_dh(convention)
    arm = panda.chain("panda_link0", "panda_link8")
    same(arm, arm.to_dh(convention, tool="panda_link8"), 1e-10, "panda_link8")
    ur5 = rc.load(FILES["ur5_robot.urdf"], strict=False)
    same(ur5, ur5.to_dh(convention), 1e-10)


def test_panda_has_the_published_geometry() -> None:
    if "panda.urdf" not in FILES:
        pytest.skip("example-robot-data is not installed")
    table = rc.load(FILES["panda.urdf"], strict=False).chain("panda_link0", "panda_link8").to_dh()
    lengths = sorted({round(abs(x), 4) for row in table for x in (row.a, row.d)})
    assert lengths == [0.0, 0.0825, 0.088, 0.316, 0.333, 0.384]
    assert all(abs(math.cos(row.alpha)) < 1e-6 for row in table.rows[1:])


def test_nearly_parallel_axes_are_told_and_can_be_taken_as_parallel() -> None:
    b = rc.Builder("arm")
    b.link("one", mass=1.0)
    b.link("two", mass=1.0)
    b.joint("first", "revolute", parent="world", child="one")
    b.joint("second", "revolute", parent="one", child="two", xyz=(0.5, 0.1, 0), rpy=(3.7e-6, 0, 0))
    robot = b.build(strict=False)
    exact, tidy = robot.to_dh(), robot.to_dh(tolerance=1e-4)
    assert exact.residual < 1e-9
    assert "to_dh(tolerance=1e-4)" in str(exact)
    assert 1e-7 < tidy.residual < 1e-5
    assert tidy.rows[1].alpha == 0.0
    assert "tolerance" not in str(tidy)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
@both
def test_saved_table_is_loaded_to_the_bit(suffix: str, convention: Any, tmp_path: Path) -> None:
    table = rc.robots.panda_like().with_gravity((0.1, 0.2, -9.81)).to_dh(convention)
    robot = rc.load(table.save(tmp_path / f"arm.dh{suffix}"))
    expected = rc.from_dh(
        table, convention=convention, base=table.base, tool=table.tool, gravity=table.gravity, name=table.name
    )
    assert robot == expected
    assert repr(robot.model.joints) == repr(expected.model.joints)
    with pytest.raises(rc.RecursaError, match=r"let it end in \.json or \.csv"):
        table.save(tmp_path / "arm.xml")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: rc.robots.free_flyer(2), r"joint 'root' \(free\) has no row"),
        (lambda: rc.robots.tree(5), "branches before joint"),
        (lambda: rc.load('<robot name="one"><link name="base"/></robot>'), "has no joints"),
        (lambda: rc.load(rc.robots.urdf("desk_arm"), mimic="tie"), "is tied to another|branches"),
    ],
)
def test_what_has_no_table_is_told(make: Any, told: str) -> None:
    with pytest.raises(rc.ModelError, match=told):
        make().to_dh()


def test_wrong_options_are_told() -> None:
    arm = rc.robots.panda_like()
    with pytest.raises(rc.ModelError, match="Did you mean 'modified'"):
        arm.to_dh("modifed")  # type: ignore[arg-type]
    with pytest.raises(rc.ModelError, match="'link3' is not fixed to the last body"):
        arm.to_dh(tool="link3")
    with pytest.raises(rc.ModelError, match="tolerance must be a number"):
        arm.to_dh(tolerance="little")  # type: ignore[arg-type]
