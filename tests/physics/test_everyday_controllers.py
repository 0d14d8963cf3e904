"""GravityPD, Impedance, Admittance and Adaptive: their Lyapunov functions fall as they say, on joints of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from deviations import deviation
from numeric import central, close, states, tied_gripper
from questions import Standing
from recursa.control.at_link import shown_inertia
from recursa.control.law_arithmetic import OnArrays
from recursa.dynamics.reference import ADAPTATION, natural_rates, pseudo_inertia
from recursa.spatial.inertia import RigidInertia
from zoo import ALL_KINDS, each_kind, elastic_arm, large_flyer, mixed_tree, one_of_each

C = rc.control
ARM = rc.robots.planar(2)
MOTION = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)


def along(robot: rc.Robot, law: Any, t: float, q: Any, v: Any, memory: Any, value: Any) -> float:
    """The derivative in time of a function of t, q, v and memory in the closed loop."""
    a = robot.forward_dynamics(q, v, law.torque(t, q, v, memory))
    learned = law.learning(t, q, v, memory)
    return central(lambda h: value(t + h, robot.integrate(q, h * v), v + h * a, memory + h * learned), 1e-5)


# ---- springs at joints -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_lyapunov_function_of_a_posture_falls_on_every_kind_of_joint(kind: str) -> None:
    """With full matrices of gains, also where joints turn about several axes."""
    robot, rng = each_kind(kind), np.random.default_rng(3)
    K, D = (x @ x.T for x in rng.normal(size=(2, robot.nv, robot.nv)))
    (q, target), (v, _), _ = states(robot, 2)
    law = C.GravityPD(robot, target, K, D, drive_base=True)
    found = along(robot, law, 0.0, q, v, np.zeros(0), lambda t, q, v, _: law.lyapunov(q, v))
    close(found, law.lyapunov_rate(q, v), 1e-6)


def test_posture_is_reached_and_gravity_held() -> None:
    arm = elastic_arm()
    target = 0.3 * np.ones(arm.nq)
    law = C.GravityPD(arm, target, 400.0, 40.0)
    close(law.torque(0.0, target, 0 * target), arm.bias_forces(target, 0 * target), 1e-12)
    bare = C.GravityPD(arm, target, 400.0, 40.0, gravity=False)
    close(bare.torque(0.0, target, 0 * target), 0 * target, 1e-12)


def test_pd_along_a_motion_is_the_textbook_law() -> None:
    law = C.GravityPD(ARM, MOTION, [50.0, 30.0], [5.0, 3.0])
    q, v = np.array([0.2, 0.4]), np.array([1.0, -2.0])
    q_d, v_d, _ = MOTION.sample(0.3)
    close(law.torque(0.3, q, v), [50.0, 30.0] * (q_d - q) + [5.0, 3.0] * (v_d - v) + ARM.gravity_forces(q), 1e-12)
    with pytest.raises(rc.StateError, match="this target moves"):
        law.lyapunov(q, v)


@pytest.mark.parametrize("make", [one_of_each, tied_gripper])
def test_deviation_is_what_a_series_of_brackets_gives(make: Any) -> None:
    """``Ad_exp(x) y`` summed term by term, and x' by differences."""
    robot = make()
    (q, q_d), (v, v_d), (a_d, _) = states(robot, 2)
    off = deviation(robot, q, v, (q_d, v_d, a_d))
    close(off.x, robot.difference(q, q_d), 1e-12)
    moved = lambda h: robot.difference(robot.integrate(q, h * v), robot.integrate(q_d, h * v_d))  # noqa: E731
    close(off.rate, central(moved, 1e-5), 1e-7)
    for joint in robot.model.joints:
        if joint.independent:
            own = slice(joint.v_start, joint.v_start + joint.kind.nv)
            total = term = v_d[own]
            for k in range(1, 40):
                found = joint.kind.bracket(off.x[own], term)
                term = np.zeros(joint.kind.nv) if found is None else np.array(found, dtype=float) / k
                total = total + term
            close(off.velocity[own], total - v[own], 1e-11, joint.name)


# ---- a link on a spring ----------------------------------------------------------------------------------------------

PANDA = rc.robots.panda_like()
READY = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])


def test_energy_of_the_spring_at_a_link_only_falls() -> None:
    rng = np.random.default_rng(5)
    root = rng.normal(size=(6, 6))
    q = READY + 0.4 * rng.normal(size=7)
    v = rng.normal(size=7)
    law = C.Impedance(PANDA, "flange", PANDA.pose(READY, "flange"), root @ root.T, 3.0)
    rate = along(PANDA, law, 0.0, q, v, np.zeros(0), lambda t, q, v, _: law.lyapunov(t, q, v))
    twist = PANDA.jacobian(q, "flange", frame="mixed") @ v
    assert rate < -3.0 * twist @ twist
    only = law.with_gains(posture_damping=0.0)
    rate = along(PANDA, only, 0.0, q, v, np.zeros(0), lambda t, q, v, _: law.lyapunov(t, q, v))
    close(rate, -3.0 * twist @ twist, 1e-6)


@pytest.mark.slow
def test_link_yields_by_the_compliance_of_its_spring() -> None:
    """Pushed with 6 N it comes to rest 6/300 m away; what joints do besides does not show."""
    law = C.Impedance(PANDA, "flange", PANDA.pose(READY, "flange"), [40.0] * 3 + [300.0] * 3, [3.0] * 3 + [40.0] * 3)
    push = rc.Wrench(at="flange", force=(0, 0, 6.0), frame="world")
    run = PANDA.simulate(READY, duration=6.0, torque=law, wrenches=[push], losses=False, samples=3)
    close(law.error(6.0, run.q[-1])[3:], [0, 0, -6.0 / 300.0], 1e-4)
    assert np.abs(run.v[-1]).max() < 1e-3


def test_posture_moves_no_link() -> None:
    law = C.Impedance(PANDA, "flange", PANDA.pose(READY, "flange"), 50.0, 5.0, posture=READY + 0.3)
    without = law.with_gains(posture_stiffness=0.0)
    v = 0.1 * np.ones(7)
    a, b = (PANDA.forward_dynamics(READY, v, one.torque(0.0, READY, v)) for one in (law, without))
    assert np.abs(a - b).max() > 0.1
    assert np.abs(PANDA.jacobian(READY, "flange", frame="mixed") @ (a - b)).max() < 1e-6


def test_shown_inertia_is_the_one_of_the_eigenvalues() -> None:
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 4))  # two directions cannot be moved
    A = root @ root.T
    values, vectors = np.linalg.eigh(A)
    floor = 1e-5 * np.linalg.norm(A) + 1e-15 * np.trace(A)
    expected = (vectors * (values / (values**2 + floor**2))) @ vectors.T
    found = np.array(shown_inertia(range(6), 1e-5, A.ravel().tolist())).reshape(6, 6)
    close(root.T @ found @ root, root.T @ expected @ root, 1e-8)


def test_admittance_moves_as_its_mass_would() -> None:
    """One direction of it is an oscillator, whatever arm follows."""
    push = np.array([0, 0, 0, 5.0, 0, 0])
    law = C.Admittance(PANDA, "flange", PANDA.pose(READY, "flange"), push, 2.0, 50.0, 4.0, 900.0, singular=1e-9)
    run = PANDA.simulate(READY, duration=0.6, torque=law, integrator="rk4", step=2e-3, losses=False)
    w, d = np.sqrt(25.0 - 1.0), 1.0
    expected = 0.1 * (1.0 - np.exp(-d * run.t) * (np.cos(w * run.t) + d / w * np.sin(w * run.t)))
    close(run.memory[:, 3], expected, 1e-7)
    way = PANDA.pose(run.q, "flange")[:, 0, 3] - PANDA.pose(READY, "flange")[0, 3]
    close(way, expected, 1e-5)
    assert np.abs(law.error(0.6, run.q[-1])[3] + expected[-1]) < 1e-5


def test_admittance_turns_with_the_measured_moment() -> None:
    """About two axes at once: the law's own velocity is that of the pose it follows."""
    moment = lambda t: [0.3 * np.cos(3 * t), 0.2, -0.1, 0, 0, 0]  # noqa: E731
    law = C.Admittance(PANDA, "flange", PANDA.pose(READY, "flange"), moment, 0.5, 2.0, 0.4, 400.0, singular=1e-9)
    run = PANDA.simulate(READY, duration=0.5, torque=law, integrator="rk4", step=2e-3, losses=False)
    close(law.error(0.0, run.q)[:, :3], -run.memory[:, :3], 2e-4)


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("method", ["gradient", "natural"])
def test_lyapunov_function_of_learning_falls_on_every_kind_of_joint(kind: str, method: Any) -> None:
    """At any state, with any estimates, at exactly the rate -s damping s."""
    robot, rng = each_kind(kind), np.random.default_rng(8)
    (q, q_d), (v, v_d), (a_d, _) = states(robot, 2)

    class Steady(Standing):
        def sample(self, t: float) -> Any:
            speeds = v_d + t * a_d
            return robot.integrate(q_d, t * v_d + 0.5 * t * t * a_d), speeds, a_d

    D = rng.normal(size=(robot.nv, robot.nv))
    law = C.Adaptive(robot, Steady(robot), 3.0, D @ D.T, 0.3, method=method, drive_base=True)
    memory = robot.parameters * np.repeat(rng.uniform(0.5, 1.5, robot.nbodies), 10)
    flat = robot.model.joints[0].kind.nv == 1  # on others t v_d + ... is that motion at t = 0 only to first order
    value = lambda t, q, v, p: law.lyapunov(t, q, v, p)  # noqa: E731
    close(along(robot, law, 0.0, q, v, memory, value), law.lyapunov_rate(0.0, q, v), 1e-5 if flat else 1e-4)


def thick_arm() -> rc.Robot:
    """Two links with thickness in all directions, which swing in a vertical plane."""
    b = rc.Builder("thick")
    for name, parent, x in (("upper", "world", 0.0), ("fore", "upper", 0.5)):
        b.link(name, mass=1.5, com=(0.25, 0, 0), inertia=(0.01, 0.04, 0.04))
        b.joint(f"to_{name}", "revolute", parent=parent, child=name, axis=(0, 1, 0), xyz=(x, 0, 0))
    return b.build()


def test_robot_with_an_unknown_load_comes_to_its_motion() -> None:
    """Not so without learning; both methods, and the Lyapunov function never grows."""
    arm = thick_arm()
    loaded = arm.with_payload("fore", 1.0, com=(0.3, 0, 0), inertia=(0.01, 0.01, 0.01))
    motion = rc.Trajectory.cycloid([0.3, 0.5], [1.2, -0.6], T=2.0)
    q0, v0, _ = motion.sample(0.0)
    off = {}
    for name, rate, method in (("none", 0.0, "gradient"), ("gradient", 2.0, "gradient"), ("natural", 1.0, "natural")):
        law = C.Adaptive(arm, motion, 6.0, 4.0, rate, method=method)  # type: ignore[arg-type]
        q, v, memory = rc.rollout(loaded, q0, v0, law, 2e-3, 1000, memory=True)
        t = 2e-3 * np.arange(1, 1001)
        off[name] = np.abs(law.sliding(t, q, v)).max(axis=1)[-200:].mean()
        if rate:
            value = law.lyapunov(t, q, v, memory, true=loaded.parameters)
            assert np.diff(value).max() < 1e-7 * value[0], name
        if method == "natural":
            P = np.array([[pseudo_inertia(row[k : k + 10].tolist()) for k in (0, 10)] for row in memory[::100]])
            assert np.linalg.eigvalsh(P).min() > 0.0
    assert max(off["gradient"], off["natural"]) < 0.2 * off["none"]


def test_learning_with_steps_of_any_size() -> None:
    law = C.Adaptive(ARM, MOTION, 6.0, 4.0, 1.0)
    loaded = ARM.with_payload("tip", 1.0)
    fixed = loaded.simulate([0.1, 0.5], duration=0.5, torque=law, integrator="rk4", step=5e-4)
    adaptive = loaded.simulate([0.1, 0.5], duration=0.5, torque=law, rtol=1e-9, atol=1e-11)
    close(fixed.q[-1], adaptive.q[-1], 1e-7)
    close(fixed.memory[-1], adaptive.memory[-1], 1e-6)
    with pytest.raises(rc.StateError, match="implicit midpoint"):
        loaded.simulate([0.1, 0.5], duration=0.5, torque=law, integrator="implicit-midpoint", step=1e-3)
    with pytest.raises(rc.StateError, match="memory"):
        loaded.trajectory_sensitivity(adaptive, payload="tip", torque=law)


def test_learning_goes_on_from_a_checkpoint(tmp_path: Any) -> None:
    law = C.Adaptive(ARM, MOTION, 6.0, 4.0, 0.02)
    options = {"duration": 0.02, "torque": law, "integrator": "rk4", "step": 5e-4}
    whole = ARM.simulate([0.1, 0.5], **options)
    kept = ARM.simulate([0.1, 0.5], **options, checkpoint=tmp_path / "run.journal", checkpoint_every=0)
    close(kept.memory, whole.memory, 0.0)
    again = rc.resume(tmp_path / "run.journal", torque=law)
    close(again.q, whole.q, 0.0)
    close(again.memory, whole.memory, 0.0)


def test_bounds_hold_estimates_back() -> None:
    low, high = ARM.parameters - 0.02, ARM.parameters + 0.02
    law = C.Adaptive(ARM, MOTION, 6.0, 4.0, 5.0, bounds=(low, high))
    loaded = ARM.with_payload("tip", 1.0)
    q, v = np.array([0.1, 0.5]), np.zeros(2)
    *_, memory = rc.rollout(loaded, q, v, law, 1e-3, 1000, memory=True)
    assert (memory < high + 1e-2).all()
    assert (memory > low - 1e-2).all()
    free = C.Adaptive(ARM, MOTION, 6.0, 4.0, 5.0)
    *_, memory = rc.rollout(loaded, q, v, free, 1e-3, 1000, memory=True)
    assert (memory > high + 0.1).any()


# ---- along a reference velocity --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [one_of_each, mixed_tree, large_flyer, tied_gripper, elastic_arm])
def test_reference_dynamics_are_mass_coriolis_and_gravity(make: Any) -> None:
    robot = make()
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    v_r, a_r, s = rng.normal(size=(3, robot.nv))
    rest = robot.bias_forces(q, 0 * v)
    expected = robot.mass_matrix(q) @ a_r + robot.coriolis_matrix(q, v) @ v_r + rest
    close(robot.reference_dynamics(q, v, v_r, a_r), expected, 1e-11)
    close(robot.reference_dynamics(q, v, v, a_r), robot.inverse_dynamics(q, v, a_r), 1e-11)
    Y = robot.reference_regressor(q, v, v_r, a_r)
    close(robot.reference_regressor(q, v, v, a_r), robot.regressor(q, v, a_r), 1e-11)
    own = robot.reference_dynamics(q, v, v_r, a_r, parameters=2.0 * robot.parameters)
    close(own, expected + Y @ robot.parameters, 1e-11)
    given = {"q": q, "v": v, "v_r": v_r, "a_r": a_r, "s": s}
    by_parameter = robot.evaluator.evaluate(ADAPTATION, given)
    close(by_parameter, Y.T @ s, 1e-11)


def test_natural_rate_is_p_l_p() -> None:
    """``tr(L P(pi)) = l . pi`` decides L; the rate of the parameters is that of P."""
    rng = np.random.default_rng(0)
    root, by = rng.normal(size=(4, 4)), rng.normal(size=10)
    P = root @ root.T
    (xx, xy, xz, hx), (_, yy, yz, hy), (_, _, zz, hz), (*_, m) = P
    pi = [m, hx, hy, hz, yy + zz, -xy, xx + zz, -xz, -yz, xx + yy]
    close(np.array(pseudo_inertia(pi)), P, 1e-12)
    rate = natural_rates(RigidInertia.from_components(pi), tuple(by))
    units = [np.array(pseudo_inertia(e)) for e in np.eye(10).tolist()]
    L = np.linalg.lstsq(
        np.array([[u[i, j] * (1 if i == j else 2) for i in range(4) for j in range(i, 4)] for u in units]),
        by,
        rcond=None,
    )[0]
    full = np.zeros((4, 4))
    full[np.triu_indices(4)] = L
    full = full + np.triu(full, 1).T
    close(np.array(pseudo_inertia(rate)), P @ full @ P, 1e-10)


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: C.GravityPD(rc.robots.free_flyer(1), np.zeros(7), 1.0, 1.0), rc.NoSweepError, "nothing drives it"),
        (lambda: C.GravityPD(ARM, [0.0], 1.0, 1.0), rc.ShapeError, "target"),
        (lambda: C.GravityPD(ARM, [0, 0], -1.0, 1.0), rc.StateError, "at least 0"),
        (lambda: C.Impedance(ARM, "tip", np.eye(4), [1.0] * 5, 1.0), rc.ShapeError, r"\(6,\)"),
        (lambda: C.Impedance(ARM, "tip", np.eye(3), 1.0, 1.0), rc.ShapeError, r"\(4, 4\)"),
        (lambda: C.Impedance(ARM, "world", np.eye(4), 1.0, 1.0), rc.RecursaError, "world"),
        (lambda: C.Admittance(ARM, "tip", np.eye(4), [1.0], 1, 1, 1, 1), rc.ShapeError, r"\(moment, force\)"),
        (lambda: C.Admittance(ARM, "tip", np.eye(4), [0] * 6, 0.0, 1, 1, 1), rc.StateError, "inertia"),
        (lambda: C.Admittance(ARM, "tip", np.eye(4), [0] * 6, np.eye(6) + 1, 1, 1, 1), rc.ShapeError, "not a matrix"),
        (
            lambda: C.Admittance(ARM, "tip", np.eye(4), [0] * 6, 1, 1, 1, 1, coordinates="position"),
            rc.StateError,
            "six coordinates",
        ),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, method="neural"), rc.RecursaError, "natural"),  # type: ignore[arg-type]
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, [1.0]), rc.ShapeError, r"one number or \(20,\)"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, -1.0), rc.StateError, "must not be negative"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, [1.0] * 20, method="natural"), rc.ShapeError, "one per body"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, estimate=[1.0]), rc.ShapeError, "ten numbers per body"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, adapt=["tap"]), rc.RecursaError, "tip"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, adapt="world"), rc.RecursaError, "world"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, bounds=(0, 0)), rc.StateError, "not within its bounds"),
        (lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, bounds=3), rc.ShapeError, r"\(low, high\)"),
        (
            lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, bounds=(-9, 9), method="natural"),
            rc.StateError,
            "natural one keeps",
        ),
        (
            lambda: C.Adaptive(ARM, MOTION, 1.0, 1.0, 1.0, method="natural", estimate=-ARM.parameters),
            rc.StateError,
            "no distribution of mass",
        ),
        (lambda: C.Adaptive(ARM, MOTION, 1, 1, 1).torque(0, [0, 0], [0, 0], [1.0]), rc.ShapeError, "memory"),
        (lambda: C.GravityPD(ARM, [0, 0], 1, 1).with_gains(stiffness=np.ones((3, 2))), rc.ShapeError, "one law"),
    ],
)
def test_what_controllers_refuse(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_functions_of_scalars_on_batches() -> None:
    """The same on floats and on columns."""
    on, x = OnArrays(ARM), np.arange(12.0).reshape(2, 6)
    both = on.apply(lambda a, b: [p * q for p, q in zip(a, b, strict=True)], 6, x, x[0])
    close(both[1], on.apply(lambda a, b: [p * q for p, q in zip(a, b, strict=True)], 6, x[1], x[0]), 0.0)
