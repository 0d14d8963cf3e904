"""Where each of what touches is, how it moves, and what forces there do: at one instant, in one native call.

Of every :class:`~recursa.Touch` come its distance from its plane, the rows J of its speeds across the plane and along
it, and gamma, the rates of ``J v`` while the joints do not accelerate. Accelerations without contact forces and what
torques do to them, ``inv(M)``, come with them, since whoever solves for contact forces needs both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recursa.constraints import plans
from recursa.constraints.ends import PLACED
from recursa.constraints.quantities import constrained
from recursa.dynamics import articulated, configuration, gathering, kinematics
from recursa.dynamics.kinematics import LINK_POSE, LINK_VELOCITY, RELATIVE, VELOCITY
from recursa.errors import NoSweepError
from recursa.kernels.switch import extension
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.model.model import WORLD, Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.simulation.touch import Touch
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, reciprocal, sqrt
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, fuse, renamed
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

Plain = tuple[int, tuple[float, ...], float, tuple[float, ...] | None, tuple[float, ...], float]
"""A Touch as options of quantities have it: number of the link, at, radius, axis, normal, height."""


class Instant(NamedTuple):
    """What is known of an instant before contact forces are."""

    qdot: Array  # (nq,)
    a: Array  # (nv,) without contact forces
    W: Array  # (nv, nv) inv(M), of the tree
    gaps: Array  # (k,) distances from the planes
    J: Array  # (3 k, nv) speeds of each: across its plane, then two along it
    gamma: Array  # (3 k,) the rates of J v while the joints do not accelerate


def plain(robot: Robot, touches: tuple[Touch, ...]) -> tuple[Plain, ...]:
    """What touches, as options of quantities have it."""
    return tuple(
        (robot.model.link_index(one.link), one.at, one.radius, one.axis, one.normal, one.height) for one in touches
    )


class Geometry:
    """What touches, for one robot."""

    def __init__(self, robot: Robot, touches: tuple[Touch, ...], given: tuple[str, ...] = ()) -> None:
        extension("simulation with contacts")
        self.robot, self.touches, self.given = robot, touches, given
        self.count = len(touches)
        self.axes = np.array([axes_of(one.normal) for one in touches]).reshape(-1, 3, 3)  # rows: normal, two across
        self.friction = np.array([one.friction for one in touches])
        self.restitution = np.array([one.restitution for one in touches])
        self.rest_speed = np.array([one.rest_speed for one in touches])
        nq, nv, k = robot.nq, robot.nv, self.count
        self._shapes = ((nq,), (nv,), (nv, nv), (k,), (3 * k, nv), (3 * k,))
        self._cuts = np.cumsum([int(np.prod(shape)) for shape in self._shapes])[:-1].tolist()
        self._native: Any = None
        self._inverse: Any = None  # a kernel of its own, where one for all would be too long
        if not robot.evaluator.subject.tied:
            options = {"touches": plain(robot, touches)}
            self._native = robot.evaluator.trusting_entry(TOUCHING, given, options)
            if self._native is None:
                self._inverse = robot.evaluator.tree.trusting_entry(MASS_MATRIX_INVERSE)
            if self._inverse is not None:
                self._native = robot.evaluator.trusting_entry(TOUCHING, given, {**options, "inverse": False})

    def instant(self, q: Array, v: Array, tau: Array, *outside: Array) -> Instant | None:
        """At a state with the torques that move the bodies; None where something is not finite."""
        if self._native is not None:
            flat: Any = self._native(q, v, tau, *outside)
            W: Any = None if self._inverse is None else self._inverse(q)
            if flat is not NotImplemented and W is not NotImplemented:
                return self._cut(flat if W is None else np.insert(flat, self._cuts[1], W.ravel()))
        if not all(np.isfinite(x).all() for x in (q, v, tau)):
            return None
        return self._by_parts(q, v, tau, outside)

    def _cut(self, flat: Array) -> Instant:
        at, parts = 0, []
        for shape, end in zip(self._shapes, (*self._cuts, len(flat)), strict=True):
            parts.append(flat[at:end].reshape(shape))
            at = end
        return Instant(*parts)

    def _by_parts(self, q: Array, v: Array, tau: Array, outside: tuple[Array, ...]) -> Instant:
        """For tied joints, for robots beyond two kernels, and where methods are to say what is not finite."""
        robot = self.robot
        given = zip(self.given, outside, strict=True)
        named: dict[str, Any] = {name: x.reshape(-1, 6) if name == "wrenches" else x for name, x in given}
        a = robot.forward_dynamics(q, v, tau, **named)
        W = robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q})
        places = robot.evaluator.evaluate(TOUCHED_PLACES, {"q": q, "v": v}, {"touches": plain(robot, self.touches)})
        qdot, rest = np.split(places, [robot.nq])
        return self._cut(np.concatenate([qdot, a, W.ravel(), rest]))


def axes_of(normal: tuple[float, ...]) -> Array:
    """The normal of a plane, and two directions along it."""
    n = np.array(normal)
    across = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    across /= np.sqrt(across @ across)
    return np.array([n, np.cross(across, n), across])


def _down(one: Plain, R: Rotation, w: Vec3) -> tuple[Vec3, Vec3]:
    """From the centre of a ball or wheel towards its plane, of length 1, and its rate.

    Of a wheel with its axis a it is ``-m/|m|``, ``m = n - (n.a) a``. Its rate is that of the place of touch, which
    wanders over the wheel; a ball's does not change.
    """
    n = Vec3(*one[4])
    if one[3] is None:
        return -n, ZERO
    axis = R @ Vec3(*one[3])
    turned = w.cross(axis)
    m = n - axis * n.dot(axis)
    rate = -(axis * n.dot(turned)) - turned * n.dot(axis)
    over = reciprocal(sqrt(m.dot(m) + _FLAT))
    down = m * -over
    return down, (rate + down * -down.dot(rate)) * -over


_FLAT = 1e-24  # a wheel that lies flat has no lowest point; it stays finite


# ---- as a plan -----------------------------------------------------------------------------------------------------


def columns_in_world(joint: Joint, pose: Transform) -> tuple[Motion, ...]:
    """H* of a joint in axes of the world, at the body's origin."""
    turn = pose.rotation
    return tuple(Motion(turn @ one.angular, turn @ one.linear) for one in joint.columns())


_COLUMNS = Step(columns_in_world, ("joint", "W"), ("S",), "s = W H*, at the body's origin")
_INVERSE = renamed(articulated.MASS_MATRIX_INVERSE_PLAN, {"nu": "unit_nu", "responses": "unit responses"})
_LINK_DRIFT = Step(kinematics.link_motion, ("drift@body", "offset"), ("DL",), "drift(link) = phi* drift(body)")


def _places(links: tuple[int, ...]) -> Plan:
    """Poses, speeds and drifts of the links that touch, and columns of all joints."""
    at_links = (each_link(LINK_POSE, LINK_VELOCITY, _LINK_DRIFT, only=links),) if links else ()
    sweeps = (base_to_tip(RELATIVE, VELOCITY, plans.DRIFT, PLACED, _COLUMNS), *at_links)
    own = (Buffer("S", ()), *(Buffer(name, Motion.zero()) for name in ("drift", "DL")))
    plan = Plan("places of touch", (*kinematics.BUFFERS, *kinematics.LINK_BUFFERS, *own), sweeps)
    return renamed(plan, {"W": "place", "L": "link place"})  # constraints place the bodies that they need


def _entries(model: Model, touches: tuple[Plain, ...], values: Values) -> Iterator[Scalar]:
    """Gaps, J, gamma."""
    gaps, rows, gamma = list[Scalar](), list[Scalar](), list[Scalar]()
    for one in touches:
        link = model.links[one[0]]
        pose, speed, drift = (values.lists[name][one[0]] for name in ("link place", "VL", "DL"))
        R = pose.rotation
        w, turn = R @ speed.angular, R @ drift.angular
        move = R @ (drift.linear + speed.angular.cross(speed.linear))
        arm, (down, down_rate) = R @ Vec3(*one[1]), _down(one, R, w)
        reach = arm + down * one[2]
        point = pose.translation + reach
        axes = [Vec3(*row) for row in axes_of(one[4]).tolist()]
        gaps.append(axes[0].dot(point) - one[5])
        columns = _columns(model, link.body, point, values)
        rows += [axis.dot(columns[i]) if i in columns else 0.0 for axis in axes for i in range(model.nv)]
        rate = move + turn.cross(reach) + w.cross(w.cross(arm)) + w.cross(down_rate) * one[2]
        gamma += [axis.dot(rate) for axis in axes]
    return chain(gaps, rows, gamma)


def _columns(model: Model, body: int, point: Vec3, values: Values) -> dict[int, Vec3]:
    """How a point of a body moves with each freedom that moves it."""
    found: dict[int, Vec3] = {}
    while body != WORLD:
        joint, arm = model.joints[body], point - values.lists["place"][body].translation
        for i, one in enumerate(values.lists["S"][body]):
            at, factor = gathering.speed_index(joint, i)
            moved = one.linear + one.angular.cross(arm)
            moved = moved if factor is None else moved * factor
            found[at] = found[at] + moved if at in found else moved
        body = joint.parent
    return found


def _touching(of: Subject, given: Names, *, touches: tuple[Plain, ...] = (), inverse: bool = True) -> Recipe:
    model = of.model
    if of.tied:
        raise NoSweepError(f"robot '{model.name}' has tied joints, which the recursion does not know")
    options = {"wrenches": "wrenches" in given, "springs": model.has_springs}
    held = constrained(of)
    forward = plans.forward_plan(model, **options) if held else articulated.forward_plan(**options)
    places = _places(tuple(sorted({one[0] for one in touches})))
    parts = [forward, configuration.COORDINATE_RATES_PLAN, places, *((_INVERSE,) if inverse else ())]
    shape = model.nq + model.nv * (1 + model.nv * inverse) + len(touches) * (4 + 3 * model.nv)
    return Recipe(fuse(*parts, name="touching"), partial(_gathered, model, touches, True, inverse), (shape,))


def _gathered(
    model: Model, touches: tuple[Plain, ...], forward: bool, inverse: bool, values: Values
) -> Iterator[Scalar]:
    yield from configuration.rate_entries(values)
    if forward:
        yield from gathering.joint_vector(model, values.lists.get("qdd", []))
    if inverse:
        yield from gathering.joint_matrix(model, values.lists.get("rows", []), symmetric=True)
    yield from _entries(model, touches, values)


def _touched_places(of: Subject, given: Names, *, touches: tuple[Plain, ...] = ()) -> Recipe:
    model = of.model
    places = _places(tuple(sorted({one[0] for one in touches})))
    plan = fuse(configuration.COORDINATE_RATES_PLAN, places, name="touched_places")
    shape = model.nq + len(touches) * (4 + 3 * model.nv)
    return Recipe(plan, partial(_gathered, model, touches, False, False), (shape,))


TOUCHING = Quantity(
    "simulation.touching",
    ("q", "v", "tau"),
    _touching,
    "dq/dt, dv/dt without contact forces, inv(M), distances from planes, rows and bias of what touches",
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
)
TOUCHED_PLACES = Quantity(
    "simulation.touched_places",
    ("q", "v"),
    _touched_places,
    "dq/dt, distances from planes, rows and bias of what touches",
)
