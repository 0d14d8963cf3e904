"""Derivatives of inverse dynamics: the sums of ``derivatives.py`` in root axes, and five entries a pair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from recursa.dynamics.derivatives import ColumnRates, Reach, inertia_rate, rates_of, reach_of
from recursa.dynamics.gathering import Block, inward_entries, joint_matrix, own_entries
from recursa.dynamics.inverse import moving_force, pushing
from recursa.dynamics.losses import DAMPED_OWN
from recursa.dynamics.springs import STIFFER_OWN
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import ACCELERATING, BUFFERS, COMPOSITE, EXTERNAL, Motions


@one_operand
class Moving(NamedTuple):
    """What adds up over everything outward beside the inertia: its rate, momentum, force."""

    rate: RigidInertia
    momentum: Force
    force: Force

    @staticmethod
    def zero() -> Moving:
        """Nothing moves."""
        return Moving(RigidInertia.zero(), Force.zero(), Force.zero())

    def __add__(self, other: Moving) -> Moving:  # type: ignore[override]
        return Moving(self.rate + other.rate, self.momentum + other.momentum, self.force + other.force)


class Own(NamedTuple):
    """A joint with itself."""

    by_q: Block
    by_v: Block
    by_a: Block  # up to the diagonal


class Pair(NamedTuple):
    """An inner joint j and an outer joint i: rows of j and columns of i, then rows of i and columns of j."""

    by_q: Block
    by_v: Block
    by_a: Block
    back_by_q: Block
    back_by_v: Block


def column_rates(columns: Motions, up: Motion, rise: Motion, velocity: Motion) -> tuple[ColumnRates, ...]:
    """s, s' and s'' of every freedom of a joint."""
    return rates_of(columns, up, rise, velocity)


def moving_outward(children: Moving, inertia: RigidInertia, velocity: Motion, force: Force) -> tuple[Moving, Moving]:
    """Everything outward together, and the same for the parent."""
    total = children + Moving(inertia_rate(inertia, velocity), inertia @ velocity, force)
    return total, total


def reaches(
    joint: Joint, rates: tuple[ColumnRates, ...], total: RigidInertia, moving: Moving
) -> tuple[Own, tuple[Reach, ...]]:
    """Entries that pair a joint with itself, and what every joint inward meets."""
    found = [reach_of(own, total, *moving) for own in rates]
    masses = [[other.column.dot(reach.by_a) for _, reach in found[: k + 1]] for k, other in enumerate(rates)]
    own = Own(
        tuple(tuple(other.column.dot(here) for here, _ in found) for other in rates),
        tuple(tuple(other.column.dot(reach.by_v) for _, reach in found) for other in rates),
        tuple((*row[:-1], row[-1] + rotor) for row, rotor in zip(masses, joint.armature, strict=True)),
    )
    return own, tuple(reach for _, reach in found)


def pair_derivatives(inner: tuple[ColumnRates, ...], outer: tuple[Reach, ...]) -> Pair:
    """``s(j).(R s'' + 2B s' + crf(s) f)(i)`` and so on."""
    return Pair(
        tuple(tuple(own.column.dot(reach.by_q) for reach in outer) for own in inner),
        tuple(tuple(own.column.dot(reach.by_v) for reach in outer) for own in inner),
        tuple(tuple(own.column.dot(reach.by_a) for reach in outer) for own in inner),
        tuple(
            tuple(own.second.dot(reach.by_a) + own.first.angular.dot(reach.back) for own in inner) for reach in outer
        ),
        tuple(
            tuple(own.twice.dot(reach.by_a) + own.column.angular.dot(reach.back) for own in inner) for reach in outer
        ),
    )


AT_BODIES = (
    Step(column_rates, ("S", "V@parent", "A", "V"), ("rates",), "s' = crm(U) s, s'' = crm(A) s + crm(U) s'"),
    Step(moving_force, ("I", "alpha", "V"), ("f",), "f = I alpha + crf(V) I V"),
)
MOVING_OUTWARD = Step(
    moving_outward, ("moving", "I", "V", "f"), ("moving", "moving@parent"), "dR/dt, h, f: sums of own outward"
)
OUTWARD_SUMS = (
    COMPOSITE,
    MOVING_OUTWARD,
    Step(reaches, ("joint", "rates", "R", "moving"), ("own", "reach"), "R s'' + 2B s' + crf(s) f, ..."),
)
PAIR_DERIVATIVES = Step(
    pair_derivatives,
    ("rates@here", "reach@start"),
    ("derivatives",),
    "s(j).(R s'' + 2B s' + crf(s) f)(i), s''(j).(R s)(i) + s'(j).(2B* s)(i)",
)
DERIVATIVE_BUFFERS = (
    Buffer("f", Force.zero()),
    Buffer("rates", ()),
    Buffer("moving", Moving.zero()),
    Buffer("own", ()),
    Buffer("reach", ()),
    Buffer("derivatives", ()),
)


@cache
def inverse_derivatives_pairs(*, wrenches: bool = False, losses: bool = False, springs: bool = False) -> Plan:
    """The three matrices; root axes are those of one instant, wrenches turn with their links."""
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(*ACCELERATING, *AT_BODIES, *external),
        tip_to_base(*OUTWARD_SUMS, *((DAMPED_OWN,) if losses else ()), *((STIFFER_OWN,) if springs else ())),
        from_each_inward(PAIR_DERIVATIVES),
    )
    return Plan("inverse_dynamics_derivatives by walks", (*BUFFERS, *DERIVATIVE_BUFFERS), sweeps)


def state_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """d tau/d q and d tau/d v, (2, nv, nv) row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("derivatives", [])
    by_q = [*own_entries([one.by_q for one in own]), *inward_entries(model, [one.by_q for one in pairs])]
    by_q += inward_entries(model, [one.back_by_q for one in pairs], transposed=True)
    by_v = [*own_entries([one.by_v for one in own]), *inward_entries(model, [one.by_v for one in pairs])]
    by_v += inward_entries(model, [one.back_by_v for one in pairs], transposed=True)
    return chain.from_iterable(joint_matrix(model, entries, symmetric=False) for entries in (by_q, by_v))


def derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """d tau/d q, d tau/d v and d tau/d a, (3, nv, nv) row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("derivatives", [])
    by_a = [*own_entries([one.by_a for one in own]), *inward_entries(model, [one.by_a for one in pairs])]
    return chain(state_entries(model, values), joint_matrix(model, by_a, symmetric=True))
