"""Any robot in MuJoCo: its answers in our conventions.

MuJoCo's speeds differ from ours by a matrix S(q) that is orthogonal: ``speeds there = S v``. A free joint has its
linear velocity first and in parent axes; a planar one, made of two slides and a hinge, likewise. So ``M = S^T M' S``
and ``accelerations there = S a + dS/dt v``. Quaternions have w first there.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
from numpy.typing import NDArray

from recursa.errors import ModelError
from recursa.formats.mjcf import compile_mjcf, mujoco_library
from recursa.formats.mjcf_extras import reflected
from recursa.formats.mjcf_numbers import FREE, Names, Tables, inertial_frame
from recursa.formats.mjcf_write import body_name, write_mjcf
from recursa.formats.source import Source
from recursa.interop.offers import full_mass
from recursa.interop.peer import Array, Conversion, Peer, Suspect, matrix_of
from recursa.model.model import WORLD, Joint
from recursa.robot import Robot
from recursa.spatial.vec3 import ZERO

# ---- robots as MuJoCo reads them itself: URDF and MJCF files; and its quaternions ------------------------------------


def quaternion_of(rotation: Array) -> Array:
    """w first, as MuJoCo has it."""
    import mujoco

    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion


def rotation_of(quaternion: Array) -> Array:
    """The rotation of a quaternion with w first."""
    import mujoco

    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.ascontiguousarray(quaternion))
    return flat.reshape(3, 3)


def w_first(quaternion: Array) -> Array:
    """(x, y, z, w) as (w, x, y, z)."""
    return np.roll(quaternion, 1)


# ---- its own reading of a URDF ---------------------------------------------------------------------------------------


def read_urdf(urdf: str, floating: str | None) -> tuple[Any, str]:
    """MuJoCo's model of a URDF text and a remark on how it came to be.

    ``floating`` is the link that gets a free joint. Every link stays a body. Meshes are left out, as their files need
    not be there. Where MuJoCo refuses an inertia, it is let alter it ("balanceinertia").
    """
    root = Xml.fromstring(urdf)
    for link in root.iter("link"):
        for shape in list(link):
            if shape.tag == "visual" or (shape.tag == "collision" and shape.find(".//mesh") is not None):
                link.remove(shape)
    for own in root.findall("mujoco"):
        root.remove(own)
    compiler = Xml.SubElement(Xml.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    try:
        return _compiled(root, floating), ""
    except ValueError as error:
        first = " ".join(str(error).removeprefix("Error:").split())
    compiler.set("balanceinertia", "true")
    try:
        return _compiled(root, floating), f"MuJoCo refused the file ({first}) and was let alter its inertias"
    except ValueError:
        raise ModelError(f"MuJoCo cannot read this robot: {first}. Try --through model") from None


def _compiled(root: Xml.Element, floating: str | None) -> Any:
    import mujoco

    spec = mujoco.MjSpec.from_string(Xml.tostring(root, encoding="unicode"))
    if floating is not None:
        base = spec.body(floating)
        if base is None or base.name == spec.worldbody.name:
            raise ValueError(f"its reader takes link '{floating}' for the world, which cannot float")
        base.add_freejoint().name = "root"
    return unconstrained(spec.compile())


def unconstrained(model: Any) -> Any:
    """The model without contacts, limits, equalities and motors."""
    import mujoco

    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_EQUALITY
    model.opt.disableflags |= flags.mjDSBL_ACTUATION
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    return model


# ---- its own reading of an MJCF --------------------------------------------------------------------------------------


def read_mjcf(source: Source) -> Any:
    """MuJoCo's model of an MJCF, with what it needs for the masses of bodies; looks are left out."""
    import mujoco

    model = unconstrained(compile_mjcf(source)[0])
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        model.opt.gravity[:] = 0.0
    return model


_SAME_FRAME, _SAME_PLACE = "same frame", 1  # MuJoCo's number for it; others mean that the axes alone are the same
_ONLY_THERE = {
    "losses": (
        ("dof_damping", "dof_dampingpoly", "dof_frictionloss", "actuator_damping", "actuator_dampingpoly"),
        "MuJoCo's inverse and forward dynamics have damping and friction in them; ours with losses=True only",
    ),
    "springs": (("jnt_stiffness", "jnt_stiffnesspoly"), "joints have springs in MuJoCo, which are not compared"),
    "tendons": (
        (
            "tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly", "tendon_frictionloss",
            "tendon_armature",
        ),
        "tendons pull in MuJoCo, and there are none here",
    ),
    "gravity compensation": (("body_gravcomp",), "bodies have gravity compensation in MuJoCo, and none here"),
}  # fmt: skip
"""What a model there may have and ours has not: arrays of numbers, some of which older versions do not have."""


def quiet() -> None:
    """Keep MuJoCo from writing a log file into the current folder; some real files have singular mass matrices."""
    mujoco_library().set_mju_user_warning(lambda text: None)


class InMujoco(Peer):
    """A robot in MuJoCo. What it offers has arguments and results as :class:`recursa.Robot`, one state at a time.

    From our model, or from MuJoCo's own reading of a file: the text of a URDF (``urdf``), or an MJCF (``mjcf``).
    Contacts, limits, equalities and motors are off.
    """

    title, column = "MuJoCo", "mujoco"

    def __init__(self, robot: Robot, urdf: str | None = None, mjcf: Source | None = None) -> None:
        super().__init__(robot)
        self.mujoco = mujoco_library()
        if mjcf is not None:
            if robot.model.floating:
                raise ModelError("MuJoCo's own reading of a file cannot be put on a free base. Try --through model")
            self.model = read_mjcf(mjcf)
        elif urdf is not None:
            self.model, self.remark = read_urdf(urdf, robot.link_names[0] if robot.model.floating else None)
        else:
            self.model = unconstrained(self.mujoco.MjModel.from_xml_string(write_mjcf(self.free.model, stand_in=True)))
        names, joints = Names.of(Tables(self.model)), self.free.model.joints
        self._own = {name: number for number, name in enumerate(names.bodies)}  # links that are bodies there
        if urdf is None and mjcf is None:
            links = self.free.link_names
            self._own |= {
                link: self._own[body_name(link, links)] for link in links if body_name(link, links) in self._own
            }
        self._joints = [self._number(joint, names.joints) for joint in joints]
        self._welded = [self._fixed_to(self._own[joint.child]) if joint.child in self._own else [] for joint in joints]
        if self.model.nv != self.free.nv:
            raise ModelError(f"MuJoCo's model has {self.model.nv} speeds, robot '{robot.name}' {self.free.nv}")
        if mjcf is None and urdf is None:
            for k in range(len(joints)):
                self._set_inertia(k)
                self._set_armature(k)
        self._ready()

    def _ready(self) -> None:
        self.data = self.mujoco.MjData(self.model)
        self.mujoco.mj_setConst(self.model, self.data)

    def _number(self, joint: Joint, names: list[str]) -> int:
        if joint.name not in names:
            raise ModelError(f"joint '{joint.name}' ({joint.kind.name}) is not in MuJoCo's model. Try --through model")
        return names.index(joint.name)

    def _fixed_to(self, body: int) -> list[int]:
        """The bodies below that do not move against it."""
        found = []
        for k in range(body + 1, self.model.nbody):
            parent = int(self.model.body_parentid[k])
            if self.model.body_jntnum[k] == 0 and (parent == body or parent in found):
                found.append(k)
        return found

    def _set_inertia(self, k: int) -> None:
        inertia, child = self.free.model.inertias[k], self.free.model.joints[k].child
        if child not in self._own:
            return  # a link between the joints of one body, which has no mass
        body = self._own[child]
        com = inertia.com() if inertia.mass != 0.0 else ZERO
        moments, axes = inertial_frame(inertia.moment_about_com(), com)
        self.model.body_mass[body] = inertia.mass
        self.model.body_inertia[body] = moments
        self.model.body_ipos[body] = com
        self.model.body_iquat[body] = w_first(np.array(axes.quaternion()))
        for other in self._welded[k]:
            self.model.body_mass[other] = 0.0
            self.model.body_inertia[other] = 0.0

    def _set_armature(self, k: int) -> None:
        joint = self.free.model.joints[k]
        first = self.model.jnt_dofadr[self._joints[k]]
        self.model.dof_armature[first : first + joint.kind.nv] = self._armature(joint)

    def _armature(self, joint: Joint) -> Array:
        turning = np.array(joint.kind.angular)
        armature = np.array(joint.armature)
        if turning.any() and armature[~turning].any():
            raise ModelError(f"joint '{joint.name}': MuJoCo has no rotors of sliding freedoms in body axes")
        return np.concatenate([armature[~turning], armature[turning]])  # slides come first there

    # ---- conversions -------------------------------------------------------------------------------------------------

    def conversions(self) -> list[Conversion]:
        """See :class:`Peer`."""
        found, kinds = [], [joint.kind for joint in self.free.model.joints]
        if any(kind.quaternion is not None for kind in kinds):
            found.append(Conversion("quaternion order", "quaternions are (w, x, y, z) there, (x, y, z, w) here"))
        if any(kind.is_loose and any(kind.angular) for kind in kinds):
            what = "free and planar joints have linear speeds first and in the parent's axes there"
            found.append(Conversion("base velocity", what))
        return found

    def configuration(self, q: Array) -> Array:
        """As MuJoCo's qpos."""
        there = np.zeros(self.model.nq)
        reorder = (lambda x: x) if "quaternion order" in self.skip else w_first
        for joint, number in zip(self.free.model.joints, self._joints, strict=True):
            own, kind = q[joint.q_start : joint.q_start + joint.kind.nq], joint.kind
            if kind.is_ball:
                own = reorder(own)
            elif kind.is_free:
                base = self._base(joint, number)
                turn = quaternion_of(base[:3, :3] @ rotation_of(reorder(own[3:])))
                own = np.concatenate([base[:3, :3] @ own[:3] + base[:3, 3], turn])
            first = self.model.jnt_qposadr[number]
            there[first : first + len(own)] = own
        return there

    def _base(self, joint: Joint, number: int) -> Array:
        """Where the coordinates of a free joint start: MuJoCo's own count from the world, wherever they stand."""
        return matrix_of(joint.placement) if self.model.jnt_type[number] == FREE else np.eye(4)

    def speeds(self, q: Array, v: Array) -> tuple[Array, Array]:
        """See :class:`Peer`."""
        matrix, drift = np.zeros((self.model.nv, self.model.nv)), np.zeros(self.model.nv)
        for joint, number in zip(self.free.model.joints, self._joints, strict=True):
            nv, kind = joint.kind.nv, joint.kind
            own, speed = q[joint.q_start : joint.q_start + kind.nq], v[joint.v_start : joint.v_start + nv]
            block, extra = np.eye(nv), np.zeros(nv)
            if "base velocity" in self.skip:
                pass
            elif kind.quaternion is None:  # rates of coordinates there
                block = np.array([kind.rates(own.tolist(), unit) for unit in block.tolist()]).T
                extra = np.array(kind.second_rates(own.tolist(), speed.tolist(), extra.tolist()))
            elif kind.is_free:
                turn = self._base(joint, number)[:3, :3] @ rotation_of(w_first(own[3:7]))
                block = np.block([[np.zeros((3, 3)), turn], [np.eye(3), np.zeros((3, 3))]])
                extra[:3] = turn @ np.cross(speed[:3], speed[3:])
            first = self.model.jnt_dofadr[number]
            matrix[first : first + nv, joint.v_start : joint.v_start + nv] = block
            drift[first : first + nv] = extra
        return matrix, drift

    def added(self, drift: Array) -> Array:
        """See :class:`Peer`."""
        self.mujoco.mj_crb(self.model, self.data)
        full: Array = full_mass(self.model, self.data, np.zeros((self.model.nv, self.model.nv))) @ drift
        return full

    # ---- links -------------------------------------------------------------------------------------------------------

    def jacobian(self, q: Array, link: str) -> Array:
        """In the mixed frame: world axes at the link's origin."""
        return self.ask("jacobian", q, link=link, frame="mixed")

    def pose_of(self, number: int) -> Array:
        """Of a link, in the state that the data are in."""
        link = self.free.model.links[number]
        if link.name in self._own:
            return self._pose(self._own[link.name])
        if link.body == WORLD:
            return matrix_of(link.offset)
        out = np.eye(4)  # from our body out to MuJoCo's, over the other joints of that
        for joint in self._on_same_body(link.body):
            out = matrix_of(joint.transform(self._own_coordinates(joint))) @ out
        return self._pose(self._carrier(link.body)) @ np.linalg.inv(out) @ matrix_of(link.offset)

    def _carrier(self, body: int) -> int:
        """The body of MuJoCo's that a body of ours is, or that it is a joint of."""
        behind = self._on_same_body(body)
        return self._own[(behind[0] if behind else self.free.model.joints[body]).child]

    def _pose(self, body: int) -> Array:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.data.xmat[body].reshape(3, 3), self.data.xpos[body]
        return pose

    def _on_same_body(self, body: int) -> list[Joint]:
        """The joints behind a body of ours that is none there, up to the one whose body is; outermost first."""
        found: list[Joint] = []
        joints = self.free.model.joints
        while joints[body].child not in self._own:
            body = next(k for k, joint in enumerate(joints) if joint.parent == body)
            found.insert(0, joints[body])
        return found

    def _own_coordinates(self, joint: Joint) -> list[float]:
        first = self.model.jnt_qposadr[self._joints[self.free.model.joints.index(joint)]]
        own: Array = self.data.qpos[first : first + joint.kind.nq]
        values: list[float] = (np.roll(own, -1) if joint.kind.nq == 4 else own).tolist()
        return values

    def jacobian_of(self, number: int) -> Array:
        """Of a link by MuJoCo's speeds, in the state that the data are in."""
        turning, moving = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        body = self.free.model.links[number].body
        if body != WORLD:
            point = self.pose_of(number)[:3, 3]
            self.mujoco.mj_jac(self.model, self.data, moving, turning, point, self._carrier(body))
            for joint in self._on_same_body(body):
                first = self.model.jnt_dofadr[self._joints[self.free.model.joints.index(joint)]]
                moving[:, first : first + joint.kind.nv] = turning[:, first : first + joint.kind.nv] = 0.0
        return np.vstack([turning, moving])

    # ---- what differs ------------------------------------------------------------------------------------------------

    def suspects(self) -> list[Suspect]:
        """See :class:`Peer`."""
        model, rotors = self.model, any(self._rotors_differ(k) for k in range(len(self._joints)))
        advice = "set model.opt.gravity", "set model.dof_armature"
        found = list(self.usual_suspects(np.array(model.opt.gravity), rotors, advice))
        for name, (arrays, what) in _ONLY_THERE.items():
            given = [array for array in arrays if hasattr(model, array) and getattr(model, array).any()]
            if given:
                found.append(Suspect(name, what, f"set {' and '.join(f'model.{array}' for array in given)} to 0"))
        if model.opt.density or model.opt.viscosity:
            what = "the bodies move in a fluid in MuJoCo, and in nothing here"
            found.append(Suspect("fluid", what, "set model.opt.density and model.opt.viscosity to 0"))
        if model.body_mass[self._standing()].any():
            mass = float(model.body_mass[self._standing()].sum())
            what = f"{mass:.4g} kg that are fixed to the world count in MuJoCo's centre of mass and energy, not in ours"
            found.append(Suspect("fixed mass", what, "take the moving bodies only"))
        if self._rounded().any():
            what = "MuJoCo takes an inertial frame that is less than 1e-8 off that of its body for the same frame"
            found.append(Suspect(_SAME_FRAME, what, "set model.body_sameframe and model.dof_simplenum to 0"))
        return [*found, *self.inertia_suspects()]

    def repaired(self, names: Collection[str]) -> InMujoco:
        """See :class:`Peer`."""
        other = copy.copy(self)
        other.model = copy.copy(self.model)
        if "gravity" in names:
            other.model.opt.gravity = self.free.gravity
        if "armature" in names:
            for k in range(len(self._joints)):
                other._set_armature(k)
        for array in (array for name in names for array in _ONLY_THERE.get(name, ((), ""))[0]):
            if hasattr(other.model, array):
                getattr(other.model, array)[:] = 0.0
        if "fluid" in names:
            other.model.opt.density = other.model.opt.viscosity = 0.0
        if "fixed mass" in names:
            other.model.body_mass[self._standing()] = 0.0
        for k in self.repaired_bodies(names):
            other._set_inertia(k)
        other._ready()
        if _SAME_FRAME in names:  # after that, which looks for such frames anew
            other.model.body_sameframe[self._rounded()] = 0
            other.model.dof_simplenum[:] = 0
        return other

    def _rounded(self) -> NDArray[np.bool_]:
        """Bodies whose inertial frame is taken for their own and is not exactly that."""
        model = self.model
        turned = (model.body_iquat[:, 1:] != 0.0).any(axis=1)
        found: NDArray[np.bool_] = (model.body_sameframe != 0) & (turned | (model.body_ipos != 0.0).any(axis=1))
        return found & ((model.body_sameframe == _SAME_PLACE) | turned)

    def _rotors_differ(self, k: int) -> bool:
        joint, first = self.free.model.joints[k], self.model.jnt_dofadr[self._joints[k]]
        motors = reflected(self.model, "armature").get(self._joints[k], 0.0)
        there = self.model.dof_armature[first : first + joint.kind.nv] + motors
        return bool((there != self._armature(joint)).any())

    def _standing(self) -> list[int]:
        """Bodies that do not move against the world."""
        return [0, *self._fixed_to(0)]

    def numbers(self, k: int) -> Array:
        """See :class:`Peer`; what is welded to the body is included."""
        total, child = np.zeros(10), self.free.model.joints[k].child
        if child not in self._own:
            return total
        first = self._own[child]
        for body in (first, *self._welded[k]):
            place, at = np.eye(4), body
            while at != first:  # from the welded body up to the one with the joint
                step = np.eye(4)
                step[:3, :3], step[:3, 3] = rotation_of(self.model.body_quat[at]), self.model.body_pos[at]
                place, at = step @ place, int(self.model.body_parentid[at])
            c = place[:3, :3] @ self.model.body_ipos[body] + place[:3, 3]
            turn, m = place[:3, :3] @ rotation_of(self.model.body_iquat[body]), float(self.model.body_mass[body])
            moments = turn @ np.diag(self.model.body_inertia[body]) @ turn.T + m * (c @ c * np.eye(3) - np.outer(c, c))
            total += [m, *(m * c), *moments[np.tril_indices(3)]]
        return total
