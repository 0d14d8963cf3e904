"""The interpolants of a run with ``dense=True`` as arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate._ivp.radau import RadauDenseOutput
from scipy.integrate._ivp.rk import Dop853DenseOutput, RkDenseOutput

from recursa.sweeps.batching import Array

Piece = tuple[float, float, Any]
NAMES = ("span", "start", "coefficients")
_CLASSES = {"dop853": (Dop853DenseOutput, "F"), "rk45": (RkDenseOutput, "Q"), "radau": (RadauDenseOutput, "Q")}
_ORDERS = {"dop853": 7, "rk45": 4, "radau": 3}  # coefficients per entry of the state


def as_arrays(integrator: str, pieces: Sequence[Piece]) -> dict[str, Array]:
    """``span`` (m, 4): where a piece holds, and the step it comes from; ``start`` (m, n): the state there;
    ``coefficients`` (m, ...): those of SciPy's polynomials. Empty without pieces.
    """
    if not pieces:
        return {}
    name = _CLASSES[integrator][1]
    return {
        "span": np.array([(start, end, part.t_old, part.t) for start, end, part in pieces], dtype=float),
        "start": np.stack([part.y_old for _, _, part in pieces]),
        "coefficients": np.stack([getattr(part, name) for _, _, part in pieces]),
    }


def shapes(integrator: str, pieces: int, n: int) -> dict[str, tuple[int, ...]]:
    """What the arrays of so many pieces look like, for a state of n numbers."""
    order = _ORDERS[integrator]
    by_order = (order, n) if integrator == "dop853" else (n, order)
    return {"span": (pieces, 4), "start": (pieces, n), "coefficients": (pieces, *by_order)}


def from_arrays(integrator: str, arrays: dict[str, Array]) -> tuple[Piece, ...]:
    """The pieces again; they give the same values to the bit."""
    if not arrays:
        return ()
    make = _CLASSES[integrator][0]
    rows = zip(arrays["span"].tolist(), arrays["start"], arrays["coefficients"], strict=True)
    return tuple((span[0], span[1], make(span[2], span[3], y, own)) for span, y, own in rows)
