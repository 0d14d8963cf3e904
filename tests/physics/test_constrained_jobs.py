"""Jobs on robots with constraints: timings, checks and controllers drive the motors; what cannot is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from constrained_questions import ON_CONSTRAINTS, Apart, Refuses
from constrained_robots import MOTORS, Dense, agrees, every_robot, robot_of, state_of, tip_of
from questions import QUESTIONS
from recursa.cli.commands import recursa
from recursa.trajectories.csv_files import read_table

# ---- jobs ------------------------------------------------------------------------------------------------------------


@every_robot
def test_motion_starts_with_the_accelerations_of_the_dense_equations(kind: str) -> None:
    robot, (q, v, tau) = robot_of(kind), state_of(kind)
    if kind == "contact":  # which holds wherever it is: a run needs a place
        robot = robot.with_contacts_at(q)
    expected = Dense(robot, q, v).accelerations(tau)
    run = robot.simulate(q, v, duration=1e-3, torque=tau, losses=False, samples=2)
    agrees(run.a[0], expected, "simulate")
    step = 1e-5
    if kind == "massless":
        with pytest.raises(rc.SingularHingeError, match="coupler_joint"):
            rc.rollout(robot, q, v, tau, step=step, steps=1)
        return
    rolled = rc.rollout(robot, q, v, tau, step=step, steps=1, losses=False)
    agrees((np.asarray(rolled.v)[..., -1, :] - v) / step, expected, "rollout", 2e-3)


def _closed(robot: rc.Robot, crank: str, angles: np.ndarray) -> np.ndarray:
    """Configurations that close the loop, for values of one joint."""
    place, q, found = robot.joint_names.index(crank), robot.neutral(), []
    for angle in angles:
        q = q.copy()
        q[place] = angle
        q = robot.assemble(q, fixed=[crank])
        found.append(q)
    return np.array(found)


def test_timings_and_checks_are_about_the_motors_of_a_press() -> None:
    """A crank of 25 N m: as an open tree it would pass with motions that need 169 N m and more."""
    press, motor = rc.robots.slider_crank(), ["crank_joint"]
    path = rc.Path(_closed(press, "crank_joint", np.linspace(0.0, 2.0, 60)))
    limits = {"velocity": 50.0, "effort": {"crank_joint": 25.0}}
    with pytest.raises(rc.StateError, match="actuated="):
        rc.time_optimal(press, path, **limits)
    motion = rc.time_optimal(press, path, actuated=motor, **limits)
    q, v, a = motion.sample(motion.times(400))
    needed = np.array([crank_torque(press, *one) for one in zip(q, v, a, strict=True)])
    assert 24.5 < np.abs(needed).max() < 25.01

    open_tree = rc.time_optimal(press.without_constraints(), path, **limits)
    q, v, a = open_tree.sample(open_tree.times(400))
    assert max(abs(crank_torque(press, *one)) for one in zip(q, v, a, strict=True)) > 150.0
    limited = press.with_joint("crank_joint", effort=25.0, velocity=50.0)
    with pytest.raises(rc.StateError, match="actuated="):
        open_tree.check(limited)
    with pytest.raises(rc.LimitError, match="crank_joint"):
        open_tree.check(limited, actuated=motor)
    assert {one.joint for one in open_tree.violations(limited, actuated=motor)} == {"crank_joint"}
    motion.check(limited, actuated=motor)
    motion.check(limited, effort=False)
    with pytest.raises(rc.StateError, match="actuated="):
        open_tree.scaled_to_limits(limited)
    scaled = open_tree.scaled_to_limits(limited, actuated=motor)
    scaled.check(limited, actuated=motor)
    assert motion.duration < scaled.duration
    smooth = rc.time_optimal(press, path, actuated=motor, jerk=1e6, **limits)
    smooth.check(limited, actuated=motor)
    assert smooth.duration >= motion.duration * (1 - 1e-3)


def crank_torque(robot: rc.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """Of the virtual work of one freedom: ``Z* (M a + h) / Z*[crank]``."""
    dense = Dense(robot, q, v)
    assert dense.Z.shape[1] == 1
    return float(dense.Z[:, 0] @ (dense.M @ a + dense.h) / dense.Z[0, 0])


def test_friction_in_a_loop_is_what_its_motor_has_to_overcome() -> None:
    press = rc.robots.slider_crank().with_joint("piston_joint", friction=20.0, damping=5.0)
    motor = ["crank_joint"]
    path = rc.Path(_closed(press, "crank_joint", np.linspace(0.2, 1.6, 50)))
    motion = rc.time_optimal(press, path, velocity=30.0, effort=25.0, losses=True, actuated=motor)
    q, v, a = motion.sample(motion.times(300)[1:-1])
    tau, _ = press.actuator_torques(q, v, a, actuated=motor, losses=True)
    assert 24.0 < np.abs(tau).max() < 25.05
    for one in range(0, len(q), 60):
        dense = Dense(press, q[one], v[one])
        lost = press.joint_losses(v[one])
        expected = dense.Z[:, 0] @ (dense.M @ a[one] + dense.h + lost) / dense.Z[0, 0]
        assert abs(tau[one, 0] - expected) < 1e-8 * max(1.0, abs(expected))


def test_a_motion_that_breaks_the_loop_has_no_torques() -> None:
    press = rc.robots.slider_crank().with_joint("crank_joint", effort=25.0)
    with pytest.raises(rc.StateError, match="does not obey the revolute loop 'wrist'"):
        rc.Trajectory.cycloid([0, 0, 0], [1, 1, 0.1], 1.0).check(press, actuated=["crank_joint"])


def test_a_motion_that_moves_an_anchored_foot_has_no_torques() -> None:
    """Also where a contact holds at whatever place it is, so that no place shows that it moves."""
    flyer = robot_of("anchored")
    q, motors = flyer.neutral(), flyer.joint_names[1:]
    limits: dict[str, Any] = {"actuated": motors, "velocity": 2.0, "effort": 80.0}

    def along(freedom: str) -> rc.Path:
        step = 0.02 * np.eye(flyer.nv)[flyer.v_names.index(freedom)]
        return rc.Path(np.stack([flyer.integrate(q, k * step) for k in range(9)]), robot=flyer)

    with pytest.raises(rc.StateError, match=r"does not obey the point contact 'foot'.*moves what is held"):
        rc.time_optimal(flyer, along("root.tz"), **limits)
    lifted = rc.Trajectory.cycloid(q, flyer.integrate(q, 0.1 * np.eye(flyer.nv)[5]), 1.0, robot=flyer)
    with pytest.raises(rc.StateError, match="does not obey the point contact 'foot'"):
        lifted.check(flyer.with_joint("joint1", effort=80.0), actuated=motors)
    standing = rc.robots.standing_quadruped()
    posture = standing.neutral()
    for name in standing.q_names:
        posture[standing.q_names.index(name)] += 0.5 * name.endswith("_pitch") - 1.0 * name.endswith("_knee")
    held, height, postures = standing.with_contacts_at(posture), standing.q_names.index("root.z"), []
    for k in range(9):
        posture = posture.copy()
        posture[height] -= 0.008 * (k > 0)
        posture = held.assemble(posture, fixed=["root"])
        postures.append(posture)
    crouching = rc.time_optimal(
        standing, rc.Path(np.stack(postures), robot=standing), velocity=2.0, effort=80.0,
        actuated=standing.joint_names[1:],
    )  # fmt: skip
    q, v, a = crouching.sample(crouching.times(50))
    tau, residual = standing.actuator_torques(q, v, a, actuated=standing.joint_names[1:])
    assert 79.0 < np.abs(tau).max() < 80.01 and np.abs(residual).max() < 1e-9


LAWS: dict[str, Callable[..., rc.control.Law]] = {
    "GravityPD": lambda robot, q, **how: rc.control.GravityPD(robot, q, 50.0, 5.0, **how),
    "ComputedTorque": lambda robot, q, **how: rc.control.ComputedTorque(robot, _still(q), 100.0, **how),
    "OperationalSpace": lambda robot, q, **how: rc.control.OperationalSpace(
        robot, tip_of(robot), robot.pose(q, tip_of(robot)), 100.0, coordinates="position", **how
    ),
    "Impedance": lambda robot, q, **how: rc.control.Impedance(
        robot, tip_of(robot), robot.pose(q, tip_of(robot)), 100.0, 10.0, **how
    ),
    "Admittance": lambda robot, q, **how: rc.control.Admittance(
        robot, tip_of(robot), robot.pose(q, tip_of(robot)), np.zeros(6), 1.0, 100.0, 20.0, 100.0, **how
    ),
    "Adaptive": lambda robot, q: rc.control.Adaptive(robot, _still(q), 1.0, 1.0, 1.0),
    "RateDamping": lambda robot, q: rc.control.RateDamping(robot, 1.0),
    "PoseRegulator": lambda robot, q: rc.control.PoseRegulator(robot, tip_of(robot), robot.pose(q, tip_of(robot))),
    "LinearQuadratic": lambda robot, q: rc.control.LinearQuadratic(robot, _still(q)),
}


def _still(q: np.ndarray) -> rc.Trajectory:
    return rc.Trajectory.constant(q, 1.0)


@pytest.mark.parametrize("kind", ["loop", "relation", "tied", "massless"])
@pytest.mark.parametrize("name", LAWS)
def test_controllers_drive_the_motors_alone_or_refuse(kind: str, name: str) -> None:
    robot, (q, v, _) = robot_of(kind), state_of(kind)
    verdict = ON_CONSTRAINTS[f"control.{name}"]
    if isinstance(verdict, Refuses):
        with pytest.raises(rc.NoSweepError) as refusal:
            LAWS[name](robot, q)
        assert verdict.instead in str(refusal.value) and "without_constraints()" in str(refusal.value)
        return
    with pytest.raises(rc.StateError, match="actuated="):
        LAWS[name](robot, q)
    law = LAWS[name](robot, q, actuated=MOTORS[kind])
    tau = law.torque(0.0, q, v)
    driven = [robot.v_names.index(joint) for joint in MOTORS[kind]]
    assert not np.delete(tau, driven).any() and tau.any()
    every = [joint.name for joint in robot.model.joints if joint.independent]
    anywhere = LAWS[name](robot, q, actuated=every).torque(0.0, q, v)
    dense = Dense(robot, q, v)
    agrees(dense.accelerations(tau), dense.accelerations(anywhere), "the same motion", 1e-7)


@pytest.mark.parametrize("kind", ["loop", "relation", "massless"])
def test_controlled_accelerations_are_those_that_the_law_asks_for(kind: str) -> None:
    robot, (q, v, _) = robot_of(kind), state_of(kind)
    dense = Dense(robot, q, v)
    goal = robot.assemble(robot.integrate(q, np.full(robot.nv, 0.02)))

    follow = rc.control.ComputedTorque(robot, _still(goal), 100.0, losses=False, actuated=MOTORS[kind])
    command = 100.0 * robot.difference(q, goal) - 20.0 * v
    expected = dense.accelerations(dense.M @ command + dense.h)  # the nearest that the constraints allow
    agrees(dense.accelerations(follow.torque(0.0, q, v)), expected, "ComputedTorque", 1e-8)

    link, rows = tip_of(robot), [3] if kind != "loop" else [3, 4]
    pose = robot.pose(goal, link)
    reach = rc.control.OperationalSpace(robot, link, pose, 100.0, coordinates=rows, actuated=MOTORS[kind])
    J = robot.jacobian(q, link, frame="mixed")[rows]
    drift = robot.jacobian_derivative(q, v, link, frame="mixed")[rows] @ v
    way = (pose - robot.pose(q, link))[[row - 3 for row in rows], 3]
    a = dense.accelerations(reach.torque(0.0, q, v))
    agrees(J @ a + drift, 100.0 * way - 20.0 * (J @ v), "OperationalSpace", 1e-5)


def test_springs_and_dampers_bring_a_closed_mechanism_to_rest() -> None:
    robot = rc.robots.five_bar()
    goal = robot.assemble(robot.neutral() + np.array([0.3, 0.0, -0.2, 0.0]), fixed=MOTORS["loop"])
    law = rc.control.GravityPD(robot, goal, 50.0, 5.0, actuated=MOTORS["loop"])
    run = robot.simulate(robot.neutral(), duration=4.0, torque=law)
    assert np.abs(run.q[-1] - goal).max() < 1e-9
    assert not run.tau[:, [1, 3]].any()  # the elbows have no motors
    falling = law.lyapunov(run.q, run.v)
    assert (np.diff(falling) <= 1e-9 * falling[0]).all()
    soft = rc.control.Impedance(
        robot, "tool", robot.pose(goal, "tool"), [0, 0, 0, 400, 400, 0], [0, 0, 0, 40, 40, 0], actuated=MOTORS["loop"]
    )
    run = robot.simulate(robot.neutral(), duration=4.0, torque=soft)
    assert np.abs(robot.pose(run.q[-1], "tool") - robot.pose(goal, "tool"))[:2, 3].max() < 1e-9
    rolled = rc.rollout(
        robot, np.stack([robot.neutral()] * 2), np.zeros((2, 4)), law, step=1e-3, steps=50, losses=False
    )
    run = robot.simulate(robot.neutral(), duration=0.05, torque=law, losses=False)
    agrees(np.asarray(rolled.q)[:, -1], np.stack([run.q[-1]] * 2), "rollout", 1e-6)


def test_motors_that_are_too_few_are_named() -> None:
    robot, (q, v, _) = robot_of("loop"), state_of("loop")
    law = rc.control.GravityPD(robot, robot.neutral(), 50.0, 5.0, actuated=["left_joint"])
    with pytest.raises(rc.StateError, match="motors at 'left_joint', which cannot drive"):
        law.torque(0.0, q, v)
    with pytest.raises(rc.StateError, match="cannot drive"):
        rc.rollout(robot, q, v, law, step=1e-3, steps=2)
    arm = rc.robots.planar(2)
    with pytest.raises(rc.StateError, match="cannot drive"):
        rc.control.GravityPD(arm, [0.1, 0.2], 5.0, 1.0, actuated=["joint1"]).torque(0.0, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(rc.UnknownNameError, match="elbow"):
        rc.control.GravityPD(robot, robot.neutral(), 50.0, 5.0, actuated=["elbow"])


def test_a_standing_robot_is_held_by_its_joints_and_the_ground() -> None:
    """On a free base that stands there is nothing to drive at the base, with or without thrusters."""
    flyer = rc.robots.free_flyer(2).with_gravity((0, 0, -9.81)).with_constraints(rc.Contact("surface", "bus"))
    q, still = flyer.neutral(), np.zeros(flyer.nv)
    law = rc.control.GravityPD(flyer, q, 50.0, 5.0, actuated=["joint1", "joint2"])
    tau = law.torque(0.0, q, still)
    assert not tau[:6].any()
    agrees(Dense(flyer, q, still).accelerations(tau), still, "at rest", 1e-9)


# ---- jobs and passers-on that refuse ---------------------------------------------------------------------------------


def _log(robot: rc.Robot) -> dict[str, np.ndarray]:
    t = np.linspace(0.0, 1.0, 50)
    return {"t": t, "q": np.tile(robot.neutral(), (50, 1)), "tau": np.zeros((50, robot.nv))}


JOBS: dict[str, Callable[[rc.Robot], Any]] = {
    "rc.identify": lambda robot: rc.identify(robot, _log(robot)),
    "rc.excitation": lambda robot: rc.excitation(robot, duration=4.0),
    "rc.workspace": lambda robot: rc.workspace(robot, tip_of(robot), samples=10),
    "rc.MomentumObserver": lambda robot: rc.MomentumObserver(robot, step=1e-3),
    "rc.DifferentialIK": lambda robot: rc.DifferentialIK(robot, 1e-3),
    "rc.analytic_inverse_kinematics": lambda robot: rc.analytic_inverse_kinematics(robot, tip_of(robot), np.eye(4)),
    "rc.dense": lambda robot: rc.dense(rc.parse("inv(mass)", robot), robot.neutral()),
    "robot.condition": lambda robot: robot.condition(robot.neutral(), tip_of(robot)),
    "robot.singular_directions": lambda robot: robot.singular_directions(robot.neutral(), tip_of(robot)),
    "robot.trajectory_sensitivity": lambda robot: robot.trajectory_sensitivity(
        robot.simulate(robot.neutral(), duration=0.01, samples=3), initial=True
    ),
}


def test_jobs_that_would_be_about_the_open_tree_are_refused_by_name() -> None:
    asked = {question.public for question in QUESTIONS.values()}
    jobs = {key for key, verdict in ON_CONSTRAINTS.items() if isinstance(verdict, Refuses)}
    laws = {key for key in jobs if key.startswith("control.")}
    parts = {f"factorization.{matrix}" for matrix in "DGKP"}  # of what robot.factorization refuses
    like_move_joints = {"free.reorient"}
    elsewhere = {key for key in jobs if "(" in key} | laws | parts | like_move_joints
    assert JOBS.keys() == jobs - asked - elsewhere
    robot = rc.robots.four_bar()
    for name, job in JOBS.items():
        verdict: Any = ON_CONSTRAINTS[name]
        with pytest.raises(rc.NoSweepError) as refusal:
            job(robot)
        assert verdict.instead in str(refusal.value) and "without_constraints()" in str(refusal.value), name
    with pytest.raises(rc.NoSweepError, match="no free flyer"):
        rc.free.reaction_null_rates(robot, robot.neutral(), [0.0])
    flyer = robot_of("anchored")
    with pytest.raises(rc.NoSweepError, match=r"without_constraints\(\)"):
        rc.free.reorient(flyer, flyer.neutral(), np.eye(3), duration=1.0)


def test_what_passes_quantities_on_refuses_with_them(tmp_path: Path) -> None:
    robot = rc.robots.four_bar()
    passed = {
        key for key, verdict in ON_CONSTRAINTS.items() if isinstance(verdict, Apart) and "passed on" in verdict.why
    }
    asked: dict[str, Callable[[str], Any]] = {
        "robot.export_c": lambda name: robot.export_c(name, tmp_path / "it.c"),
        "robot.export_js": lambda name: robot.export_js(name, tmp_path / "it.js"),
        "rc.count": lambda name: rc.count(robot, name),
        "rc.study": lambda name: rc.study(robot, {"q": "uniform", "v": 0.0, "a": 0.0}, name, 4).run(),
    }
    if find_spec("sympy"):
        asked["robot.symbolic"] = lambda name: robot.symbolic(name)
    if find_spec("casadi"):
        asked["robot.casadi"] = lambda name: robot.casadi(name)
    if find_spec("jax"):
        asked["robot.jax"] = lambda name: getattr(robot.jax(), name)(*np.zeros((3, robot.nv)))
    if find_spec("torch"):
        asked["robot.torch"] = lambda name: _in_torch(robot, name)
    assert asked.keys() <= passed <= {*asked, "robot.symbolic", "robot.casadi", "robot.jax", "robot.torch"}
    for name, ask in asked.items():
        with pytest.raises(rc.RecursaError, match="actuator_torques"):
            ask("inverse_dynamics")
            pytest.fail(name)
    with pytest.raises(rc.RecursaError, match="actuator_torques cannot be exported"):  # what the refusal names
        robot.export_c("actuator_torques", tmp_path / "it.c")


def _in_torch(robot: rc.Robot, name: str) -> Any:
    import torch

    return getattr(robot.torch(), name)(*torch.zeros((3, robot.nv), dtype=torch.float64))


def test_a_motion_as_torque_names_the_controller() -> None:
    robot = robot_of("loop")
    with pytest.raises(rc.NoSweepError, match=r"ComputedTorque.*actuated"):
        robot.simulate(robot.neutral(), duration=0.1, torque=_still(robot.neutral()))


# ---- the command line ------------------------------------------------------------------------------------------------


def test_the_command_line_drives_the_motors_that_are_named(tmp_path: Path) -> None:
    press, file, torques = rc.robots.slider_crank(), tmp_path / "moves.csv", tmp_path / "torque.csv"
    t = np.linspace(0.0, 1.0, 80)
    closed = _closed(press, "crank_joint", 1.0 - np.cos(np.pi * t))
    rows = "\n".join(",".join(f"{x:.17g}" for x in (when, *q)) for when, q in zip(t, closed, strict=True))
    file.write_text("t," + ",".join(press.q_names) + "\n" + rows + "\n")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(recursa, list(arguments))

    refused = run("inverse", "slider_crank", str(file))
    assert refused.exit_code == 2 and "--actuated NAME" in refused.output
    found = run("inverse", "slider_crank", str(file), "--actuated", "crank_joint", "-o", str(torques))
    assert found.exit_code == 0, found.output
    table = read_table(torques)
    motion = rc.Trajectory.from_csv(file, press)
    expected, _ = press.actuator_torques(*motion.sample(motion.knots), actuated=["crank_joint"], losses=True)
    agrees(table.column("crank_joint"), expected[:, 0], "torques of the crank", 1e-9)
    assert not table.column("piston_joint").any()
    assert run("inverse", "slider_crank", str(file), "--actuated", "crank_joint", "--method", "denoc").exit_code == 2
    refusal = run("linearize", "slider_crank", "--state", str(_state(tmp_path, press))).exception
    assert "robot.state_space(q, v, tau)" in str(refusal)
    explained = run("explain", "--diagonal", "--robot", "slider_crank").exception
    assert "explain --diagonal would answer for the open tree" in str(explained)
    assert "robot.forward_dynamics(q, v, tau)" in str(explained)
    limited = tmp_path / "press.json"
    press.with_joint("crank_joint", effort=25.0, velocity=30.0).save(limited)
    assert "--actuated NAME" in run("time", str(limited), str(file)).output
    timed = run("time", str(limited), str(file), "--actuated", "crank_joint", "--json")
    assert timed.exit_code == 0, timed.output


def _state(folder: Path, robot: rc.Robot) -> Path:
    file = folder / "state.json"
    file.write_text(f'{{"q": {robot.neutral().tolist()}}}')
    return file
