"""Products at the end of a kernel: ``-A B`` against NumPy, for all sizes of tiles and with entries that are zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close, same_bits
from recursa.kernels.kernel import Kernel
from recursa.kernels.loop import Looped
from recursa.kernels.products import Product
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip

pytestmark = pytest.mark.compiled

ANGLES = Plan("angles", (Buffer("x", 0.0),), (base_to_tip(Step(lambda q: q[0], ("q",), ("x",))),))

Mask = Callable[[int, int], bool]
MASKS: dict[str, Mask] = {
    "full": lambda i, j: True,
    "lower": lambda i, j: i >= j,
    "two blocks": lambda i, j: (i % 2) == (j % 2),
    "an empty row and column": lambda i, j: i != 1 and j != 2,
    "nothing": lambda i, j: False,
}


def matrices(x: Any, factors: int, mask: Mask) -> Iterator[Any]:
    """A symmetric matrix of the numbers x, and others with entries that are always zero."""
    n = len(x)
    yield from (x[i] * x[j] + 0.5 * (i == j) for i in range(n) for j in range(n))
    for k in range(factors):
        yield from (x[i] * (k + 1.5) - x[j] if mask(i, j) else 0.0 for i in range(n) for j in range(n))


def kernel(n: int, factors: int, mask: Mask, *, single: bool = False) -> Kernel:
    def gather(values: Values) -> Iterator[Any]:
        return matrices(values["x"], factors, mask)

    looped = Looped(ANGLES, gather, product=Product(n, factors))
    return Kernel(ANGLES, rc.robots.chain(n).model, {"q": n}, gather, single, "loop", looped)


def multiplied(q: np.ndarray, factors: int, mask: Mask) -> np.ndarray:
    n = q.shape[1]
    found = []
    for row in q:
        first, *others = np.array(list(matrices(row, factors, mask))).reshape(1 + factors, n, n)
        found.append(np.stack([*(-first @ other for other in others), first]).ravel())
    return np.array(found)


SIZES = [(n, 2, "lower") for n in (1, 2, 3, 4, 5, 6, 9, 13)] + [(n, 2, mask) for n in (7, 8) for mask in MASKS]


@pytest.mark.parametrize(("n", "factors", "mask"), [*SIZES, (5, 1, "full"), (6, 3, "full")])
def test_products_match_numpy(n, factors, mask):
    q = np.random.default_rng(n).normal(size=(11, n))
    out = np.full((11, (1 + factors) * n * n), np.nan)
    kernel(n, factors, MASKS[mask])({"q": q}, out)
    close(out, multiplied(q, factors, MASKS[mask]), 1e-14)


def test_products_have_the_same_bits_alone():
    q = np.random.default_rng(1).normal(size=(19, 7))
    made, out, alone = kernel(7, 2, MASKS["lower"]), np.empty((19, 147)), np.empty((1, 147))
    made({"q": q}, out)
    for row in range(19):
        made({"q": q[row : row + 1]}, alone)
        same_bits(alone[0], out[row], f"row {row}")


def test_products_in_single_precision():
    q = np.random.default_rng(2).normal(size=(5, 6))
    out = np.empty((5, 108), np.float32)
    kernel(6, 2, MASKS["lower"], single=True)({"q": q.astype(np.float32)}, out)
    close(out, multiplied(q, 2, MASKS["lower"]), 1e-5)


def test_zeros_are_not_multiplied():
    """A column is left out of the rows in which it and its neighbour are zero in all factors."""
    own = {n: kernel(n, 2, MASKS["nothing"]).operations.mul for n in (7, 8)}
    full, lower, halves = (kernel(8, 2, MASKS[name]).operations.mul for name in ("full", "lower", "two blocks"))
    made = 2 * 8  # multiplications that the factors' entries take
    assert full - own[8] == 2 * 8**3 + made
    pairs_of_columns = sum(2 * (8 - first) for first in range(0, 8, 2))
    assert lower - own[8] == 2 * 8 * pairs_of_columns + made
    assert halves - own[8] == 2 * 8**3 + made  # every two columns have something in every row
    assert kernel(7, 2, MASKS["full"]).operations.mul - own[7] == 2 * 7**3 + 2 * 7
