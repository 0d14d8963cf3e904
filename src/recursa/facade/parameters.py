"""Base inertial parameters: the combinations of inertial parameters that torques can depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recursa.dynamics.configuration import random_state
from recursa.dynamics.kinematics import ACCELERATIONS, VELOCITIES
from recursa.evaluation.answering import Facade
from recursa.methods.matrices import REGRESSOR
from recursa.model.model import Model
from recursa.sweeps.batching import Array

PARAMETERS = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Of one body, in the regressor's order."""

_ZERO = 1e-9  # of what a column of the regressor is made of: what is left of it after those before it
_SMALL = 1e-9  # coefficients below are none, or whole
_NARROW = 1e-2  # rad or m: a range that tells nothing
_STATES_PER_PARAMETER = 3


@dataclass(frozen=True)
class BaseParameters:
    """Parameters that torques tell apart: ``tau = Y[..., independent] @ values``, Y the regressor.

    - ``values`` (b,): ``matrix @ parameters`` of this robot.
    - ``matrix`` (b, 10 nbodies): the grouping relations.
    - ``independent``: the regressor's columns that go with them; ``names`` are theirs, such as "link3.Izz".
    - ``unused``: parameters that no torque depends on.
    """

    values: Array
    matrix: Array
    independent: tuple[int, ...]
    names: tuple[str, ...]
    unused: tuple[str, ...]
    all_names: tuple[str, ...]

    @property
    def relations(self) -> tuple[str, ...]:
        """What each stands for, as text: "link3.Izz + link4.Iyy + 0.25 link4.m"."""
        return tuple(sum_of(row, self.all_names) for row in self.matrix)

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        lines = [
            f"{name:<{width}}  {value:>12.6g}  = {relation}"
            for name, value, relation in zip(self.names, self.values, self.relations, strict=True)
        ]
        head = f"{len(self.names)} base parameters of {len(self.all_names)}; {len(self.unused)} have no effect"
        return "\n".join([head, *lines])


def sum_of(row: Array, names: tuple[str, ...]) -> str:
    """A row of coefficients as a sum of names."""
    text = ""
    for coefficient, name in zip(row, names, strict=True):
        if coefficient != 0.0:
            size = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):.6g} "
            sign = (" - " if coefficient < 0.0 else " + ") if text else ("-" if coefficient < 0.0 else "")
            text += f"{sign}{size}{name}"
    return text


class Excited(NamedTuple):
    """Random states of a robot as ``arrays`` q, v, a; what makes moments of forces in each row; sizes of columns.

    A size is that of the terms which an entry is added up from, not that of the entries: a column of zeros, which
    rounding fills with 1e-16, stays one. The terms are moments, of a reach times a force or of a turning body.
    """

    arrays: dict[str, Array]
    units: Array
    sizes: Array

    def columns(self, regressor: Array, sizes: Array) -> tuple[Array, Array]:
        """The rows (..., nv, columns) at all states, one below the other, over the sizes of columns; these."""
        rows = (regressor * self.units[:, None]).reshape(self.arrays["v"].size, len(sizes))  # forces as moments
        return rows / (sizes * math.sqrt(len(rows))), sizes


class ParameterMethods(Facade):
    """Which inertial parameters matter."""

    __slots__ = ()

    def base_parameters(self, *, seed: int = 0) -> BaseParameters:
        """The base inertial parameters: what of the ten per body the torques depend on, and how the rest is grouped.

        Found from the regressor at random states: a column that follows from those before it is grouped into them
        (Gautier's numerical method, base first). Exact relations come out to rounding.

        >>> import recursa as rc
        >>> base = rc.robots.planar(2).base_parameters()
        >>> print(base)
        6 base parameters of 20; 13 have no effect
        link1.mcx         0.195  = link1.mcx + 0.3 link2.m
        link1.mcy             0  = link1.mcy
        link1.Izz         0.051  = link1.Izz + 0.09 link2.m
        link2.mcx          0.05  = link2.mcx
        link2.mcy             0  = link2.mcy
        link2.Izz    0.00833333  = link2.Izz
        """
        model = self.model
        count = 10 * model.nbodies
        names = tuple(f"{joint.child}.{name}" for joint in model.joints for name in PARAMETERS)
        excited = excited_states(self, _STATES_PER_PARAMETER * count // max(1, self.nv) + 5, seed)
        independent, matrix = grouped(*excited.columns(self._answer(REGRESSOR, excited.arrays), excited.sizes))
        unused = tuple(names[k] for k in range(count) if k not in independent and not matrix[:, k].any())
        values = matrix @ np.array([x for inertia in model.inertias for x in inertia.components()], float)
        return BaseParameters(values, matrix, tuple(independent), tuple(names[k] for k in independent), unused, names)


def excited_states(robot: Facade, states: int, seed: int) -> Excited:
    """Random states, so fast that inertia and weight are alike."""
    rng = np.random.default_rng(seed)
    drawn = [random_state(robot.model, int(rng.integers(1 << 31))) for _ in range(states)]
    slides = ~np.array(
        [turns for joint in robot.model.joints if joint.independent for turns in joint.kind.angular], bool
    )
    reach, weight = reach_of(robot.model) + float(slides.any()), float(np.linalg.norm(robot.model.gravity))
    rate = math.sqrt(weight / reach) if weight * reach else 1.0
    units = np.where(slides, reach, 1.0)
    q, v = np.stack([state[0] for state in drawn]), rate * units * np.stack([state[1] for state in drawn])
    for joint in robot.model.joints:  # limits that leave no room hide parameters that torques do depend on
        if joint.independent and joint.limits is not None and abs(joint.limits[1] - joint.limits[0]) < _NARROW:
            q[:, joint.q_start] = np.random.default_rng([seed, joint.q_start]).uniform(-1.0, 1.0, states)
    a = rate * rate * units * rng.normal(size=v.shape)
    turning, pull = _accelerated(robot, q, v, a)
    size = {"m": reach * (pull + weight), "mc": pull + weight + reach * turning, "I": turning}
    sizes = np.array([size[name.rstrip("xyz")] or 1.0 for name in PARAMETERS] * robot.model.nbodies)
    return Excited({"q": q, "v": v, "a": a}, units, sizes)


def _accelerated(robot: Facade, q: Array, v: Array, a: Array) -> tuple[float, float]:
    """How much the links turn, ``|wd| + |w|^2``, and how much they are accelerated, at the most."""
    accelerations = robot.evaluator.evaluate(
        ACCELERATIONS, {"q": q, "v": v, "a": a}, {"frame": "body", "kind": "spatial"}
    )
    velocities = robot.evaluator.evaluate(VELOCITIES, {"q": q, "v": v}, {"frame": "body"})
    turning = np.linalg.norm(accelerations[..., :3], axis=-1) + (velocities[..., :3] ** 2).sum(-1)
    return float(turning.max()), float(np.linalg.norm(accelerations[..., 3:], axis=-1).max())


def grouped(stacked: Array, sizes: Array) -> tuple[list[int], Array]:
    """Columns that do not follow from those before them, and how all are made of these: (independent, columns)."""
    count = stacked.shape[1]
    independent = _independent_columns(stacked)
    rest = [k for k in range(count) if k not in independent]
    matrix = np.zeros((len(independent), count))
    matrix[np.arange(len(independent)), independent] = 1.0
    if rest and independent:
        shares = np.linalg.lstsq(stacked[:, independent], stacked[:, rest], rcond=None)[0]
        units = sizes[rest] / sizes[independent][:, None]
        matrix[:, rest] = np.where(np.abs(shares) > _SMALL, _tidied(shares * units), 0.0)
    return independent, matrix


def reach_of(model: Model) -> float:
    """The length of all steps from joint to joint."""
    steps = [step.translation for joint in model.joints for step in (joint.placement, joint.after) if step is not None]
    return float(sum(step.norm() for step in steps))


def _independent_columns(matrix: Array) -> list[int]:
    """Columns that do not follow from those before them (Gram and Schmidt, twice for good measure)."""
    basis = np.zeros((len(matrix), 0))
    found = []
    for k in range(matrix.shape[1]):
        column = matrix[:, k]
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        left = float(np.linalg.norm(column))
        if left > _ZERO:
            basis = np.column_stack([basis, column / left])
            found.append(k)
    return found


def _tidied(shares: Array) -> Array:
    """Coefficients that are whole numbers but for rounding become whole."""
    near = np.round(shares)
    return np.where(np.abs(shares - near) < _SMALL, near, shares)
