"""The robot inside PyTorch: values, gradients of gradients, torch.func, torch.compile, errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.dynamics.configuration import random_input
from recursa.quantities import quantity

torch = pytest.importorskip("torch")


def state_of(robot: rc.Robot, name: str, batch: int = 2) -> list[Any]:
    rng, record = np.random.default_rng(0), quantity(name)
    rows = [[random_input(robot.model, record.kind(one), rng) for _ in range(batch)] for one in record.inputs]
    return [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in rows]


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "poses", "kinetic_energy"])
@pytest.mark.parametrize("robot", [rc.robots.planar(2), rc.robots.free_flyer(1)], ids=lambda robot: robot.name)
def test_values_and_gradients(robot: rc.Robot, name: str) -> None:
    f, state = getattr(robot.torch(), name), state_of(robot, name)
    ours = getattr(robot, name)(*(x.detach().numpy() for x in state))
    np.testing.assert_allclose(f(*state).detach().numpy(), ours, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(f, state, rtol=1e-4, check_forward_ad=True)


def test_gradients_of_gradients() -> None:
    robot = rc.robots.planar(2)
    assert torch.autograd.gradgradcheck(robot.torch().forward_dynamics, state_of(robot, "forward_dynamics"))


def test_transforms_and_compiled_programs() -> None:
    robot = rc.robots.planar(2)
    f, state = robot.torch().forward_dynamics, state_of(robot, "forward_dynamics", 3)
    plain = [x.detach() for x in state]
    expected = robot.forward_dynamics_derivatives(*(x.numpy() for x in plain))[0]
    np.testing.assert_allclose(torch.func.vmap(torch.func.jacrev(f))(*plain), expected, atol=1e-9)
    np.testing.assert_allclose(torch.func.vmap(torch.func.jacfwd(f))(*plain), expected, atol=1e-9)
    eager = torch.autograd.grad(f(*state).square().sum(), state)
    program = torch.compile(lambda *x: f(*x).square().sum(), fullgraph=True, backend="aot_eager")
    for one, other in zip(torch.autograd.grad(program(*state), state), eager, strict=True):
        np.testing.assert_array_equal(one, other)
    function = robot.torch()._facts("forward_dynamics", ("q", "v", "tau"), ()).function
    torch.library.opcheck(torch.ops.recursa.call.default, (function, 2, state))


@pytest.mark.slow
@pytest.mark.parametrize(
    "robot", [zoo.small_mixed_tree(), rc.robots.free_flyer(1), rc.robots.tree(13)], ids=lambda r: r.name
)
def test_gradients_over_the_zoo(robot: rc.Robot) -> None:
    """Twice where claimed: for every quantity, free bases and joints with several freedoms."""
    for name in ("inverse_dynamics", "kinetic_energy"):
        f, state = getattr(robot.torch(), name), state_of(robot, name, 1)
        assert torch.autograd.gradcheck(f, state, rtol=1e-4, check_forward_ad=True, fast_mode=True)
        assert torch.autograd.gradgradcheck(f, state, rtol=1e-3, atol=1e-4, fast_mode=True)


@pytest.mark.parametrize("robot", [rc.robots.four_bar(), rc.robots.chain(14)], ids=lambda robot: robot.name)
def test_closed_loops_and_many_bodies(robot: rc.Robot) -> None:
    q, v = (torch.tensor(x) for x in robot.random_state(0))
    tau = torch.ones(robot.nv, dtype=torch.float64)
    found = torch.func.jacrev(robot.torch().forward_dynamics, argnums=(0, 1, 2))(q, v, tau)
    expected = robot.forward_dynamics_derivatives(q.numpy(), v.numpy(), tau.numpy())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * abs(other).max())


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "euler"])
@pytest.mark.parametrize("robot", [rc.robots.planar(2), rc.robots.free_flyer(1)], ids=lambda robot: robot.name)
def test_rollouts_are_ours_and_differentiable(robot: rc.Robot, integrator: str) -> None:
    q, v = (torch.tensor(x, requires_grad=True) for x in robot.random_state(0))
    tau = 0.1 * torch.ones((4, robot.nv), dtype=torch.float64)
    tau.requires_grad_()
    dt = torch.tensor(0.01, dtype=torch.float64, requires_grad=True)
    rt = robot.torch()
    qs, vs = rt.rollout(q, v, tau, dt, integrator=integrator)
    ours = rc.rollout(
        robot, *(x.detach().numpy()[None] for x in (q, v, tau)), 0.01, 4, integrator=integrator, losses=False
    )
    np.testing.assert_allclose(qs[1:].detach(), ours.q[0], atol=1e-12)
    np.testing.assert_allclose(vs[1:].detach(), ours.v[0], atol=1e-11)

    def end(*x: Any) -> Any:
        return rt.rollout(*x, integrator=integrator)[1][-1]

    assert torch.autograd.gradcheck(end, (q, v, tau, dt), rtol=1e-4, fast_mode=True)


def test_tensors_of_every_layout() -> None:
    """No rows, columns that are not contiguous, spread tensors, inertial parameters that need gradients."""
    robot = rc.robots.planar(2)
    rt = robot.torch()
    assert rt.mass_matrix(torch.zeros((0, 2))).shape == (0, 2, 2)
    columns = torch.tensor(np.random.default_rng(0).normal(size=(2, 5)), requires_grad=True)
    found = rt.mass_matrix(columns.T)
    np.testing.assert_array_equal(found.detach(), robot.mass_matrix(columns.detach().numpy().T))
    (slope,) = torch.autograd.grad(found.square().sum(), columns)
    assert slope.shape == (2, 5)
    own = torch.tensor(np.ravel([x.components() for x in robot.model.inertias]), requires_grad=True)
    rt.inverse_dynamics(columns.T, columns.T, columns.T, parameters=own).sum().backward()
    assert own.grad is not None and own.grad.shape == own.shape
    assert rt.mass_matrix(torch.tensor([0.0, torch.nan])).isnan().any()
    with pytest.raises(rc.StateError, match="tau must have shape"):
        rt.rollout(torch.zeros(2), torch.zeros(2), torch.zeros(3), 0.1)
    with pytest.raises(rc.StateError, match="float32 and float64"):
        rt.mass_matrix(torch.zeros(2, dtype=torch.complex128))


def test_parameters_gravity_single_precision() -> None:
    robot = rc.robots.planar(2)
    rt, state = robot.torch(), state_of(robot, "inverse_dynamics", 1)
    own = torch.tensor(np.ravel([x.components() for x in robot.model.inertias]), requires_grad=True)
    found = torch.func.jacrev(lambda p: rt.inverse_dynamics(*(x.detach()[0] for x in state), parameters=p))(own)
    np.testing.assert_allclose(found.detach(), robot.regressor(*(x.detach().numpy()[0] for x in state)), atol=1e-12)
    gravity = torch.tensor([0.0, -1.0, 0.0], dtype=torch.float64, requires_grad=True)
    rt.inverse_dynamics(*state, gravity=gravity).sum().backward()
    assert gravity.grad.abs().sum() > 0
    single = rt.mass_matrix(torch.zeros(2))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single, robot.mass_matrix(np.zeros(2)), rtol=1e-5)


def test_tangent_gradients() -> None:
    robot = rc.robots.free_flyer(1)
    rt, gravity = robot.torch(), torch.tensor([0.0, 0.0, -9.81], dtype=torch.float64)
    (q,) = state_of(robot, "poses", 1)
    rt.potential_energy(q, gravity=gravity).sum().backward()
    expected = rt.gravity_forces(q, gravity=gravity).detach()
    np.testing.assert_allclose(rt.tangent_gradient(q, q.grad), expected, atol=1e-9)


def test_mistakes_are_told() -> None:
    rt = rc.robots.planar(2).torch()
    with pytest.raises(rc.RecursaError, match=r"q must have the shape \(\.\.\., 2\), not \(3,\)"):
        rt.mass_matrix(torch.zeros(3))
    with pytest.raises(rc.RecursaError, match="float32 and float64"):
        rt.mass_matrix(torch.zeros(2, dtype=torch.complex128))
    with pytest.raises(AttributeError, match="mass_matrix"):
        rt.mass_matrx  # noqa: B018


def test_robots_and_their_functions_pickle_after_use() -> None:
    robot = rc.robots.planar(2)
    rt = robot.torch()
    q = torch.tensor([0.3, 0.4], dtype=torch.float64)
    expected = rt.mass_matrix(q)
    again, function = pickle.loads(pickle.dumps((rt, rt.mass_matrix)))
    assert type(again) is type(rt)
    assert torch.equal(again.mass_matrix(q), expected) and torch.equal(function(q), expected)


def test_links_and_frames_stand_where_methods_take_them() -> None:
    robot = rc.robots.planar(2)
    rt, q = robot.torch(), torch.tensor([0.3, 0.4], dtype=torch.float64)
    assert torch.equal(rt.pose(q, "tip"), rt.pose(q, link="tip"))
    np.testing.assert_array_equal(rt.jacobian(q, "tip"), robot.jacobian(q.numpy(), "tip"))
    np.testing.assert_array_equal(rt.velocities(q, q, "world"), robot.velocities(q.numpy(), q.numpy(), "world"))
    with pytest.raises(rc.StateError, match="link was given twice"):
        rt.pose(q, "tip", link="tip")
    with pytest.raises(rc.StateError, match="link is an option, not an array"):
        rt.pose(q, np.zeros(2))
    with pytest.raises(rc.StateError, match=r"looks transposed: pass q\.T"):
        rt.mass_matrix(torch.zeros(2, 5))


def test_tensors_that_require_gradients_are_answered_by_plain_methods() -> None:
    robot = rc.robots.planar(2)
    q = torch.tensor([0.3, 0.4], dtype=torch.float64, requires_grad=True)
    calls = [
        lambda: robot.mass_matrix(q),
        lambda: robot.inverse_dynamics(q, [0.0, 0.0], [0.0, 0.0]),
        lambda: robot.gravity_forces({"joint1": q[0]}),
        lambda: robot.gravity_forces([q[0], q[1]]),
        lambda: robot.simulate(q, duration=0.1),
        lambda: rc.rollout(robot, q, q, None, 1e-3, 2),
        lambda: rc.inverse_kinematics(robot, "tip", np.eye(4), q0=q),
    ]
    for call in calls:
        with pytest.raises(rc.StateError, match=r"robot\.torch\(\).*detach\(\)"):
            call()
