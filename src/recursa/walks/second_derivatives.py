"""Second derivatives of inverse dynamics, contracted: the sums of ``second_derivatives.py`` in root axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from recursa.dynamics.derivatives import ColumnRates, inertia_rate
from recursa.dynamics.gathering import Block, inward_entries, joint_matrix, own_entries
from recursa.dynamics.second_derivatives import BLOCKS, COVECTOR, SYMMETRIC, SecondReach, bias_moment, reach
from recursa.model.model import Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.derivatives import AT_BODIES, DERIVATIVE_BUFFERS, MOVING_OUTWARD, Moving
from recursa.walks.root_axes import ACCELERATING, BUFFERS, COMPOSITE, Motions, along


@one_operand
class Virtual(NamedTuple):
    """What adds up over everything outward in the virtual motion: p, Z and c."""

    momentum: Force
    rate: RigidInertia
    bias: Vec3

    @staticmethod
    def zero() -> Virtual:
        """Nothing moves."""
        return Virtual(Force.zero(), RigidInertia.zero(), ZERO)

    def __add__(self, other: Virtual) -> Virtual:  # type: ignore[override]
        return Virtual(self.momentum + other.momentum, self.rate + other.rate, self.bias + other.bias)


class Own(NamedTuple):
    """A joint with itself, by name of the block; symmetric ones up to the diagonal."""

    qq: Block
    qv: Block
    vv: Block
    qa: Block


class Pair(NamedTuple):
    """An inner joint i and an outer joint j: rows of i and columns of j, then rows of j and columns of i."""

    qq: Block
    qv: Block
    vv: Block
    qa: Block
    back_qv: Block
    back_qa: Block


def virtual_motion(columns: Motions, parent: Motion, covector: Sequence[Scalar]) -> Motion:
    """``W = W(parent) + s lambda``."""
    return parent + along(columns, covector)


def virtual_rates(columns: Motions, parent: Motion) -> Motions:
    """``w = crm(W(parent)) s`` of every freedom."""
    return tuple(parent.cross_motion(column) for column in columns)


def virtual_outward(
    children: Virtual, inertia: RigidInertia, velocity: Motion, virtual: Motion
) -> tuple[Virtual, Virtual]:
    """Everything outward together, and the same for the parent."""
    own = Virtual(inertia @ virtual, inertia_rate(inertia, virtual), bias_moment(inertia, velocity, virtual))
    total = children + own
    return total, total


def reaches(
    rates: tuple[ColumnRates, ...], virtual: Motions, total: RigidInertia, moving: Moving, outward: Virtual
) -> tuple[Own, tuple[SecondReach, ...]]:
    """Entries that pair a joint with itself, and what every joint inward meets."""
    found = tuple(reach(one, w, total, *moving, *outward) for one, w in zip(rates, virtual, strict=True))
    orders = [[_twice_by_q(one, w, far) for far in found] for one, w in zip(rates, virtual, strict=True)]
    turned = [outward.rate @ one.column for one in rates]
    own = Own(
        tuple((*(0.5 * (orders[i][j] + orders[j][i]) for j in range(i)), orders[i][i]) for i in range(len(rates))),
        tuple(tuple(_by_q_and_v(one, w, far) for far in found) for one, w in zip(rates, virtual, strict=True)),
        tuple(tuple(-rates[j].column.dot(turned[i]) for j in range(i + 1)) for i in range(len(rates))),
        tuple(tuple(w.dot(far.by_a) for far in found) for w in virtual),
    )
    return own, found


def _twice_by_q(inner: ColumnRates, w: Motion, outer: SecondReach) -> Scalar:
    return w.dot(outer.by_q) + inner.second.dot(outer.b) + inner.first.angular.dot(outer.e)


def _by_q_and_v(inner: ColumnRates, w: Motion, outer: SecondReach) -> Scalar:
    return w.dot(outer.by_v) + inner.first.angular.dot(outer.d)


def pair_blocks(rates: tuple[ColumnRates, ...], virtual: Motions, outer: tuple[SecondReach, ...]) -> Pair:
    """The six blocks of two joints, one inward of the other."""
    inner = list(zip(rates, virtual, strict=True))
    return Pair(
        tuple(tuple(_twice_by_q(one, w, far) for far in outer) for one, w in inner),
        tuple(tuple(_by_q_and_v(one, w, far) for far in outer) for one, w in inner),
        tuple(tuple(one.column.angular.dot(far.d) for far in outer) for one in rates),
        tuple(tuple(w.dot(far.by_a) for far in outer) for w in virtual),
        tuple(tuple(one.twice.dot(far.b) + one.column.angular.dot(far.e) for one in rates) for far in outer),
        tuple(tuple(one.column.dot(far.b) for one in rates) for far in outer),
    )


SECOND_DERIVATIVES_PAIRS = Plan(
    "inverse_dynamics_second_derivatives by walks",
    (
        *BUFFERS,
        *DERIVATIVE_BUFFERS,
        Buffer("W", Motion.zero()),
        Buffer("w", ()),
        Buffer("virtual", Virtual.zero()),
        Buffer("blocks", ()),
    ),
    (
        base_to_tip(
            *ACCELERATING,
            *AT_BODIES,
            Step(virtual_motion, ("S", "W@parent", COVECTOR), ("W",), "W = W(parent) + s lambda"),
            Step(virtual_rates, ("S", "W@parent"), ("w",), "w = crm(W(parent)) s"),
        ),
        tip_to_base(
            COMPOSITE,
            MOVING_OUTWARD,
            Step(
                virtual_outward,
                ("virtual", "I", "V", "W"),
                ("virtual", "virtual@parent"),
                "p, Z, c: sums of own outward",
            ),
            Step(reaches, ("rates", "w", "R", "moving", "virtual"), ("own", "reach"), "R s'' + 2B s' + crf(s) f, ..."),
        ),
        from_each_inward(
            Step(
                pair_blocks,
                ("rates@here", "w@here", "reach@start"),
                ("blocks",),
                "w(i).(R s'' + 2B s' + crf(s) f)(j) + s''(i).b(j) + s'(i).e(j), ...",
            )
        ),
    ),
)


def second_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All blocks, (4, nv, nv) row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("blocks", [])

    def matrix(name: str) -> Iterator[Scalar]:
        entries = [*own_entries([getattr(one, name) for one in own])]
        entries += inward_entries(model, [getattr(one, name) for one in pairs])
        if name not in SYMMETRIC:
            entries += inward_entries(model, [getattr(one, f"back_{name}") for one in pairs], transposed=True)
        return joint_matrix(model, entries, symmetric=name in SYMMETRIC)

    return chain.from_iterable(matrix(name) for name in BLOCKS)
