"""The augmentation method: multipliers from the Delassus matrix, all in sweeps.

With rows G of all constraints, ``mass a = T - bias + G* lambda`` and ``G a = -gamma`` give

    A lambda = -(G a_free + gamma),    A = G inv(mass) G*,    a = a_free + inv(mass) G* lambda.

``inv(mass) = (I - H psi K)* inv(D) (I - H psi K)`` (Rodriguez & Kreutz-Delgado, Identity 6 (46)), so each row is a
wrench that goes inward through the eliminations which forward dynamics have made anyway: eps = H psi w at the joints
between the link and the base, and A is the sum of ``eps inv(D) eps*`` over joints. O(depth) for a row, and for two rows
one product at every joint that both pass. ``G a_free + gamma`` is how the errors of the constraints would accelerate
in the free motion, which the accelerations of links tell; no bias is formed. With the multipliers, what they do at the
joints is added to the innovations, and the last sweep of forward dynamics is done with the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from recursa.constraints import closing
from recursa.dynamics.articulated import Elimination
from recursa.dynamics.kinematics import LINK_POSE
from recursa.dynamics.needs import divides_by_hinges
from recursa.model.equations import NO_LINK, Closing, Relating, Telling
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.small_systems import Ranked, factored, shortest, solve_ranked
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Step, Sweep, base_to_tip, each_link, tip_to_base


@one_operand
class Numbers(NamedTuple):
    """Numbers that are added one by one."""

    entries: tuple[Scalar, ...]

    def __add__(self, other: Numbers) -> Numbers:  # type: ignore[override]
        return Numbers(tuple(a + b for a, b in zip(self.entries, other.entries, strict=True)))

    @staticmethod
    def zero(count: int) -> Numbers:
        """So many zeros."""
        return Numbers((0.0,) * count)

    @staticmethod
    def at(count: int, start: int, entries: Sequence[Scalar]) -> Numbers:
        """Zero but for some."""
        return Numbers((0.0,) * start + tuple(entries) + (0.0,) * (count - start - len(entries)))


@one_operand
class Felt(NamedTuple):
    """What of every row's wrench is felt at a body; nothing of most."""

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


# ---- where the ends of a closing are ---------------------------------------------------------------------------------
# A closing is about two links, and a step sees one: what is known of each is put down for the robot, twelve numbers of
# its pose, six of its velocity, six of its acceleration.

POSE, TWIST, ACCELERATION = 1, 2, 3  # how much is put down
_SIZES = {POSE: 12, TWIST: 18, ACCELERATION: 24}


class End(NamedTuple):
    """A link: its pose, and if known its velocity and acceleration in link axes."""

    pose: Transform
    velocity: Motion
    acceleration: Motion

    @staticmethod
    def of(numbers: Sequence[Scalar]) -> End:
        """From what was put down."""
        rows = [numbers[k : k + 4] for k in (0, 4, 8)]
        given = (*numbers[12:], *(0.0,) * (24 - len(numbers)))
        return End(Transform.from_matrix(rows), Motion.of(given[:6]), Motion.of(given[6:12]))


def placed(parent: Transform, step: Transform) -> Transform:
    """Pose of a body in the world, also where frames have been moved onto axes."""
    return parent @ step.general()


PLACED = Step(placed, ("W@parent", "X"), ("W",), "W(k) = W(parent) X")


def put_down(pose: Transform, *motions: Motion) -> Numbers:
    """The numbers of a link."""
    rows = pose.rows()[:3]
    return Numbers((*(x for row in rows for x in row), *(x for one in motions for x in one.components())))


def link_motion(body: Motion, offset: Transform) -> Motion:
    """Motion of a link from its body's, in link axes."""
    return offset.inverse_motion(body)


_LINK_VELOCITY = Step(link_motion, ("V@body", "offset"), ("end V",), "V(link) = phi* V(body)")


def _link_acceleration(source: str) -> Step:
    return Step(link_motion, (f"{source}@body", "offset"), ("end A",), "alpha(link) = phi* alpha(body)")


def end_buffer(link: int) -> str:
    """Where a link is put down."""
    return f"end{link}"


def ends_of(model: Model) -> tuple[int, ...]:
    """The links that closings are about, in order."""
    closings = (one for one in model.equations if isinstance(one, Closing))
    return tuple(sorted({link for one in closings for link in one.links if link != NO_LINK}))


def put_down_ends(
    model: Model, known: int, acceleration: str = "alpha"
) -> tuple[tuple[Sweep, ...], tuple[Buffer, ...]]:
    """Sweeps that put down all ends: poses, with TWIST velocities, with ACCELERATION what a buffer says, too."""
    motions = (_LINK_VELOCITY, _link_acceleration(acceleration))[: known - POSE]
    names = ("L", "end V", "end A")[:known]
    sweeps = tuple(
        each_link(LINK_POSE, *motions, Step(put_down, names, (f"{end_buffer(link)}@robot",), "an end"), only=(link,))
        for link in ends_of(model)
    )
    buffers = (
        *(Buffer(end_buffer(link), Numbers.zero(_SIZES[known])) for link in ends_of(model)),
        *(Buffer(name, Motion.zero()) for name in names[1:]),
    )
    return sweeps, buffers


Both = Callable[..., tuple[End, End]]


def read_ends(of: Closing, *, rising: bool = False) -> tuple[tuple[str, ...], Both]:
    """What a step reads to know both ends, and how it gets them; a world without a link is known.

    ``rising``: accelerations are those of the recursions, which let the base rise instead of bodies fall.
    """
    reads = tuple(f"{end_buffer(link)}@robot" for link in of.links if link != NO_LINK)
    falls = rising and NO_LINK in of.links

    def both(*given: Any) -> tuple[End, End]:
        (gravity, *put) = given if falls else (ZERO, *given)
        left = iter(put)
        world = End(Transform.identity(), Motion.zero(), Motion(ZERO, -gravity))
        first, second = (world if link == NO_LINK else End.of(next(left).entries) for link in of.links)
        return first, second

    return (("gravity", *reads) if falls else reads), both


# ---- rows ------------------------------------------------------------------------------------------------------------


def wrench_steps(model: Model) -> Iterator[Sweep]:
    """What the rows of closings do to links, and those of the others to joints."""
    for of in model.equations:
        if isinstance(of, Closing):
            for side in (0, 1):
                if of.links[side] != NO_LINK and model.links[of.links[side]].body != WORLD:
                    yield each_link(_wrench_step(model.ncon, of, side), only=(of.links[side],))
        elif isinstance(of, Relating):
            for number, powers in of.terms:
                yield base_to_tip(_relation_step(of.start, powers), only=(number,))
        else:
            yield base_to_tip(_telling_step(of.start), only=(of.joint,))


def _wrench_step(count: int, of: Closing, side: int) -> Step:
    reads, both = read_ends(of)

    def wrenches(offset: Transform, *put: Numbers) -> Felt:
        forces = wrenches_on_link(of, side, *both(*put))
        return Felt.of(count, {of.start + k: offset.force(force) for k, force in enumerate(forces)})

    return Step(wrenches, ("offset", *reads), ("felt@body",), "rows of G as wrenches on the body")


def wrenches_on_link(of: Closing, side: int, first: End, second: End) -> list[Force]:
    """What each row does to the first link or the second, in its axes at its origin."""
    seen = closing.seen(of, first.pose, second.pose)
    here = seen.second if side else seen.first
    return [here.force(w if side else -w) for w in closing.wrenches(of, seen.pose)]


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


def demand_steps(model: Model, told: bool, accelerations: str = "qdd", *, rising: bool = True) -> Iterator[Sweep]:
    """``G a + gamma`` less what is prescribed, from the accelerations of ends and joints, added up in "demand"."""
    told_of = ("prescribed",) if told else ()
    for of in model.equations:
        if isinstance(of, Closing):
            link = of.links[1] if of.links[1] != NO_LINK else of.links[0]
            yield each_link(_closing_demand(model.ncon, of, told and of.told is not None, rising), only=(link,))
        elif isinstance(of, Relating):
            for number, powers in of.terms:
                yield base_to_tip(_relation_demand(model.ncon, of, powers, accelerations), only=(number,))
        else:
            yield base_to_tip(_telling_demand(model.ncon, of, told_of, accelerations), only=(of.joint,))


def _closing_demand(count: int, of: Closing, told: bool, rising: bool) -> Step:
    reads, both = read_ends(of, rising=rising)
    told_of = ("prescribed",) if told else ()

    def demand(*given: Any) -> Numbers:
        wanted, put = (given[0], given[1:]) if told else ((), given)
        first, second = both(*put)
        seen = closing.seen(of, first.pose, second.pose)
        one, other = (
            here.inverse_motion(x) for here, x in ((seen.first, first.velocity), (seen.second, second.velocity))
        )
        rates = closing.relative_acceleration(
            one, other, seen.first.inverse_motion(first.acceleration), seen.second.inverse_motion(second.acceleration)
        )
        found = closing.second_rates(of, seen.pose, closing.relative(one, other), rates)
        if told:
            found = tuple(x - wanted[(of.told or 0) + k] for k, x in enumerate(found))
        return Numbers.at(count, of.start, found)

    return Step(demand, (*told_of, *reads), ("demand@robot",), "G a + gamma: the errors' accelerations")


def _relation_demand(count: int, of: Relating, powers: tuple[float, ...], accelerations: str) -> Step:
    def demand(q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> Numbers:
        bent = curvature(powers, q[0])
        found = slope(powers, q[0]) * a[0] + bent * (v[0] * v[0])
        return Numbers.at(count, of.start, (found,))

    return Step(demand, ("q", "v", accelerations), ("demand@robot",), "G a + gamma of a relation")


def _telling_demand(count: int, of: Telling, told: tuple[str, ...], accelerations: str) -> Step:
    def demand(a: Sequence[Scalar], *given: Any) -> Numbers:
        wanted = given[0][of.told : of.told + len(of.units)] if told else (0.0,) * len(of.units)
        return Numbers.at(count, of.start, tuple(x - y for x, y in zip(a, wanted, strict=True)))

    return Step(demand, (accelerations, *told), ("demand@robot",), "a, less the prescribed")


# ---- inward: what rows do at joints, and the Delassus matrix ---------------------------------------------------------


def places(count: int) -> dict[tuple[int, int], int]:
    """Where the entries of a symmetric matrix are, row by row from the diagonal."""
    return {pair: at for at, pair in enumerate((i, j) for i in range(count) for j in range(i, count))}


def passing(count: int, unit_length: float) -> Step:
    """All rows that are felt at a body, past its joint."""
    where = places(count)

    @divides_by_hinges
    def passed(
        joint: Joint,
        rows: tuple[int, ...],
        done: tuple[Elimination, ...],
        felt: Felt,
        pull: tuple[Pull, ...],
        step: Transform,
    ) -> tuple[tuple[Response, ...], Numbers, Numbers, Felt]:
        pulled = dict(pull)
        responses, onward = list[Response](), dict[int, Force]()
        for row in rows:
            w, torque = felt.forces[row], pulled.get(row, (0.0,) * len(done))
            eps, nu = list[Scalar](), list[Scalar]()
            for (column, u, inverse_d), t in zip(done, torque, strict=True):
                eps.append(t + column.dot(w))
                nu.append(eps[-1] * inverse_d)
                w = w - u * nu[-1]
            responses.append(Response(row, tuple(eps), tuple(nu)))
            onward[row] = step.force(w)
        entries: list[Scalar] = [0.0] * len(where)
        for k, (i, eps_i, _) in enumerate(responses):
            for j, _, nu_j in responses[k:]:
                entries[where[i, j]] = _dot(eps_i, nu_j)
        yielding: Scalar = 0.0
        for turns, one in zip(joint.kind.angular, done, strict=True):
            yielding = yielding + one.inverse_d * (unit_length * unit_length if turns else 1.0)
        return tuple(responses), Numbers(tuple(entries)), Numbers((yielding,)), Felt.of(count, onward)

    return Step(
        passed,
        ("joint", "rows here", "elimination", "felt", "pull", "X"),
        ("responses", "delassus@robot", "yielding@robot", "felt@parent"),
        "eps = H psi w, A += eps inv(D) eps*                              (46)",
    )


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    first, *others = (a * b for a, b in zip(x, y, strict=True))
    return sum(others, start=first)


def rows_at(model: Model) -> dict[int, tuple[int, ...]]:
    """The rows that are felt at each body, by number, where there are any."""
    found: dict[int, set[int]] = {}
    for of in model.equations:
        if isinstance(of, Closing):
            ends = {model.links[link].body for link in of.links if link != NO_LINK} - {WORLD}
        else:
            ends = {number for number, _ in of.terms} if isinstance(of, Relating) else {of.joint}
        for body in (k for end in ends for k in model.support(end)):
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


# ---- the small system ------------------------------------------------------------------------------------------------


def matrix(count: int, entries: Sequence[Scalar]) -> list[list[Scalar]]:
    """A symmetric matrix from the entries of its upper half."""
    where = places(count)
    return [[entries[where[min(i, j), max(i, j)]] for j in range(count)] for i in range(count)]


def delassus_factors(model: Model, unit_length: float, delassus: Numbers, yielding: Numbers) -> Ranked:
    """The Delassus matrix in factors, with its rank judged.

    A row is as good as zero where it is rounding of what the joints yield altogether: turning by their summed
    compliances, moving by these at the robot's own length.
    """
    (scale,) = yielding.entries
    turning = scale * (1.0 / (unit_length * unit_length))
    least = [turning if unit == "r" else scale for of in model.equations for unit in of.units]
    return factored(matrix(model.ncon, delassus.entries), least)


def solving(model: Model, unit_length: float, *, least: bool = False) -> Step:
    """The multipliers; ``least``: the shortest of them, where there are several."""

    def multipliers(delassus: Numbers, yielding: Numbers, demand: Numbers) -> Numbers:
        factors = delassus_factors(model, unit_length, delassus, yielding)
        found = solve_ranked(factors, [-x for x in demand.entries])
        return Numbers(tuple(shortest(factors, found) if least else found))

    return Step(
        multipliers,
        ("delassus@robot", "yielding@robot", "demand@robot"),
        ("lambda@robot",),
        "A lambda = -(G a + gamma)",
    )


def driven(nu: Sequence[Scalar], responses: tuple[Response, ...], multipliers: Numbers) -> tuple[Scalar, ...]:
    """Innovations with what the constraints do."""
    total = list(nu)
    for row, _, own in responses:
        factor = multipliers.entries[row]
        total = [x + factor * y for x, y in zip(total, own, strict=True)]
    return tuple(total)


DRIVEN = Step(driven, ("nu", "responses", "lambda@robot"), ("nu",), "nu += inv(D) eps lambda")


def row_buffers(count: int) -> tuple[Buffer, ...]:
    """What is known of rows at bodies."""
    nothing = (Buffer(name, ()) for name in ("rows here", "pull", "responses"))
    return Buffer("felt", Felt.of(count, {})), *nothing


def constraint_buffers(model: Model) -> tuple[Buffer, ...]:
    """What rows and multipliers are kept in, beside what ends are put down in."""
    count = model.ncon
    return (
        *row_buffers(count),
        Buffer("delassus", Numbers.zero(len(places(count)))),
        Buffer("yielding", Numbers.zero(1)),
        Buffer("demand", Numbers.zero(count)),
        Buffer("lambda", Numbers.zero(count)),
    )


def inward(model: Model, unit_length: float) -> tuple[Sweep, ...]:
    """From the rows at the ends to the Delassus matrix."""
    bodies = row_bodies(model)
    return (
        *marking(model),
        *wrench_steps(model),
        tip_to_base(passing(model.ncon, unit_length), only=bodies),
    )
