"""MJCF as we read it against MuJoCo's own model of the same text; and our MJCF of a robot against the robot."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from mjcf_texts import CONSTRAINED, TEXTS
from numeric import close, states
from recursa.formats.source import Assets, Source
from zoo import ZOO

mujoco = pytest.importorskip("mujoco")

from mujoco_model import InMujoco  # noqa: E402
from recursa.interop.comparing import compare  # noqa: E402
from recursa.interop.mujoco import unconstrained  # noqa: E402

pytestmark = pytest.mark.interpreted(reason="many small robots, each with code of its own")

EXACT = 1e-9
NOT_HERE = {"losses", "springs", "tendons", "gravity compensation", "fluid", "fixed mass"}


def loaded(text: str, **options: object) -> rc.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return rc.load(text, **options)  # type: ignore[arg-type]


def peer_of(robot: rc.Robot, text: str) -> InMujoco:
    """MuJoCo's own model of a text, without what we do not model."""
    peer = InMujoco(robot, mjcf=Source(text, None, Assets()))
    suspects = {suspect.name for suspect in peer.suspects()}
    assert suspects <= NOT_HERE, suspects
    return peer.repaired(suspects)


@pytest.mark.parametrize("name", [*TEXTS, "constrained"])
def test_mjcf_matches_mujoco(name: str) -> None:
    """Poses and Jacobians of all bodies and sites, mass matrix, forces, accelerations, energies."""
    text = TEXTS.get(name, CONSTRAINED)
    robot = loaded(text)
    found = compare(robot, peer_of(robot, text), states=2, tolerance=EXACT)
    assert found.agrees, found.differences
    assert {"poses", "jacobians", "mass_matrix", "bias_forces", "inverse_dynamics", "forward_dynamics"} <= {
        one.quantity for one in found.differences
    }


def test_comparison_can_fail() -> None:
    text = TEXTS["many_joints"]
    robot = loaded(text.replace('density="700"', 'density="701"'))
    assert not compare(robot, peer_of_other(robot, text), states=1, tolerance=EXACT).agrees


def peer_of_other(robot: rc.Robot, text: str) -> InMujoco:
    return InMujoco(robot, mjcf=Source(text, None, Assets())).repaired(NOT_HERE)


@pytest.mark.parametrize("name", [*TEXTS, "constrained"])
def test_written_mjcf_is_read_back_to_the_same_robot(name: str) -> None:
    robot = loaded(TEXTS.get(name, CONSTRAINED))
    text = robot.to_mjcf()
    again = loaded(text)
    same_robot(robot, again)
    assert again.to_mjcf() == text or loaded(again.to_mjcf()).link_names == again.link_names
    peer_of(again, text)


def same_robot(robot: rc.Robot, again: rc.Robot) -> None:
    """The same names, dynamics and everything beside the tree."""
    assert again.joint_names == robot.joint_names
    assert set(robot.link_names) <= set(again.link_names)
    q, v, a = states(robot, 2, 1)
    close(again.mass_matrix(q), robot.mass_matrix(q), EXACT, "mass matrix")
    close(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), EXACT, "inverse dynamics")
    for link in robot.link_names:
        close(again.pose(q, link), robot.pose(q, link), EXACT, f"pose of {link}")
    losses = robot.inverse_dynamics(q, v, a, losses=True)
    close(again.inverse_dynamics(q, v, a, losses=True), losses, EXACT, "losses")
    assert np.allclose(again.position_limits, robot.position_limits, EXACT)
    assert np.allclose(again.effort_limits, robot.effort_limits, EXACT)
    for state in robot.state_names:
        for one, other in zip(again.state(state), robot.state(state), strict=True):
            close(one, other, EXACT, state)
    ours, theirs = robot.model.description, again.model.description
    for what in ("closures", "relations", "actuators"):
        assert [one.name for one in getattr(theirs, what)] == [one.name for one in getattr(ours, what)]
    for one, other in zip(theirs.closures, ours.closures, strict=True):
        assert (one.kind, one.first, one.second) == (other.kind, other.first, other.second)
        close(np.array(one.placement.rows()), np.array(other.placement.rows()), EXACT, one.name)
        close(np.array(one.placement_on_second.rows()), np.array(other.placement_on_second.rows()), EXACT, one.name)
    for one, other in zip(theirs.relations, ours.relations, strict=True):
        assert (one.joint, one.other) == (other.joint, other.other)
        close(np.array(one.polynomial), np.array(other.polynomial), EXACT, one.name)
    for one, other in zip(theirs.actuators, ours.actuators, strict=True):
        assert [joint for joint, _ in one.gears] == [joint for joint, _ in other.gears]
        for (_, gear), (_, was) in zip(one.gears, other.gears, strict=True):
            close(np.array(gear), np.array(was), EXACT, one.name)
        assert one.force == other.force


NO_MJCF = {
    "helical": "MuJoCo has no helical",
    "one_of_each": "different armature along each axis",
    "puma560": "link 'link3' .* which MuJoCo refuses: the largest moment exceeds",
}


@pytest.mark.parametrize("name", [name for name in ZOO if name not in NO_MJCF])
def test_mjcf_of_a_robot_has_its_dynamics_in_mujoco(name: str) -> None:
    robot = ZOO[name]()
    if robot.nv > 40:
        pytest.skip("large ones are chains of the same")
    text = robot.to_mjcf()
    peer = InMujoco(robot)
    peer.model = unconstrained(mujoco.MjModel.from_xml_string(text))
    peer.model.dof_damping[:] = peer.model.dof_frictionloss[:] = 0.0
    peer._ready()
    q, v, a = states(robot, 2, 3)
    for k in range(2):
        close(robot.inverse_dynamics(q[k], v[k], a[k]), peer.folded("inverse_dynamics", q[k], v[k], a[k], a[k]), EXACT)


@pytest.mark.parametrize("name", NO_MJCF)
def test_robots_without_words_in_mjcf_are_these(name: str) -> None:
    with pytest.raises(rc.ModelError, match=NO_MJCF[name]):
        ZOO[name]().to_mjcf()


def packaged() -> list[tuple[Path, Path]]:
    """MJCF files that come with installed packages, and the folders of these."""
    from importlib.util import find_spec

    found: list[tuple[Path, Path]] = []
    for package in ("gymnasium", "dm_control", "robosuite"):
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            files = (path for path in Path(folder).rglob("*.xml") if "<mujoco" in path.read_text(errors="replace"))
            found += ((path, Path(folder)) for path in files)
    return sorted(found)


@pytest.mark.slow
@pytest.mark.skipif(not packaged(), reason="gymnasium, dm_control, robosuite: none is installed")
def test_packaged_models_match_mujoco() -> None:
    """Every model that MuJoCo compiles is read, and agrees; those that it refuses are refused."""
    for path, folder in packaged():
        try:
            robot = loaded(path, assets=[folder], strict=False)  # type: ignore[arg-type]
        except rc.ModelError:
            with pytest.raises((ValueError, mujoco.FatalError)):
                mujoco.MjModel.from_xml_path(str(path))
            continue
        if robot.nv:
            peer = InMujoco(robot, mjcf=Source(path.read_bytes(), str(path), Assets([folder]))).repaired(NOT_HERE)
            found = compare(robot, peer, states=1)
            assert found.agrees, (path, found.differences)
