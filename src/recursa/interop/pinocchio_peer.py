"""Pinocchio's answers about a robot: from its own reading of the URDF, or from our model handed over."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

import numpy as np

from recursa.errors import ModelError
from recursa.interop import pinocchio as interop
from recursa.interop.peer import Array, Conversion, Peer, Suspect
from recursa.robot import Robot


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
