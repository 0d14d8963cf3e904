"""What people look up: limits, names, units, parameters, states; and robots with other parameters."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from recursa.lookups import Lookups
from recursa.model.description import NamedState
from recursa.variations import Variations
from zoo import ZOO, one_of_each

pytestmark = pytest.mark.interpreted(reason="many robots, each asked once")


@pytest.mark.parametrize("name", [name for part in (Lookups, Variations) for name in vars(part) if name[0] != "_"])
def test_every_lookup_and_variation_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(inspect.getattr_static(rc.Robot, name)) or "")


@pytest.mark.parametrize("name", ZOO)
def test_shapes_go_with_q_v_and_the_regressor(name: str) -> None:
    robot = ZOO[name]()
    assert len(robot.q_names) == len(robot.q_units) == robot.nq == len(set(robot.q_names))
    assert len(robot.v_names) == len(robot.v_units) == robot.nv == len(set(robot.v_names))
    assert robot.position_limits.shape == (2, robot.nq)
    assert robot.velocity_limits.shape == robot.effort_limits.shape == (robot.nv,)
    count = 10 * robot.nbodies
    assert robot.parameters.shape == (count,)
    assert len(robot.parameter_names) == len(robot.parameter_units) == count == len(set(robot.parameter_names))


def test_limits_stand_at_their_coordinates() -> None:
    b = rc.Builder("arm")
    for name in ("a", "b", "c", "d"):
        b.link(name, mass=1.0, inertia=(1, 1, 1))
    b.joint("ball", "spherical", parent="world", child="a")
    b.joint("turn", "revolute", parent="a", child="b", limits=(-1.0, 2.0), effort=30.0, velocity=4.0)
    b.joint("spin", "continuous", parent="b", child="c", effort=5.0)
    b.joint("slide", "prismatic", parent="c", child="d", limits=(0.0, math.inf), velocity=0.5)
    robot = b.build()
    low, high = robot.position_limits
    assert low.tolist() == [-math.inf] * 4 + [-1.0, -math.inf, 0.0]
    assert high.tolist() == [math.inf] * 4 + [2.0, math.inf, math.inf]
    assert robot.velocity_limits.tolist() == [math.inf] * 3 + [4.0, math.inf, 0.5]
    assert robot.effort_limits.tolist() == [math.inf] * 3 + [30.0, 5.0, math.inf]
    assert robot.q_units == ("1",) * 4 + ("rad", "rad", "m")
    assert robot.v_units == ("rad/s",) * 5 + ("m/s",)


def test_tied_joints_have_no_entries() -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"), mimic="tie")
    assert len(robot.q_names) == robot.position_limits.shape[1] == len(robot.effort_limits) == 7


def test_random_states_within_limits() -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"))
    low, high = robot.position_limits
    fast = far = False
    for seed in range(20):
        q, v = robot.random_state(seed, within_limits=True)
        assert (low <= q).all()
        assert (q <= high).all()
        assert (np.abs(v) <= robot.velocity_limits).all()
        usual = robot.random_state(seed)
        assert np.array_equal(usual[0], q)  # coordinates always were within theirs
        fast |= bool((np.abs(usual[1]) > robot.velocity_limits).any())
        anywhere = robot.random_state(seed, within_limits=False)
        far |= bool(((anywhere[0] < low) | (anywhere[0] > high)).any())
        assert np.array_equal(anywhere[1], usual[1])
    assert fast
    assert far


# ---- states by name --------------------------------------------------------------------------------------------------


def test_states_by_joint_names() -> None:
    robot = one_of_each()
    joint = next(joint for joint in robot.model.joints if joint.kind.name == "planar")
    q, v = robot.state({joint.name: [0.1, 0.2, 0.3]}, {joint.name: [1.0, 2.0, 3.0]})
    expected = robot.neutral()
    expected[joint.q_start : joint.q_start + 3] = 0.1, 0.2, 0.3
    assert np.array_equal(q, expected)
    assert v[joint.v_start : joint.v_start + 3].tolist() == [1.0, 2.0, 3.0]
    assert np.count_nonzero(v) == 3
    assert np.array_equal(robot.state(q)[0], q)
    assert not robot.state({})[1].any()


def test_states_that_a_file_names() -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"), mimic="tie")
    home = NamedState("home", (("elbow", (0.5,)), ("right_finger_slide", (0.01,))), (("waist", (0.1,)),))
    robot = robot._changed(description=replace(robot.model.description, states=(home,)))
    q, v = robot.state("home")  # the right finger is tied: its value follows from the left one's
    assert dict(zip(robot.q_names, q.tolist(), strict=True))["elbow"] == 0.5
    assert (np.count_nonzero(q), np.count_nonzero(v)) == (1, 1)
    assert robot.state_names == ("home",)
    with pytest.raises(rc.UnknownNameError, match=r"no named state 'hom' in robot 'desk_arm'. Did you mean 'home'"):
        robot.state("hom")
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'elbow'"):
        robot.state({"elbo": 1.0})


# ---- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pendulum", "mixed_tree", "free_flyer", "puma560", "floating_tree"])
def test_parameters_are_those_of_the_regressor(name: str) -> None:
    robot = ZOO[name]()
    q, v = robot.random_state(1)
    a = np.linspace(-1.0, 1.0, robot.nv)
    armature = np.array([x for joint in robot.model.joints for x in joint.armature])
    torques = robot.regressor(q, v, a) @ robot.parameters + armature * a
    assert np.allclose(torques, robot.inverse_dynamics(q, v, a), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["pendulum", "mixed_tree", "free_flyer", "puma560", "floating_tree"])
def test_parameters_put_in_come_out_to_the_bit(name: str) -> None:
    robot = ZOO[name]()
    numbers = np.random.default_rng(4).normal(size=10 * robot.nbodies)  # also what no body can have
    with pytest.warns(rc.ModelWarning):
        other = robot.with_parameters(numbers)
    assert np.array_equal(other.parameters, numbers)
    q, v = robot.random_state(1)
    a = np.linspace(-1.0, 1.0, robot.nv)
    expected = robot.inverse_dynamics(q, v, a, parameters=numbers)
    assert np.array_equal(other.inverse_dynamics(q, v, a), expected)
    assert other.link_names == robot.link_names
    assert np.array_equal(other.poses(q), robot.poses(q))


def test_own_parameters_change_nothing() -> None:
    """Nor how merged links share: all of it is the first link's, and the torques stay."""
    robot = rc.robots.panda_like().with_payload("flange", 2.0, (0, 0, 0.1), (0.01, 0.01, 0.01))
    same = robot.with_parameters(robot.parameters)
    assert np.array_equal(same.parameters, robot.parameters)
    masses = {link.name: link.mass for link in same.model.description.links}
    assert masses["flange_payload"] == 0.0
    assert masses["link7"] == robot.parameters[60]
    q, _ = robot.random_state(3)
    assert np.array_equal(same.mass_matrix(q), robot.mass_matrix(q))


def test_a_massless_body_may_have_moments() -> None:
    with pytest.warns(rc.ModelWarning, match="it has inertia but no mass"):
        robot = rc.robots.planar(1).with_parameters([0.0, 0.2, 0, 0, 0, 0, 0, 0, 0, 1.0])
    assert robot.gravity_forces([0.0])[0] == pytest.approx(0.2 * 9.81)
    assert rc.load(robot.to_urdf()).nv == 1


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"link2.m": -0.1}, "link 'link2': its mass is -0.1 kg"),
        ({"link2.Izz": 1e-4}, "link 'link2': its inertia about the centre of mass has principal moments"),
        ({"link2.Izz": 0.2}, "link 'link2': its principal moments .* break the triangle inequality"),
        ({"link2.m": 0.0, "link2.Iyy": 0.0, "link2.Izz": 0.0}, "link 'link2': it has a first moment of mass"),
    ],
)
def test_parameters_that_no_body_has_are_reported(numbers: dict[str, float], reason: str) -> None:
    """Bodies that the robot had already are not reported again."""
    robot = rc.robots.planar(2)
    with pytest.warns(rc.ModelWarning, match="'planar2': (warning|error): (link 'link2'|joint 'joint2')") as caught:
        other = robot.with_parameters(numbers)
    assert caught[0].filename == __file__
    assert re.search(reason, str(other.doctor()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.with_parameters({"link1.m": 0.6})
        robot.with_parameters({"link1.m": 0.6})


def test_wrong_parameters_are_told() -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.ShapeError, match=r"shape \(3,\), expected \(20,\): ten of each of the 2 bodies"):
        robot.with_parameters([1.0, 2.0, 3.0])
    with pytest.raises(rc.ModelError, match=r"'link1.mcx' must be finite"):
        robot.with_parameters([0.0, math.nan, *[0.0] * 18])
    with pytest.raises(rc.UnknownNameError, match=r"Did you mean 'link1.mcx'"):
        robot.with_parameters({"link1.mx": 1.0})
