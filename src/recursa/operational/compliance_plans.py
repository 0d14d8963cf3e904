"""Operational space: how links yield to forces, and what inertia they show, with all joints free to move.

Jain & Rodriguez, section 4: ``Omega = phi* H* inv(mass) H phi = psi* H* inv(D) H psi`` (31). Its diagonal blocks are
the compliances Upsilon(k), by the recursion (34) in ``compliance.py``. The others, also across branches, are
``Omega(i, j) = psi*(c, i) Upsilon(c) psi(c, j)`` with c the nearest body that carries both. Of a link that flies freely
the inertia ``Lambda(k) = P(k) + S(k)`` (37) needs no inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from recursa.dynamics.articulated_bodies import ARTICULATED_BUFFERS, ELIMINATE, Elimination, filtered, reduced
from recursa.dynamics.compliance import COMPLIANCE, COMPLIANCE_BUFFER, yielding
from recursa.dynamics.kinematics import LINK_POSE, POSE, RELATIVE, frame_function
from recursa.dynamics.needs import divides_by_hinges
from recursa.free.base_invariant import base_rotors
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, Force, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_link, tip_to_base

# ---- at a link: inertias, and compliances with the halves exchanged, go the same way ---------------------------------


def at_link(body: ArticulatedInertia, offset: Transform) -> ArticulatedInertia:
    """From a body's origin and axes to those of a link on it."""
    return offset.inverse.articulated(body)


def turned(pose: Transform, of: ArticulatedInertia) -> ArticulatedInertia:
    """World axes at the link origin."""
    return of.rotated(pose.rotation)


def carried_to_world(pose: Transform, of: ArticulatedInertia) -> ArticulatedInertia:
    """World axes at the world origin."""
    return pose.articulated(of)


BUFFERS = (
    *ARTICULATED_BUFFERS,
    COMPLIANCE_BUFFER,
    Buffer("L", IDENTITY_TRANSFORM),
    Buffer("around", None),
    Buffer("at_link", ArticulatedInertia.zero()),
    Buffer("in_frame", ArticulatedInertia.zero()),
)
_TO_FRAME: dict[str, Callable[[Transform, ArticulatedInertia], ArticulatedInertia]] = {
    "mixed": turned,
    "world": carried_to_world,
}


def _moved(frame: str) -> tuple[Step, ...]:
    """What poses of bodies need, if a frame needs them."""
    frame_function(frame)  # an unknown one is an error
    return () if frame == "body" else (POSE,)


def _at_links(source: str, base: str, frame: str, only: tuple[int, ...] | None) -> Sweep:
    """Each link's block from its body's, in a frame; the last one written is :func:`result_of`."""
    own = Step(at_link, (f"{source}@body", "offset"), ("at_link",), f"{base}(link) from {base}(body)")
    if frame == "body":
        return each_link(own, only=only)
    return each_link(
        own, LINK_POSE, Step(_TO_FRAME[frame], ("L", "at_link"), ("in_frame",), f"to frame '{frame}'"), only=only
    )


def result_of(values: Values, frame: str) -> Sequence[ArticulatedInertia]:
    """The blocks of all links."""
    return values.lists.get("at_link" if frame == "body" else "in_frame", [])


# ---- compliance: (34) ------------------------------------------------------------------------------------------------


def compliance_plan(frame: str, link: int | None = None, model: Model | None = None) -> Plan:
    """Upsilon of all links, or of one: inward over all bodies, outward along its path only."""
    poses = _moved(frame)
    path = None if link is None or model is None else model.support(model.links[link].body)
    sweeps = (
        base_to_tip(RELATIVE),
        tip_to_base(ELIMINATE),
        base_to_tip(*poses, COMPLIANCE, only=path),
        _at_links("Upsilon", "Upsilon", frame, None if link is None else (link,)),
    )
    return Plan("operational_compliance", BUFFERS, sweeps)


def compliance_entries(of: ArticulatedInertia) -> Iterator[Scalar]:
    """The 6 x 6 matrix, angular part first, row by row; inside, the linear half comes first."""
    linear, coupling, angular = of
    for left, right in zip(angular.rows(), coupling.T, strict=True):
        yield from (*left, *right)
    for left, right in zip(coupling, linear.rows(), strict=True):
        yield from (*left, *right)


# ---- inertia of what flies freely: Lemma 4.1 (37) --------------------------------------------------------------------


def flying_path(model: Model, link: int) -> tuple[int, ...] | None:
    """The bodies from a free joint out to a link, if nothing inward of that joint can be felt; else None.

    Across a free joint no force passes but that of its rotors, if it has any, against what it hangs on; the world does
    not yield to them.
    """
    path = model.support(model.links[link].body)
    for at in reversed(range(len(path))):
        joint = model.joints[path[at]]
        if joint.kind.is_free and (joint.parent == WORLD or not any(joint.armature)):
            return path[at:]
    return None


@divides_by_hinges
def all_around(
    joint: Joint, above: ArticulatedInertia | None, inertia: RigidInertia, outboard: ArticulatedInertia, step: Transform
) -> ArticulatedInertia:
    """What a body shows with all but the part of the robot beyond the next body of the path: ``M + S + others``.

    ``S+ = phi^-1 X phi^-*`` of what the parent shows without this body, and ``S`` behind the hinge (16). Which way
    round the hinge is taken matters to forces, not to inertias. At the end of the path nothing is left out: P + S.
    """
    rest = base_rotors(joint) if above is None else reduced(joint, step.inverse.articulated(above))[1]
    return rest + ArticulatedInertia.from_rigid(inertia) + outboard


def inertia_plan(frame: str, link: int, model: Model) -> Plan:
    """Lambda of a link that flies freely: the robot's articulated inertia, seen from that link.

    Every body is eliminated once, towards the link: those beside the path inward, those on it outward.
    """
    poses = _moved(frame)
    support = model.support(model.links[link].body)
    path = flying_path(model, link) or ()
    beside = tuple(k for k in range(model.nbodies) if k not in path and set(path) & set(model.support(k)))
    around = Step(
        all_around,
        ("joint", "around@parent", "inertia", "P", "X"),
        ("around",),
        "M + S + P+ of the other children, S = (1 + G_s H) S+                 Jain & Rodriguez (16), (37)",
    )
    sweeps = (
        base_to_tip(RELATIVE),
        tip_to_base(ELIMINATE, only=beside),
        *((base_to_tip(POSE, only=support),) if poses else ()),
        base_to_tip(around, only=path),
        _at_links("around", "Lambda", frame, (link,)),
    )
    return Plan("operational_inertia", BUFFERS, sweeps)


# ---- blocks between links --------------------------------------------------------------------------------------------


class FeltWrenches(NamedTuple):
    """A link's unit wrenches, or a part of them, as they are felt at a body inward of it: columns of psi(c, i)."""

    link: int
    columns: tuple[Force, ...]


class Branch(NamedTuple):
    """What reaches a body from one direction. With a ``basis`` the columns are coordinates in it.

    Where links meet that have more than six columns together, six of psi from there on serve them all: each body is
    passed with at most six, and what is left is one product per link and meeting.
    """

    basis: tuple[Force, ...] | None
    reaches: tuple[FeltWrenches, ...]


Block = tuple[tuple[int, int], tuple[tuple[Scalar, ...], ...]]  # (link, link), rows
_UNIT_FORCES = tuple(Force.of([1.0 if i == k else 0.0 for i in range(6)]) for k in range(6))


def meeting(
    of: ArticulatedInertia,
    own: tuple[FeltWrenches, ...],
    below: tuple[Branch, ...],
    done: tuple[Elimination, ...],
    step: Transform,
) -> tuple[tuple[Block, ...], tuple[Branch, ...]]:
    """Blocks of the links that meet at a body, and what reaches its parent."""
    if not own and len(below) == 1:
        return (), (_passed(below[0], done, step),)
    groups = [*((reach,) for reach in own), *(_resolved(branch) for branch in below)]
    answers = {reach.link: tuple(yielding(of, w) for w in reach.columns) for group in groups for reach in group}
    pairs = [(reach, reach) for reach in own]
    for one, other in combinations(groups, 2):
        pairs += [(left, right) for left in one for right in other]
    blocks = tuple(
        ((i.link, j.link), tuple(tuple(answer.dot(w) for answer in answers[j.link]) for w in i.columns))
        for i, j in pairs
    )
    everything = tuple(reach for group in groups for reach in group)
    return blocks, (_passed(Branch(None, everything), done, step),)


def _passed(branch: Branch, done: tuple[Elimination, ...], step: Transform) -> Branch:
    """Across a hinge, ``E_psi = E_phi tau_bar``."""
    basis, reaches = branch
    if basis is None and sum(len(reach.columns) for reach in reaches) > 6:
        basis = _UNIT_FORCES
    if basis is None:
        return Branch(None, tuple(FeltWrenches(link, _inward(columns, done, step)) for link, columns in reaches))
    return Branch(_inward(basis, done, step), reaches)


def _inward(forces: tuple[Force, ...], done: tuple[Elimination, ...], step: Transform) -> tuple[Force, ...]:
    still = (0.0,) * len(done)
    return tuple(step.force(filtered(done, still, z)[1]) for z in forces)


def _resolved(branch: Branch) -> tuple[FeltWrenches, ...]:
    """The columns themselves, without a basis."""
    basis, reaches = branch
    if basis is None:
        return reaches

    def combined(w: Force) -> Force:
        first, *others = (column * x for column, x in zip(basis, w.components(), strict=True))
        return sum(others, start=first)

    return tuple(FeltWrenches(link, tuple(combined(w) for w in columns)) for link, columns in reaches)


def unit_wrenches(rows: Sequence[int], frame: str) -> tuple[Callable[..., tuple[Force, ...]], tuple[str, ...]]:
    """A function that gives the unit wrenches at a link, in a frame, as they act on its body; and what it reads."""

    def wrenches(offset: Transform, *pose: Transform) -> tuple[Force, ...]:
        forces = [_UNIT_FORCES[k] for k in rows]
        if pose:
            axes = pose[0].turn() if frame == "mixed" else pose[0]
            forces = [axes.inverse_force(force) for force in forces]
        return tuple(offset.force(force) for force in forces)

    return wrenches, ("offset",) if frame == "body" else ("offset", "L")


def _wrenches(link: int, rows: Sequence[int], frame: str) -> Step:
    """Unit wrenches at a link, in a frame, as they act on its body."""
    wrenches, reads = unit_wrenches(rows, frame)

    def felt(*arguments: Transform) -> tuple[FeltWrenches, ...]:
        return (FeltWrenches(link, wrenches(*arguments)),)

    return Step(felt, reads, ("ends@body",), "unit wrenches of the link, on its body")


def moving_bodies(model: Model, links: Iterable[int]) -> tuple[int, ...]:
    """The bodies whose joints move one of the links."""
    return tuple(sorted({k for link in links for k in model.support(model.links[link].body)}))


def blocks_plan(model: Model, rows: Mapping[int, Sequence[int]], frame: str) -> Plan:
    """Omega between links, those of its rows and columns that are asked for by link number.

    O(n) for P and Upsilon, for at most six columns through each body, and for m links O(m^2) products where they meet.
    """
    poses = _moved(frame)
    bodies = moving_bodies(model, rows)
    pick = () if frame == "body" else (LINK_POSE,)
    sweeps = (
        base_to_tip(RELATIVE),
        tip_to_base(ELIMINATE),
        base_to_tip(*poses, COMPLIANCE, only=bodies),
        *(each_link(*pick, _wrenches(link, chosen, frame), only=(link,)) for link, chosen in rows.items()),
        tip_to_base(
            Step(
                meeting,
                ("Upsilon", "ends", "branches", "elimination", "X"),
                ("blocks", "branches@parent"),
                "Omega(i, j) = psi*(c, i) Upsilon(c) psi(c, j)",
            ),
            only=bodies,
        ),
    )
    buffers = (*BUFFERS, *(Buffer(name, ()) for name in ("ends", "branches", "blocks")))
    return Plan("operational_blocks", buffers, sweeps)


def block_matrix(
    values: Values, left: Sequence[int], right: Sequence[int], rows: Mapping[int, Sequence[int]]
) -> Iterator[Scalar]:
    """Row by row the blocks of links ``left`` against links ``right``; those of links of the world are zero."""
    found: dict[tuple[int, int], Sequence[Sequence[Scalar]]] = {}
    for (i, j), block in (one for blocks in values.lists.get("blocks", []) for one in blocks):
        if i == j:  # symmetric to the last bit
            block = tuple(tuple(block[min(r, c)][max(r, c)] for c in range(len(block))) for r in range(len(block)))
        found[i, j] = block
        found[j, i] = tuple(zip(*block, strict=True))
    for i in left:
        for r in range(len(rows[i])):
            for j in right:
                yield from found[i, j][r] if (i, j) in found else (0.0,) * len(rows[j])
