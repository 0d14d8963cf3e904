"""What a study varies, by name: states, torques, inertial parameters, payloads, and names of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.dynamics.reference import pseudo_inertia
from recursa.errors import StudyError, UnknownNameError, did_you_mean
from recursa.facade.parameters import PARAMETERS
from recursa.model.model import Joint
from recursa.reach.workspace import even_rotations
from recursa.robot import Robot
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SYM_ZERO, Vec3
from recursa.studies.distributions import Distribution, distribution

Array = NDArray[Any]
_AXES = ("x", "y", "z")
PAYLOAD = ("payload.mass", *(f"payload.{axis}" for axis in _AXES))
SCALE = ".scale"
_LENGTH = 1.0  # m, m/s and rad/s, N and N m either way, where no limit tells
_ALL_ROTATIONS = "uniform within limits, all rotations alike"
_INDEFINITE = 1e-9  # of the largest: by which an inertia may miss being one


@dataclass(frozen=True)
class Variable:
    """A varied name: its numbers, what they become part of (``target``), and where there (``place``; None: all of
    it)."""

    name: str
    distribution: Distribution
    target: str
    place: int | None = None
    chart: Callable[[Array], Array] | None = None  # from numbers to coordinates, where they are not the same
    coordinates: int | None = None  # how many there are then
    told: str = ""  # what is said of it, where the distribution of its numbers says little

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.distribution.width if self.coordinates is None else self.coordinates

    def __str__(self) -> str:
        return self.told or str(self.distribution)


class Targets:
    """The arrays of a robot that can be varied, and who takes names that are none of these."""

    def __init__(
        self,
        robot: Robot,
        arrays: Mapping[str, str],
        *,
        free: bool,
        payload_at: str | None,
        gains: tuple[str, ...] = (),
    ) -> None:
        """``arrays``: kinds ("q", "v", "tau") by name; ``free``: whether other names are somebody's, too; ``gains``:
        names of numbers of a controller."""
        self._gains = gains
        self.robot, self.arrays, self.free = robot, dict(arrays), free
        self.payload_at = payload_at or robot.link_names[-1]
        robot.model.link_index(self.payload_at)
        self._parameters = {name: k for k, name in enumerate(robot.parameter_names)}

    def variable(self, name: str, said: Any) -> Variable:
        """What a user says of a name."""
        if not isinstance(name, str):
            raise StudyError(f"vary= has the key {name!r}; names of what is varied are text")
        head, _, part = name.partition(".")
        if name in self.arrays:
            return self._whole(name, self.arrays[name], said)
        if head in self.arrays:
            return self._part(name, head, part, said)
        if name in PAYLOAD:
            self._require_bodies(name)
            return Variable(name, distribution(name, said, 1), "payload", PAYLOAD.index(name))
        if name in self._parameters:
            return Variable(name, distribution(name, said, 1), "parameters", self._parameters[name])
        if name.endswith(SCALE) and f"{name.removesuffix(SCALE)}.m" in self._parameters:
            body = self._parameters[f"{name.removesuffix(SCALE)}.m"] // len(PARAMETERS)
            return Variable(name, distribution(name, said, 1), "scale", body)
        if self.free or name in self._gains:
            return Variable(name, distribution(name, said, _width_of(said)), "own")
        scales = [f"{joint.child}{SCALE}" for joint in self.robot.model.joints]
        known = (*self.arrays, *self._gains, *PAYLOAD, *scales, *self._parameters)
        raise UnknownNameError(f"nothing called '{name}' can be varied here. {did_you_mean(name, known)}")

    def _require_bodies(self, name: str) -> None:
        if self.robot.model.links[self.robot.model.link_index(self.payload_at)].body < 0:
            raise StudyError(f"vary '{name}': link '{self.payload_at}' does not move; say payload_at= another one")

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def _whole(self, name: str, kind: str, said: Any) -> Variable:
        if kind != "q":
            return Variable(name, distribution(name, said, self.robot.nv, self._usual_rates(kind)), name)
        if not self.robot.model.quaternions:
            return Variable(name, distribution(name, said, self.robot.nq, self._usual_coordinates()), name)
        if isinstance(said, str):  # rotations of every kind are equally likely
            draws = distribution(name, said, self.robot.nv, self._usual_draws())
            return Variable(name, draws, name, None, self._drawn, self.robot.nq, _ALL_ROTATIONS)
        rows = (
            said.numbers.shape if isinstance(said, Distribution) else () if isinstance(said, tuple) else np.shape(said)
        )
        if rows and rows[-1] == self.robot.nq:
            return Variable(name, distribution(name, said, self.robot.nq), name)
        return Variable(name, distribution(name, said, self.robot.nv), name, None, self._displaced, self.robot.nq)

    def _part(self, name: str, head: str, part: str, said: Any) -> Variable:
        kind = self.arrays[head]
        names = self.robot.q_names if kind == "q" else self.robot.v_names
        if part not in names:
            raise UnknownNameError(f"vary '{name}': '{head}' has no entry '{part}'. {did_you_mean(part, names)}")
        place = names.index(part)
        if kind == "q" and self.robot.q_units[place] == "1":
            raise StudyError(
                f"vary '{name}': it is a component of a quaternion, and cannot be varied by itself; vary '{head}'"
            )
        low, high = self._usual_coordinates() if kind == "q" else self._usual_rates(kind)
        usual = low[place : place + 1], high[place : place + 1]
        return Variable(name, distribution(name, said, 1, usual), head, place)

    def _usual_coordinates(self) -> tuple[Array, Array]:
        """Limits, and where there are none a turn of angles, a metre of lengths."""
        spread = np.array([math.pi if unit == "rad" else _LENGTH for unit in self.robot.q_units])
        low, high = self.robot.position_limits
        return np.where(np.isfinite(low), low, -spread), np.where(np.isfinite(high), high, spread)

    def _usual_rates(self, kind: str) -> tuple[Array, Array]:
        limits = {"v": self.robot.velocity_limits, "tau": self.robot.effort_limits}.get(kind)
        one = np.full(self.robot.nv, _LENGTH)
        high = one if limits is None else np.where(np.isfinite(limits), limits, one)
        return -high, high

    def _usual_draws(self) -> tuple[Array, Array]:
        """The same by freedom; those that turn in space are draws between 0 and 1."""
        low, high = np.zeros(self.robot.nv), np.ones(self.robot.nv)
        ends = self._usual_coordinates()
        for joint in self._joints():
            freedoms = slice(joint.v_start, joint.v_start + joint.kind.nv)
            if joint.kind.quaternion is None:
                coordinates = slice(joint.q_start, joint.q_start + joint.kind.nq)
                low[freedoms], high[freedoms] = ends[0][coordinates], ends[1][coordinates]
            elif joint.kind.nv > 3:
                places = slice(joint.v_start + 3, joint.v_start + joint.kind.nv)
                low[places], high[places] = -_LENGTH, _LENGTH
        return low, high

    def _joints(self) -> list[Joint]:
        return [joint for joint in self.robot.model.joints if joint.independent]

    def _drawn(self, u: Array) -> Array:
        """Coordinates of draws: three numbers of a joint that turns in space make a rotation (Shoemake, 1992)."""
        q = np.tile(self.robot.neutral(), (len(u), 1))
        for joint in self._joints():
            part = u[:, joint.v_start : joint.v_start + joint.kind.nv]
            if joint.kind.quaternion is None:
                q[:, joint.q_start : joint.q_start + joint.kind.nq] = part
                continue
            start = joint.q_start + joint.kind.quaternion
            q[:, start : start + 4] = even_rotations(part[:, :3])
            if joint.kind.nv > 3:
                q[:, joint.q_start : joint.q_start + 3] = part[:, 3:]
        return q

    def _displaced(self, dv: Array) -> Array:
        """Displacements from neutral as coordinates."""
        return self.robot.integrate(np.tile(self.robot.neutral(), (len(dv), 1)), dv)

    # ---- what becomes of them ----------------------------------------------------------------------------------------

    def default(self, name: str) -> Array:
        """What an array is where it is not varied."""
        return self.robot.neutral() if self.arrays[name] == "q" else np.zeros(self.robot.nv)

    def inputs(self, variables: tuple[Variable, ...], values: Mapping[str, Array], rows: range) -> dict[str, Array]:
        """The arrays of some rows, (rows, n) each: all that can be varied; parameters where one of them is."""
        found = {name: np.tile(self.default(name), (len(rows), 1)) for name in self.arrays}
        whole_first = sorted(variables, key=lambda one: one.place is not None)
        for one in whole_first:
            if one.target in found and one.place is None:
                found[one.target][...] = values[one.name]
            elif one.target in found:
                found[one.target][:, one.place] = values[one.name][:, 0]
            elif one.target == "own":
                found[one.name] = values[one.name]
        parameters = self._inertias(variables, values, rows)
        if parameters is not None:
            found["parameters"] = parameters
        return found

    def _inertias(self, variables: tuple[Variable, ...], values: Mapping[str, Array], rows: range) -> Array | None:
        changed = [one for one in variables if one.target in ("parameters", "scale", "payload")]
        if not changed:
            return None
        size = len(PARAMETERS)
        found = np.tile(self.robot.parameters, (len(rows), 1))
        bodies = set()
        for one in (one for one in changed if one.target == "parameters"):
            assert one.place is not None
            found[:, one.place] = values[one.name][:, 0]
            bodies.add(one.place // size)
        for one in (one for one in changed if one.target == "scale"):
            assert one.place is not None
            found[:, size * one.place : size * (one.place + 1)] *= values[one.name]
            bodies.add(one.place)
        _require_bodies_of_matter(self.robot, found, sorted(bodies), rows)
        payload = {one.place: values[one.name][:, 0] for one in changed if one.target == "payload"}
        if payload:
            self._add_payload(found, payload, rows)
        return found

    def _add_payload(self, parameters: Array, payload: Mapping[int | None, Array], rows: range) -> None:
        """Add a point mass at a place of a link, in the axes of its body."""
        mass, *place = (payload.get(k, np.zeros(len(rows))) for k in range(len(PAYLOAD)))
        if bool((mass < 0.0).any()):
            row = int(np.argmax(mass < 0.0))
            raise StudyError(_negative("payload.mass", mass[row], rows[row]))
        link = self.robot.model.links[self.robot.model.link_index(self.payload_at)]
        com = link.offset @ Vec3(*place)
        start = link.body * len(PARAMETERS)
        added = RigidInertia.from_com(mass, com, SYM_ZERO).components()
        parameters[:, start : start + len(PARAMETERS)] += np.stack(added, axis=1)


def require_likely_masses(variables: tuple[Variable, ...], total: int) -> None:
    """A distribution that would make a mass negative is refused before anything is computed."""
    for one in variables:
        massive = (
            one.target == "scale"
            or one.name == "payload.mass"
            or (one.target == "parameters" and one.name.endswith(".m"))
        )
        if massive and one.distribution.expected_below(0.0, total) > 0.01:
            raise StudyError(
                f"vary '{one.name}': it is {one.distribution}: in {total} rows it would be negative, which no mass is. "
                'Cut it off, ("normal", mean, deviation, low, high), or take another range'
            )


def _negative(name: str, value: float, row: int) -> str:
    return f"vary '{name}': it is {value:.4g} in row {row}; it must not be negative. Cut its distribution off at zero"


def _require_bodies_of_matter(robot: Robot, parameters: Array, bodies: list[int], rows: range) -> None:
    """Inertial parameters that no body can have are named: negative mass, or a density that would be negative."""
    names = robot.parameter_names
    for body in bodies:
        own = tuple(parameters[:, 10 * body : 10 * body + 10].T)
        if bool((own[0] < 0.0).any()):
            row = int(np.argmax(own[0] < 0.0))
            raise StudyError(_negative(names[10 * body], own[0][row], rows[row]))
        pseudo: Array = np.moveaxis(np.array(pseudo_inertia(own)), -1, 0)
        least, largest = np.linalg.eigvalsh(pseudo)[:, [0, -1]].T
        wrong = least < -_INDEFINITE * largest
        if bool(wrong.any()):
            row = int(np.argmax(wrong))
            link = names[10 * body].rsplit(".", 1)[0]
            raise StudyError(
                f"link '{link}' in row {rows[row]}: no body has these parameters (its density would be negative "
                f"somewhere). Vary '{link}{SCALE}', which scales mass and inertia together, or a payload"
            )


def _width_of(said: Any) -> int:
    """How many numbers a name of the user's own has: as many as what is said of it."""
    if isinstance(said, Distribution):
        return said.width
    parts = said[1:] if isinstance(said, tuple | list) and said and isinstance(said[0], str) else [said]
    grid = isinstance(said, tuple | list) and len(said) == 2 and said[0] == "grid"
    try:
        shapes = [np.shape(part) for part in parts]
    except ValueError:
        return 1
    if grid or (isinstance(said, np.ndarray) and said.ndim == 2):
        return shapes[0][1] if len(shapes[0]) == 2 else 1
    return max((shape[-1] for shape in shapes if len(shape) == 1 and len(parts) > 1), default=1)
