"""Planar linkages that are mounted with a tilt; constrained motion from dense matrices, ranks by singular values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import recursa as rc

KEPT, ROUNDING = 1e-11, 1e-14  # singular values over the largest: above the first they count, below the second never


def linkage(
    tilt: float = 0.0,
    *,
    seed: int = 0,
    bars: int = 3,
    skew: float = 0.0,
    tied: bool = False,
    massless: bool = False,
    twice: bool = False,
    adapted: bool = False,
    slider: bool = False,
    kind: str = "point",
    size: float = 1.0,
    mass: float = 1.0,
) -> tuple[rc.Robot, np.ndarray]:
    """Bars in one plane with the end of the last pinned to the world, and a configuration at which the loop is closed.

    The plane is turned by (pi/2 + tilt, 0, 0.7), so that rows in world axes are redundant in a way that only rounding
    shows. ``adapted`` gives the loop axes along the plane, in which they are plainly zero. ``skew`` turns one axis out
    of the common direction by that angle. ``tied`` hangs a fan on the first joint, ``massless`` takes the mass of the
    second bar, ``twice`` says the loop once more in other axes, ``slider`` replaces the second hinge. All lengths are
    multiplied by ``size``, all masses by ``mass``.
    """
    rng = np.random.default_rng(seed)
    mount = (np.pi / 2 + tilt, 0.0, 0.7)
    lengths, masses = size * rng.uniform(0.2, 0.7, bars), mass * rng.uniform(0.5, 2.0, bars)
    b = rc.Builder("linkage")
    b.link("ground")
    b.joint("mount", "fixed", parent="world", child="ground", rpy=mount)
    for k, (length, own) in enumerate(zip(lengths, masses, strict=True)):
        if massless and k == 1:
            b.link(f"bar{k}")
        else:
            b.link(f"bar{k}", mass=own, com=(length / 2, 0.03 * size, 0), inertia=(0.02 * own * size**2,) * 3)
        options = {
            "axis": (0, 0, 1),
            "xyz": (lengths[k - 1] if k else 0.0, 0, 0),
            "rpy": (skew if k == 1 else 0.0, 0, 0),
        }
        sliding = slider and k == 1
        b.joint(
            f"joint{k}",
            "prismatic" if sliding else "revolute",
            parent=f"bar{k - 1}" if k else "ground",
            child=f"bar{k}",
            **(options | {"axis": (0.6, 0.8, 0)} if sliding else options),
        )
    if tied:
        b.link("fan", mass=0.3 * mass, com=(0.1 * size, 0, 0), inertia=(0.01 * mass * size**2,) * 3)
        b.joint("fan_joint", "revolute", parent="ground", child="fan", axis=(0, 0, 1), mimic=("joint0", 2.0, 0.1))
    tree = (
        b.build(gravity=(0, 0, -9.81), strict=False, mimic="tie")
        if tied
        else b.build(gravity=(0, 0, -9.81), strict=False)
    )
    q = rng.uniform(-1.0, 1.0, tree.nq) + np.linspace(0.3, 1.6, tree.nq)
    end = tree.pose(q, f"bar{bars - 1}") @ [lengths[-1], 0, 0, 1]
    pose, tip = tree.pose(q, f"bar{bars - 1}"), (lengths[-1], 0.0, 0.0)
    normal = tuple(tree.pose(q, "ground")[:3, 2])
    options = {"at": tuple(end[:3]), "at_other": tip}
    if kind == "revolute":
        options |= {"axis": normal, "rpy_other": angles(pose[:3, :3].T)}
    elif adapted:
        options |= {"rpy": mount, "rpy_other": angles(pose[:3, :3].T @ tree.pose(q, "ground")[:3, :3])}
    loops = [rc.Loop(kind, "world", f"bar{bars - 1}", name="pin", **options)]
    if twice:
        loops.append(rc.Loop("point", "world", f"bar{bars - 1}", name="again", **options, rpy=(0.4, 1.1, -0.3)))
    return tree.with_constraints(*loops), q


def several_loops(seed: int, kind: str = "") -> tuple[rc.Robot, np.ndarray]:
    """Bars in one plane, but for hinges that are off by 1e-8 to 1e-3 rad, with rows that depend across constraints.

    - "weld": a chain with its end welded to the world, and another of its bars pinned.
    - "joined": two chains welded to each other at their ends, one of them pinned to the world.
    - "floating": two chains of a free base, pinned to each other at their ends and both held by the world.
    """
    rng = np.random.default_rng(seed)
    kind = kind or ("weld", "joined", "floating")[seed % 3]
    bars = 4 if kind == "weld" else 6
    tilt = float(rng.choice([-1, 1]) * 10.0 ** rng.uniform(-10, -1))
    b = rc.Builder("several_loops")
    if kind == "floating":
        b.link("ground", mass=3.0, com=(0.01, 0.02, 0.03), inertia=(0.1, 0.2, 0.15))
        b.joint("mount", "free", parent="world", child="ground")
    else:
        b.link("ground")
        b.joint("mount", "fixed", parent="world", child="ground", rpy=(np.pi / 2 + tilt, 0.0, 0.7))
    lengths, masses = rng.uniform(0.2, 0.7, bars), rng.uniform(0.5, 2.0, bars)
    for k, (length, mass) in enumerate(zip(lengths, masses, strict=True)):
        at_ground = k == 0 or (kind != "weld" and k == bars // 2)
        b.link(f"bar{k}", mass=mass, com=(length / 2, 0.03, 0.01), inertia=(0.02 * mass, 0.03 * mass, 0.025 * mass))
        b.joint(
            f"joint{k}",
            "revolute",
            parent="ground" if at_ground else f"bar{k - 1}",
            child=f"bar{k}",
            axis=(0, 0, 1),
            xyz=(0.1 * k, 0, 0) if at_ground else (lengths[k - 1], 0, 0),
            rpy=(float(10.0 ** rng.uniform(-8, -3)) * bool(rng.random() < 0.3), 0, 0),
        )
    tree = b.build(gravity=(0, 0, -9.81))
    q = tree.random_state(seed, within_limits=False)[0]

    def closed(kind: str, link: str, bar: int, name: str) -> rc.Loop:
        end = (lengths[bar], 0.0, 0.0)
        first = np.eye(4) if link == "world" else tree.pose(q, link)
        second = tree.pose(q, f"bar{bar}")
        at = np.linalg.solve(first, second @ [*end, 1.0])
        turned = angles(second[:3, :3].T @ first[:3, :3])
        return rc.Loop(kind, link, f"bar{bar}", at=tuple(at[:3]), at_other=end, rpy_other=turned, name=name)

    if kind == "weld":
        loops = [closed("weld", "world", 3, "one"), closed("point", "world", 2, "two")]
    elif kind == "joined":
        loops = [closed("weld", "bar2", 5, "one"), closed("point", "world", 4, "two")]
    else:
        loops = [
            closed("point", "bar2", 5, "one"),
            closed("weld", "world", 5, "two"),
            closed("weld", "world", 2, "3rd"),
        ]
    rng.shuffle(loops)
    return tree.with_constraints(*loops), q


def geared(seed: int, size: float) -> tuple[rc.Robot, np.ndarray]:
    """Two closed chains of three bars of about this length, with a gear between them that is said twice."""
    rng = np.random.default_rng(seed)
    b = rc.Builder("geared")
    b.link("ground")
    b.joint("mount", "fixed", parent="world", child="ground", rpy=(np.pi / 2 + 1e-6, 0.0, 0.7))
    ends = list[tuple[str, tuple[float, float, float]]]()
    for side in "ab":
        parent, at = "ground", (2.0 * size * (side == "b"), 0.0, 0.0)
        for k in range(3):
            name, length, mass = f"{side}{k}", size * rng.uniform(0.3, 0.8), rng.uniform(0.5, 2.0)
            turning = mass * size**2
            b.link(
                name,
                mass=mass,
                com=(length / 2, 0.02 * size, 0.01 * size),
                inertia=(0.02 * turning, 0.03 * turning, 0.025 * turning),
            )
            b.joint(f"{name}_joint", "revolute", parent=parent, child=name, axis=(0, 0, 1), xyz=at)
            parent, at = name, (length, 0.0, 0.0)
        ends.append((parent, at))
    tree = b.build(gravity=(0, 0, -9.81))
    q = rng.uniform(-1.5, 1.5, tree.nq)
    q[3] = 2.0 * q[0]
    loops = []
    for kind, (link, tip) in zip(("revolute", "point"), ends, strict=True):
        pose, ground, turned = tree.pose(q, link), tree.pose(q, "ground"), rng.uniform(-1.5, 1.5, 3)
        at, frame = np.linalg.solve(ground, pose @ [*tip, 1.0])[:3], rotation(turned)
        options = {"axis": tuple(frame[2])} if kind == "revolute" else {}
        other = angles(pose[:3, :3].T @ ground[:3, :3] @ frame)
        loops.append(
            rc.Loop(
                kind,
                "ground",
                link,
                at=tuple(at),
                rpy=tuple(turned),
                at_other=tip,
                rpy_other=other,
                name=kind,
                **options,
            )
        )
    gears = [rc.JointRelation({"a0_joint": 2.0 * x, "b0_joint": -x}, name=f"gear {x}") for x in (1.0, -3.0)]
    return tree.with_constraints(gears[0], *loops, gears[1]), q


def rotation(rpy: np.ndarray) -> np.ndarray:
    """The rotation of roll, pitch and yaw."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    return np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ about_y @ about_x


def angles(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation."""
    return float(np.arctan2(R[2, 1], R[2, 2])), float(-np.arcsin(R[2, 0])), float(np.arctan2(R[1, 0], R[0, 0]))


class Dense(NamedTuple):
    """The matrices of one configuration, and the rank of G by its singular values."""

    mass: np.ndarray
    G: np.ndarray
    U: np.ndarray
    values: np.ndarray
    V: np.ndarray
    rank: int

    @property
    def certain(self) -> bool:
        """Whether no singular value lies where it could be rounding as well as a genuine one."""
        share = self.values / self.values[0]
        return bool(((share > KEPT) | (share < ROUNDING)).all())

    @property
    def condition(self) -> float:
        """The largest singular value over the smallest that counts."""
        return float(self.values[0] / self.values[self.rank - 1])

    @property
    def free(self) -> np.ndarray:
        """Directions that the constraints leave, as columns."""
        return self.V[self.rank :].T

    def particular(self, right: np.ndarray) -> np.ndarray:
        """The shortest x with ``G x = b``."""
        k = self.rank
        return self.V[:k].T @ ((self.U[:, :k].T @ right) / self.values[:k])

    def accelerations(self, moments: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """From ``tau - bias`` and gamma."""
        demanded = self.particular(-gamma)
        return demanded + self.compliance @ (moments - self.mass @ demanded)

    @property
    def compliance(self) -> np.ndarray:
        """``Z inv(Z* mass Z) Z*``."""
        Z = self.free
        return Z @ np.linalg.solve(Z.T @ self.mass @ Z, Z.T) if Z.shape[1] else np.zeros_like(self.mass)

    def multipliers(self, forces: np.ndarray) -> np.ndarray:
        """The shortest lambda with ``G* lambda = f``."""
        k = self.rank
        return self.U[:, :k] @ ((self.V[:k] @ forces) / self.values[:k])

    @staticmethod
    def of(robot: rc.Robot, q: np.ndarray) -> Dense:
        """By NumPy."""
        M, G = robot.mass_matrix(q), robot.constraint_jacobian(q)
        U, values, V = np.linalg.svd(G)
        return Dense(M, G, U, values, V, int((values > np.sqrt(KEPT * ROUNDING) * values[0]).sum()))
