"""Contacts that are made and lost: between two instants each is open, slides or sticks, and all is smooth.

What lands, lifts, starts to slide or comes to rest ends a step, as an event does. There impulses (where something hits)
and then forces are found by complementarity, and say who goes on how. Newton's law of restitution holds across the
plane and Coulomb's along it; where together they would make energy, impulses go back towards those without bouncing,
just as far as it takes, so that no impact makes energy.

Dry friction of joints is smoothed about rest here: joints that friction holds, and feet that stick, hold each other in
loops through the ground, and rigid bodies leave open who bears what. Which of them lets go first would then hang on
rounding, and modes change without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recursa.errors import SimulationError, StateError
from recursa.runs.run import Setup
from recursa.simulation.complementarity import OPEN, SLIDES, STICKS, Problem, along, forces, obeying, shares
from recursa.simulation.constrained_equations import ConstrainedEquations
from recursa.simulation.equations import Outside, Rates, Settled
from recursa.simulation.state_checks import array, floats, real
from recursa.simulation.touch_geometry import Geometry, Instant, Touch
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_HARDLY_ANY = 1e-9  # s between two changes of contacts
_NEAR = 1e-8  # m, within which something touches
_AT_REST = 1e-7  # m/s across a plane: slower is no impact, and does not leave
_CREEPS = 1e-5  # m/s along a plane, under which something that changes is taken to be at rest
_SMOOTH = 0.02  # rad/s or m/s, about which friction of joints grows to its value
_PATIENCE = 3  # changes at one instant before what slides may creep back
_TURNS = 1e-4  # m/s, from which on friction is against the speed itself, not against where it started to
_SLACK = 1e-9  # of forces, by which they may leave a cone before something slides; then it certainly does
_SLACKER = 1e-5  # the same where modes change again and again at one instant
_STARTS = 0.01  # of that slack, of accelerations: what is less does not start


class Held(NamedTuple):
    """What acts where something touches."""

    a: Array  # (nv,) accelerations
    forces: Array  # (k, 3) across and along the planes
    lost: float  # power that rubs at contacts


class TouchingEquations(ConstrainedEquations):
    """A robot, with constraints or without, parts of which may touch planes."""

    modes_from_outside = has_modes = True
    advice_on_modes = "Contacts stick and slide at the same instant: change friction= a little, or the start."

    def __init__(self, robot: Robot, *acting: Any, touches: tuple[Touch, ...]) -> None:
        super().__init__(robot, *acting)
        if self.told is not None:
            raise StateError("contacts= and rc.Prescribed do not go together yet: drive the joint by torques")
        self.kept_on_manifold, self.passive = True, False
        self._smooth, self.rubbed = self.rubbed, False
        self.touches, self.geometry = touches, Geometry(robot, touches, self.given)
        count = len(touches)
        self.mode, self.slip_along = np.full(count, OPEN), np.zeros((count, 2))
        self.offset = np.zeros(count)  # by how much what just touches, unloaded, may go under before it hits, in m;
        # of what slides, how fast it may go backwards before that is a change, in m/s
        self.slack = _SLACK
        self._shared = np.zeros((count, 3))  # as complementarity found them last: who bears what, where that is open

    def setup(self, q0: Array, v0: Array) -> Setup:
        """With contacts, which sensitivities do not follow."""
        setup = super().setup(q0, v0)
        return setup._replace(unrepeatable=" and ".join(filter(None, (setup.unrepeatable, "contacts="))))

    def _compiled(self) -> Any:
        return None  # the geometry has all that there is to ask of an instant

    # ---- between two instants ----------------------------------------------------------------------------------------

    def rates(self, t: float, q: Array, v: Array) -> Rates:
        """Everything at an instant, in the present modes."""
        self.evaluations += 1
        tau, outside, moving, lost = self.moving(t, q, v)
        now = self.geometry.instant(q, v, moving, *outside)
        if now is None:
            nothing = np.full(self.nv, np.nan)
            return Rates(np.full(self.nq, np.nan), v, nothing, tau, np.nan, np.nan)
        held = self._held(now, q, v)
        return Rates(now.qdot, v, held.a, tau, self.power(q, v, held.a, tau, outside), lost + held.lost)

    def accelerated(self, q: Array, u: Array, tau: Array, outside: Outside) -> Array:
        """With contact forces."""
        now = self.geometry.instant(q, u, tau, *outside)
        return np.full(self.nv, np.nan) if now is None else self._held(now, q, u).a

    def moving(self, t: float, q: Array, v: Array) -> tuple[Array, Outside, Array, float]:
        """With friction of joints smoothed about rest, ``f v / sqrt(v^2 + s^2)``."""
        tau, outside, moving, lost = super().moving(t, q, v)
        if self._smooth:
            rub = self.rub(np.sign(v)) * np.abs(v) / np.sqrt(v * v + _SMOOTH * _SMOOTH)
            moving, lost = moving - rub, lost + float(rub @ v)
        return tau, outside, moving, lost

    def _held(self, now: Instant, q: Array, v: Array) -> Held:
        """Accelerations with contact forces; the power that rubs."""
        found = np.zeros((len(self.mode), 3))
        closed = self.mode.nonzero()[0]
        if not closed.size:
            return Held(now.a, found, 0.0)
        J = now.J.reshape(-1, 3, self.nv)[closed]
        slides = (self.mode[closed] == SLIDES).nonzero()[0]
        taken = np.ones((len(closed), 3), dtype=bool)
        taken[slides, 1:] = False
        R = F = J[taken]
        ways, along = np.zeros((0, 2)), np.zeros((0, 2))
        if slides.size:
            along = J[slides, 1:] @ v
            ways = np.array([self._direction(int(closed[k]), x) for k, x in zip(slides, along, strict=True)])
            rough = self.geometry.friction[closed[slides], None]
            F = R.copy()
            F[(taken.sum(axis=1).cumsum() - 1)[slides]] -= rough * np.einsum("ki,kin->kn", ways, J[slides, 1:])
        W = self.held_back(now.W, q)
        WF = W @ F.T
        asked = -(R @ now.a) - now.gamma.reshape(-1, 3)[closed][taken]
        A = R @ WF
        x = shares(0.5 * (A + A.T) if F is R else A, asked, self._shared[closed][taken])
        bearing = np.zeros((len(closed), 3))
        bearing[taken] = x
        lost = 0.0
        if slides.size:
            rub = self.geometry.friction[closed[slides]] * bearing[slides, 0]
            bearing[slides, 1:] = -rub[:, None] * ways
            lost = float((rub * (ways * along).sum(axis=1)).sum())
        found[closed] = bearing
        return Held(now.a + WF @ x, found, lost)

    def _direction(self, k: int, along: Array) -> Array:
        """In which a contact slides; where it would turn round within a step it goes on as before.

        What starts to slide to one side is turned at once: friction follows the force that has left its cone.
        """
        first = self.slip_along[k]
        if not along @ first > -0.5 * _TURNS:
            return np.asarray(first)
        along = along + _TURNS * first
        return np.asarray(along / np.sqrt(along @ along))

    def margins(self, t: float, q: Array, v: Array) -> Array:
        """(2k,): distance or force across the plane, then what is left of the cone, or the speed along the plane."""
        _, outside, moving, _ = self.moving(t, q, v)
        now = self.geometry.instant(q, v, moving, *outside)
        if now is None:
            return np.full(2 * len(self.mode), np.nan)
        held = self._held(now, q, v)
        across = held.forces[:, 0]
        first, second = now.gaps + self.offset, np.full(len(self.mode), np.inf)
        if self.mode.any():
            scale = self.slack * float(np.abs(held.forces).max(initial=0.0))
            along = (now.J @ v).reshape(-1, 3)[:, 1:]
            sticks, slides = self.mode == STICKS, self.mode == SLIDES
            first = np.where(self.mode == OPEN, first, across + scale)
            second[sticks] = self._left_of_cones(held.forces)[sticks]
            second[slides] = ((along * self.slip_along).sum(axis=1) + self.offset)[slides]
        return np.concatenate([first, second])

    def _left_of_cones(self, forces: Array) -> Array:
        """How much more force along its plane each contact could bear, and a little more."""
        rub = np.sqrt((forces[:, 1:] ** 2).sum(axis=1))
        slack = self.slack * float(np.abs(forces).max(initial=0.0))
        return np.asarray(self.geometry.friction * forces[:, 0] + slack - rub)

    # ---- the manifold ------------------------------------------------------------------------------------------------

    def on_manifold(self, q: Array, u: Array, t: float | None = None) -> tuple[Array, Array]:
        """Loops and contacts closed, speeds that obey them."""
        closed = np.flatnonzero(self.mode)
        if not (closed.size or self.robot.constraints):
            return q, u
        last = np.inf
        for _ in range(10):
            now = self._at(q)
            error = np.concatenate([self.errors(q) / self._scales, now.gaps[closed]])
            size = float(np.abs(error).max(initial=0.0))
            if not 1e-15 < size < 0.5 * last:
                break
            R = np.concatenate([self.scaled_rows(q), now.J[3 * closed]])
            q, last = self.robot.integrate(q, -along(now.W, R, error)), size
        taken = np.zeros((len(self.mode), 3), dtype=bool)
        taken[closed, 0] = True
        taken[self.mode == STICKS] = True
        return q, obeying(now.W, np.concatenate([self.scaled_rows(q), now.J[taken.ravel()]]), u)

    def _at(self, q: Array) -> Instant:
        """What is known of a place."""
        now = self.geometry.instant(q, self._zero, self._zero, *self._still())
        assert now is not None
        return now

    def _still(self) -> Outside:
        return () if self.wrenches is None else (np.zeros(6 * self.robot.nlinks),)

    # ---- instants at which something changes -------------------------------------------------------------------------

    def shortest_mode(self, t: float) -> float:
        """Between two changes of contacts."""
        return _HARDLY_ANY

    def settle(self, t: float, q: Array, v: Array, margin: int | None = None, stalls: int = 0) -> Settled:
        """Impulses where something hits, then modes; speeds, the energy that was lost, and who hit.

        ``margin`` is the one that has come to zero, if one has: that contact touches, whatever rounding says. After
        ``stalls`` changes at the same instant rounding, or steps too long for how fast friction turns, would decide who
        sticks: then a little more than a cone is allowed, and what slides may creep back.
        """
        now = self._at(q)
        self.slack = min(_SLACKER, _SLACK * 10.0 ** min(stalls, 9))
        touching = now.gaps <= _NEAR
        if margin is not None:
            touching[margin % len(self.mode)] = True
        near = np.flatnonzero(touching)
        self.mode[:], self.offset[:], self.slip_along[:] = OPEN, 0.0, 0.0
        if not near.size:
            return Settled(v)
        rows = now.J.reshape(-1, 3, self.nv)
        v, lost, hit = self._impact(t, q, v, near, rows[near], self.held_back(now.W, q))
        self.offset[near] = np.maximum(0.0, -now.gaps[near])  # what leaves may be under its plane by rounding
        near = near[rows[near, 0] @ v <= _AT_REST]
        if near.size:
            J = rows[near]
            creeping = np.sqrt(((J[:, 1:] @ v) ** 2).sum(axis=1)) <= _CREEPS
            stopped = [self.scaled_rows(q), J[:, 0], J[creeping, 1:].reshape(-1, self.nv)]
            v = obeying(now.W, np.concatenate(stopped), v)
            self._choose(t, q, v, near, stalls)
            v = self.on_manifold(q, v)[1]
        return Settled(v, lost, hit)

    def _impact(self, t: float, q: Array, v: Array, near: Array, J: Array, W: Array) -> Settled:
        """Speeds after all that is near has hit or held."""
        geometry = self.geometry
        before = J[:, 0] @ v
        hitting = before < -_AT_REST
        if not hitting.any():
            return Settled(v)
        rows = J.reshape(-1, self.nv)
        back = W @ rows.T
        still, friction = np.zeros((len(near), 2)), geometry.friction[near]
        bounce = np.where(-before > geometry.rest_speed[near], geometry.restitution[near], 0.0) * np.minimum(
            before, 0.0
        )
        plain = rows @ v
        first = forces(Problem(rows @ back, plain, friction, still))
        self._require_found(first.f, near, t)
        dead = after = v + back @ first.f.ravel()
        if bounce.any():
            wanted = plain.copy()
            wanted[::3] += bounce
            found = forces(Problem(rows @ back, wanted, friction, still), first.f)
            self._require_found(found.f, near, t)
            after = v + back @ found.f.ravel()
        M = self.robot.mass_matrix(q)
        after = _without_gain(M, v, dead, after)
        lost = 0.5 * float(v @ M @ v - after @ M @ after)
        return Settled(after, lost, tuple(self.touches[k].name for k in near[hitting]))

    def _choose(self, t: float, q: Array, v: Array, near: Array, stalls: int) -> None:
        """Modes of what stays: by the forces that accelerations ask for."""
        _, outside, moving, _ = self.moving(t, q, v)
        now = self.geometry.instant(q, v, moving, *outside)
        if now is None:
            return
        W = self.held_back(now.W, q)
        J = now.J.reshape(-1, 3, self.nv)[near]
        rows = J.reshape(-1, self.nv)
        along = J[:, 1:] @ v
        sizes = np.sqrt((along**2).sum(axis=1))
        sliding = np.where((sizes > _CREEPS)[:, None], along / np.maximum(sizes, _CREEPS)[:, None], 0.0)
        rates = rows @ now.a + now.gamma.reshape(-1, 3)[near].ravel()
        D = rows @ W @ rows.T
        f, found = forces(Problem(D, rates, self.geometry.friction[near], sliding), self._shared[near])
        self._require_found(f, near, t)
        ways = np.where(sliding.any(axis=1, keepdims=True), sliding, _against(f))
        starts = ((rates + D @ f.ravel()).reshape(-1, 3)[:, 1:] * ways).sum(axis=1)
        still = ~sliding.any(axis=1) & (starts <= _STARTS * self.slack * np.abs(rates).max(initial=0.0))
        self._shared[near], self.slip_along[near] = f, ways
        self.mode[near] = np.where((found == SLIDES) & still, STICKS, found)  # on its cone, and yet it does not start
        self.offset[near] = np.where(found == OPEN, np.maximum(_NEAR, self.offset[near]), 0.0)
        bearing = self._held(now, q, v).forces
        leaves = (self.mode == STICKS) & (self._left_of_cones(bearing) < 0.0)
        self.mode[leaves], self.slip_along[leaves] = SLIDES, _against(bearing)[leaves]
        if stalls >= _PATIENCE:
            self.offset[self.mode == SLIDES] = min(_TURNS, _CREEPS * 2.0 ** (stalls - _PATIENCE))

    def _require_found(self, f: Array, near: Array, t: float) -> None:
        """Rigid bodies that slide may wedge so that no force fits (Painleve)."""
        if not np.isfinite(f).all():
            names = ", ".join(f"'{self.touches[k].name}'" for k in near)
            raise SimulationError(
                f"no contact forces fit at t = {t:.9g} s, where {names} touch: what slides wedges, and rigid bodies "
                "with Coulomb's friction have no answer there. Lower friction=, or start elsewhere",
                t,
            )

    def beginning(self, q: Array, v: Array) -> tuple[Array, Array]:
        """On the manifold; a start under a plane is an error."""
        q, v = super().beginning(q, v)
        gaps = self._at(q).gaps
        for k in np.flatnonzero(gaps < -_NEAR)[:1]:
            raise StateError(
                f"contact '{self.touches[k].name}' starts {-gaps[k]:.3g} m under its plane. Lift the robot by that, or "
                "give another height="
            )
        return q, v

    # ---- keeping and bringing back -----------------------------------------------------------------------------------

    def modes(self) -> dict[str, Any]:
        """Those of the contacts, too."""
        contacts = {
            "mode": self.mode.copy(), "along": self.slip_along.copy(), "offset": self.offset.copy(),
            "shared": self._shared.copy(), "slack": self.slack,
        }  # fmt: skip
        return {**super().modes(), "contacts": contacts}

    def described_modes(self) -> dict[str, Any]:
        """What :meth:`modes` gives."""
        count = len(self.mode)
        contacts = {
            "mode": array(int, count), "along": floats(count, 2), "offset": floats(count), "shared": floats(count, 3),
            "slack": real(_SLACK, _SLACKER),
        }  # fmt: skip
        return {**super().described_modes(), "contacts": contacts}

    def restore_modes(self, kept: dict[str, Any]) -> None:
        """As they were."""
        super().restore_modes(kept)
        contacts = kept["contacts"]
        if not np.isin(contacts["mode"], (OPEN, SLIDES, STICKS)).all():
            raise ValueError("a contact is neither open nor slides nor sticks")
        self.mode, self.slip_along = contacts["mode"].copy(), contacts["along"].copy()
        self.offset, self._shared, self.slack = contacts["offset"].copy(), contacts["shared"].copy(), contacts["slack"]


def _against(forces: Array) -> Array:
    """Directions along the plane (k, 2) of what slides and feels such friction; zero where it feels none."""
    rub = np.sqrt((forces[:, 1:] ** 2).sum(axis=1, keepdims=True))
    return np.asarray(-forces[:, 1:] / np.where(rub > 0.0, rub, 1.0))


def _without_gain(M: Array, v: Array, dead: Array, after: Array) -> Array:
    """As near to ``after``, coming from ``dead``, as the energy of v allows."""
    more = after - dead
    energy = float(v @ M @ v - dead @ M @ dead)  # what may be added to twice that of dead
    square, linear = float(more @ M @ more), float(dead @ M @ more)
    if square + 2.0 * linear <= energy or square == 0.0:
        return after
    share = (-linear + np.sqrt(max(0.0, linear * linear + square * max(0.0, energy)))) / square
    return np.asarray(dead + min(1.0, max(0.0, share)) * more)
