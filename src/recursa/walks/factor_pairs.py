"""The factors of the mass matrix, ``I + H phi K`` and its inverse ``I - H psi K``, in root axes; DeNOC's U.

    factor(j, i)  = s(j).G(i)                                                     j inward of i
    inverse(j, i) = -s(j).c,    c+ = c - G s.c behind a hinge, c = G(i) at first

Six multiplications for two joints of one freedom, and twelve.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recursa.dynamics.articulated_bodies import Elimination, eliminated, filtered
from recursa.dynamics.factorization import FACTOR_PLAN, INVERSE_FACTOR_PLAN
from recursa.dynamics.gathering import Block, Entries, dots, inward_entries, joint_matrix, matrix_of, own_entries
from recursa.kernels.loop import Looped
from recursa.model.may_move import MayMove
from recursa.model.model import WORLD, Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.sweeps.batching import Array
from recursa.walks.jacobians import AT_REST, BUFFERS, Forces, Motions
from recursa.walks.mass_matrix_inverse import INVERSE_BUFFERS, OUTWARD, Hinge, behind


def hinge(done: tuple[Elimination, ...]) -> tuple[Hinge, Forces]:
    """What forces meet at a joint, and the forces that begin there."""
    units = (tuple(1.0 if i == k else 0.0 for i in range(len(done))) for k in range(len(done)))
    gains = tuple(filtered(done, unit, Force.zero())[1] for unit in units)
    return Hinge(tuple(one.column for one in done), gains), gains


def past(at: Hinge, coming: Forces) -> tuple[Block, Forces]:
    """Entries of an inner joint with an outer one, and what is left of its forces."""
    found = [behind(at, force) for force in coming]
    return tuple(tuple(-x for x in row) for row in zip(*(along for along, _ in found), strict=True)), tuple(
        rest for _, rest in found
    )


def freedom_by_freedom(joint: Joint, columns: Motions, inertia: ArticulatedInertia) -> tuple[Forces, Block]:
    """DeNOC's psi, the last freedom eliminated first, and the entries of a joint's freedoms with later ones."""
    done, _ = eliminated(columns[::-1], joint.armature[::-1], inertia)
    psi = tuple(one.u * one.inverse_d for one in reversed(done))
    return psi, tuple(
        tuple(column.dot(later) if k > i else float(k == i) for k, later in enumerate(psi))
        for i, column in enumerate(columns)
    )


HINGE = Step(hinge, ("elimination",), ("hinge", "G"), "s, G = P s inv(D)                  (36)")
ALONG = Step(dots, ("S@here", "G@start"), ("entries",), "factor(j,i) = s(j).G(i)            (43)")
PAST = Step(past, ("hinge@here", "c@carried"), ("entries", "c"), "inverse(j,i) = -s(j).c, c+ = c - G s.c    (45)")
_BUFFERS = (
    *BUFFERS,
    *(one for one in INVERSE_BUFFERS if one.name in ("P", "elimination")),
    *(Buffer(name, ()) for name in ("hinge", "G", "own", "entries")),
    Buffer("c", (), begins="G"),
)

FACTOR_PAIRS = Plan(
    "factor by walks", _BUFFERS, (base_to_tip(*AT_REST), tip_to_base(OUTWARD, HINGE), from_each_inward(ALONG))
)
INVERSE_FACTOR_PAIRS = Plan(
    "inverse_factor by walks", _BUFFERS, (base_to_tip(*AT_REST), tip_to_base(OUTWARD, HINGE), from_each_inward(PAST))
)
FREEDOM_BY_FREEDOM_PAIRS = Plan(
    "U by walks, denoc",
    _BUFFERS,
    (
        base_to_tip(*AT_REST),
        tip_to_base(OUTWARD, Step(freedom_by_freedom, ("joint", "S", "P"), ("G", "own"), "psi = Mh p/mh    (47)-(50)")),
        from_each_inward(ALONG),
    ),
)


def factor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x nv matrix, row by row; one on the diagonal."""
    one = [tuple((((k, i), (k, i)), 1.0) for i in range(joint.kind.nv)) for k, joint in enumerate(model.joints)]
    return _with_pairs(model, one, values)


def freedom_by_freedom_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The same, of U."""
    return _with_pairs(model, list(own_entries(values.lists.get("own", []))), values)


def _with_pairs(model: Model, own: list[Entries], values: Values) -> Iterator[Scalar]:
    return joint_matrix(model, [*own, *inward_entries(model, values.lists.get("entries", []))], symmetric=False)


# ---- quantities ------------------------------------------------------------------------------------------------------


def factor_recipe(plan: Plan, may_move: MayMove, looped: Looped, model: Model) -> Recipe:
    """A factor by a plan, or by walks where there are many bodies."""
    gather, shape = matrix_of(model, symmetric=False), (model.nv, model.nv)
    return Recipe(plan, gather, shape, may_move, looped=looped, pivots=partial(_first_rows, model))


def _first_rows(model: Model, factor: Array, _: bool) -> Array:
    """Rows of the first joints of all trees: what is not finite of any joint outward shows there."""
    roots = [joint.v_start for joint in model.joints if joint.parent == WORLD]
    return factor[..., roots[0], :] if len(roots) == 1 else factor[..., roots, :]


def _matrix(plan: Plan, walks: Plan, of: Subject, given: Names) -> Recipe:
    return factor_recipe(plan, MayMove.INERTIAS, Looped(walks, partial(factor_entries, of.model)), of.model)


_UNITS = "between units of rotations and translations: 1, m or 1/m; rows and columns as in v"

FACTOR = Quantity(
    "factorization.factor",
    ("q",),
    partial(_matrix, FACTOR_PLAN, FACTOR_PAIRS),
    _UNITS,
    on_constraints=refusals.RESPONSES,
)
INVERSE_FACTOR = Quantity(
    "factorization.inverse_factor",
    ("q",),
    partial(_matrix, INVERSE_FACTOR_PLAN, INVERSE_FACTOR_PAIRS),
    _UNITS,
    on_constraints=refusals.RESPONSES,
)
