"""Plans of robots with constraints: errors, rows, bias, Delassus matrix, multipliers, and motion that obeys them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from recursa.constraints import augmentation, closure_errors
from recursa.constraints.augmentation import DRIVEN, constraint_buffers, inward, solving
from recursa.constraints.ends import ACCELERATION, POSE, TWIST, Numbers, ends_of, put_down_ends, read_ends
from recursa.constraints.rows import (
    GIVEN_MULTIPLIERS,
    LINK_POSES,
    NOTHING_PULLS,
    at_equations,
    demand_steps,
    plan_at_ends,
    posed,
    row_bodies,
    row_buffers,
    rows_inward,
    slope,
    total_wrench,
    wrench_steps,
)
from recursa.dynamics import kinematics
from recursa.dynamics.articulated_bodies import (
    ACCELERATIONS,
    ARTICULATED_BUFFERS,
    BIAS_ACCELERATION,
    BIAS_FORCE,
    ELIMINATE,
    INNOVATIONS,
    Elimination,
    completed,
)
from recursa.dynamics.four_algorithms import smooth
from recursa.dynamics.inverse import EXTERNAL, drift, pushing
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.needs import divides_by_hinges
from recursa.dynamics.wrenches import Losses, driving
from recursa.model.constraint_equations import NO_LINK, Closing, Relating, Telling
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_link, tip_to_base

_ONCE = (0,)  # where what is done once for the robot is done


# ---- errors ----------------------------------------------------------------------------------------------------------


def error_plan(model: Model) -> Plan:
    """How far every constraint is from being kept."""
    own = Buffer("error", Numbers.zero(model.ncon))
    return plan_at_ends("constraint_error", model, _error_steps(model), own)


def _error_steps(model: Model, into: str = "error@robot") -> Iterator[Sweep]:
    def at_related(of: Relating, number: int, powers: tuple[float, ...]) -> Step:
        offset = of.offset if number == of.terms[0][0] else 0.0
        return _relation_error(model.ncon, of, powers, offset, into)

    return at_equations(model, lambda of: _closing_error(model, of, into), at_related)


def _closing_error(model: Model, of: Closing, into: str) -> Step:
    reads, both = read_ends(model, of)

    def error(*put: Numbers) -> Numbers:
        first, second = both(*put)
        pose = closure_errors.seen(of, first.pose, second.pose).pose
        return Numbers.at(model.ncon, of.start, closure_errors.errors(of, pose))

    return Step(error, reads, (into,), "how far the loop is from closed")


def _relation_error(count: int, of: Relating, powers: tuple[float, ...], offset: float, into: str) -> Step:
    def error(q: Sequence[Scalar]) -> Numbers:
        total: Scalar = powers[-1]
        for c in reversed(powers[:-1]):
            total = total * q[0] + c
        return Numbers.at(count, of.start, (total * q[0] + offset,))

    return Step(error, ("q",), (into,), "sum of c q + offset")


def errors_of(values: Values, count: int) -> tuple[Scalar, ...]:
    """The result of :func:`error_plan`."""
    return values.robot["error"].entries if "error" in values.robot else (0.0,) * count


# ---- rows ------------------------------------------------------------------------------------------------------------


def acting_rows(model: Model) -> Plan:
    """What unit forces of the equations do: "felt" at bodies, in their axes, and "pull" at joints."""
    own, first = row_buffers(model.ncon), (NOTHING_PULLS,)
    return plan_at_ends("rows of constraints", model, wrench_steps(model), *own, first=first)


DRIFT = Step(drift, ("joint", "X", "drift@parent", "V", "v"), ("drift",), "alpha with joints that do not accelerate")


def still(joint: Joint) -> tuple[Scalar, ...]:
    """Joints that do not accelerate, and have no innovations."""
    return (0.0,) * joint.kind.nv


def bias_plan(model: Model, *, told: bool) -> Plan:
    """``gamma`` of ``G a + gamma = 0``: how the errors accelerate while the joints do not."""
    sweeps, buffers = _drifting(model, told=told)
    return Plan("constraint_bias", buffers, sweeps)


def _drifting(model: Model, *, told: bool) -> tuple[tuple[Sweep, ...], tuple[Buffer, ...]]:
    ends, buffers = put_down_ends(model, ACCELERATION, "drift")
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY),
        posed(model, DRIFT, Step(still, ("joint",), ("qdd",), "a = 0")),
        *ends,
        *demand_steps(model, told, rising=False),
    )
    own = (Buffer("drift", Motion.zero()), Buffer("qdd", ()), Buffer("demand", Numbers.zero(model.ncon)))
    return sweeps, (*kinematics.BUFFERS, LINK_POSES, *buffers, *own)


def equations_plan(model: Model, *, told: bool) -> Plan:
    """G and gamma together."""
    sweeps, buffers = _drifting(model, told=told)
    return Plan("constraint_equations", (*buffers, *row_buffers(model.ncon)), (*sweeps, *rows_inward(model)))


def added_up(name: str) -> Callable[[Values], Iterable[Scalar]]:
    """What a plan added up for the robot, from its values."""
    return lambda values: values.robot[name].entries


# ---- the Delassus matrix ---------------------------------------------------------------------------------------------


def delassus_plan(model: Model, *, orthogonal: bool = False) -> Plan:
    """A = G inv(mass) G*, and how much the joints yield; or that of rows made orthogonal in blocks."""
    ends, buffers = put_down_ends(model, POSE)
    sweeps = (
        base_to_tip(RELATIVE),
        posed(model),
        tip_to_base(ELIMINATE),
        *ends,
        *inward(model, orthogonal=orthogonal),
    )
    return Plan("constraint_delassus", (*ARTICULATED_BUFFERS, *constraint_buffers(model), *buffers, LINK_POSES), sweeps)


def delassus_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The matrix row by row."""
    rows = augmentation.matrix(model.ncon, values.robot["delassus"].entries)
    return (x for row in rows for x in row)


# ---- forward dynamics ------------------------------------------------------------------------------------------------


def forward_plan(
    model: Model,
    *,
    wrenches: bool = False,
    links: bool = False,
    losses: Losses = False,
    springs: bool = False,
    told: bool = False,
) -> Plan:
    """Accelerations that obey the constraints."""
    sweeps = (
        *_as_far_as_multipliers(model, wrenches, losses, springs, told),
        base_to_tip(DRIVEN, only=row_bodies(model)),
        base_to_tip(ACCELERATIONS),
    )
    ready = completed(sweeps, wrenches=False, links=links)
    return Plan("constrained_forward_dynamics", _forward_buffers(model), ready)


def forces_plan(
    model: Model,
    *,
    on_links: bool = False,
    wrenches: bool = False,
    losses: Losses = False,
    springs: bool = False,
    told: bool = False,
) -> Plan:
    """The shortest multipliers; with ``on_links`` what they do to links, "acting"."""
    sweeps = _as_far_as_multipliers(model, wrenches, losses, springs, told, least=True)
    acting = _acting_steps(model) if on_links else ()
    return Plan("constraint_forces", _forward_buffers(model), (*sweeps, *acting))


def _as_far_as_multipliers(
    model: Model, wrenches: bool, losses: Losses, springs: bool, told: bool, *, least: bool = False
) -> tuple[Sweep, ...]:
    """Out and in as without constraints, then from the innovations of the free motion to multipliers."""
    drive, torque = driving(losses, springs)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    ends, _ = put_down_ends(model, ACCELERATION)
    return (
        *bring,
        base_to_tip(RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE, *external),
        tip_to_base(ELIMINATE, *drive, INNOVATIONS.reading(tau=torque)),
        posed(model, ACCELERATIONS),
        *ends,
        *inward(model),
        *demand_steps(model, told),
        base_to_tip(solving(model, least=least), only=_ONCE),
    )


def _forward_buffers(model: Model) -> tuple[Buffer, ...]:
    _, buffers = put_down_ends(model, ACCELERATION)
    return *ARTICULATED_BUFFERS, *constraint_buffers(model), *buffers, LINK_POSES, Buffer("acting", Force.zero())


def acting_plan(model: Model) -> Plan:
    """What given multipliers do to links, "acting"."""
    own = Buffer("lambda", Numbers.zero(model.ncon)), Buffer("acting", Force.zero())
    steps = (GIVEN_MULTIPLIERS, *_acting_steps(model))
    return plan_at_ends("constraint_wrenches of multipliers", model, steps, *own)


def _acting_steps(model: Model) -> Iterator[Sweep]:
    ends = ends_of(model)
    if ends:
        yield each_link(Step(lambda offset: Force.zero(), ("offset",), ("acting",), "nothing yet"), only=ends)
    for of in model.equations:
        if isinstance(of, Closing):
            for side, link in enumerate(of.links):
                if link != NO_LINK:
                    yield each_link(_acting(model, of, side), only=(link,))


def _acting(model: Model, of: Closing, side: int) -> Step:
    reads, both = read_ends(model, of)

    def acting(before: Force, multipliers: Numbers, *put: Numbers) -> Force:
        return before + total_wrench(of, side, multipliers.entries, *both(*put))

    return Step(acting, ("acting", "lambda@robot", *reads), ("acting",), "G* lambda on a link")


def acting_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """Six numbers per link."""
    ends, found = ends_of(model), values.lists.get("acting", [])
    for number in range(len(model.links)):
        yield from found[number].components() if number in ends else (0.0,) * 6


# ---- speeds ----------------------------------------------------------------------------------------------------------


def velocity_demand_steps(model: Model) -> Iterator[Sweep]:
    """``G v``, added up in "demand"."""
    return at_equations(
        model,
        lambda of: _closing_speed(model, of),
        lambda of, number, powers: _relation_speed(model.ncon, of, powers),
        lambda of: _telling_speed(model.ncon, of),
    )


def _closing_speed(model: Model, of: Closing) -> Step:
    reads, both = read_ends(model, of)

    def speed(*put: Numbers) -> Numbers:
        first, second = both(*put)
        seen = closure_errors.seen(of, first.pose, second.pose)
        moving = seen.second.inverse_motion(second.velocity) - seen.first.inverse_motion(first.velocity)
        return Numbers.at(model.ncon, of.start, closure_errors.first_rates(of, seen.pose, moving))

    return Step(speed, reads, ("demand@robot",), "G v: the errors' rates")


def _relation_speed(count: int, of: Relating, powers: tuple[float, ...]) -> Step:
    def speed(q: Sequence[Scalar], v: Sequence[Scalar]) -> Numbers:
        return Numbers.at(count, of.start, (slope(powers, q[0]) * v[0],))

    return Step(speed, ("q", "v"), ("demand@robot",), "G v of a relation")


def _telling_speed(count: int, of: Telling) -> Step:
    def speed(v: Sequence[Scalar]) -> Numbers:
        return Numbers.at(count, of.start, tuple(v))

    return Step(speed, ("v",), ("demand@robot",), "v of a joint")


def impulse_plan(model: Model, *, least: bool = False) -> Plan:
    """Speeds after impulses along the constraints that leave ``G v = 0``: the nearest such in the kinetic energy.

    ``least``: the impulses "lambda" are the shortest that do it.
    """
    reads = ("elimination", "nu", "X", "jump@parent", "v")
    last = Step(jumped, reads, ("after", "jump"), "v+ = v + inv(mass) G* lambda")
    demand = velocity_demand_steps(model)
    return _pushed_plan("project_velocity", model, TWIST, (VELOCITY,), demand, last, least=least)


@divides_by_hinges
def jumped(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], step: Transform, parent: Motion, v: Sequence[Scalar]
) -> tuple[tuple[Scalar, ...], Motion]:
    """Speeds after impulses: ``v + inv(mass) G* lambda``."""
    change, here = smooth(done, nu, step, parent)
    return tuple(x + dx for x, dx in zip(v, change, strict=True)), here


def _pushed_plan(
    name: str,
    model: Model,
    known: int,
    moving: tuple[Step, ...],
    demand: Iterable[Sweep],
    last: Step,
    *,
    least: bool = False,
) -> Plan:
    """What forces along the constraints do that meet a demand, with all joints free and at rest otherwise: "after"."""
    ends, buffers = put_down_ends(model, known)
    sweeps = (
        base_to_tip(RELATIVE),
        posed(model, *moving),
        tip_to_base(ELIMINATE, Step(still, ("joint",), ("nu",), "nu = 0")),
        *ends,
        *inward(model),
        *demand,
        base_to_tip(solving(model, least=least), only=_ONCE),
        base_to_tip(DRIVEN, only=row_bodies(model)),
        base_to_tip(last),
    )
    own = (LINK_POSES, Buffer("jump", Motion.zero()), Buffer("after", ()))
    return Plan(name, (*ARTICULATED_BUFFERS, *constraint_buffers(model), *buffers, *own), sweeps)


# ---- positions -------------------------------------------------------------------------------------------------------


def has_places(model: Model) -> bool:
    """Whether some constraint says where something is, and not only how it moves."""
    return any(isinstance(of, Relating) or (isinstance(of, Closing) and of.anchored) for of in model.equations)


def closing_plan(model: Model) -> Plan:
    """A step of Newton's method towards closed loops, on the way of constraint forces: ``x = -inv(M) G* inv(A) e``."""
    last = Step(smooth, ("elimination", "nu", "X", "jump@parent"), ("after", "jump"), "x = inv(mass) G* lambda")
    return _pushed_plan("close_loops", model, POSE, (), _error_steps(model, "demand@robot"), last)
