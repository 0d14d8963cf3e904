"""Named tuples that C makes: the same as those that Python makes, and the same errors."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SymMat3, Vec3

CLASSES = (Vec3, SymMat3, Rotation, Quaternion, Transform)


@pytest.mark.parametrize("cls", CLASSES)
def test_all_ways_to_make_one_agree(cls):
    numbers = [float(k) for k in range(len(cls._fields))]
    made = cls(*numbers)
    assert type(made) is cls and made == cls._make(numbers) == cls(**dict(zip(cls._fields, numbers, strict=True)))
    assert made == cls(numbers[0], **dict(zip(cls._fields[1:], numbers[1:], strict=True)))
    assert made._replace(**{cls._fields[0]: 7.0})[0] == 7.0


@pytest.mark.parametrize("cls", CLASSES)
def test_wrong_numbers_of_fields_are_errors(cls):
    numbers = [1.0] * len(cls._fields)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        cls(*numbers[1:])
    with pytest.raises(TypeError, match="positional arguments but"):
        cls(*numbers, 1.0)
    with pytest.raises(TypeError, match="multiple values"):
        cls(*numbers, **{cls._fields[0]: 1.0})
    with pytest.raises(TypeError, match="unexpected keyword"):
        cls(*numbers, other=1.0)


def test_a_class_derived_from_one_makes_its_own_instances():
    class Named(Vec3):
        pass

    assert type(Named(1.0, 2.0, 3.0)) is Named


def test_only_named_tuples_are_made_quick():
    quick = pytest.importorskip("recursa._tuples").quick

    class Pair(NamedTuple):
        one: float
        other: float = 2.0

    quick(Pair)
    assert (Pair(1.0), Pair(1.0, 3.0)) == ((1.0, 2.0), (1.0, 3.0))
    for wrong in (tuple, int, 3, type("Kept", (Vec3,), {}), type(IDENTITY_TRANSFORM.rotation).identity):
        with pytest.raises(TypeError, match=r"namedtuple"):
            quick(wrong)
