"""The inverse of the mass matrix, column by column: what unit torques make of a robot at rest, in root axes.

The articulated recursion (34)-(36) once, then for every unit torque the filter inward and the smoother outward, twelve
multiplications a body each: ``inv(mass) = (I - H psi K)* inv(D) (I - H psi K)`` (46), never as a product.
"""

from __future__ import annotations

from collections.abc import Sequence

from recursa.dynamics.articulated import Elimination, eliminated, filtered, smoothed
from recursa.dynamics.needs import divides_by_hinges
from recursa.dynamics.pairs.root_axes import AT_REST, BUFFERS, Motions
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


@divides_by_hinges
def articulated_outward(
    joint: Joint, columns: Motions, children: ArticulatedInertia, inertia: RigidInertia
) -> tuple[tuple[Elimination, ...], ArticulatedInertia]:
    """The eliminations of a joint's freedoms, and P+ for the parent."""
    return eliminated(columns, joint.armature, children + ArticulatedInertia.from_rigid(inertia))


def filtered_inward(
    done: tuple[Elimination, ...], torque: Sequence[Scalar], z: Force
) -> tuple[tuple[Scalar, ...], Force]:
    """``nu = inv(D) (T - H z)``, and z+ for the parent."""
    return filtered(done, torque, z)


def smoothed_outward(
    done: tuple[Elimination, ...], nu: Sequence[Scalar], parent: Motion
) -> tuple[tuple[Scalar, ...], Motion]:
    """``qdd = nu - G* lambda(parent)``, and the body's own acceleration."""
    return smoothed(done, nu, parent)


SOLVE_IN_ROOT = Plan(
    "solve in root axes",
    (
        *BUFFERS,
        Buffer("P", ArticulatedInertia.zero()),
        Buffer("done", ()),
        Buffer("z", Force.zero()),
        Buffer("nu", ()),
        Buffer("qdd", ()),
        Buffer("lambda", Motion.zero()),
    ),
    (
        base_to_tip(*AT_REST),
        tip_to_base(
            Step(
                articulated_outward,
                ("joint", "S", "P", "I"),
                ("done", "P@parent"),
                "P = I + sum of P+, D = s.P s + A, P+ = P - P s inv(D) s* P    (34)-(36)",
            ),
            Step(
                filtered_inward,
                ("done", "tau", "z"),
                ("nu", "z@parent"),
                "nu = inv(D) (T - s.z), z(parent) += z + G eps",
            ),
        ),
        base_to_tip(
            Step(
                smoothed_outward,
                ("done", "nu", "lambda@parent"),
                ("qdd", "lambda"),
                "qdd = nu - G* lambda(parent), lambda = lambda(parent) + s qdd",
            )
        ),
    ),
)
