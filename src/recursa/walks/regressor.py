"""The regressor: forces per unit of each parameter of a body in root axes, along every joint inward."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.dynamics.gathering import flat, speed_index
from recursa.dynamics.inverse import STATIC, moving_force, resting_force
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.reference import OUTWARD, REFERENCE_BUFFERS, forces_by_parameter
from recursa.dynamics.regressor import UNIT_BODIES, WEIGHTS
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward
from recursa.walks.root_axes import BUFFERS, COLUMNS, PLACE, dots


def parameter_forces(place: Transform, acceleration: Motion, velocity: Motion) -> tuple[Force, ...]:
    """Force per unit of each of the body's ten parameters, which are in its own axes."""
    return tuple(place.force(moving_force(unit, acceleration, velocity)) for unit in UNIT_BODIES)


def resting_forces(place: Transform, acceleration: Motion) -> tuple[Force, ...]:
    """Force per unit of each parameter that counts at rest."""
    return tuple(place.force(resting_force(unit, acceleration)) for unit in WEIGHTS)


_NAMES = {buffer.name for buffer in REFERENCE_BUFFERS}


def _regressor_pairs(name: str, *outward: Step) -> Plan:
    own = Step(dots, ("S", "F"), ("own",), "Y(i,i) = s(i).f(i)")
    inward = Step(dots, ("S@here", "F@start"), ("entries",), "Y(j,i) = s(j).f(i)")
    buffers = (
        *REFERENCE_BUFFERS,
        *(buffer for buffer in BUFFERS if buffer.name not in _NAMES),
        *(Buffer(name, ()) for name in ("F", "own", "entries")),
    )
    return Plan(name, buffers, (base_to_tip(*outward, own), from_each_inward(inward)))


REGRESSOR_PAIRS = _regressor_pairs(
    "regressor by walks",
    RELATIVE,
    VELOCITY,
    ACCELERATION,
    PLACE,
    COLUMNS,
    Step(parameter_forces, ("O", "alpha", "V"), ("F",), "f = O (M alpha + crf(V) M V) per parameter"),
)
STATIC_REGRESSOR_PAIRS = _regressor_pairs(
    "static_regressor by walks",
    RELATIVE,
    STATIC,
    PLACE,
    COLUMNS,
    Step(resting_forces, ("O", "alpha"), ("F",), "f = O M alpha per parameter"),
)


def reference_forces(place: Transform, faster: Motion, moving: Motion, reference: Motion) -> tuple[Force, ...]:
    """Force per unit of each parameter, along a reference velocity."""
    return tuple(place.force(force) for force in forces_by_parameter(faster, moving, reference))


REFERENCE_REGRESSOR_PAIRS = _regressor_pairs(
    "reference_regressor by walks",
    *OUTWARD,
    PLACE,
    COLUMNS,
    Step(reference_forces, ("O", "alpha", "V", "VR"), ("F",), "f = O (M alpha_r + B(V) V_r) per parameter"),
)


def regressor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x 10 nbodies matrix, row by row."""
    rows: list[list[Scalar]] = [[0.0] * (10 * model.nbodies) for _ in range(model.nv)]
    own, pairs = values.lists.get("own", []), values.lists.get("entries", [])
    with_bodies = [*enumerate(range(model.nbodies)), *model.pairs]
    for (outer, inner), block in zip(with_bodies, [*own, *pairs], strict=True):
        for freedom, row in enumerate(block):
            at, factor = speed_index(model.joints[inner], freedom)
            for k, value in enumerate(row):
                share = value if factor is None else value * factor
                rows[at][10 * outer + k] = rows[at][10 * outer + k] + share
    return flat(rows)
