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
from dataclasses import dataclass
from functools import cached_property

from recursa.model.model import Model
from recursa.reach.frames import Frames, Read
from recursa.reach.tasks import Row, Task
from recursa.spatial.scalars import Scalar, sqrt, where

LEAST_DAMPING = 1e-11  # rad^2, m^2: what keeps a singular Jacobian from an infinite step
SMALLEST_ROW = 1e-18  # the square of a row, in the same units, that counts as no row when null spaces are taken
LONGEST = 0.5  # rad, m: about how far a lower level goes at once
LOOKS = 4  # times that a lower level is asked, each time without what stands at a limit and would go on
AT_A_LIMIT = 1e-9  # rad, m

Numbers = Sequence[Scalar]


@dataclass(frozen=True)
class Equation:
    """A row of a goal: what is missing, its weight, whether it is an angle, and its part of the Jacobian, weighted."""

    error: Scalar
    weight: Scalar
    angle: bool
    row: list[Scalar]

    @property
    def weighted(self) -> Scalar:
        """The error as it counts."""
        return self.error * self.weight


@dataclass(frozen=True)
class Goals:
    """The tasks of a robot, with what they are given: rows of numbers, over any scalar."""

    frames: Frames

    @property
    def model(self) -> Model:
        """The robot's."""
        return self.frames.model

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What is wanted."""
        return self.frames.tasks

    @cached_property
    def size(self) -> int:
        """Numbers that say what is wanted."""
        return sum(task.size for task in self.tasks)

    @cached_property
    def rows(self) -> int:
        """Numbers that have to become zero."""
        return sum(len(task.angles) for task in self.tasks)

    @property
    def levels(self) -> int:
        """Of priority."""
        return 1 + max(task.level for task in self.tasks)

    # ---- what is missing ---------------------------------------------------------------------------------------------

    def _missing(self, read: Read, wanted: Numbers) -> Iterator[tuple[Task, list[Row], Numbers]]:
        at = 0
        for task in self.tasks:
            numbers = wanted[at : at + task.size]
            yield task, task.rows(read.poses, read.center, numbers), numbers[-2:]
            at += task.size

    def distance(self, frames: Numbers, wanted: Numbers, scale: Numbers) -> tuple[Scalar]:
        """How far a configuration is from the goals: squares of lengths times a scale, and half of those of angles."""
        total: Scalar = 0.0
        for task, rows, _ in self._missing(self.frames.read(frames), wanted):
            for row, angle in zip(rows, task.angles, strict=True):
                total = total + row.error * row.error * (0.5 if angle else scale[0])
        return (total,)

    def equations(self, frames: Numbers, wanted: Numbers, moving: Numbers) -> list[list[Equation]]:
        """Per task; freedoms that may not move have no part in the Jacobian."""
        read, found = self.frames.read(frames), []
        for task, rows, weights in self._missing(read, wanted):
            own = []
            for row, angle in zip(rows, task.angles, strict=True):
                weight = weights[0 if angle else 1]
                entries = [weight * x * share for x, share in zip(read.jacobian(row), moving, strict=True)]
                own.append(Equation(row.error, weight, angle, entries))
            found.append(own)
        return found

    def downhill(self, frames: Numbers, wanted: Numbers, moving: Numbers) -> list[Scalar]:
        """``J* e`` (nv): the way along which the errors become smaller."""
        every = [one for task in self.equations(frames, wanted, moving) for one in task]
        return [_dot([one.row[i] for one in every], [one.weighted for one in every]) for i in range(self.model.nv)]

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(
        self,
        q: Numbers,
        frames: Numbers,
        wanted: Numbers,
        low: Numbers,
        high: Numbers,
        moving: Numbers,
        posture: Numbers,
        control: Numbers,
    ) -> list[Scalar]:
        """Coordinates after a step (nq); the errors before it; per level 0 where it is met, else the square of its
        errors; the square of what the posture moved.

        ``low``, ``high`` and ``moving`` (nv): lowest and highest positions, and 1 for what may move, else 0.
        ``posture`` (nq) is empty where none is preferred. ``control``: tolerances in rad and m, and how far to go to
        the posture at once, from 0 to 1.
        """
        tasks = self.equations(frames, wanted, moving)
        levels: list[list[Equation]] = [[] for _ in range(self.levels)]
        for task, equations in zip(self.tasks, tasks, strict=True):
            levels[task.level] += equations
        bounds = self._bounds(q, low, high)
        step, free = first_level(levels[0], bounds)
        above = [one.row for one in levels[0]]
        for level in levels[1:]:
            step, free, _ = lower_level(_wish(level, above, step), step, free, bounds)
            above += [one.row for one in level]
        settled: Scalar = 0.0
        if len(posture):
            wish = _posture_wish(self._to_posture(q, posture, moving, control[2]), above)
            step, free, settled = lower_level(wish, step, free, bounds)
        misses = [self._miss(number, tasks, control) for number in range(self.levels)]
        return [*self._moved(q, step, low, high), *(one.error for task in tasks for one in task), *misses, settled]

    def _bounds(self, q: Numbers, low: Numbers, high: Numbers) -> list[tuple[Scalar, Scalar] | None]:
        """Per freedom how far down and up it may go; None without limits: joints with several freedoms have none."""
        bounds: list[tuple[Scalar, Scalar] | None] = [None] * self.model.nv
        for joint in self.model.joints:
            if joint.independent and joint.kind.nq == 1:
                own, v = q[joint.q_start], joint.v_start
                bounds[v] = low[v] - own, high[v] - own
        return bounds

    def _moved(self, q: Numbers, step: Numbers, low: Numbers, high: Numbers) -> list[Scalar]:
        """``q exp(dq)``, within the limits to the last bit."""
        after: list[Scalar] = list(q)
        for joint in self.model.joints:
            if not joint.independent:
                continue
            at, v = slice(joint.q_start, joint.q_start + joint.kind.nq), joint.v_start
            after[at] = joint.kind.integrate(tuple(q[at]), tuple(step[v : v + joint.kind.nv]))
            if joint.kind.nq == 1:
                after[at] = [_clipped(after[joint.q_start], low[v], high[v])]
        return after

    def _to_posture(self, q: Numbers, posture: Numbers, moving: Numbers, share: Scalar) -> list[Scalar]:
        """The way to the posture, or a part of it, of what may move."""
        way: list[Scalar] = [0.0] * self.model.nv
        for joint in self.model.joints:
            if joint.independent:
                at, v = slice(joint.q_start, joint.q_start + joint.kind.nq), joint.v_start
                way[v : v + joint.kind.nv] = joint.kind.difference(tuple(q[at]), tuple(posture[at]))
        return [x * m * share for x, m in zip(way, moving, strict=True)]

    def _miss(self, level: int, tasks: list[list[Equation]], control: Numbers) -> Scalar:
        """0 where all goals of a level are met, else the square of their weighted errors."""
        square: Scalar = 0.0
        far: Scalar = 0.0
        for task, equations in zip(self.tasks, tasks, strict=True):
            if task.level != level:
                continue
            square = square + _square([one.weighted for one in equations])
            for angle, tolerance in ((True, control[0]), (False, control[1])):
                own = [one.error for one in equations if one.angle is angle]
                if own:
                    far = where(_square(own) < tolerance * tolerance, far, 1.0)
        return where(far > 0.5, square, 0.0)


# ---- the algebra -----------------------------------------------------------------------------------------------------

Bounds = Sequence[tuple[Scalar, Scalar] | None]
Wish = Callable[[list[Scalar]], list[Scalar]]  # what a level would do with the freedoms that are free (1, else 0)


def first_level(level: Sequence[Equation], bounds: Bounds) -> tuple[list[Scalar], list[Scalar]]:
    """The step of the highest level, and which freedoms it leaves free (1, else 0)."""
    rows, errors = [one.row for one in level], [one.weighted for one in level]
    wanted = _least_squares(rows, errors, errors)
    free = [_inside(step, bound) for step, bound in zip(wanted, bounds, strict=True)]
    held = [_way_to_limit(*one) for one in zip(wanted, bounds, free, strict=True)]
    rest = [e - _dot(row, held) for e, row in zip(errors, rows, strict=True)]
    again = _least_squares([[x * f for x, f in zip(row, free, strict=True)] for row in rows], errors, rest)
    return [_within(a + h, bound) for a, h, bound in zip(again, held, bounds, strict=True)], free


def lower_level(
    wish: Wish, step: list[Scalar], free: list[Scalar], bounds: Bounds
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """The step so far and as much of what a level wishes as the limits allow; what is free; the square of that."""
    more = _bounded(wish(free))
    for _ in range(LOOKS - 1):
        free = [f * _not_stopped(*one) for f, *one in zip(free, step, more, bounds, strict=True)]
        more = _bounded(wish(free))
    share: Scalar = 1.0
    for a, b, bound in zip(step, more, bounds, strict=True):
        share = _shortened(share, a, b, bound)
    more = [share * b for b in more]
    return [a + b for a, b in zip(step, more, strict=True)], free, _square(more)


def _bounded(step: list[Scalar]) -> list[Scalar]:
    """A step of any length made shorter than ``LONGEST``; short ones stay as they are, to third order."""
    factor = 1.0 / sqrt(1.0 + _square(step) * (1.0 / LONGEST**2))
    return [factor * x for x in step]


def _wish(level: Sequence[Equation], above: Sequence[list[Scalar]], step: list[Scalar]) -> Wish:
    """``B* inv(B B* + lambda I) (e - J dq)``, B what is left of J in the null space of the rows above."""
    errors = [one.weighted for one in level]
    rest = [e - _dot(one.row, step) for e, one in zip(errors, level, strict=True)]

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
    products = [[_dot(a, b) for b in rows[: n + 1]] for n, a in enumerate(rows)]
    size, scale = _square(errors), sum((products[n][n] for n in range(len(rows))), start=LEAST_DAMPING)
    length = sqrt(scale)
    damping = size * length / (0.5 * sqrt(size) + 2.0 * length) + LEAST_DAMPING
    for n, row in enumerate(products):
        row[n] = row[n] + damping
    y = _solution(products, right)
    return [_dot([row[i] for row in rows], y) for i in range(len(rows[0]))]


def _solution(lower: list[list[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """``inv(A) b`` of a positive definite matrix, whose lower half is given, by ``A = L D L*``."""
    size = len(right)
    unit, scaled = ([[0.0] * size for _ in range(size)] for _ in range(2))  # L, and L D
    inverse: list[Scalar] = []
    for j in range(size):
        pivot = lower[j][j] - _dot(scaled[j][:j], unit[j][:j])
        inverse.append(1.0 / pivot)
        for i in range(j + 1, size):
            scaled[i][j] = lower[i][j] - _dot(scaled[i][:j], unit[j][:j])
            unit[i][j] = scaled[i][j] * inverse[j]
    x: list[Scalar] = []
    for i in range(size):
        x.append(right[i] - _dot(unit[i][:i], x))
    for i in reversed(range(size)):
        x[i] = x[i] * inverse[i] - _dot([unit[k][i] for k in range(i + 1, size)], x[i + 1 :])
    return x


def _basis(rows: Sequence[list[Scalar]]) -> list[list[Scalar]]:
    """Unit vectors that span the rows (Gram and Schmidt, one after the other); nothing of what says nothing new."""
    basis: list[list[Scalar]] = []
    for row in rows:
        left = _without(row, basis)
        size = 1.0 / sqrt(_square(left) + SMALLEST_ROW)
        basis.append([x * size for x in left])
    return basis


def _without(vector: list[Scalar], basis: Sequence[list[Scalar]]) -> list[Scalar]:
    """What of a vector is across a basis."""
    for unit in basis:
        share = _dot(unit, vector)
        vector = [x - share * u for x, u in zip(vector, unit, strict=True)]
    return vector


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=0.0)


def _square(numbers: Sequence[Scalar]) -> Scalar:
    return _dot(numbers, numbers)


# ---- limits ----------------------------------------------------------------------------------------------------------


def _clipped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return where(x < low, low, where(high < x, high, x))


def _within(step: Scalar, bound: tuple[Scalar, Scalar] | None) -> Scalar:
    return step if bound is None else _clipped(step, *bound)


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
