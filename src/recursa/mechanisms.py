"""Bundled mechanisms with closed loops; zero of all joints is a configuration in which every loop is closed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from recursa.formats.urdf import read_urdf
from recursa.loading import trusted
from recursa.model.builder import DescriptionBuilder
from recursa.model.constraints import Contact, JointRelation, Loop
from recursa.robot import Robot

_DOWN_Y, _DOWN_Z = (0.0, -9.81, 0.0), (0.0, 0.0, -9.81)
_THIRD = 2.0 * math.pi / 3.0


def _rod(builder: DescriptionBuilder, name: str, length: float, mass: float, thick: float = 0.02) -> None:
    """A square bar along x, with a frame at its end, for pictures."""
    thin, wide = mass * thick * thick / 6.0, mass * (length * length + thick * thick) / 12.0
    builder.link(name, mass=mass, com=(length / 2, 0, 0), inertia=(thin, wide, wide))
    builder.frame(f"{name}_end", parent=name, xyz=(length, 0, 0))


def _pin(
    builder: DescriptionBuilder, name: str, parent: str, child: str, xyz: Sequence[float], turned: float = 0.0
) -> None:
    """A hinge about z whose zero is ``turned`` against its parent."""
    builder.joint(name, "revolute", parent=parent, child=child, axis=(0, 0, 1), xyz=xyz, rpy=(0, 0, turned))


def _corner(reach: float, first: float, second: float) -> float:
    """The angle between ``reach`` and ``first`` in a triangle with these two sides and ``second`` opposite."""
    return math.acos((reach * reach + first * first - second * second) / (2.0 * reach * first))


def four_bar() -> Robot:
    """A crank and rocker: crank 0.2 m, coupler 0.6 m, rocker 0.5 m, pivots 0.7 m apart; one freedom, gravity along -y.

    Joints "crank_joint", "coupler_joint", "rocker_joint"; the loop "pin" closes it. At zero the crank stands at 60
    degrees.

    >>> robot = four_bar()
    >>> robot.mobility(robot.neutral()).freedoms
    1
    """
    a, b, c, d, theta = 0.2, 0.6, 0.5, 0.7, math.pi / 3
    builder = DescriptionBuilder("four_bar", provenance="A Grashof crank and rocker of invented lengths; uniform bars.")
    for name, length, mass in (("crank", a, 1.0), ("coupler", b, 2.0), ("rocker", c, 1.5)):
        _rod(builder, name, length, mass)
    x, y = d - a * math.cos(theta), -a * math.sin(theta)  # from the end of the crank to the rocker's pivot
    coupler = math.atan2(y, x) + _corner(math.hypot(x, y), b, c)
    rocker = math.atan2(b * math.sin(coupler) - y, b * math.cos(coupler) - x)
    _pin(builder, "crank_joint", "world", "crank", (0, 0, 0), theta)
    _pin(builder, "coupler_joint", "crank", "coupler", (a, 0, 0), coupler - theta)
    _pin(builder, "rocker_joint", "world", "rocker", (d, 0, 0), rocker)
    tree = trusted(builder.description(), gravity=_DOWN_Y)
    return tree.with_constraints(Loop("revolute", "coupler", "rocker", at=(b, 0, 0), at_other=(c, 0, 0), name="pin"))


def slider_crank() -> Robot:
    """A crank of 0.2 m, a rod of 0.7 m and a piston along x; one freedom, gravity along -y.

    Joints "crank_joint", "rod_joint", "piston_joint"; the loop "wrist" closes it. At zero the crank stands at 60
    degrees, and the piston at its distance ``r cos(60) + sqrt(l^2 - r^2 sin(60)^2)`` from the crank's pivot.
    """
    r, length, theta = 0.2, 0.7, math.pi / 3
    lean = -math.asin(r * math.sin(theta) / length)
    builder = DescriptionBuilder("slider_crank", provenance="A slider and crank of invented lengths; uniform bars.")
    _rod(builder, "crank", r, 1.0)
    _rod(builder, "rod", length, 2.0)
    builder.link("piston", mass=3.0, inertia=(0.004, 0.004, 0.004))
    _pin(builder, "crank_joint", "world", "crank", (0, 0, 0), theta)
    _pin(builder, "rod_joint", "crank", "rod", (r, 0, 0), lean - theta)
    reach = r * math.cos(theta) + length * math.cos(lean)
    builder.joint("piston_joint", "prismatic", parent="world", child="piston", axis=(1, 0, 0), xyz=(reach, 0, 0))
    tree = trusted(builder.description(), gravity=_DOWN_Y)
    return tree.with_constraints(Loop("revolute", "rod", "piston", at=(length, 0, 0), name="wrist"))


def five_bar() -> Robot:
    """Two driven cranks of 0.25 m, 0.3 m apart, whose couplers of 0.35 m meet in a point; two freedoms.

    Joints "left_joint", "left_elbow", "right_joint", "right_elbow"; the frame "tool" is where the couplers meet.
    """
    crank, coupler, d = 0.25, 0.35, 0.3
    builder = DescriptionBuilder("five_bar", provenance="A planar parallel robot of invented lengths; uniform bars.")
    angles = {"left": math.radians(120.0), "right": math.radians(60.0)}
    elbow_x = crank * math.cos(angles["left"])  # the right one is its mirror image
    rise = math.acos((d / 2 - elbow_x) / coupler)
    coupled = {"left": rise, "right": math.pi - rise}
    for side, x in (("left", 0.0), ("right", d)):
        _rod(builder, f"{side}_crank", crank, 0.6)
        _rod(builder, f"{side}_coupler", coupler, 0.5)
        _pin(builder, f"{side}_joint", "world", f"{side}_crank", (x, 0, 0), angles[side])
        _pin(builder, f"{side}_elbow", f"{side}_crank", f"{side}_coupler", (crank, 0, 0), coupled[side] - angles[side])
    builder.frame("tool", parent="left_coupler", xyz=(coupler, 0, 0))
    tree = trusted(builder.description(), gravity=_DOWN_Y)
    ends = {"at": (coupler, 0.0, 0.0), "at_other": (coupler, 0.0, 0.0)}
    return tree.with_constraints(Loop("revolute", "left_coupler", "right_coupler", **ends, name="pin"))  # type: ignore[arg-type]


def delta() -> Robot:
    """A delta robot after Clavel: three driven arms, six rods in pairs, a platform that only translates; 3 freedoms.

    Arms of 0.25 m hinge 0.2 m from the middle ("arm1", "arm2", "arm3", positive downward, level at zero); pairs of rods
    of 0.55 m, 0.08 m apart, hold the platform's rim, 0.05 m from its middle. The platform hangs below, its joint is
    "platform_joint". Half of the mass of each pair is with the arm, half with the platform.
    """
    base, arm, rod, rim, half = 0.2, 0.25, 0.55, 0.05, 0.04
    provenance = "After R. Clavel, DELTA, a fast robot with parallel geometry, ISIR 1988; lengths and masses invented."
    builder = DescriptionBuilder("delta", provenance=provenance)
    depth = math.sqrt(rod * rod - (base + arm - rim) ** 2)
    builder.link("platform", mass=0.5, inertia=(4e-4, 4e-4, 7e-4))
    builder.joint("platform_joint", "free", parent="world", child="platform", xyz=(0, 0, -depth))
    loops = []
    for k in range(3):
        turn = k * _THIRD
        c, s = math.cos(turn), math.sin(turn)
        _rod(builder, f"upper{k + 1}", arm, 0.4)
        builder.joint(
            f"arm{k + 1}", "revolute", parent="world", child=f"upper{k + 1}", axis=(0, 1, 0),
            xyz=(base * c, base * s, 0), rpy=(0, 0, turn), limits=(-1.3, 1.4),
        )  # fmt: skip
        for side, y in (("left", half), ("right", -half)):
            on_rim = (rim * c - y * s, rim * s + y * c, 0.0)
            name = f"{side}_rod{k + 1}"
            loops.append(
                Loop("rod", f"upper{k + 1}", "platform", at=(arm, y, 0), at_other=on_rim, length=rod, name=name)
            )
    return trusted(builder.description(), gravity=_DOWN_Z).with_constraints(*loops)


def stewart() -> Robot:
    """A Gough and Stewart platform: six legs that lengthen carry a platform; six freedoms.

    Joints of leg k: "leg{k}_roll", "leg{k}_pitch" (its universal joint), "leg{k}" (its length, zero at home); a ball
    joint, the loop "ball{k}", ends it at the platform, whose own joint is "platform_joint", at home 0.6 m up.
    """
    provenance = "After V. Gough (1956) and D. Stewart, A platform with six degrees of freedom (1965); sizes invented."
    builder = DescriptionBuilder("stewart", provenance=provenance)
    builder.link("platform", mass=8.0, inertia=(0.12, 0.12, 0.24))
    builder.joint("platform_joint", "free", parent="world", child="platform", xyz=(0, 0, STEWART_HEIGHT))
    loops = []
    for k, (foot, head) in enumerate(stewart_points(), start=1):
        x, y, z = head[0] - foot[0], head[1] - foot[1], STEWART_HEIGHT
        length = math.sqrt(x * x + y * y + z * z)
        lean = (math.atan2(-y, z), math.asin(x / length), 0.0)  # roll, then pitch, takes z to the leg
        builder.link(f"ring{k}", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
        builder.link(f"cylinder{k}", mass=1.0, com=(0, 0, 0.15), inertia=(0.008, 0.008, 4e-4))
        builder.link(f"piston{k}", mass=0.5, com=(0, 0, -0.15), inertia=(0.004, 0.004, 1e-4))
        builder.joint(f"leg{k}_roll", "revolute", parent="world", child=f"ring{k}", axis=(1, 0, 0), xyz=foot,
                      rpy=(lean[0], 0, 0))  # fmt: skip
        builder.joint(f"leg{k}_pitch", "revolute", parent=f"ring{k}", child=f"cylinder{k}", axis=(0, 1, 0),
                      rpy=(0, lean[1], 0))  # fmt: skip
        builder.joint(f"leg{k}", "prismatic", parent=f"cylinder{k}", child=f"piston{k}", axis=(0, 0, 1),
                      xyz=(0, 0, length), limits=(-0.2, 0.2))  # fmt: skip
        loops.append(Loop("spherical", f"piston{k}", "platform", at_other=head, name=f"ball{k}"))
    return trusted(builder.description(), gravity=_DOWN_Z).with_constraints(*loops)


STEWART_HEIGHT = 0.6


def stewart_points() -> list[tuple[tuple[float, float, float], tuple[float, float, float]]]:
    """Per leg of :func:`stewart` its foot in the world and its head in the platform, m."""
    points = []
    for k in range(6):
        middle, side = (k // 2) * _THIRD, 1.0 if k % 2 else -1.0
        foot, head = middle + side * math.radians(50.0), middle + side * math.radians(12.0)
        points.append(
            ((0.5 * math.cos(foot), 0.5 * math.sin(foot), 0.0), (0.3 * math.cos(head), 0.3 * math.sin(head), 0.0))
        )
    return points


def gripper() -> Robot:
    """A parallel gripper: each finger is a four-bar that stays upright, gears tie the two; one freedom.

    Joints "left_crank", "left_finger", "left_follower" and the same on the right; the relation "gear" turns the right
    crank against the left one. Frames "left_tip" and "right_tip". Fingers point along x.
    """
    crank, gap, finger = 0.06, 0.02, 0.05
    provenance = "Invented: a gripper with four-bar fingers of common size."
    builder = DescriptionBuilder("gripper", provenance=provenance)
    loops: list[Loop | JointRelation] = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        lean = sign * math.radians(40.0)
        _rod(builder, f"{side}_bar", crank, 0.05, 0.008)
        _rod(builder, f"{side}_guide", crank, 0.04, 0.008)
        _rod(builder, f"{side}_pad", finger, 0.06, 0.01)
        _pin(builder, f"{side}_crank", "world", f"{side}_bar", (0, 0.015 * sign, 0), lean)
        _pin(builder, f"{side}_finger", f"{side}_bar", f"{side}_pad", (crank, 0, 0), -lean)
        _pin(builder, f"{side}_follower", "world", f"{side}_guide", (0, (0.015 + gap) * sign, 0), lean)
        builder.frame(f"{side}_tip", parent=f"{side}_pad", xyz=(finger, 0, 0))
        at = (0.0, gap * sign, 0.0)
        loops.append(
            Loop("revolute", f"{side}_pad", f"{side}_guide", at=at, at_other=(crank, 0, 0), name=f"{side}_pin")
        )
    loops.append(JointRelation({"left_crank": 1.0, "right_crank": 1.0}, name="gear"))
    return trusted(builder.description(), gravity=_DOWN_Y).with_constraints(*loops)


_ARM = (  # of the two arms: joint axis, bend at zero, length and mass of the link
    ((0, 0, 1), 0.0, 0.10, 3.0), ((0, 1, 0), -0.7, 0.35, 3.5), ((0, 1, 0), 1.3, 0.30, 2.5),
    ((1, 0, 0), 0.0, 0.08, 1.2), ((0, 1, 0), -0.6, 0.08, 1.0), ((1, 0, 0), 0.0, 0.08, 0.6),
)  # fmt: skip


def two_arms() -> Robot:
    """Two arms of six joints side by side that hold a bar of 2 kg between their hands; six freedoms.

    Joints left_1 .. left_6, right_1 .. right_6. The bar is on the left hand; the loop "grip" welds it to the right one.
    """
    builder = DescriptionBuilder("two_arms", provenance="Invented: two arms of realistic size and mass.")
    apart = 0.6
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, where = "world", (0.0, 0.5 * apart * sign, 0.4)
        for k, (axis, bend, length, mass) in enumerate(_ARM, start=1):
            child = f"{side}_link{k}"
            _rod(builder, child, length, mass, 0.08)
            builder.joint(f"{side}_{k}", "revolute", parent=parent, child=child, axis=axis, xyz=where, rpy=(0, bend, 0),
                          limits=(-2.9, 2.9), effort=100.0)  # fmt: skip
            parent, where = child, (length, 0.0, 0.0)
        builder.frame(f"{side}_hand", parent=parent, xyz=where)
    builder.link("bar", mass=2.0, com=(0, -apart / 2, 0), inertia=(0.06, 0.001, 0.06))
    builder.joint("hold", "fixed", parent="left_hand", child="bar")
    tree = trusted(builder.description(), gravity=_DOWN_Z)
    return tree.with_constraints(Loop("weld", "bar", "right_hand", at=(0, -apart, 0), name="grip"))


FEET = ("front_left_foot", "front_right_foot", "rear_left_foot", "rear_right_foot")


def standing_quadruped() -> Robot:
    """The bundled quadruped on its four feet, each a point contact that holds; six freedoms, those of its trunk.

    For feet that may lift and slip, simulate the robot without these constraints and with ``contacts=``, a
    :class:`recursa.Touch` for each of ``recursa.mechanisms.FEET``.
    """
    path = Path(str(files("recursa"))) / "urdf" / "quadruped.urdf"
    told = "Invented, of realistic size and mass; the file rc.robots.urdf('quadruped'), floating, with four contacts."
    description = replace(read_urdf(path.read_bytes(), str(path)), provenance=told, name="standing_quadruped")
    robot = trusted(description, floating=True)
    return robot.with_constraints(*(Contact("point", foot, name=foot) for foot in FEET))


MECHANISMS = {
    make.__name__: make
    for make in (four_bar, slider_crank, five_bar, delta, stewart, gripper, two_arms, standing_quadruped)
}
