"""What must not change the results of kernels: batch, place, threads, memory layout, size of numbers."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import recursa as rc
from numeric import states, tied_gripper
from questions import interpreted
from recursa.errors import NativeCodeError
from recursa.kernels import switch
from recursa.kernels.dispatch import Switch
from recursa.model.may_move import MayMove
from zoo import each_kind

pytestmark = pytest.mark.compiled

COUNT = 11  # not a multiple of any width


@pytest.mark.parametrize("form", [None, "loop"])
@pytest.mark.parametrize("kind", ["revolute", "spherical", "planar", "free"])
def test_steps_between_configurations_are_taken_by_every_joint(kind, form, monkeypatch):
    monkeypatch.setattr(Switch, "form", form)
    robot = each_kind(kind)
    q, v, _ = states(robot, 3)
    v = 0.1 * v
    for rows in (slice(None), 0):
        moved = robot.integrate(q[rows], v[rows])
        assert np.allclose(moved, interpreted(robot.integrate, q[rows], v[rows]), rtol=1e-12, atol=1e-12)
        for _ in range(2):
            assert np.allclose(robot.difference(q[rows], moved), v[rows], rtol=1e-9, atol=1e-12)


def test_tied_robots_fill_the_array_they_are_given():
    robot = tied_gripper()
    q, v = robot.random_state(1)
    out = np.empty((robot.nv, robot.nv))
    assert robot.mass_matrix_inverse(q, out=out) is out
    assert np.allclose(out @ robot.mass_matrix(q), np.eye(robot.nv))
    with pytest.raises(rc.ShapeError, match="out has shape"):
        robot.forward_dynamics(q, v, v, out=np.empty(robot.nv + 1))


def test_kernels_are_used():
    robot = rc.robots.panda_like()
    q, v, a = states(robot, 3)
    robot.inverse_dynamics(q, v, a)
    kernels = [kernel for _, kernel in robot.evaluator.store(MayMove.INERTIAS_FOR_EULER)._kernels.values()]
    assert len(kernels) == 1
    assert kernels[0].form == "straight"
    assert kernels[0].inputs == ("q", "v", "a")
    assert kernels[0].operations.mul < 350
    assert "llvm.fma" in kernels[0].source("llvm")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_same_bits(threads):
    robot = rc.robots.stanford()
    q, v, a = states(robot, 40)
    q, v, a = (np.tile(x, (401, 1))[:16001] for x in (q, v, a))
    assert np.array_equal(robot.inverse_dynamics(q, v, a, threads=threads), robot.inverse_dynamics(q, v, a))


def test_memory_layouts_give_the_same_bits():
    robot = rc.robots.stanford()
    q, v, a = states(robot, COUNT)
    expected = robot.inverse_dynamics(q, v, a)
    readonly = q.copy()
    readonly.flags.writeable = False
    for other in (np.asfortranarray(q), q.astype(">f8"), np.repeat(q, 2, axis=0)[::2], q.tolist(), readonly):
        assert np.array_equal(robot.inverse_dynamics(other, v, a), expected)
        one = other[2]
        assert np.array_equal(robot.inverse_dynamics(one, v[2], a[2]), expected[2])
    whole = robot.inverse_dynamics(np.arange(6), np.arange(6), np.arange(6))
    assert np.array_equal(whole, robot.inverse_dynamics(*[np.arange(6.0)] * 3))


def test_float32_in_gives_float32_out():
    robot = rc.robots.panda_like()
    q, v, a = states(robot, COUNT)
    single = robot.inverse_dynamics(*(x.astype(np.float32) for x in (q, v, a)))
    assert single.dtype == np.float32
    expected = robot.inverse_dynamics(q, v, a)
    assert np.abs(single - expected).max() <= 1e-4 * np.abs(expected).max()
    tau = np.random.default_rng(2).normal(size=v.shape)
    moved = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)))
    residual = robot.inverse_dynamics(q, v, moved.astype(float)) - tau
    scale = np.abs(robot.mass_matrix(q)).max() * np.abs(moved).max()
    assert np.abs(residual).max() <= 1e-4 * scale


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_numbers_stay_in_their_row(bad):
    robot = rc.robots.stanford()
    q, v, a = states(robot, COUNT)
    expected = robot.inverse_dynamics(q, v, a)
    q[5, 1] = bad
    found = robot.inverse_dynamics(q, v, a)
    assert np.isnan(found[5]).any()
    rest = np.arange(COUNT) != 5
    assert np.array_equal(found[rest], expected[rest])
    assert np.array_equal(robot.inverse_dynamics(q[5], v[5], a[5]), found[5], equal_nan=True)


def test_losses_of_a_bad_speed_are_bad():
    robot = rc.robots.puma560()
    v = np.zeros((3, 6))
    v[1, 2] = np.nan
    lost = robot.joint_losses(v)
    assert np.isnan(lost[1, 2])
    assert not np.isnan(lost[[0, 2]]).any()
    assert (lost[[0, 2]] == 0.0).all()


def test_parameters_wrenches_and_base_acceleration_match_the_interpreter():
    robot = rc.robots.panda_like()
    q, v, a = states(robot, COUNT)
    rng = np.random.default_rng(3)
    parameters = np.concatenate([np.array(inertia.components()) for inertia in robot.model.inertias])
    scaled = parameters * rng.uniform(0.8, 1.2, size=(COUNT, 1))
    options = {
        "parameters": {"parameters": scaled},
        "wrenches": {"wrenches": rng.normal(size=(robot.nlinks, 6))},
        "world wrench": {"wrenches": [rc.Wrench(force=(1, 2, 3), at="flange", point=(0.1, 0, 0))]},
        "base": {"base_acceleration": rng.normal(size=6)},
    }
    for what, keywords in options.items():

        def ask(q, v, a, keywords=keywords):
            return robot.inverse_dynamics(q, v, a, **keywords)

        expected = interpreted(ask, q, v, a)
        assert np.abs(ask(q, v, a) - expected).max() <= 1e-12 * np.abs(expected).max(), what
        assert np.abs(expected - robot.inverse_dynamics(q, v, a)).max() > 1e-3, what


def test_concurrent_first_calls_agree():
    robot = rc.robots.puma560()
    q, v, a = states(robot, 500)
    found: list[np.ndarray] = [np.empty(0)] * 8

    def work(k: int) -> None:
        found[k] = robot.forward_dynamics(q, v, a)

    crowd = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert all(np.array_equal(result, found[0]) for result in found)


def test_singular_hinge_is_named_by_compiled_code_too():
    b = rc.Builder("loose")
    b.link("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02)).link("tip")
    b.joint("shoulder", "revolute", parent="world", child="arm")
    b.joint("wrist", "revolute", parent="arm", child="tip", axis=(1, 0, 0), xyz=(0.4, 0, 0))
    robot = b.build(strict=False)
    for batch in ((), (3,)):
        with pytest.raises(rc.SingularHingeError, match="'wrist'"):
            robot.forward_dynamics(np.zeros((*batch, 2)), np.zeros((*batch, 2)), np.ones((*batch, 2)))


def test_wrong_input_to_the_native_entry_is_explained():
    robot = rc.robots.planar()
    q = np.zeros(3)
    robot.gravity_forces(q)
    with pytest.raises(rc.ShapeError, match=r"\(4,\)"):
        robot.gravity_forces(np.zeros(4))
    with pytest.raises(rc.StateError):
        robot.gravity_forces("abc")
    with pytest.raises(TypeError):
        robot.gravity_forces()
    assert robot.gravity_forces([0, 0, 0]).dtype == np.float64


def test_native_entries_tell_links_and_frames_apart():
    robot = rc.robots.panda_like()
    q, v = robot.random_state(1)
    for _ in range(2):  # the second time through the entries
        for link in ("link3", "flange"):
            assert np.allclose(robot.jacobian(q, link) @ v, robot.velocities(q, v)[robot.model.link_index(link)])
            there = robot.velocities(q, v, "mixed")[robot.model.link_index(link)]
            assert np.allclose(robot.jacobian(q, link, frame="mixed") @ v, there)
            assert np.allclose(robot.pose(q, link), robot.poses(q)[robot.model.link_index(link)], rtol=1e-13)
    with pytest.raises(rc.UnknownNameError):
        robot.jacobian(q, "flang")


def test_native_entry_checks_quaternions():
    robot = rc.robots.free_flyer().with_gravity((0, 0, -9.81))
    q, v = robot.random_state(1)
    expected = robot.bias_forces(q, v)
    assert np.array_equal(robot.bias_forces(q, v), expected)
    wrong = q.copy()
    wrong[6] += 0.1
    with pytest.raises(rc.StateError, match="'root'"):
        robot.bias_forces(wrong, v)
    wrong[6] = np.nan
    assert np.isnan(robot.bias_forces(wrong, v)).any()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("_has_llvm", lambda: False, "llvmlite is not installed"),
        ("native_module", None, "Recursa's C extension is not installed"),
        ("Switch", SimpleNamespace(on=False), "RECURSA_COMPILE turns compiling off"),
    ],
)
def test_quantities_are_interpreted_where_nothing_compiles_with_one_warning(name, value, reason, monkeypatch):
    robot = rc.robots.stanford()
    q, v, a = states(robot, 2)
    expected = rc.robots.stanford().inverse_dynamics(q, v, a)
    monkeypatch.setattr(switch, name, value)
    monkeypatch.setattr(switch, "_warned", [])
    with pytest.warns(switch.NoCompilerWarning, match=f"{reason}, so quantities are interpreted") as warned:
        found = robot.inverse_dynamics(q, v, a)
        robot.mass_matrix(q)
    assert len(warned) == 1
    assert np.allclose(found, expected, rtol=1e-12)
    with pytest.raises(NativeCodeError, match=f"a job runs in native code alone, and {reason}"):
        switch.extension("a job")


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e15])
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_large_angles_keep_their_digits(form, size, monkeypatch):
    """Moved frames turn by ``q + constant``; the sum must not round away what the sine needs."""
    monkeypatch.setattr(Switch, "form", form)
    robot = rc.robots.panda_like()
    q, v, a = states(robot, 6)
    expected = interpreted(robot.inverse_dynamics, q * size, v, a)
    assert np.abs(robot.inverse_dynamics(q * size, v, a) - expected).max() <= 1e-13 * np.abs(expected).max()
