"""Coriolis terms by their causes, and ``recursa explain --diagonal``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from numeric import close, crf
from recursa.cli.commands import recursa
from zoo import one_of_each, small_mixed_tree


def run(*arguments: str, text: str | None = None) -> Any:
    return CliRunner().invoke(recursa, arguments, input=text)


@pytest.mark.parametrize("make", [rc.robots.puma560, small_mixed_tree, one_of_each])
def test_causes_match_the_dense_terms_of_7_9(make: Any) -> None:
    """``H psi`` of each term; psi, H, M as matrices, P_dot from Algorithm 6.1."""
    robot = make()
    q, v = robot.random_state(3)
    o, d = robot.operators, robot.diagonal
    xi = d.unnormalized.total_rates(q, v)
    H, psi, M, V = (rc.dense(x, q, v) for x in (o.H, o.psi, o.M, o.V))
    rates = d.articulated_rates(q, v)
    blocks = [slice(6 * k, 6 * k + 6) for k in range(robot.nbodies)]
    across = H.T @ xi
    own = np.concatenate([crf(V[one]) @ (M[one, one] @ V[one]) for one in blocks])
    outward = np.concatenate([rates[k] @ across[one] for k, one in enumerate(blocks)])
    found = d.unnormalized.coriolis_causes(q, xi)
    close(found.own, H @ psi @ own, 1e-11)
    close(found.outward, H @ psi @ outward, 1e-11)
    close(sum(found), d.unnormalized.coriolis(q, xi), 1e-11)


def test_causes_take_batches() -> None:
    robot = rc.robots.planar(3)
    q, xi = np.array([[0.1, 0.2, 0.3], [0.5, -0.4, 0.9]]), np.array([[1.0, -2.0, 0.5], [0.3, 0.2, 0.1]])
    u = robot.diagonal.unnormalized
    one, two = (u.coriolis_causes(q[k], xi[k]) for k in range(2))
    for part, first, second in zip(u.coriolis_causes(q, xi), one, two, strict=True):
        close(part, np.array([first, second]), 1e-14)


def test_json_adds_up() -> None:
    data = json.loads(run("explain", "--diagonal", "--robot", "stanford", "--json").output)
    robot = rc.robots.stanford()
    x = {name: np.array(value) for name, value in data.items() if isinstance(value, list) and name != "freedoms"}
    close(x["energy"].sum(), robot.kinetic_energy(x["q"], x["v"]), 1e-12)
    close(x["passive"] + x["xi"], x["v"], 1e-14)
    close(x["past"] + x["present"] + x["future"], x["C_xi"], 1e-12)
    assert abs(x["nu"] @ x["C_nu"]) < 1e-12
    close(x["eps"] @ x["nu"], x["tau"] @ x["v"], 1e-11)
    assert (x["D"] <= x["locked"] * (1 + 1e-12)).all()
    assert data["freedoms"] == list(robot.joint_names)


def test_tables_have_a_row_per_freedom_and_words(tmp_path: Path) -> None:
    picture = tmp_path / "diagonal.png"
    state = '{"q": [0.3, 0.8, -0.4], "v": [1, 2, 3]}'
    result = run("explain", "--diagonal", "--robot", "planar", "--state", "-", "--plot", str(picture), text=state)
    assert result.exit_code == 0, result.output
    for words in ("reduced manipulator", "broken bicycle chain", "past", "present", "future", "nu C(q, nu)"):
        assert words in result.output
    assert result.output.count("joint3") == 4
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain",), "Missing argument 'FORMULA'"),
        (("explain", "H phi"), "Missing option '--robot'"),
        (("explain", "H phi", "--diagonal"), "it takes no formula"),
        (("explain", "H phi", "--robot", "planar", "--plot", "x.png"), "go with --diagonal"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_what_cannot_be_explained_says_so(tmp_path: Path) -> None:
    still = tmp_path / "still.urdf"
    still.write_text('<robot name="still"><link name="base"/></robot>')
    result = run("explain", "--diagonal", "--robot", str(still))
    assert "no joints that move" in str(result.exception or result.output)
