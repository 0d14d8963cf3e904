"""What is generated for some robots, as text that differs if a bit does: ``python tests/fingerprints.py``.

Tests run it in processes that are told to take this processor for another one.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import recursa as rc
import zoo
from recursa.book import augmented_recursion
from recursa.dynamics import articulated_bodies, inverse
from recursa.dynamics.gathering import joint_matrix, joint_vector
from recursa.dynamics.mass_matrix import MASS_MATRIX_PLAN
from recursa.kernels.kernel import program
from recursa.kernels.writer import Shape
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.sweeps import Plan

ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "chain": lambda: rc.robots.chain(6, seed=3),
    "chain_mixed": lambda: rc.robots.chain(5, seed=2, joints="mixed"),
    "stanford": rc.robots.stanford,
    "panda_like": rc.robots.panda_like,
    "tree": lambda: rc.robots.tree(7, seed=5),
    "floating_tree": zoo.floating_tree,
    "small_mixed_tree": zoo.small_mixed_tree,
}
_SHAPE = Shape(4, False)
_MOVED = (MayMove.NOTHING, MayMove.INERTIAS, MayMove.INERTIAS_FOR_EULER)


def _plans(robot: rc.Robot) -> Iterator[tuple[Model, Plan, tuple[str, ...], Callable[..., Any]]]:
    """A few plans: their models, inputs, and what is gathered."""
    own, regrouped, euler = (may_move.moved(robot.model) for may_move in _MOVED)
    recursion = augmented_recursion.augmented_plan() if augmented_recursion.suits(euler) else inverse.inverse_plan()
    for model in (own, regrouped):
        yield model, inverse.inverse_plan(), ("q", "v", "a"), lambda m, values: joint_vector(m, values["T"])
        yield (
            model,
            MASS_MATRIX_PLAN,
            ("q",),
            lambda m, values: joint_matrix(m, values["rows"], symmetric=True),
        )
    yield euler, recursion, ("q", "v", "a"), lambda m, values: joint_vector(m, values["T"])
    yield (
        regrouped,
        articulated_bodies.forward_plan(),
        ("q", "v", "tau"),
        lambda m, values: joint_vector(m, values["qdd"]),
    )


def _code(robot: rc.Robot) -> Iterator[str]:
    """Counts, generated code and tables."""
    for model, plan, inputs, gather in _plans(robot):
        sizes = {name: model.nq if name == "q" else model.nv for name in inputs}
        for form in ("straight", "loop") if plan is not MASS_MATRIX_PLAN else ("straight",):
            made = program(plan, model, sizes, lambda values, m=model, g=gather: g(m, values), form)
            yield f"{made.operations} {made.ir(_SHAPE)}"
            yield from (table.tobytes().hex() for table in made.workspace(_SHAPE)[1:])


def fingerprint(robot: rc.Robot) -> str:
    """A hash of all of it."""
    digest = hashlib.sha256()
    for part in _code(robot):
        digest.update(part.encode())
    return digest.hexdigest()


if __name__ == "__main__":
    json.dump({name: fingerprint(make()) for name, make in ROBOTS.items()}, sys.stdout)
