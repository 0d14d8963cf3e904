"""How ``integrate`` and ``difference`` change with their arguments, and configurations between two others.

A small change of a configuration q is the dq of ``integrate(q, dq)``, on either side. With ad the matrix of the joint's
bracket, ``ad e = [x, e]``, and x the motion between both configurations (Hairer, Lubich & Wanner, III.4):

    q exp(x):       by q  exp(-ad),                     by x   (1 - exp(-ad)) / ad
    log(q0^-1 q1):  by q0  -ad / (exp(ad) - 1),         by q1  ad / (1 - exp(-ad))

With an angle t ad has the eigenvalues 0 and +-i t, the latter twice where a joint turns and shifts. So these series are
polynomials in ad, whose coefficients are functions f of t^2 and their slopes f':

    (1 - exp(-ad)) / ad = 1 - f ad + g ad^2 + (ad^2 + t^2) (f' ad - g' ad^2)
    ad / (1 - exp(-ad)) = 1 + ad/2 + h ad^2 - h' (ad^2 + t^2) ad^2

    f = (1 - cos t)/t^2,    g = (t - sin t)/t^3,    h = (1 - (t/2) cot(t/2))/t^2

Differentiating ``difference`` by the coordinates takes four times the operations for a free joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from recursa.dynamics.configuration import DIFFERENCE, INTEGRATE
from recursa.dynamics.gathering import Block, joint_matrix, own_entries
from recursa.errors import StateError
from recursa.model.joint_kind import JointKind
from recursa.model.model import Joint, Model
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import (
    Scalar,
    cosc,
    cosc_slope,
    half_cotangent,
    half_cotangent_slope,
    sinc3,
    sinc3_slope,
)
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip
from recursa.sweeps.batching import Array

Vector = tuple[Scalar, ...]
Blocks = tuple[Block, Block]


def _powers(kind: JointKind, x: Sequence[Scalar], e: Vector, count: int) -> tuple[Vector, ...]:
    """``ad e, ad^2 e, ...``; nothing where ad is zero."""
    found: list[Vector] = []
    for _ in range(count):
        following = kind.bracket(x, found[-1] if found else e)
        if following is None:
            return ()
        found.append(following)
    return tuple(found)


def _turn_squared(kind: JointKind, x: Sequence[Scalar]) -> Scalar:
    """t^2 of a motion x for unit time."""
    first, *others = (s * s for s, turns in zip(x, kind.angular, strict=True) if turns)
    return sum(others, first)


def _sum(*terms: tuple[Scalar, Vector]) -> Vector:
    """Of vectors with factors."""
    first, *others = (tuple(factor * entry for entry in vector) for factor, vector in terms)
    for other in others:
        first = tuple(a + b for a, b in zip(first, other, strict=True))
    return first


def _units(size: int) -> list[Vector]:
    return [tuple(1.0 if k == i else 0.0 for k in range(size)) for i in range(size)]


def _rows(columns: Sequence[Vector]) -> Block:
    return tuple(zip(*columns, strict=True))


def integrate_rates(joint: Joint, x: Sequence[Scalar]) -> Blocks:
    """The joint's blocks by q and by dv; nothing for a tied joint, which has no coordinates of its own."""
    if not joint.independent:
        return (), ()
    by_q, by_dv = [], []
    for e in _units(joint.kind.nv):
        powers = _powers(joint.kind, x, e, 4)
        own = _moved(_turn_squared(joint.kind, x), e, *powers) if powers else e
        back = joint.kind.bracket(x, own)
        by_q.append(e if back is None else _sum((1.0, e), (-1.0, back)))  # exp(-ad) = 1 - ad (1 - exp(-ad))/ad
        by_dv.append(own)
    return _rows(by_q), _rows(by_dv)


def _moved(t2: Scalar, e: Vector, one: Vector, two: Vector, three: Vector, four: Vector) -> Vector:
    """``(1 - exp(-ad)) / ad e``."""
    f, g, f1, g1 = cosc(t2), sinc3(t2), cosc_slope(t2), sinc3_slope(t2)
    return _sum((1.0, e), (t2 * f1 - f, one), (g - t2 * g1, two), (f1, three), (-g1, four))


def difference_rates(joint: Joint, q: Sequence[Scalar], q1: Sequence[Scalar]) -> Blocks:
    """The joint's blocks by q0 and by q1; nothing for a tied joint."""
    if not joint.independent:
        return (), ()
    x = joint.kind.difference(q, q1)
    by_q0, by_q1 = [], []
    for e in _units(joint.kind.nv):
        powers = _powers(joint.kind, x, e, 4)
        even = _even(_turn_squared(joint.kind, x), e, powers[1], powers[3]) if powers else e
        half = [(0.5, power) for power in powers[:1]]
        by_q0.append(_sum((-1.0, even), *half))
        by_q1.append(_sum((1.0, even), *half))
    return _rows(by_q0), _rows(by_q1)


def _even(t2: Scalar, e: Vector, two: Vector, four: Vector) -> Vector:
    """``ad / (1 - exp(-ad)) e`` without ``ad e / 2``."""
    h, h1 = half_cotangent(t2), half_cotangent_slope(t2)
    return _sum((1.0, e), (h - t2 * h1, two), (-h1, four))


# ---- along a vector --------------------------------------------------------------------------------------------------


def carried(kind: JointKind, x: Sequence[Scalar], y: Sequence[Scalar]) -> Vector:
    """``exp(ad) y``: what is y in the axes of ``q exp(x)``, in the axes of q. ``exp(ad) = 1 + ad (exp(ad) - 1)/ad``."""
    y = tuple(y)
    powers = _powers(kind, x, y, 4)
    if not powers:
        return y
    one, two, three, four = powers
    odd = [tuple(-entry for entry in power) for power in (one, three)]
    back = kind.bracket(x, _moved(_turn_squared(kind, x), y, odd[0], two, odd[1], four))
    assert back is not None
    return _sum((1.0, y), (1.0, back))


def approach(kind: JointKind, x: Sequence[Scalar], e: Sequence[Scalar]) -> Vector:
    """``ad / (exp(ad) - 1) e``: x' of ``q exp(x)`` that moves with e seen from q, while q stands still."""
    e = tuple(e)
    powers = _powers(kind, x, e, 4)
    if not powers:
        return e
    return _sum((1.0, _even(_turn_squared(kind, x), e, powers[1], powers[3])), (-0.5, powers[0]))


def pulled(kind: JointKind, x: Sequence[Scalar], y: Sequence[Scalar]) -> Vector:
    """The transpose of :func:`approach` times y: forces on q that do the work of y along x."""
    return tuple(sum((a * b for a, b in zip(approach(kind, x, e), y, strict=True)), start=0.0) for e in _units(kind.nv))


D_INTEGRATE_PLAN = Plan(
    "d_integrate",
    (Buffer("by", ((), ())),),
    (base_to_tip(Step(integrate_rates, ("joint", "v"), ("by",), "exp(-ad), (1 - exp(-ad))/ad")),),
)
D_DIFFERENCE_PLAN = Plan(
    "d_difference",
    (Buffer("by", ((), ())),),
    (base_to_tip(Step(difference_rates, ("joint", "q", "q1"), ("by",), "-ad/(exp(ad) - 1), ad/(1 - exp(-ad))")),),
)


def block_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """Two matrices with a block for every joint, (2, nv, nv) row by row."""
    found = values.lists.get("by", [])
    matrices = (list(own_entries([blocks[number] for blocks in found])) for number in range(2))
    return chain.from_iterable(joint_matrix(model, entries, symmetric=False) for entries in matrices)


# ---- quantities ------------------------------------------------------------------------------------------------------


def _blocks(plan: Plan, of: Subject, given: Names) -> Recipe:
    return Recipe(plan, partial(block_entries, of.model), (2, of.model.nv, of.model.nv))


def _interpolated(others: Any, *, q0: Any, q1: Any, s: Any) -> Array:
    """``q0 exp(s log(q0^-1 q1))``."""
    share = np.asarray(s)
    if share.dtype.kind not in "fiubc":
        raise StateError(f"s must be numbers, one for every pair of configurations, not {s!r}")
    return others(INTEGRATE, q=q0, dv=share[..., None] * others(DIFFERENCE, q0=q0, q1=q1))


D_INTEGRATE = Quantity(
    "d_integrate",
    ("q", "dv"),
    partial(_blocks, D_INTEGRATE_PLAN),
    "by q, by dv; rows and columns as in v",
    reads={"dv": "v"},
)
D_DIFFERENCE = Quantity(
    "d_difference",
    ("q0", "q1"),
    partial(_blocks, D_DIFFERENCE_PLAN),
    "by q0, by q1; rows and columns as in v",
    reads={"q0": "q"},
)
INTERPOLATE = Quantity(
    "interpolate",
    ("q0", "q1", "s"),
    lambda of, given: Composed(_interpolated),
    "coordinates; places as in q",
    exported=False,
)
