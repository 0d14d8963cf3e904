"""Where each of what touches is, how it moves, and what forces there do: at one instant, in one native call.

Of every :class:`~recursa.Touch` come its distance from its plane, the rows J of its speeds across the plane and along
it, and gamma, the rates of ``J v`` while the joints do not accelerate. Accelerations without contact forces and what
torques do to them, ``inv(M)``, come with them, since whoever solves for contact forces needs both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recursa.constraints import plans
from recursa.constraints.ends import PLACED
from recursa.constraints.quantities import constrained
from recursa.dynamics import articulated_bodies, configuration, gathering, kinematics
from recursa.dynamics.kinematics import LINK_POSE, LINK_VELOCITY, RELATIVE, VELOCITY
from recursa.errors import ModelError, NoSweepError, StateError
from recursa.kernels.switch import extension
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.model.constraints import Triple
from recursa.model.model import WORLD, Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Motion
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, reciprocal, sqrt
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, fuse, renamed
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- -----------------------------------------------------------------------------------------------------------------
# What may touch: points, balls and wheels of links, each with a plane of the world, friction and restitution.


@dataclass(frozen=True)
class Touch:
    """A point, ball or wheel of a link that may touch a plane: it lands, sticks, slides and lifts in ``simulate``.

    - ``link``, ``at``: the link and the point of it, in that link; of a ball or a wheel its centre.
    - ``radius``: of the ball or wheel, m; 0 is a point. ``axis``: of a wheel, in axes of the link; None is a ball.
    - ``normal``, ``height``: the plane, ``normal . x = height`` in the world, m; free space is where it is more.
    - ``friction``: Coulomb's coefficient. It sticks while the force along the plane is at most ``friction`` times the
      force across it, and slides against that otherwise.
    - ``restitution``: speed across the plane after an impact over that before, 0 to 1; impacts slower than
      ``rest_speed`` in m/s do not bounce, so that bouncing comes to an end.

    >>> import numpy as np, recursa as rc
    >>> b = rc.Builder("ball")
    >>> _ = b.link("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> _ = b.joint("height", "prismatic", parent="world", child="ball")
    >>> ball = b.build(gravity=(0, 0, -9.81))
    >>> run = ball.simulate([1.1], duration=1.0, contacts=[rc.Touch("ball", radius=0.1, restitution=0.5)])
    >>> [round(one.t, 6) for one in run.events], round(float(np.sqrt(2 / 9.81)), 6)
    ([0.451524, 0.903047], 0.451524)
    """

    link: str
    at: Triple = (0.0, 0.0, 0.0)
    radius: float = 0.0
    axis: Triple | None = None
    normal: Triple = (0.0, 0.0, 1.0)
    height: float = 0.0
    friction: float = 0.6
    restitution: float = 0.0
    rest_speed: float = 1e-3
    name: str = ""

    def __post_init__(self) -> None:
        from recursa.model.inputs import finite, floats, name_of

        name_of(self.link, "link of a Touch")
        what = f"what touches with link '{self.link}'"
        for name in ("at", "normal", *(("axis",) if self.axis is not None else ())):
            numbers = floats(getattr(self, name), 3, f"{what}: {name}")
            object.__setattr__(self, name, tuple(finite(x, f"{what}: {name}") for x in numbers))
        for name in ("normal", *(("axis",) if self.axis is not None else ())):
            length = math.hypot(*getattr(self, name))
            if not length > 0.0:
                raise ModelError(f"{what}: {name} is (0, 0, 0), which is no direction")
            object.__setattr__(self, name, tuple(x / length for x in getattr(self, name)))
        for name in ("radius", "height", "friction", "restitution", "rest_speed"):
            value = finite(getattr(self, name), f"{what}: {name}")
            object.__setattr__(self, name, value)
            if value < 0.0 and name != "height":
                raise ModelError(f"{what}: {name} must be at least 0, not {value:g}")
        if self.restitution > 1.0:
            raise ModelError(f"{what}: restitution is {self.restitution:g}; over 1 impacts would make energy")
        if self.axis is not None and self.radius == 0.0:
            raise ModelError(f"{what}: a wheel, which has an axis, needs a radius")
        object.__setattr__(self, "name", str(self.name) or self.link)


def touches_of(model: Model, given: Any) -> tuple[Touch, ...]:
    """What ``contacts=`` of simulate says, checked: one Touch or several, of links that there are."""
    if given is None:
        return ()
    listed = (given,) if isinstance(given, Touch) else tuple(given) if isinstance(given, Iterable) else (given,)
    for one in listed:
        if not isinstance(one, Touch):
            raise StateError(f"contacts takes rc.Touch(link, ...) or a list of them, not {one!r}")
        model.link_index(one.link)
    return listed


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
_INVERSE = renamed(articulated_bodies.MASS_MATRIX_INVERSE_PLAN, {"nu": "unit_nu", "responses": "unit responses"})
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
    forward = plans.forward_plan(model, **options) if held else articulated_bodies.forward_plan(**options)
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
