"""Identified robots against the true ones: torques, parameters, physics."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from identified import log, motion, vaguely, with_friction
from recursa.control import ComputedTorque
from recursa.identification.consistent import BASIS, Problem, conic, entropic, parameters_of, pseudo_inertia
from recursa.identification.fourier import Series
from recursa.identification.log_filters import filtered, noise_cutoff, windows, zero_phase
from recursa.identification.logs import logs_of
from recursa.identification.unknowns import Unknowns
from zoo import ZOO, small_flyer

METHODS = ("entropic", "conic")


@pytest.fixture(scope="module")
def panda() -> rc.Robot:
    return with_friction(rc.robots.panda_like())


@pytest.fixture(scope="module")
def panda_log(panda: rc.Robot) -> dict[str, np.ndarray]:
    return log(panda, 1, duration=20.0)


@pytest.fixture(scope="module", params=METHODS)
def found(request, panda, panda_log) -> rc.Identification:
    return rc.identify(vaguely(rc.robots.panda_like()), panda_log, method=request.param)


def rms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(np.square(x), axis=0))


def test_torques_of_another_motion_are_told_as_well_as_by_the_true_robot(found, panda):
    measured = log(panda, 7)["tau"]
    _, q, v, a = motion(panda, 7)
    true = rms(measured - panda.inverse_dynamics(q, v, a, losses=True))
    assert (rms(measured - found.torques(q, v, a)) < 1.2 * true).all()
    prior = vaguely(rc.robots.panda_like())
    assert (rms(measured - prior.inverse_dynamics(q, v, a, losses=True)) > 3.0 * true).all()


def test_the_identified_robot_is_healthy(found):
    assert not found.robot.doctor()
    P = pseudo_inertia(found.parameters.reshape(-1, 10))
    assert (np.linalg.eigvalsh(P) > 0.0).all()
    assert np.allclose(found.robot.parameters, found.parameters)


def test_friction_is_that_of_the_joints_within_its_deviation(found, panda):
    for term, name in (("viscous", "damping"), ("coulomb", "friction")):
        for joint in panda.model.joints:
            true, told = getattr(joint, name)[0], found.joints[term][joint.name]
            assert abs(told - true) < 6.0 * found.deviations[term][joint.name] + 0.01
            assert getattr(found.robot.model.joints[found.robot.model.joint_index(joint.name)], name)[
                0
            ] == pytest.approx(told)


def test_base_parameters_are_the_true_ones_within_their_deviations(panda, panda_log):
    """Of standardised errors the mean square is near one: deviations are neither boasting nor shy."""
    prior = vaguely(rc.robots.panda_like())
    found = rc.identify(prior, panda_log, method="base", holdout=0.0, robust=False)
    unknowns = Unknowns.of(prior, ("inertia", "viscous", "coulomb", "armature", "offset"), None, np.ones(7))
    truth = Unknowns.of(panda, unknowns.terms, None, np.ones(7)).known
    errors = (found.base.values - unknowns.structure.matrix @ truth) / found.base.deviations
    assert 0.3 < np.mean(errors**2) < 4.0
    assert np.abs(errors).max() < 8.0


@pytest.mark.interpreted(reason="statistics of the fit, not of how its rows are computed")
@pytest.mark.parametrize("method, encoder", [("base", 0.0), ("base", 5e-5), ("entropic", 0.0)])
def test_deviations_cover_the_truth_as_often_as_they_say(method, encoder):
    """Over logs with other noise and other motions: errors in standard deviations, and in the metric of covariances."""
    true, prior = with_friction(rc.robots.planar(2)), vaguely(rc.robots.planar(2))
    terms = ("inertia", "viscous", "coulomb", "armature", "offset")
    structure = Unknowns.of(prior, terms, None, np.ones(2)).structure.matrix
    truth = structure @ Unknowns.of(true, terms, None, np.ones(2)).known
    errors, of_joints = [], []
    for seed in range(24):
        t, q, v, a = motion(true, seed, duration=6.0)
        rng = np.random.default_rng(seed)
        tau = true.inverse_dynamics(q, v, a, losses=True)
        tau += 0.003 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
        measured = {"t": t, "q": q + encoder * rng.normal(size=q.shape), "tau": tau}
        found = rc.identify(prior, measured, method=method, holdout=0.0)
        errors.append(np.linalg.solve(np.linalg.cholesky(found.base.covariance), found.base.values - truth))
        of_joints += [
            (found.joints[term][joint.name] - getattr(joint, name)[0]) / found.deviations[term][joint.name]
            for term, name in (("viscous", "damping"), ("coulomb", "friction"), ("armature", "armature"))
            for joint in true.model.joints
        ]
    assert 0.9 < np.sqrt(np.mean(np.square(errors))) < 1.15  # larger by 1.19 if rows were taken to be independent
    assert 0.62 < np.mean(np.abs(errors) < 1.0) < 0.75
    assert 0.92 < np.mean(np.abs(errors) < 1.96) < 0.98
    assert np.mean(np.abs(of_joints) < 3.5) > 0.98  # also of numbers that torques alone do not tell apart


UNMODELLED = {
    "friction with the square of the speed": lambda q, v: 0.3 * v * np.abs(v),
    "friction at low speed": lambda q, v: 0.5 * np.sign(v) * np.exp(-np.square(v / 0.3)),
    "ripple": lambda q, v: 0.2 * np.sin(8.0 * q),
    "": lambda q, v: 0.0,
}


@pytest.mark.interpreted(reason="statistics of the fit, not of how its rows are computed")
@pytest.mark.parametrize("name", UNMODELLED)
def test_a_residual_far_above_the_noise_is_noticed(name):
    true = with_friction(rc.robots.planar(2))
    t, q, v, a = motion(true, 3)
    rng = np.random.default_rng(2)
    tau = true.inverse_dynamics(q, v, a, losses=True)
    tau += UNMODELLED[name](q, v) + 0.003 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
    measured = {"t": t, "q": q, "tau": tau}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rc.identify(vaguely(rc.robots.planar(2)), measured)
    texts = [str(one.message) for one in caught if one.category is rc.ModelWarning]
    assert [("joint1" in text, "times its noise" in text) for text in texts] == ([(True, True)] if name else [])
    assert all(one.filename == __file__ for one in caught)
    assert any("far above the noise" in note for note in found.notes) == bool(name)


def test_the_held_out_part_and_the_fitted_one_are_told_alike(found):
    assert (found.held_out.after < 2.0 * found.fitted.after).all()
    assert (found.fitted.before > 5.0 * found.fitted.after).all()
    assert np.array_equal(found.residual, found.fitted.after)


def test_another_log_is_checked_as_the_held_out_part_is(found, panda):
    other = found.check(log(panda, 7))
    assert (other.after < 0.05 * other.before).all()


def test_covariances_are_those_of_parameters_and_grow_where_torques_tell_nothing(found):
    assert found.covariance.shape == (70, 70)
    assert np.allclose(found.covariance, found.covariance.T)
    spread = np.sqrt(np.diagonal(found.covariance))
    assert spread[0] > 0.3 * found.parameters[0]  # the mass of the first body: no torque depends on it
    told = found.robot.parameter_names.index("link7.mcx")
    assert spread[told] < 0.01


def test_both_methods_agree_where_data_decide(panda, panda_log):
    entropic_, conic_ = (rc.identify(vaguely(rc.robots.panda_like()), panda_log, method=m) for m in METHODS)
    assert np.allclose(entropic_.residual, conic_.residual, rtol=0.02)


def test_exact_logs_give_exact_torques():
    true = with_friction(rc.robots.planar(2))
    t, q, v, a = motion(true, 3)
    exact = {"t": t, "q": q, "v": v, "a": a, "tau": true.inverse_dynamics(q, v, a, losses=True)}
    found = rc.identify(vaguely(rc.robots.planar(2)), exact, cutoff=95.0)
    q, v, a = motion(true, 4)[1:]
    assert np.abs(found.torques(q, v, a) - true.inverse_dynamics(q, v, a, losses=True)).max() < 2e-3


def test_a_run_of_a_controlled_robot_is_a_log():
    """The whole way: a motion is planned, followed by a controller, and the run identified."""
    true = with_friction(rc.robots.planar(2))
    plan = rc.excitation(rc.robots.planar(2), duration=4.0, harmonics=4, rounds=3)
    law = ComputedTorque(rc.robots.planar(2), plan, 3000.0)
    run = true.simulate(plan.sample(0.0)[0], torque=law, duration=4.0, samples=801, rtol=1e-6, atol=1e-8)
    found = rc.identify(vaguely(rc.robots.planar(2)), run)
    _, q, v, a = motion(true, 4)
    wanted = true.inverse_dynamics(q, v, a, losses=True)
    assert (rms(found.torques(q, v, a) - wanted) < 0.03 * rms(wanted)).all()


# ---- loads, currents, friction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_payload_is_found_from_one_motion(method):
    arm = with_friction(rc.robots.panda_like())
    loaded = arm.with_payload("flange", 1.7, (0.02, -0.03, 0.08), (0.004, 0.005, 0.003))
    found = rc.identify(arm, log(loaded, 2), payload_at="flange", method=method)
    assert found.payload.mass == pytest.approx(1.7, abs=0.02)
    assert found.payload.com == pytest.approx([0.02, -0.03, 0.08], abs=0.005)
    assert found.payload.inertia.diagonal() == pytest.approx([0.004, 0.005, 0.003], abs=0.004)
    _, q, v, a = motion(arm, 3)
    wanted = loaded.inverse_dynamics(q, v, a)
    assert np.abs(found.robot.inverse_dynamics(q, v, a) - wanted).max() < 0.02 * np.abs(wanted).max()
    assert "payload: 1." in str(found)


def test_no_payload_is_told_as_hardly_any():
    arm = with_friction(rc.robots.panda_like())
    assert rc.identify(arm, log(arm, 2), payload_at="flange").payload.mass < 0.02


def test_torque_constants_come_from_a_known_load():
    true = with_friction(rc.robots.planar(3))
    constants = np.array([2.0, 1.3, 0.7])
    load = {"link": "tip", "mass": 1.0}
    logs = []
    for seed, extra in ((1, {}), (2, {"payload": load})):
        measured = log(true.with_payload(**load) if extra else true, seed)
        logs.append({"t": measured["t"], "q": measured["q"], "current": measured["tau"] / constants, **extra})
    terms = ("inertia", "viscous", "coulomb", "torque constant")
    found = rc.identify(vaguely(true), logs, fit=terms, torque_constants=1.0)
    assert list(found.joints["torque constant"].values()) == pytest.approx(constants, rel=0.03)
    known = rc.identify(vaguely(true), logs[0], fit=terms[:-1], torque_constants=constants)
    assert known.joints["coulomb"]["joint1"] == pytest.approx(0.4, abs=0.05)


def test_stribeck_friction_is_found():
    true = with_friction(rc.robots.planar(2), armature=False)
    t, q, v, a = motion(true, 3, duration=20.0)
    tau = true.inverse_dynamics(q, v, a, losses=True) + 0.5 * np.sign(v) * np.exp(-np.square(v / 0.2))
    measured = {"t": t, "q": q, "tau": tau}
    terms = ("inertia", "viscous", "coulomb")
    plain, curved = (rc.identify(vaguely(true), measured, fit=one) for one in (terms, (*terms, "stribeck")))
    assert (curved.held_out.after < 0.3 * plain.held_out.after).all()
    assert curved.joints["stribeck"]["joint1"] == pytest.approx(0.5, abs=0.1)
    assert curved.joints["coulomb"]["joint1"] == pytest.approx(0.4, abs=0.05)
    assert np.abs(curved.torques(q, v, a) - tau).std() < 0.1 * np.abs(plain.torques(q, v, a) - tau).std() + 0.03


def test_robust_fits_shrug_off_glitches():
    true = with_friction(rc.robots.planar(2))
    measured = log(true, 1)
    rng = np.random.default_rng(3)
    hit = rng.integers(0, len(measured["t"]), 40)
    measured["tau"][hit] += 20.0
    _, q, v, a = motion(true, 4)
    wanted = true.inverse_dynamics(q, v, a, losses=True)
    errors = [
        rms(rc.identify(vaguely(true), measured, robust=robust, unexcited="prior").torques(q, v, a) - wanted).max()
        for robust in (True, False)
    ]
    assert errors[0] < 0.5 * errors[1]


# ---- every kind of robot ---------------------------------------------------------------------------------------------


def states_log(robot: rc.Robot, seed: int, count: int = 400) -> dict[str, np.ndarray]:
    """Samples along a smooth motion of any joints, floating ones too, with exact speeds and accelerations."""
    rng = np.random.default_rng(seed)
    series = Series(4.0, 6)
    t = 4.0 * np.arange(count) / count
    x, _, _ = series.curve(0.15 * rng.normal(size=(12, robot.nv)), t)
    plan = rc.Trajectory.along(t, robot.integrate(np.broadcast_to(robot.neutral(), (count, robot.nq)), x), robot=robot)
    q, v, a = plan.sample(t)
    return {"t": t, "q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a, losses=True)}


@pytest.mark.parametrize(
    "make",
    [small_flyer, rc.robots.stanford, lambda: rc.load(rc.robots.urdf("quadruped"), floating=True)],
    ids=["small_flyer", "stanford", "quadruped"],
)
def test_floating_trees_and_sliding_joints(make):
    """The torques of the free base count, too; what the motion does not tell is left as it was."""
    true = make()
    prior = vaguely(true)
    found = rc.identify(prior, states_log(true, 1), fit=("inertia",), unexcited="prior", cutoff=45.0)
    test = states_log(true, 2)
    wanted = test["tau"]
    told, before = (x.inverse_dynamics(test["q"], test["v"], test["a"], losses=True) for x in (found.robot, prior))
    assert np.sqrt(np.mean((told - wanted) ** 2)) < 0.1 * np.sqrt(np.mean((before - wanted) ** 2))
    assert not [x for x in found.robot.doctor() if x.severity == "error"]


def test_rotors_keep_their_share():
    true = rc.robots.planar(2).with_joint("joint2", rotor=rc.Rotor(inertia=2e-4, ratio=60.0))
    found = rc.identify(vaguely(true), log(true, 1), fit=("inertia",))
    assert found.robot.model.joints[1].rotor == true.model.joints[1].rotor
    q, v, a = motion(true, 5)[1:]
    wanted = true.inverse_dynamics(q, v, a)
    assert (rms(found.robot.inverse_dynamics(q, v, a) - wanted) < 0.02 * rms(wanted)).all()


def test_tied_joints_are_identified_together():
    true = rc.load(rc.robots.urdf("desk_arm"), mimic="tie")
    assert true.nbodies > true.nv
    found = rc.identify(vaguely(true), log(true, 1), unexcited="prior")
    q, v, a = motion(true, 5)[1:]
    wanted = true.inverse_dynamics(q, v, a, losses=True)
    assert (rms(found.torques(q, v, a) - wanted) < 0.05 * rms(wanted).max()).all()


@pytest.mark.parametrize("name", ["pendulum", "panda_like", "one_of_each", "mixed_tree"])
def test_structure_counts_inertial_parameters_as_the_robot_does(name):
    robot = ZOO[name]()
    unknowns = Unknowns.of(robot, ("inertia",), None, np.ones(robot.nv))
    assert len(unknowns.structure.independent) == len(robot.base_parameters().names)


def test_armature_of_the_first_joint_belongs_to_its_inertia():
    unknowns = Unknowns.of(rc.robots.planar(2), ("inertia", "armature"), None, np.ones(2))
    relations = dict(zip(unknowns.structure.names, unknowns.structure.relations, strict=True))
    assert relations["link1.Izz"] == "link1.Izz + 0.09 link2.m + joint1.armature"
    assert "joint2.armature" in relations


# ---- parts -----------------------------------------------------------------------------------------------------------


def test_pseudo_inertias_lead_back_to_parameters():
    pi = np.random.default_rng(0).normal(size=10)
    assert parameters_of(pseudo_inertia(pi)) == pytest.approx(pi)
    assert BASIS.shape == (10, 4, 4)


def random_problem(seed: int, bodies: int, rank: int, size: float) -> Problem:
    """Least squares whose free minimum is no set of real bodies."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(bodies, 4, 4))
    known = np.array([parameters_of(x @ x.T + 0.1 * np.eye(4)) for x in roots])
    columns = np.arange(10 * bodies).reshape(-1, 10)
    count = 10 * bodies + 3
    R = size * rng.normal(size=(rank, count))
    wanted = rng.normal(size=count)
    positive = np.array([count - 3, count - 2])
    return Problem(R, R @ wanted, np.zeros(count), columns, known, positive, np.ones(2), np.ones(count), 1.0)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_the_entropic_minimum_is_one_and_real(seed, size):
    problem = random_problem(seed, 4, 30, size)
    found = entropic(problem)
    P = pseudo_inertia((problem.inertias.ravel() + found.change[problem.bodies.ravel()]).reshape(-1, 10))
    assert (np.linalg.eigvalsh(P) > 0.0).all()
    assert (1.0 + found.change[problem.positive] > 0.0).all()
    assert objective(problem, found.change) <= min(
        objective(problem, found.change + 1e-4 * step) for step in np.random.default_rng(9).normal(size=(50, 43))
    )


def objective(problem: Problem, change: np.ndarray) -> float:
    """What is minimised, as it is written."""
    left = problem.R @ change - problem.r
    total = 0.5 * left @ left
    for columns, known in zip(problem.bodies, problem.inertias, strict=True):
        ratio = np.linalg.solve(pseudo_inertia(known), pseudo_inertia(known + change[columns]))
        sign, log_ = np.linalg.slogdet(ratio)
        if sign <= 0.0 or np.linalg.eigvalsh(pseudo_inertia(known + change[columns]))[0] <= 0.0:
            return np.inf
        total += problem.weight * (np.trace(ratio) - log_ - 4.0)
    for k, size in zip(problem.positive, problem.sizes, strict=True):
        x = 1.0 + change[k] / size
        total += problem.weight * (x - np.log(x) - 1.0) if x > 0.0 else np.inf
    free = np.setdiff1d(np.arange(len(change)), [*problem.bodies.ravel(), *problem.positive])
    return total + 0.5 * problem.weight * np.square(change[free] / problem.scales[free]).sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_step_from_the_solution_of_the_cone_program_leads_down(seed):
    """No step near by leads down within the cone, by the definition of what is minimised."""
    problem = random_problem(seed, 1, 6, 1.0)
    found = conic(problem).change
    P = pseudo_inertia(problem.inertias[0] + found[:10])
    assert np.linalg.eigvalsh(P)[0] > 0.0
    rng = np.random.default_rng(seed)
    here = square_objective(problem, found)
    for step in 1e-3 * rng.normal(size=(200, 13)):
        assert square_objective(problem, found + step) > here - 1e-6 * abs(here)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_the_cone_program_is_least_squares_where_no_cone_is_touched(size):
    """However much more data say than what is known."""
    problem = random_problem(1, 3, 25, size)
    rng = np.random.default_rng(2)
    problem = replace(problem, r=problem.R @ (0.01 * rng.normal(size=33)))
    metric = np.zeros((33, 33))
    for columns, known in zip(problem.bodies, problem.inertias, strict=True):
        turned = np.linalg.solve(pseudo_inertia(known), BASIS)
        metric[np.ix_(columns, columns)] = np.einsum("kij,lji->kl", turned, turned)
    metric[30:, 30:] = np.eye(3)
    root = np.linalg.cholesky(metric).T
    wanted = np.linalg.lstsq(np.vstack([problem.R, root]), np.r_[problem.r, np.zeros(33)], rcond=None)[0]
    assert np.abs(conic(problem).change - wanted).max() < 1e-5 * np.abs(wanted).max()


def square_objective(problem: Problem, change: np.ndarray) -> float:
    left = problem.R @ change - problem.r
    total = 0.5 * left @ left
    for columns, known in zip(problem.bodies, problem.inertias, strict=True):
        back = np.linalg.inv(pseudo_inertia(known))
        step = back @ pseudo_inertia(change[columns])
        if np.linalg.eigvalsh(pseudo_inertia(known + change[columns]) - 1e-4 * pseudo_inertia(known))[0] < 0.0:
            return np.inf
        total += 0.5 * problem.weight * np.trace(step @ step)
    rest = np.setdiff1d(np.arange(len(change)), problem.bodies.ravel())
    if (1.0 + change[problem.positive] / problem.sizes < 0.0).any():
        return np.inf
    sizes = problem.scales.copy()
    sizes[problem.positive] = problem.sizes
    return total + 0.5 * problem.weight * np.square(change[rest] / sizes[rest]).sum()


def test_filters_delay_nothing():
    t = np.arange(2000) / 500.0
    wave = np.sin(2 * np.pi * 1.3 * t)[:, None]
    assert np.abs(zero_phase(wave, 500.0, 10.0) - wave)[200:-200].max() < 1e-3


def test_few_samples_are_slow_parts_of_many():
    t = np.arange(4000) / 1000.0
    slow, fast = np.sin(2 * np.pi * t), np.sin(2 * np.pi * 200.0 * t)
    for window in windows(len(t), 40):
        few = window.weights @ (slow + fast)[window.start : window.stop]
        assert np.abs(few - slow[window.at]).max() < 5e-3


def test_the_cutoff_lies_above_the_motion_and_below_the_noise():
    t = np.arange(5000) / 500.0
    moved = np.sin(2 * np.pi * 2.0 * t) + 1e-4 * np.random.default_rng(0).normal(size=t.size)
    assert 2.0 < noise_cutoff(moved[:, None], 500.0) < 20.0


def test_derivatives_of_noisy_positions_are_near_the_true_ones():
    arm = rc.robots.panda_like()
    t, _, v, a = motion(arm, 1, rate=500.0)
    whole = log(arm, 1, rate=500.0)
    found = filtered(arm, logs_of(arm, whole)[0], None)
    at = np.searchsorted(t, found.t)
    assert (rms(found.v - v[at]) < 5e-3 * rms(v)).all()
    assert (rms(found.a - a[at]) < 2e-2 * rms(a)).all()


def test_uneven_samples_are_interpolated_and_said_to_be():
    true = with_friction(rc.robots.planar(2))
    t = np.arange(2000) / 200.0 + 0.002 * np.random.default_rng(0).uniform(-1.0, 1.0, 2000)
    series = Series(5.0, 5)
    x, v, a = series.curve(0.2 * np.random.default_rng(3).normal(size=(10, 2)), t)
    found = rc.identify(vaguely(true), {"t": t, "q": x, "tau": true.inverse_dynamics(x, v, a, losses=True)})
    assert any("interpolated" in note for note in found.notes)
    assert (found.held_out.after < 0.02 * found.held_out.measured).all()
