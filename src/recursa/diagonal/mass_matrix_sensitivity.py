"""How the mass matrix changes with the configuration: Identity 6.3 of Jain & Rodriguez, and its contractions in O(n).

``M_i = H phi E_phi S_i phi M phi* H* + transpose``, S_i = crf of freedom i (6.14, the form for every joint).
Read at the outermost of the three joints, whose composite body is R, with J the motion of that body per unit speed:

    d M_ab / d q_i = [a < i] (crm(J_a) J_i) R J_b + [b < i] (crm(J_b) J_i) R J_a           a < i: i is outward of a

Derivatives are along unit velocities: by the coordinate itself for joints with one freedom, along body-fixed axes for
spherical, planar and free ones. Armature is constant and drops out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement

from recursa.dynamics.derivatives import CARRIED_FORCE, inertia_rate
from recursa.dynamics.gathering import Block, Entries, Entry, entries_with, speed_index
from recursa.dynamics.inverse import FORCE_BUFFERS, resting_force
from recursa.dynamics.kinematics import RELATIVE, velocity
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base
from recursa.walks.mass_matrix_rate import MOMENTUM_FORCES, Reaches, momentum_changes

Motions = tuple[tuple[Entry, Motion], ...]
Triples = tuple[tuple[tuple[Entry, Entry, Entry], Scalar], ...]  # ((row, column, coordinate), value)
Pairs = tuple[tuple[Entry, Force, Force], ...]

# ---- the whole tensor ------------------------------------------------------------------------------------------------


def jacobian_motions(joint: Joint, number: int, parent: Motions, step: Transform) -> Motions:
    """J of this body: its motion per unit speed of the joints on the way to it, its own last."""
    before = tuple((key, step.inverse_motion(motion)) for key, motion in parent)
    return before + tuple(((number, i), column) for i, column in enumerate(joint.columns()))


def sensitivities(number: int, motions: Motions, total: RigidInertia) -> Triples:
    """The entries whose outermost joint this is; rows and columns are exchangeable, one of each pair is listed."""
    before = [item for item in motions if item[0][0] != number]
    own = motions[len(before) :]
    momenta = {key: total @ motion for key, motion in motions}  # R J
    found: list[tuple[tuple[Entry, Entry, Entry], Scalar]] = []
    for i, turn in own:
        rates = {key: motion.cross_motion(turn) for key, motion in before}  # crm(J_a) J_i
        for (a, _), (b, _) in combinations_with_replacement(motions, 2):
            shares = [rates[x].dot(momenta[y]) for x, y in ((a, b), (b, a)) if x in rates]
            if shares:
                found.append(((a, b, i), sum(shares[1:], shares[0])))
    for place, (a, motion) in enumerate(before):
        for i, turn in before[place + 1 :]:
            if i[0] != a[0]:
                rate = motion.cross_motion(turn)
                found += [((a, b, i), rate.dot(momenta[b])) for b, _ in own]
    return tuple(found)


SENSITIVITY_PLAN = Plan(
    "sensitivity of the mass matrix",
    (*FORCE_BUFFERS, Buffer("R", RigidInertia.zero()), Buffer("J", ()), Buffer("dM", ())),
    (
        base_to_tip(RELATIVE),
        tip_to_base(COMPOSITE),
        base_to_tip(
            Step(jacobian_motions, ("joint", "number", "J@parent", "X"), ("J",), "J = phi* J(parent), and H*"),
            Step(sensitivities, ("number", "J", "R"), ("dM",), "dM(a,b)/dq(i) = (crm(J_a) J_i) R J_b + ...    (6.14)"),
        ),
    ),
)


def sensitivity_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """nv x nv x nv entries, row by row; ties folded in by the chain rule."""
    n = model.nv
    total: list[Scalar] = [0.0] * n**3
    for (a, b, i), value in (entry for entries in values.lists.get("dM", []) for entry in entries):
        for left, right in ((a, b), (b, a)) if a != b else ((a, b),):
            at, share = 0, value
            for number, freedom in (left, right, i):
                index, factor = speed_index(model.joints[number], freedom)
                at, share = at * n + index, share if factor is None else share * factor
            total[at] = total[at] + share
    return iter(total)


# ---- contracted with the direction of the change: a matrix -----------------------------------------------------------


def composite_rate(
    joint: Joint, total: RigidInertia, rate: RigidInertia, along: Sequence[Scalar], step: Transform
) -> RigidInertia:
    """``phi (R_dot + S R + R S*) phi*``: the share at the parent of the rate of the composite inertia."""
    return step.inertia(rate + inertia_rate(total, joint.motion(along)))


def mass_rate_rows(
    joint: Joint,
    number: int,
    total: RigidInertia,
    rate: RigidInertia,
    below: Pairs,
    along: Sequence[Scalar],
    step: Transform,
) -> tuple[Entries, Pairs]:
    """The joint's rows of M_dot, and the columns R H* with their rates carried to the parent."""
    columns = joint.columns()
    own = tuple(((number, i), total @ column, rate @ column) for i, column in enumerate(columns))
    entries = tuple(
        (((number, i), key), column.dot(change))
        for i, column in enumerate(columns)
        for key, _, change in (*own[i:], *below)
    )
    turn = joint.motion(along)
    passed = (
        (key, step.force(force), step.force(change + turn.cross_force(force))) for key, force, change in (*own, *below)
    )
    return entries, tuple(passed)


COMPOSITE_RATE = Step(
    composite_rate,
    ("joint", "R", "Rdot", "joint:along", "X"),
    ("Rdot@parent",),
    "R_dot(parent) += phi (R_dot + S R + R S*) phi*",
)
MASS_RATE = Plan(
    "rate of the mass matrix",
    (
        *FORCE_BUFFERS,
        Buffer("R", RigidInertia.zero()),
        Buffer("Rdot", RigidInertia.zero()),
        Buffer("F", ()),
        Buffer("rows", ()),
    ),
    (
        base_to_tip(RELATIVE),
        tip_to_base(
            COMPOSITE,
            COMPOSITE_RATE,
            Step(
                mass_rate_rows,
                ("joint", "number", "R", "Rdot", "F", "joint:along", "X"),
                ("rows", "F@parent"),
                "M_dot(i,k) = H(i) F_dot(k), F_dot(parent) += phi (F_dot + S F)",
            ),
        ),
    ),
)

# ---- contracted with a row or column: a matrix -----------------------------------------------------------------------

Outward = tuple[tuple[int, Reaches], ...]  # with the number of the joint


def turned_columns(joint: Joint, motion: Motion, step: Transform) -> tuple[Motion, ...]:
    """``crm(V+) s`` of every column s of ``H*``: how it turns while the bodies inward move."""
    carried = step.inverse_motion(motion)
    return tuple(carried.cross_motion(column) for column in joint.columns())


def momentum_rows(
    joint: Joint, number: int, rates: tuple[Motion, ...], felt: Reaches, own: Block, below: Outward, step: Transform
) -> tuple[Entries, Outward]:
    """Entries of ``d (M y)_j / dq_k`` that pair this joint with itself and the joints outward; forces for the parent.

    Joint k turns all that is outward of it, with the composite inertia R and the momentum p, by unit speed.
    """
    pairs = ((outer, momentum_changes(joint.columns(), rates, far)) for outer, far in below)
    passed = ((key, tuple(one.carried(step) for one in far)) for key, far in ((number, felt), *below))
    return entries_with(number, own, pairs), tuple(passed)


def displaced(joint: Joint, step: Transform, parent: Motion, change: Motion, dq: Sequence[Scalar]) -> Motion:
    """Change of a motion that comes from the parent: ``phi* dm + crm(phi* m) H* dq``."""
    return step.inverse_motion(change) + step.inverse_motion(parent).cross_motion(joint.motion(dq))


def displaced_torque(
    joint: Joint, step: Transform, change: Force, force: Force, dq: Sequence[Scalar]
) -> tuple[tuple[Scalar, ...], Force]:
    """``dT = H df``, and ``phi (df + crf(H* dq) f)`` for the parent."""
    return joint.project(change), step.force(change + joint.motion(dq).cross_force(force))


# ---- contracted with two vectors: a vector ---------------------------------------------------------------------------


def energy_gradient(
    joint: Joint,
    left: tuple[Motion, Force],
    right: tuple[Motion, Force],
) -> tuple[Scalar, ...]:
    """``x* M_i y`` of the joint's freedoms: ``(crm(Vx+) s) p_y + (crm(Vy+) s) p_x``, p the momentum outward (6.16a)."""
    (from_left, left_momentum), (from_right, right_momentum) = left, right
    return tuple(
        from_left.cross_motion(column).dot(right_momentum) + from_right.cross_motion(column).dot(left_momentum)
        for column in joint.columns()
    )


def products(gradient: Sequence[Scalar], along: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Entry by entry."""
    return tuple(x * y for x, y in zip(gradient, along, strict=True))


def behind(
    joint: Joint, motion: Motion, x: Sequence[Scalar], momentum: Force, step: Transform
) -> tuple[tuple[Motion, Force], Force]:
    """V+ of a motion and the momentum outward, and that momentum's share at the parent."""
    return (motion - joint.motion(x), momentum), step.force(momentum)


def _motion_of(name: str) -> tuple[Step, Step]:
    """phi* H* x, and the momentum M phi* H* x."""
    return (
        Step(velocity, ("joint", "X", f"V{name}@parent", f"joint:{name}"), (f"V{name}",), f"V = phi* H* {name}"),
        Step(resting_force, ("inertia", f"V{name}"), (f"p{name}",), "p = M V"),
    )


def _behind(name: str) -> Step:
    return Step(
        behind,
        ("joint", f"V{name}", f"joint:{name}", f"p{name}", "X"),
        (f"b{name}", f"p{name}@parent"),
        "V+, p(parent) += phi p",
    )


_VECTOR_BUFFERS = (
    *FORCE_BUFFERS,
    *(Buffer(f"V{name}", Motion.zero()) for name in ("left", "right")),
    *(Buffer(f"p{name}", Force.zero()) for name in ("left", "right")),
    *(Buffer(f"b{name}", ()) for name in ("left", "right")),
    Buffer("dV", Motion.zero()),
    Buffer("df", Force.zero()),
    Buffer("dT", ()),
)

GRADIENT = Plan(
    "sensitivity between two vectors",
    _VECTOR_BUFFERS,
    (
        base_to_tip(RELATIVE, *_motion_of("left"), *_motion_of("right")),
        tip_to_base(
            _behind("left"),
            _behind("right"),
            Step(energy_gradient, ("joint", "bleft", "bright"), ("dT",), "x* M_i y = H (...)    (6.16a)"),
        ),
    ),
)
GRADIENT_ALONG = Plan(
    "sensitivity between two vectors along a third",
    (*GRADIENT.buffers, Buffer("share", ())),
    (
        *GRADIENT.sweeps,
        tip_to_base(Step(products, ("dT", "joint:along"), ("share",), "x* M_dot y = sum of (x* M_i y) u_i")),
    ),
)


@cache
def mass_times_by_q(vector: str) -> Plan:
    """How M times the input of that name changes with q."""
    return Plan(
        "sensitivity of the mass matrix times a vector",
        (
            *_VECTOR_BUFFERS,
            Buffer("R", RigidInertia.zero()),
            *(Buffer(name, ()) for name in ("dS", "felt", "own", "F", "rows")),
        ),
        (
            base_to_tip(
                RELATIVE,
                Step(velocity, ("joint", "X", "Vright@parent", vector), ("Vright",), "V = phi* H* y"),
                Step(turned_columns, ("joint", "Vright@parent", "X"), ("dS",), "s' = crm(phi* V(parent)) s"),
                Step(resting_force, ("inertia", "Vright"), ("f",), "p = M V"),
            ),
            tip_to_base(
                COMPOSITE,
                CARRIED_FORCE,
                MOMENTUM_FORCES.reading(p="f"),
                Step(
                    momentum_rows,
                    ("joint", "number", "dS", "felt", "own", "F", "X"),
                    ("rows", "F@parent"),
                    "s(j).(R s' + crf(s) p)(k), s'(j).(R s)(k)",
                ),
            ),
        ),
    )


@cache
def mass_rate_times(vector: str) -> Plan:
    """The rate of M times the input of that name."""
    return Plan(
        "rate of the mass matrix times a vector",
        _VECTOR_BUFFERS,
        (
            base_to_tip(
                RELATIVE,
                Step(velocity, ("joint", "X", "Vright@parent", vector), ("Vright",), "V = phi* H* y"),
                Step(
                    displaced,
                    ("joint", "X", "Vright@parent", "dV@parent", "joint:along"),
                    ("dV",),
                    "dV = phi* dV + crm(phi* V) H* u",
                ),
                Step(resting_force, ("inertia", "Vright"), ("f",), "p = M V"),
                Step(resting_force, ("inertia", "dV"), ("df",), "dp = M dV"),
            ),
            tip_to_base(
                Step(
                    displaced_torque,
                    ("joint", "X", "df", "f", "joint:along"),
                    ("dT", "df@parent"),
                    "M_dot y = H dp, dp(parent) += phi (dp + crf(H* u) p)",
                ),
                CARRIED_FORCE,
            ),
        ),
    )
