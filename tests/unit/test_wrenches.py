"""Wrenches by the name of the link, and what is said of those that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from questions import interpreted
from recursa.errors import did_you_mean

ARM = rc.robots.panda_like()
LINK = ARM.link_names[-1]
Q, V = ARM.random_state(1)
ROW = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def as_rows(row: Any, link: str = LINK) -> np.ndarray:
    rows = np.zeros((*np.shape(row)[:-1], ARM.nlinks, 6))
    rows[..., ARM.link_names.index(link), :] = row
    return rows


@pytest.mark.parametrize("row", [ROW.tolist(), ROW, np.array([ROW, 2 * ROW])])
def test_mapping_by_link_is_a_row_of_the_array(row: Any) -> None:
    for ask in (ARM.inverse_dynamics, ARM.forward_dynamics):
        np.testing.assert_array_equal(ask(Q, V, V, wrenches={LINK: row}), ask(Q, V, V, wrenches=as_rows(row)))


def test_mapping_holds_several_links_and_wrenches() -> None:
    push = rc.Wrench(at=LINK, force=(0, 0, -9.81))
    other = ARM.link_names[3]
    both = ARM.inverse_dynamics(Q, V, V, wrenches={LINK: push, other: ROW})
    one_by_one = [push, rc.Wrench(at=other, moment=ROW[:3], force=ROW[3:], frame="link")]
    np.testing.assert_array_equal(both, ARM.inverse_dynamics(Q, V, V, wrenches=one_by_one))
    fresh = rc.Robot(ARM.model)  # it has no kernels yet
    plain = interpreted(lambda: fresh.inverse_dynamics(Q, V, V, wrenches={}))
    np.testing.assert_array_equal(plain, interpreted(lambda: fresh.inverse_dynamics(Q, V, V)))
    none = ARM.inverse_dynamics(Q, V, V)  # a kernel of another recursion
    np.testing.assert_allclose(ARM.inverse_dynamics(Q, V, V, wrenches={}), none, rtol=0, atol=1e-13 * abs(none).max())


def test_simulation_and_its_checkpoint_take_a_mapping(tmp_path: Path) -> None:
    options: dict[str, Any] = {"duration": 0.002, "integrator": "rk4", "progress": False}
    plain = ARM.simulate(Q, V, wrenches=as_rows(ROW), **options)
    run = ARM.simulate(Q, V, wrenches={LINK: ROW}, checkpoint=tmp_path / "run.ckpt", **options)
    np.testing.assert_array_equal(run.q, plain.q)
    by_function = ARM.simulate(Q, V, wrenches=lambda t, q, v: {LINK: ROW}, **options)
    np.testing.assert_array_equal(by_function.q, plain.q)


@pytest.mark.parametrize(
    ("wrenches", "error", "words"),
    [
        ({LINK: [0, 0, -9.81]}, rc.ShapeError, [f"['{LINK}'] has shape (3,)", f"rc.Wrench(at='{LINK}', force="]),
        ({"flnge": ROW}, rc.UnknownNameError, ["no link 'flnge'"]),
        ({LINK: rc.Wrench(at="link3")}, rc.StateError, [f"wrenches['{LINK}'] is a wrench at 'link3'"]),
        ({LINK: "much"}, rc.StateError, [f"wrenches['{LINK}'] must be numbers"]),
        ([rc.Wrench(at=LINK), ROW], rc.StateError, ["where a wrench belongs", "rc.Wrench(at"]),
        ([{LINK: ROW}], rc.StateError, ["where a wrench belongs", "rc.Wrench(at"]),
        ([LINK], rc.StateError, ["where a wrench belongs", "rc.Wrench(at"]),
    ],
)  # fmt: skip
def test_what_is_no_wrench_is_answered_with_one(wrenches: Any, error: type[Exception], words: list[str]) -> None:
    for ask in (
        lambda: ARM.inverse_dynamics(Q, V, V, wrenches=wrenches),
        lambda: ARM.simulate(Q, V, duration=0.001, integrator="rk4", wrenches=wrenches),
    ):
        with pytest.raises(error) as raised:
            ask()
        for word in words:
            assert word in str(raised.value)


def test_list_of_names_holds_the_wanted_one() -> None:
    """Tools and hands come last, and a part of a name is enough to be reminded of it."""
    names = [f"panda_link{k}" for k in range(30)]
    assert "tool0" in did_you_mean("gripper", [*names, "tool0"])
    assert did_you_mean("hand", [*names, "panda_hand", "panda_handle"]).count("hand") == 2
    assert did_you_mean("PANDA_LINK7", names).startswith("Did you mean 'panda_link7'")
    many = [f"part{k}" for k in range(500)]
    listed = did_you_mean("zzz", [*many, "tool0"])
    assert "part0, " in listed and "tool0." in listed and "(461 more)" in listed and len(listed) < 500
