"""The frame pass: link frames moved onto joint axes, where transforms are cheapest.

Torques, accelerations of joints and the mass matrix do not depend on where link frames sit. So kernels for them use
frames in the modified Denavit-Hartenberg placement: z along the joint's axis, x along the common normal to the next
axis (of the first child). A step from parent to body is then ``Rx(alpha) Tx(a) Rz(theta) Tz(d)``, two screws, with one
more in front for further children of a branch; the world frame is put onto the first axis too. Right angles and zero
offsets come out exact, and the tracer drops what multiplies zero.

The common normal of nearly parallel axes (a right angle written as 1.5708) lies kilometres away, where inertias lose
all digits. Frames of such axes stay near their bodies, and the step takes one more screw, ``Ty``.

Joints with several freedoms keep their frames, because their speeds are in link axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from recursa.model.joint_kind import Hinge
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial import constant_trig
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.scalars import Formula, Scalar, Subtraction, cos, sin
from recursa.spatial.transform import IDENTITY_TRANSFORM, Screw, ScrewChain, Transform
from recursa.spatial.vec3 import SYM_ZERO, X_AXIS, Z_AXIS, ZERO, SymMat3, Vec3

# ---- zeros that rounding hides: what is left of terms that cancel is told from a number that is small ----------------
# ``0.3 - (0.1 + 0.2)`` is 6e-17, and code that is generated from it would multiply by it for ever. Whether a number is
# such a remainder cannot be seen from the number; it can from the terms that it was added up from.


_ROUNDING = 1e-14  # of the terms: some fifty times what one operation loses


class Weighed(Subtraction):
    """A scalar that knows the sum of the sizes of its terms.

    >>> rest = Weighed(0.1) + 0.2 - 0.3
    >>> rest.value != 0.0, rest.settled(), (Weighed(1e-20) * 2.0).settled()
    (True, 0.0, 2e-20)
    """

    __array_ufunc__ = None
    __slots__ = ("value", "weight")

    def __init__(self, value: float, weight: float | None = None) -> None:
        self.value = float(value)
        self.weight = abs(self.value) if weight is None else weight

    def __add__(self, other: Any) -> Weighed:
        other = _weighed(other)
        return Weighed(self.value + other.value, self.weight + other.weight)

    __radd__ = __add__

    def __neg__(self) -> Weighed:
        return Weighed(-self.value, self.weight)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector, which scales itself
            return NotImplemented
        other = _weighed(other)
        return Weighed(self.value * other.value, self.weight * other.weight)

    __rmul__ = __mul__

    def settled(self) -> float:
        """The number; zero where it is nothing but what rounding left of its terms."""
        return 0.0 if abs(self.value) <= _ROUNDING * self.weight < math.inf else self.value


def _weighed(x: Any) -> Weighed:
    return x if isinstance(x, Weighed) else Weighed(x)


def weighed_inertia(inertia: RigidInertia) -> RigidInertia:
    """The same of weighed numbers."""
    return RigidInertia.from_components([Weighed(x) for x in inertia.components()])


def weighed_transform(pose: Transform) -> Transform:
    """The same of weighed numbers; an entry of a rotation carries the rounding of numbers of size one, unless exact."""
    entries = (Weighed(x, abs(x) if x in (0.0, 1.0, -1.0) else 1.0) for x in pose.rotation)
    return Transform(Rotation(*entries), Vec3(*(Weighed(x) for x in pose.translation)))


def settled_inertia(inertia: RigidInertia) -> RigidInertia:
    """Plain numbers again, remainders of rounding being zero."""
    return RigidInertia.from_components([_weighed(x).settled() for x in inertia.components()])


def added_inertia(total: RigidInertia, inertia: RigidInertia, pose: Transform) -> RigidInertia:
    """``total`` and a body more that is fixed to it at a pose, remainders of rounding being zero.

    Plain numbers tell of most sums that they are no such remainders: then nothing has to be weighed.
    """
    plain = total + pose.inertia(inertia)
    if any(isinstance(x, Formula) for x in plain.components()):  # formulas do not round
        return plain
    if _certain(plain, total, inertia, pose):
        return plain
    return settled_inertia(total + weighed_transform(pose).inertia(inertia))


def _certain(plain: RigidInertia, total: RigidInertia, own: RigidInertia, pose: Transform) -> bool:
    """Whether all numbers are exact zeros, or larger than what rounding can leave of any terms: bounds of weights."""
    mass, distance = abs(own.mass), _size(pose.translation)
    first = _size(own.first) + mass * distance
    moment = 16.0 * _size(own.moment) + 5.0 * distance * first
    return (
        _beyond(_ROUNDING * (abs(total.mass) + mass), (plain.mass,))
        and _beyond(_ROUNDING * (_size(total.first) + first), plain.first)
        and _beyond(_ROUNDING * (_size(total.moment) + moment), plain.moment)
    )


def _size(numbers: Iterable[float]) -> float:
    return sum(map(abs, numbers))


def _beyond(bound: float, numbers: Iterable[float]) -> bool:
    return all(abs(x) > bound or x == 0.0 for x in numbers)


_NEARLY_PARALLEL = 0.05  # sine of the angle below which a common normal lies too far away to be of use
_SNAP = 1e-12  # what is smaller counts as zero


@dataclass(frozen=True)
class CanonicalJoint(Joint):
    """A joint about or along z whose step from the parent is a chain of screws.

    ``before`` are constant; ``angle`` (with cosine and sine ``turn``) and ``shift`` are the offsets of the last screw,
    to which q is added.
    """

    constants: ClassVar[tuple[str, ...]] = (*Joint.constants, "before", "angle", "turn", "shift")

    before: tuple[Screw, ...] = ()
    angle: float = 0.0
    turn: tuple[float, float] = (1.0, 0.0)
    shift: float = 0.0

    def transform(self, q: Sequence[Scalar]) -> ScrewChain:  # type: ignore[override]
        """Pose of this body in its parent."""
        if self.kind.slides:
            last = Screw(2, *self.turn, q[0] + self.shift)
        else:
            advance = q[0] * self.hinge.pitch if self.kind.has_pitch else 0.0
            last = Screw(2, *self._turned(q[0]), advance + self.shift)
        return ScrewChain((*self.before, last))

    def _turned(self, q: Scalar) -> tuple[Scalar, Scalar]:
        """Cosine and sine of ``q + angle``; for quarter turns, a matter of names and signs."""
        if self.turn not in _QUARTER_TURNS:
            turned = q + self.angle
            return cos(turned), sin(turned)
        (c, s), (along, across) = (cos(q), sin(q)), self.turn
        return along * c - across * s, across * c + along * s


_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def canonical(model: Model) -> Model:
    """The same mechanism with its frames moved; only joint-space quantities may be asked of it."""
    frames = _frames(model)  # pose of the new frame in the old one, per body
    world = frames[WORLD]
    joints, inertias = [], []
    for number, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True)):
        step = frames[joint.parent].inverse @ _step_at_zero(joint)
        if frames[number] is IDENTITY_TRANSFORM:  # several freedoms: the joint keeps its frame
            joints.append(replace(joint, placement=_snapped(frames[joint.parent].inverse @ joint.placement)))
            inertias.append(inertia)
        else:
            joints.append(_screws(joint, step @ frames[number]))
            moved = weighed_transform(frames[number]).inverse.inertia(inertia)
            inertias.append(settled_inertia(moved))
    links = tuple(replace(link, offset=_snapped(frames[link.body].inverse @ link.offset)) for link in model.links)
    down = world.rotation.inverse_times(Vec3(*model.gravity))
    gravity = (_clean(down.x), _clean(down.y), _clean(down.z))
    return replace(model, joints=tuple(joints), inertias=tuple(inertias), links=links, gravity=gravity)


def axis_frames(model: Model) -> tuple[Transform, ...]:
    """Poses of the frames that :func:`canonical` gives to the bodies, in the frames that they had."""
    frames = _frames(model)
    return tuple(frames[number] for number in range(model.nbodies))


def _step_at_zero(joint: Joint) -> Transform:
    """Pose of the body in its parent at q = 0; joints with several freedoms are left out of it."""
    return joint.placement if joint.after is None else joint.placement @ joint.after


def _frames(model: Model) -> dict[int, Transform]:
    """Where the new frames sit in the old ones, parents first."""
    first_child: dict[int, int] = {}
    for number, joint in enumerate(model.joints):
        first_child.setdefault(joint.parent, number)
    frames: dict[int, Transform] = {WORLD: IDENTITY_TRANSFORM}
    root = first_child.get(WORLD)
    if root is not None and model.joints[root].kind.nv == 1:
        frames[WORLD] = _world_frame(model, root, first_child)
    for number, joint in enumerate(model.joints):
        if joint.kind.nv != 1:
            frames[number] = IDENTITY_TRANSFORM
            continue
        axis = _own_axis(joint)
        arrival = _step_at_zero(joint).inverse @ frames[joint.parent]  # in this body's old coordinates, at q = 0
        child = first_child.get(number)
        frames[number] = _placed(axis, None if child is None else _axis_in_parent(model.joints[child]), arrival)
    return frames


Line = tuple[Vec3, Vec3]  # direction, point


def _own_axis(joint: Joint) -> Line:
    """The joint's axis in its own body's frame."""
    back = IDENTITY_TRANSFORM if joint.after is None else joint.after.inverse
    return back.rotation @ joint.hinge.axis, back.translation


def _axis_in_parent(joint: Joint) -> Line:
    """The joint's axis in its parent's frame."""
    return joint.placement.rotation @ joint.hinge.axis, joint.placement.translation


def _world_frame(model: Model, root: int, first_child: dict[int, int]) -> Transform:
    """The world frame on the first joint's axis, x towards the second's: the first step then only turns about z."""
    joint = model.joints[root]
    own = _own_axis(joint)
    child = first_child.get(root)
    placed = _placed(own, None if child is None else _axis_in_parent(model.joints[child]), None)
    return _step_at_zero(joint) @ placed


def _placed(axis: Line, following: Line | None, arrival: Transform | None) -> Transform:
    """A frame with z along the axis and x along the common normal to the following axis.

    Where that normal is not unique or far away (no following axis, or a nearly parallel one), the frame continues from
    where the parent's frame meets the axis, so that offsets vanish.
    """
    z, point = axis
    foot = point if arrival is None else _foot(axis, arrival.translation, arrival.rotation @ Z_AXIS)
    if following is not None:
        w, there = following
        normal = z.cross(w)
        if float(normal.norm()) > _NEARLY_PARALLEL:
            return _frame(normal, z, _foot(axis, there, w))
        gap = there - foot
        across = gap - z * z.dot(gap)
        if float(across.norm()) > _SNAP:
            return _frame(across, z, foot)
    return _frame(_across(z, X_AXIS if arrival is None else arrival.rotation @ X_AXIS), z, foot)


def _foot(axis: Line, point: Vec3, direction: Vec3) -> Vec3:
    """The point of the axis nearest to the line through ``point`` along ``direction``; if that is far, to ``point``."""
    z, start = axis
    gap = point - start
    cosine = float(z.dot(direction))
    sine2 = 1.0 - cosine * cosine
    along = float(z.dot(gap))
    if sine2 > _NEARLY_PARALLEL * _NEARLY_PARALLEL:
        along = (along - cosine * float(direction.dot(gap))) / sine2
    return start + z * along


def _across(z: Vec3, wish: Vec3) -> Vec3:
    """A vector across z, as near to ``wish`` as can be."""
    across = wish - z * z.dot(wish)
    if float(across.norm()) > 1e-6:
        return across
    return _across(z, Vec3(0.0, 1.0, 0.0) if abs(float(z.y)) < 0.9 else Vec3(1.0, 0.0, 0.0))


def _frame(x: Vec3, z: Vec3, origin: Vec3) -> Transform:
    for _ in range(2):  # a short x is across z only roughly, once it has unit length
        x = x * (1.0 / float(x.norm()))
        x = x - z * z.dot(x)
    y = z.cross(x)
    return _snapped(Transform(Rotation(x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z), origin))


def _snapped(pose: Transform) -> Transform:
    return Transform(pose.rotation.snapped(_SNAP), Vec3(*(_clean(c) for c in pose.translation)))


def _screws(joint: Joint, step: Transform) -> CanonicalJoint:
    """``Rz(gamma) Tz(b) Rx(alpha) Tx(a) Ty(c) Rz(theta) Tz(d)`` of a step between frames whose z axes are joint axes.

    c is zero but for nearly parallel axes, where b is.
    """
    _, _, w = step.rotation.columns()
    sine, cosine = math.sqrt(w.x * w.x + w.y * w.y), w.z
    t = step.translation
    if sine > _SNAP:
        (cg, sg), (ca, sa) = _direction(-w.y, w.x), _direction(cosine, sine)
    else:
        (cg, sg), (ca, sa) = _direction(t.x, t.y), (1.0 if cosine > 0.0 else -1.0, 0.0)
    x, y, z = cg * t.x + sg * t.y, cg * t.y - sg * t.x, t.z
    if sine > _NEARLY_PARALLEL:
        c, d = 0.0, -y / sa
        b = z - d * ca
    else:
        b, c, d = 0.0, ca * y + sa * z, ca * z - sa * y
    rest = (Rotation.about(2, cg, sg) @ Rotation.about(0, ca, sa)).T @ step.rotation
    turned = _direction(rest.xx, rest.yx)
    before = [Screw(2, cg, sg, _clean(b)), Screw(0, ca, sa, _clean(x)), Screw(1, 1.0, 0.0, _clean(c))]
    moving = tuple(s for s in before if not (s.c == 1.0 and s.s == 0.0 and s.d == 0.0))
    same = {item.name: getattr(joint, item.name) for item in fields(Joint)}
    same |= {"placement": IDENTITY_TRANSFORM, "after": None, "hinge": Hinge(Z_AXIS, joint.hinge.pitch, IDENTITY)}
    angle = constant_trig.atan2(turned[1], turned[0])
    return CanonicalJoint(**same, before=moving, angle=angle, turn=turned, shift=_clean(d))


def _direction(x: float, y: float) -> tuple[float, float]:
    """Cosine and sine of the angle of a point in the plane, right angles exact; of the origin, that of the x axis."""
    length = math.sqrt(x * x + y * y)
    if length <= _SNAP:
        return 1.0, 0.0
    c, s = _clean(x / length), _clean(y / length)
    return (math.copysign(1.0, c), 0.0) if s == 0.0 else (0.0, math.copysign(1.0, s)) if c == 0.0 else (c, s)


def _clean(value: float) -> float:
    return 0.0 if abs(value) < _SNAP else float(value)


# ---- -----------------------------------------------------------------------------------------------------------------
# Inertial parameters moved inward, to where they cost less: what a joint cannot tell apart belongs to its parent too. A
# body that is symmetric about a revolute joint's axis and has no moment about it moves its parent in the same way
# whether it turns or not: mass m on the axis, first moment h along it, equal moments s across it. So ``(m, h, s)`` of a
# body can be handed to its parent, and three of its ten parameters be zero. On a prismatic joint it is the whole moment
# of inertia, six parameters. Torques, accelerations and the mass matrix stay what they were, exactly; the bodies are
# then no longer bodies that could be built. (Regrouping of base inertial parameters, after Khalil & Kleinfinger and
# Mayeda.)


Zeroed = Literal["inertia", "euler"]


def regrouped(model: Model, zeroed: Zeroed) -> Model:
    """The same mechanism with as many zeros in its inertias; frames must sit on the joint axes (``canonical.py``).

    ``zeroed`` says what s is chosen to make zero: Iyy of the inertia tensor, or the last entry of the Euler tensor
    ``tr(I)/2 - I``, in which the recursions of Balafoutis and Patel are written. Both are zero exactly, as are the
    other entries that vanish.
    """
    inertias = list(model.inertias)
    for number in reversed(range(model.nbodies)):
        joint = model.joints[number]
        if not isinstance(joint, CanonicalJoint) or not (joint.kind.turns or joint.kind.slides):
            continue
        inertia = inertias[number]
        inertias[number], moved = _sliding(inertia) if joint.kind.slides else _turning(inertia, zeroed)
        if joint.parent != WORLD:  # at the world it moves nothing
            share = _step(joint).inertia(weighed_inertia(moved))
            inertias[joint.parent] = settled_inertia(inertias[joint.parent] + share)
    return replace(model, inertias=tuple(inertias))


def _step(joint: CanonicalJoint) -> ScrewChain:
    """What a moved inertia sees of the step to the parent: a symmetric one no turning, a mere moment no sliding."""
    turn = joint.turn if joint.kind.slides else (1.0, 0.0)
    return ScrewChain((*joint.before, Screw(2, *turn, joint.shift)))


def _sliding(inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
    """What is left of a body that slides, and what may as well belong to its parent."""
    return inertia._replace(moment=SYM_ZERO), RigidInertia(0.0, ZERO, inertia.moment)


def _turning(inertia: RigidInertia, zeroed: Zeroed) -> tuple[RigidInertia, RigidInertia]:
    """The same of a body that turns."""
    first, m = inertia.first, inertia.moment
    uneven = Weighed(m.xx) - m.yy
    if zeroed == "inertia":
        across, xx, yy, zz = m.yy, uneven.settled(), 0.0, m.zz
    else:
        across = 0.5 * (m.xx + m.yy - m.zz)
        xx, yy = ((0.5 * (m.zz + part)).settled() for part in (uneven, -uneven))
        zz = xx + yy  # so that (Ixx + Iyy - Izz)/2 is zero, however these two were rounded
    return (
        RigidInertia(0.0, Vec3(first.x, first.y, 0.0), SymMat3(xx, yy, zz, m.xy, m.xz, m.yz)),
        RigidInertia(inertia.mass, Vec3(0.0, 0.0, first.z), SymMat3.diagonal(across, across, 0.0)),
    )
