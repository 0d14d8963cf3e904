"""Another program's answers about a robot, in our conventions, and what in its model differs from ours.

A peer is asked one state at a time. It may hold tied (mimic) joints as free ones: its answers are then those of the
robot with all joints free, folded with ``v_free = T v``: ``tau = T^T tau_free``, ``M = T^T M_free T``.

What differs in its model it tells as :class:`Suspect`; :meth:`Peer.repaired` is the same peer with some of them put
right, so that a suspicion can be tested: the difference vanishes, or it stays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.errors import ModelError
from recursa.formats.source import Source
from recursa.interop.offers import OFFERS, Offer
from recursa.loading import trusted
from recursa.model.description import Description
from recursa.quantities import Quantity, quantity
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


def _untied(description: Description) -> Description:
    """The description with gears as ties like others, which can be let go."""
    joints = (replace(one, mimic=one.mimic and replace(one.mimic, rigid=False)) for one in description.joints)
    return replace(description, joints=tuple(joints))


class Peer(ABC):
    """A robot in another program, ``column`` of the table of offers.

    ``skip`` names conversions that are left out, to see what they are worth.
    """

    title: str
    column: str
    remark = ""
    """On how the program came to its model."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        model = robot.model
        for joint, inertia in zip(model.joints, model.inertias, strict=True):
            if not np.isfinite(np.array(inertia.components(), dtype=float)).all():
                raise ModelError(f"link '{joint.child}' has inertial data that are not finite: see recursa doctor")
        tied = any(joint.tie is not None for joint in model.joints)
        options: dict[str, Any] = {"gravity": model.gravity, "floating": model.floating, "mimic": "free"}
        self.free = trusted(_untied(model.description), **options) if tied else robot
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

    @property
    def offers(self) -> dict[str, Offer]:
        """What it has to offer, by the names of quantities."""
        return {name: offers[self.column] for name, offers in OFFERS.items() if self.column in offers}

    @abstractmethod
    def configuration(self, q: Array) -> Array:
        """A configuration of the robot with free joints, as the program has it."""

    @abstractmethod
    def speeds(self, q: Array, v: Array) -> tuple[Array, Array]:
        """S and dS/dt v: speeds there are S v. S is orthogonal."""

    @abstractmethod
    def added(self, drift: Array) -> Array:
        """Forces there that accelerations dS/dt v take, where it was asked last."""

    @abstractmethod
    def suspects(self) -> list[Suspect]:
        """What in the peer's model differs from ours."""

    @abstractmethod
    def repaired(self, names: Collection[str]) -> Peer:
        """The same peer with these suspects put right."""

    @abstractmethod
    def numbers(self, k: int) -> Array:
        """Mass, mass times com and moments about the origin of body k of the robot with free joints, as ours."""

    @abstractmethod
    def conversions(self) -> list[Conversion]:
        """What is translated between the two."""

    # ---- what differs in every program ------------------------------------------------------------------------------

    def usual_suspects(self, gravity: Array, rotors: bool, advice: tuple[str, str]) -> Iterator[Suspect]:
        """Gravity and rotor inertias, which URDF files do not have, with what to set for either."""
        if np.abs(gravity - self.free.gravity).max() > 1e-12:
            there, here = (", ".join(f"{x:g}" for x in g) for g in (gravity, self.free.gravity))
            what = f"it is ({there}) in {self.title} and ({here}) here: URDF files have none"
            yield Suspect("gravity", what, advice[0])
        if rotors:
            what = f"rotor inertias are not read from URDF files by {self.title}"
            yield Suspect("armature", what, advice[1])

    def inertia_suspects(self) -> Iterator[Suspect]:
        """Bodies with another inertia there, and why: data missing in the source, or numbers that were changed."""
        joints, inertias = self.free.model.joints, self.free.model.inertias
        different = self._differing_bodies()
        missing = [k for k in different if not _given(self.free, k)]
        if missing:
            named = ", ".join(f"'{joints[k].child}' ({self.numbers(k)[0]:.4g} kg)" for k in missing[:5])
            what = f"links without <inertial> have mass in {self.title}, made up from their shapes: {named}"
            yield Suspect("missing inertias", what, "give these links their mass and inertia in the file")
        changed = [k for k in different if k not in missing]
        if changed:
            named = ", ".join(
                f"'{joints[k].child}' ({inertias[k].mass:.4g} kg, there {self.numbers(k)[0]:.4g} kg)"
                for k in changed[:5]
            )
            what = f"mass, centre or moments are other numbers in {self.title}: {named}"
            advised = "see recursa doctor: numbers that no body can have are altered on reading"
            yield Suspect("inertias", what, advised)

    def _differing_bodies(self) -> list[int]:
        """Bodies whose ten numbers differ."""
        different = []
        for k, inertia in enumerate(self.free.model.inertias):
            ours = np.array(inertia.components(), dtype=float)
            scale = float(np.abs(ours).max()) or 1.0
            if not np.abs(ours - self.numbers(k)).max() <= 1e-9 * scale:
                different.append(k)
        return different

    def repaired_bodies(self, names: Collection[str]) -> list[int]:
        """The bodies that the suspects of these names are about."""
        different = self._differing_bodies()
        return [k for k in different if ("inertias" if _given(self.free, k) else "missing inertias") in names]

    # ---- answers -----------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Array]:
        """What it offers, asked as of :class:`recursa.Robot`, one state at a time: ``peer.mass_matrix(q)``."""
        if name.startswith("_") or name not in self.offers:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return partial(self.ask, name)

    def translated(self, record: Quantity, arrays: Sequence[Array]) -> tuple[list[Array], Array, Array]:
        """The arrays of a quantity in the program's conventions, S and dS/dt v."""
        given = dict(zip(record.inputs, arrays, strict=True))
        q = next((x for name, x in given.items() if record.kind(name).coordinates), np.zeros(self.free.nq))
        S, drift = self.speeds(q, given.get("v", np.zeros(self.free.nv)))
        there = []
        for name, x in given.items():
            turned = self.configuration(x) if record.kind(name).coordinates else S @ x
            there.append(turned + drift if name == "a" else turned)
        return there, S, drift

    def ask(self, name: str, *arrays: Array, **options: Any) -> Array:
        """A quantity of the robot with free joints at one state, in our conventions."""
        offer = self.offers[name]
        usual = options.pop("base_velocity", "body") == "body"  # else in other speeds than both have
        call = offer.call(self, **options) if usual else None
        assert call is not None, f"{self.title} does not offer {name} with {options}"
        assert offer.axes is not None, f"{self.title} has {name} in frames of its own"
        there, S, drift = self.translated(quantity(name), arrays)
        result = offer.made(self, call(*there))
        for axis, letter in enumerate(offer.axes):
            if letter == "6":
                result = self.six_vectors(result, axis)
            elif letter in "fcma":
                extra = {"c": self.added(drift), "a": -drift}.get(letter, 0.0) if drift.any() else 0.0
                result = np.moveaxis(np.moveaxis(result, axis, -1) + extra, -1, axis)
                result = np.moveaxis(np.tensordot(result, S, axes=(axis, 0)), -1, axis)
        return result

    def six_vectors(self, vectors: Array, axis: int) -> Array:
        """Six-vectors with the angular part first."""
        return vectors

    def folded(self, name: str, q: Array, v: Array, a: Array, tau: Array, **options: Any) -> Array:
        """A quantity of our robot, ties folded in: ``tau = T^T tau_free``. Motions but for accelerations cannot be."""
        record, state = quantity(name), {"q": q, "v": v, "a": a, "tau": tau}
        if not self.tied:
            return self.ask(name, *(state[one] for one in record.inputs), **options)
        T, axes = self.fold, self.offers[name].axes or ""
        if name == "forward_dynamics":
            return self._solved(q, v, a, tau)
        assert "m" not in axes, f"{name} is not folded"
        state = {"q": self.spread(q), "v": T @ v, "a": T @ a}
        result = self.ask(name, *(state[one] for one in record.inputs), **options)
        for axis, letter in enumerate(axes):
            if letter in "fc":
                result = np.moveaxis(np.tensordot(result, T, axes=(axis, 0)), -1, axis)
        return result

    def _solved(self, q: Array, v: Array, a: Array, tau: Array) -> Array:
        """Accelerations that the folded mass matrix and bias forces give."""
        mass, bias = (self.folded(name, q, v, a, tau) for name in ("mass_matrix", "bias_forces"))
        try:
            return np.linalg.solve(mass, tau - bias)
        except np.linalg.LinAlgError:
            return np.full(self.robot.nv, np.nan)

    def spread(self, q: Array) -> Array:
        """A configuration with tied joints, as one of the robot whose joints are free."""
        spread = np.empty(self.free.nq)
        for own, joint in zip(self.free.model.joints, self.robot.model.joints, strict=True):
            values = q[joint.q_start : joint.q_start + joint.kind.nq]
            if joint.tie is not None:
                values = joint.tie.multiplier * values + joint.tie.offset
            spread[own.q_start : own.q_start + own.kind.nq] = values
        return spread


def _given(robot: Robot, body: int) -> bool:
    """Whether the source says what each link of a body weighs, where it says anything about its shape."""
    model = robot.model
    links = {link.name: link for link in model.description.links}
    own = [links[link.name] for link in model.links if link.body == body and link.name in links]
    return not any(link.geometry and not link.inertial for link in own)


# ---- programs by name ------------------------------------------------------------------------------------------------


def opened(column: str, robot: Robot, urdf: str | None = None, mjcf: Source | None = None) -> Peer:
    """A robot in the program of a column, from our model or from its own reading of a file."""
    if column == "pinocchio":
        from recursa.interop.pinocchio import InPinocchio

        return InPinocchio(robot, urdf)
    from recursa.interop.mujoco import InMujoco, quiet

    quiet()
    return InMujoco(robot, urdf, mjcf)


# ---- small conversions -----------------------------------------------------------------------------------------------


def matrix_of(transform: Transform | None) -> Array:
    """The 4 x 4 matrix of a pose."""
    return np.array((transform or IDENTITY_TRANSFORM).rows(), dtype=float)
