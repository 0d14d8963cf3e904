"""``recursa compare``: agreement with Pinocchio and MuJoCo, and reasons that were tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from numeric import tied_gripper, with_rotors
from recursa.cli import compare as verb
from recursa.cli.commands import recursa
from recursa.interop import comparing
from recursa.interop.comparing import compare
from recursa.interop.offers import OFFERS
from recursa.interop.peer import Suspect
from recursa.interop.pinocchio import InPinocchio

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

PEERS = {"pin": "pinocchio", "mujoco": "mujoco"}
BOXED = """<robot name="boxed">
  <link name="base"><inertial><mass value="3"/><origin xyz="0 0 0.2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><mass value="2"/><origin xyz="0.1 0 0.3"/>
    <inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <link name="box"><collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>
  <link name="hand"><inertial><mass value="1"/><origin xyz="0.1 0.2 0"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slew" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-2" upper="2" effort="9" velocity="9"/>
    <dynamics damping="0.7" friction="0.4" armature="0.2"/></joint>
  <joint name="wrist" type="prismatic"><parent link="arm"/><child link="hand"/><origin xyz="0 0.1 0.5" rpy="0.3 0 1"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="box"/><origin xyz="0 0 1"/></joint>
</robot>
"""


@pytest.fixture
def boxed(tmp_path: Path) -> str:
    path = tmp_path / "boxed.urdf"
    path.write_text(BOXED)
    return str(path)


def ask(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(recursa, ["compare", *arguments, "--states", "2", "--json"], catch_exceptions=False)
    return result.exit_code, json.loads(result.output)


def reasons(data: dict[str, Any]) -> dict[str, list[str] | None]:
    return {one["quantity"]: one["reasons"] for one in data["differences"] if not one["agrees"]}


def test_one_joint_agrees_with_pinocchio() -> None:
    """It hands out matrices with one column as vectors."""
    robot = rc.robots.planar(1)
    assert compare(robot, InPinocchio(robot)).agrees


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("robot", ["stanford", "panda_like", "tree", "free_flyer"])
def test_bundled_robots_agree(robot: str, peer: str) -> None:
    code, data = ask(robot, "--with", peer)
    assert (code, data["agrees"], reasons(data)) == (0, True, {})
    asked = {one["quantity"] for one in data["differences"]}
    assert asked >= {"inverse_dynamics", "forward_dynamics", "jacobians"}
    offered = {
        name for name, offers in OFFERS.items() if PEERS[peer] in offers and offers[PEERS[peer]].axes is not None
    }
    assert {name.removesuffix("s") for name in asked} == {name.removesuffix("s") for name in offered}
    assert all(one["largest"] < 1e-9 * max(1.0, one["size"]) for one in data["differences"])


def test_kinetic_energy_without_rotors_is_found_in_pinocchio() -> None:
    code, data = ask("puma560", "--with", "pin")
    assert (code, reasons(data)) == (1, {"kinetic_energy": ["rotor energy"]})


def test_armature_that_pinocchio_does_not_read_is_found(boxed: str) -> None:
    code, data = ask(boxed, "--with", "pin")
    assert code == 1
    assert data["how"].startswith("read '")
    found = reasons(data)
    assert found.pop("kinetic_energy") == ["armature", "rotor energy"]  # the axis is a general one
    terms = ("mass_matrix", "mass_matrix_inverse", "inverse_dynamics", "forward_dynamics")
    derivatives = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
    assert found == {key: ["armature"] for key in (*terms, *derivatives)}


def test_everything_that_mujoco_does_otherwise_is_found(boxed: str) -> None:
    """It makes up the box's mass, leaves out armature, counts the base, and has damping and friction in its terms."""
    code, data = ask(boxed, "--with", "mujoco")
    found = reasons(data)
    assert code == 1
    assert set(data["reasons"]) == {"armature", "losses", "fixed mass", "missing inertias"}
    assert found["inverse_dynamics"] == ["armature", "losses", "missing inertias"]
    assert found["mass_matrix"] == ["armature", "missing inertias"]
    assert found["gravity_forces"] == ["missing inertias"]
    assert found["center_of_mass"] == found["potential_energy"] == ["fixed mass", "missing inertias"]
    assert "poses" not in found
    assert "'arm' (8 kg)" in next(one["what"] for one in data["suspects"] if one["name"] == "missing inertias")


@pytest.mark.parametrize("peer", PEERS)
def test_gravity_of_another_direction_is_found(peer: str) -> None:
    """URDF files have none; the planar robot's points along -y."""
    robot = rc.robots.panda_like().with_gravity((1.0, -9.0, 0.5))
    found = compare(robot, verb.peer_of(robot, peer, "urdf")[0], states=2)
    differing = {one.quantity: one.reasons for one in found.differences if not one.agrees}
    quantities = ["gravity_forces", "bias_forces", "inverse_dynamics", "forward_dynamics", "potential_energy"]
    if peer == "pin":  # which offers derivatives
        quantities += ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"]
    assert differing.keys() == set(quantities)
    for quantity in quantities:
        assert "gravity" in differing[quantity]


def test_altered_inertia_is_found_in_mujoco(tmp_path: Path) -> None:
    path = tmp_path / "sick.urdf"
    path.write_text(BOXED.replace('izz="0.02"', 'izz="0.09"'))  # more than the other two together
    _, data = ask(str(path), "--with", "mujoco")
    assert "was let alter its inertias" in data["how"]
    assert "'hand' (1 kg, there 1 kg)" in next(one["what"] for one in data["suspects"] if one["name"] == "inertias")
    assert "inertias" in (reasons(data)["mass_matrix"] or ())
    assert None not in reasons(data).values()


@pytest.mark.parametrize("peer", PEERS)
def test_tied_joints_are_folded(peer: str) -> None:
    robot = tied_gripper()
    found = compare(robot, verb.peer_of(robot, peer, "model")[0], states=2)
    left = {one.quantity: one.reasons for one in found.differences if not one.agrees}
    assert set(left) <= {"kinetic_energy"}  # Pinocchio's, without rotors
    assert all(reason == ("rotor energy",) for reason in left.values())
    assert "T' tau_free" in found.notes[0]


def test_conversions_are_worth_something(boxed: str) -> None:
    """What would be off if quaternions, base speeds or the order of joints were taken as they are."""
    _, data = ask(boxed, "--floating", "--with", "mujoco", "--through", "model")
    worth = {one["name"]: one["torque_error_if_forgotten"] for one in data["conversions"]}
    assert worth.keys() == {"quaternion order", "base velocity"}
    assert min(worth.values()) > 0.1
    _, data = ask("free_flyer", "--with", "pin")
    assert data["conversions"][0]["torque_error_if_forgotten"] > 1.0


def test_difference_that_nothing_explains_is_called_that() -> None:
    """A peer of another robot, which says that its models are the same."""
    arm = rc.robots.panda_like()
    peer, _ = verb.peer_of(with_rotors(arm), "mujoco", "model")
    peer.suspects = lambda: [Suspect("gravity", "nothing", "nothing")]  # type: ignore[method-assign]
    found = compare(arm, peer, states=1)
    assert not found.agrees
    assert {one.quantity for one in found.unexplained} >= {"mass_matrix", "inverse_dynamics"}
    assert found.reasons == []


def test_reasons_are_those_that_cannot_be_spared() -> None:
    needed = frozenset("bd")
    assert comparing._reasons(list("abcd"), lambda repairs: needed <= repairs) == ("b", "d")
    assert comparing._reasons(list("abcd"), lambda repairs: False) is None
    assert comparing._reasons([], lambda repairs: True) is None


def test_table_names_quantity_place_unit_and_reason(boxed: str) -> None:
    result = CliRunner().invoke(recursa, ["compare", boxed, "--with", "pin", "--states", "1"], catch_exceptions=False)
    assert result.exit_code == 1
    assert "slew, slew" in result.output
    for words in ("kg m^2", "rad/s^2", "armature: rotor inertias are not read", "some terms differ", "read '"):
        assert words in result.output


def test_missing_peer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "find_spec", lambda name: None)
    with pytest.raises(rc.RecursaError, match="pinocchio is not installed: pip install pin"):
        verb.peer_of(rc.robots.planar(), "pin", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<robot name="still"><link name="base"/></robot>', "nothing to compare"),
        (BOXED.replace('value="2"', 'value="nan"'), "not finite"),
    ],
)
def test_robots_without_an_answer_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.urdf"
    path.write_text(text)
    for peer in PEERS:
        result = CliRunner().invoke(recursa, ["compare", str(path), "--with", peer, "--through", "model"])
        assert isinstance(result.exception, rc.RecursaError)
        assert message in str(result.exception)


def test_joint_without_inertia_is_told_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "light.urdf"
    light = (
        '<link name="tip"/><joint name="j" type="continuous"><parent link="hand"/><child link="tip"/></joint></robot>'
    )
    path.write_text(BOXED.replace("</robot>", light))
    _, data = ask(str(path), "--with", "pin")
    assert "forward_dynamics" not in {one["quantity"] for one in data["differences"]}
    assert any("'j'" in note for note in data["notes"])
    assert all(np.isfinite(one["largest"]) for one in data["differences"])
