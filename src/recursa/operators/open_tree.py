"""Formulas about how a robot responds, which robots with constraints refuse unless the formula has the constraints."""

from __future__ import annotations

from recursa.dynamics.requirements import refuse_constraints
from recursa.model.model import Model
from recursa.operators.expression import Expression, Inverse, Leaf, all_parts_of, known_shape
from recursa.operators.symbols import OF_CONSTRAINTS, RICCATI
from recursa.quantities import Refusal

_CLOSED = Refusal(
    "a formula with the rows G_c of the constraints, such as inv(mass) - inv(mass) G_c* inv(G_c inv(mass) G_c*) G_c "
    "inv(mass) in the place of inv(mass); or robot.constrained_compliance(q), which is this matrix, also where "
    "constraints are redundant"
)


def refuse_open_tree(expression: Expression, model: Model | None) -> None:
    """Raise for a formula that takes forces to motions of the open tree, for a robot with constraints.

    Such a formula has an inverse in joint space, or a letter of the articulated-body recursion. One with a letter of
    the constraints is left to whoever wrote it.
    """
    if model is None or not model.description.constraints:
        return
    parts = _parts(expression)
    if any(isinstance(part, Leaf) and part.kind in OF_CONSTRAINTS for part in parts):
        return
    for part in parts:
        if _responds(part):
            refuse_constraints(model, f"{part} in a formula", _CLOSED)


def _responds(part: Expression) -> bool:
    if isinstance(part, Leaf):
        return RICCATI in part.kind.value.needs
    return isinstance(part, Inverse) and known_shape(part).rows.name == "joint"


def _parts(expression: Expression) -> list[Expression]:
    found = [expression]
    for part in found:
        found += all_parts_of(part)
    return found
