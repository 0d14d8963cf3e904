"""Hinge inertias: whether every joint has something to move.

The inward recursion of Rodriguez & Kreutz-Delgado (34)-(36), with a joint's freedoms eliminated one by one: the
pivots of D. A pivot of zero means that the bodies outward have no inertia along that freedom.
"""

from __future__ import annotations

from recursa.dynamics.inertia import COMPOSITE
from recursa.dynamics.kinematics import RELATIVE
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, RigidInertia
from recursa.spatial.scalars import Scalar, where
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, run, tip_to_base

RELATIVE_ZERO = 1e-12
"""Of what a pivot of D could be: a smaller one is zero."""


def articulated(
    joint: Joint, children: ArticulatedInertia, inertia: RigidInertia, step: Transform
) -> tuple[ArticulatedInertia, tuple[Scalar, ...], ArticulatedInertia]:
    """Articulated inertia, the pivots of D, and the share at the parent."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    rest, pivots = own, []
    for column, rotor in zip(joint.columns(), joint.armature, strict=True):
        u = rest @ column
        pivot = column.dot(u) + rotor  # D = H P H* + A
        pivots.append(pivot)
        has_inertia = pivot > 0.0
        gain = where(has_inertia, 1.0 / where(has_inertia, pivot, 1.0), 0.0)  # nothing to eliminate where D is 0
        rest = rest.minus_dyad(u, u * gain)  # P+ = P - P H* D^-1 H P
    return own, tuple(pivots), step.articulated(rest)


def hinge_scale(joint: Joint, total: RigidInertia) -> tuple[Scalar, ...]:
    """How large D could be if the joint's axis lay otherwise: what a pivot is judged by."""
    turning, sliding = total.moment.trace(), total.mass
    return tuple(
        c.angular.norm_squared() * turning + c.linear.norm_squared() * sliding + rotor
        for c, rotor in zip(joint.columns(), joint.armature, strict=True)
    )


HINGES = Plan(
    "hinges",
    (
        Buffer("X", IDENTITY_TRANSFORM),
        Buffer("R", RigidInertia.zero()),
        Buffer("P", ArticulatedInertia.zero()),
        Buffer("pivots", ()),
        Buffer("scale", ()),
    ),
    (
        base_to_tip(RELATIVE),
        tip_to_base(
            COMPOSITE,
            Step(hinge_scale, ("joint", "R"), ("scale",), "scale = |w|^2 tr(I) + |v|^2 m + A, from R"),
            Step(
                articulated,
                ("joint", "P", "inertia", "X"),
                ("P", "pivots", "P@parent"),
                "P = M + sum of phi P+ phi*, D = H P H* + A, P+ = P - P H* inv(D) H P   (34)-(36)",
            ),
        ),
    ),
)


def singular_hinges(
    model: Model, q: list[float], parameters: list[float] | None = None
) -> list[tuple[int, int, float]]:
    """Joints without hinge inertia at the configuration q: (joint, freedom, pivot).

    ``parameters`` (10 per body) take the place of the model's own.
    """
    values = run(HINGES, model, {"q": q} if parameters is None else {"q": q, "parameters": parameters})
    found = []
    for number, (pivots, scales) in enumerate(zip(values["pivots"], values["scale"], strict=True)):
        for freedom, (pivot, scale) in enumerate(zip(pivots, scales, strict=True)):
            if not pivot > RELATIVE_ZERO * abs(scale):
                found.append((number, freedom, float(pivot)))
    return found
