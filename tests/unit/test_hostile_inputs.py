"""Inputs made to take long or much: the work that they cause is counted, and is in proportion to their size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa import errors
from recursa.cli.commands import recursa
from recursa.doctor.joint_checks import _circling
from recursa.model.assemble import assemble
from recursa.model.description import Description, JointRecord, LinkRecord, Mimic
from recursa.simulation import driver
from recursa.trajectories.csv_files import _header, require_distinct


class Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    def strip(self, *_: Any) -> Counted:  # type: ignore[override]
        return self


def comparisons(work: Callable[[], Any]) -> int:
    """How often names are compared meanwhile; errors of ours are an end like others."""
    Counted.compared = 0
    with suppress(rc.RecursaError):
        work()
    return Counted.compared


def chain(count: int, **mimics: Any) -> Description:
    """Joints one after the other; all but the first mimic the one before, if that is wanted."""
    names = [Counted(f"joint{k}") for k in range(count)]
    joints = tuple(
        JointRecord(
            name, "revolute", f"link{k}", f"link{k + 1}",
            mimic=Mimic(names[k - 1], 1.0, 0.0) if mimics and k else None,
        )
        for k, name in enumerate(names)
    )  # fmt: skip
    return Description("chain", tuple(LinkRecord(f"link{k}") for k in range(count + 1)), joints)


# ---- loaders ---------------------------------------------------------------------------------------------------------


def test_cycle_of_joints_is_found_in_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    count, compared = 2000, [0]
    equal = JointRecord.__eq__

    def counted(self: JointRecord, other: object) -> bool:
        compared[0] += 1
        return equal(self, other)

    monkeypatch.setattr(JointRecord, "__eq__", counted)
    links = tuple(LinkRecord(f"link{k}") for k in range(count))
    joints = tuple(JointRecord(f"joint{k}", "fixed", f"link{k}", f"link{(k + 1) % count}") for k in range(count))
    with pytest.raises(rc.ModelError, match="form a cycle"):
        assemble(Description("ring", links, joints))
    assert compared[0] <= count


def test_chains_of_ties_are_followed_in_linear_comparisons() -> None:
    description = chain(600, mimic=True)
    assert comparisons(lambda: assemble(description, mimic="tie")) <= 8 * 600
    model = assemble(description, mimic="tie")
    assert model.nv == 1
    ties = {joint.name: joint.mimic.joint for joint in description.joints if joint.mimic}
    assert comparisons(lambda: _circling(ties)) <= 8 * 600


def test_chain_of_ties_that_is_too_long_is_refused() -> None:
    with pytest.raises(rc.ModelError, match="follows more than 1000 joints, each of which mimics the next"):
        assemble(chain(1100, mimic=True), mimic="tie")


def test_circles_of_ties_are_told_from_chains() -> None:
    ties = {"a": "b", "b": "c", "c": "b", "d": "a", "e": "f", "f": "free", "g": "g"}
    assert _circling(ties) == {"a", "b", "c", "d", "g"}


def test_wide_tables_are_read_in_linear_comparisons(tmp_path: Path) -> None:
    names = [Counted(f"c{k}") for k in range(3000)]
    assert comparisons(lambda: _header("file", list(names), 1)) <= 4 * len(names)
    assert comparisons(lambda: require_distinct(names)) <= 4 * len(names)
    wide = tmp_path / "wide.csv"
    wide.write_text(
        "t," + ",".join(f"c{k}" for k in range(20_000)) + "\n" + "".join(f"{t}{',1' * 20_000}\n" for t in (0, 1))
    )
    with pytest.raises(rc.TableError, match="belongs to no joint of robot 'planar2'"):
        rc.Trajectory.from_csv(wide, rc.robots.planar(2))


def test_proposals_compare_so_many_letters_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = []
    near = errors.difflib.get_close_matches
    monkeypatch.setattr(
        errors.difflib,
        "get_close_matches",
        lambda name, names, **given: letters.append(sum(map(len, names)) + len(name)) or near(name, names[:9], **given),
    )
    names = [f"{k}{'x' * 5000}" for k in range(3000)]
    errors.did_you_mean("y" * 5000, names)
    errors.did_you_mean("arm", [*names, *(f"joint{k}" for k in range(50_000))])
    assert letters
    assert max(letters) <= errors._COMPARED * errors._LONG
    monkeypatch.undo()
    assert errors.did_you_mean("elbo", ["shoulder", "elbow", "x" * 5000]) == "Did you mean 'elbow'?"


# ---- names on terminals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\x9b2J", "a\u202eb"])
def test_names_that_command_terminals_are_refused_and_spelled_out(name: str) -> None:
    text = json.dumps({"recursa": "robot", "version": 1, "name": "arm", "links": [{"name": name}], "joints": []})
    for source in (f'<robot name="arm"><link name="{name}"/></robot>', text):
        with pytest.raises(rc.ModelError) as caught:
            rc.load(source)
        assert errors.printable(str(caught.value)) == str(caught.value) or "\x1b" not in str(caught.value)
    assert errors.printable(f"Ärmchen\n{name}") == f"Ärmchen\n{ascii(name)[1:-1]}"


# ---- runs without an end ---------------------------------------------------------------------------------------------


def test_more_samples_than_memory_are_refused() -> None:
    with pytest.raises(rc.StateError, match="samples = 1000000000 are more than fit into 4 GiB"):
        rc.robots.planar(2).simulate([0.1, 0.2], duration=1.0, samples=10**9)


def test_run_whose_steps_become_too_short_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_WINDOW", 200)
    arm = rc.robots.planar(2)
    given: list[dict[str, Any]] = [
        {"v0": [1e8, -3e8], "duration": 100.0},
        {"duration": 5.0, "torque": lambda t, q, v: -50.0 * np.sign(v)},
    ]
    for one in given:
        with pytest.raises(rc.SimulationError, match=r"the last 200 steps led .* take more than 1e\+09") as caught:
            arm.simulate([0.1, 0.2], **one)
        assert caught.value.run.status == "failed"  # type: ignore[attr-defined]
    assert len(arm.simulate([0.1, 0.2], [3.0, 1.0], duration=10.0, integrator="rk45", rtol=1e-10)) > 600


# ---- what is missing is said before a run ----------------------------------------------------------------------------


def test_missing_library_is_named_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(driver.Simulation, "step", None)
    result = CliRunner().invoke(recursa, ["simulate", "planar", "--duration", "1", "--plot", "run.png"])
    assert isinstance(result.exception, rc.RecursaError)
    assert "needs matplotlib, which is not installed" in str(result.exception)


def test_number_of_many_digits_in_a_state_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    for digits in (400, 5000):
        file.write_text(f'{{"q": [{"9" * digits}, 0, 0]}}')
        result = CliRunner().invoke(recursa, ["linearize", "planar", "--state", str(file)])
        assert isinstance(result.exception, rc.StateError), result.output
        assert "too large for a float" in str(result.exception)


def test_batch_beyond_any_memory_is_refused() -> None:
    arm, still = rc.robots.planar(1), rc.load('<robot name="box"><link name="base"/></robot>')
    many, none = np.broadcast_to(np.array([0.1]), (2**59, 1)), np.zeros((2**59, 0))
    for ask in (arm.mass_matrix, arm.gravity_forces, lambda q: arm.inverse_dynamics(q, [0.1], q)):
        with pytest.raises(rc.TooLargeError, match="Take fewer rows"):
            ask(many)
    for ask in (still.mass_matrix, still.gravity_forces, still.potential_energy):
        with pytest.raises(rc.TooLargeError):
            ask(none)
