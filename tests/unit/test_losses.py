"""Losses: friction that differs by direction, in files and in motion; damping and friction one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from calling import straight_in
from numeric import close, tied_gripper
from recursa.cli.commands import recursa
from recursa.formats.recursa_json import write_recursa
from recursa.loading import trusted
from recursa.model.joints import KINDS
from recursa.model.rebase import turned
from zoo import small_mixed_tree

CHOICES = (True, "damping", "friction")


def lossy(robot: rc.Robot) -> rc.Robot:
    """Damping everywhere, and friction that differs by direction at every second freedom."""
    joints = []
    for k, joint in enumerate(robot.model.description.joints):
        nv = KINDS[joint.kind].nv if joint.kind in KINDS else 0
        friction = tuple((0.1 * (k + 1), 0.25 + i) if (k + i) % 2 else 0.3 for i in range(nv))
        joints.append(replace(joint, damping=(0.05 * (k + 1),) * nv, friction=friction))
    return trusted(replace(robot.model.description, joints=tuple(joints)), mimic=robot.model.mimic)


def by_hand(robot: rc.Robot, v: np.ndarray, which: object) -> np.ndarray:
    lost = []
    for joint in robot.model.joints:
        for i, (d, f) in enumerate(zip(joint.damping, joint.friction, strict=True)):
            x = v[joint.v_start + i]
            forward, backward = f if isinstance(f, tuple) else (f, f)
            rub = forward if x > 0 else -backward if x < 0 else 0.0
            lost.append(d * x * (which != "friction") + rub * (which != "damping"))
    return np.array(lost)


@pytest.mark.parametrize("which", CHOICES)
def test_joint_losses_are_those_of_each_direction(which: object) -> None:
    robot = lossy(small_mixed_tree())
    _, v = robot.random_state(2)
    v[1] = 0.0
    close(robot.joint_losses(v, losses=which), by_hand(robot, v, which), 1e-15)
    close(robot.joint_losses(np.stack([v, -v]), losses=which)[1], by_hand(robot, -v, which), 1e-15)


@pytest.mark.parametrize("which", CHOICES)
def test_inverse_and_forward_dynamics_have_the_same_losses(which: object) -> None:
    robot = lossy(small_mixed_tree())
    (q, v), (_, a) = robot.random_state(2), robot.random_state(3)
    lost = by_hand(robot, v, which)
    tau = robot.inverse_dynamics(q, v, a, losses=which)
    close(tau, robot.inverse_dynamics(q, v, a) + lost, 1e-12)
    for method in ("articulated", "composite", "diagonal", "four-sweep"):
        close(robot.forward_dynamics(q, v, tau, losses=which, method=method), a, 1e-9)
    nu = robot.diagonal.total_rates(q, v)
    rates = robot.diagonal.rates(q, nu, tau, losses=which)
    close(rates[-1], robot.diagonal.rates(q, nu, tau - lost)[-1], 1e-9)


@pytest.mark.parametrize("which", ["damping", "friction"])
def test_linear_models_have_the_damping_that_counts(which: str) -> None:
    robot = lossy(small_mixed_tree())
    (q, v), (_, a) = robot.random_state(2), robot.random_state(3)
    both, none, one = (robot.linearize(q, v, a, losses=x).damping for x in (True, False, which))
    np.testing.assert_array_equal(one, both if which == "damping" else none)
    A, B = robot.state_space(q, v, a, losses=which)
    plain = robot.state_space(q, v, a - by_hand(robot, v, which))
    n, damping = robot.nv, np.concatenate([joint.damping for joint in robot.model.joints])
    close(A[n:, n:], plain.A[n:, n:] - (which == "damping") * B[n:] * damping, 1e-10)


@pytest.mark.compiled
def test_single_calls_with_one_kind_of_losses_go_straight_in() -> None:
    robot = lossy(rc.robots.planar(2))
    q, v = robot.random_state(0)
    calls = (
        lambda: robot.inverse_dynamics(q, v, v, losses="damping"),
        lambda: robot.forward_dynamics(q, v, v, losses="friction"),
        lambda: robot.joint_losses(v, losses="friction"),
    )
    for call in calls:
        call()
        with straight_in():
            call()


def test_unknown_losses_are_refused() -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match="no kind of losses 'drag'"):
        robot.inverse_dynamics([0, 0], [0, 0], [0, 0], losses="drag")
    with pytest.raises(rc.UnknownNameError, match="no kind of losses 'False'"):
        robot.joint_losses([0, 0], losses=False)
    with pytest.raises(rc.UnknownNameError, match="no kind of losses 'drag'"):
        robot.simulate([0, 0], duration=0.1, losses="drag")


# ---- motion ----------------------------------------------------------------------------------------------------------


def slider(friction: object = (2.0, 1.0), damping: float = 0.0) -> rc.Robot:
    b = rc.Builder("slider").link("block", mass=1.0, inertia=(1, 1, 1))
    b.joint("rail", "prismatic", parent="world", child="block", axis=(1, 0, 0), friction=friction, damping=damping)
    return b.build()


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "semi-implicit"])
@pytest.mark.parametrize(("force", "acceleration"), [(1.9, 0.0), (2.5, 0.5), (-0.9, 0.0), (-1.5, -0.5)])
def test_a_block_sticks_between_the_frictions_of_both_directions(
    force: float, acceleration: float, integrator: str
) -> None:
    run = slider().simulate([0.0], duration=1.0, torque=[force], integrator=integrator, samples=3)
    close(run.v[-1], [acceleration], 2e-3 if integrator == "semi-implicit" else 1e-9)
    assert acceleration != 0.0 or run.q[-1, 0] == 0.0


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_sliding_block_comes_to_rest_when_its_friction_has_taken_its_energy(speed: float) -> None:
    run = slider().simulate([0.0], [speed], duration=2.0)
    size = 2.0 if speed > 0 else 1.0
    close(run.q[-1], [speed * abs(speed) / (2.0 * size)], 1e-9)
    assert run.v[-1, 0] == 0.0
    close(run.lost[-1], 0.5, 1e-9)


@pytest.mark.parametrize("which", [False, *CHOICES])
def test_rollouts_and_runs_lose_the_same(which: object) -> None:
    robot = slider(damping=0.7)
    q, v = rc.rollout(robot, [[0.0]], [[3.0]], None, 1e-3, 200, losses=which)
    run = robot.simulate([0.0], [3.0], duration=0.2, losses=which)
    close(v[0, -1], run.v[-1], 1e-9)
    close(q[0, -1], run.q[-1], 1e-9)


def test_a_tied_joint_that_moves_backward_rubs_with_its_other_friction() -> None:
    b = rc.Builder("grip").link("left", mass=1.0, inertia=(1, 1, 1)).link("right", mass=1.0, inertia=(1, 1, 1))
    b.joint("l", "prismatic", parent="world", child="left", axis=(1, 0, 0))
    b.joint("r", "prismatic", parent="world", child="right", axis=(1, 0, 0), friction=(1.0, 3.0), mimic=("l", -2.0))
    robot = b.build(mimic="tie")
    assert robot.joint_losses([1.0]).tolist() == [6.0]
    assert robot.joint_losses([-1.0]).tolist() == [-2.0]
    run = robot.simulate([0.0], [5.0], duration=0.1)  # of mass 1 + 4
    close(run.v[-1], [5.0 - 0.1 * 6.0 / 5.0], 1e-9)
    assert np.isfinite(tied_gripper().joint_losses(np.ones(tied_gripper().nv))).all()


# ---- files -----------------------------------------------------------------------------------------------------------


def test_directed_friction_comes_back_from_every_file(tmp_path: Path) -> None:
    robot = lossy(small_mixed_tree())
    frictions = [joint.friction for joint in robot.model.joints]
    assert rc.load(write_recursa(robot.model)) == robot
    assert [joint.friction for joint in rc.load(robot.to_urdf(extensions=True)).model.joints] == frictions
    puma = rc.robots.puma560(directed_friction=True)
    published = [joint.friction for joint in puma.model.joints]
    assert published[0][0] == (62.6111 * 0.395, 62.6111 * 0.435)
    for suffix in (".csv", ".json"):
        table = puma.to_dh("standard").save(tmp_path / f"puma.dh{suffix}")
        assert [joint.friction for joint in rc.load(table).model.joints] == published
    mean = rc.robots.puma560()
    ones = np.ones(6)
    close(puma.joint_losses(ones) - puma.joint_losses(-ones), mean.joint_losses(ones) - mean.joint_losses(-ones), 1e-14)
    shown = CliRunner().invoke(recursa, ["info", str(tmp_path / "puma.dh.csv")])
    assert "24.7/27.2" in shown.output


def test_friction_turns_round_with_a_joint_of_several_freedoms_only() -> None:
    b = rc.Builder("two").link("a", mass=1, inertia=(1, 1, 1)).link("b", mass=1, inertia=(1, 1, 1))
    b.joint("slide", "translation", parent="a", child="b", friction=[(1, 2), 3, (4, 5)], damping=(1, 2, 3))
    b.joint("hinge", "revolute", parent="world", child="a", friction=(1, 2))
    hinge, slide = b.description().joints[1], b.description().joints[0]
    assert turned(slide).friction == ((2.0, 1.0), 3.0, (5.0, 4.0))
    assert turned(hinge).friction == ((1.0, 2.0),)


def test_doctor_and_messages_know_pairs() -> None:
    with pytest.raises(rc.ModelError, match="friction contains nan"):
        slider((1.0, np.nan))
    with pytest.warns(rc.ModelWarning, match="its friction is -0.5, which would add energy"):
        slider((1.0, -0.5))
    with pytest.raises(rc.ModelError, match="friction must be a number, or a pair for both directions, not"):
        slider((1.0, 2.0, 3.0))
    with pytest.raises(rc.ModelError, match="friction must be finite"):
        slider().with_joint("rail", friction=(1.0, np.inf))
    assert slider().with_joint("rail", friction=(0.5, 0.7)).model.joints[0].friction == ((0.5, 0.7),)


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "which"), [("--damping-only", "damping"), ("--friction-only", "friction")])
def test_options_of_the_command_line_choose_one_kind_of_losses(tmp_path: Path, option: str, which: str) -> None:
    out = tmp_path / "torque.csv"
    arguments = ["inverse", "puma560", "--to", "joint2=0.8", "--samples", "5", option, "-o", str(out)]
    done = CliRunner().invoke(recursa, arguments)
    assert done.exit_code == 0, done.output
    assert out.read_text().startswith(f"# losses: {which}")
    run = tmp_path / "run.npz"
    done = CliRunner().invoke(
        recursa, ["simulate", "puma560", "--duration", "0.01", "--torque", str(out), "-o", str(run)]
    )
    assert done.exit_code == 0, done.output
    assert rc.read(run).options.losses == which
    assert which in done.output
