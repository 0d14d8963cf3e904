"""What all controllers share: a robot, torques within limits, and a report of where limits were met."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from recursa.constraints.balancing import driven_speeds
from recursa.control.law_arithmetic import Arithmetic, OnArrays, X, added
from recursa.control.settings import numbers, torque_limits
from recursa.dynamics.inverse import GRAVITY_FORCES
from recursa.dynamics.reference import REFERENCE_DYNAMICS
from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import NoSweepError, ShapeError, StateError, unknown_name
from recursa.methods.constrained_motion import motors_of
from recursa.methods.inverse_and_forward import BIAS_FORCES, FORWARD_DYNAMICS, INVERSE_DYNAMICS, names_of
from recursa.model.columns import freedom_name
from recursa.quantities import Refusal
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar, where
from recursa.sweeps.batching import Array

TREES_ONLY = Refusal(
    "rc.control.ComputedTorque or rc.control.GravityPD with actuated=[...], which obey the constraints"
)
"""For laws whose promises do not hold on the motion that constraints allow."""


@dataclass(frozen=True)
class Saturation:
    """A freedom whose torque was cut off: the worst ``demand`` (and when), its ``limit``, the ``share`` of instants."""

    freedom: str
    demand: float
    time: float
    limit: float
    share: float

    def __str__(self) -> str:
        return (
            f"{self.freedom}: {100 * self.share:.3g} % of the instants at its limit of {self.limit:.6g}; "
            f"the largest demand is {self.demand:.6g}, at t = {self.time:.6g} s"
        )


class Law:
    """A control law for one robot. :meth:`demand` is what it asks for, :meth:`torque` what the limits leave of it.

    ``effort``: limits of the torques, "model" for those of the joints, numbers (one, or per freedom, or by joint
    name), or None. A free joint has no motor: robots with one are refused unless ``drive_base=True`` says that its six
    freedoms are driven, too, as by thrusters.

    ``actuated``: names of the joints that have motors, which a robot with constraints needs. The law is then meant for
    all joints, and the motors do what its torques would do: their own torques are the shortest that give the same
    motion while the constraints carry what they can (:meth:`Robot.actuator_torques`). Where the motors cannot, it is a
    :class:`~recursa.StateError`. Laws whose promises do not hold on the motion that constraints allow are refused.

    Any instants may be asked for, in any order, also many at once (leading axes of t, q, v): what a law remembers, if
    it does, is an array of numbers that whoever moves the robot integrates along, ``memory`` of them from
    :meth:`start`, with the rates that :meth:`learning` gives. :meth:`Robot.simulate` and :func:`recursa.rollout` do.

    A law is one method, :meth:`law`, in operations that can be followed into native code. ``GAINS`` are the attributes
    it takes its numbers from: in a rollout every row may have its own, and :meth:`with_gains` is the same law with
    others.
    """

    GAINS: tuple[str, ...] = ()
    CHOICES: tuple[str, ...] = ()  # the attributes, other than numbers, that :meth:`law` depends on
    SIGNED: tuple[str, ...] = ()  # of these, those that may be negative
    memory: int = 0
    remembers: str = ""  # the attribute with the numbers that it starts from
    on_constraints: Literal["obeys"] | Refusal = "obeys"

    def __init__(
        self, robot: Robot, effort: Any = None, drive_base: bool = False, actuated: Collection[str] | None = None
    ) -> None:
        if not isinstance(robot, Robot):
            raise StateError(f"the first argument of a controller is a robot, not {robot!r}")
        self.robot = robot
        if isinstance(self.on_constraints, Refusal):
            refuse_constraints(robot.model, f"rc.control.{type(self).__name__}", self.on_constraints)
        self.actuated = None if actuated is None else names_of(actuated, "actuated")
        if robot.constraints or self.actuated is not None:
            self.actuated = motors_of(robot.model, self.actuated)
            driven_speeds(robot.model, self.actuated)  # a mistake is found now
        for joint in robot.model.joints:
            if joint.kind.is_free and not drive_base and self.actuated is None:
                raise NoSweepError(
                    f"{type(self).__name__} needs a torque at every freedom, and joint '{joint.name}' of robot "
                    f"'{robot.name}' is free: nothing drives it. If thrusters do, say drive_base=True; or control the "
                    "arm on a fixed base"
                )
        self.effort = torque_limits(robot, effort)

    # ---- what a law says ---------------------------------------------------------------------------------------------

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Torques, and the rates of what is remembered (None for a law without memory), whatever the limits."""
        raise StateError(
            f"{type(self).__name__} does not say its law: write a method law(on, q, v, gains, sample, memory), see "
            "rc.control.Law"
        )

    def sample(self, t: ArrayLike) -> Array:
        """All that depends on time alone, (..., n), as :meth:`law` takes it; nothing by default."""
        return np.zeros((*np.shape(t), 0))

    def built_in(self) -> tuple[Hashable, ...]:
        """Choices, other than numbers of ``GAINS`` and of samples, that :meth:`law` depends on."""
        return tuple(getattr(self, name) for name in self.CHOICES)

    # ---- torques -----------------------------------------------------------------------------------------------------

    @property
    def tuning(self) -> dict[str, Array]:
        """The numbers of the law by name."""
        limits = {} if self.effort is None else {"effort": self.effort}
        return {name: np.asarray(getattr(self, name), dtype=float) for name in self.GAINS} | limits

    def with_gains(self, **gains: ArrayLike) -> Self:
        """The same law with other gains, of the same shapes.

        >>> import recursa as rc
        >>> hold = rc.control.GravityPD(rc.robots.planar(2), [0.0, 0.5], stiffness=50.0, damping=5.0)
        >>> hold.with_gains(stiffness=[80.0, 40.0]).stiffness
        array([80., 40.])
        """
        other = copy(self)
        for name, value in gains.items():
            array = self.gains_of_rows(name, value)
            own = np.shape(getattr(self, name))
            if array.shape != own:
                raise ShapeError(f"{name} has shape {array.shape}, expected {own}: one law has one of each")
            setattr(other, name, array)
        return other

    def gains_of_rows(self, name: str, value: ArrayLike) -> Array:
        """Gains (..., shape of the law's own) that someone hands in, checked."""
        known = [*self.tuning, *([self.remembers] if self.remembers else [])]
        if name not in known:
            raise unknown_name(f"gain of {type(self).__name__}", name, known)
        array = np.asarray(value, dtype=float) if name == "effort" else numbers(name, value)
        own = np.shape(getattr(self, name))
        if array.ndim == 0 or (len(own) == 1 and array.shape[-1] == 1):
            array = np.broadcast_to(array, (*array.shape[:-1], *own))
        if array.ndim < len(own) or array.shape[array.ndim - len(own) :] != own:
            each = "".join(f", {n}" for n in own)
            raise ShapeError(
                f"{name} has shape {array.shape}, expected (...{each}), or (..., 1) for one number per row"
            )
        if name not in self.SIGNED and len(own) < 2 and (array < 0.0).any():
            raise StateError(f"{name} must not be negative; the least is {array.min():g}")
        if np.isnan(array).any():
            raise StateError(f"{name} must be numbers, and some are nan")
        return array

    def drive(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """:meth:`law` at the joints that have motors, within the limits of effort."""
        tau, learned = self._lawful(on, q, v, gains, sample, memory)
        if self.effort is not None:
            tau = on.apply(_clipped, self.robot.nv, tau, gains["effort"])
        return tau, learned

    def _lawful(
        self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X
    ) -> tuple[X, X | None]:
        """:meth:`law`, done by the motors."""
        tau, learned = self.law(on, q, v, gains, sample, memory)
        return (tau if self.actuated is None else on.motors(self.actuated, q, tau)), learned

    def demand(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, memory: ArrayLike | None = None) -> Array:
        """Torques (..., nv) at time t in the state q, v, whatever the limits."""
        return self._found(t, q, v, memory)[0]

    def torque(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, memory: ArrayLike | None = None) -> Array:
        """Torques (..., nv) at time t in the state q, v, within the limits."""
        return self._limited(self.demand(t, *self._state(q, v), *(() if memory is None else (memory,))))

    def learning(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, memory: ArrayLike | None = None) -> Array:
        """Rates (..., memory) of what the law remembers."""
        found = self._found(t, *self._state(q, v), memory)[1]
        return np.zeros((*np.shape(q)[:-1], 0)) if found is None else found

    def driven(self, t: float, q: Array, v: Array, memory: Array) -> tuple[Array, Array]:
        """Torques within the limits and what is learned, of one state, for whoever integrates both."""
        tau, learned = self._found(t, *self._state(q, v), memory)
        assert learned is not None
        return self._limited(tau), learned

    def _limited(self, tau: Array) -> Array:
        return tau if self.effort is None else np.clip(tau, -self.effort, self.effort)

    def start(self) -> Array:
        """What a law remembers when a motion begins, (memory,)."""
        return np.array(getattr(self, self.remembers), dtype=float) if self.remembers else np.zeros(self.memory)

    def _found(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, memory: ArrayLike | None) -> tuple[Array, Array | None]:
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        known = self.start() if memory is None else np.asarray(memory, dtype=float)
        if known.shape[-1:] != (self.memory,):
            raise ShapeError(f"memory has shape {known.shape}, expected (..., {self.memory})")
        flat = {name: x.reshape(-1) for name, x in self.tuning.items()}
        return self._lawful(OnArrays(self.robot), q, v, flat, self.sample(t), known)

    def saturation(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, memory: ArrayLike | None = None) -> list[Saturation]:
        """Which freedoms are at their limit at some of the instants (n,) of a motion; empty where none is.

        For a run: ``controller.saturation(run.t, run.q, run.v)``, and with ``run.memory`` where the law remembers.
        """
        if self.effort is None:
            return []
        times = np.atleast_1d(np.asarray(t, dtype=float))
        more = () if memory is None else (np.atleast_2d(np.asarray(memory, dtype=float)),)
        wanted = np.atleast_2d(self.demand(times, *(np.atleast_2d(x) for x in self._state(q, v)), *more))
        beyond = np.abs(wanted) > self.effort
        found = []
        for freedom in np.flatnonzero(beyond.any(axis=0)):
            worst = int(np.argmax(np.abs(wanted[:, freedom])))
            found.append(
                Saturation(
                    freedom_name(self.robot.model, int(freedom)),
                    float(wanted[worst, freedom]),
                    float(times[worst]),
                    float(self.effort[freedom]),
                    float(beyond[:, freedom].mean()),
                )
            )
        return found

    # ---- parts of laws -----------------------------------------------------------------------------------------------

    def _resting(self, on: Arithmetic[X], q: X, v: X) -> X:
        """Torques that hold the robot still, against gravity and springs."""
        if not self.robot.model.has_springs:
            return on.ask(GRAVITY_FORCES, q=q)
        nv = self.robot.nv
        return on.ask(BIAS_FORCES, q=q, v=on.apply(lambda _: [0.0] * nv, nv, v))

    def _carried(self, on: Arithmetic[X], q: X, v: X, tau: X) -> X:
        """Torques with those that hold the robot still, for laws with a choice ``gravity``."""
        return self._sum(on, tau, self._resting(on, q, v)) if self.gravity else tau  # type: ignore[attr-defined]

    def _moving(self, on: Arithmetic[X], q: X, v: X, a: X) -> X:
        """Torques at all joints for accelerations a; constraints take no part in them."""
        if not self.robot.constraints:
            return on.ask(INVERSE_DYNAMICS, q=q, v=v, a=a)
        return on.ask(REFERENCE_DYNAMICS, q=q, v=v, v_r=v, a_r=a)

    def _allowed(self, on: Arithmetic[X], q: X, v: X, a: X) -> X:
        """The accelerations nearest to a that the constraints allow, in the metric of the mass matrix."""
        return on.ask(FORWARD_DYNAMICS, q=q, v=v, tau=self._moving(on, q, v, a)) if self.robot.constraints else a

    def _gained(self, on: Arithmetic[X], gain: X, x: X, name: str) -> X:
        """A gain times a vector: entry by entry, or as a matrix."""
        size = np.shape(getattr(self, name))[-1]
        if np.ndim(getattr(self, name)) == 2:
            return on.product(gain, x, size)
        return on.apply(lambda c, y: [a * b for a, b in zip(c, y, strict=True)], size, gain, x)

    def _sum(self, on: Arithmetic[X], *arrays: X) -> X:
        return on.apply(added, self.robot.nv, *arrays)

    def _state(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """As arrays, finite; their shapes are looked at by what computes with them."""
        state = np.asarray(q), np.asarray(v)
        for name, part in zip(("q", "v"), state, strict=True):
            if part.dtype.kind not in "fiu":
                raise StateError(f"{name} must be real numbers, not {part.dtype}")
            if not np.isfinite(part).all():
                raise StateError(f"{name} has entries that are not finite: {part}")
        return state

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of '{self.robot.name}'>"


def _clipped(torques: list[Scalar], limits: list[Scalar]) -> list[Scalar]:
    """Within the limits; what is not a number stays so."""
    return [where(x < -e, -e, where(x > e, e, x)) for x, e in zip(torques, limits, strict=True)]


def weighed(gain: Array, x: Array) -> Array:
    """A gain, a matrix or its diagonal, times vectors (..., n)."""
    return np.asarray(x @ gain if gain.ndim == 2 else x * gain)
