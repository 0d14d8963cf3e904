"""The factor B of the compliances of links, ``J inv(mass) J* = B B*``, from which inertias are computed.

Jain & Rodriguez (31): ``Omega = phi* H* inv(mass) H phi = psi* H* inv(D) H psi``. So

    B = B(links)* psi* H* D^(-1/2)

has a row for each coordinate of the links and a column for each degree of freedom that moves one of them. The condition
number of B is the square root of that of ``B B*``: inverses from B keep twice as many digits near singular states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from recursa.dynamics.articulated_bodies import ELIMINATE, Elimination, innovated
from recursa.dynamics.kinematics import JACOBIAN, LINK_POSE, POSE, RELATIVE, frame_function
from recursa.errors import SingularHingeError
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.operational.compliance_plans import BUFFERS, moving_bodies, unit_wrenches
from recursa.operational.walks import Columns
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force
from recursa.spatial.scalars import Scalar, sqrt
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, tip_to_base
from recursa.sweeps.batching import Array, as_array

Rows = Mapping[int, Sequence[int]]  # those of (omega, v) that count, by link number


def movable_with(frame: str) -> MayMove:
    """What kernels may move: frames of bodies, but not the world's if results are in its axes."""
    return MayMove.INERTIAS if frame == "body" else MayMove.NOTHING


def crossing(
    done: tuple[Elimination, ...], acting: Columns, coming: Columns, step: Transform
) -> tuple[tuple[tuple[Scalar, ...], ...], Columns]:
    """Entries of B at a hinge for every column of wrenches, and what the parent feels of these."""
    still = (0.0,) * len(done)
    roots = tuple(sqrt(one.inverse_d) for one in done)
    entries, passed = [], []
    for force in (acting + coming).forces:
        innovations, _, rest = innovated(done, still, force)
        entries.append(tuple(e * root for e, root in zip(innovations, roots, strict=True)))
        passed.append(step.force(rest))
    return tuple(entries), Columns(tuple(passed))


CROSSING = Step(
    crossing,
    ("elimination", "acting", "coming", "X"),
    ("B", "coming@parent"),
    "B = D^(-1/2) H z, z+ = z - G H z        Jain & Rodriguez (31)",
)


def _acting(model: Model, rows: Rows, link: int, frame: str) -> Step:
    """Unit wrenches of a link on its body, among the columns of all links."""
    wrenches, reads = unit_wrenches(rows[link], frame)
    numbers, sizes = list(rows), [len(own) for own in rows.values()]
    first = sum(sizes[: numbers.index(link)])

    def placed(*arguments: Any) -> Columns:
        return Columns.of(sum(sizes), dict(enumerate(wrenches(*arguments), first)))

    return Step(placed, reads, ("acting@body",), "unit wrenches of the link, on its body")


def factor_plan(model: Model, rows: Rows, frame: str) -> Plan:
    """B of links, by the articulated-body recursion and one more sweep inward from the links. O(n) for each row."""
    bodies = moving_bodies(model, rows)
    poses, pick = ((), ()) if frame == "body" else ((base_to_tip(POSE, only=bodies),), (LINK_POSE,))
    nothing = Columns((Force.zero(),) * sum(map(len, rows.values())))
    sweeps = (
        base_to_tip(RELATIVE),
        tip_to_base(ELIMINATE),
        *poses,
        *(each_link(*pick, _acting(model, rows, link, frame), only=(link,)) for link in rows),
        tip_to_base(CROSSING, only=bodies),
    )
    buffers = (*BUFFERS, Buffer("acting", nothing), Buffer("coming", nothing), Buffer("B", ()))
    return Plan("compliance_factor", buffers, sweeps)


def _entries(model: Model, links: Sequence[int], rows: Rows, values: Values) -> Iterator[Scalar]:
    """Row by row, for a link that is named twice also twice."""
    columns = [(link, k) for link in rows for k in range(len(rows[link]))]
    for wanted in ((link, k) for link in links for k in range(len(rows[link]))):
        for body in moving_bodies(model, rows):
            yield from values["B"][body][columns.index(wanted)]


def _compliance_factor(
    of: Subject, given: Names, *, links: tuple[int, ...], rows: tuple[tuple[int, ...], ...], frame: str = "body"
) -> Recipe | Composed:
    """``links`` are numbers, ``rows`` those of each."""
    frame_function(frame)
    model, chosen = of.model, dict(zip(links, rows, strict=True))
    height = sum(map(len, rows))
    width = sum(model.joints[k].kind.nv for k in moving_bodies(model, chosen))
    if not height or not width:
        return Composed(partial(immovable, model, height))
    if of.tied:
        named = [(model.links[link].name, list(chosen[link])) for link in links]
        return Composed(partial(_from_mass_matrix, named, frame))
    gather = partial(_entries, model, links, chosen)
    return Recipe(factor_plan(model, chosen, frame), gather, (height, width), movable_with(frame))


def immovable(model: Model, height: int, others: Any, q: Any) -> Array:
    """A matrix without columns for every state."""
    state = as_array(model, "q", q, coordinates=True)
    return np.zeros((*state.shape[:-1], height, 0), state.dtype)


NamedRows = Sequence[tuple[str, list[int]]]  # those of (omega, v) that count, by names of links


def jacobian_of(links: NamedRows, frame: str, others: Any, q: Any) -> Array:
    """The rows that count of the Jacobians of links, one below the other."""
    jacobians = [others(JACOBIAN, {"link": link, "frame": frame}, q=q)[..., rows, :] for link, rows in links]
    return np.concatenate(jacobians, axis=-2)


def _from_mass_matrix(links: NamedRows, frame: str, others: Any, q: Any) -> Array:
    """``B = J inv(L)*`` with ``mass = L L*``, for robots with tied joints."""
    others.require_hinges(q=q)
    columns = np.swapaxes(jacobian_of(links, frame, others, q), -1, -2)
    try:
        lower = lower_root(others(MASS_MATRIX, {"method": "composite"}, q=q))
    except np.linalg.LinAlgError:
        raise SingularHingeError("the mass matrix is singular. robot.doctor() names the joint") from None
    return np.swapaxes(np.linalg.solve(lower, columns).astype(lower.dtype, copy=False), -1, -2)


def lower_root(mass: Array) -> Array:
    """L with ``mass = L L*``, nan where a matrix of a batch is not finite; a LinAlgError where one is singular."""
    sound = np.asarray(np.isfinite(mass).all(axis=(-2, -1), keepdims=True))
    lower = np.linalg.cholesky(np.where(sound, mass, np.eye(mass.shape[-1], dtype=mass.dtype)))
    return np.where(sound, lower, np.nan).astype(mass.dtype, copy=False)


COMPLIANCE_FACTOR = Quantity(
    "operational.compliance_factor",
    ("q",),
    _compliance_factor,
    "square roots of those of the compliance: 1/(kg^0.5 m) and 1/kg^0.5 per coordinate, {frame}",
    exported=False,
)
