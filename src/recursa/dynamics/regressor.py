"""The regressor: torques are linear in the inertial parameters, ``tau = Y pi``.

Ten parameters per body, in the order of :meth:`RigidInertia.components`. Each is a body of its own in the force balance
``f = M alpha + crf(V) M V``; the forces of a subtree travel inward together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from recursa.dynamics.gathering import Block, dots, flat, listed, speed_index
from recursa.dynamics.inverse import FORCE_BUFFERS, STATIC, moving_force, resting_force
from recursa.dynamics.kinematics import (
    ACCELERATION,
    BUFFERS,
    LINK_ACCELERATION,
    LINK_BUFFERS,
    LINK_VELOCITY,
    POSE,
    RELATIVE,
    VELOCITY,
)
from recursa.dynamics.mass_properties import first_moment, potential_energy
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, tip_to_base

UNIT_BODIES = tuple(RigidInertia.from_components([1.0 if i == k else 0.0 for i in range(10)]) for k in range(10))
Forces = tuple[Force, ...]  # one per parameter of a body
Outward = tuple[tuple[int, Forces], ...]  # with the number of the body
Blocks = tuple[tuple[int, Block], ...]  # rows of a joint, columns of the body of that number

WEIGHTS = UNIT_BODIES[:4]  # mass and first moments: what counts at rest


def parameter_forces(acceleration: Motion, velocity: Motion) -> Forces:
    """Force per unit of each of the body's ten parameters."""
    return tuple(moving_force(unit, acceleration, velocity) for unit in UNIT_BODIES)


def resting_forces(acceleration: Motion) -> Forces:
    """Force per unit of each parameter that counts at rest."""
    return tuple(resting_force(unit, acceleration) for unit in WEIGHTS)


def regressor_rows(joint: Joint, number: int, own: Forces, below: Outward, step: Transform) -> tuple[Blocks, Outward]:
    """The joint's rows, and the subtree's forces carried to the parent."""
    everything = ((number, own), *below)
    rows = tuple((body, dots(joint.columns(), forces)) for body, forces in everything)
    return rows, tuple((body, tuple(map(step.force, forces))) for body, forces in everything)


PARAMETER_FORCES = Step(parameter_forces, ("alpha", "V"), ("F",), "f = M alpha + crf(V) M V per parameter")
RESTING_FORCES = Step(resting_forces, ("alpha",), ("F",), "f = M alpha per parameter")
ROWS = Step(regressor_rows, ("joint", "number", "F", "below", "X"), ("rows", "below@parent"), "Y = H phi f")
ROW_BUFFERS = (Buffer("F", ()), Buffer("below", ()), Buffer("rows", ()))


def _regressor(name: str, *outward: Step) -> Plan:
    return Plan(name, (*FORCE_BUFFERS, *ROW_BUFFERS), (base_to_tip(*outward), tip_to_base(ROWS)))


REGRESSOR_PLAN = _regressor("regressor", RELATIVE, VELOCITY, ACCELERATION, PARAMETER_FORCES)
STATIC_REGRESSOR_PLAN = _regressor("static_regressor", RELATIVE, STATIC, RESTING_FORCES)


def regressor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x 10 nbodies matrix, row by row."""
    rows = enumerate(values.lists.get("rows", []))
    return parameter_matrix(model, ((joint, body, block) for joint, blocks in rows for body, block in blocks))


def parameter_matrix(model: Model, blocks: Iterable[tuple[int, int, Block]]) -> Iterator[Scalar]:
    """The same from blocks: rows of a joint, columns of a body."""
    rows: list[list[Scalar]] = [[0.0] * (10 * model.nbodies) for _ in range(model.nv)]
    for joint, body, block in blocks:
        for freedom, row in enumerate(block):
            at, factor = speed_index(model.joints[joint], freedom)
            for k, value in enumerate(row, 10 * body):
                rows[at][k] = rows[at][k] + (value if factor is None else value * factor)
    return flat(rows)


# ---- one link, and energies ------------------------------------------------------------------------------------------


def kinetic_energies(velocity: Motion) -> tuple[Scalar, ...]:
    """``V* M V / 2`` per unit of each of the body's ten parameters."""
    return tuple(0.5 * velocity.dot(unit @ velocity) for unit in UNIT_BODIES)


def potential_energies(pose: Transform, gravity: Vec3) -> tuple[Scalar, ...]:
    """``-m g . c`` per unit of each of the body's ten parameters."""
    weights = (potential_energy(first_moment(pose, unit), gravity) for unit in WEIGHTS)
    return (*weights, *(0.0 for _ in UNIT_BODIES[len(WEIGHTS) :]))


_LINK_FORCES = Step(parameter_forces, ("AL", "VL"), ("Y",), "f = M alpha + crf(V) M V per parameter, at the link")
_ENERGY_BUFFERS = (*BUFFERS, Buffer("Y", ()))
KINETIC_ENERGY_REGRESSOR_PLAN = Plan(
    "kinetic_energy_regressor",
    _ENERGY_BUFFERS,
    (base_to_tip(RELATIVE, VELOCITY, Step(kinetic_energies, ("V",), ("Y",), "V* M V / 2 per parameter")),),
)
POTENTIAL_ENERGY_REGRESSOR_PLAN = Plan(
    "potential_energy_regressor",
    _ENERGY_BUFFERS,
    (base_to_tip(RELATIVE, POSE, Step(potential_energies, ("W", "gravity"), ("Y",), "-m g.c per parameter")),),
)


def link_regressor_plan(model: Model, link: int) -> Plan:
    """The force that a body at a link needs, along the path to it."""
    path = model.support(model.links[link].body)
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY, ACCELERATION, only=path),
        each_link(LINK_VELOCITY, LINK_ACCELERATION, _LINK_FORCES, only=(link,)),
    )
    return Plan("link_regressor", (*FORCE_BUFFERS, *LINK_BUFFERS, Buffer("Y", ())), sweeps)


# ---- quantities ------------------------------------------------------------------------------------------------------


def _link_regressor(of: Subject, given: Names, *, link: str) -> Recipe:
    number = of.model.link_index(link)

    def gather(values: Values) -> Iterator[Scalar]:
        return flat(zip(*(force.components() for force in values["Y"][number]), strict=True))

    return Recipe(link_regressor_plan(of.model, number), gather, (6, 10))


def _energy_regressor(plan: Plan, of: Subject, given: Names) -> Recipe:
    return Recipe(plan, listed("Y"), (10 * of.model.nbodies,))


LINK_REGRESSOR = Quantity(
    "link_regressor",
    ("q", "v", "a"),
    _link_regressor,
    "times ten parameters: (moment, force) in N m and N, link axes at the link origin",
)
KINETIC_ENERGY_REGRESSOR = Quantity(
    "kinetic_energy_regressor",
    ("q", "v"),
    partial(_energy_regressor, KINETIC_ENERGY_REGRESSOR_PLAN),
    "times the ten parameters per body: J",
)
POTENTIAL_ENERGY_REGRESSOR = Quantity(
    "potential_energy_regressor",
    ("q",),
    partial(_energy_regressor, POTENTIAL_ENERGY_REGRESSOR_PLAN),
    "times the ten parameters per body: J",
)
