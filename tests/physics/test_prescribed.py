"""Runs in which some joints or links move as they are told: where they go, what it takes, and the energy."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import recursa as rc

ARM = rc.robots.planar(2)
TOLD = ARM.with_constraints(rc.Prescribed("joint1"))


def swing(t: float) -> tuple[Any, Any, Any]:
    return 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)


STEPS = [("dop853", None), ("radau", None), ("rk4", 1e-3), ("implicit-midpoint", 1e-3), ("semi-implicit", 1e-3)]


@pytest.mark.parametrize(("integrator", "step"), STEPS)
def test_a_joint_moves_as_told_and_its_torque_is_that_of_inverse_dynamics(integrator: str, step: float | None) -> None:
    options: dict[str, Any] = {"integrator": integrator, "step": step, "rtol": 1e-9, "atol": 1e-11}
    run = TOLD.simulate([0.0, 0.4], [0.6, 0.0], duration=0.5, prescribed={"joint1": swing}, **options)
    q, v, a = swing(run.t)
    assert np.abs(run.q[:, 0] - q).max() < 1e-14
    assert np.abs(run.v[:, 0] - v).max() < 1e-14
    assert np.abs(run.a[:, 0] - a).max() < 1e-12
    torques = ARM.inverse_dynamics(run.q, run.v, run.a)
    assert np.abs(run.tau - torques).max() < 1e-12
    assert np.abs(torques[:, 1]).max() < 1e-12
    assert run.energy_drift < {"semi-implicit": 1e-2, "implicit-midpoint": 1e-5}.get(integrator, 1e-7)


def test_the_free_joint_moves_as_if_its_neighbour_was_driven_by_that_torque() -> None:
    options: dict[str, Any] = {"duration": 1.0, "samples": 11}
    run = TOLD.simulate([0.0, 0.4], [0.6, 0.0], prescribed={"joint1": swing}, **options)
    gains = 1e4, 200.0

    def servo(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        """Computed torque along the same motion, with the free joint left alone."""
        where, speed, rate = swing(t)
        asked = rate + gains[0] * (where - q[0]) + gains[1] * (speed - v[0])
        return [float(TOLD.constraint_forces(q, v, [0.0, 0.0], prescribed=[asked])[0]), 0.0]

    by_torque = ARM.simulate([0.0, 0.4], [0.6, 0.0], torque=servo, **options)
    assert np.abs(run.q - by_torque.q).max() < 1e-8


def test_accelerations_alone_and_none() -> None:
    run = TOLD.simulate([0.0, 0.4], [0.6, 0.0], duration=0.5, prescribed={"joint1": 2.0})
    assert abs(run.v[-1, 0] - 1.6) < 1e-12
    assert abs(run.q[-1, 0] - 0.3 - 0.25) < 1e-9
    steady = TOLD.simulate([0.0, 0.4], [0.6, 0.0], duration=0.5)
    assert np.ptp(steady.v[:, 0]) < 1e-12
    assert max(run.energy_drift, steady.energy_drift) < 1e-8


def test_trajectories_of_the_whole_robot_give_their_part() -> None:
    motion = rc.Trajectory.quintic([0.0, 0.4], [0.5, 0.0], 0.5)
    run = TOLD.simulate([0.0, 0.4], duration=0.5, prescribed={"joint1": motion}, samples=5)
    assert np.abs(run.q[:, 0] - [motion.sample(t)[0][0] for t in run.t]).max() < 1e-12


def test_a_crank_that_turns_steadily_drives_its_loop() -> None:
    bar = rc.robots.four_bar()
    driven = bar.with_constraints(rc.Prescribed("crank_joint", name="motor"))
    v0 = bar.project_velocity(bar.neutral(), [2.0, 0.0, 0.0])
    v0 *= 2.0 / v0[0]
    run = driven.simulate(
        bar.neutral(), v0, duration=1.0, prescribed={"motor": lambda t: (np.array([2.0 * t]), 2.0, 0.0)}
    )
    assert np.abs(run.q[:, 0] - 2.0 * run.t).max() < 1e-13
    assert np.abs(bar.constraint_error(run.q)).max() < 1e-13
    assert run.energy_drift < 1e-9
    tau, _ = bar.actuator_torques(run.q, run.v, run.a, actuated=["crank_joint"])
    assert np.abs(run.tau[:, 0] - tau[:, 0]).max() < 1e-9


def test_a_link_is_told_its_acceleration() -> None:
    robot = rc.robots.free_flyer(1)
    link = robot.link_names[-1]
    told = robot.with_constraints(rc.Prescribed(link=link))
    q, v = robot.neutral(), np.zeros(robot.nv)
    run = told.simulate(q, v, duration=0.2, prescribed={link: np.array([0, 0, 0, 0.0, 0.0, 1.5])})
    moved = robot.velocities(run.q[-1], run.v[-1], frame="mixed")[robot.link_names.index(link)]
    assert np.abs(moved - [0, 0, 0, 0, 0, 0.3]).max() < 1e-9
    assert run.energy_drift < 1e-8


def test_runs_with_prescribed_motions_go_on(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "run.part"
    given: dict[str, Any] = {"duration": 0.2, "prescribed": {"joint1": swing}}
    run = TOLD.simulate([0.0, 0.4], [0.6, 0.0], checkpoint=file, checkpoint_every=0, **given)
    assert (rc.resume(file, prescribed={"joint1": swing}).q == run.q).all()
    with pytest.raises(rc.StateError, match="prescribed="):
        rc.resume(file)


WRONG = [
    ([1.0], rc.StateError, "is a dict"),
    ({"joint3": 1.0}, rc.RecursaError, "no prescribed joint or link 'joint3'"),
    ({"joint1": lambda t: np.zeros(2)}, rc.ShapeError, r"got \(2,\)"),
    ({"joint1": lambda t: "x"}, rc.ShapeError, "got str"),
    ({"joint1": lambda t: np.nan}, rc.StateError, "is not finite"),
    ({"joint1": lambda t: (1.0, 0.6, 0.0)}, rc.StateError, r"starts at q = \[1\.\]"),
]


@pytest.mark.parametrize(("given", "kind", "match"), WRONG)
def test_what_makes_no_sense_is_refused(given: Any, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        TOLD.simulate([0.0, 0.4], [0.6, 0.0], duration=0.5, prescribed=given)
    with pytest.raises(rc.StateError, match="has none"):
        ARM.simulate([0.0, 0.4], duration=0.5, prescribed={"joint1": 1.0})
    with pytest.raises(rc.StateError, match="has none"):
        rc.robots.four_bar().simulate(np.zeros(3), duration=0.5, prescribed={"crank_joint": 1.0})
    with pytest.raises(rc.StateError, match="do not go together"):
        TOLD.simulate([0.0, 0.4], duration=0.5, contacts=rc.Touch("link2", height=-5.0))
