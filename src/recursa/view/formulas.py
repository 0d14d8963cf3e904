"""Operator formulas as a page: their sweeps as waves over the bodies, the equations at each, cost and code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from recursa.errors import NotationError, RecursaError
from recursa.model.model import WORLD, Model
from recursa.operators.explain import Explanation
from recursa.operators.levels import link_step_level, recursion_level
from recursa.operators.symbols import Kind
from recursa.sweeps.plan import LINKS, Direction, Sweep
from recursa.view.page import robot_page

if TYPE_CHECKING:
    from recursa.robot import Robot

Space = Literal["joint", "link", "tip"]

_WAYS = {Direction.BASE_TO_TIP: "outward", Direction.TIP_TO_BASE: "inward"}
_WRITTEN = (
    ("mass", "the mass matrix, H phi M phi* H* + A"), ("T", "a free joint vector"),
    ("J(link)", "the Jacobian of a link, B(link)* phi* H*"), ("inv(...)", "the inverse"),
    ("diag(...)", "a vector as a diagonal matrix"), ("X*", "transposed"), ("d/dt(...)", "the rate, in body axes"),
    ("d/d{joint}(...)", "the derivative along a joint"),
)  # fmt: skip
"""What is no letter of its own."""


def formula_page(robot: Robot, told: Sequence[Explanation], *, meshes: bool = True) -> str:
    """The page of formulas of a robot, the first of them shown at once."""
    if not told:
        raise RecursaError("there is no formula to show")
    return robot_page(robot, meshes=meshes, formulas=[formula_data(one) for one in told])


def spaces_of(text: str) -> dict[str, Space]:
    """Free vectors and their spaces as they are typed.

    >>> spaces_of("x=joint, f = tip")
    {'x': 'joint', 'f': 'tip'}
    """
    found: dict[str, Space] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, space = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise NotationError(f"free vectors: '{part}' is not NAME=SPACE, such as x=joint", text, text.find(part))
        found[name] = cast("Space", space)  # what it may be is said by the reader of formulas
    return found


def letters() -> list[list[str]]:
    """What can be typed: letters as they are typed and printed, and what they mean.

    >>> letters()[2]
    ['phi', 'φ', 'rigid propagation: φ = inv(I - E_φ); gathers tip to base']
    """
    own = [
        [one.value.code, one.value.text, f"{one.value.words}: {one.value.meaning}"]
        for one in Kind
        if not one.value.is_rate
    ]
    return [*own, *([typed, typed, meaning] for typed, meaning in _WRITTEN)]


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
            "way": _WAYS.get(sweep.direction, "here"),
            "waves": waves(told.model, sweep),
        }
        for part, at_body, sweep in zip(named, equations, f.plan.sweeps, strict=True)
    ]


def waves(model: Model, sweep: Sweep) -> list[list[int]]:
    """The bodies in the order in which a sweep visits them, those that do not wait for each other together.

    >>> import recursa as rc
    >>> from recursa.sweeps.plan import base_to_tip, each_link
    >>> waves(rc.robots.tree(5).model, base_to_tip())
    [[0], [1, 4], [2, 3]]
    >>> waves(rc.robots.planar(3).model, each_link(only=(2,)))
    [[1]]
    """
    if sweep.domain == LINKS:
        visited = range(len(model.links)) if sweep.only is None else sweep.only
        return [sorted({model.links[k].body for k in visited} - {WORLD})]
    depth: list[int] = []
    for joint in model.joints:
        depth.append(0 if joint.parent == WORLD else depth[joint.parent] + 1)
    bodies = range(model.nbodies) if sweep.only is None else sweep.only
    found = [[k for k in bodies if depth[k] == level] for level in range(max(depth, default=-1) + 1)]
    found = [wave for wave in found if wave]
    return found if sweep.direction is Direction.BASE_TO_TIP else found[::-1]
