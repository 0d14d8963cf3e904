"""``recursa bench``: quantities beside peers, as table and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli import bench
from recursa.cli.commands import recursa
from recursa.interop import timing
from recursa.interop.offers import OFFERS
from recursa.quantities import quantities, quantity

FEW = ("mass_matrix", "jacobian", "denoc.twists", "rebase_state")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short list and few turns."""
    monkeypatch.setattr(bench, "plain_quantities", lambda: tuple(quantity(name) for name in FEW))
    monkeypatch.setattr(timing, "PATIENCE", 0.0)


def test_every_quantity_of_plain_arrays_is_timed_or_refused_for_a_reason() -> None:
    plain = timing.plain_quantities()
    left = {one.name for one in quantities()} - {one.name for one in plain}
    assert left == {"operational.mass_solved", "interpolate"}
    for robot in (rc.robots.planar(2), rc.robots.free_flyer(1)):
        left_out = {}
        for one in plain:
            if not one.name.startswith("tests."):
                try:
                    assert timing.timing(robot, one, batch=4, turns=1).quantity == one.name
                except rc.RecursaError as error:
                    left_out[one.name] = str(error)
        of_constraints = {name for name, why in left_out.items() if "has no constraints" in why}
        assert len(of_constraints) == 14 and "constraint_forces" in of_constraints
        left_out = {name: why for name, why in left_out.items() if name not in of_constraints}
        if robot.is_floating:
            assert left_out.keys() == {"augmented_recursion"}
        else:
            assert len(left_out) == 11
            assert all("no free flyer" in why or "does not fly" in why for why in left_out.values()), left_out


@pytest.mark.parametrize("make", [rc.robots.puma560, rc.robots.free_flyer], ids=lambda make: make.__name__)
def test_what_is_offered_is_timed_beside_ours(make) -> None:
    robot = make()
    peers, remarks = timing.installed_peers(robot)
    if remarks:
        pytest.skip(remarks[0])
    for name, offers in OFFERS.items():
        found = timing.timing(robot, quantity(name), batch=8, peers=peers, turns=3)
        missing = {"mujoco"} if name == "jacobian" else set()  # which has those of world axes only
        assert found.peers.keys() == found.call_ratios.keys() == found.batch_ratios.keys() == offers.keys() - missing
        assert all(seconds > 0.0 for seconds in found.peers.values())


def test_no_peer_knows_tied_joints() -> None:
    from numeric import tied_gripper

    assert timing.installed_peers(rc.robots.five_bar())[0] == {}  # whose loop other libraries do not get
    peers, remarks = timing.installed_peers(tied_gripper())
    assert not peers
    assert all("tied" in remark or "not installed" in remark for remark in remarks)


def test_batches_that_do_not_fit_are_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "MOST_BYTES", 8 * 9 * 5)
    assert timing.timing(rc.robots.planar(3), quantity("mass_matrix"), turns=1).states == 5


def test_a_table_and_a_file(few: None, tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    words = ["bench", "planar", "--all", "--batch", "7", "-o", str(file)]
    result = CliRunner().invoke(recursa, words, catch_exceptions=False)
    data = json.loads(file.read_text())
    assert [one["quantity"] for one in data["quantities"]] == list(FEW[:3])
    assert all(one["states"] == 7 for one in data["quantities"])
    assert data["left_out"].keys() == {"rebase_state"}
    for words in (*FEW[:3], "left out: rebase_state", "wrote"):
        assert words in result.stdout


def test_json_is_printed(few: None) -> None:
    words = ["bench", "planar", "--all", "--json", "--batch", "2"]
    assert json.loads(CliRunner().invoke(recursa, words, catch_exceptions=False).stdout)["robot"] == "planar3"


def test_quantities_are_chosen_by_name(few: None) -> None:
    words = ["bench", "planar", "gravity_forces", "jacobian", "--batch", "4", "--threads", "2", "--json"]
    data = json.loads(CliRunner().invoke(recursa, words, catch_exceptions=False).stdout)
    assert [one["quantity"] for one in data["quantities"]] == ["gravity_forces", "jacobian"]
    refused = CliRunner().invoke(recursa, ["bench", "planar", "gravity_force"])
    assert isinstance(refused.exception, rc.UnknownNameError)
    assert "gravity_forces" in str(refused.exception)
