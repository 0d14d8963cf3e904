"""How the mass matrix changes with q: along a motion, and times a vector. Two products a pair, in root axes.

With s, s' columns of ``H*`` and how they turn, R and R' the composite inertia and its rate, j inward of i:

    dM/dt(j, i)       = s(j).(R' s + R s')(i) + s'(j).(R s)(i)             s' = crm(V) s, everything moving with V
    d(M y)/dq (j, i)  = s(j).(R s' + crf(s) p)(i)                          s' = crm(V(parent)) s, V and momentum p of y
    d(M y)/dq (i, j)  = s'(j).(R s)(i)

The mass matrix does not depend on where a free base is, so V of the first line is what it is beside that base.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recursa.dynamics.coriolis import TURNED, Motions
from recursa.dynamics.derivatives import COMPOSITE_MOMENTUM, COMPOSITE_RATE
from recursa.dynamics.gathering import Block, TwoWays, dots
from recursa.dynamics.kinematics import VELOCITY
from recursa.model.model import Joint
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.jacobians import AT_REST, BUFFERS, COMPOSITE, Forces, along, free_root, in_root


class Felt(NamedTuple):
    """What a joint inward meets of an outer freedom: along its columns, and along their rates."""

    by_column: Force
    by_rate: Force

    def carried(self, step: Transform) -> Felt:
        """To the parent, in link axes."""
        return Felt(step.force(self.by_column), step.force(self.by_rate))


Reaches = tuple[Felt, ...]  # one per freedom of a joint


# ---- along a motion --------------------------------------------------------------------------------------------------


def velocity_beside_base(joint: Joint, columns: Motions, parent: Motion, v: Sequence[Scalar]) -> Motion:
    """Velocity of a body in root axes that stay with a free base."""
    return Motion.zero() if free_root(joint) else parent + along(columns, v)


def rate_forces(columns: Motions, rates: Motions, total: RigidInertia, rate: RigidInertia) -> tuple[Reaches, Block]:
    """``R' s + R s'`` and ``R s``, and the rate of a joint's masses with itself, up to the diagonal."""
    found = tuple(Felt(rate @ s + total @ ds, total @ s) for s, ds in zip(columns, rates, strict=True))
    return found, tuple(row[: k + 1] for k, row in enumerate(mass_rates(columns, rates, found)))


def mass_rates(columns: Motions, rates: Motions, outer: Reaches) -> Block:
    """``s.(R' s + R s') + s'.(R s)``."""
    return tuple(
        tuple(s.dot(felt.by_column) + ds.dot(felt.by_rate) for felt in outer)
        for s, ds in zip(columns, rates, strict=True)
    )


_BUFFERS = (
    *BUFFERS,
    Buffer("Rdot", RigidInertia.zero()),
    Buffer("p", Force.zero()),
    *(Buffer(name, ()) for name in ("dS", "felt", "own", "entries")),
)

MASS_RATE_PAIRS = Plan(
    "rate of the mass matrix by walks",
    _BUFFERS,
    (
        base_to_tip(
            *AT_REST,
            Step(velocity_beside_base, ("joint", "S", "V@parent", "joint:along"), ("V",), "V(k) = V(parent) + s u"),
            in_root(TURNED),
        ),
        tip_to_base(
            COMPOSITE,
            in_root(COMPOSITE_RATE),
            Step(rate_forces, ("S", "dS", "R", "Rdot"), ("felt", "own"), "R' s + R s', R s"),
        ),
        from_each_inward(
            Step(
                mass_rates,
                ("S@here", "dS@here", "felt@start"),
                ("entries",),
                "s(j).(R' s + R s')(i) + s'(j).(R s)(i)",
            )
        ),
    ),
)


# ---- times a vector --------------------------------------------------------------------------------------------------


def momentum_forces(joint: Joint, rates: Motions, total: RigidInertia, momentum: Force) -> tuple[Reaches, Block]:
    """``R s' + crf(s) p`` and ``R s``, and the entries that pair a joint with itself."""
    columns, carried = joint.columns(), [total @ rate for rate in rates]
    found = tuple(Felt(force + s.cross_force(momentum), total @ s) for s, force in zip(columns, carried, strict=True))
    return found, dots(columns, carried)


def momentum_changes(columns: Motions, rates: Motions, outer: Reaches) -> TwoWays:
    """``s(j).(R s' + crf(s) p)(i)`` and ``s'(j).(R s)(i)``."""
    return TwoWays(
        dots(columns, [felt.by_column for felt in outer]),
        tuple(tuple(rate.dot(felt.by_rate) for rate in rates) for felt in outer),
    )


MOMENTUM_FORCES = Step(momentum_forces, ("joint", "dS", "R", "p"), ("felt", "own"), "R s' + crf(s) p, R s")


@cache
def mass_times_pairs(vector: str) -> Plan:
    """How M times the input of that name changes with q."""
    return Plan(
        "sensitivity of the mass matrix times a vector by walks",
        _BUFFERS,
        (
            base_to_tip(
                *AT_REST,
                in_root(VELOCITY, v=vector),
                in_root(TURNED.reading(V="V@parent")),
            ),
            tip_to_base(
                COMPOSITE,
                in_root(COMPOSITE_MOMENTUM, h="p"),
                in_root(MOMENTUM_FORCES),
            ),
            from_each_inward(
                Step(
                    momentum_changes,
                    ("S@here", "dS@here", "felt@start"),
                    ("entries",),
                    "s(j).(R s' + crf(s) p)(i), s'(j).(R s)(i)",
                )
            ),
        ),
    )


# ---- -----------------------------------------------------------------------------------------------------------------
# The mass matrix: ``m(i, j) = s(j).R(i) s(i)``, j inward of i. Six multiplications a pair, nothing is carried.


def accelerating_forces(total: RigidInertia, columns: Motions) -> Forces:
    """What unit accelerations of a joint take, everything outward moving along."""
    return tuple(total @ column for column in columns)


def own_masses(joint: Joint, columns: Motions, forces: Forces) -> Block:
    """A joint with itself, up to the diagonal, with its armature there."""
    rows = [[column.dot(force) for force in forces[: i + 1]] for i, column in enumerate(columns)]
    return tuple((*row[:-1], row[-1] + rotor) for row, rotor in zip(rows, joint.armature, strict=True))


ACCELERATING_FORCES = Step(accelerating_forces, ("R", "S"), ("F",), "F = R s")
OWN_MASSES = Step(own_masses, ("joint", "S", "F"), ("own",), "m(i,i) = s.F + A")
MASSES = Step(dots, ("S@here", "F@start"), ("entries",), "m(i,j) = s(j).F(i)                    (33)")

MASS_MATRIX_PAIRS = Plan(
    "mass_matrix by walks",
    (*BUFFERS, Buffer("F", ()), Buffer("own", ()), Buffer("entries", ())),
    (base_to_tip(*AT_REST), tip_to_base(COMPOSITE, ACCELERATING_FORCES, OWN_MASSES), from_each_inward(MASSES)),
)
