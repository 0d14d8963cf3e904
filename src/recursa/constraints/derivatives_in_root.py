"""Derivatives of motion that obeys constraints in one plan: everything in root axes, and a product at the end.

    d a/d x = -K r - Psi s,    d a/d tau = K    (``derivatives.py``)

Accelerations and multipliers come first, by the augmentation method; then walks as for a robot without constraints,
what the constraints do taken off the forces; and how the equations change, at closings. What is left is the product of
``(K Psi)`` with r over s, which a kernel makes column by column where columns are not zero for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from recursa.constraints.augmentation import DRIVEN, constraint_buffers, decided, delassus_factors, inward, solving
from recursa.constraints.derivatives import at_closings, changes
from recursa.constraints.ends import ROOT, Numbers, put_down_ends_in_root, read_ends
from recursa.constraints.rows import demand_steps, row_bodies, wrenches_on_link
from recursa.dynamics.inverse import off, pushing
from recursa.dynamics.springs import driving
from recursa.model.equations import NO_LINK, Closing
from recursa.model.model import WORLD, Model
from recursa.spatial.scalars import Scalar, is_zero
from recursa.spatial.small_systems import solve_ranked
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Plan, Step, Sweep, Values, base_to_tip, each_link, from_each_inward, tip_to_base
from recursa.walks.derivatives import AT_BODIES, DERIVATIVE_BUFFERS, PAIR_DERIVATIVES, outward_sums, state_entries
from recursa.walks.forward_derivatives import ACCELERATIONS, BIAS, FORWARD_BUFFERS, INNOVATIONS
from recursa.walks.mass_matrix_inverse import (
    COMPLIANCE,
    HINGE,
    INVERSE_BUFFERS,
    OUTWARD,
    inverse_entries,
    inverse_walks,
)
from recursa.walks.root_axes import BUFFERS, EXTERNAL, MOVING, PARENT_ACCELERATION, free_root

Rows = Sequence[Sequence[Scalar]]


def has_common_axes(model: Model) -> bool:
    """Whether the ends of every closing are in trees that add up in the same axes, as all are but several flyers."""
    for of in (one for one in model.equations if isinstance(one, Closing)):
        bodies = [model.links[link].body for link in of.links if link != NO_LINK]
        roots = {min(model.support(body)) for body in bodies if body != WORLD}
        if len(roots) > 1 and any(free_root(model.joints[root]) for root in roots):
            return False
    return True


# ---- multipliers -----------------------------------------------------------------------------------------------------


def _reactions(model: Model) -> Iterator[Sweep]:
    """What the multipliers do to bodies, in root axes, need not come through their joints."""
    for of in (one for one in model.equations if isinstance(one, Closing)):
        for side, link in enumerate(of.links):
            if link != NO_LINK and model.links[link].body != WORLD:
                yield each_link(_reaction(model, of, side), only=(link,))


def _reaction(model: Model, of: Closing, side: int) -> Step:
    reads, both = read_ends(model, of)

    def reaction(offset: Transform, multipliers: Numbers, *put: Any) -> Force:
        ends, total = both(*put), Force.zero()
        for k, wrench in enumerate(wrenches_on_link(of, side, *ends)):
            total = total + wrench * multipliers.entries[of.start + k]
        return -ends[side].place.force(total)

    return Step(reaction, ("offset", "lambda@robot", *reads), ("f@body",), "f -= G* lambda")


# ---- the plan --------------------------------------------------------------------------------------------------------


def derivatives_plan(model: Model, *, wrenches: bool = False, springs: bool = False) -> Plan:
    """Everything that the product is made of."""
    drive, torque = driving(False, springs)
    bodies, unit_length = row_bodies(model), model.unit_length
    ends, end_buffers = put_down_ends_in_root(model)
    again, then_buffers = put_down_ends_in_root(model, then=True)
    closings, closing_buffers = at_closings(model, "qdd", then=True)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(*MOVING, ROOT, *BIAS, *(off("b", step) for step in external)),
        tip_to_base(OUTWARD, *drive, INNOVATIONS.reading(tau=torque)),
        base_to_tip(PARENT_ACCELERATION, ACCELERATIONS, only=bodies),
        *ends,
        *inward(model, unit_length, in_root=True),
        *demand_steps(model, told=False),
        base_to_tip(solving(model, unit_length), only=(0,)),
        base_to_tip(DRIVEN, only=bodies),
        base_to_tip(PARENT_ACCELERATION, ACCELERATIONS, COMPLIANCE, HINGE, *AT_BODIES, *external),
        *again,
        *closings,
        *_reactions(model),
        tip_to_base(*outward_sums(springs=springs)),
        from_each_inward(PAIR_DERIVATIVES),
        *inverse_walks(model),
    )
    buffers = (
        *BUFFERS,
        *FORWARD_BUFFERS,
        *INVERSE_BUFFERS,
        *DERIVATIVE_BUFFERS,
        *constraint_buffers(model),
        *end_buffers,
        *(one for one in then_buffers if one.name != "root"),
        *closing_buffers,
    )
    return Plan("constrained_forward_dynamics_derivatives", buffers, sweeps)


# ---- the result ------------------------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """K over Psi*, and r over s by q and by v: each (nv + ncon, nv)."""

    left: list[list[Scalar]]
    by_q: list[list[Scalar]]
    by_v: list[list[Scalar]]


def factors(model: Model, values: Values) -> Factors:
    """From the values of :func:`derivatives_plan`."""
    n, m = model.nv, model.ncon
    change = changes(model, values, "rates")
    inverse = _square(list(inverse_entries(model, values)), n)
    both = list(state_entries(model, values))
    by_q, by_v = _square(both[: n * n], n), _square(both[n * n :], n)
    by_q = [[_less(x, y) for x, y in zip(*rows, strict=True)] for rows in zip(by_q, change.forces, strict=True)]
    robot, (reads, turns_of) = values.robot, decided(model)
    turns = turns_of(*(robot[name.removesuffix("@robot")] for name in reads))
    kept = delassus_factors(model, model.unit_length, robot["delassus"], robot["yielding"], turns)
    pushed_by = [turns.forward([_dot(row, column) for row in change.rows]) for column in inverse]  # Y = inv(mass) G*
    along = [solve_ranked(kept, row) for row in pushed_by]  # rows of Y inv(A), both of orthogonal rows
    K: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            K[i][j] = K[j][i] = _less(inverse[i][j], _dot(along[i], pushed_by[j]))
    demanded = [turns.back(row) for row in along]  # rows of Psi
    transposed = [[demanded[i][k] for i in range(n)] for k in range(m)]
    return Factors([*K, *transposed], [*by_q, *change.by_q], [*by_v, *change.by_v])


def factor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All three, row by row: what the product is made of."""
    return chain.from_iterable(chain(*factors(model, values)))


def derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """``-K r - Psi s`` by q and by v, then K, row by row."""
    left, *right = factors(model, values)
    n = model.nv
    for one in right:
        columns = list(zip(*one, strict=True))
        for i in range(n):
            own = [row[i] for row in left]
            yield from (_minus(_dot(column, own)) for column in columns)
    yield from chain.from_iterable(left[:n])


def _square(entries: Sequence[Scalar], n: int) -> list[list[Scalar]]:
    return [list(entries[k * n : k * n + n]) for k in range(n)]


def _less(x: Scalar, y: Scalar) -> Scalar:
    return x if is_zero(y) else x - y


def _minus(x: Scalar) -> Scalar:
    return 0.0 if is_zero(x) else -x


def _dot(row: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
    """Without what is zero for good in the first."""
    total: Scalar = 0.0
    for x, y in zip(row, other, strict=True):
        if not is_zero(x):
            total = x * y if is_zero(total) else total + x * y
    return total
