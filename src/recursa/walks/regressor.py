"""The regressor: forces per unit of each parameter of a body in root axes, along every joint inward."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.dynamics.gathering import flat, speed_index
from recursa.dynamics.inverse import FORCE_BUFFERS, moving_force
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.regressor import UNIT_BODIES
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward
from recursa.walks.root_axes import BUFFERS, COLUMNS, PLACE, dots


def parameter_forces(place: Transform, acceleration: Motion, velocity: Motion) -> tuple[Force, ...]:
    """Force per unit of each of the body's ten parameters, which are in its own axes."""
    return tuple(place.force(moving_force(unit, acceleration, velocity)) for unit in UNIT_BODIES)


_NAMES = {buffer.name for buffer in FORCE_BUFFERS}

REGRESSOR_PAIRS = Plan(
    "regressor by walks",
    (
        *FORCE_BUFFERS,
        *(buffer for buffer in BUFFERS if buffer.name not in _NAMES),
        Buffer("F", ()),
        Buffer("own", ()),
        Buffer("entries", ()),
    ),
    (
        base_to_tip(
            RELATIVE,
            VELOCITY,
            ACCELERATION,
            PLACE,
            COLUMNS,
            Step(parameter_forces, ("O", "alpha", "V"), ("F",), "f = O (M alpha + crf(V) M V) per parameter"),
            Step(dots, ("S", "F"), ("own",), "Y(i,i) = s(i).f(i)"),
        ),
        from_each_inward(Step(dots, ("S@here", "F@start"), ("entries",), "Y(j,i) = s(j).f(i)")),
    ),
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
