"""How the mass matrix changes with q: along a motion, and times a vector. Two products a pair, in root axes.

With s, s' columns of ``H*`` and how they turn, R and R' the composite inertia and its rate, j inward of i:

    dM/dt(j, i)       = s(j).(R' s + R s')(i) + s'(j).(R s)(i)             s' = crm(V) s, everything moving with V
    d(M y)/dq (j, i)  = s(j).(R s' + crf(s) p)(i)                          s' = crm(V(parent)) s, V and momentum p of y
    d(M y)/dq (i, j)  = s'(j).(R s)(i)

The mass matrix does not depend on where a free base is, so V of the first line is what it is beside that base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from recursa.dynamics.derivatives import inertia_rate
from recursa.dynamics.gathering import Block, inward_entries, joint_matrix, own_entries
from recursa.dynamics.inverse import resting_force
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import (
    AT_REST,
    BUFFERS,
    COMPOSITE,
    Motions,
    along,
    dots,
    free_root,
    outward_sum,
    velocity_in_root,
)


class Turning(NamedTuple):
    """A column, and how it turns."""

    column: Motion
    rate: Motion


class Felt(NamedTuple):
    """What a joint inward meets of an outer freedom: along its columns, and along their rates."""

    by_column: Force
    by_rate: Force


Turns = tuple[Turning, ...]  # one per freedom of a joint
Reaches = tuple[Felt, ...]


# ---- along a motion --------------------------------------------------------------------------------------------------


def velocity_beside_base(joint: Joint, columns: Motions, parent: Motion, v: Sequence[Scalar]) -> Motion:
    """Velocity of a body in root axes that stay with a free base."""
    return Motion.zero() if free_root(joint) else parent + along(columns, v)


def turned(columns: Motions, velocity: Motion) -> Turns:
    """``s, crm(V) s``."""
    return tuple(Turning(s, velocity.cross_motion(s)) for s in columns)


def rate_forces(turns: Turns, total: RigidInertia, rate: RigidInertia) -> tuple[Reaches, Block]:
    """``R' s + R s'`` and ``R s``, and the rate of a joint's masses with itself, up to the diagonal."""
    found = tuple(Felt(rate @ one.column + total @ one.rate, total @ one.column) for one in turns)
    own = tuple(tuple(_share(one, felt) for felt in found[: k + 1]) for k, one in enumerate(turns))
    return found, own


def _share(inner: Turning, outer: Felt) -> Scalar:
    return inner.column.dot(outer.by_column) + inner.rate.dot(outer.by_rate)


def mass_rates(inner: Turns, outer: Reaches) -> Block:
    """``s.(R' s + R s') + s'.(R s)``."""
    return tuple(tuple(_share(one, felt) for felt in outer) for one in inner)


_BUFFERS = (
    *BUFFERS,
    Buffer("turns", ()),
    Buffer("Idot", RigidInertia.zero()),
    Buffer("Rdot", RigidInertia.zero()),
    Buffer("p", Force.zero()),
    Buffer("felt", ()),
    Buffer("own", ()),
    Buffer("entries", ()),
)

MASS_RATE_PAIRS = Plan(
    "rate of the mass matrix by walks",
    _BUFFERS,
    (
        base_to_tip(
            *AT_REST,
            Step(velocity_beside_base, ("joint", "S", "V@parent", "joint:along"), ("V",), "V(k) = V(parent) + s u"),
            Step(turned, ("S", "V"), ("turns",), "s, s' = crm(V) s"),
            Step(inertia_rate, ("I", "V"), ("Idot",), "I' = crf(V) I - I crm(V)"),
        ),
        tip_to_base(
            COMPOSITE,
            Step(outward_sum, ("Rdot", "Idot"), ("Rdot", "Rdot@parent"), "R' = sum of I' outward"),
            Step(rate_forces, ("turns", "R", "Rdot"), ("felt", "own"), "R' s + R s', R s"),
        ),
        from_each_inward(
            Step(
                mass_rates,
                ("turns@here", "felt@start"),
                ("entries",),
                "s(j).(R' s + R s')(i) + s'(j).(R s)(i)",
            )
        ),
    ),
)


def rate_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x nv matrix, row by row."""
    pairs = inward_entries(model, values.lists.get("entries", []))
    return joint_matrix(model, [*own_entries(values.lists.get("own", [])), *pairs], symmetric=True)


# ---- times a vector --------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """An inner joint j and an outer joint i: rows of j and columns of i, then rows of i and columns of j."""

    inward: Block
    outward: Block


def momentum_outward(children: Force, inertia: RigidInertia, velocity: Motion) -> tuple[Force, Force]:
    """p of everything outward, and the same for the parent."""
    total = children + resting_force(inertia, velocity)
    return total, total


def momentum_forces(turns: Turns, total: RigidInertia, momentum: Force) -> tuple[Reaches, Block]:
    """``R s' + crf(s) p`` and ``R s``, and the entries that pair a joint with itself."""
    carried = [total @ one.rate for one in turns]
    found = tuple(
        Felt(force + one.column.cross_force(momentum), total @ one.column)
        for one, force in zip(turns, carried, strict=True)
    )
    return found, dots((one.column for one in turns), carried)


def momentum_changes(inner: Turns, outer: Reaches) -> Pair:
    """``s(j).(R s' + crf(s) p)(i)`` and ``s'(j).(R s)(i)``."""
    return Pair(
        tuple(tuple(one.column.dot(felt.by_column) for felt in outer) for one in inner),
        tuple(tuple(one.rate.dot(felt.by_rate) for one in inner) for felt in outer),
    )


@cache
def mass_times_pairs(vector: str) -> Plan:
    """How M times the input of that name changes with q."""
    return Plan(
        "sensitivity of the mass matrix times a vector by walks",
        _BUFFERS,
        (
            base_to_tip(
                *AT_REST,
                Step(velocity_in_root, ("S", "V@parent", vector), ("V",), "V(k) = V(parent) + s y"),
                Step(turned, ("S", "V@parent"), ("turns",), "s, s' = crm(V(parent)) s"),
            ),
            tip_to_base(
                COMPOSITE,
                Step(momentum_outward, ("p", "I", "V"), ("p", "p@parent"), "p = sum of I V outward"),
                Step(momentum_forces, ("turns", "R", "p"), ("felt", "own"), "R s' + crf(s) p, R s"),
            ),
            from_each_inward(
                Step(
                    momentum_changes,
                    ("turns@here", "felt@start"),
                    ("entries",),
                    "s(j).(R s' + crf(s) p)(i), s'(j).(R s)(i)",
                )
            ),
        ),
    )


def change_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x nv matrix of ``d (M y)_j / d q_i``, row by row."""
    own, pairs = values.lists.get("own", []), values.lists.get("entries", [])
    entries = [*own_entries(own), *inward_entries(model, [one.inward for one in pairs])]
    entries += inward_entries(model, [one.outward for one in pairs], transposed=True)
    return joint_matrix(model, entries, symmetric=False)
