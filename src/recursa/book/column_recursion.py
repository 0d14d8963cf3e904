"""The mass matrix from what unit accelerations take: column by column (6.2.4), times a vector, and its root P (6.2.15).

All of these are for every kind of joint: nothing in them is special to joints that turn or slide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recursa.book.inertia_matrix import steiner
from recursa.dynamics.gathering import FORCES, Entries, Entry, flat, vector_of
from recursa.dynamics.inverse import RESTING_FORCE, ROTORS, TORQUE
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import Columns, rows_along
from recursa.errors import NoSweepError
from recursa.model.may_move import MayMove
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar, sqrt, where
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SymMat3, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

# ---- (6.2.4): all columns in two sweeps ("column") -------------------------------------------------------------------

Motions = tuple[tuple[Entry, Motion], ...]


def unit_accelerations(joint: Joint, number: int, step: Transform, above: Motions) -> Motions:
    """How a body at rest accelerates where one freedom does, at 1: each one inward of it, then its own."""
    carried = ((key, step.inverse_motion(motion)) for key, motion in above)
    return (*carried, *(((number, i), column) for i, column in enumerate(joint.columns())))


def unit_forces(inertia: RigidInertia, motions: Motions) -> Columns:
    """The forces that these accelerations of the body take; neither speeds nor gravity are there."""
    return tuple((key, inertia @ motion) for key, motion in motions)


def column_rows(joint: Joint, number: int, forces: Columns, step: Transform) -> tuple[Entries, Columns]:
    """The joint's entries in the columns of all freedoms inward and of its own; what goes on to the parent.

    ``d_ji = z_j.f_j`` of inverse dynamics with ``qdd = e_i``; j inward of i by symmetry, Walker & Orin's second way.
    """
    totals: dict[Entry, Force] = {}
    for key, force in forces:
        totals[key] = totals[key] + force if key in totals else force
    own = tuple((key, force) for key, force in totals.items() if key[0] == number)
    inward = tuple((key, force) for key, force in totals.items() if key[0] != number)
    entries = rows_along(joint.columns(), joint.armature, number, own, inward)
    return entries, tuple((key, step.force(force)) for key, force in inward)


COLUMNS = Plan(
    "mass_matrix, column",
    (Buffer("X", IDENTITY_TRANSFORM), Buffer("motions", ()), Buffer("F", ()), Buffer("rows", ())),
    (
        base_to_tip(
            RELATIVE,
            Step(unit_accelerations, ("joint", "number", "X", "motions@parent"), ("motions",), "alpha for qdd = e_i"),
            Step(unit_forces, ("inertia", "motions"), ("F",), "F = M alpha"),
        ),
        tip_to_base(
            Step(
                column_rows,
                ("joint", "number", "F", "X"),
                ("rows", "F@parent"),
                "f = F + phi f, d_ji = H f   (6.2.4)",
            )
        ),
    ),
)


# ---- D times a vector: what conjugate gradients need -----------------------------------------------------------------

_MOVED = Step(VELOCITY.fn, ("joint", "X", "s@parent", "a"), ("s",), "s = phi* s(parent) + H* x")
_SHARED = (Buffer("X", IDENTITY_TRANSFORM), Buffer("s", Motion.zero()))
MASS_TIMES_PLAN = Plan(
    "mass_matrix times a vector",
    (*_SHARED, Buffer("f", Force.zero()), Buffer("T", ())),
    (
        base_to_tip(RELATIVE, _MOVED, Step(RESTING_FORCE.fn, ("inertia", "s"), ("f",), "f = M s")),
        tip_to_base(TORQUE, ROTORS),
    ),
)
"""``D x = H phi M phi* H* x + A x``: inverse dynamics without speeds and gravity; x comes as a."""


# ---- P with D = P^T P (6.2.10)-(6.2.15): what least squares need -----------------------------------------------------


def guarded(x: Scalar) -> Scalar:
    """1/x of what is positive, else 0: links without mass, rods without thickness."""
    holds = x > 0.0
    return where(holds, 1.0 / where(holds, x, 1.0), 0.0)


def triangular_root(moment: SymMat3) -> tuple[tuple[Scalar, ...], ...]:
    """Columns of the lower triangular L with ``L L^T = I``; a pivot that is not positive leaves its column zero."""
    rest = [list(row) for row in moment.rows()]
    columns = []
    for k in range(3):
        inverse = sqrt(guarded(rest[k][k]))
        column = [0.0] * k + [rest[i][k] * inverse for i in range(k, 3)]
        for i in range(k + 1, 3):
            for j in range(k + 1, 3):
                rest[i][j] = rest[i][j] - column[i] * column[j]
        columns.append(tuple(column))
    return tuple(columns)


def weighed_twist(inertia: RigidInertia, s: Motion) -> tuple[Scalar, ...]:
    """``N_i t_i``: ``N^T N = diag(I_c, m 1)`` (6.2.13), t_i the twist with the velocity of the mass centre (6.2.12)."""
    r = inertia.first * guarded(inertia.mass)
    w, v = s.angular, s.linear + s.angular.cross(r)
    about_center = triangular_root(inertia.moment - steiner(inertia.mass, r))
    return (*(Vec3(*column).dot(w) for column in about_center), *(v * sqrt(inertia.mass)))


def weighed_rotors(joint: Joint, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``sqrt(A) x``: rotors are further bodies, of one freedom each."""
    return tuple(sqrt(rotor) * one for rotor, one in zip(joint.armature, x, strict=True))


ROOT_TIMES_PLAN = Plan(
    "root of the mass matrix times a vector",
    (*_SHARED, Buffer("N t", ()), Buffer("rotors", ())),
    (
        base_to_tip(
            RELATIVE,
            _MOVED,
            Step(weighed_twist, ("inertia", "s"), ("N t",), "N t, t = T x   (6.2.12)-(6.2.14)"),
            Step(weighed_rotors, ("joint", "a"), ("rotors",), "sqrt(A) x"),
        ),
    ),
)
"""``P x = N T x`` (6.2.15), six numbers for every body, then one for every freedom's rotor; x comes as a."""


# ---- quantities ------------------------------------------------------------------------------------------------------


def _mass_times(of: Subject, given: Names) -> Recipe:
    return Recipe(MASS_TIMES_PLAN, vector_of(of.model, "T"), (of.model.nv,), MayMove.INERTIAS)


def _root_times(of: Subject, given: Names) -> Recipe:
    model = of.model
    rows = 6 * model.nbodies + sum(joint.kind.nv for joint in model.joints)

    def gather(values: Values) -> Iterator[Scalar]:
        return flat((*values.lists.get("N t", []), *values.lists.get("rotors", [])))

    return Recipe(ROOT_TIMES_PLAN, gather, (rows,), require=_require_roots)


def _require_roots(model: Model) -> None:
    """Inertias that no body has, as shares of rotors leave them, have no root."""
    for joint, scalars in zip(model.joints, model.inertias, strict=True):
        inertia = RigidInertia.from_components([float(x) for x in scalars.components()])
        if inertia.mass < 0.0 or not _has_root(inertia.moment_about_com()):
            raise NoSweepError(
                f"robot '{model.name}': least squares take a root of the inertia of every body, and that of the body "
                f"behind joint '{joint.name}' is not positive; rotors on links are such shares of inertia. "
                'Use method="composite"'
            )


def _has_root(moment: SymMat3) -> bool:
    columns = triangular_root(moment)
    apart = (abs(sum(c[i] * c[j] for c in columns) - moment.rows()[i][j]) for i in range(3) for j in range(3))
    return max(apart) <= 1e-9 * (abs(moment.xx) + abs(moment.yy) + abs(moment.zz))


_VECTOR = {"a": "a joint vector x, places as in v"}
MASS_TIMES = Quantity(
    "mass_matrix.times",
    ("q", "a"),
    _mass_times,
    FORCES,
    optional=("parameters",),
    words=_VECTOR,
    of_joints=True,
)
ROOT_TIMES = Quantity(
    "mass_matrix.root_times",
    ("q", "a"),
    _root_times,
    "sqrt(kg) m per unit of x and body about its mass centre in its axes, then sqrt(kg) m or sqrt(kg) per rotor",
    optional=("parameters",),
    words=_VECTOR,
    of_joints=True,
)
