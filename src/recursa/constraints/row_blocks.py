"""Rows of the constraints made orthogonal in small blocks, before the Delassus matrix is formed.

``A = G inv(mass) G*`` squares the condition of its rows: two rows that differ by 1e-8 of their size are the same for
it, though both are known to 1e-16. Such rows are common within one constraint. The five rows of a hinge that closes a
planar linkage have three that depend on the others, and in a linkage whose axes are parallel to eight digits these
three are nearly, but not quite, redundant. So the rows of a block are made orthogonal first, as rows: what they do at
the joints, ``w = inv(sqrt(D)) eps``, is known without forming A. In every round the largest remaining row of a block is
exchanged with the first, and its part is taken from the others:

    w(i) <- w(i) - l(i) w(1),    l(i) = w(i).w(1) / w(1).w(1).

The products are sums over joints, so that a round is a sweep that adds them up, a decision for the robot, and a sweep
that carries it out at all joints. A Delassus matrix of such rows is well conditioned within a block.

Blocks are constraints, or several of them that share joints, up to 18 rows: rows of two loops through the same bars
depend on each other as rows of one loop do. Rows of a constraint that holds a link of a free base from outside cannot
depend on each other, whatever the configuration, and are left as they are unless they share joints with others. So are
all rows of robots whose constraints are independent except at singular configurations, as those of most
legged robots and platforms: exchanging rows of a matrix that is not singular gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recursa.constraints import dense
from recursa.constraints.ends import Numbers
from recursa.constraints.rows import (
    Response,
    bodies_of,
    jacobian_plan,
    jacobian_rows,
    row_bodies,
    row_scales,
    support_of,
)
from recursa.dynamics.articulated_bodies import Elimination
from recursa.dynamics.configuration import random_state
from recursa.dynamics.needs import divides_by_hinges
from recursa.model.constraint_equations import Closing, Equation, Telling
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar, is_zero
from recursa.spatial.small_systems import exchange_both_ways, exchanged, in_steps, inverse_pivot, largest_first
from recursa.sweeps import Buffer, Step, Sweep, base_to_tip, run

LARGEST_BLOCK = 18  # rows: constraints that share joints are joined up to this size, as three welds
CLEARLY = 1e-2  # of the largest: rows of which so much is left are independent
SAMPLES = 3  # configurations, one of which has to show that

Block = tuple[int, ...]


def may_depend(model: Model) -> bool:
    """Whether rows may depend on each other, exactly or nearly, at more than singular configurations.

    They do in planar linkages, which sampled configurations show. In linkages such as those of Bennett and Sarrus they
    do only while the loops are closed; such linkages move although they have no more freedoms than equations.
    """
    known = _DEPENDENT.get(model.digest)
    if known is None:
        movable = all(freedoms > rows for freedoms, rows in _meshes(model))
        known = not (movable and any(_clearly_independent(model, seed) for seed in range(SAMPLES)))
        _DEPENDENT[model.digest] = known
    return known


_DEPENDENT: dict[str, bool] = {}  # by digest of models


def _meshes(model: Model) -> Iterator[tuple[int, int]]:
    """The numbers of freedoms and of equations in every part of the robot whose constraints share bodies.

    Parts without loops and relations are left out: prescribed joints do not depend on each other.
    """
    parts = list[tuple[set[int], list[Equation]]]()
    for of in model.equations:
        bodies, equations = bodies_of(model, of), [of]
        for part in [part for part in parts if part[0] & bodies]:
            parts.remove(part)
            bodies, equations = bodies | part[0], equations + part[1]
        parts.append((bodies, equations))
    for bodies, equations in parts:
        if not all(isinstance(of, Telling) for of in equations):
            yield sum(model.joints[body].kind.nv for body in bodies), sum(len(of.units) for of in equations)


def _clearly_independent(model: Model, seed: int) -> bool:
    q, _ = random_state(model, seed, within_limits=False)
    rows = jacobian_rows(model, run(jacobian_plan(model), model, {"q": q.tolist()}))
    scales = row_scales(model)
    found = dense.orthonormal(rows, scales)
    if sum(found.independent) < model.ncon:
        return False
    lengths = [row[k] / scale for k, (row, scale) in enumerate(zip(found.lower, in_steps(found, scales), strict=True))]
    return min(lengths) > CLEARLY * max(lengths)


def row_blocks(model: Model) -> tuple[Block, ...]:
    """Blocks of at least two rows by number, rows that move before rows that turn."""
    if not may_depend(model):
        return ()
    blocks = list[tuple[list[int], set[int], bool]]()  # rows, the bodies that feel them, whether rows may depend
    for of in model.equations:
        rows, bodies = list(range(of.start, of.start + len(of.units))), bodies_of(model, of)
        may = not _cannot_depend(model, of)
        for near in [block for block in blocks if block[1] & bodies]:
            if len(near[0]) + len(rows) <= LARGEST_BLOCK:
                blocks.remove(near)
                rows, bodies, may = near[0] + rows, near[1] | bodies, True
        blocks.append((rows, bodies, may))
    units = "".join(of.units for of in model.equations)
    ordered = (sorted(rows, key=lambda row: (units[row] == "r", row)) for rows, _, may in blocks if may)
    return tuple(tuple(rows) for rows in ordered if len(rows) > 1)


def _cannot_depend(model: Model, of: Equation) -> bool:
    """Whether the rows of a constraint are independent at every configuration: a joint moves all of them freely."""
    if isinstance(of, Telling):
        return True
    if not isinstance(of, Closing):
        return False
    first, second = (set(support_of(model, link)) for link in of.links)
    return any(model.joints[body].kind.nv == 6 for body in first ^ second)


def row_weights(model: Model) -> list[float]:
    """Factors for squares of rows, so that turning and moving can be compared."""
    square = model.unit_length * model.unit_length
    return [square if unit == "r" else 1.0 for of in model.equations for unit in of.units]


class Turns(NamedTuple):
    """What was done to the rows of the blocks, to be done to other numbers: flags and factors for every round."""

    blocks: tuple[Block, ...]
    rounds: Sequence[Sequence[Scalar]]

    def forward(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """One number for every row, as it is for the orthogonal rows."""
        result = list(entries)
        for k, numbers in enumerate(self.rounds):
            for block, flags, factors in _decisions(self.blocks, k, numbers):
                for row, x in zip(block, reduced(flags, factors, [result[row] for row in block]), strict=True):
                    result[row] = x
        return result

    def undone(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """The inverse of :meth:`forward`."""
        result = list(entries)
        for k, numbers in reversed(list(enumerate(self.rounds))):
            for block, flags, factors in _decisions(self.blocks, k, numbers):
                first, *others = (result[row] for row in block)
                whole = [first, *(_plus(x, factor, first) for factor, x in zip(factors, others, strict=True))]
                for row, x in zip(block, exchanged(flags, whole), strict=True):
                    result[row] = x
        return result

    def exchanged(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """One number for every row, moved with it and not changed."""
        result = list(entries)
        for k, numbers in enumerate(self.rounds):
            for block, flags, _ in _decisions(self.blocks, k, numbers):
                for row, x in zip(block, exchanged(flags, [result[row] for row in block]), strict=True):
                    result[row] = x
        return result

    def back(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """Multipliers of the rows from those of the orthogonal rows, which do the same: the transpose of forward."""
        result = list(entries)
        for k, numbers in reversed(list(enumerate(self.rounds))):
            for block, flags, factors in _decisions(self.blocks, k, numbers):
                first, *others = (result[row] for row in block)
                for factor, x in zip(factors, others, strict=True):
                    first = _plus(first, factor, x, -1.0)
                for row, x in zip(block, exchanged(flags, [first, *others]), strict=True):
                    result[row] = x
        return result


def _plus(x: Scalar, factor: Scalar, y: Scalar, sign: float = 1.0) -> Scalar:
    if is_zero(factor) or is_zero(y):
        return x
    return x + factor * y if sign > 0.0 else x - factor * y


def reduced(flags: Sequence[Scalar], factors: Sequence[Scalar], entries: Sequence[Scalar]) -> list[Scalar]:
    """One round for one number of every remaining row of a block."""
    first, *others = exchanged(flags, entries)
    return [first, *(_plus(x, factor, first, -1.0) for factor, x in zip(factors, others, strict=True))]


def _remaining(blocks: tuple[Block, ...], k: int) -> Iterator[Block]:
    """Of every block the rows from number k on, where these are more than one."""
    return (block[k:] for block in blocks if len(block) > k + 1)


def _decisions(
    blocks: tuple[Block, ...], k: int, numbers: Sequence[Scalar]
) -> Iterator[tuple[Block, Sequence[Scalar], Sequence[Scalar]]]:
    at = 0
    for block in _remaining(blocks, k):
        size = len(block) - 1
        yield block, numbers[at : at + size], numbers[at + size : at + 2 * size]
        at += 2 * size


# ---- the steps -------------------------------------------------------------------------------------------------------


def _products(blocks: tuple[Block, ...], k: int) -> Step:
    def products(responses: tuple[Response, ...]) -> Numbers:
        found = {one.row: one for one in responses}
        entries = list[Scalar]()
        for block in _remaining(blocks, k):
            for at, i in enumerate(block):
                entries += (pair(found[i], found[j]) if i in found else 0.0 for j in block[at:])
        return Numbers(tuple(entries))

    return Step(products, ("responses",), (f"{_gram(k)}@robot",), "eps(i) inv(D) eps(j)* within blocks")


def pair(one: Response, other: Response) -> Scalar:
    """Their product at a joint, ``eps inv(D) eps*``."""
    first, *others = (a * b for a, b in zip(one.eps, other.nu, strict=True))
    return sum(others, start=first)


def _decide(blocks: tuple[Block, ...], weights: Sequence[float], k: int) -> Step:
    def decide(gram: Numbers, yielding: Numbers, *before: Numbers) -> Numbers:
        numbers, at = list[Scalar](), 0
        moved = Turns(blocks, [one.entries for one in before]).exchanged(weights)
        for block in _remaining(blocks, k):
            size = len(block)
            matrix = [[0.0] * size for _ in block]
            for i in range(size):
                matrix[i][i:] = gram.entries[at : at + size - i]
                at += size - i
            heavy = [moved[row] for row in block]
            flags = largest_first([matrix[i][i] * heavy[i] for i in range(size)])
            exchange_both_ways(matrix, 0, flags)
            inverse = inverse_pivot(matrix[0][0], yielding.entries[0], exchanged(flags, heavy)[0])
            numbers += (*flags, *(0.0 if is_zero(x) else x * inverse for x in matrix[0][1:]))
        return Numbers(tuple(numbers))

    before = (f"{turn(i)}@robot" for i in range(k))
    reads = (f"{_gram(k)}@robot", "yielding@robot", *before)
    return Step(decide, reads, (f"{turn(k)}@robot",), "which row comes first, and l(i)")


def _carry_out(blocks: tuple[Block, ...], k: int) -> Step:
    @divides_by_hinges
    def carried_out(
        done: tuple[Elimination, ...], responses: tuple[Response, ...], decided: Numbers
    ) -> tuple[Response, ...]:
        eps = {one.row: list(one.eps) for one in responses}
        for block, flags, factors in _decisions(blocks, k, decided.entries):
            if block[0] in eps:
                for freedom in range(len(done)):
                    column = reduced(flags, factors, [eps[row][freedom] for row in block])
                    for row, x in zip(block, column, strict=True):
                        eps[row][freedom] = x
        return tuple(
            Response(row, tuple(x), tuple(e * one.inverse_d for e, one in zip(x, done, strict=True)))
            for row, x in eps.items()
        )

    return Step(
        carried_out,
        ("elimination", "responses", f"{turn(k)}@robot"),
        ("responses",),
        "eps(i) -= l(i) eps(1)",
    )


def _gram(k: int) -> str:
    return f"products{k}"


def turn(k: int) -> str:
    """The buffer of what was decided in a round."""
    return f"turn{k}"


def rounds(blocks: tuple[Block, ...]) -> int:
    """How many rounds there are."""
    return max((len(block) for block in blocks), default=1) - 1


def turning(model: Model) -> Iterator[Sweep]:
    """Sweeps that make the rows at bodies, "responses", orthogonal within their blocks."""
    blocks, bodies = row_blocks(model), row_bodies(model)
    weights = row_weights(model)
    before: tuple[Step, ...] = ()
    for k in range(rounds(blocks)):
        yield base_to_tip(*before, _products(blocks, k), only=bodies)
        yield base_to_tip(_decide(blocks, weights, k), only=(0,))
        before = (_carry_out(blocks, k),)
    if before:
        yield base_to_tip(*before, only=bodies)


def turn_buffers(model: Model) -> Iterator[Buffer]:
    """What the rounds are kept in."""
    blocks = row_blocks(model)
    for k in range(rounds(blocks)):
        sizes = [len(block) for block in _remaining(blocks, k)]
        yield Buffer(_gram(k), Numbers.zero(sum(size * (size + 1) // 2 for size in sizes)))
        yield Buffer(turn(k), Numbers.zero(sum(2 * (size - 1) for size in sizes)))


def joined(rows: tuple[int, ...], blocks: tuple[Block, ...]) -> tuple[int, ...]:
    """Rows with all others of their blocks."""
    return tuple(sorted({*rows, *(x for block in blocks if not set(block).isdisjoint(rows) for x in block)}))
