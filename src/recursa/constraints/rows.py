"""Rows of G: what unit forces of constraints do to links and joints, and how errors accelerate.

A row of a closing is a wrench on the second link and its opposite on the first; a row of a relation, or of a prescribed
joint, is torques at joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from recursa.constraints import closure_errors
from recursa.constraints.ends import PLACED, POSE, End, Numbers, put_down_ends, read_ends
from recursa.dynamics.kinematics import BUFFERS, RELATIVE
from recursa.model.constraint_equations import NO_LINK, Closing, Equation, Relating, Telling
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.inertia import Force
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_link, tip_to_base


@one_operand
class Felt(NamedTuple):
    """Forces at a body that are added one by one, such as what is felt there of every row's wrench: nothing of most."""

    forces: tuple[Force, ...]

    def __add__(self, other: Felt) -> Felt:  # type: ignore[override]
        return Felt(tuple(a + b for a, b in zip(self.forces, other.forces, strict=True)))

    @staticmethod
    def of(count: int, forces: Mapping[int, Force]) -> Felt:
        """Forces of some rows by number."""
        return Felt(tuple(forces.get(row, _NO_FORCE) for row in range(count)))


_NO_FORCE = Force.zero()


class Pull(NamedTuple):
    """What a row does to a joint by itself: one torque per freedom."""

    row: int
    torque: tuple[Scalar, ...]


class Response(NamedTuple):
    """What a row does at a joint: ``eps = T + H w`` and ``nu = inv(D) eps``, freedom by freedom."""

    row: int
    eps: tuple[Scalar, ...]
    nu: tuple[Scalar, ...]


# ---- at links and joints ---------------------------------------------------------------------------------------------


def wrench_steps(model: Model, *, in_root: bool = False) -> Iterator[Sweep]:
    """What the rows of closings do to bodies, in their axes or those of the root, and those of the others to joints."""
    for of in model.equations:
        if isinstance(of, Closing):
            for side in (0, 1):
                if of.links[side] != NO_LINK and model.links[of.links[side]].body != WORLD:
                    yield each_link(_wrench_step(model, of, side, in_root), only=(of.links[side],))
    yield from pull_steps(model)


def pull_steps(model: Model) -> Iterator[Sweep]:
    """What the rows of relations and told joints do to joints."""
    for of in model.equations:
        if isinstance(of, Relating):
            for number, powers in of.terms:
                yield base_to_tip(_relation_step(of.start, powers), only=(number,))
        elif not isinstance(of, Closing):
            yield base_to_tip(_telling_step(of.start), only=(of.joint,))


def _wrench_step(model: Model, of: Closing, side: int, in_root: bool) -> Step:
    reads, both = read_ends(model, of)

    def wrenches(offset: Transform, *put: Numbers) -> Felt:
        ends = both(*put)
        out = ends[side].place if in_root else offset
        forces = wrenches_on_link(of, side, *ends)
        return Felt.of(model.ncon, {of.start + k: out.force(force) for k, force in enumerate(forces)})

    return Step(wrenches, ("offset", *reads), ("felt@body",), "rows of G as wrenches on the body")


def wrenches_on_link(of: Closing, side: int, first: End, second: End) -> list[Force]:
    """What each row does to the first link or the second, in its axes at its origin."""
    seen = closure_errors.seen(of, first.pose, second.pose)
    here = seen.second if side else seen.first
    return [here.force(w if side else -w) for w in closure_errors.wrenches(of, seen.pose)]


def total_wrench(of: Closing, side: int, multipliers: Sequence[Scalar], first: End, second: End) -> Force:
    """What multipliers, those of all rows, do to the first link or the second: ``G* lambda``."""
    total = Force.zero()
    for k, wrench in enumerate(wrenches_on_link(of, side, first, second)):
        total = total + wrench * multipliers[of.start + k]
    return total


def given_multipliers(given: Sequence[Scalar]) -> Numbers:
    """Lambda, for the robot."""
    return Numbers(tuple(given))


GIVEN_MULTIPLIERS = base_to_tip(Step(given_multipliers, ("multipliers",), ("lambda@robot",), "lambda"), only=(0,))


def _relation_step(row: int, powers: tuple[float, ...]) -> Step:
    def pulls(q: Sequence[Scalar], before: tuple[Pull, ...]) -> tuple[Pull, ...]:
        return (*before, Pull(row, (slope(powers, q[0]),)))

    return Step(pulls, ("q", "pull"), ("pull",), "rows of G at joints")


def _telling_step(start: int) -> Step:
    def pulls(joint: Joint, before: tuple[Pull, ...]) -> tuple[Pull, ...]:
        nv = joint.kind.nv
        units = (tuple(1.0 if k == i else 0.0 for k in range(nv)) for i in range(nv))
        return (*before, *(Pull(start + i, unit) for i, unit in enumerate(units)))

    return Step(pulls, ("joint", "pull"), ("pull",), "rows of G at joints")


def slope(powers: Sequence[float], q: Scalar) -> Scalar:
    """``d/dq`` of the sum of ``c(k) q^k``, k from 1."""
    total: Scalar = powers[-1] * float(len(powers))
    for k in reversed(range(1, len(powers))):
        total = total * q + powers[k - 1] * float(k)
    return total


def curvature(powers: Sequence[float], q: Scalar) -> Scalar:
    """Its second derivative."""
    return slope(tuple(c * float(k) for k, c in enumerate(powers[1:], 2)), q) if len(powers) > 1 else 0.0


def nothing_pulls(joint: Joint) -> tuple[Pull, ...]:
    """What the rows of relations do where there are none."""
    return ()


NOTHING_PULLS = Step(nothing_pulls, ("joint",), ("pull",), "rows of G at joints: none yet")


# ---- how the errors accelerate ---------------------------------------------------------------------------------------


def demand_steps(model: Model, told: bool, *, rising: bool = True) -> Iterator[Sweep]:
    """``G a + gamma`` less what is prescribed, from the accelerations of ends and joints, added up in "demand"."""
    told_of = ("prescribed",) if told else ()
    return at_equations(
        model,
        lambda of: _closing_demand(model, of, told and of.told is not None, rising),
        lambda of, number, powers: _relation_demand(model.ncon, of, powers),
        lambda of: _telling_demand(model.ncon, of, told_of),
    )


def at_equations(
    model: Model,
    at_closing: Callable[[Closing], Step],
    at_related: Callable[[Relating, int, tuple[float, ...]], Step],
    at_told: Callable[[Telling], Step] | None = None,
) -> Iterator[Sweep]:
    """A step for every closing, at its second link if there is one, for every joint of a relation and for told ones."""
    for of in model.equations:
        if isinstance(of, Closing):
            yield each_link(at_closing(of), only=(of.links[1] if of.links[1] != NO_LINK else of.links[0],))
        elif isinstance(of, Relating):
            for number, powers in of.terms:
                yield base_to_tip(at_related(of, number, powers), only=(number,))
        elif at_told is not None:
            yield base_to_tip(at_told(of), only=(of.joint,))


def _closing_demand(model: Model, of: Closing, told: bool, rising: bool) -> Step:
    reads, both = read_ends(model, of, rising=rising)
    told_of = ("prescribed",) if told else ()

    def demand(*given: Any) -> Numbers:
        wanted, put = (given[0], given[1:]) if told else ((), given)
        found = accelerating_errors(of, *both(*put))
        if told:
            found = tuple(x - wanted[(of.told or 0) + k] for k, x in enumerate(found))
        return Numbers.at(model.ncon, of.start, found)

    return Step(demand, (*told_of, *reads), ("demand@robot",), "G a + gamma: the errors' accelerations")


def accelerating_errors(of: Closing, first: End, second: End) -> tuple[Scalar, ...]:
    """How the errors of a closing accelerate as its links move."""
    seen = closure_errors.seen(of, first.pose, second.pose)
    V1, A1 = (seen.first.inverse_motion(x) for x in (first.velocity, first.acceleration))
    V2, A2 = (seen.second.inverse_motion(x) for x in (second.velocity, second.acceleration))
    rates = closure_errors.relative_acceleration(V1, V2, A1, A2)
    return closure_errors.second_rates(of, seen.pose, V2 - V1, rates)


def _relation_demand(count: int, of: Relating, powers: tuple[float, ...]) -> Step:
    def demand(q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> Numbers:
        bent = curvature(powers, q[0])
        found = slope(powers, q[0]) * a[0] + bent * (v[0] * v[0])
        return Numbers.at(count, of.start, (found,))

    return Step(demand, ("q", "v", "qdd"), ("demand@robot",), "G a + gamma of a relation")


def _telling_demand(count: int, of: Telling, told: tuple[str, ...]) -> Step:
    def demand(a: Sequence[Scalar], *given: Any) -> Numbers:
        wanted = given[0][of.told : of.told + len(of.units)] if told else (0.0,) * len(of.units)
        return Numbers.at(count, of.start, tuple(x - y for x, y in zip(a, wanted, strict=True)))

    return Step(demand, ("qdd", *told), ("demand@robot",), "a, less the prescribed")


def row_scales(model: Model) -> list[float]:
    """How large rows of G usually are: 1 where they turn, the robot's own length where they move."""
    return [1.0 if unit == "r" else model.unit_length for of in model.equations for unit in of.units]


# ---- which bodies feel them ------------------------------------------------------------------------------------------


def support_of(model: Model, link: int) -> tuple[int, ...]:
    """The bodies on the way to the link of a closing; none for the world."""
    body = WORLD if link == NO_LINK else model.links[link].body
    return () if body == WORLD else tuple(model.support(body))


def bodies_of(model: Model, of: Equation) -> set[int]:
    """The bodies at which the rows of one constraint are felt."""
    if isinstance(of, Closing):
        return {body for link in of.links for body in support_of(model, link)}
    ends = {number for number, _ in of.terms} if isinstance(of, Relating) else {of.joint}
    return {body for end in ends for body in model.support(end)}


def rows_at(model: Model) -> dict[int, tuple[int, ...]]:
    """The rows that are felt at each body, by number, where there are any."""
    found: dict[int, set[int]] = {}
    for of in model.equations:
        for body in bodies_of(model, of):
            found.setdefault(body, set()).update(range(of.start, of.start + len(of.units)))
    return {body: tuple(sorted(found[body])) for body in sorted(found)}


def row_bodies(model: Model) -> tuple[int, ...]:
    """The bodies that some row is felt at."""
    return tuple(rows_at(model))


def marking(model: Model) -> Iterator[Sweep]:
    """Says at each body which rows it feels: bodies that feel the same share code."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for body, rows in rows_at(model).items():
        alike.setdefault(rows, []).append(body)
    for rows, bodies in alike.items():
        yield base_to_tip(_marking(rows), NOTHING_PULLS, only=tuple(bodies))


def _marking(rows: tuple[int, ...]) -> Step:
    def marked(joint: Joint) -> tuple[int, ...]:
        return rows

    return Step(marked, ("joint",), ("rows here",), "the rows that are felt here")


def row_buffers(count: int) -> tuple[Buffer, ...]:
    """What is known of rows at bodies."""
    nothing = (Buffer(name, ()) for name in ("rows here", "pull", "responses"))
    return Buffer("felt", Felt.of(count, {})), *nothing


# ---- rows at the joints, while all other joints stand still ----------------------------------------------------------

LINK_POSES = Buffer("L", IDENTITY_TRANSFORM)


def posed(model: Model, *steps: Step) -> Sweep:
    """Poses of the bodies that ends are on, with further steps there."""
    return base_to_tip(PLACED, *steps, only=row_bodies(model))


def rigidly_passed(
    joint: Joint, rows: tuple[int, ...], felt: Felt, pull: tuple[Pull, ...], step: Transform
) -> tuple[tuple[Response, ...], Felt]:
    """What rows do at a joint of a robot whose other joints stand still: ``T + H phi w``, rows of G."""
    pulled = dict(pull)
    responses = []
    for row in rows:
        torque = pulled.get(row, (0.0,) * joint.kind.nv)
        across = joint.project(felt.forces[row])
        responses.append(Response(row, tuple(t + x for t, x in zip(torque, across, strict=True)), ()))
    onward = {row: step.force(felt.forces[row]) for row in rows}
    return tuple(responses), Felt.of(len(felt.forces), onward)


RIGIDLY_PASSED = Step(
    rigidly_passed,
    ("joint", "rows here", "felt", "pull", "X"),
    ("responses", "felt@parent"),
    "G = T + H phi w",
)


def rows_inward(model: Model) -> tuple[Sweep, ...]:
    """From the ends of the constraints to the joints."""
    return (*marking(model), *wrench_steps(model), tip_to_base(RIGIDLY_PASSED, only=row_bodies(model)))


def plan_at_ends(name: str, model: Model, then: Iterable[Sweep], *own: Buffer, first: tuple[Step, ...] = ()) -> Plan:
    """A plan that goes on from the poses of all ends."""
    ends, buffers = put_down_ends(model, POSE)
    sweeps = (base_to_tip(RELATIVE, *first), posed(model), *ends, *then)
    return Plan(name, (*BUFFERS, LINK_POSES, *buffers, *own), sweeps)


def jacobian_plan(model: Model) -> Plan:
    """Rows of G at the joints."""
    return plan_at_ends("constraint_jacobian", model, rows_inward(model), *row_buffers(model.ncon))


def jacobian_rows(model: Model, values: Values) -> list[list[Scalar]]:
    """The rows of G; what a tied joint does counts for its source."""
    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.ncon)]
    for joint, responses in zip(model.joints, values.lists.get("responses", []), strict=False):
        factor = 1.0 if joint.tie is None else joint.tie.multiplier
        for row, eps, _ in responses:
            for i, x in enumerate(eps):
                own = rows[row]
                own[joint.v_start + i] = own[joint.v_start + i] + (x if joint.tie is None else x * factor)
    return rows
