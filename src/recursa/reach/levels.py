"""One step of inverse kinematics: damped least squares, level by level, inside the limits of joints.

With the errors e of the goals of a level, weighted, and their Jacobian J a step is

    dq = J* inv(J J* + lambda I) e,      1/lambda = 2/(e.e) + 1/(2 |e| sqrt(trace(J J*)))

(Levenberg and Marquardt's; the damping by e.e/2 is Sugihara's, IEEE T-RO 27, 2011, here in the space of the task. Of
what is far it grows with the error only, as the curvature of the error does: enough for steps that settle where a
target is out of reach, and no more, so that they do not come to a halt). Freedoms that the step would take beyond a
limit go to the limit, and the others are asked once more for what is left of the error:

    dq = J_free* inv(J_free J_free* + lambda I) (e - J_held dq_held)

A level of lower priority moves only what leaves those above it as they are: its Jacobian is replaced by B = J P, P the
projection onto the null space of all rows above (Siciliano & Slotine, ICAR 1991), and its error by what the step so far
leaves of it, e - J dq. Freedoms that stand at a limit which it would pass are held, and what is left is shortened until
it fits, so that the levels above keep their step. The preferred posture comes last, ``dq = P (posture - q)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from recursa.constraints import closure_errors
from recursa.model.constraint_equations import NO_LINK, Closing, Relating
from recursa.model.model import Model
from recursa.reach.tasks import Configuration, Row, Task
from recursa.spatial.scalars import Scalar, sqrt, where
from recursa.spatial.small_systems import dot, exchanged, largest_first
from recursa.spatial.transform import IDENTITY_TRANSFORM

LEAST_DAMPING = 1e-11  # rad^2, m^2: what keeps a singular Jacobian from an infinite step
SMALLEST_ROW = 1e-18  # the square of a row, in the same units, that counts as no row when null spaces are taken
LOOKS = 4  # times that a lower level is asked, each time without what stands at a limit and would go on
AT_A_LIMIT = 1e-9  # rad, m

Numbers = Sequence[Scalar]
Bounds = Sequence[tuple[Scalar, Scalar] | None]
Wish = Callable[[list[Scalar]], list[Scalar]]  # what a level would do with the freedoms that are free (1, else 0)


@dataclass(frozen=True)
class Equation:
    """A row of a goal: what is missing, its weight, and its part of the Jacobian, weighted."""

    error: Scalar
    weight: Scalar
    row: list[Scalar]

    @property
    def weighted(self) -> Scalar:
        """The error as it counts."""
        return self.error * self.weight


def all_levels(
    levels: Sequence[Sequence[Equation]], bounds: Bounds, way: list[Scalar], longest: Scalar
) -> tuple[list[Scalar], Scalar]:
    """The step of all levels and, unless it is empty, of the way to a posture; the square of what that moved.

    Lower levels go no farther than about ``longest`` at once.
    """
    step, free = first_level(levels[0], bounds)
    above = [one.row for one in levels[0]]
    for level in levels[1:]:
        step, free, _ = lower_level(_wish(level, above, step), step, free, bounds, longest)
        above += [one.row for one in level]
    if not way:
        return step, 0.0
    step, free, settled = lower_level(_posture_wish(way, above), step, free, bounds, longest)
    return step, settled


def first_level(level: Sequence[Equation], bounds: Bounds) -> tuple[list[Scalar], list[Scalar]]:
    """The step of the highest level, and which freedoms it leaves free (1, else 0)."""
    rows, errors = [one.row for one in level], [one.weighted for one in level]
    wanted = _least_squares(rows, errors, errors)
    free = [_inside(step, bound) for step, bound in zip(wanted, bounds, strict=True)]
    held = [_way_to_limit(*one) for one in zip(wanted, bounds, free, strict=True)]
    rest = [e - dot(row, held) for e, row in zip(errors, rows, strict=True)]
    again = _least_squares([[x * f for x, f in zip(row, free, strict=True)] for row in rows], errors, rest)
    return [_within(a + h, bound) for a, h, bound in zip(again, held, bounds, strict=True)], free


def lower_level(
    wish: Wish, step: list[Scalar], free: list[Scalar], bounds: Bounds, longest: Scalar
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """The step so far and as much of what a level wishes as the limits allow; what is free; the square of that."""
    more = _bounded(wish(free), longest)
    for _ in range(LOOKS - 1):
        free = [f * _not_stopped(*one) for f, *one in zip(free, step, more, bounds, strict=True)]
        more = _bounded(wish(free), longest)
    share: Scalar = 1.0
    for a, b, bound in zip(step, more, bounds, strict=True):
        share = _shortened(share, a, b, bound)
    more = [share * b for b in more]
    return [a + b for a, b in zip(step, more, strict=True)], free, square(more)


def _bounded(step: list[Scalar], longest: Scalar) -> list[Scalar]:
    """A step of any length made shorter than ``longest``; short ones stay as they are, to third order."""
    factor = longest / sqrt(longest * longest + square(step))
    return [factor * x for x in step]


def _wish(level: Sequence[Equation], above: Sequence[list[Scalar]], step: list[Scalar]) -> Wish:
    """``B* inv(B B* + lambda I) (e - J dq)``, B what is left of J in the null space of the rows above."""
    errors = [one.weighted for one in level]
    rest = [e - dot(one.row, step) for e, one in zip(errors, level, strict=True)]

    def wish(free: list[Scalar]) -> list[Scalar]:
        basis = _basis([[x * f for x, f in zip(row, free, strict=True)] for row in above])
        rows = [_without([x * f for x, f in zip(one.row, free, strict=True)], basis) for one in level]
        return _least_squares(rows, errors, rest)

    return wish


def _posture_wish(way: list[Scalar], above: Sequence[list[Scalar]]) -> Wish:
    """``P (posture - q)``."""

    def wish(free: list[Scalar]) -> list[Scalar]:
        basis = _basis([[x * f for x, f in zip(row, free, strict=True)] for row in above])
        return _without([x * f for x, f in zip(way, free, strict=True)], basis)

    return wish


def _least_squares(rows: Sequence[list[Scalar]], errors: Sequence[Scalar], right: Sequence[Scalar]) -> list[Scalar]:
    """``J* inv(J J* + lambda I) right``, damped by the size of the errors."""
    products = [[dot(a, b) for b in rows[: n + 1]] for n, a in enumerate(rows)]
    size, scale = square(errors), sum((products[n][n] for n in range(len(rows))), start=LEAST_DAMPING)
    length = sqrt(scale)
    damping = size * length / (0.5 * sqrt(size) + 2.0 * length) + LEAST_DAMPING
    for n, row in enumerate(products):
        row[n] = row[n] + damping
    y = _solution(products, right)
    return [dot([row[i] for row in rows], y) for i in range(len(rows[0]))]


def _solution(lower: list[list[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """``inv(A) b`` of a positive definite matrix, whose lower half is given, by ``A = L D L*``."""
    size = len(right)
    unit, scaled = ([[0.0] * size for _ in range(size)] for _ in range(2))  # L, and L D
    inverse: list[Scalar] = []
    for j in range(size):
        pivot = lower[j][j] - dot(scaled[j][:j], unit[j][:j])
        inverse.append(1.0 / pivot)
        for i in range(j + 1, size):
            scaled[i][j] = lower[i][j] - dot(scaled[i][:j], unit[j][:j])
            unit[i][j] = scaled[i][j] * inverse[j]
    x: list[Scalar] = []
    for i in range(size):
        x.append(right[i] - dot(unit[i][:i], x))
    for i in reversed(range(size)):
        x[i] = x[i] * inverse[i] - dot([unit[k][i] for k in range(i + 1, size)], x[i + 1 :])
    return x


def _basis(rows: Sequence[list[Scalar]]) -> list[list[Scalar]]:
    """Unit vectors that span the rows (Gram and Schmidt, the largest remaining row first); nothing of what says nothing
    new."""
    basis: list[list[Scalar]] = []
    left = [list(row) for row in rows]
    while left:
        flags = largest_first([square(row) for row in left])
        left = [
            list(row) for row in zip(*(exchanged(flags, column) for column in zip(*left, strict=True)), strict=True)
        ]
        size = 1.0 / sqrt(square(left[0]) + SMALLEST_ROW)
        basis.append([x * size for x in left[0]])
        left = [_without(row, basis[-1:]) for row in left[1:]]
    return basis


def _without(vector: list[Scalar], basis: Sequence[list[Scalar]]) -> list[Scalar]:
    """What of a vector is across a basis."""
    for unit in basis:
        share = dot(unit, vector)
        vector = [x - share * u for x, u in zip(vector, unit, strict=True)]
    return vector


def square(numbers: Sequence[Scalar]) -> Scalar:
    """The sum of squares."""
    return dot(numbers, numbers)


# ---- limits ----------------------------------------------------------------------------------------------------------


def clipped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """The nearest number between two others."""
    return where(x < low, low, where(high < x, high, x))


def _within(step: Scalar, bound: tuple[Scalar, Scalar] | None) -> Scalar:
    return step if bound is None else clipped(step, *bound)


def _inside(step: Scalar, bound: tuple[Scalar, Scalar] | None) -> Scalar:
    """1 where a step stays inside, else 0."""
    return 1.0 if bound is None else where(step < bound[0], 0.0, where(bound[1] < step, 0.0, 1.0))


def _not_stopped(start: Scalar, more: Scalar, bound: tuple[Scalar, Scalar] | None) -> Scalar:
    """0 where a freedom is at a limit and would go on, else 1."""
    return 1.0 if bound is None else where(_gap(start, more, bound) < AT_A_LIMIT, 0.0, 1.0)


def _gap(start: Scalar, more: Scalar, bound: tuple[Scalar, Scalar]) -> Scalar:
    """How far it is to the limit in the direction of what is to be added."""
    gap = where(more < 0.0, start - bound[0], bound[1] - start)
    return where(gap < 0.0, 0.0, gap)


def _way_to_limit(step: Scalar, bound: tuple[Scalar, Scalar] | None, free: Scalar) -> Scalar:
    """Of a freedom that is held; 0 of the others."""
    return 0.0 if bound is None else where(free > 0.5, 0.0, where(step < 0.0, *bound))


def _shortened(share: Scalar, start: Scalar, more: Scalar, bound: tuple[Scalar, Scalar] | None) -> Scalar:
    """The largest share up to the one given for which ``start + share more`` stays inside."""
    if bound is None:
        return share
    gap, size = _gap(start, more, bound), where(more < 0.0, -more, more)
    beyond = share * size > gap
    return where(beyond, gap / where(beyond, size, 1.0), share)


# ---- -----------------------------------------------------------------------------------------------------------------
# Constraints of a robot as tasks: loops that have to stay closed, relations of joints that have to hold.
# They come before all goals, so that what is found obeys them even where a goal cannot be met. What is missing of an
# equation ``phi(q) = 0`` is ``-phi``, and its wrenches are those of the constraint's own rows, carried to the world
# origin.


@dataclass(frozen=True)
class Closure(Task):
    """A loop; ``number`` is its own among the equations of the robot, and tells it from others."""

    number: int
    of: Closing = field(compare=False)

    @property
    def angles(self) -> tuple[bool, ...]:
        """Per row, whether it is an angle."""
        return tuple(unit == "r" for unit in self.of.units)

    @property
    def size(self) -> int:
        """Nothing says what is wanted; two weights."""
        return 2

    def rows(self, at: Configuration, numbers: Numbers) -> list[Row]:
        """How far it is from closed; the wrench on its second link, and the opposite on its first."""
        of = self.of
        first, second = (IDENTITY_TRANSFORM if link == NO_LINK else at.poses[link] for link in of.links)
        seen = closure_errors.seen(of, first, second)
        place = first @ seen.first
        found = []
        for error, wrench in zip(
            closure_errors.errors(of, seen.pose), closure_errors.wrenches(of, seen.pose), strict=True
        ):
            own = place.force(wrench)
            ends = zip(of.links, (-own, own), strict=True)
            found.append(Row(-error, {link: one for link, one in ends if link != NO_LINK}))
        return found


@dataclass(frozen=True)
class Relation(Task):
    """A sum of powers of joint positions that is zero."""

    number: int
    of: Relating = field(compare=False)

    @property
    def angles(self) -> tuple[bool, ...]:
        """Of one row."""
        return (self.of.units == "r",)

    @property
    def size(self) -> int:
        """Two weights."""
        return 2

    @property
    def joints(self) -> tuple[int, ...]:
        """Whose positions it is about."""
        return tuple(joint for joint, _ in self.of.terms)

    def rows(self, at: Configuration, numbers: Numbers) -> list[Row]:
        """``sum of c q^k + offset``, and how it changes with each joint."""
        error: Scalar = self.of.offset
        slopes: dict[int, Scalar] = {}
        for joint, powers in self.of.terms:
            q, value, slope = at.positions[joint], 0.0, 0.0
            for c in (*reversed(powers), 0.0):  # Horner's rule: the first power has the first number, 1 has none
                slope, value = slope * q + value, value * q + c
            error = error + value
            slopes[joint] = slopes.get(joint, 0.0) + slope
        return [Row(-error, {}, slopes)]


def closures(model: Model, level: int) -> Iterator[Task]:
    """What has to hold of positions; contacts that are not anchored and prescribed motions say nothing of them."""
    for number, one in enumerate(model.equations):
        if isinstance(one, Relating):
            yield Relation("relation", (), level, number, one)
        elif isinstance(one, Closing) and one.anchored:
            yield Closure("closure", tuple(link for link in one.links if link != NO_LINK), level, number, one)
