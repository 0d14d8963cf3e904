"""Matrices of large robots by walks: as plans and as compiled loops, against dense algebra and complex steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import recursa as rc
from dense_robot import DenseRobot
from looped_results import ASKED, DIVIDING, by_kernel, by_walks, every_input, kernel_of, way
from numeric import close, complex_step, same_bits, states, tied_gripper
from questions import answered, interpreted
from recursa.loading import trusted
from recursa.robots import random_description
from zoo import ALL_KINDS, flyer, large_flyer, one_of_each, pendulum, with_rotors

# ---- robots ----------------------------------------------------------------------------------------------------------


def forest() -> rc.Robot:
    """Several trees at the world, one of them a single body, one on a free joint; armature on every freedom."""
    parents = [-1, 0, 1, 1, -1, 4, 4, 5, -1, -1, 9, 9, 10, 12]
    kinds = ["revolute", "prismatic", "spherical", "helical", "free", "planar"]
    description = random_description("forest", parents, 4, kinds)
    return trusted(replace(description, joints=with_rotors(description.joints)))


def pendulums() -> rc.Robot:
    """Fourteen bodies, no two of which are on one path."""
    return trusted(random_description("pendulums", [-1] * 14, 3, ["revolute", "prismatic"]))


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "chain13": lambda: rc.robots.chain(13, seed=1, joints="mixed"),
    "one_of_each": one_of_each,
    "flyer19": lambda: flyer("flyer19", [-1, 0, 0, 1, 1, 2, 3, 3, 5, 0, 9, 10, 11, 11, 4, 14, 15, 15, 7], 5, ALL_KINDS),
    "tree40": lambda: rc.robots.tree(40, branching=3, seed=3),
    "large_flyer": large_flyer,
    "forest": forest,
    "pendulums": pendulums,
    "one_body": pendulum,
    "tied_gripper": tied_gripper,
}


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


@cache
def state_of(name: str, count: int = 3) -> dict[str, np.ndarray]:
    robot = robot_named(name)
    q, v, a = states(robot, count, seed=21)
    return every_input(q, v, a, np.random.default_rng(22).normal(size=v.shape))


# ---- oracles ---------------------------------------------------------------------------------------------------------


def first_derivatives(robot: rc.Robot, q: Any, v: Any, a: Any) -> np.ndarray:
    """Of inverse dynamics by complex steps, all columns at once."""
    units, f = np.eye(robot.nv), lambda *state: interpreted(robot.inverse_dynamics, *state)
    by_each = (
        lambda t: f(robot.integrate(q, t * units), v, a),
        lambda t: f(q, v + t * units, a),
        lambda t: f(q, v, a + t * units),
    )
    return np.stack([complex_step(one).T for one in by_each])


def forward_derivatives(robot: rc.Robot, q: Any, v: Any, tau: Any) -> np.ndarray:
    """The implicit function theorem with the dense mass matrix."""
    mass = DenseRobot(robot, q).mass_matrix()
    a = np.linalg.solve(mass, tau - interpreted(robot.bias_forces, q, v))
    by_q, by_v, _ = first_derivatives(robot, q, v, a)
    return np.stack([-np.linalg.solve(mass, by_q), -np.linalg.solve(mass, by_v), np.linalg.inv(mass)])


def second_derivatives(robot: rc.Robot, q: Any, v: Any, a: Any, w: Any) -> np.ndarray:
    """Complex steps of the first derivatives by the plan without walks."""
    units = np.eye(robot.nv)

    def g(*state: Any) -> np.ndarray:
        return np.stack([w @ x for x in interpreted(robot.inverse_dynamics_derivatives, *state)])

    qq, _, _ = np.swapaxes(complex_step(lambda t: g(robot.integrate(q, t * units), v, a)), -1, -2)
    qv, vv, _ = np.swapaxes(complex_step(lambda t: g(q, v + t * units, a)), -1, -2)
    qa, _, _ = np.swapaxes(complex_step(lambda t: g(q, v, a + t * units)), -1, -2)
    return np.stack([(qq + qq.T) / 2, qv, vv, qa])


def mass_rate(robot: rc.Robot, q: Any, along: Any) -> np.ndarray:
    """Complex steps of the mass matrix by the plan without walks."""
    return complex_step(lambda t: interpreted(robot.mass_matrix, robot.integrate(q, t * along)))


def momentum_change(robot: rc.Robot, q: Any, y: Any) -> np.ndarray:
    """The same, of its product with a vector, along every freedom."""
    units = np.eye(robot.nv)
    return complex_step(lambda t: interpreted(robot.mass_matrix, robot.integrate(q, t * units)) @ y).T


def factor(robot: rc.Robot, q: Any) -> np.ndarray:
    """Of the dense mass matrix, joint by joint from the last one on: unit upper block triangular."""
    starts = [joint.v_start for joint in robot.model.joints]
    return _eliminated(DenseRobot(robot, q).mass_matrix(), starts)


def _eliminated(mass: np.ndarray, starts: list[int]) -> np.ndarray:
    left, found = mass.copy(), np.eye(len(mass))
    for start, stop in zip(reversed(starts), [len(mass), *reversed(starts)][:-1], strict=True):
        own = slice(start, stop)
        found[:start, own] = left[:start, own] @ np.linalg.inv(left[own, own])
        left[:start, :start] -= found[:start, own] @ left[own, :start]
    return found


ORACLES: dict[str, Callable[..., np.ndarray]] = {
    "mass_matrix": lambda robot, q: DenseRobot(robot, q).mass_matrix(),
    "mass_matrix_inverse": lambda robot, q: np.linalg.inv(DenseRobot(robot, q).mass_matrix()),
    "coriolis_matrix": lambda robot, q, v: DenseRobot(robot, q).coriolis_matrix(v),
    "regressor": lambda robot, q, v, a: DenseRobot(robot, q).regressor(v, a),
    "inverse_derivatives": first_derivatives,
    "forward_derivatives": forward_derivatives,
    "second_derivatives": second_derivatives,
    "factor": factor,
    "inverse_factor": lambda robot, q: np.linalg.inv(factor(robot, q)),
    "freedom_by_freedom": lambda robot, q: _eliminated(DenseRobot(robot, q).mass_matrix(), list(range(robot.nv))),
    "mass_rate": mass_rate,
    "momentum_change": momentum_change,
}


def tolerance(robot: rc.Robot, what: str, q: np.ndarray) -> float:
    """Of the largest entry; what is divided by the mass matrix loses the digits of its condition."""
    condition = np.linalg.cond(DenseRobot(robot, q).mass_matrix()) if what in DIVIDING else 1.0
    return max(1e-12, 1e-15 * float(condition))


def cases() -> list[Any]:
    """Tied joints have no walks where the mass matrix is inverted: it is, as a whole.

    What takes long on one floating robot and on a forest is asked of the other, smaller ones in every suite.
    """
    every = [(name, what) for name in ROBOTS for what in ASKED if not (name == "tied_gripper" and what in DIVIDING)]
    long = [(name, what) for name, what in every if name == "large_flyer" and what != "mass_matrix"]
    long += [("flyer19", "second_derivatives"), ("flyer19", "forward_derivatives"), ("forest", "inverse_derivatives")]
    return [pytest.param(*case, marks=pytest.mark.slow if case in long else ()) for case in every]


@pytest.mark.parametrize(("name", "what"), cases())
def test_walks_match_dense_algebra_and_complex_steps(name, what):
    robot, state = robot_named(name), state_of(name)
    rows = by_kernel(robot, what, state)
    one = {key: values[1] for key, values in state.items()}
    expected = ORACLES[what](robot, *(one[key] for key in ASKED[what].inputs.split()))
    limit = tolerance(robot, what, one["q"])
    close(by_walks(robot, what, one), expected, limit, "as a plan")
    close(rows[1], expected, limit, "as a kernel")
    assert kernel_of(robot, what)


# ---- long chains -----------------------------------------------------------------------------------------------------


def chain_state(n: int) -> tuple[rc.Robot, dict[str, np.ndarray]]:
    robot = rc.robots.chain(n, seed=6)
    q, v, a = (x[0] for x in states(robot, 1, seed=3))
    return robot, every_input(q, v, a, np.random.default_rng(4).normal(size=n))


LONG = {100: tuple(what for what in ASKED if what != "second_derivatives"), 300: ("mass_matrix_inverse",)}


@pytest.mark.parametrize(
    ("n", "what"),
    [
        pytest.param(n, what, marks=() if what in everyday else pytest.mark.slow)
        for n, everyday in LONG.items()
        for what in LONG[100]
    ],
)
def test_walks_of_long_chains_match_dense_algebra_and_complex_steps(n, what):
    robot, state = chain_state(n)
    expected = ORACLES[what](robot, *(state[key] for key in ASKED[what].inputs.split()))
    limit = max(1e-13 * np.sqrt(n), tolerance(robot, what, state["q"]))  # sums over so many bodies
    close(by_kernel(robot, what, state), expected, limit)


def test_second_derivatives_of_a_long_chain_match_complex_steps_along_directions():
    robot, state = chain_state(100)
    q, v, a, w = (state[key] for key in ("q", "v", "a", "contract"))
    direction = np.random.default_rng(5).normal(size=robot.nv)

    def g(q: Any, v: Any, a: Any) -> np.ndarray:
        return np.stack([w @ x for x in interpreted(robot.inverse_dynamics_derivatives, q, v, a)])

    qq, qv, vv, qa = by_kernel(robot, "second_derivatives", state)
    along_q = complex_step(lambda t: g(q + t * direction, v, a))
    along_v = complex_step(lambda t: g(q, v + t * direction, a))
    close(np.stack([qq, qv.T, qa.T]) @ direction, along_q, 1e-12)
    close(np.stack([qv, vv]) @ direction, along_v[:2], 1e-12)


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ASKED)
def test_no_digit_is_lost_far_from_the_origin(what):
    """On a free base the axes are the base's: where it flies does not enter, not by a bit."""
    robot, near = robot_named("flyer19"), state_of("flyer19")
    far = {**near, "q": near["q"] + np.where(np.arange(robot.nq) < 3, 1e4, 0.0)}
    same_bits(by_kernel(robot, what, far), by_kernel(robot, what, near))


@pytest.mark.parametrize("what", ASKED)
def test_single_precision_stays_single(what):
    robot, state = robot_named("tree40"), state_of("tree40")
    double = by_kernel(robot, what, state)
    single = by_kernel(robot, what, {name: x.astype(np.float32) for name, x in state.items()})
    assert single.dtype == np.float32
    condition = np.linalg.cond(DenseRobot(robot, state["q"][0]).mass_matrix()) if what in DIVIDING else 1.0
    close(single, double, 1e-5 + 1e-7 * float(condition))


def test_parameters_given_with_the_states_take_the_place_of_the_models():
    robot, state = robot_named("tree40"), state_of("tree40")
    own = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    parameters = own * np.random.default_rng(6).uniform(0.5, 2.0, size=(3, own.size))
    with answered("loop"):
        found = robot.mass_matrix(state["q"], parameters=parameters)
    for row, q, given in zip(found, state["q"], parameters, strict=True):
        close(row, DenseRobot(robot, q, given).mass_matrix(), 1e-12)


@pytest.mark.parametrize("name", ["chain13", "flyer19"])
def test_plans_take_complex_numbers(name):
    """The rate of the mass matrix along a motion is ``C + C*``."""
    robot, state = robot_named(name), {key: x[0] for key, x in state_of(name).items()}
    q, v = state["q"], state["v"]

    def masses(t: Any) -> np.ndarray:
        return by_walks(robot, "mass_matrix", {"q": robot.integrate(q, t * v)})

    coriolis = by_walks(robot, "coriolis_matrix", state)
    close(complex_step(masses), coriolis + coriolis.T, 1e-12)
    close(complex_step(lambda t: robot.mass_matrix(robot.integrate(q, t * v))), coriolis + coriolis.T, 1e-12)


@pytest.mark.parametrize("what", ASKED)
def test_complex_numbers_are_interpreted_to_the_same_result(what):
    """Nothing is compiled for them, whatever the robot's size: real numbers that happen to be complex."""
    robot, state = robot_named("chain13"), state_of("chain13")
    found = by_kernel(robot, what, {name: x.astype(complex) for name, x in state.items()})
    assert found.dtype == complex
    assert not found.imag.any()
    close(found.real, by_kernel(robot, what, state), tolerance(robot, what, state["q"][0]))


@pytest.mark.parametrize("what", ASKED)
def test_robots_that_do_not_move_have_matrices_without_entries(what):
    robot = rc.load('<robot name="rock"><link name="a"/></robot>')
    state = every_input(*[np.zeros((2, 0))] * 4)
    shape = way(robot, what).recipe.shape
    assert 0 in shape
    assert by_kernel(robot, what, state).shape == (2, *shape)
    assert by_walks(robot, what, {name: [] for name in state}).shape == shape
