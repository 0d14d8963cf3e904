"""Numbers that mean something else elsewhere are noticed, once; names of other libraries are answered; waits are
told."""

import io
import re
import sys
import time
import warnings

import numpy as np
import pytest

import recursa as rc
from recursa import waits
from recursa.other_names import OF_ROBOTS, OF_THE_MODULE


def arm() -> rc.Robot:
    return rc.load(rc.robots.urdf("desk_arm"), mimic="tie")


def said(act) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in caught if one.category is rc.ConventionWarning]


@pytest.mark.parametrize("batch", [(), (4,)])
def test_degrees_are_noticed_once(batch) -> None:
    robot = arm()
    q = np.broadcast_to(np.linspace(20.0, 80.0, robot.nq), (*batch, robot.nq))
    assert [re.search(r"joint '(\w+)' is at .* degrees", one)[1] for one in said(lambda: robot.mass_matrix(q))] == [
        "waist"
    ]
    assert said(lambda: (robot.gravity_forces(q), robot.mass_matrix(q))) == []


def test_degrees_by_joint_name_and_in_motions_are_noticed() -> None:
    named = {"shoulder": 45.0}
    assert "joint 'shoulder' is at 45 rad" in said(lambda: arm().gravity_forces(named))[0]
    assert "degrees" in said(lambda: arm().simulate(named, np.zeros(7), duration=1e-3, progress=False))[0]
    robot = arm()
    start = robot.neutral() + 50.0
    assert "degrees" in said(lambda: rc.rollout(robot, [start], [np.zeros(7)], None, 1e-3, 1))[0]


def test_degrees_keep_their_sign() -> None:
    assert "joint 'shoulder' is at -90 rad" in said(lambda: arm().gravity_forces({"shoulder": -90.0, "elbow": 0.5}))[0]


POSTURES = {
    "GravityPD": lambda robot, q: rc.control.GravityPD(robot, q, 20.0, 2.0),
    "Impedance": lambda robot, q: rc.control.Impedance(robot, "hand", np.eye(4), 10.0, 2.0, posture=q),
    "OperationalSpace": lambda robot, q: rc.control.OperationalSpace(
        robot, "hand", np.eye(4), stiffness=10.0, posture=q
    ),
    "cycloid": lambda robot, q: rc.Trajectory.cycloid(robot.neutral(), q, 1.0, robot=robot),
    "via": lambda robot, q: rc.control.GravityPD(robot, rc.Trajectory.cycloid(0.0 * q, q, 1.0), 20.0, 2.0),
}


@pytest.mark.parametrize("name", POSTURES)
def test_degrees_of_targets_are_noticed(name) -> None:
    robot = arm()
    q = robot.neutral()
    assert said(lambda: POSTURES[name](robot, q + 0.1)) == []
    q[1] = -45.0
    (message,) = said(lambda: POSTURES[name](robot, q))
    assert "is at -45 rad" in message and "degrees" in message


def test_radians_are_not_noticed() -> None:
    """Nor what a motion comes to, nor a joint without limits, nor angles a little beyond them."""
    robot = arm()
    assert said(lambda: robot.mass_matrix(1.5 * robot.position_limits[1])) == []
    wheel = rc.robots.planar(1)
    assert said(lambda: wheel.mass_matrix([720.0])) == []


def test_angles_that_a_motion_has_come_to_are_not_noticed() -> None:
    """But a motion that stays within the limits does not end the hints."""

    def spinning() -> rc.Robot:
        return rc.robots.planar(1).with_gravity((0, 0, 0)).with_joint("joint1", limits=(-1.0, 1.0))

    robot = spinning()
    assert said(lambda: robot.simulate([0.0], [300.0], duration=0.1, progress=False)) == []
    assert said(lambda: robot.mass_matrix([30.0])) == []
    robot = spinning()
    assert said(lambda: rc.rollout(robot, [[0.0]], [[300.0]], None, 1e-2, 10)) == []
    assert said(lambda: robot.mass_matrix([30.0])) == []
    robot = spinning()
    robot.simulate([0.0], [0.0], duration=1e-3, progress=False)
    assert "degrees" in said(lambda: robot.mass_matrix([30.0]))[0]


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
@pytest.mark.parametrize("given", [np.array, np.ndarray.tolist])
def test_hints_do_not_depend_on_what_was_called_before(batch, given) -> None:
    """Whether a call takes the general way or goes straight into native code."""
    robot = arm()
    q = np.zeros((*batch, robot.nq))
    for _ in range(3):
        assert said(lambda: robot.mass_matrix(given(q))) == []
    q[..., 1] = 45.0
    assert len(said(lambda: [robot.mass_matrix(given(q)) for _ in range(3)])) == 1
    robot.mass_matrix(given(q))  # native again
    assert said(lambda: robot.gravity_forces(given(q))) == []
    flyer = rc.robots.free_flyer(2)
    q = np.broadcast_to(flyer.neutral(), (*batch, flyer.nq)).copy()
    for _ in range(3):
        assert said(lambda: flyer.mass_matrix(given(q))) == []
    q[..., 3:7] = 1.0, 0.0, 0.0, 0.0
    assert len(said(lambda: [flyer.mass_matrix(given(q)) for _ in range(3)])) == 1


@pytest.mark.parametrize("batch", [(), (4,)])
def test_formulas_give_hints(batch) -> None:
    """Whatever they were called with before, and once for a formula."""
    robot = rc.robots.panda_like()
    formula = rc.compile("inv(mass) T", robot)
    q, speeds, torques = np.zeros((3, *batch, robot.nq))
    for _ in range(3):
        assert said(lambda: formula(q, speeds, torques)) == []
    q[..., 1] = 45.0
    assert len(said(lambda: [formula(q, speeds, torques) for _ in range(3)])) == 1


@pytest.mark.parametrize("place", [0, 1])
def test_every_argument_of_coordinates_is_looked_at(place) -> None:
    robot = arm()
    pair = [np.zeros(robot.nq), np.zeros(robot.nq)]
    for _ in range(3):
        assert said(lambda: robot.difference(*pair)) == []
    pair[place] = pair[place] + 45.0
    assert len(said(lambda: [robot.difference(*pair) for _ in range(3)])) == 1


STARTS = {
    "inverse_kinematics": lambda robot, q: rc.inverse_kinematics(robot, "hand", np.eye(4), q0=q, restarts=0),
    "posture": lambda robot, q: rc.inverse_kinematics(robot, "hand", np.eye(4), posture=q, restarts=0),
    "analytic": lambda robot, q: rc.analytic_inverse_kinematics(rc.robots.puma560(), "link6", np.eye(4), q0=q),
    "workspace": lambda robot, q: rc.workspace(robot, "hand", q0=q, samples=5),
}


@pytest.mark.parametrize("name", STARTS)
def test_degrees_of_starts_are_noticed(name) -> None:
    q = rc.robots.puma560().neutral() if name == "analytic" else arm().neutral()
    assert said(lambda: STARTS[name](arm(), q)) == []
    q[1] = -45.0
    (message,) = said(lambda: STARTS[name](arm(), q))
    assert "is at -45 rad" in message and "degrees" in message


def test_hints_about_named_coordinates_do_not_depend_on_what_was_called_before() -> None:
    robot = arm()
    for _ in range(3):
        robot.gravity_forces({"shoulder": 0.4})
    assert "joint 'shoulder' is at 45 rad" in said(lambda: robot.gravity_forces({"shoulder": 45.0}))[0]


def test_states_after_a_hint_go_straight_into_native_code_again(monkeypatch) -> None:
    robot = arm()
    q = robot.neutral()
    q[0] = 90.0
    for _ in range(3):
        said(lambda: robot.mass_matrix(q))
    monkeypatch.setattr(type(robot.evaluator), "evaluate", None)
    assert robot.mass_matrix(q).shape == (7, 7)


def test_a_quaternion_with_w_first_is_noticed() -> None:
    robot = rc.robots.free_flyer(2)
    q = robot.neutral()
    assert said(lambda: robot.mass_matrix(q)) == []
    q[3:7] = 1.0, 0.0, 0.0, 0.0
    (message,) = said(lambda: robot.gravity_forces(q))
    assert "'root'" in message and "(x, y, z, w)" in message
    assert said(lambda: robot.center_of_mass(q)) == []


@pytest.mark.parametrize("layout", ["recursa", "pinocchio", "mujoco", "drake"])
def test_speeds_of_a_base_in_another_frame_are_noticed(layout) -> None:
    robot = rc.robots.free_flyer(2)
    q0, v0 = robot.random_state(4)
    run = robot.simulate(q0, v0, duration=1.0, samples=101, progress=False)
    v = run.v
    if layout != "recursa":
        v = robot.reorder(v, robot.joint_names, layout=layout, quantity="v", q=run.q, inverse=True)
    found = said(lambda: rc.Trajectory.along(run.t, run.q, v, robot=robot))
    assert found == [] if layout == "recursa" else f'layout="{layout}"' in found[0]


# ---- what Pinocchio calls otherwise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("theirs, ours", [("LOCAL_WORLD_ALIGNED", "mixed"), ("LOCAL", "body"), ("WORLD", "world")])
def test_frames_of_pinocchio_lead_to_ours(theirs, ours) -> None:
    with pytest.raises(rc.UnknownNameError, match=f"Pinocchio calls {theirs} is '{ours}' here"):
        rc.robots.planar(2).jacobian([0.1, 0.2], "tip", frame=theirs)


def test_joints_in_the_place_of_links_are_told_and_the_reverse() -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match="'joint2' is a joint; the link that it carries is 'link2'"):
        robot.pose([0.1, 0.2], "joint2")
    with pytest.raises(rc.UnknownNameError, match="'tip' is a link; the joint that moves it is 'joint2'"):
        robot.with_joint("tip", damping=1.0)
    with pytest.raises(rc.UnknownNameError, match="'link1' is a link; the joint that moves it is 'joint1'"):
        robot.pose({"link1": 0.3}, "tip")


def test_coordinates_of_pinocchio_are_recognised() -> None:
    builder = rc.Builder("wheels")
    for name, parent in (("a", "world"), ("b", "a")):
        builder.link(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
        builder.joint(f"to_{name}", "continuous", parent=parent, child=name)
    robot = builder.build()
    with pytest.raises(rc.ShapeError, match=r"joint 'to_a'. robot.reorder\(q, names, layout=\"pinocchio\"\)"):
        robot.mass_matrix([1.0, 0.0, 1.0, 0.0])
    with pytest.raises(rc.ShapeError) as caught:
        robot.mass_matrix([1.0, 0.0, 1.0])
    assert "Pinocchio" not in str(caught.value)


def test_a_forgotten_floating_base_is_recognised() -> None:
    robot, flyer = (rc.load(rc.robots.urdf("quadruped"), floating=floating) for floating in (False, True))
    q, v = flyer.random_state(1)
    calls = [
        lambda: robot.mass_matrix(q),
        lambda: robot.inverse_dynamics(q[7:], v, v),
        lambda: robot.mass_matrix([q, q]),
        lambda: robot.simulate(q, v, duration=0.1),
        lambda: rc.rollout(robot, [q], [v], None, 1e-3, 2),
    ]
    for call in calls:
        with pytest.raises(rc.ShapeError, match=r"robot 'quadruped' has n[qv] = 12\. .* floating=True forgotten"):
            call()


def test_torques_of_the_joints_alone_are_recognised() -> None:
    """For a free base beside n joints; the advice is carried out."""
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    q, v = robot.random_state(1)
    tau = np.arange(12.0)
    calls = {
        "tau": lambda: robot.forward_dynamics(q, v, tau),
        "torque": lambda: robot.simulate(q, v, duration=0.1, torque=tau),
        "tau ": lambda: robot.simulate(q, v, duration=0.1, torque=lambda t, q, v: tau),
    }
    for name, call in calls.items():
        with pytest.raises(rc.ShapeError, match=r"joints alone; the 6 of the free base 'root' come first") as caught:
            call()
        advice = str(caught.value).rpartition(": ")[2]
        np.testing.assert_array_equal(eval(advice, {"np": np, name.strip(): tau}), [0.0] * 6 + tau.tolist())
    rows = np.tile(q[7:], (3, 1))
    with pytest.raises(rc.ShapeError, match="the 7 of the free base 'root' come first") as caught:
        robot.mass_matrix(rows)
    assert robot.mass_matrix(eval(str(caught.value).rpartition(": ")[2], {"np": np, "q": rows})).shape == (3, 18, 18)


def test_transposed_batches_are_recognised() -> None:
    robot = rc.robots.planar(3)
    q = np.zeros((3, 50))
    calls = {
        "q.T": lambda: robot.mass_matrix(q),
        "v.T": lambda: robot.inverse_dynamics(q.T, q, q.T),
        "q0.T": lambda: rc.rollout(robot, q, q, None, 1e-3, 2),
        r"np.swapaxes\(q, -1, -2\)": lambda: robot.mass_matrix(np.zeros((2, 3, 5), np.float32)),
    }
    for advice, call in calls.items():
        with pytest.raises(rc.ShapeError, match=f"looks transposed: pass {advice}$"):
            call()


def test_names_of_joints_need_a_robot() -> None:
    with pytest.raises(rc.StateError, match=r"q0 goes by joint names.* give robot= as well"):
        rc.Trajectory.cycloid({"joint1": 0.0}, {"joint1": 1.0}, 1.0)
    with pytest.raises(rc.StateError, match=r"v0 goes by joint names.* give robot= as well"):
        rc.Trajectory.quintic([0.0], [1.0], 1.0, v0={"joint1": 1.0})


def test_a_step_that_is_too_long_is_not_blamed_on_inertias() -> None:
    robot = rc.load(rc.robots.urdf("desk_arm"))
    q, v = robot.random_state(1)
    with pytest.raises(rc.SimulationError, match=r"beyond t = 0 s. The step of 0.5 s is likely too long") as caught:
        robot.simulate(q, 20.0 * v, duration=5.0, integrator="rk4", step=0.5, progress=False)
    assert "hinge inertia" not in str(caught.value) and "is the fastest" in str(caught.value)


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_ROBOTS)
def test_names_of_other_libraries_lead_to_ours(name) -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(AttributeError, match="Did you mean") as caught:
        getattr(robot, name)
    proposed = re.search(r"Did you mean (rc|robot)\.(\w+)", str(caught.value))
    assert hasattr({"rc": rc, "robot": robot}[proposed[1]], proposed[2])


@pytest.mark.parametrize("name", OF_THE_MODULE)
def test_names_of_other_modules_lead_to_ours(name) -> None:
    with pytest.raises(AttributeError, match=r"Did you mean (rc|robot)\.") as caught:
        getattr(rc, name)
    found = re.search(r"Did you mean (rc|robot)\.(\w+)", str(caught.value))
    assert hasattr(rc if found[1] == "rc" else rc.Robot, found[2])


def test_misspelled_names_are_answered() -> None:
    with pytest.raises(AttributeError, match="'mass_matrix'"):
        rc.robots.planar(1).mas_matrix  # noqa: B018
    with pytest.raises(AttributeError, match="'inverse_kinematics'"):
        rc.inverse_kinematic  # noqa: B018
    assert not hasattr(rc.robots.planar(1), "_repr_png_")  # notebooks ask


def test_dir_shows_only_what_is_public() -> None:
    shown = dir(rc)
    assert {"load", "Robot", "plotting", "interop", "control", "inverse_kinematics"} <= set(shown)
    assert not {"import_module", "Any", "TYPE_CHECKING", "errors", "kernels", "sweeps"} & set(shown)
    assert all(getattr(rc, name) is not None for name in shown)


# ---- waits -----------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream, told", [(Terminal(), True), (io.StringIO(), False)])
def test_long_waits_speak_where_somebody_reads(monkeypatch, stream, told) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(waits, "PATIENCE", 0.01)
    with waits.spoken("compiling this"), waits.spoken("a part of it"):
        end = time.perf_counter() + 10.0
        while told and not stream.getvalue() and time.perf_counter() < end:
            time.sleep(0.01)
    lines = stream.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == (["compiling this ...", "compiling this"] if told else [])


def test_short_waits_are_silent(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with waits.spoken("compiling this"):
        pass
    assert sys.stderr.getvalue() == ""
