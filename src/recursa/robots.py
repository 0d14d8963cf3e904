"""Bundled robots, each with its provenance: classic arms, arms like today's, and random chains and trees.

``names()`` lists them; every function returns a :class:`recursa.Robot`, but for ``urdf``, which has the path of a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

from recursa.bundled import BUNDLED, FILES
from recursa.errors import ModelError, unknown_name
from recursa.formats.urdf import read_urdf
from recursa.loading import trusted
from recursa.mechanisms import (
    MECHANISMS,
    delta,
    five_bar,
    four_bar,
    gripper,
    slider_crank,
    standing_quadruped,
    stewart,
    two_arms,
)
from recursa.model.builder import DescriptionBuilder
from recursa.model.description import PITCHED, Description
from recursa.model.dh import Convention, DHLink, describe_dh
from recursa.model.model import MimicMode
from recursa.model.model_variations import with_frame
from recursa.robot import Robot
from recursa.spatial.constants import unit_axis
from recursa.spatial.rotation import Rotation
from recursa.spatial.vec3 import SymMat3, Vec3

__all__ = [
    "by_name", "chain", "delta", "five_bar", "four_bar", "free_flyer", "gripper", "names", "panda_like", "planar",
    "puma560", "random_description", "slider_crank", "space_robot", "standing_quadruped", "stanford", "stewart", "tree",
    "two_arms", "ur5_like", "urdf",
]  # fmt: skip

_RIGHT = math.pi / 2
_DEG = math.pi / 180


def names() -> tuple[str, ...]:
    """Names of the bundled robots.

    >>> names()[:9]
    ('stanford', 'planar', 'puma560', 'panda_like', 'ur5_like', 'chain', 'tree', 'free_flyer', 'space_robot')
    >>> names()[9:]                                          # with closed loops, or contacts that hold
    ('four_bar', 'slider_crank', 'five_bar', 'delta', 'stewart', 'gripper', 'two_arms', 'standing_quadruped')
    """
    return BUNDLED


def urdf(name: str) -> Path:
    """The path of a URDF file that comes with Recursa, for trying out what takes one.

    - "desk_arm": six joints and a gripper whose second finger mimics the first; 3.6 kg move.
    - "quadruped": a trunk with four legs of three joints, 13 kg; to be loaded with ``floating=True``.

    Both are invented, with masses, limits and losses of realistic size.

    >>> import recursa as rc
    >>> rc.load(rc.robots.urdf("desk_arm"), mimic="tie").nv
    7
    """
    if name not in FILES:
        raise unknown_name("bundled URDF file", name, FILES)
    return Path(str(files("recursa"))) / "urdf" / f"{name}.urdf"


def by_name(name: str, *, floating: bool = False, mimic: MimicMode = "free") -> Robot:
    """A bundled robot or robot file by its name, with default arguments (``chain`` and ``tree`` with 6 and 7 bodies).

    ``floating`` and ``mimic`` ("tie", "free") as in :func:`recursa.load`.

    >>> by_name("stanford", floating=True).nv
    12
    """
    if name not in BUNDLED + FILES:
        raise unknown_name("bundled robot", name, BUNDLED + FILES)
    if name in FILES:
        file, told = urdf(name), f"Invented, of realistic size and mass; the file rc.robots.urdf({name!r})."
        description = replace(read_urdf(file.read_bytes(), str(file)), provenance=told)
        return trusted(description, floating=floating, mimic=mimic)
    robot = _ROBOTS[name]()
    if not floating and mimic == "free":
        return robot
    return trusted(robot.model.description, gravity=robot.gravity, floating=floating, mimic=mimic)


def _arm(
    rows: Sequence[DHLink], convention: Convention, name: str, provenance: str, tool: tuple[str, float] | None = None
) -> Robot:
    """An arm from a table, with an optional frame some way along the last z axis."""
    description = describe_dh(rows, convention=convention, name=name, provenance=provenance)
    if tool is not None:
        description = with_frame(description, tool[0], f"link{len(rows)}", (0.0, 0.0, tool[1]), (0.0, 0.0, 0.0))
    return trusted(description)


def stanford() -> Robot:
    """The Stanford arm of Saha's Table 3: five revolute joints and a sliding boom (joint 3).

    Standard DH, gravity along -z of the post; Saha starts it at theta_2 = 90 degrees. His r_i point from the mass
    centre to the frame, so centres of mass carry the opposite sign here.

    >>> stanford().mass
    21.1
    """
    rows = [
        DHLink(joint="revolute", d=0.2, alpha=-_RIGHT, mass=9.0, com=(0, 0.1, 0), inertia=(0.01, 0.02, 0.01)),
        DHLink(joint="revolute", d=0.1, alpha=-_RIGHT, mass=6.0, inertia=(0.05, 0.06, 0.01)),
        DHLink(joint="prismatic", mass=4.0, inertia=(0.4, 0.4, 0.01)),
        DHLink(joint="revolute", d=0.6, alpha=_RIGHT, mass=1.0, com=(0, 0.1, 0), inertia=(0.001, 0.001, 0.0005)),
        DHLink(joint="revolute", alpha=-_RIGHT, mass=0.6, inertia=(0.0005, 0.0005, 0.0002)),
        DHLink(joint="revolute", mass=0.5, inertia=(0.003, 0.001, 0.002)),
    ]
    return _arm(rows, "standard", "stanford", "S. K. Saha, decoupled natural orthogonal complement, Table 3.")


_PLANAR_LENGTHS = (0.3, 0.25, 0.22)
_PLANAR_MASSES = (0.5, 0.4, 0.3)


def planar(n: int = 3) -> Robot:
    """A planar arm of n uniform rods in the x-y plane, gravity along -y, frame "tip" at its end.

    Lengths 0.3, 0.25, 0.22 m and masses 0.5, 0.4, 0.3 kg for the first three, as in Saha's three-link example (his
    text leaves them out; these are the ones his group's later program uses), 0.2 m and 0.25 kg beyond.

    >>> planar(3).gravity
    (0.0, -9.81, 0.0)
    """
    _require_count(n, "planar arm")
    provenance = "Uniform rods; the three-link arm of S. K. Saha's example with the data of his group's later program."
    builder = DescriptionBuilder(f"planar{n}", provenance=provenance)
    parent, reach = "world", 0.0
    for k in range(n):
        length = _PLANAR_LENGTHS[k] if k < 3 else 0.2
        mass = _PLANAR_MASSES[k] if k < 3 else 0.25
        moment = mass * length * length / 12.0
        child = f"link{k + 1}"
        builder.link(child, mass=mass, com=(length / 2, 0, 0), inertia=(0.0, moment, moment))
        builder.joint(f"joint{k + 1}", "revolute", parent=parent, child=child, xyz=(reach, 0, 0))
        parent, reach = child, length
    builder.frame("tip", parent=parent, xyz=(reach, 0, 0))
    return trusted(builder.description(), gravity=(0.0, -9.81, 0.0))


def puma560(*, directed_friction: bool = False) -> Robot:
    """The Unimation Puma 560 with the consensus data of Corke and Armstrong-Helouvry, rotors and friction included.

    Standard DH. Armature is gear ratio squared times motor inertia; damping and Coulomb friction are referred to the
    joint, friction being the mean of both directions, or with ``directed_friction=True`` what was published for each of
    them. Link 1 is published only by its inertia about the joint axis: it is completed to a disc of 13 kg on the axis,
    where neither the mass nor the other moments affect joint torques. The published inertia of link 3 breaks the
    triangle inequality, as ``doctor()`` will tell.
    """
    motors = [  # motor inertia, gear ratio, viscous and Coulomb friction (two directions) at the motor, limits [deg]
        (200e-6, 62.6111, 1.48e-3, (0.395, 0.435), (-160, 160)),
        (200e-6, 107.815, 0.817e-3, (0.126, 0.071), (-45, 225)),
        (200e-6, 53.7063, 1.38e-3, (0.132, 0.105), (-225, 45)),
        (33e-6, 76.0364, 71.2e-6, (11.2e-3, 16.9e-3), (-110, 170)),
        (33e-6, 71.923, 82.6e-6, (9.26e-3, 14.5e-3), (-100, 100)),
        (33e-6, 76.686, 36.7e-6, (3.96e-3, 10.5e-3), (-266, 266)),
    ]
    links = [
        {"d": 0.672, "alpha": _RIGHT, "mass": 13.0, "inertia": (0.175, 0.35, 0.175)},
        {"a": 0.4318, "mass": 17.4, "com": (-0.3638, 0.006, 0.2275), "inertia": (0.13, 0.524, 0.539)},
        {"d": 0.15005, "a": 0.0203, "alpha": -_RIGHT, "mass": 4.8, "com": (-0.0203, -0.0141, 0.070),
         "inertia": (0.066, 0.086, 0.0125)},
        {"d": 0.4318, "alpha": _RIGHT, "mass": 0.82, "com": (0, 0.019, 0), "inertia": (1.8e-3, 1.3e-3, 1.8e-3)},
        {"alpha": -_RIGHT, "mass": 0.34, "inertia": (0.3e-3, 0.4e-3, 0.3e-3)},
        {"mass": 0.09, "com": (0, 0, 0.032), "inertia": (0.15e-3, 0.15e-3, 0.04e-3)},
    ]  # fmt: skip
    rows = [
        DHLink(
            joint="revolute",
            armature=rotor * gear * gear,
            damping=viscous * gear * gear,
            friction=(gear * coulomb[0], gear * coulomb[1]) if directed_friction else gear * sum(coulomb) / 2,
            limits=(low * _DEG, high * _DEG),
            **link,  # type: ignore[arg-type]
        )
        for link, (rotor, gear, viscous, coulomb, (low, high)) in zip(links, motors, strict=True)
    ]
    provenance = (
        "P. Corke and B. Armstrong-Helouvry, A search for consensus among model parameters reported for the PUMA 560 "
        "robot, ICRA 1994; link 1 completed to a disc."
    )
    return _arm(rows, "standard", "puma560", provenance)


def _box(mass: float, size: Sequence[float], tilt: Sequence[float] = (0.0, 0.0, 0.0)) -> list[list[float]]:
    """Inertia of a solid box about its centre, turned by roll-pitch-yaw ``tilt``: valid, and with products."""
    x, y, z = (side * side for side in size)
    upright = SymMat3.diagonal(*(mass / 12 * s for s in (y + z, x + z, x + y)))
    turned = Rotation.from_constant_rpy(*tilt).symmetric(upright)
    return [list(row) for row in turned.rows()]


def panda_like() -> Robot:
    """Seven revolute joints with the geometry and limits of the Franka Panda; the inertial data are ours.

    Modified DH, frame "flange". Masses are of realistic size; the inertias are those of tilted solid boxes, so that
    every product of inertia is non-zero, as in real data.
    """
    geometry = [  # a, alpha, d
        (0.0, 0.0, 0.333), (0.0, -_RIGHT, 0.0), (0.0, _RIGHT, 0.316), (0.0825, _RIGHT, 0.0),
        (-0.0825, -_RIGHT, 0.384), (0.0, _RIGHT, 0.0), (0.088, _RIGHT, 0.0),
    ]  # fmt: skip
    bodies = [  # mass, centre of mass, box, tilt
        (3.5, (0.002, -0.03, -0.12), (0.12, 0.14, 0.28), (0.10, -0.06, 0.04)),
        (3.4, (0.001, -0.08, 0.03), (0.12, 0.28, 0.14), (-0.08, 0.05, 0.03)),
        (2.9, (0.04, 0.03, -0.07), (0.16, 0.12, 0.20), (0.15, 0.20, -0.10)),
        (2.7, (-0.04, 0.05, 0.03), (0.16, 0.16, 0.12), (0.05, -0.12, 0.25)),
        (2.6, (-0.01, 0.04, -0.11), (0.11, 0.14, 0.32), (0.12, 0.03, -0.05)),
        (1.6, (0.05, -0.01, -0.01), (0.18, 0.10, 0.11), (-0.05, 0.08, 0.10)),
        (0.8, (0.01, 0.01, 0.07), (0.08, 0.08, 0.10), (0.04, 0.06, 0.30)),
    ]
    turn, bend = (-2.8973, 2.8973), (-1.7628, 1.7628)
    bounds = [turn, bend, turn, (-3.0718, -0.0698), turn, (-0.0175, 3.7525), turn]
    efforts = [87.0] * 4 + [12.0] * 3
    speeds = [2.175] * 4 + [2.61] * 3
    rows = [
        DHLink(
            joint="revolute", a=a, alpha=alpha, d=d, mass=mass, com=com, inertia=_box(mass, box, tilt),
            limits=bound, effort=effort, velocity=speed,
        )
        for (a, alpha, d), (mass, com, box, tilt), bound, effort, speed in zip(
            geometry, bodies, bounds, efforts, speeds, strict=True
        )
    ]  # fmt: skip
    provenance = (
        "Geometry and limits as published for the Franka Panda; masses and inertias invented, of realistic size."
    )
    return _arm(rows, "modified", "panda_like", provenance, tool=("flange", 0.107))


def ur5_like() -> Robot:
    """Six revolute joints with the geometry and masses of the UR5; inertias of solid boxes. Standard DH."""
    rows = [
        DHLink(d=0.089159, alpha=_RIGHT, mass=3.7, com=(0, -0.02561, 0.00193), inertia=_box(3.7, (0.13, 0.16, 0.13))),
        DHLink(a=-0.425, mass=8.393, com=(0.2125, 0, 0.11336), inertia=_box(8.393, (0.52, 0.12, 0.12))),
        DHLink(a=-0.39225, mass=2.275, com=(0.15, 0, 0.0265), inertia=_box(2.275, (0.45, 0.09, 0.09))),
        DHLink(d=0.10915, alpha=_RIGHT, mass=1.219, com=(0, -0.0018, 0.01634), inertia=_box(1.219, (0.08, 0.12, 0.08))),
        DHLink(d=0.09465, alpha=-_RIGHT, mass=1.219, com=(0, 0.0018, 0.01634), inertia=_box(1.219, (0.08, 0.12, 0.08))),
        DHLink(d=0.0823, mass=0.1879, com=(0, 0, -0.001159), inertia=_box(0.1879, (0.075, 0.075, 0.04))),
    ]
    provenance = "Geometry, masses and centres of mass as published for the UR5; inertias of boxes of about its size."
    return _arm(rows, "standard", "ur5_like", provenance)


def chain(n: int = 6, seed: int = 0, joints: Literal["revolute", "mixed"] = "revolute") -> Robot:
    """A random serial chain of n bodies with general geometry and inertia; ``joints`` "revolute", or "mixed" with
    sliding joints, too.

    >>> chain(20, seed=3, joints="mixed").nv
    20
    """
    _require_count(n, "chain")
    if joints not in ("revolute", "mixed"):
        raise unknown_name("choice of joints", joints, ("revolute", "mixed"))
    kinds = ["revolute", "prismatic"] if joints == "mixed" else ["revolute"]
    return trusted(random_description(f"chain{n}", [k - 1 for k in range(n)], seed, kinds))


def tree(n: int = 7, branching: int = 2, seed: int = 0) -> Robot:
    """A random tree of n revolute bodies in which every body carries up to ``branching`` others."""
    _require_count(n, "tree")
    _require_count(branching, "tree's branching")
    parents = [(k - 1) // branching if k else -1 for k in range(n)]
    return trusted(random_description(f"tree{n}", parents, seed, ["revolute"]))


def free_flyer(n: int = 3) -> Robot:
    """A spacecraft bus of 500 kg with an arm of n links of 10 kg and 1 m, far from gravity; frame "gripper"."""
    _require_count(n, "free flyer's arm")
    builder = DescriptionBuilder(f"free_flyer{n}", provenance="Invented: a one-metre cube with a jointed arm.")
    builder.link("bus", mass=500.0, inertia=_box(500.0, (1.0, 1.0, 1.0)))
    builder.joint("root", "free", parent="world", child="bus")
    parent, where = "bus", (0.5, 0.2, 0.0)
    for k in range(n):
        child = f"link{k + 1}"
        builder.link(child, mass=10.0, com=(0.5, 0, 0), inertia=_box(10.0, (1.0, 0.1, 0.1)))
        axis = (0, 0, 1) if k == 0 else (0, 1, 0)
        builder.joint(f"joint{k + 1}", "revolute", parent=parent, child=child, axis=axis, xyz=where)
        parent, where = child, (1.0, 0.0, 0.0)
    builder.frame("gripper", parent=parent, xyz=where)
    return trusted(builder.description(), gravity=(0.0, 0.0, 0.0))


_ARM = (  # of the space robot: joint axis; mass, length and thickness of the link that it carries
    ("z", 3.0, 0.15, 0.14),
    ("y", 8.0, 0.80, 0.12),
    ("y", 7.0, 0.70, 0.12),
    ("x", 2.5, 0.12, 0.11),
    ("y", 2.5, 0.12, 0.11),
    ("x", 3.0, 0.15, 0.10),
)
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def space_robot() -> Robot:
    """A spacecraft with two arms of six joints, solar wings on its sides, far from gravity.

    The bus has 420 kg and a free joint, "root"; joints are left_1 .. left_6 and right_1 .. right_6, the frames at their
    ends "left_hand" and "right_hand". The arms leave the front (+x) at either side and are stretched forward at zero.

    >>> robot = space_robot()
    >>> robot.nv, round(robot.mass, 6)
    (18, 490.0)
    """
    provenance = "Invented: a bus with solar wings and two arms of realistic size and mass."
    builder = DescriptionBuilder("space_robot", provenance=provenance)
    builder.link("bus", mass=420.0, com=(0.02, 0.0, -0.03), inertia=_box(420.0, (1.2, 1.0, 1.4)))
    builder.joint("root", "free", parent="world", child="bus")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        wing = f"{side}_wing"
        builder.link(wing, mass=9.0, com=(0, 0.9 * sign, 0), inertia=_box(9.0, (0.9, 1.8, 0.03)))
        builder.joint(f"{wing}_mount", "fixed", parent="bus", child=wing, xyz=(-0.2, 0.5 * sign, 0.3))
        builder.frame(f"{wing}_tip", parent=wing, xyz=(0, 1.8 * sign, 0))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, where = "bus", (0.6, 0.35 * sign, 0.2)
        for k, (axis, mass, length, thick) in enumerate(_ARM, start=1):
            child = f"{side}_link{k}"
            inertia = _box(mass, (length, thick, thick))
            builder.link(child, mass=mass, com=(length / 2, 0.01 * sign, 0.005), inertia=inertia)
            builder.joint(
                f"{side}_{k}", "revolute", parent=parent, child=child, axis=_AXES[axis], xyz=where,
                limits=(-2.9, 2.9), effort=120.0 if k <= 3 else 40.0, velocity=1.0,
            )  # fmt: skip
            parent, where = child, (length, 0.0, 0.0)
        builder.frame(f"{side}_hand", parent=parent, xyz=where)
    return trusted(builder.description(), gravity=(0.0, 0.0, 0.0))


def random_description(name: str, parents: Sequence[int], seed: int, kinds: Sequence[str]) -> Description:
    """Random bodies on the given parents (-1 is the world), joint kinds drawn from ``kinds``; nothing is special.

    Inertias are those of random clouds of mass points, hence valid.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"a seed is a whole number of at least 0, not {seed!r}")
    rng = np.random.default_rng(seed)
    builder = DescriptionBuilder(name, provenance=f"Random, seed {seed}.")
    for k, parent in enumerate(parents):
        mass, com, inertia = _cloud(rng)
        axis = unit_axis(Vec3(*rng.normal(size=3).tolist()))
        kind = str(rng.choice(list(kinds)))
        builder.link(f"link{k + 1}", mass=mass, com=com, inertia=inertia)
        builder.joint(
            f"joint{k + 1}",
            kind,
            parent="world" if parent < 0 else f"link{parent + 1}",
            child=f"link{k + 1}",
            axis=axis,
            xyz=rng.normal(scale=0.2, size=3).tolist(),
            rpy=rng.uniform(-math.pi, math.pi, size=3).tolist(),
            pitch=float(rng.normal(scale=0.1)) if kind in PITCHED else None,
        )
    return builder.description()


def _cloud(rng: np.random.Generator) -> tuple[float, list[float], tuple[float, ...]]:
    """Mass, centre and inertia of eight random mass points; added up here, because BLAS adds as suits the processor."""
    points = (rng.normal(scale=0.1, size=(8, 3)) + rng.normal(scale=0.1, size=3)).tolist()
    weights = rng.uniform(0.05, 0.5, size=8).tolist()
    mass = math.fsum(weights)
    com = [math.fsum(w * point[i] for w, point in zip(weights, points, strict=True)) / mass for i in range(3)]
    arms = [[x - c for x, c in zip(point, com, strict=True)] for point in points]
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = (
        [math.fsum(w * arm[i] * arm[j] for w, arm in zip(weights, arms, strict=True)) for j in range(3)]
        for i in range(3)
    )
    return mass, com, (yy + zz, xx + zz, xx + yy, -xy, -xz, -yz)


def _require_count(n: int, what: str) -> None:
    if not isinstance(n, int | np.integer) or n < 1:
        raise ModelError(f"a {what} needs a whole number of at least 1, not {n!r}")


_ROBOTS: dict[str, Callable[[], Robot]] = {
    make.__name__: make
    for make in (stanford, planar, puma560, panda_like, ur5_like, chain, tree, free_flyer, space_robot)
} | MECHANISMS
