"""How many base parameters a real robot has, against the rank of Pinocchio's regressor."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from robot_data import relative_name, urdf_files

pin = pytest.importorskip("pinocchio")
_LARGE = 60_000  # bytes of a file: those of humanoids are for make test-all


def loaded(path: Path) -> tuple[rc.Robot, object] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = rc.load(path, strict=False)
        except rc.ModelError:
            return None
    model = pin.buildModelFromUrdf(str(path))
    return (robot, model) if robot.nv and robot.nv == model.nv else None


def rank(model: object) -> int:
    """Of the regressor at many random states, where singular values leave no doubt."""
    rng = np.random.default_rng(0)
    data, rows = model.createData(), []
    for _ in range(40 + 30 * (model.njoints - 1) // model.nv):
        q = pin.integrate(model, pin.neutral(model), rng.uniform(-2.0, 2.0, model.nv))
        v, a = 4.0 * rng.normal(size=model.nv), 15.0 * rng.normal(size=model.nv)
        rows.append(pin.computeJointTorqueRegressor(model, data, q, v, a).copy())
    matrix = np.concatenate(rows)
    sizes = np.linalg.norm(matrix, axis=0)
    matrix = matrix[:, sizes > 1e-9 * sizes.max()] / sizes[sizes > 1e-9 * sizes.max()]
    values = np.linalg.svd(matrix, compute_uv=False)
    found = int((values > 1e-9 * values[0]).sum())
    assert found == len(values) or values[found - 1] > 1e4 * values[found]
    return found


CASES = [
    pytest.param(path, id=relative_name(path), marks=[pytest.mark.slow] if path.stat().st_size > _LARGE else [])
    for path in urdf_files()
]


@pytest.mark.parametrize("path", CASES)
def test_as_many_as_the_rank_of_a_peers_regressor(path):
    found = loaded(path)
    if found is None:
        pytest.skip("not read, nothing moves, or the peer has other joints")
    robot, model = found
    assert len(robot.base_parameters().names) == rank(model)
