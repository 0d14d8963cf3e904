"""Frozen records that C makes: the same as those that Python makes, the same errors, and they can be pickled."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from recursa.model.description import JointRecord, LinkRecord
from recursa.model.geometry import Geometry, Material
from recursa.model.model import Joint, Link
from recursa.model.quick import quickly_made

CLASSES = (LinkRecord, JointRecord, Geometry, Material, Joint, Link)


@pytest.mark.parametrize("cls", CLASSES)
def test_all_ways_to_make_one_agree(cls):
    names = [one.name for one in fields(cls)]
    values = [f"value of {name}" for name in names]
    made = cls(*values)
    assert type(made) is cls and [getattr(made, name) for name in names] == values
    assert made == cls(**dict(zip(names, values, strict=True)))
    assert made == cls(values[0], **dict(zip(names[1:], values[1:], strict=True)))
    by_python = object.__new__(cls)
    cls.__init__(by_python, *values)
    assert made == by_python and repr(made) == repr(by_python) and hash(made) == hash(by_python)
    assert replace(made, **{names[-1]: 7}) == cls(*values[:-1], 7)
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made and type(other) is cls


def test_what_is_not_given_has_its_default():
    made = LinkRecord("arm", line=3)
    assert (made.mass, made.geometry, made.about_origin, made.line) == (0.0, (), None, 3)
    assert JointRecord("j", "fixed", "a", child="b").limits is None


@pytest.mark.parametrize("cls", CLASSES)
def test_wrong_fields_are_errors(cls):
    first = fields(cls)[0].name
    values = [1.0] * len(fields(cls))
    with pytest.raises(TypeError, match="positional arguments but"):
        cls(*values, 1.0)
    with pytest.raises(TypeError, match="multiple values"):
        cls(*values, **{first: 1.0})
    with pytest.raises(TypeError, match="unexpected keyword"):
        cls(*values[:-1], other=1.0)
    if cls is not Material:
        with pytest.raises(TypeError, match="missing"):
            cls()
    with pytest.raises(FrozenInstanceError):
        setattr(cls(*values), first, 2.0)
    with pytest.raises((AttributeError, TypeError)):
        cls(*values).something_else = 1


def test_names_that_are_equal_and_not_the_same_object():
    name = "".join(["na", "me"])
    assert Link(**{name: "a", "body": 0, "offset": None, "frame": False}).name == "a"


def test_cycles_are_collected():
    class Watched(list):
        pass

    holder = Watched()
    holder.append(Link("a", 0, holder, False))  # type: ignore[arg-type]
    alive = weakref.ref(holder)
    del holder
    gc.collect()
    assert alive() is None


def test_only_records_with_slots_are_made_quick():
    quick_record = pytest.importorskip("recursa._tuples").quick_record

    @quickly_made
    @dataclass(frozen=True, slots=True)
    class Pair:
        one: int
        other: int = field(default=2)

    class Derived(Pair):
        pass

    assert (Pair(1).other, Pair(1, other=3).other, type(Derived(1)), Derived(1).other) == (2, 3, Derived, 2)
    for wrong in (Pair, Derived, tuple, int, dataclass(type("Open", (), {"__annotations__": {"one": int}}))):
        with pytest.raises(TypeError, match="slots"):
            quick_record(wrong, ("one",), ())
    for names, defaults in ((("two",), ()), (("one",), (1, 2)), ((), ()), (("__slots__",), ())):
        with pytest.raises(TypeError, match="slots"):
            quick_record(type("Other", (), {"__slots__": ("one",)}), names, defaults)
