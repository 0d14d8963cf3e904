"""Centre of mass, momentum and energies: one outward sweep and a sum over the bodies.

Sums run over the moving bodies; mass welded to the world counts nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from recursa.dynamics.kinematics import BASE_MOTION, BUFFERS, POSE, RELATIVE, VELOCITY
from recursa.dynamics.wrenches import SPRING_ENERGY
from recursa.errors import ModelError, NoSweepError, unknown_name
from recursa.model.model import WORLD, Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip


def first_moment(pose: Transform, inertia: RigidInertia) -> Vec3:
    """``m c`` of a body about the world origin, in world axes."""
    return pose.rotation @ inertia.first + pose.translation * inertia.mass


def momentum(pose: Transform, inertia: RigidInertia, velocity: Motion) -> Force:
    """``M V`` of a body, carried to the world origin: (angular, linear)."""
    return pose.force(inertia @ velocity)


def kinetic_energy(joint: Joint, inertia: RigidInertia, velocity: Motion, v: Sequence[Scalar]) -> Scalar:
    """``(V* M V + v* A v) / 2`` of a body and the rotors (armature) of its joint."""
    rotors = sum((a * (s * s) for a, s in zip(joint.armature, v, strict=True)), 0.0)
    return 0.5 * (velocity.dot(inertia @ velocity) + rotors)


def potential_energy(moment: Vec3, gravity: Vec3) -> Scalar:
    """``-m g . c`` of a body."""
    return -gravity.dot(moment)


FIRST_MOMENT = Step(first_moment, ("W", "inertia"), ("mc",), "mc = R h + m r")
TOTAL_FIRST_MOMENT = Step(lambda mc: mc, ("mc",), ("MC@robot",), "sum of m c")
MOMENTUM = Step(momentum, ("W", "inertia", "V"), ("h@robot",), "h = sum of phi M V")
KINETIC = Step(kinetic_energy, ("joint", "inertia", "V", "v"), ("kinetic@robot",), "sum of (V* M V + v* A v)/2")
POTENTIAL = Step(potential_energy, ("mc", "gravity"), ("potential@robot",), "-sum of m g.c")

_BUFFERS = (
    *BUFFERS,
    Buffer("mc", ZERO),
    Buffer("MC", ZERO),
    Buffer("h", Force.zero()),
    Buffer("kinetic", 0.0),
    Buffer("potential", 0.0),
)

CENTER_OF_MASS_PLAN = Plan("center_of_mass", _BUFFERS, (base_to_tip(RELATIVE, POSE, FIRST_MOMENT, TOTAL_FIRST_MOMENT),))
KINETIC_ENERGY_PLAN = Plan("kinetic_energy", _BUFFERS, (base_to_tip(RELATIVE, VELOCITY, KINETIC),))
MOMENTUM_PLAN = Plan(
    "momentum",
    _BUFFERS,
    (base_to_tip(RELATIVE, POSE, VELOCITY, FIRST_MOMENT, TOTAL_FIRST_MOMENT, MOMENTUM),),
)


@cache
def potential_energy_plan(*, springs: bool = False) -> Plan:
    """Energy of weight, and of springs."""
    steps = (RELATIVE, POSE, FIRST_MOMENT, POTENTIAL, *((SPRING_ENERGY,) if springs else ()))
    return Plan("potential_energy", _BUFFERS, (base_to_tip(*steps),))


def require_mass(model: Model) -> None:
    """A centre of mass exists only where there is mass."""
    if model.total_mass == 0.0:
        raise ModelError(
            f"robot '{model.name}' has no moving mass, so it has no centre of mass. Give its links masses, or load it "
            "with floating=True if its base should move"
        )


def center_of_mass_of(model: Model, values: Values) -> Vec3:
    """Centre of mass from the summed first moments."""
    return values.robot["MC"] * (1.0 / model.total_mass)


def momentum_of(model: Model, values: Values, about: str) -> Force:
    """Momentum about the world origin, or moved to the centre of mass: ``L_c = L_o - c x p``."""
    total: Force = values.robot["h"]
    if about == "world":
        return total
    return Force(total.moment - center_of_mass_of(model, values).cross(total.force), total.force)


def check_moved_base(model: Model, given: Names) -> None:
    """Momentum, its rate and energy of rotors on a base that is moved are not told from those of the base."""
    for joint in model.joints if set(BASE_MOTION) & given else ():
        if joint.rotor is not None and joint.rotor.coupled and joint.parent == WORLD:
            raise NoSweepError(
                f"joint '{joint.name}' of robot '{model.name}' has a rotor on the base, whose motion is given: energy, "
                "momentum and forces are those of moving bodies alone. Put the base on a joint of its own, or give the "
                "rotor coupled=False"
            )


def required_about(about: str) -> Callable[[Model], None] | None:
    """What a momentum about a reference point requires of a model; an error for points that there are not."""
    if about not in ("com", "world"):
        raise unknown_name("reference point", about, ("com", "world"))
    return require_mass if about == "com" else None


# ---- quantities ----------------------------------------------------------------------------------------------------


def _center_of_mass(of: Subject, given: Names) -> Recipe:
    return Recipe(CENTER_OF_MASS_PLAN, partial(center_of_mass_of, of.model), (3,), require=require_mass)


def _momentum(of: Subject, given: Names, *, about: str = "com") -> Recipe:
    require = required_about(about)
    check_moved_base(of.model, given)
    return Recipe(
        MOMENTUM_PLAN, lambda values: momentum_of(of.model, values, about).components(), (6,), require=require
    )


def _potential_energy(of: Subject, given: Names) -> Recipe:
    return _sum_over_bodies(potential_energy_plan(springs=of.model.has_springs), "potential", of)


def _kinetic_energy(of: Subject, given: Names) -> Recipe:
    check_moved_base(of.model, given)
    return _sum_over_bodies(KINETIC_ENERGY_PLAN, "kinetic", of)


def _sum_over_bodies(plan: Plan, name: str, of: Subject) -> Recipe:
    return Recipe(plan, lambda values: [values.robot.get(name, 0.0)], ())


CENTER_OF_MASS = Quantity("center_of_mass", ("q",), _center_of_mass, "m, world axes")
MOMENTUM_OF_ROBOT = Quantity(
    "momentum",
    ("q", "v"),
    _momentum,
    "(angular, linear) in kg m^2/s and kg m/s, world axes",
    optional=("base_twist",),
)
KINETIC_ENERGY = Quantity(
    "kinetic_energy",
    ("q", "v"),
    _kinetic_energy,
    "J",
    optional=("base_twist",),
)
POTENTIAL_ENERGY = Quantity("potential_energy", ("q",), _potential_energy, "J")
