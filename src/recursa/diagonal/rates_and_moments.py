"""Total joint rates and working moments: the factor of the mass matrix and its inverse applied to vectors, in O(n).

Jain & Rodriguez, Algorithm 4.1 and Tables 2 and 3. ``mass = m m*`` with ``m = (I + H phi K) W``, ``D = W W*``:

    nu    = m* v          xi    = (I + H phi K)* v        total joint rates
    eps   = inv(m) T      kappa = (I - H psi K) T         working moments

A joint with several freedoms is eliminated freedom by freedom, the first one first, so that ``D = L d L*`` and W is
``L sqrt(d)``, the lower Cholesky factor in velocity order. ``r = 1/sqrt(d)`` per freedom is all that is kept of it.
Table 3 as printed has ``z+ = z + G eps``; right is ``z + G W eps = z + G kappa``.
"""

from __future__ import annotations

from collections.abc import Sequence

from recursa.dynamics.articulated_bodies import ARTICULATED_BUFFERS, Elimination, filtered, innovated, reduced, smoothed
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.needs import divides_by_hinges
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar, sqrt
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base

Eliminations = tuple[Elimination, ...]
Numbers = tuple[Scalar, ...]

# ---- Algorithm 4.1 ---------------------------------------------------------------------------------------------------


@divides_by_hinges
def articulate(
    joint: Joint, children: ArticulatedInertia, inertia: RigidInertia, step: Transform
) -> tuple[ArticulatedInertia, Eliminations, ArticulatedInertia, ArticulatedInertia]:
    """P, the eliminations, P+, and ``phi P+ phi*`` at the parent."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    done, rest = reduced(joint, own)
    return own, done, rest, step.articulated(rest)


def roots(done: Eliminations) -> Numbers:
    """``1/sqrt(d)`` of every freedom; not a number where the hinge inertia is negative."""
    return tuple(sqrt(inverse_d) for _, _, inverse_d in done)


# ---- Table 2: rates, outward -----------------------------------------------------------------------------------------


def rates_of_nu(
    done: Eliminations, r: Numbers, nu: Numbers, step: Transform, parent: Motion
) -> tuple[Numbers, Numbers, Motion]:
    """``zeta = sqrt(d)^-1 nu`` freedom by freedom, ``v = zeta - G* V+`` and V: Table 2, right."""
    zeta = tuple(x * root for x, root in zip(nu, r, strict=True))
    v, velocity = smoothed(done, zeta, step.inverse_motion(parent))
    return zeta, v, velocity


def rates_of_xi(
    joint: Joint, done: Eliminations, xi: Numbers, step: Transform, parent: Motion
) -> tuple[Numbers, Motion]:
    """``v = xi - G* V+`` and V: Table 2, right, without the root."""
    behind = step.inverse_motion(parent)
    v = tuple(x + y for x, y in zip(xi, _passive(done, behind), strict=True))
    return v, behind + joint.motion(v)


def freedom_rates(done: Eliminations, v: Sequence[Scalar], step: Transform, parent: Motion) -> tuple[Numbers, Motion]:
    """``zeta = L* xi``: the total rate of each freedom as if it were a joint of its own; and V. Table 2, left."""
    velocity = step.inverse_motion(parent)
    zeta = []
    for (column, u, inverse_d), speed in zip(reversed(done), reversed(v), strict=True):
        zeta.append(speed + velocity.dot(u) * inverse_d)
        velocity = velocity + column * speed
    return tuple(reversed(zeta)), velocity


def total_rates(
    joint: Joint, done: Eliminations, v: Sequence[Scalar], step: Transform, parent: Motion
) -> tuple[Numbers, Motion]:
    """``xi = v + G* V+`` and V: Table 2, left, without the root."""
    behind = step.inverse_motion(parent)
    xi = tuple(x - y for x, y in zip(v, _passive(done, behind), strict=True))
    return xi, behind + joint.motion(v)


def _passive(done: Eliminations, behind: Motion) -> Numbers:
    """``-G* V+``: the rates that free joints take when their parent is jerked into motion."""
    return smoothed(done, (0.0,) * len(done), behind)[0]


def normalized(r: Numbers, zeta: Numbers) -> Numbers:
    """``nu = sqrt(d) zeta = W* xi``."""
    return tuple(x / root for x, root in zip(zeta, r, strict=True))


# ---- Table 3: moments, inward ----------------------------------------------------------------------------------------


def working_moments(
    done: Eliminations, r: Numbers, torque: Sequence[Scalar], z: Force, step: Transform
) -> tuple[Numbers, Force]:
    """``eps = inv(W) (T - H z)``, and ``z + G kappa`` carried to the parent: Table 3, left, corrected."""
    innovations, _, z = innovated(done, torque, z)
    return tuple(x * root for x, root in zip(innovations, r, strict=True)), step.force(z)


def working_moments_unnormalized(
    joint: Joint, done: Eliminations, torque: Sequence[Scalar], z: Force, step: Transform
) -> tuple[Numbers, Force]:
    """``kappa = T - H z``."""
    kappa = tuple(t - x for t, x in zip(torque, joint.project(z), strict=True))
    return kappa, step.force(filtered(done, torque, z)[1])


def joint_moments(
    done: Eliminations, r: Numbers, eps: Sequence[Scalar], z: Force, step: Transform
) -> tuple[Numbers, Force]:
    """``T = W eps + H z``, and ``z + G W eps`` carried to the parent: Table 3, right, corrected."""
    torque = []
    for (column, u, _), root, x in zip(done, r, eps, strict=True):
        torque.append(column.dot(z) + x / root)
        z = z + u * (x * root)
    return tuple(torque), step.force(z)


def joint_moments_unnormalized(
    joint: Joint, done: Eliminations, kappa: Sequence[Scalar], z: Force, step: Transform
) -> tuple[Numbers, Force]:
    """``T = kappa + H z``, and ``z + G kappa`` carried to the parent."""
    torque = tuple(x + y for x, y in zip(kappa, joint.project(z), strict=True))
    return torque, step.force(filtered(done, torque, z)[1])


# ---- plans -----------------------------------------------------------------------------------------------------------

ARTICULATE = Step(
    articulate,
    ("joint", "P", "inertia", "X"),
    ("P", "elimination", "P+", "P@parent"),
    "P = M + sum of phi P+ phi*, D = H P H* + A, P+ = P - P H* inv(D) H P    Algorithm 4.1",
)
ROOTS = Step(roots, ("elimination",), ("r",), "r = 1/sqrt(d), D = L d L*")
RATES_OF_NU = Step(
    rates_of_nu,
    ("elimination", "r", "joint:nu", "X", "V@parent"),
    ("zeta", "rate", "V"),
    "zeta = r nu, v = zeta - G* phi* V(parent), V = phi* V(parent) + H* v    Table 2",
)
RATES_OF_XI = Step(
    rates_of_xi,
    ("joint", "elimination", "joint:xi", "X", "V@parent"),
    ("rate", "V"),
    "v = xi - G* phi* V(parent), V = phi* V(parent) + H* v    Table 2",
)
FREEDOM_RATES = Step(
    freedom_rates,
    ("elimination", "v", "X", "V@parent"),
    ("zeta", "V"),
    "zeta = L* xi, xi = v + G* phi* V(parent)    Table 2",
)

BUFFERS = (
    *ARTICULATED_BUFFERS,
    Buffer("P+", ArticulatedInertia.zero()),
    Buffer("r", ()),
    Buffer("zeta", ()),
    Buffer("xi", ()),
    Buffer("rate", ()),
    Buffer("z", Force.zero()),
    Buffer("eps", ()),
)


def _plan(name: str, inward: tuple[Step, ...], *outward: Step) -> Plan:
    after = (base_to_tip(*outward),) if outward else ()
    return Plan(name, BUFFERS, (tip_to_base(RELATIVE, ARTICULATE, *inward), *after))


TOTAL_RATES = _plan(
    "total joint rates nu", (ROOTS,), FREEDOM_RATES, Step(normalized, ("r", "zeta"), ("eps",), "nu = zeta / r = W* xi")
)
UNNORMALIZED_TOTAL_RATES = _plan(
    "total joint rates xi",
    (),
    Step(
        total_rates,
        ("joint", "elimination", "v", "X", "V@parent"),
        ("xi", "V"),
        "xi = v + G* phi* V(parent), V = phi* V(parent) + H* v    Table 2",
    ),
)
JOINT_RATES = _plan("joint rates of nu", (ROOTS,), RATES_OF_NU)
UNNORMALIZED_JOINT_RATES = _plan("joint rates of xi", (), RATES_OF_XI)


def _inward(name: str, *steps: Step) -> Plan:
    return _plan(name, steps)


WORKING_MOMENTS = _inward(
    "working moments eps",
    ROOTS,
    Step(
        working_moments,
        ("elimination", "r", "tau", "z", "X"),
        ("eps", "z@parent"),
        "kappa = T - H z, eps = inv(W) kappa, z(parent) += phi (z + G kappa)    Table 3",
    ),
)
UNNORMALIZED_WORKING_MOMENTS = _inward(
    "working moments kappa",
    Step(
        working_moments_unnormalized,
        ("joint", "elimination", "tau", "z", "X"),
        ("eps", "z@parent"),
        "kappa = T - H z, z(parent) += phi (z + G kappa)    Table 3",
    ),
)
JOINT_MOMENTS = _inward(
    "joint moments of eps",
    ROOTS,
    Step(
        joint_moments,
        ("elimination", "r", "joint:eps", "z", "X"),
        ("T", "z@parent"),
        "T = W eps + H z, z(parent) += phi (z + G W eps)    Table 3",
    ),
)
UNNORMALIZED_JOINT_MOMENTS = _inward(
    "joint moments of kappa",
    Step(
        joint_moments_unnormalized,
        ("joint", "elimination", "joint:kappa", "z", "X"),
        ("T", "z@parent"),
        "T = kappa + H z, z(parent) += phi (z + G kappa)    Table 3",
    ),
)
