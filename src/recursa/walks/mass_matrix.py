"""The mass matrix: ``m(i, j) = s(j).R(i) s(i)``, j inward of i. Six multiplications a pair, nothing is carried."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.dynamics.gathering import Block, inward_entries, joint_matrix, own_entries
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward, tip_to_base
from recursa.walks.root_axes import AT_REST, BUFFERS, COMPOSITE, Forces, Motions, dots


def accelerating_forces(total: RigidInertia, columns: Motions) -> Forces:
    """What unit accelerations of a joint take, everything outward moving along."""
    return tuple(total @ column for column in columns)


def own_masses(joint: Joint, columns: Motions, forces: Forces) -> Block:
    """A joint with itself, up to the diagonal, with its armature there."""
    rows = [[column.dot(force) for force in forces[: i + 1]] for i, column in enumerate(columns)]
    return tuple((*row[:-1], row[-1] + rotor) for row, rotor in zip(rows, joint.armature, strict=True))


ACCELERATING_FORCES = Step(accelerating_forces, ("R", "S"), ("F",), "F = R s")
OWN_MASSES = Step(own_masses, ("joint", "S", "F"), ("m",), "m(i,i) = s.F + A")
MASSES = Step(dots, ("S@here", "F@start"), ("masses",), "m(i,j) = s(j).F(i)                    (33)")

MASS_MATRIX_PAIRS = Plan(
    "mass_matrix by walks",
    (*BUFFERS, Buffer("F", ()), Buffer("m", ()), Buffer("masses", ())),
    (base_to_tip(*AT_REST), tip_to_base(COMPOSITE, ACCELERATING_FORCES, OWN_MASSES), from_each_inward(MASSES)),
)


def mass_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The nv x nv mass matrix, row by row."""
    pairs = inward_entries(model, values.lists.get("masses", []))
    return joint_matrix(model, [*own_entries(values.lists.get("m", [])), *pairs], symmetric=True)
