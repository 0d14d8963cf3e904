"""Both sides of every hinge of a free flyer: articulated inertias and residual forces outward and inward of it.

Jain & Rodriguez, Algorithms 2.2, 2.3, 3.1 and 3.2 and Lemmas 3.1, 3.2 and 4.1, from the messages of
``base_invariant.py``. Weight and wrenches are forces in b, as in ``dynamics/filter_and_smoother.py``, so that
accelerations are true ones and z is the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.articulated_bodies import BIAS_ACCELERATION, FALL, Elimination
from recursa.dynamics.factorization import six_by_six
from recursa.dynamics.filter_and_smoother import FORCE_WITH_WEIGHT
from recursa.dynamics.gathering import flat
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.wrenches import Losses, driving, known_losses
from recursa.free.base_invariant import Message, branches, message_plan
from recursa.free.floating_base import free_flyer
from recursa.model.model import WORLD, Joint, Model
from recursa.model.rebase import require_free_flyer
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_INERTIAS, _FORCES = 4, 5  # of a hinge, in the order of Sides; behind them a row for its torque


class Sides(NamedTuple):
    """What a step knows of one hinge."""

    P: ArticulatedInertia
    P_plus: ArticulatedInertia
    S_plus: ArticulatedInertia
    S: ArticulatedInertia
    z: Force
    z_s: Force
    z_s_plus: Force
    outboard: Force
    inboard: Force
    epsilon_s: tuple[Scalar, ...]


def sides(
    joint: Joint,
    torque: Sequence[Scalar],
    here: Message,
    rest: Message,
    told: Message | None,
    done: tuple[Elimination, ...],
    bias: Motion,
    step: Transform,
    acceleration: Motion,
) -> Sides:
    """Both sides of a hinge; that of the base has nothing beyond it, so S is all there is."""
    behind = here.inertia
    for _, u, inverse_d in done:
        behind = behind.minus_dyad(u, u * inverse_d)
    before, residual, innovations = rest.inertia, rest.force, (0.0,) * len(torque)
    if told is not None:
        before = step.inverse.articulated(told.inertia)
        residual = step.inverse.force(told.force) - before @ bias
        innovations = tuple(t + x for t, x in zip(torque, joint.project(residual), strict=True))
    return Sides(
        here.inertia,
        behind,
        before,
        rest.inertia,
        here.force + here.inertia @ bias,
        rest.force,
        residual,
        here.inertia @ acceleration + here.force,
        -(rest.inertia @ acceleration + rest.force),
        innovations,
    )


@cache
def dual_plan(*, branching: bool, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Messages inward and outward, and what they say of every hinge."""
    drive, torque = driving(losses, springs)
    told = "told" if branching else "around@parent"
    collect = Step(
        sides,
        ("joint", torque, "here", "rest", told, "elimination", "c", "X", "alpha"),
        ("sides",),
        "P, P+, S+, S, z, z_s, z_s+, eps_s = T + H z_s+; f = P (alpha - a) + z, -f = S alpha + z_s    (18), (20), (24)",
    )
    return message_plan(
        "both sides of hinges",
        (RELATIVE, VELOCITY, BIAS_ACCELERATION, FALL, FORCE_WITH_WEIGHT),
        (collect,),
        (Buffer("sides", ()),),
        branching=branching, torque=torque, drive=drive, falling=False, wrenches=wrenches,
    )  # fmt: skip


def _dual_quantities(of: Subject, given: Names, *, losses: Losses = False) -> Recipe:
    require_free_flyer(of.model, "rc.free.dual_quantities")
    options = {"wrenches": "wrenches" in given, "springs": of.model.has_springs}
    plan = dual_plan(branching=branches(of.model), losses=losses, **options)
    return Recipe(plan, _rows, (of.model.nbodies, 6 * _INERTIAS + _FORCES + 1, 6))


def _rows(values: Values) -> Iterator[Scalar]:
    for hinge in values.lists.get("sides", []):
        yield from flat(map(six_by_six, hinge[:_INERTIAS]))
        yield from flat(force.components() for force in hinge[_INERTIAS : _INERTIAS + _FORCES])
        yield from (*hinge.epsilon_s, *(0.0,) * (6 - len(hinge.epsilon_s)))


DUAL_QUANTITIES = Quantity(
    "free.dual_quantities",
    ("q", "v", "tau"),
    _dual_quantities,
    "per body the rows of P, P+, S+ and S, then z, z_s, z_s+ and the force from both sides, in link axes at the link "
    "origin, and eps_s, one number for every freedom of its joint; SI",
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
    on_constraints=refusals.ACCELERATIONS,
)


class DualQuantities(NamedTuple):
    """Both sides of every hinge, in link axes at the origin of its link.

    Inertias are (..., nbodies, 6, 6), forces (..., nbodies, 6). f is the wrench (moment, force) that the parent exerts
    on link k across hinge k, alpha the true acceleration of the link in its axes ("spatial"), a = crm(V) H* v. Weight
    and wrenches are forces in z and z_s, as in :meth:`Robot.filtering`.

    - ``P``, ``z``: what lies outward of the hinge, link k included: ``f = P (alpha - a) + z``; ``P_plus`` is what is
      left of P behind the hinge, which the parent feels.
    - ``S``, ``z_s``: all the rest, as link k feels it across the hinge: ``-f = S alpha + z_s``; ``S_plus`` is the same
      before the hinge takes its part. At the base there is nothing beyond but the armature of its joint, if any.
    - ``outboard``, ``inboard``: f by the first and by the second; the same but for rounding.
    - ``z_s_plus``: the residual before the hinge takes its part, ``z_s = z_s_plus + G_s epsilon_s`` (18).
    - ``D_s`` (..., nv, nv), block diagonal, ``G_s`` (..., 6, nv), a column per freedom: ``H S_plus H* + A`` and
      ``-S_plus H* inv(D_s)`` (16), the duals of D and G of :meth:`Robot.factorization`.
    - ``epsilon_s``, ``nu_s`` (..., nv): ``T + H z_s_plus`` and ``inv(D_s) epsilon_s`` (18). Joint accelerations are
      ``nu_s - G_s* alpha`` (26). The base, beyond which there is nothing, has zeros in these four.
    """

    P: Array
    P_plus: Array
    S_plus: Array
    S: Array
    z: Array
    z_s: Array
    outboard: Array
    inboard: Array
    z_s_plus: Array
    D_s: Array
    G_s: Array
    epsilon_s: Array
    nu_s: Array

    @property
    def inertia(self) -> Array:
        """The operational inertia of every link, ``Lambda = P + S`` (..., nbodies, 6, 6): Lemma 4.1 (37)."""
        return self.P + self.S


def dual_quantities(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Any = None,
    losses: Losses = False,
    threads: int | None = None,
) -> DualQuantities:
    """What each hinge of a free flyer holds together, seen from both sides: Jain & Rodriguez (12)-(24).

    The articulated inertia P and residual z of the bodies outward of the hinge, the dual S and z_s of all the others,
    and the force across the hinge by either. ``wrenches`` and ``losses`` (True, "damping", "friction") as for
    :meth:`Robot.forward_dynamics`.
    Bodies are in the order of ``robot.joint_names``. Cost: O(n).

    >>> import numpy as np, recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> hinges = rc.free.dual_quantities(robot, q, v, np.zeros(8))
    >>> bool(np.allclose(hinges.inertia[-1], robot.operational_inertia(q, "link2")))     # Lambda = P + S
    True
    >>> bool(np.allclose(hinges.outboard, hinges.inboard))
    True
    """
    free_flyer(robot, "dual_quantities")
    arrays = {"q": q, "v": v, "tau": tau, "wrenches": wrenches}
    rows = robot.evaluator.evaluate(DUAL_QUANTITIES, arrays, {"losses": known_losses(losses)}, threads=threads)
    P, P_plus, S_plus, S = (rows[..., 6 * k : 6 * k + 6, :].copy() for k in range(_INERTIAS))
    z, z_s, z_s_plus, outboard, inboard = (rows[..., 6 * _INERTIAS + k, :].copy() for k in range(_FORCES))
    dual = _dual_factors(robot.model, S_plus, rows[..., -1, :])
    return DualQuantities(P, P_plus, S_plus, S, z, z_s, outboard, inboard, z_s_plus, *dual)


def _dual_factors(model: Model, S_plus: Array, innovations: Array) -> tuple[Array, Array, Array, Array]:
    """D_s, G_s, epsilon_s and nu_s, joint by joint; zeros for the base."""
    batch, dtype = S_plus.shape[:-3], S_plus.dtype
    D_s, G_s = np.zeros((*batch, model.nv, model.nv), dtype), np.zeros((*batch, 6, model.nv), dtype)
    epsilon_s, nu_s = np.zeros((*batch, model.nv), dtype), np.zeros((*batch, model.nv), dtype)
    for k, joint in enumerate(model.joints):
        if joint.parent == WORLD:
            continue
        own = slice(joint.v_start, joint.v_start + joint.kind.nv)
        H = np.array([column.components() for column in joint.columns()], dtype)
        U = S_plus[..., k, :, :] @ H.T
        D_s[..., own, own] = D = H @ U + np.diag(np.array(joint.armature, dtype))
        G_s[..., own] = -np.swapaxes(np.linalg.solve(D, np.swapaxes(U, -1, -2)), -1, -2)
        epsilon_s[..., own] = eps = innovations[..., k, : joint.kind.nv]
        nu_s[..., own] = np.linalg.solve(D, eps[..., None])[..., 0]
    return D_s, G_s, epsilon_s, nu_s
