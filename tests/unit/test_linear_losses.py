"""Linear models with losses: damping in them, friction where joints slide; the library and ``recursa linearize``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from numeric import close, tied_gripper
from recursa.cli.commands import recursa
from zoo import mixed_tree

STEP = 1e-6
DIFFERENCES = 2e-6  # what central differences with that step are good for


def lossy(robot: rc.Robot, **options: str) -> rc.Robot:
    return rc.load(
        robot.to_urdf(extensions=True).replace("</joint>", '<dynamics damping="0.3" friction="0.2"/></joint>'),
        **options,
    )


ROBOTS = {
    "puma560": rc.robots.puma560,
    "stanford": lambda: lossy(rc.robots.stanford()),
    "mixed_tree": lambda: lossy(mixed_tree()),
    "tied_gripper": lambda: lossy(tied_gripper(), mimic="tie"),
}


def sliding(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state in which no joint is near rest."""
    (q, v), tau = robot.random_state(3), robot.random_state(4)[1]
    return q, v + np.where(v < 0.0, -0.3, 0.3), tau


def slope(f, robot: rc.Robot) -> np.ndarray:
    """Central differences of f along every freedom."""
    rows = [(f(+STEP * unit) - f(-STEP * unit)) / (2.0 * STEP) for unit in np.eye(robot.nv)]
    return np.array(rows).T


@pytest.fixture(params=ROBOTS)
def robot(request):
    made = ROBOTS[request.param]()
    assert np.abs(made.joint_losses(np.ones(made.nv))).max() > 0.01
    return made


def test_state_space_matches_differences_of_forward_dynamics(robot):
    q, v, tau = sliding(robot)
    A, B = robot.state_space(q, v, tau, losses=True)
    n = robot.nv

    def ask(q, v, tau):
        return robot.forward_dynamics(q, v, tau, losses=True)

    close(A[n:, :n], slope(lambda d: ask(robot.integrate(q, d), v, tau), robot), DIFFERENCES)
    close(A[n:, n:], slope(lambda d: ask(q, v + d, tau), robot), DIFFERENCES)
    close(B[n:], slope(lambda d: ask(q, v, tau + d), robot), DIFFERENCES)
    without = robot.state_space(q, v, tau).A
    assert np.array_equal(A[:n], without[:n])
    assert np.abs(A[n:] - without[n:]).max() > 1e-3
    batch = robot.state_space(np.stack([q, q]), v, np.stack([tau, tau]), losses=True)
    assert np.allclose(batch.A, A) and np.allclose(batch.B, B)


def test_linearize_matches_differences_of_inverse_dynamics(robot):
    q, v, a = sliding(robot)
    model = robot.linearize(q, v, a, losses=True)
    wanted = slope(lambda d: robot.inverse_dynamics(q, v + d, a, losses=True), robot)
    close(model.damping, wanted, DIFFERENCES)
    plain = robot.linearize(q, v, a)
    assert np.array_equal(model.stiffness, plain.stiffness) and np.array_equal(model.mass, plain.mass)
    assert np.array_equal(
        model.damping - np.diag(np.diag(model.damping)), plain.damping - np.diag(np.diag(plain.damping))
    )
    out = np.empty((3, robot.nv, robot.nv))
    assert np.array_equal(robot.linearize(q, v, a, losses=True, out=out).damping, model.damping)
    assert np.array_equal(out[1], model.damping)
    dq, dv, da = np.random.default_rng(0).normal(size=(3, robot.nv))
    for given in ({}, {"out": np.empty(robot.nv)}):
        change = robot.linearize(q, v, a, direction=(dq, dv, da), losses=True, **given)
        assert np.allclose(change, model.mass @ da + model.damping @ dv + model.stiffness @ dq)
    single = robot.linearize(*(x.astype(np.float32) for x in (q, v, a)), losses=True)
    assert single.damping.dtype == np.float32 and np.allclose(single.damping, model.damping, rtol=1e-3, atol=1e-3)


def test_methods_and_link_coordinates_follow():
    robot = rc.robots.puma560()
    q, v, a = sliding(robot)
    tip, damping = robot.link_names[-1], [joint.damping[0] for joint in robot.model.joints]
    ours = robot.linearize(q, v, a, losses=True)
    book = robot.linearize(q, v, a, losses=True, method="balafoutis-patel")
    assert all(np.allclose(x, y) for x, y in zip(ours, book, strict=True))
    more, plain = (rc.cartesian.linearize(robot, tip, q, v, a, losses=on) for on in (True, False))
    inverse = np.linalg.inv(robot.jacobian(q, tip, frame="mixed"))
    assert np.allclose(more.damping - plain.damping, np.diag(damping) @ inverse)
    assert np.array_equal(more.mass, plain.mass) and not np.allclose(more.stiffness, plain.stiffness)


def test_friction_at_rest_is_left_out_and_batches_that_do_not_fit_are_named():
    robot = lossy(rc.robots.planar(2))
    q, rest = [0.3, 0.4], [0.0, 0.0]
    n, damping = robot.nv, 0.3 * np.eye(2)
    A, B = robot.state_space(q, rest, rest, losses=True)
    assert np.allclose(A[n:, n:], robot.state_space(q, rest, rest).A[n:, n:] - B[n:] @ damping)
    with pytest.raises(rc.ShapeError, match=r"do not fit together: tau \(3, 2\), v \(2, 2\)"):
        robot.state_space(q, np.zeros((2, 2)), np.zeros((3, 2)), losses=True)


# ---- recursa linearize -----------------------------------------------------------------------------------------------


def run(robot: str, state: dict, *options: str) -> str:
    arguments = ["linearize", robot, "--state", "-", *options]
    return CliRunner().invoke(recursa, arguments, catch_exceptions=False, input=json.dumps(state)).output


def test_the_command_takes_losses():
    robot = rc.robots.puma560()
    q, v, tau = sliding(robot)
    state = {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist()}
    found = json.loads(run("puma560", state, "--state-space", "--cartesian", "link6", "--losses", "--json"))
    a = robot.forward_dynamics(q, v, tau, losses=True)
    assert found["losses"] is True and np.allclose(found["a"], a)
    assert np.allclose(found["A"], robot.state_space(q, v, tau, losses=True).A)
    assert np.allclose(found["damping"], robot.linearize(q, v, a, losses=True).damping)
    wanted = rc.cartesian.linearize(robot, "link6", q, v, a, losses=True).damping
    assert np.allclose(found["cartesian_damping"], wanted, rtol=1e-6)
    assert json.loads(run("puma560", state, "--json"))["losses"] is False
    assert "damping is part of it" in run("puma560", state, "--losses")
    assert "losses are not part of it" in run("puma560", state)
    given = {"q": q.tolist(), "v": v.tolist(), "a": a.tolist()}
    assert np.allclose(json.loads(run("puma560", given, "--losses", "--json"))["tau"], tau)


def test_real_poles_have_a_time_constant_and_no_frequency(tmp_path):
    pendulum = tmp_path / "pendulum.urdf"
    pendulum.write_text(lossy(rc.robots.planar(1)).to_urdf().replace('axis xyz="0.0 0.0 1.0"', 'axis xyz="0 1 0"'))

    def rows(q: float, *options: str) -> list[list[str]]:
        lines = run(str(pendulum), {"q": [q]}, "--state-space", *options).splitlines()
        cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
        return [row for row in cells if len(row) == 5 and row[-1].startswith(("grows", "decays", "stays"))]

    hanging, upright, rate = np.pi / 2, -np.pi / 2, np.sqrt(1.5 * 9.81 / 0.3)
    swinging = rows(hanging)
    assert [row[2:] for row in swinging] == [[f"{rate / (2 * np.pi):.5g}", "", "stays, swings"]] * 2
    falling = rows(upright)
    assert [row[2:] for row in falling] == [["", f"{1 / rate:.5g}", kind] for kind in ("grows", "decays")]
    damped = rows(hanging, "--losses")  # overdamped: 0.3 N m s/rad on 0.015 kg m^2
    assert [row[2] for row in damped] == ["", ""] and all(row[3] and row[4] == "decays" for row in damped)
