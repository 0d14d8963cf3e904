"""Hinge inertias: whether every joint has something to move.

The inward recursion of Rodriguez & Kreutz-Delgado (34)-(36), with a joint's freedoms eliminated one by one: the
pivots of D. A pivot of zero means that the bodies outward have no inertia along that freedom. Rounding leaves a trace
of what is zero, so a pivot is judged by what it could be if the joint's axis lay otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from recursa.dynamics.gathering import joint_matrix
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.mass_matrix import COMPOSITE, MASS_MATRIX_PLAN
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, RigidInertia
from recursa.spatial.scalars import Scalar, where
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SymMat3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array, Gather, interpret, prepare

RELATIVE_ZERO = 1e-12
"""Of what a pivot of D could be: a smaller one is zero."""

ROUNDING = 1e-9
"""Relative: principal moments that differ by less are the same, in data that people write."""


Moments = list[list[float]]
"""Three principal moments of every tensor, in rising order."""

_FULL = (0, 3, 4, 3, 1, 5, 4, 5, 2)  # the nine entries of a tensor among its six numbers


class Singular(NamedTuple):
    """A freedom of a joint that has nothing to move, and its pivot of D."""

    joint: int
    freedom: int
    pivot: float


def hinge_scale(joint: Joint, total: RigidInertia) -> tuple[Scalar, ...]:
    """How large D could be if the joint's axis lay otherwise: what a pivot is judged by."""
    turning, sliding = total.moment.trace(), total.mass
    sizes = (
        c.angular.norm_squared() * turning + c.linear.norm_squared() * sliding + rotor
        for c, rotor in zip(joint.columns(), joint.armature, strict=True)
    )
    return tuple(where(size > 0.0, size, -size) for size in sizes)  # negative data have a size as well


def articulated(
    joint: Joint, children: ArticulatedInertia, inertia: RigidInertia, scale: Sequence[Scalar], step: Transform
) -> tuple[ArticulatedInertia, tuple[Scalar, ...], ArticulatedInertia]:
    """Articulated inertia, the pivots of D, and the share at the parent."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    rest, pivots = own, []
    for column, rotor, largest in zip(joint.columns(), joint.armature, scale, strict=True):
        u = rest @ column
        pivot = column.dot(u) + rotor  # D = H P H* + A
        pivots.append(pivot)
        has_inertia = pivot > RELATIVE_ZERO * largest
        gain = where(has_inertia, 1.0 / where(has_inertia, pivot, 1.0), 0.0)  # nothing to eliminate where D is 0
        rest = rest.minus_dyad(u, u * gain)  # P+ = P - P H* D^-1 H P
    return own, tuple(pivots), step.articulated(rest)


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
            Step(hinge_scale, ("joint", "R"), ("scale",), "scale = | |w|^2 tr(I) + |v|^2 m + A |, from R"),
            Step(
                articulated,
                ("joint", "P", "inertia", "scale", "X"),
                ("P", "pivots", "P@parent"),
                "P = M + sum of phi P+ phi*, D = H P H* + A, P+ = P - P H* inv(D) H P   (34)-(36)",
            ),
        ),
    ),
)


# ---- judging ---------------------------------------------------------------------------------------------------------

Ask = Callable[[Plan, Gather, int], Array]
"""Runs a plan for some states and returns what is gathered, so many numbers for each: an array (states, numbers)."""


def all_turn_something(model: Model, ask: Ask) -> bool:
    """Whether every joint certainly has something to move, at all states: one number per freedom tells most robots."""
    if not all(joint.independent for joint in model.joints):
        return False
    return bool(ask(HINGES, margins, model.nv).min(initial=math.inf) > 0.0)


def margins(values: Values) -> Iterator[Scalar]:
    """By how much every pivot is more than a zero."""
    for pivots, scales in zip(values["pivots"], values["scale"], strict=True):
        yield from (pivot - RELATIVE_ZERO * scale for pivot, scale in zip(pivots, scales, strict=True))


def pivots_of(model: Model, ask: Ask) -> tuple[Array, Array]:
    """The pivots of D (states, nv), and which of them are zero."""
    freedoms = sum(joint.kind.nv for joint in model.joints)
    pivots, scales = np.split(ask(HINGES, _entries, 2 * freedoms), 2, axis=1)
    if not all(joint.independent for joint in model.joints):
        scales = _shared(model, scales)
        rows = ask(MASS_MATRIX_PLAN, lambda values: joint_matrix(model, values["rows"], symmetric=True), model.nv**2)
        pivots = _eliminated(model, rows.reshape(-1, model.nv, model.nv), scales)
    return pivots, (pivots <= RELATIVE_ZERO * scales) & np.isfinite(scales)  # what is no number is no zero


def _entries(values: Values) -> Iterator[Scalar]:
    for name in ("pivots", "scale"):
        yield from (x for own in values[name] for x in own)


def _shared(model: Model, scales: Array) -> Array:
    """The same per freedom where joints share one: what each of them could add to the pivot."""
    factors = [1.0 if joint.tie is None else joint.tie.multiplier for joint in model.joints for _ in joint.armature]
    places = [joint.v_start + freedom for joint in model.joints for freedom in range(joint.kind.nv)]
    total = np.zeros((model.nv, len(scales)))
    np.add.at(total, places, (np.square(factors) * scales).T)
    return total.T


def _eliminated(model: Model, mass: Array, scales: Array) -> Array:
    """The pivots of mass matrices, eliminated from the tips inward."""
    pivots = np.empty_like(scales)
    for joint in reversed([joint for joint in model.joints if joint.independent]):
        for at in range(joint.v_start, joint.v_start + joint.kind.nv):
            pivots[:, at] = pivot = mass[:, at, at].copy()
            has_inertia = pivot > RELATIVE_ZERO * scales[:, at]
            gain = np.where(has_inertia, 1.0 / np.where(has_inertia, pivot, 1.0), 0.0)
            mass = mass - gain[:, None, None] * mass[:, :, at, None] * mass[:, None, at]
    return pivots


def singular_at(model: Model, arguments: Mapping[str, Any]) -> list[Singular]:
    """Freedoms without hinge inertia at all the states given: ``q``, and ``parameters`` in place of the model's."""
    batch = prepare(model, arguments, {})

    def ask(plan: Plan, gather: Gather, numbers: int) -> Array:
        flat = np.empty((batch.size, numbers))
        interpret(model, plan, batch, gather, flat)
        return flat

    pivots, singular = pivots_of(model, ask)
    places = np.flatnonzero(singular.all(axis=0)).tolist()
    return singular_freedoms(model, {at: pivots[0, at] for at in places})


def singular_freedoms(model: Model, pivots: Mapping[int, float]) -> list[Singular]:
    """The freedoms at places in v, with their pivots."""
    if not pivots:
        return []
    owners = [(k, i) for k, joint in enumerate(model.joints) if joint.independent for i in range(joint.kind.nv)]
    return [Singular(*owners[at], float(pivot)) for at, pivot in pivots.items()]


def idle_hinges(model: Model, moments: Moments) -> list[Singular]:
    """Joints without hinge inertia at two configurations drawn at random, limits or not: none of them is special."""
    if _all_solid(model, moments):
        return []
    rng = np.random.default_rng(0)
    return singular_at(model, {"q": np.array([_anywhere(model, rng) for _ in range(2)])})


def _anywhere(model: Model, rng: np.random.Generator) -> list[float]:
    return [x for joint in model.joints if joint.independent for x in joint.kind.random(rng, None)]


def _all_solid(model: Model, moments: Moments) -> bool:
    """Whether every body has mass and moments of its own: then no joint needs a closer look."""
    return all(
        inertia.mass > 0.0 and low > ROUNDING * high and min(joint.armature) >= 0.0
        for joint, inertia, (low, _, high) in zip(model.joints, model.inertias, moments, strict=True)
    )


def principal(tensors: Sequence[SymMat3]) -> Moments:
    """Principal values of symmetric tensors, each in rising order; nan where numbers overflow."""
    numbers = np.fromiter(chain.from_iterable(tensors), float, 6 * len(tensors)).reshape(-1, 6)
    fine = np.isfinite(numbers).all(axis=1)
    values = np.full((len(numbers), 3), math.nan)
    values[fine] = np.linalg.eigvalsh(numbers[fine][:, _FULL].reshape(-1, 3, 3))
    return values.tolist()


def tensors_of_bodies(model: Model) -> list[SymMat3]:
    """The inertia of every body about its centre of mass."""
    return [inertia.moment_about_com() for inertia in model.inertias]
