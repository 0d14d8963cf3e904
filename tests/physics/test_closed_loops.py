"""Controllers in the native loop of a rollout: the motions that simulate makes, row by row, of every kind of robot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close, same_bits, states, tied_gripper
from questions import Standing, interpreted
from recursa.kernels.dispatch import Switch
from zoo import elastic_arm, large_flyer, lossy_arm, one_of_each, small_mixed_tree

pytestmark = pytest.mark.compiled
ARM = rc.robots.ur5_like()
HOME = np.array([0.4, -1.1, 1.2, -0.3, 0.8, 0.2])
MOTION = rc.Trajectory.cycloid(HOME, HOME + 0.3, T=1.0)
POSE = ARM.pose(HOME, "link6")
K, D = np.array([90.0, 80, 60, 4, 3, 2]), np.array([9.0, 8, 6, 0.3, 0.2, 0.1])
WEIGHTS, DAMPERS = [4.0] * 3 + [90.0] * 3, [0.2] * 3 + [9.0] * 3
C = rc.control
LAWS: dict[str, Any] = {
    "GravityPD": lambda: C.GravityPD(ARM, HOME, K, D),
    "GravityPD moving": lambda: C.GravityPD(ARM, MOTION, np.diag(K) + 0.1, D, effort=40.0, gravity=False),
    "RateDamping": lambda: C.RateDamping(ARM, 2.0),
    "PoseRegulator": lambda: C.PoseRegulator(ARM, "link6", POSE, stiffness=20.0, damping=4.0),
    "ComputedTorque": lambda: C.ComputedTorque(ARM, MOTION, 100.0, effort=30.0),
    "ComputedTorque matrix": lambda: C.ComputedTorque(ARM, MOTION, np.eye(6) * 100 + 1, 20.0),
    "LinearQuadratic": lambda: C.LinearQuadratic(ARM, MOTION, knots=5),
    "OperationalSpace": lambda: C.OperationalSpace(ARM, "link6", POSE, 100.0, posture=HOME, losses=True),
    "OperationalSpace position": lambda: C.OperationalSpace(ARM, "link6", MOTION, 100.0, coordinates="position"),
    "Impedance": lambda: C.Impedance(ARM, "link6", POSE, WEIGHTS, DAMPERS),
    "Impedance posture": lambda: C.Impedance(
        ARM, "link6", MOTION, np.diag(WEIGHTS) + 1.0, DAMPERS, posture=HOME, gravity=False
    ),
    "Admittance": lambda: C.Admittance(ARM, "link6", POSE, lambda t: [0.1, 0, t, 3, 0, 9], 2.0, 90.0, 30.0, 400.0),
    "Adaptive": lambda: C.Adaptive(ARM, MOTION, 6.0, D, 0.02),
    "Adaptive natural": lambda: C.Adaptive(ARM, MOTION, 6.0, D, 0.02, method="natural", adapt=["link6"]),
    "Adaptive bounded": lambda: C.Adaptive(
        ARM, MOTION, 6.0, D, 0.05, bounds=(ARM.parameters - 1e-4, ARM.parameters + 1e-4)
    ),
}
STEP, STEPS = 5e-4, 12


def near_home(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return HOME + 0.1 * rng.normal(size=(rows, 6)), 0.2 * rng.normal(size=(rows, 6))


def like_simulate(
    law: Any, robot: rc.Robot, q: Any, v: Any, found: Any, integrator: str, row: int, step: float
) -> None:
    duration = step * found[0].shape[1]
    run = robot.simulate(q[row], v[row], duration=duration, torque=law, integrator=integrator, step=step, losses=False)
    close(found[0][row], run.q[1:], 1e-12)
    close(found[1][row], run.v[1:], 1e-11)
    if law.memory:
        close(found[2][row], run.memory[1:], 1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_rollout_of_a_controller_is_simulate(name: str) -> None:
    """Also where a torque is cut off, and for what is remembered."""
    law = LAWS[name]()
    q, v = near_home(5)
    for integrator in ("rk4", "semi-implicit") if name in ("GravityPD", "Adaptive") else ("rk4",):
        found = rc.rollout(ARM, q, v, law, STEP, STEPS, integrator, losses=False, memory=law.memory > 0)
        assert all(kernel is not None for store in ARM.evaluator.stores for kernel in store._rollouts.values())
        like_simulate(law, ARM, q, v, found, integrator, 3, STEP)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GravityPD", "Impedance", "Adaptive"])
def test_rollout_of_4096_copies_is_as_many_simulations(name: str) -> None:
    law = LAWS[name]()
    q, v = near_home(4096)
    found = rc.rollout(ARM, q, v, law, STEP, 5, losses=False, memory=law.memory > 0, threads=2)
    for row in range(4096):
        like_simulate(law, ARM, q, v, found, "rk4", row, STEP)


# ---- every kind of robot ---------------------------------------------------------------------------------------------


def laws_of(robot: rc.Robot) -> list[Any]:
    """Laws for a robot with any joints."""
    q, link = robot.neutral(), robot.model.joints[-1].child
    found = [
        C.GravityPD(robot, Standing(robot), 3.0, 0.1, drive_base=True),
        C.ComputedTorque(robot, Standing(robot), 9.0, drive_base=True, effort=5.0),
        C.Impedance(robot, link, robot.pose(q, link), 3.0, 0.1, drive_base=True),
        C.Adaptive(robot, Standing(robot), 2.0, 0.1, 1e-3, drive_base=True),
    ]
    if not robot.evaluator.subject.tied:
        found.append(C.RateDamping(robot, 1.0, drive_base=True))
    return found


ROBOTS: dict[str, Any] = {
    "small_mixed_tree": (small_mixed_tree, "straight"),
    "one_of_each, 14 bodies": (one_of_each, "loop"),
    "chain of 19": (lambda: rc.robots.chain(19, seed=2), "loop"),
    "large_flyer, 40 bodies": (large_flyer, "loop"),
    "elastic_arm": (elastic_arm, "straight"),
    "lossy_arm": (lossy_arm, "straight"),
    "tied_gripper": (tied_gripper, None),
}
EVERYDAY = ("small_mixed_tree", "one_of_each, 14 bodies", "tied_gripper", "elastic_arm")


@pytest.mark.parametrize("name", [x if x in EVERYDAY else pytest.param(x, marks=pytest.mark.slow) for x in ROBOTS])
def test_native_law_is_the_law_on_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled in either form and interpreted, in steps so short that nothing grows."""
    make, form = ROBOTS[name]
    if form is not None:
        monkeypatch.setattr(Switch, "form", form)
    robot = make()
    q, v, _ = states(robot, 3)
    for law in laws_of(robot):

        def ask(law: Any = law) -> Any:
            return rc.rollout(robot, q, v, law, 1e-4, 2, memory=law.memory > 0)

        for one, other in zip(ask(), interpreted(ask), strict=True):
            close(one, other, 1e-10, f"{name}, {law}")


@pytest.mark.parametrize("form", ["straight", "loop"])
def test_row_depends_neither_on_its_place_nor_on_threads(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "form", form)
    arm = rc.robots.planar(2)
    law = C.Adaptive(arm, rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0), 4.0, 2.0, 0.1)
    q, v = np.random.default_rng(1).normal(size=(2, 11, 2))
    gains = {"damping": np.linspace(1.0, 3.0, 11)[:, None]}
    found = rc.rollout(arm, q, v, law, 1e-3, 6, memory=True, gains=gains)
    alone = rc.rollout(arm, q[7], v[7], law.with_gains(damping=gains["damping"][7]), 1e-3, 6, memory=True)
    again = rc.rollout(arm, q, v, law, 1e-3, 6, memory=True, gains=gains, threads=3)
    for one, other, third in zip(found, alone, again, strict=True):
        same_bits(one[7], other)
        same_bits(one, third)


def test_single_precision() -> None:
    law = C.GravityPD(ARM, HOME, K, D)
    q, v = near_home(9)
    single = rc.rollout(ARM, q.astype(np.float32), v.astype(np.float32), law, STEP, STEPS)
    double = rc.rollout(ARM, q, v, law, STEP, STEPS)
    assert single[0].dtype == np.float32
    close(single[0], double[0], 1e-5)
    close(single[1], double[1], 1e-3)


# ---- rows that differ ------------------------------------------------------------------------------------------------


def test_rows_with_gains_postures_limits_and_payloads_of_their_own() -> None:
    law = C.GravityPD(ARM, HOME, K, D, effort=60.0)
    q, v = near_home(4)
    rng = np.random.default_rng(6)
    gains = {
        "stiffness": K * rng.uniform(0.5, 1.5, size=(4, 6)),
        "damping": D * rng.uniform(0.5, 1.5, size=(4, 1)),
        "target": HOME + 0.2 * rng.normal(size=(4, 6)),
        "effort": rng.uniform(20.0, 60.0, size=(4, 1)),
    }
    heavier = [ARM.with_payload("link6", mass) for mass in (0.5, 1.0, 1.5, 2.0)]
    parameters = np.array([one.parameters for one in heavier])
    found = rc.rollout(ARM, q, v, law, STEP, STEPS, gains=gains, parameters=parameters, losses=False)
    for row in (0, 3):
        own = law.with_gains(**{name: x[row] for name, x in gains.items()})
        like_simulate(own, heavier[row], q, v, found, "rk4", row, STEP)


def test_estimates_may_start_differently_in_every_row() -> None:
    law = LAWS["Adaptive"]()
    q, v = near_home(3)
    start = ARM.parameters * np.array([0.9, 1.0, 1.2])[:, None]
    *_, memory = rc.rollout(ARM, q, v, law, STEP, 2, gains={"estimate": start}, memory=True)
    close(memory[:, 0], start, 1e-2)
    assert np.abs(memory[0, 0] - memory[1, 0]).max() > 0.1


def test_controller_of_another_model_drives_the_robot() -> None:
    """The robot carries what its controller does not know of."""
    loaded = ARM.with_payload("link6", 2.0)
    law = LAWS["ComputedTorque"]()
    q, v = near_home(3)
    like_simulate(law, loaded, q, v, rc.rollout(loaded, q, v, law, STEP, STEPS, losses=False), "rk4", 1, STEP)


def test_one_law_with_other_numbers_is_the_same_code() -> None:
    arm = rc.robots.planar(2)
    for gain in (3.0, 4.0):
        rc.rollout(arm, [0.0, 0.0], [0.0, 0.0], C.GravityPD(arm, [0.1, gain], gain, 1.0), 1e-3, 2)
    assert sum(len(store._rollouts) for store in arm.evaluator.stores) == 1


class Braking(C.Law):
    """A law of someone else, with a number that is not among its gains."""

    def __init__(self, robot: rc.Robot, brake: float) -> None:
        super().__init__(robot)
        self.brake = brake

    def law(self, on: Any, q: Any, v: Any, gains: Any, sample: Any, memory: Any) -> Any:
        return on.apply(lambda x: [-self.brake * y for y in x], self.robot.nv, v), None


def test_law_of_ones_own_is_compiled_for_itself() -> None:
    q, v = near_home(3)
    for brake in (0.1, 0.2):
        law = Braking(ARM, brake)
        like_simulate(law, ARM, q, v, rc.rollout(ARM, q, v, law, STEP, STEPS, losses=False), "rk4", 1, STEP)

    class Powers(Braking):
        def law(self, on: Any, q: Any, v: Any, gains: Any, sample: Any, memory: Any) -> Any:
            return on.apply(lambda x: [-(y**0.5) for y in x], 6, v), None

    class Fewer(Braking):
        def law(self, on: Any, q: Any, v: Any, gains: Any, sample: Any, memory: Any) -> Any:
            return on.apply(lambda x: x[:2], 6, v), None

    class Silent(Braking):
        law = C.Law.law

    for kind, message in (
        (Powers, "cannot be followed"),
        (Fewer, "2 numbers, and 6"),
        (Silent, "does not say its law"),
    ):
        with pytest.raises(rc.RecursaError, match=message):
            rc.rollout(ARM, q, v, kind(ARM, 1.0), STEP, 2)


def test_results_into_arrays_that_are_given() -> None:
    law = LAWS["Adaptive"]()
    q, v = near_home(2)
    out = tuple(np.empty((2, 2, n)) for n in (6, 6, 60))
    found = rc.rollout(ARM, q, v, law, STEP, 2, memory=True, out=out)
    assert all(x is y for x, y in zip(found, out, strict=True))
    with pytest.raises(rc.ShapeError, match="three arrays"):
        rc.rollout(ARM, q, v, law, STEP, 2, memory=True, out=out[:2])


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_gains_that_are_too_stiff_for_the_step_are_named() -> None:
    law = C.GravityPD(ARM, HOME, K, 1e4)
    q, v = near_home(3)
    with pytest.raises(rc.DivergenceError, match=r"(?s)in row 0 .* check torques, gains"):
        rc.rollout(ARM, q, v, law, STEP, 400)
    gains = {"damping": np.array([1.0, 1e4, 1.2])[:, None] * D}
    found, _ = rc.rollout(ARM, q, v, LAWS["GravityPD"](), STEP, 400, gains=gains, on_divergence="nan")
    assert np.isnan(found[1, -1]).all()
    assert np.isfinite(found[[0, 2]]).all()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"torque": lambda t, q, v: q}, rc.StateError, r"(?s)called at every step.*rc\.control\.Law"),
        ({"torque": MOTION}, rc.StateError, "called at every step"),
        ({"torque": None, "gains": {"stiffness": 1.0}}, rc.StateError, "torque= is none"),
        ({"gains": [1.0]}, rc.StateError, "arrays by name"),
        ({"gains": {"stifness": 1.0}}, rc.RecursaError, "Did you mean 'stiffness'"),
        ({"gains": {"stiffness": np.ones((3, 5))}}, rc.ShapeError, r"expected \(\.\.\., 6\), or \(\.\.\., 1\)"),
        ({"gains": {"stiffness": np.ones((2, 6))}}, rc.ShapeError, r"expected \(3, 6\): as many rows"),
        ({"gains": {"stiffness": -1.0}}, rc.StateError, "must not be negative"),
        ({"gains": {"stiffness": np.nan}}, rc.StateError, "must be finite"),
        ({"memory": True}, rc.StateError, "no controller that remembers"),
        ({"torque": C.RateDamping(rc.robots.planar(2), 1.0)}, rc.StateError, "whose joints are others"),
    ],
)
def test_what_a_rollout_does_not_take(given: dict[str, Any], error: type[Exception], message: str) -> None:
    q, v = near_home(3)
    with pytest.raises(error, match=message):
        rc.rollout(ARM, q, v, **{"torque": LAWS["GravityPD"](), "step": STEP, "steps": 2} | given)


def test_motion_that_is_not_finite_is_found_before_the_loop() -> None:
    class Broken(Standing):
        def sample(self, t: float) -> Any:
            q, v, a = self.found
            return q, v, a + (np.nan if t > 2e-3 else 0.0)

    q, v = near_home(2)
    with pytest.raises(rc.StateError, match=r"not finite at t = 0\.00[23]"):
        rc.rollout(ARM, q, v, C.ComputedTorque(ARM, Broken(ARM), 9.0), 1e-3, 6)


def test_too_many_samples_are_refused() -> None:
    with pytest.raises(rc.TooLargeError, match="take the motion in parts"):
        rc.rollout(ARM, HOME, 0 * HOME, LAWS["ComputedTorque"](), 1e-3, 10**8, save_every=10**8)
