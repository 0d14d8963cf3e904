"""Contacts that are made and lost: between two instants each is open, slides or sticks, and all is smooth.

What lands, lifts, starts to slide or comes to rest ends a step, as an event does. There impulses (where something hits)
and then forces are found by complementarity, and say who goes on how. Newton's law of restitution holds across the
plane and Coulomb's along it; where together they would make energy, impulses go back towards those without bouncing,
just as far as it takes, so that no impact makes energy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import StateError
from recursa.simulation.complementarity import OPEN, SLIDES, STICKS, forces
from recursa.simulation.constrained import ConstrainedEquations
from recursa.simulation.equations import Equations, Outside, Rates
from recursa.simulation.touch import Geometry, Touch
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_NEAR = 1e-8  # m, within which something touches
_AT_REST = 1e-9  # m/s
_CREEPS = 1e-5  # m/s along a plane, under which something that changes is taken to be at rest
_TURNS = 1e-4  # m/s, from which on friction is against the speed itself, not against where it started to
_SMOOTH = 0.02  # rad/s or m/s, about which friction of joints grows to its value
_SLACK = 1e-9  # of forces
_RANK = 1e-10


class TouchingEquations(ConstrainedEquations):
    """A robot, with constraints or without, parts of which may touch planes."""

    def __init__(self, robot: Robot, *acting: Any, touches: tuple[Touch, ...]) -> None:
        super().__init__(robot, *acting)
        self.kept_on_manifold, self.passive = True, False
        self._smooth = self.rubbed  # held joints and held contacts together would leave forces undetermined
        self.rubbed = False
        self.geometry = Geometry(robot, touches)
        count = len(touches)
        self.mode, self.slip_along = np.full(count, OPEN), np.zeros((count, 2))
        self.offset = np.zeros(count)  # by how much what just touches, unloaded, may go under before it hits
        self._forces = np.zeros((count, 3))
        self._shared = np.zeros((count, 3))  # as complementarity found them last: who bears what, where that is open

    # ---- between two instants ----------------------------------------------------------------------------------------

    def rates(self, t: float, q: Array, v: Array) -> Rates:
        """Everything at an instant, in the present modes."""
        self.evaluations += 1
        tau, outside, moving, lost = self.moving(t, q, v)
        both = self.solved(q, v, moving, outside)
        a = both[self.nq :]
        if (self.locked.size or self.mode.any()) and np.isfinite(a).all():
            a, rubbed = self._touched(q, v, a)
            lost += rubbed
        return Rates(both[: self.nq], v, a, tau, self.power(q, v, a, tau, outside), lost)

    def moving(self, t: float, q: Array, v: Array) -> tuple[Array, Outside, Array, float]:
        """With friction of joints smoothed about rest, ``f v / sqrt(v^2 + s^2)``."""
        tau, outside, moving, lost = super().moving(t, q, v)
        if self._smooth:
            rub = self.rub(np.sign(v)) * np.abs(v) / np.sqrt(v * v + _SMOOTH * _SMOOTH)
            moving, lost = moving - rub, lost + float(rub @ v)
        return tau, outside, moving, lost

    def _touched(self, q: Array, v: Array, a: Array) -> tuple[Array, float]:
        """Accelerations with contact forces, and with torques at freedoms that friction holds; the power that rubs."""
        closed = np.flatnonzero(self.mode)
        J, gamma = self.geometry.rows(q)[closed], self.geometry.bias(q, v)[closed]
        along = np.einsum("kin,n->ki", J[:, 1:], v)
        rows, right, columns = (
            [np.eye(self.nv)[self.locked]],
            [np.zeros(self.locked.size)],
            [np.eye(self.nv)[self.locked]],
        )
        directions = np.array([self._direction(int(k), x) for k, x in zip(closed, along, strict=True)]).reshape(-1, 2)
        for k, one, bias, s in zip(closed, J, gamma, directions, strict=True):
            sticks = self.mode[k] == STICKS
            rows.append(one if sticks else one[:1])
            right.append(bias if sticks else bias[:1])
            columns.append(one if sticks else one[:1] - self.geometry.friction[k] * (s @ one[1:])[None])
        R, F = np.concatenate(rows), np.concatenate(columns)
        WF = self.compliance(q) @ F.T
        last = [self._shared[k] if self.mode[k] == STICKS else self._shared[k, :1] for k in closed]
        near = np.concatenate([np.zeros(self.locked.size), *last])
        asked = -(R @ a + np.concatenate(right))
        found = near + np.linalg.lstsq(R @ WF, asked - R @ (WF @ near), rcond=_RANK)[0]
        a = a + WF @ found
        a[self.locked] = 0.0
        self._forces[:] = 0.0
        at, lost = self.locked.size, 0.0
        for k, s, speed in zip(closed, directions, along, strict=True):
            if self.mode[k] == STICKS:
                self._forces[k], at = found[at : at + 3], at + 3
                continue
            rub = self.geometry.friction[k] * found[at]
            self._forces[k] = found[at], *(-rub * s)
            lost, at = lost + rub * float(s @ speed), at + 1
        return a, lost

    def _direction(self, k: int, along: Array) -> Array:
        """In which a contact slides; where it would turn round within a step it goes on as before."""
        if self.mode[k] != SLIDES:
            return np.zeros(2)
        first = self.slip_along[k]
        if not along @ first > 0.0:
            return first
        along = along + _TURNS * first
        return along / np.sqrt(along @ along)

    def margins(self, t: float, q: Array, v: Array) -> Array:
        """(2k,): distance or force across the plane, then what is left of the cone, or the speed along the plane."""
        first, second = self.geometry.gaps(q) + self.offset, np.full(len(self.mode), np.inf)
        if self.mode.any():
            counted = self.evaluations
            self.rates(t, q, v)
            self.evaluations = counted
            along = np.einsum("kin,n->ki", self.geometry.rows(q)[:, 1:], v)
            scale = _SLACK * float(np.abs(self._forces).max(initial=0.0))
            for k in np.flatnonzero(self.mode):
                across = self._forces[k, 0]
                first[k] = across + scale
                if self.mode[k] == STICKS:
                    rub = float(np.sqrt(self._forces[k, 1:] @ self._forces[k, 1:]))
                    second[k] = self.geometry.friction[k] * across + scale - rub
                else:
                    second[k] = along[k] @ self.slip_along[k]
        return np.concatenate([first, second])

    # ---- the manifold ------------------------------------------------------------------------------------------------

    def on_manifold(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Loops and contacts closed, speeds that obey them."""
        q = self._landed(q)
        J = self.geometry.rows(q)
        held = [J[k] if self.mode[k] == STICKS else J[k, :1] for k in np.flatnonzero(self.mode)]
        R = np.concatenate([self._bilateral(q), np.eye(self.nv)[self.locked], *held])
        return q, u - self._along(q, R, R @ u)

    def _bilateral(self, q: Array) -> Array:
        return self.rows(q) / self._scales[:, None]

    def _along(self, q: Array, R: Array, values: Array) -> Array:
        """The change x along ``inv(M) R*`` with ``R x = values``, by rank."""
        if not len(R):
            return np.zeros(self.nv)
        WR = Equations.compliance(self, q) @ R.T
        return WR @ np.linalg.lstsq(R @ WR, values, rcond=_RANK)[0]

    def _landed(self, q: Array) -> Array:
        closed = np.flatnonzero(self.mode)
        last = np.inf
        for _ in range(10):
            error = np.concatenate([self.errors(q) / self._scales, self.geometry.gaps(q)[closed]])
            size = float(np.abs(error).max(initial=0.0))
            if not 1e-15 < size < 0.5 * last:
                break
            R = np.concatenate([self._bilateral(q), self.geometry.rows(q)[closed, 0]])
            q, last = self.robot.integrate(q, -self._along(q, R, error)), size
        return q

    # ---- instants at which something changes -------------------------------------------------------------------------

    def settle(self, t: float, q: Array, v: Array) -> tuple[Array, float, list[int]]:
        """Impulses where something hits, then modes; speeds, the energy that was lost, and who hit."""
        geometry = self.geometry
        near = np.flatnonzero(geometry.gaps(q) <= _NEAR)
        self.mode[:], self.offset[:], self.slip_along[:] = OPEN, 0.0, 0.0
        if not near.size:
            return v, 0.0, []
        J = geometry.rows(q)[near]
        v, lost, hit = self._impact(q, v, near, J)
        across = J[:, 0] @ v
        kept = np.flatnonzero(across <= _AT_REST)
        near, J = near[kept], J[kept]
        if near.size:
            along = np.einsum("kin,n->ki", J[:, 1:], v)
            creeping = np.sqrt((along**2).sum(axis=1)) <= _CREEPS
            stopped = np.concatenate([self._bilateral(q), J[:, 0], *J[creeping, 1:]])
            v = v - self._along(q, stopped, stopped @ v)
            self._choose(t, q, v, near, J)
            v = self.on_manifold(q, v)[1]
        return v, lost, hit

    def _impact(self, q: Array, v: Array, near: Array, J: Array) -> tuple[Array, float, list[int]]:
        """Speeds after all that is near has hit or held."""
        geometry = self.geometry
        before = J[:, 0] @ v
        hitting = before < -_AT_REST
        if not hitting.any():
            return v, 0.0, []
        W = self.compliance(q)
        rows = J.reshape(-1, self.nv)
        D = rows @ W @ rows.T
        still = np.zeros((len(near), 2))
        bounce = np.where(-before > geometry.rest_speed[near], geometry.restitution[near], 0.0) * np.minimum(
            before, 0.0
        )
        plain = (rows @ v).reshape(-1, 3)
        friction = geometry.friction[near]
        dead = v + W @ rows.T @ forces(D, plain, friction, still)[0].ravel()
        after = dead
        if bounce.any():
            wanted = plain + np.stack([bounce, np.zeros_like(bounce), np.zeros_like(bounce)], axis=1)
            after = v + W @ rows.T @ forces(D, wanted, friction, still)[0].ravel()
        M = self.robot.mass_matrix(q)
        after = _without_gain(M, v, dead, after)
        lost = 0.5 * float(v @ M @ v - after @ M @ after)
        return after, lost, near[hitting].tolist()

    def _choose(self, t: float, q: Array, v: Array, near: Array, J: Array) -> None:
        """Modes of what stays: by the forces that accelerations ask for."""
        counted = self.evaluations
        a = self.rates(t, q, v).a
        self.evaluations = counted
        if not np.isfinite(a).all():
            return
        W = self.compliance(q)
        if self.locked.size:
            held = W[:, self.locked]
            W = W - held @ np.linalg.lstsq(held[self.locked], held.T, rcond=_RANK)[0]
        rows = J.reshape(-1, self.nv)
        along = np.einsum("kin,n->ki", J[:, 1:], v)
        sizes = np.sqrt((along**2).sum(axis=1))
        sliding = np.where((sizes > _CREEPS)[:, None], along / np.maximum(sizes, _CREEPS)[:, None], 0.0)
        rates = (rows @ a).reshape(-1, 3) + self.geometry.bias(q, v)[near]
        f, mode = forces(rows @ W @ rows.T, rates, self.geometry.friction[near], sliding)
        at_rest = np.abs((rates.ravel() + rows @ (W @ (rows.T @ f.ravel()))).reshape(-1, 3)[:, 1:]).max(axis=1)
        held = (mode == SLIDES) & (at_rest <= _SLACK * np.abs(rates).max()) & ~sliding.any(axis=1)
        mode = np.where(held, STICKS, mode)  # on the cone, and yet it does not move
        self._shared[near] = f
        self.mode[near] = mode
        self.offset[near[mode == OPEN]] = _NEAR
        for k, one, way, force in zip(near, mode, sliding, f, strict=True):
            if one == SLIDES:
                rub = float(np.sqrt(force[1:] @ force[1:]))
                starting = -force[1:] / rub if rub > 0.0 else np.zeros(2)
                self.slip_along[k] = way if way.any() else starting

    def require_outside(self, q: Array) -> None:
        """A start under a plane is an error."""
        gaps = self.geometry.gaps(q)
        for k in np.flatnonzero(gaps < -_NEAR)[:1]:
            one = self.geometry.touches[k]
            raise StateError(
                f"contact '{one.name}' starts {-gaps[k]:.3g} m under its plane. Lift the robot by that, or give "
                "another height="
            )


def _without_gain(M: Array, v: Array, dead: Array, after: Array) -> Array:
    """As near to ``after``, coming from ``dead``, as the energy of v allows."""
    more = after - dead
    energy = float(v @ M @ v - dead @ M @ dead)  # what may be added to twice that of dead
    square, linear = float(more @ M @ more), float(dead @ M @ more)
    if square + 2.0 * linear <= energy or square == 0.0:
        return after
    share = (-linear + np.sqrt(max(0.0, linear * linear + square * max(0.0, energy)))) / square
    return dead + min(1.0, max(0.0, share)) * more
