"""Joints that have nothing to move, where rounding hides it; robots without any masses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import recursa as rc
from every_plan import every_plan, robot
from recursa.dynamics.needs import needs_hinges
from recursa.dynamics.requirements import Lacking
from recursa.kernels.dispatch import Switch
from recursa.sweeps import run

AXIS = (0.36, 0.48, 0.8)
SOLID: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)}
FORWARD = ("articulated", "four-sweep", "four-sweep-links", "three-sweep", "three-sweep-bias", "composite", "denoc",
           "diagonal", "base-invariant", "conjugate-gradients", "least-squares")  # fmt: skip


def made(builder: rc.Builder, **options: Any) -> rc.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return builder.build(**{"strict": False, **options})


def point_on_a_ball() -> rc.Robot:
    """A point mass resists only two of the three turns about a point beside it."""
    b = rc.Builder("point").link("bob", mass=1.3, com=(0.1, 0.2, 0.3))
    return made(b.joint("ball", "spherical", parent="world", child="bob"))


def massless_base() -> rc.Robot:
    """A free base without mass that carries an arm can turn about the arm's first axis for nothing."""
    b = rc.Builder("bare").link("bus").link("upper", **SOLID).link("lower", **SOLID)
    b.joint("root", "free", parent="world", child="bus")
    b.joint("one", "revolute", parent="bus", child="upper", axis=AXIS, xyz=(0.3, 0.1, 0.2))
    return made(b.joint("two", "revolute", parent="upper", child="lower", axis=(0, 1, 0), xyz=(0.3, 0.1, 0.2)))


def idle_tie() -> rc.Robot:
    """Two tied joints of which only the idle one turns: the reduced mass matrix has a zero."""
    b = (
        rc.Builder("tied")
        .link("arm", **SOLID)
        .link("hand", mass=0.3, com=tuple(0.1 * x for x in AXIS))
        .link("side", **SOLID)
    )
    b.joint("turn", "revolute", parent="world", child="arm", axis=AXIS, xyz=(0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    b.joint("spin", "revolute", parent="arm", child="hand", axis=AXIS, rpy=(0.3, 0.1, 0.7))
    b.joint("other", "revolute", parent="world", child="side", mimic=("spin", 0.0, 0.0))
    return made(b, mimic="tie")


ROBOTS = {"point": point_on_a_ball, "base": massless_base, "tie": idle_tie}
QUESTIONS: dict[str, Callable[[rc.Robot, Any, Any], Any]] = {
    **{method: lambda r, q, v, m=method: r.forward_dynamics(q, v, v, method=m) for method in FORWARD},
    "with links": lambda r, q, v: r.forward_dynamics(q, v, v, links=True),
    "with losses": lambda r, q, v: r.forward_dynamics(q, v, v, losses=True),
    "composite, of methods": lambda r, q, v: r.forward_dynamics(q, v, v, method="composite", mass="denoc"),
    "mass_matrix_inverse": lambda r, q, v: r.mass_matrix_inverse(q),
    "factorization": lambda r, q, v: r.factorization(q),
    "forward_dynamics_derivatives": lambda r, q, v: r.forward_dynamics_derivatives(q, v, v),
    "state_space": lambda r, q, v: r.state_space(q, v, v),
    "operational_compliance": lambda r, q, v: r.operational_compliance(q, r.link_names[-1]),
    "operational_inertia": lambda r, q, v: r.operational_inertia(q, r.link_names[-1]),
    "total_rates": lambda r, q, v: r.diagonal.total_rates(q, v),
    "rollout": lambda r, q, v: rc.rollout(r, q, v, None, 1e-3, 2),
    "simulate": lambda r, q, v: r.simulate(np.atleast_2d(q)[0], np.atleast_2d(v)[0], duration=0.01),
    "compiled expression": lambda r, q, v: rc.compile(r.operators.mass.inverse()).matrix(q),
    "dense P": lambda r, q, v: rc.dense(r.operators.P, q),
}


def asked(question: str, robot: rc.Robot, batch: int | None) -> None:
    """The question raises, or is none for this robot."""
    rng = np.random.default_rng(3)
    states = [robot.random_state(rng) for _ in range(batch or 1)]
    q, v = (np.array(x) if batch else np.array(x[0]) for x in zip(*states, strict=True))
    try:
        with np.errstate(all="ignore"):
            answer = QUESTIONS[question](robot, q, v)
    except rc.SingularHingeError as error:
        joint = {"point": "ball", "bare": "root", "tied": "spin"}[robot.name]
        assert f"joint '{joint}': hinge inertia D is" in str(error)
        return
    except rc.NoSweepError:
        return  # a method that is not for this robot
    raise AssertionError(f"{question} answered: {answer}")


@pytest.mark.parametrize("batch", [None, 6])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ROBOTS)
def test_hinge_that_is_zero_but_for_rounding_is_refused(name: str, question: str, batch: int | None) -> None:
    asked(question, ROBOTS[name](), batch)


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("name", ROBOTS)
def test_compiled_questions_refuse_as_well(name: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "form", form)
    for question in QUESTIONS:
        for batch in (None, 6):
            asked(question, ROBOTS[name](), batch)


def test_what_does_not_divide_by_hinges_still_answers() -> None:
    robot = massless_base()
    q, v = robot.random_state(1)
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, v), M @ v + robot.bias_forces(q, v), rtol=1e-9)


@pytest.mark.parametrize("method", [m for m in FORWARD if m != "base-invariant"])
def test_parameters_are_judged_state_by_state(method: str) -> None:
    b = rc.Builder("ball").link("bob", **SOLID).joint("ball", "spherical", parent="world", child="bob")
    robot = b.build()
    q, v = robot.random_state(2)
    sound = np.array([x for inertia in robot.model.inertias for x in inertia.components()])
    point = np.array([x for inertia in point_on_a_ball().model.inertias for x in inertia.components()])
    plain = robot.forward_dynamics(q, v, v, method=method)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, v, parameters=sound, method=method), plain, rtol=1e-9)
    with pytest.raises(rc.SingularHingeError, match=r"(?s)joint 'ball': hinge inertia D is.*in parameters="):
        robot.forward_dynamics(q, v, v, parameters=np.array([sound, point, sound]), method=method)


@pytest.mark.parametrize("name", [name for name, plan in every_plan().items() if not needs_hinges(plan)])
def test_plan_that_divides_by_hinges_says_so(name: str) -> None:
    """On a robot whose last joint has nothing to move, a plan without the mark gives nothing that is not finite."""
    plan, model = every_plan()[name], robot().model
    inertias = [*model.inertias]
    idle = [k for k in range(model.nbodies) if all(joint.parent != k for joint in model.joints)]
    for k in idle:
        inertias[k] = type(inertias[k]).zero()
    model = type(model)(**{**{f: getattr(model, f) for f in model.__dataclass_fields__}, "inertias": tuple(inertias)})
    rng = np.random.default_rng(5)
    q, v = robot().random_state(rng)
    sizes = {"q": q, "q1": q, "v": v, "a": v, "tau": v, "wrench": rng.normal(size=6 * len(model.links))}
    sizes["frame:pose"] = np.eye(4).ravel()
    named = {"joint": model.nv, "body": 6 * model.nbodies, "tip": 6}
    given = {n: sizes[n] if n in sizes else rng.normal(size=named[n.split(":")[0]]) for n in plan.inputs}
    inputs = {n: list(map(float, x)) for n, x in given.items()}
    try:
        run(plan, robot().model, inputs)
    except (ValueError, AttributeError):
        pytest.skip("for robots whose joints turn or slide about axes of their frames")
    values = run(plan, model, inputs)
    for kept in (*values.lists.values(), values.robot):
        assert np.isfinite(numbers(kept)).all(), f"{name} divides by a hinge inertia and does not say so"


def numbers(value: Any) -> list[float]:
    """All floats in nested tuples, lists and mappings."""
    if isinstance(value, float | int | np.floating):
        return [float(value)]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for item in value for x in numbers(item)] if isinstance(value, tuple | list) else []


# ---- no masses at all ------------------------------------------------------------------------------------------------

KINEMATICS_ONLY = """<robot name="bare6">
  <link name="base"/> <link name="a"><visual><geometry><box size="1 1 1"/></geometry></visual></link> <link name="b"/>
  <joint name="one" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="0" velocity="1"/></joint>
  <joint name="two" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.5 0 0"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="0" velocity="1"/></joint>
</robot>"""


def kinematics_only() -> rc.Robot:
    with pytest.warns(rc.ModelWarning, match="none of its moving links has mass or inertia"):
        return rc.load(KINEMATICS_ONLY)


def test_robot_without_masses_loads_and_has_kinematics() -> None:
    robot = kinematics_only()
    assert [(f.severity, f.code) for f in robot.doctor()] == [("warning", "no-masses")]
    np.testing.assert_allclose(robot.pose([np.pi / 2, 0.25], "b")[:3, 3], [0, 0.75, 1], atol=1e-15)
    np.testing.assert_allclose(
        robot.jacobian([0.0, 0.0], "b", frame="mixed")[3:], [[0, 1], [0.5, 0], [0, 0]], atol=1e-15
    )
    assert robot.regressor([0.1, 0.2], [1.0, 1.0], [1.0, 1.0]).shape == (2, 20)
    assert robot.joint_losses([1.0, 1.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda r, x: r.inverse_dynamics(x, x, x),
        lambda r, x: r.inverse_dynamics(x, x, x, method="augmented"),
        lambda r, x: r.inverse_dynamics(x, x, x, method="denoc"),
        lambda r, x: r.forward_dynamics(x, x, x),
        lambda r, x: r.mass_matrix(x),
        lambda r, x: r.bias_forces(x, x),
        lambda r, x: r.gravity_forces(x),
        lambda r, x: r.kinetic_energy(x, x),
        lambda r, x: r.potential_energy(x),
        lambda r, x: r.center_of_mass(x),
        lambda r, x: r.coriolis_matrix(x, x),
        lambda r, x: r.simulate(x, duration=0.1),
    ],
)
def test_first_question_that_needs_masses_raises_in_the_words_of_the_doctor(ask: Callable[..., Any]) -> None:
    robot = kinematics_only()
    (finding,) = robot.doctor()
    with pytest.raises((rc.ModelError, rc.SingularHingeError)) as refused:
        ask(robot, np.array([0.1, 0.2]))
    assert finding.reason in str(refused.value) and finding.fix in str(refused.value)


def test_parameters_stand_in_for_masses() -> None:
    robot = kinematics_only()
    x = np.array([0.1, 0.2])
    whole = rc.load(
        KINEMATICS_ONLY.replace('<link name="b"/>', '<link name="b"><inertial><mass value="2"/></inertial></link>')
    )
    parameters = [0.0] * 10 + [2.0] + [0.0] * 9
    np.testing.assert_allclose(robot.inverse_dynamics(x, x, x, parameters=parameters), whole.inverse_dynamics(x, x, x))
    np.testing.assert_allclose(robot.forward_dynamics(x, x, x, parameters=parameters), whole.forward_dynamics(x, x, x))


def test_parameters_go_with_states_of_any_form() -> None:
    arm = rc.robots.planar(2)
    own = np.array([x for inertia in arm.model.inertias for x in inertia.components()])
    q, v = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    plain = arm.forward_dynamics(q, v, v)
    named = dict(zip(arm.joint_names, q, strict=True))
    np.testing.assert_allclose(arm.forward_dynamics(named, v, v, parameters=own), plain, rtol=1e-12)
    np.testing.assert_allclose(arm.forward_dynamics(q + 0j, v, v, parameters=own), plain, rtol=1e-12)
    single = [x.astype(np.float32) for x in (q, v, v)]
    answer = arm.forward_dynamics(*single, parameters=own.astype(np.float32))
    assert answer.dtype == np.float32
    np.testing.assert_allclose(answer, plain, rtol=1e-4)


def test_robot_with_armature_for_every_joint_is_not_without_inertia() -> None:
    text = KINEMATICS_ONLY.replace("<limit", '<dynamics armature="0.1"/><limit')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        robot = rc.load(text)
    assert not Lacking.of(robot.model).massless
    assert robot.mass_matrix([0.1, 0.2]).tolist() == [[0.1, 0.0], [0.0, 0.1]]


def test_parameters_of_single_calls_are_judged_every_time():
    """A ball with inertia, then a point mass off its centre: what was learned of the first does not hide it."""
    b = rc.Builder("ball").link("b", mass=1.0, com=(0.3, 0.1, 0.2), inertia=(0.1, 0.1, 0.1))
    robot = b.joint("s", "spherical", parent="world", child="b").build()
    (q, v), tau, c = robot.random_state(1), np.ones(3), np.array([0.3, 0.1, 0.2])
    solid = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    moment = c @ c * np.eye(3) - np.outer(c, c)
    point = np.array([1.0, *c, *moment[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
    for _ in range(2):
        assert np.isfinite(robot.forward_dynamics(q, v, tau, parameters=solid)).all()
    for _ in range(2):
        with pytest.raises(rc.SingularHingeError, match="joint 's'"):
            robot.forward_dynamics(q, v, tau, parameters=point)
