"""How many operations a quantity takes, as compiled for one robot."""

from __future__ import annotations

from typing import Any

from recursa.errors import unknown_name
from recursa.facade.exporting import Question
from recursa.robot import Robot
from recursa.spatial.counting import Counts


def count(robot: Robot, quantity: str, *, rules: str = "specialised", **options: Any) -> Counts:
    """Operations of one evaluation in the code generated for this robot.

    ``quantity`` and ``options`` are as in :meth:`Robot.export_c`. ``rules="specialised"``: the robot's constants are
    known, so what multiplies 0, 1 or -1 and what depends on constants alone is free, equal expressions are computed
    once, and changes of sign are free.

    >>> import recursa as rc
    >>> rc.count(rc.robots.stanford(), "inverse_dynamics")
    Counts(mul=106, add=88, div=0, sqrt=0, trig=8)
    """
    if rules != "specialised":
        raise unknown_name("set of counting rules", rules, ("specialised",))
    return Question.of(robot.model, quantity, options).traced("kernel").operations
