"""From values per joint to vectors and matrices in joint space; tied joints are folded into their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from recursa.kernels.loop import Looped
from recursa.kernels.staging import Unit
from recursa.model.model import Joint, Model
from recursa.quantities.quantity import Gather
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan
from recursa.sweeps.engine import Values
from recursa.sweeps.input_kinds import FORCES as FORCES

Entry = tuple[int, int]  # (joint number, freedom)
Entries = tuple[tuple[tuple[Entry, Entry], Scalar], ...]  # of a matrix: ((row, column), value)
Block = tuple[tuple[Scalar, ...], ...]  # rows of one joint, columns of another


class TwoWays(NamedTuple):
    """An inner joint and an outer one: rows of the inner one, and those of the outer one where they are others."""

    inward: Block
    outward: Block = ()


def joint_vector(model: Model, per_joint: Sequence[Sequence[Any]], zero: Any = 0.0) -> list[Any]:
    """nv entries, numbers or vectors, from one tuple per joint; a tied joint's, times its multiplier, are added to its
    source's.
    """
    total = [zero] * model.nv
    for joint, values in zip(model.joints, per_joint, strict=True):
        for freedom, value in enumerate(values):
            at, factor = speed_index(joint, freedom)
            total[at] = total[at] + (value if factor is None else value * factor)
    return total


def joint_matrix(model: Model, per_joint: Sequence[Entries], *, symmetric: bool) -> Iterator[Scalar]:
    """nv x nv entries, row by row, from the known ones; those not given are zero, or mirrored if symmetric."""
    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for (left, right), value in (entry for entries in per_joint for entry in entries):
        for (i, a), (j, b) in ((left, right), (right, left)) if symmetric and left != right else ((left, right),):
            row, row_factor = speed_index(model.joints[i], a)
            column, column_factor = speed_index(model.joints[j], b)
            share = value
            for factor in (row_factor, column_factor):
                share = share if factor is None else share * factor
            rows[row][column] = rows[row][column] + share
    return flat(rows)


def dots(motions: Iterable[Motion], forces: Sequence[Force]) -> Block:
    """Every motion along every force."""
    return tuple(tuple(motion.dot(force) for force in forces) for motion in motions)


def block_entries(rows: int, columns: int, block: Block) -> Entries:
    """Entries of a block: rows of one joint, columns of another."""
    return tuple((((rows, i), (columns, j)), value) for i, row in enumerate(block) for j, value in enumerate(row))


def entries_with(number: int, own: Block, pairs: Iterable[tuple[int, TwoWays]]) -> Entries:
    """Entries that pair a joint with itself and with joints outward, by their numbers."""
    entries = [*block_entries(number, number, own)]
    for outer, (inward, outward) in pairs:
        entries += [*block_entries(number, outer, inward), *block_entries(outer, number, outward)]
    return tuple(entries)


def own_entries(blocks: Sequence[Block]) -> Iterator[Entries]:
    """Entries of blocks that pair joints with themselves; a block may stop at the diagonal."""
    return (block_entries(k, k, block) for k, block in enumerate(blocks))


def inward_entries(model: Model, blocks: Sequence[Block], *, transposed: bool = False) -> Iterator[Entries]:
    """Entries of blocks of pairs: rows of the inner joint and columns of the outer one, or the other way round."""
    for (outer, inner), block in zip(model.pairs, blocks, strict=True):
        yield block_entries(outer, inner, block) if transposed else block_entries(inner, outer, block)


def matrices_of_pairs(
    model: Model, own: Sequence[Sequence[Block]], pairs: Sequence[Sequence[TwoWays]], symmetric: Sequence[bool]
) -> Iterator[Scalar]:
    """Matrices, each row by row: of each a block for every joint, and one or two for every pair of joints."""
    for k, mirrored in enumerate(symmetric):
        entries = [*own_entries([one[k] for one in own]), *inward_entries(model, [one[k].inward for one in pairs])]
        if not mirrored:
            entries += inward_entries(model, [one[k].outward for one in pairs], transposed=True)
        yield from joint_matrix(model, entries, symmetric=mirrored)


def damping_coefficients(model: Model) -> list[float]:
    """Damping of every freedom, nv; a tied joint's acts on its source's."""
    damping = [0.0] * model.nv
    for joint in model.joints:
        for freedom, d in enumerate(joint.damping):
            at, factor = speed_index(joint, freedom)
            damping[at] += d if factor is None else d * factor * factor
    return damping


def friction_coefficients(model: Model) -> tuple[list[float], list[float]]:
    """Coulomb friction of every freedom, nv: against positive speeds, and against negative ones."""
    forward, backward = [0.0] * model.nv, [0.0] * model.nv
    for joint in model.joints:
        for freedom, coulomb in enumerate(joint.friction):
            at, factor = speed_index(joint, freedom)
            size = 1.0 if factor is None else abs(factor)
            one, other = coulomb if isinstance(coulomb, tuple) else (coulomb, coulomb)
            if factor is not None and factor < 0.0:  # the tied joint moves the other way
                one, other = other, one
            forward[at] += one * size
            backward[at] += other * size
    return forward, backward


def in_turn(names: Iterable[str], values: Values) -> Iterator[Scalar]:
    """Entries of all joints, buffer after buffer."""
    for name in names:
        yield from flat(values.lists.get(name, []))


def flat(rows: Iterable[Iterable[Scalar]]) -> Iterator[Scalar]:
    """The entries of rows, one after the other."""
    for row in rows:
        yield from row


def speed_index(joint: Joint, freedom: int) -> tuple[int, float | None]:
    """Where a freedom is among the robot's speeds, and the factor of its tie (None where there is none)."""
    return joint.v_start + freedom, None if joint.tie is None else joint.tie.multiplier


# ---- what many quantities in joint space share: how a result is gathered, and units ----------------------------------


ACCELERATIONS = "rad/s^2 for rotations, m/s^2 for translations; places as in v"
MASSES = "kg m^2 for rotations, kg for translations, kg m mixed; rows and columns as in v"


def vector_of(model: Model, name: str) -> Gather:
    """A joint vector from a buffer."""

    def gather(values: Values) -> list[Scalar]:
        return joint_vector(model, values.lists.get(name, []))

    return gather


def listed(name: str) -> Gather:
    """The entries of rows, or of numbers of joints, in a buffer, one after the other."""
    return lambda values: flat(values.lists.get(name, []))


def matrix_of(model: Model, *, symmetric: bool, name: str = "rows") -> Gather:
    """A matrix in joint space from the entries in a buffer."""

    def gather(values: Values) -> Iterator[Scalar]:
        return joint_matrix(model, values.lists.get(name, []), symmetric=symmetric)

    return gather


def columns_of(model: Model, plan: Plan, name: str, unit: str) -> Looped:
    """A matrix column by column, for robots that are too large for all of it at once."""
    return Looped(plan, vector_of(model, name), Unit(unit, model.nv))
