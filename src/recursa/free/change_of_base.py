"""States and velocity coordinates of a free flyer with another base link: Jain & Rodriguez, appendix A.

With base k the speeds are ``beta_k = T_kn beta_n`` (41): the new base's velocity ``phi*(n,k) V(n) + X_k Hc* beta``,
which is its Jacobian, and the joint speeds as they are. Joints with several freedoms that lie between the two bases
have speeds in the axes of the other link then: their blocks of T are ``-Ad(J)``, the motion of one side seen from the
other. Then ``Mass_k = T_nk* Mass T_nk`` (44), ``tau_k = T_nk* tau`` with ``T_nk = inv(T_kn)``, and accelerations are
``a_k = T_kn a + dT_kn/dt v``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from recursa.dynamics.gathering import ACCELERATIONS, FORCES
from recursa.dynamics.kinematics import (
    BUFFERS,
    LINK_BUFFERS,
    LINK_POSE,
    LINK_VELOCITY,
    POSE,
    RELATIVE,
    VELOCITY,
    jacobian_derivative_plan,
    jacobian_entries,
    jacobian_plan,
)
from recursa.model.assemble import assemble
from recursa.model.model import Joint, Model
from recursa.model.rebase import require_free_flyer, turned_joints, with_base
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link
from recursa.sweeps.batching import Array, as_array, fitting, times

Block = tuple[tuple[Scalar, ...], ...]  # columns


@dataclass(frozen=True)
class ChangeOfBase:
    """What it takes to go from a free flyer to the same with another base: its model, and plans for states and T."""

    old: Model
    new: Model
    link: int
    order: tuple[int, ...]  # for every joint of the new model, its number in the old one
    state: Plan
    transform: Plan
    rate: Plan

    @staticmethod
    def of(model: Model, link: str) -> ChangeOfBase:
        """From the model of a free flyer and the name of the new base link."""
        require_free_flyer(model, "another base")
        new = assemble(with_base(model, link), gravity=model.gravity, floating=model.floating, mimic=model.mimic)
        number = model.link_index(link)
        turned = turned_joints(model, link)
        path = model.support(model.links[number].body)
        several = tuple(k for k in path if k in turned and model.joints[k].kind.nv > 1)
        order = tuple(model.joint_index(joint.name) for joint in new.joints)
        return ChangeOfBase(
            model,
            new,
            number,
            order,
            _state_plan(number, path, several),
            _with_blocks(jacobian_plan(model, number, "body"), TURNED_BLOCK, several),
            _with_blocks(jacobian_derivative_plan(model, number, "body"), TURNED_BLOCK_RATE, several),
        )

    def state_entries(self, values: Values) -> Iterator[Scalar]:
        """q and v of the new model, flat."""
        for name in ("next", "rates"):
            for number in self.order:
                yield from values[name][number]

    def matrix_entries(self, values: Values, *, rate: bool) -> Iterator[Scalar]:
        """T, or its rate, row by row: rows in the order of the new model's speeds, columns in that of the old ones'."""
        blocks = values.lists.get("block", [])
        for number in self.order:
            joint = self.old.joints[number]
            if number == 0:
                yield from jacobian_entries(self.old, self.link, values.lists.get("JF", []))
                continue
            block: Block = blocks[number] if blocks else ()
            if not block:
                unit = 0.0 if rate else 1.0
                block = tuple(tuple(unit * (i == j) for i in range(joint.kind.nv)) for j in range(joint.kind.nv))
            for row in zip(*block, strict=True):
                before = self.old.nv - joint.v_start - len(row)
                yield from (*(0.0,) * joint.v_start, *row, *(0.0,) * before)


# ---- a joint seen from its other side --------------------------------------------------------------------------------


def _seen_back(joint: Joint, q: Sequence[Scalar], motion: Motion) -> tuple[Scalar, ...]:
    """Speeds of the inverse of a joint's motion: the parent's side relative to the child's, in the parent's axes."""
    return joint.kind.speeds(joint.hinge, -joint.kind.transform(joint.hinge, q).motion(motion))


def turned_block(joint: Joint, q: Sequence[Scalar]) -> Block:
    """Columns of ``-Ad(J)`` along the joint's freedoms."""
    return tuple(_seen_back(joint, q, column) for column in joint.kind.columns(joint.hinge))


def turned_block_rate(joint: Joint, q: Sequence[Scalar], v: Sequence[Scalar]) -> Block:
    """Columns of ``-d Ad(J)/dt = -Ad(J) crm(H* v)``."""
    motion = joint.kind.motion(joint.hinge, v)
    return tuple(_seen_back(joint, q, motion.cross_motion(column)) for column in joint.kind.columns(joint.hinge))


def _seen_from(several: tuple[int, ...]) -> Callable[..., tuple[tuple[Scalar, ...], tuple[Scalar, ...]]]:
    def seen_from(
        joint: Joint, number: int, q: Sequence[Scalar], v: Sequence[Scalar], pose: Transform, velocity: Motion
    ) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
        """A joint's coordinates and speeds with the other base; the free joint then moves the target link."""
        if number == 0:
            at = joint.placement.inverse @ pose
            return joint.kind.coordinates(joint.hinge, at), velocity.components()
        if number in several:
            return joint.kind.opposite(q), _seen_back(joint, q, joint.kind.motion(joint.hinge, v))
        return tuple(q), tuple(v)

    return seen_from


TURNED_BLOCK = Step(turned_block, ("joint", "q"), ("block",), "-Ad(J)")
TURNED_BLOCK_RATE = Step(turned_block_rate, ("joint", "q", "v"), ("block",), "-Ad(J) crm(H* v)")


def _state_plan(link: int, path: tuple[int, ...], several: tuple[int, ...]) -> Plan:
    step = Step(
        _seen_from(several),
        ("joint", "number", "q", "v", "L@target", "VL@target"),
        ("next", "rates"),
        "beta_k = T_kn beta_n    Jain & Rodriguez (41)",
    )
    return Plan(
        "rebase_state",
        (*BUFFERS, *LINK_BUFFERS, Buffer("next", ()), Buffer("rates", ())),
        (
            base_to_tip(RELATIVE, POSE, VELOCITY, only=path),
            each_link(LINK_POSE, LINK_VELOCITY, only=(link,)),
            base_to_tip(step),
        ),
        target=link,
    )


def _with_blocks(plan: Plan, step: Step, several: tuple[int, ...]) -> Plan:
    if not several:
        return plan
    return replace(
        plan, buffers=(*plan.buffers, Buffer("block", ())), sweeps=(*plan.sweeps, base_to_tip(step, only=several))
    )


# ---- quantities ------------------------------------------------------------------------------------------------------


def _rebase_state(of: Subject, given: Names, *, link: str) -> Recipe:
    change = ChangeOfBase.of(of.model, link)
    return Recipe(change.state, change.state_entries, (of.model.nq + of.model.nv,))


def _base_transform(rate: bool, of: Subject, given: Names, *, link: str) -> Recipe:
    change = ChangeOfBase.of(of.model, link)
    plan = change.rate if rate else change.transform
    return Recipe(plan, partial(change.matrix_entries, rate=rate), (of.model.nv, of.model.nv))


def _rebase_acceleration(of: Subject, given: Names, *, link: str) -> Composed:
    """``T a + dT/dt v``."""

    def make(others: Any, q: Any, v: Any, a: Any) -> Array:
        acceleration = as_array(of.model, "a", a, coordinates=False)
        speed = as_array(of.model, "v", v, coordinates=False)
        fitting(q=as_array(of.model, "q", q, coordinates=True), v=speed, a=acceleration)
        T = others(BASE_TRANSFORM, {"link": link}, q=q)
        rate = others(BASE_TRANSFORM_DERIVATIVE, {"link": link}, q=q, v=v)
        return times(T, acceleration) + times(rate, speed)

    return Composed(make)


def _rebase_forces(of: Subject, given: Names, *, link: str) -> Composed:
    """``T^-T tau``."""

    def make(others: Any, q: Any, tau: Any) -> Array:
        forces = as_array(of.model, "tau", tau, coordinates=False)
        fitting(q=as_array(of.model, "q", q, coordinates=True), tau=forces)
        T = others(BASE_TRANSFORM, {"link": link}, q=q)
        changed: Array = np.linalg.solve(np.swapaxes(T, -1, -2), forces[..., None])[..., 0]
        return changed

    return Composed(make)


_NEW_PLACES = "places as in v of the robot with the other base"

REBASE_STATE = Quantity(
    "rebase_state", ("q", "v"), _rebase_state, "q, then v, of the robot with the other base, in the units of both"
)
BASE_TRANSFORM = Quantity(
    "base_transform",
    ("q",),
    partial(_base_transform, False),
    f"times v: rad/s and m/s; rows: {_NEW_PLACES}, columns as in v",
)
BASE_TRANSFORM_DERIVATIVE = Quantity(
    "base_transform_derivative",
    ("q", "v"),
    partial(_base_transform, True),
    f"times v: rad/s^2 and m/s^2; rows: {_NEW_PLACES}, columns as in v",
)
REBASE_ACCELERATION = Quantity(
    "rebase_acceleration",
    ("q", "v", "a"),
    _rebase_acceleration,
    f"{ACCELERATIONS} of the robot with the other base",
    exported=False,  # products of arrays, and below a solve
)
REBASE_FORCES = Quantity(
    "rebase_forces", ("q", "tau"), _rebase_forces, f"{FORCES} of the robot with the other base", exported=False
)
