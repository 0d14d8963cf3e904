"""Any robot in MuJoCo: its MJCF text, and MuJoCo's answers in our conventions.

MuJoCo's speeds differ from ours by a matrix S(q) that is orthogonal: ``speeds there = S v``. A free joint has its
linear velocity first and in parent axes; a planar one, made of two slides and a hinge, likewise. So ``M = S^T M' S``
and ``accelerations there = S a + dS/dt v``.

The compiler of MJCF refuses inertias that no body can have, and real files are full of them. Its text therefore carries
a stand-in for every inertia, and the true numbers are written into the compiled model.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

import mujoco
import numpy as np

import recursa as rc
from numeric import homogeneous, symmetric_matrix
from recursa.model.model import WORLD, Joint
from recursa.spatial.transform import IDENTITY_TRANSFORM

_SIMPLE = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball"}
_STAND_IN = {"pos": "0.1 0.2 0.3", "quat": "0.5 0.1 0.7 0.3", "mass": "1", "diaginertia": "1 1.1 1.2"}

mujoco.set_mju_user_warning(lambda text: None)  # else it writes a log file: some real files have singular mass matrices


class UnsupportedError(Exception):
    """MuJoCo has nothing that does the same."""


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def _quaternion(rotation: np.ndarray) -> np.ndarray:
    """w first, as MuJoCo has it."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion with w first."""
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.ascontiguousarray(quaternion))
    return flat.reshape(3, 3)


def _w_first(quaternion: np.ndarray) -> np.ndarray:
    return np.roll(quaternion, 1)


def _after(joint: Joint) -> np.ndarray:
    """MuJoCo's body frame is the joint's moving frame; the pose of ours in it."""
    return homogeneous(joint.after or IDENTITY_TRANSFORM)


def _add_joints(body: Xml.Element, number: int, joint: Joint) -> None:
    kind, name = joint.kind.name, f"{number}"
    if kind in _SIMPLE:
        ball = kind == "spherical"
        axis = {} if ball else {"axis": _text(joint.hinge.axis)}
        Xml.SubElement(body, "joint", name=name, type=_SIMPLE[kind], **axis)
    elif kind == "free" and joint.parent == WORLD:
        Xml.SubElement(body, "freejoint", name=name)
    elif kind == "free":
        for k, axis in enumerate(np.eye(3)):
            Xml.SubElement(body, "joint", name=f"{name}{'abc'[k]}" if k else name, type="slide", axis=_text(axis))
        Xml.SubElement(body, "joint", type="ball")
    elif kind == "planar":
        ex, ey, _ = joint.hinge.plane.columns()
        Xml.SubElement(body, "joint", name=name, type="slide", axis=_text(ex))
        Xml.SubElement(body, "joint", type="slide", axis=_text(ey))
        Xml.SubElement(body, "joint", type="hinge", axis=_text(joint.hinge.axis))
    else:
        raise UnsupportedError(f"{kind} joints")


def to_mjcf(robot: rc.Robot) -> str:
    """The robot with stand-ins for its inertias; body k is called "k", and so is the first joint under it."""
    root = Xml.Element("mujoco", model=robot.name)
    Xml.SubElement(root, "compiler", angle="radian", autolimits="false")
    option = Xml.SubElement(root, "option", gravity=_text(robot.gravity))
    Xml.SubElement(option, "flag", constraint="disable", contact="disable", energy="enable")
    bodies = {WORLD: Xml.SubElement(root, "worldbody")}
    for k, joint in enumerate(robot.model.joints):
        place = homogeneous(joint.placement)
        if joint.parent != WORLD:
            place = _after(robot.model.joints[joint.parent]) @ place
        where = {"pos": _text(place[:3, 3]), "quat": _text(_quaternion(place[:3, :3]))}
        bodies[k] = Xml.SubElement(bodies[joint.parent], "body", name=f"{k}", **where)
        Xml.SubElement(bodies[k], "inertial", **_STAND_IN)
        _add_joints(bodies[k], k, joint)
    return Xml.tostring(root, encoding="unicode")


class InMujoco:
    """A robot in MuJoCo. Arguments and results as those of :class:`recursa.Robot`, one state at a time."""

    def __init__(self, robot: rc.Robot) -> None:
        self.robot = robot
        self.model = model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
        assert (model.nv, model.nbody) == (robot.nv, robot.nbodies + 1)
        self._bodies = [model.body(f"{k}").id for k in range(robot.nbodies)]
        self._joints = [model.joint(f"{k}").id for k in range(robot.nbodies)]
        for k, joint in enumerate(robot.model.joints):
            self._set_inertia(k, joint)
            self._set_armature(k, joint)
        self.data = mujoco.MjData(model)
        mujoco.mj_setConst(model, self.data)

    def _set_inertia(self, k: int, joint: Joint) -> None:
        inertia, body = self.robot.model.inertias[k], self._bodies[k]
        moments, axes = np.linalg.eigh(symmetric_matrix(inertia.moment_about_com()))
        axes[:, 0] *= np.linalg.det(axes)
        com = np.array(inertia.com()) if inertia.mass != 0.0 else np.zeros(3)
        turn, shift = _after(joint)[:3, :3], _after(joint)[:3, 3]
        self.model.body_mass[body] = inertia.mass
        self.model.body_inertia[body] = moments
        self.model.body_ipos[body] = turn @ com + shift
        self.model.body_iquat[body] = _quaternion(turn @ axes)

    def _set_armature(self, k: int, joint: Joint) -> None:
        turning = np.array(joint.kind.angular)
        armature = np.array(joint.armature)
        if joint.kind.nv > 1 and armature[~turning].any():
            raise UnsupportedError("rotors of sliding freedoms in body axes")
        first = self.model.jnt_dofadr[self._joints[k]]
        reordered = np.concatenate([armature[~turning], armature[turning]])  # slides come first there
        self.model.dof_armature[first : first + joint.kind.nv] = reordered

    # ---- conversions -----------------------------------------------------------------------------------------------

    def configuration(self, q: np.ndarray) -> np.ndarray:
        there = np.zeros(self.model.nq)
        for joint, number in zip(self.robot.model.joints, self._joints, strict=True):
            own, kind = q[joint.q_start : joint.q_start + joint.kind.nq], joint.kind.name
            if kind == "spherical":
                own = _w_first(own)
            elif kind == "free":
                base = homogeneous(joint.placement) if joint.parent == WORLD else np.eye(4)  # a free joint is absolute
                turn = _quaternion(base[:3, :3] @ _matrix(_w_first(own[3:])))
                own = np.concatenate([base[:3, :3] @ own[:3] + base[:3, 3], turn])
            first = self.model.jnt_qposadr[number]
            there[first : first + len(own)] = own
        return there

    def _speeds(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S and dS/dt v."""
        matrix, drift = np.zeros((self.model.nv, self.model.nv)), np.zeros(self.model.nv)
        for joint, number in zip(self.robot.model.joints, self._joints, strict=True):
            nv, kind = joint.kind.nv, joint.kind.name
            own, speed = q[joint.q_start :], v[joint.v_start : joint.v_start + nv]
            block, extra = np.eye(nv), np.zeros(nv)
            if kind == "planar":
                c, s = np.cos(own[2]), np.sin(own[2])
                block = np.array([[0, c, -s], [0, s, c], [1, 0, 0]])
                extra[:2] = speed[0] * np.array([[-s, -c], [c, -s]]) @ speed[1:]
            elif kind == "free":
                turn = _matrix(_w_first(own[3:7]))
                if joint.parent == WORLD:
                    turn = homogeneous(joint.placement)[:3, :3] @ turn
                block = np.block([[np.zeros((3, 3)), turn], [np.eye(3), np.zeros((3, 3))]])
                extra[:3] = turn @ np.cross(speed[:3], speed[3:])
            first = self.model.jnt_dofadr[number]
            matrix[first : first + nv, joint.v_start : joint.v_start + nv] = block
            drift[first : first + nv] = extra
        return matrix, drift

    def _place(self, q: np.ndarray, v: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Put MuJoCo's robot into a state; S and dS/dt v there."""
        v = np.zeros(self.robot.nv) if v is None else v
        matrix, drift = self._speeds(q, v)
        self.data.qpos, self.data.qvel = self.configuration(q), matrix @ v
        self.data.qfrc_applied = 0.0
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        return matrix, drift

    def _mass(self) -> np.ndarray:
        """MuJoCo's own mass matrix; the arguments changed with version 4."""
        full = np.zeros((self.model.nv, self.model.nv))
        if hasattr(self.data, "qM"):
            mujoco.mj_fullM(self.model, full, self.data.qM)
        else:
            mujoco.mj_fullM(self.model, self.data, full)
        return full

    # ---- answers ---------------------------------------------------------------------------------------------------

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        matrix, _ = self._place(q)
        return matrix.T @ self._mass() @ matrix

    def bias_forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        matrix, drift = self._place(q, v)
        return matrix.T @ (self.data.qfrc_bias + self._mass() @ drift)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        matrix, drift = self._place(q, v)
        self.data.qacc = matrix @ a + drift
        mujoco.mj_inverse(self.model, self.data)
        return matrix.T @ self.data.qfrc_inverse

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        matrix, drift = self._place(q, v)
        self.data.qfrc_applied = matrix @ tau
        mujoco.mj_forward(self.model, self.data)
        return matrix.T @ (self.data.qacc - drift)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        self._place(q)
        return self.data.subtree_com[0].copy()

    def potential_energy(self, q: np.ndarray) -> float:
        self._place(q)
        mujoco.mj_energyPos(self.model, self.data)
        return float(self.data.energy[0])

    def kinetic_energy(self, q: np.ndarray, v: np.ndarray) -> float:
        self._place(q, v)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy[1])

    def jacobian(self, q: np.ndarray, link: str) -> np.ndarray:
        """In the mixed frame: world axes at the link's origin."""
        matrix, _ = self._place(q)
        place = self.robot.model.links[self.robot.model.link_index(link)]
        turning, moving = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        if place.body != WORLD:
            body, offset = self._bodies[place.body], _after(self.robot.model.joints[place.body])
            local = (offset @ homogeneous(place.offset))[:3, 3]
            point = self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ local
            mujoco.mj_jac(self.model, self.data, moving, turning, point, body)
        return np.vstack([turning, moving]) @ matrix
