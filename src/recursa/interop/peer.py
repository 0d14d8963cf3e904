"""Another program's answers about a robot, in our conventions, and what in its model differs from ours.

A peer is asked one state at a time. It may hold tied (mimic) joints as free ones: its answers are then those of the
robot with all joints free, folded with ``v_free = T v``: ``tau = T^T tau_free``, ``M = T^T M_free T``.

What differs in its model it tells as :class:`Suspect`; :meth:`Peer.repaired` is the same peer with some of them put
right, so that a suspicion can be tested: the difference vanishes, or it stays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.errors import ModelError
from recursa.loading import trusted
from recursa.robot import Robot
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform

Array = NDArray[Any]


class Suspect(NamedTuple):
    """Something in the peer's model that is not as in ours: a short name, what it is, what to do about it."""

    name: str
    what: str
    advice: str


class Conversion(NamedTuple):
    """A convention that is translated before answers are compared."""

    name: str
    what: str


class Peer(ABC):
    """A robot in another program. ``skip`` names conversions that are left out, to see what they are worth."""

    title: str

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        model = robot.model
        for joint, inertia in zip(model.joints, model.inertias, strict=True):
            if not np.isfinite(np.array(inertia.components(), dtype=float)).all():
                raise ModelError(f"link '{joint.child}' has inertial data that are not finite: see recursa doctor")
        tied = any(joint.tie is not None for joint in model.joints)
        self.free = (
            trusted(model.description, gravity=model.gravity, floating=model.floating, mimic="free") if tied else robot
        )
        self.skip: frozenset[str] = frozenset()
        self.fold = np.zeros((self.free.nv, robot.nv)) if tied else np.eye(robot.nv)
        if tied:
            for own, joint in zip(self.free.model.joints, model.joints, strict=True):
                rate = joint.tie.multiplier if joint.tie else 1.0
                for k in range(joint.kind.nv):
                    self.fold[own.v_start + k, joint.v_start + k] = rate

    @property
    def tied(self) -> bool:
        """Whether the robot has tied joints, which are free there."""
        return self.free is not self.robot

    # ---- what a program has to offer ---------------------------------------------------------------------------------

    @abstractmethod
    def answers(self, q: Array, v: Array, a: Array, tau: Array) -> dict[str, Any]:
        """Every quantity of the robot with free joints at one state; forward dynamics only if nothing is tied.

        Keys: inverse_dynamics, mass_matrix, bias_forces, gravity_forces, forward_dynamics, center_of_mass,
        kinetic_energy, potential_energy; poses (nlinks, 4, 4) and jacobians (nlinks, 6, nv), mixed frame.
        """

    @abstractmethod
    def suspects(self) -> list[Suspect]:
        """What in the peer's model differs from ours."""

    @abstractmethod
    def repaired(self, names: Collection[str]) -> Peer:
        """The same peer with these suspects put right."""

    @abstractmethod
    def conversions(self) -> list[Conversion]:
        """What is translated between the two."""

    # ---- folded ------------------------------------------------------------------------------------------------------

    def terms(self, q: Array, v: Array, a: Array, tau: Array) -> dict[str, Any]:
        """The answers for our robot, ties folded in."""
        if not self.tied:
            return self.answers(q, v, a, tau)
        T = self.fold
        found = self.answers(self.spread(q), T @ v, T @ a, np.zeros(self.free.nv))
        for name in ("inverse_dynamics", "bias_forces", "gravity_forces"):
            found[name] = T.T @ found[name]
        found["mass_matrix"] = T.T @ found["mass_matrix"] @ T
        found["jacobians"] = found["jacobians"] @ T
        try:
            found["forward_dynamics"] = np.linalg.solve(found["mass_matrix"], tau - found["bias_forces"])
        except np.linalg.LinAlgError:
            found["forward_dynamics"] = np.full(self.robot.nv, np.nan)
        return found

    def spread(self, q: Array) -> Array:
        """A configuration with tied joints, as one of the robot whose joints are free."""
        spread = np.empty(self.free.nq)
        for own, joint in zip(self.free.model.joints, self.robot.model.joints, strict=True):
            values = q[joint.q_start : joint.q_start + joint.kind.nq]
            if joint.tie is not None:
                values = joint.tie.multiplier * values + joint.tie.offset
            spread[own.q_start : own.q_start + own.kind.nq] = values
        return spread


# ---- inertias side by side -------------------------------------------------------------------------------------------


def differing_bodies(robot: Robot, theirs: Callable[[int], Array]) -> list[int]:
    """Bodies whose ten numbers (mass, mass times com, moments about the origin) differ from the peer's."""
    different = []
    for k, inertia in enumerate(robot.model.inertias):
        ours = np.array(inertia.components(), dtype=float)
        scale = float(np.abs(ours).max()) or 1.0
        if not np.abs(ours - theirs(k)).max() <= 1e-9 * scale:
            different.append(k)
    return different


def inertia_suspects(robot: Robot, theirs: Callable[[int], Array], program: str) -> list[Suspect]:
    """Bodies with another inertia there, and why: data missing in the source, or numbers that were changed."""
    different = differing_bodies(robot, theirs)
    if not different:
        return []
    missing = [k for k in different if not _given(robot, k)]
    suspects = []
    if missing:
        named = ", ".join(f"'{robot.model.joints[k].child}' ({theirs(k)[0]:.4g} kg)" for k in missing[:5])
        suspects.append(
            Suspect(
                "missing inertias",
                f"links without <inertial> have mass in {program}, made up from their shapes: {named}",
                "give these links their mass and inertia in the file",
            )
        )
    changed = [k for k in different if k not in missing]
    if changed:
        named = ", ".join(
            f"'{robot.model.joints[k].child}' ({robot.model.inertias[k].mass:.4g} kg, there {theirs(k)[0]:.4g} kg)"
            for k in changed[:5]
        )
        suspects.append(
            Suspect(
                "inertias",
                f"mass, centre or moments are other numbers in {program}: {named}",
                "see recursa doctor: numbers that no body can have are altered on reading",
            )
        )
    return suspects


def repaired_bodies(robot: Robot, theirs: Callable[[int], Array], names: Collection[str]) -> list[int]:
    """The bodies that the suspects of this name are about."""
    return [
        k for k in differing_bodies(robot, theirs) if ("inertias" if _given(robot, k) else "missing inertias") in names
    ]


def _given(robot: Robot, body: int) -> bool:
    """Whether the source says what each link of a body weighs, where it says anything about its shape."""
    model = robot.model
    links = {link.name: link for link in model.description.links}
    own = [links[link.name] for link in model.links if link.body == body and link.name in links]
    return not any(link.geometry and not link.inertial for link in own)


# ---- small conversions -----------------------------------------------------------------------------------------------


def matrix_of(transform: Transform | None) -> Array:
    """The 4 x 4 matrix of a pose."""
    return np.array((transform or IDENTITY_TRANSFORM).rows(), dtype=float)
