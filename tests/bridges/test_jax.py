"""The robot inside JAX: values, derivatives of both modes and orders, batches, motions, errors."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.bridges.differentiable import differentiable
from recursa.dynamics.configuration import random_input
from recursa.quantities import quantity

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
test_util = pytest.importorskip("jax.test_util")

ROBOTS = {
    "planar": lambda: rc.robots.planar(2),
    "arm": rc.robots.panda_like,
    "flyer": lambda: rc.robots.free_flyer(2),
    "one_of_each": zoo.one_of_each,
    "large_flyer": zoo.large_flyer,
    "small_mixed_tree": zoo.small_mixed_tree,
    "tree13": lambda: rc.robots.tree(13),
}
EVERYDAY = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "poses", "kinetic_energy", "center_of_mass")


@pytest.fixture(autouse=True)
def double() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def options_of(robot: rc.Robot, name: str) -> dict[str, Any]:
    """What a quantity cannot do without."""
    record, last = quantity(name), robot.link_names[-1]
    own = {"link": last, "other": robot.link_names[-2], "prescribed": (robot.joint_names[0],)}
    return {one: own[one] for one in record.options if one not in record.defaults}


def state_of(robot: rc.Robot, name: str, seed: int = 0, given: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    rng, record = np.random.default_rng(seed), quantity(name)
    names = (*record.inputs, *given)
    flat = {one: np.array(random_input(robot.model, record.kind(one), rng)) for one in names}
    return {one: x.reshape(record.kind(one).axes(robot.model, 0)) for one, x in flat.items()}


EVERY = [one if one in EVERYDAY else pytest.param(one, marks=pytest.mark.slow) for one in differentiable()]


@pytest.mark.parametrize("name", EVERY)
def test_every_quantity_is_ours_and_its_gradients_agree_with_each_other(name: str) -> None:
    """On a small robot with a free base: the value, forward mode, reverse mode and differences."""
    robot = rc.robots.free_flyer(1)
    state, options = state_of(robot, name), options_of(robot, name)
    rj = robot.jax()

    def f(*arrays: Any) -> Any:
        return rj.quantity(name, *arrays, **options)

    try:
        found = f(*state.values())
    except rc.RecursaError as error:
        pytest.skip(str(error))
    ours = robot.evaluator.evaluate(quantity(name), state, options)
    np.testing.assert_allclose(found, ours, rtol=1e-12, atol=1e-12)
    rng = np.random.default_rng(1)
    directions = tuple(jnp.asarray(rng.normal(size=x.shape)) for x in state.values())
    weight = jnp.asarray(rng.normal(size=found.shape))
    primals = tuple(map(jnp.asarray, state.values()))
    _, change = jax.jvp(f, primals, directions)
    pulled = jax.vjp(f, *primals)[1](weight)
    forward = float(jnp.sum(change * weight))
    reverse = sum(float(jnp.sum(a * b)) for a, b in zip(pulled, directions, strict=True))
    size = 1.0 + float(jnp.sum(jnp.abs(change * weight)))
    assert abs(forward - reverse) < 1e-11 * size

    def along(s: float) -> float:
        moved = [x + s * d for x, d in zip(primals, directions, strict=True)]
        return float(jnp.sum(f(*moved) * weight))

    h = 1e-3  # sixth order differences
    numeric = sum(c * (along(k * h) - along(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)
    assert abs(numeric - forward) < 1e-8 * size


LARGE = ("one_of_each", "large_flyer", "small_mixed_tree", "tree13")


@pytest.mark.parametrize("robot", [pytest.param(x, marks=pytest.mark.slow) if x in LARGE else x for x in ROBOTS])
def test_values_are_ours_over_robots(robot: str) -> None:
    made = ROBOTS[robot]()
    for name in EVERYDAY:
        state = state_of(made, name)
        ours = made.evaluator.evaluate(quantity(name), state)
        for implementation in ("native", "traced"):
            found = made.jax(implementation=implementation).quantity(name, *state.values())
            np.testing.assert_allclose(found, ours, rtol=1e-10, atol=1e-12 * (1 + abs(ours).max()))


SECOND_ORDER = ["planar", *(pytest.param(x, marks=pytest.mark.slow) for x in ("flyer", "small_mixed_tree", "tree13"))]


@pytest.mark.parametrize("robot", SECOND_ORDER)
@pytest.mark.parametrize("implementation", ["native", "traced"])
def test_second_order_in_both_modes(robot: str, implementation: str) -> None:
    made = ROBOTS[robot]()
    rj, state = made.jax(implementation=implementation), state_of(made, "inverse_dynamics")
    test_util.check_grads(
        lambda *x: jnp.sum(jnp.sin(0.01 * rj.inverse_dynamics(*x))),
        tuple(state.values()),
        2,
        modes=["fwd", "rev"],
        rtol=1e-4,
    )


def test_complex_steps_agree() -> None:
    """Our own interpreted plans on complex numbers, to 1e-9."""
    robot = rc.robots.panda_like()
    rj, state = robot.jax(), state_of(robot, "forward_dynamics")
    found = jax.jacrev(rj.forward_dynamics, argnums=(0, 1, 2))(*map(jnp.asarray, state.values()))
    for which, (one, matrix) in enumerate(zip(state, found, strict=True)):
        for k in range(len(state[one])):
            moved = [x.astype(complex) for x in state.values()]
            moved[which][k] += 1e-30j
            expected = robot.forward_dynamics(*moved).imag / 1e-30
            np.testing.assert_allclose(matrix[:, k], expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


def test_by_parameters_and_gravity() -> None:
    robot = rc.robots.planar(2)
    rj, state = robot.jax(), state_of(robot, "inverse_dynamics")
    own = jnp.asarray(np.ravel([x.components() for x in robot.model.inertias]))
    gravity = jnp.asarray(robot.gravity)

    def f(parameters: Any, gravity: Any) -> Any:
        return rj.inverse_dynamics(*state.values(), parameters=parameters, gravity=gravity)

    np.testing.assert_allclose(f(own, gravity), robot.inverse_dynamics(*state.values()), rtol=1e-12)
    by_parameters, by_gravity = jax.jacfwd(f, (0, 1))(own, gravity)
    np.testing.assert_allclose(by_parameters, robot.regressor(*state.values()), atol=1e-12)  # linear in them
    lighter = robot.jax().inverse_dynamics(*state.values(), gravity=gravity + jnp.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(lighter, f(own, gravity) + by_gravity[:, 1], rtol=1e-12)


@pytest.mark.parametrize("robot", ["flyer", "one_of_each"])
def test_tangent_gradients(robot: str) -> None:
    """By small motions: the gradient of the potential energy is the torque of gravity; by coordinates none along q."""
    made = ROBOTS[robot]()
    rj, q = made.jax(), jnp.asarray(state_of(made, "poses")["q"])
    made_up = jnp.array([0.3, -0.2, 9.0])
    gradient = jax.grad(lambda q: rj.potential_energy(q, gravity=made_up))(q)
    for start in made.model.quaternions:
        assert abs(float(gradient[start : start + 4] @ q[start : start + 4])) < 1e-10
    expected = rj.gravity_forces(q, gravity=made_up)
    np.testing.assert_allclose(rj.tangent_gradient(q, gradient), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        rj.gravity_forces(q, gravity=jnp.asarray(made.gravity)), made.gravity_forces(q), atol=1e-10
    )
    start = made.model.quaternions[0]
    stretched = q.at[start : start + 4].multiply(1.5)  # a configuration is not longer for that
    np.testing.assert_allclose(rj.poses(stretched), made.poses(q), atol=1e-12)


def test_batches_go_into_one_call() -> None:
    robot = rc.robots.panda_like()
    rj, rng = robot.jax(), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 2, 13, 7))
    ours = robot.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(jax.jit(rj.forward_dynamics)(q, v, tau), ours)
    nested = jax.vmap(jax.vmap(rj.forward_dynamics), in_axes=1, out_axes=1)
    np.testing.assert_array_equal(nested(q, v, tau), ours)
    one = jax.vmap(rj.forward_dynamics, in_axes=(0, None, None))(q[0], v[0, 0], tau[0, 0])
    np.testing.assert_array_equal(one, robot.forward_dynamics(q[0], v[0, 0], tau[0, 0]))
    text = str(jax.make_jaxpr(nested)(q, v, tau))
    assert text.count("recursa_call") == 1
    assert rj.forward_dynamics(q[:0, 0], v[:0, 0], tau[:0, 0]).shape == (0, 7)
    single = rj.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, ours, rtol=1e-2, atol=1e-2 * abs(ours).max())


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "euler"])
@pytest.mark.parametrize("robot", ["planar", "flyer"])
def test_rollouts_are_ours_and_differentiable(robot: str, integrator: str) -> None:
    made = ROBOTS[robot]()
    rj, state = made.jax(), state_of(made, "forward_dynamics")
    tau = 0.1 * np.random.default_rng(1).normal(size=(5, made.nv))
    ours = rc.rollout(
        made, state["q"][None], state["v"][None], tau[None], 0.01, len(tau), integrator=integrator, losses=False
    )
    qs, vs = rj.rollout(state["q"], state["v"], tau, 0.01, integrator=integrator)
    np.testing.assert_allclose(qs[1:], ours.q[0], atol=1e-12)
    np.testing.assert_allclose(vs[1:], ours.v[0], atol=1e-11)

    def end(tau: Any) -> Any:
        return jnp.sum(rj.rollout(state["q"], state["v"], tau, 0.01, integrator=integrator)[1][-1] ** 2)

    test_util.check_grads(end, (jnp.asarray(tau),), 1, modes=["rev"], rtol=1e-5)


def tied_arm() -> rc.Robot:
    """Four joints, one of which follows another."""
    builder = rc.Builder("tied")
    for k in range(4):
        builder.link(f"l{k}", mass=1.0 + k, com=(0.1, 0.02 * k, 0.3), inertia=(0.02, 0.03, 0.04, 0.001, 0.0, 0.002))
        parent, mimic = ("world", None) if k == 0 else (f"l{k - 1}", {2: ("j0", -0.5, 0.2)}.get(k))
        axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0.6, 0.8))[k]
        builder.joint(f"j{k}", "revolute", parent=parent, child=f"l{k}", axis=axis, xyz=(0, 0.1, 0.4), mimic=mimic)
    return builder.build(mimic="tie")


DERIVED = {
    "chain of twenty": lambda: rc.robots.chain(20),
    "tied": tied_arm,
    "four bar": rc.robots.four_bar,
    "gripper": rc.robots.gripper,
}


@pytest.mark.parametrize(
    "robot", ["chain of twenty", "tied", "four bar", pytest.param("gripper", marks=pytest.mark.slow)]
)
def test_gradients_are_our_derivatives(robot: str) -> None:
    """Of robots with many bodies, tied joints and closed loops: forward dynamics in both modes, batches in one call."""
    made = DERIVED[robot]()
    rj, rng = made.jax(), np.random.default_rng(0)
    q, v = (np.array(x) for x in zip(*(made.random_state(k) for k in range(3)), strict=True))
    tau = rng.normal(size=v.shape)
    expected = made.forward_dynamics_derivatives(q, v, tau)
    for transform in (jax.jacrev, jax.jacfwd):
        found = jax.vmap(transform(rj.forward_dynamics, argnums=(0, 1, 2)))(q, v, tau)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9 * abs(other).max())


@pytest.mark.parametrize("robot", [zoo.closed_tree, pytest.param(zoo.held_flyer, marks=pytest.mark.slow)])
def test_constraints_come_along(robot: Any) -> None:
    """Loops, relations, told joints, quaternions: values ours, gradients against differences; constraint forces too."""
    made = robot()
    rj, (q, v) = made.jax(), made.random_state(0)
    tau = np.random.default_rng(1).normal(size=made.nv)
    np.testing.assert_allclose(rj.forward_dynamics(q, v, tau), made.forward_dynamics(q, v, tau), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        rj.constraint_forces(q, v, tau), made.constraint_forces(q, v, tau), rtol=1e-8, atol=1e-10
    )
    test_util.check_grads(
        lambda *x: jnp.sum(jnp.sin(0.1 * rj.forward_dynamics(*x))),
        (jnp.asarray(q), jnp.asarray(v), jnp.asarray(tau)), 1, modes=["rev"], rtol=1e-4,
    )  # fmt: skip


def test_a_jitted_function_outlives_its_robot() -> None:
    """The machine code whose address a computation has is kept."""
    robot = rc.robots.planar(2)
    q = jnp.array([0.3, -0.4])
    expected = robot.mass_matrix(np.asarray(q))
    f = jax.jit(robot.jax().mass_matrix)
    f(jnp.zeros(2)).block_until_ready()
    del robot
    gc.collect()
    np.testing.assert_allclose(f(q), expected, rtol=1e-12)


def test_threads_share_functions() -> None:
    robot = rc.robots.planar(3)
    f = jax.jit(jax.grad(lambda q, v: robot.jax().kinetic_energy(q, v), argnums=(0, 1)))
    states = np.random.default_rng(0).normal(size=(8, 2, 3))
    expected = [f(*state) for state in states]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(pool.map(lambda state: f(*state), states), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_is_not_finite_is_handed_on() -> None:
    rj = rc.robots.planar(2).jax()
    found = rj.mass_matrix(jnp.array([[0.1, 0.2], [0.1, jnp.nan]]))
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).any()


def test_several_devices() -> None:
    """A batch shared out to two devices: each calls native code on its own part."""
    code = """
import jax, jax.numpy as jnp, numpy as np, recursa as rc
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
robot = rc.robots.planar(2); rj = robot.jax()
assert len(jax.devices()) == 2
state = np.random.default_rng(0).normal(size=(3, 10, 2))
ours = robot.forward_dynamics(*state)
mesh = Mesh(np.array(jax.devices()), ("rows",))
parts = [jax.device_put(x, NamedSharding(mesh, P("rows"))) for x in state]
shared = jax.shard_map(rj.forward_dynamics, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))
found = jax.jit(shared)(*parts)
assert len(found.sharding.device_set) == 2
np.testing.assert_array_equal(found, ours)
np.testing.assert_array_equal(jax.jit(rj.forward_dynamics)(*parts), ours)
each = [x.reshape(2, 5, 2) for x in state]
np.testing.assert_array_equal(jax.pmap(rj.forward_dynamics)(*each).reshape(10, 2), ours)
slope = jax.pmap(jax.grad(lambda *x: jnp.sum(rj.forward_dynamics(*x))))(*each)
assert slope.shape == (2, 5, 2) and np.isfinite(slope).all()
"""
    flags = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=flags)
    assert done.returncode == 0, done.stderr


def test_mistakes_are_told() -> None:
    robot = rc.robots.planar(2)
    rj = robot.jax()
    with pytest.raises(rc.RecursaError, match="implementation"):
        robot.jax(implementation="gpu")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="forward_dynamics"):
        rj.forward_dynamic  # noqa: B018
    with pytest.raises(rc.RecursaError, match=r"q must have the shape \(\.\.\., 2\), not \(3,\)"):
        rj.mass_matrix(jnp.zeros(3))
    with pytest.raises(rc.RecursaError, match="batch axes"):
        rj.forward_dynamics(jnp.zeros((2, 2)), jnp.zeros((3, 2)), jnp.zeros(2))
    with pytest.raises(rc.RecursaError, match="tau is missing"):
        rj.forward_dynamics(jnp.zeros(2), jnp.zeros(2))
    with pytest.raises(rc.RecursaError, match="given twice"):
        rj.mass_matrix(jnp.zeros(2), q=jnp.zeros(2))
    with pytest.raises(rc.RecursaError, match="were given in order"):
        rj.mass_matrix(jnp.zeros(2), jnp.zeros(2))
    with pytest.raises(rc.RecursaError, match="option"):
        rj.mass_matrix(jnp.zeros(2), methid="composite")
    with pytest.raises(rc.RecursaError, match="needs the option link="):
        rj.pose(jnp.zeros(2))
    with pytest.raises(rc.RecursaError, match="float32 and float64"):
        rj.mass_matrix(jnp.zeros(2, complex))
    with pytest.raises(rc.RecursaError, match="tau must have shape"):
        rj.rollout(jnp.zeros(2), jnp.zeros(2), jnp.zeros(3), 0.1)


def test_code_of_another_process_is_refused() -> None:
    """An exported computation has addresses; the token tells that they are not of this process."""
    from recursa._entry import xla_handler

    robot = rc.robots.planar(2)
    f = jax.jit(robot.jax().mass_matrix)
    f(jnp.zeros(2)).block_until_ready()
    from recursa.bridges import jax_calls

    xla_handler(jax_calls._token() + 1)
    try:
        with pytest.raises(Exception, match="another process"):
            f(jnp.ones(2)).block_until_ready()
    finally:
        xla_handler(jax_calls._token())


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recursa.bridges.jax_torch_methods.find_spec", lambda name: None)
    robot = rc.robots.planar(2)
    for make, package in ((robot.jax, "jax"), (robot.torch, "torch")):
        with pytest.raises(rc.RecursaError, match=rf"pip install 'recursa\[{package}\]'"):
            make()


def test_importing_recursa_imports_neither() -> None:
    asked = "import sys, recursa as rc; rc.robots.planar(2).mass_matrix([0.0, 0.0])"
    code = f"{asked}; print({{'jax', 'torch'}} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


@pytest.mark.parametrize("implementation", ["native", "traced"])
def test_robots_and_their_functions_pickle_after_use(implementation: Any) -> None:
    rj = rc.robots.planar(2).jax(implementation=implementation)
    q = jnp.array([0.3, 0.4])
    expected = rj.mass_matrix(q)
    again, function = pickle.loads(pickle.dumps((rj, rj.mass_matrix)))
    assert again.implementation == implementation
    np.testing.assert_array_equal(again.mass_matrix(q), expected)
    np.testing.assert_array_equal(function(q), expected)


def test_links_and_frames_stand_where_methods_take_them() -> None:
    robot = rc.robots.planar(2)
    rj, q = robot.jax(), jnp.array([0.3, 0.4])
    np.testing.assert_array_equal(rj.pose(q, "tip"), rj.pose(q, link="tip"))
    np.testing.assert_array_equal(jax.jit(rj.velocities, static_argnums=2)(q, q, "world"), rj.velocities(q, q, "world"))
    with pytest.raises(rc.StateError, match="link was given twice"):
        rj.pose(q, "tip", link="tip")
