"""What constraints add to forward dynamics, counted: O(depth) for a row, for two rows a product where both pass."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc


def chain(n: int, seed: int = 1) -> rc.Robot:
    return rc.robots.chain(n, seed=seed)


def held(n: int, depth: int, rows: int = 3) -> rc.Robot:
    """A chain with points of one link on planes, no two alike."""
    points = np.random.default_rng(5).normal(size=(rows, 2, 3))
    loops = (
        rc.Loop("point-on-plane", "world", f"link{depth}", axis=axis, at_other=at, name=f"row{k}")
        for k, (axis, at) in enumerate(points)
    )
    return chain(n).with_constraints(*loops)


def operations(robot: rc.Robot, quantity: str, **options: str) -> np.ndarray:
    found = rc.count(robot, quantity, **options)
    return np.array([found.mul, found.add])


def test_a_loop_adds_what_its_depth_takes_however_long_the_chain_is() -> None:
    added = [
        operations(held(n, 8), "forward_dynamics") - operations(chain(n), "forward_dynamics") for n in (16, 32, 64)
    ]
    assert (added[0] == added[1]).all() and (added[1] == added[2]).all()


@pytest.mark.parametrize("quantity", ["constraint_delassus", "constraint_delassus_factors", "forward_dynamics"])
def test_at_the_tip_that_is_linear_in_the_length(quantity: str) -> None:
    counts = [operations(held(n, n), quantity) for n in (10, 20, 30, 40)]
    growth = np.diff(counts, axis=0)
    assert (np.abs(np.diff(growth, axis=0)) <= 2).all()  # the first joints save a little


def test_two_rows_cost_one_product_at_every_joint_that_both_pass() -> None:
    for n in (12, 24):
        counts = [operations(held(n, n, rows), "constraint_delassus") for rows in (1, 2, 3, 4, 5)]
        second = np.diff(counts, 2, axis=0)
        assert (second[:, 0] == n).all(), second  # multiplications: eps_i (inv(D) eps_j)
        assert (second[:, 1] <= n).all()


def test_projection_grows_faster_than_augmentation() -> None:
    sizes = (5, 10, 20)
    by = {
        method: [operations(held(n, n), "forward_dynamics", method=method).sum() for n in sizes]
        for method in ("augmentation", "projection")
    }
    assert all(a < p for a, p in zip(by["augmentation"], by["projection"], strict=True))
    assert by["augmentation"][2] < 2.2 * by["augmentation"][1] and by["projection"][2] > 3.0 * by["projection"][1]


def test_the_same_matrix_from_compliances_of_links() -> None:
    """``A = W* Lambda W``, with the compliances between links (Jain & Rodriguez (31)) and rows as wrenches there."""
    tree = rc.robots.tree(14, branching=2, seed=3)
    links = [link.name for link in tree.model.links if link.body in (9, 12, 13)]
    robot = tree.with_constraints(*(rc.Loop("weld", "world", link) for link in links))
    q, _ = robot.random_state(2)
    turned = np.zeros((6 * len(links), 6 * len(links)))
    for k, link in enumerate(links):  # errors of a weld at rest against the motion of the link in its axes
        J = tree.jacobian(q, link)
        turned[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = robot.constraint_jacobian(q)[6 * k : 6 * k + 6] @ np.linalg.pinv(
            J
        )
    expected = turned @ tree.delassus(q, links) @ turned.T
    assert np.allclose(robot.constraint_delassus(q), expected, atol=1e-9 * np.abs(expected).max())
