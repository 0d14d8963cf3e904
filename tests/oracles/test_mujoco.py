"""Dynamics against MuJoCo: every URDF of example-robot-data, fixed and floating, random trees, and the zoo."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, with_rotors
from recursa.loading import trusted
from recursa.robots import random_description
from robot_data import relative_name, urdf_files
from zoo import ZOO, large_interpreted, with_soaks

mujoco = pytest.importorskip("mujoco")

from mujoco_model import InMujoco, UnsupportedError  # noqa: E402

FILES = {relative_name(path): path for path in urdf_files() if path.name != "ur3.urdf"}  # that one has no link
STATES = 2
SUPPORTED = ("revolute", "continuous", "prismatic", "spherical", "planar", "free")  # MuJoCo has no screw
LINKS_WITH_JACOBIANS = 5
EXACT = 1e-10
WITHOUT_PEER = {"one_of_each": "rotors of sliding freedoms|helical joints", "helical": "helical joints"}


def compare(robot: rc.Robot, seed: int = 0) -> bool:
    """Everything, at random states; tells whether forward dynamics could be compared."""
    peer = InMujoco(robot)
    q, v, a = states(robot, STATES, seed)
    tau = np.random.default_rng(seed + 1).normal(size=v.shape)
    ours = {
        "mass matrix": (robot.mass_matrix(q), peer.mass_matrix, (q,)),
        "bias": (robot.bias_forces(q, v), peer.bias_forces, (q, v)),
        "inverse dynamics": (robot.inverse_dynamics(q, v, a), peer.inverse_dynamics, (q, v, a)),
        "kinetic energy": (robot.kinetic_energy(q, v), peer.kinetic_energy, (q, v)),
        "potential energy": (robot.potential_energy(q), peer.potential_energy, (q,)),
    }
    if robot.mass > 0.0:
        ours["centre of mass"] = (robot.center_of_mass(q), peer.center_of_mass, (q,))
    for name in np.random.default_rng(seed + 2).permutation(robot.link_names)[:LINKS_WITH_JACOBIANS].tolist():
        jacobian = robot.jacobian(q, name, frame="mixed")
        ours[f"Jacobian of {name}"] = (jacobian, lambda row, name=name: peer.jacobian(row, name), (q,))
    for what, (found, theirs, rows) in ours.items():
        for s in range(STATES):
            close(found[s], theirs(*(x[s] for x in rows)), EXACT, what)
    eigenvalues = np.linalg.eigvalsh(robot.mass_matrix(q))
    if (eigenvalues[:, 0] <= 1e-14 * eigenvalues[:, -1]).any():
        return False
    moved = robot.forward_dynamics(q, v, tau)
    for s in range(STATES):
        tolerance = EXACT + 1e-14 * float(eigenvalues[s, -1] / eigenvalues[s, 0])
        close(moved[s], peer.forward_dynamics(q[s], v[s], tau[s]), tolerance, "forward dynamics")
    return True


# joints without any inertia: tests/oracles/test_dynamics_pinocchio.py asks for the error that names them
NOTHING_TO_MOVE = {"romeo_description/romeo.urdf", "romeo_description/romeo_laas_small.urdf"}


@pytest.mark.interpreted(reason="over a hundred robots, each with code of its own; a dozen: test_compiled_urdfs.py")
@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", FILES)
def test_urdf_matches_mujoco(name: str, floating: bool) -> None:
    robot = rc.load(FILES[name], floating=floating, strict=False)
    if robot.nv == 0:
        assert robot.inverse_dynamics([], [], []).shape == (0,)  # and MuJoCo has nothing to say
        return
    assert compare(robot) == (name not in NOTHING_TO_MOVE)
    compare(with_rotors(robot))


@pytest.mark.parametrize("seed", with_soaks(range(20), range(8)))
def test_random_tree_matches_mujoco(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 15))
    parents = [int(rng.integers(-1, k)) for k in range(count)]
    robot = with_rotors(trusted(random_description(f"tree{seed}", parents, seed, SUPPORTED)))
    assert compare(robot, seed)


@pytest.mark.parametrize("name", large_interpreted(name for name in ZOO if name not in WITHOUT_PEER))
def test_zoo_matches_mujoco(name: str) -> None:
    assert compare(ZOO[name]()) == (name != "floating_tree")  # its base has no mass


@pytest.mark.parametrize("name", WITHOUT_PEER)
def test_robots_without_a_peer_are_these(name: str) -> None:
    """So that leaving out cannot spread."""
    with pytest.raises(UnsupportedError, match=WITHOUT_PEER[name]):
        InMujoco(ZOO[name]())
