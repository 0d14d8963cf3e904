"""Forward dynamics as Kalman filtering and smoothing: every quantity on the way, by the papers' names.

Jain & Rodriguez (12) and Lemma 3.1 (20), with weight and wrenches as forces in b, so that accelerations are true ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain

from recursa.dynamics.articulated_bodies import (
    ARTICULATED_BUFFERS,
    BIAS_ACCELERATION,
    ELIMINATE,
    FALL,
    Elimination,
    bias_force,
    innovated,
    smoothed,
)
from recursa.dynamics.gathering import flat, joint_vector
from recursa.dynamics.inverse import EXTERNAL, pushing
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.wrenches import Losses, driving
from recursa.errors import NoSweepError
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

Numbers = tuple[Scalar, ...]


def force_with_weight(inertia: RigidInertia, velocity: Motion, fall: Motion) -> Force:
    """``b = crf(V) M V - M g``."""
    return bias_force(inertia, velocity) - inertia @ fall


FORCE_WITH_WEIGHT = Step(force_with_weight, ("inertia", "V", "fall"), ("f",), "b = crf(V) M V - M g")


def filter_step(
    joint: Joint,
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    bias: Motion,
    gathered: Force,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[Force, Force, Numbers, Numbers, Numbers, Force]:
    """z, z+, eps, nu, nu in the coordinates in which D is diagonal (what is smoothed), and z+ at the parent."""
    z = gathered + inertia @ bias
    eps = tuple(t - x for t, x in zip(torque, joint.project(z), strict=True))
    _, rates, updated = innovated(done, torque, z)
    return z, updated, eps, smoothed(done, rates, Motion.zero())[0], rates, step.force(updated)


def smoother_step(
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    rates: Numbers,
    bias: Motion,
    z: Force,
    updated: Force,
    step: Transform,
    parent: Motion,
) -> tuple[Numbers, Motion, Force, Force]:
    """qdd, alpha, and the force across the joint from both sides: ``P (alpha - a) + z`` and ``P+ alpha+ + z+``."""
    carried = step.inverse_motion(parent)
    accelerations, here = smoothed(done, rates, carried)
    inner = inertia @ carried + updated
    for _, u, inverse_d in done:  # P+ = P - sum of U inv(d) U*
        inner = inner - u * (carried.dot(u) * inverse_d)
    return accelerations, here + bias, inertia @ here + z, inner


@cache
def filtering_plan(*, wrenches: bool, losses: Losses, springs: bool) -> Plan:
    """Three sweeps: kinematics and b outward, the filter inward, the smoother outward."""
    drive, torque = driving(losses, springs)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    outward = (RELATIVE, VELOCITY, BIAS_ACCELERATION, FALL, FORCE_WITH_WEIGHT, *external)
    filtering = Step(
        filter_step,
        ("joint", "elimination", "P", "c", "f", torque, "X"),
        ("z", "z+", "eps", "nu", "rates", "f@parent"),
        "z = b + P a + sum of phi z+, eps = T - H z, nu = inv(D) eps, z+ = z + G eps    (12a)-(12d)",
    )
    smoothing = Step(
        smoother_step,
        ("elimination", "P", "rates", "c", "z", "z+", "X", "lambda@parent"),
        ("qdd", "lambda", "F", "F+"),
        "qdd = nu - G* alpha+, alpha = alpha+ + H* qdd + a, f = P (alpha - a) + z = P+ alpha+ + z+    (12), (20)",
    )
    own = (
        *(Buffer(name, Force.zero()) for name in ("z", "z+", "F", "F+")),
        *(Buffer(name, ()) for name in ("eps", "rates")),
        Buffer("lambda", Motion.zero()),
    )
    sweeps = (
        base_to_tip(*outward),
        tip_to_base(ELIMINATE, *drive, filtering),
        base_to_tip(smoothing),
    )
    return Plan("filtering", (*ARTICULATED_BUFFERS, *own), (*bring, *sweeps))


JOINT_VECTORS = ("eps", "nu", "qdd")
BODY_VECTORS = ("z", "z+", "lambda", "F", "F+")
"""What is gathered, in this order: vectors of joints, then six numbers for every body."""


def _gathered(model: Model, values: Values) -> Iterator[Scalar]:
    joints = (joint_vector(model, values.lists.get(name, [])) for name in JOINT_VECTORS)
    bodies = (flat(x.components() for x in values.lists.get(name, [])) for name in BODY_VECTORS)
    return chain(chain.from_iterable(joints), chain.from_iterable(bodies))


def _filtering(of: Subject, given: Names, *, losses: Losses = False) -> Recipe:
    if of.tied:
        raise NoSweepError(
            f"robot '{of.model.name}' has tied joints: filter and smoother are those of trees with independent "
            f"joints. {of.model.how_to_untie}"
        )
    plan = filtering_plan(wrenches="wrenches" in given, losses=losses, springs=of.model.has_springs)
    size = len(JOINT_VECTORS) * of.model.nv + len(BODY_VECTORS) * 6 * of.model.nbodies
    return Recipe(plan, partial(_gathered, of.model), (size,))


FILTERING = Quantity(
    "filtering",
    ("q", "v", "tau"),
    _filtering,
    "eps, nu, a, places as in v; then z, z+, alpha, f, f+ per body: moments first, link axes at the link origin",
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
    on_constraints=refusals.ACCELERATIONS,
)
