"""What is to be identified: columns of the regression, what is known of them, and which of them torques tell apart.

The regression is one of changes: ``tau - tau0 = Y (pi - pi0) + ...``, tau0 being torques of the robot as it is known.
Whatever is not identified (springs, rotors, ties, a friction that is known) is in tau0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from recursa.errors import StateError, unknown_name
from recursa.facade.parameters import PARAMETERS, excited_states, grouped, reach_of, sum_of
from recursa.identification.logs import driven
from recursa.model.transmissions import link_inertias, own_armature
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

Term = Literal["inertia", "viscous", "coulomb", "armature", "offset", "stribeck", "torque constant"]
TERMS: tuple[str, ...] = get_args(Term)
JOINT_TERMS = TERMS[1:]
"""Those with one number for each freedom that is driven."""

POSITIVE = ("viscous", "coulomb", "armature", "stribeck", "torque constant")
EVEN = ("inertia", "armature", "offset")
"""What does not change when the motion runs backwards. Friction does, so it is never mistaken for one of these."""

PAYLOAD = "payload"
_STATES_PER_COLUMN = 3


@dataclass(frozen=True)
class Column:
    """One unknown: its term, and the freedom, or the body and which of its ten parameters."""

    name: str
    term: str
    freedom: int = -1
    body: int = -1
    entry: int = -1


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The columns for a robot; ``payload_at``: the link with a load of which ten parameters are unknown, else "".

    ``speeds`` (nv,) are those of Stribeck's curve, ``constants`` (nv,) torque constants as far as they are known.
    """

    robot: Robot
    terms: tuple[str, ...]
    payload_at: str
    speeds: Array
    constants: Array

    @classmethod
    def of(cls, robot: Robot, fit: Sequence[str], payload_at: str | None, constants: Array) -> Unknowns:
        """Checked."""
        if isinstance(fit, str) or not fit:
            raise StateError(
                f"fit must be a tuple of what is to be identified, such as ('inertia', 'viscous'), not {fit!r}"
            )
        for term in fit:
            if term not in TERMS:
                raise unknown_name("term", term, TERMS)
        if payload_at is not None:
            robot.model.link_index(payload_at)
        found = cls(robot, tuple(t for t in TERMS if t in fit), payload_at or "", np.ones(robot.nv), constants)
        if "inertia" in found.terms and not payload_at and not found.bodies:
            raise StateError(
                f"robot '{robot.name}' has no masses to start from. Give it some, "
                "robot.with_inertia_from_geometry() or robot.with_parameters(...), however rough"
            )
        return found

    def with_speeds(self, speeds: Array) -> Unknowns:
        """The same with other speeds of Stribeck's curve."""
        return replace(self, speeds=speeds)

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """Bodies whose parameters are unknown: all with mass. Those without join axes, or are rotors."""
        if self.payload_at:
            return (0,)  # the load is the only one
        return tuple(k for k, inertia in enumerate(link_inertias(self.robot.model)) if inertia.mass > 0.0)

    @cached_property
    def freedoms(self) -> tuple[int, ...]:
        """Freedoms with drives."""
        return tuple(np.flatnonzero(driven(self.robot)).tolist())

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All unknowns, those of inertia first."""
        found: list[Column] = []
        for term in self.terms:
            if term == "inertia":
                for body in self.bodies:
                    owner = PAYLOAD if self.payload_at else self.robot.model.joints[body].child
                    found += [Column(f"{owner}.{name}", term, body=body, entry=k) for k, name in enumerate(PARAMETERS)]
            else:
                names = self.robot.v_names
                found += [Column(f"{names[j]}.{term.replace(' ', '_')}", term, freedom=j) for j in self.freedoms]
        return tuple(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One per column."""
        return tuple(column.name for column in self.columns)

    def where(self, *terms: str) -> Array:
        """The numbers of the columns of some terms."""
        return np.array([k for k, column in enumerate(self.columns) if column.term in terms], int)

    # ---- numbers -----------------------------------------------------------------------------------------------------

    @cached_property
    def known(self) -> Array:
        """The values before, (columns,): those of the robot; zero for offsets and for a load."""
        model = self.robot.model
        values = np.zeros(len(self.columns))
        inertias = link_inertias(model)
        losses = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}
        joints = [(joint, k) for joint in model.joints if joint.independent for k in range(joint.kind.nv)]
        for number, column in enumerate(self.columns):
            if column.term == "inertia" and not self.payload_at:
                values[number] = float(inertias[column.body].components()[column.entry])
            elif column.term in losses:
                joint, k = joints[column.freedom]
                own = own_armature(joint) if column.term == "armature" else getattr(joint, losses[column.term])
                values[number] = np.mean(own[k])
            elif column.term == "torque constant":
                values[number] = self.constants[column.freedom]
        return values

    @cached_property
    def scales(self) -> Array:
        """A usual size of each column's number, (columns,), by the mean mass and length of a body of this robot."""
        mass, length = self.mass_and_length
        size = {"m": mass, "mc": mass * length, "I": mass * length * length}
        weight = mass * length * 9.81
        by_term = {"viscous": weight, "coulomb": weight, "stribeck": weight, "armature": size["I"], "offset": weight}
        return np.array(
            [
                size[PARAMETERS[column.entry].rstrip("xyz")]
                if column.term == "inertia"
                else by_term.get(column.term) or abs(self.constants[column.freedom]) or 1.0
                for column in self.columns
            ]
        )

    @cached_property
    def mass_and_length(self) -> tuple[float, float]:
        """Of a body in the mean."""
        model = self.robot.model
        moving = max(1, sum(inertia.mass > 0.0 for inertia in model.inertias))
        mass = sum(inertia.mass for inertia in model.inertias) / moving
        return mass or 1.0, reach_of(model) / model.nbodies or 0.1

    def matrix(self, q: Array, v: Array, a: Array, drive: Array) -> Array:
        """The rows of the regression at states (n, ...): (n, nv, columns). ``drive``: currents, for their constants."""
        rows = np.zeros((len(q), self.robot.nv, len(self.columns)))
        if "inertia" in self.terms:
            rows[:, :, self.where("inertia")] = self._inertial(q, v, a)
        turned = np.sign(v)
        by_term: dict[str, Any] = {
            "viscous": v,
            "coulomb": turned,
            "armature": a,
            "offset": np.ones_like(v),
            "stribeck": turned * np.exp(-np.square(v / self.speeds)),
            "torque constant": -drive,
        }
        for number, column in enumerate(self.columns):
            if column.term != "inertia":
                rows[:, column.freedom, number] = by_term[column.term][:, column.freedom]
        return rows

    def _inertial(self, q: Array, v: Array, a: Array) -> Array:
        if self.payload_at:
            wrenches = self.robot.link_regressor(q, v, a, self.payload_at)
            return self.robot.jacobian(q, self.payload_at, frame="body").swapaxes(-1, -2) @ wrenches
        chosen = (10 * np.array(self.bodies)[:, None] + np.arange(10)).ravel()
        return self.robot.regressor(q, v, a)[:, :, chosen]

    # ---- which can be told apart -------------------------------------------------------------------------------------

    @cached_property
    def structure(self) -> Structure:
        """What torques can tell apart, whatever the motion."""
        even = self.where(*EVEN)
        count = _STATES_PER_COLUMN * max(1, len(even)) // max(1, self.robot.nv) + 5
        excited = excited_states(self.robot, count, seed=0)
        q, v, a = excited.arrays["q"], excited.arrays["v"], excited.arrays["a"]
        rows = self.matrix(q, v, a, np.zeros_like(v))[:, :, even]
        accelerated = float(np.abs(a * excited.units).max(initial=1e-300))
        sizes = np.array(
            [
                excited.sizes[column.entry]
                if column.term == "inertia"
                else accelerated
                if column.term == "armature"
                else 1.0
                for column in (self.columns[k] for k in even)
            ]
        )
        independent, inside = grouped(*excited.columns(rows, sizes))
        others = [k for k in range(len(self.columns)) if k not in set(even.tolist())]
        chosen = [*even[independent].tolist(), *others]
        matrix = np.zeros((len(chosen), len(self.columns)))
        matrix[: len(independent), even] = inside
        matrix[np.arange(len(independent), len(chosen)), others] = 1.0
        return Structure(tuple(chosen), matrix, self.names)


@dataclass(frozen=True, eq=False)
class Structure:
    """``rows @ change = rows[:, independent] @ (matrix @ change)``: the base parameters of all unknowns."""

    independent: tuple[int, ...]
    matrix: Array
    all_names: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the independent columns."""
        return tuple(self.all_names[k] for k in self.independent)

    @property
    def relations(self) -> tuple[str, ...]:
        """What each stands for, as text."""
        return tuple(sum_of(row, self.all_names) for row in self.matrix)
