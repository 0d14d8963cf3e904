"""Results that code with loops writes past the caches are those that it writes into them, wherever rows begin."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from looped_results import by_kernel, every_input, kernel_of
from numeric import same_bits, states
from recursa.kernels.native import simd_shape

run = pytest.importorskip("recursa._entry").run
pytestmark = pytest.mark.compiled

LARGE = 4 << 20  # numbers of a result that is too large for caches
BLOCKS = 3


@pytest.mark.parametrize("n", [23, 27, 30])  # rows of 529, 729 and 900 numbers: odd, several rooms, a multiple of four
@pytest.mark.parametrize("what", ["mass_matrix", "inverse_factor", "forward_derivatives"])
def test_past_the_caches_or_not(n, what):
    robot, width = rc.robots.tree(n, branching=2, seed=3), simd_shape(False).width
    q, v, a = states(robot, BLOCKS * width, seed=8)
    state = every_input(q, v, a, a)
    expected = by_kernel(robot, what, state).reshape(len(q), -1)
    kernel = kernel_of(robot, what)
    owner, code = kernel._way_in(width)  # the scratch is the owner's
    inputs = [np.ascontiguousarray(state[name]) for name in kernel.inputs]
    places = tuple((x.ctypes.data, x.shape[1]) for x in inputs)
    for offset in range(8):
        memory = np.full(expected.size + 16, np.pi)
        out = memory[offset : offset + expected.size]
        run(code, places, out.ctypes.data, expected.shape[1], LARGE, BLOCKS)
        same_bits(out.reshape(expected.shape), expected, f"rows from number {offset} on")
        assert owner and (np.delete(memory, np.s_[offset : offset + expected.size]) == np.pi).all()
