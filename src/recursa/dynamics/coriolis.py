"""The Coriolis matrix of Christoffel symbols: ``C v`` is the bias without gravity, and ``dM/dt - 2 C`` is skew.

Echeandia & Wensing (2020). A body's share is ``B = (crf(V) M - M crm(V) + icrf(M V))/2``, where
``icrf(h) m = crf(m) h``. Written out, its right half is zero and its lower left block is ``-~f`` with the linear
momentum f, about every origin: so B is a 3x3 tensor and a vector, and composites of B add up like inertias.
"""

from __future__ import annotations

from typing import NamedTuple

from recursa.dynamics.gathering import Block, Entries, TwoWays, dots, entries_with
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.model.model import Joint
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import one_operand
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO, Vec3
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


Columns = tuple[CoriolisColumn, ...]  # one per freedom of a joint
Outward = tuple[tuple[int, Columns], ...]  # with the number of the joint
Motions = tuple[Motion, ...]


def composite_coriolis(
    children: CoriolisInertia, inertia: RigidInertia, velocity: Motion, step: Transform
) -> tuple[CoriolisInertia, CoriolisInertia]:
    """B of everything outward, and its share at the parent."""
    total = children + CoriolisInertia.of(inertia, velocity)
    return total, total.carried(step)


def turned(joint: Joint, velocity: Motion) -> Motions:
    """``Sdot = crm(V) S``."""
    return tuple(velocity.cross_motion(column) for column in joint.columns())


def coriolis_columns(
    joint: Joint, rates: Motions, total: RigidInertia, coriolis: CoriolisInertia
) -> tuple[Columns, Block]:
    """The forces that every joint inward meets, and the entries that pair a joint with itself."""
    columns = joint.columns()
    found = tuple(
        CoriolisColumn(total @ rate + coriolis @ column, total @ column, coriolis.transpose_times(column))
        for column, rate in zip(columns, rates, strict=True)
    )
    return found, dots(columns, [one.first for one in found])


def coriolis_pair(columns: Motions, rates: Motions, outer: Columns) -> TwoWays:
    """``S(j).(R Sdot + B S)(i)``, and ``Sdot(j).(R S)(i) + S(j).(B* S)(i)``, j inward of i."""
    inner = list(zip(columns, rates, strict=True))
    return TwoWays(
        dots(columns, [one.first for one in outer]),
        tuple(tuple(rate.dot(one.second) + column.dot(one.third) for column, rate in inner) for one in outer),
    )


def coriolis_rows(
    joint: Joint, number: int, rates: Motions, columns: Columns, own: Block, below: Outward, step: Transform
) -> tuple[Entries, Outward]:
    """Entries of C that pair this joint with itself and with the joints outward, and the columns for the parent."""
    pairs = ((outer, coriolis_pair(joint.columns(), rates, far)) for outer, far in below)
    passed_on = ((key, tuple(one.carried(step) for one in far)) for key, far in ((number, columns), *below))
    return entries_with(number, own, pairs), tuple(passed_on)


COMPOSITE_CORIOLIS = Step(
    composite_coriolis, ("B", "inertia", "V", "X"), ("B", "B@parent"), "B = own + sum of phi B phi*"
)
TURNED = Step(turned, ("joint", "V"), ("dS",), "Sdot = crm(V) S")
CORIOLIS_COLUMNS = Step(coriolis_columns, ("joint", "dS", "R", "B"), ("reach", "own"), "R Sdot + B S, R S, B* S")
CORIOLIS_BUFFERS = (Buffer("B", CoriolisInertia.zero()), *(Buffer(name, ()) for name in ("dS", "reach", "own")))

CORIOLIS_MATRIX_PLAN = Plan(
    "coriolis_matrix",
    (
        Buffer("X", IDENTITY_TRANSFORM),
        Buffer("V", Motion.zero()),
        Buffer("R", RigidInertia.zero()),
        *CORIOLIS_BUFFERS,
        Buffer("F", ()),
        Buffer("rows", ()),
    ),
    (
        base_to_tip(RELATIVE, VELOCITY),
        tip_to_base(
            COMPOSITE,
            COMPOSITE_CORIOLIS,
            TURNED,
            CORIOLIS_COLUMNS,
            Step(
                coriolis_rows,
                ("joint", "number", "dS", "reach", "own", "F", "X"),
                ("rows", "F@parent"),
                "C(i,j) = H(i) phi F1(j), C(j,i) = Hdot(i) phi F2(j) + H(i) phi F3(j)",
            ),
        ),
    ),
)
