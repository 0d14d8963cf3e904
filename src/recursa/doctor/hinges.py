"""Which joints have nothing to move."""

from __future__ import annotations

import numpy as np

from recursa.dynamics.gathering import joint_matrix
from recursa.dynamics.hinges import HINGES, RELATIVE_ZERO, singular_hinges
from recursa.dynamics.inertia import MASS_MATRIX
from recursa.model.model import Model
from recursa.sweeps import run

Singular = tuple[int, int, float]  # joint, freedom, pivot of D


def singular_joints(model: Model) -> list[Singular]:
    """Joints without hinge inertia at two configurations drawn at random, limits or not: none of them is special."""
    judge = singular_hinges if all(joint.independent for joint in model.joints) else _singular_of_tied
    rng = np.random.default_rng(0)
    first = judge(model, _anywhere(model, rng))
    if not first:
        return []
    again = {number for number, _, _ in judge(model, _anywhere(model, rng))}
    return [found for found in first if found[0] in again]


def _anywhere(model: Model, rng: np.random.Generator) -> list[float]:
    return [x for joint in model.joints if joint.independent for x in joint.kind.random(rng, None)]


def _singular_of_tied(model: Model, q: list[float]) -> list[Singular]:
    """The same where joints share a freedom: pivots of the reduced mass matrix, eliminated from the tips inward."""
    rows = run(MASS_MATRIX, model, {"q": q})["rows"]
    matrix = np.array(list(joint_matrix(model, rows, symmetric=True)), dtype=float).reshape(model.nv, model.nv)
    scale = _scales(model, q)
    found: list[Singular] = []
    for number, joint in reversed(list(enumerate(model.joints))):
        for freedom in range(joint.kind.nv if joint.independent else 0):
            at = joint.v_start + freedom
            pivot = float(matrix[at, at])
            if pivot > RELATIVE_ZERO * abs(scale[at]):
                matrix -= np.outer(matrix[:, at], matrix[at]) / pivot
            else:
                found.append((number, freedom, pivot))
    return sorted(found)


def _scales(model: Model, q: list[float]) -> list[float]:
    """What a pivot is judged by: how large it could be if the axes of the joints that share it lay otherwise."""
    scales = [0.0] * model.nv
    for joint, own in zip(model.joints, run(HINGES, model, {"q": q})["scale"], strict=True):
        factor = 1.0 if joint.tie is None else joint.tie.multiplier
        for freedom, scale in enumerate(own):
            scales[joint.v_start + freedom] += factor * factor * abs(scale)
    return scales
