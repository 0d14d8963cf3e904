"""Counts of the code that is generated for robots: by every method, and with or without regrouped parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from recursa import robots
from recursa.bundled import TREES
from recursa.constraints.quantities import METHODS as WITH_CONSTRAINTS
from recursa.counts.count import count
from recursa.errors import RecursaError
from recursa.facade.derivative_methods import LinearizeMethod
from recursa.methods.inverse_and_forward import ForwardMethod, InverseMethod
from recursa.methods.matrices import MassMethod
from recursa.robot import Robot

METHODS: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": get_args(InverseMethod),
    "mass_matrix": get_args(MassMethod),
    "forward_dynamics": tuple(name for name in get_args(ForwardMethod) if name not in WITH_CONSTRAINTS),
    "linearize": get_args(LinearizeMethod),
}
"""The methods of each quantity, the usual one first; the bundled robots have no constraints."""


@dataclass(frozen=True)
class RobotRow:
    """What one method costs for one robot."""

    robot: str
    quantity: str
    method: str
    mul: int
    add: int
    div: int
    trig: int

    def cells(self) -> dict[str, str]:
        """As it is printed."""
        return {name: str(value) for name, value in vars(self).items()}


def rows_of(robot: Robot, methods: Mapping[str, Sequence[str]] = METHODS) -> Iterator[RobotRow]:
    """By every method that suits the robot: others are for other joints, or too long for code without loops."""
    for quantity, names in methods.items():
        for method in names:
            try:
                found = count(robot, quantity, method=method)
            except RecursaError:
                continue
            yield RobotRow(robot.name, quantity, method, found.mul, found.add, found.div, found.trig)


def robot_rows(*, usual: bool = False) -> Iterator[RobotRow]:
    """Of the bundled robots, by all methods or by the usual ones."""
    methods = {quantity: names[:1] if usual else names for quantity, names in METHODS.items()}
    for name in TREES:
        yield from rows_of(robots.by_name(name), methods)


@dataclass(frozen=True)
class RegroupingRow:
    """One quantity of one robot with its inertial parameters where they are, and regrouped; what is in print."""

    robot: str
    quantity: str
    mul: int
    add: int
    regrouped_mul: int
    regrouped_add: int
    printed: str
    note: str

    def cells(self) -> dict[str, str]:
        """As it is printed."""
        return {
            "robot": self.robot,
            "quantity": self.quantity,
            "as they are": f"{self.mul}/{self.add}",
            "regrouped": f"{self.regrouped_mul}/{self.regrouped_add}",
            "in print": self.printed or "-",
            "note": self.note,
        }


_PRINTED = {
    ("stanford", "inverse_dynamics"): (
        "142/99",
        "customised, with base parameters; quoted at second hand, its link data are not known to us",
    ),
    ("puma560", "inverse_dynamics"): (
        "305 in all",
        "Armstrong, Khatib & Burdick (1986), explicit model without terms below 1 %; ours leaves nothing out",
    ),
}
_ARMS = ("stanford", "puma560", "panda_like")


def regrouping_rows() -> Iterator[RegroupingRow]:
    """Of three arms."""
    for name in _ARMS:
        robot = robots.by_name(name)
        for quantity in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
            apart, together = count(robot, quantity, regroup=False), count(robot, quantity)
            text, note = _PRINTED.get((name, quantity), ("", ""))
            yield RegroupingRow(name, quantity, apart.mul, apart.add, together.mul, together.add, text, note)


def robot_table_rows(robot: Robot) -> tuple[RobotRow, ...]:
    """Of any robot; one that cannot move has none, nor has one that is too large for straight-line code."""
    if robot.nv == 0:
        raise RecursaError(f"robot '{robot.name}' has no joints that move: there is nothing to count")
    found = tuple(rows_of(robot))
    if not found:
        count(robot, "inverse_dynamics")  # says why
    return found
