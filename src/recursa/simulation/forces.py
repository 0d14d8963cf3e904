"""What acts on the robot during a run: torques, wrenches, stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.requirements import refuse_constraints
from recursa.dynamics.wrenches import listed_wrenches, wrench_array
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.integrators.mechanics import standing_after_end
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.model.model import Model
from recursa.model.stops import STOP_DAMPING, STOP_FREQUENCY, limited_joints
from recursa.quantities import Refusal
from recursa.simulation.moved_base import MovedBase
from recursa.sweeps.batching import Array, as_array, shape_advice
from recursa.trajectories.bounds import per_freedom

if TYPE_CHECKING:
    from recursa.robot import Robot

Torque = Callable[[float, Array, Array], Any]


@runtime_checkable
class Controller(Protocol):
    """Something that computes torques from time and state."""

    def torque(self, t: float, q: Array, v: Array) -> ArrayLike:
        """Torques (nv,) at time t in the state q, v."""


@runtime_checkable
class DesiredMotion(Protocol):
    """A motion in time, such as a trajectory."""

    @property
    def duration(self) -> float:
        """Where it ends, in seconds; it starts at 0."""

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """q, v, a at time t."""


class Remembering:
    """A controller with memory as a function of (t, q, v): ``now`` is set by whoever integrates, with ``rate``."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.now: Array = controller.start()
        self.rate: Array = np.zeros_like(self.now)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Torques; how fast it learns stays in ``rate``."""
        tau, self.rate = self.controller.driven(t, q, v, self.now)
        return tau  # type: ignore[no-any-return]


# ---- torques ---------------------------------------------------------------------------------------------------------


def torque_function(robot: Robot, torque: Any, base: MovedBase | None = None) -> Torque | None:
    """What drives the joints as a function of (t, q, v); None where nothing does.

    A controller has a method ``torque``; a desired motion a method ``sample``, and is driven by inverse dynamics along
    it; anything callable is called; numbers are a constant torque.
    """
    if torque is None:
        return None
    if isinstance(torque, Controller):
        return Remembering(torque) if getattr(torque, "memory", 0) else torque.torque
    if hasattr(torque, "sample"):
        return _feed_forward(robot, torque, base)
    if callable(torque):
        return torque
    constant = as_array(robot.model, "torque", torque, coordinates=False).astype(float)
    if constant.shape != (robot.nv,):
        raise ShapeError(f"torque has shape {constant.shape}, expected ({robot.nv},): one run has one torque per joint")
    return lambda t, q, v: constant


_CONTROLLED = Refusal(
    "torque=rc.control.ComputedTorque(robot, motion, stiffness, actuated=[...]), which drives the joints with motors"
)


def _feed_forward(robot: Robot, motion: Any, base: MovedBase | None) -> Torque:
    """Torques that keep a robot on a desired motion as long as it is on it; at its end they hold it still."""
    refuse_constraints(robot.model, "a motion as torque= of simulate", _CONTROLLED)
    sampled = standing_after_end(motion)

    def torque(t: float, _q: Array, _v: Array) -> Array:
        q, v, a = sampled(t)
        moved = (None, None) if base is None else base.acting(t)
        return robot.inverse_dynamics(q, v, a, losses=True, base_twist=moved[0], base_acceleration=moved[1])

    return torque


def checked_torque(model: Model, tau: Any, t: float) -> Array:
    """Torques that a callable returned, as an array (nv,); whether they are finite is looked at elsewhere."""
    try:
        if np.iscomplexobj(tau):  # NumPy would drop the imaginary part with a warning
            raise TypeError
        array = np.asarray(tau, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"the torque at t = {t:.6g} s must be {model.nv} real numbers, not {tau!r}") from None
    if array.shape != (model.nv,):
        advice = shape_advice(model, "tau", array.shape, coordinates=False)
        advice = ". It returned nothing: is a return missing?" if tau is None else advice
        raise ShapeError(
            f"the torque at t = {t:.6g} s has shape {array.shape}, expected ({model.nv},): one number per degree of "
            f"freedom of robot '{model.name}'{advice}"
        )
    return array


# ---- wrenches --------------------------------------------------------------------------------------------------------


def wrench_function(robot: Robot, wrenches: Any, base: MovedBase | None = None) -> Torque | None:
    """What acts on links as a function of (t, q, v) with values (6 nlinks,); None where nothing does.

    World axes are those of the world, also where the base moves in it.
    """
    if wrenches is None:
        return None
    shape = (robot.nlinks, 6)

    def poses(q: Array, t: float) -> Array:
        return robot.poses(q) if base is None else base.poses(t, robot.poses(q))

    def resolved(given: Any, q: Array, t: float) -> Array:
        array = np.asarray(wrench_array(robot.model, given, lambda: poses(q, t)), dtype=float)
        if array.shape != shape:
            raise ShapeError(f"the wrenches at t = {t:.6g} s have shape {array.shape}, expected {shape}")
        if not np.isfinite(array).all():
            link = robot.model.links[int(np.argmax(~np.isfinite(array).all(axis=1)))].name
            raise StateError(f"the wrench on link '{link}' at t = {t:.6g} s is not finite")
        return array.ravel()

    if callable(wrenches):
        return lambda t, q, v: resolved(wrenches(t, q, v), q, t)
    listed = listed_wrenches(wrenches)
    fixed = not any(one.frame == "world" for one in listed or ())
    given = np.asarray(wrenches) if listed is None else listed
    constant = resolved(given, robot.neutral(), 0.0)  # and bad input is found before the run
    return (lambda t, q, v: constant) if fixed else (lambda t, q, v: resolved(given, q, t))


# ---- stops -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Stops:
    """Springs with dampers at the joint limits: ``stiffness * depth * (1 + damping * speed)``, and never pulling.

    The damper grows with the depth (Hunt and Crossley), so that nothing jumps when a limit is touched. ``stiffness``
    in N m/rad or N/m, ``damping`` in s/rad or s/m; each one number, or one by joint name. Without a stiffness it is
    200^2 times the inertia that the joint feels at the start, the others being free. ``joints`` names some joints only.

    >>> Stops(stiffness=5e3, damping={"elbow": 0.5}).joints is None
    True
    """

    stiffness: float | Mapping[str, float] | None = None
    damping: float | Mapping[str, float] = STOP_DAMPING
    joints: Iterable[str] | None = None


class StopForces:
    """Stops of one robot, ready to be evaluated."""

    def __init__(self, robot: Robot, stops: Stops, q0: Array) -> None:
        model = robot.model
        wanted = None if stops.joints is None else set(stops.joints)
        for given in (wanted or (), *(x for x in (stops.stiffness, stops.damping) if isinstance(x, Mapping))):
            for name in given:
                model.joint_index(name)
        limited = [joint for joint in limited_joints(model) if wanted is None or joint.name in wanted]
        missing = (wanted or set()) - {joint.name for joint in limited}
        if missing:
            raise unknown_name("joint with limits", min(missing), [joint.name for joint in limited], owner=model.name)
        self.at_q = np.array([joint.q_start for joint in limited], dtype=int)
        self.at_v = np.array([joint.v_start for joint in limited], dtype=int)
        limits = np.array([sorted(joint.limits or ()) for joint in limited], dtype=float).reshape(-1, 2)
        self.lower, self.upper = limits[:, 0], limits[:, 1]
        compliance = np.diagonal(robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q0}))
        self.names = [joint.name for joint in limited]
        typical = STOP_FREQUENCY**2 / np.where(compliance > 0.0, compliance, np.inf), np.full(robot.nv, STOP_DAMPING)
        self.stiffness, self.damping = (
            per_freedom(robot, f"{name} of stops", getattr(stops, name), usual)[self.at_v]
            for name, usual in zip(("stiffness", "damping"), typical, strict=True)
        )

    def __call__(self, q: Array, v: Array) -> Array | None:
        """Torques (nv,), or None where no joint is beyond a limit."""
        own = q[self.at_q]
        depth = np.maximum(own - self.upper, 0.0) - np.maximum(self.lower - own, 0.0)
        if not depth.any():
            return None
        inward = np.sign(depth) * v[self.at_v]
        torque = np.zeros(len(v))
        torque[self.at_v] = -self.stiffness * depth * np.maximum(1.0 + self.damping * inward, 0.0)
        return torque


def stop_forces(robot: Robot, stops: Any, q0: Array) -> StopForces | None:
    """From what the caller gave: None or False is no stop, True the usual ones."""
    if stops is None or stops is False:
        return None
    if stops is True:
        stops = Stops()
    if not isinstance(stops, Stops):
        raise StateError(f"stops must be True, False or rc.Stops(stiffness=, damping=), not {stops!r}")
    forces = StopForces(robot, stops, q0)
    return forces if len(forces.at_q) else None
