"""The diagonalised equations: known numbers, forms against each other, arrays, compiled code, errors."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from recursa.kernels.dispatch import Switch
from zoo import ZOO, floating_tree_with_rotors, known_answer_arm, small_mixed_tree

robot_of = cache(lambda name: ZOO[name]())


def arm_of_the_notes(gravity=(0.0, 0.0, -9.81)) -> rc.Robot:
    """A chain about z, y, x; frames parallel at q = 0."""
    b = rc.Builder("fixture")
    b.link("l1", mass=3.0, com=(0.1, 0.05, 0.2), inertia=(0.06, 0.05, 0.04, 0.01, -0.005, 0.008))
    b.link("l2", mass=2.0, com=(0.25, -0.04, 0.03), inertia=(0.02, 0.05, 0.055, -0.003, 0.002, 0.004))
    b.link("l3", mass=1.0, com=(0.15, 0.1, -0.06), inertia=(0.01, 0.015, 0.012, 0.001, 0.002, -0.001))
    b.joint("j1", "revolute", parent="world", child="l1", axis=(0, 0, 1), xyz=(0, 0, 0.4))
    b.joint("j2", "revolute", parent="l1", child="l2", axis=(0, 1, 0), xyz=(0.1, 0, 0.3))
    b.joint("j3", "revolute", parent="l2", child="l3", axis=(1, 0, 0), xyz=(0.5, 0.05, 0.02))
    return b.build().with_gravity(gravity)


Q, V, T = [0.3, -0.5, 0.7], [0.4, -0.6, 0.9], [1.0, -2.0, 0.5]
KNOWN = {
    "nu": (0.3528682751237, -0.3872518323804, 0.4423305229518),
    "xi": (0.4, -0.6324926696291, 2.8793264538336),
    "eps": (1.0067029123007, -0.6587528619026, 3.2547227745206),
    "kappa": (0.8880838005640, -0.4033299753612, 0.5),
    "C_nu": (-0.1163686170407, 0.1604963248474, 0.2333442611475),
    "C_xi": (-0.1989574280491, 0.0785411475943, 0.0358470255860),
    "D": (0.7782251224299, 0.3748659288870, 0.0236),
    "D_dot": (-0.4815022255748, 0.0623716537453, 0.0),
    "gradient": (0.0, 0.0441233437666, -0.0716940511721),
}
MOVING = {
    0.0: (
        (1.1230715293414, -0.8192491867500, 3.0213785133731),
        (1.3968210448140, -1.2854492388415, 19.6674989158455),
        (1.3968210448140, -0.9425411529546, 17.5233969389323),
    ),
    -9.81: (
        (1.8784572280723, 9.4242504491761, -3.4309572096544),
        (2.2531017047470, 15.4451066664616, -22.3336291373358),
        (2.2531017047470, 15.8575718638310, 29.0351881965435),
    ),
}  # gravity: nu_dot, xi_dot, accelerations
DIGITS = 2e-12


def test_arm_has_the_known_numbers():
    """From a Cholesky factor of a Jacobian-built mass matrix in fifty-digit arithmetic."""
    robot = arm_of_the_notes()
    d, u = robot.diagonal, robot.diagonal.unnormalized
    close(d.total_rates(Q, V), KNOWN["nu"], DIGITS, "nu")
    close(u.total_rates(Q, V), KNOWN["xi"], DIGITS, "xi")
    close(d.working_moments(Q, T), KNOWN["eps"], DIGITS, "eps")
    close(u.working_moments(Q, T), KNOWN["kappa"], DIGITS, "kappa")
    close(d.joint_rates(Q, KNOWN["nu"]), V, DIGITS)
    close(u.joint_rates(Q, KNOWN["xi"]), V, DIGITS)
    close(d.joint_moments(Q, KNOWN["eps"]), T, DIGITS)
    close(u.joint_moments(Q, KNOWN["kappa"]), T, DIGITS)
    for method in ("short", "7.1"):
        close(d.coriolis(Q, KNOWN["nu"], method=method), KNOWN["C_nu"], DIGITS, method)
    for method in ("short", "7.9", "7.10"):
        close(u.coriolis(Q, KNOWN["xi"], method=method), KNOWN["C_xi"], DIGITS, method)
    close(u.inertia(Q), np.diag(KNOWN["D"]), DIGITS)
    close(u.inertia_rate(Q, V), np.diag(KNOWN["D_dot"]), DIGITS)
    close(d.sensitivity(Q, left=V, right=V), KNOWN["gradient"], DIGITS)


@pytest.mark.parametrize("gravity", MOVING)
def test_arm_moves_as_known(gravity):
    robot = arm_of_the_notes((0.0, 0.0, gravity))
    nu_dot, xi_dot, a = MOVING[gravity]
    v, found = robot.diagonal.rates(Q, KNOWN["nu"], T)
    close(v, V, DIGITS)
    close(found, nu_dot, 1e-11)
    v, found = robot.diagonal.unnormalized.rates(Q, KNOWN["xi"], T)
    close(v, V, DIGITS)
    close(found, xi_dot, 1e-11)
    close(robot.forward_dynamics(Q, V, T, method="diagonal"), a, 1e-11)


def test_planar_arm_matches_the_closed_form():
    robot = rc.robots.planar(2).with_gravity((0, 0, 0))
    q, v = np.array([0.4, 0.9]), np.array([0.7, -1.3])
    straight, right_angle = robot.mass_matrix([0, 0]), robot.mass_matrix([0, np.pi / 2])
    a, b, d = right_angle[0, 0], straight[0, 1] - straight[1, 1], straight[1, 1]
    c, s = np.cos(q[1]), np.sin(q[1])
    w, dw, dl, ddl = 1 + b / d * c, -b / d * s, a - d - b * b * c * c / d, 2 * b * b / d * c * s
    xi = np.array([v[0], v[1] + w * v[0]])
    nu = np.sqrt([dl, d]) * xi
    k = dw / np.sqrt(dl) * nu[1] + ddl / (2 * dl * np.sqrt(d)) * nu[0]
    view = robot.diagonal
    close(view.total_rates(q, v), nu)
    close(view.unnormalized.total_rates(q, v), xi)
    close(view.coriolis(q, nu), [k * nu[1], -k * nu[0]])
    first = d * dw * xi[1] ** 2 + ddl * xi[0] * xi[1] - 0.5 * ddl * w * xi[0] ** 2
    close(view.unnormalized.coriolis(q, xi), [first, -d * dw * xi[0] * xi[1] - 0.5 * ddl * xi[0] ** 2])


def test_gravity_only_drops_a_free_base():
    """It changes xi_dot of the base by g in its axes, and the joints not at all."""
    robot = rc.robots.free_flyer()
    q, v = robot.random_state(3)
    xi, tau = robot.diagonal.unnormalized.total_rates(q, v), np.arange(1.0, robot.nv + 1)
    falling, floating = (
        each.forward_dynamics(q, v, tau, method="diagonal")
        for each in (robot.with_gravity((1.0, 2.0, -9.0)), robot.with_gravity((0, 0, 0)))
    )
    in_axes = robot.pose(q, robot.model.joints[0].child)[:3, :3].T @ [1.0, 2.0, -9.0]
    close(falling - floating, [0, 0, 0, *in_axes, *[0.0] * (robot.nv - 6)], 1e-11)
    rates = [
        each.diagonal.unnormalized.rates(q, xi, tau)[1][:6]
        for each in (robot.with_gravity((1.0, 2.0, -9.0)), robot.with_gravity((0, 0, 0)))
    ]
    close(rates[0] - rates[1], [0, 0, 0, *in_axes], 1e-11)


# ---- arrays ----------------------------------------------------------------------------------------------------------


def test_batches_arrays_of_the_caller_and_threads():
    robot = small_mixed_tree()
    q, v, tau = states(robot, 6)
    d = robot.diagonal
    nu = d.total_rates(q, v)
    for ask, rows in (
        (d.total_rates, (q, v)), (d.joint_rates, (q, nu)), (d.working_moments, (q, tau)), (d.joint_moments, (q, tau)),
        (d.coriolis, (q, nu)), (d.unnormalized.coriolis, (q, nu)), (d.unnormalized.working_moments, (q, tau)),
    ):  # fmt: skip
        expected = ask(*rows)
        out = np.empty((2, 3, robot.nv))
        assert ask(*(x.reshape(2, 3, -1) for x in rows), out=out, threads=2) is out
        close(out.reshape(6, -1), expected, 1e-12)
        close(ask(*(x[4] for x in rows)), expected[4], 1e-12)
    out = np.empty((6, 2, robot.nv))
    speeds, changes = d.rates(q, nu, tau, out=out)
    assert np.shares_memory(speeds, out) and np.shares_memory(changes, out)
    close(speeds, v, 1e-11)
    one = d.rates(q[0], nu, tau[0])  # one q for all
    assert one[0].shape == one[1].shape == (6, robot.nv)
    assert d.sensitivity(q[:2], along=v[:2]).shape == (2, robot.nv, robot.nv)
    assert d.articulated_rates(q, v).shape == (6, robot.nbodies, 6, 6)
    arm = robot_of("panda_like")
    single = [x.astype(np.float32) for x in states(arm, 2)]
    assert {x.dtype for x in arm.diagonal.rates(*single)} == {np.dtype(np.float32)}


@pytest.mark.compiled
@pytest.mark.parametrize("make", [small_mixed_tree, floating_tree_with_rotors], ids=["mixed", "floating"])
def test_compiled_rates_match_interpreted(make):
    robot = make()
    q, v, tau = states(robot, 5)
    d = robot.diagonal

    def ask():
        nu = d.total_rates(q, v)
        return nu, d.coriolis(q, nu), np.stack(d.rates(q, nu, tau)), d.rates(q[0], nu[0], tau[0])[1]

    found = [ask(), ask()][1]  # the second time single states go through the native entry
    Switch.on = False
    for ours, expected in zip(found, ask(), strict=True):
        close(ours, expected, 1e-11)


@pytest.mark.compiled
def test_compiled_arm_matches_interpreted():
    robot = robot_of("puma560")
    q, v, tau = states(robot, 5)
    d, u = robot.diagonal, robot.diagonal.unnormalized

    def ask():
        return (
            d.working_moments(q, tau), d.joint_moments(q, tau), u.joint_rates(q, v), d.coriolis(q, v, method="7.1"),
            u.rates(q, v, tau, losses=True)[1], d.sensitivity(q), d.sensitivity(q, along=v),
            d.sensitivity(q, left=v, right=tau), robot.forward_dynamics(q, v, tau, method="diagonal"),
        )  # fmt: skip

    found = ask()
    Switch.on = False
    for ours, expected in zip(found, ask(), strict=True):
        close(ours, expected, 1e-11)


@pytest.mark.compiled
def test_loops_over_bodies_match_interpreted(monkeypatch):
    robot = rc.robots.tree(9, seed=5)
    q, v, tau = states(robot, 3)
    monkeypatch.setattr(Switch, "form", "loop")
    d = robot.diagonal
    found = (np.stack(d.rates(q, v, tau)), d.sensitivity(q, right=tau, along=v), d.sensitivity(q, left=v, right=tau))
    Switch.on = False
    expected = (np.stack(d.rates(q, v, tau)), d.sensitivity(q, right=tau, along=v), d.sensitivity(q, left=v, right=tau))
    for ours, theirs in zip(found, expected, strict=True):
        close(ours, theirs, 1e-11)


def test_large_robots_have_the_same_sensitivity():
    """Entry by entry up to ten freedoms, from unit vectors above."""
    robot = robot_of("free")  # 18 freedoms
    q, v, tau = states(robot, 2)
    d = robot.diagonal
    whole = d.sensitivity(q)
    assert whole.shape == (2, 18, 18, 18)
    close(whole @ v[:, None, :, None], d.sensitivity(q, along=v)[..., None], 1e-12)
    close(np.einsum("...ijk,...j->...ik", whole, tau), d.sensitivity(q, right=tau), 1e-12)
    tree = rc.robots.tree(9, seed=2)
    q = states(tree, 2)[0]
    close(tree.diagonal.sensitivity(q), tree.diagonal.sensitivity(q[:, None, :], left=np.eye(tree.nv)), 1e-12)


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_forms_for_one_freedom_refuse_others():
    robot = robot_of("spherical")
    q, v = robot.random_state(0)
    with pytest.raises(rc.NoSweepError, match=r"'7\.1' is for joints with one freedom.*spherical.*short"):
        robot.diagonal.coriolis(q, v, method="7.1")
    with pytest.raises(rc.NoSweepError, match=r"'7\.10' is for joints with one freedom"):
        robot.diagonal.unnormalized.coriolis(q, v, method="7.10")
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'short'"):
        robot.diagonal.coriolis(q, v, method="shor")


def test_tied_joints_are_refused_but_have_sensitivities():
    robot = tied_gripper()
    q, v = robot.random_state(0)
    for ask in (robot.diagonal.total_rates, robot.diagonal.coriolis, robot.diagonal.unnormalized.joint_moments):
        with pytest.raises(rc.NoSweepError, match="tied joints"):
            ask(q, v)
    close(robot.diagonal.sensitivity(q) @ v, robot.diagonal.sensitivity(q, along=v))


def test_idle_joints_are_named():
    b = rc.Builder("idle")
    b.link("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.link("b", mass=0.0)
    b.joint("first", "revolute", parent="world", child="a", axis=(0, 0, 1))
    b.joint("idle", "revolute", parent="a", child="b", axis=(0, 1, 0))
    robot = b.build(strict=False)
    for ask in (robot.diagonal.working_moments, robot.diagonal.total_rates, robot.diagonal.coriolis):
        with pytest.raises(rc.SingularHingeError, match="joint 'idle'"):
            ask([0.1, 0.2], [1.0, 1.0])


def test_wrong_arguments_are_named():
    robot = known_answer_arm()
    d = robot.diagonal
    with pytest.raises(rc.ShapeError, match=r"nu has shape \(2,\), expected \(..., 3\)"):
        d.joint_rates([0.1, 0.2, 0.3], [1.0, 2.0])
    with pytest.raises(rc.ShapeError, match="along has shape"):
        d.sensitivity([0.1, 0.2, 0.3], along=[1.0])
    with pytest.raises(rc.UnknownNameError, match="kind of Christoffel"):
        d.christoffel([0.1, 0.2, 0.3], kind=3)  # type: ignore[arg-type]
    with pytest.raises(rc.RecursaError, match="at least one sample"):
        d.is_flat(samples=0)
