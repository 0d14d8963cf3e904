"""What the page computes: quantities of the robot as JavaScript, as in ``robot.export_js``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recursa.dynamics.configuration import moves_by_adding
from recursa.errors import RecursaError
from recursa.facade.export_questions import ExportQuestion
from recursa.kernels.function import Spelled
from recursa.model.model import Model
from recursa.model.rebase import flies_freely

MOST_BODIES = 80  # beyond that the code for dynamics is larger than all else

_SPACES = re.compile(r" *([=+\-*/<?:,;{}()]) *|\n *")


def page_kernels(model: Model) -> tuple[str, str]:
    """A JavaScript expression, an object of functions by name; and in words why dynamics are not among them, if so."""
    found, why = list(_kinematics(model)), ""
    try:
        found += _dynamics(model)
    except RecursaError as error:
        why = f"The dynamics do not run in this page: {error}"
    names = ",".join(f"{function.name}:{function.name}" for function in found)
    text = "".join(function.definition() for function in found)
    compact = _SPACES.sub(lambda found: found[1] or "\n", text)
    return f"(()=>{{{compact}return {{{names}}}}})()", why


def _kinematics(model: Model) -> Iterator[Spelled]:
    yield _of_bodies(model, _spelled(model, "poses", "poses"), 16, 12)
    if not moves_by_adding(model):
        yield _spelled(model, "integrate", "integrate")
        yield _spelled(model, "difference", "difference")
        yield _spelled(model, "chart", "configuration.chart_rates")
    if model.description.constraints:  # with which the page keeps loops closed
        yield _spelled(model, "error", "constraint_error")
        yield _spelled(model, "rows", "constraint_jacobian")


def _dynamics(model: Model) -> list[Spelled]:
    if model.nbodies > MOST_BODIES:
        raise RecursaError(f"robot '{model.name}' has {model.nbodies} bodies, and at most {MOST_BODIES} are for pages")
    found = [
        _of_bodies(model, _spelled(model, "velocities", "velocities", frame="mixed"), 6, 6),
        _spelled(model, "gravity", "gravity_forces"),
        _spelled(model, "potential", "potential_energy"),
        _spelled(model, "kinetic", "kinetic_energy"),
        _spelled(model, "mass", "mass_matrix"),
    ]
    if any(not joint.independent for joint in model.joints):  # which is solved with the mass matrix
        found.append(_spelled(model, "bias", "inverse_dynamics", wrenches=True))
    else:
        found.append(_spelled(model, "forward", "forward_dynamics", wrenches=True))
    if model.has_springs:  # apart from gravity, which the page may scale
        weightless = replace(model, gravity=(0.0, 0.0, 0.0))
        found += [_spelled(weightless, "springs", "bias_forces"), _spelled(weightless, "stored", "potential_energy")]
    if flies_freely(model):
        found += [_spelled(model, "momentum", "momentum"), _spelled(model, "com", "center_of_mass")]
    return found


def _spelled(model: Model, name: str, quantity: str, **options: Any) -> Spelled:
    return ExportQuestion.of(model, quantity, options).traced(name, "js")


def _of_bodies(model: Model, function: Spelled, size: int, kept: int) -> Spelled:
    """Of a result with so many numbers for every link, the first ones for the link that is each body."""
    links = [model.link_index(joint.child) for joint in model.joints]
    outputs: Sequence[Any] = [function.outputs[size * link + k] for link in links for k in range(kept)]
    return replace(function, outputs=outputs)


def script(kernels: Sequence[str]) -> str:
    """What a page runs before its own script."""
    return f'"use strict";window.recursaKernels=[{",".join(kernels)}];'


def sizes(model: Model) -> Mapping[str, int]:
    """Numbers that the page has to know."""
    return {"nq": model.nq, "nv": model.nv, "nlinks": len(model.links), "ncon": model.ncon}
