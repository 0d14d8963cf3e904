"""``recursa bench --all``: every quantity, beside peers, as table, JSON and chart; interrupted it tells what it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli import bench_all
from recursa.cli.commands import recursa
from recursa.interop import timing
from recursa.interop.offers import OFFERS
from recursa.quantities import quantities, quantity

FEW = ("mass_matrix", "jacobian", "denoc.twists", "rebase_state")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short list and few turns."""
    monkeypatch.setattr(bench_all, "plain_quantities", lambda: tuple(quantity(name) for name in FEW))
    monkeypatch.setattr(timing, "TURNS", 3)


def test_every_quantity_of_plain_arrays_is_timed_or_told_why_not() -> None:
    plain = timing.plain_quantities()
    left = {one.name for one in quantities()} - {one.name for one in plain}
    assert left == {"operational.mass_solved", "interpolate"}
    for robot in (rc.robots.planar(2), rc.robots.free_flyer(1)):
        shipped = [one for one in plain if not one.name.startswith("tests.")]
        found = list(timing.timings(robot, shipped, batch=4, turns=1))
        assert [one.quantity for one in found] == [one.name for one in shipped]
        left_out = {one.quantity: one.why for one in found if isinstance(one, timing.LeftOut)}
        of_constraints = {name for name, why in left_out.items() if "has no constraints" in why}
        assert len(of_constraints) == 13 and "constraint_forces" in of_constraints
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
        (found,) = timing.timings(robot, [quantity(name)], batch=8, peers=peers, turns=3)
        missing = {"mujoco"} if name == "jacobian" else set()  # which has those of world axes only
        assert found.peers.keys() == found.call_ratios.keys() == found.batch_ratios.keys() == offers.keys() - missing
        assert all(seconds > 0.0 for seconds in found.peers.values())
        assert (found.over_writing is not None) == (len(found.shape) > 1)


def test_no_peer_knows_tied_joints() -> None:
    from numeric import tied_gripper

    peers, remarks = timing.installed_peers(tied_gripper())
    assert not peers
    assert all("tied" in remark or "not installed" in remark for remark in remarks)


def test_batches_that_do_not_fit_are_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "MOST_BYTES", 8 * 9 * 5)
    assert timing.timing(rc.robots.planar(3), quantity("mass_matrix"), turns=1).states == 5


def test_a_table_a_file_and_a_chart(few: None, tmp_path: Path) -> None:
    file, chart = tmp_path / "speed.json", tmp_path / "speed.png"
    words = ["bench", "planar", "--all", "--batch", "7", "--json", str(file), "--chart", str(chart)]
    result = CliRunner().invoke(recursa, words, catch_exceptions=False)
    data = json.loads(file.read_text())
    assert [one["quantity"] for one in data["quantities"]] == list(FEW[:3])
    assert all(one["states"] == 7 for one in data["quantities"])
    assert data["left_out"].keys() == {"rebase_state"}
    assert data["whole"] is True
    for words in (*FEW[:3], "over writing", "left out: rebase_state", f"wrote {file}", f"wrote {chart}"):
        assert words in result.stdout
    assert "4 of 4: rebase_state" in result.stderr
    assert chart.read_bytes().startswith(b"\x89PNG")


def test_json_without_a_file_is_printed(few: None) -> None:
    for words in (["bench", "planar", "--all", "--json"], ["bench", "--all", "--json", "planar"]):
        result = CliRunner().invoke(recursa, [*words, "--batch", "2"], catch_exceptions=False)
        assert json.loads(result.stdout)["robot"] == "planar3"


def test_interrupted_it_tells_what_it_has(few: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stopped(robot, records, **options):
        if records[0].name == FEW[2]:
            raise KeyboardInterrupt
        return timing.timings(robot, records, **options)

    monkeypatch.setattr(bench_all, "timings", stopped)
    file = tmp_path / "speed.json"
    result = CliRunner().invoke(recursa, ["bench", "planar", "--all", "--batch", "2", "--json", str(file)])
    assert result.exit_code == 1  # click's own for an abort, which the program itself makes 130
    assert "mass_matrix" in result.stdout
    assert "interrupted" in result.stdout
    data = json.loads(file.read_text())
    assert data["whole"] is False
    assert [one["quantity"] for one in data["quantities"]] == list(FEW[:2])


def test_a_chart_is_of_all_and_its_file_is_looked_at_first(tmp_path: Path) -> None:
    refused = CliRunner().invoke(recursa, ["bench", "planar", "--chart", str(tmp_path / "x.png")])
    assert refused.exit_code == 2
    assert "add --all" in refused.output
    refused = CliRunner().invoke(recursa, ["bench", "planar", "--all", "--chart", str(tmp_path / "x.words")])
    assert isinstance(refused.exception, rc.RecursaError)
    assert "ending" in str(refused.exception)
