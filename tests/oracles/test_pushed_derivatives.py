"""Derivatives of the dynamics with wrenches on links: in link axes, in world axes, in every form they are given."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, stepped, tied_gripper
from zoo import ZOO, also_by, floating_tree_with_rotors, small_flyer

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")},  # whose base has no mass
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "tied_gripper": tied_gripper,
}
NAMES = ("by q", "by v", "by a or tau")


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


def pushed(robot, given):
    """Inverse and forward dynamics with wrenches, and their derivatives: what acts, what it does."""
    for which in ("inverse", "forward"):
        dynamics, derivatives = (getattr(robot, f"{which}_dynamics{end}") for end in ("", "_derivatives"))
        yield partial(dynamics, wrenches=given), partial(derivatives, wrenches=given)


def pushing(robot, count, frame):
    """Two wrenches on the last link and one in the middle, with points, one of them different at every state."""
    rng, links = np.random.default_rng(21), [robot.link_names[-1]] * 2 + [robot.model.joints[robot.nbodies // 2].child]
    vectors = rng.normal(size=(3, 3, count, 3))
    return [
        rc.Wrench(at=link, force=force, moment=moment[0], point=point[0], frame=frame)
        for link, (force, moment, point) in zip(links, vectors, strict=True)
    ]


SOME = ("panda_like", "free_flyer", "floating_tree_with_rotors", "tied_gripper")


@pytest.mark.parametrize(("form", "name"), also_by(["array", "link", "world"], ROBOTS, SOME))
def test_wrenches_match_complex_steps(name, form):
    robot = robot_named(name)
    q, v, x = states(robot, 2, seed=19)
    array = np.random.default_rng(20).normal(size=(2, robot.nlinks, 6))
    tolerance = max(1e-11, 1e-15 * float(np.linalg.cond(robot.mass_matrix(q)).max()))
    for ask, differentiate in pushed(robot, array if form == "array" else pushing(robot, 2, form)):
        for one, other, what in zip(differentiate(q, v, x), stepped(ask, robot, q, v, x), NAMES, strict=True):
            close(one, other, tolerance, what)


def test_wrenches_in_any_form_mean_the_same():
    robot = robot_named("panda_like")
    q, v, x = states(robot, 3, seed=22)
    rows = np.zeros((robot.nlinks, 6))
    rows[-1] = np.arange(6.0)
    spelled = rc.Wrench(at=robot.link_names[-1], moment=rows[-1, :3], force=rows[-1, 3:], frame="link")
    for which in (robot.inverse_dynamics_derivatives, robot.forward_dynamics_derivatives):
        expected = which(q, v, x, wrenches=rows)
        for form in ({robot.link_names[-1]: rows[-1]}, [spelled], spelled, iter([spelled])):
            found = which(q, v, x, wrenches=form, out=np.empty((3, 3, 7, 7)))
            for one, other in zip(found, expected, strict=True):
                close(one, other, 1e-14)
    world = iter([rc.Wrench(at=robot.link_names[-1], force=(1.0, 2.0, 3.0))])  # of which there is one look
    again = [rc.Wrench(at=robot.link_names[-1], force=(1.0, 2.0, 3.0))]
    ours, theirs = (robot.inverse_dynamics_derivatives(q, v, x, wrenches=form)[0] for form in (world, again))
    close(ours, theirs, 0.0)


def test_a_wrench_that_is_the_weight_takes_gravity_off():
    """Forces in world axes at the mass centres, against their weights: by q as without gravity."""
    robot = robot_named("mixed_tree")
    q, v, a = states(robot, 2, seed=23)
    lifts = [
        rc.Wrench(at=joint.child, force=-inertia.mass * np.array(robot.gravity), point=inertia.com())
        for joint, inertia in zip(robot.model.joints, robot.model.inertias, strict=True)
    ]
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    ours = robot.inverse_dynamics_derivatives(q, v, a, wrenches=lifts)
    for one, other in zip(ours, floating.inverse_dynamics_derivatives(q, v, a), strict=True):
        close(one, other, 1e-11)


@pytest.mark.parametrize("make", [small_flyer, lambda: rc.robots.tree(13, seed=3), rc.robots.panda_like])
def test_linear_models_know_of_wrenches(make):
    """State space and linearisation are made of the derivatives, which have complex steps to stand on."""
    robot = make()
    q, v = robot.random_state(3)
    tau = np.cos(np.arange(robot.nv))
    last = robot.link_names[-1]
    for wrenches in (
        [rc.Wrench(at=last, force=(3.0, 1.0, -2.0), moment=(0.3, 0.1, 0.2), point=(0.1, 0.0, 0.2))],
        [rc.Wrench(at=last, force=(3.0, 1.0, -2.0), moment=(0.3, 0.1, 0.2), frame="world")],
        {last: [0.3, 0.1, 0.2, 3.0, 1.0, -2.0]},
    ):
        by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau, wrenches=wrenches)
        A, B = robot.state_space(q, v, tau, wrenches=wrenches)
        close(A[robot.nv :], np.concatenate([by_q, by_v], 1), 1e-12)
        close(B[robot.nv :], by_tau, 1e-12)
        close(A[: robot.nv], robot.state_space(q, v, tau).A[: robot.nv], 0.0)
        several = robot.state_space(np.stack([q, q]), v, tau, wrenches=wrenches, losses=True)
        lost = robot.joint_losses(v)
        slowed = robot.forward_dynamics_derivatives(q, v, tau - lost, wrenches=wrenches)[0]
        close(several.A[1, robot.nv :, : robot.nv], slowed, 1e-11)
        model = robot.linearize(q, v, tau, wrenches=wrenches)
        close(model.stiffness, robot.inverse_dynamics_derivatives(q, v, tau, wrenches=wrenches)[0], 0.0)
        dq, dv, da = np.sin(np.arange(3 * robot.nv)).reshape(3, -1)
        change = robot.linearize(q, v, tau, direction=(dq, dv, da), wrenches=wrenches)
        close(change, model.stiffness @ dq + model.damping @ dv + model.mass @ da, 1e-12)
    if make is rc.robots.panda_like:
        with pytest.raises(rc.NoSweepError, match="knows no wrenches"):
            robot.linearize(q, v, tau, wrenches=wrenches, method="balafoutis-patel")
