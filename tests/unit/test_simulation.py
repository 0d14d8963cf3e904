"""Simulation: samples, interpolation, events, interruption, keeping and restoring, and what is refused."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import re
import signal
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import central, close
from recursa.integrators import INTEGRATORS, names
from recursa.runs.options import Options
from recursa.simulation.driver import Simulation
from recursa.simulation.equations import Equations, chart_rates, coordinate_rates
from recursa.simulation.events import events_of
from recursa.simulation.forces import torque_function
from recursa.simulation.friction import box_forces
from recursa.simulation.progress import ProgressBar
from recursa.trajectories.bounds import violations
from robot_data import urdf_files
from zoo import mixed_tree, one_of_each, small_mixed_tree


def pendulum(damping: float = 0.0, friction: float = 0.0) -> rc.Robot:
    """A light rod with a point mass of 1 kg at 1 m, hanging at q = 0."""
    b = rc.Builder("pendulum").link("bob", mass=1.0, com=(0, 0, -1), inertia=(0, 0, 0))
    b.joint("pivot", "revolute", parent="world", child="bob", axis=(0, 1, 0), damping=damping, friction=friction)
    return b.build()


# ---- rates of coordinates ----------------------------------------------------------------------------------------


def test_coordinate_rates_match_integrate() -> None:
    robot = one_of_each()
    q, v = robot.random_state(4)
    close(coordinate_rates(robot, q, v), central(lambda h: robot.integrate(q, h * v)), 1e-9)


def test_chart_rates_match_the_motion_they_describe() -> None:
    """``q exp(x(t))`` with x' = chart_rates(x, v) moves with speed v: to fourth order in x, whose term is left out."""
    robot = mixed_tree()
    q, v = robot.random_state(4)
    errors = []
    for size in (0.2, 0.1):
        x = size * np.random.default_rng(0).normal(size=robot.nv)
        rate = chart_rates(robot, x, v)
        here = robot.integrate(q, x)
        moved = central(lambda h: robot.difference(here, robot.integrate(q, x + h * rate)))  # noqa: B023
        errors.append(np.abs(moved - v).max())
    assert errors[0] < 1e-3
    assert 10.0 < errors[0] / errors[1] < 22.0  # 2^4


# ---- samples and interpolation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", names("simulate"))
def test_last_sample_is_at_the_end_and_asked_times_are_met(integrator: str) -> None:
    robot = rc.robots.planar(2)
    q, v = robot.random_state(1)
    options: dict[str, Any] = {"integrator": integrator, "step": 0.013, "rtol": 1e-6}
    every = robot.simulate(q, v, duration=0.1, **options)
    assert every.t[0] == 0.0
    assert every.t[-1] == 0.1
    assert (np.diff(every.t) > 0).all()
    few = robot.simulate(q, v, duration=0.1, save_every=4, **options)
    assert few.t[-1] == 0.1
    assert len(few) < len(every)
    times = [0.0, 0.012, 0.05, 0.0999]
    asked = robot.simulate(q, v, duration=0.1, samples=times, **options)
    assert asked.t.tolist() == times
    even = robot.simulate(q, v, duration=0.1, samples=5, **options)
    close(even.t, np.linspace(0, 0.1, 5), 0.0)
    assert (even.q[-1] == every.q[-1]).all()  # samples do not change the steps
    assert (asked.q[0] == q).all()


@pytest.mark.parametrize("dense", [False, True])
def test_run_between_samples_matches_a_run_with_samples_there(dense: bool) -> None:
    robot = small_mixed_tree()
    q, v = robot.random_state(6)
    times = np.array([0.0, 0.0107, 0.0231, 0.03])
    run = robot.simulate(q, v, duration=0.03, dense=dense, samples=None if dense else 16, rtol=1e-9)
    there = robot.simulate(q, v, duration=0.03, samples=times, rtol=1e-9)
    q_at, v_at = run.at(times)
    close(robot.difference(there.q, q_at), np.zeros((4, robot.nv)), 1e-7)
    close(v_at, there.v, 1e-6)
    one, _ = run.interpolate(0.0107)
    assert one.shape == (robot.nq,)
    assert (one == q_at[1]).all()
    with pytest.raises(rc.StateError, match=r"goes from 0 to 0\.03 s; there is nothing at 0\.2"):
        run.at(0.2)


def test_run_says_what_it_is() -> None:
    run = pendulum().simulate([0.3], duration=0.1)
    assert re.fullmatch(
        r"<Run of 'pendulum' to 0\.1 s: finished, \d+ samples, dop853, \d+ steps, \d+ evaluations, energy drift .*>",
        repr(run),
    )
    assert len(run) == len(run.t) == len(run.tau)
    assert run.statistics["evaluations"] > run.statistics["steps"] > 0
    assert not run.interrupted
    close(run.a[0], pendulum().forward_dynamics([0.3], [0.0], [0.0]), 1e-14)


@pytest.mark.parametrize("dense", [False, True])
def test_run_matches_its_pickle(dense: bool) -> None:
    run = pendulum().simulate([0.3], duration=0.1, dense=dense, events=lambda t, q, v: q[0] - 0.29)
    again = pickle.loads(pickle.dumps(run))
    assert again.robot == run.robot
    assert again.options == run.options
    assert repr(again) == repr(run)
    assert again.events[0].t == run.events[0].t
    assert (again.at(0.05)[0] == run.at(0.05)[0]).all()


def test_plot_draws_the_run(tmp_path: Path) -> None:
    run = pendulum().simulate([0.3], duration=0.01)
    figure = run.plot(tmp_path / "run.png", panels=("angles", "energy"))
    assert (tmp_path / "run.png").stat().st_size > 10_000
    lines = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    assert {"kinetic", "potential", "total"} <= set(lines)
    shown = dict(zip(*lines["total"].get_data(), strict=True))
    close(np.array([shown[t] for t in run.t]), run.energy, 1e-15)


def test_runs_without_time_or_without_joints() -> None:
    run = pendulum().simulate([0.3], [1.0], duration=0.0)
    assert run.t.tolist() == [0.0]
    assert run.at(0.0)[1] == [1.0]
    b = rc.Builder("stone").link("rock", mass=1.0, inertia=(1, 1, 1))
    stone = b.joint("weld", "fixed", parent="world", child="rock").build()
    for integrator in ("dop853", "rk4"):
        run = stone.simulate([], [], duration=1.0, integrator=integrator, step=0.5)
        assert run.t[-1] == 1.0
        assert run.q.shape == (len(run), 0)
        assert run.energy_drift == 0.0


def test_tied_joints_are_simulated() -> None:
    from numeric import tied_gripper

    robot = tied_gripper()
    q, v = robot.random_state(1)
    run = robot.simulate(q, v, duration=0.1)
    assert run.energy_drift < 1e-10


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr("recursa.simulation.progress._PATIENCE", 0.0)
        bar = ProgressBar(True, 10.0)
        bar.update(2.5)
        bar.close()
        assert ("2.5 of 10 s" in stream.getvalue()) == shown
    quiet = Terminal()
    monkeypatch.setattr("sys.stderr", quiet)
    pendulum().simulate([0.1], duration=0.01, progress=False)
    assert quiet.getvalue() == ""


@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_functions_may_change_what_they_are_given(integrator: str) -> None:
    def careless(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q[:] = 7.0
        v *= -0.5
        return v

    options: dict[str, Any] = {"duration": 0.05, "integrator": integrator, "step": 0.01}
    changed = pendulum().simulate([0.3], [1.0], torque=careless, events=lambda *given: careless(*given)[0], **options)
    plain = pendulum().simulate([0.3], [1.0], torque=lambda t, q, v: -0.5 * v, **options)
    assert (changed.q == plain.q).all()


# ---- events ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4", "implicit-midpoint"])
def test_events_are_found_at_their_times(integrator: str) -> None:
    """A body thrown upward: apex and return are known."""
    b = rc.Builder("lift").link("cage", mass=3.0, inertia=(1, 1, 1))
    lift = b.joint("rail", "prismatic", parent="world", child="cage", axis=(0, 0, 1)).build()
    found = lift.simulate(
        [0.0], [4.0], duration=2.0, integrator=integrator, step=0.03,
        events={
            "apex": lambda t, q, v: v[0],
            "ground": rc.Event(lambda t, q, v: q[0], stop=True, direction="falling"),
            "rise": rc.Event(lambda t, q, v: q[0] - 0.5, direction="rising"),
        },
    )  # fmt: skip
    assert [event.name for event in found.events] == ["rise", "apex", "ground"]
    rise, apex, ground = found.events
    close(rise.t, (4.0 - np.sqrt(16.0 - 9.81)) / 9.81, 1e-12)
    close(apex.t, 4.0 / 9.81, 1e-12)
    close(apex.q, [8.0 / 9.81], 1e-12)
    close(ground.t, 8.0 / 9.81, 1e-12)
    assert found.status == "stopped"
    assert "ground" in found.message
    assert found.t[-1] == ground.t
    close(found.v[-1], [-4.0], 1e-11)


def test_event_at_the_start_does_not_count_and_stop_ends_with_a_sample() -> None:
    robot = pendulum()
    run = robot.simulate(
        [0.5], [0.0], duration=3.0, samples=4,
        events=[lambda t, q, v: v[0], rc.Event(lambda t, q, v: 2.0 - t, stop=True, name="late")],
    )  # fmt: skip
    assert [event.name for event in run.events] == ["event1", "late"]
    assert run.t.tolist() == [0.0, 1.0, run.events[-1].t]
    close(run.t[-1], 2.0, 1e-14)


# ---- interruption, errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [None, 5])
def test_interrupt_returns_what_there_is(samples: int | None) -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        if t > 0.5:
            raise KeyboardInterrupt
        return [0.0]

    run = pendulum().simulate([0.3], duration=1.0, torque=torque, samples=samples, step=0.05)
    assert run.interrupted
    assert run.status == "interrupted"
    assert 0.4 < run.t[-1] <= 0.5
    assert run.energy_drift < 1e-9
    full = pendulum().simulate([0.3], duration=1.0, step=0.05)
    close(run.q[-1], full.at(run.t[-1])[0], 1e-7)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals here")
def test_interrupt_from_the_keyboard_ends_a_long_run() -> None:
    main = threading.main_thread()
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(main.ident or 0, signal.SIGINT))
    timer.start()
    run = pendulum().simulate([0.3], duration=1e6, samples=3)
    assert run.interrupted
    assert 0.0 < run.t[-1] < 1e6


def test_interrupt_within_a_callback_of_the_garbage_collector_is_not_lost() -> None:
    """Python drops exceptions that are raised there."""
    calls = [0]

    def collected(phase: str, info: object) -> None:
        if phase == "start":
            signal.raise_signal(signal.SIGINT)

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        calls[0] += 1
        if calls[0] == 50:
            gc.callbacks.append(collected)
            gc.collect(0)
            gc.callbacks.remove(collected)
        return [0.0]

    run = pendulum().simulate([0.3], duration=100.0, torque=torque, integrator="rk4", step=0.01)
    assert run.interrupted
    assert 0.0 < run.t[-1] < 1.0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4", "implicit-midpoint", "semi-implicit"])
def test_torque_that_becomes_nan_is_named(integrator: str) -> None:
    robot = rc.robots.planar(2)

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        return [0.1, 0.0 if t < 0.03 else np.nan]

    with pytest.raises(rc.SimulationError, match=r"the torque of joint 'joint2' at t = 0\.0\d+ s is nan") as caught:
        robot.simulate([0.1, 0.2], [0, 0], duration=0.1, torque=torque, integrator=integrator, step=5e-3)
    assert 0.0 < caught.value.t <= 0.03
    assert caught.value.run.status == "failed"
    assert caught.value.run.t[-1] == caught.value.t
    assert "Check what the torque function returns" in str(caught.value)


def test_runaway_is_an_error_that_names_joint_and_cause() -> None:
    robot = pendulum()
    with pytest.raises(rc.SimulationError, match=r"no step is small enough at t = .*joint 'pivot' is the fastest"):
        robot.simulate([0.1], [1.0], duration=5.0, torque=lambda t, q, v: v**3, rtol=1e-4, atol=1e-4)
    with pytest.raises(rc.SimulationError, match=r"(?s)joint 'pivot'.*step of 0\.2 s is likely too long") as caught:
        robot.simulate([0.1], [1.0], duration=50.0, integrator="rk4", step=0.2, torque=lambda t, q, v: -500.0 * v)
    assert "failed" in repr(caught.value.run)
    with pytest.raises(rc.SimulationError, match=r"cannot start: the torque of joint 'pivot' at t = 0 s is inf"):
        robot.simulate([0.1], [1.0], duration=5.0, torque=lambda t, q, v: [np.inf])


def test_jacobian_that_overflows_is_no_step():
    def torque(t, q, v):
        return [-1e303 * np.sign(q[0] - 0.1)]

    with pytest.raises(rc.SimulationError, match="no step is small enough at t = 0 s"):
        rc.robots.planar(1).simulate([0.1], duration=0.1, integrator="radau", torque=torque)


def slides_and_turns() -> rc.Robot:
    """Beyond about 1e8 m of a slide, rounding leaves the first joint a hinge inertia below zero."""
    b = rc.Builder("slides").link("arm", mass=1.0, com=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.3))
    b.link("carriage", mass=1.0, com=(0.1, 0.2, 0), inertia=(0.1, 0.1, 0.1))
    b.link("left", mass=0.1, com=(0, 0.1, 0.3), inertia=(0.01, 0.01, 0.01))
    b.link("right", mass=0.1, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.01))
    b.joint("turn", "revolute", parent="world", child="arm", axis=(0, 0, 1))
    b.joint("swing", "revolute", parent="arm", child="carriage", axis=(0, 1, 0), xyz=(0.3, 0, 0.1))
    b.joint("open", "prismatic", parent="carriage", child="left", axis=(0, 1, 0), rpy=(0.3, 0.2, 0.1))
    b.joint("close", "prismatic", parent="carriage", child="right", axis=(0, -1, 0), rpy=(0.3, 0.2, 0.1))
    return b.build()


@pytest.mark.parametrize("gain", [1e9, 1e14])
@pytest.mark.parametrize("coordinates", ["joint", "diagonal"])
@pytest.mark.parametrize("integrator", [x for x in names("simulate") if not INTEGRATORS[x].adaptive])
def test_divergence_is_not_blamed_on_the_model(integrator: str, coordinates: str, gain: float) -> None:
    robot = slides_and_turns()
    assert not robot.doctor().findings

    def stiff(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -gain * (q - 0.1) - 0.1 * gain * v

    with pytest.raises(rc.SimulationError, match=r"step of 0\.001 s is likely too long .* how stiff its") as caught:
        robot.simulate(
            robot.neutral(), np.ones(4), duration=1.0, integrator=integrator, torque=stiff, coordinates=coordinates
        )
    run = caught.value.run
    assert run.status == "failed"
    assert run.t[-1] == caught.value.t < 1.0
    assert np.isfinite(run.q).all()
    assert f"t = {caught.value.t:.9g} s" in str(caught.value)


@pytest.mark.skipif(not urdf_files(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("samples", [None, 5])
def test_stiff_control_of_a_real_arm_is_told_to_take_shorter_steps(samples: int | None) -> None:
    panda = rc.load(next(path for path in urdf_files() if path.name == "panda.urdf"))
    with pytest.raises(rc.SimulationError, match=r"(?s)too long for.*'panda_finger_joint1' is the fastest") as caught:
        panda.simulate(
            panda.neutral(),
            duration=0.1,
            integrator="rk4",
            samples=samples,
            torque=lambda t, q, v: 1.0 - 1e4 * q - 1e3 * v,
        )
    assert isinstance(caught.value.__cause__, rc.SingularHingeError)
    assert caught.value.run.t[-1] == caught.value.t == 0.002


@pytest.mark.parametrize("integrator", [x for x in names("simulate") if INTEGRATORS[x].adaptive])
def test_adaptive_steps_come_back_from_states_without_dynamics(integrator: str) -> None:
    """The first step that is tried throws the slides so far that no hinge inertia is left; a shorter one does not."""
    robot = slides_and_turns()
    run = robot.simulate(robot.neutral(), [0, 0, 1e7, 0], duration=1e-6, integrator=integrator, rtol=1e-3, atol=1e3)
    assert run.status == "finished"
    with pytest.raises(rc.SimulationError, match="no step is small enough at t = ") as caught:
        robot.simulate(
            robot.neutral(), np.ones(4), duration=9.0, integrator=integrator, torque=lambda t, q, v: v**3, rtol=1e-3
        )
    assert caught.value.run.t[-1] == caught.value.t > 0.0


def test_singular_hinge_at_the_start_is_still_the_models_fault() -> None:
    b = rc.Builder("light").link("rod", mass=1.0, inertia=(1, 1, 1)).link("tip")
    b.joint("root", "revolute", parent="world", child="rod", axis=(0, 0, 1))
    b.joint("wrist", "revolute", parent="rod", child="tip", axis=(0, 0, 1), xyz=(1, 0, 0))
    robot = b.build(strict=False)
    for integrator in names("simulate"):
        with pytest.raises(rc.SingularHingeError, match="joint 'wrist'"):
            robot.simulate([0, 0], duration=0.1, integrator=integrator)


@pytest.mark.parametrize("integrator", names("simulate"))
@pytest.mark.parametrize("what", ["torque", "wrenches", "events"])
def test_exceptions_of_functions_keep_their_type_and_learn_the_time(integrator: str, what: str) -> None:
    class MineError(ArithmeticError):
        pass

    def function(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        if t > 0.03:
            raise MineError("mine")
        return {"torque": [0.0], "wrenches": np.zeros((2, 6)), "events": 1.0}[what]

    with pytest.raises(MineError, match="mine") as caught:
        pendulum().simulate([0.1], [1.0], duration=0.1, integrator=integrator, step=0.01, **{what: function})
    (note,) = caught.value.__notes__
    found = re.fullmatch(
        r"This came out of (torque=|wrenches=|event 'event1') at t = (\S+) s of the simulation\.", note
    )
    assert found is not None
    assert 0.03 < float(found[2]) <= 0.1


def test_implicit_midpoint_solves_stiff_steps_by_newton() -> None:
    robot = pendulum()
    run = robot.simulate(
        [0.1], [1.0], duration=0.5, integrator="implicit-midpoint", step=0.05, torque=lambda t, q, v: -500.0 * v
    )
    assert abs(run.v[-1, 0]) < 1.0
    assert np.isfinite(run.q).all()


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"duration": -1}, rc.StateError, "duration must be finite and at least 0 s, not -1"),
    ({"duration": "long"}, rc.StateError, "duration must be a number of seconds, not 'long'"),
    ({"duration": np.inf}, rc.StateError, "duration must be finite"),
    ({"integrator": "rk5"}, rc.UnknownNameError, "no integrator 'rk5'. Did you mean 'rk45'"),
    ({"rtol": 0.0}, rc.StateError, "rtol must be finite and at least 2.22e-14"),
    ({"atol": -1.0}, rc.StateError, "atol must be finite and above 0, not -1"),
    ({"atol": 0.0}, rc.StateError, "atol must be finite and above 0, not 0"),
    ({"step": 1e-300}, rc.StateError, "step = 1e-300 s is lost in the rounding of a time of 1 s"),
    ({"step": 1e-300, "integrator": "rk4", "samples": 3}, rc.StateError, "the run would never end"),
    ({"step": 0.0}, rc.StateError, "step must be finite and above 0 s"),
    ({"samples": 1}, rc.StateError, "samples must be at least 2"),
    ({"samples": [0.0, 2.0]}, rc.StateError, r"must lie in 0 .. 1 s; they span 0 .. 2"),
    ({"samples": [0.5, 0.1]}, rc.StateError, "must be finite and rise"),
    ({"samples": [[0.5]]}, rc.ShapeError, r"not of shape \(1, 1\)"),
    ({"samples": "many"}, rc.StateError, "samples must be a whole number or times"),
    ({"save_every": 0}, rc.StateError, "save_every must be a whole number of at least 1"),
    ({"integrator": "rk4", "step": 1e-12}, rc.StateError, "more than fit into 4 GiB"),
    ({"integrator": "rk4", "dense": True}, rc.StateError, "dense=True keeps the interpolants"),
    ({"q0": [0.1, 0.2]}, rc.ShapeError, r"q0 has shape \(2,\), expected \(..., 1\)"),
    ({"q0": [[0.1], [0.2]]}, rc.ShapeError, "a run starts from one state"),
    ({"q0": [np.nan]}, rc.StateError, "q0 has entries that are not finite"),
    ({"v0": [np.inf]}, rc.StateError, "v0 has entries that are not finite"),
    ({"torque": [1.0, 2.0]}, rc.ShapeError, r"torque has shape \(2,\)"),
    ({"torque": "full"}, rc.StateError, "torque must be numbers"),
    ({"torque": lambda t, q, v: None}, rc.ShapeError, r"torque at t = 0 s has shape \(\).*is a return missing"),
    ({"torque": lambda t, q, v: [1, 2]}, rc.ShapeError, r"has shape \(2,\), expected \(1,\)"),
    ({"torque": lambda t, q, v: ["a"]}, rc.StateError, "must be 1 real numbers"),
    ({"torque": lambda t, q, v: [1j]}, rc.StateError, "must be 1 real numbers"),
    ({"events": 3}, rc.StateError, "events must be functions"),
    ({"events": [3]}, rc.StateError, "an event is a function of"),
    ({"events": lambda t, q, v: "x"}, rc.StateError, "event 'event1' at t = 0 s: the function must return one number"),
    ({"events": {"bad": lambda t, q, v: np.nan}}, rc.StateError, "event 'bad' at t = 0 s: the function returned nan"),
    ({"stops": 3}, rc.StateError, "stops must be True, False or rc.Stops"),
    ({"stops": rc.Stops(joints=["elbow"])}, rc.UnknownNameError, "no joint 'elbow'"),
    ({"stops": rc.Stops(joints=["pivot"])}, rc.UnknownNameError, "no joint with limits 'pivot'"),
    ({"wrenches": np.ones((1, 6))}, rc.ShapeError, r"wrenches at t = 0 s have shape \(1, 6\)"),
    ({"wrenches": lambda t, q, v: np.full((2, 6), np.nan)}, rc.StateError, "wrench on link 'world' at t = 0 s"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_with_a_reason(options: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"q0": [0.1], "v0": [0.2], "duration": 1.0, **options}
    with pytest.raises(error, match=message):
        pendulum().simulate(**arguments)


def test_state_at_no_time_is_refused() -> None:
    run = pendulum().simulate([0.1], duration=0.1)
    with pytest.raises(rc.StateError, match="the time must be a number of seconds, or an array of them, not 'end'"):
        run.at("end")


def test_motion_that_starts_late_is_fed_forward_to_its_end() -> None:
    robot = rc.robots.planar(2)
    motion = rc.Trajectory.along([1.0, 2.0, 3.0], [[0.1, 0.2], [0.5, -0.4], [0.3, 0.6]])
    torque = torque_function(robot, motion)
    assert torque is not None
    for t in (0.5, 1.3, 2.6, 3.0, 3.5):
        close(torque(t, np.zeros(2), np.zeros(2)), robot.inverse_dynamics(*motion.sample(t)), 1e-14)


def test_energy_of_a_robot_that_is_held_does_not_drift() -> None:
    robot = rc.robots.ur5_like()
    q, _ = robot.random_state(1)
    run = robot.simulate(q, duration=0.3, torque=lambda t, q, v: robot.gravity_forces(q) - 5.0 * v)
    assert np.abs(run.q - q).max() < 1e-12
    assert run.energy_drift == 0.0
    tiny = pendulum().simulate([1e-6], duration=0.5)  # small, yet a motion: its drift is told
    assert tiny.energy_drift > 0.0


def test_bad_stops_and_directions_are_refused() -> None:
    b = rc.Builder("door").link("leaf", mass=1.0, inertia=(1, 1, 1))
    b.joint("hinge", "revolute", parent="world", child="leaf", axis=(0, 1, 0), limits=(-1.0, 0.5))
    for stops, message in (
        (rc.Stops(stiffness=-1.0), "stiffness of stops of joint .* is -1; it must be at least 0 and finite"),
        (rc.Stops(damping="much"), "damping of stops must be numbers"),  # type: ignore[arg-type]
    ):
        with pytest.raises(rc.StateError, match=message):
            b.build().simulate([0.0], duration=0.1, stops=stops)
    with pytest.raises(rc.UnknownNameError, match="no direction of an event 'up'"):
        rc.Event(lambda t, q, v: t, direction="up")  # type: ignore[arg-type]


# ---- limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_limits_are_found_between_samples(integrator: str) -> None:
    """A swing through 0 to the other side and back, in few samples: it goes further between two of them."""
    b = rc.Builder("swing").link("bob", mass=1.0, com=(0, 0, -1), inertia=(0, 0, 0))
    b.joint(
        "pivot", "revolute", parent="world", child="bob", axis=(0, 1, 0), limits=(-0.1, 0.3), velocity=0.5, effort=2.0
    )
    run = b.build().simulate([0.2], duration=2.0 * np.pi / np.sqrt(9.81), integrator=integrator, samples=12)
    at_samples = violations(run.robot, run.t, run.q, run.v, run.tau)
    position, faster, slower = run.violations
    assert (position.joint, position.quantity, position.limit) == ("pivot", "position", -0.1)
    assert position.value == pytest.approx(-0.2, abs=1e-4)
    assert position.value < at_samples[0].value - 1e-3
    assert position.first == pytest.approx(np.arccos(-0.5) / np.sqrt(9.81), abs=0.01)
    assert {faster.quantity, slower.quantity} == {"velocity"}
    pushed = run.robot.simulate([0.1], duration=0.1, torque=[3.0], integrator=integrator)
    assert [one.quantity for one in pushed.violations] == ["effort"]


# ---- keeping and restoring ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", names("simulate"))
def test_run_restored_halfway_equals_the_uninterrupted_one_to_the_bit(integrator: str) -> None:
    robot = pendulum(damping=0.1, friction=0.4)
    step = None if INTEGRATORS[integrator].adaptive else 0.02
    options = Options.of(
        robot.model, duration=1.2, integrator=integrator, rtol=1e-6, atol=1e-7, step=step, progress=False
    )

    def fresh() -> Simulation:
        equations = Equations(robot, torque_function(robot, lambda t, q, v: [0.1 * np.sin(3 * t)]))
        return Simulation(equations, np.array([1.2]), np.array([0.5]), options, events_of(lambda t, q, v: q[0]))

    whole = fresh().run()
    first = fresh()
    while first.stepper.t < 0.7:
        first.step()
    kept = copy.deepcopy(first.state())
    first.step()  # what is kept does not change any more
    second = fresh()
    second.restore(kept)
    resumed = second.run()
    for name in ("t", "q", "v", "a", "tau", "work", "lost"):
        assert (getattr(resumed, name) == getattr(whole, name)).all(), name
    assert resumed.events[-1].t == whole.events[-1].t
    assert resumed.statistics["steps"] == whole.statistics["steps"]
    assert resumed.statistics["evaluations"] == whole.statistics["evaluations"]


# ---- friction ----------------------------------------------------------------------------------------------------


def test_box_forces_solve_the_complementarity_problem() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 9):
        for _ in range(5):
            root = rng.normal(size=(size, size))
            W, a0, low, high = root @ root.T + 0.1 * np.eye(size), *rng.normal(size=(3, size))
            low, high = -np.abs(low), np.abs(high)
            force = box_forces(W, a0, low, high)
            a = a0 + W @ force
            assert ((force >= low) & (force <= high)).all()
            inside = (force > low) & (force < high)
            close(a[inside], np.zeros(inside.sum()), 1e-12)
            assert (a[force == low] >= 0.0).all()
            assert (a[force == high] <= 0.0).all()


def test_box_forces_with_a_singular_matrix() -> None:
    """Joints of a loop: torques are not unique, accelerations are; some of these no torque can take away."""
    rng = np.random.default_rng(1)
    for size, rank in ((2, 1), (5, 2), (12, 6), (8, 0)):
        for k in range(20):
            root = rng.normal(size=(size, rank))
            W, bound = root @ root.T, rng.uniform(0.1, 1.0, (2, size))
            reachable = W @ rng.uniform(-bound[0], bound[1]) * rng.choice([0.5, 1.0, 3.0])
            a0 = reachable if k % 2 else reachable + 0.3 * rng.normal(size=size)
            force = box_forces(W, a0, -bound[0], bound[1])
            a = a0 + W @ force
            assert ((force >= -bound[0]) & (force <= bound[1])).all()
            assert (a[force > -bound[0]] <= 1e-11).all()
            assert (a[force < bound[1]] >= -1e-11).all()


def gripper(**options) -> rc.Robot:
    b = rc.Builder("gripper")
    for side, mimic in (("left", None), ("right", ("left_finger", 1.0, 0.0))):
        b.link(side, mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
        b.joint(
            f"{side}_finger", "prismatic", parent="world", child=side, axis=(0, 0, 1), limits=(0.0, 0.04), mimic=mimic
        )
    return b.build(**options)


def test_a_finger_that_falls_out_of_its_range_is_told():
    with pytest.warns(rc.LimitWarning, match=r"finger.*stops=True") as caught:
        run = gripper().simulate([0.02, 0.0], duration=1.0)
    assert len(caught) == 1
    assert run.q[-1, 1] < -4.0
    assert "mimic='tie'" in str(caught[0].message)


@pytest.mark.parametrize("options", [{"stops": True}, {"duration": 0.05}])
def test_joints_that_are_held_or_near_their_limits_are_no_news(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", rc.LimitWarning)
        gripper(mimic="tie").simulate([0.02], **{"duration": 0.5, **options})
