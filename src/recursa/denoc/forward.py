"""Gaussian elimination from the last row up, ``I = U D U^T``, and forward dynamics in O(n). Saha (33)-(55).

Freedoms are eliminated last first, those of one joint too, so that U is unit upper triangular and D diagonal. What the
joints outward of joint i leave of the mass is Mh_i, the articulated-body inertia about C_i; mh_i is the pivot of row i.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

from recursa.book.on_axes import Centred
from recursa.denoc.inverse_dynamics import DRIFT, EXTERNAL, LINK_WRENCH, TORQUE
from recursa.denoc.mass_centers import AT_CENTER, BUFFERS, GEOMETRY, MOTION, Hinge, Shift, rigid
from recursa.dynamics.gathering import Entries, Entry
from recursa.dynamics.inverse import pushing
from recursa.dynamics.needs import divides_by_hinges
from recursa.dynamics.wrenches import DRIVE, driving
from recursa.errors import NoSweepError
from recursa.kernels.loop import Looped
from recursa.model.may_move import MayMove
from recursa.model.model import Joint
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar, reciprocal
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base
from recursa.walks.factor_pairs import FREEDOM_BY_FREEDOM_PAIRS, factor_recipe, freedom_by_freedom_entries


class Pivot(NamedTuple):
    """One eliminated freedom: its motion p, its pivot mh and 1/mh, and psi, the multipliers of the rows above."""

    p: Motion
    mh: Scalar
    inverse: Scalar
    psi: Force


Pivots = tuple[Pivot, ...]  # of one joint, in the order of its freedoms


@divides_by_hinges
def articulate(
    joint: Joint, children: ArticulatedInertia, link: Centred, p: Hinge, B: Shift
) -> tuple[ArticulatedInertia, Pivots, ArticulatedInertia]:
    """Mh_i, the joint's pivots, and ``B^T Mh_ii B``, which the parent feels (47)-(50); A is the armature."""
    own = rest = children + ArticulatedInertia.from_rigid(rigid(link))  # (50)
    done: list[Pivot] = []
    for column, rotor in zip(reversed(p), reversed(joint.armature), strict=True):
        psih = rest @ column  # psih = Mh p                                                        (47)
        mh = column.dot(psih) + rotor  # mh = p^T psih + A                                         (48)
        inverse = reciprocal(mh)
        psi = psih * inverse
        done.append(Pivot(column, mh, inverse, psi))
        rest = rest.minus_dyad(psih, psi)  # Mh_ii = Mh_i - psih psi^T, and Mh_ii p = 0            (50)
    return own, tuple(reversed(done)), B.articulated(rest)


ARTICULATE = Step(
    articulate,
    ("joint", "Mh", "link", "p", "B"),
    ("Mh", "psi", "Mh@parent"),
    "Mh = M + sum of B^T Mh_kk B, psih = Mh p, mh = p.psih + A, psi = psih/mh, Mh_ii = Mh - psih psi^T    (47)-(50)",
)
_BUFFERS = (*BUFFERS, Buffer("Mh", ArticulatedInertia.zero()), Buffer("psi", ()), Buffer("F", ()), Buffer("rows", ()))

ARTICULATED = Plan("articulated masses, denoc", _BUFFERS, (base_to_tip(*GEOMETRY), tip_to_base(ARTICULATE)))


# ---- U and D ---------------------------------------------------------------------------------------------------------

Columns = tuple[tuple[Entry, Force], ...]


def factor_rows(number: int, pivots: Pivots, below: Columns, B: Shift) -> tuple[Entries, Columns]:
    """``U_ik = p_i^T B_ki^T psi_k`` (46), k outward of i, or a later freedom of the same joint; 1 on the diagonal."""
    own = tuple(((number, i), pivot.psi) for i, pivot in enumerate(pivots))
    entries: list[tuple[tuple[Entry, Entry], Scalar]] = []
    for i, pivot in enumerate(pivots):
        here = (number, i)
        entries.append(((here, here), 1.0))
        entries += [((here, key), pivot.p.dot(psi)) for key, psi in (*own[i + 1 :], *below)]
    return tuple(entries), tuple((key, B.wrench(psi)) for key, psi in (*own, *below))


FACTOR_PLAN = Plan(
    "U, denoc",
    _BUFFERS,
    (
        base_to_tip(*GEOMETRY),
        tip_to_base(
            ARTICULATE,
            Step(factor_rows, ("number", "psi", "F", "B"), ("rows", "F@parent"), "U_ik = p_i^T B_ki^T psi_k    (46)"),
        ),
    ),
)


# ---- forward dynamics: phi, then the three steps (34)-(37) -----------------------------------------------------------


def bias_free(given: Sequence[Scalar], bias: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``phi = tau - ID(q, qd, 0)``, gravity and wrenches included."""
    return tuple(t - c for t, c in zip(given, bias, strict=True))


def first_step(pivots: Pivots, phi: Sequence[Scalar], eta: Force, B: Shift) -> tuple[tuple[Scalar, ...], Force]:
    """``U th = phi``: ``th_i = phi_i - p_i^T eta_{i,i+1}`` (34), ``eta_i = psi_i th_i + eta_{i,i+1}`` (35)."""
    th = []
    for (p, _, _, psi), value in zip(reversed(pivots), reversed(phi), strict=True):
        th.append(value - p.dot(eta))
        eta = eta + psi * th[-1]
    return tuple(reversed(th)), B.wrench(eta)


def second_step(pivots: Pivots, th: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``D thb = th`` (36)."""
    return tuple(value * pivot.inverse for value, pivot in zip(th, pivots, strict=True))


def third_step(pivots: Pivots, thb: Sequence[Scalar], B: Shift, parent: Motion) -> tuple[tuple[Scalar, ...], Motion]:
    """``U^T qdd = thb``: ``qdd_i = thb_i - psi_i^T mu_{i,i-1}``, ``mu_i = p_i qdd_i + mu_{i,i-1}`` (37)."""
    mu, qdd = B.twist(parent), []
    for (p, _, _, psi), value in zip(pivots, thb, strict=True):
        qdd.append(value - mu.dot(psi))
        mu = mu + p * qdd[-1]
    return tuple(qdd), mu


PHI = Step(bias_free, ("tau", "T"), ("phi",), "phi = tau - C qd - gravity")
FIRST = Step(first_step, ("psi", "phi", "eta", "B"), ("th", "eta@parent"), "U th = phi                (34), (35)")
SECOND = Step(second_step, ("psi", "th"), ("thb",), "D thb = th                (36)")
THIRD = Step(third_step, ("psi", "thb", "B", "mu@parent"), ("qdd", "mu"), "U^T qdd = thb             (37)")


@cache
def forward_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """Accelerations for given torques; the equation of motion's matrices are never formed."""
    drive, driven = driving(False, springs)
    bring, external = pushing(AT_CENTER, EXTERNAL, wrenches=wrenches)
    buffers = (
        *_BUFFERS,
        DRIVE,
        *(Buffer(name, ()) for name in ("phi", "th", "thb", "qdd")),
        Buffer("eta", Force.zero()),
        Buffer("mu", Motion.zero()),
    )
    sweeps = (
        *bring,
        base_to_tip(*MOTION, DRIFT, LINK_WRENCH, *external),
        tip_to_base(TORQUE, *drive, PHI.reading(tau=driven), ARTICULATE, FIRST, SECOND),
        base_to_tip(THIRD),
    )
    return Plan("forward_dynamics, denoc", buffers, sweeps)


# ---- quantities ------------------------------------------------------------------------------------------------------


def require_independent(of: Subject) -> None:
    """Raise where joints are tied."""
    if of.tied:
        raise NoSweepError(
            f"robot '{of.model.name}' has tied joints, and the elimination is that of trees with independent joints. "
            f"{of.model.how_to_untie}, or use reverse_gaussian_elimination(robot.mass_matrix(q))"
        )


def _factor(of: Subject, given: Names) -> Recipe:
    require_independent(of)
    walks = Looped(FREEDOM_BY_FREEDOM_PAIRS, partial(freedom_by_freedom_entries, of.model))
    return factor_recipe(FACTOR_PLAN, MayMove.FRAMES, walks, of.model)


FACTOR = Quantity(
    "denoc.factor",
    ("q",),
    _factor,
    "U of the mass matrix U D U^T; rows and columns as in v",
    on_constraints=refusals.RESPONSES,
)
