"""The factors of the mass matrix from its entries, for kernels of small robots.

``mass = U D U*`` with U unit upper triangular in base-first order has one solution, the innovations factorisation:
U = I + H phi K and D of Rodriguez & Kreutz-Delgado, Identity 3 (43); Saha's UDU' of the DeNOC. Where there are few
bodies it costs fewer operations to eliminate entries of the mass matrix, tip first, than to carry articulated inertias.
A joint that no joint outward is coupled with has no entries: trees stay as sparse as they are.

With a row of the mass matrix m(j, l) of the joints l outward of j, and the rows u(l, k) found before:

    a(l) = m(j, l) - sum over k outward of l of a(k) u(l, k)        the last l first
    u(j, l) = a(l) / D(l),   D(j) = m(j, j) - sum of a(l) u(j, l)

A hinge without inertia shows at the first joint of its tree: there the diagonal of the inverse is then infinite or nan,
so that one number of every state tells whether the rest can be believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.dynamics.gathering import Entries, Entry
from recursa.dynamics.hinges import RELATIVE_ZERO
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.mass_matrix import COMPOSITE, MASS_ROWS
from recursa.dynamics.needs import divides_by_hinges
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar, reciprocal, where
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


class Pivot(NamedTuple):
    """A freedom that is eliminated: 1/D, its row of U and of its inverse, right of the diagonal."""

    inverse_d: Scalar
    factor: tuple[tuple[Entry, Scalar], ...]
    inverse_factor: tuple[tuple[Entry, Scalar], ...]


Pivots = tuple[tuple[Entry, Pivot], ...]
Values = tuple[tuple[Entry, Scalar], ...]
Pairs = tuple[tuple[tuple[Entry, Entry], Scalar], ...]


@divides_by_hinges
def factor_mass(rows: Entries, below: Pivots, lost: Scalar) -> tuple[Pivots, Scalar, Pivots, Scalar]:
    """The pivots of a joint's freedoms, the last first, and how many hinges from here outward have no inertia; both for
    the parent, too.
    """
    known = dict(below)
    entries: dict[Entry, dict[Entry, Scalar]] = {}
    for (row, column), value in rows:
        entries.setdefault(row, {})[column] = value
    for key in sorted(entries, reverse=True):
        known[key], none = _pivot(entries[key], key, known)
        lost = lost + none
    own = tuple((key, known[key]) for key in sorted(entries))
    return own, lost, (*own, *below), lost


def _pivot(row: Mapping[Entry, Scalar], key: Entry, known: Mapping[Entry, Pivot]) -> tuple[Pivot, Scalar]:
    """From a row of the mass matrix; and 1 where there is no inertia, else 0."""
    rest: dict[Entry, Scalar] = {}
    factor: dict[Entry, Scalar] = {}
    total = row[key]
    for outer in sorted((other for other in row if other != key), reverse=True):
        value = row[outer]
        for further, entry in known[outer].factor:
            value = value - rest[further] * entry
        rest[outer], factor[outer] = value, value * known[outer].inverse_d
        total = total - value * factor[outer]
    has_inertia = total > RELATIVE_ZERO * row[key]  # rounding may leave a trace of what is zero
    inverse = {outer: -value for outer, value in factor.items()}  # inv(U): w(j, l) = -u(j, l) - sum of u(j, k) w(k, l)
    for outer, value in factor.items():
        for further, entry in known[outer].inverse_factor:
            inverse[further] = inverse[further] - value * entry
    pivot = Pivot(reciprocal(where(has_inertia, total, 0.0)), tuple(factor.items()), tuple(inverse.items()))
    return pivot, where(has_inertia, 0.0, 1.0)


def inverse_rows(pivots: Pivots, lost: Scalar, at_parent: Pairs | None) -> tuple[Entries, Pairs]:
    """Rows of ``inv(U)* inv(D) inv(U)``: the parts of the joints inward (None at the world), and this one's."""
    sums = dict(at_parent or ())
    entries = []
    for key, pivot in pivots:
        row: Values = ((key, 1.0), *pivot.inverse_factor)
        scaled = [(other, value * pivot.inverse_d) for other, value in row]
        for i, (one, value) in enumerate(row):
            for other, share in scaled[i:]:
                pair = (min(one, other), max(one, other))
                sums[pair] = sums.get(pair, 0.0) + value * share
        if at_parent is None and key == pivots[0][0]:
            sums[key, key] = sums[key, key] * reciprocal(where(lost > 0.0, 0.0, 1.0))
        for pair in [pair for pair in sums if pair[0] == key]:
            entries.append((pair, sums.pop(pair)))
    return tuple(entries), tuple(sums.items())


def eliminated(
    pivots: Pivots, bias: Sequence[Scalar], torque: Sequence[Scalar], below: Values
) -> tuple[Values, Values]:
    """``eps = inv(U) (tau - bias)``, with what is known of it outward, for the parent."""
    known = dict(below)
    for (key, pivot), given, own in reversed(list(zip(pivots, torque, bias, strict=True))):
        value = given - own
        for outer, entry in pivot.factor:
            value = value - entry * known[outer]
        known[key] = value
    return tuple((key, known[key]) for key, _ in pivots), tuple(known.items())


def substituted(pivots: Pivots, eps: Values, at_parent: Values) -> tuple[tuple[Scalar, ...], Values]:
    """``qdd = inv(U*) inv(D) eps``: what joints inward take of it comes from the parent, its own share is added."""
    taken, found = dict(at_parent), []
    for (key, pivot), (_, value) in zip(pivots, eps, strict=True):
        own = value * pivot.inverse_d - taken.get(key, 0.0)
        found.append(own)
        for outer, entry in pivot.factor:
            taken[outer] = taken.get(outer, 0.0) + entry * own
    return tuple(found), tuple(taken.items())


MASS_ENTRIES = replace(MASS_ROWS, reads=("joint", "number", "R", "carried", "X"), writes=("mass", "carried@parent"))
FACTOR_MASS = Step(
    factor_mass,
    ("mass", "below", "lost"),
    ("pivots", "lost", "below@parent", "lost@parent"),
    "mass = U D U*, U = I + H phi K       (43)",
)
INVERSE_ROWS = Step(
    inverse_rows,
    ("pivots", "lost", "pairs@parent"),
    ("rows", "pairs"),
    "inv(mass) = inv(U)* inv(D) inv(U)    (46)",
)
ELIMINATED = Step(
    eliminated, ("pivots", "T", "tau", "eps_below"), ("eps", "eps_below@parent"), "eps = inv(U) (tau - bias)"
)
SUBSTITUTED = Step(substituted, ("pivots", "eps", "taken@parent"), ("qdd", "taken"), "qdd = inv(U*) inv(D) eps")

FACTOR_BUFFERS = (
    Buffer("mass", ()),
    Buffer("carried", ()),
    Buffer("below", ()),
    Buffer("pivots", ()),
    Buffer("lost", 0.0),
    Buffer("pairs", None),
    Buffer("rows", ()),
)

MASS_MATRIX_INVERSE_BY_FACTORS = Plan(
    "mass_matrix_inverse by factors",
    (Buffer("X", IDENTITY_TRANSFORM), Buffer("R", RigidInertia.zero()), *FACTOR_BUFFERS),
    (base_to_tip(RELATIVE), tip_to_base(COMPOSITE, MASS_ENTRIES, FACTOR_MASS), base_to_tip(INVERSE_ROWS)),
)
