"""What the methods in joint space share: which kernels serve them, vectors and matrices, what to say of nan."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import augmented, gathering
from recursa.dynamics.denoc.links import require_mass_centers
from recursa.dynamics.hinges import singular_at
from recursa.dynamics.lacking import singular_hinge
from recursa.dynamics.wrenches import wrench_array
from recursa.errors import NoSweepError, unknown_name
from recursa.facade.kinematics import KinematicsMethods
from recursa.kernels.dispatch import Columns, KernelStore
from recursa.model.model import WORLD
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array, checked_out, prepare
from recursa.sweeps.plan import Plan


def known_method(kind: str, method: str, methods: tuple[str, ...]) -> None:
    """An unknown method is an error with a proposal."""
    if method not in methods:
        raise unknown_name(f"method of {kind}", method, methods)


def into(out: Array | None, result: Array) -> Array:
    """The result in the caller's array, if there is one."""
    if out is None:
        return result
    checked_out(out, result.shape, result.dtype)[...] = result
    return out


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

    def _augmented(self, *, accelerating: bool, losses: bool = False) -> tuple[Plan | None, MayMove]:
        """The recursion with the fewest operations, where kernels can use it: joints that turn or slide."""
        suited = augmented.suits(self._store(MayMove.INERTIAS_FOR_EULER).compiled_model)
        if not suited:
            return None, MayMove.INERTIAS
        return augmented.augmented_plan(accelerating=accelerating, losses=losses), MayMove.INERTIAS_FOR_EULER

    def _require_centers(self, arguments: dict[str, Any]) -> None:
        """Recursions at mass centres need all of them."""
        require_mass_centers(self.model)
        if "parameters" in arguments:
            self._require_masses(np.asarray(arguments["parameters"]))

    def _require_masses(self, parameters: Array) -> None:
        """Bodies whose mass is given as 0 have no mass centre. Symbols have no values to look at."""
        if parameters.dtype == object or parameters.shape[-1:] != (10 * self.model.nbodies,):
            return
        bare = (parameters[..., ::10] == 0.0).reshape(-1, self.model.nbodies).any(axis=0)
        for joint in np.asarray(self.model.joints, dtype=object)[bare][:1]:
            raise NoSweepError(
                f"method 'denoc' takes twists at mass centres, and parameters= gives link '{joint.child}' no mass. "
                "Use another method"
            )

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

    def _require_finite(self, result: Array, arguments: dict[str, Any], pivots: Array | None = None) -> None:
        """Where finite input gave something that is not finite, name the joint whose hinge inertia is zero.

        ``pivots`` are entries of a large result that tell: see :meth:`_pivots`.
        """
        if self.nv == 0 or np.isfinite(result if pivots is None else pivots).all():
            return
        batch = prepare(self.model, arguments, {})
        sound = np.logical_and.reduce([np.isfinite(rows).all(axis=1) for rows in batch.rows.values()])
        lost = sound & ~np.isfinite(result.reshape(batch.size, -1)).all(axis=1)
        for row in np.flatnonzero(lost)[:1]:
            state = {name: rows[row : row + 1] for name, rows in batch.rows.items() if name in ("q", "parameters")}
            for found in singular_at(self.model, state)[:1]:
                raise singular_hinge(self.model, found, " in parameters=" if "parameters" in state else "")
