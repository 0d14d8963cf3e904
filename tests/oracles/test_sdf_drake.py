"""SDF files: dynamics and poses of what Recursa reads against those of Drake, which reads the same text."""

from __future__ import annotations

import sysconfig
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from sdf_texts import HAND, INCLUDES, TEXTS

drake = pytest.importorskip("pydrake")

from drake_model import DrakeModel  # noqa: E402

SHARE = Path(sysconfig.get_path("purelib"), "pydrake", "share", "drake")
FILES = [path for path in sorted(SHARE.rglob("*.sdf")) if "warehouse" not in path.name]  # a world without moving models

pytestmark = pytest.mark.interpreted(reason="every robot is asked twice")


def loaded(source: str | Path, **options: Any) -> rc.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return rc.load(source, strict=False, **options)


def agree(robot: rc.Robot, peer: DrakeModel) -> None:
    q, v = robot.random_state(7)
    a = np.random.default_rng(3).normal(size=robot.nv)
    for link in robot.model.links:
        if link.name != "world" and not link.name.endswith(".1"):
            np.testing.assert_allclose(robot.pose(q, link.name), peer.pose(link.name, q), rtol=0, atol=1e-12)
    if robot.nv:
        scale = max(1.0, abs(robot.mass_matrix(q)).max())
        np.testing.assert_allclose(robot.mass_matrix(q), peer.mass_matrix(q), rtol=0, atol=1e-11 * scale)
        ours = robot.inverse_dynamics(q, v, a)
        theirs = peer.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * max(1.0, abs(ours).max()))


@pytest.mark.parametrize("name", TEXTS)
def test_texts_and_drake(name: str) -> None:
    robot = loaded(TEXTS[name])
    agree(robot, DrakeModel(robot, text=TEXTS[name]))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_of_drake(path: Path) -> None:
    robot = loaded(path)
    agree(robot, DrakeModel(robot, path=str(path)))


@pytest.mark.parametrize("name", INCLUDES)
def test_includes_and_drake(name: str, tmp_path: Path) -> None:
    (tmp_path / "hand.sdf").write_text(HAND)
    path = tmp_path / "holder.sdf"
    path.write_text(INCLUDES[name].replace("URI", "file://" + str(tmp_path / "hand.sdf")))
    robot = loaded(path, assets=tmp_path)
    assert robot.nv == 3
    agree(robot, DrakeModel(robot, path=str(path)))
