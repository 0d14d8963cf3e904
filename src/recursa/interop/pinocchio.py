"""To and from Pinocchio (the PyPI package ``pin``): configurations, velocities, six-vectors, whole models.

What differs, joint by joint (ours on the left):

===========  ======================================  =====================================================
joint        q, v in Recursa                         q, v in Pinocchio
===========  ======================================  =====================================================
continuous   (theta,), (omega,)                      (cos, sin), (omega,)
planar       (x, y, theta), (omega, vx, vy)          (x, y, cos, sin), (vx, vy, omega)
spherical    (x, y, z, w), omega                     the same
translation  (x, y, z), (vx, vy, vz)                 the same
free         (position, quaternion), (omega, v)      the same q; (v, omega)
others       one number                              one number
===========  ======================================  =====================================================

Six-vectors are angular first here and linear first there (:func:`swap_halves`); siblings come in the order of
declaration here and alphabetically there. Joints are matched by name, so a robot and a Pinocchio model of the same
file fit whatever their order. A joint that is a chain here, "wrist.1", "wrist.2", may be one there, "wrist": universal,
SphericalZYX, composite.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recursa.dynamics.ordering import to_angle, to_cosine_and_sine
from recursa.errors import ModelError, ShapeError, unknown_name
from recursa.interop import pinocchio as interop
from recursa.interop.peer import Array, Conversion, Peer, Suspect
from recursa.model.model import WORLD, Joint
from recursa.robot import Robot
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO
from recursa.sweeps.batching import as_array


def swap_halves(vectors: ArrayLike, axis: int = -1) -> Array:
    """Exchange the angular and linear halves of six-vectors along an axis; its own inverse.

    >>> swap_halves([1, 2, 3, 4, 5, 6]).tolist()
    [4, 5, 6, 1, 2, 3]
    """
    array = np.asarray(vectors)
    if not -array.ndim <= axis < array.ndim or array.shape[axis] != 6:
        raise ShapeError(f"six-vectors have 6 entries along axis {axis}, not shape {array.shape}")
    return np.roll(array, 3, axis=axis)


def configuration(robot: Robot, pin_model: Any, q: ArrayLike) -> Array:
    """A configuration (..., nq) as Pinocchio's (..., model.nq)."""
    ours = as_array(robot.model, "q", q, coordinates=True)
    theirs = np.empty((*ours.shape[:-1], pin_model.nq))
    for joint, there in _pairs(robot, pin_model):
        own = ours[..., joint.q_start : joint.q_start + joint.kind.nq]
        same = there.nq == joint.kind.nq  # else its angle, the last number, is cosine and sine there
        theirs[..., there.q : there.q + there.nq] = own if same else to_cosine_and_sine(own)
    return theirs


def configuration_from(robot: Robot, pin_model: Any, q: ArrayLike) -> Array:
    """A Pinocchio configuration (..., model.nq) as ours (..., nq). Angles come back in (-pi, pi]."""
    theirs = _theirs("q", q, pin_model.nq)
    ours = np.empty((*theirs.shape[:-1], robot.nq))
    for joint, there in _pairs(robot, pin_model):
        part = theirs[..., there.q : there.q + there.nq]
        same = there.nq == joint.kind.nq
        ours[..., joint.q_start : joint.q_start + joint.kind.nq] = part if same else to_angle(part)
    return ours


def velocity(robot: Robot, pin_model: Any, v: ArrayLike) -> Array:
    """Speeds, accelerations or generalised forces (..., nv) in Pinocchio's order."""
    ours = as_array(robot.model, "v", v, coordinates=False)
    return ours[..., velocity_order(robot, pin_model)]


def velocity_from(robot: Robot, pin_model: Any, v: ArrayLike) -> Array:
    """Speeds, accelerations or generalised forces in our order from Pinocchio's."""
    return _theirs("v", v, pin_model.nv)[..., np.argsort(velocity_order(robot, pin_model))]


def _theirs(name: str, values: ArrayLike, count: int) -> Array:
    """Pinocchio's vectors, checked."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be an array of numbers of shape (..., {count}), not {values!r}") from None
    if array.ndim == 0 or array.shape[-1] != count:
        raise ShapeError(f"{name} has shape {array.shape}, expected (..., {count}): the Pinocchio model has {count}")
    return array


def velocity_order(robot: Robot, pin_model: Any) -> NDArray[np.intp]:
    """Where Pinocchio's speed number i is in ours; also orders the columns of a Jacobian."""
    order = np.empty(pin_model.nv, dtype=np.intp)
    for joint, there in _pairs(robot, pin_model):
        order[there.v : there.v + there.nv] = [joint.v_start + i for i in joint.kind.linear_first]
    return order


class Place(NamedTuple):
    """Where a joint's numbers are in Pinocchio's vectors."""

    q: int
    nq: int
    v: int
    nv: int


def _pairs(robot: Robot, pin_model: Any) -> list[tuple[Joint, Place]]:
    """Our joints with the places of Pinocchio's of the same name. A single free base may be called otherwise there."""
    names = list(pin_model.names)
    pairs: list[tuple[Joint, Place]] = []
    for joint in robot.model.joints:
        if not joint.independent:
            raise ModelError(f"joint '{joint.name}' is tied to another. {robot.model.how_to_untie}")
        name = joint.name
        if name not in names and joint is robot.model.joints[0] and "root_joint" in names:
            name = "root_joint"  # what Pinocchio calls the joint that its URDF reader is given
        whole = name.rpartition(".")[0]
        if name in names:
            there = pin_model.joints[names.index(name)]
            pairs.append((joint, Place(there.idx_q, there.nq, there.idx_v, there.nv)))
        elif whole in names:
            pairs.append((joint, _part(robot, joint, pin_model.joints[names.index(whole)], whole)))
        else:
            raise unknown_name("joint", name, names, owner="the Pinocchio model")
    if sum(there.nv for _, there in pairs) != pin_model.nv:
        raise ModelError(f"the Pinocchio model has {pin_model.nv} speeds, robot '{robot.name}' {robot.nv}")
    return pairs


def _part(robot: Robot, joint: Joint, there: Any, whole: str) -> Place:
    """Where the numbers of one joint of a chain are in those of the joint that the chain is in Pinocchio."""
    parts = [other for other in robot.model.joints if other.name.startswith(f"{whole}.")]
    inside = list(there.extract().joints) if there.shortname() == "JointModelComposite" else []
    sizes = [part.nq for part in inside] or [part.kind.nq for part in parts]
    if len(sizes) != len(parts) or sum(sizes) != there.nq:
        raise ModelError(
            f"joint '{whole}' has {len(parts)} parts here, and as {there.shortname()} other coordinates in Pinocchio"
        )
    at = parts.index(joint)
    v = there.idx_v + sum(part.kind.nv for part in parts[:at])
    return Place(there.idx_q + sum(sizes[:at]), sizes[at], v, joint.kind.nv)


# ---- whole models --------------------------------------------------------------------------------------------------


def build(robot: Robot) -> Any:
    """The robot as a ``pinocchio.Model``: joints, inertias, armature, gravity, and a body frame per link.

    Useful where there is no URDF (tables, builder, bundled robots, ball joints). Robots with tied joints are refused.
    Rotors about the axes of their joints are in the inertias and the armature; springs, which Pinocchio has not, are
    left out.
    """
    import pinocchio as pin

    model = pin.Model()
    model.name = robot.name
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    numbers: list[int] = []
    posts: list[Transform] = []  # pose of our body in Pinocchio's joint frame
    for joint, inertia in zip(robot.model.joints, robot.model.inertias, strict=True):
        if not joint.independent:
            raise ModelError(f"joint '{joint.name}' is tied to another. {robot.model.how_to_untie}")
        turn = Transform(joint.hinge.plane, ZERO)
        post = turn.inverse @ (joint.after or IDENTITY_TRANSFORM)
        parent = 0 if joint.parent == WORLD else numbers[joint.parent]
        before = IDENTITY_TRANSFORM if joint.parent == WORLD else posts[joint.parent]
        number = model.addJoint(
            parent, _joint_model(pin, joint), _se3(pin, before @ joint.placement @ turn), joint.name
        )
        here = post.inertia(inertia)
        if here.mass != 0.0 or any(here.moment):
            model.appendBodyToJoint(number, _inertia(pin, here), pin.SE3.Identity())
        numbers.append(number)
        posts.append(post)
    for joint, number in zip(robot.model.joints, numbers, strict=True):
        start = model.joints[number].idx_v
        model.armature[start : start + joint.kind.nv] = [joint.armature[i] for i in joint.kind.linear_first]
    for link in robot.model.links:
        number = 0 if link.body == WORLD else numbers[link.body]
        offset = link.offset if link.body == WORLD else posts[link.body] @ link.offset
        model.addFrame(pin.Frame(link.name, number, 0, _se3(pin, offset), pin.FrameType.BODY))
    return model


def _joint_model(pin: Any, joint: Joint) -> Any:
    axis = np.array(joint.hinge.axis)
    makers = {
        "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
        "continuous": lambda: pin.JointModelRevoluteUnaligned(axis),  # its unbounded one takes no axis from Python
        "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
        "helical": lambda: pin.JointModelHelicalUnaligned(axis, joint.hinge.pitch),
        "spherical": lambda: pin.JointModelSpherical(),
        "planar": lambda: pin.JointModelPlanar(),
        "translation": lambda: pin.JointModelTranslation(),
        "free": lambda: pin.JointModelFreeFlyer(),
    }
    if joint.kind.name not in makers:
        raise ModelError(f"joint '{joint.name}': Pinocchio has no {joint.kind.name} joints that are known here")
    return makers[joint.kind.name]()


def _se3(pin: Any, transform: Transform) -> Any:
    return pin.SE3(np.array(transform.rotation).reshape(3, 3), np.array(transform.translation))


def _inertia(pin: Any, inertia: Any) -> Any:
    about_com = np.array([list(row) for row in inertia.moment_about_com().rows()])
    if inertia.mass == 0.0:
        return pin.Inertia(0.0, np.zeros(3), about_com)
    made = pin.Inertia(inertia.mass, np.array(inertia.com()), np.zeros((3, 3)))
    made.inertia = about_com  # a constructor would refuse point masses, whose moments are zero but for rounding
    return made


# ---- pinocchio's answers about a robot: from its own reading of the URDF, or from our model handed over --------------


class InPinocchio(Peer):
    """A robot in Pinocchio."""

    title, column = "Pinocchio", "pinocchio"

    def __init__(self, robot: Robot, urdf: str | None = None) -> None:
        import pinocchio as pin

        super().__init__(robot)
        self.pin = pin
        if urdf is None:
            self.model = interop.build(self.free)
        else:
            free_base = (pin.JointModelFreeFlyer(),) if robot.model.floating else ()
            try:
                self.model = pin.buildModelFromXML(urdf, *free_base)
            except (ValueError, RuntimeError) as error:
                raise ModelError(f"Pinocchio cannot read this file: {error}. Try --through model") from None
        self.data = self.model.createData()
        self._order = interop.velocity_order(self.free, self.model)
        self.links = [self.frame(link.name) for link in self.free.model.links]
        self.full_energy = False  # whether kinetic energy is 1/2 v M v, with the rotors

    def frame(self, link: str) -> int:
        """The number of a link's frame there."""
        if not self.model.existBodyName(link):
            raise ModelError(f"link '{link}' does not exist in the Pinocchio model. Try --through model")
        return int(self.model.getFrameId(link, self.pin.FrameType.BODY))

    # ---- conversions -------------------------------------------------------------------------------------------------

    def configuration(self, q: Array) -> Array:
        """See :class:`Peer`."""
        return interop.configuration(self.free, self.model, q)

    def speeds(self, q: Array, v: Array) -> tuple[Array, Array]:
        """See :class:`Peer`: another order."""
        order = np.arange(self.model.nv) if "joint order" in self.skip else self._order
        return np.eye(self.model.nv)[order], np.zeros(self.model.nv)

    def added(self, drift: Array) -> Array:
        """See :class:`Peer`: none."""
        return drift

    def six_vectors(self, vectors: Array, axis: int) -> Array:
        """See :class:`Peer`: the linear part is first there."""
        return interop.swap_halves(vectors, axis)

    # ---- what differs ------------------------------------------------------------------------------------------------

    def conversions(self) -> list[Conversion]:
        """See :class:`Peer`."""
        if (np.diff(self._order) == 1).all():
            return []
        what = "siblings come alphabetically there, and free and planar joints have their linear speeds first"
        return [Conversion("joint order", what)]

    def suspects(self) -> list[Suspect]:
        """See :class:`Peer`."""
        rotors = np.abs(self.model.armature - self._armature()).max(initial=0.0) > 0.0
        advice = "set model.gravity", "set model.armature, in the order of its joints"
        found = list(self.usual_suspects(np.array(self.model.gravity.linear), rotors, advice))
        if not self.full_energy and self._loses_rotors():
            what = (
                "Pinocchio's kinetic energy leaves out the rotors of some kinds of joint, such as revolute ones with "
                "an axis of general direction; ours is v M v / 2"
            )
            found.append(Suspect("rotor energy", what, "take half of v @ crba(model, data, q) @ v"))
        return [*found, *self.inertia_suspects()]

    def repaired(self, names: Collection[str]) -> InPinocchio:
        """See :class:`Peer`."""
        other = copy.copy(self)
        other.model = self.pin.Model(self.model)
        if "gravity" in names:
            other.model.gravity = self.pin.Motion(np.array(self.free.gravity), np.zeros(3))
        if "armature" in names:
            other.model.armature = self._armature()
        other.data = other.model.createData()
        other.full_energy = self.full_energy or "rotor energy" in names
        for k in self.repaired_bodies(names):
            inertia, (number, place) = self.free.model.inertias[k], self._body(k)
            com = np.array(inertia.com()) if inertia.mass else np.zeros(3)
            moments = np.array(inertia.moment_about_com().rows(), dtype=float)
            other.model.inertias[number] = place.act(self.pin.Inertia(inertia.mass, com, moments))
        return other

    def _loses_rotors(self) -> bool:
        """Whether kinetic energy is not v M v / 2 there, with our armature."""
        model = self.pin.Model(self.model)
        model.armature = self._armature()
        v, data, q = np.ones(model.nv), model.createData(), self.pin.neutral(model)
        energies = [self.pin.computeKineticEnergy(model, data, q, v)]
        model.armature = np.zeros(model.nv)
        energies.append(self.pin.computeKineticEnergy(model, data, q, v))
        rotors = 0.5 * float(self._armature().sum())
        return abs(energies[0] - energies[1] - rotors) > 1e-9 * max(1.0, rotors)

    def _armature(self) -> Array:
        if not self.free.nv:
            return np.zeros(0)
        return np.concatenate([np.array(joint.armature) for joint in self.free.model.joints])[self._order]

    def _body(self, k: int) -> tuple[int, Any]:
        """The number of the joint there, and the pose of our body in its frame."""
        child = self.model.frames[self.frame(self.free.model.joints[k].child)]
        return child.parentJoint, child.placement

    def numbers(self, k: int) -> Array:
        """See :class:`Peer`."""
        number, place = self._body(k)
        there = place.actInv(self.model.inertias[number])
        c, m = np.array(there.lever), there.mass
        moments = np.array(there.inertia) + m * (c @ c * np.eye(3) - np.outer(c, c))
        return np.array([m, *(m * c), *moments[np.tril_indices(3)]])
