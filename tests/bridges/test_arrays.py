"""Arrays of other libraries come back as what they were; array-api-strict, the standard and nothing else, stands in."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import recursa as rc
from questions import ONE_OF_EVERY_SORT, QUESTIONS, Question, arguments, each, parts
from recursa.evaluation.answering import foreign

xp = pytest.importorskip("array_api_strict")

NUMPY = ("robot.factorization()", "robot.base_parameters()", "diagonal.is_flat(samples=2)")  # objects and lists
ASKED = [
    one for one in QUESTIONS.values() if one.home in ("robot", "diagonal", "unnormalized") and one.text not in NUMPY
]


def theirs(x: Any) -> Any:
    """An array as one of the other library."""
    return xp.asarray(x) if isinstance(x, np.ndarray) else x


def arrays_of(answer: Any) -> list[Any]:
    """All arrays of an answer."""
    if is_dataclass(answer):
        return arrays_of([getattr(answer, item.name) for item in fields(answer) if item.name[0] != "_"])
    if isinstance(answer, tuple | list):
        return [array for part in answer for array in arrays_of(part)]
    return [answer] if hasattr(answer, "shape") else []


def test_every_method_gives_back_what_it_was_given() -> None:
    """With the same bits, over all questions of a robot."""
    robot = rc.robots.free_flyer(2)
    ours = arguments(robot, 3)
    other, asked = each(ours, theirs), 0
    for question in ASKED:
        expected = question.ask(robot, ours)
        if isinstance(expected, type):
            continue
        found = question.method(robot)(*(other[name] for name in question.names))
        assert arrays_of(found), question.text
        assert all(isinstance(x, xp.empty(0).__class__) for x in arrays_of(found)), question.text
        for name, numbers in parts(found).items():
            wanted = expected[name] if name in expected else expected["array"]  # which have a rank in NumPy alone
            np.testing.assert_array_equal(numbers, wanted, err_msg=question.text)
        asked += 1
    assert asked > 250


@pytest.mark.parametrize("name", ONE_OF_EVERY_SORT)
def test_single_states_after_native_entries_are_learned(name: str) -> None:
    question: Question = QUESTIONS[name]
    if question.home != "robot" or name in NUMPY:
        pytest.skip("no method of a robot")
    robot = rc.robots.puma560()
    ours = each(arguments(robot, 1), lambda x: x[0])
    expected = [question.ask(robot, ours) for _ in range(3)][-1]
    found = question.method(robot)(*(theirs(ours[name]) for name in question.names))
    for part, numbers in parts(found).items():
        np.testing.assert_array_equal(numbers, expected[part])
    assert all(foreign([x]) is not None for x in arrays_of(found))


def test_types_of_numbers() -> None:
    """float32 where all are; float64 where one is, or where they are whole numbers."""
    robot = rc.robots.planar(2)
    single, double, whole = (xp.zeros(2, dtype=kind) for kind in (xp.float32, xp.float64, xp.int64))
    assert robot.mass_matrix(single).dtype == xp.float32
    assert robot.mass_matrix(whole).dtype == xp.float64
    assert robot.forward_dynamics(single, single, double).dtype == xp.float64
    assert robot.forward_dynamics(double, np.zeros(2), [0.0, 0.0]).dtype == xp.float64  # ours and lists go along
    assert foreign([robot.mass_matrix({"joint1": xp.asarray(0.3)})]) is not None


def test_devices_are_kept() -> None:
    q = xp.zeros((3, 2), device=xp.Device("device1"))
    assert rc.robots.planar(2).gravity_forces(q).device == xp.Device("device1")


def test_what_cannot_be_read_or_mixed_is_refused() -> None:
    class Traced:
        """As an array inside a function that is being differentiated."""

        __array_namespace__ = staticmethod(lambda: xp)

        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("it requires a gradient")

        __array__ = __dlpack__

    class Homeless(Traced):
        __array_namespace__ = staticmethod(lambda: object())

    robot = rc.robots.planar(2)
    with pytest.raises(rc.StateError, match=r"requires a gradient.*detach\(\)"):
        robot.mass_matrix(Traced())
    with pytest.raises(rc.StateError, match="no from_dlpack"):
        robot.mass_matrix(Homeless())
    with pytest.raises(rc.StateError, match="out= takes NumPy arrays"):
        robot.mass_matrix(xp.zeros(2), out=np.empty((2, 2)))
    with pytest.raises(rc.ShapeError, match="q has shape"):
        robot.mass_matrix(xp.zeros(3))
