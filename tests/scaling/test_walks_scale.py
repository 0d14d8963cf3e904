"""Matrices of large robots by walks: so many operations a pair, code that does not grow, memory for one scratch."""

from __future__ import annotations

import tracemalloc
from functools import cache

import numpy as np
import pytest

import recursa as rc
from looped_results import ASKED, by_kernel, every_input, kernel_of, way
from numeric import states
from questions import answered
from recursa.kernels import kernel
from recursa.kernels.loop import LoopProgram
from recursa.kernels.native import simd_shape
from recursa.kernels.writer import Shape
from recursa.sweeps.input_kinds import kind_of_input
from zoo import flyer

every_matrix = pytest.mark.parametrize("what", ASKED)


def program(robot: rc.Robot, what: str) -> LoopProgram:
    """The loops that a robot's kernel would be made of, for the model that it would be made for."""
    found = way(robot, what)
    names = [ASKED[what].quantity.reads.get(name, name) for name in ASKED[what].inputs.split()]
    model = found.kernels.compiled_model
    return LoopProgram(found.recipe.looped, model, {name: kind_of_input(name).size(model) for name in names})


@cache
def of_chain(n: int, what: str) -> LoopProgram:
    return program(rc.robots.chain(n, seed=2), what)


def two_arms(n: int) -> rc.Robot:
    """Arms of n bodies on a free base, which yields to all forces: n^2 times two bodies on different branches."""
    parents = [-1, 0, *range(1, n), 0, *range(n + 1, 2 * n)]
    return flyer("two_arms", parents, 2, ["revolute"])


# ---- operations ------------------------------------------------------------------------------------------------------

A_PAIR = {  # multiplications for two joints of one freedom, one inward of the other
    "mass_matrix": 6,
    "mass_matrix_inverse": 19,
    "coriolis_matrix": 15,
    "regressor": 42,
    "inverse_derivatives": 36,
    "forward_derivatives": 19 + 30,  # the inverse, and derivatives without the mass matrix
    "second_derivatives": 48,
    "factor": 6,
    "inverse_factor": 12,
    "freedom_by_freedom": 6,
    "mass_rate": 12,
    "momentum_change": 12,
}


@every_matrix
def test_operations_grow_as_the_number_of_pairs(what):
    """Exactly: so many a pair, so many a body; products at the end of a kernel take n^3 each."""
    cubes = 2 if what == "forward_derivatives" else 0
    lengths = np.array([20, 40, 80])
    counted = np.array([of_chain(n, what).operations.mul for n in lengths])
    terms = np.stack([lengths * (lengths - 1) / 2, lengths, lengths**0], axis=1)
    pair, body, rest = np.linalg.solve(terms, counted - cubes * lengths**3).round().astype(int).tolist()
    assert pair == A_PAIR[what]
    assert 100 < body < 1000
    assert of_chain(30, what).operations.mul == cubes * 30**3 + pair * 435 + body * 30 + rest


def test_bodies_on_different_branches_cost_six_multiplications():
    """In the inverse of the mass matrix, beside what each of them makes with the body where they branch."""
    counted = {n: program(two_arms(n), "mass_matrix_inverse").operations.mul for n in (4, 8, 12)}
    second = counted[12] - 2 * counted[8] + counted[4]  # of 2 n(n-1)/2 pairs, and of n^2 apart
    assert second == 2 * 16 * A_PAIR["mass_matrix_inverse"] + 32 * 6


# ---- code ------------------------------------------------------------------------------------------------------------


@every_matrix
def test_code_for_sixty_bodies_is_that_for_thirty(what):
    assert of_chain(60, what).ir(Shape(4)) == of_chain(30, what).ir(Shape(4))
    assert len(of_chain(60, what).found) == 5  # bodies at the world, between, at the tip; pairs that begin and go on


@every_matrix
def test_scratch_grows_as_the_number_of_pairs(what):
    sizes = np.array([of_chain(n, what).workspace(Shape(4))[0].size for n in (20, 40, 60, 80)])
    assert len(set(np.diff(sizes, 2))) == 1


# ---- memory ----------------------------------------------------------------------------------------------------------

LARGEST = 150e6  # bytes of a result, so that tests stay small: as many states as that holds, 4096 at most
LITTLE = 100_000  # bytes of Python's own objects


def peak(robot: rc.Robot, what: str, state: dict[str, np.ndarray], out: np.ndarray, threads: int = 1) -> int:
    """The most that is allocated at once, beside ``out``; NumPy reports to tracemalloc.

    The kernel is called: native entries keep the scratch of one thread for good.
    """
    reads = ASKED[what].quantity.reads
    given = {reads.get(name, name): state[name] for name in ASKED[what].inputs.split()}
    tracemalloc.start()
    try:
        with answered("loop"):
            way(robot, what).answer(given, out, threads)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.compiled
@every_matrix
def test_a_batch_takes_its_result_and_a_scratch_per_thread(what, monkeypatch):
    monkeypatch.setattr(kernel, "SERIAL_ROWS", 64)
    robot = rc.robots.chain(60, seed=6)
    shape = way(robot, what).recipe.shape
    q, v, a = states(robot, 8, seed=1)
    few = every_input(q, v, a, a)
    by_kernel(robot, what, few)  # compiles
    scratch = kernel_of(robot, what)._workspace(simd_shape(False).width)[0].nbytes
    count = min(4096, int(LARGEST / (8 * np.prod(shape))) // 8 * 8)
    state = {name: np.tile(x, (count // 8, 1)) for name, x in few.items()}
    out = np.empty((count + 3, *shape))
    assert scratch < out.nbytes / 20
    assert scratch <= peak(robot, what, state, out[:count]) <= scratch + LITTLE
    assert peak(robot, what, state, out[:count], threads=2) <= 2 * scratch + LITTLE
    longer = {name: np.concatenate([x, x[:3]]) for name, x in state.items()}
    block = simd_shape(False).width * (out[0].nbytes + sum(x[0].nbytes for x in longer.values()))
    assert peak(robot, what, longer, out) <= scratch + block + LITTLE


@pytest.mark.compiled
def test_public_call_into_a_given_array_allocates_no_more_than_a_scratch():
    robot = rc.robots.tree(60, seed=6)
    q = np.tile(states(robot, 8, seed=1)[0], (512, 1))
    out = np.empty((len(q), robot.nv, robot.nv))
    expected = robot.mass_matrix(q[:8])  # compiles
    scratch = sum(x.nbytes for x in kernel_of(robot, "mass_matrix")._workspace(simd_shape(False).width)[:1])
    tracemalloc.start()
    try:
        robot.mass_matrix(q, out=out)
        given = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        result = robot.mass_matrix(q)
        own = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert given <= scratch + LITTLE
    assert own <= result.nbytes + scratch + LITTLE
    np.testing.assert_array_equal(out, np.tile(expected, (512, 1, 1)))
    np.testing.assert_array_equal(result, out)
