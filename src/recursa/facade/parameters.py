"""Base inertial parameters: the combinations of inertial parameters that torques can depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recursa.facade.operational import OperationalMethods
from recursa.sweeps.batching import Array

PARAMETERS = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Of one body, in the regressor's order."""

_RELATIVE_ZERO = 1e-8  # of a column of the regressor, what is left of it after those before it
_SMALL = 1e-9
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
        return tuple(_sum(row, self.all_names) for row in self.matrix)

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        lines = [
            f"{name:<{width}}  {value:>12.6g}  = {relation}"
            for name, value, relation in zip(self.names, self.values, self.relations, strict=True)
        ]
        head = f"{len(self.names)} base parameters of {len(self.all_names)}; {len(self.unused)} have no effect"
        return "\n".join([head, *lines])


def _sum(row: Array, names: tuple[str, ...]) -> str:
    """A row of coefficients as a sum of names."""
    text = ""
    for coefficient, name in zip(row, names, strict=True):
        if coefficient != 0.0:
            size = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):.6g} "
            sign = (" - " if coefficient < 0.0 else " + ") if text else ("-" if coefficient < 0.0 else "")
            text += f"{sign}{size}{name}"
    return text


class ParameterMethods(OperationalMethods):
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
        stacked = self._excited_regressor(_STATES_PER_PARAMETER * count // max(1, self.nv) + 5, seed)
        sizes = np.linalg.norm(stacked, axis=0)
        scaled = stacked / np.where(sizes > 0.0, sizes, 1.0)
        independent = _independent_columns(scaled)
        matrix = np.zeros((len(independent), count))
        matrix[np.arange(len(independent)), independent] = 1.0
        rest = [k for k in range(count) if k not in independent and sizes[k] > _SMALL * sizes.max(initial=0.0)]
        if rest and independent:
            shares = np.linalg.lstsq(stacked[:, independent], stacked[:, rest], rcond=None)[0]
            matrix[:, rest] = np.where(np.abs(shares) > _SMALL, _tidied(shares), 0.0)
        unused = tuple(names[k] for k in range(count) if k not in independent and not matrix[:, k].any())
        values = matrix @ np.array([x for inertia in model.inertias for x in inertia.components()], float)
        return BaseParameters(values, matrix, tuple(independent), tuple(names[k] for k in independent), unused, names)

    def _excited_regressor(self, states: int, seed: int) -> Array:
        """The regressor's rows for random states, one below the other."""
        rng = np.random.default_rng(seed)
        drawn = [self.random_state(int(rng.integers(1 << 31))) for _ in range(states)]
        q, v = np.stack([state[0] for state in drawn]), np.stack([state[1] for state in drawn])
        rows = self.regressor(q, v, rng.normal(size=v.shape))
        return rows.reshape(-1, rows.shape[-1])


def _independent_columns(matrix: Array) -> list[int]:
    """Columns that do not follow from those before them (Gram and Schmidt, twice for good measure)."""
    basis = np.zeros((len(matrix), 0))
    found = []
    for k in range(matrix.shape[1]):
        column = matrix[:, k]
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        left = float(np.linalg.norm(column))
        if left > _RELATIVE_ZERO:
            basis = np.column_stack([basis, column / left])
            found.append(k)
    return found


def _tidied(shares: Array) -> Array:
    """Coefficients that are whole numbers but for rounding become whole."""
    near = np.round(shares)
    return np.where(np.abs(shares - near) < _SMALL, near, shares)
