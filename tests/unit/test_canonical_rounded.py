"""The frame pass on geometry that is special but for rounding, as real files have it: 1.5708, 3.1416, 1e-10."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.book import augmented_recursion
from recursa.dynamics import gathering, inverse, mass_matrix
from recursa.model.canonical import canonical
from recursa.model.model import Model
from recursa.sweeps import Plan, run

ANGLES = (0.0, np.pi / 2, -np.pi / 2, np.pi, 1.5708, 3.14159, 1.57, 3.1416, 1.5707963, 0.3)
LENGTHS = (0.0, 0.0, 0.3, -0.2, 1e-13, 1e-10, 1e-7, 1e-4)
TILTS = (0.0, 0.0, 0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
KINDS = ("revolute", "revolute", "prismatic", "helical", "free", "spherical", "planar")
TOLERANCE = 1e-10  # moved frames take less than 1e-12 for zero, here times a weight of ten newtons


def nearly_special(seed: int) -> rc.Robot:
    rng = np.random.default_rng(seed)
    kinds = KINDS if seed % 3 == 0 else ("revolute", "prismatic")
    b = rc.Builder(f"nearly_special{seed}")
    for k in range(int(rng.integers(2, 7))):
        parent = int(rng.integers(-1, k)) if rng.random() < 0.3 else k - 1
        kind = str(rng.choice(kinds))
        axis = rng.permutation(np.eye(3))[0] * rng.choice([-1, 1]) + rng.choice(TILTS) * rng.normal(size=3)
        b.link(f"link{k}", mass=1.0, com=(0.1, -0.02, 0.03), inertia=(0.01, 0.02, 0.015, 0.001, -0.002, 0.003))
        b.joint(
            f"joint{k}", kind, parent="world" if parent < 0 else f"link{parent}", child=f"link{k}",
            axis=(axis / np.linalg.norm(axis)).tolist(), xyz=rng.choice(LENGTHS, size=3).tolist(),
            rpy=(rng.choice(ANGLES, size=3) + rng.choice(TILTS, size=3) * rng.normal(size=3)).tolist(),
            pitch=0.1 if kind == "helical" else None,
        )  # fmt: skip
    return b.build(strict=False)


def torques(plan: Plan, model: Model, inputs: dict[str, list[float]]) -> np.ndarray:
    return np.array(list(gathering.joint_vector(model, run(plan, model, inputs)["T"])))


def masses(model: Model, inputs: dict[str, list[float]]) -> np.ndarray:
    return np.array(
        list(gathering.joint_matrix(model, run(mass_matrix.MASS_MATRIX_PLAN, model, inputs)["rows"], symmetric=True))
    )


@pytest.mark.parametrize("hundred", range(5))
def test_moved_frames_match_those_of_the_file(hundred: int) -> None:
    suited = 0
    for seed in range(100 * hundred, 100 * hundred + 100):
        robot = nearly_special(seed)
        moved = canonical(robot.model)
        q, v = robot.random_state(seed)
        a = np.random.default_rng(seed).normal(size=robot.nv)
        inputs = {"q": q.tolist(), "v": v.tolist(), "a": a.tolist()}
        expected = torques(inverse.inverse_plan(), robot.model, inputs)
        close(torques(inverse.inverse_plan(), moved, inputs), expected, TOLERANCE, f"seed {seed}: torques")
        close(masses(moved, inputs), masses(robot.model, inputs), TOLERANCE, f"seed {seed}: mass matrix")
        if augmented_recursion.suits(moved):
            suited += 1
            found = torques(augmented_recursion.augmented_plan(), moved, inputs)
            close(found, expected, TOLERANCE, f"seed {seed}: torques with augmented links")
    assert suited > 30
