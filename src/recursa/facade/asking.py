"""Quantities asked on any scalars, by name and with options: what export to C, counting and formulas share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from recursa.errors import ModelError, RecursaError, SingularHingeError, UntraceableError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.scalars import ScalarEvaluator, object_array
from recursa.model.model import Model
from recursa.quantities import Quantity, quantities
from recursa.sweeps.batching import Array


def quantity_named(name: str, wanted: str = "exported") -> Quantity:
    """The record of that name, if it can be asked on other scalars."""
    records = {one.name: one for one in quantities()}
    found = {key: one for key, one in records.items() if one.exported}
    if name in records and name not in found:
        raise RecursaError(
            f"{name} cannot be {wanted}: it is worked out for each state by NumPy, not by a plan that becomes code. "
            "Call it on the robot, or take the quantities that it is made of"
        )
    if name not in found:
        raise unknown_name(f"quantity that can be {wanted}", name, found)
    return found[name]


def exported() -> tuple[str, ...]:
    """The quantities that can be asked on other scalars."""
    return tuple(one.name for one in quantities() if one.exported)


@dataclass(frozen=True)
class ScalarQuestion:
    """A quantity, the arrays that it is given, and its other options."""

    model: Model
    quantity: Quantity
    inputs: tuple[str, ...]
    options: dict[str, Any]

    wanted: ClassVar[str] = "asked"
    """What is done with it, for errors."""

    @classmethod
    def of(cls, model: Model, quantity: str | Quantity, options: Mapping[str, Any]) -> Self:
        """Checked: the quantity exists, its options too, and none is missing."""
        record = quantity if isinstance(quantity, Quantity) else quantity_named(quantity, cls.wanted)
        given = {name: value for name, value in options.items() if value is not None}
        choices = (*record.optional, *record.options)
        for name, value in given.items():
            if name not in choices:
                raise unknown_name(f"option of {record.name}", name, choices)
            if name in record.optional and not isinstance(value, bool):
                raise RecursaError(f"{name}=True makes {name} an argument of the result; it cannot be given here")
        missing = [name for name in record.options if name not in {**record.defaults, **given}]
        if missing:
            raise RecursaError(f"{record.name} needs the option {missing[0]}=")
        inputs = (*record.inputs, *(name for name in record.optional if given.get(name)))
        return cls(model, record, inputs, {name: x for name, x in given.items() if name not in record.optional})

    def axes(self, name: str) -> tuple[int, ...]:
        """The shape of one of the inputs."""
        return self.quantity.kind(name).axes(self.model, 0)

    def sizes(self) -> dict[str, int]:
        """Numbers per input."""
        return {name: math.prod(self.axes(name)) for name in self.inputs}

    def ask(self, values: Mapping[str, Any], evaluator: Evaluator | None = None) -> Array:
        """The answer for flat inputs, as an array of scalars."""
        try:
            return self.asked(values, evaluator)
        except UntraceableError as error:
            raise self._refusal(str(error)) from None

    def asked(self, values: Mapping[str, Any], evaluator: Evaluator | None = None) -> Array:
        """The same; what cannot be written out in one piece raises UntraceableError."""
        arrays = {name: object_array(list(values[name])).reshape(self.axes(name)) for name in self.inputs}
        try:
            with np.errstate(all="ignore"):
                return (evaluator or ScalarEvaluator(self.model)).evaluate(self.quantity, arrays, self.options)
        except (SingularHingeError, ModelError) as error:
            raise self._refusal(str(error)) from None

    def _refusal(self, why: str) -> RecursaError:
        return RecursaError(f"robot '{self.model.name}': {self.quantity.name} cannot be {self.wanted}: {why}")
