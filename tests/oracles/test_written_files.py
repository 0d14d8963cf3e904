"""What we write is read by the programs it is for: URDF by Pinocchio, MJCF by MuJoCo, with the dynamics of the robot.

Every robot of example-robot-data, on a fixed and on a free base, and every bundled robot goes through both writers. It
is read back with an equal mass matrix and equal inverse dynamics, or our writer refuses it with the reason: the tables
below name all of these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from numeric import close, states
from recursa.bundled import BUNDLED, FILES
from recursa.interop import pinocchio as interop
from recursa.interop.mujoco import unconstrained
from robot_data import relative_name, robot_folder, urdf_files

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

from mujoco_model import InMujoco  # noqa: E402

pytestmark = pytest.mark.interpreted(reason="over a hundred robots, each with code of its own")

EXACT = 1e-9
NO_LINKS = "ur3.urdf"  # a file of macros


def loaded(path: Path, floating: bool | None) -> rc.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return rc.load(path, floating=floating, strict=False)


def robots() -> dict[str, Callable[[], rc.Robot]]:
    """All robots by name, made when they are asked for."""
    found: dict[str, Callable[[], rc.Robot]] = {}
    for path in urdf_files():
        if path.name != NO_LINKS:
            for floating in (False, True):
                name = f"{relative_name(path)}{'-floating' * floating}"
                found[name] = lambda path=path, floating=floating: loaded(path, floating)
    for path in sorted(robot_folder().rglob("*.sdf")) if urdf_files() else ():
        found[path.name] = lambda path=path: loaded(path, None)
    found |= {name: lambda name=name: rc.robots.by_name(name) for name in BUNDLED}
    return found | {f"{name}.urdf": lambda name=name: rc.load(rc.robots.urdf(name)) for name in FILES}


ROBOTS = robots()
BALLS = "left-pitch-rod-joint' is spherical, which URDF does not have"
NO_URDF = {f"cassie{variant}.sdf": BALLS for variant in ("", "_reduced", "_simple", "_v2", "_wo_gearbox_spring")}
"""Robots that URDF cannot hold, and why."""

UNEQUAL = "which MuJoCo refuses: the largest moment exceeds"
NO_MJCF = {
    "romeo_description/romeo_small.urdf": UNEQUAL,
    "romeo_description/romeo_small.urdf-floating": UNEQUAL,
    "romeo_description/romeo_laas_small.urdf": UNEQUAL,
    "romeo_description/romeo_laas_small.urdf-floating": "which MuJoCo refuses: masses and moments must not be negative",
    "cassie.sdf": UNEQUAL,
    "puma560": UNEQUAL,
    "delta": "MJCF has no words for the rod loop 'left_rod1'",
    "standing_quadruped": "MJCF has no words for the point contact 'front_left_foot'",
}  # fmt: skip
"""Robots that MuJoCo cannot hold, and why."""


@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_reads_our_urdf(name: str) -> None:
    robot = ROBOTS[name]()
    if name in NO_URDF:
        with pytest.raises(rc.ModelError, match=NO_URDF[name]):
            robot.to_urdf()
        return
    lost: list[str] = []
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        text = robot.to_urdf()
        lost += [str(message.message) for message in messages]
    model = pin.buildModelFromXML(text)
    data = model.createData()
    armature = np.concatenate([[], *(np.array(joint.armature) for joint in robot.model.joints)])
    standard = robot.gravity == (0.0, 0.0, -9.81)
    said = " ".join(lost)
    assert ("armature of" in said, "gravity (" in said) == (bool(armature.any()), not standard), said
    assert ("constraints: " in said) == bool(robot.constraints or robot.model.description.closures), said
    if robot.nv == 0:
        return
    order = interop.velocity_order(robot, model)
    back = np.argsort(order)
    model.armature = armature[order]  # which the file does not say to others, with a warning
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    tree = robot.without_constraints() if robot.constraints else robot
    q, v, a = states(tree, 2, 3)
    for k in range(2):
        there = interop.configuration(tree, model, q[k])
        speeds, accelerations = (interop.velocity(tree, model, x[k]) for x in (v, a))
        mass = pin.crba(model, data, there)
        mass = np.triu(mass) + np.triu(mass, 1).T
        close(tree.mass_matrix(q[k]), mass[np.ix_(back, back)], EXACT, "mass matrix")
        torque = pin.rnea(model, data, there, speeds, accelerations)[back]
        close(tree.inverse_dynamics(q[k], v[k], a[k]), torque, EXACT, "inverse dynamics")
    limits = np.where(model.effortLimit >= 1e300, np.inf, model.effortLimit)[back]
    assert np.array_equal(limits, np.where(robot.effort_limits >= 1e300, np.inf, robot.effort_limits))


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_reads_our_mjcf(name: str) -> None:
    robot = ROBOTS[name]()
    if name in NO_MJCF:
        with pytest.raises(rc.ModelError, match=NO_MJCF[name]):
            robot.to_mjcf()
        return
    widths = [joint.limits[1] - joint.limits[0] for joint in robot.model.joints if joint.limits]
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        text = robot.to_mjcf()
    said = " ".join(str(message.message) for message in messages)
    assert ("because MuJoCo requires lower < upper" in said) == any(width <= 0.0 for width in widths), said
    model = mujoco.MjModel.from_xml_string(text)
    if robot.nv == 0:
        return
    tree = robot.without_constraints() if robot.constraints else robot
    peer = InMujoco(tree)
    peer.model = unconstrained(model)
    peer.model.dof_damping[:] = peer.model.dof_frictionloss[:] = 0.0
    peer._ready()
    q, v, a = states(tree, 2, 3)
    for k in range(2):
        close(tree.mass_matrix(q[k]), peer.folded("mass_matrix", q[k], v[k], a[k], a[k]), EXACT, "mass matrix")
        torque = peer.folded("inverse_dynamics", q[k], v[k], a[k], a[k])
        close(tree.inverse_dynamics(q[k], v[k], a[k]), torque, EXACT, "inverse dynamics")


def rod(**joint: object) -> rc.Robot:
    b = rc.Builder("rod")
    b.link("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    b.joint("hinge", "revolute", parent="world", child="rod", axis=(0, 1, 0), **joint)  # type: ignore[arg-type]
    return b.build(strict=False)


def test_urdfdom_accepts_armature_alone() -> None:
    with pytest.warns(rc.ModelWarning, match="armature of 'hinge', which only Recursa reads"):
        text = rod(armature=0.1).to_urdf()
    assert pin.buildModelFromXML(text).nv == 1
    assert rc.load(text).model.joints[0].armature == (0.1,)


def test_missing_strength_is_no_limit_for_pinocchio() -> None:
    text = rod(limits=(-1, 1)).to_urdf()
    model = pin.buildModelFromXML(text)
    assert model.effortLimit[0] > 1e300
    assert model.velocityLimit[0] > 1e300
    joint = rc.load(text).model.joints[0]
    assert (joint.effort, joint.velocity) == (None, None)


@pytest.mark.parametrize("limits", [(-1.0, 1.0), None])
def test_strength_of_zero_is_zero_for_pinocchio(limits: tuple[float, float] | None) -> None:
    with pytest.warns(
        rc.ModelWarning, match="effort or speed of zero of 'hinge', which Recursa itself reads as unknown"
    ):
        text = rod(limits=limits, effort=0.0, velocity=2.0).to_urdf()
    model = pin.buildModelFromXML(text)
    assert (model.effortLimit[0], model.velocityLimit[0]) == (0.0, 2.0)


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        ({"limits": (0.0, 0.0)}, r"the range of joint 'hinge', \(0, 0\)"),
        ({"limits": (1.0, -1.0)}, r"the range of joint 'hinge', \(1, -1\)"),
        ({"effort": 0.0}, r"the largest effort of joint 'hinge', \(-0, 0\)"),
    ],
)
def test_ranges_without_width_are_left_out_with_a_warning(options: dict[str, object], left_out: str) -> None:
    robot = rod(**options)
    with pytest.warns(rc.ModelWarning, match=left_out):
        text = robot.to_mjcf()
    assert mujoco.MjModel.from_xml_string(text).nv == 1


@pytest.mark.parametrize("kind", ["spherical", "translation", "helical"])
def test_joint_types_of_our_own_are_refused_unless_asked_for(kind: str) -> None:
    from zoo import each_kind

    robot = each_kind(kind)
    with pytest.raises(rc.ModelError, match=rf"is {kind}, which URDF does not have.*extensions=True"):
        robot.to_urdf()
    assert rc.load(robot.to_urdf(extensions=True), strict=False).nv == robot.nv


def test_numbers_that_differ_along_axes_are_refused_unless_asked_for() -> None:
    b = rc.Builder("puck")
    b.link("puck", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("table", "planar", parent="world", child="puck", damping=(0.1, 0.2, 0.2))
    with pytest.raises(rc.ModelError, match="joint 'table' has a different damping along each of its axes"):
        b.build().to_urdf()
    assert rc.load(b.build().to_urdf(extensions=True)).model.joints[0].damping == (0.1, 0.2, 0.2)


def test_ties_to_joints_that_are_not_there_are_left_out_of_mjcf_with_a_warning() -> None:
    text = rod().to_urdf().replace("</joint>", '<mimic joint="elbow"/></joint>')
    with pytest.warns(rc.ModelWarning):
        robot = rc.load(text, strict=False)
    with pytest.warns(rc.ModelWarning, match="the tie of joint 'hinge' to 'elbow', which the robot does not have"):
        assert mujoco.MjModel.from_xml_string(robot.to_mjcf()).neq == 0
