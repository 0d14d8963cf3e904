"""The four algorithms of forward dynamics of Rodriguez & Kreutz-Delgado, section VII, one page each.

All compute ``qdd = (I - H psi K)* inv(D) (I - H psi K) (T - C)``, Identity 6 (46): a filter carries forces z inward, a
smoother carries accelerations lambda outward. They differ in where the bias enters. ``z+ = z + G eps`` is z behind the
hinge; ``phi z+`` is the paper's ``psi z + phi G T``. Gravity is an upward acceleration of the base, and a wrench on a
link is taken off its force, so the tip force f(0), which acts on the environment, is minus the wrench on the tip.
As printed, Algorithm 3 counts f(0) twice and the operator form (67) of Algorithm 4 counts P a twice; here once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recursa.dynamics.articulated_bodies import (
    ARTICULATED_BUFFERS,
    BIAS_ACCELERATION,
    BIAS_FORCE,
    ELIMINATE,
    Elimination,
    completed,
    filtered,
    smoothed,
)
from recursa.dynamics.inverse import MOVING_FORCE, TORQUE, base_going_up, drift
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.wrenches import driving
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Sweep, base_to_tip, tip_to_base

BUFFERS = (
    *ARTICULATED_BUFFERS,
    Buffer("alpha0", Motion.zero(), base_going_up),
    Buffer("lambda", Motion.zero()),
    Buffer("T'", ()),
    Buffer("z", Force.zero()),
)

# Accelerations that bodies have while their joints do not accelerate, and the forces that this takes: zeta of (60).
DRIFT = Step(
    drift,
    ("joint", "X", "alpha0@parent", "V", "v"),
    ("alpha0",),
    "alpha0 = phi* alpha0(parent) + a          (58), (60)",
)
BIAS = Step(MOVING_FORCE.fn, ("inertia", "alpha0", "V"), ("f",), "f = M alpha0 + b                          (60)")


# ---- Algorithm 1 (47)-(54): four sweeps, torques freed of their bias ("four-sweep") --------------------------------


def bias_free(torque: Sequence[Scalar], bias: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """``T' = T - C``."""
    return tuple(t - c for t, c in zip(torque, bias, strict=True))


def filter_torques(
    done: tuple[Elimination, ...], torque: Sequence[Scalar], z: Force, step: Transform
) -> tuple[tuple[Scalar, ...], Force]:
    """``eps = T' - H z``, ``nu = inv(D) eps``, and z+ carried to the parent."""
    nu, behind = filtered(done, torque, z)
    return nu, step.force(behind)


def smooth(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], step: Transform, parent: Motion
) -> tuple[tuple[Scalar, ...], Motion]:
    """``qdd = nu - G* phi* lambda(parent)``; lambda is what the joints' accelerations contribute to the body's."""
    return smoothed(done, nu, step.inverse_motion(parent))


BIAS_FREE = Step(bias_free, ("tau", "T"), ("T'",), "T' = T - H phi [M phi* a + b + B f(0)]    (47)")
FILTER = Step(
    filter_torques,
    ("elimination", "T'", "z", "X"),
    ("nu", "z@parent"),
    "eps = T' - H z, nu = inv(D) eps, z(parent) += phi (z + G eps)    (50), (51)",
)
SMOOTH = Step(
    smooth,
    ("elimination", "nu", "X", "lambda@parent"),
    ("qdd", "lambda"),
    "qdd = nu - G* phi* lambda(parent), lambda = phi* lambda(parent) + H* qdd    (53), (54)",
)


def _four_sweeps(springs: bool) -> tuple[Sweep, ...]:
    """All but the last."""
    drive, torque = driving(False, springs)
    return (
        base_to_tip(RELATIVE, VELOCITY, DRIFT, BIAS),
        tip_to_base(TORQUE),
        tip_to_base(*drive, BIAS_FREE.reading(tau=torque), ELIMINATE, FILTER),
    )


@cache
def four_sweep_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """Algorithm 1: bias torques by Newton-Euler out and in, then the filter in and the smoother out."""
    sweeps = (*_four_sweeps(springs), base_to_tip(SMOOTH))
    return Plan("forward_dynamics, four sweeps", BUFFERS, completed(sweeps, wrenches=wrenches, links=False))


# ---- Algorithm 2 (55)-(59): the same with link and tip accelerations ("four-sweep-links") --------------------------


def with_drift(accelerating: Motion, drifting: Motion) -> Motion:
    """``alpha = lambda + zeta``: what the joints' accelerations and the speeds contribute."""
    return accelerating + drifting


ALPHA = Step(with_drift, ("lambda", "alpha0"), ("alpha",), "alpha = lambda + alpha0                   (59)")


@cache
def four_sweep_links_plan(*, wrenches: bool = False, links: bool = False, springs: bool = False) -> Plan:
    """Algorithm 2: as Algorithm 1, and the last sweep also makes the accelerations of the links."""
    sweeps = (*_four_sweeps(springs), base_to_tip(SMOOTH, ALPHA))
    return Plan("forward_dynamics, four sweeps, links", BUFFERS, completed(sweeps, wrenches=wrenches, links=links))


# ---- Algorithm 3 (60)-(65): three sweeps, bias forces through the filter ("three-sweep-bias") ----------------------


def filter_bias(
    done: tuple[Elimination, ...], torque: Sequence[Scalar], z: Force, bias: Force, step: Transform
) -> tuple[tuple[Scalar, ...], Force]:
    """``eps = T - H z - H zeta``, ``nu = inv(D) eps``, and ``z + zeta + G eps`` carried to the parent."""
    return filter_torques(done, torque, z + bias, step)


FILTER_BIAS = Step(
    filter_bias,
    ("elimination", "tau", "z", "f", "X"),
    ("nu", "z@parent"),
    "eps = T - H (z + f), nu = inv(D) eps, z(parent) += phi (z + f + G eps)    (64), (65)",
)


@cache
def three_sweep_bias_plan(*, wrenches: bool = False, links: bool = False, springs: bool = False) -> Plan:
    """Algorithm 3: the bias forces, out; they and the torques through one filter, in; the smoother, out."""
    drive, torque = driving(False, springs)
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY, DRIFT, BIAS),
        tip_to_base(ELIMINATE, *drive, FILTER_BIAS.reading(tau=torque)),
        base_to_tip(SMOOTH, ALPHA),
    )
    return Plan("forward_dynamics, three sweeps, bias", BUFFERS, completed(sweeps, wrenches=wrenches, links=links))


# ---- Algorithm 4 (66)-(73): three sweeps, no forces of a beforehand ("three-sweep") --------------------------------


def filter_inertia(
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    bias: Motion,
    force: Force,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[tuple[Scalar, ...], Force]:
    """``nu = inv(D) (T - H z)``, and ``psi (z + P a) + phi G T`` to the parent: there a acts behind the hinge."""
    nu, _ = filtered(done, torque, force)
    _, behind = filtered(done, torque, force + inertia @ bias)
    return nu, step.force(behind)


def smooth_bias(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], bias: Motion, step: Transform, parent: Motion
) -> tuple[tuple[Scalar, ...], Motion]:
    """``qdd = nu - G* (phi* lambda(parent) + a)``; lambda is the acceleration of the body."""
    return smoothed(done, nu, step.inverse_motion(parent) + bias)


FILTER_INERTIA = Step(
    filter_inertia,
    ("elimination", "P", "c", "f", "tau", "X"),
    ("nu", "f@parent"),
    "z = b + sum, nu = inv(D) (T - H z), z(parent) += psi (z + P a) + phi G T    (70), (71)",
)
SMOOTH_BIAS = Step(
    smooth_bias,
    ("elimination", "nu", "c", "X", "alpha@parent"),
    ("qdd", "alpha"),
    "up = phi* alpha(parent) + a, qdd = nu - G* up, alpha = up + H* qdd    (72), (73)",
)


@cache
def three_sweep_plan(*, wrenches: bool = False, links: bool = False, springs: bool = False) -> Plan:
    """Algorithm 4: velocities and bias terms, out; the filter, in; the smoother, whose lambda is alpha, out."""
    drive, torque = driving(False, springs)
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE),
        tip_to_base(ELIMINATE, *drive, FILTER_INERTIA.reading(tau=torque)),
        base_to_tip(SMOOTH_BIAS),
    )
    return Plan("forward_dynamics, three sweeps", BUFFERS, completed(sweeps, wrenches=wrenches, links=links))
