"""Poses, velocities, accelerations and Jacobians, as sweeps from the base outward.

Symbols of Rodriguez & Kreutz-Delgado, base first: ``phi*`` carries a motion from the parent to the body, ``H*`` holds
the joint's motions. Everything is at the body's origin in its own axes ("body" frame) until the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from recursa.dynamics.base_velocity import changes, in_columns, in_columns_and_rates
from recursa.errors import UnknownNameError, unknown_name
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import Buffer, Given, Plan, Step, Values, base_to_tip, each_link, fuse, renamed, tip_to_base

Frame = Literal["body", "mixed", "world"]
Kind = Literal["spatial", "classical"]

# ---- steps at a body -----------------------------------------------------------------------------------------------


def relative(joint: Joint, q: Sequence[Scalar]) -> Transform:
    """Pose of a body in its parent."""
    return joint.transform(q)


def world_pose(parent: Transform, step: Transform) -> Transform:
    """Pose of a body in the world."""
    return parent @ step


def velocity(joint: Joint, step: Transform, parent: Motion, v: Sequence[Scalar]) -> Motion:
    """Spatial velocity of a body."""
    return step.inverse_motion(parent) + joint.motion(v)


def acceleration(
    joint: Joint, step: Transform, parent: Motion, own: Motion, v: Sequence[Scalar], a: Sequence[Scalar]
) -> Motion:
    """Spatial acceleration of a body (body derivative), bias term ``crm(V) H* v`` included."""
    return step.inverse_motion(parent) + joint.motion(a) + own.cross_motion(joint.motion(v))


RELATIVE = Step(relative, ("joint", "q"), ("X",), "X = placement J(q)")
POSE = Step(world_pose, ("W@parent", "X"), ("W",), "W(k) = W(parent) X")
VELOCITY = Step(velocity, ("joint", "X", "V@parent", "v"), ("V",), "V(k) = phi* V(parent) + H* v                (7)")
ACCELERATION = Step(
    acceleration,
    ("joint", "X", "alpha@parent", "V", "v", "a"),
    ("alpha",),
    "alpha(k) = phi* alpha(parent) + H* a + crm(V) H* v   (8)",
)

# ---- steps at a link -----------------------------------------------------------------------------------------------


def link_pose(body: Transform, offset: Transform) -> Transform:
    """Pose of a link in the world from its body's."""
    return body @ offset


def link_motion(body: Motion, offset: Transform) -> Motion:
    """Motion of a link's origin in link axes from its body's."""
    return offset.inverse_motion(body)


def in_body(pose: Transform, motion: Motion) -> Motion:
    """Link axes at the link origin: as it is."""
    return motion


def in_mixed(pose: Transform, motion: Motion) -> Motion:
    """World axes at the link origin."""
    return Motion(pose.rotation @ motion.angular, pose.rotation @ motion.linear)


def in_world(pose: Transform, motion: Motion) -> Motion:
    """World axes at the world origin."""
    return pose.motion(motion)


IN_FRAME: dict[str, Callable[[Transform, Motion], Motion]] = {
    "body": in_body,
    "mixed": in_mixed,
    "world": in_world,
}
PINOCCHIO_FRAMES = {"body": "LOCAL", "mixed": "LOCAL_WORLD_ALIGNED", "world": "WORLD"}
"""What they are called there."""


def classical(acceleration: Motion, velocity: Motion) -> Motion:
    """Acceleration of the point that the frame's origin touches: ``spatial + (0, w x v)`` in the same frame."""
    return Motion(acceleration.angular, acceleration.linear + velocity.angular.cross(velocity.linear))


LINK_POSE = Step(link_pose, ("W@body", "offset"), ("L",), "L = W offset")
LINK_VELOCITY = Step(link_motion, ("V@body", "offset"), ("VL",), "V(link) = phi* V(body)")
LINK_ACCELERATION = Step(link_motion, ("alpha@body", "offset"), ("AL",), "alpha(link) = phi* alpha(body)")
CLASSICAL = Step(classical, ("AF", "VF"), ("AC",), "classical = spatial + (0, w x v)")


def base_moving(given: Given) -> Motion:
    """Velocity of the base, if it is prescribed."""
    return given.base_twist


def base_accelerating(given: Given) -> Motion:
    """Acceleration of the base, if it is prescribed; gravity is none."""
    return given.base_acceleration


BASE_MOTION = ("base_twist", "base_acceleration")
BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("W", IDENTITY_TRANSFORM),
    Buffer("V", Motion.zero(), base_moving),
    Buffer("alpha", Motion.zero(), base_accelerating),
)
LINK_BUFFERS = (
    Buffer("L", IDENTITY_TRANSFORM),
    *(Buffer(name, Motion.zero()) for name in ("VL", "AL", "VF", "AF", "AC")),
)

# ---- plans ---------------------------------------------------------------------------------------------------------


def frame_function(frame: str) -> Callable[[Transform, Motion], Motion]:
    """The change of frame by name."""
    try:
        return IN_FRAME[frame]
    except (KeyError, TypeError):
        for own, elsewhere in PINOCCHIO_FRAMES.items():
            if str(frame).upper() == elsewhere:
                raise UnknownNameError(
                    f"no frame '{frame}'. What Pinocchio calls {elsewhere} is '{own}' here"
                ) from None
        raise unknown_name("frame", frame, IN_FRAME) from None


def require_kind(kind: str) -> None:
    """The kinds of acceleration that there are."""
    if kind not in ("spatial", "classical"):
        raise unknown_name("kind of acceleration", kind, ("spatial", "classical"))


def poses_plan(link: int | None = None, model: Model | None = None) -> Plan:
    """Poses of all links, or of one link along its path only."""
    if link is None or model is None:
        return Plan("poses", BUFFERS + LINK_BUFFERS, (base_to_tip(RELATIVE, POSE), each_link(LINK_POSE)))
    path = model.support(model.links[link].body)
    sweeps = (base_to_tip(RELATIVE, POSE, only=path), each_link(LINK_POSE, only=(link,)))
    return Plan("pose", BUFFERS + LINK_BUFFERS, sweeps)


def velocities_plan(frame: str) -> Plan:
    """Velocities of all links in a frame."""
    to_frame = Step(frame_function(frame), ("L", "VL"), ("VF",), f"to frame '{frame}'")
    sweeps = (base_to_tip(RELATIVE, POSE, VELOCITY), each_link(LINK_POSE, LINK_VELOCITY, to_frame))
    return Plan("velocities", BUFFERS + LINK_BUFFERS, sweeps)


def accelerations_plan(frame: str, kind: str) -> Plan:
    """Accelerations of all links in a frame, spatial or classical."""
    require_kind(kind)
    change = frame_function(frame)
    to_frame = Step(change, ("L", "AL"), ("AF",), f"to frame '{frame}'")
    steps: tuple[Step, ...] = (LINK_POSE, LINK_ACCELERATION, to_frame)
    if kind == "classical":
        steps += (LINK_VELOCITY, Step(change, ("L", "VL"), ("VF",), f"to frame '{frame}'"), CLASSICAL)
    sweeps = (base_to_tip(RELATIVE, POSE, VELOCITY, ACCELERATION), each_link(*steps))
    return Plan("accelerations", BUFFERS + LINK_BUFFERS, sweeps)


# ---- Jacobians -----------------------------------------------------------------------------------------------------
# J = B* phi* H* (20), column by column along the path to the link: XL is its pose in body k.


def link_in_body(step: Transform, outer: Transform) -> Transform:
    """Pose of the link in body k, from that in the next body outward."""
    return step @ outer


def jacobian_columns(joint: Joint, link_here: Transform) -> tuple[Motion, ...]:
    """Motion of the link per unit speed of the joint, in link axes."""
    return tuple(link_here.inverse_motion(column) for column in joint.columns())


def _columns_in(change: Callable[[Transform, Motion], Motion]) -> Callable[..., tuple[Motion, ...]]:
    def columns_in_frame(pose: Transform, columns: tuple[Motion, ...]) -> tuple[Motion, ...]:
        return tuple(change(pose, column) for column in columns)

    return columns_in_frame


def body_motion_seen_at_link(link_here: Transform, own: Motion) -> Motion:
    """Velocity of body k at the link's origin, in link axes."""
    return link_here.inverse_motion(own)


# dJ/dt of J = XL^-1 H*: the column moves with body k, the axes of the result move with the link (body), turn with the
# world at the link (mixed), or stand still (world). Differentiating the plan of J takes 0.5 to 1.3 times the operations
# in body axes, fewer for short arms and more for long chains, and 1.4 to 1.8 times in world axes.


def rates_in_body(pose: Transform, body: Motion, link: Motion, columns: tuple[Motion, ...]) -> tuple[Motion, ...]:
    """``crm(V_k - V_link) J``."""
    return tuple((body - link).cross_motion(column) for column in columns)


def rates_in_mixed(pose: Transform, body: Motion, link: Motion, columns: tuple[Motion, ...]) -> tuple[Motion, ...]:
    """As in body axes, plus the turning of those axes, then rotated to the world."""
    w = link.angular
    turning = [Motion(w.cross(c.angular), w.cross(c.linear)) for c in columns]
    rates = rates_in_body(pose, body, link, columns)
    return tuple(in_mixed(pose, rate + turn) for rate, turn in zip(rates, turning, strict=True))


def rates_in_world(pose: Transform, body: Motion, link: Motion, columns: tuple[Motion, ...]) -> tuple[Motion, ...]:
    """``crm(V_k) J`` carried to the world origin."""
    return tuple(pose.motion(body.cross_motion(column)) for column in columns)


RATES_IN = {"body": rates_in_body, "mixed": rates_in_mixed, "world": rates_in_world}


JACOBIAN_BUFFERS = (Buffer("J", ()), Buffer("U", Motion.zero()), Buffer("JF", ()))
LINK_IN_BODY = Step(link_in_body, ("X@child", "XL@child"), ("XL",), "XL(k) = X(child) XL(child)")
COLUMNS = Step(jacobian_columns, ("joint", "XL"), ("J",), "J(k) = phi*(k, link) H*(k)                  (20)")
BODY_AT_LINK = Step(body_motion_seen_at_link, ("XL", "V"), ("U",), "U = phi*(k, link) V(k)")


def jacobian_plan(model: Model, link: int, frame: str) -> Plan:
    """The Jacobian's columns along the path to a link, in a frame."""
    to_frame = Step(_columns_in(frame_function(frame)), ("L@target", "J"), ("JF",), f"to frame '{frame}'")
    return path_plan("jacobian", model, link, (RELATIVE, POSE), (LINK_POSE,), (LINK_IN_BODY, COLUMNS, to_frame))


def jacobian_derivative_plan(model: Model, link: int, frame: str) -> Plan:
    """The time derivative of the Jacobian's columns, in a frame."""
    frame_function(frame)  # an unknown frame is an error here too
    rates = Step(RATES_IN[frame], ("L@target", "U", "VL@target", "J"), ("JF",), f"dJ/dt in frame '{frame}'")
    outward, at_link = (RELATIVE, POSE, VELOCITY), (LINK_POSE, LINK_VELOCITY)
    inward = (LINK_IN_BODY, COLUMNS, BODY_AT_LINK, rates)
    return path_plan("jacobian_derivative", model, link, outward, at_link, inward)


def path_plan(
    name: str,
    model: Model,
    link: int,
    outward: tuple[Step, ...],
    at_link: tuple[Step, ...],
    inward: tuple[Step, ...],
    *more: Buffer,
) -> Plan:
    """Out along the path to a link, once at the link, and back in."""
    path = model.support(model.links[link].body)
    buffers = (*BUFFERS, *LINK_BUFFERS, *JACOBIAN_BUFFERS, *more, Buffer("XL", model.links[link].offset))
    sweeps = (base_to_tip(*outward, only=path), each_link(*at_link, only=(link,)), tip_to_base(*inward, only=path))
    return Plan(name, buffers, sweeps, target=link)


# ---- results -------------------------------------------------------------------------------------------------------


def pose_entries(poses: Sequence[Transform]) -> Iterator[Scalar]:
    """4x4 matrices, entry by entry."""
    for pose in poses:
        for row in pose.rows():
            yield from row


def motion_entries(motions: Sequence[Motion]) -> Iterator[Scalar]:
    """Six-vectors, entry by entry."""
    for motion in motions:
        yield from motion.components()


def jacobian_entries(model: Model, link: int, columns: Sequence[tuple[Motion, ...]]) -> Iterator[Scalar]:
    """The 6 x nv matrix from the columns of the joints on the path; a tied joint's goes to its source."""
    by_speed: dict[int, Motion] = {}
    for body in model.support(model.links[link].body):
        joint = model.joints[body]
        for number, column in enumerate(columns[body]):
            at = joint.v_start + number
            if joint.tie is not None:
                column = column * joint.tie.multiplier
            by_speed[at] = by_speed[at] + column if at in by_speed else column
    filled = [by_speed[at].components() if at in by_speed else (0.0,) * 6 for at in range(model.nv)]
    for row in range(6):
        for column_entries in filled:
            yield column_entries[row]


# ---- quantities ----------------------------------------------------------------------------------------------------

_POSE = "a homogeneous matrix, link to world components, position in m"
_RATE = "(angular, linear) in rad/s and m/s"
_SECOND_RATE = "(angular, linear) in rad/s^2 and m/s^2"


def _poses(of: Subject, given: Names) -> Recipe:
    return Recipe(poses_plan(), lambda values: pose_entries(values["L"]), (len(of.model.links), 4, 4))


def _pose(of: Subject, given: Names, *, link: str) -> Recipe:
    number = of.model.link_index(link)
    return Recipe(poses_plan(number, of.model), lambda values: pose_entries([values["L"][number]]), (4, 4))


def _velocities(of: Subject, given: Names, *, frame: str = "body") -> Recipe:
    return Recipe(velocities_plan(frame), lambda values: motion_entries(values["VF"]), (len(of.model.links), 6))


def _accelerations(of: Subject, given: Names, *, frame: str = "body", kind: str = "spatial") -> Recipe:
    name = "AC" if kind == "classical" else "AF"
    plan = accelerations_plan(frame, kind)
    return Recipe(plan, lambda values: motion_entries(values[name]), (len(of.model.links), 6))


def _jacobian(of: Subject, given: Names, *, link: str, frame: str = "body", base_velocity: str = "body") -> Recipe:
    recipe = link_matrix(jacobian_plan, of, given, link=link, frame=frame)
    return in_columns(recipe, base_velocity) if changes(base_velocity, of.model) else recipe


def _jacobian_derivative(
    of: Subject, given: Names, *, link: str, frame: str = "body", base_velocity: str = "body"
) -> Recipe:
    recipe = link_matrix(jacobian_derivative_plan, of, given, link=link, frame=frame)
    if not changes(base_velocity, of.model):
        return recipe
    itself = link_matrix(jacobian_plan, of, given, link=link, frame=frame, name="JG")
    both = fuse(recipe.plan, renamed(itself.plan, {"JF": "JG"}))
    joined = replace(recipe, plan=both, gather=lambda values: (*itself.gather(values), *recipe.gather(values)))
    return in_columns_and_rates(joined, base_velocity)


def link_matrix(
    make: Callable[[Model, int, str], Plan],
    of: Subject,
    given: Names,
    *,
    link: str,
    frame: str = "body",
    name: str = "JF",
) -> Recipe:
    """A 6 x nv matrix of one link, from the columns in a buffer."""
    model, number = of.model, of.model.link_index(link)

    def gather(values: Values) -> Iterator[Scalar]:
        return jacobian_entries(model, number, values.lists.get(name, []))

    return Recipe(make(model, number, frame), gather, (6, model.nv))


POSES = Quantity("poses", ("q",), _poses, f"per link {_POSE}")
POSE_OF_LINK = Quantity("pose", ("q",), _pose, _POSE)
VELOCITIES = Quantity("velocities", ("q", "v"), _velocities, f"per link {_RATE}, {{frame}}", optional=("base_twist",))
ACCELERATIONS = Quantity(
    "accelerations",
    ("q", "v", "a"),
    _accelerations,
    f"per link {_SECOND_RATE}, without gravity, {{frame}}",
    optional=BASE_MOTION,
)
JACOBIAN = Quantity("jacobian", ("q",), _jacobian, f"times v: {_RATE}; columns as in v, {{frame}}")
JACOBIAN_DERIVATIVE = Quantity(
    "jacobian_derivative",
    ("q", "v"),
    _jacobian_derivative,
    f"times v: {_SECOND_RATE}; columns as in v, {{frame}}",
)
