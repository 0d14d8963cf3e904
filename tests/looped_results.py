"""What kernels that loop over bodies are to make of a plan: its entries, columns of unit vectors, or products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recursa.kernels.loop import Looped
from recursa.model.model import Model
from recursa.sweeps import run


def looped_result(what: Looped, model: Model, inputs: Mapping[str, Any]) -> np.ndarray:
    """The numbers of the result, in C order, the plan being run step by step and NumPy doing the rest."""

    def entries(more: Mapping[str, Any]) -> np.ndarray:
        return np.array(list(what.gather(run(what.plan, model, {**inputs, **more}))))

    if what.unit is not None:
        units = np.eye(what.unit.count).tolist()
        return np.stack([entries({what.unit.name: unit}) for unit in units], axis=-1).ravel()
    if what.product is None:
        return entries({})
    n = what.product.size
    first, *others = entries({}).reshape(1 + what.product.factors, n, n)
    return np.stack([*(-first @ other for other in others), first]).ravel()
