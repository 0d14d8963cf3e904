"""Second derivatives of inverse dynamics, contracted: the sums of ``second_derivatives.py`` in root axes."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.dynamics.gathering import matrices_of_pairs
from recursa.dynamics.second_derivatives import (
    BLOCKS,
    PAIR_EQUATION,
    SECOND_BUFFERS,
    SECOND_REACHES,
    SYMMETRIC,
    VIRTUAL,
    VIRTUAL_OUTWARD,
    VIRTUAL_RATES,
    second_pair,
)
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.derivative_pairs import AT_BODIES, DERIVATIVE_BUFFERS, SUMS
from recursa.walks.jacobians import ACCELERATING, BUFFERS, in_root

SECOND_DERIVATIVES_PAIRS = Plan(
    "inverse_dynamics_second_derivatives by walks",
    (*BUFFERS, *DERIVATIVE_BUFFERS, *SECOND_BUFFERS, Buffer("blocks", ())),
    (
        base_to_tip(*ACCELERATING, *AT_BODIES, in_root(VIRTUAL), in_root(VIRTUAL_RATES)),
        tip_to_base(*SUMS, *map(in_root, VIRTUAL_OUTWARD), in_root(SECOND_REACHES, S="rates")),
        from_each_inward(Step(second_pair, ("rates@here", "w@here", "reach@start"), ("blocks",), PAIR_EQUATION)),
    ),
)


def second_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All blocks, (4, nv, nv) row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("blocks", [])
    return matrices_of_pairs(model, own, pairs, [name in SYMMETRIC for name in BLOCKS])
