"""The Coriolis matrix: the sums of ``coriolis.py`` in root axes, and two entries a pair."""

from __future__ import annotations

from recursa.dynamics.coriolis import COMPOSITE_CORIOLIS, CORIOLIS_BUFFERS, CORIOLIS_COLUMNS, TURNED, coriolis_pair
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import BUFFERS, COMPOSITE, MOVING, in_root

CORIOLIS_MATRIX_PAIRS = Plan(
    "coriolis_matrix by walks",
    (*BUFFERS, *CORIOLIS_BUFFERS, Buffer("entries", ())),
    (
        base_to_tip(*MOVING, in_root(TURNED)),
        tip_to_base(COMPOSITE, in_root(COMPOSITE_CORIOLIS), in_root(CORIOLIS_COLUMNS)),
        from_each_inward(
            Step(coriolis_pair, ("S@here", "dS@here", "reach@start"), ("entries",), "C(j,i) and C(i,j), j inward of i")
        ),
    ),
)
