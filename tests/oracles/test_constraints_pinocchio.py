"""Constrained forward dynamics and their derivatives against Pinocchio: points and welds, contacts and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.interop import pinocchio as interop
from zoo import flyer

pin = pytest.importorskip("pinocchio")

ROBOTS = {
    "tree": lambda: rc.robots.tree(9, branching=2, seed=4),
    "chain": lambda: rc.robots.chain(8, seed=3),
    "random": lambda seed=0: rc.robots.tree(7 + seed, branching=1 + seed % 3, seed=seed),
    "random flyer": lambda seed=0: random_flyer(seed),
    "flyer": lambda: flyer("flyer", [-1, 0, 0, 1, 1, 2, 3, 5], 21, ["revolute", "prismatic", "spherical"]),
    "quadruped": lambda: flyer("quadruped", [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11], 5, ["revolute"]),
}


def random_flyer(seed: int) -> rc.Robot:
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(0, k)) for k in range(1, 8 + seed))]
    return flyer("random", parents, seed, ["revolute", "prismatic", "spherical"])


KINDS = {"point": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}


def place(robot: rc.Robot, model: Any, link: str, at: np.ndarray, turn: np.ndarray) -> tuple[int, Any]:
    """A frame on a link, as Pinocchio wants it: its joint, and the pose on that."""
    found = robot.model.links[robot.model.link_index(link)]
    offset = pin.SE3(np.array(found.offset.rotation.rows()), np.array(found.offset.translation))
    joint = 0 if found.body < 0 else model.getJointId(robot.model.joints[found.body].name)
    return joint, offset * pin.SE3(turn, at)


def independent(name: str, seed: int) -> tuple[rc.Robot, Any, Any]:
    """Constraints whose equations are independent, which Pinocchio wants."""
    for trial in range(30):
        robot, peer, q = drawn(name, seed, trial)
        if robot.mobility(q).rank == robot.ncon:
            return robot, peer, q
    raise AssertionError("no such constraints")


def drawn(name: str, seed: int, trial: int) -> tuple[rc.Robot, Any, Any]:
    """A robot with a random set of constraints, closed where they are loops, and the same for Pinocchio."""
    rng = np.random.default_rng((seed, trial))
    robot = ROBOTS[name](seed) if name.startswith("random") else ROBOTS[name]()
    model = interop.build(robot)
    links = [link.name for link in robot.model.links if link.body >= 0]
    q, _ = robot.random_state(rng)
    poses = dict(zip(robot.link_names, robot.poses(q), strict=True))
    chosen = rng.permutation(len(links))
    ours, theirs = [], pin.StdVec_RigidConstraintModel()
    for kind in ("point", "weld", "point")[: 1 + (seed + trial) % 3]:
        first, second = (links[k] for k in chosen[:2])
        chosen = chosen[2:]
        at = rng.normal(size=3) * 0.2
        if seed % 2 == 0:  # a contact with the world
            ours.append(rc.Contact("point" if kind == "point" else "surface", first, at=at))
            joint, where = place(robot, model, first, at, np.eye(3))
            theirs.append(pin.RigidConstraintModel(KINDS[kind], model, joint, where, pin.LOCAL_WORLD_ALIGNED))
            continue
        between = np.linalg.inv(poses[second]) @ poses[first] @ np.vstack([np.c_[np.eye(3), at], [0, 0, 0, 1]])
        rpy = pin.rpy.matrixToRpy(between[:3, :3])
        ours.append(rc.Loop(kind, first, second, at=at, at_other=between[:3, 3], rpy_other=rpy))
        joint1, where1 = place(robot, model, first, at, np.eye(3))
        joint2, where2 = place(robot, model, second, between[:3, 3], between[:3, :3])
        theirs.append(pin.RigidConstraintModel(KINDS[kind], model, joint1, where1, joint2, where2, pin.LOCAL))
    return robot.with_constraints(*ours), (model, theirs), q


def moving(robot: rc.Robot, q: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 100)
    return robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


def peers_answer(robot: rc.Robot, peer: Any, state: tuple[np.ndarray, ...], *, derivatives: bool = False) -> Any:
    """Pinocchio's data after its calls."""
    model, constraints = peer
    data, datas = model.createData(), pin.StdVec_RigidConstraintData()
    for one in constraints:
        datas.append(one.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-15, 1e-9, 100)
    q, *speeds = state
    given = interop.configuration(robot, model, q), *(interop.velocity(robot, model, x) for x in speeds)
    pin.constraintDynamics(model, data, *given, constraints, datas, settings)
    if derivatives:
        pin.computeConstraintDynamicsDerivatives(model, data, constraints, datas, settings)
    return data


CASES = [(name, seed) for name in ROBOTS for seed in range(6)]
LONG = {("random flyer", seed) for seed in range(1, 6)}  # seconds to compile


@pytest.mark.parametrize(
    ("name", "seed"),
    [pytest.param(*case, marks=pytest.mark.slow) if case in LONG else case for case in CASES],
)
def test_accelerations_are_those_of_constraint_dynamics(name: str, seed: int) -> None:
    robot, peer, q = independent(name, seed)
    v, tau = moving(robot, q, seed)
    assert np.abs(robot.constraint_error(q)).max() < 1e-12
    expected = peers_answer(robot, peer, (q, v, tau)).ddq
    found = interop.velocity(robot, peer[0], robot.forward_dynamics(q, v, tau))
    condition = np.linalg.cond(robot.constraint_delassus(q))
    assert np.abs(found - expected).max() <= max(1e-9, 1e-15 * condition) * np.abs(expected).max()


def in_our_order(robot: rc.Robot, peer: Any, state: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Pinocchio's three derivatives."""
    data = peers_answer(robot, peer, state, derivatives=True)
    order = np.array([interop.velocity(robot, peer[0], unit) for unit in np.eye(robot.nv)]).T
    return [np.linalg.solve(order, x @ order) for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau)]


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("name", ["tree", "quadruped", pytest.param("flyer", marks=pytest.mark.slow)])
def test_derivatives_with_contacts_are_those_of_pinocchio(name: str, seed: int) -> None:
    robot, peer, q = independent(name, seed)
    state = q, *moving(robot, q, seed)
    condition = np.linalg.cond(robot.constraint_delassus(q))
    for found, expected in zip(
        robot.forward_dynamics_derivatives(*state), in_our_order(robot, peer, state), strict=True
    ):
        assert np.abs(found - expected).max() <= max(1e-9, 1e-14 * condition) * np.abs(expected).max()


@pytest.mark.parametrize("name", ["tree", pytest.param("quadruped", marks=pytest.mark.slow)])
def test_derivatives_with_loops_are_how_pinocchios_accelerations_change(name: str) -> None:
    """Along motions that obey the loop. Pinocchio's own derivatives by q (4.1.0) are others for links of one branch."""
    robot, peer, q = independent(name, 1)
    v, tau = moving(robot, q, 1)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
    theirs = in_our_order(robot, peer, (q, v, tau))
    Z = robot.free_directions(q).basis
    scale = max(float(np.abs(x).max()) for x in (by_q, by_v))
    assert np.abs((by_v - theirs[1]) @ Z).max() <= 1e-9 * scale
    assert np.abs(by_tau - theirs[2]).max() <= 1e-9 * np.abs(by_tau).max()
    h = 1e-5
    order = np.array([interop.velocity(robot, peer[0], unit) for unit in np.eye(robot.nv)]).T
    for direction in Z.T:
        states = [robot.assemble(robot.integrate(q, k * h * direction)) for k in (-1, 1)]
        speeds = [robot.project_velocity(at, v) for at in states]  # which go along with the configuration
        answers = [peers_answer(robot, peer, (*one, tau)).ddq for one in zip(states, speeds, strict=True)]
        expected = np.linalg.solve(order, answers[1] - answers[0]) / (2 * h)
        moved, changed = robot.difference(*states) / (2 * h), (speeds[1] - speeds[0]) / (2 * h)
        assert np.abs(by_q @ moved + by_v @ changed - expected).max() <= 1e-7 * scale
