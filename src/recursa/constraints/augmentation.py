"""The augmentation method: multipliers from the Delassus matrix, all in sweeps.

With rows G of all constraints, ``mass a = T - bias + G* lambda`` and ``G a = -gamma`` give

    A lambda = -(G a_free + gamma),    A = G inv(mass) G*,    a = a_free + inv(mass) G* lambda.

``inv(mass) = (I - H psi K)* inv(D) (I - H psi K)`` (Rodriguez & Kreutz-Delgado, Identity 6 (46)), so each row is a
wrench that goes inward through the eliminations which forward dynamics have made anyway: eps = H psi w at the joints
between the link and the base, and A is the sum of ``eps inv(D) eps*`` over joints. O(depth) for a row, and for two rows
one product at every joint that both pass. ``G a_free + gamma`` is how the errors of the constraints would accelerate
in the free motion, which the accelerations of links tell; no bias is formed. With the multipliers, what they do at the
joints is added to the innovations, and the last sweep of forward dynamics is done with the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

from recursa.constraints.ends import Numbers
from recursa.constraints.rows import Felt, Pull, Response, marking, row_bodies, row_buffers, wrench_steps
from recursa.dynamics.articulated import Elimination
from recursa.dynamics.needs import divides_by_hinges
from recursa.model.model import Joint, Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import Ranked, factored, shortest, solve_ranked
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Step, Sweep, tip_to_base

# ---- inward: what rows do at joints, and the Delassus matrix ---------------------------------------------------------


def places(count: int) -> dict[tuple[int, int], int]:
    """Where the entries of a symmetric matrix are, row by row from the diagonal."""
    return {pair: at for at, pair in enumerate((i, j) for i in range(count) for j in range(i, count))}


def passing(count: int, unit_length: float, *, in_root: bool = False) -> Step:
    """All rows that are felt at a body, past its joint; in root axes nothing is carried from body to body."""
    where = places(count)

    @divides_by_hinges
    def passed(
        joint: Joint,
        rows: tuple[int, ...],
        done: tuple[Elimination, ...],
        felt: Felt,
        pull: tuple[Pull, ...],
        *steps: Transform,
    ) -> tuple[tuple[Response, ...], Numbers, Numbers, Felt]:
        pulled = dict(pull)
        responses, onward = list[Response](), dict[int, Force]()
        for row in rows:
            w, torque = felt.forces[row], pulled.get(row, (0.0,) * len(done))
            eps, nu = list[Scalar](), list[Scalar]()
            for (column, u, inverse_d), t in zip(done, torque, strict=True):
                eps.append(t + column.dot(w))
                nu.append(eps[-1] * inverse_d)
                w = w - u * nu[-1]
            responses.append(Response(row, tuple(eps), tuple(nu)))
            for step in steps:
                w = step.force(w)
            onward[row] = w
        entries: list[Scalar] = [0.0] * len(where)
        for k, (i, eps_i, _) in enumerate(responses):
            for j, _, nu_j in responses[k:]:
                entries[where[i, j]] = _dot(eps_i, nu_j)
        yielding: Scalar = 0.0
        for turns, one in zip(joint.kind.angular, done, strict=True):
            yielding = yielding + one.inverse_d * (unit_length * unit_length if turns else 1.0)
        return tuple(responses), Numbers(tuple(entries)), Numbers((yielding,)), Felt.of(count, onward)

    return Step(
        passed,
        ("joint", "rows here", "elimination", "felt", "pull", *(() if in_root else ("X",))),
        ("responses", "delassus@robot", "yielding@robot", "felt@parent"),
        "eps = H psi w, A += eps inv(D) eps*                              (46)",
    )


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    first, *others = (a * b for a, b in zip(x, y, strict=True))
    return sum(others, start=first)


# ---- the small system ------------------------------------------------------------------------------------------------


def matrix(count: int, entries: Sequence[Scalar]) -> list[list[Scalar]]:
    """A symmetric matrix from the entries of its upper half."""
    where = places(count)
    return [[entries[where[min(i, j), max(i, j)]] for j in range(count)] for i in range(count)]


def delassus_factors(model: Model, unit_length: float, delassus: Numbers, yielding: Numbers) -> Ranked:
    """The Delassus matrix in factors, with its rank judged.

    A row is as good as zero where it is rounding of what the joints yield altogether: turning by their summed
    compliances, moving by these at the robot's own length.
    """
    (scale,) = yielding.entries
    turning = scale * (1.0 / (unit_length * unit_length))
    least = [turning if unit == "r" else scale for of in model.equations for unit in of.units]
    return factored(matrix(model.ncon, delassus.entries), least)


def solving(model: Model, unit_length: float, *, least: bool = False) -> Step:
    """The multipliers; ``least``: the shortest of them, where there are several."""

    def multipliers(delassus: Numbers, yielding: Numbers, demand: Numbers) -> Numbers:
        factors = delassus_factors(model, unit_length, delassus, yielding)
        found = solve_ranked(factors, [-x for x in demand.entries])
        return Numbers(tuple(shortest(factors, found) if least else found))

    return Step(
        multipliers,
        ("delassus@robot", "yielding@robot", "demand@robot"),
        ("lambda@robot",),
        "A lambda = -(G a + gamma)",
    )


def driven(nu: Sequence[Scalar], responses: tuple[Response, ...], multipliers: Numbers) -> tuple[Scalar, ...]:
    """Innovations with what the constraints do."""
    total = list(nu)
    for row, _, own in responses:
        factor = multipliers.entries[row]
        total = [x + factor * y for x, y in zip(total, own, strict=True)]
    return tuple(total)


DRIVEN = Step(driven, ("nu", "responses", "lambda@robot"), ("nu",), "nu += inv(D) eps lambda")


def constraint_buffers(model: Model) -> tuple[Buffer, ...]:
    """What rows and multipliers are kept in, beside what ends are put down in."""
    count = model.ncon
    return (
        *row_buffers(count),
        Buffer("delassus", Numbers.zero(len(places(count)))),
        Buffer("yielding", Numbers.zero(1)),
        Buffer("demand", Numbers.zero(count)),
        Buffer("lambda", Numbers.zero(count)),
    )


def inward(model: Model, unit_length: float, *, in_root: bool = False) -> tuple[Sweep, ...]:
    """From the rows at the ends to the Delassus matrix."""
    bodies = row_bodies(model)
    return (
        *marking(model),
        *wrench_steps(model, in_root=in_root),
        tip_to_base(passing(model.ncon, unit_length, in_root=in_root), only=bodies),
    )
