"""The mass matrix by Algorithms 6.1 (composite bodies, Walker & Orin) and 6.2 (augmented and generalised links).

Column i starts at link i with the force f and the moment eta (about o_i) that a unit acceleration of joint i takes, and
travels inward; every joint j on the way reads its entry d_ji. Columns move with the sweep, so that one sweep does all.
"""

from __future__ import annotations

from typing import NamedTuple

from recursa.book.augmented_recursion import AUGMENT, AUGMENTED_BUFFERS
from recursa.book.on_axes import BUFFERS, CENTRED, Centred
from recursa.book.rigid_body import inertia_from_euler
from recursa.dynamics.gathering import Entries, Entry
from recursa.dynamics.kinematics import RELATIVE
from recursa.errors import NoSweepError
from recursa.model.model import Joint, Model
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import ScrewChain
from recursa.spatial.vec3 import SYM_ZERO, Z_AXIS, ZERO, SymMat3, Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


class Column(NamedTuple):
    """Column i of the matrix on its way inward."""

    key: Entry
    f: Vec3
    eta: Vec3


def entries(joint: Joint, number: int, columns: tuple[Column, ...]) -> Entries:
    """``d_ji = sigma_j eta.z + (1 - sigma_j) f.z`` (6.2.8h), (6.2.9c), (6.3.29f), (6.3.30c), with the rotor's inertia.

    sigma and z are joint j's, on the way inward too, where (6.2.9c) prints those of i.
    """
    here = (number, 0)
    values = [(key, f.z if joint.kind.slides else eta.z) for key, f, eta in columns]
    rotor = joint.armature[0]
    return tuple(((here, key), value + rotor if key == here else value) for key, value in values)


# ---- Algorithm 6.1 ("walker-orin") -----------------------------------------------------------------------------------


class Composite(NamedTuple):
    """Links i..n as one body: mass mbar_i, centre of mass R_i, inertia Ec_i about it."""

    mass: Scalar
    R: Vec3
    Ec: SymMat3


def steiner(mass: Scalar, v: Vec3) -> SymMat3:
    """``m (v.v 1 - v v^T)``."""
    return (-SymMat3.dyad(v, mass)).plus_diagonal(mass * v.dot(v))


def composite_body(
    link: Centred, outward: tuple[Composite, ...], step: ScrewChain
) -> tuple[Composite, tuple[Composite, ...]]:
    """The composite body i (6.2.8a-c), and the same as its parent sees it: ``s + A R``, ``A Ec A^T``."""
    parts = (Composite(link.mass, link.r, link.moment), *outward)
    mass, first = link.mass, link.r * link.mass
    for part in outward:
        mass = mass + part.mass  # (6.2.8a)
        first = first + part.R * part.mass
    R = first * (1.0 / mass)  # (6.2.8b)
    Ec = SYM_ZERO
    for part in parts:
        Ec = Ec + part.Ec + steiner(part.mass, part.R - R)  # (6.2.8c)
    there = Composite(mass, step.origin() + step.rotate(R), step.symmetric(Ec))
    return Composite(mass, R, Ec), (there,)


def walker_orin_rows(
    joint: Joint, number: int, body: Composite, below: tuple[Column, ...], step: ScrewChain
) -> tuple[Entries, tuple[Column, ...]]:
    """The joint's row of the matrix, and the columns carried to the parent."""
    z, (mass, R, Ec) = Z_AXIS, body
    force = z * mass if joint.kind.slides else z.cross(R * mass)  # (6.2.8d, f)
    moment = R.cross(force) if joint.kind.slides else Ec @ z + R.cross(force)  # (6.2.8e, g)
    columns = (Column((number, 0), force, moment), *below)
    carried = []
    for key, f, eta in columns:
        there = step.rotate(f)  # (6.2.9a)
        carried.append(Column(key, there, step.rotate(eta) + step.origin().cross(there)))  # the new f    (6.2.9b)
    return entries(joint, number, columns), tuple(carried)


WALKER_ORIN = Plan(
    "mass_matrix, walker-orin",
    (*BUFFERS, Buffer("C", Composite(0.0, ZERO, SYM_ZERO)), Buffer("parts", ()), Buffer("F", ()), Buffer("rows", ())),
    (
        base_to_tip(RELATIVE, CENTRED),
        tip_to_base(
            Step(composite_body, ("link", "parts", "X"), ("C", "parts@parent"), "mbar, R, Ec   (6.2.8a-c)"),
            Step(
                walker_orin_rows,
                ("joint", "number", "C", "F", "X"),
                ("rows", "F@parent"),
                "f = z x mbar R or mbar z, eta = Ec z + R x f, d_ji   (6.2.8d-h), (6.2.9)",
            ),
        ),
    ),
)


def require_mass_outward(model: Model) -> None:
    """Raise where Algorithm 6.1 would divide by zero: joints outward of which nothing has mass."""
    outward = [float(inertia.mass) for inertia in model.inertias]
    for number in reversed(range(model.nbodies)):
        parent = model.joints[number].parent
        if parent >= 0:
            outward[parent] += outward[number]
    for joint, mass in zip(model.joints, outward, strict=True):
        if mass == 0.0:
            raise NoSweepError(
                f"method 'walker-orin': the links outward of joint '{joint.name}' have no mass, and Algorithm 6.1 "
                "divides by it. Use method='augmented', which has no division, or method='composite'"
            )


# ---- Algorithm 6.2 ("augmented") -------------------------------------------------------------------------------------


def step_in_child(step: ScrewChain) -> Vec3:
    """``s' = A^T s = (a cos, -a sin, d)``: from the parent's origin to this one's, in this frame (6.3.29b)."""
    return -step.inverse.origin()


def generalized_link(
    u: Vec3, euler: SymMat3, U_below: Vec3, E_below: SymMat3, s: Vec3, step: ScrewChain
) -> tuple[Vec3, SymMat3, Vec3, SymMat3]:
    """U_i and E_i of the generalised link, and their shares in the parent's."""
    U = u + U_below  # (6.3.29a)
    E = inertia_from_euler(euler) + E_below  # K_i + ...    (6.3.29c)
    X = Mat3.skew(s) @ Mat3.skew(U)
    both = SymMat3(2.0 * X.x.x, 2.0 * X.y.y, 2.0 * X.z.z, X.x.y + X.y.x, X.x.z + X.z.x, X.y.z + X.z.y)  # X + X^T
    return U, E, step.rotate(U), step.symmetric(E - both)


def augmented_rows(
    joint: Joint,
    number: int,
    mass: Scalar,
    U: Vec3,
    E: SymMat3,
    below: tuple[Column, ...],
    s: Vec3,
    step: ScrewChain,
) -> tuple[Entries, tuple[Column, ...]]:
    """The joint's row of the matrix, and the columns carried to the parent."""
    z = Z_AXIS
    force = z * mass if joint.kind.slides else z.cross(U)  # (6.3.29d)
    moment = U.cross(z) if joint.kind.slides else E @ z  # (6.3.29e); the book leaves out the first
    columns = (Column((number, 0), force, moment), *below)
    carried = tuple(
        Column(key, step.rotate(f), step.rotate(s.cross(f) + eta))  # (6.3.30a, b)
        for key, f, eta in columns
    )
    return entries(joint, number, columns), carried


AUGMENTED = Plan(
    "mass_matrix, augmented",
    (
        *AUGMENTED_BUFFERS,
        Buffer("s'", ZERO),
        Buffer("E", SYM_ZERO),
        Buffer("F", ()),
        Buffer("rows", ()),
    ),
    (
        base_to_tip(RELATIVE, Step(step_in_child, ("X",), ("s'",), "s' = A^T s   (6.3.29b)")),
        tip_to_base(
            AUGMENT,
            Step(
                generalized_link,
                ("u", "K", "U", "E", "s'", "X"),
                ("U", "E", "U@parent", "E@parent"),
                "U = u + A U, E = K + A [E - (X + X^T)] A^T, X = ~s' ~U   (6.3.29a, c)",
            ),
            Step(
                augmented_rows,
                ("joint", "number", "mass", "U", "E", "F", "s'", "X"),
                ("rows", "F@parent"),
                "f = z x U or mbar z, eta = E z or U x z, d_ji   (6.3.29d-f), (6.3.30)",
            ),
        ),
    ),
)
