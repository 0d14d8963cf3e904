"""Which equations of motion a run is about: of a tree, in diagonal coordinates, with constraints, with contacts."""

from __future__ import annotations

from typing import Any

from recursa.errors import StateError
from recursa.runs.options import Options
from recursa.simulation.constrained import Baumgarte, ConstrainedEquations
from recursa.simulation.diagonal import DiagonalEquations
from recursa.simulation.equations import Equations
from recursa.simulation.touch import Touch
from recursa.simulation.touching import TouchingEquations


def equations_of(
    robot: Any, options: Options, touches: tuple[Touch, ...], *acting: Any, prescribed: Any = None
) -> Equations:
    """The equations that suit a robot and the options of its run."""
    baumgarte = None if options.baumgarte is None else Baumgarte(*options.baumgarte)
    if not (robot.constraints or touches):
        if prescribed is not None:
            raise StateError(
                f"prescribed= is for joints and links that are rc.Prescribed, and robot '{robot.name}' has none"
            )
        if baumgarte is not None:
            raise StateError(f"baumgarte= is for constraints, and robot '{robot.name}' has none")
        return DiagonalEquations(robot, *acting) if options.coordinates == "diagonal" else Equations(robot, *acting)
    if options.coordinates == "diagonal":
        raise StateError('coordinates="diagonal" are those of trees without contacts: leave them out')
    if not touches:
        return ConstrainedEquations(robot, *acting, baumgarte=baumgarte, prescribed=prescribed)
    if baumgarte is not None:
        raise StateError("with contacts= states are kept on the constraints by projection: leave baumgarte= out")
    return TouchingEquations(robot, *acting, touches=touches)
