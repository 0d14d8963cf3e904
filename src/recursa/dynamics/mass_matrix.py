"""The mass matrix by the composite-body recursion, and the momentum matrix.

Rodriguez & Kreutz-Delgado, Identity 1 (28)-(33). Columns of forces travel inward with the sweep: a body hands those of
its subtree on to its parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial

from recursa.dynamics.base_velocity import changes, in_columns
from recursa.dynamics.factorization import six_by_six
from recursa.dynamics.gathering import Entries, Entry, flat, joint_vector
from recursa.dynamics.inverse import bias_plan
from recursa.dynamics.kinematics import POSE, RELATIVE
from recursa.dynamics.mass_properties import FIRST_MOMENT, TOTAL_FIRST_MOMENT, center_of_mass_of, require_mass
from recursa.errors import unknown_name
from recursa.model.model import Joint, Model
from recursa.model.rebase import require_free_flyer
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, fuse, tip_to_base

Columns = tuple[tuple[Entry, Force], ...]


def composite(children: RigidInertia, inertia: RigidInertia, step: Transform) -> tuple[RigidInertia, RigidInertia]:
    """Inertia of everything outward as one rigid body, and its share at the parent."""
    total = children + inertia
    return total, step.inertia(total)


def mass_rows(
    joint: Joint, number: int, total: RigidInertia, below: Columns, step: Transform
) -> tuple[Entries, Columns]:
    """The joint's rows of the mass matrix, and the columns of the subtree carried to the parent."""
    own = own_columns(number, total, joint.columns())
    entries = rows_along(joint.columns(), joint.armature, number, own, below)
    return entries, tuple((key, step.force(force)) for key, force in (*own, *below))


def own_columns(number: int, total: RigidInertia, motions: Sequence[Motion]) -> Columns:
    """The forces that unit accelerations of a joint's freedoms take, everything outward moving along."""
    return tuple(((number, i), total @ motion) for i, motion in enumerate(motions))


def rows_along(
    motions: Sequence[Motion], rotors: Sequence[Scalar], number: int, own: Columns, below: Columns
) -> Entries:
    """A joint's rows of the mass matrix, from its own first freedom on: its motions along its and the outer forces."""
    entries = []
    for i, (motion, rotor) in enumerate(zip(motions, rotors, strict=True)):
        for key, force in (*own[i:], *below):
            value = motion.dot(force)
            entries.append((((number, i), key), value + rotor if key == (number, i) else value))
    return tuple(entries)


def momentum_columns(joint: Joint, total: RigidInertia, pose: Transform) -> tuple[Force, ...]:
    """Momentum per unit speed of the joint, everything outward moving along, about the world origin."""
    return tuple(pose.force(total @ column) for column in joint.columns())


def center_columns(joint: Joint, total: RigidInertia, pose: Transform) -> tuple[Vec3, ...]:
    """Of that momentum the linear part."""
    return tuple(pose.rotation @ (total @ column).force for column in joint.columns())


COMPOSITE = Step(composite, ("R", "inertia", "X"), ("R", "R@parent"), "R = M + sum of phi R phi*             (29)")
MASS_ROWS = Step(
    mass_rows,
    ("joint", "number", "R", "F", "X"),
    ("rows", "F@parent"),
    "F = R H*, m(i,k) = H(i) phi(i,k) F(k) + A        (31)-(33)",
)
MOMENTUM_COLUMNS = Step(momentum_columns, ("joint", "R", "W"), ("columns",), "phi(0,k) R H*")

_BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("W", IDENTITY_TRANSFORM),
    Buffer("R", RigidInertia.zero()),
    Buffer("F", ()),
    Buffer("rows", ()),
    Buffer("columns", ()),
    Buffer("mc", ZERO),
    Buffer("MC", ZERO),
)

MASS_MATRIX_PLAN = Plan("mass_matrix", _BUFFERS, (base_to_tip(RELATIVE), tip_to_base(COMPOSITE, MASS_ROWS)))
MOMENTUM_MATRIX_PLAN = Plan(
    "momentum_matrix",
    _BUFFERS,
    (base_to_tip(RELATIVE, POSE, FIRST_MOMENT, TOTAL_FIRST_MOMENT), tip_to_base(COMPOSITE, MOMENTUM_COLUMNS)),
)
CENTER_OF_MASS_JACOBIAN_PLAN = Plan(
    "center_of_mass_jacobian",
    _BUFFERS,
    (
        base_to_tip(RELATIVE, POSE),
        tip_to_base(COMPOSITE, Step(center_columns, ("joint", "R", "W"), ("columns",), "(R H*) linear")),
    ),
)
LOCKED_INERTIA_PLAN = Plan(
    "locked_inertia",
    _BUFFERS,
    (base_to_tip(RELATIVE, POSE, FIRST_MOMENT, TOTAL_FIRST_MOMENT), tip_to_base(COMPOSITE)),
)


@cache
def equations_of_motion_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """Mass matrix and bias together: X is computed once, and two sweeps do both."""
    bias = bias_plan(wrenches=wrenches, springs=springs)
    return fuse(MASS_MATRIX_PLAN, bias, name="equations_of_motion", keep=("rows", "T"))


def locked_entries(model: Model, values: Values, at: str) -> Iterator[Scalar]:
    """The 6 x 6 composite inertia of everything on body 0: there in its axes, or at the mass centre in world axes."""
    total: RigidInertia = values["R"][0]
    if at == "com":
        upright = total.rotated(values["W"][0].rotation)
        center = center_of_mass_of(model, values) - values["W"][0].translation
        total = upright.shifted(-center)
    return six_by_six(ArticulatedInertia.from_rigid(total))


def momentum_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The 6 x nv matrix about the centre of mass, row by row: moments moved there from the world origin."""
    center = center_of_mass_of(model, values)
    columns = values.lists.get("columns", [])
    return force_columns(model, [[moved_to(center, force) for force in forces] for forces in columns])


def moved_to(point: Vec3, momentum: Force) -> Force:
    """A momentum about the world origin about another point: ``L - c x p``."""
    return Force(momentum.moment - point.cross(momentum.force), momentum.force)


def center_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The 3 x nv matrix of the centre of mass, row by row: its momentum over the mass."""
    columns, inverse = values.lists.get("columns", []), 1.0 / model.total_mass
    return flat(zip(*joint_vector(model, [[one * inverse for one in own] for own in columns], ZERO), strict=True))


def force_columns(model: Model, per_joint: Sequence[Sequence[Force]]) -> Iterator[Scalar]:
    """The 6 x nv matrix from one column per freedom, row by row."""
    return flat(zip(*(column.components() for column in joint_vector(model, per_joint, Force.zero())), strict=True))


# ---- quantities ----------------------------------------------------------------------------------------------------


def _locked_inertia(of: Subject, given: Names, *, at: str = "com") -> Recipe:
    require_free_flyer(of.model, "rc.free.locked_inertia")
    if at not in ("com", "base"):
        raise unknown_name("reference point", at, ("com", "base"))
    return Recipe(LOCKED_INERTIA_PLAN, partial(locked_entries, of.model, at=at), (6, 6), require=require_mass)


def _momentum_matrix(of: Subject, given: Names, *, base_velocity: str = "body") -> Recipe:
    gather = partial(momentum_entries, of.model)
    recipe = Recipe(MOMENTUM_MATRIX_PLAN, gather, (6, of.model.nv), require=require_mass)
    return in_columns(recipe, base_velocity) if changes(base_velocity, of.model) else recipe


def _center_of_mass_jacobian(of: Subject, given: Names, *, base_velocity: str = "body") -> Recipe:
    gather = partial(center_entries, of.model)
    recipe = Recipe(CENTER_OF_MASS_JACOBIAN_PLAN, gather, (3, of.model.nv), require=require_mass)
    return in_columns(recipe, base_velocity) if changes(base_velocity, of.model) else recipe


LOCKED_INERTIA = Quantity(
    "free.locked_inertia",
    ("q",),
    _locked_inertia,
    "kg m^2 for rotations, kg for translations, kg m mixed; world axes at the centre of mass, or base axes",
)
MOMENTUM_MATRIX = Quantity(
    "momentum_matrix",
    ("q",),
    _momentum_matrix,
    "times v: (angular, linear) in kg m^2/s and kg m/s, world axes; columns as in v",
)
CENTER_OF_MASS_JACOBIAN = Quantity(
    "center_of_mass_jacobian", ("q",), _center_of_mass_jacobian, "times v: m/s, world axes; columns as in v"
)
