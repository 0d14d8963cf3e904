"""Sensitivities of motions against motions of robots that differ a little, and bands about them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.runs.run_sensitivity import Sensitivity
from zoo import small_flyer

H = 1e-5


def difference(robot: rc.Robot, q, v, **options):
    """Central differences of whole motions: ``move(step)`` gives the robot, q0, v0 that differ by a step."""

    def at(move):
        ahead, behind = (other.simulate(*start, progress=False, **options) for other, *start in (move(H), move(-H)))
        return robot.difference(behind.q, ahead.q) / (2 * H), (ahead.v - behind.v) / (2 * H)

    return at


@pytest.mark.parametrize("name", ["lossy", "flyer"])
def test_parameters_payload_and_start_match_differences_of_motions(name):
    """For an arm with damping, and a flyer whose coordinates turn along."""
    robot = small_flyer() if name == "flyer" else rc.robots.planar(2).with_joint("joint2", damping=0.05)
    q, v = robot.random_state(3)
    t = np.linspace(0.0, 0.3, 31)
    options = {"duration": 0.3, "samples": t, "torque": np.full(robot.nv, 0.2), "rtol": 1e-12, "atol": 1e-13}
    run = robot.simulate(q, v, dense=True, progress=False, **options)
    parameter, link = robot.parameter_names[10], robot.link_names[-1]
    found = robot.trajectory_sensitivity(run, [parameter], payload=(link, (0.1, 0.0, 0.2)), initial=True, rtol=1e-9)
    assert found.names[:2] == (parameter, "payload.mass")
    assert len(found.names) == 2 + 2 * robot.nv
    at = difference(robot, q, v, **options)
    own = float(robot.parameters[10])
    moves = [
        lambda h: (robot.with_parameters({parameter: own + h}), q, v),
        lambda h: (robot, robot.integrate(q, h * np.eye(robot.nv)[1]), v),
        lambda h: (robot, q, v + h * np.eye(robot.nv)[0]),
    ]
    for column, move in zip((0, 3, 2 + robot.nv), moves, strict=True):
        dq, dv = at(move)
        close(found.q[..., column], dq, 1e-5)
        close(found.v[..., column], dv, 1e-5)
    heavier = robot.with_payload(link, H, (0.1, 0.0, 0.2)).simulate(q, v, progress=False, **options)
    close(found.q[..., 1], robot.difference(run.q, heavier.q) / H, 1e-3)  # no payload is negative: to one side
    close(found.change({parameter: 2.0})[0], 2.0 * found.q[..., 0])


def test_controllers_react():
    """Closed loop: a spring and a damper as the drive; with the torques as functions of time the answer is another."""
    robot = rc.robots.planar(2)

    def drive(t, q, v):
        return np.array([4.0, 1.0]) * (np.sin(t) - q) - 0.3 * v

    options = {"duration": 0.5, "samples": 26, "torque": drive, "rtol": 1e-12, "atol": 1e-13, "progress": False}
    run = robot.simulate([0.3, 0.4], dense=True, **options)
    closed = robot.trajectory_sensitivity(run, ["link2.m"])
    assert (robot.trajectory_sensitivity(run, ["link2.m"], torque=drive).q == closed.q).all()
    own = float(robot.parameters[10])
    ends = [robot.with_parameters({"link2.m": own + h}).simulate([0.3, 0.4], **options).q for h in (H, -H)]
    close(closed.q[..., 0], (ends[0] - ends[1]) / (2 * H), 1e-5)
    fine = robot.simulate([0.3, 0.4], **(options | {"samples": 1001}))
    still = robot.trajectory_sensitivity(run, ["link2.m"], torque=rc.TorqueTable(fine.t, fine.tau, "cubic"))
    assert np.abs(still.q - closed.q).max() > 1e-3


@pytest.mark.parametrize("options", [{}, {"dense": True}, {"integrator": "rk4", "step": 1e-3}])
@pytest.mark.parametrize("samples", [[0.3, 0.6], [0.6], 3, 61])
def test_samples_of_the_run_do_not_matter(samples, options):
    """A robot driven by a function, sampled as its user likes; also from the middle on."""
    robot, start = rc.robots.planar(2), [0.3, 0.4]

    def torque(t, q, v):
        return [3.0 * np.sin(9.0 * t), 0.5 * np.cos(5.0 * t)]

    def move(samples, load=0.0):
        heavier = robot.with_payload("tip", load) if load else robot
        return heavier.simulate(start, duration=0.6, torque=torque, samples=samples, progress=False, **options)

    run = move(samples)
    expected = (-3.0 * move([0.6]).q[-1] + 4.0 * move([0.6], 1e-5).q[-1] - move([0.6], 2e-5).q[-1]) / 2e-5
    found = robot.trajectory_sensitivity(run, payload="tip")
    assert (found.t == run.t).all()
    close(found.q[-1, :, 0], expected, 3e-6)


def test_stops_and_wrenches_that_follow_the_state_react():
    """Springs at the limits, and a drag that a function makes of the speed."""
    robot = rc.robots.planar(2).with_joint("joint2", limits=(-0.2, 0.5))

    def drag(t, q, v):
        return [rc.Wrench(at="tip", force=-0.5 * robot.jacobian(q, "tip")[3:] @ v)]

    options = {"duration": 0.4, "stops": rc.Stops(stiffness=50.0), "wrenches": drag, "rtol": 1e-12, "atol": 1e-13}
    run = robot.simulate([0.3, 0.4], [0.0, 2.0], samples=5, **options)
    assert run.q[:, 1].max() > 0.5
    found = robot.trajectory_sensitivity(run, ["link2.m"])
    own = float(robot.parameters[10])
    ends = [
        robot.with_parameters({"link2.m": own + h}).simulate([0.3, 0.4], [0.0, 2.0], samples=5, **options).q
        for h in (H, -H)
    ]
    close(found.q[..., 0], (ends[0] - ends[1]) / (2 * H), 1e-5)


def test_sliding_friction_is_followed_and_joints_at_rest_are_refused():
    robot = rc.robots.planar(2).with_joint("joint1", friction=0.5)
    options = {"duration": 0.05, "torque": [40.0, 0.0], "samples": 5, "rtol": 1e-12, "atol": 1e-13}
    run = robot.simulate([0.3, 0.4], **options)  # from rest, and on at once
    found = robot.trajectory_sensitivity(run, ["link2.m"])
    own = float(robot.parameters[10])
    ends = [robot.with_parameters({"link2.m": own + h}).simulate([0.3, 0.4], **options).q for h in (H, -H)]
    close(found.q[..., 0], (ends[0] - ends[1]) / (2 * H), 1e-5)
    with pytest.raises(rc.StateError, match=r"'joint1' has dry friction and is at rest at t = 0 s"):
        robot.trajectory_sensitivity(run, [], initial=True)
    stops = robot.simulate([0.3, 0.4], duration=2.0, samples=3)
    with pytest.raises(rc.StateError, match=r"'joint1' has dry friction and is at rest at t = 0\.\d+ s"):
        robot.trajectory_sensitivity(stops, ["link2.m"])


def test_runs_that_do_not_carry_what_they_need_are_refused():
    """Files and pickles keep neither functions nor a start that is not among the samples."""
    robot = rc.robots.planar(2)
    pushed = robot.simulate([0.3, 0.4], duration=0.3, torque=[9.0, 1.0], samples=7)
    late = robot.simulate([0.3, 0.4], duration=0.3, samples=[0.1, 0.3])
    stored, late_stored = pickle.loads(pickle.dumps((pushed, late)))
    with pytest.raises(rc.StateError, match=r"does not move as the run says: at t = 0\.3 s .*torque="):
        robot.trajectory_sensitivity(stored, payload="tip")
    found = robot.trajectory_sensitivity(stored, payload="tip", torque=[9.0, 1.0])
    close(found.q, robot.trajectory_sensitivity(pushed, payload="tip").q, 1e-9)
    with pytest.raises(rc.StateError, match=r"begins with a sample at t = 0\.1 s"):
        robot.trajectory_sensitivity(late_stored, payload="tip")
    with pytest.raises(rc.StateError, match="does not move as the run says"):
        robot.with_payload("tip", 1.0).trajectory_sensitivity(pushed, payload="tip")
    moved = robot.simulate([0.3, 0.4], duration=0.1, base=lambda t: (np.eye(7)[6], np.zeros(6), np.zeros(6)))
    with pytest.raises(rc.StateError, match="base= acted in the run"):
        robot.trajectory_sensitivity(moved, payload="tip")
    bar = rc.robots.four_bar()
    with pytest.raises(rc.NoSweepError, match="'four_bar' has constraints"):
        bar.trajectory_sensitivity(bar.simulate(bar.neutral(), duration=0.1))


def test_wrenches_act_along_the_way():
    robot = rc.robots.planar(2)
    push = rc.Wrench(at="tip", force=(3.0, 1.0, 0.0))
    options = {"duration": 0.3, "samples": 16, "wrenches": [push], "rtol": 1e-12, "atol": 1e-13, "progress": False}
    run = robot.simulate([0.3, 0.4], dense=True, **options)
    found = robot.trajectory_sensitivity(run, ["link1.Izz"], wrenches=[push])
    own = float(robot.parameters[9])
    ends = [robot.with_parameters({"link1.Izz": own + h}).simulate([0.3, 0.4], **options).q for h in (H, -H)]
    close(found.q[..., 0], (ends[0] - ends[1]) / (2 * H), 1e-5)


def test_bands_are_first_order_statistics_and_are_drawn():
    robot = rc.robots.planar(2)
    run = robot.simulate([0.3, 0.4], duration=0.3, samples=11, progress=False)
    names = ("link1.m", "link2.m")
    found = robot.trajectory_sensitivity(run, names)
    band = found.band({"link2.m": 0.1})
    close(band.q, 0.1 * np.abs(found.q[..., 1]))
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    both = found.band(covariance)
    close(both.v**2, np.einsum("nik,kl,nil->ni", found.v, covariance, found.v))
    close(found.band([0.2, 0.3]).q ** 2, (found.q**2) @ [0.04, 0.09])
    figure = run.plot(bands=both, panels=["angles", "speeds"])
    shaded = [[patch.get_paths()[0].vertices for patch in axes.collections] for axes in figure.axes]
    assert [len(one) for one in shaded] == [2, 2]
    top = shaded[0][0][:, 1].max()
    assert top == pytest.approx((run.finely()[1][:, 0] + 2 * np.interp(run.finely()[0], both.t, both.q[:, 0])).max())


def test_what_cannot_be_varied_is_said():
    robot = rc.robots.planar(2)
    run = robot.simulate([0.3, 0.4], duration=0.1, progress=False)
    with pytest.raises(rc.UnknownNameError, match=r"link2\.m"):
        robot.trajectory_sensitivity(run, ["link2.mass"])
    with pytest.raises(rc.UnknownNameError, match="tip"):
        robot.trajectory_sensitivity(run, payload="tipp")
    with pytest.raises(rc.StateError, match="does not move"):
        robot.trajectory_sensitivity(run, payload="world")
    with pytest.raises(rc.ShapeError, match=r"expected \(20,\): a direction"):
        robot.trajectory_sensitivity(run, {"mine": [1.0, 2.0]})
    with pytest.raises(rc.StateError, match="nothing is varied"):
        robot.trajectory_sensitivity(run, [])
    with pytest.raises(rc.StateError, match="another one"):
        rc.robots.planar(3).trajectory_sensitivity(run)
    found = robot.trajectory_sensitivity(run, {"both": np.eye(20)[0] + np.eye(20)[10]})
    assert isinstance(found, Sensitivity)
    with pytest.raises(rc.ShapeError, match=r"covariance has shape \(2, 2\)"):
        found.band(np.eye(2))
    with pytest.raises(rc.UnknownNameError, match="both"):
        found.change({"one": 1.0})
