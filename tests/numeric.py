"""What several tests compute with: dense matrices of the spatial types, random values, derivatives, comparisons.

The dense forms are written from the definitions with NumPy alone, so that they can judge the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import recursa as rc
from recursa.kernels.graph import LEAVES, Graph, Traced
from recursa.loading import trusted
from recursa.model.description import DRIVEN
from recursa.spatial import (
    ArticulatedInertia,
    Force,
    Mat3,
    Motion,
    Quaternion,
    RigidInertia,
    Rotation,
    Screw,
    ScrewChain,
    SymMat3,
    Transform,
    Vec3,
)

FRAMES = ("body", "mixed", "world")

# ---- any value as its numbers ----------------------------------------------------------------------------------------


def leaves(value: Any) -> Iterator[Any]:
    """The scalars of a spatial value (or a tuple of such), in order; the axis of a screw is not one of them."""
    if isinstance(value, Screw):
        yield from value[1:]
    elif isinstance(value, tuple | list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def mapped(fn: Callable[[Any], Any], value: Any) -> Any:
    """The same spatial value with ``fn`` applied to every scalar."""
    if isinstance(value, Screw):
        return Screw(value.axis, *(fn(x) for x in value[1:]))
    if not isinstance(value, tuple):
        return fn(value)
    parts = [mapped(fn, part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def batched(values: Sequence[Any], dtype: Any = np.float64) -> Any:
    """One spatial value whose scalars are the columns of several of the same structure."""
    columns = zip(*(leaves(value) for value in values), strict=True)
    arrays = iter([np.array(column, dtype) for column in columns])
    return mapped(lambda _: next(arrays), values[0])


def flat(value: Any) -> np.ndarray:
    """The scalars of a value of floats as one vector."""
    return np.array([float(x) for x in leaves(value)])


# ---- random values ---------------------------------------------------------------------------------------------------


class Draw:
    """Random spatial values of plain floats; nothing about them is special."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def number(self) -> float:
        return float(self.rng.normal())

    def numbers(self, count: int) -> list[float]:
        return self.rng.normal(size=count).tolist()

    def vec3(self) -> Vec3:
        return Vec3(*self.numbers(3))

    def unit(self) -> Vec3:
        v = self.rng.normal(size=3)
        return Vec3(*(v / np.linalg.norm(v)).tolist())

    def quaternion(self) -> Quaternion:
        q = self.rng.normal(size=4)
        return Quaternion(*(q / np.linalg.norm(q)).tolist())

    def rotation(self) -> Rotation:
        q, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
        return Rotation(*(q * np.linalg.det(q)).ravel().tolist())

    def transform(self) -> Transform:
        return Transform(self.rotation(), self.vec3())

    def screw(self, axis: int | None = None) -> Screw:
        angle = self.number()
        k = int(self.rng.integers(3)) if axis is None else axis
        return Screw(k, float(np.cos(angle)), float(np.sin(angle)), self.number())

    def screw_pair(self) -> ScrewChain:
        return ScrewChain((self.screw(), self.screw()))

    def motion(self) -> Motion:
        return Motion(self.vec3(), self.vec3())

    def force(self) -> Force:
        return Force(self.vec3(), self.vec3())

    def symmetric(self) -> SymMat3:
        return SymMat3(*self.numbers(6))

    def matrix(self) -> Mat3:
        return Mat3(self.vec3(), self.vec3(), self.vec3())

    def rigid(self) -> RigidInertia:
        return RigidInertia(*self.numbers(1), self.vec3(), self.symmetric())

    def articulated(self) -> ArticulatedInertia:
        return ArticulatedInertia(self.symmetric(), self.matrix(), self.symmetric())


# ---- dense forms -----------------------------------------------------------------------------------------------------


def skew(u: Sequence[float]) -> np.ndarray:
    """The 3x3 matrix of ``u x``."""
    x, y, z = u
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rotation_matrix(rotation: Rotation) -> np.ndarray:
    return flat(rotation).reshape(3, 3)


def symmetric_matrix(s: SymMat3) -> np.ndarray:
    return np.array([[s.xx, s.xy, s.xz], [s.xy, s.yy, s.yz], [s.xz, s.yz, s.zz]])


def homogeneous(x: Transform) -> np.ndarray:
    """The 4x4 matrix of a pose."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_matrix(x.rotation)
    matrix[:3, 3] = x.translation
    return matrix


def motion_matrix(pose: np.ndarray) -> np.ndarray:
    """The 6x6 matrix that carries motions (angular first) from B to A, from the 4x4 pose of B in A."""
    rotation, zero = pose[:3, :3], np.zeros((3, 3))
    return np.block([[rotation, zero], [skew(pose[:3, 3]) @ rotation, rotation]])


def force_matrix(pose: np.ndarray) -> np.ndarray:
    """The 6x6 matrix that carries forces (moment first) from B to A."""
    return np.linalg.inv(motion_matrix(pose)).T


def crm(motion: np.ndarray) -> np.ndarray:
    """The 6x6 matrix of the cross product with a motion, on motions."""
    w, v = skew(motion[:3]), skew(motion[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def crf(motion: np.ndarray) -> np.ndarray:
    """The same on forces."""
    return -crm(motion).T


def rigid_matrix(inertia: RigidInertia) -> np.ndarray:
    h = skew(inertia.first)
    return np.block([[symmetric_matrix(inertia.moment), h], [h.T, inertia.mass * np.eye(3)]])


def articulated_matrix(p: ArticulatedInertia) -> np.ndarray:
    coupling = flat(p.coupling).reshape(3, 3)
    return np.block([[symmetric_matrix(p.moment), coupling], [coupling.T, symmetric_matrix(p.mass)]])


def expm(matrix: np.ndarray) -> np.ndarray:
    """Matrix exponential by scaling, Taylor series and squaring."""
    halvings = max(0, int(np.ceil(np.log2(max(np.linalg.norm(matrix, np.inf), 1e-9)))))
    scaled = matrix / 2.0**halvings
    total, term = np.eye(len(matrix)), np.eye(len(matrix))
    for k in range(1, 25):
        term = term @ scaled / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


# ---- comparing -------------------------------------------------------------------------------------------------------


def gap(found: Any, expected: Any, scale: float = 1.0, what: str = "") -> float:
    """The largest difference, relative to the largest number expected (or to ``scale``); shapes must be the same."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape} against {expected.shape}"
    error = float(np.abs(found - expected).max(initial=0.0))
    return error / max(1.0, scale, float(np.abs(expected).max(initial=0.0)))


def close(found: Any, expected: Any, tolerance: float = 1e-13, what: str = "") -> None:
    """Equal to ``tolerance`` of the largest entry (or of one)."""
    error = gap(found, expected, what=what)
    assert error <= tolerance, f"{what}: off by {error:.3g} of {max(1.0, float(np.abs(expected).max(initial=0.0))):.3g}"


def same_bits(ours: Any, theirs: Any, what: str = "") -> None:
    """The same type, shape and bits; every nan is as good as another."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), what
    both_nan = np.isnan(ours) & np.isnan(theirs)
    equal = (ours == theirs) & (np.signbit(ours) == np.signbit(theirs))
    assert np.all(equal | both_nan), f"{what}: {int(np.sum(~(equal | both_nan)))} entries differ"


# ---- derivatives -----------------------------------------------------------------------------------------------------


def complex_step(fn: Callable[[Any], np.ndarray]) -> np.ndarray:
    """d fn(t)/dt at t = 0, exact to rounding, for functions that take complex numbers."""
    h = 1e-30
    return fn(np.complex128(1j * h)).imag / h


def stepped(f: Callable[..., np.ndarray], robot: rc.Robot, *state: np.ndarray) -> Iterator[np.ndarray]:
    """d f by every part of the state, column by column: by q along ``integrate``, by speeds and others as they are."""
    for number in range(len(state)):

        def moved(t: Any, e: np.ndarray, number: int = number) -> np.ndarray:
            parts = [*state]
            parts[number] = robot.integrate(parts[0], t * e) if number == 0 else parts[number] + t * e
            return f(*parts)

        yield np.stack([complex_step(lambda t, e=e: moved(t, e)) for e in np.eye(robot.nv)], axis=-1)


def central(fn: Callable[[float], np.ndarray], h: float = 2e-3) -> np.ndarray:
    """d fn(t)/dt at t = 0 by a central difference of sixth order: about 1e-12 for motions of size and speed one."""
    near, middle, far = (fn(k * h) - fn(-k * h) for k in (1, 2, 3))
    return (45.0 * near - 9.0 * middle + far) / (60.0 * h)


# ---- robots and states -----------------------------------------------------------------------------------------------


def states(robot: rc.Robot, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, a of shapes (count, nq), (count, nv), (count, nv)."""
    rng = np.random.default_rng(seed)
    pairs = [robot.random_state(rng) for _ in range(count)]
    q, v = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    return q, v, rng.normal(size=v.shape)


def quaternion_starts(robot: rc.Robot) -> list[tuple[str, int]]:
    """Joint name and first entry in q of every quaternion."""
    return [
        (joint.name, joint.q_start + joint.kind.quaternion)
        for joint in robot.model.joints
        if joint.kind.quaternion is not None
    ]


def with_rotors(robot: rc.Robot) -> rc.Robot:
    """The same robot with an armature on every second joint of one freedom; URDF files have none.

    Joints with and without rotor are computed by different code where kernels simplify.
    """
    records = robot.model.description.joints
    single = [record.name for record in records if record.kind in DRIVEN]
    armature = {name: (0.01 * (1 + k % 5),) for k, name in enumerate(single) if k % 2 == 0}
    joints = tuple(replace(record, armature=armature.get(record.name, record.armature)) for record in records)
    description = replace(robot.model.description, joints=joints)
    return trusted(description, gravity=robot.gravity, floating=robot.model.floating)


def tied_gripper() -> rc.Robot:
    """A wrist with two fingers of which one follows the other, and a camera that follows the wrist; joints tied."""
    b = rc.Builder("tied_gripper")
    b.link("palm", mass=1.1, com=(0.02, -0.03, 0.1), inertia=(0.01, 0.02, 0.015, 0.001, -0.002, 0.0005))
    b.link("left", mass=0.2, com=(0.01, 0.02, 0.03), inertia=(0.001, 0.002, 0.0015))
    b.link("right", mass=0.25, com=(-0.01, 0.02, 0.03), inertia=(0.001, 0.002, 0.0017))
    b.link("camera", mass=0.3, com=(0.0, 0.01, -0.02), inertia=(0.0011, 0.0012, 0.0013))
    b.joint("wrist", "revolute", parent="world", child="palm", axis=(0.36, 0.48, 0.8), xyz=(0.1, 0.2, 0.3))
    b.joint("drive", "prismatic", parent="palm", child="left", axis=(0, 1, 0), xyz=(0, 0.05, 0.1), armature=0.3)
    b.joint(
        "follower", "prismatic", parent="palm", child="right", axis=(0, 1, 0), xyz=(0, -0.05, 0.1), rpy=(0.1, 0.2, 0.3),
        mimic=("drive", -0.9, 0.02),
    )  # fmt: skip
    b.joint(
        "pan", "revolute", parent="left", child="camera", axis=(0.6, 0, 0.8), xyz=(0.02, 0, 0.1),
        mimic=("wrist", 1.7, -0.3), armature=0.02,
    )  # fmt: skip
    b.frame("lens", parent="camera", xyz=(0.01, 0.02, 0.03), rpy=(0.4, -0.5, 0.6))
    return b.build(mimic="tie")


# ---- graphs ----------------------------------------------------------------------------------------------------------


def graph_values(graph: Graph, outputs: Sequence[Any], inputs: dict[str, Sequence[float]]) -> np.ndarray:
    """Values of traced outputs for inputs by name, node by node."""
    does: dict[str, Callable[..., Any]] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sin": np.sin,
        "cos": np.cos, "sqrt": np.sqrt, "atan2": np.arctan2, "lt": np.less, "select": np.where, "const": float,
        "input": lambda name, place: inputs[name][place],
    }  # fmt: skip
    found: dict[int, Any] = {}
    for number in graph.reachable([x.number for x in outputs if isinstance(x, Traced)]):
        op, operands = graph.nodes[number]
        found[number] = does[op](*(operands if op in LEAVES else (found[k] for k in operands)))
    return np.array([found[x.number] if isinstance(x, Traced) else x for x in outputs], dtype=float)
