"""The diagonalised equations of motion: ``nu_dot = eps - C(q, nu)`` and ``D xi_dot = kappa - C(q, xi)``.

Jain & Rodriguez, Algorithms 6.1 and 8.1. One right-hand side is three sweeps: inward P, D, G; outward the joint rates
and V; inward the rate of P and the accelerations. Both terms come out of one recursion. With

    S = crf(H* v)      a = S* V+      b = crf(V) M V      (a dot on P: its derivative in body axes)

    P_dot(parent) = sum of phi (tau_bar P_dot tau_bar* + S P+ + P+ S*) phi*                            (6.5), general
    y(parent)     = b + sum of phi (tau_bar y + G T + P+ a)                                            y = z - P a
    D xi_dot      = T - H y + H P_dot (V - H* xi) + H P g                                              (8.3), short

which follows from ``xi = v + G* V+`` and ``G_dot = tau_bar P_dot H* inv(D)``: the accelerations of the parents drop
out, so no sweep goes outward again. ``H P g`` is gravity: the joint feels ``P`` fall. The lines hold with armature, for
every joint whose H is constant in body axes, and for trees.

Freedom by freedom (``rates_and_moments.py``), with ``u = P s``, ``w = P_dot s`` of the freedom s, V that of the body as
far as s and the freedoms after it move it, and ``zeta = r nu``, the normalised acceleration is

    nu_dot = r (T - s y + w (V - s zeta/2) + u g)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from recursa.diagonal.rates_and_moments import (
    ARTICULATE,
    BUFFERS,
    FREEDOM_RATES,
    RATES_OF_NU,
    RATES_OF_XI,
    ROOTS,
    Eliminations,
    Numbers,
)
from recursa.dynamics.articulated_bodies import (
    BIAS_FORCE,
    FALL,
    Elimination,
    filtered,
    innovated,
    smoothed,
    without_hinge,
)
from recursa.dynamics.inverse import EXTERNAL, pushing
from recursa.dynamics.kinematics import LINK_ACCELERATION, RELATIVE
from recursa.dynamics.wrenches import Losses, driving
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Sweep, base_to_tip, each_link, tip_to_base

# ---- Algorithm 6.1 ---------------------------------------------------------------------------------------------------


def inertia_rate(
    joint: Joint,
    done: Eliminations,
    rest: ArticulatedInertia,
    rate: ArticulatedInertia,
    v: Sequence[Scalar],
    step: Transform,
) -> tuple[tuple[Force, ...], ArticulatedInertia]:
    """``w = P_dot s`` of every freedom when its turn comes, and the share of P_dot at the parent (6.5)."""
    slopes = []
    for elimination, rotor in zip(done, joint.armature, strict=True):
        slope, rate = behind_hinge(elimination, rate, rotor)
        slopes.append(slope)
    return tuple(slopes), step.articulated(rate + carried(joint, rest, v))


def behind_hinge(elimination: Elimination, rate: ArticulatedInertia, rotor: Scalar) -> tuple[Force, ArticulatedInertia]:
    """``w = P_dot s`` and ``tau_bar P_dot tau_bar* = P_dot - g h* - h g*`` with g = u/d, h = w - (s w) g/2."""
    column, u, inverse_d = elimination
    slope, gain = rate @ column, u * inverse_d
    half = slope - gain * (0.5 * column.dot(slope))
    return slope, without_hinge(rate.minus_pair(gain, half), column, rotor)


def carried(joint: Joint, inertia: ArticulatedInertia, v: Sequence[Scalar]) -> ArticulatedInertia:
    """``S P + P S*``, S = crf(H* v): what the joint's own motion does to an inertia, seen from the parent."""
    columns = joint.columns()
    if len(columns) == 1:
        return inertia.carried_along(columns[0]) * v[0]
    return inertia.carried_along(joint.motion(v))


# ---- the equations of motion -----------------------------------------------------------------------------------------


def normalized_acceleration(
    joint: Joint,
    done: Eliminations,
    r: Numbers,
    rest: ArticulatedInertia,
    slopes: tuple[Force, ...],
    zeta: Numbers,
    v: Sequence[Scalar],
    velocity: Motion,
    force: Force,
    fall: Motion,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[Numbers, Force]:
    """``nu_dot = r (T - s y + w (V - s zeta/2) + u g)``, and ``y + G (T - H y) + P+ a`` carried to the parent."""
    innovations, _, behind = innovated(done, torque, force)
    at_freedoms = _velocities(done, v, velocity)
    return tuple(
        root * (eps + (at - column * (0.5 * rate)).dot(slope) + fall.dot(u))
        for (column, u, _), root, eps, slope, rate, at in zip(
            done, r, innovations, slopes, zeta, at_freedoms, strict=True
        )
    ), step.force(behind + rest @ velocity.cross_motion(joint.motion(v)))


def _velocities(done: Eliminations, v: Sequence[Scalar], velocity: Motion) -> Iterator[Motion]:
    """V at each freedom: without the rates of those before it, which are farther out."""
    for (column, _, _), speed in zip(done, v, strict=True):
        yield velocity
        velocity = velocity - column * speed


def moving_moments(
    joint: Joint,
    done: Eliminations,
    inertia: ArticulatedInertia,
    rest: ArticulatedInertia,
    rate: ArticulatedInertia,
    xi: Numbers,
    v: Sequence[Scalar],
    velocity: Motion,
    force: Force,
    fall: Motion,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[Numbers, Force]:
    """``D xi_dot = T - H y + H P_dot (V - H* xi) + H P g``, and y+ carried to the parent."""
    turning = joint.project(rate @ (velocity - joint.motion(xi)) + inertia @ fall - force)
    behind = filtered(done, torque, force)[1] + rest @ velocity.cross_motion(joint.motion(v))
    return tuple(t + x for t, x in zip(torque, turning, strict=True)), step.force(behind)


def divided(done: Eliminations, x: Numbers) -> Numbers:
    """``inv(D) x``: the filter and the smoother of a joint that is alone."""
    return smoothed(done, filtered(done, x, Force.zero())[0], Motion.zero())[0]


# ---- forward dynamics: Algorithm 8.1 from joint rates to joint accelerations -----------------------------------------


def freedom_accelerations(
    joint: Joint,
    done: Eliminations,
    rest: ArticulatedInertia,
    slopes: tuple[Force, ...],
    zeta: Numbers,
    v: Sequence[Scalar],
    velocity: Motion,
    force: Force,
    fall: Motion,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[Numbers, Numbers, Force]:
    """``zeta_dot = inv(d) (T - s y + u g) + G_dot* V+``, the last term by itself, and y+ at the parent: (8.3)."""
    _, nu, behind = innovated(done, torque, force)
    turning = tuple(
        (at - column * rate).dot(slope) * inverse_d
        for (column, _, inverse_d), slope, rate, at in zip(
            done, slopes, zeta, _velocities(done, v, velocity), strict=True
        )
    )
    accelerations = tuple(
        x + fall.dot(u) * inverse_d + turn for x, (_, u, inverse_d), turn in zip(nu, done, turning, strict=True)
    )
    return accelerations, turning, step.force(behind + rest @ velocity.cross_motion(joint.motion(v)))


def joint_accelerations(
    joint: Joint,
    done: Eliminations,
    accelerations: Numbers,
    turning: Numbers,
    v: Sequence[Scalar],
    velocity: Motion,
    step: Transform,
    parent: Motion,
) -> tuple[Numbers, Motion]:
    """``qdd = xi_dot - G_dot* V+ - G* (phi* alpha(parent) + a)``, and the body's own acceleration."""
    known = tuple(x - turn for x, turn in zip(accelerations, turning, strict=True))
    return smoothed(done, known, step.inverse_motion(parent) + velocity.cross_motion(joint.motion(v)))


# ---- plans -----------------------------------------------------------------------------------------------------------


INERTIA_RATE = Step(
    inertia_rate,
    ("joint", "elimination", "P+", "Pdot", "rate", "X"),
    ("slope", "Pdot@parent"),
    "P_dot(parent) += phi (tau_bar P_dot tau_bar* + S P+ + P+ S*) phi*    Algorithm 6.1 (6.5)",
)
NORMALIZED_ACCELERATION = Step(
    normalized_acceleration,
    ("joint", "elimination", "r", "P+", "slope", "zeta", "rate", "V", "f", "fall", "T", "X"),
    ("eps", "f@parent"),
    "nu_dot = r (T - H y + H P_dot (V - H* xi/2) + H P g), y(parent) += phi (tau_bar y + G T + P+ a)    (3.1), (8.3)",
)
MOVING_MOMENTS = Step(
    moving_moments,
    ("joint", "elimination", "P", "P+", "Pdot", "joint:xi", "rate", "V", "f", "fall", "T", "X"),
    ("kappa", "f@parent"),
    "D xi_dot = T - H y + H P_dot (V - H* xi) + H P g, y(parent) += phi (tau_bar y + G T + P+ a)    (8.3)",
)

DIVIDED = Step(divided, ("elimination", "kappa"), ("eps",), "xi_dot = inv(D) (D xi_dot)")
FREEDOM_ACCELERATIONS = Step(
    freedom_accelerations,
    ("joint", "elimination", "P+", "slope", "zeta", "rate", "V", "f", "fall", "T", "X"),
    ("eps", "turn", "f@parent"),
    "xi_dot = inv(D) (T - H y + H P g) + G_dot* V+, y(parent) += phi (tau_bar y + G T + P+ a)    (8.3)",
)

MOTION_BUFFERS = (
    *BUFFERS,
    Buffer("Pdot", ArticulatedInertia.zero()),
    Buffer("slope", ()),
    Buffer("kappa", ()),
    Buffer("C", ()),
    Buffer("turn", ()),
    Buffer("A", Motion.zero()),
)


@cache
def equations_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """``v`` (rate) and ``nu_dot`` (eps) at q, nu for torques tau, gravity included."""
    outward = (RATES_OF_NU, FALL, BIAS_FORCE)
    inward = (INERTIA_RATE, NORMALIZED_ACCELERATION)
    sweeps = _sweeps((ARTICULATE, ROOTS), outward, inward, wrenches, driving(losses, springs, "rate"))
    return Plan("diagonalised equations of motion", MOTION_BUFFERS, sweeps)


@cache
def unnormalized_equations_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """``v`` (rate) and ``xi_dot`` (eps) at q, xi for torques tau, gravity included."""
    outward = (RATES_OF_XI, FALL, BIAS_FORCE)
    inward = (MOVING_MOMENTS, DIVIDED, INERTIA_RATE)
    sweeps = _sweeps((ARTICULATE,), outward, inward, wrenches, driving(losses, springs, "rate"))
    return Plan("diagonalised equations of motion, unnormalised", MOTION_BUFFERS, sweeps)


def _sweeps(
    first: tuple[Step, ...],
    outward: tuple[Step, ...],
    inward: tuple[Step, ...],
    wrenches: bool,
    driven: tuple[tuple[Step, ...], str],
) -> tuple[Sweep, ...]:
    """``inward`` reads T, in place of which it gets what losses and springs leave of torques."""
    drive, torque = driven
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    return (
        *bring,
        tip_to_base(RELATIVE, *first),
        base_to_tip(*outward, *external),
        tip_to_base(*drive, *(step.reading(T=torque) for step in inward)),
    )


@cache
def forward_plan(*, wrenches: bool = False, links: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Accelerations by way of total rates, Algorithm 8.1 with a consistent V; with ``links`` those of all links."""
    inward = tuple(step.reading(rate="v") for step in (INERTIA_RATE, FREEDOM_ACCELERATIONS))
    back = Step(
        joint_accelerations,
        ("joint", "elimination", "eps", "turn", "v", "V", "X", "A@parent"),
        ("qdd", "A"),
        "qdd = xi_dot - G_dot* V+ - G* (phi* alpha(parent) + a), alpha = phi* alpha(parent) + H* qdd + a",
    )
    sweeps = _sweeps((ARTICULATE,), (FREEDOM_RATES, FALL, BIAS_FORCE), inward, wrenches, driving(losses, springs))
    after = (each_link(replace(LINK_ACCELERATION, reads=("A@body", "offset"))),) if links else ()
    return Plan("forward_dynamics, diagonal", MOTION_BUFFERS, (*sweeps, base_to_tip(back), *after))


# ---- Algorithm 6.1 by itself -----------------------------------------------------------------------------------------


def hinge_inertia_rate(joint: Joint, rate: ArticulatedInertia) -> tuple[Numbers, ...]:
    """``D_dot = H P_dot H*``, row by row (Table 4, row 5)."""
    columns = joint.columns()
    return tuple(joint.project(rate @ column) for column in columns)


INERTIA_RATES = Plan(
    "rates of the articulated inertias",
    (*MOTION_BUFFERS, Buffer("Ddot", ())),
    (
        tip_to_base(
            RELATIVE,
            ARTICULATE,
            Step(hinge_inertia_rate, ("joint", "Pdot"), ("Ddot",), "D_dot = H P_dot H*    Table 4"),
            INERTIA_RATE.reading(rate="v"),
        ),
    ),
)
