"""Inverse kinematics: joint positions at which links are where they are wanted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.constraints.assembling import nearest
from recursa.dynamics.configuration import random_state
from recursa.dynamics.manipulability import TaskName
from recursa.errors import StateError, unknown_name
from recursa.evaluation.hints import coordinates_of, warn_of_millimetres
from recursa.kernels.switch import Switch
from recursa.model.model import Model
from recursa.reach.goals import Goal, Orientation, Pose, Position, pair, poses, require_finite
from recursa.reach.levels import Closure, Relation, closures
from recursa.reach.ranges import Ranges, joints_named
from recursa.reach.search_result import InverseKinematics as InverseKinematics
from recursa.reach.search_steps import Motions
from recursa.reach.tasks import Task
from recursa.sweeps.batching import Array, fitting

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- -----------------------------------------------------------------------------------------------------------------
# Where searches start and what they go by: many targets, each from several starts; the first that leads there counts.
# What becomes of a target depends on its own starts alone, in their order, never on what else is in the batch: see
# ``_search.c``, and ``tests/search_oracle.py``, which says the same in NumPy.


SPREAD = 64  # configurations; twice as many save a fifth of the steps, and take as long to be compared
_SEED = 0
_FARTHEST = 1.0  # rad, m: of a step from the neutral configuration, where there are loops
PATIENCE = 8.0  # steps within which the square of the error of the first level not met has to shrink by a quarter
MOST_STEPS = 64.0  # of an attempt
NEAREST = 100.0  # steps from the best attempt towards what cannot be reached
POSTURE_STEPS = 60.0  # in which the posture is sought, too
POSTURE_SHARE = 0.5  # of the way to the posture, at every step
LONGEST = 0.5, 0.93  # rad, m: about how far lower levels go at first; times as far at each step, so that it dies away
SETTLED = 1e-12  # rad^2, m^2: the square of a step of the posture that is worth no further one


def settings(tolerance: tuple[float, float], size: float) -> Array:
    """What a search goes by, in the order in which it is asked for; ``size``: how far apart links are at the starts."""
    return np.array(
        [*tolerance, 1.0 / size**2, PATIENCE, MOST_STEPS, NEAREST, POSTURE_STEPS, POSTURE_SHARE, SETTLED, *LONGEST]
    )


def starts(model: Model) -> Array:
    """Configurations (n, nq) within the limits, the same for every process and machine."""
    rng = np.random.default_rng(_SEED)
    return np.stack([random_state(model, rng)[0] for _ in range(SPREAD)])


def around(model: Model) -> Array:
    """Steps (n, nv) away from a configuration in which loops can be closed, ever longer ones."""
    rng = np.random.default_rng(_SEED)
    return np.linspace(0.0, _FARTHEST, SPREAD)[:, None] * rng.normal(size=(SPREAD, model.nv))


def apart(positions: Array) -> float:
    """How far apart positions (n, ..., 3) of links are, to weigh lengths against angles; 1 m if they are not."""
    spread = positions.max(axis=0) - positions.min(axis=0)
    return float(spread.max(initial=0.0)) or 1.0


TASKS: tuple[str, ...] = get_args(TaskName)
_AT_ONCE = 4096  # targets in one call, between which the search can be interrupted
_MOST_LEVELS = 16
_SIX = (True,) * 3 + (False,) * 3  # which of (angular, linear) are angles


def inverse_kinematics(
    robot: Robot,
    link: str | Goal | Sequence[Goal],
    poses: ArrayLike | None = None,
    q0: ArrayLike | None = None,
    *,
    task: TaskName = "pose",
    joints: Sequence[str] | None = None,
    hold: Sequence[str] = (),
    posture: ArrayLike | None = None,
    restarts: int = 47,
    tolerance: float | tuple[float, float] = 1e-8,
) -> InverseKinematics:
    """Joint positions that give a link a wanted pose, or meet several goals at once; for one target or thousands.

    Damped least squares from several starts, ``dq = J* inv(J J* + lambda I) e``; joints stay within their limits
    throughout. A target has the same answer alone and in a batch. Loops, relations of joints and anchored contacts of a
    robot with constraints are kept before all goals.

    - ``link``: its name, or goals instead: one of :mod:`recursa.reach` (``Pose``, ``Position``, ``Orientation``,
      ``Plane``, ``Line``, ``LookAt``, ``Along``, ``CenterOfMass``, ``Relative``), or a list of them.
    - ``poses``: of that link: homogeneous matrices (..., 4, 4), link to world. For ``task="position"`` points (..., 3)
      will do.
    - ``q0``: where to start, (..., nq). Without it, and where it does not lead there, the search starts from
      configurations spread over the range, the nearest first. Joints that have no part keep these positions.
    - ``task``: "pose", "position" (its axes may point anywhere) or "orientation" (it may be anywhere).
    - ``joints``: the names of those that may move; the others stay as in ``q0``. None: all that matter.
    - ``hold``: the names of those that stay as in ``q0``, as that of a free base.
    - ``posture``: positions (..., nq) that are preferred where goals leave a choice; the search also starts there,
      unless ``q0`` is given.
    - ``restarts``: how many further starts to try, at most; 0: that one alone.
    - ``tolerance``: in rad and m, or a pair (rad, m).

    >>> import recursa as rc
    >>> robot = rc.robots.panda_like()
    >>> wanted = robot.pose(robot.random_state(3)[0], "flange")
    >>> found = rc.inverse_kinematics(robot, "flange", wanted)
    >>> print(found)
    1 of 1 targets reached
    >>> bool(abs(robot.pose(found.q, "flange") - wanted).max() < 1e-7)
    True

    A camera at the flange that looks at a point from half a metre above the table, its elbow high if possible:

    >>> goals = [
    ...     rc.reach.LookAt("flange", [0.5, 0.0, 0.0]),
    ...     rc.reach.Plane("flange", [0.0, 0.0, 0.5], normal=[0.0, 0.0, 1.0]),
    ...     rc.reach.Position("link4", [0.0, 0.0, 1.0], priority=1),
    ... ]
    >>> found = rc.inverse_kinematics(robot, goals)
    >>> found.met[:2].tolist(), round(float(robot.pose(found.q, "flange")[2, 3]), 6)
    ([True, True], 0.5)
    """
    if isinstance(link, str):
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        goals: tuple[Goal, ...] = (_goal(link, poses, task),)
    else:
        if poses is not None:
            raise StateError("goals say themselves what is wanted: give no poses beside them, and q0 by its name, q0=")
        goals = _goals(link)
    prepared = _prepared(robot, goals, joints, hold, posture is not None)
    if q0 is None and prepared.needs_q0:
        raise StateError(f"{prepared.needs_q0} says which joints may move; q0= must say where the others are")
    asked = prepared.asked(robot, goals, q0, posture)
    limits, attempts = pair("tolerance", tolerance), _attempts(restarts)
    q, errors, held, told = prepared.run(asked, limits, attempts, q0 is not None or posture is not None)
    if not told[:, 0].all():
        _warn_of_lengths(robot, goals, prepared.angles, errors[told[:, 0] == 0])
    angles, open_by = prepared.angles, errors[:, :0]
    if len(angles) > len(goals):  # constraints come last
        angles = angles[: len(goals)]
        own = sum(len(one) for one in angles)
        errors, open_by = errors[:, :own], errors[:, own:]
    if isinstance(link, str):
        errors, angles = _as_six(errors, task), (_SIX,)
    batch = asked.batch
    return InverseKinematics(
        q.reshape(*batch, q.shape[1]),
        told[:, 0].astype(bool).reshape(batch),
        errors.reshape(*batch, errors.shape[1]),
        held.reshape(*batch, held.shape[1]),
        told[:, 1].reshape(batch),
        told[:, 2].reshape(batch),
        goals,
        robot,
        angles,
        limits,
        open_by.reshape(*batch, open_by.shape[1]),
    )


# ---- what is wanted --------------------------------------------------------------------------------------------------


def _goal(link: str, given: ArrayLike | None, task: str) -> Goal:
    """The goal that the short form means."""
    if given is None:
        raise StateError(f"say where link '{link}' is wanted: poses (..., 4, 4), or goals instead of the link")
    if task == "pose":
        return Pose(link, given)
    if task == "orientation":
        return Orientation(link, given)
    array = np.asarray(given)
    if array.ndim >= 1 and array.shape[-1] == 3:
        return Position(link, given)
    return Position(link, poses(given, "poses", " or points (..., 3)", turned=False)[..., :3, 3])


def _goals(given: Any) -> tuple[Goal, ...]:
    goals = (given,) if isinstance(given, Goal) else tuple(given) if isinstance(given, Sequence) else ()
    for one in goals or (given,):
        if not isinstance(one, Goal):
            raise StateError(
                "what is wanted must be the name of a link with poses, or goals such as rc.reach.Pose(link, pose), "
                f"not {one!r}"
            )
    return goals


def _warn_of_lengths(
    robot: Robot, goals: tuple[Goal, ...], angles: tuple[tuple[bool, ...], ...], errors: Array
) -> None:
    """Hint at millimetres where a goal that was not reached is far outside all that the robot reaches."""
    at = 0
    for goal, turning in zip(goals, angles, strict=False):  # constraints come last, and are no goals
        lengths = errors[:, at : at + len(turning)][:, ~np.array(turning)]
        at += len(turning)
        farthest = float(np.linalg.norm(lengths, axis=1).max(initial=0.0))
        link = getattr(goal, "link", None)
        warn_of_millimetres(
            robot.model, farthest, f"what link '{link}' is to reach" if link else "what is to be reached"
        )


def _as_six(errors: Array, task: str) -> Array:
    """(angular, linear), zero where the task does not ask."""
    if task == "pose":
        return errors
    whole = np.zeros((len(errors), 6))
    whole[:, slice(3, 6) if task == "position" else slice(0, 3)] = errors
    return whole


def _attempts(restarts: int) -> int:
    if isinstance(restarts, bool) or not isinstance(restarts, int | np.integer) or not 0 <= restarts < SPREAD:
        raise StateError(f"restarts must be a whole number from 0 to {SPREAD - 1}, not {restarts!r}")
    return 1 + int(restarts)


# ---- what is made once -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """Rows for every target: what is wanted, where it starts, the preferred posture; and the batch they are of."""

    wanted: Array
    home: Array
    posture: Array
    batch: tuple[int, ...]


@dataclass(frozen=True)
class Prepared:
    """What does not change from call to call, for a robot, the tasks of its goals, and the joints that may move."""

    motions: Motions
    ranges: Ranges
    bounds: Array
    starts: Array
    neutral: Array
    no_posture: Array
    apart: float
    needs_q0: str
    angles: tuple[tuple[bool, ...], ...]
    _settings: dict[tuple[float, float], Array] = field(default_factory=dict)
    _idle: list[Any] = field(default_factory=list)  # searches that nobody is using

    @staticmethod
    def of(
        robot: Robot, tasks: tuple[Task, ...], joints: Sequence[str] | None, hold: Sequence[str], posture: bool
    ) -> Prepared:
        """Made for the setting of compiling that holds now."""
        model = robot.model
        motions = Motions(model, tasks, posture)
        chosen, held = joints_named(model, "joints", joints), joints_named(model, "hold", hold) or frozenset()
        frames = motions.goals.frames
        ranges, spread = Ranges.of(model, frames.bodies, chosen, held), starts(model)
        if any(isinstance(task, Closure | Relation) for task in tasks):  # the search need not close loops first
            near = robot.integrate(robot.neutral(), around(model))
            spread[::2] = near[::2]
            spread = nearest(robot.evaluator, spread)
        links = motions.frames(spread)[:, : 12 * len(frames.links)].reshape(len(spread), len(frames.links), 12)
        needs = "joints=" if joints is not None else "hold=" if held else ""
        angles = tuple(task.angles for task in tasks)
        neutral, far = robot.neutral()[None], apart(links[:, :, 9:])
        return Prepared(motions, ranges, ranges.stacked, spread, neutral, neutral[:, :0].copy(), far, needs, angles)

    def asked(self, robot: Robot, goals: tuple[Goal, ...], q0: ArrayLike | None, posture: ArrayLike | None) -> Asked:
        """Rows of numbers from what was handed in."""
        given: dict[str, Array] = {}
        home, liked, said = None, None, robot.evaluator.kept
        if posture is not None:
            given["posture"] = home = liked = coordinates_of(robot.model, "posture", posture, said)
            require_finite(posture=liked)
        if q0 is not None:
            given["q0"] = home = coordinates_of(robot.model, "q0", q0, said)
            require_finite(q0=home)
        every = [goal.numbers() for goal in goals]
        if len(goals) == 1 and not given and every[0].ndim == 1:  # the everyday case, quickly
            size = len(every[0])
            wanted = np.empty((1, self.motions.goals.size))
            wanted[0, :size], wanted[0, size : size + 2], wanted[0, size + 2 :] = every[0], goals[0].weights, 1.0
            return Asked(wanted, self.neutral, self.no_posture, ())
        names = ["poses"] if len(goals) == 1 else [f"goal {number}" for number in range(len(goals))]
        batch = every[0].shape[:-1]
        if given or len(goals) > 1:
            batch = fitting(**dict(zip(names, every, strict=True)), **given)
        wanted = np.ones((*batch, self.motions.goals.size))  # weights of closures, which come last, are 1
        at = 0
        for goal, numbers in zip(goals, every, strict=True):
            size = numbers.shape[-1]
            wanted[..., at : at + size] = numbers
            wanted[..., at + size : at + size + 2] = goal.weights
            at += size + 2
        wanted = wanted.reshape(-1, wanted.shape[-1])
        rows = _rows(self.neutral[0] if home is None else home, batch, len(wanted))
        return Asked(wanted, rows, rows[:, :0].copy() if liked is None else _rows(liked, batch, len(wanted)), batch)

    def run(
        self, asked: Asked, tolerance: tuple[float, float], attempts: int, from_home: bool
    ) -> tuple[Array, Array, Array, Array]:
        """Positions, errors, freedoms that are held, and (solved, attempts, iterations), a row per target."""
        count, nv, missed = len(asked.wanted), self.bounds.shape[1], 0
        q, errors = np.empty(asked.home.shape), np.empty((count, self.motions.goals.rows))
        downhill, told = np.zeros((count, nv)), np.empty((count, 3), np.int64)
        going_by = self._settings.get(tolerance)
        if going_by is None:
            going_by = self._settings.setdefault(tolerance, settings(tolerance, self.apart))
        search = self._idle.pop() if self._idle else self._made()
        rows = asked.wanted, asked.home, asked.posture, q, errors, downhill, told
        for start in range(0, count, _AT_ONCE):
            some = rows if count <= _AT_ONCE else [x[start : start + _AT_ONCE] for x in rows]
            given = self.bounds, self.ranges.moving_q, going_by, attempts, from_home
            missed += search(*some[:3], *given, *some[3:])
        self._idle.append(search)
        return q, errors, self.ranges.holding(q, downhill) if missed else np.zeros((count, nv), bool), told

    def _made(self) -> Any:
        """A search of its own for every thread, as each has its scratch."""
        singles = self.ranges.single_q, self.ranges.single_v
        return self.motions.search(self.starts, singles, self.ranges.angles)


def _prepared(
    robot: Robot, goals: tuple[Goal, ...], joints: Sequence[str] | None, hold: Sequence[str], posture: bool
) -> Prepared:
    """Made once for what decides the code."""
    model, kept = robot.model, robot.evaluator.kept
    first = goals[0]
    if isinstance(first, Pose | Position | Orientation) and len(goals) == 1 and joints is None and not hold:
        quick: Hashable = (first.kind, first.link, first.level, posture, Switch.on, Switch.form)  # without a task
        return kept.get(quick) or kept.setdefault(quick, Prepared.of(robot, _tasks(model, goals), None, (), posture))
    chosen = joints if joints is None or isinstance(joints, str) else tuple(joints)
    held = hold if isinstance(hold, str) else tuple(hold)
    tasks = _tasks(model, goals)
    key: Hashable = (Prepared, tasks, chosen, held, posture, Switch.on, Switch.form)
    return kept.get(key) or kept.setdefault(key, Prepared.of(robot, tasks, chosen, held, posture))


def _tasks(model: Model, goals: tuple[Goal, ...]) -> tuple[Task, ...]:
    """Goals as far as they decide the code, their priorities as levels from 0 on."""
    priorities = sorted({goal.level for goal in goals})
    if len(priorities) + bool(model.equations) > _MOST_LEVELS:
        raise StateError(f"goals have {len(priorities)} different priorities; at most {_MOST_LEVELS} can be told apart")
    bound = tuple(closures(model, 0))  # before all goals, though behind them in the rows
    first = 1 if bound else 0
    return (*(Task(*goal.task(model), first + priorities.index(goal.level)) for goal in goals), *bound)


def _rows(array: Array, batch: tuple[int, ...], count: int) -> Array:
    """A row for every target."""
    if array.ndim == 1:
        found = np.empty((count, len(array)))
        found[:] = array
        return found
    size = array.shape[-1]
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, size)).reshape(-1, size), dtype=float)
