"""What an identity is: a function of a robot's operators that returns both sides of an equation, entered in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from recursa.model.model import WORLD, Model
from recursa.operators.expression import Expression, Identity
from recursa.operators.leaves import Operators
from recursa.operators.shapes import space_of

RK = "Rodriguez & Kreutz-Delgado"
JR = "Jain & Rodriguez"

Sides = tuple[Expression, Expression] | None


@dataclass(frozen=True)
class Rule:
    """An equation: its name, where it stands, and its two sides for a robot (and a link, if it is about one)."""

    name: str
    equation: str
    sides: Callable[..., Sides]
    both_ways: bool = False  # the dearer side by itself may be the cheaper one within an inverse


ENTERED: list[Rule] = []
"""All but those about a link, as their modules were read; ``rules.RULES`` has them in order."""

LINK_RULES: list[Rule] = []
"""Those about a link."""

_Function = TypeVar("_Function", bound=Callable[..., Sides])


def identity(
    equation: str, table: list[Rule] = ENTERED, *, both_ways: bool = False
) -> Callable[[_Function], _Function]:
    """Decorator: enter a function in a table of identities, under its own name."""

    def enter(sides: _Function) -> _Function:
        table.append(Rule(sides.__name__.replace("_", " "), equation, sides, both_ways))
        return sides

    return enter


# ---- what they are made of -----------------------------------------------------------------------------------------


def factor(o: Operators) -> Expression:
    """``I + H phi K``: the unit triangular factor of the mass matrix."""
    return o.I + o.H @ o.phi @ o.K


def inverse_factor(o: Operators) -> Expression:
    """``I - H psi K``: its inverse."""
    return o.I - o.H @ o.psi @ o.K


def one(o: Operators) -> Expression:
    """The identity of joint space."""
    return Identity(space_of(o.model, "joint"))


def is_chain(model: Model) -> bool:
    """Whether no body carries two others."""
    parents = [joint.parent for joint in model.joints if joint.parent != WORLD]
    return len(parents) == len(set(parents))
