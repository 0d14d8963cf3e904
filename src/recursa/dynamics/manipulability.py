"""How well a link can be moved: what a pose still lacks, Yoshikawa's measure, condition and singular directions.

With the Jacobian J = B* phi* H* of Rodriguez & Kreutz-Delgado (20), in link axes and column by column along the path,

    J J* = sum over the bodies k of (phi* H*)(k) (phi* H*)*(k)

adds up like an inertia, and ``w = sqrt(det(J J*))`` is Yoshikawa's manipulability (Int. J. Robotics Research 4, 1985).
It is the product of the square roots of the pivots of L D L*. Singular values are found by turning the rows of J
themselves until they are orthogonal (Hestenes), since those of J J* have lost half their digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from recursa.dynamics.kinematics import (
    BUFFERS,
    COLUMNS,
    JACOBIAN,
    JACOBIAN_BUFFERS,
    LINK_BUFFERS,
    LINK_IN_BODY,
    LINK_POSE,
    POSE,
    RELATIVE,
    frame_function,
)
from recursa.errors import StateError, unknown_name
from recursa.kernels.switch import extension
from recursa.model.model import Model
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar, sqrt, where
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, tip_to_base
from recursa.sweeps.batching import Array

TaskName = Literal["pose", "position", "orientation"]
ROWS: dict[str, slice] = {"pose": slice(0, 6), "orientation": slice(0, 3), "position": slice(3, 6)}
"""Which rows of (angular, linear) a task is about."""
_PARTS = ((0, 1, 2), (3, 4, 5))  # angular and linear rows
NOTHING = 1e-14  # a pivot that is so small a part of the squares of all rows is what rounding leaves of a zero


def task_rows(task: str) -> slice:
    """The rows of a task by its name."""
    if task not in ROWS:
        raise unknown_name("task", task, ROWS)
    return ROWS[task]


# ---- what a pose still lacks -----------------------------------------------------------------------------------------


def missing_motion(link: Transform, wanted: Transform) -> Motion:
    """The motion that takes a link to a wanted pose in unit time, in link axes."""
    return (link.inverse @ wanted).log()


WANTED = "frame:pose"
MISSING = Step(missing_motion, ("L", WANTED), ("e",), "e = log(L^-1 T)")


def pose_error_plan(model: Model, link: int) -> Plan:
    """The pose of a link, and how a wanted one is reached from there."""
    path = model.support(model.links[link].body)
    sweeps = (base_to_tip(RELATIVE, POSE, only=path), each_link(LINK_POSE, MISSING, only=(link,)))
    return Plan("pose_error", (*BUFFERS, *LINK_BUFFERS, Buffer("e", Motion.zero())), sweeps)


def _pose_error(of: Subject, given: Names, *, link: str) -> Recipe:
    number = of.model.link_index(link)
    return Recipe(pose_error_plan(of.model, number), lambda values: values["e"][number].components(), (6,))


# ---- Yoshikawa's measure ---------------------------------------------------------------------------------------------


def products(columns: Sequence[Motion]) -> ArticulatedInertia:
    """``J J*`` of one joint."""
    total = ArticulatedInertia.zero()
    for column in columns:
        u = Force(column.angular, column.linear)
        total = total.minus_dyad(u, u * -1.0)
    return total


def volume(task: str, gram: ArticulatedInertia) -> Scalar:
    """``sqrt(det(J J*))`` of the rows of a task: the product of the square roots of the pivots of L D L*.

    A pivot that is rounding, beside the sum of squares of angular or of linear rows, is zero; so is then the whole.
    """
    top = zip(gram.moment.rows(), gram.coupling, strict=True)
    bottom = zip(gram.coupling.T, gram.mass.rows(), strict=True)
    whole = [[*left, *right] for left, right in (*top, *bottom)]
    rows = [row[task_rows(task)] for row in whole[task_rows(task)]]
    angular, linear = (sum((whole[k][k] for k in part[1:]), start=whole[part[0]][part[0]]) for part in _PARTS)
    result: Scalar = 1.0
    for k, row in enumerate(rows):
        scale = angular if task_rows(task).start + k < 3 else linear
        sound = row[k] > NOTHING * scale
        pivot = where(sound, row[k], 1.0)
        result = result * sqrt(pivot) * where(sound, 1.0, 0.0)
        for i in range(k + 1, len(rows)):
            factor = row[i] / pivot
            for j in range(i, len(rows)):
                rows[i][j] = rows[i][j] - factor * row[j]
    return result


def manipulability_plan(model: Model, link: int, task: str) -> Plan:
    """``J J*`` added up along the path, then its determinant at the link."""
    gathered = Step(products, ("J",), ("JJ@robot",), "J J* = sum of columns c c*")
    measure = Step(partial(volume, task), ("JJ@robot",), ("w",), "w = sqrt(det(J J*))")
    path = model.support(model.links[link].body)
    own = (Buffer("JJ", ArticulatedInertia.zero()), Buffer("w", 0.0), Buffer("XL", model.links[link].offset))
    sweeps = (
        base_to_tip(RELATIVE, only=path),
        tip_to_base(LINK_IN_BODY, COLUMNS, gathered, only=path),
        each_link(measure, only=(link,)),
    )
    return Plan("manipulability", (*BUFFERS, *JACOBIAN_BUFFERS, *own), sweeps, target=link)


def _manipulability(of: Subject, given: Names, *, link: str, task: str = "pose") -> Recipe | Composed:
    number = of.model.link_index(link)
    task_rows(task)
    if of.tied:  # a speed moves several joints, so that columns have to be added up before they are multiplied
        return Composed(partial(_manipulability_with_ties, link, task))

    def gather(values: Values) -> Iterator[Scalar]:
        yield values["w"][number]

    return Recipe(manipulability_plan(of.model, number, task), gather, ())


def _manipulability_with_ties(link: str, task: str, others: Any, q: Any) -> Array:
    matrix = others(JACOBIAN, {"link": link}, q=q)
    columns = [Motion.of([matrix[..., row, at] for row in range(6)]) for at in range(matrix.shape[-1])]
    return np.asarray(volume(task, products(columns)))


# ---- singular values -------------------------------------------------------------------------------------------------

_SWEEPS = 40  # far more than there are: six rows take five or six
_ORTHOGONAL = 1e-15  # cosine of the angle between two rows below which they are left alone

_VANISHING = 1e-32  # the square of a row, as a part of that of all, that is rounding
_TURNING = np.array([_SWEEPS, _ORTHOGONAL, _VANISHING])


def singular_value_decomposition(matrices: Array) -> tuple[Array, Array, Array]:
    """U* (..., m, m), the singular values (..., m) and V* (..., m, n) of ``U S V*``, the largest value first.

    Rows are turned in pairs until all are orthogonal (Hestenes, J. SIAM 6, 1958). Each state is turned by itself, in
    sums of a fixed order: the same bits alone, in a batch, and on every processor. Rows of V* are zero where a singular
    value is. The largest entry of each row of U* is positive.
    """
    batch, (m, n) = matrices.shape[:-2], matrices.shape[-2:]
    given = matrices.reshape(-1, m, n)
    together = np.empty((len(given), m, n + m))
    together[..., :n], together[..., n:] = given, np.eye(m)
    extension("the search for singular directions", kernels=False).turned_rows(_rounds(m), _TURNING, together, n)
    both = together.transpose(1, 2, 0)  # (m, n + m, B)
    rows, turned = both[:, :n], both[:, n:]
    squares = _added_up(rows * rows)
    values = np.sqrt(np.where(squares > _VANISHING * squares.max(axis=0, initial=0.0), squares, 0.0))
    order = np.argsort(-values, axis=0, kind="stable")
    values = np.take_along_axis(values, order, axis=0)
    rows, turned = (np.take_along_axis(x, order[:, None], axis=0) for x in (rows, turned))
    right = np.where(values > 0.0, 1.0, 0.0)[:, None] * rows / np.where(values > 0.0, values, 1.0)[:, None]
    largest = np.take_along_axis(turned, np.abs(turned).argmax(axis=1)[:, None], axis=1)
    sign = np.where(largest < 0.0, -1.0, 1.0)

    def out(x: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(x, -1, 0)).reshape(*batch, *x.shape[:-1])

    return out(turned * sign), out(values), out(right * sign)


@cache
def _rounds(count: int) -> Array:
    """The rounds of :func:`_tournament` as numbers (rounds, 2 pairs), -1 where one has fewer pairs."""
    rounds = [[x for pair in zip(*one, strict=True) for x in pair] for one in _tournament(count)]
    wide = max((len(one) for one in rounds), default=0)
    return np.array([one + [-1] * (wide - len(one)) for one in rounds], np.int64).reshape(len(rounds), wide)


def _tournament(count: int) -> list[tuple[list[int], list[int]]]:
    """Every pair of so many once, in rounds of pairs that have nothing in common."""
    players = [*range(count), *([-1] * (count % 2))]
    rounds = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = [(a, b) for a, b in zip(players[:half], players[: half - 1 : -1], strict=True) if min(a, b) >= 0]
        rounds.append(([a for a, _ in pairs], [b for _, b in pairs]))
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _added_up(x: Array) -> Array:
    """The sum over axis 1, from its first entry to its last."""
    if x.shape[1] == 0:
        return np.zeros((x.shape[0], x.shape[2]))
    return np.add.accumulate(x, axis=1)[:, -1]


def _task_jacobian(others: Any, q: Any, link: str, task: str, length: float, frame: str = "body") -> Array:
    matrix = np.array(others(JACOBIAN, {"link": link, "frame": frame}, q=q))
    matrix[..., 3:, :] /= length
    return matrix[..., task_rows(task), :]


def _checked(of: Subject, link: str, task: str, length: float, frame: str = "body") -> None:
    of.model.link_index(link)
    task_rows(task)
    frame_function(frame)
    if isinstance(length, bool) or not isinstance(length, int | float) or not 0.0 < length < math.inf:
        raise StateError(f"length must be a positive number of metres, not {length!r}")


def _condition(of: Subject, given: Names, *, link: str, task: str = "pose", length: float = 1.0) -> Composed:
    _checked(of, link, task, length)

    def make(others: Any, q: Any) -> Array:
        matrix = _task_jacobian(others, q, link, task, length)
        return condition_of(singular_value_decomposition(matrix)[1]).astype(matrix.dtype)

    return Composed(make)


def condition_of(values: Array) -> Array:
    """The largest over the smallest; infinite where the smallest is rounding."""
    largest, smallest = values[..., 0], values[..., -1]
    sound = smallest > NOTHING * largest
    return np.where(sound, largest / np.where(sound, smallest, 1.0), np.inf)


def _singular_directions(
    of: Subject, given: Names, *, link: str, task: str = "pose", frame: str = "body", length: float = 1.0
) -> Composed:
    _checked(of, link, task, length, frame)

    def make(others: Any, q: Any) -> Array:
        matrix = _task_jacobian(others, q, link, task, length, frame)
        left, values, right = singular_value_decomposition(matrix)
        return np.concatenate([values[..., None], left, right], axis=-1).astype(matrix.dtype)

    return Composed(make)


POSE_ERROR = Quantity(
    "pose_error",
    ("q", "pose"),
    _pose_error,
    "(angular, linear) in rad and m, link axes at the link origin",
    reads={"pose": WANTED},
    words={"pose": "the wanted pose: a homogeneous matrix, link to world components, position in m"},
)
MANIPULABILITY = Quantity(
    "manipulability",
    ("q",),
    _manipulability,
    "m^3 for poses and positions, 1 for orientations, of rotary joints",
    on_constraints=refusals.DIRECTIONS,
)
CONDITION = Quantity(
    "condition",
    ("q",),
    _condition,
    "no units; metres and radians count alike",
    exported=False,
    on_constraints=refusals.DIRECTIONS,
)
SINGULAR_DIRECTIONS = Quantity(
    "singular_directions",
    ("q",),
    _singular_directions,
    "per direction its gain, its entries (angular, linear), joint speeds as in v, {frame}",
    exported=False,
    on_constraints=refusals.DIRECTIONS,
)
