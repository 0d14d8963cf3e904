"""The inverse of the mass matrix from the operational compliances, in root axes: no column is solved for.

What a unit torque at a joint does to the rest is the force ``c = psi K`` that it sends inward; Jain & Rodriguez (31):

    inv(mass)(i, i) = inv(D) + G* Upsilon(parent) G
    inv(mass)(k, i) = -inv(D) H c + (Upsilon(parent) G)* c+,    c+ = c - G H c,    k inward of i
    inv(mass)(i, j) = c(i)* Upsilon(b) c(j),    i and j on different branches of b

so that two joints of one freedom cost nineteen multiplications inward, and six across branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from recursa.dynamics import compliance
from recursa.dynamics.articulated_bodies import ELIMINATE, Elimination, filtered, smoothed
from recursa.dynamics.compliance import yielding
from recursa.dynamics.gathering import Block, Entries, block_entries, inward_entries, joint_matrix, own_entries
from recursa.model.model import Model
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_two_apart, from_each_inward, tip_to_base
from recursa.walks.jacobians import AT_REST, BUFFERS, Forces, Motions, in_root


class Hinge(NamedTuple):
    """What a force meets that comes past a joint: its motions, and G."""

    columns: Motions
    gains: Forces


class FreeHinge(NamedTuple):
    """What a force that comes past a joint meets: H*, inv(D), G, and how the parent yields to G."""

    columns: Motions
    inverse_d: Block
    gains: Forces
    yields: Motions


def hinge(done: tuple[Elimination, ...], parent: ArticulatedInertia) -> tuple[FreeHinge, Forces, Block]:
    """What forces meet at a joint, what its own unit torques send inward, and the entries with itself."""
    units = [tuple(1.0 if i == k else 0.0 for i in range(len(done))) for k in range(len(done))]
    sent = [filtered(done, unit, Force.zero()) for unit in units]
    inverse_d = tuple(smoothed(done, nu, Motion.zero())[0] for nu, _ in sent)
    gains = tuple(force for _, force in sent)
    yields = tuple(yielding(parent, force) for force in gains)
    own = tuple(
        tuple(inverse_d[i][k] + yields[i].dot(gains[k]) for k in range(i + 1)) for i in range(len(done))
    )  # fmt: skip
    return FreeHinge(tuple(one.column for one in done), inverse_d, gains, yields), gains, own


def behind(at: Hinge | FreeHinge, force: Force) -> tuple[tuple[Scalar, ...], Force]:
    """``s.c`` of every freedom, and ``c - G s.c``."""
    along, rest = tuple(column.dot(force) for column in at.columns), force
    for gain, value in zip(at.gains, along, strict=True):
        rest = rest - gain * value
    return along, rest


def past(at: FreeHinge, coming: Forces) -> tuple[Block, Forces, Forces]:
    """Entries of an inner joint with an outer one, what is left of its forces, and the same as they came."""
    entries: list[tuple[Scalar, ...]] = []
    left: list[Force] = []
    for force in coming:
        along, rest = behind(at, force)
        entries.append(
            tuple(
                motion.dot(rest) - reduce(add, (d * value for d, value in zip(row, along, strict=True)))
                for row, motion in zip(at.inverse_d, at.yields, strict=True)
            )
        )
        left.append(rest)
    return tuple(zip(*entries, strict=True)), tuple(left), coming


def yielding_to(body: ArticulatedInertia, coming: Forces) -> Motions:
    """How a body yields to the forces that come from one of its branches."""
    return tuple(yielding(body, force) for force in coming)


def across(one: Forces, other: Motions) -> Block:
    """``c(i)* Upsilon c(j)``."""
    return tuple(tuple(motion.dot(force) for motion in other) for force in one)


OUTWARD, COMPLIANCE = in_root(ELIMINATE), in_root(compliance.COMPLIANCE)
HINGE = Step(
    hinge,
    ("elimination", "Upsilon@parent"),
    ("hinge", "K", "own_inverse"),
    "inv(mass)(i,i) = inv(D) + G* Upsilon(parent) G",
)
PAST = Step(
    past,
    ("hinge@here", "c@carried"),
    ("inverse", "c", "came"),
    "inv(mass)(k,i) = -inv(D) H c + (Upsilon G)* c+, c+ = c - G H c",
)
YIELDING = Step(yielding_to, ("Upsilon@here", "came"), ("yielded",), "Upsilon c")
ACROSS = Step(across, ("came@left", "yielded@right"), ("crossing",), "inv(mass)(i,j) = c(i)* Upsilon c(j)")

INVERSE_BUFFERS = (
    Buffer("P", ArticulatedInertia.zero()),
    Buffer("elimination", ()),
    Buffer("Upsilon", ArticulatedInertia.zero()),
    Buffer("hinge", ()),
    Buffer("K", ()),
    Buffer("own_inverse", ()),
    Buffer("c", (), begins="K"),
    Buffer("came", ()),
    Buffer("inverse", ()),
    Buffer("yielded", ()),
    Buffer("crossing", ()),
)


def inverse_walks(model: Model) -> tuple[Sweep, ...]:
    """The sweeps over pairs, once hinges and compliances are known."""
    if not model.apart:
        return (from_each_inward(PAST),)
    branching = tuple(sorted({right for _, right in model.apart}))
    return from_each_inward(PAST), from_each_inward(YIELDING, only=branching), each_two_apart(ACROSS)


def mass_matrix_inverse_pairs(model: Model) -> Plan:
    """The plan for a robot: it depends on where the tree branches."""
    return Plan(
        "mass_matrix_inverse by walks",
        (*BUFFERS, *INVERSE_BUFFERS),
        (base_to_tip(*AT_REST), tip_to_base(OUTWARD), base_to_tip(COMPLIANCE, HINGE), *inverse_walks(model)),
    )


def inverse_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x nv inverse, row by row."""
    entries = [*own_entries(values.lists.get("own_inverse", []))]
    entries += inward_entries(model, values.lists.get("inverse", []))
    entries += _across_entries(model, values.lists.get("crossing", []))
    return joint_matrix(model, entries, symmetric=True)


def _across_entries(model: Model, blocks: Sequence[Block]) -> Iterator[Entries]:
    for (left, right), block in zip(model.apart, blocks, strict=True):
        yield block_entries(model.pairs[left][0], model.pairs[right][0], block)
