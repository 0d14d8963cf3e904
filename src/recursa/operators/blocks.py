"""What block-diagonal operators and vectors of the state are at one body: a step function, and what it reads.

A name in braces is a buffer of the operator's velocity, ``{v}`` the velocity itself: v, or a unit vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recursa.operators import steps
from recursa.operators.symbols import Kind

Local = tuple[Callable[..., Any], tuple[str, ...]]
"""What is done at a body, and what it reads beside the operand."""

SAME_BODY: dict[Kind, Local] = {
    Kind.H: (steps.hinge, ("joint",)),
    Kind.M: (steps.inertia_times, ("inertia",)),
    Kind.R: (steps.inertia_times, ("R",)),
    Kind.P: (steps.inertia_times, ("P",)),
    Kind.D: (steps.hinge_inertia_times, ("joint", "P")),
    Kind.A: (steps.armature_times, ("joint",)),
    Kind.G: (steps.gain_times, ("G",)),
    Kind.TAU_BAR: (steps.projected, ("G",)),
    Kind.UPSILON: (steps.compliance_times, ("Upsilon",)),
    Kind.S: (steps.joint_cross, ("joint", "{v}")),
    Kind.S_V: (steps.velocity_cross, ("{V}",)),
    Kind.OMEGA: (steps.rotated, ("{V}",)),
    Kind.N: (steps.momentum_cross, ("inertia", "V")),
    Kind.P_DOT: (steps.inertia_times, ("{Pdot}",)),
    Kind.R_DOT: (steps.inertia_times, ("{Rdot}",)),
    Kind.UPSILON_DOT: (steps.compliance_times, ("{Upsilondot}",)),
}
SAME_BODY_TRANSPOSED: dict[Kind, Local] = {
    Kind.H: (steps.hinge_transposed, ("joint",)),
    Kind.G: (steps.gain_transposed, ("G",)),
    Kind.TAU_BAR: (steps.projected_transposed, ("G",)),
    Kind.S: (steps.joint_cross_transposed, ("joint", "{v}")),
    Kind.S_V: (steps.velocity_cross_transposed, ("{V}",)),
}
SAME_BODY_INVERSE: dict[Kind, Local] = {
    Kind.D: (steps.hinge_inertia_solve, ("G",)),
    Kind.M: (steps.inertia_solve, ("inertia",)),
    Kind.R: (steps.inertia_solve, ("R",)),
    Kind.P: (steps.inertia_solve, ("P",)),
    Kind.A: (steps.armature_solve, ("joint",)),
    Kind.UPSILON: (steps.compliance_solve, ("Upsilon",)),
}
STATE = {Kind.SPEED: "v", Kind.VELOCITY: "V", Kind.BIAS_ACCELERATION: "c", Kind.BIAS_FORCE: "f", Kind.GRAVITY: "alpha"}
