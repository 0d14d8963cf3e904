"""Blocks of Omega between links of large robots: what acts on a link walks inward to where it meets another link.

In root axes, with F the unit wrenches of all links on a body and c what is felt of them further in, c+ = c - G H c past
a hinge:

    Omega(i, i) = F(i)* Upsilon(i) F(i)
    Omega(j, i) = F(j)* Upsilon(j) c(i)            the body of j inward of that of i
    Omega(i, j) = c(i)* Upsilon(b) c(j)            on different branches of b

Twelve multiplications for each column and hinge of one freedom, six for each entry, and no more walks than links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from recursa.constraints.rows import Felt
from recursa.dynamics.compliance import yielding
from recursa.dynamics.gathering import Block, dots
from recursa.dynamics.kinematics import LINK_POSE, POSE
from recursa.model.model import WORLD, Model
from recursa.operational.compliance_plans import unit_wrenches
from recursa.spatial.inertia import ArticulatedInertia, Force
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import (
    Buffer,
    Plan,
    Step,
    Sweep,
    Values,
    base_to_tip,
    each_link,
    each_two_apart,
    from_each_inward,
    tip_to_base,
)
from recursa.sweeps.engine import begins_walk
from recursa.walks.factor_pairs import HINGE
from recursa.walks.jacobians import AT_REST, BUFFERS, Forces, Motions
from recursa.walks.mass_matrix_inverse import COMPLIANCE, INVERSE_BUFFERS, OUTWARD, Hinge, across, behind, yielding_to

Rows = Mapping[int, Sequence[int]]  # those of (omega, v) that count, by link number


Columns = Felt
"""Wrenches of all links on a body, as many for every body; where it has fewer, the others are zero."""


# ---- which links, where ----------------------------------------------------------------------------------------------


class Meetings:
    """The bodies that links are on, and where walks from these meet.

    - ``links``: those of moving bodies; ``first``: where the columns of each begin among those of its body.
    - ``carriers``: their bodies; ``paths``: with all inward of them.
    - ``inward``, ``apart``: numbers of pairs and of bodies apart by two carriers, as far as both are carriers.
    - ``walked``: the pairs that walks go through until nobody is met any more; ``right``: those at a branching.
    """

    def __init__(self, model: Model, rows: Rows) -> None:
        self.links = [link for link in rows if model.links[link].body != WORLD]
        self.width = max((len(rows[link]) for link in self.links), default=0)
        on_body: dict[int, list[int]] = {}
        for link in self.links:
            on_body.setdefault(model.links[link].body, []).append(link)
        self.first = {link: self.width * at for own in on_body.values() for at, link in enumerate(own)}
        self.columns = self.width * max(map(len, on_body.values()), default=0)
        self.carriers = tuple(sorted(on_body))
        self.paths = tuple(sorted({k for body in self.carriers for k in model.support(body)}))
        self.inward = {pair: k for k, pair in enumerate(model.pairs) if on_body.keys() >= set(pair)}
        ends = ((model.pairs[left][0], model.pairs[right][0]) for left, right in model.apart)
        self.apart = {two: k for k, two in enumerate(ends) if on_body.keys() >= set(two)}
        met = {pair for k in self.apart.values() for pair in model.apart[k]} | set(self.inward.values())
        self.walked = tuple(sorted({k for pair in met for k in _as_far_as(pair, model)}))
        self.right = tuple(sorted({model.apart[k][1] for k in self.apart.values()}))


def _as_far_as(pair: int, model: Model) -> Iterator[int]:
    """The pairs of a walk, this one first."""
    while not begins_walk(pair, model):
        yield pair
        pair -= 1
    yield pair


# ---- steps -----------------------------------------------------------------------------------------------------------


def _wrenches(rows: Sequence[int], first: int, columns: int, frame: str) -> Step:
    """Unit wrenches at a link, in a frame, as they act on its body in root axes: among the columns of that body."""
    wrenches, reads = unit_wrenches(rows, frame)

    def placed(place: Transform, *arguments: Transform) -> Columns:
        own = (place.force(wrench) for wrench in wrenches(*arguments))
        return Columns.of(columns, dict(enumerate(own, first)))

    return Step(placed, ("O@body", *reads), ("ends@body",), "F: unit wrenches of the link, on its body")


def at_carrier(ends: Columns, compliance: ArticulatedInertia, at: Hinge) -> tuple[Block, Motions, Forces]:
    """Blocks of the links on a body, up to the diagonal; how it yields to their wrenches; what its parent feels."""
    answers = tuple(yielding(compliance, force) for force in ends.forces)
    own = tuple(
        tuple(answer.dot(force) for answer in answers[: k + 1]) for k, force in enumerate(ends.forces)
    )  # fmt: skip
    return own, answers, past(at, ends.forces)[1]


def past(at: Hinge, coming: Forces) -> tuple[Forces, Forces]:
    """Wrenches as they come to a body, and ``c - G H c``, what is left of them behind its hinge."""
    return coming, tuple(behind(at, force)[1] for force in coming)


AT_CARRIER = Step(at_carrier, ("ends", "Upsilon", "hinge"), ("own", "answers", "sent"), "F* Upsilon F, Upsilon F, F+")
PAST = Step(past, ("hinge@here", "c@carried"), ("came", "c"), "c+ = c - G H c")
MET_INWARD = Step(dots, ("answers@here", "came"), ("inward",), "Omega(j,i) = F(j)* Upsilon(j) c(i)")
YIELDING = Step(yielding_to, ("Upsilon@here", "came"), ("yielded",), "Upsilon c")
ACROSS = Step(across, ("came@left", "yielded@right"), ("crossing",), "Omega(i,j) = c(i)* Upsilon c(j)")


def blocks_pairs(model: Model, rows: Rows, frame: str) -> Plan:
    """Omega between links, those of its rows and columns that are asked for by link number."""
    where = Meetings(model, rows)
    poses, at_link = ((), ()) if frame == "body" else ((POSE,), (LINK_POSE,))
    alike: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for link in where.links:
        alike.setdefault((tuple(rows[link]), where.first[link]), []).append(link)
    sweeps = (
        base_to_tip(*AT_REST, *poses),
        tip_to_base(OUTWARD),
        base_to_tip(COMPLIANCE, HINGE, only=where.paths),
        *(
            each_link(*at_link, _wrenches(chosen, first, where.columns, frame), only=tuple(sorted(links)))
            for (chosen, first), links in alike.items()
        ),
        base_to_tip(AT_CARRIER, only=where.carriers),
        *_walks(where),
    )
    buffers = (
        *BUFFERS,
        *_FROM_INVERSE,
        Buffer("W", IDENTITY_TRANSFORM),
        Buffer("L", IDENTITY_TRANSFORM),
        Buffer("ends", Columns((Force.zero(),) * where.columns)),
        Buffer("c", (), begins="sent"),
        *(Buffer(name, ()) for name in _WRITTEN),
    )
    return Plan("operational_blocks by walks", buffers, sweeps)


def _walks(where: Meetings) -> Iterator[Sweep]:
    """From the links to where they meet."""
    if where.walked:
        yield from_each_inward(PAST, only=where.walked)
    if where.inward:
        yield from_each_inward(MET_INWARD, only=tuple(sorted(where.inward.values())))
    if where.apart:
        yield from_each_inward(YIELDING, only=where.right)
        yield each_two_apart(ACROSS, only=tuple(sorted(where.apart.values())))


_WRITTEN = ("hinge", "G", "own", "answers", "sent", "came", "inward", "yielded", "crossing")
_FROM_INVERSE = tuple(one for one in INVERSE_BUFFERS if one.name in ("P", "elimination", "Upsilon"))


# ---- results ---------------------------------------------------------------------------------------------------------


def block_matrix(
    model: Model, left: Sequence[int], right: Sequence[int], rows: Rows, values: Values
) -> Iterator[Scalar]:
    """Row by row the blocks of links ``left`` against links ``right``; those of links of the world are zero."""
    where = Meetings(model, rows)

    def entry(i: int, a: int, j: int, b: int) -> Scalar:
        if i not in where.first or j not in where.first:
            return 0.0
        (one, row), (other, column) = sorted(
            (model.links[link].body, where.first[link] + at) for link, at in ((i, a), (j, b))
        )
        if one == other:
            return values["own"][one][column][row]
        if (other, one) in where.inward:
            return values["inward"][where.inward[other, one]][row][column]
        if (one, other) in where.apart:
            return values["crossing"][where.apart[one, other]][row][column]
        return 0.0  # on different trees

    return (entry(i, a, j, b) for i in left for a in range(len(rows[i])) for j in right for b in range(len(rows[j])))
