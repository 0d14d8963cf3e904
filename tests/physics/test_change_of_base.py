"""Free flyers with another base: the same mechanism, so the same answers to every question about physics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from numeric import central, close, states
from recursa.free import base_invariant
from recursa.kernels.dispatch import Switch
from recursa.loading import trusted
from recursa.model.joints import KINDS
from recursa.robots import random_description
from recursa.sweeps import run

pytestmark = pytest.mark.interpreted(reason="a robot for every link; kernels/test_forms.py compares the forms")

ALL = ("revolute", "prismatic", "helical", "spherical", "planar", "continuous", "free")


def flyer(parents: list[int], seed: int, kinds: tuple[str, ...] = ALL) -> rc.Robot:
    """A random free flyer under gravity, with rotors and damping wherever they can be seen from either side."""
    base = random_description("flyer", [-1], 3, ["free"])
    limbs = random_description("flyer", parents, seed, kinds)
    joints = []
    for k, joint in enumerate(limbs.joints[1:]):
        angular = KINDS[joint.kind].angular
        sliding = len(angular) == 1  # a slide of its own has a rotor too
        size = tuple(0.01 * (k + 1) if turns or sliding else 0.0 for turns in angular)
        joints.append(replace(joint, armature=size, damping=size, limits=(-4.0, 4.0) if sliding else None))
    return trusted(replace(limbs, joints=(base.joints[0], *joints)), gravity=(0.3, 0.1, -2.0))


TREE = flyer([-1, *(k // 2 for k in range(19))], 7)


def answers(robot: rc.Robot, q, v, tau, names) -> dict[str, np.ndarray]:
    """What no choice of base may change; links in the order of ``names``."""
    order = [robot.link_names.index(name) for name in names]
    _, links = robot.forward_dynamics(q, v, tau, links=True)
    return {
        "poses": robot.poses(q)[..., order, :, :],
        "velocities": robot.velocities(q, v, "world")[..., order, :],
        "kinetic energy": robot.kinetic_energy(q, v),
        "potential energy": robot.potential_energy(q),
        "momentum": robot.momentum(q, v, "world"),
        "centre of mass": robot.center_of_mass(q),
        "accelerations of links": links[..., order, :],
        "power": np.sum(tau * v, axis=-1),
        "losses": np.sum(robot.joint_losses(v) * v, axis=-1),
    }


@pytest.mark.parametrize("link", TREE.link_names[1:])
def test_no_answer_depends_on_the_base(link):
    q, v, tau = (x[0] for x in states(TREE, 1, seed=2))
    other = TREE.with_base(link)
    q2, v2 = TREE.rebase_state(q, v, link)
    tau2 = TREE.rebase_forces(q, tau, link)
    found = answers(other, q2, v2, tau2, TREE.link_names)
    for name, expected in answers(TREE, q, v, tau, TREE.link_names).items():
        close(found[name], expected, 1e-12, name)
    a = TREE.forward_dynamics(q, v, tau)
    close(other.forward_dynamics(q2, v2, tau2), TREE.rebase_acceleration(q, v, a, link), 1e-11)
    close(other.forward_dynamics(q2, v2, tau2, method="base-invariant"), TREE.rebase_acceleration(q, v, a, link), 1e-10)
    T = TREE.base_transform(q, link)
    close(T @ v, v2)
    close(T.T @ other.mass_matrix(q2) @ T, TREE.mass_matrix(q), 1e-12)  # (44)
    close(other.base_transform(q2, "link1") @ T, np.eye(TREE.nv), 1e-13)  # T_nk T_kn = 1
    close(T.T @ tau2, tau, 1e-12)
    back, speeds = other.rebase_state(q2, v2, "link1")
    close(TREE.difference(q, back), np.zeros(TREE.nv))
    close(speeds, v)


def test_joints_of_one_freedom_keep_name_value_sign_and_data():
    robot = flyer([-1, 0, 1, 2, 3, 4], 5, ("revolute", "prismatic", "helical"))
    q, v, a = (x[0] for x in states(robot, 1))
    other = robot.with_base("link6")
    assert set(other.joint_names) == set(robot.joint_names)
    q2, v2 = robot.rebase_state(q, v, "link6")
    a2, tau2 = robot.rebase_acceleration(q, v, a, "link6"), robot.rebase_forces(q, np.r_[np.zeros(6), a[6:]], "link6")
    for joint in robot.model.joints[1:]:
        same = other.model.joints[other.model.joint_index(joint.name)]
        assert q2[same.q_start] == q[joint.q_start]
        assert v2[same.v_start] == v[joint.v_start]
        assert a2[same.v_start] == pytest.approx(a[joint.v_start], abs=1e-14)
        assert tau2[same.v_start] == pytest.approx(a[joint.v_start], abs=1e-13)  # the base is not pushed
        for item in ("limits", "armature", "damping", "friction", "effort", "velocity"):
            assert getattr(same, item) == getattr(joint, item)


def test_base_transform_derivative_matches_a_difference():
    q, v = TREE.random_state(4)
    for link in ("link20", "link13", "link8"):
        rate = central(lambda t, link=link: TREE.base_transform(TREE.integrate(q, t * v), link))
        close(TREE.base_transform_derivative(q, v, link), rate, 1e-9)


def test_batches_match_single_states():
    q, v, tau = states(TREE, 6)
    q2, v2 = TREE.rebase_state(q[:, None], v[:, None], "link9")
    assert q2.shape == (6, 1, TREE.nq)
    a2, tau2 = TREE.rebase_acceleration(q, v, tau, "link9"), TREE.rebase_forces(q, tau, "link9")
    for k in range(6):
        single = TREE.rebase_state(q[k], v[k], "link9")
        close(q2[k, 0], single[0], 1e-15)
        close(v2[k, 0], single[1], 1e-15)
        close(a2[k], TREE.rebase_acceleration(q[k], v[k], tau[k], "link9"), 1e-15)
        close(tau2[k], TREE.rebase_forces(q[k], tau[k], "link9"), 1e-13)


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_kernels_match_the_interpreter(form, monkeypatch):
    monkeypatch.setattr(Switch, "form", form)
    robot = flyer([-1, 0, 1, 0, 2], 11)
    q, v, _ = states(robot, 9)
    q2, v2 = robot.rebase_state(q, v, "link5")
    T = robot.base_transform(q, "link5")
    Switch.on = False
    close(q2, robot.rebase_state(q, v, "link5")[0])
    close(v2, robot.rebase_state(q, v, "link5")[1])
    close(T, robot.base_transform(q, "link5"))


def test_frames_payloads_welds_and_options_come_along():
    whole = flyer([-1, 0, 0, 1, 1, 2], 21).model.description
    loose = replace(whole, links=whole.links[1:], joints=whole.joints[1:])  # the free joint is an option here
    plain = trusted(loose, floating=True)
    tip = plain.link_names[-1]
    robot = plain.with_frame("camera", tip, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)).with_payload("camera", 0.7, (0.1, 0, 0))
    q, v, tau = (x[0] for x in states(robot, 1))
    for link in ("camera", "camera_payload", tip):
        other = robot.with_base(link)
        assert (other.gravity, other.mass, other.is_floating) == (robot.gravity, pytest.approx(robot.mass), True)
        q2, v2 = robot.rebase_state(q, v, link)
        found = answers(other, q2, v2, robot.rebase_forces(q, tau, link), robot.link_names)
        for name, expected in answers(robot, q, v, tau, robot.link_names).items():
            close(found[name], expected, 1e-12, name)
        read = rc.load(other.to_urdf(extensions=True), gravity=robot.gravity)  # and survive a file
        close(read.kinetic_energy(q2, v2), robot.kinetic_energy(q, v), 1e-12)
    assert robot.with_base(robot.model.joints[0].child) == robot


def test_articulated_inertia_at_a_base_is_its_operational_inertia():
    """Appendix A: P_k(k) = Lambda(k) = P(k) + S(k), the messages of the old base."""
    q, v = TREE.random_state(3)
    plan = base_invariant.base_invariant_plan(branching=True)
    values = run(plan, TREE.model, {"q": q, "v": v, "tau": np.zeros(TREE.nv)})
    for k in (3, 11, 19):
        link = TREE.model.joints[k].child
        other = TREE.with_base(link)
        q2, v2 = TREE.rebase_state(q, v, link)
        seen = run(plan, other.model, {"q": q2, "v": v2, "tau": np.zeros(TREE.nv)})["here"][0].inertia
        mine = values["here"][k].inertia + values["rest"][k].inertia
        close(
            np.array([x for part in seen for x in np.ravel(part)]), [x for part in mine for x in np.ravel(part)], 1e-11
        )


# ---- known answers ---------------------------------------------------------------------------------------------------

THETA_DD = np.array([67.941233422, -0.212009633383])  # joints 1 and 2 of fixture A, link 3 at the ground
REACTION = np.array([7.0322685778, -10.021254594, -1.0, 1.99603040285, -0.0918442469909, 49.7254539417])
ALPHA = {
    "l1": [-20.8136164383, 64.6791888451, 1.55870512029, -0.614175313125, 0.740605674346, -0.517],
    "l2": [0, 0, 1.55870512029, -0.578832557136, 0.0989076375389, 0],
    "l3": [0, 0, 1.55870512029, 0, 0, 0],
}
MASS = np.array([[0.0334, 0.059936302562, -0.00596744534211], [0, 3.0, -0.42], [0, 0, 1.53510750812]])
BIAS = np.array([-1.40621930937, -1.14575734795, -1.0144879056])


def known_flyer() -> rc.Robot:
    """The arm of fixture A with its first joint replaced by a free one: fixture B."""
    b = rc.Builder("known")
    b.link("l3", mass=3.0, com=(0.05, 0.01, 0.15), inertia=(0.05, 0.06, 0.04, 0.004, -0.003, 0.002))
    b.link("l2", mass=2.0, com=(0.2, -0.05, 0.1), inertia=(0.03, 0.025, 0.02, -0.002, 0.001, 0.003))
    b.link("l1", mass=1.0, com=(0.15, 0.02, -0.03), inertia=(0.012, 0.01, 0.009, 0.001, -0.0005, 0.0008))
    b.joint("j3", "free", parent="world", child="l3")
    b.joint("j2", "prismatic", parent="l3", child="l2", axis=(1, 0, 0), xyz=(0.1, 0.2, 0.3))
    b.joint("j1", "revolute", parent="l2", child="l1", axis=(0, 1, 0), xyz=(0.4, -0.1, 0.05))
    b.frame("tip", parent="l1", xyz=(0.3, 0.0, -0.1))
    return b.build()


@pytest.mark.parametrize("link", ["l3", "l2", "l1", "tip"])
@pytest.mark.parametrize("method", ["articulated", "base-invariant"])
def test_known_answers_from_every_base(link, method):
    """Pushed with what the ground gave it, the free arm moves as fixture A does."""
    robot = known_flyer()
    q = np.array([0, 0, 0.2, 0, 0, np.sin(0.15), np.cos(0.15), 0.25, -0.6])
    v = np.array([0, 0, 0.7, 0, 0, 0, -0.4, 1.1])
    turn = np.kron(np.eye(2), robot.pose(q, "l3")[:3, :3])
    tau = np.r_[turn.T @ REACTION, 2.0, 0.5]
    tip = rc.Wrench(at="tip", moment=(-0.1, 0.2, -0.3), force=(-1.0, 2.0, -0.5))
    other = robot.with_base(link)
    q2, v2 = robot.rebase_state(q, v, link)
    options = {"wrenches": [tip], "links": True, "method": method}
    a, links = other.forward_dynamics(q2, v2, robot.rebase_forces(q, tau, link), **options)
    joints = [other.model.joints[other.model.joint_index(name)].v_start for name in ("j1", "j2")]
    close(a[joints], THETA_DD, 1e-10)  # the reaction is known to twelve digits, and the links are light
    for name, expected in ALPHA.items():
        number = other.link_names.index(name)
        spin = np.kron(np.eye(2), other.poses(q2)[number, :3, :3])
        close(spin @ links[number], expected, 1e-10)


@pytest.mark.parametrize("link", ["l3", "l2", "l1"])
def test_known_mass_matrix_and_bias_from_every_base(link):
    robot = known_flyer()
    q = np.array([0, 0, 0.2, 0, 0, np.sin(0.15), np.cos(0.15), 0.25, -0.6])
    v = np.array([0, 0, 0.7, 0, 0, 0, -0.4, 1.1])
    other = robot.with_base(link)
    q2, v2 = robot.rebase_state(q, v, link)
    T = robot.base_transform(q, link)
    allowed = np.zeros((8, 3))
    allowed[7, 0] = allowed[6, 1] = allowed[2, 2] = 1.0  # theta(1), theta(2), and the turn about z
    S = T @ allowed
    close(np.triu(S.T @ other.mass_matrix(q2) @ S), MASS, 2e-12)
    bias = other.bias_forces(q2, v2) + other.mass_matrix(q2) @ robot.base_transform_derivative(q, v, link) @ v
    close(S.T @ bias, BIAS, 2e-11)


# ---- what cannot be --------------------------------------------------------------------------------------------------


def test_a_free_target_beside_a_free_base_is_refused_with_the_reason():
    """A robot whose base is free already is not told to load it with a free base."""
    builder = rc.Builder("capture").link("bus", mass=10.0, inertia=(1, 1, 1))
    builder.link("arm", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1)).link("target", mass=3.0, inertia=(1, 1, 1))
    builder.joint("root", "free", parent="world", child="bus")
    builder.joint("shoulder", "revolute", parent="bus", child="arm", axis=(0, 0, 1))
    robot = builder.joint("loose", "free", parent="world", child="target").build().with_gravity((0, 0, 0))
    q, v = robot.random_state(1)
    rates = np.zeros(robot.nv - 6)
    calls = [
        lambda: robot.with_base("arm"),
        lambda: robot.with_base("target"),
        lambda: robot.rebase_state(q, v, "arm"),
        lambda: robot.base_transform(q, "arm"),
        lambda: rc.free.inverse_dynamics(robot, q, v, rates),
        lambda: rc.free.generalized_inertia(robot, q),
        lambda: rc.free.generalized_jacobian(robot, q, "arm"),
        lambda: rc.free.locked_inertia(robot, q),
        lambda: rc.free.momentum_maps(robot, q),
        lambda: rc.free.base_velocity(robot, q, rates),
        lambda: rc.free.reaction_null_projector(robot, q),
        lambda: rc.free.dual_quantities(robot, q, v, v),
        lambda: rc.free.move_joints(robot, q, lambda t, q: rates, [0.0, 0.1]),
        lambda: rc.free.reorient(robot, q, [0, 0, 0, 1]),
        lambda: rc.free.simulate_links(robot, q, v, 0.1),
    ]
    for call in calls:
        with pytest.raises(rc.NoSweepError, match=r"(?s)'root' \(free\), 'loose' \(free\).*free target") as caught:
            call()
        assert "floating=True" not in str(caught.value)


def test_what_has_no_other_base_is_refused():
    with pytest.raises(rc.NoSweepError, match="'puma560' is no free flyer"):
        rc.robots.puma560().with_base("link3")
    with pytest.raises(rc.NoSweepError, match="'puma560' is no free flyer"):
        rc.robots.puma560().rebase_state(np.zeros(6), np.zeros(6), "link3")
    robot = rc.robots.free_flyer(2)
    with pytest.raises(rc.UnknownNameError, match=r"no link 'lnk2'.*'link2'"):
        robot.with_base("lnk2")
    with pytest.raises(rc.UnknownNameError, match="no link 'lnk2'"):
        robot.base_transform(robot.neutral(), "lnk2")
    with pytest.raises(rc.ModelError, match=r"'world' of robot 'free_flyer2' is fixed to the world.*'bus'"):
        robot.with_base("world")
    with pytest.raises(rc.ShapeError, match=r"q has shape \(3,\)"):
        robot.rebase_state([0, 0, 0], robot.random_state(1)[1], "link1")


@pytest.mark.parametrize(
    ("kind", "what", "values", "refused"),
    [
        ("spherical", "armature", (0.1, 0.1, 0.2), True),
        ("spherical", "armature", (0.1, 0.1, 0.1), False),
        ("spherical", "friction", (0.1, 0.1, 0.1), True),
        ("planar", "damping", (0.1, 0.0, 0.0), False),
        ("planar", "damping", (0.1, 0.2, 0.2), True),
        ("free", "armature", (0.1, 0.1, 0.1, 0.0, 0.0, 0.0), False),
    ],
)
def test_losses_that_change_with_the_side_are_refused(kind, what, values, refused):
    b = rc.Builder("two")
    for name in ("one", "other"):
        b.link(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15))
    b.joint("root", "free", parent="world", child="one")
    b.joint("ball", kind, parent="one", child="other", xyz=(1, 0, 0), **{what: values})
    robot = b.build()
    if refused:
        with pytest.raises(rc.ModelError, match=rf"joint 'ball' \({kind}\) has {what} \(0.1"):
            robot.with_base("other")
        return
    (q, v), other = robot.random_state(1), robot.with_base("other")
    q2, v2 = robot.rebase_state(q, v, "other")
    close(other.kinetic_energy(q2, v2), robot.kinetic_energy(q, v))
    close(other.joint_losses(v2) @ v2, robot.joint_losses(v) @ v)


def test_a_damped_free_joint_is_refused():
    b = rc.Builder("dragged")
    b.link("one", mass=1.0, inertia=(0.1, 0.2, 0.15)).link("two", mass=1.0, inertia=(0.1, 0.2, 0.15))
    b.joint("root", "free", parent="world", child="one", damping=0.5)
    b.joint("hinge", "revolute", parent="one", child="two")
    with pytest.raises(rc.ModelError, match=r"joint 'root' .*damping .*between the world and the present base"):
        b.build().with_base("two")


# ---- joints the other way: from poses and motions to coordinates and speeds ------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_coordinates_and_speeds_match_poses_and_motions(kind):
    joint = random_description("one", [-1], 12, [kind])
    model = trusted(joint).model
    only = model.joints[0]
    rng = np.random.default_rng(5)
    for _ in range(4):
        q, v = only.kind.random(rng, None), rng.normal(size=only.kind.nv)
        pose = only.kind.transform(only.hinge, q)
        flat = np.ravel(pose.rows())
        again = only.kind.transform(only.hinge, only.kind.coordinates(only.hinge, pose))
        close(np.ravel(again.rows()), flat)
        close(np.ravel(only.kind.nearest(only.hinge, pose).rows()), flat)
        close(only.kind.speeds(only.hinge, only.kind.motion(only.hinge, v)), v)
        there_and_back = pose @ only.kind.transform(only.hinge, only.kind.opposite(q))
        close(np.ravel(there_and_back.rows()), np.eye(4).ravel())


def test_a_screw_without_pitch_is_measured_by_its_angle():
    b = rc.Builder("screw")
    b.link("one", mass=1.0, inertia=(1, 1, 1)).joint(
        "s", "helical", parent="world", child="one", axis=(0, 0, 1), pitch=0
    )
    joint = b.build().model.joints[0]
    pose = joint.kind.transform(joint.hinge, (0.7,))
    close(joint.kind.coordinates(joint.hinge, pose), [0.7])
    close(np.ravel(joint.kind.nearest(joint.hinge, pose).rows()), np.ravel(pose.rows()))


def test_states_are_differentiable():
    """The new base's velocity is the derivative of its pose."""
    q, v = TREE.random_state(8)
    other, link = TREE.with_base("link14"), "link14"
    q2, v2 = TREE.rebase_state(q, v, link)
    moved = central(lambda t: other.difference(q2, TREE.rebase_state(TREE.integrate(q, t * v), v, link)[0]))
    close(moved, v2, 1e-8)
