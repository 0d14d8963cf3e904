"""Matrices in operational space as quantities: of which links, in which frame, and how it is done with tied joints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from recursa.constraints.quantities import constrained
from recursa.dynamics.factorization import SOLUTION, six_by_six
from recursa.dynamics.kinematics import JACOBIAN, frame_function
from recursa.errors import NoSweepError, SingularHingeError, StateError, unknown_name
from recursa.kernels.kernel import FEW_BODIES
from recursa.kernels.loop import Looped
from recursa.methods.constrained_motion import CONSTRAINED_COMPLIANCE
from recursa.methods.matrices import MASS_MATRIX, MASS_MATRIX_INVERSE
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.operational import compliance_plans, walks
from recursa.operational.compliance_factor import NamedRows, immovable, jacobian_of, movable_with
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.quantities.quantity import Form
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Values
from recursa.sweeps.batching import Array, as_array

MANY_LINKS = 32  # whose compliances, 36 numbers each, take seconds to compile in straight-line code
Coordinates = str | Sequence[int]
Rows = Mapping[int, tuple[int, ...]]  # those of (omega, v) that count, by link number
NAMED_ROWS: dict[str, tuple[int, ...]] = {
    "twist": (0, 1, 2, 3, 4, 5),
    "orientation": (0, 1, 2),
    "position": (3, 4, 5),
}


# ---- which links, which of their rows --------------------------------------------------------------------------------


def selected_rows(coordinates: Coordinates) -> tuple[int, ...]:
    """The rows of (omega, v) that are meant: "twist", "orientation", "position", or their numbers."""
    if not isinstance(coordinates, Sequence | np.ndarray):
        raise StateError(f'coordinates are rows 0..5 of (omega, v) or a name such as "position", not {coordinates!r}')
    if isinstance(coordinates, str):
        if coordinates not in NAMED_ROWS:
            raise unknown_name("set of coordinates", coordinates, NAMED_ROWS)
        return NAMED_ROWS[coordinates]
    rows = tuple(coordinates)
    if any(row not in range(6) for row in rows) or len(set(rows)) < len(rows):
        raise StateError(f"coordinates are different rows 0..5 of (omega, v), not {rows}")
    return tuple(int(row) for row in rows)


def link_list(links: str | Sequence[str]) -> list[str]:
    """The names of links, of which there may be one; what is no name is refused where it is looked up."""
    return [links] if isinstance(links, str) or not isinstance(links, Iterable) else list(links)  # type: ignore[list-item]


def selected_links(
    model: Model, links: str | Sequence[str], coordinates: Coordinates | Mapping[str, Coordinates]
) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """Numbers of links, and which rows of each."""
    names = link_list(links)
    numbers = tuple(model.link_index(name) for name in names)
    if not isinstance(coordinates, Mapping):
        return numbers, dict.fromkeys(numbers, selected_rows(coordinates))
    for name in coordinates:
        if name not in names:
            raise unknown_name("link", name, names, owner="links, but coordinates are given for it")
    return numbers, {
        number: selected_rows(coordinates.get(name, "twist")) for name, number in zip(names, numbers, strict=True)
    }


def row_scale(model: Model, links: Sequence[int], rows: Rows) -> Array:
    """What makes the rows of a compliance comparable, for its rank: lengths in the robot's own unit."""
    length = model.unit_length
    return np.array([1.0 if row < 3 else 1.0 / length for link in links for row in rows[link]])


# ---- compliances -----------------------------------------------------------------------------------------------------


def _operational_compliance(
    of: Subject, given: Names, *, link: str | None = None, frame: str = "body"
) -> Recipe | Composed:
    frame_function(frame)
    model = of.model
    number = None if link is None else model.link_index(link)
    numbers = tuple(range(len(model.links))) if number is None else (number,)
    if _dense_only(of):
        return Composed(partial(_dense_compliances, [model.links[k].name for k in numbers], link is None, frame))

    def gather(values: Values) -> Iterator[Scalar]:
        blocks = compliance_plans.result_of(values, frame)
        for k in numbers:
            yield from compliance_plans.compliance_entries(blocks[k])

    plan = compliance_plans.compliance_plan(frame, number, None if link is None else model)
    shape = (len(numbers), 6, 6) if link is None else (6, 6)
    return Recipe(plan, gather, shape, movable_with(frame), form=_form(model, frame, len(numbers)))


def _dense_only(of: Subject) -> bool:
    """Whether the recursions do not apply, which take a tree with independent joints."""
    return of.tied or constrained(of)


def _form(model: Model, frame: str, count: int) -> Form | None:
    """Much about every link takes loops: straight-line code with so many results compiles slowly."""
    many = count > (MANY_LINKS if frame == "body" else FEW_BODIES) and model.nbodies > FEW_BODIES
    return "loop" if many else None


def _compliance_between(of: Subject, given: Names, *, link: str, other: str, frame: str = "body") -> Recipe | Composed:
    ends = of.model.link_index(link), of.model.link_index(other)
    return _blocks(of, ends[:1], ends[1:], dict.fromkeys(ends, NAMED_ROWS["twist"]), frame)


def _delassus(
    of: Subject, given: Names, *, links: tuple[int, ...], rows: tuple[tuple[int, ...], ...], frame: str = "body"
) -> Recipe | Composed:
    """``links`` are numbers, ``rows`` those of each."""
    return _blocks(of, links, links, dict(zip(links, rows, strict=True)), frame)


def _blocks(of: Subject, left: tuple[int, ...], right: tuple[int, ...], rows: Rows, frame: str) -> Recipe | Composed:
    """Blocks of Omega: links ``left`` against links ``right``."""
    frame_function(frame)
    model = of.model
    if not rows:
        return Composed(partial(immovable, model, 0))
    if _dense_only(of):
        sides: list[NamedRows] = [[(model.links[k].name, list(rows[k])) for k in side] for side in (left, right)]
        return Composed(partial(_dense_blocks, sides, frame))

    def gather(values: Values) -> Iterator[Scalar]:
        return compliance_plans.block_matrix(values, left, right, rows)

    height, width = (sum(len(rows[k]) for k in side) for side in (left, right))
    by_walks = Looped(walks.blocks_pairs(model, rows, frame), partial(walks.block_matrix, model, left, right, rows))
    return Recipe(
        compliance_plans.blocks_plan(model, rows, frame), gather, (height, width), movable_with(frame), looped=by_walks
    )


# ---- with tied joints or constraints: from Jacobians and the mass matrix ---------------------------------------------


def _dense_compliances(links: list[str], stacked: bool, frame: str, others: Any, q: Any) -> Array:
    jacobians = [others(JACOBIAN, {"link": link, "frame": frame}, q=q) for link in links]
    found = [_dense(others, q, one, one) for one in jacobians]
    return np.stack(found, axis=-3) if stacked else found[0]


def _dense_blocks(sides: list[NamedRows], frame: str, others: Any, q: Any) -> Array:
    return _dense(others, q, *(jacobian_of(side, frame, others, q) for side in sides))


def _dense(others: Any, q: Any, left: Array, right: Array) -> Array:
    """``left inv(mass) right*``, or ``left K right*`` with the constrained compliance K."""
    product: Array = left @ others(MASS_SOLVED, q=q, columns=np.swapaxes(right, -1, -2))
    return product


def _mass_solved(of: Subject, given: Names) -> Composed:
    """Filter and smoother, with tied joints the mass matrix itself, with constraints their compliance."""
    if constrained(of):
        return Composed(_solved_with_compliance)
    return Composed(_solved_with_mass_matrix if of.tied else partial(_solved_by_sweeps, of.model))


def _solved_with_mass_matrix(others: Any, q: Any, columns: Array) -> Array:
    others.require_hinges(q=q)
    solved: Array = others.solve(others(MASS_MATRIX, {"method": "composite"}, q=q), columns)
    return solved


def _solved_with_compliance(others: Any, q: Any, columns: Array) -> Array:
    """Accelerations that torques cause while the constraints hold: ``K = inv(mass)`` less what they take away."""
    solved: Array = others(CONSTRAINED_COMPLIANCE, q=q) @ columns
    return solved


def _solved_by_sweeps(model: Model, others: Any, q: Any, columns: Array) -> Array:
    state = as_array(model, "q", q, coordinates=True)[..., None, :]
    return np.swapaxes(others(SOLUTION, q=state, tau=np.swapaxes(columns, -1, -2)), -1, -2)


def free_compliance(evaluator: Any, q: Any, links: Sequence[int], rows: Rows, frame: str) -> Array | None:
    """How much rows of links would yield without the constraints (...), at most; None for a robot without any.

    What constraints leave of a compliance is a difference of larger numbers: below the rounding of these it is zero.
    """
    model: Model = evaluator.model
    if not constrained(model):
        return None
    try:
        inverse = np.abs(evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q}))
    except SingularHingeError:  # links without mass, which the constraints move
        inverse = np.abs(evaluator.evaluate(CONSTRAINED_COMPLIANCE, {"q": q}))
    largest = np.zeros(inverse.shape[:-2])
    for link in links:
        jacobian = evaluator.evaluate(JACOBIAN, {"q": q}, {"link": model.links[link].name, "frame": frame})
        scaled = np.abs(jacobian[..., list(rows[link]), :]) * row_scale(model, (link,), rows)[:, None]
        yielding = np.einsum("...ri,...ij,...rj->...r", scaled, inverse, scaled)
        largest = np.maximum(largest, yielding.max(axis=-1, initial=0.0))
    return largest


# ---- inertias --------------------------------------------------------------------------------------------------------


def flies(of: Subject, link: int) -> bool:
    """Whether the inertia of a link is the sum of what both its sides show."""
    return not _dense_only(of) and compliance_plans.flying_path(of.model, link) is not None


def _flying_inertia(of: Subject, given: Names, *, link: str, frame: str = "body") -> Recipe:
    frame_function(frame)
    model, number = of.model, of.model.link_index(link)
    if not flies(of, number):
        raise NoSweepError(f"link '{link}' does not fly freely: its inertia is the inverse of its compliance")

    def gather(values: Values) -> Iterator[Scalar]:
        return six_by_six(compliance_plans.result_of(values, frame)[number])

    may_move = MayMove.FRAMES if frame == "body" else MayMove.NOTHING  # inertias stay with their bodies
    return Recipe(compliance_plans.inertia_plan(frame, number, model), gather, (6, 6), may_move)


_PER_WRENCH = "times a wrench (moment, force) in N m and N: rad/s^2 and m/s^2"

OPERATIONAL_COMPLIANCE = Quantity(
    "operational_compliance",
    ("q",),
    _operational_compliance,
    f"{_PER_WRENCH}, {{frame}}",
    on_constraints="obeys",
)
OPERATIONAL_COMPLIANCE_BETWEEN = Quantity(
    "operational_compliance_between",
    ("q",),
    _compliance_between,
    f"{_PER_WRENCH}, {{frame}}",
    on_constraints="obeys",
)
DELASSUS = Quantity(
    "delassus",
    ("q",),
    _delassus,
    f"{_PER_WRENCH} of the rows that count, {{frame}}",
    exported=False,
    on_constraints="obeys",
)  # its links are numbers, which the method has from names
FLYING_INERTIA = Quantity(
    "operational.flying_inertia",
    ("q",),
    _flying_inertia,
    "times an acceleration (angular, linear) in rad/s^2 and m/s^2: N m and N, {frame}",
    on_constraints="obeys",
)
MASS_SOLVED = Quantity(
    "operational.mass_solved",
    ("q", "columns"),
    _mass_solved,
    "inv(mass) times columns, while the constraints hold",
    exported=False,
    on_constraints="obeys",
)  # as many columns as there are
