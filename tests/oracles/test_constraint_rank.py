"""Ranks of redundant constraints against singular values: tilted, skew, tied, massless and repeated loops."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from linkages import Dense, angles, geared, linkage, several_loops
from recursa.constraints.quantities import by_matrices
from recursa.constraints.row_blocks import may_depend
from recursa.kernels.switch import Switch

TILTS = (3.67e-6, 1e-7, -1e-5)
ROBOTS = {
    "tilted": {"tilt": TILTS[0]},
    "tied": {"tilt": TILTS[1], "tied": True},
    "massless": {"tilt": TILTS[2], "massless": True},
    "twice": {"tilt": TILTS[0], "twice": True, "bars": 4},
    "slider": {"tilt": TILTS[1], "slider": True, "bars": 4},
    "hinge": {"tilt": TILTS[2], "kind": "revolute"},
    "skew": {"tilt": 0.3, "skew": 2.7e-8, "bars": 4},
}


def states(robot: rc.Robot, q: np.ndarray, dense: Dense, count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Allowed speeds and random torques at one configuration."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(count, dense.free.shape[1])) @ dense.free.T
    return np.tile(q, (count, 1)), v, rng.normal(size=(count, robot.nv))


def check(robot: rc.Robot, q: np.ndarray, count: int = 2, seed: int = 0) -> None:
    """Everything that rests on the rank, against the dense solution."""
    dense = Dense.of(robot, q)
    if not dense.certain:
        return
    exact = 1e-11 + 4e-14 * dense.condition
    at, v, tau = states(robot, q, dense, count, seed)
    assert robot.mobility(q).rank == dense.rank

    if not may_depend(robot.model):  # the Delassus matrix decides alone, whose condition is the square of that of G
        exact += np.finfo(float).eps * dense.condition**2

    def agree(found: np.ndarray, expected: np.ndarray, what: str, scale: float = 1.0) -> None:
        size = max(float(np.abs(expected).max(initial=0.0)), scale)
        error = float(np.abs(np.asarray(found) - expected).max(initial=0.0))
        assert error <= exact * size, f"{what} of {robot.name}: off by {error / size:.1e} where {exact:.1e} is allowed"

    moments = tau - robot.bias_forces(at, v)
    gamma = robot.constraint_bias(at, v)
    a = np.array([dense.accelerations(*one) for one in zip(moments, gamma, strict=True)])
    independent = not by_matrices(robot.evaluator.subject)
    for method in ("projection", "augmentation")[: 2 if independent else 1]:
        agree(robot.forward_dynamics(at, v, tau, method=method), a, method)
    agree(robot.forward_dynamics(at, v, tau), a, "the default")
    forces = a @ dense.mass - moments
    expected = np.array([dense.multipliers(one) for one in forces])
    load = float(np.abs(moments).max())
    agree(robot.constraint_forces(at, v, tau), expected, "constraint_forces", load)
    agree(robot.constrained_compliance(q), dense.compliance, "constrained_compliance")

    any_speed = tau
    allowed = any_speed @ dense.mass @ dense.compliance
    agree(robot.project_velocity(at, any_speed), allowed, "project_velocity")
    hit = robot.impact(at, any_speed, restitution=0.3)
    agree(hit.v, allowed + 0.3 * (allowed - any_speed), "impact")
    agree(hit.impulses @ dense.G, (hit.v - any_speed) @ dense.mass, "impulses")
    shortest = np.array([dense.multipliers(one) for one in (hit.v - any_speed) @ dense.mass])
    agree(hit.impulses, shortest, "shortest impulses")
    energy = [0.5 * np.einsum("bi,ij,bj->b", x, dense.mass, x) for x in (any_speed, hit.v)]
    agree(hit.energy_lost, energy[0] - energy[1], "energy_lost", float(energy[0].max()))

    names = robot.joint_names[: max(1, robot.nv - dense.rank)]
    P = dense.free @ dense.free.T
    S = P[:, : len(names)]
    if dense.free.shape[1] and np.linalg.svd(S, compute_uv=False).min() < 1e-2:
        return  # these joints hardly move what is free
    motors, residual = robot.actuator_torques(at, v, a, actuated=names)
    needed = a @ dense.mass + robot.bias_forces(at, v)
    load = max(load, float(np.abs(needed).max()))
    carried = needed - motors - residual
    agree(carried @ dense.free, np.zeros((count, dense.free.shape[1])), "what constraints carry", load)
    best = np.linalg.lstsq(S, (needed @ P).T, rcond=1e-9)[0].T
    agree(motors[:, : len(names)], best, "actuated torques", load)
    agree(residual, needed @ P - best @ S.T, "residual", load)


@pytest.fixture(params=["straight", "loop"])
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    before = Switch.form
    Switch.form = request.param
    yield request.param
    Switch.form = before


@pytest.mark.parametrize("name", ROBOTS)
def test_compiled_code_of_both_forms_has_the_rank_of_singular_values(name: str, form: str) -> None:
    robot, q = linkage(**ROBOTS[name])
    check(robot, q, count=8)


@pytest.mark.parametrize(("seed", "kind"), [(20, "floating"), (24, "weld")])
def test_compiled_code_of_both_forms_sees_rows_of_several_constraints_depend(seed: int, kind: str, form: str) -> None:
    check(*several_loops(seed, kind), count=3)


def tilting(tied: bool) -> rc.Robot:
    """A planar linkage on a prescribed mount, so that its tilt is part of the state."""
    b = rc.Builder("tilting")
    b.link("ground", mass=3.0, com=(0.01, 0.02, 0.03), inertia=(0.1, 0.2, 0.15))
    b.joint("mount", "spherical", parent="world", child="ground")
    for k, length in enumerate((0.3, 0.5, 0.4)):
        b.link(f"bar{k}", mass=1.0 + k, com=(length / 2, 0.03, 0), inertia=(0.02, 0.03, 0.025))
        place = {"parent": f"bar{k - 1}", "xyz": (0.1 + 0.2 * k, 0, 0)} if k else {"parent": "ground"}
        b.joint(f"joint{k}", "revolute", child=f"bar{k}", axis=(0, 0, 1), **place)
    b.link("fan", mass=0.3, com=(0.1, 0, 0), inertia=(0.01,) * 3)
    b.joint("fan_joint", "revolute", parent="ground", child="fan", axis=(0, 0, 1), mimic=("joint0", 2.0, 0.1))
    tree = b.build(gravity=(0, 0, -9.81), mimic="tie" if tied else "free")
    pin = rc.Loop("point", "world", "bar2", at=(0.6, 0.2, 0.1), at_other=(0.4, 0, 0), name="pin")
    return tree.with_constraints(rc.Prescribed("mount"), pin)


@pytest.mark.parametrize("tied", [False, True], ids=["free", "tied"])
def test_compiled_code_of_both_forms_has_the_rank_of_thousands_of_tilts(tied: bool, form: str) -> None:
    """The pin moves in the plane of the bars, open or closed: two of its equations count, whatever the tilt."""
    robot, rng, count = tilting(tied), np.random.default_rng(5), 2000
    turn = np.zeros((count, robot.nv))
    turn[:, 3:] = rng.uniform(-2.0, 2.0, (count, robot.nv - 3))
    sizes = 10.0 ** rng.uniform(-9.0, -4.0, (count, 2)) * rng.choice([-1.0, 1.0], (count, 2))
    turn[:, :2] = np.pi / 2 * rng.choice([-1.0, 0.0, 1.0], (count, 2)) * [1.0, 0.0] + sizes
    q = robot.integrate(np.tile(robot.neutral(), (count, 1)), turn)
    tau, speed = rng.normal(size=(2, count, robot.nv))
    still = np.zeros_like(tau)
    moments, gamma = tau - robot.bias_forces(q, still), robot.constraint_bias(q, still)
    answers = {"speed": robot.project_velocity(q, speed), "default": robot.forward_dynamics(q, still, tau)}
    for method in ("projection",) if tied else ("projection", "augmentation"):
        answers[method] = robot.forward_dynamics(q, still, tau, method=method)
    known = 0
    for k in range(count):
        dense = Dense.of(robot, q[k])
        if not dense.certain or dense.condition > 1e3:
            continue
        known += 1
        assert dense.rank == 5
        accelerations = dense.accelerations(moments[k], gamma[k])
        expected = dict.fromkeys(answers, accelerations) | {"speed": dense.compliance @ dense.mass @ speed[k]}
        for name, found in answers.items():
            size = max(1.0, float(np.abs(expected[name]).max()))
            assert np.abs(found[k] - expected[name]).max() < 1e-9 * size, (name, q[k])
    assert known > 0.9 * count


def random_linkages(count: int, first: int) -> None:
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        kind = rng.integers(8)
        options = {
            "tilt": float(rng.choice([-1, 1]) * 10.0 ** rng.uniform(-12, 0)) if kind else 0.0,
            "bars": int(rng.integers(3, 6)),
            "skew": float(10.0 ** rng.uniform(-9, -1)) if kind == 1 else 0.0,
            "tied": kind in (2, 7),
            "massless": kind in (3, 7),
            "twice": kind == 4,
            "slider": kind == 5,
            "kind": "revolute" if kind == 6 else "point",
        }
        check(*linkage(seed=seed, **options), seed=seed)


@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_random_linkages() -> None:
    random_linkages(60, 0)


@pytest.mark.slow
@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_thousands_of_random_linkages() -> None:
    random_linkages(3000, 1000)


@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_random_linkages_of_several_loops() -> None:
    for seed in range(30):
        check(*several_loops(seed), seed=seed)


@pytest.mark.slow
@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_thousands_of_random_linkages_of_several_loops() -> None:
    for seed in range(100, 2100):
        check(*several_loops(seed), seed=seed)


@pytest.mark.parametrize(("size", "mass"), [(1e-4, 1e-6), (1e-3, 1e-3), (0.01, 0.01), (100.0, 1e5), (1e3, 1e8)])
@pytest.mark.parametrize("name", ["tilted", "tied", "massless"])
@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_linkages_of_any_size_have_their_digits(name: str, size: float, mass: float) -> None:
    """From watches to cranes: what is added along the constraints is of the size of the inertia."""
    robot, q = linkage(**ROBOTS[name], size=size, mass=mass)
    check(robot, q)


@pytest.mark.parametrize("size", [3e-4, 1e-3, 3e-3, 30.0])
@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_rows_keep_their_units_when_they_are_exchanged(size: float) -> None:
    """A gear turns and a loop moves: rounding of one does not pass for an equation in the place of the other."""
    for seed in range(8):
        robot, q = geared(seed, size)
        assert np.abs(robot.constraint_error(q)).max() < 1e-12
        check(robot, q, seed=seed)


@pytest.mark.parametrize("size", [3e-3, 1.0])
def test_compiled_code_of_both_forms_keeps_the_units_of_rows(size: float, form: str) -> None:
    check(*geared(7, size), count=3)


# ---- linkages that are redundant only while their loops are closed ---------------------------------------------------


def sarrus(tilt: float) -> tuple[rc.Robot, np.ndarray]:
    """A platform on two folding walls at right angles, closed by a hinge: five joints, five equations, one freedom."""
    b = rc.Builder("sarrus")
    b.link("ground")
    b.joint("mount", "fixed", parent="world", child="ground", rpy=(np.pi / 2 + tilt, 0, 0.7))
    names = ["lower_x", "upper_x", "platform", "upper_y", "lower_y"]
    for name in names:
        b.link(name, mass=1.0, com=(0.05, 0.03, 0.1), inertia=(0.02, 0.02, 0.02))
    fold = 0.4
    axes = {
        "lower_x": (1, 0, 0),
        "upper_x": (1, 0, 0),
        "platform": (1, 0, 0),
        "upper_y": (0, 1, 0),
        "lower_y": (0, 1, 0),
    }
    places = {
        "lower_x": (0, 0.5, 0), "upper_x": (0, 0, 0.3), "platform": (0, 0, 0.3), "upper_y": (0.5, -0.5, 0),
        "lower_y": (0, 0, -0.3),
    }  # fmt: skip
    for parent, name in zip(["ground", *names], names, strict=False):
        b.joint(f"{name}_joint", "revolute", parent=parent, child=name, axis=axes[name], xyz=places[name])
    tree = b.build(gravity=(0, 0, -9.81))
    q = np.array([fold, -2 * fold, fold, fold, -2 * fold])
    seat = np.linalg.inv(tree.pose(q, "lower_y")) @ tree.pose(q, "ground")
    hinge = tree.pose(q, "lower_y") @ [0, 0, -0.3, 1]
    at = np.linalg.inv(tree.pose(q, "ground")) @ hinge
    loop = rc.Loop(
        "revolute", "ground", "lower_y", axis=(0, 1, 0), at=tuple(at[:3]), at_other=(0, 0, -0.3),
        rpy_other=angles(seat[:3, :3]), name="hinge",
    )  # fmt: skip
    return tree.with_constraints(loop), q


@pytest.mark.parametrize("tilt", [0.0, 1e-6])
@pytest.mark.interpreted(reason="every case would compile code of its own")
def test_a_loop_that_moves_although_its_freedoms_are_as_many_as_its_equations(tilt: float) -> None:
    robot, q = sarrus(tilt)
    assert np.abs(robot.constraint_error(q)).max() < 1e-12 and robot.mobility(q).freedoms == 1
    check(robot, q, count=4)


# ---- derivatives, runs, inverse kinematics: as of the same linkage with axes along its plane -------------------------


@pytest.mark.parametrize("options", [{}, {"tied": True}, {"massless": True}], ids=["plain", "tied", "massless"])
def test_derivatives_do_not_depend_on_the_axes_of_the_loop(options: dict[str, bool]) -> None:
    robot, q = linkage(TILTS[0], **options)
    twin, _ = linkage(TILTS[0], adapted=True, **options)
    dense = Dense.of(robot, q)
    q, v, tau = (x[0] for x in states(robot, q, dense, 1, 3))
    for found, expected in zip(
        robot.forward_dynamics_derivatives(q, v, tau), twin.forward_dynamics_derivatives(q, v, tau), strict=True
    ):
        assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    assert np.allclose(robot.state_space(q, v, tau).A, twin.state_space(q, v, tau).A, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"tied": True}, {"massless": True}], ids=["plain", "tied", "massless"])
def test_runs_take_the_steps_of_the_linkage_with_axes_along_its_plane(options: dict[str, bool]) -> None:
    robot, q = linkage(TILTS[0], **options)
    twin, _ = linkage(TILTS[0], adapted=True, **options)
    run, expected = (one.simulate(q, duration=0.2) for one in (robot, twin))
    assert abs(len(run.t) - len(expected.t)) <= 2
    assert np.abs(run.q[-1] - expected.q[-1]).max() < 1e-7 < np.abs(run.q[-1] - q).max()
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    moving = float(robot.kinetic_energy(run.q, run.v).max())
    assert np.ptp(energy) < 1e-6 * moving
    still = np.zeros(robot.nv)
    ends = [rc.rollout(one, q, still, None, step=1e-3, steps=50) for one in (robot, twin)]
    for one, other in zip(ends[0][:2], ends[1][:2], strict=True):
        assert np.abs(np.asarray(one) - np.asarray(other)).max() < 1e-9


@pytest.mark.parametrize("tilt", TILTS)
def test_postures_in_inverse_kinematics_do_not_depend_on_the_axes_of_the_loop(tilt: float) -> None:
    robot, q = linkage(tilt, bars=5)
    twin, _ = linkage(tilt, bars=5, adapted=True)
    there = robot.assemble(q + Dense.of(robot, q).free @ [0.1, -0.05, 0.1])
    goal = robot.pose(there, "bar2")[:3, 3]
    found, expected = (rc.inverse_kinematics(x, "bar2", goal, task="position", q0=q, posture=q) for x in (robot, twin))
    assert found.solved and np.abs(robot.constraint_error(found.q)).max() < 1e-7
    assert expected.solved and np.abs(found.q - expected.q).max() < 1e-5


def test_single_precision_tells_the_rank_too() -> None:
    robot, q = linkage(TILTS[0])
    dense = Dense.of(robot, q)
    at, v, tau = states(robot, q, dense, 5, 1)
    expected = robot.forward_dynamics(at, v, tau)
    for method in ("augmentation", "projection"):
        found = robot.forward_dynamics(*(x.astype(np.float32) for x in (at, v, tau)), method=method)
        assert found.dtype == np.float32 and np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()


def test_single_precision_tells_the_rank_of_several_loops() -> None:
    compared = 0
    for seed in range(60):
        robot, q = several_loops(seed)
        sizes = np.linalg.svd(robot.constraint_jacobian(q), compute_uv=False)
        shares = sizes / sizes[0]
        if compared == 3 or ((shares > 1e-13) & (shares < 1e-2)).any():  # a tilt that double precision alone can see
            continue
        compared += 1
        v, tau = np.zeros(robot.nv), 5.0 * np.random.default_rng(seed).normal(size=robot.nv)
        expected = robot.forward_dynamics(q, v, tau, method="projection")
        found = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)))
        size = np.abs(robot.without_constraints().forward_dynamics(q, v, tau)).max()
        assert found.dtype == np.float32 and np.abs(found - expected).max() < 1e-5 * size, robot.name
    assert compared == 3


_CASSIE = Path("cmeel.prefix", "share", "example-robot-data", "robots", "cassie_description", "robots")
CASSIES = sorted(Path(sysconfig.get_path("purelib"), _CASSIE).glob("cassie*.sdf"))


@pytest.mark.parametrize("path", CASSIES, ids=lambda path: path.stem)
@pytest.mark.interpreted(reason="36 equations take long to compile, once for every method")
@pytest.mark.filterwarnings("ignore::recursa.ModelWarning")
def test_cassie_moves_alike_by_both_methods(path: Path) -> None:
    robot = rc.load(path, constraints=True, strict=False)
    q = robot.neutral()
    dense = Dense.of(robot, q)
    still, tau = np.zeros(robot.nv), np.random.default_rng(0).normal(size=robot.nv)
    expected = dense.accelerations(tau - robot.bias_forces(q, still), robot.constraint_bias(q, still))
    for method in ("projection", "augmentation"):
        found = robot.forward_dynamics(q, still, tau, method=method)
        assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()
