"""Joints that are chains of simple ones, and screws off the origin, against the joints of Pinocchio that they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.interop import pinocchio as interop

pin = pytest.importorskip("pinocchio")

AXIS, ACROSS = np.array([0.6, 0.0, 0.8]), np.array([-0.8, 0.0, 0.6])
POINT = np.array([0.2, -0.1, 0.3])
XYZ, RPY = (0.1, 0.2, -0.3), (0.4, -0.5, 0.6)
BODY: dict[str, Any] = {"mass": 1.7, "com": (0.1, -0.2, 0.15), "inertia": (0.2, 0.25, 0.3, 0.01, -0.02, 0.03)}
PARTS = [
    {"kind": "prismatic", "axis": (0, 0, 1), "armature": 0.2},
    {"kind": "continuous", "axis": (1, 0, 0), "xyz": (0.1, 0.0, 0.2), "rpy": (0.1, 0.2, 0.3), "name": "roll"},
    ("revolute", (0, 1, 0)),
]


def composite() -> Any:
    joint = pin.JointModelComposite()
    joint.addJoint(pin.JointModelPZ())
    joint.addJoint(pin.JointModelRUBX(), se3((0.1, 0.0, 0.2), (0.1, 0.2, 0.3)))
    joint.addJoint(pin.JointModelRY())
    return joint


def se3(xyz: Any, rpy: Any = (0.0, 0.0, 0.0)) -> Any:
    return pin.SE3(pin.rpy.rpyToMatrix(np.array(rpy, dtype=float)), np.array(xyz, dtype=float))


BEFORE, AFTER = se3(POINT), se3(-POINT)
CASES: dict[str, tuple[str, dict[str, Any], Callable[[], Any], bool]] = {  # kind, options, theirs, off the origin
    "universal": ("universal", {"axis": AXIS, "axis2": ACROSS}, lambda: pin.JointModelUniversal(AXIS, ACROSS), False),
    "euler": ("euler-zyx", {}, lambda: pin.JointModelSphericalZYX(), False),
    "composite": ("composite", {"parts": PARTS}, composite, False),
    "translation": ("translation", {}, lambda: pin.JointModelTranslation(), False),
    "screw": (
        "helical",
        {"axis": AXIS, "pitch": 0.07, "point": POINT},
        lambda: pin.JointModelHelicalUnaligned(AXIS, 0.07),
        True,
    ),
    "hinge": ("revolute", {"axis": AXIS, "point": POINT}, lambda: pin.JointModelRevoluteUnaligned(AXIS), True),
}


def ours(name: str) -> rc.Robot:
    """An arm, the joint in question, a hand, and a finger behind it."""
    kind, options, _, _ = CASES[name]
    b = rc.Builder(name).link("arm", **BODY).link("hand", **BODY).link("finger", **BODY)
    b.joint("shoulder", "revolute", parent="world", child="arm", axis=(0, 1, 0))
    b.joint("wrist", kind, parent="arm", child="hand", xyz=XYZ, rpy=RPY, **options)
    return b.joint("knuckle", "prismatic", parent="hand", child="finger", axis=(1, 0, 0), xyz=(0.0, 0.1, 0.0)).build()


def theirs(name: str) -> Any:
    model = pin.Model()
    _, _, make, off = CASES[name]
    before, after = (BEFORE, AFTER) if off else (se3((0, 0, 0)),) * 2
    m, c = BODY["mass"], np.array(BODY["com"])
    xx, yy, zz, xy, xz, yz = BODY["inertia"]
    body = pin.Inertia(m, c, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    arm = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "shoulder")
    hand = model.addJoint(arm, make(), se3(XYZ, RPY) * before, "wrist")
    finger = model.addJoint(hand, pin.JointModelPX(), after * se3((0.0, 0.1, 0.0)), "knuckle")
    for joint, place in ((arm, se3((0, 0, 0))), (hand, after), (finger, se3((0, 0, 0)))):
        model.appendBodyToJoint(joint, body, place)
    model.addFrame(pin.Frame("hand", hand, 0, after, pin.FrameType.BODY))
    if name == "composite":
        armature = np.zeros(model.nv)
        armature[model.joints[hand].idx_v] = 0.2
        model.armature = armature
    return model


@pytest.mark.parametrize("name", CASES)
def test_dynamics_and_poses_are_those_of_pinocchio(name: str) -> None:
    robot, model = ours(name), theirs(name)
    data = model.createData()
    assert robot.nv == model.nv
    (q, v), (_, a) = robot.random_state(4), robot.random_state(5)
    pq, pv, pa = interop.configuration(robot, model, q), *(interop.velocity(robot, model, x) for x in (v, a))
    close(interop.configuration_from(robot, model, pq), q, 1e-14)
    close(interop.velocity_from(robot, model, pv), v, 1e-14)
    tau = robot.inverse_dynamics(q, v, a)
    close(interop.velocity(robot, model, tau), pin.rnea(model, data, pq, pv, pa), 1e-10)
    close(
        interop.velocity(robot, model, robot.forward_dynamics(q, v, a)), pin.aba(model, data, pq, pv, pa.copy()), 1e-10
    )
    mass = pin.crba(model, data, pq)
    order = interop.velocity_order(robot, model)
    close(robot.mass_matrix(q)[np.ix_(order, order)], np.triu(mass) + np.triu(mass, 1).T, 1e-10)
    own = interop.build(robot)
    built = (interop.configuration(robot, own, q), *(interop.velocity(robot, own, x) for x in (v, a)))
    close(interop.velocity_from(robot, own, pin.rnea(own, own.createData(), *built)), tau, 1e-10)
    pin.framesForwardKinematics(model, data, pq)
    close(robot.pose(q, "hand"), data.oMf[model.getFrameId("hand")].homogeneous, 1e-12)


@pytest.mark.parametrize("name", ["universal", "euler", "composite"])
def test_a_chain_is_reordered_by_the_name_that_it_has_as_one_joint(name: str) -> None:
    robot, model = ours(name), theirs(name)
    q = np.stack([robot.random_state(k)[0] for k in range(3)])
    v = np.stack([robot.random_state(k)[1] for k in range(3)])
    pq, pv = interop.configuration(robot, model, q), interop.velocity(robot, model, v)
    names = list(model.names)
    close(robot.reorder(pq, names, layout="pinocchio", quantity="q"), q, 1e-14)
    close(robot.reorder(pv, names, layout="pinocchio", quantity="v"), v, 1e-14)
    close(robot.reorder(q, names, layout="pinocchio", quantity="q", inverse=True), pq, 1e-14)


def test_a_chain_with_other_parts_than_pinocchios_joint_is_refused() -> None:
    with pytest.raises(
        rc.ModelError, match="joint 'wrist' has 2 parts here, and as JointModelSphericalZYX other coord"
    ):
        interop.configuration(ours("universal"), theirs("euler"), np.zeros(4))


# ---- a joint that depends on q, by projection ------------------------------------------------------------------------


def documented() -> dict[str, Any]:
    """What the example in the documentation defines."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "robots.md").read_text(encoding="utf-8")
    (block,) = (code for code in re.findall(r"```python\n(.*?)```", text, re.S) if "def gliding" in code)
    scope: dict[str, Any] = {}
    exec(block.partition("\nq, v =")[0], scope)
    return scope


def test_the_documented_projection_is_the_ellipsoid_joint_of_pinocchio() -> None:
    ours = documented()
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelEllipsoid(ours["A"], ours["B"], ours["C"]), se3((0, 0, 0)), "glide")
    blade = next(link for link in ours["shoulder"].model.description.links if link.name == "blade")
    inertia = pin.Inertia(blade.mass, np.array(blade.com), np.diag(blade.inertia[:3]))
    model.appendBodyToJoint(joint, inertia, se3((0, 0, 0)))
    data = model.createData()
    for q, v, a in np.random.default_rng(3).normal(size=(20, 3, 3)):
        expected = pin.rnea(model, data, q, v, a)
        close(ours["inverse_dynamics"](q, v, a), expected, 1e-14, "inverse dynamics")
        close(ours["forward_dynamics"](q, v, expected), a, 1e-11, "forward dynamics")
        mass = pin.crba(model, data, q)
        close(ours["mass_matrix"](q), np.triu(mass) + np.triu(mass, 1).T, 1e-15, "mass matrix")
