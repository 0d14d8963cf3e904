"""The Coriolis matrix of Christoffel symbols: ``C v`` is the bias without gravity, and ``dM/dt - 2 C`` is skew.

Echeandia & Wensing (2020). A body's share is ``B = (crf(V) M - M crm(V) + icrf(M V))/2``, where
``icrf(h) m = crf(m) h``. Written out, its right half is zero and its lower left block is ``-~f`` with the linear
momentum f, about every origin: so B is a 3x3 tensor and a vector, and composites of B add up like inertias.
"""

from __future__ import annotations

from typing import NamedTuple

from recursa.dynamics.gathering import Entries, Entry
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.model.model import Joint
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import one_operand
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


@one_operand
class CoriolisInertia(NamedTuple):
    """``B = [[T, 0], [-~f, 0]]``: a tensor and the linear momentum."""

    tensor: Mat3
    momentum: Vec3

    @staticmethod
    def zero() -> CoriolisInertia:
        """Nothing moves."""
        return CoriolisInertia(Mat3.zero(), ZERO)

    @staticmethod
    def of(inertia: RigidInertia, velocity: Motion) -> CoriolisInertia:
        """The share of one body: ``T = (~w I - I ~w - ~v ~h - ~h ~v - ~n)/2`` with (n, f) = M V."""
        w, v = velocity
        n, f = inertia @ velocity
        turning = Mat3.of(inertia.moment).cross_columns(w)  # ~w I, and -I ~w is its transpose
        sliding = Mat3.skew(inertia.first).cross_columns(v)  # ~v ~h, and ~h ~v is its transpose
        tensor = turning + turning.T - sliding - sliding.T - Mat3.skew(n)
        return CoriolisInertia(tensor * 0.5, f)

    def __add__(self, other: CoriolisInertia) -> CoriolisInertia:  # type: ignore[override]
        return CoriolisInertia(self.tensor + other.tensor, self.momentum + other.momentum)

    def carried(self, step: Transform) -> CoriolisInertia:
        """``phi B phi*``: to the parent."""
        rotation, translation = step.general()
        momentum = rotation @ self.momentum
        shift = Mat3.skew(momentum).cross_columns(translation)  # ~r ~f
        return CoriolisInertia(self.tensor.rotated(rotation) - shift, momentum)

    def __matmul__(self, motion: Motion) -> Force:
        """``B m``."""
        return Force(self.tensor @ motion.angular, motion.angular.cross(self.momentum))

    def transpose_times(self, motion: Motion) -> Force:
        """``B^T m``."""
        return Force(self.tensor.transpose_times(motion.angular) + self.momentum.cross(motion.linear), ZERO)


class CoriolisColumn(NamedTuple):
    """The three forces of one freedom j that every joint inward meets."""

    first: Force  # R Sdot + B S
    second: Force  # R S
    third: Force  # B^T S

    def carried(self, step: Transform) -> CoriolisColumn:
        """To the parent."""
        return CoriolisColumn(*(step.force(force) for force in self))


Columns = tuple[tuple[Entry, CoriolisColumn], ...]


def composite_coriolis(
    children: CoriolisInertia, inertia: RigidInertia, velocity: Motion, step: Transform
) -> tuple[CoriolisInertia, CoriolisInertia]:
    """B of everything outward, and its share at the parent."""
    total = children + CoriolisInertia.of(inertia, velocity)
    return total, total.carried(step)


def coriolis_rows(
    joint: Joint,
    number: int,
    velocity: Motion,
    total: RigidInertia,
    coriolis: CoriolisInertia,
    below: Columns,
    step: Transform,
) -> tuple[Entries, Columns]:
    """Entries of C that pair this joint with itself and with the joints outward, and the columns for the parent."""
    own: list[tuple[Entry, CoriolisColumn]] = []
    entries = []
    columns = joint.columns()
    rates = [velocity.cross_motion(column) for column in columns]  # Sdot = crm(V) S
    for i, (column, rate) in enumerate(zip(columns, rates, strict=True)):
        moving = CoriolisColumn(total @ rate + coriolis @ column, total @ column, coriolis.transpose_times(column))
        own.append(((number, i), moving))
        entries += [(((number, k), (number, i)), other.dot(moving.first)) for k, other in enumerate(columns)]
    for i, (column, rate) in enumerate(zip(columns, rates, strict=True)):
        for key, outer in below:
            entries.append((((number, i), key), column.dot(outer.first)))
            entries.append(((key, (number, i)), rate.dot(outer.second) + column.dot(outer.third)))
    return tuple(entries), tuple((key, outer.carried(step)) for key, outer in (*own, *below))


CORIOLIS_MATRIX_PLAN = Plan(
    "coriolis_matrix",
    (
        Buffer("X", IDENTITY_TRANSFORM),
        Buffer("V", Motion.zero()),
        Buffer("R", RigidInertia.zero()),
        Buffer("B", CoriolisInertia.zero()),
        Buffer("F", ()),
        Buffer("rows", ()),
    ),
    (
        base_to_tip(RELATIVE, VELOCITY),
        tip_to_base(
            COMPOSITE,
            Step(composite_coriolis, ("B", "inertia", "V", "X"), ("B", "B@parent"), "B = own + sum of phi B phi*"),
            Step(
                coriolis_rows,
                ("joint", "number", "V", "R", "B", "F", "X"),
                ("rows", "F@parent"),
                "C(i,j) = H(i) phi F1(j), C(j,i) = Hdot(i) phi F2(j) + H(i) phi F3(j)",
            ),
        ),
    ),
)
