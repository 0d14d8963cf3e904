"""The mass matrix and its relatives."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import articulated, coriolis, inertia, regressor
from recursa.dynamics.book import methods as book
from recursa.dynamics.columns import CORIOLIS_TIMES, MASS_TIMES, REGRESSOR_TIMES
from recursa.dynamics.composite_factor import MASS_MATRIX_INVERSE_BY_FACTORS
from recursa.dynamics.denoc import matrices as denoc
from recursa.dynamics.factorization import SOLVE
from recursa.facade.base import given, single_state_fast
from recursa.facade.joint_space import JointSpaceMethods, into, known_method
from recursa.kernels.kernel import FEW_BODIES
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array

MassMethod = Literal["composite", "augmented", "walker-orin", "denoc"]


class MatrixMethods(JointSpaceMethods):
    """Matrices of the equations of motion."""

    __slots__ = ()

    @single_state_fast
    def mass_matrix(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        method: MassMethod = "composite",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The mass matrix (..., nv, nv): ``H phi M phi* H* + A``.

        - ``"composite"``: composite bodies, Rodriguez & Kreutz-Delgado (28)-(33); for every robot.
        - ``"augmented"``: augmented and generalised links, Balafoutis & Patel, Algorithm 6.2 (6.3.28)-(6.3.30).
        - ``"walker-orin"``: composite bodies about their mass centres, Algorithm 6.1 (6.2.8), (6.2.9).
        - ``"denoc"``: composite bodies about the mass centres of links, Saha (23b), (24); for every robot.

        Those of Balafoutis & Patel are for joints that turn or slide and take no ``parameters``.

        >>> import recursa as rc
        >>> rc.robots.stanford().mass_matrix([0, np.pi / 2, 0, 0, 0, 0])[2, 2].round(12)
        np.float64(6.1)
        """
        known_method("the mass matrix", method, ("composite", *book.MASS, "denoc"))
        if method in book.MASS:
            plan = book.mass_method(self._on_axes.model, method, given(parameters=parameters))
            named = ("mass_matrix", method)
            return self._joint_matrix(plan, {"q": q}, True, out, threads, named, store=self._on_axes)
        arguments = {"q": q} | self._extra(q, None, None, parameters)
        entry = ("mass_matrix", *given(parameters=parameters), method)
        if method == "denoc":
            self._require_centers(arguments)
            plan, columns = denoc.GENERALIZED_INERTIA, self._columns(denoc.INERTIA_TIMES, "T", "a")
            plain = entry if parameters is None else None  # else masses are looked at first
            return self._joint_matrix(plan, arguments, True, out, threads, plain, columns, may_move=MayMove.FRAMES)
        plan, columns = inertia.MASS_MATRIX, self._columns(MASS_TIMES, "T", "a")
        return self._joint_matrix(plan, arguments, True, out, threads, entry, columns, may_move=MayMove.INERTIAS)

    @single_state_fast
    def mass_matrix_inverse(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The inverse of the mass matrix (..., nv, nv): ``(I - H psi K)* inv(D) (I - H psi K)``, Identity 6 (46).

        Kernels of robots with few bodies take both factors from the entries of the mass matrix: fewer operations.
        """
        if self._tied:
            self._require_hinges({"q": q})
            return into(out, np.linalg.inv(self.mass_matrix(q, threads=threads)))
        columns = self._columns(SOLVE, "qdd", "tau")
        result = self._joint_matrix(
            articulated.MASS_MATRIX_INVERSE,
            {"q": q},
            True,
            out,
            threads,
            ("mass_matrix_inverse",),
            columns,
            may_move=MayMove.INERTIAS,
            compiled_plan=MASS_MATRIX_INVERSE_BY_FACTORS if self.model.nbodies <= FEW_BODIES else None,
        )
        pivots = self._pivots(result, MASS_MATRIX_INVERSE_BY_FACTORS, (self.nv, self.nv), ("q",))
        self._require_finite(result, {"q": q}, pivots)
        return result

    @single_state_fast
    def coriolis_matrix(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The Coriolis matrix (..., nv, nv) of Christoffel symbols: ``C v`` is the bias without gravity, and
        ``dM/dt - 2 C`` is skew (Echeandia & Wensing 2020).
        """
        plan, columns, entry = coriolis.CORIOLIS_MATRIX, self._columns(CORIOLIS_TIMES, "T", "a"), ("coriolis_matrix",)
        arguments = {"q": q, "v": v}
        return self._joint_matrix(plan, arguments, False, out, threads, entry, columns, may_move=MayMove.INERTIAS)

    @single_state_fast
    def momentum_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The matrix (..., 6, nv) with ``momentum(q, v) = A v`` about the centre of mass, world axes."""
        self._require_mass(inertia.MOMENTUM_MATRIX)
        return self._evaluate(
            inertia.MOMENTUM_MATRIX,
            {"q": q},
            lambda values: inertia.momentum_entries(self.model, values),
            (6, self.nv),
            out,
            threads,
            entry=("momentum_matrix",),
        )

    def center_of_mass_jacobian(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The matrix (..., 3, nv) that takes v to the velocity of the centre of mass, world axes."""
        result = self.momentum_matrix(q, threads=threads)[..., 3:, :] / self.model.total_mass
        return into(out, result)

    @single_state_fast
    def regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The matrix Y (..., nv, 10 nbodies) with ``tau = Y pi`` (without losses and armature).

        pi per body: (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the link origin in link axes.
        """
        return self._evaluate(
            regressor.REGRESSOR,
            {"q": q, "v": v, "a": a},
            lambda values: regressor.regressor_entries(self.model, values.lists.get("rows", [])),
            (self.nv, 10 * self.model.nbodies),
            out,
            threads,
            entry=("regressor",),
            columns=self._columns(REGRESSOR_TIMES, "T", "parameters", 10 * self.model.nbodies),
        )
