"""The Coriolis terms ``C(q, nu)`` and ``C(q, xi)`` of the diagonalised equations, also as Jain & Rodriguez write them.

No gravity, no torque: ``nu C(q, nu) = 0`` (7.3). The short forms are those of ``equations.py``. The
paper's, with S = crf(H* v) where it prints the rate of the joint's own angular velocity, which is right
for revolute joints alone:

    (7.1)   C(q, nu) = 1/2 inv(W) H psi [E_psi lam - lam E_psi* - S P + P S* - 2 V~* M] V     one freedom a joint
    (7.10)  C(q, xi) = H psi [lam H* xi - (V~* M + S P) V]                                    one freedom a joint
    (7.9)   C(q, xi) = H psi [P_dot H* xi - E_phi S P+ V+ - V~* M V]                          every joint

``lam = P_dot + S P + P S*`` (6.4), and ``-V~* M V = crf(V) M V``. With one freedom ``H S = 0``, hence
``tau_bar S = S``, and all of it holds with armature as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from recursa.diagonal.equations_of_motion import (
    INERTIA_RATE,
    MOTION_BUFFERS,
    behind_hinge,
    carried,
    moving_moments,
    normalized_acceleration,
)
from recursa.diagonal.rates_and_moments import (
    ARTICULATE,
    RATES_OF_NU,
    RATES_OF_XI,
    ROOTS,
    Eliminations,
    Numbers,
)
from recursa.dynamics.articulated_bodies import BIAS_FORCE, Elimination, filtered
from recursa.dynamics.kinematics import RELATIVE
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array

# ---- short forms -----------------------------------------------------------------------------------------------------


def without_torque(moving: Callable[..., tuple[Numbers, Force]]) -> Callable[..., tuple[Numbers, Force]]:
    """A step of the equations of motion without torque and gravity: what it finds then is minus the Coriolis term."""

    def short(joint: Joint, done: Eliminations, *known: Any) -> tuple[Numbers, Force]:
        *motion, step = known
        found, behind = moving(joint, done, *motion, Motion.zero(), (0.0,) * len(done), step)
        return tuple(-x for x in found), behind

    return short


# ---- the paper's forms -----------------------------------------------------------------------------------------------


def algorithm_7_1(
    joint: Joint,
    done: tuple[Elimination],
    r: Numbers,
    inertia: ArticulatedInertia,
    children: ArticulatedInertia,
    y: Force,
    bias: Force,
    v: Numbers,
    velocity: Motion,
    step: Transform,
) -> tuple[Numbers, ArticulatedInertia, Force]:
    """``C = 1/2 r H y``, and for the parent ``psi lam psi*`` and ``psi (y + lam V)`` (7.2)."""
    (elimination,), (speed,) = done, v
    column, u, inverse_d = elimination
    own = column * speed  # H* v
    lam = children + carried(joint, inertia, v)
    behind = velocity - own  # V+
    free = behind - column * (behind.dot(u) * inverse_d)  # tau_bar* V+
    skew = own.cross_force(inertia @ velocity) + inertia @ own.cross_motion(velocity)  # (S P - P S*) V
    y = y + bias * 2.0 - skew - lam @ free
    _, passed = behind_hinge(elimination, lam, joint.armature[0])
    carried_on = filtered(done, (0.0,), y + lam @ velocity)[1]
    return (0.5 * r[0] * column.dot(y),), step.articulated(passed), step.force(carried_on)


def equation_7_10(
    joint: Joint,
    done: tuple[Elimination],
    inertia: ArticulatedInertia,
    rate: ArticulatedInertia,
    y: Force,
    bias: Force,
    xi: Numbers,
    v: Numbers,
    velocity: Motion,
    step: Transform,
) -> tuple[Numbers, Force]:
    """``C = H y``, ``y = sum of psi y + lam H* xi - (V~* M + S P) V``."""
    lam = rate + carried(joint, inertia, v)
    pushed = joint.motion(v).cross_force(inertia @ velocity)  # S P V
    y = y + lam @ joint.motion(xi) + bias - pushed
    return joint.project(y), step.force(filtered(done, (0.0,), y)[1])


def equation_7_9(
    joint: Joint,
    done: Eliminations,
    rest: ArticulatedInertia,
    rate: ArticulatedInertia,
    y: Force,
    bias: Force,
    xi: Numbers,
    v: Numbers,
    velocity: Motion,
    step: Transform,
) -> tuple[Numbers, Force]:
    """``C = H y``, ``y = sum of phi (tau_bar y - S P+ V+) + P_dot H* xi - V~* M V``."""
    own = joint.motion(v)
    y = y + rate @ joint.motion(xi) + bias
    behind = filtered(done, (0.0,) * len(done), y)[1] - own.cross_force(rest @ (velocity - own))
    return joint.project(y), step.force(behind)


def three_causes(
    joint: Joint,
    done: Eliminations,
    rest: ArticulatedInertia,
    rate: ArticulatedInertia,
    outward: Force,
    inward: Force,
    own: Force,
    bias: Force,
    xi: Numbers,
    v: Numbers,
    velocity: Motion,
    step: Transform,
) -> tuple[Numbers, Force, Force, Force]:
    """(7.9) with its three terms apart: one after the other, ``H psi`` of each."""
    across, none = joint.motion(v), (0.0,) * len(done)
    outward = outward + rate @ joint.motion(xi)
    own = own + bias
    pushed = across.cross_force(rest @ (velocity - across))  # S P+ V+
    causes = tuple(x for y in (outward, inward, own) for x in joint.project(y))
    outward, inward, own = (filtered(done, none, y)[1] for y in (outward, inward, own))
    return causes, step.force(outward), step.force(inward - pushed), step.force(own)


# ---- plans -----------------------------------------------------------------------------------------------------------

_BUFFERS = (*MOTION_BUFFERS, Buffer("lam", ArticulatedInertia.zero()), Buffer("y", Force.zero()))


def _plan(name: str, first: tuple[Step, ...], rates: Step, *inward: Step) -> Plan:
    return Plan(
        name,
        _BUFFERS,
        (tip_to_base(RELATIVE, ARTICULATE, *first), base_to_tip(rates, BIAS_FORCE), tip_to_base(*inward)),
    )


NORMALIZED: dict[str, Plan] = {
    "short": _plan(
        "C(q, nu)",
        (ROOTS,),
        RATES_OF_NU,
        INERTIA_RATE,
        Step(
            without_torque(normalized_acceleration),
            ("joint", "elimination", "r", "P+", "slope", "zeta", "rate", "V", "f", "X"),
            ("C", "f@parent"),
            "C = r (H y - H P_dot (V - H* xi/2)), y(parent) += phi (tau_bar y + P+ a)",
        ),
    ),
    "7.1": _plan(
        "C(q, nu), Algorithm 7.1",
        (ROOTS,),
        RATES_OF_NU,
        Step(
            algorithm_7_1,
            ("joint", "elimination", "r", "P", "lam", "y", "f", "rate", "V", "X"),
            ("C", "lam@parent", "y@parent"),
            "C = 1/2 inv(W) H y, lam(parent) += psi lam psi*, y(parent) += psi (y + lam V)    (7.2)",
        ),
    ),
}
UNNORMALIZED: dict[str, Plan] = {
    "short": _plan(
        "C(q, xi)",
        (),
        RATES_OF_XI,
        Step(
            without_torque(moving_moments),
            ("joint", "elimination", "P", "P+", "Pdot", "joint:xi", "rate", "V", "f", "X"),
            ("C", "f@parent"),
            "C = H y - H P_dot (V - H* xi), y(parent) += phi (tau_bar y + P+ a)",
        ),
        INERTIA_RATE,
    ),
    "7.9": _plan(
        "C(q, xi), (7.9)",
        (),
        RATES_OF_XI,
        Step(
            equation_7_9,
            ("joint", "elimination", "P+", "Pdot", "y", "f", "joint:xi", "rate", "V", "X"),
            ("C", "y@parent"),
            "C = H psi [P_dot H* xi - E_phi S P+ V+ - V~* M V]    (7.9)",
        ),
        INERTIA_RATE,
    ),
    "7.10": _plan(
        "C(q, xi), (7.10)",
        (),
        RATES_OF_XI,
        Step(
            equation_7_10,
            ("joint", "elimination", "P", "Pdot", "y", "f", "joint:xi", "rate", "V", "X"),
            ("C", "y@parent"),
            "C = H psi [lam H* xi - (V~* M + S P) V]    (7.10)",
        ),
        INERTIA_RATE,
    ),
}
CAUSES = Plan(
    "C(q, xi) by its three causes",
    (*_BUFFERS, *(Buffer(name, Force.zero()) for name in ("y_out", "y_in", "y_own")), Buffer("causes", ())),
    (
        tip_to_base(RELATIVE, ARTICULATE),
        base_to_tip(RATES_OF_XI, BIAS_FORCE),
        tip_to_base(
            Step(
                three_causes,
                ("joint", "elimination", "P+", "Pdot", "y_out", "y_in", "y_own", "f", "joint:xi", "rate", "V", "X"),
                ("causes", "y_out@parent", "y_in@parent", "y_own@parent"),
                "H psi P_dot H* xi, -H psi E_phi S P+ V+, -H psi V~* M V    (7.9)",
            ),
            INERTIA_RATE,
        ),
    ),
)
ONE_FREEDOM = ("7.1", "7.10")
"""The forms that hold for joints with one freedom."""


# ---- -----------------------------------------------------------------------------------------------------------------
# The mass matrix as a metric: its connection and its curvature. When can an arm be decoupled for good?
#
# Jain & Rodriguez, Lemma 2.2: coordinates in which the mass matrix is constant exist near a configuration exactly where
# the curvature tensor is zero. The paper has coordinates; speeds of spherical, planar and free joints are no rates of
# coordinates, so everything here is along the fields e_i of unit speeds, whose brackets are ``[e_i, e_j] = c_ijk e_k``
# (:attr:`JointKind.structure <recursa.model.joint_kind.JointKind.structure>`). Where all brackets are zero these are
# the paper's formulas. Plain arrays; sensitivities and Christoffel symbols come from ``metric_quantities.py``.


def structure_of(model: Model) -> list[tuple[int, int, int, float]]:
    """Structure constants (i, j, k, c) of a robot's speeds: those of its joints, which do not mix."""
    return [
        (joint.v_start + i, joint.v_start + j, joint.v_start + k, c)
        for joint in model.joints
        if joint.independent
        for i, j, k, c in joint.kind.structure
    ]


def curvature_terms(rates: Array, symbols: Array, mass_inverse: Array, model: Model) -> tuple[Array, Array]:
    """The two parts of R_hijk: from the rates ``e_j [ki, h]`` (..., j, k, i, h), and from the symbols themselves.

    R_hijk = <R(e_j, e_k) e_i, e_h>
           = e_j [ki,h] - e_k [ji,h] - c_jkm [mi,h]
             + [ji,.] inv(M) [kh,.] - [ki,.] inv(M) [jh,.]                          with coordinates, c = 0: (2.5)
    """
    bent = np.einsum("...jkih->...hijk", rates) - np.einsum("...kjih->...hijk", rates)
    for j, k, m, c in structure_of(model):
        bent[..., j, k] -= c * np.swapaxes(symbols[..., m, :, :], -1, -2)
    raised = symbols @ mass_inverse[..., None, :, :]
    turned = np.einsum("...jil,...khl->...hijk", raised, symbols) - np.einsum("...kil,...jhl->...hijk", raised, symbols)
    return bent, turned


def in_orthonormal_axes(tensor: Array, inverse_factor: Array) -> Array:
    """R with all four indices along unit total rates: ``v = inv(m)* nu``, so entries no longer depend on units of q."""
    t = inverse_factor
    return np.einsum("...abcd,...ha,...ib,...jc,...kd->...hijk", tensor, t, t, t, t, optimize=True)


@dataclass(frozen=True)
class Flatness:
    """What sampled curvature says about a robot, made by :meth:`Diagonal.is_flat`.

    A curvature that is not zero at one configuration proves that no coordinates make the mass matrix constant. Zero at
    every sample proves nothing: it only found no obstacle.

    - ``flat``: whether the curvature was zero, to ``tolerance``, at every sample.
    - ``samples``: how many configurations were looked at.
    - ``largest``: the largest entry of R along unit total rates, in 1/(kg m^2); of two freedoms Gauss's curvature.
    - ``relative``: the largest of them compared with the terms that cancel in it; what ``tolerance`` is about.
    - ``at``: the configuration where that was.
    - ``verdict``: the same in words.
    """

    flat: bool
    samples: int
    largest: float
    relative: float
    at: Array
    tolerance: float
    verdict: str

    def __bool__(self) -> bool:
        return self.flat

    def __str__(self) -> str:
        return self.verdict
