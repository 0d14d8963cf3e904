"""Loops over bodies: code that does not grow with the robot, tables and scratch that grow in proportion to it."""

from __future__ import annotations

import pytest

import recursa as rc
from recursa.dynamics.articulated import forward_plan
from recursa.dynamics.gathering import joint_vector
from recursa.kernels.emit import Shape
from recursa.kernels.loop import LoopProgram
from recursa.model.canonical import canonical


def program(n: int, kind: str) -> LoopProgram:
    model = canonical(rc.robots.chain(n, seed=2, joints=kind).model)
    sizes = {"q": n, "v": n, "tau": n}
    return LoopProgram(forward_plan(), model, sizes, lambda values: joint_vector(model, values.lists.get("qdd", [])))


@pytest.mark.parametrize("width", [1, 4])
def test_code_for_forty_bodies_is_that_for_twenty(width):
    assert program(20, "revolute").ir(Shape(width)) == program(40, "revolute").ir(Shape(width))


def test_code_grows_with_the_joint_kinds_only():
    few, many = (len(program(40, kind).found) for kind in ("revolute", "mixed"))
    assert few == 3  # at the world, in between, at the tip
    assert many <= 2 * few


def test_scratch_and_tables_grow_in_proportion():
    sizes = {n: [part.size for part in program(n, "revolute").workspace(Shape(4))] for n in (20, 40, 80)}
    for first, second, third in zip(*sizes.values(), strict=True):
        assert third - second == 2 * (second - first) > 0


def test_operations_grow_in_proportion():
    counts = {n: program(n, "revolute").operations for n in (20, 21, 22, 40)}
    step = counts[21].total - counts[20].total
    assert counts[22].total - counts[21].total == step
    assert counts[40].total - counts[20].total == 20 * step
