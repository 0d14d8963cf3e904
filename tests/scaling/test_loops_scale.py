"""Loops over bodies: code that does not grow with the robot, tables and scratch that grow in proportion to it."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from recursa.dynamics.articulated_bodies import forward_plan
from recursa.dynamics.gathering import joint_vector
from recursa.kernels.kernel import Kernel
from recursa.kernels.loop import Looped, LoopProgram
from recursa.kernels.writer import Shape
from recursa.loading import trusted
from recursa.model.canonical import canonical
from recursa.sweeps.engine import run


def program(n: int, kind: str) -> LoopProgram:
    model = canonical(rc.robots.chain(n, seed=2, joints=kind).model)
    sizes = {"q": n, "v": n, "tau": n}
    return LoopProgram(
        Looped(forward_plan(), lambda values: joint_vector(model, values.lists.get("qdd", []))), model, sizes
    )


@pytest.mark.parametrize("width", [1, 4])
def test_code_for_forty_bodies_is_that_for_twenty(width):
    assert program(20, "revolute").ir(Shape(width)) == program(40, "revolute").ir(Shape(width))


def test_code_grows_with_the_joint_kinds_only():
    few, many = (len(program(40, kind).found) for kind in ("revolute", "mixed"))
    assert few == 3  # at the world, in between, at the tip
    assert many <= 2 * few


@pytest.mark.compiled
def test_arms_side_by_side_share_code():
    """Bodies at the world are alike whichever of them is visited first."""
    parents = [-1, 0, 1, 2, -1, 4, 5, 6]
    model = trusted(rc.robots.random_description("arms", parents, 5, ["revolute"])).model
    sizes = {"q": 8, "v": 8, "tau": 8}

    def gather(values):
        return joint_vector(model, values.lists.get("qdd", []))

    made = LoopProgram(Looped(forward_plan(), gather), model, sizes)
    assert [one.members for one in made.found] == [[0, 4], [1, 2, 5, 6], [3, 7]]
    kernel, rows = (
        Kernel(forward_plan(), model, sizes, gather, form="loop"),
        np.random.default_rng(3).normal(size=(3, 5, 8)),
    )
    out = np.empty((5, 8))
    kernel(dict(zip(sizes, rows, strict=True)), out)
    wanted = [
        list(gather(run(forward_plan(), model, dict(zip(sizes, state, strict=True))))) for state in rows.swapaxes(0, 1)
    ]
    np.testing.assert_allclose(out, wanted, rtol=1e-9)


def test_scratch_and_tables_grow_in_proportion():
    sizes = {n: [part.size for part in program(n, "revolute").workspace(Shape(4))] for n in (20, 40, 80)}
    for first, second, third in zip(*sizes.values(), strict=True):
        assert third - second == 2 * (second - first) > 0


def test_operations_grow_in_proportion():
    counts = {n: program(n, "revolute").operations for n in (20, 21, 22, 40)}
    step = counts[21].total - counts[20].total
    assert counts[22].total - counts[21].total == step
    assert counts[40].total - counts[20].total == 20 * step
