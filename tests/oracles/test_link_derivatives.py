"""How the motion of a link changes with q, v and a, and Jacobians of all links: complex steps and Pinocchio."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import FRAMES, close, motion_matrix, states, stepped, tied_gripper
from recursa.interop import pinocchio as interop
from recursa.kernels.dispatch import Switch
from zoo import ZOO, also_by, large_interpreted


def many_frames() -> rc.Robot:
    """A chain of fourteen bodies, each with frames elsewhere: more than a loop takes from bodies."""
    robot = rc.robots.chain(14, seed=4)
    for k in range(1, 15):
        for side in range(8):
            robot = robot.with_frame(f"frame{k}.{side}", f"link{k}", xyz=(0.1 * side, 0.2, 0.3), rpy=(0.1, 0.2, side))
    return robot


ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "tied_gripper": tied_gripper,
    "many_frames": many_frames,
}
LARGE = ("chain_mixed", "tree", "mixed_tree", "one_of_each", "floating_tree", "many_frames")
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS, LARGE))
every_frame = pytest.mark.parametrize("frame", FRAMES)


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


def links_of(robot):
    """The last one, one half-way, and the root."""
    return robot.link_names[-1], robot.model.joints[robot.nbodies // 2].child, robot.link_names[0]


@every_robot
@every_frame
def test_velocities_change_as_complex_steps_say(name, frame):
    robot = robot_named(name)
    q, v, _ = states(robot, 2, seed=1)
    expected = list(stepped(lambda *state: robot.velocities(*state, frame), robot, q, v))
    for link in links_of(robot):
        found, at = robot.velocity_derivatives(q, v, link, frame=frame), robot.link_names.index(link)
        for ours, theirs, what in zip(found, expected, ("by q", "by v"), strict=True):
            close(ours, theirs[:, at], 1e-12, what)
        close(found[1], robot.jacobian(q, link, frame=frame), 1e-13)


@pytest.mark.parametrize(("frame", "name"), also_by(FRAMES, ROBOTS, ("panda_like", "free_flyer", "one_of_each"), LARGE))
@pytest.mark.parametrize("kind", ["spatial", "classical"])
def test_accelerations_change_as_complex_steps_say(name, frame, kind):
    robot = robot_named(name)
    q, v, a = states(robot, 2, seed=2)
    expected = list(stepped(lambda *state: robot.accelerations(*state, frame, kind), robot, q, v, a))
    for link in links_of(robot):
        found = robot.acceleration_derivatives(q, v, a, link, frame=frame, kind=kind)
        for ours, theirs, what in zip(found, expected, ("by q", "by v", "by a"), strict=True):
            close(ours, theirs[:, robot.link_names.index(link)], 1e-12, what)


def test_unknown_kinds_and_frames_are_named():
    robot = robot_named("pendulum")
    q, v, a = (x[0] for x in states(robot, 1))
    with pytest.raises(rc.UnknownNameError, match="kind of acceleration"):
        robot.acceleration_derivatives(q, v, a, "bob", kind="classic")
    for ask in (robot.jacobians, lambda q, frame: robot.velocity_derivatives(q, v, "bob", frame=frame)):
        with pytest.raises(rc.UnknownNameError, match="frame"):
            ask(q, frame="link")


# ---- all links -------------------------------------------------------------------------------------------------------


@every_robot
@every_frame
def test_jacobians_are_those_of_the_links(name, frame):
    robot = robot_named(name)
    q, _, _ = states(robot, 3, seed=3)
    found = robot.jacobians(q, frame=frame)
    assert found.shape == (3, robot.nlinks, 6, robot.nv)
    for number, link in enumerate(robot.link_names):
        close(found[:, number], robot.jacobian(q, link, frame=frame), 1e-13, link)


@pytest.mark.compiled
@every_frame
@pytest.mark.parametrize("name", ["many_frames", "tree"])
def test_loops_make_the_jacobians_of_many_links(name, frame):
    Switch.form = "loop"  # many links of few bodies may be cheaper in a straight line
    robot = ROBOTS[name]()
    q, v, _ = states(robot, 5, seed=4)
    close(robot.jacobians(q, frame=frame) @ v[:, None, :, None], robot.velocities(q, v, frame)[..., None], 1e-12)
    kernels = [kernel for store in robot.evaluator.stores for _, kernel in store._kernels.values()]
    assert {kernel.form for kernel in kernels} >= {"loop"} and None not in kernels


# ---- Pinocchio -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", large_interpreted([name for name in ROBOTS if name not in ("tied_gripper", "many_frames")], LARGE)
)
def test_pinocchio_agrees(name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    model = interop.build(robot)
    data = model.createData()
    back = np.argsort(interop.velocity_order(robot, model))
    q, v, a = (x[0] for x in states(robot, 1, seed=5))
    pq, (pv, pa) = interop.configuration(robot, model, q), (interop.velocity(robot, model, x) for x in (v, a))
    pin.computeForwardKinematicsDerivatives(model, data, pq, pv, pa)
    several = any(joint.kind.nv > 1 for joint in robot.model.joints)
    for link in links_of(robot):
        for frame, theirs in (("body", pin.LOCAL), ("world", pin.WORLD), ("world", pin.LOCAL_WORLD_ALIGNED)):
            ours = (
                robot.velocity_derivatives(q, v, link, frame=frame)[0],
                *robot.acceleration_derivatives(q, v, a, link, frame=frame),
            )
            there = pin.getFrameAccelerationDerivatives(model, data, model.getFrameId(link), theirs)
            shift = np.eye(4)  # theirs in world axes are about the point where the link is, which does not move along
            shift[:3, 3] = -robot.pose(q, link)[:3, 3] if theirs == pin.LOCAL_WORLD_ALIGNED else 0.0
            for number, (one, other) in enumerate(zip(ours, there, strict=True)):
                if number == 1 and several and frame == "world":
                    continue  # where it is not what differences of its own accelerations say (4.1.0)
                expected = interop.swap_halves(other.reshape(6, -1), axis=0)[:, back]
                close(motion_matrix(shift) @ one, expected, 1e-9, f"{link}, {theirs}")
