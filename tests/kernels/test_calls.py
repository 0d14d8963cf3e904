"""Calls of compiled kernels in every form: layouts, batch sizes, bad numbers, wrong shapes, the caller's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import recursa as rc
from layouts import LAYOUTS, unaligned
from numeric import same_bits
from questions import ONE_OF_EVERY_SORT, QUESTIONS, arguments

pytestmark = pytest.mark.compiled

ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "stanford": rc.robots.stanford,
    "free_flyer": lambda: rc.robots.free_flyer(2).with_gravity((0.3, -0.2, -9.8)),  # has a quaternion
}
every_robot = pytest.mark.parametrize("name", ROBOTS)
every_question = pytest.mark.parametrize("what", ONE_OF_EVERY_SORT)


@cache
def make(name: str) -> rc.Robot:
    return ROBOTS[name]()


def ask(name: str, what: str) -> tuple[Callable[..., np.ndarray], Callable[[int], list[np.ndarray]]]:
    """A method, and a source of rows of arguments for it; the kernel is compiled and its native entry made."""
    robot = make(name)
    question = QUESTIONS[what]
    method = question.method(robot)

    def rows(count: int) -> list[np.ndarray]:
        values = arguments(robot, count)
        return [values[name] for name in question.names]

    method(*(x[0] for x in rows(1)))
    return method, rows


@pytest.mark.parametrize("layout", LAYOUTS)
@every_question
@every_robot
def test_layouts_give_the_bits_of_plain_arrays(name: str, what: str, layout: str) -> None:
    method, rows = ask(name, what)
    plain = rows(9)
    expected, change = method(*plain), LAYOUTS[layout]
    changed = [change(x) for x in plain]
    same_bits(method(*changed), expected, "a batch")
    for row in (0, 4, 8):
        same_bits(method(*(x[row] for x in changed)), expected[row], f"row {row}")
        same_bits(method(*(change(x[row : row + 1])[0] for x in plain)), expected[row], f"row {row}, changed alone")
    for before, after in zip(plain, changed, strict=True):
        assert np.array_equal(before, after)  # nothing was written into


@every_question
def test_whole_numbers_give_the_bits_of_floats(what: str) -> None:
    robot = make("stanford")
    question = QUESTIONS[what]
    method = question.method(robot)
    whole = np.random.default_rng(1).integers(-3, 4, size=(len(question.names), 9, robot.nv))
    expected = method(*whole.astype(float))
    for kind in (np.int64, np.int8, ">i4", np.int32):
        same_bits(method(*whole.astype(kind)), expected, f"{kind}")
        same_bits(method(*whole.astype(kind)[:, 5]), expected[5], f"{kind}, one state")
    same_bits(method(*whole.tolist()), expected, "lists")
    same_bits(method(*whole[:, 5].tolist()), expected[5], "lists, one state")


@every_question
@every_robot
def test_batches_of_any_size_match_single_states(name: str, what: str) -> None:
    method, rows = ask(name, what)
    many = rows(37)
    alone = np.stack([method(*(x[k] for x in many)) for k in range(37)])
    for count in (*range(1, 10), 16, 17, 37):
        same_bits(method(*(x[:count] for x in many)), alone[:count], f"{count} states")
    long = [np.tile(x, (271, 1))[:10_001] for x in many]
    expected = np.tile(alone, (271, *[1] * (alone.ndim - 1)))[:10_001]
    for threads in (1, 2, 3):
        same_bits(method(*long, threads=threads), expected, f"10001 states on {threads} threads")


@every_question
@every_robot
def test_empty_batches_give_empty_results(name: str, what: str) -> None:
    method, rows = ask(name, what)
    one = rows(1)
    inner = method(*(x[0] for x in one)).shape
    for shape in ((0,), (0, 3), (2, 0)):
        found = method(*(np.zeros((*shape, x.shape[-1])) for x in one))
        assert (found.shape, found.dtype) == (shape + inner, np.float64)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@every_question
@every_robot
def test_bad_numbers_leave_other_rows_their_bits(name: str, what: str, bad: float) -> None:
    """In a whole block of lanes, at its edge and in the tail; nothing is raised or warned of."""
    count = 11
    method, rows = ask(name, what)
    good = rows(count)
    expected = method(*good)
    for number, x in enumerate(good):
        for row in (1, 3, 4, count - 1):
            spoilt = [y.copy() for y in good]
            spoilt[number][row, x.shape[-1] - 1] = bad  # the last joint's: no part of a quaternion
            found = method(*spoilt)
            others = np.arange(count) != row
            same_bits(found[others], expected[others], f"argument {number}, row {row}")
            same_bits(method(*(y[row] for y in spoilt)), found[row], "the row alone")
            if QUESTIONS[what].name not in ("mass_matrix_inverse", "mass_matrix"):  # may not depend on the last joint
                assert not np.isfinite(found[row]).all(), f"argument {number}, row {row}"


@every_question
@every_robot
def test_wrong_shapes_are_shape_errors(name: str, what: str) -> None:
    method, rows = ask(name, what)
    good = rows(3)
    for number, x in enumerate(good):
        size = x.shape[-1]
        for shape in ((), (size + 1,), (size - 1,), (3, size + 1), (size, 2), (0,), (3, 0)):
            given: list[Any] = [y[0] for y in good]
            given[number] = np.zeros(shape)
            with pytest.raises(rc.ShapeError, match=rf"{('q', 'v', '(a|tau)')[number]} has shape"):
                method(*given)
    if len(good) > 1:
        with pytest.raises(rc.ShapeError, match="do not fit together"):
            method(good[0], *(x[:2] for x in good[1:]))


@every_question
@every_robot
def test_arrays_of_the_caller_get_the_bits_of_new_ones(name: str, what: str) -> None:
    method, rows = ask(name, what)
    for count in (None, 1, 4, 11):
        given = rows(1 if count is None else count)
        if count is None:
            given = [x[0] for x in given]
        expected = method(*given)
        holder = np.full((*expected.shape, 2), np.nan)
        for out in (
            np.empty(expected.shape),
            unaligned(expected + 1.0),
            np.empty(expected.shape, ">f8"),
            holder[..., 0],
        ):
            assert method(*given, out=out) is out
            same_bits(out.astype(float), expected, f"{count} states")
        assert np.isnan(holder[..., 1]).all()


@pytest.mark.parametrize("count", [1, 4, 11, 9001])
def test_results_into_an_argument_get_the_bits_of_new_ones(count: int) -> None:
    robot = make("stanford")
    few = arguments(robot, min(count, 50))
    for what in ("inverse_dynamics", "forward_dynamics", "bias_forces"):
        question = QUESTIONS[f"robot.{what}()"]
        method = question.method(robot)
        values = {name: np.resize(few[name], (count, robot.nv)) for name in question.names}
        expected = method(*values.values())
        for number in range(len(values)):
            for threads in (1, 2):
                given = [x.copy() for x in values.values()]
                same_bits(method(*given, out=given[number], threads=threads), expected, f"into argument {number}")


@pytest.mark.parametrize("count", [9, 9001])
def test_results_into_the_next_row_get_the_bits_of_new_ones(count: int) -> None:
    """As in ``integrate(path[:-1], step, out=path[1:])``."""
    robot = make("stanford")
    values = arguments(robot, 9)
    q, v, a = (np.resize(values[name], (count, robot.nv)) for name in "qva")
    path = np.vstack([q, q[:1]])
    expected = robot.inverse_dynamics(q, v, a)
    same_bits(robot.inverse_dynamics(path[:-1], v, a, out=path[1:]), expected)
