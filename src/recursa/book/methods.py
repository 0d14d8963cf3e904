"""The book's methods by name: how each is made, and what it cannot do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from recursa.book.augmented import augmented_plan
from recursa.book.closed_forms import closed_form_plan, uicker_kahn_plan, waters_plan
from recursa.book.kane import kane_plan
from recursa.book.lagrange import hollerbach_3x3_plan, hollerbach_4x4_plan
from recursa.book.mass_matrix import AUGMENTED, WALKER_ORIN, require_mass_outward
from recursa.book.newton_euler import luh_walker_paul_plan, tensor_plan
from recursa.book.on_axes import require_axes
from recursa.book.six_vectors import featherstone_plan, rodriguez_plan
from recursa.dynamics.losses import Losses
from recursa.errors import NoSweepError
from recursa.model.model import Model
from recursa.sweeps import Plan

INVERSE: dict[str, Callable[..., Plan]] = {
    "augmented": partial(augmented_plan, accelerating=True),
    "tensor": tensor_plan,
    "luh-walker-paul": luh_walker_paul_plan,
    "featherstone": featherstone_plan,
    "rodriguez": rodriguez_plan,
    "kane": kane_plan,
    "hollerbach-4x4": hollerbach_4x4_plan,
    "hollerbach-3x3": hollerbach_3x3_plan,
    "waters": waters_plan,
    "uicker-kahn": uicker_kahn_plan,
    "closed-form": closed_form_plan,
}
"""Inverse dynamics: plans for models with their frames on the joint axes; ``losses=`` adds damping and friction.

``springs=`` adds springs."""

MASS: dict[str, Plan] = {"walker-orin": WALKER_ORIN, "augmented": AUGMENTED}
"""The mass matrix, likewise."""

_TURNING_ONLY = ("closed-form",)


def inverse_method(moved: Model, method: str, *, losses: Losses, given: Sequence[str] = ()) -> Plan:
    """The plan of a method, if it suits the model; of the optional arguments ``given`` all of them take wrenches."""
    turning = method in _TURNING_ONLY
    _take_no_more(method, [name for name in given if name != "wrenches"], "newton-euler")
    require_axes(moved, method, instead="newton-euler", turning=turning)
    return INVERSE[method](wrenches="wrenches" in given, losses=losses, springs=moved.has_springs)


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
