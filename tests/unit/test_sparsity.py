"""Packed matrices: the entries that are not zero for good, and where they belong."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import tied_gripper
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


@pytest.mark.parametrize("robot", ["panda_like", "floating_tree", "one_of_each", "tree", "tied_gripper"])
@pytest.mark.parametrize("pushed", [False, True])
def test_packed_derivatives_are_those_of_the_whole_matrices(robot, pushed):
    robot = tied_gripper() if robot == "tied_gripper" else ZOO[robot]()
    state = (*robot.random_state(1), robot.random_state(2)[1])
    frames = ("link", "world") if pushed else ()
    wrenches = [rc.Wrench(at=robot.link_names[-1], force=(1.0, -2.0, 0.5), frame=one) for one in frames] or None
    where = robot.sparsity("inverse_dynamics_derivatives")
    whole = robot.inverse_dynamics_derivatives(*state, wrenches=wrenches)
    for _ in range(2):  # the second one is the native entry's
        found = robot.inverse_dynamics_derivatives(*state, wrenches=wrenches, packed=True)
        for one, all_of_it in zip(found, whole, strict=True):
            assert one.shape == (where.rows.size,)
            assert np.array_equal(where.dense(one), all_of_it)


def test_packed_derivatives_of_a_batch():
    robot = rc.robots.tree(31)
    q, v = (np.array(x) for x in zip(*[robot.random_state(k) for k in range(20)], strict=True))
    where = robot.sparsity("inverse_dynamics_derivatives")
    out = np.empty((20, 3, where.rows.size))
    found = robot.inverse_dynamics_derivatives(q, v, v, packed=True, out=out, threads=2)
    assert all(np.shares_memory(one, out) for one in found)
    for number, one in enumerate(robot.inverse_dynamics_derivatives(q, v, v)):
        assert np.array_equal(where.entries(one), out[:, number])
    with pytest.raises(rc.ShapeError, match="expected"):
        where.entries(np.zeros((3, 3)))


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
