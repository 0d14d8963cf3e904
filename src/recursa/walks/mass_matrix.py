"""The mass matrix: ``m(i, j) = s(j).R(i) s(i)``, j inward of i. Six multiplications a pair, nothing is carried."""

from __future__ import annotations

from recursa.dynamics.gathering import Block, dots
from recursa.model.model import Joint
from recursa.spatial.inertia import RigidInertia
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import AT_REST, BUFFERS, COMPOSITE, Forces, Motions


def accelerating_forces(total: RigidInertia, columns: Motions) -> Forces:
    """What unit accelerations of a joint take, everything outward moving along."""
    return tuple(total @ column for column in columns)


def own_masses(joint: Joint, columns: Motions, forces: Forces) -> Block:
    """A joint with itself, up to the diagonal, with its armature there."""
    rows = [[column.dot(force) for force in forces[: i + 1]] for i, column in enumerate(columns)]
    return tuple((*row[:-1], row[-1] + rotor) for row, rotor in zip(rows, joint.armature, strict=True))


ACCELERATING_FORCES = Step(accelerating_forces, ("R", "S"), ("F",), "F = R s")
OWN_MASSES = Step(own_masses, ("joint", "S", "F"), ("own",), "m(i,i) = s.F + A")
MASSES = Step(dots, ("S@here", "F@start"), ("entries",), "m(i,j) = s(j).F(i)                    (33)")

MASS_MATRIX_PAIRS = Plan(
    "mass_matrix by walks",
    (*BUFFERS, Buffer("F", ()), Buffer("own", ()), Buffer("entries", ())),
    (base_to_tip(*AT_REST), tip_to_base(COMPOSITE, ACCELERATING_FORCES, OWN_MASSES), from_each_inward(MASSES)),
)
