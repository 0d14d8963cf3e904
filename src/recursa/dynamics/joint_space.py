"""What many quantities in joint space share: how a result is gathered, and units."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.dynamics.gathering import flat, joint_matrix, joint_vector
from recursa.kernels.loop import Looped
from recursa.kernels.staging import Unit
from recursa.model.model import Model
from recursa.quantities.quantity import Gather
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values
from recursa.sweeps.inputs import FORCES as FORCES

ACCELERATIONS = "rad/s^2 for rotations, m/s^2 for translations; places as in v"
MASSES = "kg m^2 for rotations, kg for translations, kg m mixed; rows and columns as in v"


def vector_of(model: Model, name: str) -> Gather:
    """A joint vector from a buffer."""

    def gather(values: Values) -> list[Scalar]:
        return joint_vector(model, values.lists.get(name, []))

    return gather


def listed(name: str) -> Gather:
    """The entries of rows, or of numbers of joints, in a buffer, one after the other."""
    return lambda values: flat(values.lists.get(name, []))


def matrix_of(model: Model, *, symmetric: bool, name: str = "rows") -> Gather:
    """A matrix in joint space from the entries in a buffer."""

    def gather(values: Values) -> Iterator[Scalar]:
        return joint_matrix(model, values.lists.get(name, []), symmetric=symmetric)

    return gather


def columns_of(model: Model, plan: Plan, name: str, unit: str) -> Looped:
    """A matrix column by column, for robots that are too large for all of it at once."""
    return Looped(plan, vector_of(model, name), Unit(unit, model.nv))
