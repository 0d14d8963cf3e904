"""Arithmetic with constants in C: the same bits as in Python, for numbers of every kind."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest

from recursa.spatial import constants
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, SymMat3, Vec3

native = pytest.importorskip("recursa._tuples")

SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.0 - 1e-16, 1e-16, -1e-16, 5e-324, 1e300, -1e300, math.inf, -math.inf, math.nan]


def bits(value: Any) -> Any:
    """A value with the bits of its numbers; all that are no numbers are alike."""
    if isinstance(value, tuple):
        return type(value), tuple(bits(one) for one in value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("d", value)
    return value


def numbers(rng: np.random.Generator, count: int) -> list[float]:
    """Ordinary numbers, with some special ones among them in every other case."""
    found = rng.normal(size=count).tolist()
    if rng.integers(2):
        for place in rng.integers(count, size=rng.integers(count)):
            found[place] = SPECIAL[rng.integers(len(SPECIAL))]
    return found


def arguments(name: str, rng: np.random.Generator) -> tuple[Any, ...]:
    rotation = constants.IN_PYTHON["rotation_of"](rng.normal(size=4).tolist())
    rotations = [IDENTITY, rotation, Rotation(*numbers(rng, 9))]
    tensor = SymMat3(*numbers(rng, 6))
    if rng.integers(2):  # one that a body can have
        points = rng.normal(size=(5, 3))
        full = np.trace(points.T @ points) * np.eye(3) - points.T @ points
        tensor = SymMat3(*(float(full[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))))
    vector, one = Vec3(*numbers(rng, 3)), rotations[rng.integers(3)]
    poses = [IDENTITY_TRANSFORM, Transform(one, vector), Transform(IDENTITY, Vec3(*numbers(rng, 3)))]
    mass = abs(numbers(rng, 1)[0])
    given = {
        "snapped": (one,),
        "rotation_of": (numbers(rng, 4),),
        "placed": (poses[rng.integers(3)], poses[rng.integers(3)]),
        "unit_axis": (vector,),
        "turned": (one, tensor),
        "rigid_inertia": (mass, vector, tensor),
        "least_moment": (mass, vector, tensor, 30.0, 1e-3, 100.0),
        "finite": (vector, (one, None), numbers(rng, 1)[0]),
        "not_negative": ((mass, (mass, None)), numbers(rng, 1)[0]),
    }
    return given[name]


@pytest.mark.parametrize("name", constants.IN_PYTHON)
def test_the_same_bits_as_in_python(name: str) -> None:
    rng = np.random.default_rng(7)
    in_python, in_c = constants.IN_PYTHON[name], getattr(native, name)
    assert getattr(constants, name) is in_c
    different = set()
    for _ in range(2000):
        given = arguments(name, rng)
        try:
            wanted = in_python(*given)
        except ZeroDivisionError:  # a quaternion whose square is too small to be a number
            with pytest.raises(ZeroDivisionError):
                in_c(*given)
            continue
        found = in_c(*given)
        assert bits(found) == bits(wanted), given
        different.add(repr(found))
    assert len(different) > (1 if isinstance(found, bool) else 100)


def test_what_stays_as_it_is_is_the_same_object() -> None:
    turn = constants.rotation_of([0.9, 0.1, 0.2, 0.3])
    assert constants.snapped(turn) is turn and constants.snapped(IDENTITY) is IDENTITY
    assert constants.snapped(Rotation(1.0, -0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)) is IDENTITY
    assert constants.rotation_of([-1.0, 0.0, 0.0, 0.0]) is IDENTITY
    assert constants.placed(IDENTITY_TRANSFORM, IDENTITY_TRANSFORM) is IDENTITY_TRANSFORM
    assert constants.unit_axis(Vec3(0.0, 0.0, 0.0)) is X_AXIS


@pytest.mark.parametrize("name", [*constants.IN_PYTHON, "know"])
def test_other_arguments_are_errors(name: str) -> None:
    function = getattr(native, name)
    for given in ((), (1,), ("x",), ([],), ([1.0] * 9,), ((1.0,),), (object(), object()), (IDENTITY,) * 9):
        if name in ("finite", "not_negative") and all(isinstance(one, tuple | list) for one in given):
            continue  # as many as one likes
        if name in ("finite", "not_negative") and given == (1,):
            continue
        if name == "snapped" and given == (IDENTITY,):
            continue
        with pytest.raises(TypeError):
            function(*given)


def test_lists_that_change_while_they_are_read() -> None:
    quaternion: list[Any] = [1.0, 0.5, 0.0, 0.0]

    class Shortening(float):
        def __float__(self) -> float:
            quaternion.clear()
            return 1.0

    class Other:
        def __float__(self) -> float:
            quaternion.clear()
            return 1.0

    quaternion[1] = Other()
    with pytest.raises(TypeError, match="changed"):
        native.rotation_of(quaternion)


def test_tuples_without_bottom() -> None:
    inside: Any = 1.0
    for _ in range(100):
        inside = (inside,)
    assert native.finite(inside) is False  # nested deeper than anything of ours
