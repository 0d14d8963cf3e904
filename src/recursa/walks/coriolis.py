"""The Coriolis matrix: the sums of ``coriolis.py`` in root axes, and two entries a pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recursa.dynamics.coriolis import CoriolisColumn, CoriolisInertia
from recursa.dynamics.gathering import Block, inward_entries, joint_matrix, own_entries
from recursa.model.model import Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import BUFFERS, COMPOSITE, MOVING, Motions, dots

Columns = tuple[CoriolisColumn, ...]


class Pair(NamedTuple):
    """An inner joint j and an outer joint i: rows of j and columns of i, then rows of i and columns of j."""

    inward: Block
    outward: Block


def turned(columns: Motions, velocity: Motion) -> Motions:
    """``Sdot = crm(V) S``."""
    return tuple(velocity.cross_motion(column) for column in columns)


def coriolis_outward(
    children: CoriolisInertia, inertia: RigidInertia, velocity: Motion
) -> tuple[CoriolisInertia, CoriolisInertia]:
    """B of everything outward, and the same for the parent."""
    total = children + CoriolisInertia.of(inertia, velocity)
    return total, total


def coriolis_columns(
    columns: Motions, rates: Motions, total: RigidInertia, coriolis: CoriolisInertia
) -> tuple[Columns, Block]:
    """The forces that every joint inward meets, and the entries that pair a joint with itself."""
    found = tuple(
        CoriolisColumn(total @ rate + coriolis @ column, total @ column, coriolis.transpose_times(column))
        for column, rate in zip(columns, rates, strict=True)
    )
    return found, dots(columns, [one.first for one in found])


def pair_entries(columns: Motions, rates: Motions, outer: Columns) -> Pair:
    """``S(j).(R Sdot + B S)(i)``, and ``Sdot(j).(R S)(i) + S(j).(B* S)(i)``."""
    back = tuple(
        tuple(rate.dot(one.second) + column.dot(one.third) for column, rate in zip(columns, rates, strict=True))
        for one in outer
    )
    return Pair(dots(columns, [one.first for one in outer]), back)


CORIOLIS_MATRIX_PAIRS = Plan(
    "coriolis_matrix by walks",
    (
        *BUFFERS,
        Buffer("dS", ()),
        Buffer("B", CoriolisInertia.zero()),
        Buffer("F", ()),
        Buffer("own", ()),
        Buffer("entries", ()),
    ),
    (
        base_to_tip(*MOVING, Step(turned, ("S", "V"), ("dS",), "Sdot = crm(V) S")),
        tip_to_base(
            COMPOSITE,
            Step(coriolis_outward, ("B", "I", "V"), ("B", "B@parent"), "B = sum of own outward"),
            Step(coriolis_columns, ("S", "dS", "R", "B"), ("F", "own"), "R Sdot + B S, R S, B* S"),
        ),
        from_each_inward(
            Step(pair_entries, ("S@here", "dS@here", "F@start"), ("entries",), "C(j,i) and C(i,j), j inward of i")
        ),
    ),
)


def coriolis_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x nv matrix, row by row."""
    pairs: list[Pair] = values.lists.get("entries", [])
    entries = [*own_entries(values.lists.get("own", [])), *inward_entries(model, [one.inward for one in pairs])]
    entries += inward_entries(model, [one.outward for one in pairs], transposed=True)
    return joint_matrix(model, entries, symmetric=False)
