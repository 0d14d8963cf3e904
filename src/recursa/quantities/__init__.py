"""Quantities as data: what can be asked of a robot, and how the answer is computed."""

from __future__ import annotations

from recursa.quantities.quantity import (
    Cheaper,
    Composed,
    Names,
    Quantity,
    Recipe,
    Refusal,
    Subject,
    find,
    quantities,
    quantity,
)

__all__ = ["Cheaper", "Composed", "Names", "Quantity", "Recipe", "Refusal", "Subject", "find", "quantities", "quantity"]
