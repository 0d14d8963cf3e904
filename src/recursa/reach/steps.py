"""One step of inverse kinematics as sweeps: damped least squares on the path to a link, inside the limits of joints.

The error of a pose T is ``e = log(L^-1 T)``: what is still to be moved, as a motion of the link in its own axes. With
the Jacobian J = B* phi* H* of Rodriguez & Kreutz-Delgado (20), column by column along the path, a step is

    dq = J* inv(J J* + lambda I) e,      lambda = s/2 + lambda_0,      1/s = 1/(e.e) + 1/trace(J J*)

(Levenberg and Marquardt's; the damping by e.e is Sugihara's, IEEE T-RO 27, 2011, here in the space of the task and
bounded, so that far targets do not bring it to a halt). Its cost is that of one 6 x 6 solution however long the path
is, since J J* adds up over the bodies like an inertia. Freedoms that the step would take beyond a limit go to the
limit, and the others are asked once more for what is left of the error:

    dq = J_free* inv(J_free J_free* + lambda I) (e - J_held dq_held)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from recursa.dynamics.kinematics import (
    BUFFERS,
    COLUMNS,
    JACOBIAN_BUFFERS,
    LINK_BUFFERS,
    LINK_IN_BODY,
    LINK_POSE,
    POSE,
    RELATIVE,
)
from recursa.errors import unknown_name
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import ArticulatedInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar, where
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_link, tip_to_base

PATIENCE = 8.0  # steps
LEAST_DAMPING = 1e-11  # rad^2, m^2: what keeps a singular Jacobian from an infinite step
TASKS: dict[str, tuple[float, float]] = {"pose": (1.0, 1.0), "position": (0.0, 1.0), "orientation": (1.0, 0.0)}
"""Whether angles count, and whether distances do."""

Share = tuple[float, float]
Numbers = Sequence[Scalar]

# ---- at the link -----------------------------------------------------------------------------------------------------


def pose_error(share: Share, link: Transform, target: Transform) -> Force:
    """What is still to be moved, in link axes. It multiplies motions, so it is typed like a force."""
    missing = link.inverse @ target
    turn = missing.rotation.log() if share[0] else Motion.zero().angular
    return in_task(share, Motion(turn, missing.translation))


def in_task(share: Share, motion: Motion) -> Force:
    """What of a motion the task is about."""
    return Force(motion.angular * share[0], motion.linear * share[1])


def multipliers(error: Force, elsewhere: Force, products: ArticulatedInertia) -> Motion:
    """``inv(J J* + lambda I) (e - what is done elsewhere)``."""
    size, scale = _square(error), _trace(products) + LEAST_DAMPING
    shift = 0.5 * size * scale / (size + scale) + LEAST_DAMPING
    block = SymMat3.diagonal(shift, shift, shift)
    return (products + ArticulatedInertia(block, Mat3.zero(), block)).solve(error - elsewhere)


def first_multipliers(error: Force, products: ArticulatedInertia) -> Motion:
    """``inv(J J* + lambda I) e``."""
    return multipliers(error, Force.zero(), products)


def course(error: Force, before: Numbers) -> tuple[Scalar, ...]:
    """How an attempt is going: tolerances of angle and distance, the least square of an error, steps since.

    The last number says whether it goes on: 0 where the link is there, or where the square of the error has not become
    smaller by a quarter within ``PATIENCE`` steps. Another start is then the better bet.
    """
    angle, distance, least, steps = before[:4]
    square = _square(error)
    progress = square < 0.75 * least
    waited = where(progress, 0.0, steps + 1.0)
    beyond = where(distance * distance < error.force.dot(error.force), 1.0, 0.0)
    far = where(angle * angle < error.moment.dot(error.moment), 1.0, beyond)
    goes_on = where(waited > PATIENCE, 0.0, far)
    return angle, distance, where(progress, square, least), waited, 0.0, goes_on


def _trace(a: ArticulatedInertia) -> Scalar:
    """The sum of squares of all entries of J."""
    return a.moment.xx + a.moment.yy + a.moment.zz + a.mass.xx + a.mass.yy + a.mass.zz


def _square(error: Force) -> Scalar:
    return error.moment.dot(error.moment) + error.force.dot(error.force)


# ---- at the joints ---------------------------------------------------------------------------------------------------


def task_columns(share: Share, columns: tuple[Motion, ...]) -> tuple[Force, ...]:
    """The columns of J."""
    return tuple(in_task(share, column) for column in columns)


def products(columns: tuple[Force, ...]) -> ArticulatedInertia:
    """``J J*`` of one joint."""
    return free_products(columns, (1.0,) * len(columns))


def free_products(columns: tuple[Force, ...], free: Numbers) -> ArticulatedInertia:
    """``J_free J_free*`` of one joint."""
    total = ArticulatedInertia.zero()
    for column, share in zip(columns, free, strict=True):
        total = total.minus_dyad(column, column * -share)
    return total


def wanted_steps(columns: tuple[Force, ...], y: Motion) -> tuple[Scalar, ...]:
    """``dq = J* y``."""
    return tuple(y.dot(column) for column in columns)


def free_shares(joint: Joint, q: Numbers, low: Numbers, high: Numbers, step: Numbers) -> tuple[Scalar, ...]:
    """Per freedom 1 where a step stays inside the limits, else 0.

    A joint with several freedoms has no limits; one of them is held where its highest number is not above its lowest.
    """
    if joint.kind.nq != 1:
        return tuple(where(least < most, 1.0, 0.0) for least, most in zip(low, high, strict=True))
    after = q[0] + step[0]
    return (where(after < low[0], 0.0, where(high[0] < after, 0.0, 1.0)),)


def held_steps(joint: Joint, q: Numbers, low: Numbers, high: Numbers, step: Numbers, free: Numbers) -> Numbers:
    """The way to the limit of freedoms that are held, 0 for the others."""
    if joint.kind.nq != 1:
        return (0.0,) * joint.kind.nv
    return (where(free[0] > 0.5, 0.0, where(step[0] < 0.0, low[0] - q[0], high[0] - q[0])),)


def held_motion(columns: tuple[Force, ...], held: Numbers) -> Force:
    """``J_held dq_held`` of one joint."""
    return sum((column * step for column, step in zip(columns, held, strict=True)), start=Force.zero())


def after_step(
    joint: Joint,
    q: Numbers,
    low: Numbers,
    high: Numbers,
    columns: tuple[Force, ...],
    free: Numbers,
    held: Numbers,
    z: Motion,
    course: Numbers,
) -> tuple[Scalar, ...]:
    """The coordinates after the step, within the limits; those before it where the attempt is over."""
    moving = course[-1]
    steps = [moving * (share * z.dot(column) + h) for column, share, h in zip(columns, free, held, strict=True)]
    after = joint.kind.integrate(q, steps)
    if joint.kind.nq != 1:
        return after
    return (where(after[0] < low[0], low[0], where(high[0] < after[0], high[0], after[0])),)


def as_before(q: Numbers) -> tuple[Scalar, ...]:
    """Joints that do not move the link stay where they are."""
    return tuple(q)


# ---- the plan --------------------------------------------------------------------------------------------------------

TARGET, COURSE, LOW, HIGH = "pose:target", "tip:course", "joint:low", "joint:high"

PROGRESS = Step(course, ("e", COURSE), ("c",), "how the attempt is going")
PRODUCTS = Step(products, ("JT",), ("JJ@robot",), "J J*")
FIRST = Step(first_multipliers, ("e", "JJ@robot"), ("y",), "y = inv(J J* + lambda I) e")
WANTED = Step(wanted_steps, ("JT", "y@target"), ("dq",), "dq = J* y")
FREE = Step(free_shares, ("joint", "q", LOW, HIGH, "dq"), ("free",), "1 where q + dq is inside the limits")
HELD = Step(held_steps, ("joint", "q", LOW, HIGH, "dq", "free"), ("held",), "dq_held = limit - q")
HELD_MOTION = Step(held_motion, ("JT", "held"), ("eh@robot",), "J_held dq_held")
FREE_PRODUCTS = Step(free_products, ("JT", "free"), ("FF@robot",), "J_free J_free*")
SECOND = Step(
    multipliers, ("e", "eh@robot", "FF@robot"), ("z",), "z = inv(J_free J_free* + lambda I) (e - J_held dq_held)"
)
AFTER = Step(
    after_step,
    ("joint", "q", LOW, HIGH, "JT", "free", "held", "z@target", "c@target"),
    ("next",),
    "q exp(J_free* z + dq_held)",
)
AS_BEFORE = Step(as_before, ("q",), ("next",), "q")


def reaching_plan(model: Model, link: int, share: Share) -> Plan:
    """One step towards a pose of a link."""
    path = model.support(model.links[link].body)
    error = Step(partial(pose_error, share), ("L", TARGET), ("e",), "e = log(L^-1 T)")
    columns = Step(partial(task_columns, share), ("J",), ("JT",), "J in the task")
    sweeps = [
        base_to_tip(RELATIVE, POSE, only=path),
        each_link(LINK_POSE, error, PROGRESS, only=(link,)),
        tip_to_base(LINK_IN_BODY, COLUMNS, columns, PRODUCTS, only=path),
        each_link(FIRST, only=(link,)),
        tip_to_base(WANTED, FREE, HELD, HELD_MOTION, FREE_PRODUCTS, only=path),
        each_link(SECOND, only=(link,)),
        tip_to_base(AFTER, only=path),
        *_elsewhere(model, path),
    ]
    return Plan("reaching", _buffers(model, link), tuple(sweeps), target=link)


def _elsewhere(model: Model, path: Sequence[int]) -> Iterator[Sweep]:
    others = tuple(k for k in range(model.nbodies) if k not in path)
    if others:
        yield base_to_tip(AS_BEFORE, only=others)


def _buffers(model: Model, link: int) -> tuple[Buffer, ...]:
    nothing = ArticulatedInertia.zero()
    per_joint = (Buffer(name, ()) for name in ("JT", "dq", "free", "held", "next"))
    at_link = (Buffer("e", Force.zero()), Buffer("c", ()), Buffer("y", Motion.zero()), Buffer("z", Motion.zero()))
    sums = (Buffer("JJ", nothing), Buffer("FF", nothing), Buffer("eh", Force.zero()))
    return (
        *BUFFERS,
        *LINK_BUFFERS,
        *JACOBIAN_BUFFERS,
        Buffer("XL", model.links[link].offset),
        *per_joint,
        *at_link,
        *sums,
    )


def _reaching(of: Subject, given: Names, *, link: str, task: str = "pose") -> Recipe:
    model, number = of.model, of.model.link_index(link)
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)

    def gather(values: Values) -> Iterator[Scalar]:
        for part in values["next"]:
            yield from part
        yield from values["c"][number]
        yield from values["e"][number].components()

    return Recipe(reaching_plan(model, number, TASKS[task]), gather, (model.nq + 12,))


REACHING = Quantity(
    "reaching.step",
    ("q", "course", "target", "low", "high"),
    _reaching,
    "coordinates after a step, places as in q; how it goes; the error before it, (angular, linear) in rad and m",
    reads={"course": COURSE, "target": TARGET, "low": LOW, "high": HIGH},
    words={
        "course": "tolerances in rad and m, the least square of an error, steps since, two zeros",
        "target": "the wanted pose: the upper three rows of a homogeneous matrix, row by row",
        "low": "lowest positions, places as in v",
        "high": "highest positions, places as in v",
    },
    exported=False,
)
