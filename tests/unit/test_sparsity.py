"""Packed matrices: the entries that are not zero for good, and where they belong."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from zoo import ZOO

PACKED = {"mass_matrix": "q", "coriolis_matrix": "qv", "regressor": "qva"}


@pytest.mark.parametrize("robot", ["panda_like", "floating_tree", "one_of_each", "tree"])
@pytest.mark.parametrize("name", PACKED)
def test_packed_entries_are_those_of_the_whole_matrix(robot, name):
    robot = ZOO[robot]()
    q, v = robot.random_state(1)
    given = {"q": q, "v": v, "a": robot.random_state(2)[1]}
    arguments = [given[x] for x in PACKED[name]]
    where, whole = robot.sparsity(name), getattr(robot, name)(*arguments)
    packed = getattr(robot, name)(*arguments, packed=True)
    assert packed.shape == (where.rows.size,) and whole.shape == where.shape
    assert np.abs(where.dense(packed) - whole).max(initial=0.0) <= 1e-12 * max(1.0, np.abs(whole).max(initial=0.0))


def test_places_are_as_few_as_can_be_and_in_order():
    robot = rc.robots.tree(31)
    where = robot.sparsity("mass_matrix")
    states = np.array([robot.random_state(k)[0] for k in range(3)])
    whole = np.abs(robot.mass_matrix(states)).max(axis=0)
    assert {*zip(where.rows.tolist(), where.columns.tolist(), strict=True)} == {*map(tuple, np.argwhere(whole > 0))}
    assert np.array_equal(np.lexsort((where.columns, where.rows)), np.arange(where.rows.size))
    for row in range(robot.nv):
        own = slice(where.starts[row], where.starts[row + 1])
        assert set(where.rows[own]) == {row}


def test_batches_threads_and_out():
    robot = rc.robots.tree(31)
    q = np.array([robot.random_state(k)[0] for k in range(20)])
    where = robot.sparsity("mass_matrix")
    out = np.empty((20, where.rows.size))
    assert robot.mass_matrix(q, packed=True, out=out, threads=2) is out
    assert np.array_equal(where.dense(out), robot.mass_matrix(q))


def test_mistakes_are_explained():
    robot = rc.robots.tree(5)
    with pytest.raises(rc.UnknownNameError, match="mass_matrix"):
        robot.sparsity("mass_matirx")
    with pytest.raises(rc.ShapeError, match="expected"):
        robot.sparsity("mass_matrix").dense(np.zeros(3))
