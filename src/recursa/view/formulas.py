"""Operator formulas as a page: their sweeps as waves over the bodies, the equations at each, cost and code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recursa.errors import RecursaError
from recursa.model.model import WORLD, Model
from recursa.operators.explain import Explanation
from recursa.operators.levels import link_step_level, recursion_level
from recursa.view.page import robot_page

if TYPE_CHECKING:
    from recursa.robot import Robot


def formula_page(robot: Robot, told: Sequence[Explanation], *, meshes: bool = True) -> str:
    """The page of formulas of a robot, the first of them shown at once."""
    if not told:
        raise RecursaError("there is no formula to show")
    return robot_page(robot, meshes=meshes, formulas=[formula_data(one) for one in told])


def formula_data(told: Explanation) -> dict[str, Any]:
    """A formula for the page: what it becomes, sweep by sweep; without sweeps, why there are none."""
    counts = told.operations
    return {
        "written": told.expression.text(),
        "simplified": told.simplified.text(),
        "identities": [f"{one.rule} [{one.equation}]: {one.before} = {one.after}" for one in told.rewritings],
        "cost": told.cost,
        "total": None if counts is None else counts.total,
        "code": told.code,
        "sweeps": _sweeps(told),
    }


def _sweeps(told: Explanation) -> list[dict[str, Any]]:
    f = told.compiled
    if f is None:
        return []
    named, equations = recursion_level(f).parts, link_step_level(f).parts
    return [
        {
            "title": part.title,
            "steps": [list(row) for row in part.rows],
            "equations": [row[0] for row in at_body.rows],
            "waves": waves(told.model, outward=sweep.direction.value == "base to tip"),
        }
        for part, at_body, sweep in zip(named, equations, f.plan.sweeps, strict=True)
    ]


def waves(model: Model, *, outward: bool) -> list[list[int]]:
    """The bodies in the order in which a sweep visits them, those that do not wait for each other together.

    >>> import recursa as rc
    >>> waves(rc.robots.tree(5).model, outward=True)
    [[0], [1, 4], [2, 3]]
    """
    depth: list[int] = []
    for joint in model.joints:
        depth.append(0 if joint.parent == WORLD else depth[joint.parent] + 1)
    found = [[k for k, d in enumerate(depth) if d == level] for level in range(max(depth, default=-1) + 1)]
    return found if outward else found[::-1]
