"""The operational compliance Upsilon: how a link yields to a force on it, all joints free.

Jain & Rodriguez (34), also in trees: ``Upsilon(k) = tau_bar* phi* Upsilon(parent) phi tau_bar + H* inv(D) H``, base to
tip. A freedom at a time it is ``T* Upsilon T + s inv(d) s*`` with ``T = 1 - u inv(d) s*``, the last eliminated first.

A compliance is kept as an :class:`ArticulatedInertia` with the halves exchanged: the linear half first. A force is then
carried outward as an inertia is carried inward, by the inverse of the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from recursa.dynamics.articulated_bodies import Elimination
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3
from recursa.sweeps import Buffer, Step


def compliance(step: Transform, done: tuple[Elimination, ...], parent: ArticulatedInertia) -> ArticulatedInertia:
    """Upsilon of a body from its parent's."""
    here = step.inverse.articulated(parent)  # phi* Upsilon(parent) phi
    for column, u, inverse_d in reversed(done):
        response = yielding(here, u)
        half = (response.dot(u) * inverse_d + 1.0) * (inverse_d * 0.5)
        here = _minus_pair(here, column, response * inverse_d - column * half)
    return here


def compliance_rate(
    joint: Joint,
    step: Transform,
    done: tuple[Elimination, ...],
    slopes: tuple[Force, ...],
    parent: ArticulatedInertia,
    parent_rate: ArticulatedInertia,
    v: Sequence[Scalar],
) -> ArticulatedInertia:
    """The rate of Upsilon in body axes, from the parent's and from ``w = P_dot s`` of every freedom.

    With ``U = phi* Upsilon(parent) phi``, of which the joint's motion makes ``S* U + U S``, a freedom at a time:
    ``T* U_dot T - s r* - r s*``, ``r = T* U g_dot + s d_dot/(2 d^2)``, where ``g = u/d`` and ``T = 1 - g s*``.
    """
    here, moved = step.inverse.articulated(parent), step.inverse.articulated(parent_rate)
    rate = moved + here.carried_along(joint.motion(v)) * -1.0  # halves exchanged: crm stands where crf does
    for (column, u, inverse_d), slope in zip(reversed(done), reversed(slopes), strict=True):
        gain, change = u * inverse_d, column.dot(slope)
        gain_rate = (slope - gain * change) * inverse_d
        response, turned = yielding(here, gain), yielding(rate, gain)
        own = 0.5 * (change * inverse_d * inverse_d - turned.dot(gain)) - response.dot(gain_rate)
        rate = _minus_pair(rate, column, turned + yielding(here, gain_rate) + column * own)
        here = _minus_pair(here, column, response - column * ((response.dot(gain) + inverse_d) * 0.5))
    return rate


def yielding(of: ArticulatedInertia, force: Force) -> Motion:
    """``Upsilon f``: the acceleration that a force causes where it acts."""
    result = of @ Motion(force.force, force.moment)
    return Motion(result.force, result.moment)


def _minus_pair(of: ArticulatedInertia, s: Motion, g: Motion) -> ArticulatedInertia:
    """``Upsilon - s g* - g s*``."""
    return ArticulatedInertia(
        of.moment - SymMat3.dyad_pair(s.linear, g.linear),
        of.coupling - Mat3.dyad(s.linear, g.angular) - Mat3.dyad(g.linear, s.angular),
        of.mass - SymMat3.dyad_pair(s.angular, g.angular),
    )


COMPLIANCE = Step(
    compliance,
    ("X", "elimination", "Upsilon@parent"),
    ("Upsilon",),
    "Upsilon = tau_bar* phi* Upsilon(parent) phi tau_bar + H* inv(D) H    Jain & Rodriguez (34)",
)
COMPLIANCE_RATE = Step(
    compliance_rate,
    ("joint", "X", "elimination", "slope", "Upsilon@parent", "Upsilondot@parent", "v"),
    ("Upsilondot",),
    "Upsilon_dot = d/dt (psi* Upsilon(parent) psi + H* inv(D) H)    from Jain & Rodriguez (34) and Table 4",
)
COMPLIANCE_BUFFER = Buffer("Upsilon", ArticulatedInertia.zero())
