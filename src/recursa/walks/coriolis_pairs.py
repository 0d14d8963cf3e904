"""The Coriolis matrix: the sums of ``coriolis.py`` in root axes, and two entries a pair."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.dynamics import reference
from recursa.dynamics.coriolis import COMPOSITE_CORIOLIS, CORIOLIS_BUFFERS, CORIOLIS_COLUMNS, TURNED, coriolis_pair
from recursa.dynamics.gathering import dots
from recursa.dynamics.inverse import STATIC
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.regressor import PARAMETER_FORCES, RESTING_FORCES, parameter_matrix
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.jacobians import BUFFERS, COLUMNS, COMPOSITE, MOVING, PLACE, Forces, in_root

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


# ---- the regressor: forces per unit of each parameter of a body in root axes, along every joint inward ---------------


def placed_forces(place: Transform, forces: Forces) -> Forces:
    """Forces in link axes, in root axes."""
    return tuple(map(place.force, forces))


_NAMES = {buffer.name for buffer in reference.REFERENCE_BUFFERS}
_PLACED = Step(placed_forces, ("O", "F"), ("F",), "f: from link to root axes")


def _regressor_pairs(name: str, *outward: Step) -> Plan:
    own = Step(dots, ("S", "F"), ("own",), "Y(i,i) = s(i).f(i)")
    inward = Step(dots, ("S@here", "F@start"), ("entries",), "Y(j,i) = s(j).f(i)")
    buffers = (
        *reference.REFERENCE_BUFFERS,
        *(buffer for buffer in BUFFERS if buffer.name not in _NAMES),
        *(Buffer(name, ()) for name in ("F", "own", "entries")),
    )
    return Plan(name, buffers, (base_to_tip(*outward, PLACE, COLUMNS, _PLACED, own), from_each_inward(inward)))


REGRESSOR_PAIRS = _regressor_pairs("regressor by walks", RELATIVE, VELOCITY, ACCELERATION, PARAMETER_FORCES)
STATIC_REGRESSOR_PAIRS = _regressor_pairs("static_regressor by walks", RELATIVE, STATIC, RESTING_FORCES)
REFERENCE_REGRESSOR_PAIRS = _regressor_pairs(
    "reference_regressor by walks", *reference.OUTWARD, reference.PARAMETER_FORCES
)


def regressor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x 10 nbodies matrix, row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("entries", [])
    ends = [*((k, k) for k in range(model.nbodies)), *((inner, outer) for outer, inner in model.pairs)]
    return parameter_matrix(model, ((*two, block) for two, block in zip(ends, [*own, *pairs], strict=True)))
