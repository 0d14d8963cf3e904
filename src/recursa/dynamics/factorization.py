"""The innovations factorisation of the mass matrix, ``(I + H phi K) D (I + H phi K)*``.

Rodriguez & Kreutz-Delgado (34)-(36) for P, D, G; Identities 3, 5 and 6 (43)-(46) for the factors. K = E_phi G.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recursa.dynamics.articulated_bodies import ARTICULATED_BUFFERS, ELIMINATE, Elimination, filtered
from recursa.dynamics.four_algorithms import FILTER, SMOOTH
from recursa.dynamics.gathering import ACCELERATIONS, Entries, Entry, flat, vector_of
from recursa.dynamics.kinematics import RELATIVE
from recursa.errors import NoSweepError
from recursa.model.may_move import MayMove
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array

Columns = tuple[tuple[Entry, Force], ...]

# ---- P, D, G, K ------------------------------------------------------------------------------------------------------


def hinge_inertia(joint: Joint, inertia: ArticulatedInertia) -> tuple[tuple[Scalar, ...], ...]:
    """``D = H P H* + A``, row by row."""
    columns = joint.columns()
    forces = [inertia @ column for column in columns]
    return tuple(
        tuple(columns[min(i, j)].dot(forces[max(i, j)]) + (rotor if i == j else 0.0) for j in range(len(columns)))
        for i, rotor in enumerate(joint.armature)
    )


def gains(done: tuple[Elimination, ...], step: Transform) -> tuple[tuple[Force, ...], tuple[Force, ...]]:
    """``G = P H* inv(D)``, a force per freedom, and ``K = phi G``."""
    own = tuple(filtered(done, _unit(i, len(done)), Force.zero())[1] for i in range(len(done)))
    return own, tuple(step.force(column) for column in own)


def _unit(freedom: int, size: int) -> tuple[float, ...]:
    return tuple(1.0 if i == freedom else 0.0 for i in range(size))


GAINS = Step(gains, ("elimination", "X"), ("gain", "K"), "G = P H* inv(D), K = phi G         (36)")

_BUFFERS = (
    *ARTICULATED_BUFFERS,
    Buffer("D", ()),
    Buffer("gain", ()),
    Buffer("K", ()),
    Buffer("F", ()),
    Buffer("rows", ()),
)

BLOCKS = Plan(
    "factorization",
    _BUFFERS,
    (
        base_to_tip(RELATIVE),
        tip_to_base(
            ELIMINATE,
            Step(hinge_inertia, ("joint", "P"), ("D",), "D = H P H* + A                     (36)"),
            GAINS,
        ),
    ),
)


def block_sizes(model: Model) -> tuple[int, ...]:
    """Numbers of P, D, G, K and 1/D, as :func:`block_entries` lists them."""
    nv = model.nv
    return 36 * model.nbodies, sum(joint.kind.nv**2 for joint in model.joints), 6 * nv, 6 * nv, nv


def block_entries(values: Values) -> Iterator[Scalar]:
    """P (6 x 6 per body), D (a block per joint), G and K (6 x nv), row by row; then 1/D of the eliminations."""
    inertias, hinges, own, carried, done = (
        values.lists.get(name, []) for name in ("P", "D", "gain", "K", "elimination")
    )
    for inertia in inertias:
        yield from six_by_six(inertia)
    for rows in hinges:
        yield from flat(rows)
    for gain in (own, carried):
        yield from flat(zip(*(column.components() for columns in gain for column in columns), strict=True))
    for eliminations in done:
        yield from (elimination.inverse_d for elimination in eliminations)


def six_by_six(inertia: ArticulatedInertia) -> Iterator[Scalar]:
    """The 6 x 6 matrix ``[[I, C], [C*, Q]]``, row by row."""
    moment, coupling, mass = inertia
    for upper, right in zip(moment.rows(), coupling, strict=True):
        yield from (*upper, *right)
    for left, lower in zip(coupling.T, mass.rows(), strict=True):
        yield from (*left, *lower)


# ---- the factors -----------------------------------------------------------------------------------------------------


def factor_rows(
    joint: Joint, number: int, gain: tuple[Force, ...], below: Columns, step: Transform
) -> tuple[Entries, Columns]:
    """Rows of ``I + H phi K``: the gains of the joints outward, carried here, along this joint's freedoms."""
    own = tuple(((number, i), column) for i, column in enumerate(gain))
    return _rows(joint, number, below, 1.0), tuple((key, step.force(z)) for key, z in (*own, *below))


def inverse_factor_rows(
    joint: Joint, number: int, done: tuple[Elimination, ...], gain: tuple[Force, ...], below: Columns, step: Transform
) -> tuple[Entries, Columns]:
    """Rows of ``I - H psi K``: as the factor's, with ``I - G H`` at every hinge on the way."""
    own = tuple(((number, i), column) for i, column in enumerate(gain))
    behind = tuple((key, filtered(done, (0.0,) * len(done), z)[1]) for key, z in below)
    return _rows(joint, number, below, -1.0), tuple((key, step.force(z)) for key, z in (*own, *behind))


def _rows(joint: Joint, number: int, below: Columns, sign: float) -> Entries:
    """The joint's rows of ``I + sign H z``, z the columns of the joints outward."""
    columns = joint.columns()
    one = tuple((((number, i), (number, i)), 1.0) for i in range(len(columns)))
    return one + tuple(
        (((number, i), key), sign * column.dot(z)) for i, column in enumerate(columns) for key, z in below
    )


def _factor_plan(name: str, rows: Step) -> Plan:
    return Plan(name, _BUFFERS, (base_to_tip(RELATIVE), tip_to_base(ELIMINATE, GAINS, rows)))


FACTOR_PLAN = _factor_plan(
    "factor", Step(factor_rows, ("joint", "number", "gain", "F", "X"), ("rows", "F@parent"), "I + H phi K    (43)")
)
INVERSE_FACTOR_PLAN = _factor_plan(
    "inverse_factor",
    Step(
        inverse_factor_rows,
        ("joint", "number", "elimination", "gain", "F", "X"),
        ("rows", "F@parent"),
        "I - H psi K    (45)",
    ),
)

# ---- solving ---------------------------------------------------------------------------------------------------------

SOLVE = Plan(
    "solve",
    (*ARTICULATED_BUFFERS, Buffer("z", Force.zero()), Buffer("lambda", Motion.zero())),
    (
        base_to_tip(RELATIVE),
        tip_to_base(ELIMINATE, FILTER.reading(**{"T'": "tau"})),
        base_to_tip(SMOOTH),
    ),
)

# ---- quantities ------------------------------------------------------------------------------------------------------


def _blocks(of: Subject, given: Names) -> Recipe:
    if of.tied:
        raise NoSweepError(
            f"robot '{of.model.name}' has tied joints: the factorisation is that of trees with independent "
            f"joints. {of.model.how_to_untie}, or factor mass_matrix(q)"
        )
    return Recipe(BLOCKS, block_entries, (sum(block_sizes(of.model)),))


def _solution(of: Subject, given: Names) -> Recipe:
    return Recipe(SOLVE, vector_of(of.model, "qdd"), (of.model.nv,), MayMove.INERTIAS)


FACTORIZATION = Quantity(
    "factorization",
    ("q",),
    _blocks,
    "entries of P, D, G and K in SI units, link axes; then 1/D per freedom",
    on_constraints=refusals.RESPONSES,
)
SOLUTION = Quantity("factorization.solve", ("q", "tau"), _solution, ACCELERATIONS, on_constraints=refusals.RESPONSES)


def block_diagonal(entries: Array, sizes: list[int]) -> Array:
    """The matrix (..., n, n) from its diagonal blocks, row by row one after the other."""
    n, batch = sum(sizes), entries.shape[:-1]
    joint_of = np.repeat(np.arange(len(sizes)), sizes)
    result = np.zeros((*batch, n, n), entries.dtype)
    result[..., joint_of[:, None] == joint_of] = entries  # in this order, since no row meets two blocks
    return result
