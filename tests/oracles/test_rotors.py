"""Rotors against trees in which every rotor is a body of its own, tied to the joint that it drives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import recursa as rc
from recursa.loading import trusted
from recursa.model.description import Description, JointRecord, LinkRecord, Mimic, Rotor
from recursa.robots import random_description
from recursa.spatial.rotation import Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import SymMat3, Vec3

TURNING = ["revolute", "continuous", "helical"]


@dataclass(frozen=True)
class Both:
    """A robot whose joints have rotors, and the same with a body for every rotor."""

    geared: rc.Robot
    bodies: rc.Robot


def both(description: Description, rotors: dict[str, Rotor], *, floating: bool = False) -> Both:
    """Every rotor is a wheel of 0.3 kg: a body that spins beside its joint, and part of the data of its link."""
    geared, bodies = description, description
    for joint in description.joints:
        if joint.name not in rotors:
            continue
        rotor = rotors[joint.name]
        axis = rotor.axis or joint.axis
        axis = axis * (1.0 / axis.norm())
        carrier = {"parent": joint.parent, "child": joint.child}.get(rotor.mount, rotor.mount)
        place = {"parent": joint.placement, "child": joint.after.inverse}.get(rotor.mount, IDENTITY_TRANSFORM)
        name = f"wheel_{joint.name}"
        tensor = Rotation.z_to(axis).symmetric(SymMat3.diagonal(0.002, 0.002, rotor.inertia))
        wheel = LinkRecord(name, 0.3, axis * 0.07, tensor, inertial=True)
        still = replace(wheel, inertia=tensor - SymMat3.dyad(axis, 0.0 if rotor.included else rotor.inertia))
        spin = JointRecord(name, "continuous", carrier, name, place, axis=axis, mimic=Mimic(joint.name, rotor.ratio))
        weld = JointRecord(name, "fixed", carrier, name, place)
        own = tuple(replace(one, rotor=rotor) if one.name == joint.name else one for one in geared.joints)
        geared = replace(geared, links=(*geared.links, still), joints=(*own, weld))
        bodies = replace(bodies, links=(*bodies.links, wheel), joints=(*bodies.joints, spin))
    return Both(trusted(geared, floating=floating), trusted(bodies, mimic="tie", floating=floating))


def small(*, elsewhere: bool) -> Both:
    """A tree on a free base, with a rotor of every sort; the last may be on another branch than its joint."""
    tree = random_description("geared", [-1, 0, 1, 1, 3, 0, 5], 4, ["revolute", "continuous", "revolute", "prismatic"])
    a, b, c, d, e, f, g = (joint.name for joint in tree.joints)
    tree = replace(tree, joints=tuple(replace(one, after=IDENTITY_TRANSFORM) for one in tree.joints))
    return both(
        tree,
        {
            a: Rotor(2e-3, 31.0),
            b: Rotor(3e-3, -8.0, mount="child"),
            c: Rotor(4e-3, 0.7, included=False),
            d: Rotor(1e-3, 90.0),  # along a joint that slides
            e: Rotor(2e-3, 12.0, axis=Vec3(0.3, -0.5, 0.8), included=False),
            f: Rotor(5e-3, 4.0, axis=Vec3(0.0, 0.6, 0.8), mount="child"),
            g: Rotor(3e-3, 7.0, axis=Vec3(0.8, 0.6, 0.0), mount=tree.joints[1].child if elsewhere else "parent"),
        },
        floating=True,
    )


def folded(parents: list[int], seed: int, *, floating: bool = False, kinds: list[str] = TURNING) -> Both:
    """Rotors about the axes of their joints, which add neither bodies nor ties."""
    tree = random_description("folded", parents, seed, kinds)
    turning = [joint.name for joint in tree.joints if joint.kind in TURNING]
    rotors = {
        name: Rotor(1e-3 * (k + 1), (-1.0) ** k * (3.0 + 7 * k), mount="child" if k % 3 == 1 else "parent")
        for k, name in enumerate(turning)
    }
    return both(tree, rotors, floating=floating)


CASES = {
    "every sort": lambda: small(elsewhere=True),
    "beside their joints": lambda: small(elsewhere=False),
    "chain at the world": lambda: folded([-1, 0, 1], 3),
    "free tree of 13": lambda: folded([-1, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 7, 8], 5, floating=True),
    "all kinds, 19": lambda: folded(
        [-1, *(k // 2 for k in range(18))], 2, kinds=[*TURNING, "spherical", "prismatic", "planar"]
    ),
}


WHOLE = ("potential_energy", "momentum", "momentum_rate", "momentum_derivatives", "momentum_matrix", "center_of_mass")


@pytest.mark.interpreted(reason="every case and quantity would compile code of its own")
@pytest.mark.parametrize("case", CASES)
def test_rotors_are_bodies_tied_to_their_joints(case: str) -> None:
    """Every answer in joint space, and those about the whole robot."""
    pair = CASES[case]()
    one, other = pair.geared, pair.bodies
    assert one.nv == other.nv
    q, v = one.random_state(1)
    rng = np.random.default_rng(7)
    a, tau = rng.normal(size=(2, one.nv))
    base = rng.normal(size=(2, 6)) if not one.model.floating else None
    for name, arguments in {
        "mass_matrix": (q,), "mass_matrix_inverse": (q,), "bias_forces": (q, v), "gravity_forces": (q,),
        "inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, tau), "kinetic_energy": (q, v),
        "potential_energy": (q,), "momentum": (q, v), "momentum_rate": (q, v, a), "momentum_derivatives": (q, v),
        "center_of_mass": (q,), "inverse_dynamics_derivatives": (q, v, a), "momentum_matrix": (q,),
        "forward_dynamics_derivatives": (q, v, tau),
    }.items():  # fmt: skip
        if name in WHOLE and not one.model.floating:  # a wheel on the base is a moving body there
            continue
        found, expected = (np.asarray(getattr(robot, name)(*arguments)) for robot in (one, other))
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max(), err_msg=name)
    Cv, expected = (robot.coriolis_matrix(q, v) @ v for robot in (one, other))
    assert_allclose(Cv, expected, atol=1e-10 * np.abs(expected).max())
    if base is not None:
        moved = dict(zip(("base_twist", "base_acceleration"), base, strict=True))
        expected = other.inverse_dynamics(q, v, a, **moved)
        assert_allclose(one.inverse_dynamics(q, v, a, **moved), expected, atol=1e-10 * np.abs(expected).max())
        expected = other.forward_dynamics(q, v, tau, **moved)
        assert_allclose(one.forward_dynamics(q, v, tau, **moved), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.interpreted(reason="one state of large robots")
@pytest.mark.parametrize("case", CASES)
def test_wrenches_across_joints(case: str) -> None:
    """What a joint transmits to its child, rotors on either side of it."""
    pair = CASES[case]()
    q, v = pair.geared.random_state(2)
    a = np.random.default_rng(3).normal(size=pair.geared.nv)
    one, other = pair.geared, pair.bodies
    found, expected = (
        dict(zip(robot.joint_names, robot.reaction_wrenches(q, v, a), strict=True)) for robot in (one, other)
    )
    for name in (name for name in one.joint_names if name in expected):
        assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
    centred = rc.denoc.joint_wrenches(one, q, v, a)
    for joint, inertia, wrench in zip(one.model.joints, one.model.inertias, centred, strict=True):
        turn = one.pose(q, joint.child)[:3, :3]
        moment, force = turn @ found[joint.name][:3], turn @ found[joint.name][3:]
        away = turn @ np.array(inertia.com()) if inertia.mass else np.zeros(3)
        assert_allclose(wrench, [*(moment - np.cross(away, force)), *force], rtol=1e-9, atol=1e-9, err_msg=joint.name)


@pytest.mark.interpreted(reason="one state")
def test_rotors_in_mujoco() -> None:
    """Rotors about other axes are bodies there, on joints of their own."""
    pytest.importorskip("mujoco")
    from recursa.interop.comparing import compare
    from recursa.interop.mujoco import InMujoco

    robot = small(elsewhere=True).geared
    found = compare(robot, InMujoco(robot), states=1)
    assert found.agrees, found.differences
