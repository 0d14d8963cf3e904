"""Springs at joints, ``-k (q - rest)``, in every answer that torques, energies or their derivatives enter.

Plans know no springs. For a robot that has some, a plan is changed in a few places: it reads torques from which those
of springs are taken off, adds them to the torques that it finds, or adds k to their derivatives by q. So methods have
them alike, and robots without springs run the plans as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.gathering import Entries
from recursa.model.model import Joint, Model
from recursa.quantities import Cheaper, Composed, Names, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Sweep

if TYPE_CHECKING:
    from recursa.robot import Robot

Numbers = tuple[Scalar, ...]
Change = Callable[[Plan], Plan]
_Made = TypeVar("_Made", bound="Recipe | Composed")


# ---- steps -----------------------------------------------------------------------------------------------------------


# Joints with several freedoms have no springs.


def stretched(joint: Joint, q: Sequence[Scalar]) -> Scalar:
    """``k (q - rest)``, what it takes to hold the spring of a joint of one freedom."""
    return joint.stiffness * (q[0] - joint.rest)


def with_spring(joint: Joint, torque: Sequence[Scalar], q: Sequence[Scalar]) -> Numbers:
    """The torque that also holds the spring."""
    return (torque[0] + stretched(joint, q),) if joint.kind.nv == 1 else tuple(torque)


def less_spring(joint: Joint, torque: Sequence[Scalar], q: Sequence[Scalar]) -> Numbers:
    """What the spring leaves of a torque."""
    return (torque[0] - stretched(joint, q),) if joint.kind.nv == 1 else tuple(torque)


def driving_less_spring(joint: Joint, held: int, torque: Sequence[Scalar], q: Sequence[Scalar]) -> Numbers:
    """The same at joints whose torque is known."""
    return tuple(torque) if held else less_spring(joint, torque, q)


def completed_with_spring(joint: Joint, held: int, torque: Sequence[Scalar], q: Sequence[Scalar]) -> Numbers:
    """The torque of a joint whose acceleration is prescribed, holding the spring."""
    return with_spring(joint, torque, q) if held else tuple(torque)


def stiffer_rows(joint: Joint, number: int, by_q: Entries) -> Entries:
    """k on the diagonal of the derivatives by q."""
    return (*by_q, (((number, 0), (number, 0)), joint.stiffness)) if joint.kind.nv == 1 else by_q


def stiffer_own(joint: Joint, own: Any) -> Any:
    """The same of the block that pairs a joint with itself."""
    if joint.kind.nv != 1:
        return own
    ((entry,),) = own.by_q
    return own._replace(by_q=((entry + joint.stiffness,),))


def spring_energy(joint: Joint, q: Sequence[Scalar]) -> Scalar:
    """``k (q - rest)^2 / 2``."""
    return 0.5 * (stretched(joint, q) * (q[0] - joint.rest)) if joint.kind.nv == 1 else 0.0


_LESS = Step(less_spring, ("joint", "tau", "q"), ("tau less springs",), "tau - k (q - rest)")
_MORE = Step(with_spring, ("joint", "T", "q"), ("T",), "T += k (q - rest)")
_DRIVING = Step(driving_less_spring, ("joint", "held", "T", "q"), ("T",), "T -= k (q - rest) where T is known")
_COMPLETED = Step(completed_with_spring, ("joint", "held", "T", "q"), ("T",), "T += k (q - rest) where prescribed")
_ROWS = Step(stiffer_rows, ("joint", "number", "by_q"), ("by_q",), "d T/d q += k")
_OWN = Step(stiffer_own, ("joint", "own"), ("own",), "d T/d q += k")
_ENERGY = Step(spring_energy, ("joint", "q"), ("potential@robot",), "k (q - rest)^2/2")


# ---- plans -----------------------------------------------------------------------------------------------------------


@cache
def acting(plan: Plan) -> Plan:
    """For plans that read torques: springs act, too."""
    if not _reads(plan, "tau"):
        return plan
    more = replace(plan, buffers=(*plan.buffers, Buffer(_LESS.writes[0], ())))
    made = _inserted(more, _LESS, lambda step: "tau" in step.reads, before=True, every=False)
    sweeps = (replace(sweep, steps=tuple(map(_reading_left_torques, sweep.steps))) for sweep in made.sweeps)
    return replace(made, sweeps=tuple(sweeps))


def _reading_left_torques(step: Step) -> Step:
    if step is _LESS or "tau" not in step.reads:
        return step
    return replace(step, reads=tuple(_LESS.writes[0] if name == "tau" else name for name in step.reads))


@cache
def held(plan: Plan) -> Plan:
    """For plans that find torques T: these hold springs, too."""
    return _after_last(plan, "T", _MORE)


@cache
def half_held(plan: Plan) -> Plan:
    """For plans in which some torques are known, and the others found."""
    made = _inserted(plan, _DRIVING, lambda step: "T" in step.writes, before=False, every=False)
    return _after_last(made, "T", _COMPLETED)


@cache
def stiffened(plan: Plan) -> Plan:
    """For plans that differentiate torques."""
    made = _inserted(plan, _ROWS, lambda step: "by_q" in step.writes, before=False, every=True)
    return _inserted(made, _OWN, lambda step: "own" in step.writes, before=False, every=True)


@cache
def storing(plan: Plan) -> Plan:
    """For plans that add up potential energy."""
    return _after_last(plan, "potential@robot", _ENERGY)


def _reads(plan: Plan, name: str) -> bool:
    return any(name in step.reads for sweep in plan.sweeps for step in sweep.steps)


def _inserted(plan: Plan, new: Step, where: Callable[[Step], bool], *, before: bool, every: bool) -> Plan:
    """The plan with one step more beside the first of some, or beside each."""
    sweeps, done = list[Sweep](), False
    for sweep in plan.sweeps:
        steps = list[Step]()
        for step in sweep.steps:
            beside = where(step) and (every or not done)
            done = done or beside
            steps += [new, step] if beside and before else [step, new] if beside else [step]
        sweeps.append(replace(sweep, steps=tuple(steps)))
    return replace(plan, sweeps=tuple(sweeps))


def _after_last(plan: Plan, name: str, new: Step) -> Plan:
    """The plan with one step more after the last that writes a value."""
    *_, (at, place) = (
        (at, place)
        for at, sweep in enumerate(plan.sweeps)
        for place, step in enumerate(sweep.steps)
        if name in step.writes
    )
    sweeps = list(plan.sweeps)
    steps = sweeps[at].steps
    sweeps[at] = replace(sweeps[at], steps=(*steps[: place + 1], new, *steps[place + 1 :]))
    return replace(plan, sweeps=tuple(sweeps))


# ---- torques at rest -------------------------------------------------------------------------------------------------


def resting_forces(robot: Robot, q: ArrayLike) -> Array:
    """Torques (..., nv) that hold a robot still, against gravity and springs: the gradient of the potential energy."""
    return robot.bias_forces(q, np.zeros(robot.nv)) if robot.model.has_springs else robot.gravity_forces(q)


# ---- recipes ---------------------------------------------------------------------------------------------------------


def plan_with_springs(plan: Plan, model: Model, *changes: Change) -> Plan:
    """The plan, changed once where the model has springs."""
    if model.has_springs and not any(step in _ALL for sweep in plan.sweeps for step in sweep.steps):
        for change in changes:
            plan = change(plan)
    return plan


_ALL = (_LESS, _MORE, _DRIVING, _COMPLETED, _ROWS, _OWN, _ENERGY)


def with_springs(*changes: Change) -> Callable[[Callable[..., _Made]], Callable[..., _Made]]:
    """Decorator of a function that makes recipes: for robots with springs, plans are changed in these ways.

    What is composed of other quantities has springs from these.
    """

    def decorate(make: Callable[..., _Made]) -> Callable[..., _Made]:
        @wraps(make)
        def made(of: Subject, given: Names, **options: Any) -> Any:
            recipe = make(of, given, **options)
            if isinstance(recipe, Composed) or not of.model.has_springs:
                return recipe
            return _changed(recipe, of.model, changes)

        return made

    return decorate


def _changed(recipe: Recipe, model: Model, changes: tuple[Change, ...]) -> Recipe:
    def change(plan: Plan) -> Plan:
        return plan_with_springs(plan, model, *changes)

    cheaper, looped = recipe.cheaper, recipe.looped
    if cheaper is not None:
        plain = cheaper.plan

        def sprung(moved: Model) -> Plan | None:
            plan = plain(moved)
            return None if plan is None else change(plan)

        cheaper = Cheaper(cheaper.may_move, sprung)
    if looped is not None:
        looped = replace(looped, plan=change(looped.plan))
    return replace(recipe, plan=change(recipe.plan), cheaper=cheaper, looped=looped)
