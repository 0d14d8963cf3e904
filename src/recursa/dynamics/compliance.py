"""The operational compliance Upsilon: how a link yields to a force on it, all joints free.

Jain & Rodriguez (34), also in trees: ``Upsilon(k) = tau_bar* phi* Upsilon(parent) phi tau_bar + H* inv(D) H``, base to
tip. A freedom at a time it is ``T* Upsilon T + s inv(d) s*`` with ``T = 1 - u inv(d) s*``, the last eliminated first.

A compliance is kept as an :class:`ArticulatedInertia` with the halves exchanged: the linear half first. A force is then
carried outward as an inertia is carried inward, by the inverse of the step.
"""

from __future__ import annotations

from recursa.dynamics.articulated import Elimination
from recursa.spatial.inertia import ArticulatedInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Step


def compliance(step: Transform, done: tuple[Elimination, ...], parent: ArticulatedInertia) -> ArticulatedInertia:
    """Upsilon of a body from its parent's."""
    here = step.inverse.articulated(parent)  # phi* Upsilon(parent) phi
    for column, u, inverse_d in reversed(done):
        response = yielding(here, u)
        half = (response.dot(u) * inverse_d + 1.0) * (inverse_d * 0.5)
        here = _minus_pair(here, column, response * inverse_d - column * half)
    return here


def yielding(of: ArticulatedInertia, force: Force) -> Motion:
    """``Upsilon f``: the acceleration that a force causes where it acts."""
    result = of @ Motion(force.force, force.moment)
    return Motion(result.force, result.moment)


def resisting(of: ArticulatedInertia, motion: Motion) -> Force:
    """``inv(Upsilon) a``: the force that causes an acceleration; not finite where a body cannot move every way."""
    result = of.solve(Force(motion.linear, motion.angular))
    return Force(result.linear, result.angular)


def _minus_pair(of: ArticulatedInertia, s: Motion, g: Motion) -> ArticulatedInertia:
    """``Upsilon - s g* - g s*``."""
    return ArticulatedInertia(
        of.moment - SymMat3.dyad_pair(s.linear, g.linear),
        of.coupling - Mat3.dyad(s.linear, g.angular) - Mat3.dyad(g.linear, s.angular),
        of.mass - SymMat3.dyad_pair(s.angular, g.angular),
    )


COMPLIANCE = Step(
    compliance,
    ("X", "G", "Upsilon@parent"),
    ("Upsilon",),
    "Upsilon = tau_bar* phi* Upsilon(parent) phi tau_bar + H* inv(D) H    Jain & Rodriguez (34)",
)
COMPLIANCE_BUFFER = Buffer("Upsilon", ArticulatedInertia.zero())
