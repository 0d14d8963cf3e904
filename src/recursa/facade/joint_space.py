"""What the methods in joint space share: which kernels serve them, vectors and matrices, what to say of nan."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import gathering
from recursa.dynamics.denoc.links import require_mass_centers, require_masses
from recursa.dynamics.wrenches import wrench_array
from recursa.facade.kinematics import KinematicsMethods
from recursa.kernels.dispatch import Columns, KernelStore
from recursa.model.model import WORLD
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Plan


def times(matrix: Array, vector: Array) -> Array:
    """Matrices (..., m, n) times vectors (..., n)."""
    return (matrix @ vector[..., None])[..., 0]


class JointSpaceMethods(KinematicsMethods):
    """Evaluation of plans whose results are joint vectors and matrices."""

    __slots__ = ()

    @property
    def _tied(self) -> bool:
        return any(not joint.independent for joint in self.model.joints)

    def _extra(self, q: ArrayLike, wrenches: Any, base_acceleration: Any, parameters: Any) -> dict[str, Any]:
        """The optional arguments that are given."""
        extra: dict[str, Any] = {}
        if wrenches is not None:
            extra["wrench"] = wrench_array(self.model, wrenches, lambda: self.poses(q))
        if base_acceleration is not None:
            extra["base_acceleration"] = base_acceleration
        if parameters is not None:
            extra["parameters"] = parameters
        return extra

    def _require_centers(self, arguments: dict[str, Any]) -> None:
        """Recursions at mass centres need all of them."""
        require_mass_centers(self.model)
        if "parameters" in arguments:
            require_masses(self.model, arguments)

    def _joint_vector(
        self,
        plan: Plan,
        name: str,
        arguments: dict[str, Any],
        out: Array | None,
        threads: int | None,
        entry: tuple[str, ...] | None = None,
        compiled_plan: Plan | None = None,
        *,
        may_move: MayMove = MayMove.NOTHING,
        store: KernelStore | None = None,
    ) -> Array:
        return self._evaluate(
            plan,
            arguments,
            lambda values: gathering.joint_vector(self.model, values.lists.get(name, [])),
            (self.nv,),
            out,
            threads,
            entry=entry,
            may_move=may_move,
            store=store,
            compiled_plan=compiled_plan,
        )

    def _joint_matrix(
        self,
        plan: Plan,
        arguments: dict[str, Any],
        symmetric: bool,
        out: Array | None,
        threads: int | None,
        entry: tuple[str, ...] | None = None,
        columns: Columns | None = None,
        *,
        may_move: MayMove = MayMove.NOTHING,
        store: KernelStore | None = None,
        compiled_plan: Plan | None = None,
    ) -> Array:
        return self._evaluate(
            plan,
            arguments,
            lambda values: gathering.joint_matrix(self.model, values.lists.get("rows", []), symmetric=symmetric),
            (self.nv, self.nv),
            out,
            threads,
            entry=entry,
            may_move=may_move,
            store=store,
            columns=columns,
            compiled_plan=compiled_plan,
        )

    def _columns(self, plan: Plan, name: str, unit: str, count: int | None = None) -> Columns:
        """A matrix column by column, should the robot be too large for all of it at once."""
        return Columns(
            plan,
            lambda values: gathering.joint_vector(self.model, values.lists.get(name, [])),
            unit,
            self.nv if count is None else count,
        )

    def _pivots(self, inverse: Array, plan: Plan, shape: tuple[int, ...], inputs: tuple[str, ...]) -> Array:
        """Entries of the inverse of the mass matrix that are not finite where a hinge inertia is zero: its diagonal, or
        of what a kernel made by a plan in factors only the first one of every tree.
        """
        diagonal = np.einsum("...ii->...i", inverse)
        if not self._store(MayMove.INERTIAS).has(plan, (None, shape), inputs, inverse.dtype):
            return diagonal
        roots = [joint.v_start for joint in self.model.joints if joint.parent == WORLD]
        return diagonal[..., roots[0]] if len(roots) == 1 else diagonal[..., roots]
