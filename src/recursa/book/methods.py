"""The book's methods by name: how each is made, and what it cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recursa.book.augmented_recursion import ALGORITHM_5_7
from recursa.book.closed_forms import CLOSED_FORM, UICKER_KAHN, WATERS
from recursa.book.inertia_matrix import AUGMENTED, WALKER_ORIN, require_mass_outward
from recursa.book.lagrange import HOLLERBACH_3X3, HOLLERBACH_4X4, KANE
from recursa.book.newton_euler import LUH_WALKER_PAUL, TENSOR
from recursa.book.on_axes import completed, require_axes
from recursa.book.six_vectors import FEATHERSTONE, RODRIGUEZ
from recursa.dynamics.wrenches import Losses
from recursa.errors import NoSweepError
from recursa.model.model import Model
from recursa.sweeps import Plan

INVERSE: dict[str, Plan] = {
    plan.name: plan
    for plan in (
        ALGORITHM_5_7,
        TENSOR,
        LUH_WALKER_PAUL,
        FEATHERSTONE,
        RODRIGUEZ,
        KANE,
        HOLLERBACH_4X4,
        HOLLERBACH_3X3,
        WATERS,
        UICKER_KAHN,
        CLOSED_FORM,
    )
}
"""Inverse dynamics, with wrenches on links: plans for models with their frames on the joint axes."""

MASS: dict[str, Plan] = {"walker-orin": WALKER_ORIN, "augmented": AUGMENTED}
"""The mass matrix, likewise."""

_TURNING_ONLY = ("closed-form",)


def inverse_method(moved: Model, method: str, *, losses: Losses, given: Sequence[str] = ()) -> Plan:
    """The plan of a method, if it suits the model; of the optional arguments ``given`` all of them take wrenches."""
    turning = method in _TURNING_ONLY
    _take_no_more(method, [name for name in given if name != "wrenches"], "newton-euler")
    require_axes(moved, method, instead="newton-euler", turning=turning)
    return _completed(method, wrenches="wrenches" in given, losses=losses, springs=moved.has_springs)


@cache
def _completed(method: str, *, wrenches: bool, losses: Losses, springs: bool) -> Plan:
    return completed(INVERSE[method], wrenches=wrenches, losses=losses, springs=springs)


def mass_method(moved: Model, method: str, given: Sequence[str] = ()) -> Plan:
    """The plan of a method, if it suits the model."""
    _take_no_more(method, given, "composite")
    require_axes(moved, method, instead="composite")
    if method == "walker-orin":
        require_mass_outward(moved)
    return MASS[method]


def _take_no_more(method: str, given: Sequence[str], instead: str) -> None:
    if given:
        raise NoSweepError(f"method {method!r} does not take {given[0]}=. Use method={instead!r}")
