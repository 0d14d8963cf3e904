"""Second derivatives of inverse dynamics as quantities: contracted, of every torque, along a direction."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from recursa.dynamics.parts import in_parts
from recursa.dynamics.second_derivatives import BLOCKS, COVECTOR, SECOND_CUT
from recursa.dynamics.second_tangent import DIRECTION, SECOND_TANGENT, second_tangent_entries
from recursa.kernels.dispatch import Columns, KernelStore
from recursa.model.moving import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.sweeps.batching import Array, Batch


@dataclass(frozen=True)
class _Rows(Columns):
    """The blocks row by row, as products with unit directions: the way for robots too large for straight-line code.

    A direction along q gives a row each of qq, qv and qa; one along v a row of vv.
    """

    def fill(self, store: KernelStore, key: Hashable, batch: Batch, flat: Array, workers: int) -> bool:
        """Fill rows (B, 4 nv nv); False if there is no kernel."""
        nv = self.count
        sizes = {name: rows.shape[1] for name, rows in batch.rows.items()} | dict.fromkeys(DIRECTION, nv)
        kernel = store.kernel(self.plan, (key, "rows"), sizes, self.gather, single=batch.dtype == np.float32)
        if kernel is None:
            return False
        blocks = flat.reshape(batch.size, len(BLOCKS), nv, nv)
        at_once = max(1, _ROWS_AT_ONCE // nv)
        for start in range(0, batch.size, at_once):
            some = slice(start, min(start + at_once, batch.size))
            states = some.stop - some.start
            rows = {name: np.repeat(values[some], nv, axis=0) for name, values in batch.rows.items()}
            unit = np.tile(np.eye(nv, dtype=batch.dtype), (states, 1))
            made = np.empty((states * nv, 3 * nv), batch.dtype)
            for along, parts in ((0, ((0, 0), (1, 1), (3, 2))), (1, ((2, 1),))):
                rows |= {name: unit if place == along else np.zeros_like(unit) for place, name in enumerate(DIRECTION)}
                kernel(rows, made, workers)
                for block, part in parts:
                    blocks[some, block] = made.reshape(states, nv, 3, nv)[:, :, part]
        return True


_ROWS_AT_ONCE = 8192


def _second_derivatives(of: Subject, given: Names) -> Recipe | Composed:
    """The blocks of one Hessian, (4, nv, nv), or of every torque's, (4, nv, nv, nv)."""
    if "contract" not in given:
        return Composed(_of_each_torque)
    model = of.model
    rows = _Rows(SECOND_TANGENT, partial(second_tangent_entries, model), "joint:dq", model.nv)
    return Recipe(
        SECOND_CUT.plan,
        partial(SECOND_CUT.matrices, model),
        (len(BLOCKS), model.nv, model.nv),
        MayMove.INERTIAS,
        otherwise=in_parts(SECOND_CUT, of, rows),
    )


def _of_each_torque(others: Any, **state: Any) -> Array:
    """Contractions with unit vectors; the blocks first."""
    return np.swapaxes(others(INVERSE_DYNAMICS_SECOND_DERIVATIVES, **others.for_each_torque(**state)), -4, -3)


def _along(of: Subject, given: Names) -> Recipe:
    """One Hessian times a direction, (3, nv)."""
    model = of.model
    return Recipe(SECOND_TANGENT, partial(second_tangent_entries, model), (3, model.nv), MayMove.INERTIAS)


def _each_along(of: Subject, given: Names) -> Composed:
    """Every torque's, (3, nv, nv)."""
    return Composed(_of_each_torque_along)


def _of_each_torque_along(others: Any, **state_and_direction: Any) -> Array:
    arguments = others.for_each_torque(**state_and_direction)
    made = others(SECOND_DERIVATIVES_ALONG, **{name: arguments[name] for name in SECOND_DERIVATIVES_ALONG.inputs})
    return np.swapaxes(made, -3, -2)


INVERSE_DYNAMICS_SECOND_DERIVATIVES = Quantity(
    "inverse_dynamics_second_derivatives",
    ("q", "v", "a"),
    _second_derivatives,
    "of contract* tau: by q and q, q and v, v and v, q and a; places as in v",
    optional=("contract",),
    reads={"contract": COVECTOR},
)
SECOND_DERIVATIVES_ALONG = Quantity(
    "inverse_dynamics_second_derivatives.along",
    ("q", "v", "a", "contract", "dq", "dv", "da"),
    _along,
    "of contract* tau: what the direction makes of its derivatives by q, by v and by a; places as in v",
    reads={"contract": COVECTOR, "dq": "joint:dq", "dv": "joint:dv", "da": "joint:da"},
)
EACH_SECOND_DERIVATIVE_ALONG = Quantity(
    "inverse_dynamics_second_derivatives.each_along",
    ("q", "v", "a", "dq", "dv", "da"),
    _each_along,
    "what the direction makes of the derivatives of tau by q, by v and by a; places as in v",
)
