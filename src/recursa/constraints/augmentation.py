"""The augmentation method: multipliers from the Delassus matrix, all in sweeps.

With rows G of all constraints, ``mass a = T - bias + G* lambda`` and ``G a = -gamma`` give

    A lambda = -(G a_free + gamma),    A = G inv(mass) G*,    a = a_free + inv(mass) G* lambda.

``inv(mass) = (I - H psi K)* inv(D) (I - H psi K)`` (Rodriguez & Kreutz-Delgado, Identity 6 (46)), so each row is a
wrench that goes inward through the eliminations which forward dynamics have made anyway: eps = H psi w at the joints
between the link and the base, and A is the sum of ``eps inv(D) eps*`` over joints. O(depth) for a row, and for two rows
one product at every joint that both pass. ``G a_free + gamma`` is how the errors of the constraints would accelerate
in the free motion, which the accelerations of links tell; no bias is formed. With the multipliers, what they do at the
joints is added to the innovations, and the last sweep of forward dynamics is done with the sum.

Rows that may be nearly dependent are first made orthogonal in small blocks, as rows (``row_blocks.py``); the Delassus
matrix is that of the orthogonal rows, and its multipliers "along" are those that drive the joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recursa.constraints.ends import Numbers
from recursa.constraints.row_blocks import (
    Turns,
    joined,
    may_depend,
    pair,
    rounds,
    row_blocks,
    row_weights,
    turn,
    turn_buffers,
    turning,
)
from recursa.constraints.rows import Felt, Pull, Response, marking, row_bodies, row_buffers, wrench_steps
from recursa.dynamics.articulated_bodies import Elimination
from recursa.dynamics.needs import divides_by_hinges
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force
from recursa.spatial.scalars import Scalar, is_zero
from recursa.spatial.small_systems import Ranked, factored, null_vectors, shortest, solve_ranked
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Step, Sweep, Values, base_to_tip, tip_to_base

# ---- inward: what rows do at joints, and the Delassus matrix ---------------------------------------------------------


def places(count: int) -> dict[tuple[int, int], int]:
    """Where the entries of a symmetric matrix are, row by row from the diagonal."""
    return {pair: at for at, pair in enumerate((i, j) for i in range(count) for j in range(i, count))}


def passing(model: Model, *, in_root: bool = False) -> Step:
    """All rows that are felt at a body, past its joint; in root axes nothing is carried from body to body."""
    count, blocks, square = model.ncon, row_blocks(model), model.unit_length * model.unit_length

    @divides_by_hinges
    def passed(
        joint: Joint,
        rows: tuple[int, ...],
        done: tuple[Elimination, ...],
        felt: Felt,
        pull: tuple[Pull, ...],
        *steps: Transform,
    ) -> tuple[tuple[Response, ...], Numbers, Felt]:
        pulled = dict(pull)
        responses, onward = list[Response](), dict[int, Force]()
        for row in joined(rows, blocks):
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
        yielding: Scalar = 0.0
        for turns, one in zip(joint.kind.angular, done, strict=True):
            yielding = yielding + one.inverse_d * (square if turns else 1.0)
        return tuple(responses), Numbers((yielding,)), Felt.of(count, onward)

    return Step(
        passed,
        ("joint", "rows here", "elimination", "felt", "pull", *(() if in_root else ("X",))),
        ("responses", "yielding@robot", "felt@parent"),
        "eps = H psi w                                                    (46)",
    )


def adding(count: int) -> Step:
    """What a joint adds to the Delassus matrix."""
    where = places(count)

    def added(responses: tuple[Response, ...]) -> Numbers:
        entries: list[Scalar] = [0.0] * len(where)
        for k, one in enumerate(responses):
            for other in responses[k:]:
                entries[where[min(one.row, other.row), max(one.row, other.row)]] = pair(one, other)
        return Numbers(tuple(entries))

    return Step(added, ("responses",), ("delassus@robot",), "A += eps inv(D) eps*")


# ---- the small system ------------------------------------------------------------------------------------------------


def matrix(count: int, entries: Sequence[Scalar]) -> list[list[Scalar]]:
    """A symmetric matrix from the entries of its upper half."""
    where = places(count)
    return [[entries[where[min(i, j), max(i, j)]] for j in range(count)] for i in range(count)]


def delassus_factors(model: Model, delassus: Numbers, yielding: Numbers, turns: Turns) -> Ranked:
    """The Delassus matrix in factors, with its rank judged.

    A row is as good as zero where it is rounding of what the joints yield altogether: turning by their summed
    compliances, moving by these at the robot's own length.
    """
    A, weights = matrix(model.ncon, delassus.entries), turns.exchanged(row_weights(model))
    return factored(A, yielding.entries[0], weights, exchange=may_depend(model))


def decided(model: Model) -> tuple[tuple[str, ...], Callable[..., Turns]]:
    """What a step reads to know how rows were made orthogonal, and how it gets that."""
    blocks = row_blocks(model)
    reads = tuple(f"{turn(k)}@robot" for k in range(rounds(blocks)))
    return reads, lambda *numbers: Turns(blocks, [one.entries for one in numbers])


def factored_values(model: Model, values: Values) -> tuple[Ranked, Turns]:
    """The factors of the Delassus matrix that a plan found, and how its rows were made orthogonal."""
    robot, (reads, turns_of) = values.robot, decided(model)
    turns = turns_of(*(robot[name.removesuffix("@robot")] for name in reads))
    return delassus_factors(model, robot["delassus"], robot["yielding"], turns), turns


def solving(model: Model, *, least: bool = False) -> Step:
    """The multipliers, of the orthogonal rows and of the rows; ``least``: the shortest of the latter."""
    reads, turns_of = decided(model)

    def multipliers(
        delassus: Numbers, yielding: Numbers, demand: Numbers, *numbers: Numbers
    ) -> tuple[Numbers, Numbers]:
        turns = turns_of(*numbers)
        factors = delassus_factors(model, delassus, yielding, turns)
        along = solve_ranked(factors, turns.forward([-x for x in demand.entries]))
        found = turns.back(along)
        if least:
            found = shortest(found, _effortless(factors, turns))
        return Numbers(tuple(along)), Numbers(tuple(found))

    return Step(
        multipliers,
        ("delassus@robot", "yielding@robot", "demand@robot", *reads),
        ("along@robot", "lambda@robot"),
        "A lambda = -(G a + gamma)",
    )


def _effortless(factors: Ranked, turns: Turns) -> list[list[Scalar]]:
    """Multipliers of the rows that do nothing, as vectors that span them.

    A row that is nothing at all does nothing by itself, and has no multiplier anyway.
    """
    gone = (k for k in range(factors.size) if k not in set(factors.live))
    units = ([1.0 if i == k else 0.0 for i in range(factors.size)] for k in gone)
    vectors = (turns.back(vector) for vector in (*null_vectors(factors), *units))
    return [vector for vector in vectors if sum(not is_zero(x) for x in vector) > 1]


def driven(nu: Sequence[Scalar], responses: tuple[Response, ...], multipliers: Numbers) -> tuple[Scalar, ...]:
    """Innovations with what the constraints do."""
    total = list(nu)
    for row, _, own in responses:
        factor = multipliers.entries[row]
        total = [x + factor * y for x, y in zip(total, own, strict=True)]
    return tuple(total)


DRIVEN = Step(driven, ("nu", "responses", "along@robot"), ("nu",), "nu += inv(D) eps lambda")


def constraint_buffers(model: Model) -> tuple[Buffer, ...]:
    """What rows and multipliers are kept in, beside what ends are put down in."""
    count = model.ncon
    return (
        *row_buffers(count),
        Buffer("delassus", Numbers.zero(len(places(count)))),
        Buffer("yielding", Numbers.zero(1)),
        Buffer("demand", Numbers.zero(count)),
        Buffer("lambda", Numbers.zero(count)),
        Buffer("along", Numbers.zero(count)),
        *turn_buffers(model),
    )


def inward(model: Model, *, in_root: bool = False, orthogonal: bool = True) -> tuple[Sweep, ...]:
    """From the rows at the ends to the Delassus matrix, of rows made orthogonal in blocks or of the rows themselves."""
    bodies, add = row_bodies(model), adding(model.ncon)
    turns = tuple(turning(model)) if orthogonal else ()
    return (
        *marking(model),
        *wrench_steps(model, in_root=in_root),
        tip_to_base(passing(model, in_root=in_root), *(() if turns else (add,)), only=bodies),
        *turns,
        *((base_to_tip(add, only=bodies),) if turns else ()),
    )
